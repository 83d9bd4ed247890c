"""Facts of a signature as plain values: see `runtime.base.signature_facts`, which keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codegen.schema.defaults import Default, EnumDefault, default_value
from codegen.schema.types import Argument, FunctionSchema, Return

# The reductions of losses, which schemas call int.
_REDUCTIONS = {"Mean": 1, "Sum": 2}
# The defaults of `SignatureFacts`, where they are not empty.
_USUAL: Mapping[str, Any] = {"results": ("Tensor",), "base": None, "is_factory": False, "masks_outputs": False}


def facts_of(schema: FunctionSchema, with_out: bool = False) -> Mapping[str, Any]:
    """The fields of `SignatureFacts` that differ from their defaults, and the arguments.

    `with_out`: whether out arguments are arguments like others, as they are of operators that users define.
    """
    arguments = schema.all_arguments if with_out else schema.arguments
    names = tuple([result.name for result in schema.returns])
    returned = tuple([_returned(result, arguments) for result in schema.returns])
    facts: Mapping[str, Any] = {
        "results": tuple([str(result.type) for result in schema.returns]),
        "result_names": names if len(names) > 1 and None not in names else (),
        "placements": _positions([argument.is_placement for argument in arguments]),
        "writes": _positions([argument.is_write for argument in arguments]),
        "returned": returned if any(each is not None for each in returned) else (),
        "base": next((i for i, argument in enumerate(arguments) if argument.alias is not None), None),
        "is_factory": schema.is_factory,
        "masks_outputs": schema.masks_outputs,
    }
    kept = {name: value for name, value in facts.items() if value != _USUAL.get(name, ())}
    return {"arguments": tuple(map(_argument, arguments)), "positional": len(schema.positional), **kept}


def _positions(flags: Sequence[bool]) -> tuple[int, ...]:
    return tuple([i for i, flag in enumerate(flags) if flag])


def _returned(result: Return, arguments: Sequence[Argument]) -> int | None:
    if result.alias is None:
        return None
    written = (i for i, each in enumerate(arguments) if each.is_write and result.alias.same_memory(each.alias))
    return next(written, -1)


def _argument(argument: Argument) -> tuple[object, ...]:
    name_and_type = argument.name, str(argument.type)
    return name_and_type if argument.default is None else (*name_and_type, _default(argument))


def _default(argument: Argument) -> Default:
    return _plain(default_value(argument))


def _plain(value: Default) -> Default:
    """A default without named constants, of which a dtype is its name."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if not isinstance(value, EnumDefault):
        return value
    if value.is_dtype:
        return value.name
    # Of layouts and memory formats those that a schema names are what is there without one.
    return _REDUCTIONS.get(value.name)
