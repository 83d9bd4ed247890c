"""Kernels of reductions, linear algebra and views against PyTorch: values, dtypes, shapes, strides and errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from runtime.operators.kernels import linalg, ordering, rearrange, reduction, shape

INF, NAN = float("inf"), float("nan")
SPECIAL = [[1.5, NAN, -INF, 2.0], [0.0, -1.0, 3.0, INF], [2.0, 2.0, -4.0, 0.5]]


def numbers(dtype: str, *sizes: int) -> np.ndarray:
    generator = np.random.default_rng(len(sizes) + sum(sizes))
    if dtype == "bool":
        return np.asarray(generator.integers(0, 2, sizes) == 1)
    if dtype.startswith(("int", "uint")):
        return np.asarray(generator.integers(0 if dtype[0] == "u" else -3, 4, sizes), dtype)
    values = generator.uniform(-2, 2, sizes)
    if dtype.startswith("complex"):
        values = values + 1j * generator.uniform(-2, 2, sizes)
    return np.asarray(values, dtype)


def arrays(dtype: str) -> dict[str, np.ndarray]:
    """Arrays of one dtype with different layouts; each has two dims or fewer."""
    made = {
        "matrix": numbers(dtype, 3, 4),
        "transposed": numbers(dtype, 4, 3).T,
        "strided": numbers(dtype, 6, 8)[::2, 1::2],
        "expanded": np.broadcast_to(numbers(dtype, 1, 4), (3, 4)),
        "scalar": numbers(dtype),
        "no rows": numbers(dtype, 0, 4),
        "no columns": numbers(dtype, 3, 0),
    }
    if dtype.startswith("float"):
        made["special"] = np.asarray(SPECIAL, dtype)
    return made


def to_torch(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.from_numpy(value)
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [to_torch(item) for item in value]
    if isinstance(value, np.dtype):
        return getattr(torch, value.name)
    return value


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def strides(array: np.ndarray) -> tuple[int, ...]:
    return tuple(step // array.itemsize for step in array.strides)


_ABOUT_DTYPES = re.compile(
    r"not implemented for '|not support complex|dtype must be either|only support floating|floating point or complex"
)


def compare(ours: Callable[..., Any], theirs: Callable[..., Any], args: tuple[Any, ...], view: bool = False) -> None:
    """Both give the same values, dtypes and shapes (views: strides too), or both raise an error of the same class."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = results(theirs(*map(to_torch, args)))
    except Exception as error:
        if not _ABOUT_DTYPES.search(str(error)):  # those are no matter of kernels
            with pytest.raises(type(error)):
                ours(*args)
        return
    with np.errstate(all="ignore"):
        found = results(ours(*args))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        one = np.asarray(one)
        assert one.dtype == other.resolve_conj().numpy().dtype
        assert one.shape == tuple(other.shape)
        tolerance = {"float16": 2e-3, "float32": 2e-5, "complex64": 2e-5}.get(one.dtype.name, 1e-12)
        np.testing.assert_allclose(one, other.resolve_conj().numpy(), rtol=tolerance, atol=tolerance)
        if view:
            if one.size:
                assert strides(one) == tuple(other.stride())
                assert np.may_share_memory(one, args[0])
            assert one.flags.writeable == args[0].flags.writeable


ALL = ("float32", "float64", "complex128", "int64", "int32", "uint8", "bool")
REAL = ("float32", "float64", "int64", "uint8", "bool")
FLOATING = ("float16", "float32", "float64", "complex64", "complex128")
DIMS: tuple[Any, ...] = ((0,), (1,), (-1,), (0, 1), (), None, (5,), (0, 0), (0, -2))


def dim_cases(dims: tuple[Any, ...] = DIMS) -> list[tuple[Any, ...]]:
    return [(dim, keepdim) for dim in dims for keepdim in (False, True)]


SINGLE = tuple((dim, keepdim) for dim in (0, 1, -1, -2, 3) for keepdim in (False, True))
F32, I64 = np.dtype("float32"), np.dtype("int64")

REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...], list[tuple[Any, ...]]]] = {
    "sum": (reduction.sum_all, torch.sum, ALL, [()]),
    "sum.dtype": (reduction.sum_all, lambda x, d: torch.sum(x, dtype=d), REAL, [(F32,), (I64,)]),
    "sum.dim": (reduction.sum_dim, torch.sum, ALL, dim_cases()),
    "nansum": (reduction.nansum, torch.nansum, ("float32", "float64", "int64", "bool"), dim_cases()),
    "mean": (reduction.mean_all, torch.mean, ALL, [()]),
    "mean.dim": (reduction.mean_dim, torch.mean, ALL, dim_cases()),
    "mean.dtype": (reduction.mean_all, lambda x, d: torch.mean(x, dtype=d), ("int64", "float64"), [(F32,), (I64,)]),
    "prod": (reduction.prod_all, torch.prod, ALL, [()]),
    "prod.dim": (reduction.prod_dim, torch.prod, ALL, list(SINGLE)),
    "var": (
        reduction.var,
        lambda x, d, c, k: torch.var(x, d, correction=c, keepdim=k),
        ALL,
        [(dim, correction, keep) for dim, keep in dim_cases() for correction in (None, 0, 2, 3)],
    ),
    "std_mean": (
        reduction.std_mean,
        lambda x, d, c, k: torch.std_mean(x, d, correction=c, keepdim=k),
        FLOATING,
        [(dim, 1, keep) for dim, keep in dim_cases()],
    ),
    "amax": (reduction.amax, torch.amax, ALL, [case for case in dim_cases() if case[0] not in (None, (0, 0), (0, -2))]),
    "amin": (reduction.amin, torch.amin, ALL, [case for case in dim_cases() if case[0] not in (None, (0, 0), (0, -2))]),
    "max": (reduction.max_all, torch.max, ALL, [()]),
    "min": (reduction.min_all, torch.min, ALL, [()]),
    "max.dim": (reduction.max_dim, torch.max, ALL, list(SINGLE)),
    "min.dim": (reduction.min_dim, torch.min, ALL, list(SINGLE)),
    "aminmax": (
        reduction.aminmax,
        lambda x, d, k: torch.aminmax(x, dim=d, keepdim=k),
        REAL,
        [(0, True), (1, False), (None, False)],
    ),
    "argmax": (reduction.argmax, torch.argmax, ("float32", "float64", "int64"), [*SINGLE, (None, False), (None, True)]),
    "argmin": (reduction.argmin, torch.argmin, ("float32", "float64", "int64"), [*SINGLE, (None, False), (None, True)]),
    "all": (reduction.all_all, torch.all, ALL, [()]),
    "any": (reduction.any_all, torch.any, ALL, [()]),
    "all.dim": (reduction.all_dim, torch.all, ALL, list(SINGLE)),
    "any.dims": (reduction.any_dims, torch.any, ALL, [((0, 1), False), ((), False), ((-1,), True)]),
    "count_nonzero": (reduction.count_nonzero, torch.count_nonzero, ALL, [(), (0,), (-1,)]),
    "logsumexp": (
        reduction.logsumexp,
        torch.logsumexp,
        ("float32", "float64", "complex128"),
        dim_cases(((0,), (1,), (0, 1))),
    ),
    "vector_norm": (
        reduction.linalg_vector_norm,
        torch.linalg.vector_norm,
        (*FLOATING, "int64"),
        [
            (order, *case)
            for order in (0, 1, 2, 3, 0.5, -1, INF, -INF)
            for case in dim_cases(((0,), (1,), (0, 1), None))
        ],
    ),
    "cumsum": (reduction.cumsum, torch.cumsum, ALL, [(0,), (-1,), (4,)]),
    "cumprod": (reduction.cumprod, torch.cumprod, ALL, [(0,), (-1,), (4,)]),
    "logcumsumexp": (reduction.logcumsumexp, torch.logcumsumexp, ("float32", "float64", "int64"), [(0,), (-1,)]),
    "cummax": (ordering.cummax, torch.cummax, REAL, [(0,), (-1,)]),
    "cummin": (ordering.cummin, torch.cummin, REAL, [(0,), (-1,)]),
    "sort": (
        ordering.sort,
        lambda x, dim, descending: torch.sort(x, stable=True, dim=dim, descending=descending),
        ALL,
        [(dim, descending) for dim in (0, -1, 4) for descending in (False, True)],
    ),
    "median": (ordering.median_all, torch.median, ("float32", "float64", "int64"), [()]),
    "median.dim": (
        lambda *args: ordering.median_dim(*args)[0],
        lambda *args: torch.median(*args)[0],
        ("float32", "float64", "int64"),
        list(SINGLE),
    ),
    "topk": (
        lambda *args: ordering.topk(*args)[0],
        lambda *args: torch.topk(*args)[0],
        ("float32", "float64", "int64", "complex128"),
        [(1,), (2, 0), (3, -1, False), (9,), (2, 1, True)],
    ),
    "trace": (linalg.trace, torch.trace, ("float32", "int64", "complex128"), [()]),
    "tril": (linalg.tril, torch.tril, ALL, [(), (1,), (-2,), (9,)]),
    "triu": (linalg.triu, torch.triu, ALL, [(), (1,), (-2,), (-9,)]),
    "diag_embed": (linalg.diag_embed, torch.diag_embed, ALL, [(), (1,), (-2, 0, 2), (0, 0, 0)]),
    "flip": (rearrange.flip, torch.flip, ALL, [((0,),), ((0, -1),), ((),), ((7,),), ((0, 0),)]),
    "roll": (
        rearrange.roll,
        torch.roll,
        ALL,
        [((1,),), ((1, -2), (0, 1)), ((3,), (-1,)), ((1, 2), (0,)), ((1, 2), (0, 0))],
    ),
    "repeat": (rearrange.repeat, lambda x, r: x.repeat(r), ALL, [((2, 1),), ((2, 1, 3),), ((0, 2),), ((2,),)]),
    "pad": (
        rearrange.constant_pad_nd,
        torch.constant_pad_nd,
        ("float32", "int64"),
        [((1, 2),), ((1, -2), 3), ((0, 1, -1, 2), 1), ((1,),), ((1, 1, 1, 1, 1, 1),), ((-9, 0),)],
    ),
    "clone": (rearrange.clone, torch.clone, ALL, [()]),
}


# PyTorch reads repeated memory wrongly in median, cuts nothing from nothing in constant_pad_nd, and its mean of
# infinite numbers in std_mean depends on where they stand.
UNCOMPARED = {("median.dim", "expanded"), ("pad", "no rows"), ("pad", "no columns"), ("std_mean", "special")}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_array(name: str) -> None:
    ours, theirs, dtypes, cases = REDUCTIONS[name]
    for dtype in dtypes:
        for label, array in arrays(dtype).items():
            if (name, label) in UNCOMPARED:
                continue
            for case in cases:
                try:
                    compare(ours, theirs, (array, *case))
                except BaseException as error:
                    error.add_note(f"{name}: {label} of {dtype}, {case}")
                    raise


VIEWS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[tuple[Any, ...]]]] = {
    "view": (
        shape.view,
        lambda x, s: x.view(s),
        [((4, 3),), ((12,),), ((2, -1),), ((2, 2, 3),), ((3, 1, 4),), ((5,),), ((-1, -1),)],
    ),
    "transpose": (shape.transpose, torch.transpose, [(0, 1), (-1, 0), (1, 1), (0, 2)]),
    "t": (shape.t, torch.t, [()]),
    "permute": (shape.permute, torch.permute, [((1, 0),), ((0, 1),), ((-1, 0),), ((0,),), ((0, 0),), ((),)]),
    "unsqueeze": (shape.unsqueeze, torch.unsqueeze, [(0,), (1,), (2,), (-1,), (-3,), (4,)]),
    "squeeze": (shape.squeeze_all, torch.squeeze, [()]),
    "squeeze.dim": (shape.squeeze_dim, torch.squeeze, [(0,), (-1,), (3,)]),
    "squeeze.dims": (shape.squeeze_dims, torch.squeeze, [((0, 1),), ((-1,),), ((),), ((4,),)]),
    "expand": (
        shape.expand,
        lambda x, s: x.expand(s),
        [((3, 4),), ((2, 3, 4),), ((-1, 4),), ((2, -1, -1),), ((1, 1, 3, 4),), ((5, 4),), ((4,),), ((-1, 3, 4),)],
    ),
    "select": (shape.select_int, torch.select, [(0, 0), (1, -1), (-1, 2), (0, 7), (3, 0)]),
    "slice": (
        shape.slice_dim,
        torch.ops.aten.slice.Tensor,
        [(0, 1, 3), (1, None, None, 2), (-1, -2, 100), (0, 2, 1), (1, -100, -1, 3), (0, 5, 9), (0, 0, 2, 0), (3,)],
    ),
    "diagonal": (shape.diagonal, torch.diagonal, [(), (1,), (-1, 1, 0), (0, 0, 0), (9,)]),
    "unfold": (
        shape.unfold,
        lambda x, *a: x.unfold(*a),
        [(0, 2, 1), (1, 2, 2), (-1, 3, 1), (0, 0, 1), (0, 9, 1), (0, 1, 0)],
    ),
    "split": (shape.split, torch.split, [(2,), (3, 1), (1, -1), (9, 0), (0, 0), (-1, 0)]),
    "split_with_sizes": (
        shape.split_with_sizes,
        torch.split_with_sizes,
        [((1, 2),), ((1, 3), 1), ((0, 3), 0), ((1, 1), 0), ((-1, 4), 0)],
    ),
    "unbind": (shape.unbind, torch.unbind, [(), (1,), (-1,), (2,)]),
    "alias": (shape.alias, torch.ops.aten.alias, [()]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    ours, theirs, cases = VIEWS[name]
    made = {
        "matrix": numbers("float32", 3, 4),
        "transposed": numbers("float32", 4, 3).T,
        "strided": numbers("float32", 6, 8)[::2, 1::2],
        "vector": numbers("float32", 12),
        "ones": numbers("float32", 1, 3, 1),
        "three": numbers("float32", 2, 3, 4).transpose(2, 0, 1),
        "scalar": numbers("float32"),
        "no rows": numbers("float32", 0, 4),
    }
    for label, array in made.items():
        for case in cases:
            try:
                compare(ours, theirs, (array, *case), view=True)
            except BaseException as error:
                error.add_note(f"{name}: {label}, {case}")
                raise


def test_view_of_incompatible_strides() -> None:
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        shape.view(numbers("float32", 3, 4).T, (12,))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_as_strided(dtype: str) -> None:
    base = numbers(dtype, 4, 5)
    cases = [((2, 2), (1, 2)), ((3, 3), (1, 1), 2), ((), (), 4), ((2, 0), (9, 9)), ((9, 9), (9, 9)), ((2,), (-1,))]
    for part in (lambda x: x, lambda x: x[1:, 2:], lambda x: x.T, lambda x: x[::2], lambda x: x.T[1:, 1]):
        for case in cases:
            compare(
                lambda x, *rest, part=part: shape.as_strided(part(x), *rest),
                lambda x, *rest, part=part: torch.as_strided(part(x), *rest),
                (base, *case),
            )
    assert np.shares_memory(shape.as_strided(base[1:], (2,), (1,), 0), base)


def test_complex_as_pairs() -> None:
    base = numbers("complex64", 3, 4)
    for array in (base, base.T, base[::2, 1:], numbers("complex64")):
        compare(shape.view_as_real, torch.view_as_real, (array,), view=True)
    pairs = numbers("float64", 3, 4, 2)
    for array in (pairs, pairs.transpose(1, 0, 2), pairs[:, 1:], pairs.transpose(2, 0, 1), pairs[..., :1], pairs[0, 0]):
        compare(shape.view_as_complex, torch.view_as_complex, (array,), view=True)


def test_view_as_another_dtype() -> None:
    array = numbers("float32", 3, 4)
    for dtype in ("int32", "float64", "int16", "float32"):
        compare(shape.view_dtype, lambda x, d: x.view(d), (array, np.dtype(dtype)), view=True)


MATRICES = {
    "2x3": (2, 3),
    "3x4": (3, 4),
    "3": (3,),
    "2": (2,),
    "4": (4,),
    "0x3": (0, 3),
    "3x0": (3, 0),
    "b2x3": (2, 2, 3),
    "b3x2": (2, 3, 2),
    "c3x2": (3, 3, 2),
    "scalar": (),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot", "vdot"])
def test_products(name: str, dtype: str) -> None:
    ours, theirs = getattr(linalg, name), getattr(torch, name)
    for left in MATRICES.values():
        if name == "mv" and not left:
            continue
        for right in MATRICES.values():
            compare(ours, theirs, (numbers(dtype, *left), numbers(dtype, *right)))
    compare(ours, theirs, (numbers(dtype, 3, 3).T, numbers("int32", 3, 3)))


@pytest.mark.parametrize("name", ["addmm", "addmv", "baddbmm", "addbmm"])
def test_added_products(name: str) -> None:
    ours, theirs = getattr(linalg, name), getattr(torch, name)
    shapes: list[tuple[tuple[int, ...], ...]] = [
        ((2, 4), (2, 3), (3, 4)),
        ((4,), (2, 3), (3, 4)),
        ((), (2, 3), (3, 4)),
        ((3, 4), (2, 3), (3, 4)),
        ((2,), (2, 3), (3,)),
        ((), (2, 3), (3,)),
        ((2, 2, 2), (2, 2, 3), (2, 3, 2)),
        ((2,), (2, 2, 3), (2, 3, 2)),
        ((2, 2), (2, 2, 3), (2, 3, 2)),
        ((2, 2), (2, 0), (0, 2)),
        ((1, 1, 2, 2), (2, 2), (2, 2)),
    ]
    for dtype in ("float32", "float64", "complex128", "int64"):
        for case in shapes:
            if "b" in name[:4] and len(case[1]) != 3:
                continue
            operands = tuple(numbers(dtype, *sizes) for sizes in case)
            for beta, alpha in ((1, 1), (2, 3), (0, 1), (2, 0)):
                compare(
                    lambda *args, b=beta, a=alpha: ours(*args, b, a),
                    lambda *args, b=beta, a=alpha: theirs(*args, beta=b, alpha=a),
                    operands,
                )


def test_beta_zero_hides_nan() -> None:
    result = linalg.addmm(np.full((2, 2), NAN), np.eye(2), np.eye(2), 0, 1)
    np.testing.assert_array_equal(result, np.eye(2))


def test_message_of_wrong_shapes_and_dtypes() -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"):
        linalg.mm(numbers("float32", 2, 3), numbers("float32", 4, 5))
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != double"):
        linalg.mm(numbers("float32", 2, 3), numbers("float64", 3, 5))


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joins(name: str) -> None:
    ours, theirs = getattr(rearrange, name), getattr(torch, name)
    a, b, c = numbers("float32", 2, 3), numbers("float32", 2, 1), numbers("int64", 2, 3)
    lists = [
        [a, a],
        [a, b],
        [a, c],
        [c, a.astype("float16")],
        [a.T, a.T],
        [a, numbers("float32", 0)],
        [numbers("int64", 3)] * 3,
        [a, numbers("float32", 2)],
        [numbers("float32")] * 2,
        [c, numbers("bool", 2, 3)],
        [numbers("uint8", 2, 3), numbers("int8", 2, 3)],
    ]
    for given in lists:
        for dim in (0, 1, -1, -3, 2):
            compare(ours, theirs, (given, dim))


@pytest.mark.parametrize("sizes", [(3, 3), (2, 3, 3), (0, 3, 3), (0, 0), (2, 3), (3,)])
def test_inverse(sizes: tuple[int, ...]) -> None:
    for dtype in ("float32", "float64", "complex128", "int64"):
        compare(lambda x: linalg.linalg_inv_ex(x)[0], lambda x: torch.linalg.inv_ex(x)[0], (numbers(dtype, *sizes),))


def test_inverse_of_singular() -> None:
    singular = np.stack([np.eye(2), np.ones((2, 2))])
    _, info = linalg.linalg_inv_ex(singular)
    assert info.tolist() == [0, 2]
    with pytest.raises(np.linalg.LinAlgError, match="singular"):  # the class of ours is given to it outside of kernels
        linalg.linalg_inv_ex(singular, True)


@pytest.mark.parametrize("left", [True, False])
def test_solve(left: bool) -> None:
    for a, b in [
        ((3, 3), (3, 2)),
        ((3, 3), (2, 3)),
        ((2, 3, 3), (2, 3)),
        ((3, 3), (3,)),
        ((2, 3, 3), (3, 3)),
        ((0, 0), (0, 2)),
        ((3, 3), (4, 4)),
    ]:
        for dtype in ("float32", "complex128"):
            given = (numbers(dtype, *a), numbers(dtype, *b))
            compare(
                lambda A, B: linalg.linalg_solve_with_factors(A, B, left, True)[0].astype(A.dtype),
                lambda A, B: torch.linalg.solve(A, B, left=left),
                given,
            )
            compare(
                lambda A, B: linalg.linalg_solve_triangular(A, B, True, left),
                lambda A, B: torch.linalg.solve_triangular(A, B, upper=True, left=left),
                given,
            )


def test_adjoints_of_views() -> None:
    vector, matrix = numbers("float64", 3), numbers("float64", 3, 2)
    compare(rearrange.select_backward, torch.ops.aten.select_backward, (vector, (3, 4), 1, -2))
    compare(rearrange.slice_backward, torch.ops.aten.slice_backward, (matrix, (3, 7), 1, 1, 5, 2))
    compare(rearrange.diagonal_backward, torch.ops.aten.diagonal_backward, (vector, (4, 3), -1, 0, 1))
    compare(rearrange.unfold_backward, torch.ops.aten.unfold_backward, (numbers("float64", 3, 4, 3), (5, 4), 0, 3, 1))
    whole = numbers("float64", 3, 4)
    compare(rearrange.select_scatter, torch.select_scatter, (whole, vector, 1, 2))
    compare(rearrange.slice_scatter, torch.slice_scatter, (whole, matrix, 1, 0, 4, 2))
    compare(rearrange.diagonal_scatter, torch.diagonal_scatter, (whole, vector, 1))
    compare(rearrange.select_scatter, torch.select_scatter, (whole, matrix, 1, 2))


def test_repeat_interleave_counts() -> None:
    for counts in (np.array([2, 0, 3]), np.array([1, -1]), numbers("int64")):
        compare(rearrange.repeat_interleave_counts, torch.repeat_interleave, (counts,))
