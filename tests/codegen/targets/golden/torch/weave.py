_weave = torch.ops.framed.weave.default
_weave_operation = Kernel("framed::weave", kernels.weave, takes=("half", "float"), in_float32=True)


def weave_kernel(tensors: Sequence[Tensor], scale: float = 1.0) -> Tensor:
    result: Tensor = _weave_operation(tensors, scale)
    return result


def weave_fake(tensors: Sequence[Tensor], scale: float = 1.0) -> Any:
    return _weave_operation.fake(tensors, scale)


class Weave(Function):
    """Derivatives of weave."""

    @staticmethod
    def forward(scale: float, tensors_count: int, *elements: Tensor | None) -> Any:
        tensors = list(elements[:tensors_count])
        with below_autograd():
            return _weave(tensors, scale=scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        scale, tensors_count, *elements = inputs
        tensors = list(elements[:tensors_count])
        ctx.tensors_count = tensors_count
        ctx.set_materialize_grads(False)
        ctx.scale = scale
        ctx.tensors_args_sizes = [each.shape for each in tensors]

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None, None, *([None] * ctx.tensors_count))
        scale = ctx.scale
        tensors_args_sizes = ctx.tensors_args_sizes
        # framed/derivatives.yaml  tensors: parts(grad, to_args_sizes(tensors), scale)
        tensors_gradient = helpers.parts(grad, tensors_args_sizes, scale)
        return (None, None, *tensors_gradient)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise no_tangents("weave")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return batch_loop(Weave.again, info, in_dims, args)

    @staticmethod
    def again(scale: float, tensors_count: int, *elements: Tensor | None) -> Any:
        tensors = list(elements[:tensors_count])
        return _weave(tensors, scale=scale)


_apply_weave = apply_of(Weave)


def _record_weave(tensors: Sequence[Tensor], *, scale: float = 1.0) -> Any:
    return _apply_weave(scale, len(tensors or ()), *(tensors or ()))


def weave(tensors: Sequence[Tensor], *, scale: float = 1.0) -> Tensor:
    """weave(Tensor[] tensors, *, float scale=1.0) -> Tensor"""
    way = GENERAL
    if type(scale) is float:
        way = way_of(*tensors)
    if way == RECORDED:
        recorded: Tensor = _record_weave(tensors, scale=scale)
        return recorded
    if way == PLAIN:
        return weave_kernel(tensors, scale)
    result: Tensor = _weave(tensors, scale=scale)
    return result
