_squareplus = torch.ops.framed.squareplus.default


_squareplus_operation = Kernel(
    "framed::squareplus",
    kernels.squareplus,
    promotion="int_to_float",
    promoted=(0, 1),
    takes=("bool", "integer", "half", "float"),
    in_float32=True,
    pointwise=True,
)


def squareplus_kernel(self: Tensor, b: Any = 4) -> Tensor:
    if self.dtype in FLOATS and self.is_contiguous() and type(b) is not complex:
        return tensor_of(run("framed::squareplus", kernels.squareplus, array_of(self), b))
    result: Tensor = _squareplus_operation(self, b)
    return result


def squareplus_fake(self: Tensor, b: Any = 4) -> Any:
    return _squareplus_operation.fake(self, b)


class Squareplus(Function):
    """Derivatives of squareplus."""

    @staticmethod
    def forward(self: Tensor, b: Number = 4) -> Any:
        with below_autograd():
            return _squareplus(self, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self, b = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(self)
        ctx.b = b
        if forward_is_active():
            ctx.save_for_forward(self, output)
            ctx.numbers = (b,)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None)
        (self,) = ctx.saved_tensors
        b = ctx.b
        # framed/derivatives.yaml  self: grad * (self / (self * self + b).sqrt() + 1) / 2
        self_gradient = grad * (self / torch.sqrt(self * self + b) + 1) / 2
        return (self_gradient, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with outer_tangents():
            self, output_0 = values_of(ctx)
            (b,) = ctx.numbers
            self_t = tangent_of(tangents[0], self)
            # framed/derivatives.yaml  result: auto_element_wise
            return fitted_tangent((self_t.conj() * (self / torch.sqrt(self * self + b) + 1) / 2).conj(), output_0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_pointwise(_squareplus, in_dims, args)


_apply_squareplus = applied(Squareplus, squareplus_kernel)


def squareplus(self: Tensor, b: Number = 4, *, out: Tensor | None = None) -> Tensor:
    """squareplus(Tensor self, Scalar b=4) -> Tensor"""
    if out is not None:
        written: Tensor = _squareplus_out(self, b, out=out)
        return written
    way = GENERAL
    if type(b) in NUMBERS:
        way = way_of(self)
    if way == RECORDED:
        recorded: Tensor = _apply_squareplus(self, b)
        return recorded
    if way == PLAIN:
        return squareplus_kernel(self, b)
    result: Tensor = _squareplus(self, b)
    return result


def squareplus_(self: Tensor, b: Number = 4) -> Tensor:
    """squareplus_(Tensor(a!) self, Scalar b=4) -> Tensor(a!)"""
    return write(self, squareplus(before(self), b))


def squareplus_out(self: Tensor, b: Number = 4, *, out: Tensor) -> Tensor:
    return write_out("squareplus", out, squareplus(self, b), self, b)


_squareplus_out = torch.ops.framed.squareplus.out
