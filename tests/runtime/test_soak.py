"""Memory stays flat: every operator, the engine's ways, and what declines or fails, over and over.

`GRADWRIGHT_SOAK=1` runs a million iterations and prints what they left behind; another number as many as it says.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import Tensor, optim
from gradwright.autograd import Function, grad
from gradwright.testing import differentiable_outputs, operator_function, sample_inputs

ASKED = int(os.environ.get("GRADWRIGHT_SOAK", "0"))
ITERATIONS = 1_000_000 if ASKED == 1 else ASKED or 12_000
# How many iterations it takes until every cache is filled: each piece of work has run at least once.
WARM_UP = 6_000

Work = Callable[[], None]


class Square(Function):
    """Saves an input and an output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        out = x * x
        ctx.save_for_backward(x, out)
        return out, x + 1

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        x, _ = ctx.saved_tensors
        return 2 * x * first + second


class Refusal(Exception):
    pass


def operator_works() -> Iterator[Work]:
    """The samples of each operator, forward and backward."""
    from generated.registry import OPERATORS

    for name in sorted(OPERATORS):
        info = OPERATORS[name]
        function = operator_function(info)
        for dtype, sample in itertools.product(("float32", "float64", "complex128"), range(len(info.samples))):

            def work(info: Any = info, function: Any = function, dtype: str = dtype, number: int = sample) -> None:
                samples = sample_inputs(info, dtype)
                if number >= len(samples):
                    return
                call = samples[number]
                outs = differentiable_outputs(function(*call.args, **call.kwargs))
                if outs:
                    gradwright.autograd.backward(outs, [gradwright.ones_like(out) for out in outs])

            yield work


def engine_works() -> Iterator[Work]:
    """The ways of the engine, and of what it declines."""
    weight = gradwright.randn(8, 8).requires_grad_()
    bias = gradwright.zeros(8).requires_grad_()
    step = optim.SGD([weight, bias], lr=1e-3, momentum=0.9)
    batch = gradwright.randn(4, 8)

    def training() -> None:
        step.zero_grad()
        out = (batch @ weight + bias).tanh()
        (out * out).mean().backward()
        step.step()

    def towards_inputs() -> None:
        x, y = gradwright.ones(3, requires_grad=True), gradwright.ones(3, requires_grad=True)
        middle = x * y
        out = (middle.exp() + x).sum()
        grad(out, [x, middle], retain_graph=True)
        out.backward(inputs=[y], retain_graph=True)
        with contextlib.suppress(RuntimeError):
            grad(out, [gradwright.ones(3, requires_grad=True)])

    def twice() -> None:
        x = gradwright.ones(3, requires_grad=True)
        (first,) = grad((x.tanh() * x).sum(), x, create_graph=True)
        (second,) = grad(first.sum(), x, create_graph=True)
        second.sum().backward()

    def functions() -> None:
        x = gradwright.ones(3, requires_grad=True)
        first, second = Square.apply(x * 2)
        (first + second.unbind(0)[1]).sum().backward()

    def hooks() -> None:
        x = gradwright.ones(3, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        x.register_post_accumulate_grad_hook(lambda t: None)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: -g)
        y.grad_fn.register_hook(lambda i, o: i)
        y.grad_fn.register_prehook(lambda o: o)
        y.sum().backward()

    def hooks_in_cycles() -> None:
        x = gradwright.ones(3, requires_grad=True)
        y = x * x
        y.register_hook(lambda g: g + y.detach())
        y.grad_fn.metadata["y"] = y
        y.sum().backward()

    def failing_hooks() -> None:
        def fail(_: Any) -> None:
            raise Refusal

        x = gradwright.ones(3, requires_grad=True)
        y = (x * 2).tanh()
        (y + x.sum()).register_hook(fail)
        y.register_hook(fail)
        with contextlib.suppress(Refusal):
            ((y + x) * x).sum().backward()

    def freed_and_modified() -> None:
        x = gradwright.ones(3, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        with contextlib.suppress(RuntimeError):
            y.backward()
        z = x * 1
        w = z * z
        z.add_(1)
        with contextlib.suppress(RuntimeError):
            w.sum().backward()

    def wrong_arguments() -> None:
        x = gradwright.ones(3, requires_grad=True)
        for call in (
            lambda: x * gradwright.ones(4),
            lambda: gradwright.mul(x, "text"),
            lambda: gradwright.tanh(x, x, x),
            lambda: gradwright.add(x, x, beta=1),
            lambda: x.mm(x),
            lambda: x.backward(),
            lambda: x.view(5),
        ):
            with contextlib.suppress(RuntimeError, TypeError, ValueError, IndexError):
                call()

    def declines() -> None:
        x = gradwright.ones(3, 4, requires_grad=True)
        mixed = x * gradwright.ones(4, dtype=gradwright.float64) + gradwright.arange(4)
        strided = mixed.t() * x.detach().double().t()[:, :]
        (strided + np.float64(2)).sum(0, keepdim=True).sum().backward()
        with gradwright.no_grad():
            x += 1
            x[0] = 2

    def views() -> None:
        x = gradwright.ones(4, 4, requires_grad=True)
        y = x * 1
        y[1:3].mul_(2)
        parts = [*y.split(2), *y.unbind(1)[:1]]
        (gradwright.cat(parts[:2]).sum() + parts[2].sum() + y[[0, 1]].sum()).backward()

    def let_go() -> None:
        x = gradwright.ones(3, requires_grad=True)
        y = x
        for _ in range(30):
            y = y * x
        del y

    yield from (training, towards_inputs, twice, functions, hooks, hooks_in_cycles, failing_hooks, freed_and_modified)
    yield from (wrong_arguments, declines, views, let_go)


def resident() -> int:
    """Bytes of memory of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Counts:
    """What there is at one time."""

    def __init__(self) -> None:
        for _ in range(3):
            gc.collect()
        self.objects = len(gc.get_objects())
        self.blocks = sys.getallocatedblocks()
        self.references = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
        self.resident = resident()

    def __str__(self) -> str:
        return (
            f"{self.objects} objects, {self.blocks} blocks, {self.references} references, "
            f"{self.resident / 2**20:.1f} MiB"
        )


@pytest.mark.filterwarnings("ignore")
def test_memory_stays_flat() -> None:
    works = list(operator_works())
    ways = list(engine_works())

    def iterate(count: int) -> None:
        # Half of the time the ways of the engine, which are few.
        many, few = itertools.cycle(works), itertools.cycle(ways)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(count):
                with contextlib.suppress(NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
                    next(many if number % 2 else few)()

    iterate(max(WARM_UP, 2 * len(works)))
    before = Counts()
    print(f"\n{len(works) + len(ways)} pieces of work; at first: {before}")
    rounds = 10 if ASKED else 1
    for turn in range(rounds):
        iterate(ITERATIONS // rounds)
        after = Counts()
        print(f"after {(turn + 1) * (ITERATIONS // rounds)}: {after}")
    # Caches that the iterations fill by chance are allowed for: far less than one of anything in ten iterations.
    allowed = 300 + ITERATIONS // 1000
    assert after.objects - before.objects < allowed
    assert after.blocks - before.blocks < 3 * allowed
    assert after.references - before.references < 10 * allowed
    assert after.resident - before.resident < 24 * 2**20


def test_what_the_engine_allocates_is_freed() -> None:
    ways = list(engine_works())
    clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache

    def iterate(count: int) -> None:
        for way in itertools.islice(itertools.cycle(ways), count * len(ways)):
            way()
        gc.collect()
        clear_caches()  # of attributes by name, which hold strings

    iterate(20)
    tracemalloc.start()
    try:
        x = gradwright.ones(3)
        kept = [x * 1 for _ in range(1000)]
        del kept  # memory of Tensors is kept for the next ones: now it is full
        iterate(20)
        before = tracemalloc.take_snapshot()
        iterate(40)
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    grown = [line for line in after.compare_to(before, "lineno") if "tracemalloc" not in str(line.traceback)]
    # One object that one of the ways leaves behind is forty.
    assert sum(line.count_diff for line in grown) < 30, grown[:10]
    assert sum(line.size_diff for line in grown) < 8192, grown[:10]
