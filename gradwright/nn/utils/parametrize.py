"""Parametrizations: a parameter or buffer of a Module computed from others whenever it is asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradwright.autograd import no_grad
from gradwright.nn.containers import ModuleDict, ModuleList
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime.base.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """What was computed inside of the open `cached` blocks."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Tensor] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """A block in which each parametrized Tensor is computed once, when it is first asked for."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


def _stored(value: Tensor, like: Tensor) -> Tensor:
    """A value as what a Module keeps of it: a Parameter where `like` is one."""
    value = value.detach()
    return Parameter(value, like.requires_grad) if isinstance(like, Parameter) else value


def _check_result(what: str, tensor_name: str, value: Any, like: Tensor) -> None:
    """A parametrization keeps the dtype and the shape of what it stands for."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(value).__name__}.")
    if value.dtype != like.dtype:
        raise ValueError(
            f"{what} may not change the dtype of the tensor {tensor_name}, unless the `unsafe` flag is enabled.\n"
            f"tensor.dtype: {like.dtype}\nresult.dtype: {value.dtype}"
        )
    if value.shape != like.shape:
        raise ValueError(
            f"{what} may not change the shape of the tensor {tensor_name}, unless the `unsafe` flag is enabled.\n"
            f"tensor.shape: {like.shape}\nresult.shape: {value.shape}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one Tensor, and what it is computed from.

    That is `original`, or `original0`, `original1`, ... where `right_inverse` of the first one gives several.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        value = self._inverted(original, strict=False)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if isinstance(value, Tensor) else len(value)
        if isinstance(value, Tensor):
            if value.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {value.dtype}"
                )
            with no_grad():
                original.data = value.detach()
            self._keep("original", original)
        else:
            for number, part in enumerate(value):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors. "
                        f"Got element {number} of the sequence with type {type(part).__name__}."
                    )
                self._keep(f"original{number}", _stored(part, original))
        if not unsafe:
            _check_result("A parametrization", "", self(), original)

    def _keep(self, name: str, tensor: Tensor) -> None:
        if isinstance(tensor, Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def _inverted(self, value: Any, strict: bool) -> Any:
        """What the value is computed from; `strict`: every parametrization has to say that."""
        with no_grad():
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is None:
                    if strict:
                        raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                    continue
                try:
                    value = inverse(value)
                except NotImplementedError:
                    if strict:
                        raise
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        return value

    def originals(self) -> list[Tensor]:
        """What the Tensor is computed from."""
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Let the Tensor be `value`: set what it is computed from to what the parametrizations give for that.

        Raises:
            RuntimeError: one of them can not be inverted.
            ValueError: what it gives does not fit.
        """
        found = self._inverted(value, strict=True)
        parts = [found] if self.is_tensor else found
        if isinstance(found, Tensor) is not self.is_tensor or len(parts) != self.ntensors:
            raise ValueError(f"'right_inverse' must return {self.ntensors} tensors, as it did when it was registered")
        with no_grad():
            for place, part in zip(self.originals(), parts, strict=True):
                if part.dtype != place.dtype:
                    raise ValueError(f"right_inverse may not change the dtype: {place.dtype} to {part.dtype}")
                place.data = part.detach().clone()

    def forward(self) -> Tensor:
        """The Tensor."""
        modules = list(self)
        value: Tensor = modules[0](*self.originals())
        for module in modules[1:]:
            value = module(value)
        return value


def _property(name: str) -> property:
    def get(module: Any) -> Tensor:
        compute: ParametrizationList = module.parametrizations[name]
        if not _cache.depth:
            value: Tensor = compute()
            return value
        key = (id(module), name)
        if key not in _cache.values:
            _cache.values[key] = compute()
        return _cache.values[key]

    def set_value(module: Any, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(get, set_value)


def _parametrized_class(base: type[Module], properties: dict[str, property]) -> type[Module]:
    """The class of one Module: its properties are its alone."""

    def getstate(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See: "
            "gradwright.nn.Module.state_dict and load_state_dict"
        )

    def copied(self: Module, memo: dict[int, Any]) -> Module:
        own = type(self)
        found = {name: value for name, value in vars(own).items() if isinstance(value, property)}
        replica = Module.__new__(_parametrized_class(own.__bases__[0], found))
        memo[id(self)] = replica
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return replica

    members = {"__getstate__": getstate, "__deepcopy__": copied, "__module__": base.__module__, **properties}
    return type(f"Parametrized{base.__name__}", (base,), members)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be what a Module computes from it, or from what its `right_inverse` gives for it.

    Args:
        module: whose it is; it gets a class of its own, and `parametrizations`.
        tensor_name: its name.
        parametrization: comes after those that are there.
        unsafe: do not check that it keeps dtype and shape.

    Raises:
        ValueError: there is nothing of this name, or dtype or shape would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain: Any = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            made = parametrization(value)
            _check_result("A parametrization", tensor_name, made, value)
            if hasattr(parametrization, "right_inverse"):
                _check_result("right_inverse", tensor_name, parametrization.right_inverse(made), value)
        chain.append(parametrization)
        chain.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    chain = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(type(module), {})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = chain
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a Module has a parametrized Tensor, or one of this name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized Tensor a parameter or buffer again.

    Args:
        module: whose it is.
        tensor_name: its name.
        leave_parametrized: it keeps its present value, else it gets the one that it is computed from.

    Raises:
        ValueError: it is not parametrized, or is computed from several and these should be left.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations
    chain: ParametrizationList = parametrizations[tensor_name]
    if not chain.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    original = chain.originals()[0]
    if leave_parametrized:
        value = getattr(module, tensor_name)
        if chain.is_tensor:
            with no_grad():
                original.data = value.detach().clone()
        else:
            original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a Module as it was before one of its Tensors was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a Module the parametrizations of another, and what their Tensors are computed from.

    Args:
        from_module: where they are.
        to_module: where they are wanted.
        tensor_name: of this Tensor; None: of all.

    Raises:
        ValueError: the first has none of this name.
    """
    if not is_parametrized(from_module, tensor_name):
        raise ValueError(f"Module {from_module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = from_module.parametrizations
    for name in list(parametrizations) if tensor_name is None else [tensor_name]:
        chain: ParametrizationList = parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in chain:
            register_parametrization(to_module, name, parametrization, unsafe=chain.unsafe)
        target: Any = to_module.parametrizations[name]
        with no_grad():
            for place, value in zip(target.originals(), chain.originals(), strict=True):
                place.data = value.detach().clone()
    return to_module
