"""The C++ target: what it emits for operators of every kind, that a compiler takes it, and where its errors point."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.commands.build_core import Places
from codegen.formula.typed import BOOL, TENSOR, Arithmetic, Intrinsic, Variable, VariableKind
from codegen.paths import Paths, project_paths
from codegen.pipeline import analyze, emit, for_target
from codegen.plan.names import FunctionNames
from codegen.plan.native import NativePlan
from codegen.plan.native_kernels import NO_KERNELS, Native, NativeKernels
from codegen.plan.plan import Plan
from codegen.read.kernel_table import Fact
from codegen.targets.cpp import target as cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Statements
from codegen.targets.cpp.text import CppPrinter, Library
from codegen.targets.literals import Name
from codegen.words import CPP
from support.compiling import KERNEL_SOURCES, compiled, complaints, needs_compiler
from support.documents import ROOT
from support.own_project import own_cpp, own_plan

GOLDEN = Path(__file__).parent / "golden"

FUNCTIONS = """
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: mul}
  autogen: mul_.Tensor
  promotion: default
  python_operator: self * other, other * self
- func: mul.Scalar(Tensor self, Scalar other) -> Tensor
  dispatch: {CPU: mul}
  promotion: default
- func: neg(Tensor self) -> Tensor
  dispatch: {CPU: neg}
  promotion: default
  python_operator: -self
- func: conj(Tensor(a) self) -> Tensor(a)
  variants: function, method
  dispatch: {CPU: conj}
  python_operator: conj(self)
- func: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
  variants: function, method
  dispatch: {CPU: expand}
- func: total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  dispatch: {CPU: total}
- func: shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor
  dispatch: {CPU: shrink}
  promotion: int_to_float
- func: highest(Tensor self, int dim) -> (Tensor values, Tensor indices)
  dispatch: {CPU: highest}
- func: norm_of(Tensor input, Tensor? weight=None) -> Tensor
  dispatch: {CPU: norm_of}
- func: join(Tensor[] tensors, int dim=0) -> Tensor
  dispatch: {CPU: join}
- func: pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
  dispatch: {CPU: pick}
  autogen: pick_
- func: floor_of(Tensor self) -> Tensor
  dispatch: {CPU: floor_of}
  autogen: floor_of_
  promotion: default
- func: hidden(Tensor self) -> Tensor
  dispatch: {CPU: hidden}
- func: sharpen(Tensor self, Scalar by=1) -> Tensor
  dispatch: {CPU: sharpen}
  autogen: sharpen_
  promotion: default
- func: doubled(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: doubled}
- func: fourth(Tensor self, Scalar by=2, bool negated=False) -> Tensor
  composite: "negated ? -(self * by) : self * self"
- func: two_of(Tensor self) -> (Tensor first, Tensor second)
  composite: "{-self, self}"
"""
FORMULAS = """
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other.conj()
  other: grad * self.conj()
- name: mul.Scalar(Tensor self, Scalar other) -> Tensor
  self: grad * other.conj()
- name: neg(Tensor self) -> Tensor
  self: -grad
- name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
  self: grad
- name: total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  self: "keepdim ? grad : grad.expand(self.sym_sizes(), true)"
- name: shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor
  self: shrink_backward(grad, result, lambd * 2 - 1, mode)
- name: highest(Tensor self, int dim) -> (Tensor values, Tensor indices)
  self: spread_backward(grad, dim, indices, self.sym_sizes())
- name: norm_of(Tensor input, Tensor? weight=None) -> Tensor
  input, weight: both_backward(grad, input, weight, grad_input_mask)
- name: join(Tensor[] tensors, int dim=0) -> Tensor
  tensors: join_backward(grad, tensors, dim)
- name: pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
  self: pick_backward(grad, places)
  places: non_differentiable
  values: grad
- name: hidden(Tensor self) -> Tensor
  self: not_implemented("hidden away")
- name: sharpen(Tensor self, Scalar by=1) -> Tensor
  self: sharpened(grad, by.conj())
"""
HELPERS = """
def shrink_backward(grad: Tensor, result: Tensor, by: float, mode: str) -> Tensor: ...
def spread_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int]) -> Tensor: ...
def both_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]: ...
def sharpened(grad: Tensor, by: Scalar) -> Tensor: ...
def join_backward(grad: Tensor, tensors: Sequence[Tensor], dim: int) -> list[Tensor]: ...
def pick_backward(grad: Tensor, places: Sequence[Tensor | None]) -> Tensor: ...
"""
KERNELS = """
def mul(self, other): ...
def neg(self): ...
def conj(self): ...
def expand(self, size, implicit): ...
def total(self, dim, keepdim, dtype): ...
def shrink(self, lambd, mode): ...
def highest(self, dim): ...
def norm_of(input, weight): ...
def join(tensors, dim): ...
def pick(self, places, values): ...
def floor_of(self): ...
def hidden(self): ...
def sharpen(self, by): ...
"""
COMPOSITES = "def doubled(self): ...\n"
NATIVE_KERNELS = """
template <class F>
Ref unary(PyObject* tensor);
template <class F>
Ref binary(PyObject* self, PyObject* other);

namespace kernels {

struct mul {
  template <class T>
  static T apply(T a, T b) { return a * b; }
  static inline Ufunc ufunc{"multiply", 2};
};
GRADWRIGHT_KERNEL(mul, 2, elements, ufunc)
struct neg {
  static inline Ufunc ufunc{"negative", 1};
};
GRADWRIGHT_KERNEL(neg, 1, ufunc)
struct no_loop {};
GRADWRIGHT_KERNEL(total, 4, tensors)

}  // namespace kernels
"""
NATIVE_WRITERS = """
namespace writers {

GRADWRIGHT_KERNEL(sharpen, 2, in_place)

}  // namespace writers
"""
NATIVE_HELPERS = """
namespace gradwright::helpers {

inline Ref sharpened(PyObject* grad, PyObject* by) { return Ref(); }
GRADWRIGHT_KERNEL(sharpened, 2, helper)

}  // namespace gradwright::helpers
"""


@pytest.fixture
def made(planned: Callable[..., Plan], small_paths: Paths) -> Plan:
    folder = small_paths.runtime / "native/src"
    folder.mkdir(parents=True)
    (folder / "kernels.hpp").write_text(NATIVE_KERNELS + NATIVE_WRITERS, encoding="utf-8")
    (folder / "helpers.hpp").write_text(NATIVE_HELPERS, encoding="utf-8")
    return planned(FUNCTIONS, FORMULAS, HELPERS, KERNELS, COMPOSITES)


OPERATORS = (
    "mul.Tensor", "mul.Scalar", "expand", "total", "shrink", "highest", "norm_of", "join", "pick", "floor_of",
    "hidden", "sharpen", "doubled", "fourth", "two_of",
)  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str, made: Plan, small_paths: Paths, update_goldens: bool) -> None:
    operator = next(operator for operator in made.operators if str(operator.name) == name)
    text = cpp.explain(operator, for_target(made, small_paths, CPP), small_paths)
    golden = GOLDEN / f"{name}.cpp"
    if update_goldens:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_tables(made: Plan, small_paths: Paths) -> None:
    files = emit(small_paths, made, "cpp")
    everything = "\n".join(files.values())
    for name in ("neg", "floor_of", "highest"):
        assert f"&entries::{name}_default_," in everything
    assert '{"runtime.operators.helpers.small", "shrink_backward", &py::small_helpers_shrink_backward},' in everything
    assert '{"mul", nullptr, nullptr, "mul_Tensor", "mul_Scalar", nullptr, 0},' in files["packets.cpp"]
    assert '{"expand", nullptr, nullptr, nullptr, nullptr, "expand_default", 1},' in files["packets.cpp"]
    assert (
        '{"__mul__", "generated.operators", "mul_sign", nullptr, "mul_Tensor", "mul_Scalar"},' in files["packets.cpp"]
    )
    assert '{"__neg__", "generated.methods", "__neg__", "neg_default", nullptr, nullptr},' in files["packets.cpp"]
    assert '{"doubled", "traced through"},' in everything
    assert "doubled_default" not in everything
    assert "if (!(same_dtype(self_, other_))) return 3;" in everything
    assert len(re.findall(r"^    &entries::\w+,$", everything, re.MULTILINE)) == 20


def test_what_stays_in_python_says_why(made: Plan, small_paths: Paths) -> None:
    found = cpp.coverage(for_target(made, small_paths, CPP), small_paths)
    assert found.nodes["JoinBackward0"] == "one of its inputs is a list"
    assert found.nodes["PickBackward0"] == "it saves a list"
    assert found.nodes["MulBackward0"] is None
    assert found.operators["doubled"] == "traced through"
    assert found.operators["fourth"] is None  # a formula is as native as what it calls
    assert str(found) == "16 of 17 operators and 10 of 12 Nodes are native"


def test_of_this_project_only_lists_and_general_paths_stay_in_python() -> None:
    reasons = set(cpp.coverage(own_plan(), project_paths()).nodes.values())
    assert reasons <= {
        None, "one of its inputs is a list", "it saves a list", "its results are a list", "it has several outputs",
        "only the general path records it",
    }  # fmt: skip


def test_constants_of_different_value_have_different_names() -> None:
    numbers = (1, -1, 1.0, 0.1, 0, 0.0, -0.0, 1e-05, 1e05, float("inf"))
    others = ("none", "0", "text_a", "a", "_a", "a_", "dtypes.float32", Name("dtypes.float32"), (0, 1), (0,), (-1,))
    names = {Needs().constant(value) for value in (*numbers, *others)}
    assert len(names) == len(numbers) + len(others)
    assert {Needs().constant(value) for value in (None, True)} == {"Py_None", "Py_True"}


def test_what_is_asked_together_is_denied_together() -> None:
    defined = [
        Intrinsic(BOOL, 0, 0, "defined", (Variable(TENSOR, 0, 0, VariableKind.INPUT, name),)) for name in ("a", "b")
    ]
    both = Arithmetic(BOOL, 0, 0, "&&", tuple(defined))
    library = Library(FunctionNames(), NativePlan(Native(NO_KERNELS), {}, {}, {}), frozenset())
    printer = CppPrinter(library, Needs(), lambda variable: variable.name, Statements())
    assert printer.test(both).text == "is_defined(a) && is_defined(b)"
    assert printer.test(Arithmetic(BOOL, 0, 0, "!", (both,))).text == "!(is_defined(a) && is_defined(b))"
    assert printer.out.lines == []


def test_native_kernels_are_read_from_the_table(tmp_path: Path) -> None:
    header, source = tmp_path / "kernels.hpp", tmp_path / "more.cpp"
    assert NativeKernels.read(header) == NativeKernels()
    header.write_text(NATIVE_KERNELS + NATIVE_WRITERS, encoding="utf-8")
    source.write_text("GRADWRIGHT_KERNEL(lt, 2, choice, vectors, bools)\n", encoding="utf-8")
    read = NativeKernels.read(header, source, folder="mine/")
    assert (read.functors, read.functions) == ({"mul": 2, "neg": 1, "lt": 2}, {"total": 4})
    assert (read.writers, read.composites, read.helpers) == ({"sharpen": 2}, {}, {})
    assert read.headers == dict.fromkeys(
        (("kernels", "mul"), ("kernels", "neg"), ("kernels", "total"), ("writers", "sharpen")), "mine/kernels.hpp"
    )
    assert [read.form(name).name for name in ("mul", "neg", "lt", "other")] == ["ELEMENT", "BLOCK", "CHOICE", "BLOCK"]
    assert [read.is_ufunc(name) for name in ("mul", "neg", "lt", "other")] == [True, True, False, False]
    assert read.says("lt", Fact.ALSO_COMPLEX, Fact.BOOLS)
    assert not read.says("mul", Fact.BOOLS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("twice, 1, tensors", "'twice' stands for no function in Python of the project's own: it is never called"),
        ("total, 4, in_place", "no operator takes 'total': it is never called"),
        ("two_of, 1, composite", "'two_of' stands for no function in Python of the project's own: it is never called"),
        ("mul, 2, helper", "'mul' stands for no function in Python of the project's own: it is never called"),
        ("doubled, 2, composite", "'doubled' has 2 operands, and 'doubled(self)' in Python 1"),
        (
            "shrink_backward, 1, helper",
            "'shrink_backward' has 1 operand, and 'shrink_backward(grad, result, by, mode)' in Python 4",
        ),
        ("norm_of, 3, elements", "'norm_of' has 3 operands, and 'norm_of(input, weight)' in Python 2"),
    ],
)
def test_rows_that_nothing_takes_are_errors(row: str, message: str, made: Plan, small_paths: Paths) -> None:
    header = small_paths.runtime / "operators/kernels/rows.hpp"
    header.write_text(f"#pragma once\nGRADWRIGHT_KERNEL({row})\n", encoding="utf-8")
    result = analyze(small_paths)
    (error,) = result.diagnostics.items
    assert error.message == message
    assert str(error.span) == f"{small_paths.shown(header)}:2:19"
    assert result.plan is None


def test_composites_are_native_where_a_header_has_them(made: Plan, small_paths: Paths) -> None:
    doubled = next(operator for operator in made.operators if str(operator.name) == "doubled")
    assert "has no entry: traced through" in cpp.explain(doubled, for_target(made, small_paths, CPP), small_paths)
    function = "inline Ref doubled(PyObject* self) { return Ref(); }\nGRADWRIGHT_KERNEL(doubled, 1, composite)"
    written = f"\nnamespace composites {{\n\n{function}\n\n}}  // namespace composites\n"
    (small_paths.runtime / "native/src/composites.hpp").write_text(written, encoding="utf-8")
    assert cpp.explain(doubled, for_target(made, small_paths, CPP), small_paths).splitlines() == [
        "// doubled(Tensor self) -> Tensor",
        "Ref doubled_default_(PyObject* self_) {",
        "  if (!(!entries::doubled_default_.replaced && is_plain(self_))) {",
        "    return fall_back(entries::doubled_default_, self_);",
        "  }",
        "  Ref out = composites::doubled(self_);",
        "  if (out) return of_operators(std::move(out));",
        "  forget_error();",
        "  return fall_back(entries::doubled_default_, self_);",
        "}",
    ]


def test_one_edited_formula_changes_one_shard(made: Plan, small_paths: Paths) -> None:
    before = emit(small_paths, made, "cpp")
    text = small_paths.derivatives.read_text(encoding="utf-8")
    small_paths.derivatives.write_text(text.replace("self: -grad", "self: -(-grad)"), encoding="utf-8")
    edited = analyze(small_paths).plan
    assert edited is not None
    after = emit(small_paths, edited, "cpp")
    changed = {name for name, text in after.items() if text != before[name]}
    neg = next(operator for operator in made.operators if str(operator.name) == "neg")
    number = f"{cpp.shard_of(neg):02}"
    assert changed == {f"shard_{number}.cpp", f"loops_{number}.cpp", "manifest.json"}


ADDED = """
- func: aardvark(Tensor self) -> Tensor
  dispatch: {CPU: neg}
  promotion: default
"""
ADDED_FORMULA = """
- name: aardvark(Tensor self) -> Tensor
  self: aardvark(-grad)
"""


@pytest.mark.parametrize("place", ["first", "last"])
def test_an_operator_that_is_added_changes_one_shard(made: Plan, small_paths: Paths, place: str) -> None:
    before = emit(small_paths, made, "cpp")
    for path, text in ((small_paths.native_functions, ADDED), (small_paths.derivatives, ADDED_FORMULA)):
        known = path.read_text(encoding="utf-8")
        path.write_text(text + known if place == "first" else known + text, encoding="utf-8")
    more = analyze(small_paths).plan
    assert more is not None
    after = emit(small_paths, more, "cpp")
    changed = {name for name, text in after.items() if text != before[name]}
    added = next(operator for operator in more.operators if str(operator.name) == "aardvark")
    # No file of C++ includes these but that of the packets, which are few lines.
    shared = {"packets.cpp", "places.json", "manifest.json"}
    assert changed == {f"shard_{cpp.shard_of(added):02}.cpp", f"loops_{cpp.shard_of(added):02}.cpp"} | shared


def test_an_operator_that_is_added_to_this_project_changes_one_shard() -> None:
    paths = project_paths()
    texts = {
        path: path.read_text(encoding="utf-8").replace("\n", f"\n{text}", 1)  # behind what the first entry implies
        for path, text in ((paths.native_functions, ADDED), (paths.derivatives, ADDED_FORMULA))
    }
    after = analyze(paths, texts).plan
    assert after is not None
    old, new = own_cpp(), emit(paths, after, "cpp")
    changed = {name for name, text in new.items() if text != old[name]}
    for kind in ("shard", "loops"):
        assert len([name for name in changed if name.startswith(f"{kind}_")]) == 1
    others = {name for name in changed if not name.startswith(("shard_", "loops_"))}
    assert others == {"packets.cpp", "places.json", "manifest.json"}


@pytest.mark.parametrize(
    ("promotion", "takes"),
    [
        ("default", "kAll"), ("int_to_float", "kFloatsAndComplex"), ("bool_to_int", "kNumbers"),
        ("complex_to_float", "kAll"),
    ],
)  # fmt: skip
def test_a_kernel_that_is_a_function_of_numpy_is_native(
    promotion: str, takes: str, planned: Callable[..., Plan], small_paths: Paths
) -> None:
    function = f"- func: errno(Tensor self) -> Tensor\n  dispatch: {{CPU: errno}}\n  promotion: {promotion}\n"
    made = planned(function, "[]", "", "import numpy as np\n\nerrno = np.rint\n")
    text = "".join(emit(small_paths, made, "cpp").values())
    assert f'struct errno_ {{\n  static inline Ufunc ufunc{{"rint", 1, takes::{takes}}};\n}};\n' in text
    assert "unary<kernels::errno_>(self_)" in text


def test_a_functor_of_the_core_comes_before_the_function_of_numpy(
    planned: Callable[..., Plan], small_paths: Paths
) -> None:
    function = "- func: half(Tensor self) -> Tensor\n  dispatch: {CPU: half}\n  promotion: default\n"
    made = planned(function, "[]", "", "import numpy as np\n\nhalf = np.rint\n")
    header = small_paths.runtime / "native/src/halves.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("namespace kernels {\n\nstruct half { ... };\nGRADWRIGHT_KERNEL(half, 1, elements)\n\n}\n")
    text = "".join(emit(small_paths, made, "cpp").values())
    assert "unary<kernels::half>(self_)" in text
    assert "Ufunc ufunc" not in text


def test_a_native_kernel_is_a_file_of_its_own(made: Plan, small_paths: Paths) -> None:
    before = emit(small_paths, made, "cpp")
    hidden = next(operator for operator in made.operators if str(operator.name) == "hidden")
    text = "namespace gradwright::kernels {\n\n%s\n\n}  // namespace gradwright::kernels\n"
    unnamed = "namespace {\n\nRef norm_of(PyObject* input, PyObject* weight);\n\n}  // namespace\n\n"
    kernel = small_paths.runtime / "native/src/hidden.cpp"
    row = "GRADWRIGHT_KERNEL(hidden, 1, tensors)"
    kernel.write_text(text % f"{unnamed}Ref hidden(PyObject* self) {{ return Ref(); }}\n{row}", encoding="utf-8")
    after = emit(small_paths, made, "cpp")
    name = f"shard_{cpp.shard_of(hidden):02}.cpp"
    assert {name for name, text in after.items() if text != before[name]} == {name, "manifest.json"}
    assert "namespace kernels {\nRef hidden(PyObject*);\n}  // namespace kernels" in after[name]
    assert " result = kernels::hidden(self_);" in after[name]
    assert "#include" not in "".join(set(after[name].splitlines()) - set(before[name].splitlines()))
    # In a header it is included where it is called.
    kernel.unlink()
    kernel.with_suffix(".hpp").write_text(text % row, encoding="utf-8")
    included = emit(small_paths, made, "cpp")
    assert [name for name, text in included.items() if '#include "hidden.hpp"' in text] == [name]


def test_output_does_not_depend_on_the_run(tmp_path: Path) -> None:
    """This process has another seed, and has analyzed and emitted others before."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    command = [sys.executable, "-m", "codegen", "--target", "cpp", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    generated = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "cpp").iterdir()}
    assert "shard_00.cpp" in generated
    assert generated == own_cpp()


# -- compiled


def written(files: Mapping[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@needs_compiler
def test_a_compiler_takes_it(made: Plan, small_paths: Paths, tmp_path: Path) -> None:
    folder = written(emit(replace(small_paths, runtime=ROOT / "runtime"), made, "cpp"), tmp_path)
    by_base = {operator.name.base: operator for operator in made.operators}
    shards = {f"shard_{cpp.shard_of(by_base[base]):02}.cpp" for base in ("mul", "highest", "norm_of", "hidden")}
    empty = {f"shard_{n:02}.cpp" for n in range(cpp.SHARDS)} - {
        f"shard_{cpp.shard_of(o):02}.cpp" for o in made.operators
    }
    files = [*sorted(shards), *sorted(empty)[:1]]
    names = ("packets.cpp", "shards.cpp", *files, *(file.replace("shard", "loops") for file in files))
    assert complaints((folder / name for name in names), tmp_path) == []
    (folder / "wrong.cpp").write_text("int one = nothing;\n")
    assert ["nothing" in said for said in complaints([folder / "wrong.cpp"], tmp_path)] == [True]


@needs_compiler
def test_a_compiler_takes_shards_of_this_project(tmp_path: Path) -> None:
    folder = written(own_cpp(), tmp_path)
    names = (f"{kind}_{number:02}.cpp" for number in range(0, cpp.SHARDS, 4) for kind in ("shard", "loops"))
    assert complaints((folder / name for name in names), tmp_path) == []


@needs_compiler
def test_errors_point_into_the_yaml_and_back(made: Plan, small_paths: Paths, tmp_path: Path) -> None:
    neg = next(operator for operator in made.operators if str(operator.name) == "neg")
    name = f"shard_{cpp.shard_of(neg):02}.cpp"
    files = emit(small_paths, made, "cpp")
    spoilt = files[name].replace("ops::neg_default_(grad", "ops::nothing(grad")
    assert spoilt != files[name]
    spoilt = spoilt.replace("results[0] = gradient(self_gradient);", "results[0] = gradient(nothing);")
    folder = written({**files, name: spoilt}, tmp_path)
    shutil.copy(KERNEL_SOURCES / "kernels.hpp", folder)
    said = compiled(folder / name).stderr
    formula = FORMULAS.splitlines().index("  self: -grad") + 1
    assert "derivatives.yaml#NegBackward0:1:" in said
    output = small_paths.for_target("cpp").output
    output.mkdir(parents=True)
    shutil.copy(folder / "places.json", output)
    assert f"\nderivatives.yaml:{formula}:" in Places.of(small_paths).put(said)
    places = re.findall(rf"generated/cpp/{name}:(\d+):\d+: error: .nothing. was not declared", said)
    lines = spoilt.splitlines()
    assert places
    assert all("gradient(nothing)" in lines[int(place) - 1] for place in places)


def test_the_functions_of_the_core_are_called() -> None:
    """A kernel or a writer whose operator goes another way by now is code that nobody runs."""
    paths = project_paths()
    native = NativeKernels.read(*paths.native_kernels)
    generated = "".join(path.read_text(encoding="utf-8") for path in sorted((paths.output / "cpp").glob("*.cpp")))
    spaces = {
        "kernels": native.functions,
        "writers": native.writers,
        "composites": native.composites,
        "helpers": native.helpers,
    }
    declared = {f"{space}::{name}" for space, functions in spaces.items() for name in functions}
    called = set(re.findall(r"\b\w+::\w+(?=\()", generated))
    assert declared - called == set()
