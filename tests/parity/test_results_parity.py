"""Results of every operator in memory: which of them PyTorch lets share memory with arguments, and so do ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from generated.registry import OPERATORS
from runtime.dtypes import dtype as DType
from runtime.registry import OperatorInfo
from runtime.tensor import Tensor, wrap
from runtime.testing import Sample, operator_function
from tests.results import edge_samples, share_memory, tensors_in

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

# PyTorch's kernels write behind their arrays when sizes do not fit.
UNSAFE = frozenset(("nll_loss_backward", "nll_loss2d_backward"))
# Conjugation is lazy there, and made at once here.
LAZY = frozenset(("conj", "adjoint"))

Lay = Callable[[np.ndarray], np.ndarray]


def theirs(value: Any, lay: Lay) -> Any:
    """An argument as PyTorch takes it, with arrays laid out by `lay`."""
    if isinstance(value, Tensor):
        return torch.from_numpy(lay(value._array))
    if isinstance(value, list):
        return [theirs(item, lay) for item in value]
    return getattr(torch, value.name) if isinstance(value, DType) else value


def ours(value: Any, lay: Lay) -> Any:
    """The same for this project."""
    if isinstance(value, Tensor):
        return wrap(lay(value._array))
    return [ours(item, lay) for item in value] if isinstance(value, list) else value


def of_pytorch(info: OperatorInfo) -> Any:
    base, _, overload = info.name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def both(info: OperatorInfo, sample: Sample, lay: Callable[[], Lay]) -> tuple[Any, ...] | None:
    """The Tensors given and returned, of PyTorch and of this project; None where PyTorch refuses the call."""
    calls = []
    for convert, function in ((theirs, of_pytorch(info)), (ours, operator_function(info))):
        one = lay()
        args = [convert(value, one) for value in sample.args]
        kwargs = {name: convert(value, one) for name, value in sample.kwargs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out = function(*args, **kwargs)
            except (RuntimeError, IndexError, ValueError, TypeError):
                if convert is theirs:
                    return None
                raise
        kind = torch.Tensor if convert is theirs else Tensor
        calls += [tensors_in([*args, *kwargs.values()], kind), tensors_in(out, kind)]
    return tuple(calls)


def share_torchs(one: Any, other: Any) -> bool:
    return one is other or one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


@pytest.mark.parametrize("info", [i for i in OPERATORS.values() if i.name not in UNSAFE], ids=lambda info: info.name)
def test_results_share_memory_with_the_same_arguments(info: OperatorInfo) -> None:
    for dtype in ("float64", "int64", *(() if info.name in LAZY else ("complex128",))):
        for sample in edge_samples(info, dtype):
            try:
                found = both(info, sample, lambda: np.copy)
            except (RuntimeError, IndexError, ValueError, TypeError):
                continue  # what is refused here and not there is for other tests
            if found is None or any(0 in tensor.shape for tensor in (*found[0], *found[1])):
                continue
            given, out, own_given, own_out = found
            wanted = [[share_torchs(one, other) for one in given] for other in out]
            assert [[share_memory(one, other) for one in own_given] for other in own_out] == wanted, sample.text
            wanted = [[one is other for one in given] for other in out]
            assert [[one is other for one in own_given] for other in own_out] == wanted, sample.text
