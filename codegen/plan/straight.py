"""The straight way through an operator: which calls it takes, decided once for all targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegen.formula.typed import (
    TENSOR,
    is_tensor_like,
    plain_type,
)
from codegen.read.model import NativeFunction
from codegen.schema.defaults import EnumDefault, default_value
from codegen.schema.types import (
    Argument,
    ListType,
    OptionalType,
    SchemaKind,
    base_type,
)


@dataclass(frozen=True, slots=True)
class FactoryDtype:
    """The dtype of a factory that is not told one.

    `default` is a name of runtime.base.dtypes; without it the dtype is that of `numbers` by a kind of promotion, or the
    default dtype where there are none.
    """

    default: str | None
    kind: str | None
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FastPath:
    """The straight way through an operator: plain Tensors, no mode, dtypes that need no promotion.

    `dtypes`: `any`, `same` (all promoted arguments have one dtype), `float` (one dtype, float32 or float64),
    `number` (as float, or int64), `weak` (as float, beside Scalars).  Scalars are Python's ints and floats.  `absent`
    names the arguments that have to be None; `optional_dtypes` those that may be a dtype or None. The Tensors in
    `limited` are of one of the kinds of element types in `takes` (`DTYPE_KINDS`). In `optional_lists` there
    may be None beside Tensors. `integers` are Python's ints. A factory takes no Tensor, and its kernel gets a
    dtype in any case. What is `seeded` draws random numbers, which those who stand around the calls of a thread may
    want to do otherwise. `in_float32`: float16 and bfloat16 are computed in float32, by the general path (and no
    `takes` has told them apart already).
    """

    tensors: tuple[str, ...] = ()
    optionals: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    optional_lists: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    dtypes: str = "any"
    scalars: tuple[str, ...] = ()
    int_lists: tuple[str, ...] = ()
    bool_lists: tuple[str, ...] = ()
    dtype_arguments: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    optional_dtypes: tuple[str, ...] = ()
    seeded: bool = False
    factory: FactoryDtype | None = None
    integers: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    in_float32: bool = False

    def without(self, names: frozenset[str]) -> FastPath:
        """The straight way of a call that leaves the Scalars `names` at their defaults."""
        scalars = tuple(name for name in self.scalars if name not in names)
        return replace(self, scalars=scalars, dtypes=self.dtypes if scalars or self.dtypes != "weak" else "same")


_DTYPE_RULES = {
    "default": "same",
    "always_bool": "same",
    "int_to_float": "float",
    "complex_to_float": "float",
    "bool_to_int": "number",
}


_GENERAL_ONLY = frozenset(("Stream", "Storage", "Dimname"))


def plan_fast_path(function: NativeFunction, kind: str, in_float32: bool) -> FastPath | None:
    """The straight way, for operators on arrays whose arguments are of the kinds that it knows."""
    if kind != "kernel" or function.schema.kind is not SchemaKind.FUNCTIONAL:
        return None
    if not all(is_tensor_like(plain_type(result.type)) for result in function.schema.returns):
        return None
    found: dict[str, list[str]] = {}
    for argument in function.schema.arguments:
        kind_of_argument = _fast_kind(argument)
        if kind_of_argument is None:
            return None
        found.setdefault(kind_of_argument, []).append(argument.name)
    names = {kind: tuple(found.get(kind, ())) for kind in _FAST_KINDS}
    optional = {argument.name for argument in function.schema.arguments if isinstance(argument.type, OptionalType)}
    integers = tuple(name for name in names["integers"] if name not in optional)
    seeded = "nondeterministic_seeded" in function.tags
    tensors, scalars, dtypes = names["tensors"], names["scalars"], names["optional_dtypes"]
    if not tensors and not names["lists"]:
        if len(dtypes) != 1 or not found.keys() <= _OF_FACTORIES:
            return None
        return FastPath(
            scalars=(*scalars, *names["floats"]), int_lists=names["int_lists"], absent=names["absent"],
            optional_dtypes=dtypes, seeded=seeded, factory=_factory_dtype(function, dtypes[0]),
            integers=integers,
        )  # fmt: skip
    limited = _limited(function, (*tensors, *names["optionals"]))
    if limited is None:
        return None
    takes = function.dtypes.kinds if function.dtypes is not None else ()
    if in_float32:
        takes = tuple(kind for kind in takes if kind != "half")
    path = FastPath(
        tensors=tensors, optionals=names["optionals"], scalars=scalars, int_lists=names["int_lists"],
        dtype_arguments=names["dtype_arguments"], seeded=seeded, integers=integers, limited=limited, takes=takes,
        in_float32=in_float32 and not limited,
    )  # fmt: skip
    if limited and dtypes:  # what a call asks for decides
        path, dtypes = replace(path, absent=dtypes), ()
    promotion = function.promotion
    if promotion is None:
        return replace(
            path, lists=names["lists"], optional_lists=names["optional_lists"],
            bool_lists=names["bool_lists"], absent=(*path.absent, *names["absent"]), optional_dtypes=dtypes,
        )  # fmt: skip
    operands = (*tensors, *names["optionals"])
    promoted = tuple(name for name in operands if promotion.arguments is None or name in promotion.arguments)
    if found.keys() & _UNPROMOTED or not promoted or promoted[0] not in tensors:
        return None
    kind_of_dtypes = "weak" if scalars else _DTYPE_RULES[promotion.kind]
    if limited and kind_of_dtypes in ("weak", "float") and "float" not in path.takes:
        return None
    return replace(
        path, promoted=promoted, dtypes=kind_of_dtypes, absent=(*path.absent, *names["absent"], *dtypes),
        limited=promoted[:1] if limited else (),
    )  # fmt: skip


def _limited(function: NativeFunction, tensors: Sequence[str]) -> tuple[str, ...] | None:
    """The Tensors whose element types have to be looked at; None where some stand in lists."""
    if function.dtypes is None:
        return ()
    found = []
    for argument in function.schema.arguments:
        if base_type(argument.type).name != "Tensor":
            continue
        if function.dtypes.arguments is None or argument.name in function.dtypes.arguments:
            if argument.name not in tensors:
                return None
            found.append(argument.name)
    return tuple(found)


# The kinds of arguments that the straight way knows; those that a factory may have, and those that do not go together
# with promotion.
_FAST_KINDS = (
    "tensors", "optionals", "lists", "optional_lists", "scalars", "int_lists", "bool_lists", "dtype_arguments",
    "optional_dtypes", "absent", "integers", "floats", "others",
)  # fmt: skip


_OF_FACTORIES = frozenset(("scalars", "int_lists", "optional_dtypes", "absent", "integers", "floats"))


_UNPROMOTED = frozenset(("lists", "optional_lists", "bool_lists"))


def _fast_kind(argument: Argument) -> str | None:
    """One of the kinds; None for an argument that only the general path takes."""
    type = plain_type(argument.type)
    optional = isinstance(type, OptionalType)
    inner = type.elem if isinstance(type, OptionalType) else type
    name = str(inner)
    if inner == TENSOR:
        return "optionals" if optional else "tensors"
    if isinstance(inner, ListType) and inner.elem == TENSOR:
        return "lists"
    if inner == ListType(OptionalType(TENSOR)):
        return "optional_lists"
    if is_tensor_like(inner) or name in _GENERAL_ONLY:
        return None
    if name == "ScalarType":
        return "optional_dtypes" if optional else "dtype_arguments"
    if argument.is_placement or name == "Generator":
        return "absent"
    kinds = {"Scalar": "scalars", "int[]": "int_lists", "bool[]": "bool_lists", "int": "integers", "float": "floats"}
    return kinds.get(name, None if isinstance(inner, ListType) else "others")


def _factory_dtype(function: NativeFunction, name: str) -> FactoryDtype:
    argument = next(argument for argument in function.schema.arguments if argument.name == name)
    default = default_value(argument) if argument.default is not None else None
    named = default.name if isinstance(default, EnumDefault) else None
    if function.promotion is None:
        return FactoryDtype(named, None, ())
    return FactoryDtype(named, function.promotion.kind, function.promotion.arguments or ())
