"""How C++ asks what formulas ask of a value: each intrinsic of the formula language stands in one of these tables."""

from __future__ import annotations

# Expressions of type Ref.
OWNED = {
    "sizes": "sizes_of({0})",
    "dim": "dim_of({0})",
    "numel": "numel_of({0})",
    "length": "length_of({0})",
    "info": "shape_and_dtype({0})",
    "conjugate": "conjugate_number({0})",
    "to_float": "to_float({0})",
    "to_int": "to_int({0})",
    "to_complex": "to_complex({0})",
    "repeat": "repeated({0}, {1})",
    "scalar_type": 'attribute({0}, "dtype")',
    "options": 'attribute({0}, "dtype")',
    "layout": 'attribute({0}, "layout")',
    "device": 'attribute({0}, "device")',
    "strides": 'method({0}, "stride")',
    "storage_offset": 'method({0}, "storage_offset")',
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
    "zeros": ("runtime.graph.recording", "zeros_of"),
    "geometry": ("runtime.graph.recording", "Geometry"),
}
# What Tensors here do not have.
ABSENT = frozenset(("blocksize", "memory_format"))
# Formulas that ask for these stay in Python.
LEFT_TO_PYTHON = frozenset(("list_sizes", "list_dtypes"))
