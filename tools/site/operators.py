"""The pages of operators: one for each base name, with all its overloads, made of the plan of the generator.

What a page says comes from where the generator and the proofs have it: the plan, the bound formulas, the ledger of
proofs, the table of docs/deviations.md, and examples that have run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import gradwright
from codegen import pipeline
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.commands.proven import ledger
from codegen.formula.typed import Helper, HelperCall, TypedExpr, walk
from codegen.paths import Paths, project_paths
from codegen.plan.documentation import OverloadDocumentation, plan_documentation
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import PacketPlan
from codegen.read.examples import read_results
from codegen.read.model import FormulaKind
from codegen.targets.docs.explain import saved_as
from codegen.targets.docs.mathematics import MathPrinter
from codegen.targets.python.examples import example
from codegen.words import SHORTENING_MODULES
from gradwright.verify.table import BY_NAME
from tools.site import plots
from tools.site.templates import template

_KINDS = {
    OperatorKind.KERNEL: "a kernel on arrays",
    OperatorKind.IMPLICIT: "composite: differentiated through the operators that it calls",
    OperatorKind.EXPLICIT: "composite, with a derivative of its own",
    OperatorKind.DECLARED: "declared only: a call raises NotImplementedError",
}
_WORDS = {
    "auto_linear": "as the operator itself, of the tangents: it is linear",
    "auto_element_wise": "the derivative of the gradient, conjugated, times the tangent",
}
_ROW = re.compile(r"^\| (?P<operator>.*?) \| (?P<theirs>.*?) \| (?P<ours>.*?) \| (?P<evidence>.*?) \|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Equation:
    """A formula: what it is for, the mathematics (empty for a word), the text of the YAML, and where it stands."""

    names: str
    mathematics: str
    text: str
    place: str
    note: str = ""


@dataclass(frozen=True)
class Overload:
    """What a page says of one overload."""

    name: str
    signature: str
    kind: str
    legend: Sequence[tuple[str, str]]
    values: Sequence[Equation]
    backward: Sequence[Equation]
    forward: Sequence[Equation]
    no_derivative: str
    saved: Sequence[tuple[str, Sequence[str]]]
    slopes: Sequence[tuple[str, str]]
    proven: Sequence[tuple[str, str]]
    skipped: Sequence[tuple[str, str]]
    conventions: Sequence[str]


@dataclass(frozen=True)
class HelperText:
    """A helper that formulas call: what is said about it, and its source; both may be empty."""

    name: str
    about: str
    source: str


@dataclass(frozen=True)
class Difference:
    """A row of docs/deviations.md."""

    operator: str
    theirs: str
    ours: str
    evidence: str


@dataclass(frozen=True)
class Page:
    """All that a page says."""

    base: str
    module: str
    about: Sequence[str]
    ways: Sequence[str]
    example: Sequence[str]
    overloads: Sequence[Overload]
    helpers: Sequence[HelperText]
    plot: plots.Plot | None
    differences: Sequence[Difference]

    @property
    def file(self) -> str:
        return f"operators/{self.base}.md"

    @property
    def values(self) -> Sequence[tuple[Sequence[str], Equation, Sequence[tuple[str, str]]]]:
        """The equations of the results, each once: the overloads that it is of, and what its symbols stand for."""
        found: dict[Equation, list[Overload]] = {}
        for overload in self.overloads:
            for equation in overload.values:
                found.setdefault(equation, []).append(overload)
        return [([each.name for each in of], equation, of[0].legend) for equation, of in found.items()]


class Operators:
    """What pages of operators are made of."""

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths = project_paths() if paths is None else paths
        result = pipeline.analyze(self.paths, checks=False)
        if result.plan is None:
            raise ValueError("the YAML has errors: python -m codegen shows them")
        self.plan = result.plan
        self.entries: Mapping[str, ResolvedEntry] = {str(entry.function.name): entry for entry in result.resolved}
        self.proven = ledger(self.paths) or {}
        self.results = read_results(self.paths.examples)
        self.by_function = {operator.python.function: operator for operator in self.plan.operators}
        self.differences = tuple(
            Difference(**match.groupdict())
            for match in _ROW.finditer((self.paths.root / "docs" / "deviations.md").read_text(encoding="utf-8"))
            if not match["operator"].startswith(("operator", "---"))
        )

    @cached_property
    def expressions(self) -> Mapping[str, TypedExpr]:
        """The operators that are expressions over elements."""
        return {
            str(each.name): each.compute.elementwise.formula for each in self.plan.operators if each.compute.elementwise
        }

    def pages(self) -> Iterator[Page]:
        """A page for each base name of functional operators."""
        for packet in self.plan.packets:
            own = [each for each in plan_documentation(packet, self.by_function) if not each.is_variant]
            if own:
                yield self._page(packet, own)

    def _page(self, packet: PacketPlan, documented: Sequence[OverloadDocumentation]) -> Page:
        base = packet.base
        operators = [each.operator for each in documented]
        examples = [example(operator, base, self.plan.namespace, frozenset()) for operator in operators]
        shown = next((lines for lines in examples if lines and lines in self.results), ())
        trees = [tree for operator in operators for tree in self._trees(operator)]
        helpers = {
            part.helper.name: part.helper for tree in trees for part in walk(tree) if isinstance(part, HelperCall)
        }
        return Page(
            base,
            operators[0].source.python_module or "",
            list(dict.fromkeys(each.about for each in documented if _says_more(each))),
            list(dict.fromkeys(way for operator in operators for way in _ways(operator))),
            [*shown, *self.results.get(shown, ())] if shown else [],
            [self._overload(each) for each in documented],
            [_helper(helper) for _, helper in sorted(helpers.items())],
            plots.plot(operators),
            [each for each in self.differences if base in _named(each.operator)],
        )

    def _trees(self, operator: OperatorPlan) -> Iterator[TypedExpr]:
        entry = self.entries.get(str(operator.name))
        for formula in () if entry is None else (*entry.backward, *entry.forward):
            if formula.tree is not None:
                yield formula.tree
        if operator.compute.composite is not None:
            yield operator.compute.composite.tree

    def _overload(self, documented: OverloadDocumentation) -> Overload:
        operator = documented.operator
        name = str(operator.name)
        printer = MathPrinter(operator.schema, self.expressions)
        entry = self.entries.get(name)
        has_node = operator.autograd.node is not None
        backward = [self._derivative(printer, each, False) for each in entry.backward] if entry and has_node else []
        forward = [self._derivative(printer, each, True) for each in entry.forward] if entry and has_node else []
        row = self.proven.get(name, {})
        return Overload(
            name,
            str(operator.schema),
            _KINDS[operator.kind],
            printer.symbols.legend(),
            list(_values(operator, printer)),
            backward,
            forward,
            documented.derivative,
            [(node.class_name, [saved_as(each, node) for each in node.saved]) for node in operator.autograd.nodes],
            list(_slopes(operator)),
            [(BY_NAME[word].title, word) for word in row.get("proven", "").split()],
            [(BY_NAME[word].title, reason) for word, reason in row.get("skipped", {}).items()],
            _conventions(operator, row),
        )

    def _derivative(self, printer: MathPrinter, formula: ResolvedFormula, is_forward: bool) -> Equation:
        text = formula.source.text
        written = " ".join(text.value.split())
        mathematics = printer.derivative(formula, is_forward) or ""
        note = _WORDS.get(written, "") if formula.kind is not FormulaKind.EXPRESSION else ""
        return Equation(", ".join(formula.names), mathematics, written, self._place(text), note)

    def _place(self, text: object) -> str:
        span = text.span()  # type: ignore[attr-defined]
        return f"{span.file.path}:{span.line}"


def _helper(helper: Helper) -> HelperText:
    function = helper.function
    if function is None:
        return HelperText(helper.name, "", "")
    return HelperText(helper.name, function.about, _sources(function.span.file.text).get(function.name, ""))


@cache
def _sources(text: str) -> Mapping[str, str]:
    """The source of each function of a module, without its docstring, by its name."""
    found = {}
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            has_docstring = ast.get_docstring(node) is not None
            start = node.body[1 if has_docstring else 0].lineno if len(node.body) > has_docstring else node.lineno
            head = lines[node.lineno - 1 : node.body[0].lineno - 1]
            found[node.name] = "\n".join((*head, *lines[start - 1 : node.end_lineno]))
    return found


def _says_more(documented: OverloadDocumentation) -> bool:
    """Whether what is said about an overload is more than its formula, which has a part of the page."""
    compute = documented.operator.compute
    return bool(documented.about) and compute.elementwise is None and compute.composite is None


def _values(operator: OperatorPlan, printer: MathPrinter) -> Iterator[Equation]:
    compute = operator.compute
    if compute.elementwise is not None:
        text = compute.elementwise.text
        yield Equation("elementwise", printer.value(compute.elementwise.formula), " ".join(text.value.split()), "")
    elif compute.composite is not None and not compute.composite.lists:
        text = compute.composite.text
        yield Equation("composite", printer.value(compute.composite.tree), " ".join(text.value.split()), "")
    elif (called := printer.call()) is not None:
        yield Equation("", called, "", "")


def _slopes(operator: OperatorPlan) -> Iterator[tuple[str, str]]:
    """The derivatives that are said where an expression has none: at which value, and what they are."""
    expression = operator.source.elementwise
    for convention in () if expression is None else expression.conventions:
        yield convention.point.text.value, ", ".join(slope.text.value for slope in convention.slopes)


def _conventions(operator: OperatorPlan, row: Mapping[str, Mapping[str, str]]) -> list[str]:
    reason = operator.source.not_a_derivative_because
    said = [] if reason is None else [f"Its formulas are not the derivatives of what it computes: {reason}."]
    said += [f"By convention, {BY_NAME[word].title}: {why}." for word, why in row.get("conventions", {}).items()]
    if operator.source.unique_part is not None:
        said.append(f"Of its results only this is determined: `{operator.source.unique_part}`.")
    return said


def _ways(operator: OperatorPlan) -> Iterator[str]:
    """How calls are written."""
    source, base = operator.source, operator.name.base
    module = source.python_module
    short = base.removeprefix(f"{module}_")
    if module in SHORTENING_MODULES:
        yield f"gradwright.{module}.{short}(...)"
    elif hasattr(gradwright.nn.functional, base):
        yield f"gradwright.nn.functional.{base}(...)"
    elif module is None and "function" in source.variants and hasattr(gradwright, base):
        yield f"gradwright.{base}(...)"
    else:
        yield f"gradwright.ops.{base}(...)"
    if "method" in source.variants:
        yield f"x.{base}(...)"
    if operator.python.inplace is not None:
        inplace = operator.python.inplace.base
        yield f"x.{inplace}(...)" if hasattr(gradwright.Tensor, inplace) else f"gradwright.ops.{inplace}(x, ...)"
    if operator.python.out is not None:
        yield "out=..."
    yield from (str(use.text.value) for use in source.signs)


def _named(cell: str) -> frozenset[str]:
    """The base names of the operators that a cell of docs/deviations.md is about."""
    names = (text.partition("(")[0] for text in _CODE.findall(cell))
    spelled = [name.removeprefix("nn.functional.") for name in names]
    return frozenset((*spelled, *(name.replace(".", "_") for name in spelled)))


def operator_pages(operators: Operators | None = None) -> Iterator[tuple[str, str]]:
    """The names of the pages of operators, and their Markdown: one for each base name, and their list."""
    pages = sorted((Operators() if operators is None else operators).pages(), key=lambda page: page.base.lower())
    yield "operators.md", template("operators.md.j2").render(groups=_groups(pages), count=len(pages))
    for page in pages:
        yield page.file, template("operator.md.j2").render(page=page)


def _groups(pages: Sequence[Page]) -> Mapping[str, Sequence[Page]]:
    """The pages under the modules that people know them by."""
    titles = {
        "": "Functions and methods of Tensors", "nn": "Of neural networks", "linalg": "Linear algebra",
        "fft": "Fourier transforms", "special": "Special functions", "sparse": "Sparse Tensors",
    }  # fmt: skip
    groups: dict[str, list[Page]] = {title: [] for title in titles.values()}
    groups |= {"On lists of Tensors": [], "Parts of others": []}
    for page in pages:
        if page.base.startswith("_foreach"):
            groups["On lists of Tensors"].append(page)
        elif page.base.startswith("_") or page.base.endswith("_backward"):
            groups["Parts of others"].append(page)
        else:
            groups[titles.get(page.module, titles[""])].append(page)
    return {title: group for title, group in groups.items() if group}
