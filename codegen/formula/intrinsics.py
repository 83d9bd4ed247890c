"""What formulas may ask of a value besides calling operators: sizes, dtypes, lengths.

One table of all that there are, each of which every target prints: name, the type of the value asked, the result.
`metadata` says that the answer depends on a tensor's shape or dtype only, so that a Node saves the answer and not the
tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    GEOMETRY,
    INT,
    INT_LIST,
    LAYOUT,
    MEMORY_FORMAT,
    OPTIONS,
    SCALAR,
    TENSOR,
    ValueType,
)
from codegen.schema.types import ListType, OptionalType

TENSORS = ListType(TENSOR)


@dataclass(frozen=True, slots=True)
class IntrinsicInfo:
    """`spellings` are the names in formulas, of methods or functions, `name` the one that targets print.

    `receiver` is the type of what is asked; `further` those of what follows it.
    """

    name: str
    spellings: tuple[str, ...]
    receiver: ValueType | None
    result: ValueType
    metadata: bool = False
    further: tuple[ValueType, ...] = ()


TENSOR_INTRINSICS = (
    IntrinsicInfo("sizes", ("sizes", "sym_sizes"), TENSOR, INT_LIST, metadata=True),
    IntrinsicInfo("strides", ("strides", "sym_strides"), TENSOR, INT_LIST, metadata=True),
    IntrinsicInfo("storage_offset", ("storage_offset", "sym_storage_offset"), TENSOR, INT, metadata=True),
    IntrinsicInfo("dim", ("dim", "ndimension"), TENSOR, INT, metadata=True),
    IntrinsicInfo("numel", ("numel", "sym_numel"), TENSOR, INT, metadata=True),
    IntrinsicInfo("scalar_type", ("scalar_type", "dtype"), TENSOR, DTYPE, metadata=True),
    IntrinsicInfo("options", ("options",), TENSOR, OPTIONS, metadata=True),
    IntrinsicInfo("is_complex", ("is_complex",), TENSOR, BOOL, metadata=True),
    IntrinsicInfo("is_floating_point", ("is_floating_point",), TENSOR, BOOL, metadata=True),
    IntrinsicInfo("is_contiguous", ("is_contiguous",), TENSOR, BOOL, metadata=True),
    IntrinsicInfo("layout", ("layout",), TENSOR, LAYOUT, metadata=True),
    IntrinsicInfo("device", ("device",), TENSOR, DEVICE, metadata=True),
    IntrinsicInfo("blocksize", ("sym_blocksize",), TENSOR, OptionalType(INT_LIST), metadata=True),
    IntrinsicInfo("memory_format", ("suggest_memory_format",), TENSOR, MEMORY_FORMAT, metadata=True),
    IntrinsicInfo("geometry", ("geometry",), TENSOR, GEOMETRY, metadata=True),
    IntrinsicInfo("requires_grad", ("requires_grad",), TENSOR, BOOL),
    IntrinsicInfo("defined", ("defined",), TENSOR, BOOL),
)

LIST_INTRINSICS = (
    IntrinsicInfo("list_sizes", ("to_args_sizes", "to_args_sizes_symint"), TENSORS, ListType(INT_LIST), metadata=True),
    IntrinsicInfo("list_dtypes", ("to_args_scalartypes",), TENSORS, ListType(DTYPE), metadata=True),
)

SCALAR_INTRINSICS = (
    IntrinsicInfo("to_float", ("toDouble", "toFloat"), SCALAR, FLOAT),
    IntrinsicInfo("to_complex", ("toComplexDouble",), SCALAR, SCALAR),
    IntrinsicInfo("to_int", ("toLong", "toInt"), SCALAR, INT),
    IntrinsicInfo("number_is_complex", ("isComplex",), SCALAR, BOOL),
    IntrinsicInfo("number_is_float", ("isFloatingPoint",), SCALAR, BOOL),
    IntrinsicInfo("conjugate", ("conj",), SCALAR, SCALAR),
)

# What the binding of formulas and the plan of saved state make, under conditions of their own.
MADE_INTRINSICS = (
    # `bias->sym_sizes()`: none of a Tensor that is not there.
    IntrinsicInfo(
        "optional_sizes", ("sizes", "sym_sizes"), OptionalType(TENSOR), OptionalType(INT_LIST), metadata=True
    ),
    IntrinsicInfo("length", ("size", "empty"), TENSORS, INT),
    IntrinsicInfo("repeat", ("std::vector",), OptionalType(TENSOR), ListType(OptionalType(TENSOR)), further=(INT,)),
    IntrinsicInfo("device_is", ("is_*",), DEVICE, BOOL),
    IntrinsicInfo("grad_enabled", ("GradMode::is_enabled",), None, BOOL),
    IntrinsicInfo("sqrt", ("sqrt", "std::sqrt"), SCALAR, FLOAT),
    IntrinsicInfo("exp", ("exp", "std::exp"), SCALAR, FLOAT),
    IntrinsicInfo("log", ("log", "std::log"), SCALAR, FLOAT),
    IntrinsicInfo("log1p", ("log1p", "std::log1p"), SCALAR, FLOAT),
    IntrinsicInfo("abs", ("std::abs",), SCALAR, FLOAT),
    IntrinsicInfo("info", (), TENSOR, OPTIONS),  # shape and dtype, of which `zeros` makes `zeros_like`
    IntrinsicInfo("zeros", (), OPTIONS, TENSOR),
)

INTRINSICS = {info.name: info for info in (*TENSOR_INTRINSICS, *LIST_INTRINSICS, *SCALAR_INTRINSICS, *MADE_INTRINSICS)}

METADATA = frozenset(info.name for info in INTRINSICS.values() if info.metadata)


def tensor_intrinsic(spelling: str) -> IntrinsicInfo | None:
    return _BY_SPELLING[0].get(spelling)


def scalar_intrinsic(spelling: str) -> IntrinsicInfo | None:
    return _BY_SPELLING[1].get(spelling)


def list_intrinsic(spelling: str) -> IntrinsicInfo | None:
    return _BY_SPELLING[2].get(spelling)


_BY_SPELLING = tuple(
    {spelling: info for info in table for spelling in info.spellings}
    for table in (TENSOR_INTRINSICS, SCALAR_INTRINSICS, LIST_INTRINSICS)
)
