"""What is registered in this process: operators by qualified name, and kernels that wait for theirs.

A qualified name is `namespace::name.overload`, without `.default`. Generated operators are those of namespace `aten`
and those of packages; their in-place and out variants have no kernels of their own and follow the operator that they
are variants of.
"""

from __future__ import annotations

import importlib
import threading
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from codegen.module_names import GENERATED
from runtime.base.modes import Variant
from runtime.call.facts import BUILT_IN
from runtime.call.kernel_stacks import Kernel, KernelTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from runtime.call.dispatch import Operator

# The generated package of each namespace that has one, and who defines each namespace.
packages: dict[str, str] = {BUILT_IN: GENERATED}
definers: dict[str, str] = {BUILT_IN: "native_functions.yaml"}
# Operators that were defined at run time, in the order of their definitions.
defined: dict[str, Operator] = {}
_lock = threading.RLock()  # held while a table of kernels or this one is changed
_waiting: dict[str, KernelTable] = {}


class Generated(NamedTuple):
    """A generated callable, and the operator that it is, or is a variant of."""

    function: Callable[..., Any]
    operator: Operator
    variant: Variant


def canonical(qualname: str) -> str:
    """`ns::f` for `ns::f.default`."""
    return qualname.removesuffix(".default")


def split_name(qualname: str) -> tuple[str, str]:
    """Namespace and name.

    Raises:
        ValueError: the name has none, or several namespaces.
    """
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}: names of operators consist '
            "of a namespace and a name, as in aten::sin"
        )
    return parts[0], parts[1]


def generated_in(namespace: str) -> Mapping[str, Generated]:
    """The generated operators of a namespace and their variants, by name without namespace; none of most."""
    package = packages.get(namespace)
    return _generated(package) if package is not None else _NONE


_NONE: Mapping[str, Generated] = {}


@cache
def _generated(package: str) -> dict[str, Generated]:
    functions = vars(importlib.import_module(f"{package}.operators"))
    generated: dict[str, Generated] = {}
    for name, info in importlib.import_module(f"{package}.registry").OPERATORS.items():
        operator = functions[f"{info.function}_op"]
        generated[name] = Generated(functions[info.function], operator, "call")
        variants: tuple[tuple[str | None, Variant], ...] = ((info.inplace, "inplace"), (info.out, "out"))
        for variant, kind in variants:
            if variant is not None:
                base, _, overload = variant.partition(".")
                spelled = f"{base}_{overload or 'default'}"
                function = functions.get(spelled) or functions.get(f"{spelled}_")  # where it is a word of the generator
                if function is not None:
                    generated.setdefault(variant, Generated(function, operator, kind))
    return generated


def name_of(operator: Operator, variant: Variant) -> str:
    """The name of an operator, or of a variant of a generated one, without namespace."""
    if variant == "call":
        return operator.qualified_name.partition("::")[2]
    return _names_of_variants(packages[operator.namespace])[operator, variant]


@cache
def _names_of_variants(package: str) -> dict[tuple[Operator, Variant], str]:
    return {(known.operator, known.variant): name for name, known in _generated(package).items()}


def packet(namespace: str, base: str) -> Any:
    """The generated packet of a base name; None where there is none."""
    package = packages.get(namespace)
    return None if package is None else importlib.import_module(f"{package}.packets").PACKETS.get(base)


def find(qualname: str) -> Operator | None:
    """The operator of a name, if it is there."""
    qualname = canonical(qualname)
    operator = defined.get(qualname)
    if operator is not None:
        return operator
    namespace, _, name = qualname.partition("::")
    known = generated_in(namespace).get(name)
    return known.operator if known is not None and known.variant == "call" else None


def exists(qualname: str) -> bool:
    """Whether a name is taken, by an operator or by a variant of one."""
    namespace, _, name = canonical(qualname).partition("::")
    return find(qualname) is not None or name in generated_in(namespace)


def get(qualname: str) -> Operator:
    """The operator of a name.

    Raises:
        RuntimeError: there is none.
    """
    operator = find(qualname)
    if operator is None:
        raise RuntimeError(f"operator {qualname} does not exist")
    return operator


def define(qualname: str, operator: Operator) -> None:
    """Add an operator; kernels that were registered for it before come into force."""
    with _lock:
        defined[qualname] = operator
        for key, kernel in _waiting.pop(qualname, ()):
            operator.add_kernel(key, kernel)


def undefine(qualname: str) -> None:
    """Take an operator away; kernels of other libraries wait for the next one of its name."""
    with _lock:
        operator = defined.pop(qualname)
        if operator.table is not None:
            _waiting[qualname] = operator.table


def add_kernel(qualname: str, key: str, kernel: Kernel) -> None:
    """Put a kernel in the table of an operator, or keep it until there is one.

    Raises:
        RuntimeError: the name is that of a variant, which has no kernels.
    """
    namespace, _, name = qualname.partition("::")
    variant = generated_in(namespace).get(name)
    with _lock:
        operator = find(qualname)
        if operator is not None:
            operator.add_kernel(key, kernel)
            return
        if variant is not None:
            raise RuntimeError(
                f"{qualname} has no kernels of its own: it writes what {variant.operator.qualified_name} computes. "
                f"Register for {variant.operator.qualified_name}."
            )
        _waiting.setdefault(qualname, KernelTable()).add(key, kernel)


def remove_kernel(qualname: str, key: str, kernel: Kernel) -> None:
    """Undo `add_kernel`."""
    with _lock:
        operator = find(qualname)
        if operator is not None:
            operator.remove_kernel(key, kernel)
            return
        table = _waiting.get(qualname)
        if table is not None:
            table.remove(key, kernel)
            if not table.keys():
                del _waiting[qualname]


def has_kernel(qualname: str, key: str) -> bool:
    """Whether a kernel was registered at run time for a key of an operator."""
    operator = find(qualname)
    table = _waiting.get(qualname) if operator is None else operator.table
    return table is not None and table.get(key) is not None


def names_in(namespace: str) -> dict[str, list[str]]:
    """The operators of a namespace: overload names ("" is `default`) by base name."""
    names: dict[str, list[str]] = {}
    known = list(generated_in(namespace))
    prefix = f"{namespace}::"
    known += [name.removeprefix(prefix) for name in defined if name.startswith(prefix)]
    for name in known:
        base, _, overload = name.partition(".")
        names.setdefault(base, []).append(overload)
    return names
