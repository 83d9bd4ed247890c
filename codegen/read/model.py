"""What the two YAML files say, as frozen data: operators and their derivative entries."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from codegen.dispatch_keys import COMPOSITE_IMPLICIT
from codegen.formula.meaning import Meaning
from codegen.formula.syntax import Expr
from codegen.schema.names import python
from codegen.schema.types import FunctionSchema, OperatorName
from codegen.signs import CONJUGATION, SignUse
from codegen.source import Span, Text
from codegen.words import COMPLEX, HalfKind, LayoutKind, NumberKind, OutDtype, PromotionKind


@dataclass(frozen=True, slots=True)
class DispatchEntry:
    """One line of a `dispatch:` table: `CPU, Meta: kernel` gives two of these."""

    key: str
    kernel: Text
    key_span: Span


@dataclass(frozen=True, slots=True)
class Layout:
    """Gradwright's `layout:` key: how results lie in memory.

    `names` are arguments by which it goes (for `columns`: results that have it); None: all Tensors.
    """

    kind: LayoutKind
    names: tuple[str, ...] | None
    text: Text


@dataclass(frozen=True, slots=True)
class Promotion:
    """Gradwright's `promotion:` key: how the dtypes of the tensor arguments are brought together.

    `arguments` names those that take part (None: every tensor argument).
    """

    kind: PromotionKind
    arguments: tuple[str, ...] | None
    text: Text


@dataclass(frozen=True, slots=True)
class ElementTypes:
    """Gradwright's `dtypes:` key: the kinds of element types that an operator takes, in the order of DTYPE_KINDS.

    What promotion gives is of one of these, or, without it, each Tensor among `arguments` (None: every Tensor). Other
    calls are an error of the class `error`.
    """

    kinds: tuple[str, ...]
    arguments: tuple[str, ...] | None
    error: str
    text: Text


@dataclass(frozen=True, slots=True)
class Numbers:
    """Gradwright's `numbers:` key: how Python ints among `arguments` become elements of an integer dtype.

    Without the key those that take part in promotion wrap around, and others have to fit.
    """

    kind: NumberKind
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompositeFormula:
    """Gradwright's `composite:` key: the operator as a formula over others.

    An `explicit` one has derivatives of its own, and is not traced through.  One that is `of_elements` stands under the
    key `foreach:`: it is for an element of each list among the arguments.
    """

    text: Text
    tree: Expr
    explicit: bool = False
    of_elements: bool = False


@dataclass(frozen=True, slots=True)
class WrittenFormula:
    """A formula as it stands in the file, with its syntax tree."""

    text: Text
    tree: Expr


@dataclass(frozen=True, slots=True)
class Convention:
    """What the derivatives are said to be at a point where there are none.

    `point` is a value of the first Tensor, a formula over the other arguments; `slopes` has one for each Tensor.
    """

    point: WrittenFormula
    slopes: tuple[WrittenFormula, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What arguments have to be: a condition, and the message of the error where it does not hold.

    The message is `words` with the value of a formula between each two of them.
    """

    condition: WrittenFormula
    words: tuple[str, ...]
    values: tuple[WrittenFormula, ...]


@dataclass(frozen=True, slots=True)
class ElementwiseFormula:
    """Gradwright's `elementwise:` key: each element of the result as an expression over elements of the arguments."""

    text: Text
    tree: Expr
    conventions: tuple[Convention, ...]  # its key `slope_at`
    requirements: tuple[Requirement, ...]  # its key `requires`
    as_is: bool = False  # `promotion: none`: the dtypes of its arguments are not brought together


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """One entry of native_functions.yaml."""

    schema: FunctionSchema
    text: Text  # of `func`
    span: Span  # of the whole entry's first line
    variants: frozenset[str] = frozenset(("function",))  # or "method", or both
    dispatch: tuple[DispatchEntry, ...] = ()  # empty: CompositeImplicitAutograd
    autogen: tuple[tuple[OperatorName, Span], ...] = ()
    tags: tuple[str, ...] = ()
    python_module: str | None = None
    structured: bool = False
    structured_delegate: Text | None = None
    promotion: Promotion | None = None
    dtypes: ElementTypes | None = None  # Gradwright: which element types it takes; None: all
    samples: tuple[Text, ...] = ()  # Gradwright: calls to test the operator with
    domain: tuple[float, float] | None = None  # Gradwright: range of the random samples of a pointwise operator
    batching: Text | None = None  # Gradwright: the rule by which vmap batches its calls
    linear: tuple[frozenset[str], ...] = ()  # Gradwright: arguments in which it is linear together, where only it knows
    numbers: Numbers | None = None  # Gradwright: how ints become elements of integer dtypes
    half: HalfKind | None = None  # Gradwright: how half precision is computed; None: by its kind
    layout: Layout | None = None  # Gradwright: how results lie in memory
    out_dtype: OutDtype | None = None  # Gradwright: which dtypes `out=` may have
    signs: tuple[SignUse, ...] = ()  # Gradwright: how Python and formulas write its calls
    # Gradwright: what all elements of the result are: a number, or an argument
    constant_result: float | str | None = None
    no_overlap: bool = False  # Gradwright: what is written may lie in the memory of no argument
    legacy_argument_orders: tuple[tuple[str, ...], ...] = ()  # Gradwright: orders of arguments that PyTorch still takes
    numbers_as_tensors: bool = False  # Gradwright: whether numbers may stand for all of its Tensors
    composite: CompositeFormula | None = None  # Gradwright: the formula that it is
    unique_part: str | None = None  # Gradwright: what of the results is determined, as Python expressions in them
    # Gradwright: the function of NumPy, SciPy or mpmath that gives the same values, perhaps with its arguments
    reference: str | None = None
    unproven: tuple[tuple[str, str], ...] = ()  # Gradwright: properties that can not be proven, and why
    # Gradwright: why its formulas are not the derivatives of what it computes
    not_a_derivative_because: str | None = None
    about: str | None = None  # Gradwright: what it computes, for its documentation
    elementwise: ElementwiseFormula | None = None  # Gradwright: the expression that an element of its result is
    kinks: tuple[WrittenFormula, ...] = ()  # Gradwright: expressions where whose zeros are it has no derivative
    overload_of: str | None = None  # Gradwright: another base name that formulas may call it by
    former_keys: tuple[Text, ...] = ()  # keys that are called otherwise by now
    late_bound: bool = False  # declared, and nothing implements it
    variant_of: OperatorName | None = None  # an in-place or out variant that its functional operator implements

    @property
    def kernel_parameters(self) -> list[str]:
        """The names of the parameters of its kernels on arrays, which get all arguments by position."""
        return [python(argument.name) for argument in self.schema.arguments if not argument.is_placement]

    @property
    def name(self) -> OperatorName:
        return self.schema.name

    @property
    def is_random(self) -> bool:
        """Whether it takes numbers of a generator."""
        return "nondeterministic_seeded" in self.tags

    @property
    def takes_complex(self) -> bool:
        """Whether all Tensors may be complex, as far as its YAML says."""
        return self.dtypes is None or COMPLEX in self.dtypes.kinds

    @property
    def gives_real(self) -> bool:
        """Whether the result of complex numbers is real, or a bool."""
        return self.promotion is not None and self.promotion.kind in (
            PromotionKind.COMPLEX_TO_FLOAT,
            PromotionKind.ALWAYS_BOOL,
        )

    @property
    def meaning(self) -> Meaning | None:
        """What a call of it is, where the generator makes use of that."""
        if self.constant_result == 0 and not self.schema.writes:
            return Meaning.ZEROS
        return Meaning.CONJUGATE if any(use.sign is CONJUGATION for use in self.signs) else None

    @property
    def is_composite_implicit(self) -> bool:
        """Whether it is traced through: its derivative follows from the operators that it calls."""
        if self.composite is not None:
            return not self.composite.explicit
        if self.elementwise is not None:
            return False
        keys = {line.key for line in self.dispatch}
        implemented = keys or self.structured_delegate is not None or self.variant_of is not None
        return COMPOSITE_IMPLICIT in keys or not implemented


@dataclass(frozen=True, slots=True)
class HelperDeclaration:
    """The signature of a helper that formulas call, from a helper file: a schema whose name is the helper's."""

    schema: FunctionSchema
    text: Text


class FormulaKind(enum.Enum):
    EXPRESSION = "expression"
    NON_DIFFERENTIABLE = "non_differentiable"
    NOT_IMPLEMENTED = "not_implemented"
    AUTO_LINEAR = "auto_linear"  # forward formulas only
    AUTO_ELEMENT_WISE = "auto_element_wise"  # forward formulas only


@dataclass(frozen=True, slots=True)
class Formula:
    """`self, other: text`: the gradients of `names`, or, where the names are outputs, a forward formula.

    `tree` is the syntax tree of an EXPRESSION; `reason` the text of `not_implemented("reason")`.
    """

    names: tuple[Text, ...]
    kind: FormulaKind
    text: Text
    tree: Expr | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DerivativeEntry:
    """One entry of derivatives.yaml; `dispatch` holds its per-key blocks (key -> formulas) where it has them."""

    schema: FunctionSchema
    text: Text  # of `name`
    formulas: tuple[Formula, ...]
    output_differentiability: tuple[bool | Text, ...] | None  # a Text is a condition
    output_differentiability_span: Span | None = None
    dispatch: tuple[tuple[Text, tuple[Formula, ...]], ...] = ()
