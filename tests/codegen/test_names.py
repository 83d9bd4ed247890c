"""Names that are also those of the generator, of Python or of C++: each as argument, as operator and as result."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import json
import keyword
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from codegen import output
from codegen.paths import Paths, paths_of_checkout
from codegen.pipeline import Result, analyze, emit
from codegen.plan.names import FunctionNames, packet
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.schema.parser import parse_schema
from codegen.schema.types import OperatorName
from codegen.targets.cpp.names import cpp
from codegen.targets.python import names
from codegen.words import TARGETS
from runtime import ops
from runtime.graph.node import Node
from support.compiling import compiled, needs_compiler
from support.documents import ROOT, copy_tree
from support.own_project import no_garbage

CPP = re.findall(
    r"\w+",
    """
    alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t class compl concept const const_cast
    constexpr decltype default delete do double dynamic_cast enum explicit export extern float friend goto inline int
    long mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast requires
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw typedef typeid
    typename union unsigned using virtual void volatile wchar_t xor xor_eq
    NULL HUGE_VAL EOF errno assert stdin stdout stderr linux unix isnan isinf signbit offsetof va_start INT_MAX
    SIZE_MAX EINVAL Py_None Py_INCREF Py_RETURN_NONE PyObject Ref Node NPY_FLOAT
    std py ops entries kernels writers helpers gradwright invoke fall_back is_plain requires_grad grad_enabled t0 t1
    base node results made outs wrap apply release record table properties edges saved visit arg given before recorded
    boolean gradient set_edge new_node
    """,
)
MADE = re.findall(
    r"\w+",
    """
    self self_ self_t self_p self_array self_edge self_edges self_gradient self_needed self_version self_at self_sizes
    self_info edge_self edges_self needs_self for_self saved_self raw_saved_self of_self _self __self extra _extra
    sequence_nr metadata grad_0 grad_1 tangent_0 result result0 result1 grad grads kwargs args kind out output input
    axis keepdims requires_grad packet i each f fget fast_path op kernel shape dtype count index data _fields __debug__
    from_ count_ class_
    """,
)
# What formulas can not ask for: names with two meanings, what is no name there, and the key of an entry itself.
AMBIGUOUS = frozenset(("grad", "grads", "result"))
WITHOUT = frozenset(("true", "false", "and", "or", "not", "if", "else", "name"))


@functools.cache
def generated_module(name: str) -> ast.Module:
    return ast.parse((ROOT / "generated" / f"{name}.py").read_text(encoding="utf-8"))


def generated_names() -> Iterator[str]:
    """The variables of generated Python, globals and builtins among them, and what its modules import."""
    for name in ("operators", "nodes", "packets", "methods"):
        for node in ast.walk(generated_module(name)):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]


# What is made of names of the YAML: of these a few do.
_ALIKE = re.compile(
    r"_(op|kernel|kernels|composite|helpers|overloads|default|[A-Z]\w*|array|edge|gradient|t|method|sign|version)$"
    r"|Backward|_sym_|^(jvp|record|_saved)_|(Error|Warning|Exception)$"
)


@functools.cache
def hostile() -> Sequence[str]:
    """All names that something may be wrong with."""
    schemas = [parse_schema(signature) for signature in shipped()]
    arguments = {argument.name for schema in schemas for argument in schema.arguments}
    operators = {word for schema in schemas for word in (schema.name.base, schema.name.python_name)}
    operators |= {f"{name}_" for name in operators}
    known = sorted({*generated_names(), *dir(builtins)} - arguments)
    alike = [name for name in known if _ALIKE.search(name) or name.rpartition("_")[0] in arguments or name in operators]
    every = {*(set(known) - set(alike)), *alike[::25], *keyword.kwlist, *keyword.softkwlist, *CPP, *MADE} - WITHOUT
    return sorted(name for name in every if not (name.startswith("__") and name.endswith("__")) or name == "__debug__")


def shipped() -> list[str]:
    """The signatures of native_functions.yaml."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is many times as fast
    found: list[dict[str, str | list[str]]] = yaml.load(
        (ROOT / "native_functions.yaml").read_text(encoding="utf-8"), loader
    )
    signatures = [entry["func"] for entry in found if "func" in entry]
    return [word for each in signatures for word in ([each] if isinstance(each, str) else each)]


class Project:
    """Operators with hostile names, in YAML, with kernels, and how to call them."""

    def __init__(self, bases: Iterable[str], words: Sequence[str]) -> None:
        self.bases = frozenset(bases)  # of operators that there are already
        self.functions: list[str] = []
        self.formulas: list[str] = []
        self.kernels: list[str] = ["import numpy as np"]
        self.calls: list[tuple[str, str, str, str]] = []  # what it computes, base, overload, the hostile name
        for word in words:
            self._add_product(word, autogen=f"{word}_" not in words)
            self._add_scaled(word)
            self._add_results(word)

    def _add(
        self, kind: str, name: str, signature: str, body: str, arguments: Sequence[str], formulas: Mapping[str, str],
        autogen: bool = False,
    ) -> None:  # fmt: skip
        base = f"hostile_{name}x" if name in self.bases or name.endswith("_") else name
        overload = "" if kind == "product" else kind
        func = f"{base}.{overload}{signature}" if overload else f"{base}{signature}"
        made = f"  autogen: {base}_, {base}.out\n" if autogen else ""
        kernel = f"hostile_{len(self.kernels)}"
        self.functions.append(f"- func: {func}\n  variants: function\n{made}  dispatch:\n    CPU: {kernel}\n")
        lines = "".join(f'  "{key}": "{value}"\n' for key, value in formulas.items())
        self.formulas.append(f'- name: "{func}"\n{lines}')
        parameters = ", ".join(map(python, arguments))
        self.kernels.append(f"def {kernel}({parameters}):\n    return {body}")
        self.calls.append((kind, base, overload, name))

    def _add_product(self, one: str, autogen: bool) -> None:
        """The product of two Tensors, both of which have the name; with variants, where nothing else is called so."""
        if one in AMBIGUOUS:
            return
        two = f"{one}_"
        formulas = {one: f"grads[0] * {two}.conj()", two: f"{one}.conj() * grads[0]"}
        formulas["result"] = f"{one}_t * {two}_p + {two}_t * {one}_p"
        body = f"{python(one)} * {python(two)}"
        self._add(
            "product",
            one,
            f"(Tensor {one}, Tensor {two}) -> Tensor",
            body,
            (one, two),
            formulas,
            autogen and one != "out",
        )

    def _add_scaled(self, one: str) -> None:
        """`self` times a number and the length of a list, which have the name and are keywords."""
        two = f"{one}_"
        if one in AMBIGUOUS or "self" in (one, two) or one in ("self_t", "self_p"):
            return
        signature = f"(Tensor self, *, float {one}=2.0, int[] {two}=[1, 2]) -> Tensor"
        factor = f"({one} + {two}.size())"
        body = f"self * ({python(one)} + np.size({python(two)}))"
        formulas = {"self": f"grads[0] * {factor}", "result": f"self_t * {factor}"}
        self._add("scaled", one, signature, body, ("self", one, two), formulas)

    def _add_results(self, one: str) -> None:
        """Two results, both of which have the name."""
        if one in AMBIGUOUS or one in ("a", "b", "result0", "result1", "a_p", "b_p", "a_t", "b_t"):
            return
        formulas = {"a": "grads[0] * result0", "b": "grads[1] * b.cos()"}
        formulas |= {"result0": "a_t * result0", "result1": "b_t * b_p.cos()"}
        signature = f"(Tensor a, Tensor b) -> (Tensor {one}, Tensor {one}_)"
        self._add("results", one, signature, "(np.exp(a), np.sin(b))", ("a", "b"), formulas)

    def write(self, tree: Path) -> None:
        for file, entries in (("native_functions.yaml", self.functions), ("derivatives.yaml", self.formulas)):
            with (tree / file).open("a", encoding="utf-8") as yaml_file:
                yaml_file.write("\n" + "\n".join(entries))
        (tree / "runtime/operators/kernels/hostile.py").write_text("\n\n\n".join(self.kernels) + "\n", encoding="utf-8")
        (tree / "calls.json").write_text(json.dumps(self.calls), encoding="utf-8")


# Calls each operator in all the ways there are, and compares with what it has to give.
PROGRAM = """
import json, sys, traceback
import numpy as np
import gradwright as torch
from runtime import ops
from gradwright.autograd import forward_ad
from codegen.schema.names import python

failures = []

def near(got, wanted, what):
    got = got.detach().numpy() if isinstance(got, torch.Tensor) else got
    if got is None or not np.allclose(got, wanted, rtol=1e-12):
        raise AssertionError(f"{what}: {got}, not {wanted}")

def new(values, grad=True):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)

def check(run, values, outputs, partials, what):
    # partials[i][j]: the derivative of output i in input j, element by element
    def listed(out):
        return list(out) if isinstance(out, tuple) else [out]
    inputs = [new(value) for value in values]
    outs = listed(run(*inputs))
    for out, wanted in zip(outs, outputs, strict=True):
        near(out, wanted, what + " forward")
    node = outs[0].grad_fn
    assert all(getattr(node, name) is not None for name in dir(node) if name.startswith("_saved_"))
    grads = torch.autograd.grad([out.sum() for out in outs], inputs)
    for j, grad in enumerate(grads):
        near(grad, sum(row[j] for row in partials) * np.ones(2), what + f" gradient {j}")
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(new(v, False), new([1.0 + i, 2.0], False)) for i, v in enumerate(values)]
        for i, out in enumerate(listed(run(*duals))):
            tangent = forward_ad.unpack_dual(out).tangent
            wanted = sum(partials[i][j] * np.array([1.0 + j, 2.0]) for j in range(len(values)))
            near(np.zeros(2) if tangent is None else tangent, wanted, what + f" tangent {i}")
    with torch.inference_mode():
        for out, wanted in zip(listed(run(*[new(v, False) for v in values])), outputs, strict=True):
            near(out, wanted, what + " in inference mode")

A, B = np.array([0.5, 2.0]), np.array([3.0, -1.5])
for kind, base, overload, name in json.load(open("calls.json")):
    packet = getattr(ops.aten, base) if hasattr(ops.aten, base) else None
    try:
        function = torch.ops.aten.__getattr__(base)
        direct = getattr(function, overload or "default")
        packet = ops.__dict__[base]
        two = f"{name}_"
        if kind == "product":
            ways = {
                "positions": lambda x, y: packet(x, y),
                "keywords": lambda x, y: packet(**{name: x, two: y}),
                "one keyword": lambda x, y: packet(x, **{two: y}),
                "overload": lambda x, y: direct(x, y),
                "overload by keywords": lambda x, y: direct(**{name: x, two: y}),
            }
            for way, run in ways.items():
                check(run, [A, B], [A * B], [[B, A]], f"{kind} {name} by {way}")
            generated = getattr(packet, overload or "default")
            near(generated(new(A), **{python(two): new(B)}), A * B, "generated function by keyword")
            if f"{base}_" in ops.__dict__ and hasattr(packet, "out"):
                x = new(A, False)
                ops.__dict__[f"{base}_"](x, new(B, False))
                near(x, A * B, f"{base} in place")
                out = new([0.0, 0.0], False)
                packet(new(A, False), new(B, False), out=out)
                near(out, A * B, f"{base} out")
        elif kind == "scaled":
            near(packet.__dict__[overload](new(A)), A * 4, f"{kind} {name} defaults")
            for way, f in (("packet", packet), ("overload", direct)):
                keywords = {name: 3.0, two: [1, 2, 3]}
                check(lambda x: f(x, **keywords), [A], [A * 6], [[6.0]], f"{kind} {name} by {way}")
        else:
            f = packet.__dict__[overload]
            check(f, [A, B], [np.exp(A), np.sin(B)], [[np.exp(A), 0], [0, np.cos(B)]], f"{kind} {name}")
            out = f(new(A), new(B))
            near(out[0], np.exp(A), "first")
            if name not in ("_fields",):
                near(getattr(out, name), np.exp(A), "by name")
    except Exception as error:
        failures.append(f"{kind} {name}: {type(error).__name__}: {error}")
        if len(failures) <= int(sys.argv[1]):
            traceback.print_exc()
print("\\n".join(failures))
print(f"{len(failures)} failures")
sys.exit(bool(failures))
"""


def python_in(tree: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("GRADWRIGHT_NATIVE", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def made(tree: Path, words: Sequence[str]) -> Path:
    """A copy of this project with operators that have these names."""
    tree = copy_tree(tree)
    Project((parse_schema(signature).name.base for signature in shipped()), words).write(tree)
    (tree / "program.py").write_text(PROGRAM, encoding="utf-8")
    paths = paths_of_checkout(tree)
    with no_garbage():
        result = analyze(paths)
        assert result.plan is not None, [item.message for item in result.diagnostics.items][:20]
        for target in TARGETS:
            place = paths.for_target(target)
            output.write(emit(place, result.plan, target), place.output)
    return tree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("names"), hostile())


def test_no_operator_hides_what_the_module_of_operators_uses() -> None:
    looked_up = [code.argval for code in dis.get_instructions(ops.__getattr__) if code.opname == "LOAD_GLOBAL"]
    assert looked_up == []


@pytest.mark.xdist_group("hostile names")
def test_names_in_python(tree: Path) -> None:
    done = python_in(tree, "program.py", "3", GRADWRIGHT_NATIVE="0")
    assert done.returncode == 0, (done.stdout + done.stderr)[-10000:]


def _globals_of(function: ast.FunctionDef) -> set[str]:
    """The names that a function uses and does not make."""
    found = [node for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)]
    made = {node.id for node in found if not isinstance(node.ctx, ast.Load)}
    made |= {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return {node.id for node in found} - made


@pytest.mark.parametrize(
    ("module", "spelled"), [("operators", names.argument), ("nodes", names.local), ("packets", names.argument)]
)
def test_no_argument_hides_what_a_function_uses(module: str, spelled: Callable[[str], str]) -> None:
    functions = [node for node in ast.walk(generated_module(module)) if isinstance(node, ast.FunctionDef)]
    functions = [function for function in functions if not function.name.endswith("_sign")]  # of `self` and `other`
    used = set().union(*map(_globals_of, functions))
    assert len(used) > 10
    assert {name for name in used if spelled(name) == name} == set()


@pytest.mark.parametrize("name", sorted(attribute for attribute in dir(Node) if attribute.startswith("_")))
def test_slots_are_no_attributes_of_nodes(name: str) -> None:
    assert names.slot(name.removeprefix("_")) not in dir(Node)


@pytest.mark.xdist_group("hostile names")
def test_nodes_use_the_slots_that_they_have(tree: Path) -> None:
    """A misspelled one would be found only where a saved argument was written, or a graph is run a second time."""
    module = ast.parse((tree / "generated" / "nodes.py").read_text(encoding="utf-8"))
    used: set[tuple[str, str]] = set()
    for node in [each for each in module.body if isinstance(each, ast.ClassDef)]:
        (slots,) = (
            ast.literal_eval(each.value)
            for each in node.body
            if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__slots__"
        )
        known = {*slots, *dir(Node), *(each.name for each in node.body if isinstance(each, ast.FunctionDef))}
        used |= {
            (node.name, each.attr)
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self"
        } - {(node.name, name) for name in known}
    assert used == set()


def test_names_stay_apart() -> None:
    words = [word + "_" * count for word in hostile() for count in range(4)]
    for spelled in (python, names.argument, names.local, names.slot, packet, cpp):
        assert len({spelled(word) for word in words}) == len(set(words)), spelled.__name__


def test_each_overload_has_a_function_of_its_own() -> None:
    found = [OperatorName("a", "b_c"), OperatorName("a_b", "c"), OperatorName("a_b_c"), OperatorName("a", "b_c_op")]
    found += [OperatorName("a", "b_c_kernel"), OperatorName("jvp_a", "b_c"), OperatorName("int", "tuple")]
    functions = FunctionNames(found)
    assert functions[found[0]] == "a_b_c"
    assert len({functions[name] for name in found}) == len(found)
    assert functions[found[-1]] == "int_tuple_"
    made = [f"{functions[name]}{end}" for name in found for end in ("", "_op", "_kernel")]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("signature", "formula", "error"),
    [
        ("(Tensor grad) -> Tensor", "grad: grad", "'grad' is an argument and a gradient that comes in"),
        ("(Tensor self, Tensor self_t) -> Tensor", "result: self_t", "'self_t' is an argument and a tangent"),
        ("(Tensor self, Tensor self_p) -> Tensor", "result: self_p", "an argument and the value of 'self'"),
        ("(Tensor self, Tensor result) -> Tensor", "self: grad * result", "'result' is an argument and a result"),
        ("(Tensor self, float M_PI) -> Tensor", "self: grad * M_PI", "'M_PI' is an argument and a constant"),
        ("(Tensor self, bool true) -> Tensor", "self: grad * true", "'true' is an argument and a constant"),
    ],
)
def test_a_name_with_two_meanings_is_refused(
    signature: str, formula: str, error: str, analysed: Callable[..., Result]
) -> None:
    func = f"two_things{signature}"
    result = analysed(f"- func: {func}\n  dispatch:\n    CPU: two\n", f"- name: {func}\n  {formula}\n")
    assert any(error in item.message for item in result.diagnostics.items)


def test_out_is_no_argument_beside_an_out_variant(analysed: Callable[..., Result]) -> None:
    entry = "- func: twice(Tensor out) -> Tensor\n  autogen: twice.out\n  dispatch:\n    CPU: twice\n"
    result = analysed(entry, "[]", "", "def twice(out): ...\n")
    assert [item.message for item in result.diagnostics.items] == [
        "'twice' has an argument 'out', and so has 'twice.out'"
    ]


@needs_compiler
def test_a_compiler_takes_the_names(planned: Callable[..., Plan], small_paths: Paths, tmp_path: Path) -> None:
    functions, formulas, kernels = "", "", ""
    for number, one in enumerate(sorted({*CPP, *MADE} - AMBIGUOUS - WITHOUT)):
        func = f"hostile.{one}(Tensor {one}, Tensor? {one}_, *, float _{one}=1.0) -> Tensor"
        functions += f"- func: {func}\n  variants: function\n  dispatch: {{CPU: k{number}}}\n"
        formulas += f'- name: "{func}"\n  "{one}": grads[0]\n  "{one}_": non_differentiable\n'
        kernels += f"def k{number}({', '.join(map(python, (one, f'{one}_', f'_{one}')))}): ...\n"
    plan = planned(functions, formulas, "", kernels)
    for name, text in emit(replace(small_paths, runtime=ROOT / "runtime"), plan, "cpp").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (shard,) = [path for path in tmp_path.glob("shard_*.cpp") if "hostile" in path.read_text(encoding="utf-8")]
    done = compiled(shard)
    assert done.returncode == 0, done.stderr[:5000]
