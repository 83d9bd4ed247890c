"""Names of the generated functions of operators: those of the YAML and those of the generator never meet.

An argument may be called `type`, `grad_0` or `errno`. In Python, the words that the generator uses are its own, and an
argument of such a name gets an underscore at its end, as one does that is a keyword. What is made of a name
(`self_array`) never ends with an underscore, and is the generator's word as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from codegen.schema.names import python
from codegen.schema.types import OperatorName

# What functions of generated Python use that have arguments for parameters or variables: builtins, what their modules
# import and define, and their own variables.
WORDS = frozenset((
    "AttributeError", "Exception", "any", "bool", "complex", "enumerate", "float", "int", "isinstance", "len", "list",
    "tuple", "type",
    "Geometry", "LEAF", "Tensor", "all_plain", "all_plain_or_none", "any_edge", "are_arrays", "are_arrays_or_none",
    "asarray", "base_ops", "check_attached", "generic",
    "check_versions", "choose", "dtypes", "float32", "float64", "foreign_operand", "freed_error", "given", "grad_mode",
    "info_of", "int64", "int_tuple", "thread_handlers", "is_int64_or_none", "layouts", "math", "missing_helper",
    "modified_error", "ndarray", "new", "next_sequence_nr", "nodes", "not_implemented_error", "numbers", "operators",
    "ops", "optional_real_numbers", "plain", "real_numbers", "set_edges", "shapes_of", "together", "types",
    "unpack_result", "versions_of", "view_of", "wrap", "zeros_for", "zeros_of",
    "absent", "args", "array", "arrays", "common", "each", "edge", "error", "kind", "kwargs", "node", "out", "outputs",
    "result", "version",
))  # fmt: skip
# What is made of names: `self_array`, `sin_default_op`, `losses_helpers`, `SinBackward0`.
_MADE = re.compile(
    r"_(array|array_dtype|composite|edge|edges|gradient|helpers|kernel|kernels|module|needed|op|overloads|sign|fast_path|t)$"
    r"|^(defined|grad|shared|tangent)_\d+$|^(composite|inplace|jvp|record)_|Backward"
)
# What the module of operators defines or imports, as far as it is no function of an operator.
_OF_OPERATORS = frozenset(("LazyNodes", "Operator", "deferred", "dtype", "inference_names"))
# What the module of packets defines or imports; the names of packets become those of the package, too.
_OF_PACKETS = frozenset((
    "FUNCTIONS", "PACKETS", "PYTHON_MODULES", "absent", "annotations", "choose", "document", "frozenset", "given",
    "int", "len", "list", "methods", "nodes", "numbers", "operators", "packet", "packets", "plain", "registry", "tuple",
    "type",
))  # fmt: skip


def apart(name: str, words: frozenset[str]) -> str:
    """The name, with an underscore at its end where it is one of the generator's words."""
    stem = name.rstrip("_")
    return f"{name}_" if stem in words or _MADE.search(stem) is not None else name


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores at its end until it is none of those that are taken."""
    known = frozenset(taken)
    while name in known:
        name += "_"
    return name


def packet(base: str) -> str:
    """The packet of a base name, in its module."""
    spelled = python(base)
    stem = spelled.rstrip("_")
    return f"{spelled}_" if stem in _OF_PACKETS or stem.endswith("_overloads") else spelled


def module_alias(module: str) -> str:
    """What generated code calls a module of functions: `runtime.operators.kernels.arithmetic` is `arithmetic_kernels`.

    One of a package, `mylib.kernels`, is `mylib_kernels_module`.
    """
    package, _, name = module.rpartition(".")
    if not package.startswith("runtime."):
        return f"{module.replace('.', '_')}_module"
    return f"{name}_{package.rpartition('.')[2]}"


class FunctionNames:
    """Names of the functions of overloads, `add_Tensor`: each has its own, and so has what is named after it.

    Those of operators of a base are where these are, in another module.
    """

    def __init__(self, names: Iterable[OperatorName] = (), base: FunctionNames | None = None) -> None:
        self._names: dict[OperatorName, str] = {}
        self._taken: set[str] = set()
        self.base = base
        for name in names:
            self[name]

    def __getitem__(self, name: OperatorName) -> str:
        known = self._names.get(name)
        if known is not None:
            return known
        if self.base is not None and name in self.base:
            return self.base[name]
        function = apart(name.function_name, WORDS | _OF_OPERATORS)
        while not self._taken.isdisjoint(_made_of(function)):
            function += "_"
        self._taken.update(_made_of(function))
        self._names[name] = function
        return function

    def __contains__(self, name: OperatorName) -> bool:
        return name in self._names

    def is_of_base(self, name: OperatorName) -> bool:
        """Whether an operator is one of the base."""
        return name not in self and self.base is not None and name in self.base


def _made_of(function: str) -> tuple[str, ...]:
    made = (f"{function}_{end}" for end in ("failing", "kernel", "op", "parameters", "fast_path"))
    before = (f"{start}_{function}" for start in ("composite", "inplace", "jvp", "record"))
    return (function, *before, *made)
