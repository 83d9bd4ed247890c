"""Custom operators: a Python function with a schema, kernels for devices, and a derivative."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

import numpy as np

from codegen.dispatch_keys import AUTOGRAD, COMPOSITE_EXPLICIT
from codegen.schema.types import base_type
from gradwright.library.autograd import AutogradFormula
from gradwright.library.libraries import Library, read_schema
from gradwright.library.schemas import infer_schema
from runtime.base.keys import key_of_device
from runtime.base.tags import Tag, as_tags
from runtime.base.tensor import Tensor
from runtime.call import registered
from runtime.call.dispatch import Operator
from runtime.call.facts import flat_tensors
from runtime.call.kernel_table import TensorKernel
from runtime.call.overloads import OpOverload
from runtime.call.public import overload_of
from runtime.graph import views

_log = logging.getLogger(__name__)

DeviceTypes = str | Sequence[str] | None


@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = ...,
    schema: str | None = ...,
    tags: Tag | Sequence[Tag] | None = ...,
) -> CustomOpDef: ...
@overload
def custom_op(
    name: str,
    fn: None = ...,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = ...,
    schema: str | None = ...,
    tags: Tag | Sequence[Tag] | None = ...,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Make an operator of a function; without one, a decorator that does.

    Args:
        name: `namespace::name`. An operator of this name that was made before is replaced.
        fn: takes and returns what the schema says; new Tensors, no arguments and no views of them.
        mutates_args: the names of the Tensors that it writes, or "unknown": all of them.
        device_types: the devices that it is for; by default all.
        schema: `(Tensor x, int n) -> Tensor`; by default it follows from the annotations.
        tags: marks; `Tag.inplace` and `Tag.out` are for functions that return what they write.

    Raises:
        ValueError: the annotations make no schema, or the schema does not fit `mutates_args`.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        marks = as_tags(tags)
        text = schema
        if text is None:
            text = infer_schema(function, mutates_args=mutates_args, tags=marks)
        elif not isinstance(mutates_args, str):
            _check_mutates(text, set(mutates_args))
        namespace, base = registered.split_name(name)
        definition = CustomOpDef(namespace, base, text, function, marks)
        definition.register_kernel(device_types)(function)
        return definition

    return make if fn is None else make(fn)


def _check_mutates(schema: str, mutated: set[str]) -> None:
    written = {argument.name for argument in read_schema(f"f{schema}").all_arguments if argument.is_write}
    if written != mutated:
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutated or '()'}` and `schema={schema}`. The schema "
            f"suggests that the op mutates {written or '{}'} which is different from what was provided to us in "
            "`mutates_args`. Please make these consistent."
        )


# The newest definition of each name.
_definitions: dict[str, CustomOpDef] = {}


def find_definition(op: object) -> CustomOpDef | None:
    """The custom operator that is meant by a definition, an overload or a name, if it is one."""
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, OpOverload) else op
    definition = _definitions.get(registered.canonical(name)) if isinstance(name, str) else None
    return (
        definition if definition is not None and registered.find(definition._qualname) is definition.operator else None
    )


class CustomOpDef:
    """An operator that `custom_op` made; a call goes through the dispatcher like that of any operator."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Sequence[Tag] = ()
    ) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._qualname = f"{namespace}::{name}"
        self._enabled: dict[str | None, bool] = {}
        _check_keywords(name, schema, tags)
        before = find_definition(self._qualname)
        if before is not None:
            before._lib._destroy()
        self._lib: Library = Library(namespace, "FRAGMENT")
        self._lib.define(name + schema, tags=[*tags, *([] if Tag.pt2_compliant_tag in tags else _MARKS)])
        self.operator = registered.get(self._qualname)
        self._opoverload = overload_of(self.operator)
        self._formula = AutogradFormula(self.operator)
        self._lib.add_kernel(self._qualname, AUTOGRAD, self._formula)
        _definitions[self._qualname] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: DeviceTypes, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register the function for some devices; without one, a decorator. None as devices means all of them.

        Raises:
            ValueError: the operator takes no Tensors, so that only an argument `device` could say which device it is.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            devices = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            for device in devices:
                if device is not None:
                    self._check_device_argument()
                key = COMPOSITE_EXPLICIT if device is None else key_of_device(device)
                self._enabled.setdefault(device, True)
                self._lib.add_kernel(self._qualname, key, _CustomKernel(self, function, device, key))
            return function

        return register if fn is None else register(fn)

    def _check_device_argument(self) -> None:
        arguments = self.operator.parsed_schema.all_arguments
        if any(str(base_type(argument.type)) == "Tensor" for argument in arguments):
            return
        if not any(argument.name == "device" and str(argument.type) == "Device" for argument in arguments):
            raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """For the length of a `with` block, use the kernel of a device, or the first function in its place."""
        if device_type not in self._enabled:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                "enable" if enabled else "disable",
                device_type,
            )
            yield
            return
        before = self._enabled[device_type]
        self._enabled[device_type] = enabled
        try:
            yield
        finally:
            self._enabled[device_type] = before

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give the operator a derivative; see `gradwright.library.register_autograd`."""
        _check_functional(self.operator, repr(self))
        self._formula.backward = backward
        self._formula.setup_context = setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what results look like: `fn` takes the operator's arguments, and reads no data of them."""
        self.operator.fake = fn
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Say how the operator is called in a batch: `func(info, in_dims, *args)` returns `(outputs, out_dims)`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.operator.vmap_rule = function
            return function

        return register if func is None else register(func)


_MARKS = (Tag.pt2_compliant_tag,)


class _CustomKernel(TensorKernel):
    """A function of a custom operator: its writes are counted, and what it returns is new."""

    __slots__ = ("_definition", "_device", "_written")

    def __init__(self, definition: CustomOpDef, function: Callable[..., Any], device: str | None, key: str) -> None:
        super().__init__(function, key)
        self._definition = definition
        self._device = device
        arguments = definition.operator.parsed_schema.all_arguments
        self._written = [i for i, argument in enumerate(arguments) if argument.is_write]

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Call the function, or the first one where this is disabled."""
        kernel: TensorKernel = self
        if not self._definition._enabled[self._device]:
            kernel = TensorKernel(self._definition._init_fn, self.key)
        out = TensorKernel.run(kernel, operator, values)
        if not (Tag.inplace in operator.tags or Tag.out in operator.tags):
            _check_new(operator, out, values)
        for tensor in flat_tensors([values[i] for i in self._written]):
            views.bump_version(tensor)
        return out


def _check_new(operator: Operator, out: Any, values: Sequence[Any]) -> None:
    seen = {memory_of(tensor) for tensor in flat_tensors(values)}
    for tensor in flat_tensors([out]):
        memory = memory_of(tensor)
        if tensor._array.size and memory in seen:
            raise RuntimeError(
                f"{operator.qualified_name}: The output of this custom operator (1) must not also be an input to this "
                "custom operator and (2) may not alias any inputs to this custom operator or other returns. Return a "
                "clone of the offending output tensor(s) (e.g. return x.clone())."
            )
        seen.add(memory)


def memory_of(tensor: Tensor) -> int:
    """What is the same for Tensors over one piece of memory, as long as they live."""
    root: Any = tensor._array
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base
    return id(root)


def _check_keywords(name: str, schema: str, tags: Sequence[Tag]) -> None:
    """Refuse Tensors among the keyword-only arguments, which no derivative could be given for."""
    parsed = read_schema(name + schema)
    keywords = [*parsed.kwarg_only, *(() if Tag.out in tags else parsed.out)]
    if any(str(base_type(argument.type)) == "Tensor" for argument in keywords):
        raise NotImplementedError(
            f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {parsed}"
        )


def _check_functional(operator: Operator, shown: str) -> None:
    schema = operator.parsed_schema
    aliases = [*(argument.alias for argument in schema.all_arguments), *(value.alias for value in schema.returns)]
    if any(alias is not None for alias in aliases):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {schema}. Please create "
            "a functional operator and register an autograd formula for that."
        )


def check_differentiable(operator: Operator, shown: str) -> None:
    """Refuse a derivative for an operator that writes or shares memory, or takes Tensors by keyword only.

    Raises:
        RuntimeError, NotImplementedError: it does.
    """
    _check_functional(operator, shown)
    keywords = operator.parsed_schema.kwarg_only
    if any(str(base_type(argument.type)) == "Tensor" for argument in keywords):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {operator.schema}"
        )
