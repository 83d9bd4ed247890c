"""The Python target: for each rule of the plan the smallest input, and what comes of it.

A file of `golden/python` begins with its input as a comment: the entries of native_functions.yaml and, after an empty
comment line, those of derivatives.yaml, if there are any. It goes on with the Nodes and jvps, in the folder `operators`
with the functions and the Operator. A new rule is such a comment and `pytest --update-goldens`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden" / "python"
NODES = sorted(GOLDEN.glob("*.py"))
OPERATORS = sorted((GOLDEN / "operators").glob("*.py"))

# What formulas call.
FUNCTIONS = """\
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: two}
  python_operator: self * other, other * self
- func: mul.Scalar(Tensor self, Scalar other) -> Tensor
  dispatch: {CPU: two}
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: two}
  python_operator: self + other, other + self
- func: neg(Tensor self) -> Tensor
  dispatch: {CPU: one}
  python_operator: -self
- func: conj(Tensor(a) self) -> Tensor(a)
  variants: function, method
  dispatch: {CPU: one}
  python_operator: conj(self)
- func: expand(Tensor(a) self, SymInt[] size) -> Tensor(a)
  variants: method
  dispatch: {CPU: sized}
"""
FORMULAS = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
- name: mul.Scalar(Tensor self, Scalar other) -> Tensor
  self: grad * other
- name: add.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad
  other: grad
- name: neg(Tensor self) -> Tensor
  self: -grad
- name: conj(Tensor(a) self) -> Tensor(a)
  self: grad.conj()
- name: expand(Tensor(a) self, SymInt[] size) -> Tensor(a)
  self: grad
"""
HELPERS = """\
def of_both(grad: Tensor, self: Tensor, mask: Sequence[bool]) -> tuple[Tensor | None, Tensor | None]: ...
def of_two(first: Tensor, second: Tensor) -> Tensor: ...
def of_optional(grad: Tensor, weight: Tensor | None) -> Tensor: ...
def of_list(grads: Sequence[Tensor | None]) -> Tensor: ...
def of_each(grad: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]: ...
def of_result(grad: Tensor, result: Tensor, retain: bool) -> Tensor: ...
"""
KERNELS = """\
def one(self): ...
def two(self, other): ...
def three(self, weight): ...
def sized(self, size): ...
def typed(self, dtype): ...
def listed(tensors): ...
def pair(self): ...
def indexed(self, indices): ...
def along(self, dim): ...
def masked(self, mask): ...
def scaled(self, other, alpha): ...
def drawn(self, generator): ...
def made(size, dtype): ...
def filled(size, value, dtype): ...
def named(self, lambda_): ...
def array(array): ...
"""
COMPOSITES = """\
def composite(self): ...
def counted(self, dim, start, size, sizes): ...
def typed(self, dtype): ...
"""


def test_every_rule_has_a_file() -> None:
    assert len(NODES) >= 25
    assert len(OPERATORS) >= 45


@pytest.mark.parametrize("golden", NODES, ids=lambda golden: golden.stem)
def test_nodes(golden: Path, emitted: Callable[..., dict[str, str]], update_goldens: bool) -> None:
    files = emitted_for(golden, emitted)
    parts = [*definitions(files["nodes.py"]), *definitions(files["operators.py"], "jvp_")]
    compare(golden, parts, update_goldens)


@pytest.mark.parametrize("golden", OPERATORS, ids=lambda golden: golden.stem)
def test_operators(golden: Path, emitted: Callable[..., dict[str, str]], update_goldens: bool) -> None:
    text = emitted_for(golden, emitted)["operators.py"]
    parts = []
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node
        name = target.id if isinstance(target, ast.Name) else getattr(target, "name", "")
        if name.startswith(("f_", "composite_f_", "inplace_f_", "matmul_sign")):
            parts.append(source(text, node))
    compare(golden, parts, update_goldens)


def emitted_for(golden: Path, emitted: Callable[..., dict[str, str]]) -> dict[str, str]:
    header = golden.read_text(encoding="utf-8").partition("\n\n")[0]
    functions, _, formulas = header.replace("# ", "").partition("\n#\n")
    return emitted(FUNCTIONS + functions + "\n", formulas + "\n" + FORMULAS, HELPERS, KERNELS, COMPOSITES)


def compare(golden: Path, parts: Sequence[str], update: bool) -> None:
    header, _, code = golden.read_text(encoding="utf-8").partition("\n\n")
    found = "\n\n\n".join(parts) + "\n"
    if update:
        golden.write_text(f"{header}\n\n\n{found}", encoding="utf-8")
    else:
        assert code.lstrip("\n") == found


def test_zeros_for_one_formula_are_no_gradient_for_the_next() -> None:
    """The first formula reads both gradients, the second one only the one that is undefined."""
    code = (GOLDEN / "undefined_gradients.py").read_text(encoding="utf-8")
    helpers = SimpleNamespace(of_two=lambda first, second: (first, second))
    scope: dict[str, Any] = {
        "RecordedNode": object,
        "small_helpers": helpers,
        "zeros_for": lambda node, nr: f"zeros {nr}",
    }
    exec(code, scope)
    node = scope["FBackward0"]()
    node._self_edge = node._other_edge = "an edge"
    assert node.apply((None, "gradient")) == (("zeros 0", "gradient"), None)
    assert node.apply(("gradient", None)) == (("gradient", "zeros 1"), "gradient")
    assert node.apply((None, None)) == (None, None)


def definitions(module: str, prefix: str = "") -> Iterator[str]:
    """The source of the classes and functions that belong to the operator `f`."""
    for node in ast.parse(module).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name.startswith(prefix):
            name = node.name.removeprefix("record_").removeprefix("jvp_")
            if name.startswith(("FBackward", "f_", "F_Backward")):
                yield source(module, node)


def source(module: str, node: ast.stmt) -> str:
    return "\n".join(module.splitlines()[node.lineno - 1 : node.end_lineno])
