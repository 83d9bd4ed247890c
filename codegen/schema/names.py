"""How Python spells the names of arguments: a keyword gets an underscore at its end."""

from __future__ import annotations

import functools
import keyword


@functools.cache
def python(name: str) -> str:
    """A name of the YAML as Python's: in functions written by hand, and in calls by keyword."""
    stem = name.rstrip("_")
    return f"{name}_" if keyword.iskeyword(stem) or stem == "__debug" or stem.endswith("_fast_path") else name
