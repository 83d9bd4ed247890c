"""The keys of an entry of native_functions.yaml, in one table: what each means, what may stand there, what reads it.

The order is that of `format`. The reader, the JSON Schema of editors, the table in docs/yaml.md and the order of keys
are made of it; a key that is added is added here, with a field of `NativeFunction` for what it says.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codegen.dispatch_keys import KERNEL_KEYS
from codegen.read.own_keys import OwnKeys
from codegen.read.pytorch_keys import DEVICE_CHECKS, UFUNC_KEYS, PytorchKeys
from codegen.read.values import Values
from codegen.read.yaml_text import Fields
from codegen.schema.types import FunctionSchema
from codegen.words import (
    DTYPE_ERRORS,
    DTYPE_GROUPS,
    DTYPE_KINDS,
    PROPERTIES,
    REFERENCE_LIBRARIES,
    TAGS,
    VARIANTS,
    HalfKind,
    LayoutKind,
    NumberKind,
    OutDtype,
    PromotionKind,
    words_of,
)

Grammar = Mapping[str, object]
"""A JSON Schema of values."""


@dataclass(frozen=True, slots=True)
class Readers:
    """What reads the values of keys in one file."""

    values: Values
    pytorch: PytorchKeys
    own: OwnKeys


class Arguments(enum.Enum):
    """Where the value of a key names arguments, but for the formulas among values."""

    NOWHERE = "nowhere"
    ANYWHERE = "anywhere"
    IN_PARENTHESES = "in parentheses"


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        name: as the YAML writes it.
        documentation: what it says, a phrase in Markdown.
        grammar: what may stand there.
        read: what reads and checks it where it is written; None for one that is read with another key.
        field: of `NativeFunction`, which holds what it says; empty for what is checked and not kept.
        is_own: whether it is Gradwright's, and not PyTorch's.
        former: the name that it had before, which is read with a warning.
        is_formula: whether its value is a formula, or has formulas in it.
        arguments: where its value names arguments of the operator.
        in_lines: whether `format` writes a list in lines, and never in brackets.
    """

    name: str
    documentation: str
    grammar: Grammar
    read: Callable[[Readers, Fields, FunctionSchema], object] | None = None
    field: str = ""
    is_own: bool = False
    former: str = ""
    is_formula: bool = False
    arguments: Arguments = Arguments.NOWHERE
    in_lines: bool = False

    @property
    def has_effect(self) -> bool:
        """Whether it says something to this generator, and not to PyTorch's own build alone."""
        return self.is_own or bool(self.field) or self.name == "func"


def _own(read: Callable[[OwnKeys, Fields, FunctionSchema], object]) -> Any:
    return lambda readers, fields, schema: read(readers.own, fields, schema)


def _pytorch(read: Callable[[PytorchKeys, Fields, FunctionSchema], object]) -> Any:
    return lambda readers, fields, schema: read(readers.pytorch, fields, schema)


def _boolean(name: str) -> Any:
    return lambda readers, fields, schema: readers.values.boolean(fields, name)


def _word(name: str) -> Any:
    return lambda readers, fields, schema: readers.values.word(fields, name)


# -- what may stand there

WORD = r"[A-Za-z_][A-Za-z_0-9]*"
SIGNATURE: Grammar = {"type": "string", "pattern": rf"^\s*{WORD}(\.{WORD})?\s*\("}
_ARGUMENTS = r"\([^()]*\)"
_BOOLEAN: Grammar = {"type": "boolean"}
_STRING: Grammar = {"type": "string"}
_STRINGS: Grammar = {"type": "array", "items": _STRING}
_STRING_OR_STRINGS: Grammar = {"anyOf": [_STRING, _STRINGS]}
_NUMBER_OR_STRING: Grammar = {"type": ["number", "string"]}
_LOOP: Grammar = {"type": "string", "pattern": r"^\w+ ?\([\w, ]+\)$"}
_TAG: Grammar = {"enum": sorted(TAGS)}


def _pattern(pattern: str, *examples: object) -> Grammar:
    return {"type": "string", "pattern": rf"^\s*{pattern}\s*$", **_examples(*examples)}


def _examples(*examples: object) -> Grammar:
    return {"examples": list(examples)} if examples else {}


def _one_of(words: tuple[str, ...]) -> str:
    return f"({'|'.join(words)})"


def _several_of(words: tuple[str, ...]) -> str:
    return rf"{_one_of(words)}(\s*,\s*{_one_of(words)})*"


_KINDS = (*DTYPE_KINDS, *DTYPE_GROUPS)
_DISPATCH_KEYS = _pattern(_several_of(tuple(sorted(KERNEL_KEYS))))

# fmt: off
KEYS = (
    Key(
        "func",
        "the schema: name, overload after a dot, arguments, results. *Gradwright:* a list of schemas, of operators "
        "that say the same",
        {"anyOf": [SIGNATURE, {"type": "array", "minItems": 1, "items": SIGNATURE}]}, in_lines=True,
    ),
    Key(
        "variants", "`function` (default), `method`, or both: `function, method`",
        {**_pattern(_several_of(VARIANTS)), "default": "function"},
        _pytorch(PytorchKeys.variants), "variants",
    ),
    Key(
        "structured", "PyTorch's way to write a kernel once, at the variant with out arguments",
        _BOOLEAN, _boolean("structured"), "structured",
    ),
    Key(
        "structured_delegate", "the structured operator that this one has its kernel from",
        _STRING, _pytorch(PytorchKeys.structured_delegate), "structured_delegate",
    ),
    Key("structured_inherits", "the base class of a structured kernel", _STRING, _word("structured_inherits")),
    Key(
        "precomputed", "arguments that a structured kernel computes first", _STRINGS,
        _pytorch(PytorchKeys.precomputed),
    ),
    Key(
        "ufunc_inner_loop", "the inner loop of an element-wise kernel, by kind",
        {
            "anyOf": [
                _LOOP,
                {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(UFUNC_KEYS, _LOOP)},
            ]
        },
        _pytorch(PytorchKeys.ufunc_inner_loop),
    ),
    Key(
        "dispatch",
        "a table from dispatch key to kernel; several keys may share a line: `CPU, Meta: kernel`. *Gradwright:* keys "
        "alone, `CPU`, are those of the kernel that has the operator's name. Without it the operator is composite",
        {
            "anyOf": [
                _DISPATCH_KEYS,
                {
                    "type": "object",
                    "additionalProperties": False,
                    "patternProperties": {_DISPATCH_KEYS["pattern"]: _STRING},
                },
            ]
        },
        _pytorch(PytorchKeys.dispatch), "dispatch",
    ),
    Key(
        "composite", "the operator as a formula over others, which it is traced through to",
        {**_STRING, **_examples("linalg_vector_norm(self - other, p)")},
        _own(OwnKeys.composite), "composite", is_own=True, is_formula=True,
    ),
    Key(
        "about", "what the operator computes, in a sentence of its documentation, where no function of Python says it",
        _STRING, _own(OwnKeys.about), "about", is_own=True,
    ),
    Key(
        "foreach", "the same for an element of each list among the arguments",
        {**_STRING, **_examples("add(self, other, alpha)")},
        _own(OwnKeys.foreach), "composite", is_own=True, is_formula=True,
    ),
    Key(
        "elementwise",
        "each element of the result as an expression over elements of the arguments; kernels, derivatives, forward "
        "mode, batching and samples follow",
        {**_STRING, **_examples("self / (1 + abs(self))")},
        _own(OwnKeys.elementwise), "elementwise", is_own=True, is_formula=True,
    ),
    Key(
        "slope_at",
        "the derivatives of an `elementwise` expression where it has none: by values of the first Tensor, a number, or "
        "one for each Tensor",
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [_NUMBER_OR_STRING, {"type": "array", "items": _NUMBER_OR_STRING}]
            },
            **_examples({"0": 0}),
        },
        is_own=True, former="at", is_formula=True,
    ),
    Key(
        "requires",
        "what the arguments of an `elementwise` expression have to be: conditions, and what to say where one does not "
        "hold, with values in braces",
        {
            "type": "object",
            "additionalProperties": _STRING,
            **_examples({"lambd >= 0": "lambd must not be negative, but it is {lambd}"}),
        },
        is_own=True, is_formula=True,
    ),
    Key(
        "autogen",
        "variants that are made of this entry: in-place (`mul_.Tensor`) and out (`mul.out`). *Gradwright:* `none`, "
        "where some would follow",
        _STRING, _pytorch(PytorchKeys.autogen), "autogen",
    ),
    Key(
        "python_module",
        "the namespace of the function in Python: `nn`, `linalg`, `special`, `fft`. *Gradwright:* `none`, where one "
        "would follow",
        {"type": "string", "pattern": f"^{WORD}$"}, _pytorch(PytorchKeys.python_module), "python_module",
    ),
    Key("category_override", "what PyTorch's build treats the operator as", _STRING, _word("category_override")),
    Key(
        "cpp_no_default_args", "arguments whose default C++ does not get", _STRINGS,
        _pytorch(PytorchKeys.cpp_no_default_args), arguments=Arguments.ANYWHERE,
    ),
    Key(
        "device_check", "whether arguments must be on one device", {"enum": list(DEVICE_CHECKS)},
        _pytorch(PytorchKeys.device_check),
    ),
    Key(
        "device_guard", "whether a call switches to the device of its arguments", _BOOLEAN, _boolean("device_guard"),
    ),
    Key(
        "manual_cpp_binding", "the C++ binding is written by hand", _BOOLEAN, _boolean("manual_cpp_binding"),
    ),
    Key(
        "manual_kernel_registration", "kernels are registered by hand", _BOOLEAN,
        _boolean("manual_kernel_registration"),
    ),
    Key(
        "use_const_ref_for_mutable_tensors", "how C++ passes a Tensor that is written", _BOOLEAN,
        _boolean("use_const_ref_for_mutable_tensors"),
    ),
    Key(
        "promotion",
        "how dtypes are brought together before the kernel; in parentheses the arguments that take part",
        _pattern(f"(none|{_one_of(words_of(PromotionKind))}" + rf"\s*({_ARGUMENTS})?)", *words_of(PromotionKind)),
        _own(OwnKeys.promotion), "promotion", is_own=True, arguments=Arguments.IN_PARENTHESES,
    ),
    Key(
        "half", "how float16 and bfloat16 are computed: in float32, rounded once, or by the kernel as they are",
        {"enum": list(words_of(HalfKind))}, _own(OwnKeys.half), "half", is_own=True,
    ),
    Key(
        "dtypes",
        "which element types the operator takes; in parentheses the arguments that are looked at; after `else` the "
        "class of the error for others",
        _pattern(
            rf"{_several_of(_KINDS)}\s*({_ARGUMENTS})?\s*(\belse\s+{_one_of(DTYPE_ERRORS)})?",
            *_KINDS, "floating, complex(self) else RuntimeError",
        ),
        _own(OwnKeys.dtypes), "dtypes", is_own=True, arguments=Arguments.IN_PARENTHESES,
    ),
    Key(
        "out_dtype",
        "which dtypes `out=` may have: any that the result can be cast to, that of the result, or any, in which the "
        "operator computes",
        {"enum": list(words_of(OutDtype))}, _own(OwnKeys.out_dtype), "out_dtype", is_own=True,
    ),
    Key(
        "layout", "how results lie in memory; in parentheses the arguments by which it goes",
        _pattern(_one_of(words_of(LayoutKind)) + rf"\s*({_ARGUMENTS})?", "contiguous", "iterated(self)", "columns"),
        _own(OwnKeys.layout), "layout", is_own=True, arguments=Arguments.IN_PARENTHESES,
    ),
    Key(
        "tags", "one tag or a list", {"anyOf": [_TAG, {"type": "array", "items": _TAG}]},
        _pytorch(PytorchKeys.tags), "tags",
    ),
    Key(
        "batching", "the rule by which `vmap` performs a call for a whole batch",
        _pattern(WORD, "pointwise", "reduction", "along", "loop"), _own(OwnKeys.batching), "batching", is_own=True,
    ),
    Key(
        "python_operator",
        "how Python and formulas write its calls: a sign between its first two arguments, or with its first one; "
        "several, comma-separated",
        {
            **_STRING,
            **_examples("self + other, other + self", "-self", "abs(self)", "1 / self", "condition ? self : other"),
        },
        _own(OwnKeys.python_operator), "signs", is_own=True, former="sign", arguments=Arguments.ANYWHERE,
    ),
    Key(
        "numbers",
        "how Python ints become elements of integer dtypes: modulo, with an error for what does not fit, or by the "
        "kernel; `cut` is for numbers of the dtype of the result",
        _pattern(
            _one_of(words_of(NumberKind)) + rf"\s*{_ARGUMENTS}", "wrap(other)", "fit(min, max)", "as_is(exponent)",
        ),
        _own(OwnKeys.numbers), "numbers", is_own=True, arguments=Arguments.IN_PARENTHESES,
    ),
    Key(
        "legacy_argument_orders",
        "orders of arguments that PyTorch had first, and still takes with a warning, such as `self, alpha, other`; "
        "one, or a list",
        _STRING_OR_STRINGS, _own(OwnKeys.legacy_argument_orders), "legacy_argument_orders",
        is_own=True, former="old_orders", in_lines=True, arguments=Arguments.ANYWHERE,
    ),
    Key(
        "numbers_as_tensors", "whether Python numbers may stand for all of its Tensors",
        _BOOLEAN, _boolean("numbers_as_tensors"), "numbers_as_tensors", is_own=True,
    ),
    Key(
        "constant_result", "what all elements of the result are: a number, or the argument that holds it",
        {**_NUMBER_OR_STRING, **_examples(0, "fill_value")},
        _own(OwnKeys.constant_result), "constant_result", is_own=True, former="fills", arguments=Arguments.ANYWHERE,
    ),
    Key(
        "no_overlap", "whether what is written may lie in the memory of no argument, not even in the same places",
        _BOOLEAN, _boolean("no_overlap"), "no_overlap", is_own=True, former="exclusive",
    ),
    Key(
        "linear",
        "Tensor arguments, comma-separated, in which the operator is linear together, where its formulas do not show "
        "it; or several such groups",
        {**_STRING_OR_STRINGS, **_examples("self", "self, other")}, _own(OwnKeys.linear), "linear",
        is_own=True, arguments=Arguments.ANYWHERE,
    ),
    Key(
        "kinks", "expressions over the arguments at whose zeros the operator has no derivative",
        {**_STRING_OR_STRINGS, **_examples("self - other")}, _own(OwnKeys.kinks), "kinks", is_own=True,
        is_formula=True,
    ),
    Key(
        "overload_of", "a base name under which formulas may call this operator, too",
        {**_STRING, **_examples("maximum")}, _word("overload_of"), "overload_of", is_own=True,
    ),
    Key(
        "samples", "calls to test the operator with, such as `T(3, 4), 1, keepdim=True`",
        {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
        _own(OwnKeys.samples), "samples", is_own=True, in_lines=True,
    ),
    Key(
        "domain", "the range of the random samples of an element-wise operator",
        {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}},
        _own(OwnKeys.domain), "domain", is_own=True,
    ),
    Key(
        "unique_part", "what of the results the arguments determine, as Python expressions in the results",
        _STRING, _own(OwnKeys.unique_part), "unique_part", is_own=True, former="determined",
    ),
    Key(
        "reference",
        "the function of NumPy, SciPy or mpmath that gives the same values, with which proofs compare them; in "
        "parentheses its arguments, where they are not the operator's Tensors and numbers in their order",
        _pattern(
            rf"({'|'.join(REFERENCE_LIBRARIES)})(\.{WORD})+\s*(\(.*\))?", "scipy.special.erf",
            "scipy.special.eval_legendre(n, x)",
        ),
        _own(OwnKeys.reference), "reference", is_own=True, arguments=Arguments.IN_PARENTHESES,
    ),
    Key(
        "unproven", "properties that `verify` can not prove, and why",
        {"type": "object", "propertyNames": {"enum": list(PROPERTIES)}, "additionalProperties": _STRING},
        _own(OwnKeys.unproven), "unproven", is_own=True,
    ),
    Key(
        "not_a_derivative_because", "why its formulas are not the derivatives of what it computes",
        _STRING, _own(OwnKeys.not_a_derivative_because), "not_a_derivative_because",
        is_own=True, former="convention",
    ),
)
# fmt: on

NAMES = tuple(key.name for key in KEYS)
FORMER_NAMES = {key.former: key.name for key in KEYS if key.former}


def documented_keys() -> list[str]:
    """The lines of the table of keys in docs/yaml.md."""
    rows = (
        f"| `{key.name}` | {'*Gradwright:* ' if key.is_own else ''}{key.documentation} |"
        for key in KEYS
        if key.has_effect
    )
    return ["| key | value |", "|---|---|", *rows]
