"""What a Module holds: parameters, buffers and other Modules, in a dictionary for each kind.

Attribute access finds members in these dictionaries.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from gradwright.nn.naming import typename
from gradwright.nn.parameter import Buffer, Parameter
from runtime.base.tensor import Tensor

# The class of the Modules in a Module. It is `Module` itself, which is defined on top of these base classes.
ModuleT = TypeVar("ModuleT", bound="Members[Any]")

# The names of the dictionaries.
KINDS = ("_parameters", "_buffers", "_modules")

# What a member is called, and what may take its place, in messages.
_REPLACEMENTS = {
    "_parameters": ("parameter", "gradwright.nn.Parameter"),
    "_modules": ("child module", "gradwright.nn.Module"),
    "_buffers": ("buffer", "gradwright.nn.Buffer, gradwright.Tensor"),
}


class Members(Generic[ModuleT]):
    """Base of Module: its members, and access to them as attributes."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, ModuleT | None]
    _non_persistent_buffers_set: set[str]

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
                "(gradwright.nn.Parameter or None required)"
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

    def add_module(self, name: str, module: ModuleT | None) -> None:
        """Add a Module below this one, or None to reserve the name.

        Raises:
            TypeError: `module` is no Module, or the name no string.
            KeyError: the name can not be used.
        """
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_new("module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: ModuleT | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_new(self, kind: str, name: object, own: dict[str, Any]) -> str:
        """The name of a new member, if it can be one; `own` are the present members of that kind, which it may replace.

        Raises:
            TypeError: it is no string.
            KeyError: it is empty, has a dot in it, or is an attribute already.
        """
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in own and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        return name

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
        elif isinstance(value, Members):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._check_replaced(name, value, "_parameters")
            self._forget(name, "_modules")
            self._modules[name] = cast("ModuleT", value)
        elif isinstance(value, Buffer):
            self._check_replaced(name, value, "_parameters", "_modules")
            if "_buffers" in state:
                self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_buffers", ()) and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        else:
            if value is not None:
                self._check_replaced(name, value, *KINDS)
            for kind in KINDS:
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
        for kind in KINDS:
            if kind != but:
                state[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for kind in KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())
