"""A source that changed under a run: every file counts, a bundle opens again, an archive may move (engine.md 7.6).

The digest itself is proved byte for byte in ``tests/engine/dsl/test_digest.py``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from engine.dsl.load import load
from engine.dsl.pack import pack
from tests.kit.cli import Answer, pointsman
from tests.kit.clock import FakeClock
from tests.kit.engine import PATH
from tests.kit.runs import open_store

MAIN = """
import "lib/part.bot"
vars:
  who: string = "nobody"
prompt own:
  {{include "texts/a.md"}}
tool t:
  command: `echo {{vars.who}} >> trace; test -e ok`
human h:
  instructions: ask
  output: reply
workflow w:
  entry: t
  t -> h
  h -> done
"""
FILES = {
    "main.bot": MAIN,
    "manifest.yaml": "schema_version: 1\nname: demo\n",
    "prompts/ask.md": "Is it good?\n",
    "presets/team.md": "---\nname: team\nvars: {who: everybody}\n---\n",
    "skills/s.md": "---\nname: s\ndescription: long enough to be found\n---\n",
    "lib/part.bot": "schema reply:\n  ok: bool\n",
    "texts/a.md": '{{include "more/b.md"}}',
    "texts/more/b.md": "b",
}


def verb(folder: Path, *arguments: str) -> Answer:
    return pointsman(folder, *arguments, environment={"PATH": PATH})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "bot" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bot" / name).write_text(text)
    return tmp_path


def failed(folder: Path, source: str = "bot", *more: str) -> None:
    """A run that stopped at its first node, which ``ok`` in the folder lets pass."""
    answer = verb(folder, "run", source, "--run-id", "r1", *more)
    assert answer.code == 3, answer.err
    (folder / "ok").touch()


def resume(folder: Path, *more: str) -> Answer:
    return verb(folder, "resume", "--run-id", "r1", "--no-interactive", "--json", *more)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("prompts/ask.md", id="R144 a prompt of the bundle"),
        pytest.param("presets/team.md", id="R145 a preset of the bundle"),
        pytest.param("lib/part.bot", id="R146 an imported fragment"),
        pytest.param("texts/more/b.md", id="R147 an included file of an included file"),
    ],
)
def test_an_edit_of_any_file_of_the_program_is_refused(folder: Path, name: str) -> None:
    failed(folder)
    with (folder / "bot" / name).open("a") as stream:
        stream.write("\n")
    before = verb(folder, "inspect", "--run-id", "r1", "--json").document
    refused = resume(folder)
    assert (refused.code, refused.document["error"]["code"]) == (5, "source_changed")
    assert verb(folder, "inspect", "--run-id", "r1", "--json").document == before
    assert resume(folder, "--force").code == 4


def test_a_skill_is_no_part_of_the_program(folder: Path) -> None:
    """7.6: the digest covers main file, prompts, presets, imports and includes."""
    failed(folder)
    (folder / "bot" / "skills" / "s.md").write_text("---\nname: s\ndescription: another one for all of us\n---\n")
    assert resume(folder).code == 4


def test_a_single_file_has_the_plain_digest_of_its_bytes(tmp_path: Path) -> None:
    """R148."""
    data = b"tool t:\n  command: `true`\nworkflow w:\n  entry: t\n  t -> done\n"
    (tmp_path / "x.bot").write_bytes(data)
    assert load(tmp_path / "x.bot").digest == hashlib.sha256(data).hexdigest()


def test_a_run_from_before_includes_counted_needs_one_force(folder: Path, clock: FakeClock) -> None:
    """R152: the digest of the main file alone, of a file that is no bundle; afterwards the new digest is on record."""
    (folder / "bot" / "manifest.yaml").unlink()
    (folder / "bot" / "main.bot").rename(folder / "bot" / "plain.bot")
    (folder / "bot" / "plain.bot").write_text(MAIN.replace("instructions: ask", 'instructions: "ok?"'))
    failed(folder, "bot/plain.bot")
    alone = hashlib.sha256((folder / "bot" / "plain.bot").read_bytes()).hexdigest()
    store = open_store(folder, clock)
    assert store.runs.get("r1").digest != alone
    with store.database.write() as connection:
        connection.execute(sql("UPDATE run SET digest = :alone"), {"alone": alone})
    store.database.close()
    (folder / "ok").unlink()
    assert resume(folder).code == 5
    assert resume(folder, "--force").code == 3
    (folder / "ok").touch()
    assert resume(folder).code == 4


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_a_bundle_opens_again_with_its_prompts_and_its_preset(folder: Path, packed: bool) -> None:
    """R153: the prompt is asked, the preset's values are there in both attempts."""
    source = "bot"
    if packed:
        pack(folder / "bot", folder / "demo.botz")
        source = "demo.botz"
    failed(folder, source, "--preset", "team")
    asked = resume(folder)
    assert asked.code == 4
    assert (folder / "trace").read_text().split() == ["everybody", "everybody"]
    events = verb(folder, "inspect", "--run-id", "r1", "--events", "--json").document["events"]
    told = [event["data"].get("instructions") for event in events if event["type"] == "human_input_requested"]
    assert [str(text).strip() for text in told] == ["Is it good?"]
    done = resume(folder, "--answer", "ok=yes")
    assert done.document["outputs"]["h"] == {"ok": True}


def test_an_archive_that_moved_has_to_be_named(folder: Path) -> None:
    """R154: an error first, with the run as it was; then accepted, and remembered."""
    pack(folder / "bot", folder / "demo.botz")
    failed(folder, "demo.botz")
    (folder / "demo.botz").rename(folder / "moved.botz")
    lost = resume(folder)
    assert (lost.code, lost.document["error"]["code"]) == (2, "source_missing")
    assert resume(folder, "--file", "moved.botz").code == 4
    assert resume(folder, "--answer", "ok=no").code == 0
