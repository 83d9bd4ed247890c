"""What tests of results in memory share: samples with their edge cases, and which memory Tensors lie in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradwright.testing import Sample, sample_inputs
from runtime.base.memory import owner_of
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo

_MAKERS = frozenset("TDIB")

# Operators that may give back the memory of an argument, though no annotation in their schema says so: they are views,
# or the argument itself, where nothing has to change. PyTorch's do the same.
MAY_ALIAS = frozenset((
    "_unsafe_view", "atleast_1d", "atleast_1d.Sequence", "atleast_2d", "atleast_2d.Sequence", "atleast_3d",
    "atleast_3d.Sequence", "broadcast_tensors", "conj_physical", "dropout", "einsum",
    "cartesian_prod", "_cast_Long", "_cast_Double",
    "feature_dropout", "alpha_dropout", "feature_alpha_dropout",
    "meshgrid", "meshgrid.indexing", "sum_to_size", "type_as",
))  # fmt: skip


def edge_samples(info: OperatorInfo, dtype: str) -> list[Sample]:
    """The samples of an operator, and what becomes of them with all sizes 1, or with all other numbers 0 or 1."""
    texts = dict.fromkeys(text for sample in info.samples for text in _edges(sample))
    return sample_inputs(replace(info, samples=tuple(texts)), dtype, requires_grad=False)


def _edges(sample: str) -> Iterator[str]:
    yield sample
    for small in (False, True):
        for number in (None, 0, 1):
            tree = ast.parse(f"f({sample})", mode="eval").body
            assert isinstance(tree, ast.Call)
            for value in (*tree.args, *(keyword.value for keyword in tree.keywords)):
                _change(value, small, number)
            yield ast.unparse(tree)[2:-1]


def _change(node: ast.expr, small: bool, number: int | None) -> None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS:
        for size in node.args:
            if small and isinstance(size, ast.Constant):
                size.value = 1
    elif isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            _change(item, small, number)
    elif isinstance(node, ast.Constant) and type(node.value) is int and number is not None:
        node.value = number


def tensors_in(value: Any, kind: type = Tensor) -> list[Any]:
    """The Tensors in a value, and in lists in it."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item, kind)]
    return []


def share_memory(one: Tensor, other: Tensor) -> bool:
    """Whether Tensors are one, or lie in one piece of memory."""
    return one is other or bool(np.may_share_memory(owner_of(one._array), owner_of(other._array)))
