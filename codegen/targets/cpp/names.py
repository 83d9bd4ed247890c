"""Names in generated C++: all of the YAML end with an underscore, and none of the core's does.

So keywords, macros and functions of headers need no list.
"""

from __future__ import annotations

from codegen.plan.native_kernels import NumpyFunction


def cpp(name: str) -> str:
    """A name of the YAML, or a function that is named after one, in C++."""
    return f"{name}_"


def numpy_functor(function: NumpyFunction) -> str:
    """The functor of a function of NumPy."""
    return f"{cpp(function.name)}own" if function.is_own else cpp(function.name)
