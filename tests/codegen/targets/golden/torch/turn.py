_turn = torch.ops.framed.turn.default


_turn_operation = Kernel(
    "framed::turn",
    kernels.turn,
    promotion="default",
    promoted=(0, 1),
    takes=("float", "complex"),
    in_float32=True,
    pointwise=True,
)


def turn_kernel(self: Tensor, other: Tensor) -> Tensor:
    if self.dtype in FLOATS and other.dtype is self.dtype and self.is_contiguous() and other.is_contiguous():
        return tensor_of(run("framed::turn", kernels.turn, array_of(self), array_of(other)))
    result: Tensor = _turn_operation(self, other)
    return result


def turn_fake(self: Tensor, other: Tensor) -> Any:
    return _turn_operation.fake(self, other)


class Turn(Function):
    """Derivatives of turn."""

    @staticmethod
    def forward(self: Tensor, other: Tensor) -> Any:
        with below_autograd():
            return _turn(self, other)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self, other = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(self, other)
        ctx.self_is_complex = is_complex(self)
        ctx.other_is_complex = is_complex(other)
        if forward_is_active():
            ctx.save_for_forward(self, other, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None)
        self, other = ctx.saved_tensors
        self_gradient: Any = None
        other_gradient: Any = None
        # framed/derivatives.yaml  self, other: turn_gradients(grad, self, other, grad_input_mask)
        mask = (ctx.needs_input_grad[0], ctx.needs_input_grad[1])
        self_gradient, other_gradient = helpers.turn_gradients(grad, self, other, mask)
        self_gradient = real_unless(ctx.self_is_complex, self_gradient)
        other_gradient = real_unless(ctx.other_is_complex, other_gradient)
        return (self_gradient, other_gradient)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            self, other, output_0 = values_of(ctx)
            self_t = tangent_of(tangents[0], self)
            other_t = tangent_of(tangents[1], other)
            # framed/derivatives.yaml  result: self_t * other.conj() + self * other_t.conj()
            return fitted_tangent(self_t * other.conj() + self * other_t.conj(), output_0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_pointwise(_turn, in_dims, args, (0, 1))


_apply_turn = applied(Turn, turn_kernel)


def turn(self: Tensor, other: Tensor) -> Tensor:
    """turn(Tensor self, Tensor other) -> Tensor"""
    way = way_of(self, other)
    if way == RECORDED:
        recorded: Tensor = _apply_turn(self, other)
        return recorded
    if way == PLAIN:
        return turn_kernel(self, other)
    result: Tensor = _turn(self, other)
    return result
