"""`tensor[index]` and `tensor[index] = value` beside PyTorch: results, views, gradients and error classes."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gradwright
from runtime.methods.indexing import getitem, setitem

Index = tuple[Any, Any]  # the same index for Gradwright and for PyTorch


def tensors(array: np.ndarray) -> Index:
    return gradwright.from_numpy(array.copy()), torch.from_numpy(array.copy())


def same(value: Any) -> Index:
    return value, value


@st.composite
def slices(draw: st.DrawFn) -> Index:
    bound = st.none() | st.integers(-5, 5)
    return same(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))


@st.composite
def index_tensors(draw: st.DrawFn, size: int) -> Index:
    shape = draw(st.sampled_from([(), (1,), (2,), (2, 1), (1, 2), (0,)]))
    low, high = (-size, size - 1) if size else (0, 0)
    values = [draw(st.integers(low, high)) for _ in range(int(np.prod(shape)))]
    kind = draw(st.sampled_from([np.int64, np.int32]))
    return tensors(np.array(values, kind).reshape(shape))


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...]) -> Index:
    values = [draw(st.booleans()) for _ in range(int(np.prod(shape)))]
    return tensors(np.array(values, bool).reshape(shape))


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Index]]:
    """A shape and the parts of an index for it."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=4)))
    parts: list[Index] = []
    dim = 0
    ellipsis = False
    while dim < len(shape) and draw(st.integers(0, 5)):
        size = shape[dim]
        kind = draw(st.sampled_from(["int", "slice", "none", "tensor", "mask", "ellipsis", "list", "array", "bool"]))
        if kind == "none":
            parts.append(same(None))
            continue
        if kind == "bool":
            parts.append(same(draw(st.booleans())))
            continue
        if kind == "ellipsis" and not ellipsis:
            ellipsis = True
            parts.append(same(...))
            dim = draw(st.integers(dim, len(shape)))
            continue
        if kind == "int":
            parts.append(same(draw(st.integers(-size - 1, size))))
        elif kind == "tensor" and size:
            parts.append(draw(index_tensors(size)))
        elif kind == "list" and size:
            parts.append(same(draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3))))
        elif kind == "array" and size:
            parts.append(same(np.array(draw(st.lists(st.integers(-size, size - 1), max_size=3)), np.int64)))
        elif kind == "mask" and not ellipsis:
            width = draw(st.integers(1, len(shape) - dim))
            parts.append(draw(masks(shape[dim : dim + width])))
            dim += width - 1
        else:
            parts.append(draw(slices()))
        dim += 1
    return shape, parts


def indices(parts: list[Index], single: bool) -> Index:
    ours, theirs = [part[0] for part in parts], [part[1] for part in parts]
    if single and len(parts) == 1:
        return ours[0], theirs[0]
    return tuple(ours), tuple(theirs)


def outcome(call: Any) -> tuple[Any, type[Exception] | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except Exception as error:
            return None, type(error)


@settings(max_examples=600, deadline=None)
@given(cases(), st.booleans())
def test_reading(case: tuple[tuple[int, ...], list[Index]], single: bool) -> None:
    shape, parts = case
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    ours, theirs = tensors(array)
    ours.requires_grad_()
    theirs.requires_grad_()
    our_index, their_index = indices(parts, single)
    found, error = outcome(lambda: getitem(ours, our_index))
    wanted, their_error = outcome(lambda: theirs[their_index])
    if error is IndexError and wanted is not None and not wanted.numel():
        return  # PyTorch does not look at the indices where nothing is read or written
    assert error == their_error
    if error is not None:
        return
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())
    assert found._is_view() == wanted._is_view()
    found.sum().backward()
    wanted.sum().backward()
    np.testing.assert_array_equal(ours.grad.numpy(), theirs.grad.numpy())


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...]) -> Index:
    """A number, or a Tensor that fits `shape`: with dimensions left out, of size 1, or 1 in front."""
    if draw(st.booleans()):
        return same(draw(st.sampled_from([7, 2.5, True])))
    sizes = [1 if draw(st.integers(0, 3)) == 0 else size for size in shape[draw(st.integers(0, len(shape))) :]]
    sizes = [1] * draw(st.integers(0, 1)) + sizes
    return tensors(np.asarray(100 + np.arange(np.prod(sizes), dtype=np.float64).reshape(sizes)))


@settings(max_examples=600, deadline=None)
@given(st.data(), cases(), st.booleans())
def test_writing(data: st.DataObject, case: tuple[tuple[int, ...], list[Index]], single: bool) -> None:
    shape, parts = case
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    ours, theirs = tensors(array)
    our_index, their_index = indices(parts, single)
    part, _ = outcome(lambda: theirs[their_index])
    our_value, their_value = data.draw(values(() if part is None else tuple(part.shape)))
    _, error = outcome(lambda: setitem(ours, our_index, our_value))
    _, their_error = outcome(lambda: theirs.__setitem__(their_index, their_value))
    nothing = not array.size or (part is not None and not part.numel())
    if nothing and error is IndexError:
        return  # PyTorch does not look at the indices where nothing is read or written
    assert error == their_error
    if error is None and not _repeats(parts):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def _repeats(parts: list[Index]) -> bool:
    """Whether an index may name an element twice, so that the order of writing decides."""
    return any(
        isinstance(part, list | np.ndarray) or (torch.is_tensor(part) and part.dtype != torch.bool) for _, part in parts
    )


@settings(max_examples=200, deadline=None)
@given(st.data(), cases())
def test_writing_is_differentiated(data: st.DataObject, case: tuple[tuple[int, ...], list[Index]]) -> None:
    shape, parts = case
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    ours, theirs = tensors(array)
    our_index, their_index = indices(parts, False)
    part, _ = outcome(lambda: theirs[their_index])
    if part is None or _repeats(parts):
        return
    our_value, their_value = tensors(np.ones(tuple(part.shape)))
    gradients = []
    for library, tensor, index, value, write in (
        (gradwright, ours, our_index, our_value, setitem),
        (torch, theirs, their_index, their_value, lambda x, i, v: x.__setitem__(i, v)),
    ):
        tensor.requires_grad_()
        value.requires_grad_()
        target = tensor * 2
        write(target, index, value * 3)
        weights = library.arange(float(target.numel())).to(library.float64).reshape(tuple(target.shape))
        (target * weights).sum().backward()
        gradients.append([None if t.grad is None else t.grad.numpy() for t in (tensor, value)])
    for grad, want in zip(*gradients, strict=True):
        np.testing.assert_array_equal(0.0 if grad is None else grad, 0.0 if want is None else want)


X = np.arange(30.0).reshape(3, 2, 5)
MASK = np.ones((3, 2), bool)

READS: list[Any] = [
    5, -4, (0, 2), (0, 0, 0, 0), slice(None, None, -1), slice(None, None, 0), slice(1.0, 2), slice("a", None),
    1.5, 1j, {}, "a", (0, 1.5), np.float64(1), [0, 1], [[0, 1], [1, 1]], [None, 0], [slice(0, 2), 0], [], [[]],
    [True, False, True], [1.5], range(2), (range(2), 0), [[0, 1]], ([0, 1], [0, 1]), ((0, 1), 0), np.int64(1),
    np.array(1), np.array([True, False, True]), (..., 0, ...), (..., ...), (), None, True, False, (True, True),
    (0, True, None), (MASK, 0), (MASK, None), (MASK, ...), (MASK, slice(0, 3)), (MASK, True), (None, MASK),
    (MASK, ..., 0), np.zeros((2, 2), bool), np.zeros(3, np.int16), np.zeros((0, 2, 5), bool),
    (np.zeros(1, np.uint8),), np.array([0.5]), (slice(None), 7), (np.array([0, 1]), slice(None), [0, 1]),
    (np.array([0, 1]), 0, np.array([0, 1])), (0, slice(None), np.array([0, 1])), np.array([9]),
    (slice(None), np.array([-3])), (np.array([0, 1]), np.array([0, 1, 1])),
]  # fmt: skip


def as_tensors(index: Any, library: Any) -> Any:
    if isinstance(index, np.ndarray):
        return library.from_numpy(index)
    return tuple(as_tensors(part, library) for part in index) if isinstance(index, tuple) else index


@pytest.mark.parametrize("index", READS, ids=repr)
@pytest.mark.parametrize("arrays", [True, False])
def test_reading_examples(index: Any, arrays: bool) -> None:
    """Also the message of an error is PyTorch's, but for the dimension: there it is counted among the indexed ones."""
    if arrays and isinstance(index, tuple) and any(part is MASK for part in index):
        pytest.skip("PyTorch counts an array that is a mask as one dimension")
    our_index = index if arrays else as_tensors(index, gradwright)
    their_index = index if arrays else as_tensors(index, torch)
    messages = []
    found = []
    calls = (
        lambda: getitem(gradwright.from_numpy(X.copy()), our_index),
        lambda: torch.from_numpy(X.copy())[their_index],
    )
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(call().numpy())
            except Exception as error:
                messages.append((type(error), re.sub(r"dimension \d", "dimension", str(error).splitlines()[0])))
    if messages:
        assert len(messages) == 2
        assert messages[0] == messages[1]
    else:
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("value", [[1, 2], None, "a", (1, 2), np.ones(5)], ids=repr)
def test_what_is_no_value(value: Any) -> None:
    with pytest.raises(TypeError) as ours:
        setitem(gradwright.from_numpy(X.copy()), 0, value)
    with pytest.raises(TypeError) as theirs:
        torch.from_numpy(X.copy())[0] = value
    assert str(ours.value).replace("gradwright.", "torch.") == str(theirs.value)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, np.ones((2, 4))), (0, np.ones((2, 2, 5))), (np.array([0]), np.ones((2, 5))),
        (np.array([0, 1]), np.ones((3, 2, 5))), (MASK, np.ones((4, 5))), (0, np.ones((1, 1, 2, 5))),
        (MASK, np.array(3)), (np.array([0]), np.array(3)), (0, np.array(3)),
    ],
)  # fmt: skip
def test_values_and_their_shapes(index: Any, value: np.ndarray) -> None:
    ours, theirs = tensors(X)
    _, error = outcome(lambda: setitem(ours, as_tensors(index, gradwright), gradwright.from_numpy(value)))
    _, their_error = outcome(lambda: theirs.__setitem__(as_tensors(index, torch), torch.from_numpy(value)))
    assert error == their_error
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
