"""The verbs about runs: what they print, for people and as documents, and how they exit (interface.md 1 and 3)."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dispatcher.cli.execution import EXIT_CODES
from engine.states import RunStatus
from tests.kit.cli import Answer, pointsman
from tests.kit.engine import PATH
from tests.kit.runs import ROOT

CHAIN = """
tool a:
  command: `echo a >> trace`
tool b:
  command: `echo b >> trace; test -e ok`
workflow w:
  entry: a
  a -> b
  b -> done
"""
ASKS = """
schema answer:
  ok: bool
  colour: string [enum: "red", "blue"]
human gate:
  output: answer
workflow asks:
  entry: gate
  gate -> done
"""
VARS = """
vars:
  n: int
  s: string = "d"
compute c:
  expr:
    n: "vars.n"
    s: "vars.s"
workflow w:
  entry: c
  c -> done
"""


def verb(folder: Path, *arguments: str) -> Answer:
    return pointsman(folder, *arguments, environment={"PATH": PATH})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"main.bot": CHAIN, "asks.bot": ASKS, "vars.bot": VARS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_status_has_an_exit_code() -> None:
    """R490: one table, total over the statuses."""
    assert set(EXIT_CODES) == set(RunStatus)


def test_a_run_that_fails_and_is_resumed(folder: Path) -> None:
    """R004, R490: 3, then 0; people's text names what to do next."""
    failed = verb(folder, "run", "main.bot", "--run-id", "r1")
    assert failed.code == 3
    assert "pointsman resume --run-id r1" in failed.out
    (folder / "ok").touch()
    done = verb(folder, "resume", "--run-id", "r1", "--json")
    assert (done.code, done.document["status"]) == (0, "finished")
    assert verb(folder, "resume", "--run-id", "r1").code == 5


def test_a_run_that_failed_for_good_is_not_told_to_resume(folder: Path) -> None:
    (folder / "ends.bot").write_text(CHAIN.replace("b -> done", "b -> fail").replace("; test -e ok", ""))
    failed = verb(folder, "run", "ends.bot", "--run-id", "r1")
    assert failed.code == 1
    assert "pointsman rewind --run-id r1" in failed.out
    assert "resume" not in failed.out


def test_the_list_is_newest_first_and_filtered(folder: Path) -> None:
    assert verb(folder, "inspect", "--json").document == {"runs": []}
    assert not (folder / ".pointsman").exists()
    verb(folder, "run", "main.bot", "--run-id", "one")
    verb(folder, "run", "asks.bot", "--run-id", "two")
    runs = verb(folder, "inspect", "--json").document["runs"]
    assert [run["run_id"] for run in runs] == ["two", "one"]
    assert "outputs" not in runs[0]
    asking = verb(folder, "inspect", "--json", "--status", "paused_waiting_human").document["runs"]
    assert [run["run_id"] for run in asking] == ["two"]
    assert "two" in verb(folder, "inspect", "--workflow", "asks").out
    assert verb(folder, "inspect", "--workflow", "nothing").out == "No run fits that.\n"
    assert verb(folder, "inspect", "--json", "--status", "queued").document == {"runs": []}
    typo = verb(folder, "inspect", "--status", "fail")
    assert (typo.code, "failed_resumable" in typo.err) == (2, True)


def test_one_run_in_all_its_sections(folder: Path) -> None:
    """11.2: summary, events, trace, one node, one execution, all."""
    verb(folder, "run", "main.bot", "--run-id", "r1")
    shown = verb(folder, "inspect", "--run-id", "r1").out
    assert "failed_resumable (EXECUTION_FAILED)" in shown
    assert "checkpoint:  b" in shown
    everything = verb(folder, "inspect", "--run-id", "r1", "--section", "all", "--full").out
    assert "## events" in everything
    assert "node_finished a" in everything
    node = verb(folder, "inspect", "--run-id", "r1", "--node", "a", "--iteration", "0", "--json").document
    assert node["executions"][0]["output"] == {"result": ""}
    assert verb(folder, "inspect", "--run-id", "r1", "--node", "ghost", "--json").code == 2
    assert "a" in verb(folder, "inspect", "--run-id", "r1", "--list-nodes").out


def test_a_section_is_part_of_the_document_too(folder: Path) -> None:
    """11.2, interface.md 3: each under its own key, whole."""
    verb(folder, "run", "asks.bot", "--run-id", "r1")
    verb(folder, "resume", "--run-id", "r1", "--answer", "ok=yes", "--answer", "colour=red")

    def part(section: str) -> dict[str, Any]:
        plain = verb(folder, "inspect", "--run-id", "r1", "--json").document
        shown = verb(folder, "inspect", "--run-id", "r1", "--section", section, "--json").document
        return {key: value for key, value in shown.items() if key not in plain}

    assert part("summary") == {}
    assert [each["type"] for each in part("trace")["trace"]] == [
        "node_started",
        "node_finished",
        "edge_selected",
    ]
    (asked,) = part("interactions")["interactions"]
    assert (asked["id"], asked["answers"]) == ("r1_gate", {"ok": True, "colour": "red"})
    assert set(part("all")) == {"events", "trace", "tools", "artifact_versions", "interactions", "log"}


@pytest.mark.parametrize("arguments", [["--node", "a"], ["--section", "log"], ["--run-id", "r1", "--iteration", "0"]])
def test_a_part_of_nothing_is_bad_usage(folder: Path, arguments: list[str]) -> None:
    verb(folder, "run", "main.bot", "--run-id", "r1")
    assert verb(folder, "inspect", *arguments, "--json").document["error"]["code"] == "usage"


def test_events_are_lines_from_a_place_on(folder: Path) -> None:
    verb(folder, "run", "main.bot", "--run-id", "r1")
    lines = [json.loads(line) for line in verb(folder, "events", "--run-id", "r1").out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    later = verb(folder, "events", "--run-id", "r1", "--since", "3", "--follow").out.splitlines()
    assert json.loads(later[0])["seq"] == 4


def test_a_report_goes_to_a_file_or_to_stdout(folder: Path) -> None:
    verb(folder, "run", "main.bot", "--run-id", "r1")
    assert verb(folder, "report", "--run-id", "r1", "--output", "report.md").code == 0
    text = (folder / "report.md").read_text()
    assert text.startswith("# Run r1")
    facts = (
        "workflow",
        "status",
        "duration",
        "tokens",
        "cost",
        "model calls",
        "node executions",
        "loop edges",
        "cache",
    )
    assert all(f"| {fact} | " in text for fact in facts)
    assert "EXECUTION_FAILED" in text
    assert verb(folder, "report", "--run-id", "r1").out.rstrip("\n") == text.rstrip("\n")
    assert verb(folder, "report", "--run-id", "nobody").code == 1


def test_a_report_shows_the_grace_that_a_run_used(folder: Path) -> None:
    """R361: beyond its cap the run walked out."""
    parts = [f'compute n{n}:\n  expr:\n    x: "{n}"\n' for n in range(6)]
    edges = "".join(f"  n{n} -> n{n + 1}\n" for n in range(5))
    (folder / "six.bot").write_text("".join(parts) + f"workflow w:\n  entry: n0\n{edges}  n5 -> done\n")
    assert verb(folder, "run", "six.bot", "--run-id", "r1", "--max-iterations", "5").code == 0
    text = verb(folder, "report", "--run-id", "r1").out
    assert "budget_exit_grace" in text
    assert '"dimension": "iterations"' in text


def test_a_skipped_retry_is_in_the_report(folder: Path) -> None:
    """R068, R360, 11.2: declined by the command itself, told once."""
    (folder / "bad.bot").write_text('compute c:\n  expr:\n    x: "1 / 0"\nworkflow w:\n  entry: c\n  c -> done\n')
    refused = verb(folder, "run", "bad.bot", "--run-id", "r1", "--auto-resume", "3")
    assert refused.code == 3
    assert "not auto-recoverable (code EXPRESSION_FAILED)" in refused.err
    assert verb(folder, "report", "--run-id", "r1").out.count("run_retry_skipped") == 1


def test_launch_values_from_flags_and_a_file(folder: Path) -> None:
    (folder / "v.json").write_text('{"n": 3, "s": "file"}')
    told = verb(folder, "run", "vars.bot", "--vars-file", "v.json", "--var", "s=a=b", "--json").document
    assert told["outputs"]["c"] == {"n": 3, "s": "a=b"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--var", "n=abc"], "n"),
        (["--var", "n=1", "--var", "ghost=1"], "ghost"),
        (["--var", "noequals"], "noequals"),
        (["--vars-file", "missing.json"], "missing.json"),
        (["--var", "n=1", "--preset", "nope"], "nope"),
        (["--var", "n=1", "--run-id", "../evil"], "evil"),
        (["--var", "n=1", "--workspace", "nowhere"], "nowhere"),
        (["--var", "n=1", "--timeout", "soon"], "soon"),
        (["--var", "n=1", "--max-cost-usd", "nan"], "nan"),
        (["--var", "n=1", "--max-cost-usd", "inf"], "inf"),
        ([], "n"),
    ],
)
def test_what_cannot_be_taken_stops_the_run_before_it_exists(folder: Path, arguments: list[str], named: str) -> None:
    """R025, R440: exit 2, no run, the thing named."""
    refused = verb(folder, "run", "vars.bot", *arguments, "--json")
    assert refused.code == 2
    error = refused.document["error"]
    assert named in error["message"] + error["hint"]
    assert verb(folder, "inspect", "--json").document == {"runs": []}


def test_a_question_is_answered_by_flags_or_a_file(folder: Path) -> None:
    """R001, R124, R125."""
    asked = verb(folder, "run", "asks.bot", "--run-id", "r1")
    assert asked.code == 4
    assert "--answer" in asked.out
    assert verb(folder, "resume", "--run-id", "r1", "--no-interactive").code == 2
    (folder / "a.json").write_text('{"ok": true, "colour": "red"}')
    done = verb(folder, "resume", "--run-id", "r1", "--answers-file", "a.json", "--answer", "colour=blue", "--json")
    assert done.document["outputs"]["gate"] == {"ok": True, "colour": "blue"}


def test_cancel_pause_and_delete_by_status(folder: Path) -> None:
    """R033, R034."""
    verb(folder, "run", "asks.bot", "--run-id", "r1")
    assert verb(folder, "pause", "--run-id", "r1").code == 5
    assert verb(folder, "delete", "--run-id", "r1").code == 5
    assert verb(folder, "cancel", "--run-id", "r1", "--reason", "enough", "--json").document["status"] == "cancelled"
    assert verb(folder, "cancel", "--run-id", "r1").code == 5
    assert verb(folder, "delete", "--run-id", "r1").code == 0
    assert verb(folder, "inspect", "--run-id", "r1", "--json").document["error"]["code"] == "deleted"
    assert verb(folder, "run", "asks.bot", "--run-id", "r1").code == 5


def test_a_paused_run_holds_no_thread(folder: Path) -> None:
    """Ground rule 9: at a pause the attempt is over."""
    verb(folder, "run", "asks.bot", "--run-id", "r1")
    waiting = threading.Event()
    for _ in range(100):
        if not [each for each in threading.enumerate() if each.name == "run-rows"]:
            break
        waiting.wait(0.02)
    assert not [each for each in threading.enumerate() if each.name == "run-rows"]


@pytest.mark.slow
def test_a_terminal_asks_its_questions_and_goes_on(folder: Path) -> None:
    """7.1: types and enums are checked before anything is sent."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "dispatcher.cli", "run", str(folder / "asks.bot"), "--run-id", "r1"]
    environment = {"PATH": PATH, "PYTHONPATH": str(ROOT), "TERM": "dumb", "HOME": str(folder)}
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=environment)
    os.close(follower)
    seen = ""
    for prompt, reply in [("ok (bool)", "maybe"), ("wants one of", "yes"), ("colour (red | blue)", "red")]:
        while prompt not in seen:
            ready, _, _ = select.select([leader], [], [], 60)
            assert ready, seen
            seen += os.read(leader, 4096).decode()
        seen = seen.split(prompt, 1)[1]
        os.write(leader, f"{reply}\n".encode())
    assert process.wait(60) == 0
    os.close(leader)
    assert verb(folder, "inspect", "--run-id", "r1", "--json").document["outputs"]["gate"] == {
        "ok": True,
        "colour": "red",
    }


SLOW = """
tool a:
  command: `test -e ok || { trap 'touch termed' TERM; touch up; while :; do sleep 60 & wait; done; }`
workflow w:
  entry: a
  a -> done
"""


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A run in a process of its own whose node is under way."""
    (folder / "slow.bot").write_text(SLOW)
    command = [sys.executable, "-m", "dispatcher.cli", "run", "slow.bot", "--run-id", "r1", "--json"]
    environment = {"PATH": PATH, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    waiting = threading.Event()
    while not (folder / "up").exists():
        assert process.poll() is None
        waiting.wait(0.02)
    return process


@pytest.mark.slow
def test_a_second_ctrl_c_kills_at_once_and_the_writes_are_made(folder: Path) -> None:
    """1.7, R209, R353: a node that ignores SIGTERM dies with the second; cancelled, exit 130, resumable."""
    process = started(folder)
    process.send_signal(signal.SIGINT)
    waiting = threading.Event()
    while not (folder / "termed").exists():
        assert process.poll() is None
        waiting.wait(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    stored = verb(folder, "inspect", "--run-id", "r1", "--json").document
    assert (stored["status"], stored["failure_code"]) == ("cancelled", "CANCELLED")
    assert stored["checkpoint"] == {"node_id": "a", "completed": False}
    (folder / "ok").touch()
    assert verb(folder, "resume", "--run-id", "r1").code == 0


@pytest.mark.slow
def test_sigterm_is_an_interruption(folder: Path) -> None:
    """1.7: exit 3, INTERRUPTED, at the node."""
    process = started(folder)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3
    stored = verb(folder, "inspect", "--run-id", "r1", "--json").document
    assert (stored["status"], stored["failure_code"]) == ("failed_resumable", "INTERRUPTED")
