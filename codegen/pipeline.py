"""The whole way: read -> parse -> resolve -> check -> plan -> emit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen import adopt, batching, check, check_derivatives, judge, manifest, plan, resolve, targets
from codegen.callables import FunctionIndex
from codegen.callees import HelperTable, OperatorTable
from codegen.inputs import MANIFEST
from codegen.linear.formulas import Linearity
from codegen.model import DerivativeEntry, HelperDeclaration, NativeFunction
from codegen.paths import Paths
from codegen.read import load, read_derivatives, read_helpers, read_native_functions, read_tags
from codegen.source import Diagnostics
from codegen.targets import docs
from codegen.vocabulary import TAGS


@dataclass(frozen=True, slots=True, repr=False)  # its trees are larger than anybody would want to see
class Result:
    """What a run found.  `plan` is None where there were errors.

    `findings` is what the soundness rules say of foreign YAML: no errors, because whoever wrote it lives with them.
    """

    functions: Sequence[NativeFunction]
    entries: Sequence[DerivativeEntry]
    plan: plan.Plan | None
    diagnostics: Diagnostics
    findings: Diagnostics
    resolved: Sequence[resolve.ResolvedEntry] = ()
    table: OperatorTable | None = None
    linear: Linearity | None = None


def analyze(paths: Paths) -> Result:
    """Everything before emission: all errors of the files, and the plan if there are none."""
    diagnostics = Diagnostics()
    findings = diagnostics if paths.library is None else Diagnostics()
    functions, entries = read_operators(paths.native_functions, paths.derivatives, paths, diagnostics)
    declarations = _read_helpers(paths, diagnostics)
    if functions is None or entries is None or declarations is None:  # the names of a missing file would be unknown
        return Result(functions or (), entries or (), None, diagnostics, findings)
    folders = _FOLDERS if paths.library is None else _FOREIGN_FOLDERS
    kernels, composites, helpers = (
        FunctionIndex([paths.runtime / part for part in parts], diagnostics) for parts in folders
    )
    library = None
    read = functions
    if paths.library is not None:
        own_functions, own_entries = read_operators(*paths.library, paths, diagnostics)
        library = adopt.Library(own_functions or (), own_entries or (), composites)
        functions, entries, own_formulas = adopt.adopt(functions, entries, library)
    table = OperatorTable(functions, HelperTable(helpers, declarations))
    resolved = resolve.resolve_entries(entries, table, diagnostics)
    if library is not None:
        # Its formulas mean its own helpers, whatever others declare under the same names.
        own_helpers = FunctionIndex([paths.runtime / part for part in _FOLDERS[-1]], diagnostics)
        own_table = OperatorTable(functions, HelperTable(own_helpers))
        resolved = (*resolved, *adopt.resolved_here(own_formulas, own_table))
    if paths.library is None:
        check.check_kernels(functions, kernels, composites, diagnostics)
        if any(function.batching is not None for function in functions):
            rules = FunctionIndex([paths.runtime / "func" / "rules"], diagnostics)
            batching.check_batching(functions, rules, diagnostics)
    earlier = Diagnostics(list(diagnostics.items))
    check.check_variants(functions, diagnostics)
    check.check_samples(read, diagnostics)  # not those that come with the library
    linear = Linearity({str(entry.function.name): entry for entry in resolved}, table, composites, helpers)
    check_derivatives.check_entries(resolved, linear, findings, earlier)
    if diagnostics:
        return Result(functions, entries, None, diagnostics, findings)
    planned = resolved if library is None else adopt.with_forward_formulas(resolved, library, own_table)
    made = plan.make_plan(functions, planned, table, kernels, composites, linear)
    return Result(functions, entries, made, diagnostics, findings, resolved, table, linear)


# Where kernels, composite functions and helpers lie; of a name that two folders have, the first one's counts.
_FOLDERS = (("kernels",), ("composite",), ("helpers",))
_FOREIGN_FOLDERS = (("kernels",), ("composite", "upstream"), ("upstream", "helpers"))


def read_operators(
    native_functions: Path, derivatives: Path, paths: Paths, diagnostics: Diagnostics
) -> tuple[Sequence[NativeFunction] | None, Sequence[DerivativeEntry] | None]:
    """The operators and the derivative entries; None for a file that can not be read."""
    native = load(native_functions, paths.shown(native_functions), diagnostics)
    formulas = load(derivatives, paths.shown(derivatives), diagnostics)
    tags = TAGS
    if paths.tags is not None:
        defined = load(paths.tags, paths.shown(paths.tags), diagnostics)
        tags = read_tags(defined, diagnostics) if defined is not None else TAGS
    functions = None if native is None else read_native_functions(native, diagnostics, tags)
    return functions, None if formulas is None else read_derivatives(formulas, diagnostics)


def _read_helpers(paths: Paths, diagnostics: Diagnostics) -> Sequence[HelperDeclaration] | None:
    if paths.helpers is None:
        return ()
    file = load(paths.helpers, paths.shown(paths.helpers), diagnostics)
    return None if file is None else read_helpers(file, diagnostics)


def emit(paths: Paths, made: plan.Plan, target: str = "python") -> Mapping[str, str]:
    """The text of every output file of a target, by its path below the target's output folder."""
    files = dict(targets.TARGETS[target](made, paths))
    files[MANIFEST] = manifest.manifest_text(paths, target, summary(made), files)
    return files


def summary(made: plan.Plan) -> str:
    """What was made, in numbers."""
    return f"{len(made.operators)} operators, {len(made.nodes)} Nodes, {made.formulas} formulas"


def judgement(paths: Paths, result: Result) -> str:
    """The report of all rules on the derivative entries of a file, as Markdown."""
    assert result.table is not None
    assert result.linear is not None
    written = {entry.schema.name for entry in result.entries if entry.text.file.path == paths.shown(paths.derivatives)}
    mine = [entry for entry in result.resolved if entry.function.name in written]
    return docs.judgement_text(judge.judge(mine, result.linear, result.table), paths, len(mine))


def differences(files: Mapping[str, str], output: Path) -> list[str]:
    """Files that are missing, differ, or are no longer generated."""
    found = [name for name, text in files.items() if _read(output / name) != text]
    return sorted(found + manifest.stale_files(files, output))


def write(files: Mapping[str, str], output: Path) -> int:
    """Write what changed, remove what is stale, and give the number of files touched.

    The manifest goes last: an interrupted run leaves output that says it is of other YAML.
    """
    output.mkdir(parents=True, exist_ok=True)
    changed = differences(files, output)
    for name in manifest.stale_files(files, output):
        (output / name).unlink()
    for name in sorted(changed, key=lambda name: name == MANIFEST):
        if name in files:
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name], encoding="utf-8", newline="\n")
    return len(changed)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
