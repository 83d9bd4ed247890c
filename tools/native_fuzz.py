"""Random programs with the native core on and off: `python tools/native_fuzz.py --programs 20000`.

A program is drawn from a seed and its number, over all operators that the YAML has samples for: their arguments are
made anew or picked among what there is, with other shapes, dtypes, layouts and numbers; calls are functions, methods,
in place or with `out=`; between them come views, writes, hooks, modes and backwards. Two workers run it, one of them
without the core, and what they tell of each step is compared: values, dtypes, strides, versions, histories, gradients,
errors. A program on which they differ is made smaller and printed as Python.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import pickle
import random
import re
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

Program = dict[str, Any]  # made of what JSON has
Outcome = list[Any]

DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "int32", "bool", "float16", "bfloat16")
LAYOUTS = ("plain", "transposed", "sliced", "stepped", "reversed", "expanded", "offset")
CLASSES = ("Tensor", "Parameter", "Subclass")
SHAPES = (
    (), (1,), (3,), (4,), (0,), (17,), (3, 4), (4, 3), (1, 4), (3, 1), (0, 3), (1, 1), (2, 2), (2, 3, 4), (2, 1, 4),
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 0.0, 1.0, -0.5, 2.5, True, False, None)
MODES = ("no_grad", "enable_grad", "inference_mode", "anomaly", "saved_hooks", "explain")
INDICES = (
    "[0]", "[-1]", "[1:]", "[::2]", "[..., 0]", "[None]", "[:, 0]", "[:, 1:]", "[..., :2]", "[[0, 1]]", "[x != 0]",
    "[x.new_tensor([1, 0]).long()]", "[:, x.new_tensor([1, -1]).int()]", "[[0, 2], None, x.new_ones(1).long()]",
    ".T", ".mT", ".H", ".detach()", ".data", ".clone()", ".contiguous()", ".requires_grad_()", ".view(-1)",
    ".reshape(-1)", ".unbind()[0]", ".chunk(2)[0]", ".split(1)[-1]", ".real", ".imag", ".double()", ".float()",
    ".conj()", ".squeeze()", ".expand(2, 3, 4)",
)  # fmt: skip
HOOKS = ("register_hook(lambda grad: grad * 2)", "retain_grad()", "register_hook(lambda grad: None)")
# What they give is not determined.
UNDETERMINED = re.compile(r"empty|resize")


# -- drawing programs


def draw(seed: int, number: int) -> Program:
    """A program; the same one for the same numbers."""
    return _Drawing(random.Random(f"{seed} {number}")).program()


@cache
def _operators() -> Sequence[Any]:
    import gradwright  # noqa: F401 (it loads what is generated)
    from generated.registry import OPERATORS

    return [info for info in OPERATORS.values() if info.samples and not UNDETERMINED.search(info.name)]


class _Drawing:
    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.dtype = source.choice(("float32", "float32", "float64", "float64", "complex64", "complex128"))
        self.strange = source.choice((0.0, 0.1, 0.4))  # how much is not as in the samples

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def program(self) -> Program:
        steps = [self.step() for _ in range(self.random.choice((1, 1, 2, 3, 4, 6, 9)))]
        end = {
            "which": self.random.randrange(8),
            "how": self.random.choice(("backward", "backward", "retain", "create_graph", "grad", "inputs", "twice")),
        }
        return {"steps": steps, "end": end}

    def step(self) -> dict[str, Any]:
        kind = self.random.choices(("call", "index", "hook", "set", "backward"), (12, 4, 1, 1, 1))[0]
        step: dict[str, Any] = {"kind": kind}
        if kind == "call":
            step |= self.call()
        elif kind == "index":
            step |= {"on": self.tensor((3, 4), {}), "text": self.random.choice(INDICES)}
        elif kind == "hook":
            step |= {"on": self.tensor((3, 4), {}), "text": self.random.choice(HOOKS)}
        elif kind == "set":
            step |= {"on": self.tensor((3, 4), {}), "text": self.random.choice(INDICES[:14]), "value": self.argument()}
        else:
            step |= {"on": self.tensor((3, 4), {}), "retain": self.chance(0.6)}
        if self.chance(0.3 * self.strange + 0.03):
            step["mode"] = self.random.choice(MODES)
        return step

    def argument(self) -> Any:
        return self.tensor((3, 4), {}) if self.chance(0.7) else self.random.choice(NUMBERS[:-1])

    def call(self) -> dict[str, Any]:
        info = self.random.choice(_operators())
        call = ast.parse(f"f({self.random.choice(info.samples)})", mode="eval").body
        assert isinstance(call, ast.Call)
        shapes = None
        if info.pointwise and self.chance(0.5):
            base = self.random.choice(SHAPES)
            shapes = [base, base, base[1:], (), tuple(1 if self.chance(0.4) else size for size in base)]
        args = [self.value(arg, shapes) for arg in call.args]
        kwargs = {k.arg: self.value(k.value, shapes) for k in call.keywords if k.arg}
        forms = ["function", "packet", "packet", "method", "method", "keywords"]
        if info.inplace:
            forms += ["inplace", "inplace"]
        if info.out:
            forms += ["out"]
        form = self.random.choice(forms)
        if form == "out":
            kwargs["out"] = self.tensor((3, 4), {}, grad=self.chance(0.1))
        return {"name": info.name, "form": form, "args": args, "kwargs": kwargs}

    def value(self, node: ast.expr, shapes: Sequence[tuple[int, ...]] | None) -> Any:
        """An argument of a sample, or something else in its place."""
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            options = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
            maker = node.func.id
            given = [ast.literal_eval(arg) for arg in node.args]
            if maker in ("T", "D", "I", "B"):
                shape = tuple(given) if shapes is None else self.random.choice(shapes)
                return self.tensor(shape, options, maker)
            if maker == "C":
                return {"elements": given[0], "dtype": options.get("dtype", self.dtype)}
            if maker == "dtype":
                return {"dtype": given[0] if given else self.dtype}
            return {"float": given[0]}
        if isinstance(node, ast.List):
            items = [self.value(item, shapes) for item in node.elts]
            return items if self.chance(0.8) else {"tuple": items}
        if isinstance(node, ast.Tuple):
            return {"tuple": [self.value(item, shapes) for item in node.elts]}
        if isinstance(node, ast.Name):
            return {"float": node.id}
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
            return {"float": f"-{node.operand.id}"}
        value = ast.literal_eval(node)
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, int | float) and self.chance(0.3 * self.strange):
            return self.random.choice(NUMBERS)
        return value

    def tensor(
        self, shape: Sequence[int], options: Mapping[str, Any], maker: str = "T", grad: bool | None = None
    ) -> dict[str, Any]:
        """A new Tensor, or one that there is (`pick`; of this shape if it can be, unless `any`)."""
        if self.chance(0.3 * self.strange):
            shape = self.random.choice(SHAPES)
        dtype = {"I": "int64", "B": "bool"}.get(maker, self.dtype)
        if self.chance(0.3 * self.strange):
            dtype = self.random.choice(DTYPES)
        made: dict[str, Any] = {"shape": list(shape), "dtype": dtype, "seed": self.random.randrange(1000)}
        made |= {name: options[name] for name in ("low", "high") if name in options}
        if grad is None:
            grad = maker == "T" and self.chance(0.6)
        if grad:
            made["grad"] = True
        if self.chance(0.25):
            made["layout"] = self.random.choice(LAYOUTS)
        if self.chance(0.2 * self.strange):
            made["cls"] = self.random.choice(CLASSES)
        if self.chance(0.2 * self.strange):
            made["special"] = True
        if self.chance(0.65):
            made["pick"] = self.random.randrange(64)
            if self.chance(0.3):
                made["any"] = True
        return made


# -- running them


def make(
    shape: Sequence[int],
    dtype: str = "float32",
    layout: str = "plain",
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
    grad: bool = False,
    special: bool = False,
    cls: str = "Tensor",
) -> Any:
    """A Tensor: a leaf with random values, which lies in memory as `layout` says."""
    import gradwright
    from runtime.base.tensor import wrap
    from runtime.operators.kernels.shape import expand

    kind = getattr(gradwright, dtype)
    source = np.random.default_rng(seed)
    shape = tuple(shape)

    def values(of: tuple[int, ...]) -> Any:
        if dtype == "bool":
            return source.random(of) < 0.5
        if kind.is_floating_point or kind.is_complex:
            found = source.uniform(-2.0 if low is None else low, 2.0 if high is None else high, of)
            if kind.is_complex:
                found = found + 1j * source.uniform(-2.0 if low is None else low, 2.0 if high is None else high, of)
            if special and found.size:
                flat = found.reshape(-1)
                for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
                    flat[source.integers(flat.size)] = value
                found = flat.reshape(of)
            return found
        return source.integers(int(low or 0), max(int(3 if high is None else high), int(low or 0) + 1), of)

    def array(of: tuple[int, ...]) -> Any:
        return np.asarray(values(of)).astype(kind.numpy)

    if not shape or layout == "plain":
        made = array(shape)
    elif layout == "transposed":
        made = array(shape[::-1]).transpose()
    elif layout == "sliced":
        made = array((*shape[:-1], shape[-1] + 2))[..., 1:-1]
    elif layout == "stepped":
        made = array((*shape[:-1], shape[-1] * 2))[..., ::2]
    elif layout == "reversed":
        made = array(shape)[::-1]
    elif layout == "expanded":
        made = expand(array((1, *shape[1:])), shape, False)
    else:
        made = array((2, *shape))[1]
    tensor = wrap(made)
    if cls == "Parameter":
        tensor = gradwright.nn.Parameter(tensor, requires_grad=grad and (kind.is_floating_point or kind.is_complex))
    elif cls == "Subclass":
        tensor = tensor.as_subclass(_subclass()) if hasattr(tensor, "as_subclass") else _subclass()(tensor)
    if grad and (kind.is_floating_point or kind.is_complex):
        tensor.requires_grad_()
    return tensor


@cache
def _subclass() -> Any:
    import gradwright

    return type("Subclass", (gradwright.Tensor,), {})


def run(program: Program) -> tuple[Outcome, str]:
    """What each step gives, and the program as Python."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        running = _Running()
        for step in program["steps"]:
            running.step(step)
        running.end(program["end"])
        return running.outcome, "\n".join(running.lines)


class _Running:
    def __init__(self) -> None:
        import gradwright
        from runtime.base.handles import watch

        self.library = gradwright
        self.values: list[Any] = []
        self.leaves: list[int] = []
        self.names: dict[int, str] = {}
        self.outcome: Outcome = []
        self.lines: list[str] = []
        if hasattr(watch, "hooks"):
            watch.hooks = False  # of the programs before
        gradwright.manual_seed(0)

    def add(self, value: Any) -> str:
        self.values.append(value)
        return f"v{len(self.values) - 1}"

    # -- arguments

    def argument(self, given: Any) -> tuple[Any, str]:
        """A value, and how it is written."""
        if isinstance(given, list):
            items = [self.argument(item) for item in given]
            return [value for value, _ in items], f"[{', '.join(text for _, text in items)}]"
        if not isinstance(given, dict):
            return given, repr(given)
        if "tuple" in given:
            items = [self.argument(item) for item in given["tuple"]]
            return tuple(value for value, _ in items), f"({''.join(text + ', ' for _, text in items)})"
        if "elements" in given:
            made = self.library.tensor(given["elements"], dtype=getattr(self.library, given["dtype"]))
            return made, f"gradwright.tensor({given['elements']!r}, dtype=gradwright.{given['dtype']})"
        if "dtype" in given and "shape" not in given:
            return getattr(self.library, given["dtype"]), f"gradwright.{given['dtype']}"
        if "float" in given:
            return float(given["float"]), f"float({given['float']!r})"
        if "complex" in given:
            return complex(*given["complex"]), repr(complex(*given["complex"]))
        return self.tensor(given)

    def tensor(self, given: Mapping[str, Any]) -> tuple[Any, str]:
        if "pick" in given:
            shape = tuple(given["shape"])
            places = [i for i, v in enumerate(self.values) if given.get("any") or tuple(v.shape) == shape]
            if places:
                place = places[given["pick"] % len(places)]
                return self.values[place], f"v{place}"
        options = {name: value for name, value in given.items() if name not in ("pick", "any")}
        name = f"v{len(self.values)}"
        words = ", ".join(f"{name}={value!r}" for name, value in options.items() if name != "shape")
        self.lines.append(f"{name} = make({tuple(options['shape'])!r}, {words})")
        made = make(**options)
        if made.requires_grad:
            self.leaves.append(len(self.values))
        return made, self.add(made)

    # -- steps

    def step(self, step: Mapping[str, Any]) -> None:
        function, text = getattr(self, f"_{step['kind']}")(step)
        self.perform(function, text, step.get("mode"))

    def perform(self, function: Any, text: str, mode: str | None = None) -> None:
        """Call a function and tell what it gives; its Tensors are values from then on."""
        try:
            with ExitStack() as stack:
                if mode == "anomaly":
                    stack.enter_context(self.library.autograd.set_detect_anomaly(True))
                elif mode == "saved_hooks":
                    hooks = self.library.autograd.graph.saved_tensors_hooks
                    stack.enter_context(hooks(lambda t: t * 1, lambda t: t))
                elif mode is not None and mode != "explain":
                    stack.enter_context(getattr(self.library, mode)())
                if mode == "explain":
                    from gradwright import native

                    result = native.explain(function).result if hasattr(native, "explain") else function()
                else:
                    result = function()
        except Exception as error:
            # A note under the message names the Node; places in memory differ. Below it stand formulas: that which
            # raised, or all of a Node in the core, which has no frames to tell them apart.
            notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("  ")]
            message = re.sub(r"0x[0-9a-f]+", "0x", str(error))
            self.outcome.append(("raises", type(error).__name__, message, len(notes)))
            self.lines.append(f"{text}  # {type(error).__name__}")
        else:
            names = [self.add(t) for t in _tensors(result)]
            self.outcome.append([self.told(self.values[int(name[1:])]) for name in names] or repr(result))
            known = {"no_grad", "enable_grad", "inference_mode"}
            prefix = f"with gradwright.{mode}(): " if mode in known else f"with {mode}: " if mode else ""
            targets = ", ".join(names) + (", = " if isinstance(result, list | tuple) else " = ") if names else ""
            self.lines.append(f"{prefix}{targets}{text}")
        self.outcome.append([self.state(t) for t in self.values])

    def _call(self, step: Mapping[str, Any]) -> tuple[Any, str]:
        from generated import operators
        from generated.registry import OPERATORS

        info = OPERATORS[step["name"]]
        form = step["form"]
        pairs = [self.argument(arg) for arg in step["args"]]
        named = {name: self.argument(value) for name, value in step["kwargs"].items()}
        base = info.name.partition(".")[0]
        if form == "keywords":
            names = [p.name for p in getattr(operators, f"{info.function}_op").signature.parameters]
            moved = range(1 if base in dir(self.library.Tensor) else 0, len(pairs))
            named |= {names[i]: pairs[i] for i in moved if i < len(names)}
            pairs = [pair for i, pair in enumerate(pairs) if i not in moved or i >= len(names)]
            form = "packet"
        if form == "inplace":
            base = str(info.inplace).partition(".")[0]
        if form in ("method", "inplace") and pairs and isinstance(pairs[0][0], self.library.Tensor):
            (owner, text), *pairs = pairs
        elif form == "function":
            owner, text, base = operators, "operators", info.function
        else:
            owner, text, base = self.library.ops, "gradwright.ops", info.name.partition(".")[0]
        words = [text for _, text in pairs] + [f"{name}={value[1]}" for name, value in named.items()]
        args, kwargs = [value for value, _ in pairs], {name: value for name, (value, _) in named.items()}
        return (lambda: getattr(owner, base)(*args, **kwargs)), f"{text}.{base}({', '.join(words)})"

    def _index(self, step: Mapping[str, Any]) -> tuple[Any, str]:
        tensor, text = self.argument(step["on"])
        code = compile(f"x{step['text']}", "index", "eval")
        return (lambda: eval(code, {"x": tensor})), f"{text}{step['text']}"

    def _hook(self, step: Mapping[str, Any]) -> tuple[Any, str]:
        tensor, text = self.argument(step["on"])
        code = compile(f"(x.{step['text']}, None)[1]", "hook", "eval")
        return (lambda: eval(code, {"x": tensor})), f"{text}.{step['text']}"

    def _set(self, step: Mapping[str, Any]) -> tuple[Any, str]:
        tensor, text = self.argument(step["on"])
        value, value_text = self.argument(step["value"])

        def assign() -> None:
            exec(f"x{step['text']} = y", {"x": tensor, "y": value})

        return assign, f"{text}{step['text']} = {value_text}"

    def _backward(self, step: Mapping[str, Any]) -> tuple[Any, str]:
        tensor, text = self.argument(step["on"])
        keep = step["retain"]
        grad = self.library.ones_like(tensor.detach())
        return (lambda: tensor.backward(grad, keep)), f"{text}.backward(gradwright.ones_like({text}), {keep})"

    def end(self, end: Mapping[str, Any]) -> None:
        """A backward from one of the last values that require grad."""
        places = [i for i, value in enumerate(self.values) if value.requires_grad and not value.is_leaf]
        if not places:
            return
        place = places[-1 - end["which"] % len(places)]
        root, how, text = self.values[place], end["how"], f"v{place}"
        leaves = [self.values[i] for i in self.leaves]
        names = f"[{', '.join(f'v{i}' for i in self.leaves)}]"
        grad = self.library.ones_like(root.detach())
        words = f"{text}, gradwright.ones_like({text})"
        autograd = self.library.autograd
        if how in ("grad", "create_graph"):
            create = how == "create_graph"
            found: list[Any] = []

            def differentiate() -> Any:
                found.extend(autograd.grad(root, leaves, grad, create_graph=create, allow_unused=True))
                return found

            self.perform(
                differentiate, f"gradwright.autograd.grad({text}, {names}, gradwright.ones_like({text}), {create=})"
            )
            again = [g for g in found if g is not None and g.requires_grad]
            for g in again:
                self.perform(
                    lambda g=g: g.backward(self.library.ones_like(g.detach()), retain_graph=True), "the same of each"
                )
        elif how == "inputs":
            self._run_backward(words, root, grad, inputs=leaves[:2])
        else:
            for _ in range(2 if how == "twice" else 1):
                self._run_backward(words, root, grad, retain_graph=how == "retain")
        self.outcome.append([None if t.grad is None else self.told(t.grad) for t in leaves])

    def _run_backward(self, words: str, root: Any, grad: Any, **options: Any) -> None:
        written = ", ".join(f"{name}={value if name != 'inputs' else 'leaves[:2]'}" for name, value in options.items())
        call = partial(self.library.autograd.backward, [root], [grad], **options)
        self.perform(call, f"gradwright.autograd.backward({words}, {written})")

    # -- what is compared

    def told(self, t: Any) -> dict[str, Any]:
        """All that can be seen of a Tensor."""
        base = t._base
        return {
            **self.state(t),
            "cls": type(t).__name__,
            "requires_grad": t.requires_grad,
            "is_leaf": t.is_leaf,
            "output_nr": t.output_nr,
            "grad_fn": _history(t),
            # A view without history, of what nobody has, is as good as none.
            "base": next((i for i, v in enumerate(self.values) if v is base), t.requires_grad and base is not None),
        }

    def state(self, t: Any) -> dict[str, Any]:
        """What writing to others may change."""
        array = t.detach()._array
        inference = t.is_inference()
        return {
            "dtype": str(t.dtype),
            "shape": tuple(t.shape),
            "stride": tuple(t.stride()),
            "offset": t.storage_offset() if t._base is not None else 0,
            "version": None if inference else t._version,
            "data": array.astype("float32") if array.dtype.kind == "V" else array.copy(),
            "same": next((i for i, v in enumerate(self.values) if v is t), None),
        }


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif hasattr(value, "requires_grad"):
        yield value


@cache
def _saved(cls: Any) -> list[str]:
    return sorted(name for name in dir(cls) if name.startswith("_saved_"))


def _history(t: Any) -> Any:
    try:
        function = t.grad_fn
    except RuntimeError as error:  # a view of inference mode that was written to outside of it
        return type(error).__name__
    return None if function is None else _node(function)


def _node(function: Any) -> Any:
    following = [(None if node is None else type(node).__name__, number) for node, number in function.next_functions]
    return type(function).__name__, function.name(), _saved(type(function)), following


# -- comparing


class Broken(str):
    """What went wrong in the fuzzer, in place of an outcome."""


TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float16": 2e-2, "bfloat16": 2e-2}


def difference(on: Any, off: Any, path: str = "", rounding: float = 0.0) -> str | None:
    """Where two outcomes differ, in words; None if they agree. `rounding`: that of the coarsest dtype on the way."""
    if isinstance(on, Broken) or isinstance(off, Broken):
        return f"the fuzzer failed itself: {on if isinstance(on, Broken) else off}"
    if isinstance(on, np.ndarray) and isinstance(off, np.ndarray):
        return _array_difference(on, off, path, rounding)
    if type(on) is not type(off):
        return f"{path}: {on!r} with the core, {off!r} without"
    if isinstance(on, dict):
        if isinstance(on.get("stride"), tuple) and on["shape"] == off["shape"]:
            on, off = dict(on), dict(off)
            on["stride"], off["stride"] = _strides(on), _strides(off)
        return next((d for name in on if (d := difference(on[name], off[name], f"{path}.{name}", rounding))), None)
    if isinstance(on, list | tuple):
        if len(on) != len(off):
            return f"{path}: {on!r} with the core, {off!r} without"
        pairs = enumerate(zip(on, off, strict=True))
        return next((d for i, (a, b) in pairs if (d := difference(a, b, f"{path}[{i}]", rounding))), None)
    return None if on == off or (on != on and off != off) else f"{path}: {on!r} with the core, {off!r} without"


def _strides(told: Mapping[str, Any]) -> Any:
    """Those that mean something."""
    shape = told["shape"]
    return None if 0 in shape else tuple(s for s, size in zip(told["stride"], shape, strict=True) if size > 1)


def coarsest(program: Any) -> float:
    """The largest tolerance of the dtypes that a program names."""
    if isinstance(program, str):
        return TOLERANCE.get(program, 0.0)
    parts = program.values() if isinstance(program, dict) else program if isinstance(program, list | tuple) else ()
    return max(map(coarsest, parts), default=0.0)


def _array_difference(on: Any, off: Any, path: str, rounding: float) -> str | None:
    if on.dtype != off.dtype or on.shape != off.shape:
        return f"{path}: {on.dtype} {on.shape} with the core, {off.dtype} {off.shape} without"
    if on.tobytes() == off.tobytes():
        return None
    tolerance = 0.0 if on.dtype.kind in "biu" else max(TOLERANCE.get(on.dtype.name, 1e-11), rounding)
    with np.errstate(all="ignore"):
        finite = np.abs(off[np.isfinite(off)])
        size = float(finite.max()) if finite.size else 0.0
        # Where terms of the size of the arguments have cancelled, what is left is rounding.
        noise = 0.0 if on.dtype.kind in "biu" else 64 * float(np.finfo(on.dtype).eps)
        if np.allclose(on, off, rtol=tolerance, atol=tolerance * min(size, 1e300) + noise, equal_nan=True):
            return None
    return f"{path}:\n{on}\n  with the core, without:\n{off}"


# -- workers


class Crash(Exception):
    """A worker died."""


def _the_core() -> str:
    """What GRADWRIGHT_NATIVE has to be for a process with the core: the one that this process is told to use."""
    told = os.environ.get("GRADWRIGHT_NATIVE", "0")
    return "1" if told == "0" else told


class Worker:
    """A process that runs programs, with the core or without."""

    def __init__(self, native: bool, root: Path = ROOT) -> None:
        self.native, self.root = native, root
        self.start()

    def start(self) -> None:
        environment = {**os.environ, "GRADWRIGHT_NATIVE": _the_core() if self.native else "0", "OMP_NUM_THREADS": "1"}
        environment["PYTHONFAULTHANDLER"] = "1"
        command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--worker", "--root", str(self.root)]
        self.process = subprocess.Popen(
            command, cwd=self.root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1
        )

    def send(self, programs: Sequence[Program]) -> None:
        assert self.process.stdin is not None
        try:
            pickle.dump(programs, self.process.stdin)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def receive(self) -> list[tuple[Outcome, str]]:
        assert self.process.stdout is not None
        try:
            found = pickle.load(self.process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            code = self.process.wait()
            self.start()
            raise Crash(f"the worker died with code {code}") from error
        return [(Broken(text), "") if outcome is None else (outcome, text) for outcome, text in found]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()  # it may be about to write what nobody reads any more
        self.process.wait()


def serve() -> None:
    """What a worker does."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what programs print
    while True:
        try:
            programs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answers: list[Any] = []
        for program in programs:
            try:
                answers.append(run(program))
            except Exception:  # of the fuzzer itself
                answers.append((None, traceback.format_exc()))
        try:
            pickle.dump(answers, out)
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # the rest of it can not be written at the end either


@dataclass
class Failure:
    """A program on which the workers differ."""

    number: int
    program: Program
    text: str
    difference: str

    def __str__(self) -> str:
        return f"# program {self.number}\n{self.text}\n-> {self.difference}"


class Fuzzer:
    """Two workers, and what to do with programs on which they differ."""

    def __init__(self, seed: int = 0, root: Path = ROOT) -> None:
        self.seed = seed
        self.on, self.off = Worker(True, root), Worker(False, root)

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, *_: object) -> None:
        self.on.close()
        self.off.close()

    def compare(self, programs: Sequence[Program]) -> list[tuple[str | None, str]]:
        """For each program the difference, None where there is none, and its text."""
        self.on.send(programs)
        self.off.send(programs)
        reference = self.off.receive()
        try:
            found = self.on.receive()
        except Crash as crash:
            if len(programs) == 1:
                return [(str(crash), reference[0][1])]
            return [self.compare([program])[0] for program in programs]
        pairs = zip(programs, found, reference, strict=True)
        return [(difference(on[0], off[0], rounding=coarsest(program)), off[1]) for program, on, off in pairs]

    def check(self, first: int, count: int, batch: int = 40, most: int = 5) -> Iterator[Failure]:
        """The failures among programs, each made smaller; it ends after `most`."""
        failed = 0
        for start in range(first, first + count, batch):
            numbers = range(start, min(start + batch, first + count))
            programs = [draw(self.seed, number) for number in numbers]
            for number, program, (found, _) in zip(numbers, programs, self.compare(programs), strict=True):
                if found is None:
                    continue
                small = self.shrink(program)
                found_small, text = self.compare([small])[0]
                yield Failure(number, small, text, found_small or f"only after other programs: {found}")
                failed += 1
                if failed == most:
                    return

    def shrink(self, program: Program) -> Program:
        """A smaller program that fails as well."""
        again = True
        while again:
            again = False
            candidates = list(smaller_ones(program))
            for start in range(0, len(candidates), 16):
                part = candidates[start : start + 16]
                found = [i for i, (differs, _) in enumerate(self.compare(part)) if differs]
                if found:
                    program, again = part[found[0]], True
                    break
        return program


def smaller_ones(program: Program) -> Iterator[Program]:
    """Programs that are simpler by one thing."""
    for index in range(len(program["steps"])):
        rest = {**program, "steps": program["steps"][:index] + program["steps"][index + 1 :]}
        yield rest
        for fewer in range(1, min(program["end"]["which"], 2) + 1):  # the step may have made what backward may begin at
            yield {**rest, "end": {**program["end"], "which": program["end"]["which"] - fewer}}
    if program["end"]["how"] != "backward":
        yield {**program, "end": {**program["end"], "how": "backward"}}
    if program["end"]["which"]:
        yield {**program, "end": {**program["end"], "which": 0}}
    for index, step in enumerate(program["steps"]):
        for smaller in _simpler(step):
            steps = copy.copy(program["steps"])
            steps[index] = smaller
            yield {**program, "steps": steps}


def _simpler(part: Any) -> Iterator[Any]:
    if isinstance(part, list):
        for index, item in enumerate(part):
            for smaller in _simpler(item):
                yield [*part[:index], smaller, *part[index + 1 :]]
    elif isinstance(part, dict):
        for name in ("mode", "cls", "special", "grad", "pick", "any", "layout", "low", "high"):
            if name in part:
                yield {key: value for key, value in part.items() if key != name}
        if part.get("form") in ("method", "keywords", "packet"):
            yield {**part, "form": "function"}
        if "shape" in part and "dtype" in part:
            if part["dtype"] not in ("float32", "int64"):
                yield {**part, "dtype": "float32"}
            if part["seed"]:
                yield {**part, "seed": 0}
            for i, size in enumerate(part["shape"]):
                yield {**part, "shape": [*part["shape"][:i], *part["shape"][i + 1 :]]}
                if size > 1:
                    yield {**part, "shape": [*part["shape"][:i], 1, *part["shape"][i + 1 :]]}
            return
        for name in part.get("kwargs", {}):
            yield {**part, "kwargs": {key: value for key, value in part["kwargs"].items() if key != name}}
        for name, value in part.items():
            if isinstance(value, list | dict):
                for smaller in _simpler(value):
                    yield {**part, name: smaller}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--programs", type=int, default=20000, help="how many to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--most", type=int, default=5, help="end after so many failures")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to run programs in")
    parser.add_argument("--show", action="store_true", help="print the program of --first instead")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    sys.path.insert(0, str(args.root))
    if args.worker:
        serve()
        return 0
    if args.show:
        print(run(draw(args.seed, args.first))[1])
        return 0
    started, failures = time.monotonic(), 0
    with Fuzzer(args.seed, args.root) as fuzzer:
        for failure in fuzzer.check(args.first, args.programs, most=args.most):
            failures += 1
            print(failure, end="\n\n", flush=True)
    print(f"{failures} failures in {args.programs:,} programs, {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
