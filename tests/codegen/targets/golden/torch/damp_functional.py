_damp_functional = torch.ops.framed.damp_functional.default


_damp_functional_operation = Kernel(
    "framed::damp_functional",
    kernels.damp_,
    takes=("half", "float"),
    in_float32=True,
    copied=0,
)


def damp_functional_kernel(self: Tensor, factor: float = 0.5) -> Tensor:
    if self.dtype in FLOATS and self.is_contiguous():
        return tensor_of(run("framed::damp_functional", kernels.damp_, array_of(self).copy(), factor))
    result: Tensor = _damp_functional_operation(self, factor)
    return result


def damp_functional_fake(self: Tensor, factor: float = 0.5) -> Any:
    return _damp_functional_operation.fake(self, factor)


class Damp(Function):
    """Derivatives of damp_functional."""

    @staticmethod
    def forward(self: Tensor, factor: float = 0.5) -> Any:
        with below_autograd():
            return _damp_functional(self, factor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self, factor = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(self)
        ctx.factor = factor
        if forward_is_active():
            ctx.save_for_forward(self, output)
            ctx.numbers = (factor,)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None)
        (self,) = ctx.saved_tensors
        factor = ctx.factor
        # framed/derivatives.yaml  self: grad * factor * 2 * self
        self_gradient = grad * factor * 2 * self
        return (self_gradient, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            self, output_0 = values_of(ctx)
            (factor,) = ctx.numbers
            self_t = tangent_of(tangents[0], self)
            # framed/derivatives.yaml  result: self_t * factor * 2 * self_p
            return fitted_tangent(self_t * factor * 2 * self, output_0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_loop(_damp_functional, info, in_dims, args)


_apply_damp_functional = applied(Damp, damp_functional_kernel)


def damp_functional(self: Tensor, factor: float = 0.5) -> Tensor:
    """damp_functional(Tensor self, float factor=0.5) -> Tensor"""
    way = GENERAL
    if type(factor) is float:
        way = way_of(self)
    if way == RECORDED:
        recorded: Tensor = _apply_damp_functional(self, factor)
        return recorded
    if way == PLAIN:
        return damp_functional_kernel(self, factor)
    result: Tensor = _damp_functional(self, factor)
    return result


def damp_(self: Tensor, factor: float = 0.5) -> Tensor:
    """damp_(Tensor(a!) self, float factor=0.5) -> Tensor(a!)"""
    return write(self, damp_functional(before(self), factor))
