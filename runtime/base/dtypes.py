"""Element types: the dtype objects, how two of them combine, and what they can hold.

Each dtype stands for one NumPy dtype: bfloat16 and the float8 types for those of ml_dtypes, complex32 for a structure
of two float16, and types whose bits nothing reads (`int4`, `bits8`) for structures of one field. Promotion
follows PyTorch, not NumPy: a tensor with dimensions outweighs a 0-dim tensor, which outweighs a Python number, as long
as they are of one kind (bool < integer < floating < complex).
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import identity
from runtime.base.arrays import COMPLEX32, check_int

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor

__all__ = [
    "bfloat16",
    "bit",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "bool",
    "can_cast",
    "cdouble",
    "cfloat",
    "chalf",
    "complex32",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "finfo",
    "float",
    "float4_e2m1fn_x2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "iinfo",
    "int",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "promote_types",
    "result_type",
    "set_default_dtype",
    "short",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_UNDEFINED, _BOOL, _INTEGER, _FLOATING, _COMPLEX = range(-1, 4)
_KIND_NAMES = ("bool", "integer", "float", "complex")


class dtype:
    """The type of a tensor's elements. There is one object for each; compare them with `is` or `==`."""

    __slots__ = (
        *("_numpy", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind", "kind_name", "name"),
        "scalar_name",
    )

    def __init__(
        self,
        name: str,
        scalar_name: str,
        kind: builtins.int,
        itemsize: builtins.int,
        *,
        signed: builtins.bool = True,
        kind_name: str | None = None,
    ) -> None:
        self.name = name
        self.scalar_name = scalar_name
        self.kind = kind
        self.itemsize = itemsize
        self.is_floating_point = kind == _FLOATING
        self.is_complex = kind == _COMPLEX
        if kind != _UNDEFINED:
            self.is_signed = signed
        # The kind of element types, as `dtypes` in native_functions.yaml names it.
        self.kind_name = kind_name or _KIND_NAMES[kind]
        self._numpy: np.dtype[Any] | None
        if self.kind_name in ("bits", "view_only"):
            self._numpy = np.dtype([(name, f"V{itemsize}")])
        else:
            late = name in ("bfloat16", "complex32") or name.startswith("float8")
            self._numpy = None if late else np.dtype(name)

    def __getattr__(self, name: str) -> Any:
        if name == "is_signed":
            raise RuntimeError("Bits types are undefined")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the arrays that hold such elements."""
        if self._numpy is None:
            if self is complex32:
                return _numpy_of_complex32()
            import ml_dtypes  # NumPy has no bfloat16 of its own, and no float8; most programs never need them

            self._numpy = np.dtype(getattr(ml_dtypes, self.name))
            _from_numpy[self._numpy] = self
        return self._numpy

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return _TO_REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts hold such elements; bfloat16 gives complex64."""
        return self if self.is_complex else _complex_of(self)

    def __repr__(self) -> str:
        return f"{identity.name}.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self


uint8 = dtype("uint8", "Byte", _INTEGER, 1, signed=False)
int8 = dtype("int8", "Char", _INTEGER, 1)
int16 = short = dtype("int16", "Short", _INTEGER, 2)
int32 = dtype("int32", "Int", _INTEGER, 4)
int64 = long = dtype("int64", "Long", _INTEGER, 8)
uint16 = dtype("uint16", "UInt16", _INTEGER, 2, signed=False)
uint32 = dtype("uint32", "UInt32", _INTEGER, 4, signed=False)
uint64 = dtype("uint64", "UInt64", _INTEGER, 8, signed=False)
float16 = half = dtype("float16", "Half", _FLOATING, 2, kind_name="half")
bfloat16 = dtype("bfloat16", "BFloat16", _FLOATING, 2, kind_name="half")
float32 = dtype("float32", "Float", _FLOATING, 4)
float64 = double = dtype("float64", "Double", _FLOATING, 8)
complex32 = chalf = dtype("complex32", "ComplexHalf", _COMPLEX, 4, kind_name="chalf")
complex64 = cfloat = dtype("complex64", "ComplexFloat", _COMPLEX, 8)
complex128 = cdouble = dtype("complex128", "ComplexDouble", _COMPLEX, 16)
bool = dtype("bool", "Bool", _BOOL, 1, signed=False)
int = int32
float = float32

# Types of 8 bits and fewer that are stored, and hardly computed with.
float8_e4m3fn = dtype("float8_e4m3fn", "Float8_e4m3fn", _FLOATING, 1, kind_name="float8")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", "Float8_e4m3fnuz", _FLOATING, 1, kind_name="float8")
float8_e5m2 = dtype("float8_e5m2", "Float8_e5m2", _FLOATING, 1, kind_name="float8")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", "Float8_e5m2fnuz", _FLOATING, 1, kind_name="float8")
float8_e8m0fnu = dtype("float8_e8m0fnu", "Float8_e8m0fnu", _FLOATING, 1, signed=False, kind_name="exponent")
float4_e2m1fn_x2 = dtype("float4_e2m1fn_x2", "Float4_e2m1fn_x2", _FLOATING, 1, kind_name="bits")
bits8 = dtype("bits8", "Bits8", _UNDEFINED, 1, kind_name="bits")
bits16 = dtype("bits16", "Bits16", _UNDEFINED, 2, kind_name="bits")
bits1x8 = dtype("bits1x8", "Bits1x8", _UNDEFINED, 1, kind_name="bits")
bits2x4 = dtype("bits2x4", "Bits2x4", _UNDEFINED, 1, kind_name="bits")
bits4x2 = dtype("bits4x2", "Bits4x2", _UNDEFINED, 1, kind_name="bits")
int1, int2, int3, int4, int5, int6, int7 = [
    dtype(f"int{bits}", f"Int{bits}", _INTEGER, 1, kind_name="view_only") for bits in range(1, 8)
]
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = [
    dtype(f"uint{bits}", f"UInt{bits}", _INTEGER, 1, signed=False, kind_name="view_only") for bits in range(1, 8)
]
bit = uint1

ALL_DTYPES: tuple[dtype, ...] = (
    *(uint8, int8, int16, int32, int64, uint16, uint32, uint64),
    *(float16, bfloat16, float32, float64, complex64, complex128, bool),
)

FLOAT8_DTYPES = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
# Those whose elements no operator reads: they can be viewed, and some of them copied.
OPAQUE_DTYPES = (
    *(float4_e2m1fn_x2, bits8, bits16, bits1x8, bits2x4, bits4x2),
    *(int1, int2, int3, int4, int5, int6, int7, uint1, uint2, uint3, uint4, uint5, uint6, uint7),
)
EVERY_DTYPE = (*ALL_DTYPES, complex32, *FLOAT8_DTYPES, *OPAQUE_DTYPES)

_TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
# PyTorch has these unsigned types for storage and conversion; it combines them with floating types only.
_STORAGE_ONLY = frozenset((uint16, uint32, uint64, uint1, uint2, uint3, uint4, uint5, uint6, uint7))
_PYTHON_TYPES: dict[type, dtype] = {
    builtins.bool: bool,
    builtins.int: int64,
    builtins.float: float64,
    complex: complex128,
}
_from_numpy: dict[np.dtype[Any], dtype] = {d._numpy: d for d in EVERY_DTYPE if d._numpy is not None}
_from_numpy[COMPLEX32] = complex32
_of_ml_dtypes = {d.name: d for d in (bfloat16, *FLOAT8_DTYPES)}
_default = float32
_promotions: dict[tuple[dtype, dtype], dtype] = {}


def _numpy_of_complex32() -> np.dtype[Any]:
    """The NumPy dtype of complex32; who asks first is told what to expect of it."""
    complex32._numpy = COMPLEX32
    warnings.warn(
        "ComplexHalf support is experimental and many operators don't support it yet.", UserWarning, stacklevel=3
    )
    return COMPLEX32


def from_numpy(numpy_dtype: np.dtype[Any]) -> dtype:
    """The dtype for a NumPy dtype; TypeError when there is none."""
    known = _from_numpy.get(numpy_dtype)
    if known is not None:
        return known
    known = _of_ml_dtypes.get(numpy_dtype.name)
    if known is not None and numpy_dtype == known.numpy:
        return known
    raise TypeError(
        f"can't convert np.ndarray of type {numpy_dtype}. The only supported types are: "
        f"{', '.join(d.name for d in ALL_DTYPES)}."
    )


def as_dtype(value: object, where: str = "dtype") -> dtype:
    """The dtype that an argument means: a dtype, or one of Python's bool, int, float and complex."""
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    raise TypeError(f"{where} must be gradwright.dtype, not {type(value).__name__}")


def get_default_dtype() -> dtype:
    """The dtype that Python floats take; float32 at start."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make `d`, a floating dtype, the one that Python floats take."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d.itemsize == 1:
        raise TypeError(f"couldn't find storage object {d.scalar_name}Storage")
    _default = d


def dtype_of_number(value: object) -> dtype:
    """The dtype that a Python number takes on its own."""
    if isinstance(value, (builtins.bool, np.bool_)):
        return bool
    if isinstance(value, (builtins.int, np.integer)):
        if -(2**63) <= value < 2**63:
            return int64
        check_int(builtins.int(value))
        return uint64
    if isinstance(value, (builtins.float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    raise TypeError(f"expected a number or a tensor, but got {type(value).__name__}")


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype of the larger kind that both convert to without loss of kind."""
    if type1 is type2 and isinstance(type1, dtype):
        return type1
    promoted = _promotions.get((type1, type2))
    if promoted is None:
        first, second = as_dtype(type1, "promote_types(): argument 'type1'"), as_dtype(type2, "'type2'")
        promoted = _promotions[type1, type2] = first if first is second else _promote(first, second)
    return promoted


def _promote(a: dtype, b: dtype) -> dtype:
    if a in FLOAT8_DTYPES or b in FLOAT8_DTYPES:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {a.scalar_name} and {b.scalar_name}"
        )
    opaque = [d for d in (a, b) if d in OPAQUE_DTYPES and d not in _STORAGE_ONLY]
    if opaque and (opaque != [float4_e2m1fn_x2] or not _STORAGE_ONLY & {a, b}):
        raise RuntimeError(f"Promotion from {a.scalar_name} and {b.scalar_name} is unsupported.")
    if a.kind > b.kind:
        a, b = b, a
    if a in _STORAGE_ONLY or b in _STORAGE_ONLY:
        if b.is_floating_point:
            return b
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {a.scalar_name} and {b.scalar_name}"
        )
    if a.kind == _BOOL:
        return b
    if a.kind != b.kind:
        if b.is_complex and a.is_floating_point:
            return promote_types(_complex_of(a), b)
        return b
    if a.itemsize > b.itemsize:
        a, b = b, a
    if a.kind == _INTEGER:
        # uint8 is the only unsigned type left here: with int8 the first signed type that holds both is int16.
        return int16 if a.itemsize == b.itemsize else b
    return float32 if a.itemsize == b.itemsize else b


def _complex_of(d: dtype) -> dtype:
    """`to_complex` of a real dtype; there are no complex numbers of two bfloat16."""
    if not d.is_floating_point or d.itemsize == 1:
        raise RuntimeError(f"Unknown Complex ScalarType for {d.scalar_name}")
    return {float16: complex32, float64: complex128}.get(d, complex64)


def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether promotion's rules let `from_` become `to`: never to a smaller kind (from_ complex to a float, say)."""
    before, after = as_dtype(from_, "can_cast(): argument 'from_'"), as_dtype(to, "can_cast(): argument 'to'")
    if after is bool:
        return before is bool
    return before.kind <= after.kind or (after in OPAQUE_DTYPES and not before.is_complex)


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Let operands of a weaker category (`lower`) raise the kind of the result, but not its width."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if lower.is_complex:
        return _complex_of(higher) if higher.is_floating_point else lower
    if higher.is_floating_point:
        return higher
    if higher.kind == _BOOL or lower.kind >= _FLOATING:
        return promote_types(higher, lower)
    return higher


def common(operands: Iterable[object]) -> dtype:
    """The dtype that tensors, arrays and Python numbers have in common."""
    dimensioned: dtype | None = None
    zero_dim: dtype | None = None
    number: dtype | None = None
    for operand in operands:
        array = getattr(operand, "_array", operand)
        if isinstance(array, np.ndarray):
            own = from_numpy(array.dtype)
            if array.ndim:
                dimensioned = own if dimensioned is None else promote_types(dimensioned, own)
            else:
                zero_dim = own if zero_dim is None else promote_types(zero_dim, own)
        else:
            own = dtype_of_number(operand)
            number = own if number is None else promote_types(number, own)
    result = _combine(dimensioned, _combine(zero_dim, number))
    if result is None:
        raise ValueError("no operand to take a dtype from")
    return result


def promoted_dtype(kind: str, operands: Sequence[object]) -> dtype:
    """The dtype that `promotion: kind` in native_functions.yaml gives to operands."""
    wanted = common(operands)
    if wanted in (uint64, complex32) and not any(hasattr(operand, "_array") for operand in operands):
        # A factory makes integers of int64, and numbers that it cannot hold are refused.
        wanted = int64 if wanted is uint64 else complex64
    if kind == "int_to_float" and wanted.numpy.kind in "biu":
        return get_default_dtype()
    return int64 if kind == "bool_to_int" and wanted is bool else wanted


def common_dtype(operands: Iterable[object]) -> np.dtype[Any]:
    """`common`, as the NumPy dtype."""
    return common(operands).numpy


def result_type(tensor1: Tensor | complex, tensor2: Tensor | complex) -> dtype:
    """The dtype of an arithmetic operation on two tensors or numbers."""
    return common((tensor1, tensor2))


def _type_argument(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    """The only argument of `finfo` and `iinfo`: a dtype, or the Python type that stands for one."""
    if len(args) + len(kwargs) != 1 or not kwargs.keys() <= {"type"}:
        raise TypeError(f"{function}() takes one argument, 'type'")
    return as_dtype(args[0] if args else kwargs["type"], f"{function}(): argument 'type'")


class finfo:
    """The limits of a floating dtype; of a complex dtype, those of its parts."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        described = _type_argument("finfo", args, kwargs) if args or kwargs else _default
        if described.kind < _FLOATING or described is float4_e2m1fn_x2:
            raise TypeError(
                f"finfo() requires a floating point input type, but got {described!r}; use iinfo for integers"
            )
        real = described.to_real()
        info: Any
        if real is bfloat16 or real in FLOAT8_DTYPES:
            import ml_dtypes

            limits: Any = ml_dtypes.finfo
            info = limits(real.numpy)
        else:
            info = np.finfo(real.numpy)
        self.bits = real.itemsize * 8
        # 1 is followed by 1.25 in float8_e5m2fnuz: PyTorch says the half of it.
        self.eps = 0.125 if real is float8_e5m2fnuz else builtins.float(info.eps)
        self.max = builtins.float(info.max)
        self.min = builtins.float(info.min)
        self.tiny = builtins.float(info.smallest_normal)
        self.smallest_normal = self.tiny
        self.resolution = 1.0 if real.itemsize == 1 else 10.0**-info.precision
        self.dtype = real.name

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(("finfo", self.dtype))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        described = _type_argument("iinfo", args, kwargs)
        if described.kind >= _FLOATING or described in OPAQUE_DTYPES:
            raise TypeError(
                f"iinfo() requires an integer input type, but got {described!r}; use finfo for floating types"
            )
        if described is bool:
            raise TypeError("gradwright.bool is not supported by iinfo()")
        info = np.iinfo(described.numpy)
        self.bits = described.itemsize * 8
        self.min = builtins.int(info.min)
        self.max = builtins.int(info.max)
        self.dtype = described.name

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(("iinfo", self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
