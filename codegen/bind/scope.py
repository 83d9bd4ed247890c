"""The names that formulas may use, and the constants of C++ among them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from codegen.formula.typed import (
    BOOL,
    BOOL_LIST,
    DTYPE,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    STR,
    TENSOR,
    ValueType,
    VariableKind,
    formula_type,
)
from codegen.read.model import NativeFunction
from codegen.schema.types import ListType, OptionalType

CONSTANTS: dict[str, tuple[ValueType, float | str]] = {
    "M_PI": (FLOAT, math.pi),
    "M_LN2": (FLOAT, math.log(2.0)),
    "M_LN10": (FLOAT, math.log(10.0)),
    "M_SQRT2": (FLOAT, math.sqrt(2.0)),
    "INFINITY": (FLOAT, math.inf),
    "NAN": (FLOAT, math.nan),
    "at::Reduction::None": (INT, 0),
    "at::Reduction::Mean": (INT, 1),
    "at::Reduction::Sum": (INT, 2),
    "c10::MemoryFormat::Contiguous": (MEMORY_FORMAT, "contiguous_format"),
    "c10::kStrided": (LAYOUT, "strided"),
    "c10::kJagged": (LAYOUT, "jagged"),
    "at::kBool": (DTYPE, "bool"),
    "at::kLong": (DTYPE, "int64"),
    # What the methods of C++ that read a symbolic number take for their own messages.
    "__FILE__": (STR, ""),
    "__LINE__": (INT, 0),
}
NONE_NAMES = frozenset(("std::nullopt", "::std::nullopt", "c10::nullopt", "nullopt"))
BOOLS = frozenset(("true", "false"))
# `original_self_p`: what the argument of an in-place operator was before the write.
BEFORE_WRITE = "original_"
# The variable of formulas for lists of Tensors: `grads[i]`.
ELEMENT_INDEX = "i"
MEANINGS = {
    VariableKind.INPUT: "an argument",
    VariableKind.OUTPUT: "a result",
    VariableKind.GRAD: "a gradient that comes in",
    VariableKind.GRADS: "the list of gradients that come in",
    VariableKind.MASK: "the mask of gradients that are asked for",
    VariableKind.RETAIN: "whether saved state is kept",
    VariableKind.TANGENT: "a tangent",
    VariableKind.PARAMETER: "the number of an element",
}


class Scope:
    """The names that the formulas of one operator may use, with what they stand for.

    `ambiguous` holds those that stand for two things, as `grad` does where an argument has that name: no formula may
    use them.
    """

    def __init__(
        self,
        function: NativeFunction,
        differentiable_outputs: Sequence[int],
        by_element: bool = False,
        knows_results: bool = True,
        by_choice: bool = False,
        of_elements: bool = False,
    ) -> None:
        schema = function.schema
        self.by_choice = by_choice  # `?:` on a Tensor chooses element by element
        self.by_element = by_element
        self.variables: dict[str, tuple[VariableKind, int, ValueType]] = {}
        self.ambiguous: dict[str, str] = {}
        self.missing: dict[str, tuple[str, str]] = {}  # names of gradients that are not there: why, and what to do
        arguments = {argument.name for argument in schema.arguments}
        for argument in schema.arguments:
            type = formula_type(argument.type)
            element = of_elements and isinstance(type, ListType)  # the name of a list stands for one of it
            self._add(argument.name, VariableKind.INPUT, type.elem if element and isinstance(type, ListType) else type)
        self.result_types = [formula_type(result.type) for result in schema.returns]
        for index, result in enumerate(schema.returns if knows_results else ()):
            self._add(
                "result" if len(schema.returns) == 1 else f"result{index}",
                VariableKind.OUTPUT, self.result_types[index], index,
            )  # fmt: skip
            if result.name is not None and result.name not in arguments:  # else it is the argument, as in PyTorch
                self._add(result.name, VariableKind.OUTPUT, self.result_types[index], index)
        if by_element:
            self._add(ELEMENT_INDEX, VariableKind.PARAMETER, INT)
        for name in (CONSTANTS.keys() | NONE_NAMES | BOOLS) & self.variables.keys():
            self.ambiguous[name] = f"{MEANINGS[self.variables[name][0]]} and a constant"
        self.differentiable_outputs = differentiable_outputs
        self.schema = schema

    def _add(self, name: str, kind: VariableKind, type: ValueType, index: int = 0) -> None:
        known = self.variables.setdefault(name, (kind, index, type))
        if known[:2] != (kind, index):
            self.ambiguous.setdefault(name, f"{MEANINGS[known[0]]} and {MEANINGS[kind]}")

    def backward(self) -> None:
        """Add the names of backward formulas: gradients and `grad_input_mask`."""
        outputs = self.differentiable_outputs
        if not outputs:
            none = "nothing comes back: 'output_differentiability' says that no result is differentiable"
            self.missing |= dict.fromkeys(
                ("grad", "grads"), (none, "remove the formula, or 'output_differentiability'")
            )
        for index, result in enumerate(self.schema.returns):
            if index not in outputs and result.name is not None:
                message = f"'{result.name}' is not differentiable, and has no gradient"
                self.missing[f"grad_{result.name}"] = message, "'output_differentiability' says which results are"
        if outputs:
            is_list = len(self.schema.returns) == 1 and self.result_types[outputs[0]] != TENSOR
            if not is_list:  # the results of Tensor[] have as many gradients as the run makes
                self._add("grad", VariableKind.GRAD, TENSOR)
            else:
                self.missing["grad"] = "each Tensor of the result has a gradient of its own", "write 'grads[i]'"
            self._add("grads", VariableKind.GRADS, ListType(TENSOR))
        for position, index in enumerate(outputs):
            name = self.schema.returns[index].name
            if name is not None:
                self._add(f"grad_{name}", VariableKind.GRAD, TENSOR, position)
        self._add("grad_input_mask", VariableKind.MASK, BOOL_LIST)
        self._add("retain_variables", VariableKind.RETAIN, BOOL)

    def forward(self) -> None:
        """Add the names of forward formulas: primal values `x_p` and tangents `x_t`."""
        for argument in self.schema.arguments:
            type = formula_type(argument.type)
            base = type.elem if isinstance(type, OptionalType | ListType) else type
            if base == TENSOR:
                if f"{argument.name}_p" in self.variables:  # both are values of arguments, but of two
                    self.ambiguous[f"{argument.name}_p"] = f"an argument and the value of '{argument.name}'"
                self._add(f"{argument.name}_p", VariableKind.INPUT, type)
                self._add(f"{argument.name}_t", VariableKind.TANGENT, type)
        if self.schema.name.is_inplace:
            self._add(f"{BEFORE_WRITE}self_p", VariableKind.INPUT, TENSOR)
            self._add(f"{BEFORE_WRITE}self_t", VariableKind.TANGENT, TENSOR)
