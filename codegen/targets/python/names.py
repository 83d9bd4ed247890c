"""Names in generated Python, where those of the YAML and those of the generator never meet: see `plan/names.py`."""

from __future__ import annotations

import re

from codegen.plan.names import WORDS, apart
from codegen.schema.names import python

# What the methods of Nodes have besides.
_METHOD = frozenset(("grad", "grads", "mask", "self"))
# What the module of packets defines or imports; the names of packets become those of the package, too.
_OF_PACKETS = frozenset((
    "FUNCTIONS", "PACKETS", "PYTHON_MODULES", "absent", "annotations", "choose", "frozenset", "given", "int", "len",
    "list", "methods", "nodes", "numbers", "operators", "packet", "packets", "plain", "registry", "tuple", "type",
))  # fmt: skip
# Attributes of Nodes, without the underscore before them.
_ATTRIBUTES = re.compile(
    r"^(extra|input_metadata|name|register_hook_dict|sequence_nr)$|^(of|saved|raw_saved)_|^_|_(at|edge|edges|version)$"
)


def argument(name: str) -> str:
    """An argument or a result as a variable of generated Python."""
    return apart(python(name), WORDS)


def local(name: str) -> str:
    """The same inside a method, where `self` is the Node."""
    return apart(python(name), WORDS | _METHOD)


def slot(name: str) -> str:
    """The attribute of a Node for what it saved under a name."""
    return f"_of_{name}_" if _ATTRIBUTES.search(name) else f"_{name}"


def packet(base: str) -> str:
    """The packet of a base name, in its module."""
    spelled = python(base)
    stem = spelled.rstrip("_")
    return f"{spelled}_" if stem in _OF_PACKETS or stem.endswith("_overloads") else spelled
