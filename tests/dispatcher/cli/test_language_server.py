"""The language server as a process, spoken to in its own protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.cli import pointsman

pytest.importorskip("pygls")
TEXT = """\
schema verdict:
  ok: bool
# 𝒳 stands for two units
tool check:
  command: `test 𝒳 {{vars.who}}`
  output: verdict
workflow w:
  entry: check
  check -> done when ok
  check -> fail else
"""


class Editor:
    """A client that speaks the protocol over the process's streams."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "dispatcher.cli", "language-server"]
        root = Path(__file__).parents[3]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        )
        self.number = 0
        self.told: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        size = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        assert size, self.process.stderr.read().decode() if self.process.stderr else ""
        message: dict[str, Any] = json.loads(stream.read(size))
        return message

    def ask(self, method: str, params: dict[str, Any] | None) -> Any:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            answer = self.receive()
            if answer.get("id") == self.number and "method" not in answer:
                assert "error" not in answer, answer
                return answer["result"]
            self.told.append(answer)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self.send({"method": method, "params": params})

    def findings(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next findings of a text, of that version where one is given."""
        while True:
            message = self.told.pop(0) if self.told else self.receive()
            params = message.get("params") or {}
            if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != uri:
                continue
            if version is None or params.get("version") == version:
                found: list[dict[str, Any]] = params["diagnostics"]
                return found

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "pointsman", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, text: str) -> None:
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def at(self, method: str, uri: str, line: int, character: int) -> Any:
        position = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": position})


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    """A server that has been initialized; it has to end well."""
    found = Editor(tmp_path)
    capabilities: dict[str, Any] = {"general": {"positionEncodings": ["utf-16"]}}
    said = found.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": capabilities})
    assert said["serverInfo"]["name"] == "pointsman"
    found.tell("initialized", {})
    yield found
    found.ask("shutdown", None)
    found.send({"method": "exit"})
    assert found.process.wait(30) == 0
    assert b"Traceback" not in (found.process.stderr.read() if found.process.stderr else b"")
    for stream in (found.process.stdin, found.process.stdout, found.process.stderr):
        if stream is not None:
            stream.close()


def test_an_editor_gets_findings_hover_definition_and_completion(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "main.bot").as_uri()
    editor.open(uri, TEXT)
    found = editor.findings(uri)
    assert [(each["code"], each["severity"], each["source"]) for each in found] == [("C033", 1, "pointsman")]
    line = TEXT.split("\n")[4]
    start = len(line[: line.index("{{")].encode("utf-16-le")) // 2
    assert found[0]["range"] == {
        "start": {"line": 4, "character": start},
        "end": {"line": 4, "character": start + len("{{vars.who}}")},
    }

    editor.change(uri, 2, "vars:\n  who: string\n" + TEXT)
    assert editor.findings(uri, 2) == []
    assert "`ok`: bool" in editor.at("hover", uri, 7, 12)["contents"]["value"]
    place = editor.at("definition", uri, 6, start + 9)
    assert [(each["uri"], each["range"]["start"]) for each in place] == [(uri, {"line": 1, "character": 2})]

    editor.change(uri, 3, "vars:\n  who: string\n" + TEXT.replace("check -> fail else", "check -> "))
    items = editor.at("completion", uri, 11, 11)
    edits = {each["label"]: each["textEdit"]["newText"] for each in items}
    assert edits["done"] == "done"
    assert {"check", "fail"} <= edits.keys()


def test_a_change_of_a_fragment_is_seen_in_the_file_that_imports_it(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/x.bot").write_text("tool a:\n  command: `true`\n")
    main, lib = (tmp_path / "main.bot").as_uri(), (tmp_path / "lib/x.bot").as_uri()
    editor.open(main, 'import "lib/x.bot"\nworkflow w:\n  entry: a\n  a -> done\n')
    assert editor.findings(main) == []
    editor.open(lib, "tool b:\n  command: `true`\n")
    assert {each["code"] for each in editor.findings(main)} >= {"C001"}
    editor.tell("textDocument/didClose", {"textDocument": {"uri": lib}})
    assert editor.findings(main) == []


def test_a_text_that_is_no_file_is_served_too(editor: Editor) -> None:
    uri = "untitled:Untitled-1"
    editor.open(uri, TEXT)
    assert [each["code"] for each in editor.findings(uri)] == ["C033"]
    assert editor.at("hover", "file:///nowhere.bot", 0, 0) is None
    assert editor.at("completion", "file:///nowhere.bot", 0, 0) == []


def test_quick_changes_are_looked_at_once(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "main.bot").as_uri()
    editor.open(uri, TEXT)
    for version in range(2, 40):
        editor.change(uri, version, TEXT + "\n" * version)
    assert [each["code"] for each in editor.findings(uri, 39)] == ["C033"]
    published = [each for each in editor.told if each.get("method") == "textDocument/publishDiagnostics"]
    assert len(published) < 38


def test_without_its_library_the_verb_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    answer = pointsman(tmp_path, "language-server")
    assert answer.code == 2
    assert "pointsman[editor]" in answer.err
