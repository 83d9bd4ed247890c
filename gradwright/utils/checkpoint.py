"""Activation checkpointing: what a function saves for backward is dropped and computed again when it is needed.

There are two ways. The re-entrant one runs the function without recording and runs a backward of its own inside of the
backward. The other one, recommended, records as always but keeps an empty holder in place of each saved Tensor; the
first holder that is asked for its Tensor runs the function again and fills all of them.

Source of the idea: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from gradwright.amp import autocast
from gradwright.amp.state import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from gradwright.autograd.function import Function
from gradwright.autograd.graph import saved_tensors_hooks
from gradwright.utils.device_states import DefaultDeviceType, get_device_states, set_device_states
from gradwright.utils.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from runtime import random
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.graph import engine
from runtime.graph.backward import backward
from runtime.graph.grad_mode import enable_grad, no_grad
from runtime.graph.saved import hook_stack

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


class _Settings(ThreadState):
    early_stop: bool | None = None
    debug: bool | None = None
    group: GraphExecGroup | None = None


_settings = _Settings()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints made inside stop computing again as soon as the last needed Tensor is there."""
    before, _settings.early_stop = _settings.early_stop, enable
    try:
        yield
    finally:
        _settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints made inside list what was saved both times when that differs; None leaves it to them."""
    before, _settings.debug = _settings.debug, enabled
    try:
        yield
    finally:
        _settings.debug = before


class GraphExecGroup:
    """A `with` block around backwards that share what checkpoints compute: each runs its function once for all of them.

    They must not need the same saved Tensor.
    """

    def __enter__(self) -> Self:
        if _settings.group is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_settings.group}")
        _settings.group = self
        return self

    def __exit__(self, *error: object) -> None:
        _settings.group = None


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: for the first run and for the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same arguments with fresh leaves in place of the Tensors, requiring grad where those did.

    Raises:
        RuntimeError: `inputs` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        [value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value for value in inputs]
    )


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no Tensor among `inputs` requires grad."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function`, and compute it again in backward instead of keeping what it saves.

    The second run draws the same random numbers as the first, and casts as that did, whatever `autocast` says by then.

    Args:
        function: what to call; it must do the same both times.
        args: its arguments.
        use_reentrant: which of the two ways; pass it. The re-entrant way works with `backward()` into all leaves only,
            and needs an argument that requires grad.
        context_fn: gives two context managers, for the first run and for the second.
        determinism_check: "default" compares shapes and dtypes of what is saved both times, "none" does not.
        debug: list what was saved both times when that differs.
        early_stop: stop the second run once everything needed is there.
        preserve_rng_state: let the second run draw the same random numbers.
        kwargs: further arguments of `function`, for the way that is not re-entrant.

    Raises:
        ValueError: an option that the way does not have.
        RuntimeError: the first context suppressed an error of the function.
        CheckpointError: in backward, when the second run saved something else.
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; "
            "the default is still use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    debug = debug if _settings.debug is None else _settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    first, second = context_fn()
    if not grad_mode.enabled:
        return function(*args, **kwargs)
    frame = _Frame(
        function,
        args,
        kwargs,
        second,
        random.get_rng_state() if preserve_rng_state else None,
        compare=determinism_check == "default",
        early_stop=early_stop if _settings.early_stop is None else _settings.early_stop,
        debug=debug,
    )
    with saved_tensors_hooks(_FirstRun(frame), frame.unpack), first:
        out = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(
            "checkpoint: the first context of context_fn suppressed an error of the function, for which there is then "
            "no result"
        )
    return out


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions one after the other, in `segments` parts of which all but the last are checkpointed.

    Args:
        functions: a list of functions, or an `nn.Sequential`.
        segments: the number of parts.
        input: what the first function gets.
        use_reentrant: as for `checkpoint`.
        kwargs: `preserve_rng_state`.

    Raises:
        ValueError: an unknown keyword.
    """
    if use_reentrant is None:
        warnings.warn("checkpoint_sequential: the use_reentrant parameter should be passed explicitly.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def part(begin: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[begin:end]:
                value = step(value)
            return value

        return run

    for number in range(segments - 1):
        run = part(number * size, (number + 1) * size)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part((segments - 1) * size, len(steps))(input)


@contextlib.contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
    """Random numbers start from `state` inside, and go on outside as if nothing had been drawn; None: no change."""
    if state is None:
        yield
        return
    with random.fork_rng():
        random.set_rng_state(state)
        yield


def _casting() -> Callable[[], autocast]:
    """What makes blocks in which operators choose their precision as they do now."""
    return functools.partial(
        autocast,
        "cpu",
        dtype=get_autocast_dtype("cpu"),
        enabled=is_autocast_enabled("cpu"),
        cache_enabled=is_autocast_cache_enabled(),
    )


# -- the re-entrant way


class CheckpointFunction(Function):
    """Runs a function without recording, and again with recording when its gradient is wanted."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """The outputs of `run_function(*args)`."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = random.get_rng_state() if preserve_rng_state else None
        ctx.casting = _casting()
        # Tensors are saved as such; the rest keeps its place in a list with None for them.
        ctx.others = [None if isinstance(value, Tensor) else value for value in args]
        ctx.places = [place for place, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments, by a backward through a second run."""
        run = engine.current_run()
        if run is None or run.inputs is not None:
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor
        leaves = detach_variable(tuple(args))
        with _random_state(ctx.random_state), enable_grad(), ctx.casting():
            outputs = ctx.run_function(*leaves)
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        wanted = [
            (output, grad)
            for output, grad in zip(listed, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in wanted], [grad for _, grad in wanted])
        return (None, None, *[leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves])


# -- the way with holders


class _StopRecomputation(Exception):
    """Everything that was asked for is there."""


class _Holder:
    """Stands in the graph for a saved Tensor that was dropped."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class _Pack:
    """The hook that sees what one run of a checkpointed function saves."""


class _FirstRun(_Pack):
    def __init__(self, frame: _Frame) -> None:
        self.frame = frame

    def __call__(self, tensor: Tensor) -> _Holder:
        """A holder in place of the Tensor."""
        self.frame.expected.append(_described(tensor))
        return _Holder(len(self.frame.expected) - 1)


class _SecondRun(_Pack):
    def __init__(self, enough: int | None) -> None:
        self.recomputed: list[Tensor] = []
        self.enough = enough

    def __call__(self, tensor: Tensor) -> Tensor:
        """Keep the Tensor, and stop the run when there are enough."""
        detached = tensor.detach()
        self.recomputed.append(detached)
        if len(self.recomputed) == self.enough:
            raise _StopRecomputation
        return detached


Description = tuple[tuple[int, ...], Any]


class _Frame:
    """One call of `checkpoint`: how to run it again, and what the second run saved, for each backward on its own."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: contextlib.AbstractContextManager[Any],
        random_state: Tensor | None,
        compare: bool,
        early_stop: bool,
        debug: bool,
    ) -> None:
        self.function = function
        self.args = tuple([_keep(value) for value in args])
        self.kwargs = {name: _keep(value) for name, value in kwargs.items()}
        self.context = context
        self.random_state = random_state
        self.casting = _casting()
        self.compare = compare
        self.early_stop = early_stop
        self.debug = debug
        self.expected: list[Description] = []
        self.complete = False  # whether that is all: the function may differentiate something itself
        self.recomputed: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def unpack(self, holder: _Holder) -> Tensor:
        """The Tensor that the second run saved in this place; it runs when the first one is asked for."""
        run = _settings.group or engine.current_run()
        if run is None:
            return self._recompute()[holder.number]
        tensors = self.recomputed.get(run)
        if tensors is None:
            tensors = self.recomputed[run] = self._recompute()
        if holder.number not in tensors:
            raise CheckpointError(
                "checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once; backwards inside of one GraphExecGroup "
                "must not need the same one."
            )
        return tensors.pop(holder.number)

    def _recompute(self) -> dict[int, Tensor]:
        args = [value.tensor if isinstance(value, _Kept) else value for value in self.args]
        kwargs = {name: value.tensor if isinstance(value, _Kept) else value for name, value in self.kwargs.items()}
        run = _SecondRun(len(self.expected) if self.early_stop else None)
        hooks = saved_tensors_hooks(run, lambda tensor: tensor)
        stop = contextlib.suppress(_StopRecomputation)
        with stop, _random_state(self.random_state), enable_grad(), hooks, self.casting(), self.context:
            self.function(*args, **kwargs)
        tensors = run.recomputed if self.complete else run.recomputed[: len(self.expected)]
        self._check([_described(tensor) for tensor in tensors])
        return dict(enumerate(tensors))

    def _check(self, recomputed: list[Description]) -> None:
        if len(recomputed) != len(self.expected):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.expected)}\n"
                f"Number of tensors saved during recomputation: {len(recomputed)}.{self._listing(recomputed)}"
            )
        if not self.compare or recomputed == self.expected:
            return
        lines = "".join(
            f"\ntensor at position {place}:\nsaved metadata: {_shown(before)}\nrecomputed metadata: {_shown(after)}"
            for place, (before, after) in enumerate(zip(self.expected, recomputed, strict=True))
            if before != after
        )
        raise CheckpointError(
            "checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
            f"pass.{lines}{self._listing(recomputed)}"
        )

    def _listing(self, recomputed: list[Description]) -> str:
        if not self.debug:
            return "\nPass `debug=True` to see all of them."
        before, after = ("\n  ".join(map(_shown, descriptions)) for descriptions in (self.expected, recomputed))
        return f"\nSaved during forward:\n  {before}\nSaved during recomputation:\n  {after}"


def _described(tensor: Tensor) -> Description:
    return tuple(tensor.shape), tensor.dtype


def _shown(description: Description) -> str:
    return f"{{'shape': {list(description[0])}, 'dtype': {description[1]}}}"


class _Kept:
    """A Tensor argument of a checkpoint inside another one: that one may drop it, too."""

    def __init__(self, tensor: Tensor) -> None:
        self.original = weakref.ref(tensor)
        pack, self.unpack = hook_stack.pairs[-1]
        with no_grad():
            self.packed = pack(tensor)
        self.requires_grad = tensor.requires_grad

    @property
    def tensor(self) -> Tensor:
        """The Tensor again, or one with its contents."""
        tensor = self.original()
        if tensor is not None:
            return tensor
        with no_grad():
            return self.unpack(self.packed).detach().requires_grad_(self.requires_grad)


def _keep(value: Any) -> Any:
    inside = bool(hook_stack.pairs) and isinstance(hook_stack.pairs[-1][0], _Pack)
    return _Kept(value) if inside and isinstance(value, Tensor) else value
