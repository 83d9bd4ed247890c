"""Tensors with a role in a Module: parameters, which are trained, and buffers, which are only kept with it.

Both may be of a shape that is not known yet, as lazy Modules have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, cast

from runtime import ops
from runtime.base import class_dispatch
from runtime.base.array_proxies import on_device
from runtime.base.modes import register_plain
from runtime.base.overriding import disabled
from runtime.base.sharing import share
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


def _over(cls: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    """A Tensor of class `cls` over the memory of `data`; both count the writes to it."""
    out = Tensor._make_subclass(cls, data)
    share(out, data)
    return out.requires_grad_(requires_grad)


def _of_own_class(data: Tensor, requires_grad: bool) -> Tensor:
    """A Tensor over the memory of `data`, of its class.

    Raises:
        RuntimeError: its class gives another one for `detach`.
    """
    known = data.detach()
    if not class_dispatch.overriding_types((data,)):
        return _over(type(data), known, requires_grad)
    if type(known) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(known).__name__} was found instead. To use the type as "
            "a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    return known.requires_grad_(requires_grad)


class _Marked(type):
    """A class whose instances include Tensors of foreign subclasses that carry its mark."""

    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        # A subclass of Parameter has instances of its own only.
        return "_mark" in cls.__dict__ and isinstance(instance, Tensor) and getattr(instance, cls._mark, False) is True


class Parameter(Tensor, metaclass=_Marked):
    """A Tensor that becomes one of the parameters of the Module it is assigned to.

    Args:
        data: its values, which are shared and not copied; an empty Tensor if left out. A Tensor of a class of its own
            keeps that class, and still is an instance of Parameter for `isinstance`.
        requires_grad: whether gradients are computed for it.
    """

    _mark = "_is_param"
    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = Tensor(0)
        if type(data) in (Tensor, Parameter, Buffer):
            return cast("Parameter", _over(cls, data, requires_grad))
        parameter: Any = _of_own_class(data, requires_grad)
        parameter._is_param = True
        return cast("Parameter", parameter)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        done: Parameter | None = memo.get(id(self))
        if done is None:
            # Neither the gradient nor attributes belong to the copy.
            done = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return done

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor, metaclass=_Marked):
    """A Tensor that becomes one of the buffers of the Module it is assigned to.

    Args:
        data: its values, which are shared and not copied; an empty Tensor if left out.
        persistent: whether it is part of the Module's `state_dict`.
    """

    _mark = "_is_buffer"
    __torch_function__ = disabled
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = Tensor(0)
        if on_device(data):  # on a device, whose Tensors have a class of their own
            out: Any = _of_own_class(data, data.requires_grad)
            out._is_buffer = True
        else:
            out = _over(cls, data, data.requires_grad)
        out.persistent = persistent
        return cast("Buffer", out)


register_plain(Parameter)
register_plain(Buffer)


# Without a shape.

_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


def _refusal(cls: type, what: str) -> ValueError:
    return ValueError(
        f"Attempted to use an uninitialized parameter in {what}. This error happens when you are using a `LazyModule` "
        f"or explicitly manipulating `gradwright.nn.parameter.{cls.__name__}` objects. When using LazyModules Call "
        "`forward` with a dummy batch to initialize the parameters before calling functions"
    )


class _Uninitialized(_Marked):
    """The class of classes without values: to ask where their operators run is an error."""

    @property
    def _dispatch_key(cls) -> NoReturn:
        raise _refusal(cls, "an operator")


class UninitializedTensorMixin:
    """What a Tensor without a shape can do: be converted to another dtype or device, and be made."""

    cls_to_become: ClassVar[type[Tensor]]
    __torch_function__ = disabled  # its methods refuse for themselves

    def materialize(self, shape: Sequence[int], device: Device | str | None = None, dtype: DType | None = None) -> None:
        """Become a Tensor of this shape, of values that are not set, and of the class `cls_to_become`.

        Args:
            shape: its sizes.
            device: where it lives; where this one does if left out.
            dtype: its dtype; that of this one if left out.
        """
        tensor = cast("Any", self)
        tensor.data = ops.empty(
            list(shape),
            dtype=tensor.dtype if dtype is None else dtype,
            device=tensor.device if device is None else device,
        )
        tensor.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not known: asking for it is a RuntimeError."""
        raise RuntimeError(_SHAPE)

    def size(self, dim: int | None = None) -> Any:
        """The size of no elements, (0,)."""
        data = cast("Tensor", self).data
        return data.size() if dim is None else data.size(dim)

    def share_memory_(self) -> NoReturn:
        """There is no memory: a RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (cast("Tensor", self).requires_grad,)


# Conversions of what has no elements, which give Tensors without elements.
_CONVERSIONS = ("half", "float", "double", "char", "short", "int", "long", "cpu", "to")

# What is asked of any object, or of a leaf without looking at its elements.
_KEPT = frozenset((
    "requires_grad_", "data_ptr", "is_complex", "is_floating_point", "is_signed", "get_device", "element_size",
    "register_hook",
    "register_post_accumulate_grad_hook", "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__",
    "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__dir__", "__doc__", "__module__", "__slots__",
    "__dict__", "__weakref__", "__annotations__", "__class_getitem__", "__getstate__", "__sizeof__", "__str__",
    "__del__", "__signature__",
))  # fmt: skip


def _converting(name: str) -> Callable[..., Tensor]:
    def convert(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return cast("Any", self)._converted(getattr(self.data, name)(*args, **kwargs))  # type: ignore[no-any-return]

    convert.__name__, convert.__doc__ = name, "What takes its place in another dtype, or on another device."
    return convert


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(type(self), f"Tensor.{name}")

    refuse.__name__, refuse.__doc__ = name, "There is no value yet: a ValueError."
    return refuse


def _refuse_the_rest(cls: type[Tensor]) -> None:
    """Give the class a method that refuses for each of Tensor's that looks at values."""
    own = {name for base in (cls, UninitializedTensorMixin) for name in vars(base)}
    for name in dir(Tensor):
        private = name.startswith("_") and not name.startswith("__")
        if private or name in own or name in _KEPT or not callable(getattr(Tensor, name)):
            continue
        setattr(cls, name, _converting(name) if name in _CONVERSIONS else _refusing(name))


def _without_elements(cls: type[Tensor], requires_grad: bool, device: Device | str | None, dtype: DType | None) -> Any:
    return Tensor._make_subclass(cls, ops.empty([0], dtype=dtype, device=device), requires_grad)


class UninitializedParameter(UninitializedTensorMixin, Parameter, metaclass=_Uninitialized):
    """A Parameter whose shape is not known yet.

    Args:
        requires_grad: whether gradients are computed for it.
        device: where it is going to live.
        dtype: of its elements.
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device | str | None = None, dtype: DType | None = None
    ) -> UninitializedParameter:
        return cast("UninitializedParameter", _without_elements(cls, requires_grad, device, dtype))

    def _converted(self, data: Tensor) -> Tensor:
        return data  # a Module makes it the `data` of this one

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        done: UninitializedParameter | None = memo.get(id(self))
        if done is None:
            done = memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return done


class UninitializedBuffer(UninitializedTensorMixin, Tensor, metaclass=_Uninitialized):
    """A buffer whose shape is not known yet.

    Args:
        requires_grad: whether gradients are computed for it.
        device: where it is going to live.
        dtype: of its elements.
        persistent: whether it is part of a Module's `state_dict`.
    """

    cls_to_become = Tensor
    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        made = _without_elements(cls, requires_grad, device, dtype)
        made.persistent = persistent
        made._is_buffer = True
        return cast("UninitializedBuffer", made)

    def _converted(self, data: Tensor) -> Tensor:
        return type(self)(self.requires_grad, data.device, data.dtype, self.persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        done: UninitializedBuffer | None = memo.get(id(self))
        if done is None:
            made = type(self)(self.requires_grad, self.device, self.dtype, self.persistent)
            done = memo[id(self)] = made
        return done


_refuse_the_rest(UninitializedParameter)
_refuse_the_rest(UninitializedBuffer)


def is_lazy(param: Any) -> bool:
    """Whether it is a parameter or buffer of a shape that is not known yet."""
    return isinstance(param, UninitializedTensorMixin)
