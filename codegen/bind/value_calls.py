"""Calls in formulas that are no operators: what is asked of a value, and what C++ says about values."""

from __future__ import annotations

from dataclasses import replace

from codegen.bind.overloads import Overloads
from codegen.formula import syntax
from codegen.formula.intrinsics import list_intrinsic, scalar_intrinsic, tensor_intrinsic
from codegen.formula.typed import (
    BOOL,
    DEVICE,
    FLOAT,
    GEOMETRY,
    INT,
    INT_LIST,
    NONE,
    NUMBERS,
    TENSOR,
    Arithmetic,
    Conditional,
    Element,
    Intrinsic,
    Literal,
    TupleDisplay,
    TupleType,
    TypedExpr,
    ValueType,
)
from codegen.schema.types import ListType, OptionalType

# Constructors that change nothing of a value, as far as formulas see it.
_CONVERSIONS = frozenset((
    "Scalar", "at::Scalar", "c10::Scalar", "IntArrayRef", "at::IntArrayRef", "SymIntArrayRef", "c10::SymInt",
    "at::OptionalArrayRef", "c10::OptionalArrayRef", "at::native::get_nested_tensor_impl",
))  # fmt: skip
# Methods that make an ordinary number of a symbolic one, which it is here, with the number of their arguments.
_READ_SYMBOLIC = {"expect_int": 0, "expect_bool": 0, "guard_int": 2, "guard_bool": 2, "guard_float": 2}
_NUMBER_FUNCTIONS = frozenset(("sqrt", "exp", "log", "log1p", "abs"))


def value_function(node: syntax.Call, name: str, args: list[TypedExpr], overloads: Overloads) -> TypedExpr | None:
    """What formulas say in C++ about values: constructors, `std::get`, functions on numbers."""
    start, end, count = node.start, node.end, len(args)
    if name == "std::get" and count == 1 and len(node.template) == 1 and isinstance(args[0].type, TupleType):
        position = node.template[0]
        if position.isdigit() and int(position) < len(args[0].type.elems):
            type = args[0].type.elems[int(position)]
            return Element(type, start, end, args[0], Literal(INT, start, end, int(position)))
    if name == "std::tuple" and not args:
        none = Literal(TENSOR, start, end, None)
        length = len(node.template)
        return TupleDisplay(TupleType((TENSOR,) * length), start, end, (none,) * length)
    if name == "std::vector" and count in (1, 2) and args[0].type == INT:
        elem = Literal(OptionalType(TENSOR), start, end, None) if count == 1 else args[1]
        if not isinstance(elem.type, TupleType):
            return Intrinsic(ListType(elem.type), start, end, "repeat", (elem, args[0]))
    if count == 1:
        (arg,) = args
        if name in _CONVERSIONS:
            return arg
        if name == "std::optional" and not isinstance(arg.type, OptionalType | TupleType):
            return replace(arg, type=OptionalType(arg.type))
        if name == "TensorGeometry" and arg.type == TENSOR:
            return Intrinsic(GEOMETRY, start, end, "geometry", args=(arg,))
        if arg.type == ListType(TENSOR) and (info := list_intrinsic(name)) is not None:
            return Intrinsic(info.result, start, end, info.name, (arg,), name)
        if name.removeprefix("std::") in _NUMBER_FUNCTIONS and arg.type in NUMBERS and overloads.fraction(arg):
            return Intrinsic(FLOAT, start, end, name.removeprefix("std::"), (arg,))
    if not args and name in ("Tensor", "at::Tensor"):
        return Literal(NONE, start, end, None)
    if not args and name == "GradMode::is_enabled":
        return Intrinsic(BOOL, start, end, "grad_enabled", ())
    return None


def value_method(
    node: syntax.MethodCall, receiver: TypedExpr, type: ValueType, args: list[TypedExpr]
) -> TypedExpr | None:
    """Methods that are no operators: sizes, dtypes, optional and list access."""
    start, end = node.start, node.end
    if isinstance(receiver.type, OptionalType) and node.name in ("has_value", "value", "value_or"):
        if node.name == "has_value":
            return Intrinsic(BOOL, start, end, "defined", (receiver,))
        if node.name == "value":
            return replace(receiver, type=receiver.type.elem)
        if len(args) == 1:
            return Conditional(
                receiver.type.elem,
                start,
                end,
                Intrinsic(BOOL, start, end, "defined", (receiver,)),
                receiver,
                args[0],
            )
    if type == TENSOR:
        info = tensor_intrinsic(node.name)
        if info is not None and not args:
            if info.name == "sizes" and node.arrow and isinstance(receiver.type, OptionalType):
                return Intrinsic(OptionalType(INT_LIST), start, end, "optional_sizes", (receiver,), node.name)
            return Intrinsic(info.result, start, end, info.name, (receiver,), node.name)
        if node.name in ("size", "sym_size", "stride", "sym_stride") and len(args) == 1 and args[0].type == INT:
            info = tensor_intrinsic("sizes" if node.name.endswith("size") else "strides")
            assert info is not None
            whole = Intrinsic(info.result, start, end, info.name, (receiver,), f"{node.name}s")
            return Element(INT, start, end, whole, args[0])
    if isinstance(type, ListType) and node.name in ("size", "empty") and not args:
        length = Intrinsic(INT, start, end, "length", (receiver,))
        if node.name == "size":
            return length
        return Arithmetic(BOOL, start, end, "==", (length, Literal(INT, start, end, 0)))
    if isinstance(type, ListType) and node.name in ("front", "back") and not args:
        position = Literal(INT, start, end, 0 if node.name == "front" else -1)
        return Element(type.elem, start, end, receiver, position)
    if type == DEVICE and node.name.startswith("is_") and not args:
        return Intrinsic(BOOL, start, end, "device_is", (receiver,), node.name.removeprefix("is_"))
    if type in NUMBERS:
        if _READ_SYMBOLIC.get(node.name) == len(args):
            return receiver
        info = scalar_intrinsic(node.name)
        if info is not None and not args:
            return Intrinsic(info.result, start, end, info.name, (receiver,))
    return None
