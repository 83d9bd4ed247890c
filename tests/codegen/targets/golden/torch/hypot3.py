_hypot3 = torch.ops.framed.hypot3.default


_hypot3_operation = Kernel(
    "framed::hypot3",
    kernels.hypot3,
    promotion="int_to_float",
    promoted=(0, 1, 2),
    takes=("bool", "integer", "half", "float"),
    in_float32=True,
    pointwise=True,
)


def hypot3_kernel(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    if (
        x.dtype in FLOATS
        and y.dtype is x.dtype
        and z.dtype is x.dtype
        and x.is_contiguous()
        and y.is_contiguous()
        and z.is_contiguous()
    ):
        return tensor_of(run("framed::hypot3", kernels.hypot3, array_of(x), array_of(y), array_of(z)))
    result: Tensor = _hypot3_operation(x, y, z)
    return result


def hypot3_fake(x: Tensor, y: Tensor, z: Tensor) -> Any:
    return _hypot3_operation.fake(x, y, z)


class Hypot3(Function):
    """Derivatives of hypot3."""

    @staticmethod
    def forward(x: Tensor, y: Tensor, z: Tensor) -> Any:
        with below_autograd():
            return _hypot3(x, y, z)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, y, z = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            x if ctx.needs_input_grad[0] else None,
            output,
            y if ctx.needs_input_grad[1] else None,
            z if ctx.needs_input_grad[2] else None,
        )
        if forward_is_active():
            ctx.save_for_forward(x, y, z, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None, None)
        x, result, y, z = ctx.saved_tensors
        x_gradient: Any = None
        y_gradient: Any = None
        z_gradient: Any = None
        if ctx.needs_input_grad[0]:
            # framed/derivatives.yaml  x: grad * cosine(x, result)
            x_gradient = grad * helpers.cosine(x, result)
        if ctx.needs_input_grad[1]:
            # framed/derivatives.yaml  y: grad * cosine(y, result)
            y_gradient = grad * helpers.cosine(y, result)
        if ctx.needs_input_grad[2]:
            # framed/derivatives.yaml  z: grad * cosine(z, result)
            z_gradient = grad * helpers.cosine(z, result)
        return (x_gradient, y_gradient, z_gradient)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            x, y, z, output_0 = values_of(ctx)
            x_t = tangent_of(tangents[0], x)
            y_t = tangent_of(tangents[1], y)
            z_t = tangent_of(tangents[2], z)
            result = output_0
            # framed/derivatives.yaml  result: x_t * cosine(x, result) + y_t * cosine(y, result) + z_t * cosine(z,
            #     result)
            return fitted_tangent(
                x_t * helpers.cosine(x, result) + y_t * helpers.cosine(y, result) + z_t * helpers.cosine(z, result),
                output_0,
            )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_pointwise(_hypot3, in_dims, args, (0, 1, 2))


_apply_hypot3 = applied(Hypot3, hypot3_kernel)


def hypot3(x: Tensor, y: Tensor, z: Tensor, *, out: Tensor | None = None) -> Tensor:
    """hypot3(Tensor x, Tensor y, Tensor z) -> Tensor"""
    if out is not None:
        written: Tensor = _hypot3_out(x, y, z, out=out)
        return written
    way = way_of(x, y, z)
    if way == RECORDED:
        recorded: Tensor = _apply_hypot3(x, y, z)
        return recorded
    if way == PLAIN:
        return hypot3_kernel(x, y, z)
    result: Tensor = _hypot3(x, y, z)
    return result


def hypot3_out(x: Tensor, y: Tensor, z: Tensor, *, out: Tensor) -> Tensor:
    return write_out("hypot3", out, hypot3(x, y, z), x, y, z)


_hypot3_out = torch.ops.framed.hypot3.out
