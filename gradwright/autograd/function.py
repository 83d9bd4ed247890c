"""Function: operators that users write in Python, with a backward of their own.

A Function class is never made an object of. `apply` makes a Node of a class that belongs to it; that Node is the `ctx`
which `forward` and `backward` see, and the `grad_fn` of the outputs.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gradwright.autograd.function_node import FunctionCtx, FunctionNode
from gradwright.autograd.function_outputs import Outputs
from gradwright.autograd.function_tangents import propagate_tangents
from runtime.base.modes import grad_mode, tell_recorded
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.graph.grad_mode import no_grad
from runtime.graph.linear import edge_of
from runtime.graph.node import Edge, Node
from runtime.graph.saved import save

__all__ = ["Function", "FunctionCtx", "FunctionNode", "InplaceFunction", "once_differentiable"]

_TWO_WAYS = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _FunctionType(type):
    """Gives each Function class its class of Nodes."""

    _backward_cls: type[FunctionNode]

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        node: Any = type(f"{name}Backward", (FunctionNode,), {"_forward_cls": cls, "__module__": cls.__module__})
        cls._backward_cls = node


class Function(metaclass=_FunctionType):
    """An operator with a backward of its own: subclass it, define static methods, and call `apply`.

    `forward(ctx, *args)` computes the outputs with grad mode off; or `forward(*args)` computes them and
    `setup_context(ctx, inputs, output)` keeps what backward needs. `backward(ctx, *grad_outputs)` (or `vjp`) gives
    one gradient, or None, for each argument. `jvp(ctx, *grad_inputs)` gives the tangents of the outputs.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the arguments, the first of which is `ctx` unless there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep on `ctx` what backward needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    # The other name of `backward`.
    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The outputs for a batch, and where their batch dimensions are.

        Args:
            info: has `batch_size` and `randomness`.
            in_dims: for each argument its batch dimension, or None.
            args: the arguments, whole batches.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _backward_method(cls) -> Callable[..., Any]:
        """The method that computes gradients, under whichever of its two names.

        Raises:
            RuntimeError: the class has both.
        """
        own_backward = cls.backward is not Function.backward
        own_vjp = cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError(_TWO_WAYS)
        return cls.vjp if own_vjp else cls.backward

    @classmethod
    def forward_with(cls, ctx: Any, args: tuple[Any, ...]) -> Any:
        """The outputs, with what backward needs kept on `ctx`, by `setup_context` or by `forward` itself."""
        if not cls._has_setup_context():
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function, recording it where one of the arguments requires grad.

        Raises:
            TypeError: an argument by name is none of those that `forward` takes by position.
            RuntimeError: a leaf was written, or an output of `mark_dirty` was not returned.
        """
        args = _by_position(cls, args, kwargs)
        for value in args:
            batched = _batched_tensor(value)
            if batched is not None:
                from gradwright.autograd.function_batches import apply_batched

                return apply_batched(cls, args)
        node = cls._backward_cls(args)
        recording = grad_mode.enabled and any(node.needs_input_grad)
        enabled, grad_mode.enabled = grad_mode.enabled, False
        try:
            with forward.suspended():  # tangents are the business of `jvp`
                output = cls.forward_with(node, args)
        finally:
            grad_mode.enabled = enabled
        outputs = output if isinstance(output, tuple) else (output,)
        wrapped = Outputs(node, args, outputs, recording).wrap()
        if recording:
            node._saved = [save(node, "saved tensor", tensor) for tensor in node._to_save]
            tell_recorded(node)
        if forward.active():
            propagate_tangents(node, args, wrapped)
        node._to_save = () if recording else node._to_save
        return tuple(wrapped) if isinstance(output, tuple) else wrapped[0]


class InplaceFunction(Function):
    """A Function with a place for a flag `inplace`; kept for code that is written for it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _by_position(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments in the order in which `forward` takes them: each needs a place, for its gradient to have one."""
    if function._has_setup_context():
        bound = inspect.signature(function.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        _refuse_names([name for name in kwargs if name in bound.kwargs])
        return bound.args
    if not kwargs:
        return args
    parameters = list(inspect.signature(function.forward).parameters.values())[1:]
    places = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    _refuse_names([name for name in kwargs if name not in places])
    values, left = list(args), dict(kwargs)
    for position, name in enumerate(places):
        if position < len(args):
            if name in left:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        elif not left:
            break
        elif name in left:
            values.append(left.pop(name))
        else:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return tuple(values)


def _batched_tensor(value: Any) -> Any:
    """The first BatchedTensor of vmap in a tree of collections; None if there is none."""
    if isinstance(value, Tensor):
        return value if value._batched else None
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        value = value.values()
    elif not (kind is list or kind is tuple or hasattr(kind, "_fields")):
        return None
    return next((batched for batched in map(_batched_tensor, value) if batched is not None), None)


def _refuse_names(names: Sequence[str]) -> None:
    for name in names:
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")


class Error(Node):
    """The history of gradients that must not be differentiated again."""

    __slots__ = ()

    def apply(self, grad: Tensor) -> NoReturn:
        """Raise."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not made of differentiable operators: its results refuse a second derivative."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not grad_mode.enabled or not any(isinstance(g, Tensor) and g._edge is not None for g in grads):
            return results
        inputs = tuple([edge_of(g) for g in grads if isinstance(g, Tensor)])
        listed = results if isinstance(results, tuple) else (results,)
        refusing = tuple([_refusing(result, inputs) if isinstance(result, Tensor) else result for result in listed])
        return refusing if isinstance(results, tuple) else refusing[0]

    return wrapper


def _refusing(result: Tensor, inputs: tuple[Edge, ...]) -> Tensor:
    out = wrap(result._array)
    out._edge = Error(inputs, result._array.shape, result._array.dtype)
    return out
