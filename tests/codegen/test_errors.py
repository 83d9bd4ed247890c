"""One tiny input for each mistake that an author can make, with the message it must get.

A case is a folder of tests/codegen/errors: native_functions.yaml, derivatives.yaml or both, and expected.txt.  A new
case needs only the YAML: `pytest tests/codegen/test_errors.py --update-goldens` writes the rest, to be read before it
is kept.

The folder that a case lies in says what is shown of it: the errors of `reading`, the errors of `analysis` (the whole
pipeline), or the `warnings` of a pipeline without errors.  Kernels, composites and helpers are looked up in the folder
`runtime` of the case where it has one, else in tests/codegen/errors_runtime.
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
from support.documents import ROOT

ERRORS = Path(__file__).parent / "errors"
ERRORS_RUNTIME = Path(__file__).parent / "errors_runtime"
READERS: dict[str, Callable[[SourceFile, Diagnostics], object]] = {
    "native_functions.yaml": read_native_functions,
    "derivatives.yaml": read_derivatives,
}
KINDS = ("reading", "analysis", "warnings")
CASES = sorted(f"{kind}/{case.name}" for kind in KINDS for case in (ERRORS / kind).iterdir())


def diagnose(kind: str, case: Path) -> Diagnostics:
    """What the generator has to say to the files of a case."""
    if kind == "reading":
        diagnostics = Diagnostics()
        for name, read in READERS.items():
            if (case / name).exists() and (file := load(case / name, name, diagnostics)) is not None:
                read(file, diagnostics)
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
    return result.diagnostics or (result.findings if kind == "warnings" else Diagnostics())


@pytest.mark.parametrize("name", CASES)
def test_error_message(name: str, update_goldens: bool) -> None:
    case, kind = ERRORS / name, name.partition("/")[0]
    output = io.StringIO()
    print_diagnostics(diagnose(kind, case), output, severity="warning" if kind == "warnings" else "error")
    found = output.getvalue()
    golden = case / "expected.txt"
    if update_goldens:
        golden.write_text(found, encoding="utf-8", newline="\n")
        return
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
    assert found == expected, (
        f"tests/codegen/errors/{name}/expected.txt does not say this.  If the new text is right, run "
        f"`python -m pytest tests/codegen/test_errors.py -k {name} --update-goldens` and read the difference."
    )


def test_every_case_lies_in_a_folder_of_its_kind() -> None:
    assert {path.name for path in ERRORS.iterdir()} == set(KINDS)
    assert len({name.partition("/")[2] for name in CASES}) == len(CASES) > 200


def test_every_case_is_an_error() -> None:
    silent = [name for name in CASES if (ERRORS / name / "expected.txt").read_text(encoding="utf-8") == "0 errors\n"]
    assert silent == []
