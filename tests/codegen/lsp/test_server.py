"""The server, as an editor talks to it."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from codegen.commands.init import make_package
from support.documents import ROOT


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package as `gradwright init` makes it."""
    folder = tmp_path_factory.mktemp("project")
    assert make_package("mylib", folder) == 0
    return folder


def derivatives(project: Path) -> Path:
    """The file that is open."""
    return project / "mylib" / "derivatives.yaml"


@pytest_lsp.fixture(
    config=ClientServerConfig(
        server_command=[sys.executable, "-m", "codegen", "lsp"], server_env={"PYTHONPATH": str(ROOT)}
    ),
    scope="module",
)
async def client(lsp_client: LanguageClient, project: Path) -> AsyncIterator[None]:
    @lsp_client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(params: None) -> None:
        """As an editor, which would ask for them again."""

    folder = types.WorkspaceFolder(project.as_uri(), "project")
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            root_uri=project.as_uri(),
            workspace_folders=[folder],
        )
    )
    file = derivatives(project)
    document = types.TextDocumentItem(file.as_uri(), "yaml", 1, file.read_text(encoding="utf-8"))
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await lsp_client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    yield
    await lsp_client.shutdown_session()


def message(**content: object) -> bytes:
    """A message as it goes through a pipe."""
    text = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def test_it_ends_well_and_counts_columns_in_utf16_whatever_an_editor_prefers() -> None:
    """Neovim offers UTF-8 first, and says so where a server ends with another status than 0."""
    general = {"positionEncodings": ["utf-8", "utf-16", "utf-32"]}
    params = {"processId": None, "rootUri": None, "capabilities": {"general": general}}
    messages = [
        message(id=1, method="initialize", params=params),
        message(method="initialized", params={}),
        message(id=2, method="shutdown"),
        message(method="exit"),
    ]
    finished = subprocess.run(
        [sys.executable, "-m", "codegen", "lsp"], input=b"".join(messages), capture_output=True, cwd=ROOT, timeout=60
    )
    assert finished.returncode == 0, finished.stderr.decode()
    assert b'"positionEncoding":"utf-16"' in finished.stdout.replace(b": ", b":")
    assert b"Traceback" not in finished.stderr


VERSIONS = itertools.count(2)


async def typed(client: LanguageClient, uri: str, text: str, old: str, new: str, wrong: int) -> str:
    """Type over a text that stands in an open file; what the file says then, as soon as that many things are wrong."""
    before = text[: text.index(old)]
    line, column = before.count("\n"), len(before.rpartition("\n")[2])
    place = types.Range(types.Position(line, column), types.Position(line, column + len(old)))
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(next(VERSIONS), uri),
            [types.TextDocumentContentChangePartial(range=place, text=new)],
        )
    )
    while len(client.diagnostics[uri]) != wrong:
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return text.replace(old, new, 1)


@pytest.mark.asyncio(loop_scope="module")
async def test_mistakes_are_shown_as_one_types(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    text, uri = file.read_text(encoding="utf-8"), file.as_uri()
    assert list(client.diagnostics[uri]) == []
    text = await typed(client, uri, text, "grad", "grda", wrong=1)
    (found,) = client.diagnostics[uri]
    assert found.message == "unknown name 'grda'\nhint: did you mean 'grad'?"
    assert found.code == "GW033"
    await typed(client, uri, text, "grda", "grad", wrong=0)
    assert list(client.diagnostics[uri]) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_what_the_pointer_is_over_is_told(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    text = file.read_text(encoding="utf-8")
    line = next(number for number, line in enumerate(text.splitlines()) if "grad" in line)
    column = text.splitlines()[line].index("grad")
    found = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(file.as_uri()), types.Position(line, column + 1))
    )
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert "grad: Tensor" in found.contents.value
    assert found.range == types.Range(types.Position(line, column), types.Position(line, column + 4))


@pytest.mark.asyncio(loop_scope="module")
async def test_methods_are_offered_behind_a_dot(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    text = file.read_text(encoding="utf-8")
    line = next(number for number, line in enumerate(text.splitlines()) if ".sqrt" in line)
    column = text.splitlines()[line].index("sqrt")
    found = await client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(file.as_uri()), types.Position(line, column + 2))
    )
    assert isinstance(found, types.CompletionList)
    (item,) = [item for item in found.items if item.label == "sqrt"]
    assert item.kind == types.CompletionItemKind.Method
    assert item.text_edit == types.TextEdit(
        types.Range(types.Position(line, column), types.Position(line, column + 2)), "sqrt"
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_it_goes_to_where_an_operator_is_declared(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    line = next(number for number, line in enumerate(file.read_text().splitlines()) if line.startswith("- name"))
    document, place = types.TextDocumentIdentifier(file.as_uri()), types.Position(line, 10)
    found = await client.text_document_definition_async(types.DefinitionParams(document, place))
    assert isinstance(found, list)
    assert [each.uri for each in found] == [(project / "mylib" / "native_functions.yaml").as_uri()]
    found = await client.text_document_implementation_async(types.ImplementationParams(document, place))
    assert [each.uri for each in found] == [(project / "mylib" / "kernels.py").as_uri()]
    context = types.ReferenceContext(include_declaration=True)
    found = await client.text_document_references_async(types.ReferenceParams(context, document, place))
    assert len(found) == 2


@pytest.mark.asyncio(loop_scope="module")
async def test_mistakes_are_mended_and_entries_have_a_line_above(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    text, uri = file.read_text(encoding="utf-8"), file.as_uri()
    document = types.TextDocumentIdentifier(uri)
    found = await client.text_document_code_lens_async(types.CodeLensParams(document))
    assert [each.command.title for each in found if each.command] == [
        "not proven as it is | saves self, b: 48 bytes for T(3, 4)"
    ]
    text = await typed(client, uri, text, "grad", "grda", wrong=1)
    (problem,) = client.diagnostics[uri]
    context = types.CodeActionContext(client.diagnostics[uri])
    first, _ = await client.text_document_code_action_async(types.CodeActionParams(document, problem.range, context))
    assert isinstance(first, types.CodeAction)
    assert first.title == "Write 'grad' instead of 'grda'"
    assert first.edit is not None
    assert first.edit.changes is not None
    assert [*first.edit.changes[uri]] == [types.TextEdit(problem.range, "grad")]
    await typed(client, uri, text, "grda", "grad", wrong=0)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_argument_is_renamed_in_all_files(client: LanguageClient, project: Path) -> None:
    file = derivatives(project)
    line = next(number for number, line in enumerate(file.read_text().splitlines()) if line.startswith("- name"))
    column = file.read_text().splitlines()[line].index("b=4")
    document, place = types.TextDocumentIdentifier(file.as_uri()), types.Position(line, column)
    found = await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, place))
    assert found == types.Range(place, types.Position(line, column + 1))
    changed = await client.text_document_rename_async(
        types.RenameParams(text_document=document, position=place, new_name="curve")
    )
    assert changed is not None
    assert changed.changes is not None
    files = ("derivatives.yaml", "kernels.py", "native_functions.yaml")
    assert sorted(changed.changes) == [(project / "mylib" / name).as_uri() for name in files]
    with pytest.raises(JsonRpcException, match="'a b' is no name"):
        await client.text_document_rename_async(
            types.RenameParams(text_document=document, position=place, new_name="a b")
        )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_table_that_is_wrong_is_shown(client: LanguageClient, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradwright]\nschema_version = 1\npackge = "mylib"\n')
    file = tmp_path / "native_functions.yaml"
    document = types.TextDocumentItem(file.as_uri(), "yaml", 1, "[]\n")
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    messages = [found.message for found in client.diagnostics[(tmp_path / "pyproject.toml").as_uri()]]
    assert "unknown key 'packge'\nhint: did you mean 'package'?" in messages


@pytest.mark.asyncio(loop_scope="module")
async def test_a_file_that_changes_on_disk_is_read_again(client: LanguageClient, project: Path) -> None:
    file = project / "mylib" / "kernels.py"
    before = file.read_text(encoding="utf-8")
    changed = types.DidChangeWatchedFilesParams([types.FileEvent(file.as_uri(), types.FileChangeType.Changed)])
    try:
        file.write_text(before.replace("b: float", "c: float"), encoding="utf-8")
        client.workspace_did_change_watched_files(changed)
        while not client.diagnostics.get(file.as_uri()):
            await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        (found,) = client.diagnostics[file.as_uri()]
        assert found.code == "GW014"
    finally:
        file.write_text(before, encoding="utf-8")
        client.workspace_did_change_watched_files(changed)
    while client.diagnostics.get(file.as_uri()):
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
