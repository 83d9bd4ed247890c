"""Arguments of calls in the form that the signature of what is called gives them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, NoneType
from typing import Any, NamedTuple, get_args, get_origin

from codegen.schema.types import BaseType, ListType, OptionalType
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.call.operator_schemas import Argument
from runtime.call.overloads import OpOverload, OpOverloadPacket

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call by position, and those by keyword."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Form(NamedTuple):
    """A signature, and the types of a schema's arguments, by name."""

    signature: inspect.Signature
    types: Mapping[str, Any]


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a function, with its defaults; None where nothing is known of it.

    Args:
        target: the function.
        args: its arguments by position.
        kwargs: and by keyword.
        arg_types: the types of the former, which choose among overloads.
        kwarg_types: those of the latter.
        normalize_to_only_use_kwargs: whether all are given by keyword.

    Raises:
        RuntimeError: several overloads take these arguments, and no types are given.
        TypeError: it does not take them.
    """
    named = dict(kwargs or {})
    forms = list(_forms_of(target))
    if not forms:
        if not isinstance(target, FunctionType):
            return None
        return _normalized(inspect.signature(inspect.unwrap(target)), args, named, normalize_to_only_use_kwargs)
    fitting = [form for form in forms if _binds(form.signature, args, named)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            known = "\n".join(str(form.signature) for form in fitting)
            raise RuntimeError(
                f"Tried to normalize arguments to {target.__name__} but the schema match was ambiguous! Please provide "
                f"argument types to the normalize_arguments() call. Available schemas:\n{known}"
            )
        types = arg_types or (), dict(kwarg_types or {})
        fitting = [form for form in fitting if _binds(form.signature, *types) and _has_types(form, *types)]
    return _normalized(fitting[0].signature, args, named, normalize_to_only_use_kwargs) if fitting else None


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a Module of ours, with the defaults of its forward; None of a Module of others.

    Args:
        root: the Module that it is in.
        target: the path to it.
        args: its arguments by position.
        kwargs: and by keyword.
        normalize_to_only_use_kwargs: whether all are given by keyword.

    Raises:
        RuntimeError: there is no Module of this path.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from None
    kind = type(module)
    if getattr(sys.modules["gradwright"].nn, kind.__name__, None) is not kind:
        return None
    if isinstance(module, FunctionModule) and kind.forward is FunctionModule.forward:
        signature = kind.signature_of_inputs()
    else:
        signature = inspect.signature(inspect.unwrap(module.forward))
    return _normalized(signature, args, dict(kwargs or {}), normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], only_named: bool
) -> ArgsKwargsPair | None:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    count = 0 if only_named else len(args)
    items = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in items[:count]), dict(items[count:]))


def _binds(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _forms_of(target: Any) -> Iterator[_Form]:
    """The overloads of an operator; none of what is no operator."""
    if isinstance(target, OpOverload):
        yield _form(target)
        return
    packet = target
    if not isinstance(target, OpOverloadPacket):
        name = getattr(target, "__name__", "")
        if vars(ops).get(name) is not target or "overloads" not in getattr(target, "__dict__", ()):
            return
        packet = OpOverloadPacket("aten", name)
    for name in packet.overloads():
        yield _form(getattr(packet, name))


def _form(overload: OpOverload) -> _Form:
    arguments = overload._schema.arguments
    names = {argument: "input" if argument.name == "self" else argument.name for argument in arguments}
    # A default may stand before an argument without one in a schema, but not in a signature.
    parameters = []
    for argument in arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(names[argument], kind, default=_default(argument)))
    signature = inspect.Signature(parameters, __validate_parameters__=False)
    return _Form(signature, {names[argument]: argument.type for argument in arguments})


def _default(argument: Argument) -> Any:
    return argument.default_value if argument.has_default_value() else inspect.Parameter.empty


def _has_types(form: _Form, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    bound = form.signature.bind(*args, **kwargs)
    return all(_fits(form.types[name], given) for name, given in bound.arguments.items())


# What a value of a schema's type is in Python; types that are not here may be anything.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "Tensor": (Tensor,), "Scalar": (int, float, complex), "int": (int,), "SymInt": (int,), "float": (float, int),
    "bool": (bool,), "str": (str,),
}  # fmt: skip


def _fits(type_: Any, given: Any) -> bool:
    """Whether a value of a type can be an argument of a schema's type; lists may be given as lists of types."""
    if isinstance(type_, OptionalType):
        return given is NoneType or given is None or _fits(type_.elem, given)
    if isinstance(type_, ListType):
        parts = given if isinstance(given, (list, tuple)) else get_args(given)
        if isinstance(given, (list, tuple)) or get_origin(given) in (list, tuple):
            return all(_fits(type_.elem, part) for part in parts if part is not ...)
        return type_.size is not None and _fits(type_.elem, given)
    if isinstance(type_, BaseType):
        kinds = _KINDS.get(str(type_))
        return kinds is None or (isinstance(given, type) and issubclass(given, kinds))
    return True
