"""The target of rules: derivatives as plain functions on arrays of any library with the Python array API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegen.codes import Code
from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.source import Diagnostics
from codegen.targets.environment import environment
from codegen.targets.rules.library import File, Item, Library, Writers
from codegen.targets.rules.printer import write_operator
from codegen.targets.rules.rule import RuleView, rule_view
from codegen.targets.rules.sources import read_sources
from codegen.targets.rules.translation import write_definition, write_function
from codegen.targets.rules.values import NotPortable
from codegen.targets.rules.wrapping import wrapped
from codegen.targets.target import TargetError
from codegen.words import BUILT_IN_NAMESPACE

name = "rules"
WRITERS = Writers(write_function, write_definition, write_operator)


@dataclass(frozen=True, slots=True)
class Coverage:
    """An operator with a derivative: its rule, or why there is none."""

    operator: OperatorPlan
    rule: RuleView | None
    missing: NotPortable | None


def coverage(plan: Plan, paths: Paths) -> tuple[Library, Sequence[Coverage]]:
    """What of all operators with derivatives can be written, and the functions that this needs."""
    library = Library(plan, read_sources(paths), WRITERS)
    return library, tuple(
        _covered(operator, library) for operator in plan.operators if operator.autograd.node is not None
    )


def _covered(operator: OperatorPlan, library: Library) -> Coverage:
    try:
        return Coverage(operator, rule_view(operator, library), None)
    except NotPortable as error:
        return Coverage(operator, None, error)


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The modules of the package: path below the output folder, and text."""
    env = environment(paths.templates, name)
    library, covered = coverage(plan, paths)
    if plan.namespace != BUILT_IN_NAMESPACE:
        _refuse(covered)
    rules = [each.rule for each in covered if each.rule is not None]
    items = list(library.reached(rule.item for rule in rules))
    yield "__init__.py", env.get_template("init.py.j2").render(rules=rules)
    yield "arrays.py", env.get_template("arrays.py.j2").render()
    for file in (File.OPERATORS, File.HELPERS):
        functions = [item for item in items if item.file is file]
        yield (
            f"{file.value}.py",
            env.get_template(f"{file.value}.py.j2").render(
                items=[wrapped(item.text) for item in in_order(functions)], **_imports(functions)
            ),
        )
    yield "rules.py", env.get_template("rules.py.j2").render(rules=rules, **_imports([rule.item for rule in rules]))


def _refuse(covered: Sequence[Coverage]) -> None:
    """Raise an error with a message for each operator that has no rule."""
    diagnostics = Diagnostics()
    for each in covered:
        if each.missing is not None:
            diagnostics.error(
                Code.NOT_PORTABLE,
                each.missing.place or each.operator.source.text.span(),
                f"'{each.operator.name}' can not be written as rules: {each.missing.reason}",
            )
    if diagnostics:
        raise TargetError(diagnostics)


def in_order(items: Sequence[Item]) -> Sequence[Item]:
    """Classes and constants before the functions, each after what it needs."""
    by_key = {item.key: item for item in items}
    ordered: dict[object, Item] = {}

    def add(item: Item) -> None:
        if item.key in ordered or item.text.startswith("def "):
            return
        for key in item.needs:
            if key in by_key:
                add(by_key[key])
        ordered[item.key] = item

    for item in items:
        add(item)
    return [*ordered.values(), *(item for item in items if item.key not in ordered)]


def _imports(items: Sequence[Item]) -> dict[str, list[str]]:
    every = dict.fromkeys(name for item in items for name in item.imports)
    lines = sorted({name for name in every if " " in name})
    modules = sorted({_MODULE[key_file] for item in items for key_file in _files(item)})
    return {"lines": lines, "arrays": sorted(name for name in every if " " not in name), "modules": modules}


_MODULE = {File.OPERATORS: "operators as ops", File.HELPERS: "helpers"}


def _files(item: Item) -> set[File]:
    text = item.text
    return {file for file, sign in ((File.OPERATORS, "ops."), (File.HELPERS, "helpers.")) if sign in text}


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The functions of one operator, or why there are none."""
    if operator.autograd.node is None:
        return f"'{operator.name}' has no derivative of its own"
    covered = _covered(operator, Library(plan, read_sources(paths), WRITERS))
    _refuse([covered])
    assert covered.rule is not None
    return "\n\n\n".join(covered.rule.functions)
