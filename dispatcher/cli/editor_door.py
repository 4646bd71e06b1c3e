"""The one door to the Language Server Protocol: an editor's messages in, the answers of ``engine.dsl.editor`` out.

Started by ``language_server``. It keeps the open texts and nothing else; a text is looked at ``DELAY`` seconds after
its last change, and at once before a question about it is answered. One editor, one process, one thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from dispatcher import __version__
from dispatcher.operations import CATALOGUE
from engine.dsl.diagnostics import Diagnostic
from engine.dsl.editor.analysis import Analysis, analyse
from engine.dsl.editor.completion import Sort, Suggestion, complete
from engine.dsl.editor.extent import extent
from engine.dsl.editor.hover import hover
from engine.dsl.editor.spot import Lines
from engine.dsl.editor.targets import definition
from engine.dsl.graph import Span
from engine.dsl.surroundings import Surroundings

DELAY = 0.15
NO_FOLDER = Path("/untitled")
NAME = "pointsman"
TRIGGERS = [".", "{", ">", " ", ":", '"']
SORTS = {
    Sort.KEYWORD: lsp.CompletionItemKind.Keyword,
    Sort.PROPERTY: lsp.CompletionItemKind.Property,
    Sort.VALUE: lsp.CompletionItemKind.EnumMember,
    Sort.NODE: lsp.CompletionItemKind.Class,
    Sort.NAME: lsp.CompletionItemKind.Variable,
    Sort.FIELD: lsp.CompletionItemKind.Field,
    Sort.FUNCTION: lsp.CompletionItemKind.Function,
    Sort.FILE: lsp.CompletionItemKind.File,
}


class Texts:
    """The open texts of one editor, by path, and what is known about them."""

    def __init__(self, server: LanguageServer, around: Surroundings) -> None:
        self._server = server
        self._around = around
        self._buffers: dict[Path, bytes] = {}
        self._versions: dict[Path, int | None] = {}
        self._lines: dict[Path, Lines] = {}
        self._known: dict[Path, Analysis] = {}
        self._waiting: asyncio.TimerHandle | None = None
        self._told: frozenset[Path] = frozenset()
        self._uris: dict[Path, str] = {}

    def put(self, uri: str, text: str, version: int | None) -> None:
        """A text was opened or changed; findings follow when it rests."""
        path = path_of(uri)
        self._uris[path] = uri
        self._buffers[path] = text.encode("utf-8", "replace")
        self._versions[path] = version
        self._lines[path] = Lines(text)
        self._known.clear()
        self._later()

    def drop(self, uri: str) -> None:
        """A text was closed: what is on disk counts again."""
        path = path_of(uri)
        for known in (self._buffers, self._versions, self._lines):
            known.pop(path, None)
        self._known.clear()
        self._later()

    def lines(self, uri: str) -> Lines | None:
        """The text of an open file."""
        return self._lines.get(path_of(uri))

    def analysis(self, uri: str) -> Analysis:
        """What is known about an open file, looked at now if it changed."""
        path = path_of(uri)
        if path not in self._known:
            self._known[path] = analyse(path, self._buffers, self._around)
        return self._known[path]

    def units(self, position: lsp.Position, uri: str) -> tuple[int, int]:
        """A client's position as row (from 1) and column in characters."""
        lines = self.lines(uri)
        rows = lines.rows if lines else [""]
        found = self._server.workspace.position_codec.position_from_client_units(rows, position)
        return found.line + 1, found.character

    def range(self, row: str, line: int, start: int, end: int) -> lsp.Range:
        """A stretch of a row (from 1) in the client's units."""
        codec = self._server.workspace.position_codec
        first, last = codec.client_num_units(row[:start]), codec.client_num_units(row[:end])
        return lsp.Range(lsp.Position(line - 1, first), lsp.Position(line - 1, last))

    def row(self, path: Path, line: int) -> str:
        """A row of a file, as it is open or on disk."""
        lines = self._lines.get(path)
        if lines is None:
            try:
                lines = Lines(path.read_bytes().decode("utf-8", "replace"))
            except OSError:
                return ""
        return lines.rows[line - 1] if line <= len(lines.rows) else ""

    def _later(self) -> None:
        """Tell the findings once the texts rest."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(DELAY, self.tell)

    def tell(self) -> None:
        """Send the findings of every open text and of the files of its unit, and clear those that are gone."""
        findings: dict[Path, dict[Diagnostic, None]] = {}
        for path in sorted(self._buffers):
            for file, found in self.analysis(self.uri(path)).findings.items():
                findings.setdefault(file, {}).update(dict.fromkeys(found))
        for path in self._told - findings.keys():
            findings[path] = {}
        self._told = frozenset(path for path, found in findings.items() if found)
        for path, each in findings.items():
            shown = [self._finding(found, path) for found in each]
            params = lsp.PublishDiagnosticsParams(self.uri(path), shown, version=self._versions.get(path))
            self._server.text_document_publish_diagnostics(params)

    def uri(self, path: Path) -> str:
        """The URI of a file, as the client wrote it where it did."""
        return self._uris.get(path) or from_fs_path(str(path)) or ""

    def _finding(self, found: Diagnostic, path: Path) -> lsp.Diagnostic:
        row = self.row(path, found.line)
        severity = lsp.DiagnosticSeverity.Error if found.is_error else lsp.DiagnosticSeverity.Warning
        text = f"{found.message}\n{found.hint}" if found.hint else found.message
        place = self.range(row, found.line, *extent(found, row))
        return lsp.Diagnostic(place, text, severity=severity, code=found.code, source=NAME)

    def location(self, span: Span) -> lsp.Location:
        """A place of the compiler as one of the client: the word that stands there."""
        path = Path(span.file)
        row = self.row(path, span.line)
        end = span.column - 1
        while end < len(row) and (row[end].isalnum() or row[end] == "_"):
            end += 1
        return lsp.Location(self.uri(path), self.range(row, span.line, span.column - 1, end))

    def item(self, each: Suggestion, place: lsp.Position, uri: str) -> lsp.CompletionItem:
        """A suggestion with the edit that writes it."""
        row, column = self.units(place, uri)
        lines = self.lines(uri)
        source = lines.rows[row - 1] if lines else ""
        edit = lsp.TextEdit(self.range(source, row, column - each.replaces, column), each.label + each.tail)
        return lsp.CompletionItem(each.label, kind=SORTS[each.sort], detail=each.detail or None, text_edit=edit)


def path_of(uri: str) -> Path:
    """The file of a URI; a text that is no file is called like one in a folder that does not exist."""
    path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else None
    return Path(path) if path else NO_FOLDER / uri.replace("/", "_")


def serve(connections: Mapping[str, str] | None) -> None:
    """Serve one editor over stdin and stdout until it says exit."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    build(Surroundings(CATALOGUE, connections, version=__version__)).start_io()


def build(around: Surroundings) -> LanguageServer:
    """The server with its answers; nothing runs yet."""
    server = LanguageServer(NAME, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    texts = Texts(server, around)
    _follow(server, texts)
    _answer(server, texts)
    return server


def _follow(server: LanguageServer, texts: Texts) -> None:
    """Keep up with what is open."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        texts.put(document.uri, document.text, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        texts.put(document.uri, server.workspace.get_text_document(document.uri).source, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        texts.drop(params.text_document.uri)


def _answer(server: LanguageServer, texts: Texts) -> None:
    """Answer questions about open texts."""

    def place(params: Any) -> tuple[Analysis, Lines, int, int] | None:
        uri = params.text_document.uri
        lines = texts.lines(uri)
        return (texts.analysis(uri), lines, *texts.units(params.position, uri)) if lines else None

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        found = place(params)
        text = hover(*found) if found else ""
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> list[lsp.Location]:
        found = place(params)
        if found is None:
            return []
        analysis, lines, row, column = found
        return [texts.location(span) for span in definition(analysis, lines.spot(row, column))]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS))
    def completed(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found = place(params)
        uri = params.text_document.uri
        return [texts.item(each, params.position, uri) for each in complete(*found)] if found else []
