"""Examples of operators: a call that runs, made of one of the samples an operator is tested with."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence, Set

from codegen.plan.operator import OperatorPlan
from codegen.python_source import parts_of
from codegen.read.samples import parse_sample
from codegen.targets.literals import tuple_of
from codegen.targets.python.code import STEP, call, list_of
from codegen.words import BUILT_IN_NAMESPACE, COMPLEX_KINDS, SHORTENING_MODULES

MODULE = "gradwright"  # that examples import
_MAKERS = ("T", "D", "I", "B", "P", "V", "C")  # of Tensors
_MOST_ELEMENTS = 20  # of arguments that are all written down, and of which results are shown, not just their shape
_COLUMNS = 112  # of a call; each argument of a longer one has a line
_MOST_OF_ONE = 8  # of one argument, where there are more than these
# Multiples of the first, after the decimal point, are spread evenly and without ties.
_STRIDE, _START = 0.618, 0.37


def example(operator: OperatorPlan, base: str, namespace: str, hidden: Set[str]) -> tuple[str, ...]:
    """A call of the packet `base` with arguments for this overload, as lines that an interpreter shows.

    Empty where no sample says what the arguments may be, or where it gives nothing.  Packets whose names are `hidden`
    stand behind functions that are written by hand, or behind modules.
    """
    limit = operator.source.dtypes
    is_complex = limit is not None and set(limit.kinds) <= COMPLEX_KINDS
    if not operator.samples or not operator.schema.returns:
        return ()
    if "pointwise" in operator.source.tags:
        chosen = _Arguments(operator.samples[0], is_complex)
        chosen.flatten()
    else:
        chosen = min((_Arguments(text, is_complex) for text in operator.samples), key=_Arguments.order)
    suffix = ""
    if operator.source.is_random or chosen.elements > _MOST_ELEMENTS:
        several = len(operator.schema.returns) != 1 or operator.returns_list
        suffix = "[0].shape" if several else ".shape"
    function, arguments = _called(operator, base, namespace, hidden, chosen.code())
    code = f"{call(function, arguments)}{suffix}"
    if len(code) <= _COLUMNS:
        return (f">>> {code}",)
    return (f">>> {function}(", *(f"... {STEP}{argument}," for argument in arguments), f"... ){suffix}")


def _called(
    operator: OperatorPlan, base: str, namespace: str, hidden: Set[str], arguments: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """The function as users call it, and what of the arguments stands in its brackets."""
    source, place = operator.source, f"{MODULE}.ops.{base}"
    if namespace != BUILT_IN_NAMESPACE:
        place = f"{MODULE}.ops.{namespace}.{base}"
    elif source.python_module in SHORTENING_MODULES:
        place = f"{MODULE}.{source.python_module}.{base.removeprefix(f'{source.python_module}_')}"
    elif source.python_module is None and "function" in source.variants and base not in hidden:
        place = f"{MODULE}.{base}"
    elif source.variants == {"method"} and arguments and operator.python.parameters[0].name == "self":
        return f"{arguments[0]}.{base}", arguments[1:]
    return place, arguments


class _Arguments:
    """The arguments of a sample; `T(3, 4)` and the like become Tensors whose elements are written down."""

    def __init__(self, sample: str, is_complex: bool) -> None:
        self._call = parse_sample(sample)
        self._makers = [part for part in parts_of(self._call) if isinstance(part, ast.Call) and _name(part) in _MAKERS]
        self._is_flat = False
        self._is_complex = is_complex
        self._made = 0

    def order(self) -> tuple[bool, int]:
        """Smaller is better: with elements, but few of them."""
        sizes = [math.prod(self._shape(maker)) for maker in self._makers]
        scalars = all(not maker.args for maker in self._makers)
        return not sizes or scalars or 0 in sizes, sum(sizes)

    def flatten(self) -> None:
        """Vectors in the place of all Tensors but those without dimensions."""
        self._is_flat = True

    def _shape(self, maker: ast.Call) -> tuple[int, ...]:
        if self._is_flat and maker.args and _name(maker) != "C":
            return (3,)
        arguments = tuple(ast.literal_eval(argument) for argument in maker.args)
        return _shape_of(arguments[0]) if _name(maker) == "C" else arguments

    @property
    def elements(self) -> int:
        return sum(math.prod(self._shape(maker)) for maker in self._makers)

    def code(self) -> list[str]:
        positional = [self._code(argument) for argument in self._call.args]
        return [*positional, *(f"{word.arg}={self._code(word.value)}" for word in self._call.keywords)]

    def _code(self, node: ast.expr) -> str:
        match node:
            case ast.Call():
                return self._value(node)
            case ast.List():
                return list_of(self._code(item) for item in node.elts)
            case ast.Tuple():
                return tuple_of([self._code(item) for item in node.elts])
            case ast.Name():
                return f'float("{node.id}")'
            case ast.UnaryOp(operand=ast.Name()):
                return f"-{self._code(node.operand)}"
            case ast.Constant(value=str(text)):
                return f'"{text}"'
        return ast.unparse(node)

    def _value(self, maker: ast.Call) -> str:
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in maker.keywords}
        name = _name(maker)
        if name == "float":
            return f'float("{ast.literal_eval(maker.args[0])}")'
        if name == "dtype":
            return f"{MODULE}.{ast.literal_eval(maker.args[0]) if maker.args else 'float32'}"
        if name == "C":
            said = [f"dtype={MODULE}.{options['dtype']}"] if "dtype" in options else []
            return call(f"{MODULE}.tensor", [ast.unparse(maker.args[0]), *said])
        shape = self._shape(maker)
        dtype = options.get("dtype")
        if name == "I" or (dtype is not None and "int" in dtype):
            low, high = options.get("low", 0), options.get("high", 3)
            return self._tensor(shape, lambda place: str(low + int((high - low) * place)), dtype or "int64")
        if name == "B":
            return self._tensor(shape, lambda place: str(place < 0.5), "bool")
        if name == "V":
            return self._by_place(shape, lambda row, column: str(column + 1), "int32")
        if name == "P":
            ending = "+0j" if self._is_complex else ""
            return self._by_place(shape, lambda row, column: f"{1 / (1 + abs(row - column)):.2f}{ending}", dtype)
        low, high = options.get("low", -2.0), options.get("high", 2.0)
        if self.elements > _MOST_ELEMENTS and math.prod(shape) > _MOST_OF_ONE:
            ending = "" if dtype is None else f", dtype={MODULE}.{dtype}"
            return f"{MODULE}.linspace({low}, {high}, {math.prod(shape)}{ending}).reshape({_inside(shape)})"
        ending = "+1j" if self._is_complex else ""
        return self._tensor(shape, lambda place: f"{low + (high - low) * place:.2f}{ending}", dtype)

    def _tensor(self, shape: tuple[int, ...], element: Callable[[float], str], dtype: str | None) -> str:
        """`dtype` is said where the elements do not say it."""
        said = dtype is None or (0 not in shape and dtype in ("int64", "bool"))
        ending = [] if said else [f"dtype={MODULE}.{dtype}"]
        if 0 in shape:
            return call(f"{MODULE}.zeros", [*map(str, shape), *ending])
        return call(f"{MODULE}.tensor", [self._nested(shape, element), *ending])

    def _by_place(self, shape: tuple[int, ...], element: Callable[[int, int], str], dtype: str | None) -> str:
        """Elements that are made of their places in the last two dimensions."""
        rows, columns = (1, *shape)[-2:]
        steps = iter(range(math.prod(shape)))

        def next_element(_: float) -> str:
            step = next(steps)
            return element(step // columns % rows, step % columns)

        return self._tensor(shape, next_element, dtype)

    def _nested(self, shape: tuple[int, ...], element: Callable[[float], str]) -> str:
        if shape:
            return list_of(self._nested(shape[1:], element) for _ in range(shape[0]))
        self._made += 1
        return element((_START + self._made * _STRIDE) % 1)


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    return call.func.id


def _shape_of(elements: object) -> tuple[int, ...]:
    """The shape of nested lists; a number has no dimensions."""
    if not isinstance(elements, list):
        return ()
    return (len(elements), *(_shape_of(elements[0]) if elements else ()))


def _inside(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))
