"""Operators and kernels that are registered at run time, with the names of `torch.library`.

`custom_op` makes an operator of a function. `Library`, `define` and `impl` register schemas and kernels one by one,
also for the built-in operators, whose namespace is `aten`. A kernel is a function on Tensors here. `linear_in` is for
the helpers of a package, which its formulas call.
"""

from __future__ import annotations

from gradwright.library.check import opcheck
from gradwright.library.custom import CustomOpDef, custom_op
from gradwright.library.functions import (
    define,
    get_kernel,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from gradwright.library.libraries import Library
from gradwright.library.libraries import scoped_library as _scoped_library
from gradwright.library.schemas import infer_schema
from runtime.base.declarations import linear_in
from runtime.call.kernel_table import fallthrough_kernel

__all__ = [
    "CustomOpDef",
    "Library",
    "_scoped_library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_kernel",
    "impl",
    "infer_schema",
    "linear_in",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
