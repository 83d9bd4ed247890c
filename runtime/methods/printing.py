"""How Tensors look as text.

All numbers of a tensor share one notation, chosen from the largest and smallest magnitudes shown: whole numbers as
`3.`, others with `precision` digits, and exponents once the range is too wide for that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import dtypes
from runtime.base.arrays import readable
from runtime.base.class_dispatch import stands_in
from runtime.base.meta_array import MetaArray
from runtime.base.overriding import takes_over
from runtime.graph import forward
from runtime.methods.print_options import PrintOptions, print_options

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor

_PREFIX = "tensor("
# Past these, fixed-point text would lose the small numbers or grow too wide.
_WIDEST_RATIO = 1000.0
_LARGEST_FIXED = 1.0e8
_SMALLEST_FIXED = 1.0e-4


def tensor_text(tensor: Tensor) -> str:
    """The `repr` of a Tensor: values, then size, dtype and gradient where they are not evident."""
    options = print_options()
    kind = type(tensor)
    prefix = f"{kind.__name__}(" if takes_over(kind) or stands_in(kind) else _PREFIX
    without_data = isinstance(tensor._array, MetaArray)
    if tensor.is_sparse:
        array = np.empty(0)
    else:
        array = tensor.numpy(force=True) if tensor._opaque and not without_data else tensor._array
    dtype = tensor.dtype
    default = dtypes.get_default_dtype()
    evident_complex = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
    suffixes: list[str] = []
    if tensor.is_sparse:
        body = _sparse_text(tensor, len(prefix), options)
        suffixes += [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]  # type: ignore[attr-defined]
        evident = dtype in (default, evident_complex, dtypes.int64, dtypes.bool)
    elif without_data:
        body = "..."
        suffixes.append(f"size={array.shape}")
        evident = dtype is default
    elif array.size == 0:
        body = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={array.shape}")
        evident = dtype is default
    else:
        body = array_text(array, len(prefix), options)
        if options.edgeitems == 0:
            suffixes.append(f"size={array.shape}")
        evident = dtype in (default, evident_complex, dtypes.int64, dtypes.bool)
    if tensor._opaque and not tensor.is_sparse:
        suffixes.insert(0, f"device='{tensor.device}'")
    if not evident:
        suffixes.append(f"dtype={dtype}")
    if tensor.is_sparse:
        suffixes.append(f"layout={tensor.layout}")
    try:
        node = tensor.grad_fn
        name = None if node is None else node.name()
    except RuntimeError:  # a view that has lost its history
        name = "Invalid"
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = forward.tangent_of(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _with_suffixes(prefix + body, suffixes, options.linewidth, tensor.is_sparse)


def _sparse_text(tensor: Any, indent: int, options: PrintOptions) -> str:
    """The parts of a sparse Tensor, as Tensors."""
    texts = []
    for name in ("indices", "values"):
        array = getattr(tensor, f"_{name}")()._array
        before = f"{name}=tensor("
        size = f", size={array.shape}" if not array.size else ""
        text = array_text(array, indent + len(before), options) if array.size else "[]"
        texts.append(f"{before}{text}{size})")
    return (",\n" + " " * indent).join(texts)


def array_text(array: np.ndarray[Any, Any], indent: int, options: PrintOptions) -> str:
    """The values in brackets; lines after the first are indented to stand under the first value."""
    array = readable(array)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    summarize = array.size > options.threshold
    shown = _edges(array, options.edgeitems) if summarize else array
    with np.errstate(all="ignore"):
        notation = _Complex(shown, options) if array.dtype.kind == "c" else _notation(shown, options)
    return _nested(array, indent, summarize, notation, options)


class _Plain:
    """Integers and booleans, as Python writes them."""

    def __init__(self, shown: np.ndarray[Any, Any]) -> None:
        self.width = max((len(str(value)) for value in shown.ravel().tolist()), default=1)

    def text(self, value: Any) -> str:
        return str(value).rjust(self.width)


class _Float:
    """Floating-point numbers in one notation: whole (`3.`), fixed-point or with an exponent."""

    def __init__(self, shown: np.ndarray[Any, Any], options: PrintOptions) -> None:
        self.precision = options.precision
        self.whole = False
        self.exponent = bool(options.sci_mode)
        self.width = 1
        values = shown.astype(np.float64).ravel()
        values = values[np.isfinite(values) & (values != 0)]
        if values.size == 0:
            # Zeros, infinities and NaN settle nothing: `0.` is the only finite number there is to write.
            self.whole = bool(np.isfinite(shown).any()) or not shown.size
            self.exponent = False
            return
        magnitudes = np.abs(values)
        smallest, largest = float(magnitudes.min()), float(magnitudes.max())
        self.whole = bool((values == np.ceil(values)).all())
        if options.sci_mode is None:
            self.exponent = largest / smallest > _WIDEST_RATIO or largest > _LARGEST_FIXED
            if not self.whole:
                self.exponent = self.exponent or smallest < _SMALLEST_FIXED
        self.width = max(len(self._unpadded(value)) for value in values.tolist())

    def _unpadded(self, value: float) -> str:
        if self.exponent:
            return f"{value:.{self.precision}e}"
        if self.whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{self.precision}f}"

    def text(self, value: float) -> str:
        return self._unpadded(value).rjust(self.width)


class _Complex:
    """Real and imaginary parts, each in its own notation."""

    def __init__(self, shown: np.ndarray[Any, Any], options: PrintOptions) -> None:
        self.real = _Float(shown.real, options)
        self.imag = _Float(shown.imag, options)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip()
        sign = "" if imag.startswith("-") else "+"
        return f"{self.real.text(value.real)}{sign}{imag}j"


def _notation(shown: np.ndarray[Any, Any], options: PrintOptions) -> _Plain | _Float:
    return _Float(shown, options) if shown.dtype.kind == "f" else _Plain(shown)


def _edges(array: np.ndarray[Any, Any], edgeitems: int) -> np.ndarray[Any, Any]:
    """The elements that a summary shows, which alone decide the notation."""
    for axis, size in enumerate(array.shape):
        if size > 2 * edgeitems:
            ends = [*range(edgeitems), *range(size - edgeitems, size)]
            array = array.take(ends, axis=axis)
    return array


def _nested(
    array: np.ndarray[Any, Any],
    indent: int,
    summarize: bool,
    notation: _Plain | _Float | _Complex,
    options: PrintOptions,
) -> str:
    if array.ndim == 0:
        return notation.text(array.item())
    edge = options.edgeitems
    shorten = summarize and array.shape[0] > 2 * edge
    if array.ndim > 1:
        rows = [*array[:edge], None, *array[array.shape[0] - edge :]] if shorten else list(array)
        texts = ["..." if row is None else _nested(row, indent + 1, summarize, notation, options) for row in rows]
        separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
        return f"[{separator.join(texts)}]"
    if shorten:
        ends = [array[:edge].tolist(), array[array.shape[0] - edge :].tolist()]
        texts = [*map(notation.text, ends[0]), " ..." if edge else "...", *map(notation.text, ends[1])]
    else:
        texts = [notation.text(value) for value in array.tolist()]
    in_line = max(1, (options.linewidth - indent) // (notation.width + 2))
    lines = [", ".join(texts[start : start + in_line]) for start in range(0, len(texts), in_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: list[str], linewidth: int, apart: bool = False) -> str:
    """Add `, suffix` for each, on a new line where the last one is full, and the closing bracket.

    Args:
        text: what they follow.
        suffixes: in order.
        linewidth: how long a line may be.
        apart: begin on a new line.
    """
    last_line = linewidth if apart else len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * len(_PREFIX) + suffix
            last_line = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"
