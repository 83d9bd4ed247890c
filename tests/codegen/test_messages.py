"""Every code of a message has a page, and what the page says of its examples is so."""

from __future__ import annotations

import ast
import functools
import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from codegen import input_files, output, pipeline, proof_outcomes
from codegen.codes import Code
from codegen.commands import proofs
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.main import main
from codegen.commands.verify import prove, refuted
from codegen.input_files import InputFiles, read_operators
from codegen.messages import of_proofs
from codegen.messages.page import NATIVE_FUNCTIONS, PROJECT, Page
from codegen.messages.pages import PAGES, document, page_text
from codegen.paths import PythonPart, Texts, project_paths
from codegen.project import read_project
from codegen.python_source import SourcePart
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.rules.table import report
from codegen.source import Diagnostic, Diagnostics
from codegen.targets.target import TargetError
from support.documents import ROOT

DOCUMENT = ROOT / "docs" / "reports" / "messages.md"


@functools.cache
def base() -> tuple[Sequence[NativeFunction], Sequence[DerivativeEntry]]:
    """Gradwright's own operators, which every example has beside it."""
    paths = project_paths()
    functions, entries = read_operators(paths.native_functions, paths.derivatives, paths, Diagnostics())
    return functions or (), entries or ()


@functools.cache
def shipped(part: PythonPart) -> SourcePart:
    """Functions of Gradwright's own."""
    return SourcePart(part, Diagnostics())


@pytest.fixture(autouse=True)
def one_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base is read once, and not for each example."""

    def read(part: PythonPart, diagnostics: Diagnostics, texts: Texts | None = None) -> SourcePart:
        return shipped(part) if part.path.is_relative_to(ROOT) else SourcePart(part, diagnostics, texts)

    monkeypatch.setattr(input_files, "SourcePart", read)
    monkeypatch.setattr(InputFiles, "operators_of", lambda self, files: base())


def messages(page: Page, text: str, folder: Path) -> list[Diagnostic]:
    """What is said of an example of a page, by `report` as well."""
    package = folder / "mylib"
    package.mkdir()
    for name, content in page.files(text).items():
        (folder if name == PROJECT else package).joinpath(name).write_text(content, encoding="utf-8")
    diagnostics = Diagnostics()
    paths = read_project(folder / PROJECT, diagnostics)
    if paths is None:
        return diagnostics.items
    result = pipeline.analyze(paths)
    if page in of_proofs.PAGES and result.plan is not None:
        output.write(pipeline.emit(paths, result.plan), paths.output)
        (package / "__init__.py").write_text("", encoding="utf-8")
        _, proven = prove(paths, ["--quiet"])
        if page.code is Code.NOT_PROVEN:
            proof_outcomes.keep(proven["cells"], result.plan.rules or {}, paths)
            return proofs.findings(result, paths).items
        return refuted(proven["cells"], paths).items
    if page.code is Code.NOT_PORTABLE and result.plan is not None:
        try:
            for target in paths.targets:
                pipeline.emit(paths, result.plan, target)
        except TargetError as error:
            return error.diagnostics.items
    reported = [] if result.plan is None or result.checked is None else report(result.resolved, result.checked)
    found = result.diagnostics.items or result.findings.items  # findings are shown where there are no errors
    return [*found, *(item for part in reported for item in part.findings)]


def printed(items: list[Diagnostic]) -> str:
    stream = io.StringIO()
    print_diagnostics(Diagnostics(items), stream)
    return stream.getvalue()


@pytest.mark.parametrize("code", Code, ids=str)
def test_the_example_gives_its_code_and_the_mended_one_none(code: Code, tmp_path: Path) -> None:
    page = PAGES[code]
    for name in ("wrong", "right"):
        (tmp_path / name).mkdir()
    wrong = messages(page, page.wrong, tmp_path / "wrong")
    assert {item.code for item in wrong} == {code}, printed(wrong)
    right = messages(page, page.right, tmp_path / "right")
    assert right == [], printed(right)


def test_pages_are_of_codes_and_in_their_order() -> None:
    assert list(PAGES) == list(Code)
    assert [str(code) for code in Code] == sorted(str(code) for code in Code)


def test_every_code_is_used() -> None:
    used = set()
    for path in (ROOT / "codegen").rglob("*.py"):
        if "messages" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code":
                used.add(node.attr)
    assert {code.name for code in Code} - used == set()


def test_the_document_is_made_of_the_pages(update_goldens: bool) -> None:
    if update_goldens:
        DOCUMENT.write_text(document(), encoding="utf-8", newline="\n")
    assert DOCUMENT.read_text(encoding="utf-8") == document()


def test_explain_prints_the_page_of_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "GW004"]) == 0
    assert capsys.readouterr().out == page_text(Code.UNKNOWN_KEY) + "\n"
    assert main(["explain", "gw004"]) == 0
    assert NATIVE_FUNCTIONS in capsys.readouterr().out


def test_a_code_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "GW990"]) == 2
    assert capsys.readouterr().err.startswith("error: no code 'GW990'\nhint: did you mean 'GW0")


def test_explain_finds_a_code_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a table is so wrong that no project can be read."""
    (tmp_path / "pyproject.toml").write_text("[tool.gradwright]\n= 3\n")
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "GW010"]) == 0
