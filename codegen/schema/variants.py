"""What the variants of one operator have in common: the functional, in-place and out forms of a schema."""

from __future__ import annotations

from codegen.schema.types import Alias, Argument, FunctionSchema, OperatorName, Return
from codegen.words import TENSOR_OPTIONS

# Where a name is taken by an operator that writes an argument, its functional variant has this at the end of its own.
_FUNCTIONAL_SUFFIX = "_functional"


def signature(schema: FunctionSchema) -> FunctionSchema:
    """What the variants of one operator have in common, in functional form: equal for those that belong together.

    Left out are the overload name, aliases, defaults, names of returns, the out arguments, and the tensor
    options, which an out= variant of a factory does not have.  Written arguments that are not returned become
    returns at the end, as a functional variant has to give them back.
    """
    out = tuple(argument for argument in schema.out if not argument.name.startswith("_scratch_"))
    first = schema.self_argument
    written = (*((first,) if first is not None else ()), *out, *(a for a in schema.positional if a is not first))
    given_back = [value.alias for value in schema.returns]
    kwarg_only = schema.kwarg_only
    if {argument.name for argument in kwarg_only}.issuperset(TENSOR_OPTIONS):
        kwarg_only = tuple(argument for argument in kwarg_only if argument.name not in TENSOR_OPTIONS)
    return FunctionSchema(
        name=OperatorName(schema.name.functional_name.base.removesuffix(_FUNCTIONAL_SUFFIX)),
        positional=tuple(_bare(argument) for argument in schema.positional),
        kwarg_only=tuple(_bare(argument) for argument in kwarg_only),
        out=(),
        returns=tuple(Return(None, value.type) for value in schema.returns)
        + tuple(
            Return(None, argument.type)
            for argument in written
            if argument.alias is not None and argument.is_write and not _any_same(argument.alias, given_back)
        ),
    )


def variant_key(schema: FunctionSchema) -> object:
    """What the variants of one operator have in common; a cheaper `signature`."""
    arguments = [(a.name, a.type) for a in schema.positional] + [
        (a.name, a.type) for a in schema.kwarg_only if a.name not in TENSOR_OPTIONS
    ]
    if arguments:  # `dropout(input)` is `dropout_(self)`
        arguments[0] = ("", arguments[0][1])
    return schema.name.functional_name.base.removesuffix(_FUNCTIONAL_SUFFIX), tuple(arguments)


def _bare(argument: Argument) -> Argument:
    return Argument(argument.name, argument.type)


def _any_same(alias: Alias, others: list[Alias | None]) -> bool:
    return any(alias.same_memory(other) for other in others)
