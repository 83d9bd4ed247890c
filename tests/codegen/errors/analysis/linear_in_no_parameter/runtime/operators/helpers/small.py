from runtime.base.declarations import linear_in
from runtime.base.tensor import Tensor


@linear_in("gradd")
def twice(grad: Tensor) -> Tensor:
    return grad
