"""Modules as functions of their parameters, and many Modules as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from runtime import ops
from runtime.base.tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a Module with other Tensors in place of its parameters and buffers.

    Args:
        module: the Module; it is as before when the call ends.
        parameter_and_buffer_dicts: Tensors by dotted names, or several such dictionaries with different names.
        args: the arguments, a tuple of them or a single one.
        kwargs: keyword arguments.
        tie_weights: what takes the place of one parameter also takes that of the same one under its other names.
        strict: every parameter and buffer has to be given, and nothing else.

    Raises:
        TypeError: the Tensors are given in something else, or a name is that of something else.
        ValueError: two dictionaries have a name in common, or one Tensor is to have two values.
        AttributeError: a name leads through a Module that there is not.
        RuntimeError: with `strict`, a name is unknown or missing; without, an unknown one is an attribute for the call.
    """
    replacements = _joined(parameter_and_buffer_dicts)
    names = _members(module)
    values = _tied(replacements, names) if tie_weights else dict(replacements)
    if strict:
        _check_names(type(module).__name__, replacements, values, names)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, values):
        return module(*args, **(kwargs or {}))


def _joined(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise TypeError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(part, Mapping) for part in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    joined: dict[str, Tensor] = {}
    for part in dicts:
        for name, tensor in part.items():
            if name in joined:
                raise ValueError(f"{name} appears in multiple dictionaries; behavior of functional call is ambiguous")
            joined[name] = tensor
    return joined


def _members(module: Any) -> dict[str, Tensor]:
    """All parameters and buffers under all of their names."""
    members = dict(module.named_parameters(remove_duplicate=False))
    members.update(module.named_buffers(remove_duplicate=False))
    return members


def _tied(replacements: Mapping[str, Tensor], members: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """With the other names of the members that are given."""
    groups: dict[int, list[str]] = {}
    for name, tensor in members.items():
        groups.setdefault(id(tensor), []).append(name)
    values = dict(replacements)
    for name, tensor in replacements.items():
        for other in groups.get(id(members.get(name)), ()):
            if other in replacements and replacements[other] is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted([name, other])}, which are tied. Consider "
                    "using tie_weights=False"
                )
            values[other] = tensor
    return values


def _check_names(
    kind: str, replacements: Mapping[str, Tensor], values: Mapping[str, Tensor], members: Mapping[str, Tensor]
) -> None:
    unexpected = [name for name in replacements if name not in members]
    missing = [name for name in members if name not in values]
    if unexpected or missing:
        parts = []
        if unexpected:
            parts.append(f"Unexpected key(s): {', '.join(unexpected)}.")
        if missing:
            parts.append(f"Missing key(s): {', '.join(missing)}.")
        raise RuntimeError(f"Error(s) in reparametrizing for {kind}:\n\t" + "\n\t".join(parts))


def _owner(module: Any, name: str) -> tuple[dict[str, Any], str]:
    """The dictionary of a Module that holds a parameter or buffer, or where other Tensors are; and its name there."""
    path, _, last = name.rpartition(".")
    if not last:
        raise KeyError("the name of a Tensor can't be empty")
    owner = module
    for part in path.split(".") if path else ():
        child = owner._modules.get(part)
        if child is None:
            if isinstance(getattr(owner, part, None), Tensor):
                raise TypeError(f"'{path}' is a Tensor, and not a Module")
            raise AttributeError(f"{type(module).__name__} has no Module '{path}'")
        owner = child
    for members in (owner._parameters, owner._buffers):
        if last in members:
            return members, last
    if hasattr(owner, last) and not isinstance(getattr(owner, last), Tensor):
        raise TypeError(f"'{last}' of {type(owner).__name__} is not a Tensor")
    return vars(owner), last


_ABSENT = object()


@contextmanager
def _replaced(module: Any, values: Mapping[str, Tensor]) -> Iterator[None]:
    for value in values.values():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value!r} is not a Tensor")
    places = [(*_owner(module, name), tensor) for name, tensor in values.items()]
    before = [members.get(name, _ABSENT) for members, name, _ in places]
    for members, name, tensor in places:
        members[name] = tensor
    try:
        yield
    finally:
        for (members, name, _), tensor in zip(places, before, strict=True):
            if tensor is _ABSENT:
                members.pop(name, None)
            else:
                members[name] = tensor


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of Modules of one kind, stacked along a first dimension, for `vmap`.

    Args:
        models: Modules of the same class and in the same mode.

    Returns:
        Stacked parameters by name, which require gradients as the parameters do, and stacked buffers.

    Raises:
        RuntimeError: there are none, or they are of different kinds or modes.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    first = models[0]
    if any(model.training != first.training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(first) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(members: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    stacks = {}
    for name in members[0]:
        tensors = [each[name] for each in members]
        flags = {tensor.requires_grad for tensor in tensors}
        if len(flags) > 1:
            raise RuntimeError(
                f"Expected {name} to have the same .requires_grad in all models: it is different in some of them"
            )
        stacked = ops.stack([tensor.detach() for tensor in tensors])
        stacks[name] = stacked.requires_grad_() if flags.pop() else stacked
    return stacks


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let all BatchNorms in a Module, itself included, use the statistics of their batch alone, as `vmap` needs it.

    Their running statistics are gone. Returns the Module.
    """
    for module in root.modules():
        forget = getattr(module, "_forget_running_stats", None)  # of BatchNorms, which stand above this
        if forget is not None:
            forget()
    return root
