"""The value of an expression at numbers, computed with the kernels that the operators name.

A kernel is a function on arrays: its module is loaded without the runtime around it, so that a runtime that does not
load, or was generated from other YAML, is not asked.
"""

from __future__ import annotations

import importlib
import math
import operator
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from codegen.bind.call_targets import OperatorTable
from codegen.bind.elementwise import ElementwiseTable
from codegen.bind.substitution import applied, arguments
from codegen.dispatch_keys import CPU
from codegen.formula.typed import (
    Arithmetic,
    Conditional,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
)
from codegen.module_names import RUNTIME, name_here
from codegen.paths import OPERATORS, Paths
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.schema.types import FunctionSchema

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&&": lambda a, b: a and b, "||": lambda a, b: a or b,
}  # fmt: skip
_INTRINSICS: Mapping[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log1p": math.log1p, "abs": abs, "to_float": float,
    "to_int": int, "conjugate": lambda x: x,
}  # fmt: skip
Value = float | str | None  # what an argument is where it is no Tensor; None: not given


class UnknownValueError(Exception):
    """An expression calls something that has no kernel on arrays of its own, or none that can be loaded."""


class Numbers:
    """Computes values of expressions in double precision.

    Args:
        table: of all operators.
        kernels: the functions on arrays by their names.
        elementwise: the operators that are expressions.
        paths: where the runtime is.
    """

    def __init__(
        self, table: OperatorTable, kernels: FunctionIndex, elementwise: ElementwiseTable, paths: Paths
    ) -> None:
        self._table = table
        self._kernels = kernels
        self._elementwise = elementwise
        self._paths = paths
        self._modules: dict[str, ModuleType] = {}

    def values(
        self, expr: TypedExpr, given: Mapping[str, NDArray[Any] | Value], result: TypedExpr | None = None
    ) -> NDArray[Any]:
        """The values of an expression, where 1 is the gradient that comes in.

        Args:
            expr: the expression.
            given: arrays for the Tensors and values for the other arguments, by their names.
            result: what a result of the operator is.

        Raises:
            UnknownValueError: they can not be computed here.
        """
        import numpy as np  # here, because it is large, and most runs need no numbers

        arrays = (value for value in given.values() if isinstance(value, np.ndarray))
        shape = np.broadcast_shapes(*(array.shape for array in arrays))

        def of(part: TypedExpr) -> Any:
            match part:
                case Variable(kind=VariableKind.INPUT) if part.name in given:
                    return given[part.name]
                case Variable(kind=VariableKind.OUTPUT) if result is not None:
                    return of(result)
                case Variable(kind=VariableKind.GRAD | VariableKind.TANGENT):
                    return np.ones(shape)
                case Literal():
                    return part.value
                case Arithmetic(operands=(only,)):
                    return -of(only) if part.op == "-" else not of(only)
                case Arithmetic(operands=(left, right)) if part.op in _ARITHMETIC:
                    return _ARITHMETIC[part.op](of(left), of(right))
                case Conditional():
                    return of(part.then) if of(part.test) else of(part.orelse)
                case Intrinsic(name="defined"):
                    return of(part.args[0]) is not None
                case Intrinsic() if part.name in _INTRINSICS:
                    return _INTRINSICS[part.name](*map(of, part.args))
                case OperatorCall():
                    return call(part)
            raise UnknownValueError(str(part))

        def call(part: OperatorCall) -> Any:
            name = str(part.schema.name)
            if name in self._elementwise:
                known = self._elementwise.find(name)
                if known is None:
                    raise UnknownValueError(name)
                return of(applied(known.steps, part))
            return self._kernel(part.schema)(*(of(value) for value in arguments(part).values()))

        with np.errstate(all="ignore"):
            try:
                return np.broadcast_to(np.asarray(of(expr), np.float64), shape)
            except (ArithmeticError, TypeError, ValueError, AttributeError, RuntimeError, ImportError) as error:
                raise UnknownValueError(str(error)) from error

    def _kernel(self, schema: FunctionSchema) -> Callable[..., Any]:
        import numpy as np

        function = self._table.functions[str(schema.name)]
        line = next((line for line in function.dispatch if line.key == CPU), None)
        kernel = None if line is None else self._kernels.get(str(line.kernel))
        if kernel is None:
            raise UnknownValueError(str(schema.name))
        if kernel.alias:
            found: Callable[..., Any] = getattr(np, kernel.alias)
            return found
        return self._loaded(kernel)

    def _loaded(self, kernel: PythonFunction) -> Callable[..., Any]:
        if not kernel.module.startswith(f"{OPERATORS}.kernels."):
            raise UnknownValueError(kernel.module)
        if kernel.module not in self._modules:
            self._modules[kernel.module] = self._module(kernel.module)
        found: Callable[..., Any] = getattr(self._modules[kernel.module], kernel.name)
        return found

    def _module(self, name: str) -> ModuleType:
        """A module of kernels: the one that the program has, or one that is loaded by itself."""
        if RUNTIME in sys.modules:
            return importlib.import_module(name_here(name))
        alone = ModuleType(RUNTIME)
        alone.__path__ = [str(self._paths.runtime)]
        before = set(sys.modules)
        sys.modules[RUNTIME] = alone
        try:
            return importlib.import_module(name)
        finally:
            for loaded in set(sys.modules) - before:
                if loaded.partition(".")[0] == RUNTIME:
                    del sys.modules[loaded]
