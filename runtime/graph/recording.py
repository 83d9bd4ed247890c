"""What generated Nodes call when they record, unpack and fail."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from types import GetSetDescriptorType
from typing import Any, NoReturn

import numpy as np

from runtime.base.array_proxies import NonHostArray, tensor_over
from runtime.base.errors import MissingDerivativeError
from runtime.base.modes import plain
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.graph.node import Node, OutputEdge
from runtime.graph.saved import SavedTensor, detached_error, freed_error, hook_stack, modified_error

new = object.__new__
ndarray = np.ndarray

__all__ = [
    "Geometry",
    "check_attached",
    "check_versions",
    "freed_error",
    "info_of",
    "missing_helper",
    "modified_error",
    "not_implemented_error",
    "pack_saved",
    "saved_list",
    "saved_result",
    "saved_tensor",
    "saved_value",
    "set_edges",
    "shapes_of",
    "take_out",
    "unpack_result",
    "versions_of",
    "zeros_for",
    "zeros_of",
]


def set_edges(tensors: Sequence[Tensor | None], node: Node) -> None:
    """Make `tensors` the outputs of `node`, in order; those that can have no gradient stay as they are."""
    for number, tensor in enumerate(tensors):
        if tensor is not None and tensor._array.dtype.kind not in "biu":
            tensor._edge = node if number == 0 else OutputEdge(node, number)


def shapes_of(tensors: Sequence[Tensor | None]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Shapes and dtypes of outputs; None for those that a mask left out."""
    arrays = [None if tensor is None else tensor._array for tensor in tensors]
    shapes = tuple([None if array is None else array.shape for array in arrays])
    dtypes = tuple([None if array is None else array.dtype for array in arrays])
    if isinstance(arrays[0], NonHostArray):
        dtypes = DeviceDTypes(dtypes)
        dtypes.zeros = arrays[0].backend.zeros
    return shapes, dtypes


def versions_of(tensors: Iterable[Tensor | None]) -> tuple[int, ...]:
    """How often each tensor was written so far; 0 for those that are absent."""
    return tuple([0 if t is None or t._writes is None else t._writes[0] for t in tensors])


def unpack_tensor(node: Node, name: str, tensor: Tensor | None, version: int) -> Tensor | None:
    """A saved input, if it was not written since."""
    if tensor is not None and tensor._writes is not None and tensor._writes[0] != version:
        raise modified_error(node, name, tensor, version)
    return tensor


def check_attached(node: Node, edge: Any) -> None:
    """Raise if `edge`, that of a saved input which has no history now, leads to the one that it had."""
    if isinstance(edge, (Node, OutputEdge)):
        raise detached_error(node)


def check_versions(node: Node, name: str, tensors: Sequence[Tensor | None] | None, versions: Sequence[int]) -> None:
    """Raise if one of the saved inputs was written since."""
    for tensor, version in zip(tensors or (), versions, strict=False):
        unpack_tensor(node, name, tensor, version)


def unpack_result(
    node: Node, name: str, array: np.ndarray, version: list[int], saved_at: int, output_nr: int | None
) -> Tensor:
    """A saved output: a Tensor over the same memory whose history is `node` again (None: it has no gradient)."""
    if type(array) is ndarray:
        tensor = new(Tensor)
        tensor._array = array
        tensor._base = tensor._extra = None
    else:
        tensor = tensor_over(array)
    tensor._writes = version
    tensor._edge = node if output_nr == 0 else None if output_nr is None else OutputEdge(node, output_nr)
    if version[0] != saved_at:
        raise modified_error(node, name, tensor, saved_at)
    if not plain:
        forward.restore(node, tensor, output_nr)
    return tensor


class Geometry:
    """Where the elements of a Tensor lie in its memory; strides and offset count elements."""

    __slots__ = ("offset", "shape", "strides")

    def __init__(self, tensor: Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self.strides = tensor.stride()
        self.offset = tensor.storage_offset()


def info_of(tensor: Tensor) -> tuple[Any, ...]:
    """Shape and dtype of a Tensor, and its device where that is not main memory: what `zeros_of` takes."""
    array = tensor._array
    if isinstance(array, NonHostArray):
        return array.shape, array.dtype, array.backend
    return array.shape, array.dtype


def zeros_of(info: tuple[Any, ...]) -> Tensor:
    """Zeros of a saved shape and dtype."""
    if len(info) == 2:
        return wrap(np.zeros(*info))
    shape, dtype, backend = info
    zeros: Tensor = backend.zeros(shape, dtype)
    return zeros


def missing_helper(name: str, *args: object) -> NoReturn:
    """Raise: a formula called a helper that is declared, and that nothing implements."""
    raise NotImplementedError(f"the helper '{name}' is declared, but the runtime does not implement it")


def zeros_for(node: Node, output_nr: int) -> Tensor | None:
    """The gradient of an output that nothing depends on; None for one that a mask left out."""
    if node.shape[output_nr] is None:
        return None
    shape, dtype = node.shape[output_nr], node.dtype[output_nr]
    if isinstance(node.dtype, DeviceDTypes):
        return node.dtype.zeros(shape, dtype)
    return wrap(np.zeros(shape, dtype))


class DeviceDTypes(tuple[Any, ...]):
    """The dtypes of the outputs of a Node that lie on a device, where its zeros have to lie, too."""

    zeros: Callable[[tuple[int, ...], np.dtype[Any]], Tensor]


def not_implemented_error(node: Node, argument: str, reason: str) -> MissingDerivativeError:
    """The derivative of an operator in one of its arguments was declared as missing."""
    return MissingDerivativeError(f"the derivative of '{reason}' for '{argument}' is not implemented ({node.name()})")


# -- `_saved_self` and the like, as properties of Node classes
#
# `attribute` is where a Node keeps it, which is `_self` as a rule.


class SavedProperty(property):
    """`_saved_NAME` of a Node class: what a Node saved under that name, checked for writes since.

    Args:
        name: under which it is saved.
        read: gives the value out of the Node's slots.
        write: puts a Tensor (or list of them) back into the slots; None for what is no Tensor.
        delete: leaves nothing there, so that running the Node without it is an error.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[Any], Any],
        write: Callable[[Any, Any], None] | None = None,
        delete: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__(self._get)
        self.name = name
        self.read = read
        self.write = write
        self.empty: Any = delete

    def _get(self, node: Any) -> Any:
        extra = node._extra
        if extra is not None and self.name in extra.saved:
            return _unpacked(node, extra.saved[self.name])
        try:
            return self.read(node)
        except AttributeError:
            raise freed_error(node) from None


def _delete(node: Any, attribute: str) -> None:
    if hasattr(node, attribute):
        delattr(node, attribute)


def saved_tensor(name: str, attribute: str = "") -> SavedProperty:
    """A saved input."""
    attribute = attribute or f"_{name}"
    version = f"{attribute}_version"

    def write(node: Any, tensor: Tensor | None) -> None:
        setattr(node, attribute, tensor)
        setattr(node, version, versions_of((tensor,))[0])

    def read(node: Any) -> Tensor | None:
        return unpack_tensor(node, name, getattr(node, attribute), getattr(node, version))

    return SavedProperty(name, read, write, partial(_delete, attribute=attribute))


def saved_list(name: str, attribute: str = "") -> SavedProperty:
    """A saved list of inputs."""
    attribute = attribute or f"_{name}"
    version = f"{attribute}_version"

    def read(node: Any) -> Any:
        check_versions(node, name, getattr(node, attribute), getattr(node, version))
        return getattr(node, attribute)

    def write(node: Any, tensors: Sequence[Tensor | None] | None) -> None:
        setattr(node, attribute, tensors)
        setattr(node, version, versions_of(tensors or ()))

    return SavedProperty(name, read, write, partial(_delete, attribute=attribute))


def saved_result(name: str, output_nr: int | None, attribute: str = "") -> SavedProperty:
    """A saved output."""
    attribute = attribute or f"_{name}"
    version, at = f"{attribute}_version", f"{attribute}_at"

    def write(node: Any, tensor: Tensor | None) -> None:
        writes = [0] if tensor is None else tensor._writes or [0]
        setattr(node, attribute, None if tensor is None else tensor._array)
        setattr(node, version, writes)
        setattr(node, at, writes[0])

    return SavedProperty(
        name,
        lambda node: unpack_result(
            node, name, getattr(node, attribute), getattr(node, version), getattr(node, at), output_nr
        ),
        write,
        partial(_delete, attribute=attribute),
    )


def saved_value(name: str, attribute: str = "") -> SavedProperty:
    """A saved value that is no Tensor."""
    return SavedProperty(name, attrgetter(attribute or f"_{name}"))


# -- saved state as objects, for hooks


class _SavedOutside:
    """What a Node class becomes when saved Tensors of it are shown as objects, in `extra.saved`.

    Their slots stay as they are until hooks pack the Tensors.
    """

    __slots__ = ()

    def apply(self: Any, grad: Any) -> Any:
        """Run with the Tensors in the slots, as the generated code wants them."""
        tensors = {name: _unpacked(self, saved) for name, saved in list(self._extra.saved.items())}
        properties = _properties(type(self))
        with self._extra.lock:  # another thread may run the same Node
            for name, tensor in tensors.items():
                properties[name].write(self, tensor)
            try:
                return super().apply(grad)  # type: ignore[misc]
            finally:
                for name in tensors:
                    if _is_gone(self._extra.saved[name]):
                        properties[name].empty(self)

    def release(self: Any) -> None:
        """Drop the saved state."""
        with self._extra.lock:
            for name, saved in self._extra.saved.items():
                for one in saved if isinstance(saved, list) else (saved,):
                    one.free()
                _properties(type(self))[name].write(self, None)  # so that it can be dropped with the others
            super().release()  # type: ignore[misc]
            for name, saved in self._extra.saved.items():
                if _is_gone(saved):
                    _properties(type(self))[name].empty(self)


def _is_gone(saved: SavedTensor | list[SavedTensor]) -> bool:
    return any(one.is_gone for one in saved) if isinstance(saved, list) else saved.is_gone


def _empty_packed(reference: weakref.ref[Node], name: str) -> None:
    """Let go of what hooks have packed, in the slots of a Node."""
    node = reference()
    if node is not None:
        extra = node.extra
        with extra.lock:
            if _is_gone(extra.saved[name]):
                _properties(type(node))[name].empty(node)


# Worked out once for each class of Nodes: its saved Tensors by name, and what it becomes when they are taken out.
_known_properties: dict[type, dict[str, Any]] = {}
_known_outside: dict[type, type[Node]] = {}


def _properties(cls: type) -> dict[str, Any]:
    properties = _known_properties.get(cls)
    if properties is None:
        members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
        properties = {
            member.name: member for member in members.values() if isinstance(member, SavedProperty) and member.write
        }
        for name, member in members.items():
            if name.startswith("_saved_") and isinstance(member, GetSetDescriptorType):  # of a native class
                short = name.removeprefix("_saved_")
                properties[short] = SavedProperty(short, member.__get__, member.__set__, member.__delete__)
        _known_properties[cls] = properties  # complete, and equal in all threads that make it
    return properties


def _class_outside(cls: type) -> type[Node]:
    outside = _known_outside.get(cls)
    if outside is None:
        # Those of a native class only know the slots.
        members: dict[str, Any] = {f"_saved_{name}": member for name, member in _properties(cls).items()}
        members |= {"__slots__": (), "__module__": cls.__module__}
        made: Any = type(cls.__name__, (_SavedOutside, cls), members)
        outside = _known_outside.setdefault(cls, made)
    return outside


def _unpacked(node: Node, saved: SavedTensor | list[SavedTensor]) -> Any:
    return [one.unpack(node) for one in saved] if isinstance(saved, list) else saved.unpack(node)


def take_out(node: Node, name: str) -> Any:
    """What `node` saved as `name` as a SavedTensor, or a list of them; always the same, until it is freed.

    Raises:
        AttributeError: the Node saves no Tensor under that name.
        RuntimeError: it is freed.
    """
    extra = node.extra
    with extra.lock:
        known = extra.saved.get(name)
        if known is not None:
            return known
        saved = _properties(type(node)).get(name)
        if saved is None:
            raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
        value = saved.fget(node)
        several = isinstance(value, (list, tuple))
        made = [SavedTensor(node, name, tensor) for tensor in value] if several else SavedTensor(node, name, value)
        for one in made if isinstance(made, list) else (made,):
            one.when_packed = partial(_empty_packed, weakref.ref(node), name)
        extra.saved[name] = made
        if not issubclass(type(node), _SavedOutside):
            node.__class__ = _class_outside(type(node))
        return made


def pack_saved(node: Node) -> None:
    """Let the innermost `saved_tensors_hooks` of this thread keep what `node` saved."""
    hooks = hook_stack.pairs[-1]
    for name in _properties(type(node)):
        saved = take_out(node, name)
        for one in saved if isinstance(saved, list) else (saved,):
            shown = one.unpack(node)
            if shown is not None and not one.is_packed:
                one.pack(shown, hooks)


Node.take_out = take_out
