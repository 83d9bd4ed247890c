"""The general path of a call, for built-in and registered kernels: choose, compute, record, carry tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.dispatch_keys import COMPOSITE_IMPLICIT, ZERO
from runtime.base import class_dispatch
from runtime.base.modes import Variant, grad_mode, process_handlers, tell_recorded, thread_handlers, unrecorded
from runtime.base.overriding import ask_types, overriding_types, watch
from runtime.base.tensor import Tensor, wrap
from runtime.call import kernel_table, other_dtypes, wrapper_views
from runtime.call.device_kernels import DeviceKernel
from runtime.call.facts import any_has_history, tensors_at
from runtime.call.inference import untrack
from runtime.call.kernel_stacks import Kernel
from runtime.call.kernel_table import ArrayKernel, backend_of
from runtime.call.meta_kernels import MetaKernel
from runtime.call.placing import placed
from runtime.call.public import as_called, as_dispatched, named
from runtime.call.results import as_results
from runtime.graph import forward, jvp, views, zero_tensors
from runtime.graph.linear import edge_of
from runtime.graph.node import Node, next_sequence_nr

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def call(operator: Operator, /, *args: Any, **kwargs: Any) -> Any:
    """Call the operator with every rule applied.

    Raises:
        TypeError: the arguments do not fit the schema.
    """
    if grad_mode.inference and only_inference_is_unusual(operator) and (copy := operator.inference_copy) is not None:
        try:
            out = copy(*args, **kwargs)
        except TypeError:  # arguments under other names, or wrong ones; the general path says so
            return call_bound(operator, operator.signature.bind(args, kwargs))
        if operator.view is None:
            untrack(out)
        return out
    try:
        values = operator.signature.bind(args, kwargs)
    except TypeError:
        if found := overriding_types((*args, *kwargs.values())):  # of a class that is none of Tensors
            return ask_types(named(operator), args, kwargs, found)
        raise
    if operator.converts and operator.table is None and operator.traced is None:
        out = other_dtypes.computed(operator, values)
        if out is not None:
            if grad_mode.enabled:
                _record(operator, out, values)
            return out
    return call_bound(operator, values)


def call_bound(operator: Operator, values: list[Any]) -> Any:
    """Call the operator with the values that `signature.bind` gave."""
    if thread_handlers.casting is None and not watch.classes:  # as `performed` does it, with fewer calls
        handlers = thread_handlers.calls
        if not handlers:
            return call_values(operator, values)
        if len(handlers) == 1:
            return handlers[0](operator, "call", values, partial(call_values, operator))
    return performed(operator, "call", values, call_values)


def performed(
    operator: Operator, variant: Variant, values: list[Any], perform: Callable[[Operator, list[Any]], Any]
) -> Any:
    """`perform(operator, values)` with the handlers of this thread around it; inside of them a class may take over.

    What casts arguments stands inside of both.
    """
    if thread_handlers.casting is not None:
        uncast, cast = perform, thread_handlers.casting.handler

        def perform(operator: Operator, values: list[Any]) -> Any:
            return cast(operator, variant, values, partial(uncast, operator))

    if watch.classes:
        inner = perform

        def perform(operator: Operator, values: list[Any]) -> Any:
            found = overriding_types(values if variant != "out" else (*values[0], *values[1:]))
            return ask_types(*as_called(operator, variant, values), found) if found else inner(operator, values)

    if thread_handlers.calls:
        return handled(operator, variant, values, partial(perform, operator))
    return perform(operator, values)


def only_inference_is_unusual(operator: Operator) -> bool:
    """Whether calls are on the general path only because this thread is in inference mode."""
    return (
        operator.table is None
        and operator.traced is None
        and not thread_handlers.calls
        and thread_handlers.casting is None
        and not thread_handlers.computing
        and not forward.active()
    )


def handled(operator: Operator, variant: Variant, values: list[Any], perform: Callable[[list[Any]], Any]) -> Any:
    """`perform(values)` with the handlers of this thread around it."""
    *outer, last = thread_handlers.calls
    proceed = perform
    for handler in outer:
        proceed = partial(handler, operator, variant, proceed=proceed)
    return last(operator, variant, values, proceed)


def call_values(operator: Operator, values: list[Any]) -> Any:
    """The call itself, inside of the handlers."""
    backend, values = placed(operator, values)
    if backend == ZERO:
        return _call_with_zeros(operator, values)
    if operator.table is not None:
        before = kernel_table.autograd_kernel(operator, backend)
        if before is not None:
            if kernel_table.is_fallthrough(before):
                before = choose(operator, backend)[1]
            return before.run(operator, values)
    return call_below_autograd(operator, values, backend)


def _call_with_zeros(operator: Operator, values: list[Any]) -> Any:
    """A call that has zeros of forward mode among its arguments."""
    for target in tensors_at(values, operator.targets if operator.is_writing else ()):
        zero_tensors.make_numbers(target)
    numbers = [zero_tensors.as_numbers(value) for value in values]
    key, kernel = choose(operator, backend_of(numbers))
    if key == COMPOSITE_IMPLICIT:
        return kernel.run(operator, list(values))
    if any(all(zero_tensors.is_zeros(values[i]) for i in group) for group in operator.factor_positions):
        out = compute(operator, kernel, numbers)
        return zero_tensors.like(out) if isinstance(out, Tensor) else type(out)([*map(zero_tensors.like, out)])
    return call_values(operator, numbers)


def call_below_autograd(operator: Operator, values: list[Any], backend: str) -> Any:
    """The whole of a call that has no kernel for autograd: choose the kernel, compute, record, carry tangents."""
    key, kernel = choose(operator, backend)
    if key == COMPOSITE_IMPLICIT:
        return kernel.run(operator, values)
    if not operator.has_derivative:
        if has_override(values):
            out = kernel_table.check_results(operator, call_override(operator, "call", values))
        else:
            out = kernel.run(operator, values)
        if grad_mode.enabled:
            kernel_table.mark_underived(operator, out, values)
        return out
    if operator.is_writing:
        return operator.call_writing(kernel, values)
    out = compute(operator, kernel, values)
    give_history(operator, out, values)
    return out


def give_history(operator: Operator, out: Any, values: Sequence[Any]) -> None:
    """Record a call that has computed `out`, and carry tangents to it."""
    if grad_mode.enabled:
        _record(operator, out, values)
    if forward.active():
        jvp.apply(operator, out, values)  # after recording: formulas use the results with their history


def choose(operator: Operator, backend: str) -> tuple[str, Kernel]:
    """The kernel that calls with arguments of a backend take, and the key it stands under.

    Raises:
        NotImplementedError: there is none.
    """
    chosen = kernel_table.resolve(operator, backend)
    if chosen is None:
        raise kernel_table.no_kernel(operator, backend)
    return chosen


def compute(operator: Operator, kernel: Kernel, values: list[Any]) -> Any:
    """The results of a kernel, without history and tangents, in the form in which they can be given both."""
    if has_override(values):
        with forward.suspended():
            with unrecorded():
                out = kernel_table.check_results(operator, call_override(operator, "call", values))
            if wrapper_views.is_wrapped(operator, values):
                return wrapper_views.as_views(operator, out, values)
            return as_results(operator, out, values)
    if type(kernel) is ArrayKernel:
        out = kernel.run(operator, values)
        if operator.view is not None:
            return views.views_of(out, values[operator.base_position], operator.view)
        if grad_mode.inference:
            untrack(out)
        return out
    if isinstance(kernel, (DeviceKernel, MetaKernel)):
        return kernel.compute(operator, values)
    with forward.suspended():
        with unrecorded():
            out = kernel.run(operator, values)
        return as_results(operator, out, values)


def has_override(values: Sequence[Any]) -> bool:
    """Whether a handler of `modes.handle_kernels`, or the class of an argument, stands for the kernel of a call."""
    return bool(thread_handlers.computing) or bool(class_dispatch.overriding_types(values))


def call_override(operator: Operator, variant: Variant, values: list[Any]) -> Any:
    """What the newest handler of `modes.handle_kernels` gives, or without one the class of an argument.

    What a handler calls itself goes to those that are older, and then to classes.
    """
    handlers = thread_handlers.computing
    if not handlers:
        found = class_dispatch.overriding_types(values)
        return class_dispatch.ask_types(*as_dispatched(operator, variant, values), found)
    thread_handlers.computing = handlers[:-1]
    try:
        return handlers[-1](operator, variant, values)
    finally:
        thread_handlers.computing = handlers


def _record(operator: Operator, out: Any, values: Sequence[Any]) -> None:
    if operator.record is not None:
        if any_has_history(values, operator.differentiable_positions):
            operator.record(out, *values)
            if thread_handlers.recorded or process_handlers.recorded:
                show_recorded(out)
    elif not operator.never_differentiable and any_has_history(values, operator.tensor_positions):
        undifferentiable(operator, out)


def undifferentiable(operator: Operator, out: Any) -> None:
    """Results of an operator with no derivative say so when a gradient reaches them."""
    if not grad_mode.enabled:
        return
    for tensor in out if isinstance(out, (list, tuple)) else (out,):
        if isinstance(tensor, Tensor) and tensor._array.dtype.kind in "fcV":
            tensor._edge = NotDifferentiable(operator.name, tensor)


def show_recorded(out: Any) -> None:
    """Show the Node of results, just recorded, to the handlers of `modes.handle_recorded`."""
    for tensor in out if isinstance(out, (list, tuple)) else (out,):
        if isinstance(tensor, Tensor) and not tensor.is_leaf:
            tell_recorded(tensor._node_and_output()[0])
            return


class NotDifferentiable(Node):
    """Stands behind the result of an operator that has no derivative: raises when a gradient arrives."""

    __slots__ = ("operator",)
    num_outputs = 1

    def __init__(self, operator: str, tensor: Tensor) -> None:
        self.operator = operator
        self.edges = ()
        self.shape = tensor._array.shape
        self.dtype = tensor._array.dtype
        self.sequence_nr = next_sequence_nr()
        self._extra = None

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Raise: there is no derivative to apply."""
        raise NotImplementedError(
            f"the derivative of '{self.operator}' is not implemented: derivatives.yaml has no entry for it"
        )


class Constant(Node):
    """Stands behind a Tensor that an operator without derivatives has overwritten: all gradients are zero."""

    __slots__ = ("_shapes",)
    num_outputs = 1

    def __init__(self, written: Tensor, inputs: Sequence[Tensor]) -> None:
        inputs = [tensor for tensor in inputs if tensor._edge is not None]
        edges = tuple([edge_of(tensor) for tensor in inputs])
        super().__init__(edges, written._array.shape, written._array.dtype)
        self._shapes = [(tensor._array.shape, tensor._array.dtype) for tensor in inputs]

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Zeros for each input."""
        return tuple([wrap(np.zeros(shape, dtype)) for shape, dtype in self._shapes])
