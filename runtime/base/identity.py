"""The name that dtypes, sizes and layouts print before their own: `gradwright.float32`.

It is `torch` in a program that was written for PyTorch and runs on Gradwright under that name, as programs compare what
is printed. Who prints reads it from this module each time.
"""

from __future__ import annotations

from codegen.module_names import PREFIX, PUBLIC_PACKAGE

name = "gradwright"

# The packages whose frames are ours; behind the last one of them stands what the user wrote, or a library.
PACKAGES = frozenset((PUBLIC_PACKAGE,) if PREFIX else (PUBLIC_PACKAGE, "generated", "runtime"))
