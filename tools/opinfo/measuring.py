"""An entry of OpInfo in both libraries, on a few of its samples: values, gradients, tangents, methods."""

from __future__ import annotations

import contextlib
import itertools
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from tools.opinfo.arrays import NotApplicable, array_of, flatten, is_tensor, name_of
from tools.opinfo.comparing import Differs, compare_gradients, compare_results
from tools.opinfo.deviations import PYTORCH_IS_WRONG
from tools.opinfo.sides import Missing, Side, dotted

DTYPES = ("float64", "float32", "bfloat16", "complex128", "int64", "bool")
WITH_GRADIENT = ("float64", "float32", "bfloat16", "complex128")
WITH_SECOND = ("float64", "complex128")
MODES = ("forward", "backward", "gradgrad", "jvp", "method", "inplace")
OF_NODES = MODES[:4]  # what a Node has to pass
# Their results are whatever lay in memory.
UNDETERMINED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip
SAMPLES = 8


def path_of(op: Any) -> str:
    """Where a library should have the operator of an entry."""
    method = getattr(op.op, "__objclass__", None) is not None or getattr(op.op, "__module__", None) == "torch._tensor"
    return f"Tensor.{op.op.__name__}" if method else str(op.name)


class Call:
    """A sample in one library."""

    def __init__(self, side: Side, op: Any, sample: Any) -> None:
        self.side, self.sample = side, sample
        self.function = side.function(op.op, path_of(op))
        self.wrapper = side.function(op.gradcheck_wrapper)
        self.process = side.function(sample.output_process_fn_grad)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        value = self.side.value
        return [value(self.sample.input), *value(tuple(self.sample.args))], value(dict(self.sample.kwargs))

    def results(self, args: Any, kwargs: Any, seed: int = 0) -> list[Any]:
        self.side.library.manual_seed(seed)
        return flatten(self.process(self.wrapper(self.function, *args, **kwargs)))

    def run(self, seed: int = 0) -> tuple[list[Any], list[Any]]:
        """The inputs that require grad, and the results."""
        args, kwargs = self.arguments()
        results = self.results(args, kwargs, seed)
        return requiring_grad([args, kwargs]), results

    def tangents(self, given: list[np.ndarray]) -> list[Any]:
        """Those of the floating results, for tangents of the inputs."""
        forward_ad = dotted(self.side.library, "autograd.forward_ad")
        left = iter(given)

        def dual(value: Any) -> Any:
            if is_tensor(value):
                if not value.requires_grad:
                    return value
                return forward_ad.make_dual(value.detach(), self.side.of_array(next(left)))
            if isinstance(value, dict):
                return {key: dual(item) for key, item in value.items()}
            if isinstance(value, list | tuple):
                made = map(dual, value)
                return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
            return value

        args, kwargs = self.arguments()
        with forward_ad.dual_level():
            results = self.results(dual(args), dual(kwargs))
            floating = [x for x in results if is_tensor(x) and name_of(x.dtype).startswith(("float", "complex"))]
            tangents = [forward_ad.unpack_dual(x).tangent for x in floating]
            return [None if tangent is None else array_of(tangent) for tangent in tangents]


def requiring_grad(values: Any) -> list[Any]:
    return [x for x in flatten(values) if is_tensor(x) and x.requires_grad]


def random_like(x: Any, random: np.random.Generator) -> np.ndarray:
    array = array_of(x)
    numbers = random.uniform(-1, 1, array.shape)
    if np.iscomplexobj(array):
        numbers = numbers + 1j * random.uniform(-1, 1, array.shape)
    return np.asarray(numbers).astype(array.dtype)


def nodes_of(results: Iterable[Any]) -> set[str]:
    """The classes of the Nodes that results of PyTorch were recorded with, but for those of `autograd.Function`."""
    waiting = [x.grad_fn for x in results if is_tensor(x) and x.grad_fn is not None]
    found, seen = set(), set(waiting)
    while waiting:
        node = waiting.pop()
        if type(node).__module__ != "torch.autograd.function" and not hasattr(node, "variable"):
            found.add(type(node).__name__)
        following = {each for each, _ in node.next_functions if each is not None} - seen
        seen |= following
        waiting += following
    return found


class Measured:
    """What came of the samples of an entry in one dtype.

    For each mode how many passed, and what was said of others; for each Node that PyTorch records how many samples
    reached it, how many of these did not pass, and how many of those only where PyTorch is wrong.
    """

    def __init__(self) -> None:
        self.passed = dict.fromkeys(MODES, 0)
        self.reasons: dict[str, list[str]] = {mode: [] for mode in MODES}
        self.reached: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.excused: Counter[str] = Counter()

    def red(self) -> Counter[str]:
        """How often results or derivatives did not pass, by mode."""
        return Counter({mode: len(self.reasons[mode]) for mode in OF_NODES})

    def record(self, mode: str, check: Callable[[], None]) -> None:
        try:
            check()
        except NotApplicable:
            return
        except Exception as error:  # whatever a library raises where PyTorch does not
            self.reasons[mode].append(f"{type(error).__name__}: {error}".splitlines()[0][:300])
        else:
            self.passed[mode] += 1


class _Sample:
    """A sample in both libraries."""

    def __init__(self, op: Any, sample: Any, dtype: str, sides: tuple[Side, Side], out: Measured) -> None:
        self.op, self.sample, self.dtype, self.sides, self.out = op, sample, dtype, sides, out
        self.nodes: set[str] = set()  # that PyTorch records, for results and for gradients

    def measure(self, random: np.random.Generator) -> None:
        before = self.out.red()
        self._modes(random)
        self.out.reached.update(self.nodes)
        red = {mode for mode, count in (self.out.red() - before).items() if count}
        if red:
            self.out.failed.update(self.nodes)
            if red <= PYTORCH_IS_WRONG.get(self.op.formatted_name, {}).keys():
                self.out.excused.update(self.nodes)

    def _modes(self, random: np.random.Generator) -> None:
        call = Call(self.sides[0], self.op, self.sample)
        try:
            inputs, results = call.run()
            for x in results:
                if is_tensor(x):
                    array_of(x)
            drawn = self.op.name in UNDETERMINED or any(self._differs(call, results, seed) for seed in (1, 2))
        except Exception:  # PyTorch itself has nothing to compare with
            return
        self.mine: tuple[list[Any], list[Any]] | None = None

        def forward() -> None:
            self.mine = Call(self.sides[1], self.op, self.sample).run()
            compare_results(results, self.mine[1], "result", values=not drawn)

        self.out.record("forward", forward)
        if self.dtype == "float64" and isinstance(self.sample.input, torch.Tensor):
            self._variants(drawn)
        if drawn or self.dtype not in WITH_GRADIENT or not inputs:
            return
        self.nodes |= nodes_of(results)
        if self.op.supports_autograd:
            self._gradients(inputs, results, random)
        if self.op.supports_forward_ad and self.dtype in WITH_SECOND:
            self._tangents(call, [random_like(x, random) for x in inputs])

    @staticmethod
    def _differs(call: Call, results: list[Any], seed: int) -> bool:
        try:
            compare_results(results, call.run(seed)[1], "")
        except Differs:
            return True
        return False

    def _gradients(self, inputs: list[Any], results: list[Any], random: np.random.Generator) -> None:
        places = [place for place, x in enumerate(results) if is_tensor(x) and x.requires_grad]
        if not places:
            return
        cotangents = [random_like(results[place], random) for place in places]
        second = self.dtype in WITH_SECOND and self.op.supports_gradgrad

        def first(side: Side, inputs: list[Any], results: list[Any]) -> tuple[list[Any], list[Any]]:
            given = [side.of_array(array).requires_grad_(second) for array in cotangents]
            for place in places:
                if not results[place].requires_grad:
                    raise Differs(f"result {place} does not require grad")
            chosen = [results[place] for place in places]
            grad = dotted(side.library, "autograd.grad")
            return given, list(grad(chosen, inputs, given, create_graph=second, allow_unused=True))

        try:
            given, gradients = first(self.sides[0], inputs, results)
        except Exception:
            return
        self.nodes |= nodes_of(gradients)
        kept: list[tuple[list[Any], list[Any]]] = []

        def backward() -> None:
            if self.mine is None:
                raise Missing("there are no results")
            if len(self.mine[0]) != len(inputs) or len(self.mine[1]) != len(results):
                raise Differs("the number of inputs or of results")
            kept.append(first(self.sides[1], *self.mine))
            compare_gradients(gradients, kept[0][1], "gradient")

        self.out.record("backward", backward)
        chosen = [place for place, x in enumerate(gradients) if second and x is not None and x.requires_grad]
        if not chosen:
            return
        directions = [random_like(gradients[place], random) for place in chosen]

        def again(side: Side, inputs: list[Any], given: list[Any], gradients: list[Any]) -> list[Any]:
            for place in chosen:
                if gradients[place] is None or not gradients[place].requires_grad:
                    raise Differs(f"gradient {place} does not require grad")
            grad = dotted(side.library, "autograd.grad")
            along = [side.of_array(array) for array in directions]
            return list(grad([gradients[place] for place in chosen], [*inputs, *given], along, allow_unused=True))

        try:
            wanted = again(self.sides[0], inputs, given, gradients)
        except Exception:
            return

        def gradgrad() -> None:
            if self.mine is None or not kept:
                raise Missing("there is no first gradient")
            compare_gradients(wanted, again(self.sides[1], self.mine[0], *kept[0]), "second gradient")

        self.out.record("gradgrad", gradgrad)

    def _tangents(self, call: Call, given: list[np.ndarray]) -> None:
        try:
            wanted = call.tangents(given)
        except Exception:
            return

        def jvp() -> None:
            found = Call(self.sides[1], self.op, self.sample).tangents(given)
            compare_gradients(wanted, found, "tangent")

        self.out.record("jvp", jvp)

    def _variants(self, drawn: bool) -> None:
        for mode, function in (("method", self.op.method_variant), ("inplace", self.op.inplace_variant)):
            if getattr(function, "__name__", "<lambda>") != "<lambda>":
                self._variant(mode, function, drawn)

    def _variant(self, mode: str, function: Any, drawn: bool) -> None:
        def run(side: Side) -> tuple[list[Any], Any]:
            args, kwargs = Call(side, self.op, self.sample).arguments()
            inputs = requiring_grad([args, kwargs])
            if mode == "inplace":
                args[0] = args[0].clone()
            side.library.manual_seed(0)
            if side.is_pytorch:
                return inputs, function(*args, **kwargs)
            return inputs, dotted(args[0], function.__name__)(*args[1:], **kwargs)

        def gradients(side: Side, inputs: list[Any], result: Any) -> list[Any]:
            total = result.sum()
            loss = total.abs() if result.is_complex() else total
            return list(dotted(side.library, "autograd.grad")(loss, inputs, allow_unused=True))

        try:
            inputs, result = run(self.sides[0])
            for x in flatten(result):
                if is_tensor(x):
                    array_of(x)
        except Exception:  # the sample has no such variant: in place the result may not fit
            return
        wanted = None
        if mode == "inplace" and not drawn and is_tensor(result) and result.requires_grad and inputs:
            with contextlib.suppress(Exception):
                wanted = gradients(self.sides[0], inputs, result)

        def check() -> None:
            mine, found = run(self.sides[1])
            process = self.sample.output_process_fn_grad  # what is left where signs are free, as those of vectors
            theirs, ours = (
                flatten(side.function(process)(x)) for side, x in zip(self.sides, (result, found), strict=True)
            )
            compare_results(theirs, ours, mode, values=not drawn)
            if wanted is not None:
                compare_gradients(wanted, gradients(self.sides[1], mine, found), f"{mode} gradient")

        self.out.record(mode, check)


def measure(name: str, op: Any, dtype: str, library: Any, samples: int = SAMPLES) -> Measured:
    """An entry of OpInfo in one dtype, on as many samples, spread over what there is."""
    sides = Side(torch), Side(library)
    element = getattr(torch, dtype)
    seed = zlib.crc32(f"{name}/{dtype}".encode()) & 0x7FFFFFFF
    torch.manual_seed(seed)
    np.random.seed(seed)  # which the samples draw from
    random = np.random.default_rng(seed)
    with_gradient = dtype in WITH_GRADIENT and op.supports_autograd and element in op.supported_backward_dtypes("cpu")
    out = Measured()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = list(itertools.islice(op.sample_inputs("cpu", element, requires_grad=with_gradient), 64))
        if len(known) > samples:  # spread over what there is
            known = [known[int(place * len(known) / samples)] for place in range(samples)]
        for sample in known:
            _Sample(op, sample, dtype, sides, out).measure(random)
    return out
