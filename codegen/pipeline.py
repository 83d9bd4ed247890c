"""The whole way: read -> parse -> resolve -> check -> plan -> emit."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.bind.backends import Backend, bind_backend
from codegen.bind.elementwise import ElementwiseTable
from codegen.bind.entries import ResolvedEntry
from codegen.bind.rule_source import read_update_rules
from codegen.codes import Code
from codegen.derive.known import KnownEntries
from codegen.derive.numbers import Numbers
from codegen.fingerprints import fingerprints
from codegen.input_files import InputFiles
from codegen.inputs import MANIFEST
from codegen.module_names import with_long_names
from codegen.output import manifest_text
from codegen.paths import ARRAY_API, BASE, BATCHING_RULES, Paths, Texts, project_paths
from codegen.plan.memory import Array
from codegen.plan.names import FunctionNames
from codegen.plan.native import plan_native
from codegen.plan.native_kernels import Native, NativeKernels
from codegen.plan.operator import OperatorPlan
from codegen.plan.optimizers import plan_optimizer
from codegen.plan.plan import Plan, make_plan
from codegen.plan.twins import check_table
from codegen.proof_outcomes import unproven
from codegen.read.backends import read_backend
from codegen.read.kernel_table import cpp_file
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.rules.checked import Checked
from codegen.rules.kernel_source import KernelSources
from codegen.rules.linear.formulas import Linearity
from codegen.rules.linear.holomorphy import Holomorphy
from codegen.rules.table import check, report
from codegen.source import Diagnostics
from codegen.sources import Bound, Sources, read_sources
from codegen.targets.docs import target as docs
from codegen.targets.docs.explain import explained
from codegen.targets.target import Target
from codegen.words import CPP, CUDA, TARGETS


@dataclass(frozen=True, slots=True, repr=False)  # its trees are larger than anybody would want to see
class Result:
    """What a run found.  `plan` is None where there were errors; then `resolved` and `checked` are what could be bound,
    and nothing where a file could not be read.

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


def analyze(paths: Paths, texts: Texts | None = None, checks: bool = True) -> Result:
    """Everything before emission: all errors of the files, and the plan if there are none.

    Args:
        paths: of the project.
        texts: what some of the inputs are to say instead of what they do say.
        checks: whether the rules are applied, and the plan knows the word of each operator's rule: neither is needed of
            sources from which a run has generated, if only operators are asked for.
    """
    is_foreign = paths.library is not None
    diagnostics = Diagnostics(findings=Diagnostics() if is_foreign else None)
    files = InputFiles(paths, diagnostics, texts)
    read = files.read()
    if not read.is_complete:
        return Result(read.functions, read.entries, None, diagnostics, Diagnostics())
    sources = read_sources(files, read)
    bound = sources.bind()
    derived = _derive(bound, sources)
    checked = _collect(derived, bound, sources)
    are_provable = checks and not is_foreign
    rules = _fingerprints(checked, derived, sources) if are_provable else {}
    if are_provable:
        _compare_written(derived, rules, paths)
    findings = _check(checked, sources, diagnostics) if checks else Diagnostics()
    plan = _plan(checked, derived, bound, sources, rules)
    known = derived.entries, checked, bound.operators
    return Result(derived.functions, sources.entries, plan, diagnostics, findings, *known)


def derive(paths: Paths, texts: Texts | None = None) -> tuple[Derived, Diagnostics]:
    """The derivatives of operators that are expressions, without all else, and what is wrong."""
    diagnostics = Diagnostics()
    files = InputFiles(paths, diagnostics, texts)
    sources = read_sources(files, files.read())
    return _derive(sources.bind(), sources), diagnostics


@dataclass(frozen=True, slots=True)
class Derived:
    """The entries with those that are derived, and the operators with what follows from their expressions."""

    functions: Sequence[NativeFunction]
    entries: Sequence[ResolvedEntry]
    known: KnownEntries
    elementwise: ElementwiseTable


def _derive(bound: Bound, sources: Sources) -> Derived:
    """Derive the entries of operators that are expressions over elements."""
    table, composites, diagnostics = bound.own_table, bound.composites, sources.diagnostics
    elementwise = ElementwiseTable(bound.operators, table, composites, diagnostics, bound.functions)
    numbers = Numbers(table, sources.kernels, elementwise, sources.files.paths)
    known = KnownEntries(bound.known, elementwise, composites, table, numbers, diagnostics, not sources.is_foreign)
    entries = [known.completed(str(entry.function.name)) for entry in bound.entries]
    written = {str(entry.function.name): entry for entry in entries}
    completed = {}
    for expression in elementwise.own():
        name = str(expression.function.name)
        entry = None
        if name not in written and (entry := known.derived(name)) is not None:
            entries.append(entry)
        completed[name] = known.derivation.completed(expression, entry)
    functions = [completed.get(str(function.name), function) for function in bound.functions]
    return Derived(functions, entries, known, elementwise)


def _collect(derived: Derived, bound: Bound, sources: Sources) -> Checked:
    """What the rules look at."""
    kernels, composites, files = sources.kernels, sources.composites, sources.files
    linear = Linearity(derived.known, bound.table, composites, sources.helpers, bound.composites)
    batching = files.index([files.paths.operators_part(BATCHING_RULES)])
    shown = KernelSources(kernels)
    return Checked(
        sources.read, derived.functions, derived.entries, kernels, composites, batching, bound.table, linear,
        Holomorphy.beside(linear, shown), shown, sources.modules_to_check(), files.paths.namespace,
    )  # fmt: skip


def _compare_written(derived: Derived, rules: Mapping[str, str], paths: Paths) -> None:
    """Compare derivatives that are written with what would be derived, where the rule is not proven: a proof says more.

    `rules`: a word for each operator that can be proven.
    """
    proven = rules.keys() - unproven(rules, paths).keys()
    derived.known.compare(name for name in derived.elementwise.own_names if name not in proven)


def _check(checked: Checked, sources: Sources, diagnostics: Diagnostics) -> Diagnostics:
    """Apply the rules; what they find that is no error."""
    findings = Diagnostics() if diagnostics.findings is None else diagnostics.findings
    check(checked, sources.is_foreign, diagnostics, findings)
    return findings if diagnostics else sources.reported(findings)


def _plan(checked: Checked, derived: Derived, bound: Bound, sources: Sources, rules: Mapping[str, str]) -> Plan | None:
    """The plan of all operators, with a word for each rule; None where something is wrong, which is reported."""
    paths, diagnostics = sources.files.paths, sources.files.diagnostics
    backends = tuple(_bind_backends(sources.files, bound.operators))
    # Those of the core; a package brings none.
    updates = read_update_rules(sources.files.part(paths.update_rules), diagnostics) if paths.package == BASE else ()
    if diagnostics:
        return None
    names = FunctionNames(function.name for function in sources.base) if sources.base else None
    entries = sources.with_tangents(derived.entries, bound)
    plan = make_plan(checked, entries, bound.formulas, derived.elementwise, paths.package, names)
    plan = replace(plan, backends=backends, optimizers=tuple(map(plan_optimizer, updates)), rules=rules)
    files = [cpp_file(path, paths.shown(path), sources.files.texts) for path in sources.native_files]
    check_table(plan, sources.kernels, sources.composites, sources.helpers, files, sources.is_own, diagnostics)
    return None if diagnostics else plan


def _fingerprints(checked: Checked, derived: Derived, sources: Sources) -> Mapping[str, str]:
    """A word for each operator, that changes with its rule."""
    arrays = sources.files.index([sources.files.paths.array_functions])
    indexes = (checked.kernels, checked.composites, sources.helpers, checked.batching, arrays)
    return fingerprints(derived.functions, derived.known, indexes)


def _bind_backends(files: InputFiles, functions: Sequence[NativeFunction]) -> Iterator[Backend]:
    """The backends that a package brings, with their kernels."""
    paths, diagnostics = files.paths, files.diagnostics
    generic = files.index([paths.operators_part(ARRAY_API)]) if paths.backends else None
    for key, file in paths.backends:
        source = files.source(file)
        read = None if source is None else read_backend(source, key, diagnostics)
        if read is not None and generic is not None:
            arrays = paths.beside(file, read.arrays.value)
            own = None if read.kernels is None else paths.beside(file, read.kernels.value)
            launcher = None if read.elementwise is None else paths.beside(file, read.elementwise.value)
            if read.elementwise is not None and CUDA not in paths.targets:
                diagnostics.error(
                    Code.CONTRADICTION,
                    read.elementwise.span(),
                    f"kernels in CUDA are what the target '{CUDA}' writes, which pyproject.toml does not name",
                    f'write targets = ["{CUDA}"] there',
                )
            yield bind_backend(
                read, paths.shown(file), arrays, own, generic, functions, diagnostics, launcher, paths.package
            )


def emit(paths: Paths, made: Plan, target: str = "python") -> Mapping[str, str]:
    """The text of every output file of a target, by its path below the target's output folder."""
    files: dict[str, str] = {}
    made = for_target(made, paths, target)
    for name in (target, *_BESIDE.get(target, ())):
        files.update(_target(name).emit(made, paths))
    if paths.long_names:
        files = {name: with_long_names(text, Path(name).suffix) for name, text in files.items()}
    files[MANIFEST] = manifest_text(paths, target, summary(made), files, made.rules, made.left_out)
    return files


def for_target(made: Plan, paths: Paths, target: str) -> Plan:
    """The plan with what a target needs besides: that of its base, and what is native."""
    if target != TARGETS[0] and paths.base is not None:
        made = replace(made, base=_base_plan())
    if target == CPP:
        own = NativeKernels.read(*paths.own_kernels, folder="" if paths.native is None else f"{paths.native.name}/")
        kernels = Native(NativeKernels.read(*paths.native_kernels), own)
        base = () if made.base is None else made.base.operators
        made = replace(made, native=plan_native(made.operators, base, kernels))
    return made


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
    return _target(target).explain(operator, for_target(made, paths, target), paths).strip()


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
