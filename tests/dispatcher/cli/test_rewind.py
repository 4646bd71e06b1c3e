"""``pointsman rewind`` as a person and a script use it (interface.md 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.cli import Answer, pointsman

SOURCE = """prompt hello:
  Say it.

schema told:
  ok: bool

tool a:
  command: `echo '{"ok": true}'`
  output: told

tool b:
  command: `echo b > made; exit 1`

workflow w:
  vars:
    name: string = "x"
  entry: a
  a -> b when ok
  a -> done else
  b -> done
"""
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A folder in which the run r1 failed at b."""
    (tmp_path / "main.bot").write_text(SOURCE)
    assert pointsman(tmp_path, "run", "main.bot", "--run-id", "r1", environment=ENVIRONMENT).code == 3
    return tmp_path


def rewind(folder: Path, *arguments: str) -> Answer:
    return pointsman(folder, "rewind", "--run-id", "r1", *arguments, environment=ENVIRONMENT)


def test_a_person_reads_where_the_run_is_what_went_and_how_to_go_on(failed: Path) -> None:
    answer = rewind(failed, "--node", "a")
    assert answer.code == 0
    assert "Run r1 is back at a, from b." in answer.out
    assert "dropped: a, b" in answer.out
    assert "restored to pre:a:0; what was there is kept as rewind-backup:a:0" in answer.out
    assert "pointsman resume --run-id r1" in answer.out
    assert not (failed / "made").exists()


def test_a_script_gets_one_document(failed: Path) -> None:
    document = rewind(failed, "--node", "b", "--keep-files", "--json").document
    assert (document["run_id"], document["status"], document["to_node"]) == ("r1", "paused_operator", "b")
    assert document["files_skip_reason"] == "files are kept as asked"


@pytest.mark.parametrize(
    "arguments",
    [(), ("--node", "a", "--auto"), ("--node", "a", "--keep-files", "--restore-scope", "full"), ("--node", "ghost")],
)
def test_a_wrong_choice_is_bad_usage_and_changes_nothing(failed: Path, arguments: tuple[str, ...]) -> None:
    """R232 and interface.md 1: exit 2."""
    assert rewind(failed, *arguments).code == 2
    assert pointsman(failed, "inspect", "--run-id", "r1", "--json").document["status"] == "failed_resumable"


def test_an_unknown_run_and_a_store_that_is_not_there_are_told(tmp_path: Path, failed: Path) -> None:
    assert pointsman(failed, "rewind", "--run-id", "r2", "--node", "a").code == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    answer = pointsman(empty, "rewind", "--run-id", "r1", "--node", "a", "--store-dir", "none")
    assert (answer.code, (empty / "none").exists()) == (1, False)


@pytest.mark.parametrize(
    ("old", "new", "node", "told"),
    [
        ("a -> b when ok", "a -> b when not ok", "a", "an edge that leaves it differs"),
        ("  ok: bool", "  ok: bool\n  more: string", "a", "schema `told` differs"),
        ('= "x"', '= "y"', "a", "var `name` differs"),
        ("exit 1", "exit 2", "b", "`command` differs"),
    ],
)
def test_auto_finds_the_node_that_an_edit_affects_and_prints_what_differs(
    failed: Path, old: str, new: str, node: str, told: str
) -> None:
    """R237, R239, R240, R241."""
    (failed / "main.bot").write_text(SOURCE.replace(old, new))
    answer = rewind(failed, "--auto", "--keep-files")
    assert answer.code == 0, answer.err
    assert f"{node}: {told}" in answer.out
    assert f"back at {node}" in answer.out


def test_auto_without_an_edit_is_refused_and_names_the_other_way(failed: Path) -> None:
    """R245."""
    answer = rewind(failed, "--auto")
    assert answer.code == 5
    assert "--node N" in answer.err
