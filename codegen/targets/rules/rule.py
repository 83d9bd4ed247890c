"""The rule of an operator: three functions, and the line of the table that names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import TypedExpr, Variable, VariableKind, walk
from codegen.plan.forward import ForwardPlan
from codegen.plan.kinds import SavedKind
from codegen.plan.node import EdgePlan, GradientPlan, NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.schema.types import ListType
from codegen.source import Span
from codegen.targets.environment import docstring
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import Lines, any_of, choice, function_head
from codegen.targets.rules.library import File, Item, Library
from codegen.targets.rules.printer import TreePrinter, argument, gradient_variable, parameters_of
from codegen.targets.rules.values import NotPortable
from codegen.targets.rules.wrapping import wrapped

_LONG = 70  # of names that are assigned


@dataclass(frozen=True, slots=True)
class RuleView:
    """What the template prints of an operator."""

    name: str
    schema: str  # as a comment
    functions: tuple[str, ...]
    entry: str
    item: Item


def rule_view(operator: OperatorPlan, library: Library) -> RuleView:
    """The rule of an operator that has a Node.

    Raises:
        NotPortable: a formula calls what can not be written as functions over the array API.
    """
    node = operator.autograd.node
    assert node is not None
    if not operator.autograd.differentiable:
        raise NotPortable("none of its gradients is implemented", _place(operator))
    item = Item(("rules", str(operator.name)), File.RULES, operator.python.function)
    writer = RuleWriter(operator, node, library, item)
    functions = [writer.save(), writer.vjp()]
    jvp = writer.jvp()
    names = [f"save_{operator.python.function}", f"vjp_{operator.python.function}"]
    if jvp is not None:
        functions.append(jvp)
        names.append(f"jvp_{operator.python.function}")
    broken = library.is_whole(item)
    if broken is not None:
        raise broken
    inputs = tuple(edge.name for edge in node.edges)
    results = tuple(node.outputs)
    parts = [literal(str(operator.schema)), literal(inputs), literal(results), *names]
    entry = wrapped(f"    {literal(str(operator.name))}: Rule({', '.join(parts)}),")
    return RuleView(str(operator.name), wrapped(f"# {operator.schema}"), tuple(map(wrapped, functions)), entry, item)


def _place(operator: OperatorPlan) -> Span | None:
    return operator.autograd.formulas[0][0].span() if operator.autograd.formulas else None


class RuleWriter:
    """Writes the functions of one rule.

    Args:
        operator: the operator.
        node: what is planned of its gradients.
        library: what is called.
        item: what is written.
        selects: whether gradients may be left out that nobody asks for, and those of results may not be there.
    """

    def __init__(
        self, operator: OperatorPlan, node: NodePlan, library: Library, item: Item, selects: bool = True
    ) -> None:
        self.operator = operator
        self.node = node
        self.library = library
        self.item = item
        self.selects = selects
        self.several = len(node.edges) > 1
        self.materialized = sorted({index for gradient in node.gradients for index in gradient.materialize})
        if not selects:
            self.materialized = []

    # -- what is kept

    def kept(self) -> str:
        """The expression of what `vjp` needs."""
        node = self.node
        arrays: list[str] = []
        values: list[str] = []
        for variable in node.saved:
            text = self._kept(variable)
            (values if variable.kind is SavedKind.VALUE else arrays).append(text)
        values += [self._spec(edge) for edge in node.edges]
        values += [f"spec_of({self._result(node.outputs[index])})" for index in self.materialized]
        return f"Saved({tuple_of(arrays)}, {tuple_of(values)})"

    def save(self) -> str:
        """The function that keeps what `vjp` needs."""
        operator = self.operator
        out = Lines()
        body = f"return {self.kept()}"
        if "xp" in _words(body):
            out.add(f"xp = namespace({self._first_array()})")
        out.add(body)
        head = function_head(
            f"save_{operator.python.function}",
            [f"out: {self._out_annotation()}", *_in_order(operator), "*", *self._needs_parameter()],
            "Saved",
        )
        return f"{head}\n{out.text}"

    def _first_array(self) -> str:
        return argument(self.node.edges[0].name) + ("[0]" if self.node.edges[0].is_list else "")

    def _needs_parameter(self) -> list[str]:
        return [f"needs: Sequence[bool] = {tuple_of(['True'] * len(self.node.edges))}"]

    def _out_annotation(self) -> str:
        returns = self.operator.schema.returns
        if len(returns) > 1:
            return "Sequence[Array]"
        return "Sequence[Array]" if isinstance(returns[0].type, ListType) else "Array"

    def _result(self, index: int) -> str:
        return "out" if len(self.operator.schema.returns) == 1 else f"out[{index}]"

    def _kept(self, variable: SavedVariable) -> str:
        if variable.kind is SavedKind.RESULT:
            text = self._result(variable.result_index)
        elif variable.kind is SavedKind.VALUE:
            return self._value(variable.expr)
        else:
            text = self._value(variable.expr)
        needing = self.node.edges_needing(variable)
        if not needing or not self.selects:
            return text
        return choice(text, any_of([f"needs[{self.node.edges.index(edge)}]" for edge in needing]), "None")

    def _value(self, expr: TypedExpr) -> str:
        def renamed(part: Variable) -> str:
            if part.kind is VariableKind.OUTPUT:
                return self._result(part.index)
            return argument(part.name)

        printer = TreePrinter(self.library, self.item, renamed)
        return printer.value(expr).text

    def _spec(self, edge: EdgePlan) -> str:
        name = argument(edge.name)
        self.item.imports["spec_of"] = None
        if edge.is_list:
            return f"tuple([None if each is None else spec_of(each) for each in {name}])"
        return choice("None", f"{name} is None", f"spec_of({name})") if edge.is_optional else f"spec_of({name})"

    # -- gradients

    def vjp(self) -> str:
        """The function of the gradients."""
        node, operator = self.node, self.operator
        out = Lines()
        out.add(docstring(f"The gradient of {', '.join(edge.name for edge in node.edges)}."))
        if node.single:
            out.add("xp = namespace(grad)")
        else:
            out.add("xp = namespace(*grads)")
        gradients = self.gradients(out)
        out.add(f"return {tuple_of(gradients)}")
        grads = "grad: Array" if node.single else "grads: Sequence[Array | None]"
        head = function_head(
            f"vjp_{operator.python.function}", ["saved: Saved", grads, *self._needs_parameter()], "Gradients"
        )
        return f"{head}\n{out.text}"

    def gradients(self, out: Lines) -> list[str]:
        """The statements that compute the gradients from `saved` and `grad` or `grads`, and their names."""
        node = self.node
        gradients = [gradient_name(edge) for edge in node.edges]
        arrays = [variable for variable in node.saved if variable.kind is not SavedKind.VALUE]
        values = [argument(variable.name) for variable in node.saved if variable.kind is SavedKind.VALUE]
        values += [f"{argument(edge.name)}_spec" for edge in node.edges]
        values += [f"grad_{index}_spec" for index in self.materialized]
        if arrays:
            out.add(f"{tuple_of_targets([argument(each.name) for each in arrays])} = saved.arrays")
        if values:
            out.add(f"{tuple_of_targets(values)} = saved.values")
        names = ["grad"] if node.single else [f"grad_{index}" for index in range(len(node.outputs))]
        if not node.single and not node.dynamic:
            out.add(f"{tuple_of_targets(names)} = grads")
        if self.selects and (self.several or not node.single):
            chain = " = ".join(gradients)
            out.add(*(f"{each} = None" for each in ([chain] if len(chain) <= _LONG else gradients)))
        for gradient in node.gradients:
            self._gradient(gradient, out)
        return gradients

    def _gradient(self, gradient: GradientPlan, out: Lines) -> None:
        node = self.node
        conditions = []
        if self.selects and len(node.edges) > len(gradient.edges):
            conditions.append(any_of([f"needs[{index}]" for index in gradient.edges]))
        if self.selects and gradient.reads and not node.single and not node.dynamic:
            conditions.append(any_of([f"grad_{index} is not None" for index in gradient.reads]))
        with out.when(conditions):
            out.comment(gradient.source)
            if gradient.tree is None:
                if not self.selects:  # it is refused where the function is called
                    out.add(f"{' = '.join(gradient_name(node.edges[index]) for index in gradient.edges)} = None")
                    return
                text = f"the derivative of '{gradient.reason}' for '{gradient.names[0]}' is not implemented"
                out.add(f"raise NotImplementedError({literal(text)})")
                return
            for index in gradient.materialize if self.selects else ():
                self.item.imports["zeros"] = None
                name = f"grad_{index}"
                out.add(f"defined_{index} = zeros(xp, grad_{index}_spec) if {name} is None else {name}")
            uses = {part.kind for part in walk(gradient.tree) if isinstance(part, Variable)}
            if VariableKind.MASK in uses:
                wanted = [
                    f"needs[{index}]" if self.selects and len(gradient.edges) > 1 else "True"
                    for index in gradient.edges
                ]
                out.add(f"mask = {tuple_of(wanted)}")
            text = self._formula(gradient, out)
            edges = [node.edges[index] for index in gradient.edges]
            if len(edges) == 1:
                out.add(f"{gradient_name(edges[0])} = {self._fitted(edges[0], text)}")
                return
            out.add(f"{tuple_of_targets(list(map(gradient_name, edges)))} = {text}")
            for edge in edges:
                out.add(f"{gradient_name(edge)} = {self._fitted(edge, gradient_name(edge))}")

    def _formula(self, gradient: GradientPlan, out: Lines) -> str:
        node = self.node
        assert gradient.tree is not None
        named = gradient_variable(node, "defined" if self.selects else "grad", argument)
        printer = TreePrinter(self.library, self.item, named)
        try:
            return printer.formula(gradient.tree, out)
        except NotPortable as error:
            raise self._at(error, gradient) from error

    def _at(self, error: NotPortable, gradient: GradientPlan) -> NotPortable:
        """The error with the place of the formula."""
        return NotPortable(error.reason, gradient.text.span() if gradient.text is not None else error.place)

    def _fitted(self, edge: EdgePlan, text: str) -> str:
        spec = f"{argument(edge.name)}_spec"
        function = "as_gradients" if edge.is_list else "as_gradient"
        self.item.imports[function] = None
        return f"{function}(xp, {text}, {spec})"

    # -- tangents

    def jvp(self) -> str | None:
        """The function of the tangents; None where no formula gives them."""
        forward, operator = self.operator.autograd.forward, self.operator
        if forward is None:
            return None
        count = len(operator.schema.returns)
        out = Lines()
        out.add(docstring(f"The tangent of {'the result' if count == 1 else 'each result'}."))
        out.add(f"xp = namespace({self._first_array()})")
        self._tangents_given(forward, out)
        parts = self.tangents(forward, out)
        out.add(f"return {parts[0] if count == 1 else tuple_of(parts)}")
        tangents = [
            f"{argument(tangent.name)}_t: {'Sequence[Array | None] | None' if tangent.is_list else 'Array | None'}"
            for tangent in forward.tangents
        ]
        plain = [text.partition(" = ")[0] for text in parameters_of(operator) if text != "*"]
        returns = "Array | None" if count == 1 else "tuple[Array | None, ...]"
        if isinstance(operator.schema.returns[0].type, ListType):
            returns = "Sequence[Array | None]"
        head = function_head(
            f"jvp_{operator.python.function}", [f"out: {self._out_annotation()}", *plain, *tangents], returns
        )
        return f"{head}\n{out.text}"

    def _tangents_given(self, forward: ForwardPlan, out: Lines) -> None:
        """Statements that put zeros in the place of tangents that are not there."""
        read = {
            part.name
            for formula in forward.formulas
            for part in walk(formula.tree)
            if isinstance(part, Variable) and part.kind is VariableKind.TANGENT
        }
        for tangent in forward.tangents:
            if tangent.name not in read:
                continue
            name = argument(tangent.name)
            if tangent.is_list:
                self.item.imports["as_tangents"] = None
                out.add(f"{name}_t = as_tangents(xp, {name}_t, {name})")
            else:
                self.item.imports["tangent_of"] = None
                out.add(f"{name}_t = tangent_of(xp, {name}_t, {name})")

    def tangents(self, forward: ForwardPlan, out: Lines) -> list[str]:
        """The statements that compute the tangents, and for each result its tangent, or None."""
        count = len(self.operator.schema.returns)
        used = {
            part.name: part.index
            for formula in forward.formulas
            for part in walk(formula.tree)
            if isinstance(part, Variable) and part.kind is VariableKind.OUTPUT
        }
        for name, index in used.items():
            out.add(f"{argument(name)} = {self._result(index)}")
        parts = ["None"] * count
        for formula in forward.formulas:
            out.comment(formula.source)
            try:
                text = TreePrinter(self.library, self.item).formula(formula.tree, out)
            except NotPortable as error:
                place = next(
                    (
                        text.span()
                        for text, _ in self.operator.autograd.formulas
                        if formula.source.endswith(" ".join(text.value.split()))
                    ),
                    None,
                )
                raise NotPortable(error.reason, place or error.place) from error
            if len(formula.outputs) == 1:
                parts[formula.outputs[0]] = self._tangent(text, formula.outputs[0])
                if count > 1:
                    out.add(f"tangent_{formula.outputs[0]} = {parts[formula.outputs[0]]}")
                    parts[formula.outputs[0]] = f"tangent_{formula.outputs[0]}"
            else:
                out.add(f"{', '.join(f'tangent_{index}' for index in formula.outputs)} = {text}")
                for index in formula.outputs:
                    parts[index] = self._tangent(f"tangent_{index}", index)
        return parts

    def _tangent(self, text: str, index: int) -> str:
        function = "as_tangent"
        if isinstance(self.operator.schema.returns[0].type, ListType):
            function = "as_tangents_of"
        self.item.imports[function] = None
        return f"{function}(xp, {text}, {self._result(index)})"


def _in_order(operator: OperatorPlan) -> list[str]:
    """The parameters, all of which may be given by place; those before one without a default have none either."""
    parts = [text for text in parameters_of(operator) if text != "*"]
    required = max((place for place, text in enumerate(parts) if " = " not in text), default=-1)
    return [text.partition(" = ")[0] if place < required else text for place, text in enumerate(parts)]


def tuple_of_targets(names: Sequence[str]) -> str:
    """The left side of an assignment of a tuple; one that is long stands in brackets, at which it is broken."""
    joined = ", ".join(names)
    if len(names) == 1:
        return f"({joined},)"
    return f"({joined})" if len(joined) > _LONG else joined


def gradient_name(edge: EdgePlan) -> str:
    """The variable of a gradient."""
    return f"{argument(edge.name)}_gradient"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
