"""The body of a Node's backward in C++: statements for each formula, and the tables of those that are one loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.formula.typed import TypedExpr, Variable, VariableKind, walk
from codegen.plan.loops import LoopPart
from codegen.plan.node import EdgePlan, GradientPlan, NodePlan
from codegen.targets.cpp.loops import Loops, LoopTable
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Call, Statements
from codegen.targets.cpp.text import CppPrinter, Library, Place
from codegen.targets.environment import quoted

_INTERLEAVED = "interleaved"  # the variable of the formulas that run block by block


class Parameters:
    """The parameters of a function, by their types: one that its body never reads has no name there."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self.used: set[str] = set()

    def use(self, name: str) -> str:
        """The name, which the function is to have."""
        assert name in self.types
        self.used.add(name)
        return name

    def declared(self) -> list[str]:
        """The parameters, as the function declares them once its body is written."""
        return [f"{type} {name}" if name in self.used else type for name, type in self.types.items()]


class Backward:
    """Writes the body of `apply`, in which `node` is `base` as the class that it is.

    Raises:
        UnprintableError: a formula needs something that C++ leaves to Python.
    """

    def __init__(self, node: NodePlan, library: Library, needs: Needs) -> None:
        self.node = node
        self.native = library.native.nodes[node.class_name]
        self.library = library
        self.needs = needs
        self.parameters = Parameters({"base": "Node*", "grad": "PyObject*", "results": "PyObject**"})
        self.out = Statements()
        self.tables: list[LoopTable] = []  # of formulas that are one loop
        self._write()

    @property
    def uses_node(self) -> bool:
        """Whether it looks at the Node at all."""
        return "base" in self.parameters.used

    def _node(self) -> str:
        self.parameters.use("base")
        return "node"

    def _has_edge(self, index: int) -> str:
        return f"has_edge({self._node()}, {index})"

    def _write(self) -> None:
        for variable in self.node.saved:
            name = cpp(variable.name)
            function = "saved_without_history" if self.node.is_without_history(variable) else "saved"
            node = self._node()
            self.out.assign(
                f"Ref {name}", Call(function, [node, quoted(variable.name), f"{node}->saved_{variable.name}"])
            )
            self.out.add(f"if (!{name}) return false;")
        if self.native.takes_turns:
            self.out.add(f"InterleavedFormulas {_INTERLEAVED}({self.parameters.use('grad')});")
        for gradient, parts in zip(self.node.gradients, self.native.parts, strict=True):
            self._gradient(gradient, parts)
            if gradient.tree is None and len(gradient.edges) == len(self.node.edges):
                return  # it always raises
        if self.native.takes_turns:
            self.out.add(f"{_INTERLEAVED}.finish();")
        for index, edge in enumerate(self.node.edges):
            self.out.add(f"{self.parameters.use('results')}[{index}] = gradient({_name(edge)});")
        self.out.add("return true;")

    def _spell(self, variable: Variable) -> str:
        if variable.kind is VariableKind.GRAD:
            return self.parameters.use("grad")
        return f"{cpp(variable.name)}.get()"

    def _gradient(self, gradient: GradientPlan, parts: Sequence[LoopPart]) -> None:
        """Statements for one formula, which are not run where none of its edges is there."""
        edges = [self.node.edges[index] for index in gradient.edges]
        self.out.comment(gradient.written)
        if gradient.tree is not None or len(self.node.edges) > len(edges):
            for edge in edges:
                self.out.add(f"Ref {_name(edge)};")
        if len(self.node.edges) > len(edges):
            self.out.when([self._has_edge(index) for index in gradient.edges], "{", "||")
            with self.out.block():
                self._formula(gradient, edges, parts)
        else:
            self._formula(gradient, edges, parts)

    def _formula(self, gradient: GradientPlan, edges: Sequence[EdgePlan], parts: Sequence[LoopPart]) -> None:
        tree = gradient.tree
        if tree is None:
            error = self.needs.name("runtime.graph.recording", "not_implemented_error")
            values = [self._node(), error, quoted(gradient.names[0]), quoted(gradient.reason or "")]
            self.out.add(f"return {Call('raise_not_implemented', values)};")
            return
        if _reads(tree, VariableKind.MASK):
            asked = [f"boolean({self._has_edge(index)})" for index in gradient.edges]
            self.out.assign("Ref mask", Call("make_tuple", asked))
            self.out.add("if (!mask) return false;")
        assert gradient.text is not None
        place = Place(self.node.class_name, gradient.text, first_line(self.node))
        stem = "_".join((self.node.class_name, *(edge.name for edge in edges)))
        loops = Loops(stem, self.needs, self.library.native.kernels, parts, _INTERLEAVED, self._has_edge)
        printer = CppPrinter(self.library, self.needs, self._spell, self.out, place, loops=loops)
        if len(edges) == 1:
            printer.assign(_name(edges[0]), tree)
        else:
            together = printer.value(tree)
            self.out.unless(Call("unpack_into", [together, *map(_name, edges)]), "return false;")
        self.tables += loops.tables
        if printer.is_placed:
            self.out.lead_back()


def first_line(node: NodePlan) -> int:
    """The line of the first of a Node's formulas in their file."""
    return min(gradient.text.span().line for gradient in node.gradients if gradient.text is not None)


def _name(edge: EdgePlan) -> str:
    return f"{cpp(edge.name)}gradient"


def _reads(tree: TypedExpr, kind: VariableKind) -> bool:
    return any(isinstance(part, Variable) and part.kind is kind for part in walk(tree))
