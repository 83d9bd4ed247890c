"""What is measured: each workload is ordinary PyTorch code, given `torch` or `runtime` as its library.

A workload's `prepare(library, scale)` makes its inputs and returns the function that runs one round of it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench import gpt
from bench.blocks import block_fused, block_primitive
from bench.functions import FUNCTIONS, large_function
from bench.measure import Round, statement_timer
from bench.operators import CASES, FAMILIES, operator
from bench.optimizers import OPTIMIZERS, optimizer_steps
from bench.processes import codegen_own, codegen_whole, data_parallel, import_time, why_no_mpi


@dataclass(frozen=True)
class Scale:
    """How large the inputs are: whole, or small enough for a check that everything still runs."""

    loop_seconds: float  # of one timed loop of a small statement
    graph_repeats: int  # graphs built and run backward in one round
    chain: int  # Nodes in the chain for backward per Node
    deep: tuple[int, ...]  # Nodes in the deep chains
    fan_in: int
    small_steps: int
    large_width: int
    large_batch: int
    elements: int
    block: tuple[int, int]
    jacobian: int
    large_operators: bool


WHOLE = Scale(0.004, 10, 1000, (100_000, 1_000_000), 10_000, 50, 1024, 512, 4_000_000, (256, 512), 64, True)
SMOKE = Scale(0.0001, 1, 100, (1_000, 10_000), 500, 2, 32, 16, 10_000, (8, 16), 4, False)

Prepare = Callable[[Any, Scale], Round]


@dataclass(frozen=True)
class Workload:
    """`group` names the budget; the reference runs `reference` where it is not the same code.

    Where it is `of_itself`, the reference is the same library at other work. `lacks` says why it can not run here.
    """

    group: str
    prepare: Prepare
    reference: Prepare | None = None
    compared: bool = True  # the reference library can do this too
    mean: bool = False  # report the mean of the rows too: the budget is for that
    warm_up: bool = True  # a round that does not count; not where each is a whole generation
    most_rounds: int = 1_000_000
    of_itself: bool = False
    lacks: Callable[[], str | None] = lambda: None


def array(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Float32 values near 1, the same for both sides."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32)


def leaf(library: Any, *shape: int, seed: int = 0) -> Any:
    return library.tensor(array(*shape, seed=seed)).requires_grad_()


# -- small tensors ---------------------------------------------------------------------------------------------------

STATEMENTS = {
    "add": "a + b",
    "mul": "a * b",
    "tanh": "lib.tanh(a)",
    "relu": "lib.relu(a)",
    "mm": "lib.mm(a, b)",
    "matmul": "a @ b",
    "sum": "a.sum()",
    "view": "a.view(64)",
    "reshape": "a.reshape(4, 16)",
    "transpose": "a.transpose(0, 1)",
}


def forward(record: bool) -> Prepare:
    """One call of each operator on 8x8 tensors, with a graph being recorded or none."""
    label = "forward and record" if record else "forward"

    def prepare(library: Any, scale: Scale) -> Round:
        a = library.tensor(array(8, 8)).requires_grad_(record)
        b = library.tensor(array(8, 8, seed=1)).requires_grad_(record)
        return statements(label, STATEMENTS, {"a": a, "b": b, "lib": library}, scale)

    return prepare


def statements(label: str, texts: Mapping[str, str], names: Mapping[str, Any], scale: Scale) -> Round:
    """One execution of each statement, by the name of its row."""
    timers = {f"{label}: {name}": statement_timer(text, names, scale.loop_seconds) for name, text in texts.items()}
    return lambda: {row: timer() for row, timer in timers.items()}


# What programs write beside their mathematics: copies, conversions, integers, results in memory that is there.
BESIDE = {
    "copy_": "c.copy_(a)",
    "fill_": "c.fill_(1.0)",
    "normal_": "c.normal_()",
    "add, out=": "lib.add(a, b, out=c)",
    "mm, out=": "lib.mm(a, b, out=c)",
    "sum, out=": "lib.sum(a, 1, out=d)",
    "to(float64)": "a.to(lib.float64)",
    "long": "a.long()",
    "clone": "a.clone()",
    "int + number": "i + 1",
    "int % number": "i % 3",
    "int < number": "i < 3",
    "int add_ number": "j.add_(1)",
    "row": "a[0]",
    "rows by indices": "a[i[0]]",
    "item": "s.item()",
    "where": "lib.where(a > b, a, 0.0)",
    "zeros_like": "lib.zeros_like(a)",
}


def beside(library: Any, scale: Scale) -> Round:
    """One call of each statement on 8x8 tensors, with no graph."""
    a, b, i = library.tensor(array(8, 8)), library.tensor(array(8, 8, seed=1)), library.arange(64).reshape(8, 8) % 8
    names = {"a": a, "b": b, "c": a.clone(), "d": a[0].clone(), "i": i, "j": i.clone(), "s": a.sum(), "lib": library}
    return statements("8x8", BESIDE, names, scale)


def backward_per_node(library: Any, scale: Scale) -> Round:
    """Backward through a chain of one operator; only the backward pass is timed."""
    x = leaf(library, 8, 8)
    c = library.ones(8, 8)
    links: dict[str, Callable[[Any], Any]] = {
        "mul": lambda y: y * c,
        "tanh": library.tanh,
        "add": lambda y: y + c,
    }

    def once(link: Callable[[Any], Any]) -> float:
        y = x
        for _ in range(scale.chain):
            y = link(y)
        x.grad = None
        start = time.perf_counter()
        y.backward(c)
        return time.perf_counter() - start

    def run() -> dict[str, float]:
        return {
            f"backward per node: {name}": sum(once(link) for _ in range(scale.graph_repeats))
            / (scale.graph_repeats * scale.chain)
            for name, link in links.items()
        }

    return run


def deep_chain(index: int) -> Prepare:
    """A graph of one long chain: made, run backward, and let go."""

    def prepare(library: Any, scale: Scale) -> Round:
        length = scale.deep[index]
        x = leaf(library, 4)
        c = library.ones(4)

        def run() -> dict[str, float]:
            x.grad = None
            started = time.perf_counter()
            y = x
            for _ in range(length):
                y = y * c
            made = time.perf_counter()
            y.backward(c)
            done = time.perf_counter()
            del y
            released = time.perf_counter()
            label = f"chain of {length:,}, per node"
            return {
                f"{label}: forward": (made - started) / length,
                f"{label}: backward": (done - made) / length,
                f"{label}: release": (released - done) / length,
                f"{label}: all": (released - started) / length,
            }

        return run

    return prepare


def fan_in(library: Any, scale: Scale) -> Round:
    """One leaf used many times: its gradient is the sum of as many."""
    x = leaf(library, 8)
    seed = library.ones(8)

    def run() -> dict[str, float]:
        y = x
        for _ in range(scale.fan_in):
            y = y + x
        x.grad = None
        start = time.perf_counter()
        y.backward(seed)
        return {f"leaf used {scale.fan_in:,} times, backward per use": (time.perf_counter() - start) / scale.fan_in}

    return run


# -- models ----------------------------------------------------------------------------------------------------------


def training(library: Any, widths: tuple[int, ...], batch: int) -> Callable[[], None]:
    """One step of plain SGD on a multi-layer perceptron."""
    functional = library.nn.functional
    weights = [
        library.tensor((array(o, i, seed=i + o) - 1) / i**0.5).requires_grad_() for i, o in itertools.pairwise(widths)
    ]
    biases = [library.zeros(o).requires_grad_() for o in widths[1:]]
    x = library.tensor(array(batch, widths[0]))
    target = library.tensor(np.arange(batch) % widths[-1])

    def step() -> None:
        h = x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = library.relu(functional.linear(h, w, b))
        loss = functional.cross_entropy(functional.linear(h, weights[-1], biases[-1]), target)
        loss.backward()
        with library.no_grad():
            for p in [*weights, *biases]:
                p -= 0.01 * p.grad
                p.grad = None

    return step


def timed(row: str, work: Callable[[], None], repeats: int) -> Round:
    """A round of `repeats` executions of `work`."""

    def run() -> dict[str, float]:
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        return {row: (time.perf_counter() - start) / repeats}

    return run


def small_mlp(library: Any, scale: Scale) -> Round:
    return timed("step of a small MLP (64-128-10, batch 32)", training(library, (64, 128, 10), 32), scale.small_steps)


def large_mlp(library: Any, scale: Scale) -> Round:
    width, batch = scale.large_width, scale.large_batch
    label = f"step of a large MLP (784-{width}-{width}-10, batch {batch})"
    return timed(label, training(library, (784, width, width, 10), batch), 1)


# -- large tensors ---------------------------------------------------------------------------------------------------


def element_wise(library: Any, scale: Scale) -> Round:
    """tanh(x*w+b) * sigmoid(x), forward and backward."""
    x, w, b = (leaf(library, scale.elements, seed=seed) for seed in range(3))
    seed = library.ones(scale.elements)
    label = f"tanh(x*w+b)*sigmoid(x), {scale.elements:,} elements"

    def run() -> dict[str, float]:
        x.grad = w.grad = b.grad = None
        start = time.perf_counter()
        y = library.tanh(x * w + b) * library.sigmoid(x)
        middle = time.perf_counter()
        y.backward(seed)
        end = time.perf_counter()
        return {
            f"{label}: forward": middle - start,
            f"{label}: backward": end - middle,
            f"{label}: both": end - start,
        }

    return run


def element_wise_in_copies(library: Any, scale: Scale) -> Round:
    """The same forward and backward, under a name that says what it is compared with."""
    run = element_wise(library, scale)
    return lambda: {_COPIES: sum(seconds for row, seconds in run().items() if not row.endswith("both"))}


def memory_copy(library: Any, scale: Scale) -> Round:
    """What the memory allows: a plain copy of one such tensor, whatever the library."""
    source = array(scale.elements)
    target = np.empty_like(source)
    return timed(_COPIES, lambda: np.copyto(target, source), 3)


_COPIES = "the same, in memory copies of one tensor"


def small_gpt(library: Any, scale: Scale) -> Round:
    return timed("step of a small GPT", gpt.training_step(library), min(scale.small_steps, 5))


def small_gpt_text(library: Any, scale: Scale) -> Round:
    return timed("text of a small GPT", gpt.generation(library), min(scale.small_steps, 5))


def large(name: str) -> Prepare:
    """One function of many elements."""
    return lambda library, scale: large_function(name, library, scale.elements)


def steps(name: str) -> Prepare:
    """Steps of an optimizer."""
    return lambda library, scale: optimizer_steps(name, library, scale.elements // 4)


def block(function: Callable[..., Any], label: str) -> Prepare:
    """layer_norm, gelu, softmax, forward and backward."""

    def prepare(library: Any, scale: Scale) -> Round:
        rows, columns = scale.block
        x = leaf(library, rows, columns)
        weight = leaf(library, columns, seed=1)
        bias = leaf(library, columns, seed=2)
        seed = library.tensor(array(rows, columns, seed=3))

        def work() -> None:
            x.grad = weight.grad = bias.grad = None
            function(library, x, weight, bias).backward(seed)

        return timed(f"softmax(gelu(layer_norm(x))), {rows}x{columns}, against torch's {label}", work, 3)

    return prepare


# -- a representative of each family of operators ---------------------------------------------------------------------


def operators(family: str, size: Literal["small", "large"]) -> Prepare:
    """The operators of a family on inputs of one size: a row each for the call and for the gradient through it."""

    def prepare(library: Any, scale: Scale) -> Round:
        cases = [case for case in CASES if case.family == family]
        rounds = [operator(case, library, size, scale.loop_seconds) for case in cases]
        return lambda: {row: seconds for run in rounds for row, seconds in run().items()}

    return prepare


# -- higher derivatives ----------------------------------------------------------------------------------------------


def _curve(library: Any) -> Callable[[Any], Any]:
    return lambda x: library.tanh(x) * x.sum()


def jacobian_by_rows(suffix: str = "") -> Prepare:
    """The Jacobian row by row, by `autograd.functional`."""

    def prepare(library: Any, scale: Scale) -> Round:
        x = library.tensor(array(scale.jacobian))
        curve = _curve(library)

        def work() -> None:
            library.autograd.functional.jacobian(curve, x)

        return timed(f"jacobian, {scale.jacobian} to {scale.jacobian}{suffix}", work, 3)

    return prepare


def hessian_by_rows(suffix: str = "") -> Prepare:
    """The Hessian row by row, by `autograd.functional`."""

    def prepare(library: Any, scale: Scale) -> Round:
        x = library.tensor(array(scale.jacobian))
        curve = _curve(library)

        def work() -> None:
            library.autograd.functional.hessian(lambda x: curve(x).sum(), x)

        return timed(f"hessian, {scale.jacobian} inputs{suffix}", work, 3)

    return prepare


def jacobian(library: Any, scale: Scale) -> Round:
    """By torch.func: one backward for all rows."""
    x = library.tensor(array(scale.jacobian))
    transformed = library.func.jacrev(_curve(library))
    return timed(f"jacobian, {scale.jacobian} to {scale.jacobian}", lambda: transformed(x), 3)


def hessian(library: Any, scale: Scale) -> Round:
    x = library.tensor(array(scale.jacobian))
    curve = _curve(library)
    transformed = library.func.hessian(lambda x: curve(x).sum())
    return timed(f"hessian, {scale.jacobian} inputs", lambda: transformed(x), 3)


def written_for_torch(folder: Path) -> Prepare:
    """Operators that the target torch writes."""

    def prepare(library: Any, scale: Scale) -> Round:
        from bench import torch_target  # which imports PyTorch

        return torch_target.generated(folder)

    return prepare


def by_hand_for_torch(library: Any, scale: Scale) -> Round:
    """The same as classes that are written by hand."""
    from bench import torch_target

    return torch_target.by_hand()


def workloads(out: Path, scale: Scale) -> list[Workload]:
    """Everything that is measured, in the order of the report; generators write below `out`."""
    whole, gen_autograd = codegen_whole(out / "whole")
    return [
        Workload("forward", forward(record=False), mean=True),
        Workload("forward and record", forward(record=True), mean=True),
        Workload("statements", beside),
        Workload("backward", backward_per_node, mean=True),
        Workload("chain", deep_chain(0), most_rounds=7),
        Workload("chain", deep_chain(1), most_rounds=3),
        Workload("fan-in", fan_in),
        Workload("small mlp", small_mlp),
        Workload("small gpt", small_gpt),
        Workload("small gpt", small_gpt_text),
        *(Workload("optimizers", steps(name)) for name in OPTIMIZERS),
        Workload("large mlp", large_mlp, most_rounds=9),
        Workload("element-wise", element_wise, most_rounds=9),
        Workload("element-wise, copies", element_wise_in_copies, memory_copy, most_rounds=9),
        *(Workload("functions", large(name), most_rounds=15) for name in FUNCTIONS),
        *(Workload("operators, small", operators(family, "small")) for family in FAMILIES),
        *(
            Workload(f"operators, large: {family}", operators(family, "large"), most_rounds=7)
            for family in FAMILIES
            if scale.large_operators
        ),
        Workload("block", block(block_fused, "primitives"), block(block_primitive, "primitives"), most_rounds=15),
        Workload("block, fused", block(block_fused, "fused operators"), most_rounds=15),
        Workload("jacobian", jacobian, most_rounds=15),
        Workload("jacobian", hessian, most_rounds=15),
        Workload("jacobian by rows", jacobian_by_rows(", row by row"), most_rounds=15),
        Workload("jacobian by rows", hessian_by_rows(", row by row"), most_rounds=15),
        Workload("written for PyTorch", written_for_torch(out / "torch"), by_hand_for_torch),
        Workload("import", import_time, most_rounds=7),
        Workload(
            "processes",
            data_parallel(2),
            data_parallel(1),
            of_itself=True,
            lacks=why_no_mpi,
            most_rounds=7,
            warm_up=False,
        ),
        Workload("codegen, own", codegen_own(out / "own"), compared=False, most_rounds=3, warm_up=False),
        Workload("codegen", whole, gen_autograd, most_rounds=3, warm_up=False),
    ]
