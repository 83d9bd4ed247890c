def twice(grad: Tensor -> Tensor:
    return grad
