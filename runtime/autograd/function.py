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

import numpy as np

from runtime.autograd.grad_mode import no_grad
from runtime.base.modes import grad_mode, tell_recorded
from runtime.base.sharing import lowest
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward, views
from runtime.graph.linear import edge_of
from runtime.graph.node import LEAF, Edge, Node, OutputEdge
from runtime.graph.saved import SavedTensor, freed_error, save
from runtime.native import core

_TWO_WAYS = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NOT_IN_PLACE = "An inplace custom Function is not {what}. If the forward is modifying an input inplace, then the jvp "
_NOT_WRITTEN = (
    _NOT_IN_PLACE.format(what="modifying the forward mode gradients inplace")
    + "function must modify the corresponding gradient inplace."
)
_NOT_RETURNED = (
    _NOT_IN_PLACE.format(what="returning the forward mode gradients as-is")
    + "function must modify the gradient inplace and return it as-is."
)


class FunctionCtx:
    """What `forward`, `setup_context`, `backward` and `jvp` can do with their `ctx`."""

    __slots__ = ()

    materialize_grads: bool
    _to_save: Sequence[Tensor | None]
    _saved_for_forward: Sequence[Tensor | None] | None
    _dirty: Sequence[Tensor]
    _non_differentiable: Sequence[Tensor]

    def save_for_backward(self: Any, *tensors: Tensor | None) -> None:
        """Keep inputs and outputs for `backward`, which finds them in `ctx.saved_tensors`.

        Raises:
            TypeError: an argument is no Tensor; keep other values as attributes of `ctx`.
        """
        _check_tensors("save_for_backward can only save variables", tensors)
        self._to_save = tensors

    def save_for_forward(self: Any, *tensors: Tensor | None) -> None:
        """Keep Tensors for `jvp`, which finds them in `ctx.saved_tensors`."""
        _check_tensors("save_for_forward can only save variables", tensors)
        self._saved_for_forward = tensors

    def mark_dirty(self: Any, *tensors: Tensor) -> None:
        """Say which inputs `forward` wrote in place; each must also be returned."""
        _check_tensors("mark_dirty can only accept variables", tensors, RuntimeError)
        self._dirty = tensors

    def mark_non_differentiable(self: Any, *tensors: Tensor) -> None:
        """Say which outputs have no gradient; outputs of integer type have none anyway."""
        _check_tensors("mark_non_differentiable can only accept variables", tensors, RuntimeError)
        self._non_differentiable = tensors

    def set_materialize_grads(self: Any, value: bool) -> None:
        """Whether `backward` and `jvp` see zeros (the default) or None where there is no gradient."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self: Any) -> tuple[Tensor | None, ...]:
        """What was saved for the running method.

        Raises:
            RuntimeError: it was freed by an earlier backward, or a Tensor was written since.
        """
        if self._saved_for_forward is not None and self._in_jvp:
            return tuple(self._saved_for_forward)
        if self._freed:
            raise freed_error(self)
        if self._saved is None:
            return tuple(self._to_save)
        return tuple([saved.unpack(self) for saved in self._saved])

    @property
    def _raw_saved_tensors(self: Any) -> tuple[SavedTensor, ...]:
        if self._freed:
            raise freed_error(self)
        return tuple(self._saved or ())


def _check_tensors(refusal: str, tensors: Sequence[Any], error: type[Exception] = TypeError) -> None:
    for position, tensor in enumerate(tensors):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise error(f"{refusal}, but argument {position} is of type {type(tensor).__name__}")


class FunctionNode(FunctionCtx, Node):
    """The Node of a call of a Function, and its `ctx`; users may set attributes of their own."""

    num_outputs = None  # as many as `forward` gave, also those that are no Tensors
    _forward_cls: type[Function]

    def __init__(self, inputs: Sequence[Any]) -> None:
        self._is_tensor = [isinstance(value, Tensor) for value in inputs]
        self.needs_input_grad = tuple([isinstance(value, Tensor) and value._edge is not None for value in inputs])
        edges: list[Edge] = [edge_of(value) for value in inputs if isinstance(value, Tensor)]
        super().__init__(tuple(edges), (), ())
        self._to_save = ()
        self._saved: list[SavedTensor] | None = None
        self._freed = False
        self._saved_for_forward = None
        self._in_jvp = False
        self._dirty = ()
        self._non_differentiable = ()
        self.materialize_grads = True
        if core is not None:
            core.expect_cycles()  # users may keep what is made of the outputs

    def apply(self, grad: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """The gradients of the Tensors among the inputs, by the user's `backward`."""
        given = grad
        if self.materialize_grads:
            given = tuple(
                [
                    wrap(np.zeros(shape, dtype)) if one is None and shape is not None else one
                    for one, shape, dtype in zip(grad, self.shape, self.dtype, strict=True)
                ]
            )
        results = backward_of(self._forward_cls)(self, *given)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        expected = len(self._is_tensor)
        if len(results) > expected and all(result is None for result in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self._name} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        found: list[Tensor | None] = []
        for position, (is_tensor, result) in enumerate(zip(self._is_tensor, results, strict=True), 1):
            if is_tensor:
                if result is not None and not isinstance(result, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
                found.append(result)
            elif result is not None:
                raise RuntimeError(
                    f"function {self._name} returned a gradient different than None at position {position}, but the "
                    "corresponding forward input was not a Variable"
                )
        return tuple(found)

    def release(self) -> None:
        """Drop what was saved; a `backward` that does not ask for it can be run again."""
        self._freed = True
        for saved in self._saved or ():
            saved.free()


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
    `setup_context(ctx, inputs, output)` keeps what the way back needs. `backward(ctx, *grad_outputs)` (or `vjp`) gives
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
        """Keep on `ctx` what the way back needs."""
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
    def forward_with(cls, ctx: Any, args: tuple[Any, ...]) -> Any:
        """The outputs, with what the way back needs kept on `ctx`, in whichever way the class says it."""
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
                return batched.level.apply_function(cls, args)
        node = cls._backward_cls(args)
        recording = grad_mode.enabled and any(node.needs_input_grad)
        enabled, grad_mode.enabled = grad_mode.enabled, False
        try:
            with forward.suspended():  # tangents are the business of `jvp`
                output = cls.forward_with(node, args)
        finally:
            grad_mode.enabled = enabled
        outputs = output if isinstance(output, tuple) else (output,)
        wrapped = _Outputs(node, args, outputs, recording).wrap()
        if recording:
            node._saved = [save(node, "saved tensor", tensor) for tensor in node._to_save]
            tell_recorded(node)
        if forward.active():
            _propagate_tangents(cls, node, args, wrapped)
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
    found, left = list(args), dict(kwargs)
    for position, name in enumerate(places):
        if position < len(args):
            if name in left:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        elif not left:
            break
        elif name in left:
            found.append(left.pop(name))
        else:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return tuple(found)


def _batched_tensor(value: Any) -> Any:
    """The first BatchedTensor of vmap in a tree of collections; None if there is none."""
    if isinstance(value, Tensor):
        return value if value._opaque else None
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        value = value.values()
    elif not (kind is list or kind is tuple or hasattr(kind, "_fields")):
        return None
    return next((batched for batched in map(_batched_tensor, value) if batched is not None), None)


def _refuse_names(names: Sequence[str]) -> None:
    for name in names:
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")


def backward_of(function: type[Function]) -> Callable[..., Any]:
    """The method that computes gradients, under whichever of its two names.

    Raises:
        RuntimeError: the class has both.
    """
    own_backward = function.backward is not Function.backward
    own_vjp = function.vjp is not Function.vjp
    if own_backward and own_vjp:
        raise RuntimeError(_TWO_WAYS)
    return function.vjp if own_vjp else function.backward


class _Outputs:
    """Gives what `forward` returned its history."""

    def __init__(self, node: FunctionNode, inputs: Sequence[Any], outputs: Sequence[Any], recording: bool) -> None:
        self.node = node
        self.outputs = outputs
        self.recording = recording
        self.inputs = {id(value) for value in inputs if isinstance(value, Tensor)}
        self.dirty = {id(tensor) for tensor in node._dirty}
        self.constant = {id(tensor) for tensor in node._non_differentiable}

    def wrap(self) -> list[Any]:
        self._check_dirty()
        wrapped = [
            self._with_history(output, number) if isinstance(output, Tensor) else output
            for number, output in enumerate(self.outputs)
        ]
        self.node.shape = tuple([out._array.shape if isinstance(out, Tensor) else None for out in wrapped])
        self.node.dtype = tuple([out._array.dtype if isinstance(out, Tensor) else None for out in wrapped])
        return wrapped

    def _check_dirty(self) -> None:
        returned = {id(output) for output in self.outputs}
        if not self.dirty <= returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        for tensor in self.node._dirty:
            if id(tensor) not in self.inputs:
                warnings.warn(
                    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no "
                    "need to pass it to mark_dirty().",
                    stacklevel=4,
                )
            views.bump_version(tensor)
            if tensor._base is not None and len(self.outputs) > 1 and self.recording:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                    "return more than one Tensor. This is not supported by the current autograd engine. You should "
                    "either make sure the input is not a view (using .clone() for example) or make your Function only "
                    "return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
                    "returns a single Tensor and a second one that does the other operations)."
                )

    def _with_history(self, out: Tensor, number: int) -> Tensor:
        is_input, is_dirty = id(out) in self.inputs, id(out) in self.dirty
        if is_dirty and is_input and out._edge is not LEAF:
            views.check_inplace(out, needs_grad=self.recording)
        differentiable = self.recording and id(out) not in self.constant and out._array.dtype.kind not in "biu"
        if is_input and not is_dirty:
            # The caller's Tensor keeps its own history; the output is a view of it.
            with no_grad():
                out = views.view_of(out._array, out)
            out.extra.view = "function"
        if not differentiable:
            if is_dirty and self.recording:
                out.detach_()
            return out
        edge = self.node if number == 0 else OutputEdge(self.node, number)
        if is_dirty and is_input:
            if out._edge is LEAF:
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if out._base is not None:
                self.node.shape, self.node.dtype = (out._array.shape,), (out._array.dtype,)
                views.rebase_history(out, self.node)
                return out
            views.replace_history(out, edge)
            return out
        if out._base is not None:
            out.extra.view = "function"
        out._edge = edge
        return out


def _propagate_tangents(
    function: type[Function], node: FunctionNode, inputs: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """The tangents of the outputs by the user's `jvp`."""
    written = {id(tensor) for tensor in node._dirty}
    constant = {id(tensor) for tensor in node._non_differentiable}

    def jvp(carried: list[Tensor | None]) -> Sequence[Tensor | None]:
        versions = [_version(tangent) for tangent in carried]
        given = carried
        if node.materialize_grads:
            given = [
                wrap(np.zeros_like(value._array))
                if tangent is None and isinstance(value, Tensor) and value._array.dtype.kind in "fcV"
                else tangent
                for value, tangent in zip(inputs, carried, strict=True)
            ]
        node._in_jvp = True
        try:
            results = function.jvp(node, *given)
        finally:
            node._in_jvp = False
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(results)}): {function.__name__}"
            )
        for number, (out, tangent) in enumerate(zip(outputs, results, strict=True)):
            _check_tangent(number, out, tangent, id(out) in constant)
            if id(out) in written:
                _check_written(out, tangent, inputs, carried, versions)
            elif isinstance(out, Tensor) and out._base is not None and id(out) not in constant:
                _check_view(out, tangent, inputs, carried)
        return results

    forward.apply_function(inputs, outputs, jvp, written)
    node._saved_for_forward = None


def _version(tangent: Tensor | None) -> int | None:
    return None if tangent is None or tangent.is_inference() else tangent._version


def _check_tangent(number: int, out: Any, tangent: Any, constant: bool) -> None:
    """Refuse what is no tangent of an output."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}.")
    if tangent is None or not isinstance(out, Tensor):
        return
    if constant or out._array.dtype.kind in "biu":
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {number}, but the corresponding forward output is not a "
            "differentiable Tensor. You should return None at that position instead."
        )
    if tangent._array.dtype.kind in "biu":
        raise RuntimeError("Expected both tensor and its forward grad to be floating point or complex")
    forward.check_size(out, tangent)


def _check_written(
    out: Tensor,
    tangent: Tensor | None,
    inputs: Sequence[Any],
    carried: Sequence[Tensor | None],
    versions: Sequence[int | None],
) -> None:
    """Refuse a tangent of a written input that is not the input's own, written too."""
    for value, own, version in zip(inputs, carried, versions, strict=True):
        if value is out and own is not None:
            if version is not None and own._version == version:
                raise RuntimeError(_NOT_WRITTEN)
            if tangent is not own:
                raise RuntimeError(_NOT_RETURNED)


def _check_view(out: Tensor, tangent: Tensor | None, inputs: Sequence[Any], carried: Sequence[Tensor | None]) -> None:
    """Refuse a tangent of a view of an input that is no view of the input's tangent, or lies elsewhere in it."""
    pairs = [
        (value, own)
        for value, own in zip(inputs, carried, strict=True)
        if own is not None and isinstance(value, Tensor) and _root(value) is out._base
    ]
    if not pairs:
        return
    if tangent is None or lowest(tangent)._base is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    pairs = [(value, own) for value, own in pairs if _root(tangent) is _root(own)]
    if not pairs:
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
        )
    if not any(forward.lies_alike(out, value, tangent, own) for value, own in pairs):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is returning a view of another part of the given grad "
            "input."
        )


def _root(tensor: Tensor) -> Tensor:
    """What a Tensor is a view of, or itself; of a batch what the batch is a view of."""
    tensor = lowest(tensor)
    return tensor if tensor._base is None else tensor._base


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
