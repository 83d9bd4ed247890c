"""Checkpointing by operators: what some of them give is kept, and only the others compute again.

Two dispatch modes share a table. The one of the first run numbers the calls of each operator, asks the policy about
each and keeps what is to be kept. The one of the second run meets the same calls in the same order, gives what was
kept, and lets the rest compute.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from gradwright.utils._python_dispatch import TorchDispatchMode
from gradwright.utils._pytree import tree_leaves, tree_map
from runtime.base.tensor import Tensor
from runtime.call.overloads import OpOverload, OpOverloadPacket


class CheckpointPolicy(enum.Enum):
    """What becomes of the result of an operator in a checkpointed function.

    It is kept until the backward (`SAVE`), or dropped and computed again (`RECOMPUTE`). There is no compiler that could
    overrule a policy, so `MUST` and `PREFER` are the same; and there is no memory to move results to, so what
    `CPU_OFFLOAD` is said of computes again, as in PyTorch without a compiler.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told of a call beside the operator and its arguments.

    Args:
        is_recompute: False; policies are asked in the first run only.
        op_output: the result.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., CheckpointPolicy | bool]
Key = tuple[OpOverload, int]  # an operator, and which of its calls it is

# Operators whose calls are let pass: nobody asks a policy about them, and they are not counted. A program may add some.
SAC_IGNORED_OPS: set[OpOverload] = set()

_SAVED = frozenset((CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE))
_MISMATCH = (
    "The function did not call the same operators when it was run again: it may be nondeterministic, or depend on "
    "something that has changed since the forward."
)


class _Kept:
    """A part of a result, and the count of writes to it."""

    __slots__ = ("value", "version")

    def __init__(self, value: Any, written: bool) -> None:
        """Keep a value; `written` says that the call itself was the write that it is not to have."""
        self.value = value.detach() if isinstance(value, Tensor) else value
        self.version = value._version - written if isinstance(value, Tensor) else None

    def get(self, allow_mutation: bool) -> Any:
        """The value.

        Raises:
            RuntimeError: it was written.
        """
        if self.version is not None and not allow_mutation and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


class _Again:
    """Stands for the result of a call that computes again."""


class _Given:
    """Stands for a result that was kept and has been given."""


_Entry = Any  # a result made of _Kept, or one of these classes


class _FirstRun(TorchDispatchMode):
    def __init__(self, policy: Policy, entries: dict[Key, _Entry]) -> None:
        self.policy = policy
        self.entries = entries
        self.calls: Counter[OpOverload] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        key = func, self.calls[func]
        self.calls[func] += 1
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        if policy is True or policy in _SAVED:
            arguments = {id(value) for value in tree_leaves((args, kwargs))}
            self.entries[key] = tree_map(lambda value: _Kept(value, id(value) in arguments), out)
        else:
            self.entries[key] = _Again
        return out


class _SecondRun(TorchDispatchMode):
    def __init__(self, entries: dict[Key, _Entry], allow_mutation: bool) -> None:
        self.entries = entries
        self.allow_mutation = allow_mutation
        self.calls: Counter[OpOverload] = Counter()

    def __enter__(self) -> Self:
        self.calls.clear()
        return super().__enter__()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs or {})
        key = func, self.calls[func]
        self.calls[func] += 1
        entry = self.entries.get(key)
        if entry is None:
            raise RuntimeError(f"call {key[1]} of {func} was met in backward and not in forward. {_MISMATCH}")
        if entry is _Given:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _Again:
            return func(*args, **kwargs or {})
        self.entries[key] = _Given
        return tree_map(lambda kept: kept.get(self.allow_mutation), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Two contexts for `context_fn` of `checkpoint`, which keep the results of some operators.

    Args:
        policy_fn_or_list: a function of a SelectiveCheckpointContext, an overload and its arguments, which gives a
            CheckpointPolicy; or a list of the overloads whose results are kept.
        allow_cache_entry_mutation: whether results that are kept may be written.

    Raises:
        ValueError: something in the list is no overload.
        TypeError: it is neither a list nor a function.
    """
    if isinstance(policy_fn_or_list, list):
        policy = _keeping(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    entries: dict[Key, _Entry] = {}
    return _FirstRun(policy, entries), _SecondRun(entries, allow_cache_entry_mutation)


def _keeping(overloads: list[OpOverload]) -> Policy:
    """The policy that keeps the results of some operators."""
    for item in overloads:
        if not isinstance(item, OpOverload):
            hint = f". Name one of its overloads, as in {item}.default" if isinstance(item, OpOverloadPacket) else ""
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {item} of {type(item)}{hint}")

    def policy(context: SelectiveCheckpointContext, func: OpOverload, *args: Any, **kwargs: Any) -> bool:
        return func in overloads

    return policy
