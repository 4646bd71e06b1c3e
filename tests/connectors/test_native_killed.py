"""Several processes write one board, and one is killed in the middle (D204, D199)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from connectors.native.board import NativeBoard
from engine.store.database import Database
from tests.kit.clock import FakeClock
from tests.kit.ids import CountingIds

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from connectors.base import Move
from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.native.board import NativeBoard
from engine.ports import RandomIds, SystemClock
from engine.store.database import Database

database = Database.open(sys.argv[1], synchronous="OFF")
board = NativeBoard("native", database, SystemClock(), RandomIds())
card = board.create(CardDraft("by a writer"), PERSON)
print("begun", flush=True)
for turn in range(int(sys.argv[2])):
    board.move(card.id, Move(("ready", "backlog")[turn % 2], PERSON))
"""


def writer(url: str, turns: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, url, str(turns)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_writer_killed_in_the_middle_leaves_a_whole_history(tmp_path: Path) -> None:
    """D204, F43."""
    url = f"sqlite:///{tmp_path / 'board.db'}"
    with Database.open(url) as database:
        writers = [writer(url, 150) for _ in range(3)]
        endless = writer(url, 1_000_000)
        assert endless.stdout is not None
        assert endless.stdout.readline() == "begun\n"
        endless.send_signal(signal.SIGKILL)
        assert [each.wait(100) for each in writers] == [0, 0, 0]
        endless.wait(10)
        for each in (*writers, endless):
            assert each.stdout is not None
            each.stdout.close()
        board = NativeBoard("native", database, FakeClock(), CountingIds())
        events = board.history()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(events) >= 3 * 151 + 1
        for card in board.list_cards(None).cards:
            moves = [event.data["to"] for event in board.history(card.id) if event.type == "card_moved"]
            assert card.column == (moves[-1] if moves else "inbox")
            assert int(card.version) == 1 + len(moves)
        with database.read() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
