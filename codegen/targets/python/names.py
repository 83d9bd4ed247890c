"""Names in generated Python, where those of the YAML and those of the generator never meet: see `plan/names.py`."""

from __future__ import annotations

import functools
import re

from codegen.plan.names import WORDS, apart
from codegen.schema.names import python

# What the methods of Nodes have besides.
_METHOD = frozenset(("grad", "grads", "mask", "self"))
# Attributes of Nodes, without the underscore before them.
_ATTRIBUTES = re.compile(
    r"^(extra|input_metadata|name|register_hook_dict|sequence_nr)$|^(of|saved|raw_saved)_|^_|_(at|edge|edges|version)$"
)


@functools.cache
def argument(name: str) -> str:
    """An argument or a result as a variable of generated Python."""
    return apart(python(name), WORDS)


@functools.cache
def local(name: str) -> str:
    """The same inside a method, where `self` is the Node."""
    return apart(python(name), WORDS | _METHOD)


@functools.cache
def slot(name: str) -> str:
    """The attribute of a Node for what it saved under a name."""
    return f"_of_{name}_" if _ATTRIBUTES.search(name) else f"_{name}"
