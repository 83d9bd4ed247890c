"""Operators as objects: `ops.aten.add.Tensor` is a namespace, a packet of overloads, and an overload.

They look up what is registered when they are asked, so they are right before and after libraries come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from runtime.base import identity
from runtime.base.keys import DispatchKeySet, check_key
from runtime.base.modes import Variant
from runtime.call import registered
from runtime.call.dispatch import Operator
from runtime.call.kernel_table import TensorKernel, autograd_kernel, available_keys, call_arguments, check_results
from runtime.call.packets import numbers_as_tensors
from runtime.call.public import asked_for, overload_of

if TYPE_CHECKING:
    from runtime.call.operator_schemas import OperatorSchema


class OpNamespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if not _overload_names(self.name, name):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return self._packets.setdefault(name, OpOverloadPacket(self.name, name))

    def __iter__(self) -> Iterator[str]:
        return iter(registered.names_in(self.name))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Raise: what was called is no operator."""
        raise AttributeError(f"there is no operator '{self.name}'; operators are declared in native_functions.yaml")

    def __repr__(self) -> str:
        return f"<namespace '{identity.name}.ops.{self.name}'>"


class OpOverloadPacket:
    """All overloads of one name; a call picks the first that takes the arguments."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self._name = name
        self._overloads: dict[str, OpOverload] = {}
        self.__name__ = name
        self.__qualname__ = f"{namespace}::{name}"
        generated = registered.packet(namespace, name)
        if generated is not None:
            self.__doc__ = generated.__doc__

    def overloads(self) -> list[str]:
        """The names of the overloads; that without a name is `default`."""
        return [name or "default" for name in _overload_names(self._namespace, self._name)]

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"'{self}' has no attribute '{name}'")
        operator, function, variant = _find(self._namespace, self._name, name)
        if operator is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        known = self._overloads.get(name)
        if known is None or known.operator is not operator:
            known = self._overloads[name] = OpOverload(self, name, operator, function, variant)
        return known

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the overload that takes the arguments.

        Raises:
            RuntimeError: none does.
        """
        overloads = [getattr(self, name) for name in self.overloads()]
        if len(overloads) == 1:
            return overloads[0](*args, **kwargs)
        misfits = []
        for overload in sorted(overloads, key=lambda one: one.accepts_out != ("out" in kwargs)):
            misfit = overload.misfit(args, kwargs, strict=True)
            if misfit is None:
                return overload._call(args, kwargs)  # chosen here, and not by the program
            misfits.append(str(misfit))
        packet = registered.packet(self._namespace, self._name)
        if packet is not None:
            # The generated packet also knows what schemas do not say: numbers in the place of Tensors.
            try:
                return packet(*args, **kwargs)
            except TypeError as error:
                misfits = [str(error)]
        failures = "\n\n".join(misfits)
        raise RuntimeError(f"Overloaded torch operator invoked from Python failed to match any schema:\n{failures}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __str__(self) -> str:
        return f"{self._namespace}.{self._name}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpOverload:
    """One overload: callable, with its schema and its place in the registry."""

    def __init__(
        self,
        packet: OpOverloadPacket,
        name: str,
        operator: Operator,
        function: Callable[..., Any] | None,
        variant: Variant,
    ) -> None:
        self.operator = operator
        self.overloadpacket = packet
        self.namespace = packet._namespace
        self._opname = packet._name
        self._overloadname = name
        self._function = function
        self._variant = variant
        self.__name__ = f"{packet._name}.{name}"
        self.__qualname__ = self.name()

    def name(self) -> str:
        """`aten::add.Tensor`; without a name of the overload where it is `default`."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{suffix}"

    @cached_property
    def _schema(self) -> OperatorSchema:
        from runtime.call.operator_schemas import schema_of  # which reads schemas, as no call does

        return schema_of(self.operator, self._variant, self.name(), self.namespace)

    @property
    def tags(self) -> list[Any]:
        """The marks that the operator was defined with."""
        return list(self.operator.tags)

    @property
    def accepts_out(self) -> bool:
        """Whether this overload writes into given Tensors."""
        return self._variant == "out"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator.

        Raises:
            RuntimeError: the arguments do not fit the schema.
        """
        if self.operator.of_tensors is not None:
            with asked_for(self.operator):
                return self._call(args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._function is None:
            misfit, values = self._bind(args, kwargs)
            if misfit is not None:
                raise misfit
            return self.operator.call_bound(values)
        try:
            return self._function(*args, **kwargs)
        except TypeError:
            misfit = self.misfit(args, kwargs)
            spelled = {parameter.name: parameter.spelled for parameter in self.operator.signature.parameters}
            respelled = {spelled.get(name, name): value for name, value in kwargs.items()}
            if misfit is None and respelled.keys() == kwargs.keys():
                raise
        if misfit is not None:
            found = self._of_numbers(args, kwargs) if self.operator.numbers_as_tensors else None
            if found is None:
                raise misfit
            function, tensors = found
            return function(*tensors, **kwargs)
        return self._function(*args, **respelled)  # an argument has a keyword of Python for its name

    def _of_numbers(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        """The function that computes this where numbers stand for Tensors, and its arguments by position."""
        tensors = numbers_as_tensors(args, kwargs)
        if tensors is not None and self._function is not None:
            return self._function, tensors
        for name in self.overloadpacket.overloads():
            other: OpOverload = getattr(self.overloadpacket, name)
            operator = other.operator
            of_tensors = operator.of_tensors is not None and f"{operator.namespace}::{operator.of_tensors}"
            if of_tensors == self.operator.qualified_name and other._variant == self._variant:
                fits = other.misfit(args, kwargs, strict=True) is None
                return (other._function, args) if fits and other._function is not None else None
        return None

    def misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool = False) -> RuntimeError | None:
        """Why the operator does not take these arguments; `strict` refuses Tensors in the place of numbers."""
        rest = dict(kwargs)
        if self.accepts_out and rest.pop("out", None) is None:
            return RuntimeError(f"{self.name()}() is missing value for argument 'out'")
        misfit, _ = self._bind(args, rest)
        if misfit is None and strict and not self.operator.signature.tensors_match(args, rest):
            return RuntimeError(f"{self.name()}() has a number where a Tensor was given\n  schema: {self._schema}")
        return misfit

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[RuntimeError | None, list[Any]]:
        try:
            return None, self.operator.signature.bind(args, kwargs)
        except (TypeError, ValueError) as error:  # of ints beyond 64 bits
            return RuntimeError(str(error)), []

    def has_kernel_for_dispatch_key(self, key: str) -> bool:
        """Whether a kernel was registered for exactly this key."""
        return check_key(key) in available_keys(self.operator)

    def has_autograd_kernel(self, backend: str) -> bool:
        """Whether a kernel or a derivative handles gradients of calls with arguments of a backend."""
        return self.operator.has_derivative or autograd_kernel(self.operator, backend) is not None

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


# -- looking up


_namespaces: dict[str, OpNamespace] = {}


def namespace(name: str) -> OpNamespace:
    """The namespace of a name; there is one for any name, perhaps with nothing in it."""
    return _namespaces.setdefault(name, OpNamespace(name))


class FallbackKernel(TensorKernel):
    """A kernel for all operators that have none for a backend: takes the overload before the arguments."""

    __slots__ = ()

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Call the function with the overload of `operator`."""
        args, kwargs = call_arguments(operator, values)
        keyset = [DispatchKeySet(self.key)] if self.with_keyset else []
        return check_results(operator, self.function(*keyset, overload_of(operator), *args, **kwargs))


def _overload_names(space: str, base: str) -> list[str]:
    """The overload names of one base name, in the order of their definitions."""
    prefix = f"{space}::"
    names = [name.removeprefix(prefix) for name in registered.defined if name.startswith(prefix)]
    packet = registered.packet(space, base)
    if packet is not None:
        names = [*(f"{base}.{name}" for name in packet.overloads()), *names]
    parts = [name.partition(".") for name in names]
    return ["" if overload == "default" else overload for operator_base, _, overload in parts if operator_base == base]


def _find(space: str, base: str, overload: str) -> tuple[Operator | None, Callable[..., Any] | None, Variant]:
    name = registered.canonical(f"{base}.{overload}")
    operator = registered.defined.get(f"{space}::{name}")
    if operator is not None:
        return operator, None, "call"
    known = registered.generated_in(space).get(name)
    return (None, None, "call") if known is None else (known.operator, known.function, known.variant)
