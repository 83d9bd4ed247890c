"""Checks the device on a machine with a GPU, in at most ten minutes: `python -m gradwright_cupy.check`.

Values and gradients of all operators are compared with the CPU, a model is trained in both places, and streams, pinned
memory and random numbers are looked at. Where a torch with CUDA is installed, some calls are timed beside it. The exit
status is 1 where something is wrong, and 2 without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gradwright
from gradwright_cupy.availability import why_unavailable

WRONG, NO_GPU = 1, 2
# The most frequent first: what there is no time for is said.
DTYPES = ("float32", "int64", "float64", "complex128", "bool")


@dataclass(slots=True)
class Report:
    """What was found: lines are printed as they come, and `wrong` counts those that are no good."""

    until: float
    wrong: int = 0
    skipped: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        print(line, flush=True)

    def fail(self, line: str) -> None:
        self.wrong += 1
        self.say(f"WRONG  {line}")

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.until


def main(words: Sequence[str] | None = None) -> int:
    """Run the checks; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gradwright_cupy.check", description=__doc__)
    parser.add_argument("--seconds", type=float, default=570, help="how long it may take (570)")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="of operators, separated by commas")
    parser.add_argument("--operators", default="", help="only these, separated by commas")
    parser.add_argument("--no-times", action="store_true", help="time nothing")
    options = parser.parse_args(words)
    why = why_unavailable()
    if why is not None:
        print(f"no device cuda: {why}", file=sys.stderr)
        return NO_GPU
    started = time.monotonic()
    report = Report(started + options.seconds)
    _describe(report)
    for title, check in (("streams and memory", _streams), ("random numbers", _random), ("training", _training)):
        with _section(report, title):
            check()
    if not options.no_times:
        _times(report)
    chosen = frozenset(filter(None, options.operators.split(",")))
    for dtype in filter(None, options.dtypes.split(",")):
        _operators(report, dtype, chosen)
    for line in report.skipped:
        report.say(f"no time for {line}")
    verdict = "all that was run is right" if not report.wrong else f"{report.wrong} wrong"
    report.say(f"{verdict}, in {time.monotonic() - started:.0f} s")
    return WRONG if report.wrong else 0


@contextlib.contextmanager
def _section(report: Report, title: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever goes wrong there is what this is to find
        last = traceback.extract_tb(error.__traceback__)[-1]
        report.fail(f"{title}: {type(error).__name__}: {error} ({last.name}, line {last.lineno})")
    else:
        report.say(f"right  {title}")


def _describe(report: Report) -> None:
    import cupy

    cuda = gradwright.cuda
    major, minor = cuda.get_device_capability()
    version = cupy.cuda.runtime.runtimeGetVersion()
    report.say(f"{cuda.get_device_name()} (sm_{major}{minor}), CuPy {cupy.__version__}, CUDA {version}")


# -- what a GPU has besides operators


def _streams() -> None:
    cuda = gradwright.cuda
    stream, start, end = cuda.Stream(), cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    x = gradwright.arange(1000.0).pin_memory()
    assert x.is_pinned(), "pin_memory() gave no pinned memory"
    with cuda.stream(stream):
        start.record()
        y = x.to("cuda", non_blocking=True) * 2
        end.record()
    cuda.current_stream().wait_stream(stream)
    cuda.synchronize()
    assert stream.query(), "a stream that was waited for has work"
    assert start.elapsed_time(end) >= 0, "time goes backwards"
    assert y.sum().item() == 999_000.0, "the sum of a stream's work"
    before = cuda.memory_allocated()
    kept = gradwright.zeros(1 << 20, device="cuda")
    assert cuda.memory_allocated() >= before, "memory_allocated() does not grow"
    del kept
    cuda.empty_cache()


def _random() -> None:
    cuda, count = gradwright.cuda, 100_000
    draws: dict[str, Callable[[], Any]] = {
        "rand": lambda: gradwright.rand(count, device="cuda"),
        "randn": lambda: gradwright.randn(count, device="cuda") + 0.5,
        "randint": lambda: gradwright.randint(2, (count,), device="cuda").double(),
        "bernoulli": lambda: gradwright.full((count,), 0.5, device="cuda").bernoulli(),
        "exponential_": lambda: gradwright.zeros(count, device="cuda").exponential_(2),
        "poisson": lambda: gradwright.poisson(gradwright.full((count,), 0.5, device="cuda")),
        "geometric_": lambda: gradwright.zeros(count, device="cuda").geometric_(0.5) / 4,
        "dropout": lambda: gradwright.nn.functional.dropout(gradwright.full((count,), 0.5, device="cuda"), 0.3),
    }
    for name, draw in draws.items():
        gradwright.manual_seed(1)
        first = draw()
        assert abs(first.mean().item() - 0.5) < 0.02, f"the mean of {name} is {first.mean().item()}"
        cuda.manual_seed(1)
        assert gradwright.equal(draw(), first), f"{name} gives other numbers from the same seed"
    order = gradwright.randperm(1000, device="cuda").sort()[0]
    assert gradwright.equal(order, gradwright.arange(1000, device="cuda")), "randperm is no permutation"


def _training() -> None:
    nn, functional = gradwright.nn, gradwright.nn.functional
    gradwright.manual_seed(0)
    layers = (nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(),
              nn.Linear(16, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3))  # fmt: skip
    net = nn.Sequential(*layers).double()
    there = copy.deepcopy(net).to("cuda")
    x, classes = gradwright.randn(16, 2, 4, 4, dtype=gradwright.float64), gradwright.randint(3, (16,))
    losses = []
    for model, inputs, target in ((net, x, classes), (there, x.cuda(), classes.cuda())):
        optimizer = gradwright.optim.AdamW(model.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(inputs), target)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 1e-7, f"after five steps the loss is {losses[1]}, and {losses[0]} on the CPU"


# -- operators


def _operators(report: Report, dtype: str, chosen: frozenset[str]) -> None:
    from gradwright_cupy import agreement

    total = {"operators": 0, "values": 0, "gradients": 0}
    missing: Counter[str] = Counter()
    left = 0
    for info in agreement.operators():
        if chosen and info.name not in chosen:
            continue
        if report.late:
            left += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcome = agreement.compare(info, dtype)
            except Exception as error:  # of CUDA, such as an illegal address
                report.fail(f"{info.name} {dtype}: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
        total["operators"] += outcome.values > 0
        total["values"] += outcome.values
        total["gradients"] += outcome.gradients
        missing.update(outcome.missing)
        for line in outcome.wrong:
            report.fail(f"{info.name} {dtype}: {line}")
    counts = ", ".join(f"{count} {what}" for what, count in total.items())
    report.say(f"{dtype}: {counts} as on the CPU; {len(missing)} messages about what has no kernel")
    for line in sorted(missing) if chosen else ():
        report.say(f"  {line}")
    if left:
        report.skipped.append(f"{left} operators in {dtype}")


# -- beside PyTorch


def _calls(library: Any, size: int = 1024) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed, in the words that both libraries have; `size` is that of a row."""
    functional, nn = library.nn.functional, library.nn
    random = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return library.from_numpy(random.normal(size=shape).astype(np.float32)).to("cuda")

    x, y = array(4 * size, size), array(4 * size, size)
    places = library.from_numpy(random.integers(0, 4 * size, 4 * size)).to("cuda")
    yield "add", lambda: x + y
    yield "gelu", lambda: functional.gelu(x)
    yield "silu", lambda: functional.silu(x)
    row = array(size)
    yield "addcmul of a row", lambda: library.addcmul(x, y, row, value=0.5)
    yield "sum", lambda: x.sum()
    yield "softmax", lambda: x.softmax(-1)
    yield "layer_norm", lambda: functional.layer_norm(x, (size,))
    yield "index_select", lambda: x.index_select(0, places)
    square = array(2 * size, 2 * size)
    yield "matmul", lambda: square @ square
    images, weight = array(16, 32, 32, 32), array(64, 32, 3, 3)
    yield "conv2d", lambda: functional.conv2d(images, weight, padding=1)
    yield "max_pool2d", lambda: functional.max_pool2d(images, 2)
    leaf = array(4 * size, size).requires_grad_()
    yield "gelu, backward", lambda: library.autograd.grad(functional.gelu(leaf).sum(), leaf)
    model = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, 10)).to("cuda")
    optimizer = library.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(x[:256]).square().mean().backward()
        optimizer.step()

    yield "a step of a model with Adam", step


def _seconds(library: Any, call: Callable[[], Any]) -> float:
    """The time of one call, of as many as take a tenth of a second, and at least three."""
    for _ in range(3):
        call()
    library.cuda.synchronize()
    count, started = 0, time.perf_counter()
    while count < 3 or time.perf_counter() - started < 0.1:
        call()
        count += 1
        if count % 10 == 0:
            library.cuda.synchronize()
    library.cuda.synchronize()
    return (time.perf_counter() - started) / count


def _times(report: Report) -> None:
    ours = {}
    for name, call in _calls(gradwright):
        with _section(report, f"timed: {name}"):
            ours[name] = _seconds(gradwright, call)
    theirs = {}
    try:
        torch = importlib.import_module("torch")
        if torch.cuda.is_available():
            theirs = {name: _seconds(torch, call) for name, call in _calls(torch)}
    except Exception as error:  # whatever it is, there is nothing to compare with
        report.say(f"no times of PyTorch: {error}")
    for name, seconds in ours.items():
        beside = (
            f"  PyTorch {theirs[name] * 1e6:9.1f} us  ratio {seconds / theirs[name]:6.2f}" if name in theirs else ""
        )
        report.say(f"{name:28}{seconds * 1e6:10.1f} us{beside}")
    if not theirs:
        report.say("PyTorch with CUDA is not here: no ratios")


if __name__ == "__main__":
    sys.exit(main())
