"""The whole way: read -> parse -> resolve -> check -> plan -> emit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen import check, manifest, plan, resolve, targets
from codegen.callables import FunctionIndex
from codegen.callees import OperatorTable
from codegen.model import DerivativeEntry, NativeFunction
from codegen.paths import Paths
from codegen.read import load, read_derivatives, read_native_functions
from codegen.source import Diagnostics


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found.  `plan` is None where there were errors."""

    functions: Sequence[NativeFunction]
    entries: Sequence[DerivativeEntry]
    plan: plan.Plan | None
    diagnostics: Diagnostics


def analyze(paths: Paths) -> Result:
    """Everything before emission: all errors of both files, and the plan if there are none."""
    diagnostics = Diagnostics()
    native = load(paths.native_functions, paths.shown(paths.native_functions), diagnostics)
    formulas = load(paths.derivatives, paths.shown(paths.derivatives), diagnostics)
    functions = read_native_functions(native, diagnostics) if native is not None else ()
    entries = read_derivatives(formulas, diagnostics) if formulas is not None else ()
    if native is None or formulas is None:  # every name of the other file would be unknown
        return Result(functions, entries, None, diagnostics)
    kernels, helpers, composites = (
        FunctionIndex(paths.runtime / part, f"runtime.{part}", f"runtime/{part}", diagnostics)
        for part in ("kernels", "helpers", "composite")
    )
    table = OperatorTable(functions, helpers)
    resolved = resolve.resolve_entries(entries, table, diagnostics)
    check.check_kernels(functions, kernels, composites, diagnostics)
    check.check_variants(functions, diagnostics)
    check.check_samples(functions, diagnostics)
    check.check_entries(resolved, diagnostics)
    if diagnostics:
        return Result(functions, entries, None, diagnostics)
    return Result(functions, entries, plan.make_plan(functions, resolved, table, kernels, composites), diagnostics)


def emit(paths: Paths, made: plan.Plan, target: str = "python") -> Mapping[str, str]:
    """The text of every output file, by its path below the output folder."""
    files = dict(targets.TARGETS[target](made, paths.templates))
    files[manifest.NAME] = manifest.manifest_text((paths.native_functions, paths.derivatives))
    return files


def differences(files: Mapping[str, str], output: Path) -> list[str]:
    """Files that are missing, differ, or are no longer generated."""
    found = [name for name, text in files.items() if _read(output / name) != text]
    return sorted(found + stale_files(files, output))


def stale_files(files: Mapping[str, str], output: Path) -> list[str]:
    """Files of an earlier generation that this one does not make."""
    kinds = (".py", ".pyi", ".json")
    present = (path for path in output.glob("*") if path.is_file() and path.suffix in kinds)
    return sorted(path.name for path in present if path.name not in files)


def write(files: Mapping[str, str], output: Path) -> int:
    """Write what changed, remove what is stale, and give the number of files touched.

    The manifest goes last: an interrupted run leaves output that says it is of other YAML.
    """
    output.mkdir(parents=True, exist_ok=True)
    changed = differences(files, output)
    for name in stale_files(files, output):
        (output / name).unlink()
    for name in sorted(changed, key=lambda name: name == manifest.NAME):
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
