"""Each target prints each intrinsic of the formula language, or says that it leaves it to Python."""

from __future__ import annotations

import ast
import re

import pytest

from codegen.formula.intrinsics import INTRINSICS, IntrinsicInfo
from codegen.formula.typed import Intrinsic, Variable, VariableKind
from codegen.plan.names import FunctionNames
from codegen.plan.native import NativePlan
from codegen.plan.native_kernels import NO_KERNELS, Native
from codegen.targets.cpp.intrinsics import LEFT_TO_PYTHON
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Statements
from codegen.targets.cpp.text import CppPrinter, Library, UnprintableError
from codegen.targets.python.text import PythonPrinter
from support.documents import ROOT


def expression(info: IntrinsicInfo) -> Intrinsic:
    types = () if info.receiver is None else (info.receiver, *info.further)
    args = tuple(Variable(type, 0, 0, VariableKind.INPUT, f"value{number}") for number, type in enumerate(types))
    return Intrinsic(info.result, 0, 0, info.name, args, "cpu" if info.name == "device_is" else "")


@pytest.mark.parametrize("info", INTRINSICS.values(), ids=lambda info: info.name)
def test_python_prints_it(info: IntrinsicInfo) -> None:
    ast.parse(PythonPrinter(FunctionNames()).print(expression(info)), mode="eval")


@pytest.mark.parametrize("info", INTRINSICS.values(), ids=lambda info: info.name)
def test_cpp_prints_it_or_leaves_it_to_python(info: IntrinsicInfo) -> None:
    library = Library(FunctionNames(), NativePlan(Native(NO_KERNELS), {}, {}, {}), frozenset())
    printer = CppPrinter(library, Needs(), lambda variable: f"{variable.name}_", Statements())
    if info.name in LEFT_TO_PYTHON:
        with pytest.raises(UnprintableError):
            printer.value(expression(info))
    else:
        assert printer.value(expression(info))


def test_the_table_has_all_that_the_generator_makes() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "codegen").rglob("*.py"))
    made = set(re.findall(r'Intrinsic\([^()]*?, "(\w+)", ', sources))
    assert "defined" in made
    assert made <= INTRINSICS.keys()
