"""The closed sets of words that the YAML files may use: tags, variants, kinds of values."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

BUILT_IN_NAMESPACE = "aten"
"""The namespace of the operators that Gradwright brings."""

SHORTENING_MODULES = ("fft", "linalg", "special")
"""Modules in which operators lie under shorter names: `linalg_det` is `linalg.det`."""

TARGETS = ("python", "cpp")
CPP = "cpp"
"""What the generator emits, in the order in which it says so: packages of codegen/targets."""
RULES = "rules"
FRAMEWORKS = ("torch", "jax")
"""Targets that make the operators of a package those of another framework."""
CUDA = "cuda"
"""Kernels on a GPU, of a back end that a package brings."""
ALL_TARGETS = (*TARGETS, RULES, *FRAMEWORKS, CUDA)
"""With what is emitted where it is asked for alone."""

PROPERTIES = (
    "returns", "gradient", "gradient_complex", "complex_step", "boundary", "linear", "forward", "forward_complex",
    "transposed", "second", "second_complex", "modes", "undefined", "needed", "saved", "dtypes", "layouts", "empty",
    "inplace", "out", "inputs", "batching", "reference", "beyond", "native",
)  # fmt: skip
"""What `verify` proves of an operator: the names of the properties in gradwright/verify/table.py."""

REFERENCE_LIBRARIES = ("numpy", "scipy", "mpmath")
"""With whose functions values of operators are compared."""

FRAMEWORK_PROPERTIES = (*PROPERTIES, "compiled", "registered")
"""With what it proves besides of what a target has made of an operator for another framework."""

VARIANTS = ("function", "method")

TAGS = frozenset((
    "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
    "inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides",
    "needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant",
    "pointwise", "pt2_compliant_tag", "reduction", "view_copy",
))  # fmt: skip

TENSOR_OPTIONS = ("dtype", "layout", "device", "pin_memory")
"""The arguments that say what kind of tensor a factory makes. An out= variant takes that from its out argument."""

PLACEMENT_TYPES = frozenset(("Device", "Layout", "MemoryFormat"))
PLACEMENT_FLAGS = frozenset(("pin_memory", "non_blocking"))
"""Types of arguments that only a dispatcher reads, and flags that are such arguments; kernels take neither."""


class LayoutKind(Enum):
    """How results lie in memory: the kinds of `layout:`."""

    CONTIGUOUS = "contiguous"  # in the order of the indices
    ITERATED = "iterated"  # dimensions in the order in which they lie in the arguments
    COLUMNS = "columns"  # the last two dimensions swapped, as LAPACK leaves matrices
    PRESERVED = "preserved"  # the very strides of an argument
    INDEXED = "indexed"  # as iterated, for the dimensions that indices leave and those that they make
    OWN = "own"  # as the kernel leaves it


class OutDtype(Enum):
    """Which dtypes `out=` may have."""

    CAST = "cast"  # any that the result can be cast to
    EXACT = "exact"  # that of the result
    GIVEN = "given"  # any: the operator computes in it, as if it were asked for


# Kinds of element types, and groups of them, that `dtypes:` names; the classes of errors for others.
# Few operators take complex numbers of two float16 (`chalf`). Types of the last kinds are stored, not computed with:
# `float8`, `exponent` (float8_e8m0fnu), and those whose bits nothing reads, which can be copied (`bits`) or not even
# that (`view_only`).
COMMON_KINDS = ("bool", "integer", "half", "float", "complex")
STORED_KINDS = ("chalf", "float8", "exponent", "bits", "view_only")
DTYPE_KINDS = COMMON_KINDS + STORED_KINDS
DTYPE_GROUPS = {"real": COMMON_KINDS[:4], "floating": ("half", "float"), "common": COMMON_KINDS}
FORMER_KINDS = {"shell": "view_only"}
"""Kinds by the names that they had before."""
COMPLEX = "complex"
COMPLEX_KINDS = frozenset((COMPLEX, "chalf"))
DTYPE_ERRORS = ("NotImplementedError", "RuntimeError", "ValueError")


class PromotionKind(Enum):
    """How `promotion:` brings the dtypes of arguments together."""

    DEFAULT = "default"  # the common dtype in, the common dtype out
    INT_TO_FLOAT = "int_to_float"  # as default, but integers and bools compute in the default float dtype
    ALWAYS_BOOL = "always_bool"  # the common dtype in, bool out: comparisons (the kernel returns bool itself)
    BOOL_TO_INT = "bool_to_int"  # as default, but bool computes in int64: sums, products
    COMPLEX_TO_FLOAT = "complex_to_float"  # common dtype in, kernel returns the real dtype: abs


class HalfKind(Enum):
    """How half precision is computed."""

    FLOAT32 = "float32"  # float16 and bfloat16 are computed in float32, and what comes out is rounded once
    AS_IS = "as_is"  # the kernel takes them as they are: it moves or compares elements, or looks at the dtype


class NumberKind(Enum):
    """What becomes of Python numbers, and but for CUT of ints alone, beside Tensors of an integer dtype."""

    WRAP = "wrap"  # modulo the size of the dtype
    FIT = "fit"  # an error where the dtype cannot hold them
    CUT = "cut"  # the same of all numbers, whose fractions are cut off; real dtypes refuse complex ones, too
    AS_IS = "as_is"  # the kernel looks at them


# The exit status of a program that Ctrl-C has ended, as shells say it.
INTERRUPTED = 130


def words_of(kinds: type[Enum]) -> tuple[str, ...]:
    """The words of the YAML for the members of one of these sets."""
    return tuple(kind.value for kind in kinds)


def counted(number: int, noun: str) -> str:
    """`1 result`, `2 results`, `2 properties`."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{number} {noun}s"


@dataclass(frozen=True, slots=True)
class Meant:
    """A hint that can be followed: `written` was most likely meant to be `meant`."""

    written: str
    meant: str

    def __str__(self) -> str:
        return f"did you mean '{self.meant}'?"


_CLOSE = 0.6  # how much of two words has to be the same

Hint = str | Meant | None
"""How what a message is about can be mended, as far as it is known."""


def did_you_mean(word: str, known: Iterable[str]) -> Meant | None:
    """A hint naming the word of `known` that `word` was most likely meant to be."""
    folded = {candidate.lower(): candidate for candidate in sorted(known)}
    close = _closest(word.lower(), tuple(folded))
    return Meant(word, folded[close]) if close is not None else None


@functools.lru_cache(maxsize=16)
def _closest(word: str, known: tuple[str, ...]) -> str | None:
    """What `difflib.get_close_matches` gives first, found with the fewest comparisons."""
    matcher = difflib.SequenceMatcher(b=word)
    bounds = []
    for candidate in known:
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= _CLOSE and (bound := matcher.quick_ratio()) >= _CLOSE:
            bounds.append((bound, candidate))
    best = (_CLOSE, "")
    for bound, candidate in sorted(bounds, reverse=True):
        if bound < best[0]:
            break  # and so are all that follow
        matcher.set_seq1(candidate)
        best = max(best, (matcher.ratio(), candidate))
    return best[1] or None
