"""The whole way: read -> parse -> resolve -> check -> plan -> emit."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen import foreign
from codegen.bind.backends import Backend, bind_backend
from codegen.bind.call_targets import HelperTable, OperatorTable
from codegen.bind.composites import resolve_composites
from codegen.bind.delegates import bind_delegates
from codegen.bind.elementwise import ElementwiseTable
from codegen.bind.entries import ResolvedEntry, resolve_entries
from codegen.bind.rule_source import read_update_rules
from codegen.derive.known import KnownEntries
from codegen.derive.numbers import Numbers
from codegen.extending import Base, CompositesWithBase, WithBase, check_apart
from codegen.fingerprints import fingerprints
from codegen.inputs import MANIFEST
from codegen.module_names import with_long_names
from codegen.output import manifest_text
from codegen.paths import ARRAY_API, BASE, BATCHING_RULES, PartKind, Paths, project_paths
from codegen.plan.memory import Array
from codegen.plan.names import FunctionNames
from codegen.plan.operator import OperatorPlan
from codegen.plan.optimizers import plan_optimizer
from codegen.plan.plan import Plan, make_plan
from codegen.python_source import FunctionIndex, PythonModule, SourcePart
from codegen.read.backends import read_backend
from codegen.read.files import load, read_derivatives, read_helpers, read_native_functions, read_tags
from codegen.read.model import DerivativeEntry, HelperDeclaration, NativeFunction
from codegen.rules.allowed import without_allowed
from codegen.rules.checked import Checked
from codegen.rules.kernel_source import KernelSources
from codegen.rules.linear.formulas import Linearity
from codegen.rules.linear.holomorphy import Holomorphy
from codegen.rules.table import check, report
from codegen.source import Diagnostics, SourceFile
from codegen.targets.cpp.own import check_own_kernels
from codegen.targets.docs import target as docs
from codegen.targets.docs.explain import explained
from codegen.targets.target import Target
from codegen.words import CPP, TAGS


@dataclass(frozen=True, slots=True, repr=False)  # its trees are larger than anybody would want to see
class Result:
    """What a run found.  `plan` is None where there were errors.

    `findings` are no errors: what is seldom meant in one's own YAML; what the soundness rules report on foreign YAML.
    """

    functions: Sequence[NativeFunction]
    entries: Sequence[DerivativeEntry]
    plan: Plan | None
    diagnostics: Diagnostics
    findings: Diagnostics
    resolved: Sequence[ResolvedEntry] = ()
    checked: Checked | None = None
    operators: Sequence[NativeFunction] = ()  # those of the base, too


def analyze(paths: Paths, texts: Mapping[Path, str] | None = None, checks: bool = True) -> Result:
    """Everything before emission: all errors of the files, and the plan if there are none.

    Args:
        paths: of the project.
        texts: what some of the inputs are to say instead of what they do say.
        checks: whether the rules are applied, and the plan knows the word of each operator's rule: neither is needed of
            sources from which a run has generated, if only operators are asked for.
    """
    diagnostics = Diagnostics()
    findings = Diagnostics()
    functions, entries = read_operators(paths.native_functions, paths.derivatives, paths, diagnostics, texts)
    declarations = _read_helpers(paths, diagnostics)
    if functions is None or entries is None or declarations is None:  # the names of a missing file would be unknown
        return Result(functions or (), entries or (), None, diagnostics, findings)
    source = functools.cache(lambda part: SourcePart(part, diagnostics))
    if paths.library is None:
        functions = bind_delegates(functions, diagnostics)
    kernels, composites, helpers = (FunctionIndex(map(source, paths.functions(kind))) for kind in PartKind)
    library = None
    read = functions
    if paths.library is not None:
        own_functions, own_entries = read_operators(*paths.library, paths, diagnostics)
        library = foreign.Library(own_functions or (), own_entries or (), composites)
        functions, entries, own_formulas = foreign.adopt(functions, entries, library)
    base = _read_base(paths, diagnostics)
    if base is not None:
        check_apart(functions, entries, base, (composites, helpers), diagnostics)
    table = OperatorTable(
        (*(base.functions if base is not None else ()), *functions), HelperTable(helpers, declarations)
    )
    resolved = resolve_entries(entries, table, diagnostics, functions)
    if library is not None:
        # Its formulas mean its own helpers, whatever others declare under the same names.
        own_helpers = FunctionIndex([source(paths.operators_part(PartKind.HELPERS.value))])
        own_table = OperatorTable(functions, HelperTable(own_helpers))
        resolved = (*resolved, *foreign.resolved_here(own_formulas, own_table))
        functions, formulas = foreign.composites_here(functions, own_table)
    else:
        formulas = resolve_composites(functions, table, diagnostics)
    by_name: Mapping[str, ResolvedEntry] = {str(entry.function.name): entry for entry in resolved}
    if base is not None:
        by_name = WithBase(by_name, base, table)
    known = formulas if base is None else CompositesWithBase(formulas, base, table)
    own, reported = (table, diagnostics) if library is None else (own_table, Diagnostics())
    if library is not None:
        functions = foreign.expressions_here(functions, own, known)
    operators = (*(base.functions if base is not None else ()), *functions)
    elementwise = ElementwiseTable(operators, own, known, reported, functions)
    numbers = Numbers(own, kernels, elementwise, paths)
    derived = KnownEntries(by_name, elementwise, known, own, numbers, reported, library is None)
    resolved, functions = _with_expressions(resolved, functions, elementwise, derived, checks and library is None)
    by_name = derived
    linear = Linearity(by_name, table, composites, helpers, known)
    batching = FunctionIndex([source(paths.operators_part(BATCHING_RULES))])
    backends = tuple(_bind_backends(paths, operators, diagnostics, texts))
    # Those of the core; a package brings none.
    update_rules = read_update_rules(source(paths.update_rules), diagnostics) if paths.package == BASE else ()
    sources = KernelSources(kernels)
    checked = Checked(
        read, functions, resolved, kernels, composites, batching, table, linear, Holomorphy.beside(linear, sources),
        sources, _with_known_operators(paths, composites, helpers), paths.namespace,
    )  # fmt: skip
    if checks:
        check(checked, library is not None, diagnostics, findings)
    if library is not None:  # what the library's own entries are found to be is said where they are generated
        foreign_files = _files(read, entries)
        findings = Diagnostics([item for item in findings.items if item.span.file in foreign_files])
    if diagnostics:
        return Result(functions, entries, None, diagnostics, findings)
    if checks and library is None:
        findings = without_allowed(findings, _files(functions, entries))
    planned = resolved if library is None else foreign.with_forward_formulas(resolved, library, own_table)
    names = None if base is None else FunctionNames(function.name for function in base.functions)
    made = make_plan(
        functions, planned, table, kernels, composites, formulas, linear, elementwise,
        paths.package, paths.namespace, names,
    )  # fmt: skip
    rules: Mapping[str, str] = {}
    if checks and library is None:
        arrays = FunctionIndex([source(paths.array_functions)])
        rules = fingerprints(functions, by_name, (kernels, composites, helpers, batching, arrays))
    made = replace(made, backends=backends, rules=rules, optimizers=tuple(map(plan_optimizer, update_rules)))
    check_own_kernels(made, paths, diagnostics, findings)
    plan = None if diagnostics else made
    return Result(functions, entries, plan, diagnostics, findings, resolved, checked, operators)


def _with_expressions(
    resolved: Sequence[ResolvedEntry],
    functions: Sequence[NativeFunction],
    elementwise: ElementwiseTable,
    entries: KnownEntries,
    checks: bool,
) -> tuple[tuple[ResolvedEntry, ...], Sequence[NativeFunction]]:
    """The entries with those that are derived, and the operators with what follows from their expressions.

    `checks`: whether what is written is compared with what would be derived.
    """
    resolved = [entries.completed(str(entry.function.name)) for entry in resolved]
    written = {str(entry.function.name): entry for entry in resolved}
    derived, completed = [], {}
    for known in elementwise.own():
        name = str(known.function.name)
        entry = None
        if name in written:
            if checks:
                entries.derivation.check(known, written[name])
        elif (entry := entries.derived(name)) is not None:
            derived.append(entry)
        completed[name] = entries.derivation.completed(known, entry)
    return (*resolved, *derived), [completed.get(str(function.name), function) for function in functions]


def _with_known_operators(paths: Paths, *indexes: FunctionIndex) -> tuple[PythonModule, ...]:
    """The project's own modules of functions on Tensors, unless they may call operators beside those that are read.

    The runtime's are those of the YAML beside it: another file may have a few of its operators only.
    """
    is_base = paths.package == BASE
    knows_all = paths.runtime.parent == paths.native_functions.parent if is_base else paths.base is not None
    if paths.library is not None or not knows_all:
        return ()
    shipped = "" if is_base else "runtime."
    modules = (item for index in indexes for item in index.modules.items())
    return tuple(module for name, module in modules if not shipped or not name.startswith(shipped))


def _bind_backends(
    paths: Paths, functions: Sequence[NativeFunction], diagnostics: Diagnostics, texts: Mapping[Path, str] | None
) -> Iterator[Backend]:
    """The backends that a package brings, with their kernels."""
    if not paths.backends:
        return
    generic = FunctionIndex([SourcePart(paths.operators_part(ARRAY_API), diagnostics)])
    for key, file in paths.backends:
        shown = paths.shown(file)
        source = _source(file, paths, diagnostics, texts)
        read = None if source is None else read_backend(source, key, diagnostics)
        if read is not None:
            arrays = paths.beside(file, read.arrays.value)
            own = None if read.kernels is None else paths.beside(file, read.kernels.value)
            yield bind_backend(read, shown, arrays, own, generic, functions, diagnostics)


def _read_base(paths: Paths, diagnostics: Diagnostics) -> Base | None:
    if paths.base is None:
        return None
    functions, entries = read_operators(*paths.base, paths, diagnostics)
    return Base(functions or (), entries or ())


def read_operators(
    native_functions: Path,
    derivatives: Path,
    paths: Paths,
    diagnostics: Diagnostics,
    texts: Mapping[Path, str] | None = None,
) -> tuple[Sequence[NativeFunction] | None, Sequence[DerivativeEntry] | None]:
    """The operators and the derivative entries; None for a file that can not be read."""
    native, formulas = (_source(path, paths, diagnostics, texts) for path in (native_functions, derivatives))
    tags = TAGS
    if paths.tags is not None:
        defined = load(paths.tags, paths.shown(paths.tags), diagnostics)
        tags = read_tags(defined, diagnostics) if defined is not None else TAGS
    functions = None if native is None else read_native_functions(native, diagnostics, tags)
    return functions, None if formulas is None else read_derivatives(formulas, diagnostics)


def _source(path: Path, paths: Paths, diagnostics: Diagnostics, texts: Mapping[Path, str] | None) -> SourceFile | None:
    if texts is not None and path in texts:
        return SourceFile(paths.shown(path), texts[path])
    return load(path, paths.shown(path), diagnostics)


def _files(functions: Sequence[NativeFunction], entries: Sequence[DerivativeEntry]) -> tuple[SourceFile, ...]:
    """The files that operators and entries stand in."""
    texts = (*(each.text for each in functions), *(each.text for each in entries))
    return tuple({id(text.file): text.file for text in texts}.values())


def _read_helpers(paths: Paths, diagnostics: Diagnostics) -> Sequence[HelperDeclaration] | None:
    if paths.helpers is None:
        return ()
    file = load(paths.helpers, paths.shown(paths.helpers), diagnostics)
    return None if file is None else read_helpers(file, diagnostics)


def emit(paths: Paths, made: Plan, target: str = "python") -> Mapping[str, str]:
    """The text of every output file of a target, by its path below the target's output folder."""
    files: dict[str, str] = {}
    made = with_base(made, paths, target)
    for name in (target, *_BESIDE.get(target, ())):
        files.update(_target(name).emit(made, paths))
    if paths.long_names:
        files = {name: with_long_names(text, Path(name).suffix) for name, text in files.items()}
    files[MANIFEST] = manifest_text(paths, target, summary(made), files, made.rules)
    return files


def with_base(made: Plan, paths: Paths, target: str) -> Plan:
    """The plan with that of its base, for a target that needs it."""
    return made if target != CPP or paths.base is None else replace(made, base=_base_plan())


@functools.cache
def _base_plan() -> Plan | None:
    return analyze(project_paths()).plan


def explain(operator: OperatorPlan, shapes: Sequence[tuple[Array, ...]] | None = None) -> str:
    """All that is known of an operator, with the memory that its Nodes keep for Tensors of these shapes.

    Raises:
        ValueError: it can not have Tensors of these shapes.
    """
    return explained(operator, shapes)


def explain_code(operator: OperatorPlan, made: Plan, paths: Paths, target: str) -> str:
    """What a target makes of an operator."""
    return _target(target).explain(operator, with_base(made, paths, target), paths).strip()


# What goes into the folder of another target.
_BESIDE = {"python": ("docs",)}


def _target(name: str) -> Target:
    target: Target = importlib.import_module(f"{__package__}.targets.{name}.target")
    return target


def summary(made: Plan) -> str:
    """What was made, in numbers."""
    return f"{len(made.operators)} operators, {len(made.nodes)} Nodes, {made.formulas} formulas"


def judgement(paths: Paths, result: Result) -> str:
    """The report of all rules on the derivative entries of a file, as Markdown."""
    assert result.checked is not None
    written = {entry.schema.name for entry in result.entries if entry.text.file.path == paths.shown(paths.derivatives)}
    mine = [entry for entry in result.resolved if entry.function.name in written]
    return docs.judgement_text(report(mine, result.checked), paths, len(mine))
