"""Memory that is exchanged with other libraries, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.two_modules import assert_same, attempt

Library = Any
LIBRARIES = (torch, gradwright)
DTYPES = [
    "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    "bool",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", ["object", "capsule"])
@pytest.mark.parametrize(("giver", "taker"), [(torch, gradwright), (gradwright, torch), (gradwright, gradwright)])
def test_both_ways(giver: Library, taker: Library, way: str, dtype: str) -> None:
    given = giver.tensor([[0, 1, 2], [3, 1, 0]]).to(getattr(giver, dtype)).T[1:]
    taken = taker.from_dlpack(given if way == "object" else giver.utils.dlpack.to_dlpack(given))
    assert type(taken) is taker.Tensor
    assert taken.dtype is getattr(taker, dtype)
    assert tuple(taken.stride()) == tuple(given.stride())
    assert taken.tolist() == given.tolist()
    taken[0, 0] = 0  # the memory is one
    given[1, 1] = 1
    assert taken.tolist() == given.tolist()


def test_arrays_of_numpy_and_back() -> None:
    def body(library: Library) -> Any:
        array = np.arange(6.0).reshape(2, 3)
        shared = library.from_dlpack(array)
        copied = library.from_dlpack(array, copy=True)
        array[0, 0] = 7
        back = np.from_dlpack(library.arange(3.0))
        fixed = np.arange(3.0)
        fixed.flags.writeable = False
        return [
            shared, copied, back.tolist(), str(back.dtype), library.from_dlpack(fixed),
            library.from_dlpack(array, device="cpu", copy=False),
            library.from_dlpack(np.zeros((0, 3))), library.from_dlpack(np.array(2.5)),
            [int(part) for part in library.ones(1).__dlpack_device__()],
            type(library.ones(1).__dlpack_device__()[0]).__name__,
            "versioned" in repr(library.ones(1).__dlpack__(max_version=(1, 0))),
            "versioned" in repr(library.ones(1).__dlpack__()),
            library.from_dlpack(library.ones(2, requires_grad=True).detach()),
        ]  # fmt: skip

    assert_same(body(gradwright), body(torch))


ERRORS = """
torch.from_dlpack(3)
torch.from_dlpack(torch.ones(2, requires_grad=True))
torch.ones(2, requires_grad=True).__dlpack__()
torch.ones(2, device="meta").__dlpack__()
torch.ones(2, device="meta").__dlpack_device__()
torch.ones(2).__dlpack__(stream=5)
torch.from_dlpack(np.ones(2), device="meta", copy=False)
twice(torch)
""".strip().splitlines()


def twice(library: Library) -> Any:
    capsule = library.ones(2).__dlpack__()
    library.from_dlpack(capsule)
    return library.from_dlpack(capsule)


@pytest.mark.parametrize("line", ERRORS)
def test_errors(line: str) -> None:
    kinds = []
    for library in LIBRARIES:
        scope = {"torch": library, "np": np, "twice": twice}
        made = attempt(lambda scope=scope: eval(line, scope), message=False)  # type: ignore[misc]
        kinds.append(getattr(made, "kind", "none"))
    assert kinds[0] == kinds[1] != "none"


def test_the_same_protocols_are_there() -> None:
    for name in ("__array__", "__array_wrap__", "__array_priority__", "__dlpack__", "__dlpack_device__"):
        assert hasattr(torch.Tensor, name) is hasattr(gradwright.Tensor, name) is True
    for name in ("__array_ufunc__", "__array_function__", "__buffer__"):
        assert hasattr(torch.Tensor, name) is hasattr(gradwright.Tensor, name) is False
    for library in LIBRARIES:
        with pytest.raises(TypeError):
            memoryview(library.ones(2))


def test_functions_of_numpy_take_tensors() -> None:
    def body(library: Library) -> Any:
        x = library.arange(4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of PyTorch
            found = [np.sin(x), np.add(x, 1), x * np.array([0.0, 1, 2, 3]), np.concatenate([x, x]), np.asarray(x)]
        return [[type(one).__name__ for one in found], [np.asarray(one).tolist() for one in found]]

    assert_same(body(gradwright), body(torch))
