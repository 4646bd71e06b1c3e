"""Public field cases of processes: workers that cannot be killed, kills during a recovery, a bot that meets its own
claim. Real processes and signals; the clock of the dispatcher in this process moves by hand."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from connectors.card import PERSON
from engine.events import Event, EventType
from engine.failures import FailureCode
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, HEAD, Yard, tool, waits

STUBBORN = (
    HEAD
    + "tool work:\n  command: `trap '' TERM; echo $$ >> FOLDER/pids; until [ -e FOLDER/go ]; do sleep 0.02; done`\n\n"
    + "workflow work:\n  entry: work\n  work -> done\n"
)

PATIENT = CONFIG.replace("max_attempts: 3", "max_attempts: 99")


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def until(holds: Callable[[], bool]) -> None:
    looking, end = threading.Event(), time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        looking.wait(0.01)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_f01_a_worker_that_cannot_be_killed_has_no_second(yard: Yard, clock: FakeClock) -> None:
    """F01: it ignores SIGTERM and says nothing; leases pass, a new daemon comes; one process, one slot, one run."""
    yard.bot(STUBBORN.replace("FOLDER", str(yard.folder)).replace("tool work:\n", 'tool work:\n  timeout: "9h"\n', 1))
    card = yard.make()
    yard.tick(wait=False)
    until(lambda: len(lines(yard.folder / "pids")) == 1)
    run = yard.view(card).last_run
    for _ in range(100):
        clock.advance(20)
        yard.tick(wait=False)
    assert (lines(yard.folder / "pids")[1:], len(yard.runs()), yard.run(card).epoch) == ([], 1, 1)
    assert lives(int(lines(yard.folder / "pids")[0]))
    (yard.folder / "go").touch()
    yard.join()
    yard.settled()
    assert (yard.view(card).last_run, yard.column(card), len(lines(yard.folder / "pids"))) == (run, "review", 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_f02_workers_are_stopped_before_their_cards_are_free_again(yard: Yard, clock: FakeClock) -> None:
    """F02: three silent workers with a grandchild each; retry rows appear only when nobody holds the folder."""
    child = "sleep 300 & echo $! >> FOLDER/pids; echo $$ >> FOLDER/pids; touch FOLDER/ready-{{vars.title}}; wait"
    yard.bot(tool(child.replace("FOLDER", str(yard.folder))))
    cards = [yard.make(f"c{n}") for n in range(3)]
    yard.tick(wait=False)
    until(lambda: all((yard.folder / f"ready-c{n}").exists() for n in range(3)))
    pids = [int(each) for each in lines(yard.folder / "pids")]
    clock.advance(700)
    yard.tick()
    assert not any(lives(pid) for pid in pids)
    yard.tick(pick=False)
    assert {yard.run(card).status for card in cards} == {RunStatus.FAILED_RESUMABLE}
    assert len(yard.ledger().retries) == 3


def test_f25_a_bot_that_looks_at_its_own_claim_finds_itself(yard: Yard) -> None:
    """F25: its first tool refuses a card that somebody else works on, and must not refuse its own."""
    look = f"{sys.executable} -m dispatcher.cli card show 1 --json --store-dir {yard.folder}/store"
    claim = "import json, os, sys; claim = json.load(sys.stdin)['claim']; "
    claim += "sys.exit(0 if claim['run_id'] == os.environ['POINTSMAN_RUN_ID'] and claim['epoch'] == 1 else 3)"
    root = Path(__file__).parents[3]
    yard.bot(tool(f'cd {root} && {look} | {sys.executable} -c \\"{claim}\\"'.replace('\\"', '"')))
    card = yard.make()
    yard.settled()
    assert (yard.column(card), yard.run(card).error) == ("review", "")


def test_f32_renaming_a_column_loses_no_card(yard: Yard) -> None:
    """F32: one card runs, one is parked, one waits, while their columns get other names."""
    yard.bot(ASKS, "asks")
    yard.bot(waits(yard.folder))
    parked = yard.make(bot="asks")
    yard.settled()
    running = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    waiting = yard.make(column="ready", bot="nobody")
    yard.board.rename_column("ready", "todo", PERSON)
    yard.board.rename_column("awaiting_input", "asked", PERSON)
    yard.tick(3, wait=False)
    assert (yard.column(parked), yard.column(waiting)) == ("asked", "todo")
    (yard.folder / "go").touch()
    yard.join()
    yard.settled()
    assert (yard.column(running), len(yard.runs())) == ("review", 2)
    yard.move(parked, "todo")
    yard.tick(2)
    assert len(yard.runs()) == 2


def orphans(yard: Yard, number: int) -> list[str]:
    """So many cards whose runs look as a killed daemon left them."""
    yard.bot(tool(f"[ -e {yard.folder}/ok ]"))
    cards = [yard.make(f"o{n}") for n in range(number)]
    yard.tick(2)
    ids = ", ".join(f"'{yard.view(card).last_run}'" for card in cards)
    owner = "json_set(owner, '$.pid', 999999, '$.instance', 'gone')"
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(
            f"UPDATE run SET status = 'running', failure_code = '', owner = {owner} WHERE id IN ({ids})"
        )
    return cards


def test_f47_a_recovery_that_is_killed_again_and_again_promotes_each_orphan_once(
    tmp_path: Path, clock: FakeClock
) -> None:
    """F47: SIGKILL at a random moment of the first tick, fifty times, with five orphans."""
    yard = Yard(tmp_path, clock, PATIENT)
    cards = orphans(yard, 5)
    clock.advance(60)
    yard.close()
    chance = Random(11)
    for _ in range(50):
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                first_tick(tmp_path, clock, lambda: os.write(tells, b"x"))  # noqa: B023 - called at once
            finally:
                os._exit(0)
        os.read(told, 1)
        threading.Event().wait(chance.random() * 0.04)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(told)
        os.close(tells)
    with sqlite3.connect(tmp_path / "store" / "pointsman.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    yard = Yard(tmp_path, clock, PATIENT)
    yard.tick(pick=False)
    assert {yard.run(card).failure_code for card in cards} == {FailureCode.PROCESS_ORPHANED}
    assert [len(promotions(yard, card)) for card in cards] == [1] * 5
    assert len(yard.ledger().retries) == 5
    (tmp_path / "ok").touch()
    clock.advance(4000)
    yard.settled(2)  # four slots: the fifth card may have its turn in the second round
    assert {yard.column(card) for card in cards} == {"review"}
    assert len(yard.runs()) == 5
    yard.close()


def promotions(yard: Yard, card: str) -> list[Event]:
    return [event for event in yard.events(card, EventType.RUN_FAILED) if event.data.get("code") == "PROCESS_ORPHANED"]


def first_tick(folder: Path, clock: FakeClock, ready: Callable[[], object]) -> None:
    """What a new daemon does first."""
    yard = Yard(folder, clock, PATIENT)
    ready()
    yard.tick(pick=False)
