"""What a run's process refuses reaches the daemon as the engine would have raised it there."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import config
from dispatcher import isolated
from dispatcher.isolated import order_of, refusal_line, request_of
from engine import errors
from engine.api import ResumeRequest
from engine.detached import start
from engine.errors import EngineError, RunConflict, SourceChanged
from engine.run import BudgetAsk
from engine.store.locks import RunLock, held

KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, EngineError)]
ECHO = "import sys\nprint('ready', flush=True)\nprint(sys.stdin.readline().strip() or 'the end', flush=True)"


def test_packages_of_our_names_where_a_user_works_are_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with a folder ``config`` is an ordinary one, on PYTHONPATH as well as where the daemon was started."""
    for name in ("config", "engine", "connectors"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not ours')\n")
    monkeypatch.chdir(tmp_path)
    say = "import dispatcher, config, engine, connectors; print(config.__file__, flush=True)"
    process = start([sys.executable, "-c", say], {"PYTHONPATH": "."}, (), tmp_path / "log")
    assert process.hear() == config.__file__
    process.wait()
    assert "-P" in isolated.OURS_ALONE  # a module ``dispatcher`` there would be the first that is found


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_comes_back_as_itself(kind: type[EngineError]) -> None:
    told = isolated._refusal(refusal_line(kind("what", "do")))
    assert (type(told), told.message, told.hint) == (kind, "what", "do")


@pytest.mark.parametrize("said", ["", "nonsense", "[]", "{}", "null"])
def test_a_process_that_says_nothing_useful_is_a_failure_with_a_place_to_look(said: str) -> None:
    told = isolated._refusal(said)
    assert type(told) is EngineError
    assert "process.log" in told.hint


def test_refusals_have_codes_of_their_own() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)
    assert json.loads(refusal_line(SourceChanged()))["code"] != json.loads(refusal_line(RunConflict()))["code"]


def test_a_lock_that_was_let_go_is_held_by_the_process_alone_until_it_ends(tmp_path: Path) -> None:
    """Nobody can have it in between, and nobody keeps it behind the process."""
    lock = RunLock(tmp_path, "r1")
    assert lock.acquire()
    process = start([sys.executable, "-c", ECHO], {}, [lock.fileno()], tmp_path / "runs" / "r1" / "process.log")
    lock.let_go()
    assert process.hear() == "ready"
    assert held(tmp_path, "r1")
    process.tell("go")
    assert process.hear() == "go"
    assert process.wait() == 0
    assert not held(tmp_path, "r1")


def test_the_process_hears_the_end_of_a_daemon_and_goes_on(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", ECHO], {}, (), tmp_path / "log")
    assert process.hear() == "ready"
    process.hang_up()
    assert (process.hear(), process.wait()) == ("the end", 0)
    process.tell("nobody listens")


def test_a_resume_arrives_at_the_process_as_it_was_asked_for() -> None:
    """Answers, caps, force, another source and the outcome that was decided about, through JSON."""
    asked = ResumeRequest(
        "r1",
        file=Path("/b/work.bot"),
        texts={"note": "@/f"},
        answers={"ok": True, "n": 1.5, "list": ["a"]},
        force=True,
        ask=BudgetAsk(2.5, 1000, 60.0, 3, 2),
        attended=False,
        only=12,
    )
    order = json.loads(json.dumps({**order_of(asked), "run_id": "r1", "lock": 7}))
    told = request_of(order, asked.claimed)
    assert told == replace(asked, lock_fd=7)
    plain = json.loads(json.dumps({**order_of(ResumeRequest("r2")), "run_id": "r2", "lock": -1}))
    assert request_of(plain, asked.claimed) == ResumeRequest("r2")
