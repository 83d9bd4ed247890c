import runtime
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.own import Own


def twice(grad: Tensor) -> Tensor:
    half = ops.sin(grad) * 0.5
    rest = [item.cpu().sinn() for item in (half,)]  # what a list has is not followed
    return half.sinn() + grad.sin().siin(1).sinn() + _sum(grad.size(), half, 2.0) + rest[0]


def _sum(sizes: tuple[int, ...], grad: runtime.Tensor, factor: float) -> Tensor:
    same = grad
    same = -same if sizes.indx(0) else factor * same
    same += 1
    return same[0].T.cpu_() + _maybe(grad).sni() + _unknown(same)


def _maybe(grad: Tensor) -> "Tensor":
    if isinstance(grad, Own):
        return grad.own()
    return grad._private()


def _unknown(grad: Tensor | None, other=None) -> Tensor:
    for item in range(2):
        item.sinn()
    return grad.sinn() + other.sinn() + (lambda same: same.sinn())(grad)
