"""Functions on Tensors that formulas call. Their annotations are their signatures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradwright import Tensor, ops


def times_i(x: Tensor) -> Tensor:
    """The product with the imaginary unit; it is complex."""
    return x * 1j


def cosine(x: Tensor, norm: Tensor) -> Tensor:
    """The cosine of the angle to an axis, `x / norm`; zero at the origin, where the norm has no derivative."""
    return x / norm.masked_fill(norm == 0, 1)


def to_spherical_backward(
    grad_radius: Tensor, grad_polar: Tensor, grad_azimuth: Tensor, x: Tensor, y: Tensor, z: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, y and z, from those of the radius and of both angles."""
    around = ops.hypot(x, y)
    radius = ops.hypot(around, z)
    outward = (grad_radius + grad_polar * z / (radius * around)) / radius
    turn = grad_azimuth / around.square()
    return (
        outward * x - turn * y,
        outward * y + turn * x,
        (grad_radius * z - grad_polar * around / radius) / radius,
    )


def unit_vector_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The third derivative of the length of a vector along three directions but one, which is symmetric in all."""
    square = self.square().sum([dim], True)
    length = square.masked_fill(square == 0, 1).sqrt()
    unit = self / length
    along, along_output = (unit * grad).sum([dim], True), (unit * grad_output).sum([dim], True)
    across, across_output = grad - unit * along, grad_output - unit * along_output
    both = (across * across_output).sum([dim], True)
    turned = unit * both + across * along_output + across_output * along
    return -(turned / length.square()).masked_fill(square == 0, 0)


def kept(value: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """What a reduction gave, with the dimensions that it took as dimensions of size 1."""
    if keepdim or not sizes:
        return value
    shape = list(sizes)
    for place in dim or range(len(shape)):
        shape[place] = 1
    return value.reshape(shape)


def shares_of_mean(self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The part that each element has in the logarithm of a mean of exponentials."""
    sizes = self.shape
    count = math.prod([sizes[place] for place in dim]) if dim and sizes else math.prod(sizes)
    return (self - kept(result, sizes, dim, keepdim)).exp() / max(count, 1)


def weighted_sum_parts(grad: Tensor, count: int, weights: Tensor | None) -> list[Tensor]:
    """The gradient of each Tensor of a sum."""
    if weights is None:
        return [grad] * count
    return [grad * weights[place].conj() for place in range(count)]


def weighted_sum_products(grad: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """The gradients of the weights."""
    return ops.stack([(grad * each.conj()).sum() for each in tensors])


def weighted_sum_tangent(
    tensors: Sequence[Tensor], tangents: Sequence[Tensor], weights: Tensor | None, weights_tangent: Tensor | None
) -> Tensor:
    """The tangent of a sum of products."""
    total = tangents[0] * 0
    for place in range(len(tensors)):
        total = total + (tangents[place] if weights is None else tangents[place] * weights[place])
        if weights_tangent is not None:
            total = total + tensors[place] * weights_tangent[place]
    return total


def gaussian_kernel_backward(
    grad: Tensor, x: Tensor, y: Tensor, scales: Tensor | None, result: Tensor, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of both lists of vectors and of the scales, as far as the mask asks for them."""
    of_x = of_y = of_scales = None
    pairs = grad * result
    of_rows, of_columns = pairs.sum([-1], True), pairs.mT.sum([-1], True)
    if grad_input_mask[0]:
        of_x = over_squares(ops.matmul(pairs, y) - of_rows * x, scales)
    if grad_input_mask[1]:
        of_y = over_squares(ops.matmul(pairs.mT, x) - of_columns * y, scales)
    if grad_input_mask[2] and scales is not None:
        squares = (of_rows * x.square()).sum([-2]) + (of_columns * y.square()).sum([-2])
        mixed = (x * ops.matmul(pairs, y)).sum([-2])
        of_scales = (squares - 2 * mixed) / scales.pow(3)
    return of_x, of_y, of_scales


def over_squares(value: Tensor, scales: Tensor | None) -> Tensor:
    """A quotient by the squares of scales, which may be left out."""
    return value if scales is None else value / scales.square()


def gaussian_kernel_tangent(
    x: Tensor,
    x_t: Tensor,
    y: Tensor,
    y_t: Tensor,
    scales: Tensor | None,
    scales_t: Tensor | None,
    result: Tensor,
) -> Tensor:
    """Minus half of the tangent of the squares of scaled distances, times the kernel."""
    away = x.unsqueeze(-2) - y.unsqueeze(-3)
    slopes = over_squares(away, scales)
    change = -(slopes * (x_t.unsqueeze(-2) - y_t.unsqueeze(-3))).sum([-1])
    if scales is not None and scales_t is not None:
        change = change + (slopes * away * (scales_t / scales)).sum([-1])
    return result * change
