_soft = torch.ops.framed.soft.default


def _soft_expression(self: Tensor, slope: Any = 0.01) -> Tensor:
    if not slope >= 0:
        raise RuntimeError(f"slope must not be negative, but is {slope}.")
    # framed/native_functions.yaml  elementwise: self > 0 ? self / (1 + self) : self * slope
    result: Tensor = torch.where(self > 0, self / (self + 1), self * slope)
    return result


_soft_operation = Kernel(
    "framed::soft",
    _soft_expression,
    promotion="int_to_float",
    promoted=(0, 1),
    takes=("bool", "integer", "half", "float"),
    in_float32=True,
    pointwise=True,
    on_arrays=False,
)


def soft_kernel(self: Tensor, slope: Any = 0.01) -> Tensor:
    if self.dtype in FLOATS and type(slope) is not complex:
        return _soft_expression(self, slope)
    result: Tensor = _soft_operation(self, slope)
    return result


class Soft(Function):
    """Derivatives of soft."""

    @staticmethod
    def forward(self: Tensor, slope: Number = 0.01) -> Any:
        with below_autograd():
            return _soft(self, slope)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self, slope = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(self)
        ctx.slope = slope
        if forward_is_active():
            ctx.save_for_forward(self, output)
            ctx.numbers = (slope,)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None)
        (self,) = ctx.saved_tensors
        slope = ctx.slope
        # framed/native_functions.yaml  self: where(self == 0, grad * 1, where(self > 0, grad / (where(self > 0,
        #     self, 0) + 1) + -(grad / (where(self > 0, self, 0) + 1)) * (where(self > 0, self, 0) / (where(self > 0,
        #     self, 0) + 1)), grad * slope))
        shared_0 = self > 0
        shared_1 = torch.where(shared_0, self, 0)
        shared_2 = shared_1 + 1
        shared_3 = grad / shared_2
        self_gradient = torch.where(
            self == 0,
            grad * 1,
            torch.where(shared_0, shared_3 + -shared_3 * (shared_1 / shared_2), grad * slope),
        )
        return (self_gradient, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            self, output_0 = values_of(ctx)
            (slope,) = ctx.numbers
            self_t = tangent_of(tangents[0], self)
            # framed/native_functions.yaml  result: auto_element_wise
            shared_0 = self_t.conj()
            shared_1 = self > 0
            shared_2 = torch.where(shared_1, self, 0)
            shared_3 = shared_2 + 1
            shared_4 = shared_0 / shared_3
            return fitted_tangent(
                torch.where(
                    self == 0,
                    shared_0 * 1,
                    torch.where(shared_1, shared_4 + -shared_4 * (shared_2 / shared_3), shared_0 * slope),
                ).conj(),
                output_0,
            )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_pointwise(_soft, in_dims, args)


_apply_soft = applied(Soft, soft_kernel)


def soft(self: Tensor, slope: Number = 0.01) -> Tensor:
    """soft(Tensor self, Scalar slope=0.01) -> Tensor"""
    way = GENERAL
    if type(slope) in NUMBERS:
        way = way_of(self)
    if way == RECORDED:
        recorded: Tensor = _apply_soft(self, slope)
        return recorded
    if way == PLAIN:
        return soft_kernel(self, slope)
    result: Tensor = _soft(self, slope)
    return result
