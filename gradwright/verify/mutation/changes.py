"""The mistakes: what becomes of an expression of generated code or of a helper."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

# Names of operators that generated code calls and helpers do, without overloads.
_PRODUCTS = frozenset(("mul", "div", "matmul", "mm", "bmm", "scaled"))
_ORDERED = frozenset(("sub", "div", "matmul", "mm", "bmm", "pow", "where"))
_TURNS = frozenset(("t", "mT", "mH", "T", "transpose", "swapaxes", "permute", "adjoint", "movedim", "flip"))
_CONJUGATES = frozenset(("conj", "conjugate", "conj_physical"))
_OPPOSITES = {"add": "sub", "sub": "add"}
_EDGES = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}
_EDGE_SIGNS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_METADATA = frozenset((
    "shape", "dtype", "device", "ndim", "dim", "numel", "size", "sizes", "is_complex", "is_floating_point", "layout",
    "_array", "requires_grad", "new_zeros", "new_ones", "new_full", "new_empty",
))  # fmt: skip
_NO_HISTORY = frozenset(("index", "indices", "mask", "places", "total_weight"))
_STEPS = frozenset((
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "sign", "logical_not", "logical_and", "logical_or", "argmax",
))  # fmt: skip
_LIKE = frozenset((
    "zeros_like", "ones_like", "empty_like", "full_like", "len", "isinstance", "shapes_of", "expand_as", "view_as",
    "reshape_as",
))  # fmt: skip
AT_ZERO = "second at zero"  # a kind: of second derivatives at zeros alone
ORDER = "order"  # a kind: dims that are taken for sorted
FAULTS = "faults"  # the name of that module in altered code
_DIMS = frozenset(("dim", "dims", "dim0", "dim1", "axis"))


@dataclass(frozen=True, slots=True)
class Change:
    """One mistake: of which kind, what stood there, and what stands there now."""

    kind: str
    line: int
    before: str
    after: str
    tree: ast.FunctionDef

    def __str__(self) -> str:
        return f"{self.kind}: {self.before} -> {self.after}"


def changes(
    function: ast.FunctionDef,
    tensors: frozenset[str],
    formulas_only: bool,
    is_complex: bool = True,
    asks: Callable[[ast.Call], Collection[int]] = lambda call: (),
) -> Iterator[Change]:
    """A function with each mistake that it could have.

    Args:
        function: its tree, which stays as it is.
        tensors: its variables that are Tensors of values, which could be taken for each other.
        formulas_only: whether only what is assigned to gradients is of a formula, and the rest of bookkeeping.
        is_complex: whether it is run with complex numbers; elsewhere what conjugates them does nothing.
        asks: the places of those arguments of a call that are asked for something else than their numbers.
    """
    asked = {id(each) for each in asked_for(function, asks)}
    compared = {id(each) for each in _compared(function)}
    idle = set() if is_complex else {id(each) for each in _of_complex(function)}
    for node in _expressions(function, formulas_only):
        for kind, made in _mistakes(node, frozenset() if id(node) in asked else tensors):
            if id(node) in idle or (kind == "conj" and not is_complex):
                continue
            if ast.dump(made) != ast.dump(node) and not (kind == "detached" and id(node) in compared):
                yield Change(kind, node.lineno, ast.unparse(node), ast.unparse(made), _with(function, node, made))


def faulty(function: ast.FunctionDef, tensors: frozenset[str], values: frozenset[str]) -> Iterator[Change]:
    """The formulas of a Node with each mistake that shows for some numbers, some arguments or some dtypes alone.

    Args:
        function: its tree, which stays as it is.
        tensors: its variables that are Tensors.
        values: its variables that are numbers, flags, words and lists of them.
    """
    compared = {id(each) for each in _compared(function)}
    asked = {id(each) for each in asked_for(function, lambda call: ())}
    for statement in ast.walk(function):
        if not (isinstance(statement, ast.Assign) and _is_gradient(statement.targets[0])):
            continue
        whole = statement.value
        if isinstance(whole, ast.Constant):
            continue
        made = [("width", _fault("wide", whole)), ("digits", _fault("off", whole))]
        for name in sorted(tensors):
            other = ast.Name(name, ast.Load())
            made += [("range", _fault("off_far", whole, other)), ("overflow", _fault("overflowing", whole, other))]
        if len([name for name in tensors if name in ast.unparse(whole)]) > 1:
            made.append(("broadcast", _fault("summed", whole)))
        for kind, fault in made:
            yield Change(kind, whole.lineno, ast.unparse(whole), ast.unparse(fault), _with(function, whole, fault))
        for node in ast.walk(whole):
            if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)) or id(node) in asked:
                continue
            made = []
            if node.id in tensors and id(node) not in compared:
                made.append((AT_ZERO, _fault("constant_at_zero", node)))
            elif node.id in values:
                made.append(("one value", _fault("first", node, ast.Constant(node.id))))
                made.append((ORDER, _fault("in_order", node)))
            for kind, fault in made:
                yield Change(kind, node.lineno, node.id, ast.unparse(fault), _with(function, node, fault))


def _fault(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(FAULTS, ast.Load()), name, ast.Load()), list(args), [])


def _of_complex(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What runs with complex numbers alone: `x if x is real else conj(x)`."""
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp) and _is_conjugation(node):
            yield from ast.walk(node.orelse)


def asked_for(function: ast.FunctionDef, asks: Callable[[ast.Call], Collection[int]]) -> Iterator[ast.expr]:
    """What is asked for something else than its numbers, or only compared: others have the same there."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            if node.attr in _METADATA:
                yield node.value
        elif isinstance(node, ast.keyword):
            if node.arg in ("dtype", "device"):
                yield node.value
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            yield node.left
        elif isinstance(node, ast.Call) and _called(node) in _LIKE:
            yield from node.args
        elif isinstance(node, ast.Call):
            yield from (node.args[place] for place in asks(node) if place < len(node.args))


def _compared(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What has no history that counts: indices and masks, and what is only compared."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _called(node) in _STEPS):
            yield from ast.walk(node)
        elif isinstance(node, ast.Name) and node.id in _NO_HISTORY:
            yield node


def _expressions(function: ast.FunctionDef, formulas_only: bool) -> Iterator[ast.expr]:
    for statement in function.body:
        for node in ast.walk(statement):
            if formulas_only and not (isinstance(node, ast.Assign) and _is_gradient(node.targets[0])):
                continue
            if formulas_only:
                assert isinstance(node, ast.Assign)
                yield from (each for each in ast.walk(node.value) if isinstance(each, ast.expr))
            elif isinstance(node, ast.expr):
                yield node


def _is_gradient(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(part, ast.Name) and part.id.endswith("_gradient") for part in parts)


def _with(function: ast.FunctionDef, old: ast.expr, new: ast.expr) -> ast.FunctionDef:
    """A copy with another expression at one place."""

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if getattr(node, "_place", None) is mark:
                return ast.copy_location(new, node)
            return self.generic_visit(node)

    mark = object()
    old._place = mark  # type: ignore[attr-defined]
    try:
        made = _copied(function)
    finally:
        del old._place  # type: ignore[attr-defined]
    changed = Put().visit(made)
    assert isinstance(changed, ast.FunctionDef)
    return ast.fix_missing_locations(changed)


def _copied(node: ast.FunctionDef) -> ast.FunctionDef:
    """A deep copy; marks stay the same objects."""
    return copy.deepcopy(node, {id(each._place): each._place for each in ast.walk(node) if hasattr(each, "_place")})


Mistakes = Iterator[tuple[str, ast.expr]]


def _mistakes(node: ast.expr, tensors: frozenset[str]) -> Mistakes:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from _of_signs(left, op, right)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", operand
        case ast.IfExp(body=body) if _is_conjugation(node):
            yield "conj", body
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _EDGE_SIGNS:
            yield "edge", ast.Compare(left, [_EDGE_SIGNS[type(op)]()], [right])
        case ast.Call():
            yield from _of_calls(node)
        case ast.Attribute(value=value, attr=name) if name in _TURNS:
            yield "transpose", value
        case ast.Name(id=name, ctx=ast.Load()) if name in tensors:
            yield from (("other variable", ast.Name(other, ast.Load())) for other in sorted(tensors) if other != name)
            yield "detached", ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "detach", ast.Load()), [], [])


def _is_conjugation(node: ast.IfExp) -> bool:
    return "conj" in ast.unparse(node.orelse) and "dtype" in ast.unparse(node.test)


def _of_signs(left: ast.expr, op: ast.operator, right: ast.expr) -> Mistakes:
    if isinstance(op, ast.Mult):
        yield from (("factor", each) for each in (left, right))
    elif isinstance(op, ast.Div | ast.MatMult):
        yield "factor", left
        yield "swapped", ast.BinOp(right, op, left)
    elif isinstance(op, ast.Add):
        yield "sign", ast.BinOp(left, ast.Sub(), right)
    elif isinstance(op, ast.Sub):
        yield "sign", ast.BinOp(left, ast.Add(), right)
        yield "swapped", ast.BinOp(right, op, left)
    elif isinstance(op, ast.Pow):
        yield "factor", left


def _of_calls(node: ast.Call) -> Mistakes:
    name = _called(node)
    args = list(node.args)
    method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
    receiver: list[ast.expr] = [node.func.value] if method and isinstance(node.func, ast.Attribute) else []
    operands = [*receiver, *args]
    if name in _CONJUGATES and operands:
        yield "conj", operands[0]
    if name in _TURNS and operands:
        yield "transpose", operands[0]
    if name == "neg" and operands:
        yield "sign", operands[0]
    if name in _PRODUCTS and len(operands) == 2:
        yield "factor", operands[0]
        if name not in ("div", "scaled"):
            yield "factor", operands[1]
    if name in _ORDERED and len(operands) >= 2:
        first, second = (0, 1) if len(operands) == 2 else (len(operands) - 2, len(operands) - 1)
        swapped = list(operands)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        if not receiver:
            yield "swapped", ast.Call(node.func, swapped, node.keywords)
    for table, kind in ((_OPPOSITES, "sign"), (_EDGES, "edge")):
        if name in table:
            yield kind, ast.Call(_renamed(node.func, name, table[name]), args, node.keywords)
    for place, arg in enumerate(args):
        if _is_dim(arg):
            moved = ast.BinOp(arg, ast.Sub(), ast.Constant(1))
            yield "dim", ast.Call(node.func, [*args[:place], moved, *args[place + 1 :]], node.keywords)


def _is_dim(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int and node.value == -1
    return isinstance(node, ast.Name) and node.id in _DIMS - {"dims"}


def _called(node: ast.Call) -> str:
    """The name of what is called, without the overload that generated code adds."""
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        short = re.sub(r"_(Tensor|Scalar|default|self|ScalarSelf|ScalarOther|int|dim|dim_IntList)$", "", name)
        return short if _is_module(node.func.value) and short in _KNOWN else name
    return node.func.id if isinstance(node.func, ast.Name) else ""


_KNOWN = _PRODUCTS | _ORDERED | _TURNS | _CONJUGATES | set(_OPPOSITES) | set(_EDGES) | {"neg"} | _STEPS


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and (node.id in ("ops", "math", "np") or node.id.endswith("_helpers"))


def _renamed(function: ast.expr, old: str, new: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, new + function.attr[len(old) :], ast.Load())
    return ast.Name(new, ast.Load())
