"""Einstein summation, over diagonals, permutations and batched matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from runtime.base.tensor import Tensor

Labels = list[str]
_ELLIPSIS = "..."


def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    """The sum of products that `equation` says, operands taken from left to right or in pairs as `path` says.

    Raises:
        RuntimeError: the equation is malformed, or the operands do not fit it.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        few = "fewer" if len(tensors) < len(terms) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    operands = []
    for place, (term, tensor) in enumerate(zip(terms, tensors, strict=True)):
        operands.append(_Operand(*_with_unique_labels(tensor, _labels_of(term, tensor, place), place)))
    sizes = _label_sizes(operands)
    output = _given_output(right, operands) if arrow else _implied_output(terms, operands)
    for label in output:
        if label not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    for first, second in _pairs(path, len(operands)):
        a, b = operands.pop(first), operands.pop(second - (first < second))
        later = {label for operand in operands for label in operand.labels}
        # A path appends each intermediate result; from left to right it stays in front.
        operands.insert(len(operands) if path is not None else 0, _contract(a, b, {*output, *later}))
    return _arranged(operands[0], output)


class _Operand:
    """A Tensor with a label for each dim, none twice."""

    __slots__ = ("labels", "tensor")

    def __init__(self, tensor: Tensor, labels: Labels) -> None:
        self.tensor = tensor
        self.labels = labels

    def size(self, label: str) -> int:
        return self.tensor.shape[self.labels.index(label)]

    def summed_over(self, labels: Sequence[str]) -> _Operand:
        dims = [self.labels.index(label) for label in labels]
        if not dims:
            return self
        return _Operand(self.tensor.sum(dims), [label for label in self.labels if label not in labels])

    def ordered(self, groups: Sequence[Labels]) -> Tensor:
        """The dims in the order of `groups`, each group flattened to one dim."""
        order = [self.labels.index(label) for group in groups for label in group]
        return self.tensor.permute(order).reshape([prod(self.size(label) for label in group) for group in groups])


# -- the notation


def _split_ellipsis(term: str, where: str) -> tuple[Labels, bool, Labels]:
    """Labels before and after the ellipsis, and whether there is one."""
    before, dots, after = term.partition(_ELLIPSIS)
    for character in before + after:
        if character == ".":
            raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
        if not ("a" <= character <= "z" or "A" <= character <= "Z"):
            raise RuntimeError(f"einsum(): invalid subscript '{character}' for {where}, subscripts must be in [a-zA-Z]")
    return list(before), bool(dots), list(after)


def _ellipsis_labels(count: int) -> Labels:
    """Labels of the dims an ellipsis covers, aligned at the last: `.0` is the last one."""
    return [f".{place}" for place in range(count - 1, -1, -1)]


def _labels_of(term: str, tensor: Tensor, place: int) -> Labels:
    before, dots, after = _split_ellipsis(term, f"operand {place}")
    covered = tensor.dim() - len(before) - len(after)
    if covered < 0 or (covered and not dots):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(before) + len(after)}) "
            f"{'is more than' if dots else 'does not match'} the number of dimensions ({tensor.dim()}) for operand "
            f"{place}{'' if dots else ' and no ellipsis was given'}"
        )
    return before + _ellipsis_labels(covered) + after


def _with_unique_labels(tensor: Tensor, labels: Labels, place: int) -> tuple[Tensor, Labels]:
    """A label that stands twice takes the diagonal of its dims."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't match, "
                    f"{tensor.shape[second]} != {tensor.shape[first]}"
                )
            tensor = tensor.diagonal(0, first, second)
            labels = [other for dim, other in enumerate(labels) if dim not in (first, second)] + [label]
    return tensor, labels


def _label_sizes(operands: Sequence[_Operand]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for place, operand in enumerate(operands):
        for label, size in zip(operand.labels, operand.tensor.shape, strict=True):
            known = sizes.get(label, 1)
            if known != size and 1 not in (known, size):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {place} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _longest_ellipsis(operands: Sequence[_Operand]) -> Labels:
    return _ellipsis_labels(max(sum(label[0] == "." for label in operand.labels) for operand in operands))


def _implied_output(terms: Sequence[str], operands: Sequence[_Operand]) -> Labels:
    """What an ellipsis covers, then the labels that stand once, in the order of the alphabet."""
    letters = "".join(terms).replace(".", "")
    return _longest_ellipsis(operands) + sorted(label for label in set(letters) if letters.count(label) == 1)


def _given_output(text: str, operands: Sequence[_Operand]) -> Labels:
    before, dots, after = _split_ellipsis(text, "the output")
    for label in before + after:
        if (before + after).count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return before + (_longest_ellipsis(operands) if dots else []) + after


def _pairs(path: Sequence[int] | None, count: int) -> list[tuple[int, int]]:
    """Positions of the operands that each step takes out of the list."""
    if path is None:
        return [(0, 1)] * (count - 1)
    if len(path) != 2 * (count - 1):
        raise RuntimeError(
            f"einsum(): expected contraction path given in path parameter to be of length {2 * (count - 1)}"
        )
    return list(zip(path[::2], path[1::2], strict=True))


# -- the sums


def _contract(a: _Operand, b: _Operand, kept: set[str]) -> _Operand:
    """The product of two operands, summed over the labels that are not needed later."""
    a = a.summed_over([label for label in a.labels if label not in kept and label not in b.labels])
    b = b.summed_over([label for label in b.labels if label not in kept and label not in a.labels])
    # Where one side has size 1 it repeats: it can leave the dim to the other side.
    shared = [label for label in a.labels if label in b.labels]
    a = a.summed_over([label for label in shared if a.size(label) == 1 != b.size(label)])
    b = b.summed_over([label for label in shared if label in a.labels and b.size(label) == 1 != a.size(label)])
    a = a.summed_over([label for label in a.labels if label not in kept and label not in b.labels])
    b = b.summed_over([label for label in b.labels if label not in kept and label not in a.labels])
    batch = [label for label in a.labels if label in b.labels and label in kept]
    summed = [label for label in a.labels if label in b.labels and label not in kept]
    rows = [label for label in a.labels if label not in b.labels]
    columns = [label for label in b.labels if label not in a.labels]
    sizes = [a.size(label) for label in batch + rows] + [b.size(label) for label in columns]
    if batch:
        product = a.ordered([batch, rows, summed]).bmm(b.ordered([batch, summed, columns]))
    else:
        product = a.ordered([rows, summed]).mm(b.ordered([summed, columns]))
    return _Operand(product.reshape(sizes), batch + rows + columns)


def _arranged(operand: _Operand, output: Labels) -> Tensor:
    """Sum what is left over, and bring the dims into the order of the output."""
    operand = operand.summed_over([label for label in operand.labels if label not in output])
    order = [operand.labels.index(label) for label in output]
    return operand.tensor if order == list(range(len(order))) else operand.tensor.permute(order)
