"""The server: what an editor sends and gets, in the words of the protocol; all answers are found in other modules.

Messages are answered by one thread, from what is known of a project by then. A second thread analyzes what was edited,
as soon as nothing was typed for a moment.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from codegen.lsp import problems
from codegen.lsp.actions import actions
from codegen.lsp.analysis import Analysis, State, analyze, text_on_disk
from codegen.lsp.completion import Kind, complete
from codegen.lsp.definition import Location, definition, implementation, references
from codegen.lsp.edits import Edit
from codegen.lsp.hover import hover
from codegen.lsp.lens import lenses
from codegen.lsp.positions import offset_of, position_of
from codegen.lsp.problems import Problem, Severity
from codegen.lsp.project import Project, find_paths
from codegen.lsp.rename import RenameError, occurrences_of, renamable, rename
from codegen.paths import Paths, find_project
from codegen.source import Diagnostics, SourceFile, Span
from codegen.version import VERSION

# Seconds without a key before what was typed is analyzed as a whole.
PAUSE = 0.3
# Seconds without a key before the garbage of analyses is collected; and after how many of them it is in any case.
IDLE = 3.0
_MOST_LEFT = 20
# How long, in seconds, the analysis runs before the thread that answers gets its turn.
_TURN = 0.001
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
}
_FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.gradwright"
_KINDS = {
    Kind.KEY: types.CompletionItemKind.Property,
    Kind.ARGUMENT: types.CompletionItemKind.Variable,
    Kind.VALUE: types.CompletionItemKind.Value,
    Kind.KERNEL: types.CompletionItemKind.Function,
    Kind.HELPER: types.CompletionItemKind.Function,
    Kind.METHOD: types.CompletionItemKind.Method,
    Kind.OPERATOR: types.CompletionItemKind.Function,
    Kind.CONSTANT: types.CompletionItemKind.Constant,
}
_log = logging.getLogger(__name__)


Find = Callable[[State, Path, int], list[Location]]


class Session:
    """An open project: its state, and the thread that analyzes it.

    Args:
        project: its files.
        analyzed: is called in that thread after each analysis.
    """

    def __init__(self, project: Project, analyzed: Callable[[Session], None]) -> None:
        self.project = project
        self.state: State | None = None
        self.shown: set[Path] = set()  # the files of which problems are shown
        self._texts: dict[Path, str] = {}
        self._analyzed = analyzed
        self._condition = threading.Condition()
        self._wanted = 1
        self._done = 0
        self._left = 0  # analyses of which there is garbage
        threading.Thread(target=self._run, daemon=True).start()

    def edit(self, path: Path, text: str | None) -> None:
        """Take over the text of an open file; None: it is closed, and is what it is on disk."""
        with self._condition:
            before = self._texts.pop(path, None)
            if text is not None:
                self._texts[path] = text
            if (text_on_disk(path) if before is None else before) != (text_on_disk(path) if text is None else text):
                self._wanted += 1
                self._condition.notify()
            if self.state is not None:
                self.state = _with_texts(self.state.analysis, self._texts, self.state)

    def read_again(self) -> None:
        """Analyze the files as they are by now: some have changed on disk."""
        with self._condition:
            self._wanted += 1
            self._condition.notify()

    def _run(self) -> None:
        before: Analysis | None = None
        while True:
            wanted, texts = self._next()
            try:
                before = analyze(Project(self.project.paths), texts, before)  # there may be other modules by now
            except Exception:
                _log.exception("the analysis failed")  # the next text may be another one
            self._left += 1
            with self._condition:
                self._done = wanted
                if before is not None:
                    self.project = before.project
                    self.state = _with_texts(before, self._texts, self.state)
            if before is not None:
                self._analyzed(self)

    def _collect(self) -> None:
        """Free what older analyses left, which holds up all else for up to a second."""
        if self._left:
            gc.collect()
            self._left = 0

    def _next(self) -> tuple[int, dict[Path, str]]:
        """Wait for an edit, and for a pause after it."""
        if self._left >= _MOST_LEFT:
            self._collect()
        with self._condition:
            if not self._condition.wait_for(lambda: self._wanted > self._done, IDLE):
                self._collect()
                self._condition.wait_for(lambda: self._wanted > self._done)
            while self._done:
                before = self._wanted
                self._condition.wait_for(lambda: self._wanted > before, PAUSE)  # noqa: B023, called at once
                if self._wanted == before:
                    break
            return self._wanted, dict(self._texts)


def _with_texts(analysis: Analysis, texts: dict[Path, str], before: State | None) -> State:
    """The state with what is open, of which files that did not change stay the same objects."""
    files = {}
    for path, text in texts.items():
        known = None if before is None else before.texts.get(path)
        files[path] = (
            known if known is not None and known.text == text
            else SourceFile(analysis.project.paths.shown(path), text)
        )  # fmt: skip
    return State(analysis, files)


class Place(NamedTuple):
    """A place in a file of a project."""

    state: State
    path: Path
    offset: int


class _Protocol(LanguageServerProtocol):  # type: ignore[misc]  # pygls has no types
    """The protocol with columns in units of UTF-16, which each client has to know, whatever it would rather have."""

    @lsp_method(types.INITIALIZE)  # type: ignore[untyped-decorator]
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        if params.capabilities.general is not None:
            params.capabilities.general.position_encodings = None
        result: types.InitializeResult = yield from super().lsp_initialize(params)
        return result


class Server:
    """What the features of the protocol call.

    Args:
        paths: of the one project that options name; None: each file's own project is looked for.
    """

    def __init__(self, paths: Paths | None = None) -> None:
        self.protocol = LanguageServer(
            "gradwright",
            VERSION,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            protocol_cls=_Protocol,
        )
        self.sessions: dict[Paths, Session] = {}
        self._paths = paths
        self._loop: asyncio.AbstractEventLoop | None = None
        self._register()

    def _register(self) -> None:
        self._answer(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self._answer(types.TEXT_DOCUMENT_DID_CHANGE, self._changed)
        self._answer(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self._answer(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._changed_on_disk)
        self._answer(types.TEXT_DOCUMENT_HOVER, self._hover)
        self._answer(types.TEXT_DOCUMENT_DEFINITION, partial(self._locations, definition))
        self._answer(types.TEXT_DOCUMENT_IMPLEMENTATION, partial(self._locations, implementation))
        self._answer(types.TEXT_DOCUMENT_REFERENCES, self._references)
        options = types.RenameOptions(prepare_provider=True)
        self._answer(types.TEXT_DOCUMENT_PREPARE_RENAME, self._renamable)
        self._answer(types.TEXT_DOCUMENT_RENAME, self._rename, options)
        kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, _FIX_ALL])
        self._answer(types.TEXT_DOCUMENT_CODE_ACTION, self._actions, kinds)
        self._answer(types.TEXT_DOCUMENT_CODE_LENS, self._lenses)
        triggers = types.CompletionOptions(trigger_characters=[".", ">", "(", ",", ":", " "])
        self._answer(types.TEXT_DOCUMENT_COMPLETION, self._complete, triggers)

    def _answer(self, message: str, method: Callable[[Any], object], options: object = None) -> None:
        def answer(params: Any) -> object:  # a function, on which the protocol leaves a mark
            return method(params)

        self.protocol.feature(message, options)(answer)

    # -- documents

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._edit(params.text_document.uri)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._edit(params.text_document.uri)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        session, path = self._session(params.text_document.uri)
        if session is not None and session.project.is_read(path):
            session.edit(path, None)

    def _changed_on_disk(self, params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            session, path = self._session(change.uri)
            if session is not None and session.state is not None and path not in session.state.texts:
                session.read_again()

    def _edit(self, uri: str) -> None:
        session, path = self._session(uri)
        if session is not None and session.project.is_read(path):
            session.edit(path, self.protocol.workspace.get_text_document(uri).source)
            if session.state is not None:
                self._publish(session, path)

    def _session(self, uri: str) -> tuple[Session | None, Path]:
        """The project of a file, which is opened with its first file, and the file's path there."""
        self._loop = asyncio.get_running_loop()
        path = Path(uris.to_fs_path(uri) or "")
        for session in self.sessions.values():
            known = session.project.known(path)
            if session.project.role(known) is not None:
                return session, known
        diagnostics = Diagnostics()
        paths = self._paths or find_paths(path, diagnostics)
        if paths is None:
            self._show_table(path, diagnostics)
            return None, path
        if paths not in self.sessions:
            self.sessions[paths] = Session(Project(paths), self._analyzed)
        session = self.sessions[paths]
        return session, session.project.known(path)

    def _show_table(self, path: Path, diagnostics: Diagnostics) -> None:
        """Show what is wrong with the table of a project."""
        table = find_project(path.parent)
        if table is not None:
            found = [_diagnostic(None, Problem(item, Severity.ERROR)) for item in diagnostics.sorted()]
            self.protocol.text_document_publish_diagnostics(types.PublishDiagnosticsParams(_uri(table), found))

    # -- answers

    def _place(self, document: types.TextDocumentIdentifier, position: types.Position) -> Place | None:
        """A place in a file; None where its project is not analyzed yet, or there is none."""
        session, path = self._session(document.uri)
        if session is None or session.state is None:
            return None
        file = session.state.file(path)
        return Place(session.state, path, offset_of(file, (position.line, position.character)))

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        place = self._place(params.text_document, params.position)
        found = None if place is None else hover(place.state, place.path, place.offset)
        if found is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), _range(found.span))

    def _complete(self, params: types.CompletionParams) -> types.CompletionList:
        place = self._place(params.text_document, params.position)
        if place is None:
            return types.CompletionList(is_incomplete=True, items=[])
        found = complete(place.state, place.path, place.offset)
        replaced = _range(Span(place.state.file(place.path), found.start, place.offset))
        items = [
            types.CompletionItem(
                label=item.label,
                kind=_KINDS[item.kind],
                detail=item.detail or None,
                documentation=types.MarkupContent(types.MarkupKind.Markdown, item.documentation)
                if item.documentation
                else None,
                sort_text=f"{number:04}",
                text_edit=types.TextEdit(replaced, item.label),
            )
            for number, item in enumerate(found.items)
        ]
        return types.CompletionList(is_incomplete=found.is_cut, items=items)

    def _locations(self, find: Find, params: types.TextDocumentPositionParams) -> list[types.Location]:
        place = self._place(params.text_document, params.position)
        found = [] if place is None else find(place.state, place.path, place.offset)
        return [types.Location(_uri(each.path), _range(each.span)) for each in found]

    def _references(self, params: types.ReferenceParams) -> list[types.Location]:
        return self._locations(references, params) or self._locations(occurrences_of, params)

    def _renamable(self, params: types.PrepareRenameParams) -> types.Range | None:
        place = self._place(params.text_document, params.position)
        span = None if place is None else renamable(place.state, place.path, place.offset)
        return None if span is None else _range(span)

    def _rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        place = self._place(params.text_document, params.position)
        if place is None:
            return None
        try:
            return _changes(rename(place.state, place.path, place.offset, params.new_name))
        except RenameError as error:
            raise JsonRpcException(str(error), code=types.LSPErrorCodes.RequestFailed.value) from None

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        place = self._place(params.text_document, params.range.start)
        if place is None:
            return []
        file = place.state.file(place.path)
        stop = offset_of(file, (params.range.end.line, params.range.end.character))
        return [
            types.CodeAction(
                title=action.title,
                kind=_FIX_ALL if action.problem is None else types.CodeActionKind.QuickFix,
                diagnostics=None if action.problem is None else [_diagnostic(place.state, action.problem)],
                is_preferred=action.problem is not None,
                edit=_changes(action.edits),
            )
            for action in actions(place.state, place.path, place.offset, stop)
        ]

    def _lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        place = self._place(params.text_document, types.Position(0, 0))
        found = [] if place is None else lenses(place.state, place.path)
        return [types.CodeLens(_range(each.span), types.Command(each.title, "")) for each in found]

    # -- what is wrong

    def _analyzed(self, session: Session) -> None:
        """In the thread that analyzes: the other one is to show what was found."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._publish_all, session)

    def _publish_all(self, session: Session) -> None:
        assert session.state is not None
        found = problems.files_with_problems(session.state)
        for path in sorted(session.shown | found | set(session.state.texts)):
            self._publish(session, path)
        capabilities = self.protocol.client_capabilities.workspace
        if capabilities is not None and capabilities.code_lens is not None and capabilities.code_lens.refresh_support:
            self.protocol.workspace_code_lens_refresh(None)

    def _publish(self, session: Session, path: Path) -> None:
        assert session.state is not None
        found = problems.problems(session.state, path)
        session.shown.discard(path)
        if found:
            session.shown.add(path)
        self.protocol.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=_uri(path), diagnostics=[_diagnostic(session.state, each) for each in found]
            )
        )


def _uri(path: Path) -> str:
    return path.absolute().as_uri()


def _range(span: Span) -> types.Range:
    start, end = position_of(span.file, span.start), position_of(span.file, span.end)
    return types.Range(types.Position(*start), types.Position(*end))


def _changes(edits: Iterable[Edit]) -> types.WorkspaceEdit:
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        changes.setdefault(_uri(edit.path), []).append(types.TextEdit(_range(edit.span), edit.text))
    return types.WorkspaceEdit(changes=changes)


def _diagnostic(state: State | None, problem: Problem) -> types.Diagnostic:
    item = problem.diagnostic
    return types.Diagnostic(
        range=_range(item.span),
        message=item.message if item.hint is None else f"{item.message}\nhint: {item.hint}",
        severity=_SEVERITIES[problem.severity],
        code=str(item.code),
        source="gradwright",
        related_information=[] if state is None else [_note(state, span, text) for span, text in item.notes],
    )


def _note(state: State, span: Span, text: str) -> types.DiagnosticRelatedInformation:
    path, place = state.now(span)
    return types.DiagnosticRelatedInformation(types.Location(_uri(path), _range(place)), text)


def serve(paths: Paths | None = None) -> None:
    """Answer an editor until it goes away."""
    sys.setswitchinterval(_TURN)
    gc.disable()  # it would go through the trees of a whole YAML at any time: sessions call it when nobody types
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:  # which the server closes; the command flushes stdout
        Server(paths).protocol.start_io(stdout=output)
