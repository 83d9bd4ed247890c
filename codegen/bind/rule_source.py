"""The reader of update rules: from `runtime/operators/update_rules.py` to the statements of `update_rules`."""

from __future__ import annotations

import ast
import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TypeAlias

from codegen.bind.update_rules import (
    COMPARISONS,
    FUNCTIONS,
    KINDS,
    MASK,
    Assign,
    Condition,
    Given,
    If,
    Option,
    Return,
    Statement,
    UpdateRule,
    constant,
    of_signs,
    variable,
)
from codegen.codes import Code
from codegen.formula.typed import BOOL, FLOAT, TENSOR, Intrinsic, Literal, TypedExpr, ValueType, Variable, walk
from codegen.python_source import PythonModule, SourcePart
from codegen.python_syntax import SIGNS, names_set, positional_parameters
from codegen.source import Diagnostics

# The function that all rules are called through, and its parameters for the rule and for the library of arrays.
ENTRY = "complete"
_RULE, _LIBRARY = "rule", "xp"


def read_update_rules(part: SourcePart, diagnostics: Diagnostics) -> tuple[UpdateRule, ...]:
    """The rules of a module: its public functions, but for the one that they are called through."""
    rules = []
    for module in part.modules.values():
        entry = module.functions.get(ENTRY)
        if entry is None:
            continue
        for name, definition in module.functions.items():
            if name == ENTRY or name.startswith("_"):
                continue
            try:
                rules.append(_Reader(module).rule(entry, definition))
            except _Refused as error:
                diagnostics.error(Code.PYTHON_SOURCE, module.span(error.node), error.message, error.hint)
    return tuple(rules)


_NUMBERS = (FLOAT,)
_ARRAYS = (TENSOR,)
_EITHER = (FLOAT, TENSOR)
# Functions of NumPy by what they take.
_OF_NUMPY: Mapping[str, Sequence[Sequence[ValueType]]] = {
    "sqrt": (_ARRAYS,),
    "abs": (_ARRAYS,),
    "maximum": (_EITHER, _EITHER),
    "where": ((MASK,), _EITHER, _EITHER),
    "clip": (_ARRAYS, _NUMBERS, _NUMBERS),
}
_SUBSET = (
    f"it has arithmetic, comparisons, conditional expressions and {', '.join(f'{_LIBRARY}.{f}' for f in _OF_NUMPY)}"
)
_KINDS = {"Number": FLOAT, "float": FLOAT, "bool": BOOL}
_VALUES, _OPTIONAL = "Values", "Values | None"


class _Refused(Exception):
    """Something that can not be read."""

    def __init__(self, node: ast.expr | ast.stmt, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.hint = hint


class _Nothing(enum.Enum):
    """What is known of a variable of an array that may be left out."""

    NONE = "it is None"


_Value: TypeAlias = TypedExpr | _Nothing


@dataclass
class _Scope:
    """The names of a function while it is read.

    `values` differ from way to way; `variables` are those of names that were set on any.
    """

    values: dict[str, _Value]
    variables: dict[str, Variable]
    rule: ast.FunctionDef | None = None  # what the parameter `rule` is
    rest: Mapping[str, _Value] = field(default_factory=dict)  # what `**options` holds

    @classmethod
    def of(cls, values: dict[str, _Value]) -> _Scope:
        """That of a call."""
        return cls(values, {name: value for name, value in values.items() if isinstance(value, Variable)})

    def copy(self) -> _Scope:
        return replace(self, values=dict(self.values))


@dataclass
class _Known:
    """The variables that may be None, and with which array they are."""

    optional: dict[Variable, int] = field(default_factory=dict)

    def copy(self) -> _Known:
        return _Known(dict(self.optional))


class _Reader:
    """Reads one rule.

    Each way through `if` has a scope of its own. Where ways meet again, a name is known if it is the same variable on
    both: an assignment gives a name of Python always the same variable, of which a target makes one that can change.
    """

    def __init__(self, module: PythonModule) -> None:
        self._module = module
        self._taken: set[str] = set()
        self._active: list[str] = []

    # -- functions

    def rule(self, entry: ast.FunctionDef, definition: ast.FunctionDef) -> UpdateRule:
        positional = positional_parameters(definition)
        if not positional or positional[0].arg != _LIBRARY:
            raise _Refused(
                definition.body[0], f"the first parameter of '{definition.name}' is not '{_LIBRARY}'",
                "the functions of this module are rules; one that only helps them begins with an underscore",
            )  # fmt: skip
        arrays, optional = [], {}
        for number, parameter in enumerate(positional[1:]):
            text = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
            if text not in (_VALUES, _OPTIONAL):
                raise _Refused(
                    parameter.annotation or definition.body[0],
                    f"'{parameter.arg}' of '{definition.name}' is not an array",
                    f"it is annotated as {_VALUES} or {_OPTIONAL}; options stand behind a '*'",
                )
            variable = self._new(parameter.arg, TENSOR)
            arrays.append(variable)
            if text == _OPTIONAL:
                optional[variable] = number
        shared = [*self._options(entry, ())]
        own = [*self._options(definition, {each.name for each in shared})]
        values: dict[str, _Value] = {_LIBRARY: _Nothing.NONE}
        names = [parameter.arg for parameter in positional_parameters(entry)]
        if names[:2] != [_RULE, _LIBRARY] or entry.args.vararg is None or len(arrays) < len(names) - 2:
            raise _Refused(entry.body[0], f"'{ENTRY}' does not take ({_RULE}, {_LIBRARY}, arrays, *arrays)")
        values |= dict(zip(names[2:], arrays, strict=False))
        values |= {each.name: each.variable for each in shared}
        scope = replace(_Scope.of(values), rule=definition, rest={each.name: each.variable for each in own})
        self._kept = arrays[len(names) - 2 :]
        self._results = len(arrays) - 1
        body = self._block(entry.body, entry.body[-1], scope, _Known(optional))
        return UpdateRule(definition.name, tuple(arrays), frozenset(optional.values()), (*shared, *own), tuple(body))

    def _options(self, definition: ast.FunctionDef, known: Collection[str]) -> Iterator[Option]:
        """The options of a function, but for those that are known."""
        for parameter, default in zip(definition.args.kwonlyargs, definition.args.kw_defaults, strict=True):
            if parameter.arg in known:
                continue
            text = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
            if text not in _KINDS:
                raise _Refused(
                    parameter.annotation or definition.body[0],
                    f"the option '{parameter.arg}' of '{definition.name}' is neither a number nor a bool",
                    f"it is annotated as one of {', '.join(_KINDS)}",
                )
            value = None
            if default is not None:
                if not isinstance(default, ast.Constant) or not isinstance(default.value, int | float):
                    raise _Refused(default, "a default of an option is a number, True or False")
                value = float(default.value)
            yield Option(parameter.arg, self._new(parameter.arg, _KINDS[text]), value)

    def _new(self, name: str, type: ValueType) -> Variable:
        """A variable; of a name that is taken, under another one."""
        free = next(each for each in chain((name,), (f"{name}_{n}" for n in count(2))) if each not in self._taken)
        self._taken.add(free)
        return variable(free, type)

    def _inner(
        self, call: ast.Call, definition: ast.FunctionDef, scope: _Scope, known: _Known, at_end: bool
    ) -> tuple[list[Statement], _Scope]:
        """The scope of a function that is called, and what gives its parameters their values."""
        if definition.name in self._active:
            raise _Refused(call, f"'{definition.name}' calls itself")
        given: list[_Value] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                given.extend(self._kept)
            elif isinstance(argument, ast.Name) and isinstance(scope.values.get(argument.id), _Nothing):
                given.append(_Nothing.NONE)
            else:
                given.append(self._passed(argument, scope))
        named: dict[str, _Value] = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                named |= scope.rest
            else:
                named[keyword.arg] = self._passed(keyword.value, scope)
        positional = [parameter.arg for parameter in positional_parameters(definition)]
        keywords = {parameter.arg for parameter in definition.args.kwonlyargs}
        values = dict(zip(positional, given, strict=False)) | named
        if len(given) != len(positional) or named.keys() != keywords:
            raise _Refused(call, f"these are not the arguments of '{definition.name}'")
        changed = names_set(definition)
        before: list[Statement] = []
        for name, value in values.items():
            if isinstance(value, _Nothing):
                continue
            # At the end nobody asks for the caller's variables any more, so the function may change them.
            if not isinstance(value, Variable) or (name in changed and not at_end):
                values[name] = own = self._new(name, value.type)
                before.append(Assign(own, value))
                if isinstance(value, Variable) and value in known.optional:
                    known.optional[own] = known.optional[value]
        return before, _Scope.of(values)

    def _passed(self, node: ast.expr, scope: _Scope) -> TypedExpr:
        """An argument, which may be an array that may be left out."""
        value = scope.values.get(node.id) if isinstance(node, ast.Name) else None
        return value if isinstance(value, Variable) else self._plain(node, scope, _Known())

    def _called(self, node: ast.expr, scope: _Scope) -> ast.FunctionDef | None:
        """The function of the module that an expression calls."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        if node.func.id == _RULE and scope.rule is not None:
            return scope.rule
        return self._module.functions.get(node.func.id)

    # -- statements

    def _block(self, statements: Sequence[ast.stmt], last: ast.stmt, scope: _Scope, known: _Known) -> list[Statement]:
        """Statements of which each way has to end with results; `last` is what is shown where one does not."""
        read: list[Statement] = []
        for index, statement in enumerate(statements):
            match statement:
                case ast.Return(value=value):
                    return [*read, *self._returned(statement, value, scope, known)]
                case ast.If(test=test, body=body, orelse=orelse) if _returns(statement):
                    rest = statements[index + 1 :]
                    before, condition = self._condition(test, scope, known)
                    ways = []
                    for holds, branch in ((True, body), (False, orelse)):
                        inner, state = scope.copy(), known.copy()
                        if self._is_way(condition, holds, inner, state):
                            ways.append(self._block([*branch, *rest], statement, inner, state))
                    if len(ways) == 1:
                        return [*read, *before, *ways[0]]
                    return [*read, *before, If(condition, tuple(ways[0]), tuple(ways[1]))]
                case _:
                    read += self._statement(statement, scope, known)
        raise _Refused(statements[-1] if statements else last, "a way through this returns nothing")

    def _statement(self, statement: ast.stmt, scope: _Scope, known: _Known) -> list[Statement]:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())):
                return []
            case ast.Assign(targets=targets, value=value):
                return self._assigned(statement, targets, value, scope, known)
            case ast.If(test=test, body=body, orelse=orelse):
                before, condition = self._condition(test, scope, known)
                ways, scopes = [], []
                for holds, branch in ((True, body), (False, orelse)):
                    inner, state = scope.copy(), known.copy()
                    if self._is_way(condition, holds, inner, state):
                        lines = [line for each in branch for line in self._statement(each, inner, state)]
                        ways.append(lines)
                        scopes.append((inner, state))
                self._meet(statement, condition, scope, known, scopes)
                if len(ways) == 1:
                    return [*before, *ways[0]]
                return [*before, If(condition, tuple(ways[0]), tuple(ways[1]))]
        raise _Refused(statement, "a rule has assignments, 'if' and 'return'")

    def _is_way(self, condition: Condition, holds: bool, scope: _Scope, known: _Known) -> bool:
        """Whether a way can be taken; what is known on it is put into its scope."""
        if isinstance(condition, Literal):
            return bool(condition.value) is holds
        if isinstance(condition, Given):
            for variable in [each for each, number in known.optional.items() if number == condition.array]:
                del known.optional[variable]
                if condition.wanted is not holds:
                    for name in [name for name, value in scope.values.items() if value == variable]:
                        scope.values[name] = _Nothing.NONE
        return True

    def _meet(
        self, statement: ast.stmt, condition: Condition, scope: _Scope, known: _Known,
        ways: Sequence[tuple[_Scope, _Known]],
    ) -> None:  # fmt: skip
        """Put into a scope what is known after all ways."""
        if len(ways) == 1:
            scope.values, known.optional = ways[0][0].values, ways[0][1].optional
            return
        (one, first), (other, second) = ways
        values: dict[str, _Value] = {}
        optional = {**first.optional, **second.optional}
        for name in one.values.keys() & other.values.keys():
            left, right = one.values[name], other.values[name]
            if left == right:
                values[name] = left
                continue
            if isinstance(condition, Given):
                there, missing = (left, right) if condition.wanted else (right, left)
                if isinstance(there, Variable) and there.type == TENSOR and isinstance(missing, _Nothing):
                    values[name] = there
                    optional[there] = condition.array
                    continue
            raise _Refused(statement, f"'{name}' is an array after one way through this, and something else otherwise")
        scope.values, known.optional = values, optional

    def _condition(self, test: ast.expr, scope: _Scope, known: _Known) -> tuple[list[Statement], Condition]:
        match test:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as sign], comparators=[ast.Constant(value=None)]
            ) if name in scope.values:
                value = scope.values[name]
                positive = isinstance(sign, ast.IsNot)
                if isinstance(value, Variable) and value in known.optional:
                    return [], Given(known.optional[value], positive)
                return [], constant(isinstance(value, _Nothing) is not positive)
        before, condition = self._expression(test, scope, known)
        if condition.type != BOOL:
            raise _Refused(test, f"a condition is a comparison of numbers or an option, and this is {_said(condition)}")
        return before, condition

    def _assigned(
        self, statement: ast.Assign, targets: Sequence[ast.expr], value: ast.expr, scope: _Scope, known: _Known
    ) -> list[Statement]:
        definition = self._called(value, scope)
        if definition is not None:
            assert isinstance(value, ast.Call)
            before, values = self._results_of(value, definition, scope, known)
        elif isinstance(value, ast.Tuple):
            before, values = [], []
            for element in value.elts:
                lines, read = self._expression(element, scope, known)
                before += lines
                values.append(read)
        else:
            before, read = self._expression(value, scope, known)
            values = [read]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(names) != len(values):
                raise _Refused(target, f"{len(names)} names for {len(values)} values")
            before += self._bound(statement, names, values, scope, known)
            # Of several targets the others are other names of the first one's variables.
            values = [self._plain(name, scope, known) for name in names]
        return before

    def _bound(
        self, statement: ast.Assign, names: Sequence[ast.expr], values: Sequence[TypedExpr], scope: _Scope,
        known: _Known,
    ) -> list[Statement]:  # fmt: skip
        """Assignments of values that are all computed before any is assigned."""
        lines: list[Statement] = []
        pairs: list[tuple[str, TypedExpr]] = []
        for number, (name, value) in enumerate(zip(names, values, strict=True)):
            if not isinstance(name, ast.Name):
                raise _Refused(name, "values are assigned to names")
            if name.id == _LIBRARY:
                raise _Refused(name, f"'{_LIBRARY}' is the library of arrays")
            before = {scope.values.get(each.id) for each in names[:number] if isinstance(each, ast.Name)}
            if before.intersection(part for part in walk(value) if isinstance(part, Variable)):
                kept = self._new(name.id, value.type)
                lines.append(Assign(kept, value))
                value = kept
            pairs.append((name.id, value))
        for name_, value in pairs:
            target = scope.variables.get(name_) or self._new(name_, value.type)
            if target.type != value.type:
                raise _Refused(statement, f"'{name_}' is {_said(target)}, and this is {_said(value)}")
            if target.type in (FLOAT, BOOL) and name_ in scope.values:
                raise _Refused(
                    statement, f"'{name_}' is set already", "numbers are computed before arrays, and set once"
                )
            scope.values[name_] = scope.variables[name_] = target
            known.optional.pop(target, None)
            lines.append(Assign(target, value))
        return lines

    def _results_of(
        self, call: ast.Call, definition: ast.FunctionDef, scope: _Scope, known: _Known
    ) -> tuple[list[Statement], list[TypedExpr]]:
        """What a helper does and gives, where it is called."""
        *body, last = definition.body
        if not isinstance(last, ast.Return) or last.value is None or any(map(_returns, body)):
            raise _Refused(last, f"the helper '{definition.name}' returns once, at its end")
        before, inner = self._inner(call, definition, scope, known, at_end=False)
        self._active.append(definition.name)
        for statement in body:
            before += self._statement(statement, inner, known)
        values = []
        for element in last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]:
            lines, value = self._expression(element, inner, known)
            before += lines
            values.append(value)
        self._active.pop()
        return before, values

    def _returned(self, statement: ast.Return, value: ast.expr | None, scope: _Scope, known: _Known) -> list[Statement]:
        if value is not None and (definition := self._called(value, scope)) is not None:
            assert isinstance(value, ast.Call)
            before, inner = self._inner(value, definition, scope, known, at_end=True)
            self._active.append(definition.name)
            inside = self._block(definition.body, definition.body[-1], inner, known)
            self._active.pop()
            return [*before, *inside]
        elements = value.elts if isinstance(value, ast.Tuple) else []
        if len(elements) != self._results:
            raise _Refused(
                statement, f"the results are {self._results}: the parameter, and what is kept, in their order"
            )
        lines: list[Statement] = []
        values: list[TypedExpr | None] = []
        for number, element in enumerate(elements, 1):
            found = scope.values.get(element.id) if isinstance(element, ast.Name) else None
            if found is _Nothing.NONE or (isinstance(element, ast.Constant) and element.value is None):
                values.append(None)
            elif isinstance(found, Variable) and known.optional.get(found, number) == number:
                values.append(found)
            else:
                before, read = self._expression(element, scope, known)
                lines += before
                values.append(read)
            result = values[-1]
            if result is not None and result.type != TENSOR:
                raise _Refused(element, f"a result is an array, and this is {_said(result)}")
        return [*lines, Return(tuple(values))]

    # -- expressions

    def _plain(self, node: ast.expr, scope: _Scope, known: _Known) -> TypedExpr:
        """An expression in which nothing depends on a condition."""
        before, value = self._expression(node, scope, known)
        if before:
            raise _Refused(node, "a conditional expression can not stand here")
        return value

    def _expression(self, node: ast.expr, scope: _Scope, known: _Known) -> tuple[list[Statement], TypedExpr]:
        """An expression, and what has to be done before: conditional ones in it are variables, which that sets."""
        before: list[Statement] = []

        def read(each: ast.expr) -> TypedExpr:
            lines, value = self._expression(each, scope, known)
            before.extend(lines)
            return value

        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return before, constant(float(number))
            case ast.Name(id=name):
                return before, self._named(node, name, scope, known)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = read(operand)
                self._expect(operand, value, _EITHER)
                return before, of_signs("-", value)
            case ast.BinOp(left=left, op=op, right=right):
                return before, self._binary(node, op, read(left), read(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if SIGNS.get(type(op)) in COMPARISONS:
                sides = read(left), read(right)
                for each, side in zip((left, right), sides, strict=True):
                    self._expect(each, side, _EITHER)
                return before, of_signs(SIGNS[type(op)], *sides)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._conditional(node, test, (body, orelse), scope, known)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name), args=args, keywords=[]) if (
                owner == _LIBRARY
            ):
                return before, self._function(node, name, args, [read(each) for each in args])
        raise _Refused(
            node, "a rule can not be compiled with this",
            _SUBSET,
        )  # fmt: skip

    def _named(self, node: ast.expr, name: str, scope: _Scope, known: _Known) -> TypedExpr:
        value = scope.values.get(name)
        if value is None or name == _LIBRARY:
            raise _Refused(node, f"'{name}' is no value here", "it is set on some ways only, or on none")
        if isinstance(value, _Nothing) or value in known.optional:
            raise _Refused(node, f"'{name}' may be None here", f"ask 'if {name} is None' before")
        return value

    def _binary(self, node: ast.expr, op: ast.operator, left: TypedExpr, right: TypedExpr) -> TypedExpr:
        sign = SIGNS.get(type(op))
        kinds = {left.type, right.type}
        if sign is None or (sign != "**" and (sign, 2) not in FUNCTIONS):
            raise _Refused(node, "a rule adds, subtracts, multiplies, divides, and raises numbers to powers")
        # NumPy makes numbers of bools where they meet an array of these.
        if kinds != {FLOAT} and (TENSOR not in kinds or BOOL in kinds or sign == "**"):
            raise _Refused(node, f"'{sign}' of {_said(left)} and {_said(right)} can not be compiled")
        return of_signs(sign, left, right)

    def _conditional(
        self, node: ast.expr, test: ast.expr, branches: Sequence[ast.expr], scope: _Scope, known: _Known
    ) -> tuple[list[Statement], TypedExpr]:
        before, condition = self._condition(test, scope, known)
        read = []
        for holds, branch in zip((True, False), branches, strict=True):
            inner, state = scope.copy(), known.copy()
            if self._is_way(condition, holds, inner, state):
                read.append(self._expression(branch, inner, state))
        if len(read) == 1:
            return [*before, *read[0][0]], read[0][1]
        kinds = {value.type for _, value in read}
        if len(kinds) > 1:
            raise _Refused(node, "both sides of a conditional expression are of one kind")
        chosen = self._new("chosen", *kinds)
        ways = [(*lines, Assign(chosen, value)) for lines, value in read]
        return [*before, If(condition, ways[0], ways[1])], chosen

    def _function(self, node: ast.expr, name: str, nodes: Sequence[ast.expr], values: list[TypedExpr]) -> TypedExpr:
        taken = _OF_NUMPY.get(name)
        if taken is None:
            raise _Refused(node, f"{_LIBRARY}.{name} can not be compiled", f"there are {', '.join(_OF_NUMPY)}")
        if len(taken) != len(values):
            raise _Refused(node, f"{_LIBRARY}.{name} takes {len(taken)} arguments here")
        for each, value, kinds in zip(nodes, values, taken, strict=True):
            self._expect(each, value, kinds)
        if not any(value.type == TENSOR for value in values):
            raise _Refused(node, f"{_LIBRARY}.{name} takes an array")
        return Intrinsic(TENSOR, 0, 0, name, tuple(values))

    def _expect(self, node: ast.expr, value: TypedExpr, kinds: Sequence[ValueType]) -> None:
        if value.type not in kinds:
            wanted = " or ".join(said for kind, said in KINDS.items() if kind in kinds)
            raise _Refused(node, f"this is {_said(value)}, and is to be {wanted}")


def _returns(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def _said(value: TypedExpr) -> str:
    return KINDS[value.type]
