"""What can be seen of a kernel in its Python source: what it writes to, what its results are, and whether it reduces.

The source is read and never run, so only what stands there plainly is seen; of everything else nothing is said.
"""

from __future__ import annotations

import ast
import enum
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from codegen.python_source import FunctionIndex, PythonFunction, PythonModule, children_of
from codegen.source import Span


class Elements(enum.Enum):
    """What the elements of a result are, whatever those of the arguments were."""

    BOOL = "bools"
    INTEGER = "integers"
    FLOAT = "floating point numbers"


# Functions of NumPy by what they give.
_TO_BOOL = frozenset((
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite", "isneginf",
    "isposinf", "isclose", "logical_and", "logical_or", "logical_not", "logical_xor", "signbit", "isreal", "iscomplex",
))  # fmt: skip
_TO_INTEGER = frozenset((
    "argmax", "argmin", "argsort", "argpartition", "searchsorted", "count_nonzero", "bincount", "digitize",
    "flatnonzero", "argwhere",
))  # fmt: skip
_TO_FLOAT = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "true_divide", "divide",
    "logaddexp", "logaddexp2", "sinc", "deg2rad", "rad2deg", "degrees", "radians",
))  # fmt: skip
# What an operator that works element by element has no use for: functions and methods that look at several elements.
_REDUCING = frozenset((
    "sum", "prod", "mean", "average", "median", "std", "var", "amax", "amin", "max", "min", "argmax", "argmin", "ptp",
    "cumsum", "cumprod", "sort", "argsort", "argpartition", "partition", "nansum", "nanmean", "nanmax", "nanmin",
    "count_nonzero", "trace", "dot", "vdot", "inner", "outer", "matmul", "tensordot", "einsum", "norm", "diff", "flip",
    "roll", "convolve", "searchsorted", "quantile", "percentile", "unique",
))  # fmt: skip
# What is real of complex numbers, too, and what is of real numbers; beside those above.
_TO_REAL = frozenset(("abs", "absolute", "fabs", "real", "imag", "angle", "norm", "std", "var", "nanstd", "nanvar"))
_REAL_OF_REAL = frozenset((
    "add", "subtract", "multiply", "power", "float_power", "square", "negative", "positive", "reciprocal", "sign",
    "maximum", "minimum", "fmax", "fmin", "clip", "where", "floor", "ceil", "trunc", "rint", "asarray", "array",
    "reshape", "ravel", "transpose", "swapaxes", "copy", "squeeze", "expand_dims", "broadcast_to", "concatenate",
    "stack", "zeros_like", "ones_like",
))  # fmt: skip
_REAL_PARTS = frozenset(("real", "imag", "shape", "ndim", "size"))
_OF_TRUTH = frozenset(("logical_and", "logical_or", "logical_not", "logical_xor"))
_WRITING_METHODS = frozenset(("fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap"))
_WRITING_FUNCTIONS = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle"))
_VIEWS = frozenset(("T", "flat", "real", "imag"))

Seen = tuple[Elements, Span] | None
"""What the elements of a result are, and where that is seen."""

_Shown = tuple[Elements, ast.expr] | None


class KernelSource:
    """A kernel as its definition shows it; of another name of a function of NumPy, what that function does."""

    def __init__(self, function: PythonFunction, module: PythonModule) -> None:
        self._function = function
        self._module = module
        definition = module.functions.get(function.name)
        self._parts: Sequence[ast.AST] = () if definition is None else [*_statements(definition)]

    def writes(self, names: Sequence[str]) -> Iterator[tuple[str, Span]]:
        """Each of these parameters that it writes to, with the place of the first write.

        A parameter that is given another value anywhere is left out: it may be a copy.
        """
        written = [(name, node) for name, node in _written(self._parts) if name in names]
        bound = set(_bound(self._parts)) if written else set()
        for name, node in {name: node for name, node in reversed(written) if name not in bound}.items():
            yield name, self._module.span(node)

    def results(self, count: int) -> Sequence[Seen]:
        """For each of `count` results what its elements are; None where it is not seen, or not the same everywhere."""
        if self._function.alias:
            kind = _of_call(self._function.alias, of_numpy=True)
            return [None if kind is None else (kind, self._function.span)] * count
        found = [_returned_parts(value, count, self._values) for value in _returned(self._parts)]
        if not found:
            return [None] * count
        kinds = [{None if part is None else part[0] for part in parts} for parts in zip(*found, strict=True)]
        return [
            None if first is None or len(alike) > 1 else (first[0], self._module.span(first[1]))
            for first, alike in zip(found[0], kinds, strict=True)
        ]

    def gives_real(self, count: int) -> Sequence[bool]:
        """For each of `count` results whether it is seen to be real, also of complex numbers."""
        if self._function.alias:
            return [_is_real_of(self._function.alias)] * count
        found = [_parts_of(value, count) for value in _returned(self._parts)]
        if not found or not all(found):
            return [False] * count
        return [all(_is_real(part, self._values) for part in parts) for parts in zip(*found, strict=True)]

    @functools.cached_property
    def _values(self) -> Mapping[str, ast.expr]:
        """The values of the names that are given one once."""
        return dict(_assigned_once(self._parts))

    def looks_at_dtypes(self) -> bool:
        """Whether it asks for a dtype, or for the truth of elements: then it takes what it is given."""
        if self._function.alias in _OF_TRUTH:
            return True
        return any(isinstance(node, ast.Attribute) and node.attr == "dtype" for node in self._parts)

    def reduction(self) -> Span | None:
        """The place of a call that looks at several elements at once."""
        if self._function.alias in _REDUCING:
            return self._function.span
        for node in self._parts:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                return self._module.span(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                along = any(keyword.arg in ("axis", "keepdims") for keyword in node.keywords)
                if node.func.attr in _REDUCING or along:
                    return self._module.span(node)
        return None


class KernelSources:
    """The kernels of an index by their names, each read once."""

    def __init__(self, index: FunctionIndex) -> None:
        self._index = index
        self._known: dict[str, KernelSource | None] = {}

    def get(self, name: str) -> KernelSource | None:
        """None where there is no kernel of that name."""
        if name not in self._known:
            function = self._index.get(name)
            module = None if function is None else self._index.modules.get(function.module)
            found = None if function is None or module is None else KernelSource(function, module)
            self._known[name] = found
        return self._known[name]


def _statements(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    """All parts of a function in their order, but those of functions inside of it."""
    pending: list[ast.AST] = [*reversed(definition.body)]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(reversed(children_of(node)))


def _bound(parts: Sequence[ast.AST]) -> Iterator[str]:
    """The names that are given values, once for each time; `x += y` gives an array no other one."""
    changed = {id(node.target) for node in parts if isinstance(node, ast.AugAssign)}
    for node in parts:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in changed:
            yield node.id


def _written(parts: Sequence[ast.AST]) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    for node in parts:
        if isinstance(node, ast.AugAssign):
            name = _base(node.target)
            if name is not None:
                yield name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                name = _base(target)
                if name is not None and not isinstance(target, ast.Name):
                    yield name, node
        elif isinstance(node, ast.Call):
            for written in _written_by(node):
                name = _base(written)
                if name is not None:
                    yield name, node


def _written_by(call: ast.Call) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "out")
    if isinstance(call.func, ast.Attribute):
        if _is_numpy(call.func.value):
            if call.func.attr in _WRITING_FUNCTIONS and call.args:
                yield call.args[0]
        elif call.func.attr in _WRITING_METHODS:
            yield call.func.value


def _base(node: ast.expr) -> str | None:
    """The name of the array of which an expression is an element, a slice or a view."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _VIEWS):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_numpy(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "numpy")


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _returned(parts: Sequence[ast.AST]) -> Iterator[ast.expr]:
    for node in parts:
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _returned_parts(value: ast.expr, count: int, values: Mapping[str, ast.expr]) -> Sequence[_Shown]:
    """What a returned expression shows of each of so many results."""
    shown = _parts_of(value, count)
    if not shown:
        return [None] * count
    kinds = [_elements(part, values) for part in shown]
    return [None if kind is None else (kind, part) for kind, part in zip(kinds, shown, strict=True)]


def _parts_of(value: ast.expr, count: int) -> Sequence[ast.expr]:
    """The expressions of so many results; none where they are not seen apart."""
    parts = [value] if count == 1 else value.elts if isinstance(value, ast.Tuple) else []
    return parts if len(parts) == count else []


def _assigned_once(parts: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    bound = Counter(_bound(parts))
    bound.update(name for name, _ in _written(parts))
    for node in parts:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if bound[name] == 1:
                yield name, node.value


def _elements(node: ast.expr, values: Mapping[str, ast.expr]) -> Elements | None:
    """What the elements of an expression are, where that does not depend on those of the arguments."""
    match node:
        case ast.Name(id=name) if name in values:
            return _elements(values[name], {other: value for other, value in values.items() if other != name})
        case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return None
        case ast.Compare():
            return Elements.BOOL
        case ast.UnaryOp(operand=operand):
            return _elements(operand, values)
        case ast.BinOp(op=ast.Div()):
            return Elements.FLOAT
        case ast.BinOp(left=left, op=op, right=right):
            kinds = (_elements(left, values), _elements(right, values))
            if Elements.FLOAT in kinds or any(_is_fraction(side) for side in (left, right)):
                return Elements.FLOAT
            logical = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
            return Elements.BOOL if logical and kinds == (Elements.BOOL, Elements.BOOL) else None
        case ast.IfExp(body=body, orelse=orelse):
            kind = _elements(body, values)
            return kind if kind is _elements(orelse, values) else None
        case ast.Subscript(value=value):
            return _elements(value, values)
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), keywords=keywords):
            if any(keyword.arg in ("dtype", "out", "where") for keyword in keywords):
                return None
            return _of_call(name, _is_numpy(receiver))
    return None


def _of_call(name: str, of_numpy: bool) -> Elements | None:
    if name in _TO_INTEGER:
        return Elements.INTEGER
    if of_numpy and name in _TO_BOOL:
        return Elements.BOOL
    return Elements.FLOAT if of_numpy and name in _TO_FLOAT else None


def _is_real(node: ast.expr, values: Mapping[str, ast.expr]) -> bool:
    """Whether the elements of an expression are real numbers, whatever those of the arguments are."""

    def all_real(*parts: ast.expr) -> bool:
        return all(_is_real(part, values) for part in parts)

    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Name(id=name) if name in values:
            return _is_real(values[name], {other: value for other, value in values.items() if other != name})
        case ast.Attribute(attr=name):
            return name in _REAL_PARTS
        case ast.Compare():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_real(operand, values)
        case ast.BinOp(left=left, right=right):
            return all_real(left, right)
        case ast.IfExp(body=body, orelse=orelse):
            return all_real(body, orelse)
        case ast.Subscript(value=value):
            return _is_real(value, values)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return all_real(*items)
        case ast.Call(func=ast.Name(id="abs" | "float" | "int" | "bool" | "len")):
            return True
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args, keywords=keywords):
            if any(keyword.arg in ("dtype", "out") for keyword in keywords):
                return False
            of_numpy = _is_numpy(receiver) or (isinstance(receiver, ast.Attribute) and _is_numpy(receiver.value))
            if _is_real_of(name) and (of_numpy or name in _REDUCING):
                return True
            if name not in _TO_FLOAT | _REDUCING | _REAL_OF_REAL:
                return False
            if of_numpy:  # the first argument of `where` is a condition
                return bool(args) and all_real(*(args[1:] if name == "where" and len(args) == 3 else args))
            return all_real(receiver, *args)
    return False


def _is_real_of(name: str) -> bool:
    """Whether a function of NumPy gives real numbers of all numbers."""
    return name in _TO_REAL | _TO_BOOL | _TO_INTEGER


def _is_fraction(node: ast.expr) -> bool:
    operand = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(operand, ast.Constant) and isinstance(operand.value, float)
