"""Saving the state of a Module into a dictionary, and loading it from one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from gradwright.autograd import no_grad
from gradwright.nn.hooks import HookHandle
from gradwright.nn.members import Members
from gradwright.nn.parameter import Parameter, is_lazy
from runtime.base.tensor import Tensor

Child = TypeVar("Child", bound="Checkpoints[Any]")

# Under which key a Module's `get_extra_state` stands.
EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """Keys that loading did not find, and keys that it had no use for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    def __str__(self) -> str:
        return repr(self)


class Checkpoints(Members[Child]):
    """Base of Module: `state_dict`, `load_state_dict` and their hooks."""

    # Of the layout of a Module's own state; a class that changes it raises this, and reads it in its local metadata.
    _version: int = 1

    _state_dict_hooks: OrderedDict[int, tuple[Callable[..., Any], bool]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, tuple[Callable[..., Any], bool]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    # -- what subclasses may define

    def get_extra_state(self) -> Any:
        """What else belongs into the `state_dict`; a class that defines this defines `set_extra_state` too."""
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state, which is called where a class defines it")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(
            f"a state_dict holds extra state for {type(self).__name__}, which does not define set_extra_state"
        )

    # -- saving

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers of this Module and those below by dotted name, over the same memory.

        Args:
            args: the other arguments by position, which is deprecated.
            destination: a mapping to put them into; a new one if left out.
            prefix: put before all names.
            keep_vars: whether the values keep their history; otherwise they are detached.
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            by_name: tuple[Any, ...] = (destination, prefix, keep_vars)
            destination, prefix, keep_vars = args + by_name[len(args) :]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # the version of each Module, by its dotted name
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for before in self._state_dict_pre_hooks.values():
            before(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for after, may_replace in self._state_dict_hooks.values():
            changed = after(self, destination, prefix, metadata)
            if changed is None:
                continue
            if not may_replace:
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the state of this Module alone into `destination`."""
        for name, tensor in self._own_state():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor | None]]:
        yield from self._parameters.items()
        for name, buffer in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _has_extra_state(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Checkpoints, method)

    # -- loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy parameters and buffers from what `state_dict` returned.

        Args:
            state_dict: Tensors by dotted name.
            strict: whether its keys must be exactly those of this Module's `state_dict`.
            assign: put the Tensors themselves into the Module, with their dtype, instead of copying their values.

        Returns:
            The keys that were missing and those that were not expected, as `missing_keys` and `unexpected_keys`.

        Raises:
            TypeError: `state_dict` is no mapping.
            RuntimeError: keys differ while `strict`, or shapes do; the message lists all of it.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata: Any = getattr(state_dict, "_metadata", None)
        copied: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            copied._metadata = metadata
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Checkpoints[Any], state: Mapping[str, Any], prefix: str) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local = {**local, "assign_to_params_buffers": True}
            # Whether differences are errors is decided at the end, so each Module has to report them.
            module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {key: value for key, value in state.items() if key.startswith(below)}, below)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, copied, "")
        if strict:
            kinds = (("Missing", missing), ("Unexpected", unexpected))
            errors = [f"{kind} key(s) in state_dict: {_quoted(keys)}. " for kind, keys in kinds if keys] + errors
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the state of this Module alone: the keys that begin with `prefix`. Findings go into the three lists."""
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            arguments = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            hook(self, *arguments) if with_module else hook(*arguments)
        state = {name: tensor for name, tensor in self._own_state() if tensor is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, key, tensor, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        takes_extra = self._has_extra_state("set_extra_state")
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes_extra and strict:
            missing_keys.append(extra)
        if strict:
            unexpected_keys += [
                key
                for key in state_dict
                if key.startswith(prefix) and not self._expects(key[len(prefix) :], state, takes_extra)
            ]

    def _expects(self, key: str, state: Mapping[str, Tensor], takes_extra: bool) -> bool:
        """Whether a key belongs to this Module or to one below; those below judge the rest of it."""
        name, dot, _ = key.partition(".")
        if dot:
            return name in self._modules
        return takes_extra if name == EXTRA_STATE else name in state

    def _load_tensor(self, name: str, key: str, own: Tensor, loaded: Any, assign: bool) -> str | None:
        """Copy or assign one Tensor. Returns what is wrong with it."""
        if not isinstance(loaded, Tensor):
            return (
                f'While copying the parameter named "{key}", expected Tensor or Tensor-like object from checkpoint but '
                f"received {type(loaded)}"
            )
        if is_lazy(own):
            if is_lazy(loaded):
                return None  # neither has values
        elif own.dim() == 0 and loaded.shape == (1,):
            loaded = loaded[0]
        if not is_lazy(own) and loaded.shape != own.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, the shape in "
                f"current model is {own.shape}."
            )
        try:
            with no_grad():
                if assign:
                    self._assign(name, own, loaded)
                else:
                    own.copy_(loaded)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {own.shape} and whose '
                f"dimensions in the checkpoint are {loaded.shape}, an exception occurred : {error.args}."
            )
        return None

    def _assign(self, name: str, own: Tensor, loaded: Tensor) -> None:
        if isinstance(own, Parameter):
            if isinstance(loaded, Parameter):
                loaded.requires_grad_(own.requires_grad)
            else:
                loaded = Parameter(loaded, requires_grad=own.requires_grad)
        setattr(self, name, loaded)

    # -- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> HookHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects this Module's state."""
        return HookHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` collected this Module's state."""
        return HookHandle(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """The same for a hook that may return another dictionary."""
        return HookHandle(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)` before loading.

        The hook sees this Module's part of the dictionary, and may change it.
        """
        return HookHandle(self._load_state_dict_pre_hooks, (hook, True))

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., None], with_module: bool = False) -> HookHandle:
        """The same, for a hook that gets the Module only if asked for."""
        return HookHandle(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> HookHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists of keys in place."""
        return HookHandle(self._load_state_dict_post_hooks, hook)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
