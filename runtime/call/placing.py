"""On which device a call runs: that of its Tensors, or the one that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.dispatch_keys import CPU
from runtime.base.devices import backends, named
from runtime.base.meta_array import MetaArray, plain
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import check_there, get_default_device, sparse_coo
from runtime.call.facts import flat_tensors
from runtime.call.kernel_table import backend_of
from runtime.devices.meta import META
from runtime.devices.transfer import key_of, moved, name_of
from runtime.graph import forward

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def placed(operator: Operator, values: list[Any]) -> tuple[str, list[Any]]:
    """The backend of a call, and its arguments, all of them there.

    Raises:
        RuntimeError: Tensors lie on several devices.
        NotImplementedError: the call is made in a mode that devices do not have.
    """
    at = operator.layout_position
    if at is not None and values[at] is sparse_coo:
        from runtime.operators import sparse

        return sparse.KEY, values
    backend = backend_of(values)
    if not named:
        return backend, values
    tensors = flat_tensors(values)
    values = values if tensors else _by_default(operator, values)
    wanted = _asked_for(operator, values)
    if wanted is None:
        keys = {key_of(tensor) for tensor in tensors}
        if keys <= {CPU}:
            return backend, values
        wanted = next(key for tensor in tensors if (key := key_of(tensor)) != CPU)
        if len(keys) > 1:
            values = _brought_together(operator, values, wanted)
    elif any(key_of(tensor) != wanted for tensor in tensors):
        shown = operator.facts.is_factory and "non_blocking" not in operator.names
        values = [_moved(value, wanted, shown) for value in values]
    if wanted == CPU:
        return backend_of(values), values
    if forward.active() and wanted != META:
        raise NotImplementedError(f"forward mode on {name_of(wanted)}, in {operator.qualified_name}")
    return wanted, values


def _by_default(operator: Operator, values: list[Any]) -> list[Any]:
    """The arguments of a factory, with the default device where none is asked for."""
    at = operator.device_position
    if at is None or values[at] is not None or (place := get_default_device()).type == "cpu":
        return values
    return [*values[:at], place, *values[at + 1 :]]


def _asked_for(operator: Operator, values: list[Any]) -> str | None:
    """The key of the device that an argument names."""
    at = operator.device_position
    device = None if at is None else values[at]
    if device is None:
        return None
    if device.type == "cpu":
        return CPU
    check_there(device.type, makes="non_blocking" not in operator.names)
    backend = backends[device.type]
    backend.check_index(device.index)
    return backend.key


def _brought_together(operator: Operator, values: list[Any], wanted: str) -> list[Any]:
    """Arguments of several devices, where there is a meaning to that.

    Those are copies from one device to another, which go to the first Tensor; numbers in Tensors without dimensions,
    and lists of indices, in main memory.
    """
    if "non_blocking" in operator.names:
        target = key_of(flat_tensors(values)[0])
        return [_moved(value, target) for value in values]
    brought = list(values)
    for position, value in enumerate(values):
        parameter = operator.signature.parameters[position]
        for tensor in flat_tensors([value]):
            key = key_of(tensor)
            number = operator.promotion is not None and not tensor._array.ndim
            if key != wanted and not (key == CPU and (number or parameter.type.startswith("Tensor?["))):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{name_of(wanted)} and {name_of(key)}! (when checking argument for argument {parameter.name} in "
                    f"{operator.qualified_name})"
                )
        brought[position] = _moved(value, wanted)
    return brought


def _moved(value: Any, key: str, shown: bool = False) -> Any:
    """An argument on another device; `shown`: only its shape, strides and dtype are looked at."""
    if isinstance(value, Tensor):
        if shown and key == CPU and isinstance(value._array, MetaArray):
            return wrap(plain(value._array))
        return moved(value, key)
    return [_moved(item, key, shown) for item in value] if isinstance(value, list) else value
