"""Module: a part of a network, with its parameters, its buffers and the Modules it is made of.

What a Module holds and what can be done with that is in its base classes. Here are the modes and the call.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, Self

from gradwright.nn.checkpoint import Checkpoints
from gradwright.nn.conversion import Conversions
from gradwright.nn.hooks import HookHandle, Passage
from gradwright.nn.members import KINDS
from gradwright.nn.tree import ModuleTree
from runtime.base.tensor import Tensor


class Module(ModuleTree["Module"], Checkpoints["Module"], Conversions["Module"]):
    """Base class of everything that networks are made of.

    A subclass calls `super().__init__()`, assigns parameters, buffers and other Modules to attributes, and defines
    `forward`; the Module is then called like a function.
    """

    # Whether `__init__` passes arguments on to the next class, for Modules among several base classes.
    call_super_init: ClassVar[bool] = False

    training: bool
    _forward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    # By the numbers of hooks: those that are called with keyword arguments, and also when something raises.
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            problem = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {problem}")
        state = self.__dict__  # past `__setattr__`, which would look for members
        state["training"] = True
        for kind in KINDS:
            state[kind] = {}
        state["_non_persistent_buffers_set"] = set()
        for hooks in (
            "_forward_hooks",
            "_forward_pre_hooks",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_forward_pre_hooks_with_kwargs",
            "_backward_hooks",
            "_backward_pre_hooks",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ):
            state[hooks] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- modes

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and in all Modules below; layers such as Dropout act by it.

        Raises:
            ValueError: `mode` is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are computed for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # -- calls

    def _missing_forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the Module computes; every subclass that is called defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # An attribute for type checkers, so that subclasses may define it with the arguments they like.
    forward: Callable[..., Any] = _missing_forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        passage = (
            Passage(self, self._backward_hooks, self._backward_pre_hooks)
            if self._backward_hooks or self._backward_pre_hooks
            else None
        )
        begun: set[int] = set()  # forward hooks that were called
        result = None
        try:
            for number, hook in list(self._forward_pre_hooks.items()):
                args, kwargs = self._before_forward(number, hook, args, kwargs)
            if passage is not None:
                args = passage.enter(args)
            result = self.forward(*args, **kwargs)
            for number, hook in list(self._forward_hooks.items()):
                begun.add(number)
                result = self._after_forward(number, hook, args, kwargs, result)
            if passage is not None:
                result = passage.leave(result)
        except Exception:
            for number, hook in list(self._forward_hooks.items()):
                if number in self._forward_hooks_always_called and number not in begun:
                    result = self._after_failure(number, hook, args, kwargs, result)
            raise
        return result

    def _before_forward(
        self, number: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as a hook leaves them."""
        if number not in self._forward_pre_hooks_with_kwargs:
            changed = hook(self, args)
            if changed is None:
                return args, kwargs
            return changed if isinstance(changed, tuple) else (changed,), kwargs
        changed = hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        return changed

    def _after_forward(
        self, number: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """The result as a hook leaves it."""
        arguments = (args, kwargs, result) if number in self._forward_hooks_with_kwargs else (args, result)
        changed = hook(self, *arguments)
        return result if changed is None else changed

    def _after_failure(
        self, number: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        try:
            return self._after_forward(number, hook, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another error "
                f"was raised in forward: {error}",
                stacklevel=5,
            )
            return result

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the positional arguments.

        Args:
            hook: the function.
            prepend: whether it comes before the hooks that are there.
            with_kwargs: call `hook(module, args, kwargs)`, which returns both or None.
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return HookHandle(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(module, args, result)` after `forward`; what it returns replaces the result.

        Args:
            hook: the function.
            prepend: whether it comes before the hooks that are there.
            with_kwargs: call `hook(module, args, kwargs, result)`.
            always_call: call it also when `forward` raises; errors of its own are warnings then.
        """
        wanted = ((with_kwargs, self._forward_hooks_with_kwargs), (always_call, self._forward_hooks_always_called))
        return HookHandle(self._forward_hooks, hook, prepend, [marks for wants, marks in wanted if wants])

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the positional arguments are known.

        What it returns replaces `grad_input`, in which arguments that are no Tensors stand as None.
        """
        return HookHandle(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_output)` when the gradients of the results are known; it may return others."""
        return HookHandle(self._backward_pre_hooks, hook, prepend)

    # -- text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in brackets behind the class name in `repr`, in one or more lines."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(child))}" for name, child in self._modules.items()]
        return bracketed(self._get_name(), lines, children)


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Drop the gradient of a leaf, or fill it with zeros that have no history."""
    grad = tensor.grad
    if grad is None:
        return
    if set_to_none:
        tensor.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def indented(text: str) -> str:
    """`text` with its lines after the first moved in by one step."""
    return text.replace("\n", "\n  ")


def bracketed(name: str, lines: list[str], children: list[str]) -> str:
    """The `repr` of a Module from that of its parts: in one line if there is but one, and that describes itself."""
    if not children and len(lines) <= 1:
        return f"{name}({''.join(lines)})"
    return "\n  ".join([f"{name}(", *lines, *children]) + "\n)"
