"""PyTorch's own derivative formulas on this runtime: `make upstream`.

Generates from the YAML of the installed torchgen, unmodified, with the project's kernels and helpers; prints how much
of it there is here, as README.md has it; writes the report on those formulas; and runs the comparisons with PyTorch on
what was generated.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # run as a script, of a checkout that is not installed
    sys.path.insert(0, str(ROOT))

from codegen import pipeline  # noqa: E402
from codegen.bind.entries import ResolvedEntry, ResolvedFormula  # noqa: E402
from codegen.formula.typed import Helper, HelperCall, walk  # noqa: E402
from codegen.paths import Paths, project_paths  # noqa: E402
from codegen.plan.kinds import OperatorKind  # noqa: E402
from codegen.pytorch_files import find_pytorch, installed_pytorch  # noqa: E402

REPORT = ROOT / "docs/reports/upstream-report.md"
# These are about the generator, generate for themselves, or hold a ledger, a page or rules of this project's formulas.
LEFT_OUT = (
    "tests/parity/codegen/test_upstream.py", "tests/parity/codegen/test_pipeline_on_pytorch.py",
    "tests/parity/codegen/test_rules_on_torch.py", "tests/parity/codegen/test_rules_on_jax.py",
    "tests/parity/codegen/test_jax_package.py", "tests/parity/codegen/test_torch_target.py",
    "tests/parity/codegen/test_torch_page.py", "tests/parity/codegen/test_verify_frameworks.py",
    "tests/parity/codegen/test_torch_edges.py", "tests/parity/codegen/test_jax_edges.py",
    "tests/parity/operators/test_opinfo.py", "tests/parity/test_surface_list.py",
)  # fmt: skip


def packaged() -> Path | None:
    """The folder of PyTorch's YAML; None where torchgen is not installed."""
    files = installed_pytorch()
    return None if files is None else files.derivatives.parents[1]


def paths_of(folder: Path, output: Path | None = None) -> Paths:
    """The paths of a run of the generator on the YAML in the folder `packaged()`."""
    files = find_pytorch(folder)
    assert files is not None
    foreign = project_paths().foreign(files.native_functions)
    return replace(foreign, derivatives=files.derivatives, tags=files.tags, output=output or foreign.output)


def words_of(paths: Paths) -> list[str]:
    """The same run as arguments of a command."""
    words = {"native-functions": paths.native_functions, "derivatives": paths.derivatives, "tags": paths.tags}
    return [word for name, path in words.items() for word in (f"--{name}", str(path))]


def declared_operators(paths: Paths) -> set[str]:
    """The names in native_functions.yaml, read in the simplest way."""
    text = paths.native_functions.read_text(encoding="utf-8")
    return set(re.findall(r"^- func: ([\w.]+)\(", text, re.MULTILINE))


def foreign_entries(paths: Paths, result: pipeline.Result) -> list[ResolvedEntry]:
    """The entries of PyTorch's file, each with those of other autograd keys."""
    path = paths.shown(paths.derivatives)
    entries = [entry for entry in result.resolved if entry.entry.text.file.path == path]
    return [part for entry in entries for part in (entry, *(other for _, other in entry.keyed))]


def formulas_of(entries: Iterable[ResolvedEntry]) -> list[ResolvedFormula]:
    return [formula for entry in entries for formula in (*entry.backward, *entry.forward)]


def helpers_of(formulas: Iterable[ResolvedFormula]) -> dict[str, Helper]:
    """The helpers that formulas call, by name."""
    trees = [formula.tree for formula in formulas if formula.tree is not None]
    return {p.helper.name: p.helper for tree in trees for p in walk(tree) if isinstance(p, HelperCall)}


def saved_here(output: Path) -> dict[str, set[str]]:
    """The generated Node classes and their saved attributes."""
    code = (
        "import json, gradwright, generated.nodes as nodes\n"
        "print(json.dumps({n: [a for a in dir(c) if a.startswith('_saved_')] for n, c in vars(nodes).items()"
        " if isinstance(c, type) and 'Backward' in n}))"
    )
    environment = {**os.environ, "GRADWRIGHT_GENERATED": str(output)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    return {name: set(attributes) for name, attributes in json.loads(done.stdout).items()}


def saved_there() -> dict[str, set[str]]:
    """PyTorch's Node classes and their saved attributes."""
    import torch

    functions = torch._C._functions
    names = [name for name in dir(functions) if re.search(r"Backward\w*\d+$", name)]
    return {name: {a for a in dir(getattr(functions, name)) if a.startswith("_saved_")} for name in names}


def counts(paths: Paths, result: pipeline.Result, ours: Mapping[str, set[str]]) -> list[str]:
    """The rows of README's table; `ours` is `saved_here`."""
    declared = declared_operators(paths)
    read = declared & {str(function.name) for function in result.functions}
    assert result.plan is not None
    functions = [operator for operator in result.plan.operators if operator.kind is not OperatorKind.DECLARED]
    names = {str(operator.name) for operator in functions} & declared
    variants = {
        str(name) for operator in functions for name in (operator.python.inplace, operator.python.out)
    } & declared
    entries = foreign_entries(paths, result)
    formulas = formulas_of(entries)
    bound = [formula for formula in formulas if formula.tree is not None or formula.source.tree is None]
    helpers = helpers_of(formulas).values()
    implemented = [helper for helper in helpers if helper.function is not None]
    theirs = saved_there()
    same = [name for name, saved in theirs.items() if ours.get(name) == saved]
    fewer = [name for name, saved in theirs.items() if _but_sizes(ours.get(name, saved)) < _but_sizes(saved)]
    return [
        f"| {len(declared):,} operators declared | {_share(read, declared)} read and emitted; "
        f"{len(names | variants):,} implemented by Gradwright's kernels and composite functions "
        f"({len(names)} and their in-place and out variants), the rest bound late |",
        f"| {len({str(entry.function.name) for entry in entries})} derivative entries, {len(formulas):,} formulas | "
        f"{_share(bound, formulas)} parsed, type-checked and bound to overloads and helpers |",
        f"| {len(theirs)} Node classes | {_share(theirs.keys() & ours.keys(), theirs)}, by name; {len(same)} with the "
        f"same saved attributes, {len(fewer)} save fewer Tensors |",
        f"| as the generator counts: {pipeline.summary(result.plan)} | an operator with its variants is one; Nodes and "
        "formulas that PyTorch has not are counted as well |",
        f"| {len(helpers)} helpers that formulas call | all declared, every call checked; {len(implemented)} "
        "implemented |",
    ]


def _but_sizes(saved: set[str]) -> set[str]:
    return {name for name in saved if not name.endswith("_sym_sizes")}


def _share(part: Iterable[object], whole: Iterable[object]) -> str:
    found, total = len(list(part)), len(list(whole))
    return "all" if found == total else f"{found:,}"


def main(words: Sequence[str]) -> int:
    """Run it all; `words` go to pytest."""
    folder = packaged()
    if folder is None:
        print("make upstream needs the torch package: pip install -e '.[parity]'", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as output:
        paths = paths_of(folder, Path(output))
        subprocess.run(
            [sys.executable, "-m", "codegen", "--target", "python", *words_of(paths), "--out", output],
            cwd=ROOT,
            check=True,
        )
        result = pipeline.analyze(paths)
        print("\n".join(counts(paths, result, saved_here(paths.output))))
        REPORT.write_text(pipeline.judgement(paths, result), encoding="utf-8")
        print(f"report written to {REPORT.relative_to(ROOT)}", flush=True)
        tests = ["tests/parity", *(f"--ignore={path}" for path in LEFT_OUT)]
        environment = {**os.environ, "GRADWRIGHT_GENERATED": output}
        done = subprocess.run([sys.executable, "-m", "pytest", *tests, *words], cwd=ROOT, env=environment, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
