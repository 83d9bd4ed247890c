"""Other calls made of a sample: other numbers, words, dims and shapes, other ways to broadcast, other magnitudes.

A sample is the inside of a call in the notation of `docs/yaml.md`, and so is what is made of it: it can be pasted into
the YAML. Whether an operator takes such a call is not known here.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.call.binding import Parameter

_TENSORS = frozenset("TDPIBV")  # makers whose arguments are sizes
_MOST_DIMS = 4
_SAMPLED = (-2.0, 2.0)  # the range of samples that name none: who names this one says nothing about a domain
_REDUCTION = "reduction"  # an int that is a word, by which shapes of other arguments go
# Ranges of values for Tensors whose sample names none: beyond the usual one, of one sign, large, small.
USUAL_RANGES = ((-9.0, 9.0), (-1600.0, 1600.0), (5.0, 20.0), (-20.0, -5.0))
ALL_RANGES = (
    *USUAL_RANGES, (-1e-30, 1e-30), (-1e30, 1e30), (-1e-6, 1e-6), (1e3, 1e6), (-1e6, -1e3), (1e8, 1e12), (0.9, 1.1),
    (-0.1, 0.1), (1e-12, 1e-3),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variation:
    """A call made of a sample: its text, and what is another one in it."""

    text: str
    kind: str


Change = Callable[[], None]


class _Call:
    """The tree of a sample, of which copies are changed."""

    def __init__(self, text: str, parameters: Sequence[Parameter]) -> None:
        self.text = text
        self.parameters = {each.name: each for each in parameters}
        self.tree = parsed(text)
        self.given: dict[str, ast.expr] = dict(zip(self.parameters, self.tree.args, strict=False))
        self.given |= {each.arg: each.value for each in self.tree.keywords if each.arg}
        self.tensors = [
            node for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TENSORS
        ]  # fmt: skip
        self.dims = max((len(each.args) for each in self.tensors), default=0)

    def with_argument(self, name: str, value: ast.expr) -> str:
        """The call with another value for an argument, which need not be given so far."""
        old = self.given.get(name)
        if old is not None:
            return self.with_nodes([(old, value)])
        return f"{self.text}, {name}={ast.unparse(value)}" if self.text else f"{name}={ast.unparse(value)}"

    def with_nodes(self, replaced: Sequence[tuple[ast.expr, ast.expr]]) -> str:
        """The call with other parts."""
        table = {id(old): new for old, new in replaced}
        return unparsed(self.tree, table)

    def with_tensors(self, changed: Sequence[tuple[ast.Call, Sequence[int]]]) -> str:
        """The call with Tensors of other shapes."""
        return self.with_nodes([(node, _of_shape(node, shape)) for node, shape in changed])


def parsed(text: str) -> ast.Call:
    """The tree of a sample."""
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return call


def unparsed(tree: ast.Call, table: dict[int, ast.expr]) -> str:
    class Replaced(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return table[id(node)] if id(node) in table else _copied(node, self)

    return ast.unparse(Replaced().visit(tree))[2:-1]


def _copied(node: ast.AST, visitor: ast.NodeTransformer) -> ast.AST:
    """A node whose children have been visited, apart from the one that they were taken from."""

    def part(value: Any) -> Any:
        if isinstance(value, list):
            return [part(each) for each in value]
        return visitor.visit(value) if isinstance(value, ast.AST) else value

    return type(node)(**{name: part(value) for name, value in ast.iter_fields(node)})


def _literal(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _value(node: ast.expr) -> Any:
    """What a literal says; None for what is none."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def variations(
    text: str,
    parameters: Sequence[Parameter],
    samples: Sequence[str] = (),
    ranges: Sequence[tuple[float, float]] = USUAL_RANGES,
    pointwise: bool = False,
    factors: Sequence[float] = (),
) -> Iterator[Variation]:
    """The calls in which one thing is another one than in a sample, of each kind in turn, without repetitions.

    Args:
        text: the sample.
        parameters: those of the operator.
        samples: all of the operator's, whose words are those that it knows.
        ranges: of values for Tensors of which the sample names none.
        pointwise: whether all Tensors are broadcast; else those are that the sample broadcasts.
        factors: what numbers are multiplied by, for more of them.
    """
    call = _Call(text, parameters)
    kinds: dict[str, Iterator[str]] = {
        "values": _values(call, ranges),
        "number": _numbers(call, factors),
        "dim": _ints(call),
        "list": _lists(call),
        "choice": _choices(call, samples),
        "broadcast": _broadcasts(call) if pointwise else _other_broadcasts(call),
        "size": _sizes(call),
        "elements": _elements(call),
    }
    seen = {ast.unparse(call.tree)[2:-1], text}
    for row in itertools.zip_longest(*(zip(itertools.repeat(kind), made) for kind, made in kinds.items())):
        for each in row:
            if each is not None and each[1] not in seen:
                seen.add(each[1])
                yield Variation(each[1], each[0])


def _plain(type: str) -> str:
    return type.removesuffix("?")


def _numbers(call: _Call, factors: Sequence[float]) -> Iterator[str]:
    """Other numbers for each that is given or has a default, one of the other sign, 0 and 1."""
    rows = []
    for name, parameter in call.parameters.items():
        kind = _plain(parameter.type)
        node = call.given.get(name)
        value = _value(node) if node is not None else parameter.default
        if kind in ("float", "Scalar") and isinstance(value, int | float) and not isinstance(value, bool):
            others = [*_other_numbers(value, kind == "Scalar"), *(round((value or 1) * each, 6) for each in factors)]
            rows.append([call.with_argument(name, _literal(other)) for other in others])
        elif kind in ("float", "Scalar") and node is None and parameter.type.endswith("?"):
            rows.append([call.with_argument(name, _literal(other)) for other in (0.7, 1.6)])
        elif kind in ("float[]", "Scalar[]") and isinstance(value, list) and node is not None:
            rows.append([call.with_argument(name, _literal([v * 1.3 + 0.2 * (i + 1) for i, v in enumerate(value)]))])
    yield from _in_turn(rows)


def _other_numbers(value: float, signed: bool) -> list[float]:
    """Others than a number; with the other sign only where any number may stand, as no tolerance does."""
    other = round(value * 1.6 + (0.3 if value >= 0 else -0.3), 6)
    return [other, *([-value if value else -0.7] if signed else []), 1, 0, round(value * 0.45, 6), 2, 3]


def _ints(call: _Call) -> Iterator[str]:
    """Other ints: each dim from either end, and the neighbours of what is no dim, without another sign."""
    rows = []
    for name, parameter in call.parameters.items():
        if _plain(parameter.type) not in ("int", "SymInt") or name == _REDUCTION:
            continue
        node = call.given.get(name)
        value = _value(node) if node is not None else parameter.default
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        count = min(call.dims, _MOST_DIMS)
        near = [value + 1, *([value - 1, 0] if value > 0 else [value - 1, -value] if value < 0 else [])]
        others = [*range(-count, count), *near] if _is_dim(name) else near
        order = sorted(dict.fromkeys(others), key=lambda each: (each + count != value, each - count != value))
        rows.append([call.with_argument(name, _literal(each)) for each in order if each != value])
    yield from _in_turn(rows)


def _is_dim(name: str) -> bool:
    return "dim" in name or "axis" in name


def _lists(call: _Call) -> Iterator[str]:
    """Lists of ints in another order, counted from the end, with one that is left out, and neighbours of each."""
    rows = []
    for name, parameter in call.parameters.items():
        if not _plain(parameter.type).startswith(("int[", "SymInt[")):
            continue
        node = call.given.get(name)
        value = _value(node) if node is not None else None
        if isinstance(value, int):
            rows.append(
                [call.with_argument(name, _literal(each)) for each in (value + 1, value - 1, 0, value - call.dims)]
            )
        if not isinstance(value, list | tuple) or not all(isinstance(each, int) for each in value):
            continue
        items = list(value)
        others = [list(each) for each in itertools.islice(itertools.permutations(items), 1, 6)]
        others.insert(0, items[::-1])
        if _is_dim(name) and call.dims:
            others.insert(1, [each - call.dims if each >= 0 else each + call.dims for each in items])
            others.insert(
                2, [each - call.dims if i % 2 == 0 and each >= 0 else each for i, each in enumerate(items[::-1])]
            )
        others += [items[:-1], *([*items[:i], each + 1, *items[i + 1 :]] for i, each in enumerate(items))]
        rows.append([call.with_argument(name, _literal(each)) for each in others])
    yield from _in_turn(rows)


def _choices(call: _Call, samples: Sequence[str]) -> Iterator[str]:
    """Each bool the other way, and each word that a sample has for an argument."""
    rows = []
    for name, parameter in call.parameters.items():
        kind = _plain(parameter.type)
        node = call.given.get(name)
        value = _value(node) if node is not None else parameter.default
        if kind == "bool":
            rows.append([call.with_argument(name, _literal(not value))])
        elif kind.startswith("bool[") and isinstance(value, list | tuple):
            rows.append([call.with_argument(name, _literal([not each for each in value]))])
        elif kind == "str":
            rows.append([call.with_argument(name, _literal(word)) for word in _words(call, name, samples, value)])
        if parameter.type.endswith("?") and node is not None and value is not None:
            rows.append([call.with_argument(name, _literal(None))])
    yield from _in_turn(rows)


def _words(call: _Call, name: str, samples: Sequence[str], value: object) -> list[str]:
    """The words that other samples have for an argument."""
    parameters = list(call.parameters.values())
    found: dict[str, None] = {}
    for sample in samples:
        node = _Call(sample, parameters).given.get(name)
        word = _value(node) if node is not None else None
        if isinstance(word, str) and word != value:
            found[word] = None
    return list(found)


def _broadcasts(call: _Call) -> Iterator[str]:
    """Of several Tensors each with fewer dimensions, with one of size 1 in each place, and with one more."""
    if len(call.tensors) < 2:
        return
    rows = []
    for node in call.tensors:
        shape = _shape(node)
        others = [[1 if i == place else size for i, size in enumerate(shape)] for place in range(len(shape))]
        rest = [other for other in call.tensors if other is not node and _shape(other) == shape]
        others += [shape[1:] if shape else [2], [], [2, *shape], [1, *shape]]
        row = [call.with_tensors([(node, each)]) for each in others if each != shape]
        row += [call.with_tensors([(node, shape[1:]), (other, [1, *shape])]) for other in rest if shape]
        rows.append(row)
    yield from _in_turn(rows)


def _other_broadcasts(call: _Call) -> Iterator[str]:
    """Of each Tensor that the sample broadcasts to another one, other sizes of the dims along which it does."""
    rows = []
    for node in call.tensors:
        shape = _shape(node)
        wider = next((w for w in map(_shape, call.tensors) if w != shape and _is_broadcast(shape, w)), None)
        if wider is not None:
            padded = [0] * (len(wider) - len(shape)) + shape
            free = [place for place, (one, other) in enumerate(zip(padded, wider, strict=True)) if one != other]
            others = [[wider[i] if i in free else size for i, size in enumerate(padded)]]
            others += [[1 if i in free else size for i, size in enumerate(padded)]]
            others += [[wider[i] if i == place else size or 1 for i, size in enumerate(padded)] for place in free]
            rows.append([call.with_tensors([(node, each)]) for each in others if each != shape])
    yield from _in_turn(rows)


def _is_broadcast(shape: Sequence[int], wider: Sequence[int]) -> bool:
    """Whether a shape becomes another one, which is larger, by broadcasting."""
    if len(shape) > len(wider):
        return False
    pairs = list(zip(reversed(shape), reversed(wider), strict=False))
    return all(one in (1, other) for one, other in pairs) and math.prod(wider) > math.prod(shape)


def _sizes(call: _Call) -> Iterator[str]:
    """Each size, wherever it stands, as 1, as another one, and as 0."""
    sizes = dict.fromkeys(size for node in call.tensors for size in _shape(node))
    for wanted in (1, None, 0):
        for size in sizes:
            other = size + 1 if wanted is None else wanted
            changed = [(node, [other if each == size else each for each in _shape(node)]) for node in call.tensors]
            yield call.with_tensors([(node, shape) for node, shape in changed if shape != _shape(node)])


def _elements(call: _Call) -> Iterator[str]:
    """Other numbers where a sample says the very elements of a Tensor of floats."""
    for node in ast.walk(call.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "C" and node.args:
            floats = [each for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
            numbers = [(each, each.value) for each in floats if isinstance(each.value, float)]
            if numbers:
                others = [_literal(round(value * 1.3 + 0.2 * (i % 5 + 1), 6)) for i, (_, value) in enumerate(numbers)]
                yield call.with_nodes([(each, new) for (each, _), new in zip(numbers, others, strict=True)])


def _values(call: _Call, ranges: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Values of other ranges for the Tensors that name none: for all of them, and for each."""
    free = [node for node in call.tensors if _is_free(node)]
    for chosen in (free, *([node] for node in free if len(free) > 1)):
        for low, high in ranges if chosen else ():
            yield call.with_nodes([(node, _in_range(node, low, high)) for node in chosen])


def _is_free(node: ast.Call) -> bool:
    """Whether a maker of random numbers is told nothing about their range."""
    assert isinstance(node.func, ast.Name)
    ranges = {each.arg: _value(each.value) for each in node.keywords if each.arg in ("low", "high")}
    names_none = not ranges or (ranges.get("low"), ranges.get("high")) == _SAMPLED
    return node.func.id in "TD" and names_none and not {"dtype", "rank"} & {each.arg for each in node.keywords}


def _in_range(node: ast.Call, low: float, high: float) -> ast.Call:
    kept = [each for each in node.keywords if each.arg not in ("low", "high")]
    return ast.Call(
        node.func, node.args, [*kept, ast.keyword("low", _literal(low)), ast.keyword("high", _literal(high))]
    )


def _shape(node: ast.Call) -> list[int]:
    return [int(_value(each)) for each in node.args]


def _of_shape(node: ast.Call, shape: Sequence[int]) -> ast.Call:
    return ast.Call(node.func, [_literal(size) for size in shape], node.keywords)


def _in_turn(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first of each row, then the second ones."""
    for column in itertools.zip_longest(*rows):
        yield from (each for each in column if each is not None)


def simpler(text: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    """Calls that say less than one: an argument or a range left out, a smaller size, a smaller number."""
    call = _Call(text, parameters)
    for place in range(len(call.tree.keywords)):
        others = [*call.tree.keywords[:place], *call.tree.keywords[place + 1 :]]
        yield unparsed(ast.Call(call.tree.func, call.tree.args, others), {})
    for node in call.tensors:
        if node.keywords:
            yield call.with_nodes([(node, ast.Call(node.func, node.args, []))])
    for size in sorted({size for node in call.tensors for size in _shape(node)}, reverse=True):
        for other in (1, size // 2, size - 1):
            if 0 < other < size:
                shapes = [[other if each == size else each for each in _shape(node)] for node in call.tensors]
                yield call.with_tensors(list(zip(call.tensors, shapes, strict=True)))
    ranks = {len(_shape(node)) for node in call.tensors}
    for rank in sorted(ranks - {0}, reverse=True):
        yield call.with_tensors([(node, _shape(node)[1:]) for node in call.tensors if len(_shape(node)) == rank])
    for name, given in call.given.items():
        value = _value(given)
        if isinstance(value, int | float) and not isinstance(value, bool):
            for other in (1, 2, round(value)):
                if other != value and abs(other) <= abs(value):
                    yield call.with_argument(name, _literal(other))
