"""Module: a part of a network, with its parameters, its buffers and the Modules it is made of.

Members are kept in dictionaries by kind, and attribute access finds them there. What a Module is able to do beside
holding members and being called is in its base classes.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, Self

from runtime.nn.checkpoint import Checkpoints
from runtime.nn.conversion import Conversions
from runtime.nn.hooks import ForwardHook, HookHandle, Passage
from runtime.nn.naming import typename
from runtime.nn.parameter import Buffer, Parameter
from runtime.nn.tree import ModuleTree
from runtime.tensor import Tensor

_KINDS = ("_parameters", "_buffers", "_modules")


class Module(ModuleTree, Checkpoints, Conversions):
    """Base class of everything that networks are made of.

    A subclass calls `super().__init__()`, assigns parameters, buffers and other Modules to attributes, and defines
    `forward`; the Module is then called like a function.
    """

    # Whether `__init__` passes arguments on to the next class, for Modules among several base classes.
    call_super_init: ClassVar[bool] = False

    training: bool
    _forward_hooks: OrderedDict[int, ForwardHook]
    _forward_pre_hooks: OrderedDict[int, ForwardHook]
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
        for kind in _KINDS:
            state[kind] = {}
        state["_non_persistent_buffers_set"] = set()
        for hooks in (
            "_forward_hooks",
            "_forward_pre_hooks",
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

    # -- members

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None to reserve the name.

        Raises:
            TypeError: `param` is no Parameter, or the name no string.
            KeyError: the name can not be used.
            ValueError: `param` was computed from other Tensors.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_new("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(runtime.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a Tensor that is no parameter but belongs to the state, or None to reserve the name.

        Args:
            name: its attribute.
            tensor: what to keep.
            persistent: whether it is part of the `state_dict`.

        Raises:
            TypeError: `tensor` is no Tensor, or the name no string.
            KeyError: the name can not be used.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_new("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a Module below this one, or None to reserve the name.

        Raises:
            TypeError: `module` is no Module, or the name no string.
            KeyError: the name can not be used.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_new("module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        # Called where the ordinary lookup found nothing. Before `__init__` there are no dictionaries either.
        state = self.__dict__
        if "_modules" in state:
            members = state["_parameters"]
            if name in members:
                return members[name]
            members = state["_modules"]
            if name in members:
                return members[name]
            members = state["_buffers"]
            if name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._check_replaced(name, value, "_parameters")
            self._forget(name, "_modules")
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self._check_replaced(name, value, "_parameters", "_modules")
            if "_buffers" in state:
                self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_buffers", ()) and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        else:
            if value is not None:
                self._check_replaced(name, value, *_KINDS)
            for kind in _KINDS:
                if name in state.get(kind, ()):
                    state[kind][name] = None
                    return
            object.__setattr__(self, name, value)

    def _check_replaced(self, name: str, value: object, *kinds: str) -> None:
        """Refuse to put something else in the place of a member of one of these kinds."""
        for kind in kinds:
            if name in self.__dict__.get(kind, ()):
                what, allowed = _REPLACEMENTS[kind]
                raise TypeError(f"cannot assign '{typename(value)}' as {what} '{name}' ({allowed} or None expected)")

    def _forget(self, name: str, but: str) -> None:
        """Drop what the name stood for, unless it is a member of the kind `but`."""
        state = self.__dict__
        state.pop(name, None)
        for kind in _KINDS:
            if kind != but:
                state[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

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
        passage = Passage(self) if self._backward_hooks or self._backward_pre_hooks else None
        begun: set[int] = set()  # forward hooks that were called
        result = None
        try:
            for pre_hook in list(self._forward_pre_hooks.values()):
                args, kwargs = self._before_forward(pre_hook, args, kwargs)
            if passage is not None:
                args = passage.enter(args)
            result = self.forward(*args, **kwargs)
            for number, hook in list(self._forward_hooks.items()):
                begun.add(number)
                result = self._after_forward(hook, args, kwargs, result)
            if passage is not None:
                result = passage.leave(result)
        except Exception:
            for number, hook in list(self._forward_hooks.items()):
                if hook.always_call and number not in begun:
                    result = self._after_failure(hook, args, kwargs, result)
            raise
        return result

    def _before_forward(
        self, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as a hook leaves them."""
        if not hook.with_kwargs:
            changed = hook.function(self, args)
            if changed is None:
                return args, kwargs
            return changed if isinstance(changed, tuple) else (changed,), kwargs
        changed = hook.function(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        return changed

    def _after_forward(self, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """The result as a hook leaves it."""
        given = (args, kwargs, result) if hook.with_kwargs else (args, result)
        changed = hook.function(self, *given)
        return result if changed is None else changed

    def _after_failure(self, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        try:
            return self._after_forward(hook, args, kwargs, result)
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
        return HookHandle(self._forward_pre_hooks, ForwardHook(hook, with_kwargs), prepend)

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
        return HookHandle(self._forward_hooks, ForwardHook(hook, with_kwargs, always_call), prepend)

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


# What a member is called, and what may take its place, in messages.
_REPLACEMENTS = {
    "_parameters": ("parameter", "runtime.nn.Parameter"),
    "_modules": ("child module", "runtime.nn.Module"),
    "_buffers": ("buffer", "runtime.nn.Buffer, runtime.Tensor"),
}


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
