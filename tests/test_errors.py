"""One tiny input for each mistake that an author can make, with the message it must get.

A case is a folder of tests/errors: native_functions.yaml, derivatives.yaml or both, and expected.txt.  A new case needs
only the YAML: `pytest tests/test_errors.py --update-goldens` writes the rest, to be read before it is kept.

A case shows the errors of the first step that finds any: reading, else the whole pipeline; a case `finds_...` shows the
warnings.  Kernels, composites and helpers are looked up in the folder `runtime` of the case where it has one, else in
tests/errors_runtime.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import Paths
from codegen.pipeline import analyze
from codegen.read.files import load, read_derivatives, read_native_functions
from codegen.source import Diagnostics, SourceFile

ROOT = Path(__file__).parents[1]
ERRORS = Path(__file__).parent / "errors"
ERRORS_RUNTIME = Path(__file__).parent / "errors_runtime"
READERS: dict[str, Callable[[SourceFile, Diagnostics], object]] = {
    "native_functions.yaml": read_native_functions,
    "derivatives.yaml": read_derivatives,
}
CASES = sorted(path.name for path in ERRORS.iterdir() if path.is_dir())


def diagnose(case: Path) -> Diagnostics:
    """What the generator has to say to the files of a case."""
    diagnostics = Diagnostics()
    for name, read in READERS.items():
        if (case / name).exists() and (file := load(case / name, name, diagnostics)) is not None:
            read(file, diagnostics)
    whole = all((case / name).exists() for name in READERS)
    if not whole or (diagnostics and not case.name.startswith("check_")):
        return diagnostics
    runtime = case / "runtime"
    paths = Paths(
        root=case,
        native_functions=case / "native_functions.yaml",
        derivatives=case / "derivatives.yaml",
        templates=ROOT / "templates",
        runtime=runtime if runtime.exists() else ERRORS_RUNTIME,
        output=case / "generated",
    )
    result = analyze(paths)
    return result.diagnostics or (result.findings if case.name.startswith("finds_") else Diagnostics())


@pytest.mark.parametrize("name", CASES)
def test_error_message(name: str, update_goldens: bool) -> None:
    case = ERRORS / name
    output = io.StringIO()
    print_diagnostics(diagnose(case), output, severity="warning" if name.startswith("finds_") else "error")
    found = output.getvalue()
    golden = case / "expected.txt"
    if update_goldens:
        golden.write_text(found, encoding="utf-8", newline="\n")
        return
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
    assert found == expected, (
        f"tests/errors/{name}/expected.txt does not say this.  If the new text is right, run "
        f"`python -m pytest tests/test_errors.py -k {name} --update-goldens` and read the difference."
    )


def test_every_case_is_an_error() -> None:
    silent = [name for name in CASES if (ERRORS / name / "expected.txt").read_text(encoding="utf-8") == "0 errors\n"]
    assert silent == []
