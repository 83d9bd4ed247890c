"""How C++ asks what formulas ask of a value: each intrinsic of the formula language stands in one of these tables."""

from __future__ import annotations

from collections.abc import Mapping

# Expressions of type Ref: a function, and what it gets besides the values.
OWNED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sizes": ("sizes_of", ()),
    "optional_sizes": ("optional_sizes_of", ()),
    "dim": ("dim_of", ()),
    "numel": ("numel_of", ()),
    "length": ("length_of", ()),
    "info": ("shape_and_dtype", ()),
    "conjugate": ("conjugate_number", ()),
    "to_float": ("to_float", ()),
    "to_int": ("to_int", ()),
    "to_complex": ("to_complex", ()),
    "repeat": ("repeated", ()),
    "scalar_type": ("attribute", ('"dtype"',)),
    "options": ("attribute", ('"dtype"',)),
    "layout": ("attribute", ('"layout"',)),
    "device": ("attribute", ('"device"',)),
    "strides": ("method", ('"stride"',)),
    "storage_offset": ("method", ('"storage_offset"',)),
}
# Expressions of type bool.
TESTS = {
    "defined": "is_defined({0})",
    "is_complex": "is_complex({0})",
    "is_contiguous": "is_contiguous({0})",
    "number_is_complex": "is_complex_number({0})",
    "number_is_float": "is_float_number({0})",
    "grad_enabled": "grad_enabled",
}
# Bools that a method or an attribute of the Tensor in Python tells.
ASKED = {"is_floating_point": "method", "requires_grad": "attribute"}
# A bool by the name in the formula.
DEVICE_IS = "device_is"
# Calls of functions of Python, by module and name.
CALLED = {
    "sqrt": ("math", "sqrt"),
    "exp": ("math", "exp"),
    "log": ("math", "log"),
    "log1p": ("math", "log1p"),
    "abs": ("operator", "abs"),
    "zeros": ("runtime.graph.recording", "zeros_of"),
    "geometry": ("runtime.graph.recording", "Geometry"),
}
# What Tensors here do not have.
ABSENT = frozenset(("blocksize", "memory_format"))
# Formulas that ask for these stay in Python.
LEFT_TO_PYTHON = frozenset(("list_sizes", "list_dtypes"))
