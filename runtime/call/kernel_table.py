"""Kernels registered at run time: functions on Tensors by dispatch key, and how a call picks among them.

A call takes the kernel of its backend, else CompositeExplicitAutograd, else CompositeImplicitAutograd. A kernel for the
Autograd key stands before that choice; without one, an operator's own derivative is recorded, and a function that is
CompositeImplicitAutograd is traced through. Generated operators come here only once a kernel was registered for them,
or when an argument is of another backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from codegen.dispatch_keys import AUTOGRAD, COMPOSITE_IMPLICIT, COMPOSITES, CPU
from runtime.base import overriding
from runtime.base.devices import by_key
from runtime.base.keys import DispatchKeySet
from runtime.base.tensor import Tensor
from runtime.call.device_kernels import DeviceKernel
from runtime.call.facts import flat_tensors
from runtime.call.kernel_stacks import Kernel, KernelTable
from runtime.call.meta_kernels import MetaKernel
from runtime.call.promote import check_dtypes, run_kernel
from runtime.call.results import laid_out, wrapped
from runtime.call.returned import counted
from runtime.devices.meta import META
from runtime.graph.linear import edge_of
from runtime.graph.node import Node

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def fallthrough_kernel() -> None:
    """Registered instead of a kernel: the call goes on as if there were none."""
    raise NotImplementedError("fallthrough_kernel() says that there is no kernel; it is not called")


class TensorKernel:
    """A kernel that a user registered: a function on Tensors, called as the operator is.

    Args:
        function: takes the arguments, without those that have their default value.
        key: what it is registered for.
        with_keyset: whether it takes a DispatchKeySet before the arguments.
    """

    __slots__ = ("function", "key", "with_keyset")

    def __init__(self, function: Callable[..., Any], key: str, with_keyset: bool = False) -> None:
        self.function = function
        self.key = key
        self.with_keyset = with_keyset

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Call the function, and check that it returns what the schema says."""
        args, kwargs = call_arguments(operator, values)
        if self.with_keyset:
            args.insert(0, DispatchKeySet(self.key))
        return check_results(operator, self.function(*args, **kwargs))


def call_composite(operator: Operator, function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Call a function on Tensors that an operator is made of."""
    if operator.dtypes is not None:
        check_dtypes(operator, values)
    positional, keywords = values[: operator.signature.positional], operator.keywords(values)
    return counted(operator, overriding.call_formula(operator, function, *positional, **keywords))


class ArrayKernel:
    """A built-in kernel: a function on arrays."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Unwrap, promote, call, wrap."""
        return wrapped(operator, laid_out(operator, run_kernel(operator, self.function, values), values))


class CompositeKernel(ArrayKernel):
    """A built-in kernel that is made of operators."""

    __slots__ = ()

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Call the function with all arguments."""
        return call_composite(operator, self.function, values)


# Kernels for a backend that stand in for any operator; filled by `Library.fallback`.
fallbacks = KernelTable()


def backend_of(values: Sequence[Any]) -> str:
    """The key of the first Tensor that names a backend in `_dispatch_key` of its class; CPU where none does."""
    for value in values:
        kind = type(value)
        if kind is list:
            inner = backend_of(value)
            if inner is not CPU:
                return inner
        elif kind is not Tensor and isinstance(value, Tensor):
            key: str | None = getattr(kind, "_dispatch_key", None)
            if key is not None and key != CPU:
                return key
    return CPU


# -- choosing


def resolve(operator: Operator, backend: str) -> tuple[str, Kernel] | None:
    """The kernel that calls with arguments of a backend take, and the key it stands under; None if there is none."""
    for key in (backend, *COMPOSITES):
        kernel = operator.table.get(key) if operator.table is not None else None
        kernel = kernel or _built_in(operator, key)
        if kernel is not None:
            return None if is_fallthrough(kernel) else (key, kernel)
    fallback = fallbacks.get(backend)
    return None if fallback is None or is_fallthrough(fallback) else (backend, fallback)


def _built_in(operator: Operator, key: str) -> Kernel | None:
    function = operator.built_in.get(key)
    if key == META:
        return _without_data(operator, function)
    if function is None or isinstance(function, DeviceKernel):
        return function
    if key in COMPOSITES:
        return CompositeKernel(function)
    backend: Any = by_key.get(key)
    return ArrayKernel(function) if backend is None else DeviceKernel(function, backend)


def _without_data(operator: Operator, function: Callable[..., Any] | None) -> Kernel | None:
    """What says how results look: a function that does nothing else, or the kernel of main memory."""
    if function is not None:
        return MetaKernel(function, True)
    if operator.fake is not None:
        return TensorKernel(operator.fake, META)
    return MetaKernel(operator.built_in[CPU]) if CPU in operator.built_in else None


def autograd_kernel(operator: Operator, backend: str) -> Kernel | None:
    """The kernel that stands before the backend's; None where the operator's own derivative counts."""
    table = operator.table
    if table is None:
        return None
    direct = table.get(AUTOGRAD + backend)
    if direct is not None:
        return direct
    chosen = resolve(operator, backend)
    return None if chosen is not None and chosen[0] == COMPOSITE_IMPLICIT else table.get(AUTOGRAD)


def is_fallthrough(kernel: Kernel) -> bool:
    """Whether a call goes on as if this kernel were not there."""
    return getattr(kernel, "function", None) is fallthrough_kernel


def available_keys(operator: Operator) -> list[str]:
    """The keys for which an operator has a kernel of its own."""
    registered = operator.table.keys() if operator.table is not None else []
    return list(dict.fromkeys([*operator.built_in, *registered]))


# -- what operators without a derivative give


class WarnNotImplemented(Node):
    """Stands behind results of an operator that has no derivative: warns when a gradient arrives, and ends it."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, out: Tensor, inputs: Sequence[Tensor]) -> None:
        super().__init__(tuple([edge_of(tensor) for tensor in inputs]), out._array.shape, out._array.dtype)
        self.operator = operator

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        """No gradients, and a warning that says why."""
        import warnings

        warnings.warn(
            f"{self.operator}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
            "backprop through it. This may lead to silently incorrect behavior. Give the operator a derivative with "
            "register_autograd, or register fallthrough_kernel for Autograd if it has none.",
            UserWarning,
            stacklevel=2,
        )
        return (None,) * len(self.edges)


def mark_underived(operator: Operator, out: Any, values: Sequence[Any]) -> None:
    """Put a warning behind the results of a call whose arguments require grad."""
    inputs = [tensor for tensor in flat_tensors(values) if tensor._edge is not None]
    if not inputs:
        return
    for tensor in flat_tensors([out]):
        if tensor._edge is None and tensor._array.dtype.kind in "fcV" and not any(tensor is item for item in inputs):
            tensor._edge = WarnNotImplemented(operator.qualified_name, tensor, inputs)


def no_kernel(operator: Operator, backend: str) -> NotImplementedError:
    """The error of a call that no kernel takes."""
    name, keys = operator.qualified_name, available_keys(operator)
    lacking = by_key.get(backend)
    if lacking is not None and lacking.listed_in:
        parameters = ", ".join(operator.spelled[i] for i in operator.kernel_positions)
        return NotImplementedError(
            f"'{operator.name}' has no kernel for {backend}\n  schema: {operator.schema}\n  to add it: name it under "
            f"'supported' in {lacking.listed_in}, and write a function {operator.name.partition('.')[0]}({parameters})"
        )
    if not keys and operator.is_generated:
        return NotImplementedError(f"'{operator.name}' has no kernel for the {backend}\n  schema: {operator.schema}")
    return NotImplementedError(
        f"Could not run '{name}' with arguments from the '{backend}' backend. This could be because the operator "
        f"doesn't exist for this backend. '{name}' is only available for these backends: "
        f"[{', '.join(keys)}]."
    )


# -- between the schema and functions of users


def call_arguments(operator: Operator, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position and by name, without those at the end that have their default value."""
    signature = operator.signature
    listed = [list(value) if type(value) is tuple else value for value in values]
    count = signature.positional
    while count and _is_default(signature.parameters[count - 1], values[count - 1]):
        count -= 1
    kwargs = {
        parameter.name: value
        for parameter, original, value in zip(
            signature.parameters[signature.positional :],
            values[signature.positional :],
            listed[signature.positional :],
            strict=True,
        )
        if not _is_default(parameter, original)
    }
    return listed[:count], kwargs


def _is_default(parameter: Any, value: Any) -> bool:
    if parameter.required or isinstance(value, Tensor):
        return False
    default = parameter.default
    return value is default or (type(value) is type(default) and bool(value == default))


def check_results(operator: Operator, result: Any) -> Any:
    """What a kernel returned, as callers get it.

    Raises:
        RuntimeError: it is not what the schema says.
    """
    types = operator.facts.results
    if not types:
        if result is not None:
            raise RuntimeError(
                f"Expected the kernel of {operator.qualified_name} to return None but it returned something else "
                "instead."
            )
        return None
    if len(types) == 1:
        return _check_result(operator, types[0], result)
    counted(operator, result)
    masked = operator.facts.masks_outputs  # then those that are not asked for are None
    values = [
        None if item is None and masked else _check_result(operator, type, item)
        for type, item in zip(types, result, strict=True)
    ]
    return operator.results(values) if operator.is_generated else tuple(values)


def _check_result(operator: Operator, type: str, result: Any) -> Any:
    if type.endswith("?"):
        return None if result is None else _check_result(operator, type[:-1], result)
    if type.endswith("]"):
        if not isinstance(result, (list, tuple)):
            raise RuntimeError(f"{operator.qualified_name}: Unable to cast {result!r} to {type}")
        elem = type.rpartition("[")[0]
        items = [_check_result(operator, elem, item) for item in result]
        return tuple(items) if operator.is_generated else items
    fits = _RESULTS.get(type)
    if fits is not None and not isinstance(result, fits):
        raise RuntimeError(f"{operator.qualified_name}: Unable to cast {result!r} to {type}")
    return result


_RESULTS: dict[str, Any] = {
    "Tensor": Tensor,
    "int": int,
    "SymInt": int,
    "float": int | float,
    "bool": bool,
    "Scalar": int | float | complex,
    "str": str,
}
