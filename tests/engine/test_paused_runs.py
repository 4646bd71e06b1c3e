"""A stopped run costs nothing: a thousand that wait for a person hold no thread, file or memory (engine.md 0)."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api import LaunchRequest
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig

ASKS = 'schema answer:\n  ok: bool\n\nhuman ask:\n  instructions: "go?"\n  output: answer\n\n'
BOT = f"{ASKS}workflow work:\n  entry: ask\n  ask -> done\n"
WARM, ALL = 200, 1000
READERS = 16
"""Files of the connections that a store may keep open for its readers."""
SLACK = 4 * 1024 * 1024
"""Bytes by which the process may grow over 800 paused runs: what a cache of the database may still take."""


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def held() -> tuple[int, int]:
    """Threads and open files of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def hasty(tmp_path: Path, clock: FakeClock) -> Iterator[Rig]:
    """An engine over a store that does not wait for the disk."""
    (tmp_path / ".pointsman").mkdir()
    with Database.open(f"sqlite:///{tmp_path / '.pointsman' / 'pointsman.db'}", synchronous="OFF") as database:
        yield Rig(Store(database, clock, tmp_path / ".pointsman"), clock, tmp_path)


def test_a_thousand_paused_runs_hold_no_thread_no_file_and_no_memory(hasty: Rig) -> None:
    engine = hasty
    bot = engine.bot(BOT)

    def pause(first: int, last: int) -> None:
        for number in range(first, last):
            request = LaunchRequest(bot, engine.workspace, run_id=f"r{number}")
            assert engine.engine.launch(request).status == RunStatus.PAUSED_WAITING_HUMAN

    pause(0, WARM)
    ended = threading.Event()
    while any(thread.name == "run-rows" for thread in threading.enumerate()):
        ended.wait(0.05)  # it looks once more, then it ends by itself
    before, memory = held(), resident()
    pause(WARM, ALL)
    while any(thread.name == "run-rows" for thread in threading.enumerate()):
        ended.wait(0.05)
    (threads, files), (threads_before, files_before) = held(), before
    assert threads == threads_before
    assert files - files_before <= READERS, "pooled connections come and go; none belongs to a run"
    assert resident() - memory < SLACK
    assert engine.engine.executing() == ()
    assert len(engine.store.runs.list().records) == ALL
    assert not list(engine.store.root.glob("runs/*/.lock.*"))
