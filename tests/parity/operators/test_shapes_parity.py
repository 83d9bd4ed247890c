"""Sizes that are negative or impossible, and factories over all dtypes, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.both import assert_same

pytestmark = pytest.mark.filterwarnings("ignore")

SIZES: list[Callable[[Any], Any]] = [
    lambda lib: lib.ones(6).view(-2, 3),
    lambda lib: lib.ones(6).reshape(-2, 3),
    lambda lib: lib.ones(3, 2).t().view(-2, 3),
    lambda lib: lib.ones(6).view(-1, -1),
    lambda lib: lib.ones(6).view(-2, -3),
    lambda lib: lib.ones(0).view(-1, 0),
    lambda lib: lib.ones(6).view(2, -1),
    lambda lib: lib.ones(1, 3).expand(-2, 3),
    lambda lib: lib.ones(3).expand(-1, 3),
    lambda lib: lib.ones(3).broadcast_to(-2, 3),
    lambda lib: lib.ones(3).repeat(-1),
    lambda lib: lib.ones(6).unflatten(0, (-2, -3)),
    lambda lib: lib.ones(6).unflatten(0, (-2, 3)),
    lambda lib: lib.ones(6).unflatten(0, (4, -1)),
    lambda lib: lib.zeros(-1),
    lambda lib: lib.ones(2).new_zeros(-1),
    lambda lib: lib.ones(2).new_full((-1,), 1.0),
    lambda lib: lib.ones(2).new_empty((2, -3)),
    lambda lib: lib.rand(-2),
    lambda lib: lib.eye(-1),
    lambda lib: lib.randperm(-1),
    lambda lib: lib.ones(3).split(-1),
    lambda lib: lib.tril_indices(-1, 2),
    lambda lib: lib.arange(3.0).diff(n=0),
    lambda lib: lib.arange(3.0).diff(n=-1),
]


@pytest.mark.parametrize("body", SIZES)
def test_sizes(body: Callable[[Any], Any]) -> None:
    assert_same(body)


@pytest.mark.parametrize("mode", ["circular", "reflect", "replicate", "constant"])
def test_padding_that_cuts_off(mode: str) -> None:
    for pad in [(-1, 1), (1, -1), (-1, -1), (-2, 2), (2, -2), (-5, 0), (-3, -2), (-1, 2, 1, -1), (0, 1, -1, 0)]:
        shape = (1, 3, 4) if len(pad) == 2 else (1, 2, 3, 4)
        assert_same(
            lambda lib, pad=pad, shape=shape: lib.nn.functional.pad(
                lib.arange(24.0)[: 12 * (len(shape) - 2)].reshape(shape), pad, mode=mode
            )
        )
    assert_same(lambda lib: lib.nn.functional.pad(lib.arange(4.0), (1, 1), mode=mode))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 2)])
@pytest.mark.parametrize("weight", [0.5, [0.5], [0.5, 0.2], [0.5, 0.2, 0.1], [[0.5]]])
def test_prelu(shape: tuple[int, ...], weight: Any) -> None:
    assert_same(lambda lib: lib.nn.functional.prelu(lib.ones(shape) * -2, lib.tensor(weight)))


DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip
FACTORIES: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda lib, dtype: lib.zeros(2, dtype=dtype),
    "eye": lambda lib, dtype: lib.eye(2, 3, dtype=dtype),
    "full of a float": lambda lib, dtype: lib.full((2,), 1.5, dtype=dtype),
    "full of a large int": lambda lib, dtype: lib.full((2,), 300, dtype=dtype),
    "full of a negative int": lambda lib, dtype: lib.full((2,), -1, dtype=dtype),
    "full of a complex number": lambda lib, dtype: lib.full((2,), 1 + 2j, dtype=dtype),
    "full_like": lambda lib, dtype: lib.full_like(lib.ones(2), 2.5, dtype=dtype),
    "new_full": lambda lib, dtype: lib.ones(1).new_full((2,), 3.5, dtype=dtype),
    "scalar_tensor": lambda lib, dtype: lib.scalar_tensor(2.5, dtype=dtype),
    "arange": lambda lib, dtype: lib.arange(1, 5, 1.5, dtype=dtype),
    "linspace": lambda lib, dtype: lib.linspace(0, 6, 4, dtype=dtype),
    "linspace of one": lambda lib, dtype: lib.linspace(2.5, 5, 1, dtype=dtype),
    "logspace": lambda lib, dtype: lib.logspace(0, 2, 3, dtype=dtype),
    "logspace of parts": lambda lib, dtype: lib.logspace(0.5, 2.5, 3, base=2, dtype=dtype).sum(),
    "tril_indices": lambda lib, dtype: lib.tril_indices(2, 2, dtype=dtype),
    "triu_indices": lambda lib, dtype: lib.triu_indices(2, 2, dtype=dtype),
    **{
        name: lambda lib, dtype, name=name, args=args: getattr(lib, name)(*args(lib), dtype=dtype).dtype.itemsize
        for name, args in {
            "rand": lambda lib: (2,),
            "randn": lambda lib: (2,),
            "randint": lambda lib: (0, 2, (2,)),
            "randperm": lambda lib: (3,),
            "rand_like": lambda lib: (lib.ones(2),),
            "randn_like": lambda lib: (lib.ones(2),),
            "randint_like": lambda lib: (lib.ones(2), 2),
        }.items()
    },
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str, dtype: str) -> None:
    if name == "logspace of parts" and dtype in ("float16", "bfloat16"):
        pytest.skip("PyTorch rounds in between")
    assert_same(lambda lib: FACTORIES[name](lib, getattr(lib, dtype)))
