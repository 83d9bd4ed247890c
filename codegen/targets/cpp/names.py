"""Names in generated C++: all of the YAML end with an underscore, and none of the core's does.

So keywords, macros and functions of headers need no list.
"""

from __future__ import annotations


def cpp(name: str) -> str:
    """A name of the YAML, or a function that is named after one, in C++."""
    return f"{name}_"
