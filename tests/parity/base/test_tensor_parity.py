"""Promotion, limits, printing and creation, side by side with PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import gradwright
from runtime.base import creation, dtypes
from runtime.base.types import Size

NAMES = [d.name for d in (*dtypes.ALL_DTYPES, dtypes.complex32)]


def answer(function, *args):
    """The result's text, or the class of the error."""
    try:
        return str(function(*args)).replace("torch.", "gradwright.")
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("pair", list(itertools.product(NAMES, NAMES)), ids="-".join)
def test_pairs_of_dtypes(pair):
    ours = [getattr(dtypes, name) for name in pair]
    theirs = [getattr(torch, name) for name in pair]
    promoted = answer(torch.promote_types, *theirs)
    assert answer(dtypes.promote_types, *ours) == promoted
    assert dtypes.can_cast(*ours) == torch.can_cast(*theirs)


OPERANDS = [
    *(("tensor", name, shape) for name in NAMES for shape in ([1], 1)),
    *(("number", value, None) for value in (True, 2, 2.5, 1j)),
]


@pytest.mark.parametrize("left", OPERANDS, ids=str)
def test_result_types(left):
    def make(tensor, operand, namespace):
        kind, value, data = operand
        return value if kind == "number" else tensor(data, dtype=getattr(namespace, value))

    for right in OPERANDS:
        expected = answer(torch.result_type, make(torch.tensor, left, torch), make(torch.tensor, right, torch))
        tensor = creation.tensor
        got = answer(dtypes.result_type, make(tensor, left, dtypes), make(tensor, right, dtypes))
        assert got == expected, (left, right)


@pytest.mark.parametrize("name", NAMES)
def test_properties_of_dtypes(name):
    ours, theirs = getattr(dtypes, name), getattr(torch, name)
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert str(ours.to_real()) == str(theirs.to_real()).replace("torch", "gradwright")
    for kind in ("finfo", "iinfo"):
        assert answer(getattr(dtypes, kind), ours) == answer(getattr(torch, kind), theirs)


def values(kind, shape, scale):
    random = np.random.default_rng(0)
    array = random.normal(size=shape)
    if kind == "c":
        array = array + 1j * random.normal(size=shape)
    if scale == "whole":
        return np.round(array.real * 5)
    if scale == "wide":
        return array * np.exp(random.normal(size=shape) * 5)
    if scale in ("inf", "nan"):
        return np.where(random.random(shape) < 0.5, float(scale), array)
    return array * float(scale)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"precision": 2, "linewidth": 40},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"edgeitems": 1, "threshold": 5},
        {"edgeitems": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (0, 3), (2, 3, 4), (30,), (1001,), (40, 40), (11, 11, 11)])
def test_printing(shape, options):
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    try:
        with gradwright.printoptions(**{"sci_mode": None, **options}), np.errstate(all="ignore"):
            scales = ("1", "0", "-0.0", "1e9", "1e-6", "whole", "wide", "inf", "nan")
            for dtype, scale in itertools.product(("f2", "f4", "f8", "i1", "i8", "?", "c8", "c16", "u2"), scales):
                if dtype[0] not in "fc" and scale in ("inf", "nan"):
                    continue
                array = values(dtype[0], shape, scale)
                if dtype[0] not in "c":
                    array = array.real
                array = np.asarray(np.abs(array) % 100 if dtype[0] == "u" else array).astype(dtype)
                expected = repr(torch.from_numpy(array)).replace("torch.", "gradwright.")
                got = repr(creation.from_numpy(array))
                if "dtype" in expected:  # our prefix is longer, so the line may be broken elsewhere
                    expected, got = ("".join(text.split()) for text in (expected, got))
                assert got == expected, (dtype, scale)
    finally:
        torch.set_printoptions(profile="default")


DATA = [
    1, 1.5, True, 1j, [], [[], []], [[], [1]], [1.0, True, 2], [True, 2], [[1, 2], [3]], [[1, 2, 3], [3, 3]], [1, [3]],
    [[3, 3], 1], "a", ["a"], None, [None], {1: 2}, {1, 2}, range(3), [2**63], [2**70], 2**63, -(2**63), (1, (2,)),
    [np.float64(3), 2], np.float64(3), np.float16(3), [np.float16(3)], [np.int8(3)], [np.bool_(True)],
    np.ones((2, 2)), np.array(["a"]), [0.1, 1 + 1j], [float("nan")], [-0.0],
]  # fmt: skip


def is_real(data):
    items = data if type(data) is list else [data]
    return all(isinstance(item, int | float | np.number | np.bool) for item in items)


@pytest.mark.parametrize("data", DATA, ids=str)
@pytest.mark.parametrize("name", [None, *NAMES])
def test_tensor(data, name):
    def make(tensor, namespace):
        return tensor(data, dtype=None if name is None else getattr(namespace, name))

    expected = answer(make, torch.tensor, torch)
    if expected is TypeError and name is not None and not getattr(dtypes, name).is_floating_point and is_real(data):
        return  # PyTorch refuses some NumPy numbers here, and for uint64 floats, that it takes everywhere else
    assert answer(make, creation.tensor, dtypes) == expected


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "uint16", "int32", "uint32"])
def test_integers_at_the_limits(name):
    info = torch.iinfo(getattr(torch, name))
    limits = (info.min, info.max)
    for value in {limit + offset for limit in (*limits, -info.max, -info.min) for offset in (-1, 0, 1)}:
        expected = answer(lambda v: torch.tensor([v], dtype=getattr(torch, name)), value)
        assert answer(lambda v: creation.tensor([v], dtype=getattr(dtypes, name)), value) == expected, value


@pytest.mark.parametrize("sizes", [(), (2, 3), [1], [1.5], ["a"]], ids=str)
def test_size(sizes):
    assert answer(Size, sizes) == answer(torch.Size, sizes)
