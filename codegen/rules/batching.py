"""The rules of vmap that entries name exist."""

from __future__ import annotations

from codegen.codes import Code
from codegen.python_source import FunctionIndex
from codegen.rules.checked import Checked
from codegen.source import Diagnostics
from codegen.words import did_you_mean

# The parameters of a rule, and of one for operators that draw random numbers.
_RULE = ("level", "operator", "values")
_RANDOM_RULE = (*_RULE, "variant", "proceed")


def check_batching(checked: Checked, diagnostics: Diagnostics) -> None:
    """Every rule that a `batching` names exists."""
    known = rule_names(checked.batching)
    for function in checked.functions:
        name = function.batching
        if name is not None and str(name) not in known:
            diagnostics.error(
                Code.NO_FUNCTION, name.span(), f"no rule '{name}' in runtime/operators/batching/rules",
                did_you_mean(str(name), known) or "rules are Gradwright's own; without the key it is a loop",
            )  # fmt: skip


def rule_names(functions: FunctionIndex) -> set[str]:
    """The rules among the functions of runtime/operators/batching/rules: those that take what a rule is given."""
    return {
        function.name
        for function in functions
        if not function.name.startswith("_")
        and function.parameters is not None
        and tuple(parameter.name for parameter in function.parameters) in (_RULE, _RANDOM_RULE)
    }
