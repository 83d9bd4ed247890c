"""Registration without a Library object: by qualified name, with lasting effect unless a library is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from codegen.dispatch_keys import AUTOGRAD, COMPOSITE_EXPLICIT
from gradwright.library.autograd import AutogradFormula
from gradwright.library.custom import CustomOpDef, DeviceTypes, check_differentiable, find_definition
from gradwright.library.libraries import Library, lasting_library
from runtime.base.keys import KEYS, DispatchKeySet, check_key, key_of_device
from runtime.base.tags import Tag
from runtime.call import registered
from runtime.call.dispatch import Operator
from runtime.call.kernel_stacks import Kernel
from runtime.call.kernel_table import autograd_kernel, backend_of, is_fallthrough, resolve
from runtime.call.overloads import OpOverload
from runtime.call.public import overload_of

Op = str | OpOverload | CustomOpDef

_NAMELESS = re.compile(r"\(.*\) -> .*")


def define(qualname: Any, schema: str, *args: Any, lib: Library | None = None, tags: Tag | Sequence[Tag] = ()) -> Any:
    """Define an operator; kernels for it are registered with `impl`.

    Args:
        qualname: `namespace::name`; or a Library, and then `schema` has the name, and a decorator of the kernel is
            returned.
        schema: `(Tensor x, int n=2) -> Tensor`.
        lib: takes the operator with it when it is destroyed.
        tags: marks to keep with the operator.

    Raises:
        ValueError: the name has no namespace, or the schema is not of this form.
        RuntimeError: the schema does not parse, or the operator exists.
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, *args)
        return _registrar(qualname, name, "")
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = registered.split_name(qualname)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    library = lasting_library(namespace) if lib is None else lib
    library.define(name + schema, tags=tags)
    return None


def impl(
    qualname: Any,
    types: str | Sequence[str],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for devices; without `func`, a decorator that does.

    Args:
        qualname: `namespace::name`; or a Library, with the name in `types` and a dispatch key in `func`.
        types: device types such as "cpu", or "default" for all of them.
        func: a function on Tensors.
        lib: takes the kernel with it when it is destroyed.

    Raises:
        RuntimeError: there is no such device type.
    """
    if isinstance(qualname, Library):
        assert isinstance(types, str)
        return _registrar(qualname, types, func or "")
    kinds = (types,) if isinstance(types, str) else tuple(types)
    keys = dict.fromkeys(COMPOSITE_EXPLICIT if kind == "default" else key_of_device(kind) for kind in kinds)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        namespace, _ = registered.split_name(qualname)
        library = lasting_library(namespace) if lib is None else lib
        for key in keys:
            library.impl(qualname, function, key)
        return function

    if func is None:
        return register
    register(func)
    return None


def _registrar(library: Library, name: str, key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, function, key)
        return function

    return register


def register_kernel(
    op: Op, device_types: DeviceTypes, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register a kernel for devices (None: for all); without `func`, a decorator that does.

    Raises:
        ValueError: `op` is no operator.
        RuntimeError: there is no such device type.
    """
    definition = find_definition(_checked(op, "register_kernel"))
    if definition is not None:
        return definition.register_kernel(device_types, func) if func else definition.register_kernel(device_types)
    return impl(_name_of(op), "default" if device_types is None else device_types, func, lib=lib)


def register_autograd(
    op: Op,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Give an operator a derivative.

    Args:
        op: an operator that writes nothing and returns new Tensors.
        backward: `backward(ctx, *grads)` gets a gradient for each result and returns one for each argument, None for
            those that have none. It is made of operators, so that it can be differentiated itself.
        setup_context: `setup_context(ctx, inputs, output)` leaves in `ctx` what `backward` needs; where the schema has
            keyword-only arguments, it is `setup_context(ctx, inputs, keyword_only_inputs, output)`.
        lib: takes the derivative with it when it is destroyed.

    Raises:
        ValueError: `op` is no operator.
        AttributeError: there is no such operator.
        RuntimeError: it writes or returns its arguments.
        NotImplementedError: it takes Tensors by keyword only.
    """
    definition = find_definition(_checked(op, "register_autograd"))
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    operator = _existing(op)
    check_differentiable(operator, str(overload_of(operator)))
    library = lasting_library(operator.namespace) if lib is None else lib
    formula = AutogradFormula(operator, backward, setup_context)
    library.add_kernel(registered.canonical(operator.qualified_name), AUTOGRAD, formula)


def register_fake(
    op: Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None, allow_override: bool = True
) -> Any:
    """Say what results look like; without `func`, a decorator that does.

    Args:
        op: an operator.
        func: takes its arguments, and returns Tensors of the right shapes and dtypes without reading any data.
        lib: takes the function with it when it is destroyed.
        allow_override: whether it may replace another.

    Raises:
        ValueError: `op` is no operator.
        RuntimeError: there is no such operator, or it has such a function already.
    """
    operator = _operator(_checked(op, "register_fake"))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if operator.fake is not None and not allow_override and find_definition(op) is None:
            raise RuntimeError(f"register_fake(...): the operator {operator.qualified_name} already has a fake impl")
        library = lasting_library(operator.namespace) if lib is None else lib
        library.set_rule(operator, "fake", function)
        return function

    return register if func is None else register(func)


def register_vmap(op: Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Say how an operator is called in a batch; without `func`, a decorator that does.

    Args:
        op: an operator.
        func: `func(info, in_dims, *args, **kwargs)` gets the batched arguments, and for each the dimension of the batch
            or None; `info` has `batch_size` and `randomness`. It returns the results and their dimensions.
        lib: takes the function with it when it is destroyed.

    Raises:
        ValueError: `op` is no operator.
        AttributeError: there is no such operator.
    """
    operator = _existing(_checked(op, "register_vmap"))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library = lasting_library(operator.namespace) if lib is None else lib
        library.set_rule(operator, "vmap_rule", function)
        return function

    if func is None:
        return register
    register(func)
    return None


class SafeKernelFunction:
    """A kernel that was looked up: what it is does not change with later registrations."""

    def __init__(self, operator: Operator, kernel: Kernel | None) -> None:
        self._operator = operator
        self._kernel = kernel

    @property
    def op_handle(self) -> OpOverload:
        """The overload that the kernel belongs to."""
        return overload_of(self._operator)

    def call_boxed(self, keyset: DispatchKeySet | None, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel on the operator's arguments."""
        values = self._operator.signature.bind(args, kwargs)
        if self._kernel is None:
            return self._operator.call_below_autograd(values, backend_of(values))
        return self._kernel.run(self._operator, values)

    def __repr__(self) -> str:
        return f"SafeKernelFunction('{self._operator.qualified_name}')"


def get_kernel(op: Op, dispatch_key: str) -> SafeKernelFunction:
    """The kernel that a call takes at a dispatch key, to be called by one that is registered in its place.

    Raises:
        ValueError: `op` is no operator, or there is no such key.
        RuntimeError: there is no such operator, or no kernel.
    """
    operator = _operator(_checked(op, "get_kernel"))
    if dispatch_key not in KEYS:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    if dispatch_key.startswith(AUTOGRAD):
        backend = dispatch_key.removeprefix(AUTOGRAD)
        kernel = autograd_kernel(operator, backend or "CPU")
        return SafeKernelFunction(operator, None if kernel is None or is_fallthrough(kernel) else kernel)
    chosen = resolve(operator, check_key(dispatch_key))
    if chosen is None:
        raise RuntimeError(f"no kernel for {dispatch_key} for {operator.qualified_name}")
    return SafeKernelFunction(operator, chosen[1])


# -- what stands for an operator


def _checked(op: Op, caller: str) -> Op:
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{caller}({op}): got unexpected type for op: {type(op)}")
    return op


def _name_of(op: Op) -> str:
    return op._qualname if isinstance(op, CustomOpDef) else op.name() if isinstance(op, OpOverload) else op


def _operator(op: Op) -> Operator:
    return registered.get(_name_of(op))


def _existing(op: Op) -> Operator:
    name = _name_of(op)
    operator = registered.find(name)
    if operator is None:
        namespace, _, local = name.partition("::")
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{local}'")
    return operator
