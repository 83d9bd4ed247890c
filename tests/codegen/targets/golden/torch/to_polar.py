_to_polar = torch.ops.framed.to_polar.default


_to_polar_operation = Kernel(
    "framed::to_polar",
    kernels.to_polar,
    promotion="int_to_float",
    promoted=(0, 1),
    takes=("bool", "integer", "half", "float"),
    in_float32=True,
    pointwise=True,
)


def to_polar_kernel(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    if x.dtype in FLOATS and y.dtype is x.dtype and x.is_contiguous() and y.is_contiguous():
        result_0, result_1 = run("framed::to_polar", kernels.to_polar, array_of(x), array_of(y))
        return tensor_of(result_0), tensor_of(result_1)
    result: tuple[Tensor, Tensor] = _to_polar_operation(x, y)
    return result


def to_polar_fake(x: Tensor, y: Tensor) -> Any:
    return _to_polar_operation.fake(x, y)


class ToPolar(Function):
    """Derivatives of to_polar."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Any:
        with below_autograd():
            return _to_polar(x, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, y = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, y, output[0])
        ctx.info_0 = info_of(output[0])
        ctx.info_1 = info_of(output[1])
        if forward_is_active():
            ctx.save_for_forward(x, y, *output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad_0, grad_1 = grads
        x, y, radius = ctx.saved_tensors
        x_gradient: Any = None
        y_gradient: Any = None
        if ctx.needs_input_grad[0] and (grad_0 is not None or grad_1 is not None):
            # framed/derivatives.yaml  x: (grad_radius * x - grad_angle * y / radius) / radius
            defined_0 = zeros(ctx.info_0) if grad_0 is None else grad_0
            defined_1 = zeros(ctx.info_1) if grad_1 is None else grad_1
            x_gradient = (defined_0 * x - defined_1 * y / radius) / radius
        if ctx.needs_input_grad[1] and (grad_0 is not None or grad_1 is not None):
            # framed/derivatives.yaml  y: (grad_radius * y + grad_angle * x / radius) / radius
            defined_0 = zeros(ctx.info_0) if grad_0 is None else grad_0
            defined_1 = zeros(ctx.info_1) if grad_1 is None else grad_1
            y_gradient = (defined_0 * y + defined_1 * x / radius) / radius
        return (x_gradient, y_gradient)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            x, y, output_0, output_1 = values_of(ctx)
            x_t = tangent_of(tangents[0], x)
            y_t = tangent_of(tangents[1], y)
            radius = output_0
            # framed/derivatives.yaml  radius: (x_t * x + y_t * y) / radius
            tangent_0 = fitted_tangent((x_t * x + y_t * y) / radius, output_0)
            # framed/derivatives.yaml  angle: (y_t * x - x_t * y) / radius.square()
            tangent_1 = fitted_tangent((y_t * x - x_t * y) / torch.square(radius), output_1)
            return (tangent_0, tangent_1)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_pointwise(_to_polar, in_dims, args, (0, 1))


_apply_to_polar = applied(ToPolar, to_polar_kernel)


def to_polar(x: Tensor, y: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """to_polar(Tensor x, Tensor y) -> (Tensor radius, Tensor angle)"""
    if out is not None:
        written: tuple[Tensor, Tensor] = _to_polar_out(x, y, radius=out[0], angle=out[1])
        return written
    way = way_of(x, y)
    if way == RECORDED:
        recorded: tuple[Tensor, Tensor] = _apply_to_polar(x, y)
        return recorded
    if way == PLAIN:
        return to_polar_kernel(x, y)
    result: tuple[Tensor, Tensor] = _to_polar(x, y)
    return result


def to_polar_out(x: Tensor, y: Tensor, *, radius: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    results = to_polar(x, y)
    return (write_out("to_polar", radius, results[0], x, y), write_out("to_polar", angle, results[1], x, y))


_to_polar_out = torch.ops.framed.to_polar.out
