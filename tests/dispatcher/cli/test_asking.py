"""Questions on a real terminal: shown with their instructions, typed, asked again until they fit (interface.md 3)."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.runs import ROOT

GATE = """
schema answer:
  ok: bool
  count: int
  tone: string [enum: "dry", "warm"]
  doc: file
human gate:
  instructions: "Is this right?"
  output: answer
workflow w:
  entry: gate
  gate -> done
"""
SOME = """
schema answer:
  a: int
  b: int
  c: string
human gate:
  output: answer
  min_answers: 2
workflow w:
  entry: gate
  gate -> done
"""


class Terminal:
    """A person at the terminal of one command."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self._process, self._screen = process, screen
        self.seen, self._at = "", 0

    def until(self, text: str) -> None:
        """Read until the text is on the screen, behind the text that was waited for before."""
        end = time.monotonic() + 60
        while text not in self.seen[self._at :]:
            assert time.monotonic() < end, self.seen
            if select.select([self._screen], [], [], 0.2)[0]:
                self.seen += os.read(self._screen, 4096).decode()
        self._at = self.seen.index(text, self._at) + len(text)

    def types(self, prompt: str, text: str) -> None:
        """Wait for the prompt, then type."""
        self.until(f"{prompt}:")
        os.write(self._screen, f"{text}\n".encode())

    def result(self) -> tuple[int, dict[str, dict[str, object]]]:
        """The exit code and the outputs of the document on stdout."""
        out, _ = self._process.communicate(timeout=60)
        return self._process.returncode, json.loads(out)["outputs"]


@contextmanager
def terminal(folder: Path, *arguments: str) -> Iterator[Terminal]:
    """A command whose stdin and stderr are a terminal."""
    screen, line = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dispatcher.cli", *arguments, "--json"]
    process = subprocess.Popen(
        command, stdin=line, stderr=line, stdout=subprocess.PIPE, cwd=folder, env=environment, start_new_session=True
    )
    os.close(line)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def test_each_field_is_asked_in_its_type_until_it_fits(tmp_path: Path) -> None:
    """5.4, 7.4: yes and no, numbers, choices, files; a wrong answer is told and asked again."""
    (tmp_path / "main.bot").write_text(GATE)
    (tmp_path / "note.txt").write_text("hello\n")
    with terminal(tmp_path, "run", "main.bot", "--run-id", "r1") as person:
        person.until("Is this right?")
        person.types("ok (bool)", "perhaps")
        person.types("ok (bool)", "yes")
        person.types("count (int)", "many")
        person.types("count (int)", " 3 ")
        person.types("tone (dry | warm)", "cold")
        person.types("tone (dry | warm)", "dry")
        person.types("doc (file)", "@absent.txt")
        person.types("doc (file)", "@note.txt")
        code, outputs = person.result()
    gate = outputs["gate"]
    assert (code, gate["ok"], gate["count"], gate["tone"]) == (0, True, 3, "dry")
    doc = gate["doc"]
    assert isinstance(doc, dict)
    assert doc["filename"] == "note.txt"


def test_answers_may_be_left_out_as_far_as_the_form_allows(tmp_path: Path) -> None:
    """5.4: `min_answers`; too few, and the person is asked again."""
    (tmp_path / "main.bot").write_text(SOME)
    with terminal(tmp_path, "run", "main.bot", "--run-id", "r1") as person:
        person.until("At least 2 answers are needed")
        for name, text in (("a (int)", "1"), ("b (int)", ""), ("c (string)", "")):
            person.types(name, text)
        person.until("2 answers are needed, found 1")
        for name, text in (("a (int)", "1"), ("b (int)", ""), ("c (string)", "x")):
            person.types(name, text)
        code, outputs = person.result()
    assert (code, outputs["gate"]) == (0, {"a": 1, "b": None, "c": "x"})


def test_a_forced_resume_asks_and_stays_forced(tmp_path: Path) -> None:
    """7.6: what the command said holds for the answers that are typed."""
    (tmp_path / "main.bot").write_text(SOME)
    with terminal(tmp_path, "run", "main.bot", "--run-id", "r1", "--no-interactive") as person:
        assert person.result()[0] == 4
    (tmp_path / "main.bot").write_text(SOME + "# changed\n")
    with terminal(tmp_path, "resume", "--run-id", "r1", "--force") as person:
        for name, text in (("a (int)", "1"), ("b (int)", "2"), ("c (string)", "x")):
            person.types(name, text)
        assert person.result()[0] == 0
