"""Native kernels of views: what the Python ones make, on the same arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime
from generated import operators
from runtime import native
from runtime.tensor import Tensor, wrap

pytestmark = pytest.mark.skipif(not native.is_available(), reason="the native core is not built, or switched off")

Arguments = Callable[[random.Random, Tensor], tuple[Any, ...]]


def dim(rng: random.Random, x: Tensor, extra: int = 0) -> int:
    limit = x.dim() + extra + 1
    return rng.randrange(-limit, limit)


def sizes(rng: random.Random, x: Tensor) -> tuple[int, ...]:
    """Sizes that often multiply up to the number of elements, with a -1 now and then."""
    left, found = max(x.numel(), 1), []
    while left > 1 and rng.random() < 0.8:
        divisor = rng.choice([d for d in range(1, left + 1) if left % d == 0])
        found.append(divisor)
        left //= divisor
    found.append(left)
    if rng.random() < 0.3:
        found[rng.randrange(len(found))] = rng.choice([-1, 0, 1, -2])
    return tuple(found)


def expanded(rng: random.Random, x: Tensor) -> tuple[int, ...]:
    lead = [rng.choice([0, 1, 2]) for _ in range(rng.randrange(3))]
    return (*lead, *(rng.choice([size, size, -1, 3]) for size in x.shape))


def some_int(rng: random.Random, x: Tensor) -> int:
    return rng.randrange(-7, 8)


def bound(rng: random.Random, x: Tensor) -> int | None:
    return rng.choice([None, some_int(rng, x), 2**62, -(2**70)])


def order(rng: random.Random, x: Tensor) -> tuple[int, ...]:
    dims = list(range(x.dim()))
    rng.shuffle(dims)
    return tuple(rng.choice([d, d, d - x.dim(), dims[0]]) for d in dims)


def cut(rng: random.Random, x: Tensor) -> tuple[int, ...]:
    size = x.shape[0] if x.dim() else 3
    first = rng.randrange(size + 1)
    return rng.choice([(first, size - first), (0, first, 0, size - first), (first,), ()])


OPERATORS: dict[str, Arguments] = {
    "view_default": lambda r, x: (sizes(r, x),),
    "reshape_default": lambda r, x: (sizes(r, x),),
    "_unsafe_view_default": lambda r, x: (sizes(r, x),),
    "alias_default": lambda r, x: (),
    "transpose_int": lambda r, x: (dim(r, x), dim(r, x)),
    "swapaxes_default": lambda r, x: (dim(r, x), dim(r, x)),
    "t_default": lambda r, x: (),
    "permute_default": lambda r, x: (order(r, x),),
    "movedim_int": lambda r, x: (dim(r, x), dim(r, x)),
    "unsqueeze_default": lambda r, x: (dim(r, x, 1),),
    "squeeze_default": lambda r, x: (),
    "squeeze_dim": lambda r, x: (dim(r, x),),
    "squeeze_dims": lambda r, x: (order(r, x)[:2],),
    "expand_default": lambda r, x: (expanded(r, x),),
    "select_int": lambda r, x: (dim(r, x), some_int(r, x)),
    "slice_Tensor": lambda r, x: (dim(r, x), bound(r, x), bound(r, x), r.choice([1, 1, 2, 3, 0, -1])),
    "narrow_default": lambda r, x: (dim(r, x), some_int(r, x), r.randrange(4)),
    "diagonal_default": lambda r, x: (some_int(r, x), dim(r, x), dim(r, x)),
    "unfold_default": lambda r, x: (dim(r, x), r.randrange(4), r.randrange(4)),
    "flatten_using_ints": lambda r, x: (dim(r, x), dim(r, x)),
    "unbind_int": lambda r, x: (dim(r, x),),
    "split_Tensor": lambda r, x: (r.randrange(-1, 4), dim(r, x)),
    "split_with_sizes_default": lambda r, x: (cut(r, x), r.choice([0, 0, dim(r, x)])),
    "chunk_default": lambda r, x: (r.randrange(0, 5), dim(r, x)),
}


def base(rng: random.Random) -> Tensor:
    """A Tensor of any layout: sizes 0 and 1, steps, other orders, repeated elements, memory that must not be written."""
    shape = [rng.choice([0, 1, 1, 2, 3, 4, 4]) for _ in range(rng.randrange(5))]
    array = np.arange(int(np.prod([2 * size for size in shape])), dtype="float32").reshape([2 * size for size in shape])
    change = rng.randrange(5)
    cuts = tuple([slice(None, size) if change else slice(None, None, 2) for size in shape])
    array = np.asarray(array[cuts] if change != 1 else array[cuts].copy())
    if change == 3:
        array = array.transpose(rng.sample(range(array.ndim), array.ndim))
    if change == 4:
        array = np.broadcast_to(array, (2, *array.shape))
    return wrap(array)


def outcome(function: Callable[..., Any], x: Tensor, args: tuple[Any, ...]) -> Any:
    try:
        result = function(x, *args)
    except Exception as error:
        return type(error), str(error)
    results = result if isinstance(result, tuple | list) else [result]
    return type(result), [layout(out, x) for out in results]


def layout(out: Tensor, x: Tensor) -> Any:
    array = out._array
    shared = out is not x and out._base is x
    offset = array.ctypes.data - x._array.ctypes.data if shared and array.size else None
    kind = out._extra.view if out._extra is not None else None
    facts = (array.shape, out.stride(), array.dtype, array.flags.writeable, array.flags.c_contiguous, offset, shared)
    return *facts, kind, out is x, out.storage_offset(), array.tolist()


@pytest.mark.parametrize("name", OPERATORS)
def test_kernels(name: str) -> None:
    function: Any = getattr(operators, name)
    rng = random.Random(name)
    worked = 0
    for number in range(400):
        x = base(rng)
        args = OPERATORS[name](rng, x)
        if number % 7 == 0:  # recorded, too
            x.requires_grad_()
        found, expected = outcome(function, x, args), outcome(function.__wrapped__, x, args)
        assert found == expected, (x._array.shape, x._array.strides, args)
        worked += not issubclass(expected[0], Exception)
    assert worked > 50


def test_arguments_in_other_forms() -> None:
    x = runtime.arange(24.0).reshape(2, 3, 4)
    for given in [(6, 4), [6, 4], runtime.zeros(6, 4).shape, (np.int64(6), 4), (True, 24)]:
        assert outcome(operators.view_default, x, (given,)) == outcome(operators.view_default.__wrapped__, x, (given,))
    assert x.view(6, 4).shape == x.view([-1, 4]).shape == x.view(size=(6, 4)).shape == (6, 4)
    assert x.transpose(dim0=0, dim1=1).shape == (3, 2, 4)
    with pytest.raises(TypeError):
        x.view(1.5)
    with pytest.raises(TypeError):
        x.transpose(0, None)


def test_many_dimensions() -> None:
    x = runtime.zeros(*[1] * 20)
    assert x.view(1).shape == (1,)
    assert x.unsqueeze(0).dim() == 21
    assert x.squeeze().shape == ()
    assert runtime.zeros(1).view(*[1] * 20).dim() == 20
