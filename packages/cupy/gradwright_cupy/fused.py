"""Launches the kernels that are printed in CUDA: an operator that is an expression over elements is one kernel.

A kernel is compiled when it is first needed, for the dtype and for how its operands lie; CuPy keeps what is compiled on
disk. Tensors of other dtypes than a kernel is for go by the operator's kernel over the array API.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from gradwright_cupy.arrays import Array

# How C++ calls elements in memory, by the names of dtypes.
TYPES = {
    "float32": "float", "float64": "double", "float16": "elements::half_t", "bool": "bool",
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
}  # fmt: skip
_DIMS = 4  # that kernels count in
_BLOCK = 256  # threads
_LARGEST_GRID = 1 << 16  # a thread goes on with another element where there are more


class Launcher:
    """Launches the kernels of a generated package.

    Args:
        file: its module that has the table; elements.cuh and kernels.cu lie beside it.
        kernels: by their names, how many Tensors and numbers they take, whether they give bools, and whether they may
            take integers.
    """

    def __init__(self, file: str, kernels: Mapping[str, tuple[int, int, bool, bool]]) -> None:
        self.folder = Path(file).parent
        self.kernels = kernels
        self._compiled: dict[str, Any] = {}

    def __call__(
        self,
        kernel: str,
        operator: str,
        tensors: Sequence[Array],
        numbers: Sequence[Any],
        otherwise: Callable[[], Array] | None,
    ) -> Array:
        """The result of a kernel on arrays that broadcast.

        Args:
            kernel: its name in kernels.cu; "" where there is none.
            operator: whose it is, for messages.
            tensors: all of one dtype.
            numbers: in the order of its parameters.
            otherwise: computes what the kernel is not for.

        Raises:
            NotImplementedError: it is not for these dtypes, and nothing else is there.
        """
        if not kernel or not self._is_for(kernel, tensors, numbers):
            if otherwise is not None:
                return otherwise()
            kinds = ", ".join(dict.fromkeys(str(each.dtype) for each in tensors)) or "any dtype"
            raise NotImplementedError(f"'{operator}' has no kernel for CUDA that takes {kinds}")
        dtype = tensors[0].dtype
        shape = np.broadcast_shapes(*(each.shape for each in tensors))
        out = cupy.empty(shape, dtype=np.dtype(bool) if self.kernels[kernel][2] else dtype)
        if not out.size:
            return out
        flat = all(each.shape == shape and each.flags.c_contiguous for each in tensors)
        sizes, steps = ((), [()] * len(tensors)) if flat else layout(shape, tensors)
        if len(sizes) > _DIMS:
            tensors = [cupy.ascontiguousarray(cupy.broadcast_to(each, shape)) for each in tensors]
            flat, sizes, steps = True, (), [()] * len(tensors)
        arguments: list[Any] = [np.int64(out.size), *_padded(sizes, 1)[1:], out]
        for array, each in zip(tensors, steps, strict=True):
            arguments += [array, *_padded(each, 0)]
        scalar = np.float32 if dtype.name == "float16" else dtype.type
        arguments += [scalar(number) for number in numbers]
        blocks = min(math.ceil(out.size / _BLOCK), _LARGEST_GRID)
        name = expression(kernel, TYPES[dtype.name], TYPES[out.dtype.name], flat)
        self.compiled(name)((blocks,), (_BLOCK,), tuple(arguments))
        return out

    def _is_for(self, kernel: str, tensors: Sequence[Array], numbers: Sequence[Any]) -> bool:
        """Whether a kernel computes with these arrays and numbers."""
        dtype = tensors[0].dtype
        if any(each.dtype != dtype for each in tensors) or any(isinstance(number, complex) for number in numbers):
            return False
        if dtype.kind == "f":
            return dtype.name in TYPES
        integers = not any(isinstance(number, float) for number in numbers)
        return dtype.kind in "iu" and integers and self.kernels[kernel][3]

    @functools.cached_property
    def source(self) -> str:
        """The text of all kernels."""
        return "\n".join((self.folder / name).read_text(encoding="utf-8") for name in ("elements.cuh", "kernels.cu"))

    def compiled(self, name: str) -> Any:
        """A kernel for some types, which is compiled when it is first asked for."""
        if name not in self._compiled:
            module = cupy.RawModule(code=self.source, options=("-std=c++17",), name_expressions=(name,))
            self._compiled[name] = module.get_function(name)
        return self._compiled[name]


def layout(shape: Sequence[int], tensors: Sequence[Array]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The sizes of as few dimensions as describe arrays that are broadcast, and the steps of each, in elements."""
    steps = []
    for each in tensors:
        own = [
            0 if size == 1 else stride // each.dtype.itemsize
            for size, stride in zip(each.shape, each.strides, strict=True)
        ]
        steps.append([0] * (len(shape) - len(own)) + own)
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in steps]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        joins = bool(sizes) and all(own[-1] == each[dim] * size for own, each in zip(kept, steps, strict=True))
        if joins:
            sizes[-1] *= size
        else:
            sizes.append(size)
        for own, each in zip(kept, steps, strict=True):
            if joins:
                own[-1] = each[dim]
            else:
                own.append(each[dim])
    return tuple(sizes), [tuple(each) for each in kept]


def _padded(values: Sequence[int], missing: int) -> list[np.int64]:
    """As many as kernels have dimensions, the missing ones in front."""
    return [np.int64(each) for each in (*[missing] * (_DIMS - len(values)), *values)]


def expression(kernel: str, stored: str, given: str, flat: bool) -> str:
    """A kernel for some types, as C++ names it."""
    return f"{kernel}<{stored}, {given}, {str(flat).lower()}>"
