"""The degrees of Python functions over operators: helpers and composite operators, followed through their source.

The language is what such functions are written in: assignments, branches, loops over lists, comprehensions, calls of
operators (`ops.f(x)`, `x.f()`, `x + y`), of intrinsics (`x.shape`, `x.dim()`) and of other functions of the same kind.
Anything else is unknown where it is given something that depends on what comes in, and constant where it is not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from codegen.python_source import PythonFunction, PythonModule, linear_groups, linear_names
from codegen.python_syntax import defaults, parameters
from codegen.rules.linear.calls import Cause, Explain, Operators, Trace
from codegen.rules.linear.conclusions import Conclusions
from codegen.rules.linear.degree import Degree, Value, either, either_value, flat, opaque, varies
from codegen.rules.linear.expressions import Expressions

_MAX_PASSES = 6  # through a loop or a recursion: a degree can change so often at most


class PythonDegrees:
    """The degrees of all functions of some modules, found with what is known of the operators that they call."""

    def __init__(
        self,
        modules: Mapping[str, PythonModule],
        operators: Operators,
        conclusions: Conclusions,
    ) -> None:
        self.modules = modules
        self.operators = operators
        self._conclusions = conclusions
        self._known: dict[object, Value] = {}
        self._met: set[object] = set()  # of these, a value was asked for since it was first computed

    def of_function(self, function: PythonFunction, degrees: Mapping[str, Value]) -> Value:
        """The degree of the result, for parameters of these degrees; the others have their defaults."""
        module = self.modules.get(function.module)
        definition = None if module is None else module.functions.get(function.name)
        if module is None or definition is None:
            return opaque(map(flat, degrees.values()))
        return self.of_definition(module, definition, degrees)

    def of_definition(self, module: PythonModule, definition: ast.FunctionDef, degrees: Mapping[str, Value]) -> Value:
        """As `of_function`; of a function that is declared to be linear in all that varies, by its declaration."""
        for group in () if self.operators.complex_alone else map(linear_names, linear_groups(definition)):
            inside = [flat(degrees.get(name, Degree.CONSTANT)) for name in group]
            outside = (flat(value) for name, value in degrees.items() if name not in group)
            if group and Degree.CONSTANT not in inside and not any(map(varies, outside)):
                return either(*inside)
        key = module.name, definition.name, tuple(sorted(degrees.items(), key=lambda item: item[0]))
        if key in self._known:
            self._met.add(key)
            return self._known[key]
        # Of a recursive function, directly or not: a fixed point.
        self._known[key] = self.operators.assumed(map(flat, degrees.values()))
        self._conclusions.add(self._known, key)
        for _ in range(_MAX_PASSES):
            before = len(self._conclusions)
            self._met.discard(key)
            value = _Run(self, module, None).function(definition, degrees)
            agrees = key not in self._met or value == self._known[key]
            self._known[key] = value
            if agrees:
                return value
            self._conclusions.forget(before)
        self._known[key] = Degree.UNKNOWN
        return Degree.UNKNOWN

    def cause(self, function: PythonFunction, degrees: Mapping[str, Value], explain: Explain) -> Cause | None:
        """The first place where a value that such a call computes stops being linear.

        `explain` tells why a call of an operator does.
        """
        module = self.modules.get(function.module)
        definition = None if module is None else module.functions.get(function.name)
        if module is None or definition is None:
            return None
        trace = Trace(explain)
        _Run(self, module, trace).function(definition, degrees)
        return trace.first


class _Run(Expressions):
    """One run through a function."""

    def __init__(self, degrees: PythonDegrees, module: PythonModule, trace: Trace | None) -> None:
        super().__init__(module, degrees.modules, degrees.operators, trace)
        self.degrees = degrees
        self.result: Value | None = None
        self.exits: list[dict[str, Value]] = []  # the variables where the innermost loop is left, or its body

    def function(self, definition: ast.FunctionDef, values: Mapping[str, Value]) -> Value:
        self.annotations = {each.arg: each.annotation for each in parameters(definition)}
        optional, rest = defaults(definition), definition.args.vararg
        for name in self.annotations:
            if name in values:
                self.variables[name] = values[name]
            elif name in optional:
                self.variables[name] = self.value(optional[name])
            else:
                self.variables[name] = Degree.CONSTANT
        if rest is not None:
            self.variables[rest.arg] = values.get(rest.arg, Degree.ZERO)
        if self.block(definition.body):
            self.give(Degree.ZERO)  # None
        return Degree.ZERO if self.result is None else self.result

    def follow(self, module: PythonModule, name: str, values: Mapping[str, Value]) -> Value:
        """The degree of a call of another function."""
        definition = module.functions[name]
        value = self.degrees.of_definition(module, definition, values)
        if self.trace is not None and flat(value) is Degree.NONLINEAR and (module.name, name) not in self.trace.entered:
            self.trace.entered.add((module.name, name))
            _Run(self.degrees, module, self.trace).function(definition, values)
        return value

    def give(self, value: Value) -> None:
        self.result = value if self.result is None else either_value(self.result, value)

    # -- statements

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Run statements; whether the end is reached."""
        return all(self.statement(statement) for statement in statements)

    def statement(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Return(value=value):
                self.give(Degree.ZERO if value is None else self.value(value))
                return False
            case ast.Raise():
                return False
            case ast.Continue() | ast.Break():
                self.exits.append(self.variables)
                return False
            case ast.Assign(targets=targets, value=value):
                degree = self.value(value)
                for target in targets:
                    self.assign(target, degree)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign(target, self.sign(target, op, target, value))
            case ast.If(test=test, body=body, orelse=orelse):
                return self.branches(test, [body, orelse])
            case ast.For(target=target, iter=source, body=body, orelse=orelse):
                item = self.item(source)

                def step() -> None:
                    self.assign(target, item)
                    self.block(body)

                self.loop(step)
                return self.block(orelse)
            case ast.While(body=body, orelse=orelse):
                self.loop(lambda: self.block(body))
                return self.block(orelse)
            case ast.With(body=body):
                return self.block(body)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                reached = self.alternatives([[*body, *orelse], *(handler.body for handler in handlers)])
                return self.block(final) and reached
            case ast.Expr(value=value):
                self.value(value)
        return True

    def branches(self, test: ast.expr, blocks: Sequence[Sequence[ast.stmt]]) -> bool:
        settled = self.settled(test)
        if settled is not None:
            return self.block(blocks[0 if settled else 1])
        decided = self.truth(test)
        if not varies(decided):
            return self.alternatives(blocks)
        # Which branch is taken depends on what comes in, and so does all that is made there.
        before, result = dict(self.variables), self.result
        reached = self.alternatives(blocks)
        worst = Degree.UNKNOWN if decided is Degree.UNKNOWN else Degree.NONLINEAR
        self.blame(test, "this condition depends on it")
        for name, value in self.variables.items():
            if before.get(name) != value:
                self.variables[name] = worst
        if self.result != result:
            self.result = worst
        return reached

    def alternatives(self, blocks: Iterable[Sequence[ast.stmt]]) -> bool:
        """Each of the blocks may be the one that runs."""
        before = self.variables
        ends: list[dict[str, Value]] = []
        for block in blocks:
            self.variables = dict(before)
            if self.block(block):
                ends.append(self.variables)
        self.variables = before if not ends else ends[0]
        for other in ends[1:]:
            self.merge(other)
        return bool(ends)

    def loop(self, run: Callable[[], object]) -> None:
        """Run a body until it changes nothing any more; it may also not run at all."""
        for _ in range(_MAX_PASSES):
            before = dict(self.variables)
            outer, self.exits = self.exits, []
            run()
            exits, self.exits = self.exits, outer
            for variables in (before, *exits):
                self.merge(variables)
            if self.variables == before:
                return

    def merge(self, variables: Mapping[str, Value]) -> None:
        """The variables may also have these values."""
        for name, value in variables.items():
            mine = self.variables.get(name)
            self.variables[name] = value if mine is None else either_value(mine, value)
