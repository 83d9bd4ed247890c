"""What a fast path is made of: what is asked of a call, the kernel, its results, their history.

The fast path serves the common case: plain Tensors, no mode, dtypes that need no promotion. Where a guard fails, the
call goes on to the general path, which knows all of the rules. A target prints each step from a table and decides
nothing; so Python and C++ take the same calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from codegen.plan.layout import LayoutPlan
from codegen.python_source import PythonFunction
from codegen.words import COMMON_KINDS, PromotionKind

# -- arguments


class Asked(Enum):
    """What the fast path asks of an argument, and so what becomes of it in the call of the kernel."""

    TENSOR = "a plain Tensor: its array"
    OPTIONAL_TENSOR = "a plain Tensor or None: its array"
    TENSORS = "a list of plain Tensors: their arrays"
    OPTIONAL_TENSORS = "a list of plain Tensors and None: their arrays"
    NUMBER = "an int or a float of Python"
    OPTIONAL_NUMBER = "an int or a float of Python, or None"
    INTEGER = "an int of Python"
    OPTIONAL_INTEGER = "an int of Python, or None"
    INTS = "ints, which become a tuple"
    OPTIONAL_INTS = "ints, which become a tuple, or None"
    FLAG = "a bool of Python"
    OPTIONAL_FLAG = "a bool of Python, or None"
    FLAGS = "a tuple of bools"
    OPTIONAL_FLOATS = "a list or a tuple of Python, at whose numbers the kernel looks; or None"
    DTYPE = "a dtype: NumPy's"
    OPTIONAL_DTYPE = "a dtype: NumPy's; or None"
    ABSENT = "None"
    PLACEMENT = "None, which the kernel does not get"
    PLACEMENT_FLAG = "nothing, and the kernel does not get it"
    NOTHING = "nothing"


TENSOR_KINDS = frozenset((Asked.TENSOR, Asked.OPTIONAL_TENSOR, Asked.TENSORS, Asked.OPTIONAL_TENSORS))
LISTS = frozenset((Asked.TENSORS, Asked.OPTIONAL_TENSORS))
PLACEMENTS = frozenset((Asked.PLACEMENT, Asked.PLACEMENT_FLAG))
INT_LISTS = frozenset((Asked.INTS, Asked.OPTIONAL_INTS))


@dataclass(frozen=True, slots=True)
class FastPathArgument:
    """An argument; `size` is that of a list of ints which may be given as one int."""

    name: str
    asked: Asked
    size: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.asked not in INT_LISTS:
            raise ValueError(f"{self.name}: only a list of ints has a size")


# -- guards


class GuardKind(Enum):
    """What has to hold for the fast path, in the order in which it is asked.

    The values are what `native.explain` reads (`generated/guards.py`).
    """

    PLAIN = "plain"
    PLAIN_OR_NONE = "plain_or_none"
    ALL_PLAIN = "all_plain"
    ALL_PLAIN_OR_NONE = "all_plain_or_none"
    NO_MODE = "no_mode"
    ABSENT = "absent"
    TUPLE = "tuple"
    SEQUENCE_OR_NONE = "sequence_or_none"
    DTYPE = "dtype"
    DTYPE_OR_NONE = "dtype_or_none"
    INTEGER = "integer"
    FLAG = "flag"
    FLAG_OR_NONE = "flag_or_none"
    NUMBER = "number"
    NUMBER_OR_NONE = "number_or_none"
    NO_CALL_HANDLERS = "no_call_handlers"  # a handler may replace a call that draws random numbers
    # Of the dtypes of Tensors:
    FLOAT_DTYPE = "float_dtype"  # float32 or float64
    INEXACT_DTYPE = "inexact_dtype"  # these, or complex numbers of these
    NUMBER_DTYPE = "number_dtype"  # float32, float64 or int64
    WITH_NUMBER = "with_number"  # a number is one of the dtype: beside int64 an int of 64 bits; or it is None
    NOT_HALF = "not_half"  # half precision is computed in float32, by the general path
    SAME_DTYPE = "same_dtype"
    SAME_DTYPE_OR_NONE = "same_dtype_or_none"
    TAKEN = "taken"  # one of some kinds of dtypes (`codegen.words.COMMON_KINDS`)
    TAKEN_OR_NONE = "taken_or_none"


_ORDER = {kind: index for index, kind in enumerate(GuardKind)}
_OF_STATE = frozenset((GuardKind.NO_MODE, GuardKind.NO_CALL_HANDLERS))
_OF_TWO = frozenset((GuardKind.SAME_DTYPE, GuardKind.SAME_DTYPE_OR_NONE, GuardKind.WITH_NUMBER))
_OF_KINDS = frozenset((GuardKind.TAKEN, GuardKind.TAKEN_OR_NONE, GuardKind.WITH_NUMBER))
_OF_DTYPES = (
    _OF_TWO | _OF_KINDS | {GuardKind.FLOAT_DTYPE, GuardKind.INEXACT_DTYPE, GuardKind.NUMBER_DTYPE, GuardKind.NOT_HALF}
)


@dataclass(frozen=True, slots=True)
class Guard:
    """Something that has to hold: of no argument, of one, or of two.

    `takes` are kinds of dtypes; `unless_default` is a number which excuses it by being at its default.
    """

    kind: GuardKind
    arguments: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    unless_default: str | None = None

    def __post_init__(self) -> None:
        count = 0 if self.kind in _OF_STATE else 2 if self.kind in _OF_TWO else 1
        if len(self.arguments) != count:
            raise ValueError(f"{self.kind.name} is asked of {count} arguments, not of {len(self.arguments)}")
        if bool(self.takes) != (self.kind in _OF_KINDS):
            raise ValueError(f"{self.kind.name} with {len(self.takes)} kinds of dtypes")
        if not set(self.takes) <= set(COMMON_KINDS):
            raise ValueError(f"no kinds of dtypes: {', '.join(self.takes)}")


def in_order(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """The guards in the order of their kinds; those of one kind stay as they are."""
    return tuple(sorted(guards, key=lambda guard: _ORDER[guard.kind]))


# -- conversions, kernel, results, history


class ConversionKind(Enum):
    """What an argument becomes before the kernel is called."""

    INTS = "a tuple of ints, unless it is a tuple"
    OPTIONAL_INTS = "a tuple of ints, unless it is a tuple or None"
    SIZES = "a tuple of ints in any case: NumPy makes arrays of sizes that are bools"


@dataclass(frozen=True, slots=True)
class Conversion:
    """One argument that is converted; one int stands for `size` of them."""

    kind: ConversionKind
    argument: str
    size: int | None


@dataclass(frozen=True, slots=True)
class FactoryDtype:
    """The dtype of a factory that is not told one.

    `default` is a name of runtime.base.dtypes; without it the dtype is that of `numbers` by a kind of promotion, or the
    default dtype where there are none.
    """

    default: str | None
    kind: PromotionKind | None
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """The kernel, by its dispatch key, and the arguments that it gets; a factory gets a dtype in any case."""

    key: str
    kernel: PythonFunction
    arguments: tuple[FastPathArgument, ...]
    dtype: FactoryDtype | None = None

    def __post_init__(self) -> None:
        dtypes = [argument for argument in self.arguments if argument.asked is Asked.OPTIONAL_DTYPE]
        if self.dtype is not None and len(dtypes) != 1:
            raise ValueError("a factory has one dtype")
        if any(argument.asked in PLACEMENTS for argument in self.arguments):
            raise ValueError("a kernel gets no placement")


class ResultKind(Enum):
    """What the fast path makes of what the kernel gives."""

    ARRAY = "a Tensor"
    VIEW = "a view of an argument"
    VIEWS = "a tuple of views of an argument, which come from one call"
    LIST = "a tuple of Tensors"
    SEVERAL = "the operator's results, under their names"
    FLAG = "nothing: it is a bool of Python"


@dataclass(frozen=True, slots=True)
class ResultPlan:
    """The results. `count`: how many arrays the kernel has to give; `base`: what views are of.

    `layout`: how arrays are to lie in memory; None where they stay as they are. `masked`: some may be None.
    """

    kind: ResultKind
    count: int | None = None
    base: str | None = None
    layout: LayoutPlan | None = None
    masked: bool = False

    def __post_init__(self) -> None:
        if (self.base is not None) != (self.kind in (ResultKind.VIEW, ResultKind.VIEWS)):
            raise ValueError("views have a base, and nothing else has")
        if self.base is not None and self.layout is not None:
            raise ValueError("views have no memory to lay out")
        if self.count is not None and self.kind not in (ResultKind.SEVERAL, ResultKind.VIEWS):
            raise ValueError("one result is not counted, and a list has any number of them")

    @property
    def is_sequence(self) -> bool:
        """Whether the kernel gives several arrays."""
        return self.kind in (ResultKind.VIEWS, ResultKind.LIST, ResultKind.SEVERAL)


class HistoryKind(Enum):
    """What becomes of a call whose arguments require grad."""

    NODE = "a Node is recorded"
    UNDIFFERENTIABLE = "results say that there is no derivative"


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """The history of a call, if one of the `watched` arguments requires grad."""

    kind: HistoryKind
    watched: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.watched:
            raise ValueError("no argument requires grad")


# -- the fast path


@dataclass(frozen=True, slots=True)
class DefaultNumber:
    """A number which, left at its default, makes any dtype go: the guards of dtypes that are asked then.

    Where those of the plan hold, these do, too.
    """

    argument: str
    dtypes: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class FastPathPlan:
    """The fast path: the steps in their order.

    Attributes:
        arguments: all of the operator's, or the first ones where a call gives no more.
        guards: what is asked of arguments and of the thread.
        dtypes: what is asked of the dtypes of Tensors, once these are known to be plain.
        conversions: of arguments.
        kernel: the call of the kernel.
        results: what becomes of what it gives.
        history: how the call is recorded; None where results simply have no gradient.
        at_default: other guards of dtypes for calls that leave a number at its default.
    """

    arguments: tuple[FastPathArgument, ...]
    guards: tuple[Guard, ...]
    dtypes: tuple[Guard, ...]
    conversions: tuple[Conversion, ...]
    kernel: KernelCall
    results: ResultPlan
    history: HistoryPlan | None
    at_default: DefaultNumber | None = None

    def __post_init__(self) -> None:
        names = {argument.name for argument in self.arguments}
        others = self.at_default.dtypes if self.at_default is not None else ()
        asked = {name for guard in (*self.guards, *self.dtypes, *others) for name in guard.arguments}
        asked |= {conversion.argument for conversion in self.conversions}
        asked |= set(self.history.watched) if self.history is not None else set()
        if unknown := asked - names:
            raise ValueError(f"no arguments: {', '.join(sorted(unknown))}")
        if any(guard.kind in _OF_DTYPES for guard in self.guards):
            raise ValueError("dtypes are asked for before arguments are known to be Tensors")
        if any(guard.kind not in _OF_DTYPES for guard in (*self.dtypes, *others)):
            raise ValueError("a guard of arguments among those of dtypes")
        if in_order(self.guards) != self.guards or in_order(self.dtypes) != self.dtypes:
            raise ValueError("guards out of order")

    @property
    def all_guards(self) -> tuple[Guard, ...]:
        """The guards of a call in which the number may be at its default or not."""
        number = self.at_default
        if number is None:
            return (*self.guards, *self.dtypes)
        excused = [replace(g, unless_default=number.argument) for g in self.dtypes if g not in number.dtypes]
        return (*self.guards, *excused, *number.dtypes)

    def asked(self, name: str) -> Asked:
        """What is asked of an argument."""
        return next(argument.asked for argument in self.arguments if argument.name == name)

    def those(self, *kinds: Asked) -> tuple[str, ...]:
        """The names of the arguments of which one of these kinds is asked."""
        return tuple(argument.name for argument in self.arguments if argument.asked in kinds)

    def of_first(self, count: int) -> FastPathPlan:
        """The fast path of a call that gives only the first arguments; the others are at their defaults."""
        arguments = self.arguments[:count]
        names = {argument.name for argument in arguments}
        number = self.at_default
        left_out = number is not None and number.argument not in names
        return replace(
            self,
            arguments=arguments,
            guards=tuple(guard for guard in self.guards if names.issuperset(guard.arguments)),
            dtypes=number.dtypes if number is not None and left_out else self.dtypes,
            conversions=tuple(conversion for conversion in self.conversions if conversion.argument in names),
            kernel=replace(self.kernel, arguments=tuple(a for a in self.kernel.arguments if a.name in names)),
            at_default=None if left_out else number,
        )


@dataclass(frozen=True, slots=True)
class TracedPlan:
    """The way of an operator that is traced through: a function on Tensors, which calls other operators.

    Attributes:
        exact: arguments that are ints, lists of ints, and bools, which the function gets as ints, tuples and bools.
        guards: what has to hold for the function in C++, if there is one; none where no argument is a Tensor.
        checks_dtypes: whether the operator takes some dtypes only.
        usual: where all of these hold, there is no need to check; none: dtypes are always checked.
    """

    exact: tuple[FastPathArgument, ...]
    guards: tuple[Guard, ...]
    checks_dtypes: bool
    usual: tuple[Guard, ...]

    def __post_init__(self) -> None:
        if any(argument.asked not in _EXACT for argument in self.exact):
            raise ValueError("arguments that are neither ints nor bools")
        if self.usual and not self.checks_dtypes:
            raise ValueError("nothing is checked, and so nothing is usual")


_EXACT = INT_LISTS | {Asked.INTEGER, Asked.OPTIONAL_INTEGER, Asked.FLAG, Asked.OPTIONAL_FLAG}
