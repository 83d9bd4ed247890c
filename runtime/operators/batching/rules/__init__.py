"""Rules: how a call of an operator is performed for a whole batch.

A rule takes the level of vmap, the operator, and the arguments in the schema's order, of which some Tensor is batched
at this level. What it returns is batched. It is found by its name, which the generator chose for the operator (see
`codegen/plan/batching.py` and the key `batching` in docs/yaml.md). Most rules call the operator on the batch, with the
first dimension taken into account; the others say it with other operators.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.modes import Variant, grad_mode
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import BatchedTensor
from runtime.operators.batching.calls import UNBATCHED_TARGET, call, is_batched
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.rules import convolution, families, indexing, nn, products, random, shapes
from runtime.operators.batching.user_rules import by_rule

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = ["RANDOM_RULES", "RULES", "perform"]

Rule = Callable[["VmapLevel", "Operator", list[Any]], Any]
RandomRule = Callable[["VmapLevel", "Operator", list[Any], Variant, Callable[[list[Any]], Any]], Any]

# By these parameters rules are known, to the generator, too (`codegen.rules.batching.rule_names`).
_PARAMETERS = ("level", "operator", "values")
_OF_RANDOM = (*_PARAMETERS, "variant", "proceed")


def _rules(parameters: tuple[str, ...], *modules: ModuleType) -> dict[str, Any]:
    """The functions of modules that have these parameters."""
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and function.__code__.co_varnames[: function.__code__.co_argcount] == parameters
        and not name.startswith("_")
    }


RULES: dict[str, Rule] = _rules(_PARAMETERS, convolution, families, indexing, nn, products, shapes)
RANDOM_RULES: dict[str, RandomRule] = _rules(_OF_RANDOM, random)

# Rules that give the arguments their shapes and call the operator: its in-place variant can be called as well.
_IN_PLACE = ("pointwise", "copy")


def perform(
    level: VmapLevel, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
) -> Any:
    """Perform a call that concerns `level`, by the rule of the operator.

    Raises:
        RuntimeError: the call has no meaning for a batch.
    """
    batching = operator.batching
    if variant == "call" and batching is not None and operator.vmap_rule is None and operator.composite is None:
        rule = RULES.get(batching[0])
        if rule is not None and not operator.is_writing:
            return rule(level, operator, values)
    if variant == "out":
        raise RuntimeError(
            f"Batching rule not implemented for the out variant of {operator.name}: under vmap use the result that it "
            "returns"
        )
    if operator.vmap_rule is not None and variant == "call":
        return by_rule(operator.vmap_rule, level, values)
    if batching is not None and (draw := RANDOM_RULES.get(batching[0])) is not None:
        return draw(level, operator, values, variant, proceed)
    if variant == "inplace":
        return _inplace(level, operator, values)
    if operator.composite is not None:
        return proceed(values)
    if operator.is_writing:
        return _writing(level, operator, values)
    return RULES["loop" if batching is None else batching[0]](level, operator, values)


def _writing(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A kernel that writes gets the whole batch where it works element by element, else a view of each entry."""
    back = operator.given_back
    if (
        back is not None
        and operator.targets == [back]
        and is_batched(values[back], level)
        and operator.batching is not None
        and operator.batching[0] in _IN_PLACE
    ):
        call(operator, families.aligned(level, operator, values, written=back))
        return values[back]
    return families.loop(level, operator, values)


def _inplace(level: VmapLevel, operator: Operator, values: list[Any]) -> Tensor:
    target: Tensor = values[0]
    if not is_batched(target, level):
        raise RuntimeError(UNBATCHED_TARGET)
    if operator.view is not None:
        assert isinstance(target, BatchedTensor)
        target.become(call(operator, values))
        return target
    batching = operator.batching
    if operator.composite is None and batching is not None and batching[0] in _IN_PLACE:
        operator.inplace(*families.aligned(level, operator, values, written=0))
        return target
    if target._edge is not None and grad_mode.enabled:
        # The value that is about to be overwritten may be needed for the gradient.
        values = [ops.clone(target), *values[1:]]
    result = call(operator, values)
    operator.check_fits(result._array, target)
    return ops.copy_(target, result)
