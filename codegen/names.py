"""Names in generated code: those of the YAML files and those of the generator never meet, whatever the YAML says.

An argument may be called `type`, `grad_0` or `errno`. In Python, the words that the generator uses are its own, and an
argument of such a name gets an underscore at its end, as one does that is a keyword. What is made of a name
(`self_array`) never ends with an underscore, and is the generator's word as well. In C++ all names of the YAML end with
an underscore, and none of the core's does: so keywords, macros and functions of headers need no list.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from codegen.schema.types import OperatorName

# What functions of generated Python use that have arguments for parameters or variables: builtins, what their modules
# import and define, and their own variables.
_WORDS = frozenset((
    "AttributeError", "Exception", "any", "complex", "enumerate", "float", "int", "isinstance", "len", "list", "tuple",
    "type",
    "Geometry", "LEAF", "Tensor", "all_plain", "all_plain_or_none", "any_edge", "asarray", "check_attached",
    "check_versions", "choose", "dtypes", "float32", "float64", "foreign_operand", "freed_error", "given", "grad_mode",
    "int64", "int_tuple", "interest", "layouts", "math", "missing_helper", "modified_error", "ndarray", "new",
    "next_sequence_nr", "nodes", "not_implemented_error", "numbers", "operators", "ops", "optional_real_numbers",
    "plain", "real_numbers", "set_edges", "shapes_of", "unpack_result", "versions_of", "view_of", "wrap", "zeros_for",
    "zeros_of",
    "absent", "args", "array", "arrays", "common", "each", "edge", "error", "kind", "kwargs", "node", "out", "outputs",
    "result", "version",
))  # fmt: skip
# What is made of names: `self_array`, `sin_default_op`, `losses_helpers`, `SinBackward0`.
_MADE = re.compile(
    r"_(array|array_dtype|composite|edge|edges|gradient|helpers|kernel|kernels|needed|op|overloads|sign|straight|t)$"
    r"|^(grad|tangent)_\d+$|^(jvp|record)_|Backward"
)
# What the methods of Nodes have besides.
_METHOD = frozenset(("grad", "grads", "mask", "self"))
# What the modules of operators and of packets define or import, as far as it is no function of an operator; the names
# of packets become those of the package, too.
_OF_OPERATORS = frozenset(("LaterNodes", "Operator", "dtype", "inference_names"))
_OF_PACKETS = frozenset((
    "FUNCTIONS", "PACKETS", "PYTHON_MODULES", "absent", "annotations", "choose", "frozenset", "given", "int", "len",
    "list", "methods", "nodes", "numbers", "operators", "packet", "packets", "plain", "registry", "tuple", "type",
))  # fmt: skip
# Attributes of Nodes, without the underscore before them.
_ATTRIBUTES = re.compile(
    r"^(extra|input_metadata|name|register_hook_dict|sequence_nr)$|^(of|saved|raw_saved)_|^_|_(at|edge|edges|version)$"
)


def python(name: str) -> str:
    """A name of the YAML as Python's: in functions written by hand, and in calls by keyword."""
    stem = name.rstrip("_")
    return f"{name}_" if keyword.iskeyword(stem) or stem == "__debug" or stem.endswith("_straight") else name


def argument(name: str) -> str:
    """An argument or a result as a variable of generated Python."""
    return _apart(python(name), _WORDS)


def local(name: str) -> str:
    """The same inside a method, where `self` is the Node."""
    return _apart(python(name), _WORDS | _METHOD)


def _apart(name: str, words: frozenset[str]) -> str:
    stem = name.rstrip("_")
    return f"{name}_" if stem in words or _MADE.search(stem) is not None else name


def slot(name: str) -> str:
    """The attribute of a Node for what it saved under a name."""
    return f"_of_{name}_" if _ATTRIBUTES.search(name) else f"_{name}"


def packet(base: str) -> str:
    """The packet of a base name, in its module."""
    spelled = python(base)
    stem = spelled.rstrip("_")
    return f"{spelled}_" if stem in _OF_PACKETS or stem.endswith("_overloads") else spelled


def cpp(name: str) -> str:
    """A name of the YAML, or a function that is named after one, in C++."""
    return f"{name}_"


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores at its end until it is none of those that are taken."""
    known = frozenset(taken)
    while name in known:
        name += "_"
    return name


class FunctionNames:
    """Names of the functions of overloads, `add_Tensor`: each has its own, and so has what is named after it."""

    def __init__(self, names: Iterable[OperatorName] = ()) -> None:
        self._names: dict[OperatorName, str] = {}
        self._taken: set[str] = set()
        for name in names:
            self[name]

    def __getitem__(self, name: OperatorName) -> str:
        known = self._names.get(name)
        if known is not None:
            return known
        function = _apart(f"{name.base}_{name.overload or 'default'}", _WORDS | _OF_OPERATORS)
        while not self._taken.isdisjoint(_made_of(function)):
            function += "_"
        self._taken.update(_made_of(function))
        self._names[name] = function
        return function


def _made_of(function: str) -> tuple[str, ...]:
    made = (f"{function}_{end}" for end in ("kernel", "op", "parameters", "straight", "why"))
    return (function, f"jvp_{function}", f"record_{function}", *made)
