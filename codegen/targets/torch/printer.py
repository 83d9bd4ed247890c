"""Typed trees of formulas as calls of PyTorch's operators."""

from __future__ import annotations

import keyword

from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    DEVICE,
    DTYPE,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    is_tensor_like,
)
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.names import python
from codegen.schema.types import ListType, base_type
from codegen.targets.literals import default_value, literal
from codegen.targets.rules import library, printer
from codegen.targets.rules.values import Binding, NotPortable, Value

WORDS = frozenset((
    "torch", "np", "math", "kernels", "helpers", "operators", "ctx", "inputs", "output", "outputs", "grad", "grads",
    "mask", "each", "info", "in_dims", "args", "Tensor", "Function", "Number", "Kernel", "Library", "Sequence", "Any",
    "tuple", "len", "bool", "float", "int", "complex", "abs", "list", "isinstance", "any", "enumerate", "annotations",
))  # fmt: skip
"""Names of the functions that are written, which no argument has."""

_INTRINSICS = {
    "sizes": "{0}.shape",
    "optional_sizes": "(None if {0} is None else {0}.shape)",
    "strides": "{0}.stride()",
    "storage_offset": "{0}.storage_offset()",
    "dim": "{0}.dim()",
    "numel": "{0}.numel()",
    "scalar_type": "{0}.dtype",
    "options": "options_of({0})",
    "is_complex": "{0}.is_complex()",
    "is_floating_point": "{0}.is_floating_point()",
    "is_contiguous": "{0}.is_contiguous()",
    "layout": "{0}.layout",
    "device": "{0}.device",
    "requires_grad": "{0}.requires_grad",
    "defined": "({0} is not None)",
    "length": "len({0})",
    "list_sizes": "[each.shape for each in {0}]",
    "list_dtypes": "[each.dtype for each in {0}]",
    "repeat": "(({0},) * {1})",
    "to_float": "float({0})",
    "to_int": "int({0})",
    "to_complex": "complex({0})",
    "number_is_complex": "isinstance({0}, complex)",
    "number_is_float": "isinstance({0}, float)",
    "conjugate": "{0}.conjugate()",
    "info": "info_of({0})",
    "zeros": "zeros({0})",
    "grad_enabled": "torch.is_grad_enabled()",
    "sqrt": "math.sqrt({0})",
    "exp": "math.exp({0})",
    "log": "math.log({0})",
    "log1p": "math.log1p({0})",
    "abs": "abs({0})",
}


def argument(name: str) -> str:
    """An argument or a result as a variable."""
    spelled = python(name)
    numbered = spelled.startswith(("grad_", "shared_", "defined_", "tangent_")) and spelled[-1].isdigit()
    return f"{spelled}_" if spelled in WORDS or numbered else spelled


class TreePrinter(printer.TreePrinter):
    """Prints typed trees in one function.

    Args:
        library: what is called.
        item: the function in which the trees are.
        named: gives the name of a variable.
    """

    argument = staticmethod(argument)
    list_of = ""
    device: str | None = None
    """The expression of the device where Tensors are made that formulas make of nothing; None: PyTorch's default."""

    def value(self, expr: TypedExpr) -> Value:
        """An expression."""
        if isinstance(expr, Literal) and expr.type == DTYPE:
            return Value(f"torch.{expr.value}", expr.type)
        is_conjugate = isinstance(expr, OperatorCall) and expr.meaning is Meaning.CONJUGATE and len(expr.args) == 1
        if isinstance(expr, OperatorCall) and is_conjugate and structure(expr) not in self._named:
            ((_, operand),) = expr.args
            return Value(f"{self.value(operand).within(Binding.CALL)}.conj()", expr.type)
        if self.device is not None and isinstance(expr, OperatorCall) and structure(expr) not in self._named:
            operator = self.library.operators.get(str(expr.schema.name))
            if operator is not None and _makes_of_nothing(operator) and "device" not in dict(expr.args):
                args = {name: self.value(each) for name, each in expr.args}
                return self.library.call(operator, args | {"device": Value(self.device, DEVICE)}, self.item)
        return super().value(expr)

    def _intrinsic(self, expr: Intrinsic) -> Value:
        template = _INTRINSICS.get(expr.name)
        if template is None:
            raise NotPortable(f"Tensors of PyTorch have no '{expr.spelling or expr.name}'")
        parts = [self.value(arg) for arg in expr.args]
        if template.startswith("math."):
            self.item.imports["import math"] = None
        return Value(template.format(*[part.within(Binding.CALL) for part in parts]), expr.type)


def _makes_of_nothing(operator: OperatorPlan) -> bool:
    """Whether it makes a Tensor, on a device that it is told, and takes none."""
    arguments = operator.schema.arguments
    return any(each.name == "device" for each in arguments) and not any(is_tensor_like(each.type) for each in arguments)


_ANNOTATIONS = {
    "Tensor": "Tensor", "Scalar": "Number", "int": "int", "float": "float", "bool": "bool", "str": "str",
    "ScalarType": "torch.dtype", "Device": "torch.device", "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator",
}  # fmt: skip


def annotation(type: object) -> str:
    """What Python calls a type of schemas."""
    return library.annotation(type, _ANNOTATIONS)


def result_annotation(operator: OperatorPlan) -> str:
    """The annotation of what an operator gives."""
    types = [result.type for result in operator.schema.returns]
    returns = [f"list[{annotation(each.elem)}]" if isinstance(each, ListType) else annotation(each) for each in types]
    if not returns:
        return "None"
    return returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]"


def default_of(parameter: ParameterPlan) -> str:
    """The default of a parameter."""
    value = literal(default_value(parameter))
    return f"torch.{value.removeprefix('dtypes.')}" if value.startswith("dtypes.") else value


def by_position(operator: OperatorPlan) -> bool:
    """Whether a function can take all arguments by position: no parameter without a default is after one with one."""
    optional = [parameter.default is not None for parameter in operator.python.parameters]
    return optional == sorted(optional)


ONE_OR_ALL = "{element} | {}"
"""The annotation of a list for which one number may stand."""


def parameters_of(operator: OperatorPlan, keywords: bool = True, sized: str | None = None) -> list[str]:
    """The parameters of an operator's function with their types and defaults.

    Args:
        operator: whose schema it is.
        keywords: whether some are given by name alone, as the schema says it.
        sized: the annotation of lists for which one number may stand, in whose braces stands that of others.
    """
    parts: list[str] = []
    starred = False
    for parameter in operator.python.parameters:
        if keywords and parameter.keyword_only and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is None else f" = {default_of(parameter)}"
        type = annotation(parameter.type)
        if sized is not None and parameter.size is not None and not is_tensor_like(parameter.type):
            type = sized.format(type, element=annotation(base_type(parameter.type)))
        parts.append(f"{argument(parameter.name)}: {type}{default}")
    return parts


def arguments_of(operator: OperatorPlan, keywords: bool = True) -> list[str]:
    """The parameters as arguments of a call of a function that is written, with the same ones."""
    parts = []
    for parameter in operator.python.parameters:
        name = argument(parameter.name)
        parts.append(f"{name}={name}" if keywords and parameter.keyword_only else name)
    return parts


def arguments_of_entry(operator: OperatorPlan) -> list[str]:
    """The parameters as arguments of a call of the overload in `torch.ops`, which has the names of the schema."""
    parts = []
    for parameter in operator.python.parameters:
        name = argument(parameter.name)
        if not parameter.keyword_only:
            parts.append(name)
        elif keyword.iskeyword(parameter.name):
            parts.append(f"**{{{literal(parameter.name)}: {name}}}")
        else:
            parts.append(f"{parameter.name}={name}")
    return parts
