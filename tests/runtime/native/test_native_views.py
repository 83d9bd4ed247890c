"""Native kernels of views: what the Python ones make, on the same arguments."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from gradwright import native
from runtime.base.sharing import views_over
from runtime.base.tensor import Tensor, wrap
from support.native_core import needs_core
from support.programs import run

pytestmark = needs_core

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
    """A Tensor of any layout: sizes 0 and 1, steps, other orders, repeated elements, read-only memory."""
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
    x = gradwright.arange(24.0).reshape(2, 3, 4)
    for given in [(6, 4), [6, 4], gradwright.zeros(6, 4).shape, (np.int64(6), 4), (True, 24)]:
        assert outcome(operators.view_default, x, (given,)) == outcome(operators.view_default.__wrapped__, x, (given,))
    assert x.view(6, 4).shape == x.view([-1, 4]).shape == x.view(size=(6, 4)).shape == (6, 4)
    assert x.transpose(dim0=0, dim1=1).shape == (3, 2, 4)
    with pytest.raises(TypeError):
        x.view(1.5)
    with pytest.raises(TypeError):
        x.transpose(0, None)


def test_many_dimensions() -> None:
    x = gradwright.zeros(*[1] * 20)
    assert x.view(1).shape == (1,)
    assert x.unsqueeze(0).dim() == 21
    assert x.squeeze().shape == ()
    assert gradwright.zeros(1).view(*[1] * 20).dim() == 20


def test_exceptions_of_composites_are_pythons() -> None:
    x, w = gradwright.ones(2, 3), gradwright.ones(4, 3)
    for function, args in [
        (operators.matmul_default, (x, w)),
        (operators.matmul_default, (x, gradwright.tensor(1.0))),
        (operators.linear_default, (x, gradwright.ones(4, 5), None)),
        (operators.cross_entropy_loss_default, (x, gradwright.tensor([0, 1, 2]))),
        (operators.softmax_int, (x, 7)),
        (operators.reshape_default, (x.t(), (7,))),
        (operators.narrow_default, (x, 0, 1, 5)),
        (operators.dropout_default, (x, 1.5, False)),
    ]:
        assert issubclass(outcome(function.__wrapped__, *args[:1], args[1:])[0], Exception)
        assert outcome(function, args[0], args[1:]) == outcome(function.__wrapped__, args[0], args[1:])


def test_products() -> None:
    rng = random.Random(3)
    worked = 0
    for _ in range(300):
        left, right = ([rng.choice([1, 2, 3]) for _ in range(rng.randrange(5))] for _ in range(2))
        if left and right and rng.random() < 0.8:
            right[max(len(right) - 2, 0)] = left[-1]
        x, y = gradwright.randn(left, dtype=gradwright.float64), gradwright.randn(right, dtype=gradwright.float64)
        x.requires_grad_()
        found = outcome(operators.matmul_default, x, (y,))
        assert found == outcome(operators.matmul_default.__wrapped__, x, (y,))
        if not issubclass(found[0], Exception):
            names = [f(x, y).grad_fn.name() for f in (operators.matmul_default, operators.matmul_default.__wrapped__)]
            assert names[0] == names[1]
            worked += 1
    assert worked > 100


def test_losses_and_layers() -> None:
    x, y = gradwright.randn(4, 3, requires_grad=True), gradwright.randn(2, 5, 3)
    weight, bias = gradwright.randn(6, 3), gradwright.randn(6)
    target = gradwright.tensor([0, 2, -100, 1])
    for function, args in [
        (operators.linear_default, (x, weight, bias)),
        (operators.linear_default, (x, weight, None)),
        (operators.linear_default, (y, weight, bias)),
        (operators.linear_default, (y[0, 0], weight, bias)),
        (operators.softmax_int, (x, -1, None)),
        (operators.softmax_int, (x, -1, gradwright.float64)),
        (operators.log_softmax_int, (x, 0, None)),
        (operators.cross_entropy_loss_default, (x, target, None, 1, -100, 0.0)),
        (operators.cross_entropy_loss_default, (x, target.abs() % 3, None, 0, 1, 0.0)),
        (operators.cross_entropy_loss_default, (x, target, gradwright.rand(3), 2, -100, 0.0)),
        (operators.cross_entropy_loss_default, (x, target, None, 1, -100, 0.1)),
        (operators.cross_entropy_loss_default, (x, x.softmax(-1).detach(), None, 1, -100, 0.0)),
        (operators.cross_entropy_loss_default, (x[0], target[1], None, 1, -100, 0.0)),
        (operators.l1_loss_default, (x, weight[:4] * 2, 1)),
        (operators.l1_loss_default, (x, weight[:4] * 2, 2)),
        (operators.square_default, (x,)),
        (operators.outer_default, (bias, x[0])),
        (operators.dropout_default, (x, 0.5, False)),
    ]:
        native, python = function(*args), function.__wrapped__(*args)
        assert native.tolist() == python.tolist()
        assert type(native.grad_fn) is type(python.grad_fn)


INDICES: list[Any] = [
    0, -1, 5, True, None, ..., slice(None), slice(1, None), slice(None, -1, 2), slice(3, 1), slice(0, 2, -1),
    slice("a", None), (), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (..., 0), (0, ..., 1), (..., ...), (None, 0, None),
    (slice(None), 1), (slice(None), slice(1, 2), None), (..., slice(None, None, 2)), (0, True), (1.0,), ([0, 1], 0),
    [0, 1], "text", np.int64(1), (np.int64(1), 0), (slice(None),) * 3, (slice(None),) * 4, (0, 9), (-3,), 2**80,
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_subscripts(index: Any) -> None:
    from runtime.methods.indexing import getitem

    for shape in ((2, 3, 4), (3,), (), (0, 2)):
        x = gradwright.arange(float(np.prod(shape))).reshape(shape)
        for requires_grad in (False, True):
            x.requires_grad_(requires_grad)
            found, expected = outcome(Tensor.__getitem__, x, (index,)), outcome(getitem, x, (index,))
            assert found == expected
            if requires_grad and not issubclass(found[0], Exception) and x[index].grad_fn is not None:
                assert x[index].grad_fn.name() == getitem(x, index).grad_fn.name()


def test_attributes() -> None:
    x = gradwright.ones(2, 3, requires_grad=True)
    assert type(x.shape) is type(x.size()) is gradwright.Size
    assert (x.shape, x.size(1), x.size(dim=-2), x.dim(), x.ndim, x.numel()) == ((2, 3), 3, 2, 2, 2, 6)
    assert (x.dtype, gradwright.ones(1, dtype=gradwright.int16).dtype) == (gradwright.float32, gradwright.int16)
    assert x.is_leaf
    assert x.grad is None
    assert not (x * 2).is_leaf
    assert x.grad_fn is None
    assert (x * x).grad_fn.name() == "MulBackward0"
    assert x.unbind()[1].grad_fn.name() == "UnbindBackward0"
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(5)
    with pytest.raises(TypeError):
        x.size(1, 2)
    with pytest.raises(RuntimeError, match="mT is only supported"):
        _ = gradwright.ones(2).mT
    x.grad = gradwright.ones(2, 3)
    assert x.grad.tolist() == [[1.0] * 3] * 2
    del x.grad
    assert x.grad is None
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = 1
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (x * 2).grad is None
    assert Tensor.shape.__doc__ == "The sizes of the dimensions."


PROGRAMS = """
import random, sys
import numpy as np
import gradwright

views = [
    lambda r, x: x.view(-1), lambda r, x: x.reshape(-1, 2), lambda r, x: x.transpose(0, -1), lambda r, x: x.t(),
    lambda r, x: x[0], lambda r, x: x[1:], lambda r, x: x[..., ::2], lambda r, x: x[None, :, 0], lambda r, x: x.T,
    lambda r, x: x.unsqueeze(r.randrange(3)), lambda r, x: x.squeeze(), lambda r, x: x.expand(2, *x.shape),
    lambda r, x: x.detach(), lambda r, x: r.choice(x.unbind(0)), lambda r, x: r.choice(x.chunk(2, -1)),
    lambda r, x: x.flatten(), lambda r, x: x.narrow(0, 0, 1), lambda r, x: x.diagonal(), lambda r, x: x.view_as(x),
    lambda r, x: gradwright.nn.Parameter(x.detach()), lambda r, x: x.data, lambda r, x: r.choice(x.split([1, 1])),
]
writes = [
    lambda x, y: x.add_(1), lambda x, y: x.mul_(2), lambda x, y: x.mul_(y.sum()), lambda x, y: x.copy_(y.sum()),
    lambda x, y: x.zero_(), lambda x, y: x.__setitem__(0, 3.0), lambda x, y: x.__setitem__(0, y.sum()),
    lambda x, y: x.tanh_(), lambda x, y: x.squeeze_(), lambda x, y: x.detach_(), lambda x, y: x.requires_grad_(),
]
plain = [lambda x, y: x * 2, lambda x, y: x.exp(), lambda x, y: x * y.sum(), lambda x, y: x.clone(), lambda x, y: x @ x]


def rounded(x):
    return [f"{value:.6g}" for value in x.detach().numpy().ravel() + 0.0]


def described(x):
    try:
        node = x.grad_fn
    except RuntimeError as error:  # a stale view
        return str(error)
    return (
        tuple(x.shape), x.stride(), x.requires_grad, x.is_leaf, x._is_view(), node and node.name(), x.output_nr,
        -1 if x.is_inference() else x._version, rounded(x),
    )


for seed in range(int(sys.argv[1])):
    r = random.Random(seed)
    numbers = [[0.5, -1.0, 0.25, 2.0], [1.0, 0.75, -0.5, 0.125]]
    leaves = [gradwright.tensor(numbers, dtype=gradwright.float64) for _ in range(2)]
    for leaf in leaves:
        leaf.requires_grad_()
    values = [leaves[0], leaves[1] * 1, gradwright.ones(2, 4, dtype=gradwright.float64)]
    for _ in range(r.randrange(2, 14)):
        x, y = r.choice(values), r.choice(values)
        mode = r.choice([gradwright.enable_grad] * 5 + [gradwright.no_grad, gradwright.inference_mode])
        kind = r.choice(["view", "view", "write", "plain"])
        forget = r.random() < 0.2
        try:
            with mode():
                if kind == "view":
                    made = r.choice(views)(r, x)
                    made._base  # noqa: B018
                elif kind == "write":
                    made = r.choice(writes)(x, y)
                else:
                    made = r.choice(plain)(x, y)
            if isinstance(made, gradwright.Tensor) and not any(made is v for v in values) and made.numel() < 200:
                values.append(made)
                base = made._base
                print(seed, kind, described(made), base is not None and [base is v for v in values])
        except Exception as error:
            print(seed, kind, type(error).__name__, error)
        if forget and len(values) > 3:
            del values[r.randrange(3, len(values))]
        print(seed, [described(value) for value in values])
    try:
        total = sum([(value.sin() * (k + 1)).sum() for k, value in enumerate(values) if value.requires_grad])
        grads = gradwright.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        print(seed, [None if g is None else rounded(g) for g in grads])
        sum([(g * g).sum() for g in grads if g is not None]).backward()
        print(seed, [None if leaf.grad is None else rounded(leaf.grad) for leaf in leaves])
    except Exception as error:
        # Of several views that a write made stale, another may be met first where some are over a detached Tensor.
        print(seed, type(error).__name__, str(error).rpartition(" is a view")[2])
"""


def test_random_programs_of_views_and_writes_with_the_core_on_and_off() -> None:
    on, off = (run(PROGRAMS, "600", **switch).splitlines() for switch in ({}, {"GRADWRIGHT_NATIVE": "0"}))
    assert len(on) > 6000
    kinds = {line.split()[2] for line in on if line.split()[1] in ("view", "write")}
    assert "RuntimeError" in kinds
    for ours, theirs in zip(on, off, strict=True):
        assert ours == theirs


def test_memory_stays_flat() -> None:
    x = gradwright.ones(4, 4, requires_grad=True)

    def work() -> None:
        y = x * 2
        view = y
        for _ in range(50):
            view = view.view(16)[1:].unsqueeze(0).expand(2, 15).t()[0].detach().view(2) * x[0, 0] + x.view(16)[:2]
            view = view.expand(8, 2).reshape(4, 4)
        with gradwright.no_grad():
            for row in y.unbind(0):
                row.view(-1).mul_(2)
        view.sum().backward()
        x.grad = None

    def blocks() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    for _ in range(20):
        work()
    before = blocks()
    for _ in range(200):
        work()
    assert blocks() - before < 300


def test_views_leave_nothing_behind() -> None:
    base = gradwright.ones(8)
    kept = base[2:4]
    for _ in range(1000):
        base.view(2, 4)[0].detach()
    assert [id(view) for view in views_over(base)] == [id(kept)]
    del base
    gc.collect()
    assert views_over(kept)[0] is kept
    kept._base.add_(1)
    assert kept._version == 1


def test_a_view_in_a_cycle() -> None:
    class Own(Tensor):
        pass

    base = gradwright.ones(4)
    for _ in range(100):
        view = Own(base)
        view.itself = [view, base[1:]]
        view.itself.append(view[0])
    del view
    gc.collect()
    assert views_over(base) == []
    base.add_(1)


def test_views_and_threads() -> None:
    base = gradwright.ones(16, requires_grad=True) * 1

    def work(_: int) -> int:
        views = [base.view(4, 4)[i % 4].t() for i in range(200)]
        return sum(view.numel() for view in views)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(40))) == 40 * 200 * 4
    assert views_over(base) == []


@pytest.mark.filterwarnings("ignore:Overriding")
def test_kernels_registered_for_composites_are_called() -> None:
    x = gradwright.ones(2, 3)
    with gradwright.library._scoped_library("aten", "IMPL") as library:
        library.impl("square", lambda self: self * 5, "CompositeImplicitAutograd")
        assert x.square().tolist() == [[5.0] * 3] * 2
    assert x.square().tolist() == [[1.0] * 3] * 2
    assert native.explain(x.square).records[0].fast == native.is_available()


def test_composites_are_seen_by_handlers() -> None:
    from runtime.base.modes import handle_calls

    seen = []

    def handler(operator: Any, variant: str, values: list[Any], proceed: Callable[[list[Any]], Any]) -> Any:
        seen.append(operator.name)
        return proceed(values)

    x = gradwright.ones(2, 3)
    with handle_calls(handler):
        x.reshape(6)
        x[0]
        x.mT
    assert seen == ["reshape", "view", "select.int", "transpose.int"]
