"""Tensor: one NumPy array and what automatic differentiation knows about it.

Operators are not here. Generated code puts them on the class when it is loaded, so this file holds only what no schema
describes: access to the data, conversion to Python and NumPy, and the autograd state.

The state is five slots, because an operator call makes a Tensor each time and every slot costs. `_array` is an ndarray,
also for zero dimensions; a view holds its `_base`. `_edge` says where the gradient goes: None (nowhere), LEAF (into
this Tensor), a Node, or an OutputEdge for the second and later outputs of a Node. `_writes` is None until somebody may
look at it, then a list that all Tensors over the same memory share, with the number of writes in it. `_extra` holds the
rest, which most Tensors never have.  Users may put attributes on any Tensor; its dictionary is made for the first one.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeVar

import numpy as np

from runtime import ops
from runtime.base import class_dispatch, dtypes, identity, overriding
from runtime.base.array_access import ArrayAccess
from runtime.base.array_exchange import ArrayExchange
from runtime.base.casts import Casts
from runtime.base.data import array_of
from runtime.base.handles import RemovableHandle
from runtime.base.memory import copy_with_memory
from runtime.base.modes import register_plain
from runtime.base.once import publish
from runtime.base.sharing import capture, guard, is_captured, share, transforms
from runtime.base.state import LEAF, LEAF_EDGES, UNTRACKED, Extra, Leaf, Mark, TensorBase
from runtime.base.transposes import Transposes
from runtime.base.types import DType, MemoryFormat
from runtime.native import core

if TYPE_CHECKING:
    from runtime.graph.node import Node, OutputEdge
    from runtime.methods import storage
    from runtime.operators import functional, sparse_functions

_new = object.__new__

Kind = TypeVar("Kind", bound="Tensor")


class Tensor(TensorBase, ArrayAccess, ArrayExchange, Casts, Transposes):
    """An array of numbers that operators can be applied to and differentiated with respect to.

    `Tensor(2, 3)` makes one of that shape with arbitrary contents, `Tensor([1, 2])` one of the default dtype; prefer
    `gradwright.tensor` and the factory functions.
    """

    __slots__ = ()

    # NumPy's operators hand over to ours when a Tensor stands on their right.
    __array_priority__ = 1000

    _array: np.ndarray[Any, Any]
    _base: Tensor | None  # what this one is a view of, never itself a view
    _edge: Leaf | Node | OutputEdge | None
    _extra: Extra | None
    _opaque: ClassVar[builtins.bool] = False  # whether the values are elsewhere: several of them, or on a device
    _batched: ClassVar[builtins.bool] = False  # whether there are several
    _writes: list[Any] | None  # how often the memory was written; perhaps the views that a write makes stale

    def __new__(cls, *args: Any) -> Tensor:
        if len(args) == 1 and isinstance(args[0], Tensor):
            array = args[0].numpy(force=True) if args[0]._opaque else args[0]._array
        elif len(args) == 1 and not isinstance(args[0], int):
            array = array_of(args[0], dtypes.get_default_dtype())
        else:
            array = np.empty(args if args else (0,), dtypes.get_default_dtype().numpy)
        return cls._make_subclass(cls, wrap(array))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        overriding.admit(cls)
        class_dispatch.admit(cls)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Iterable[builtins.type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return overriding.pass_on(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(cls: builtins.type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
        """A Tensor of class `cls` over the memory of `data`, with no history."""
        out = _new(cls)
        out._array = data._array
        out._base = out._edge = out._writes = out._extra = None
        if require_grad:
            Tensor.requires_grad_(out)  # not as a class may have it that takes calls over
        return out

    # Conversion to Python.

    def type(self, dtype: DType | str | None = None) -> str | Tensor:
        """The name of the Tensor type, such as `gradwright.FloatTensor`; with a dtype, the Tensor converted to it."""
        if dtype is None:
            return f"{identity.name}.{self.dtype.scalar_name}Tensor"
        if isinstance(dtype, str):
            named = [d for d in dtypes.EVERY_DTYPE if dtype == f"{identity.name}.{d.scalar_name}Tensor"]
            if not named:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = named[0]
        return self._cast(dtypes.as_dtype(getattr(dtype, "dtype", dtype)))  # also of a class such as LongTensor

    def _cast(self, dtype: DType, memory_format: MemoryFormat | None = None) -> Tensor:
        if self.dtype is dtype and memory_format is None:
            return self
        return self.to(dtype, memory_format=memory_format)

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if self._array.ndim == 0 else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, Tensor):
            element = element._array
        elif not isinstance(element, (bool, int, float, complex, np.generic)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool(np.any(self._array == element))

    __hash__ = object.__hash__

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0 and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __array_wrap__(
        self, array: np.ndarray[Any, Any], context: object = None, return_scalar: bool = False
    ) -> Tensor:
        return wrap(np.asarray(array))

    # Copies.

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        made_again = getattr(self._array, "made_again", None)  # of what stands in a Tensor without data
        if made_again is not None:
            return *made_again(self._edge is not None), self.__dict__ or None
        return _rebuild, (type(self), self._array, self._edge is not None), self.__dict__ or None

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; "
                "use .detach().clone() for a copy without history"
            )
        done: Tensor | None = memo.get(id(self))
        if done is not None:
            return done
        out = memo[id(self)] = self._copied(memo)
        if self._extra is not None and self._extra.grad is not None:
            out.extra.grad = self._extra.grad.__deepcopy__(memo)
        if self.__dict__:
            from copy import deepcopy

            out.__dict__.update(deepcopy(self.__dict__, memo))
        return out

    def _copied(self, memo: dict[Any, Any]) -> Tensor:
        """A leaf over a copy of the memory, which Tensors that share it go on sharing."""
        if class_dispatch.watch.classes and class_dispatch.overriding_types((self,)):
            return class_dispatch.copied(self)
        return _rebuild(type(self), copy_with_memory(self._array, memo), self._edge is not None)

    # Gradients.

    @property
    def extra(self) -> Extra:
        """The rare parts of the state, made on first use."""
        extra = self._extra
        if extra is not None and type(extra) is not Mark:
            return extra
        own = Extra()
        if extra is not None:
            own.view = extra.view
        return publish(self, "_extra", own, extra)  # type: ignore[no-any-return]

    @property
    def requires_grad(self) -> bool:
        """Whether operators on this Tensor are recorded, so that a gradient can reach it."""
        return self._edge is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if not self.is_leaf:
            hint = (
                ""
                if value
                else " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise RuntimeError(f"you can only change requires_grad flags of leaf variables.{hint}")
        captured, transforms.captured = transforms.captured, ()  # the method alone is refused under transforms
        try:
            self.requires_grad_(value)
        finally:
            transforms.captured = captured

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made this Tensor."""
        return type(self._edge) in LEAF_EDGES

    @property
    def grad_fn(self) -> Node | None:
        """The Node of the operator that made this Tensor; None for a leaf.

        Raises:
            RuntimeError: a write to what this is a view of took the meaning of its history away.
        """
        if self.is_leaf:
            return None
        node = self._node_and_output()[0]
        node.check_meaning()
        if self._base is not None:
            guard(self)  # a write to its base leaves the hooks behind that a program may put on this Node
        return node

    @property
    def output_nr(self) -> int:
        """Which output of its Node this Tensor is."""
        return 0 if self.is_leaf else self._node_and_output()[1]

    def _node_and_output(self) -> tuple[Node, int]:
        """Where the gradient of a non-leaf goes."""
        edge: Any = self._edge
        number = getattr(edge, "output_nr", None)
        return (edge, 0) if number is None else (edge.node, number)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` accumulated here."""
        extra = self._extra
        if not self.is_leaf and (extra is None or (extra.grad is None and not extra.retains_grad)):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during backward(). Call .retain_grad() on it first if you want its gradient.",
                UserWarning,
                stacklevel=2,
            )
        return None if extra is None else extra.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            del self.grad
            return
        if not isinstance(value, Tensor):
            kind = builtins.type(value).__name__
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        chosen = None if self._extra is None else self._extra.grad_dtype
        if value._array.dtype != self._array.dtype if chosen is None else chosen[0] not in (None, value.dtype):
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype "
                f"'{self.dtype if chosen is None else chosen[0]}'. Set grad_dtype to another dtype, or to None for "
                "any, where the gradient may be of another dtype than the tensor"
            )
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        if core is not None and value._edge is not None:
            core.expect_cycles()
        self.extra.grad = value

    @grad.deleter
    def grad(self) -> None:
        extra = self._extra
        if extra is not None and extra.grad is not None:
            extra.grad = None

    @property
    def grad_dtype(self) -> DType | None:
        """The dtype of gradients of this leaf, to which backward casts them; None where they are of any.

        It is that of the Tensor where nothing else was set.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        extra = self._extra
        return self.dtype if extra is None or extra.grad_dtype is None else extra.grad_dtype[0]

    @grad_dtype.setter
    def grad_dtype(self, value: DType | None) -> None:
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and not isinstance(value, DType):
            kind = builtins.type(value).__name__
            raise RuntimeError(f"grad_dtype must be a {identity.name}.dtype or None, but got {kind}")
        known = None if self._extra is None else self._extra.grad
        if value is not None and known is not None and known.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value}' because there is already a gradient with dtype '{known.dtype}'. "
                "Set .grad to None before, or choose the dtype that it has"
            )
        if core is not None:
            core.expect_grad_dtypes()
        self.extra.grad_dtype = (value,)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf Tensor keeps its gradient in `grad`."""
        extra = self._extra
        return extra is not None and extra.retains_grad

    def detach(self) -> Tensor:
        """A Tensor over the same memory that requires no gradient; writing to either is seen, and counted, by both."""
        if class_dispatch.watch.classes and class_dispatch.overriding_types((self,)):
            return class_dispatch.detached(self)
        out = _new(Tensor)
        out._array = self._array
        out._base = out._edge = out._writes = out._extra = None
        share(out, self)
        return out

    @property
    def data(self) -> Tensor:
        """A Tensor over the same memory whose writes autograd does not notice."""
        if class_dispatch.watch.classes and class_dispatch.overriding_types((self,)):
            out = class_dispatch.detached(self)
            if out is not self:
                out._writes = [0]  # a count of its own
            return out
        out = wrap(self._array)
        if transforms.captured and is_captured(self):
            transforms.captured = (*transforms.captured, capture(out))
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if type(value._array) is not type(self._array):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        if self._edge is not None and not (value.dtype.is_floating_point or value.dtype.is_complex):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        extra = self._extra
        same = (value._array.shape, value.dtype) == (self._array.shape, self.dtype)
        if not same and extra is not None and extra.accumulate_node is not None:
            extra.accumulate_node = None  # made for the old shape and dtype
        self._array = value._array

    # Set by `runtime.load.loading` and by the library: they need what stands above Tensors.
    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def to(self, *args: Any, **kwargs: Any) -> Tensor: ...
        def cpu(self, memory_format: Any = None) -> Tensor: ...
        def new_tensor(
            self, data: Any, *, dtype: DType | None = ..., device: Any = ..., requires_grad: bool = ...
        ) -> Tensor: ...
        def new(self, *args: Any, device: Any = None) -> Tensor: ...
        def as_subclass(self, cls: builtins.type[Kind]) -> Kind: ...
        def const_data_ptr(self) -> int: ...
        def dense_dim(self) -> int: ...
        def dequantize(self) -> Tensor: ...
        def dim_order(self) -> tuple[int, ...]: ...
        def is_shared(self) -> bool: ...
        def module_load(self, other: Any, assign: bool = False) -> Tensor: ...
        def share_memory_(self) -> Self: ...
        def sparse_dim(self) -> int: ...
        def storage_type(self) -> Any: ...
        def to_dense(self, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor: ...
        def is_set_to(self, tensor: Tensor) -> bool: ...
        def is_conj(self) -> bool: ...
        def is_neg(self) -> bool: ...
        def is_pinned(self, device: Any = None) -> bool: ...
        def apply_(self, callable: Callable[[Any], Any]) -> Tensor: ...
        def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor: ...
        def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor: ...
        def requires_grad_(self, requires_grad: bool = True) -> Tensor: ...
        def detach_(self) -> Tensor: ...
        def retain_grad(self) -> None: ...
        def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle: ...
        def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle: ...
        def backward(
            self,
            gradient: Tensor | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Tensor | Sequence[Tensor] | None = None,
        ) -> None: ...

        # Functions as they are.
        lu = functional.lu
        unique = functional.unique
        unique_consecutive = functional.unique_consecutive
        resize_ = storage.resize_
        resize_as_ = storage.resize_as_
        set_ = storage.set_
        untyped_storage = storage.untyped_storage
        storage = storage.storage
        smm = sparse_functions.smm
        sparse_mask = sparse_functions.sparse_mask
        sspaddmm = sparse_functions.sspaddmm
        to_sparse = sparse_functions.to_sparse
        to_sparse_coo = sparse_functions.to_sparse_coo

        def coalesce(self) -> Tensor: ...
        def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor: ...
        def xpu(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor: ...
        def ipu(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor: ...
        def mtia(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor: ...
        def pin_memory(self, device: Any = None) -> Tensor: ...
        def nonzero(self, *, out: Tensor | None = None, as_tuple: builtins.bool = False) -> Any: ...
        def indices(self) -> Tensor: ...
        def is_coalesced(self) -> builtins.bool: ...
        def values(self) -> Tensor: ...
        @property
        def is_cpu(self) -> builtins.bool: ...
        @property
        def is_mps(self) -> builtins.bool: ...
        @property
        def is_nested(self) -> builtins.bool: ...
        @property
        def is_quantized(self) -> builtins.bool: ...
        @property
        def is_xla(self) -> builtins.bool: ...
        @property
        def is_xpu(self) -> builtins.bool: ...

    @property
    def _version(self) -> int:
        """How often the memory was written in place, through this Tensor or any that shares it."""
        if self._writes is UNTRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._writes is None else self._writes[0]

    def is_inference(self) -> bool:
        """Whether this Tensor was made in inference mode, so that it cannot be saved for a backward."""
        return self._writes is UNTRACKED

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def real(self) -> Tensor:
        """The real parts, as a view; of a real Tensor, the Tensor itself."""
        return ops.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real.copy_(_as_tensor(value))

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, as a view."""
        return ops.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(_as_tensor(value))


def _wrap(array: np.ndarray[Any, Any]) -> Tensor:
    """A new Tensor over `array` that requires no gradient."""
    out = _new(Tensor)
    out._array = array
    out._base = out._edge = out._writes = out._extra = None
    return out


wrap: Callable[[np.ndarray[Any, Any]], Tensor] = _wrap if core is None else core.wrap


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else wrap(np.asarray(value))


def _rebuild(cls: type[Tensor], array: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    """Make a Tensor again from what `__reduce_ex__` stored."""
    known = dtypes.from_numpy(array.dtype).numpy
    # A dtype object that comes out of a pickle equals NumPy's own and is another object; operators compare by identity.
    out = Tensor._make_subclass(cls, wrap(array if array.dtype is known else array.view(known)))
    out._edge = LEAF if requires_grad else None
    return out


register_plain(Tensor)
overriding.know(Tensor)
