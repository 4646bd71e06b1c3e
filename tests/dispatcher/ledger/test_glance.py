"""The narrow look of verbs that show cards: the same answers as the ledger's, and nothing heavy loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.native.board import NativeBoard
from dispatcher.ledger import Ledger
from dispatcher.ledger.columns import rename_column
from dispatcher.ledger.glance import Glance
from dispatcher.ledger.rows import one, put
from dispatcher.ledger.schema import CardLink, ClaimRow, IdleReasonRow, ParkRow, PendingMoveRow
from engine.store.database import Database
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.ids import CountingIds

AT = datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC)
KEY = {"board": "native", "card_id": "c1"}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def fill(database: Database) -> None:
    with database.write_alone() as connection:
        put(connection, CardLink, {**KEY, "number": 1, "last_run": "r1", "attempts": 2, "expected_column": "review"})
        owner = {"instance": "i", "host": "h", "boot": "b", "pid": 7, "start_ticks": 9}
        put(connection, ClaimRow, {**KEY, "state": "live", "epoch": 3, "run_id": "r1", "claimed_at": AT, **owner})
        texts = {"code": "no_slot", "text": "all used", "unblock": "a run ends", "facts": "{}"}
        put(connection, IdleReasonRow, {**KEY, **texts, "since": AT})


def test_the_glance_tells_what_the_ledger_tells(database: Database) -> None:
    fill(database)
    keys = [("native", "c1"), ("native", "c2"), ("other", "c1")]
    assert Glance(database).views(keys) == Ledger(database).views(keys)
    many = keys + [("native", f"n{each}") for each in range(1000)]
    assert Glance(database).views(many) == Ledger(database).views(many)
    assert Glance(database).claimed("native") == {"c1"}
    assert Glance(database).claimed("other") == frozenset()
    assert Glance(database).status_of(["r1", "r2"]) == {}


def test_a_renamed_column_is_renamed_wherever_the_ledger_says_it(database: Database) -> None:
    """D200, D201: parks and pending moves follow in the board's transaction."""
    fill(database)
    with database.write_alone() as connection:
        put(connection, ParkRow, {**KEY, "run_id": "r1", "reason": "x", "column": "review", "since": AT})
        pending = {"origin": "review", "to": "done", "why": "completed", "since": AT, "next_at": AT}
        put(connection, PendingMoveRow, {**KEY, **pending})
    board = NativeBoard("native", database, FakeClock(), CountingIds())
    board.create(CardDraft("one", column="review"), PERSON)
    board.rename_column("review", "look", PERSON, lambda *names: rename_column(names[0], "native", *names[1:]))
    with database.read_raw() as connection:
        links, parks, moves = (one(connection, table, **KEY) for table in (CardLink, ParkRow, PendingMoveRow))
    assert links is not None
    assert parks is not None
    assert moves is not None
    assert (links["expected_column"], parks["column"], moves["origin"], moves["to"]) == ("look", "look", "look", "done")


SHOWING = """
import sys
from pathlib import Path
from dispatcher.cli.output import Output
from dispatcher.cli.session import Session
from dispatcher.cli.shell import run

def ask(*arguments):
    assert run(arguments, Session({}, Output(), Path(sys.argv[1]))) == 0

ask("card", "list", "--unclaimed")
ask("card", "show", "1")
print(sorted({"sqlmodel", "structlog", "alembic", "rich", "engine.api", "fastapi", "apscheduler"} & set(sys.modules)))
"""


def test_showing_cards_loads_no_table_class_no_log_library_and_no_engine(tmp_path: Path) -> None:
    """performance: a list starts in 450 ms; decided by what it loads, which no busy machine changes."""
    (tmp_path / ".pointsman").mkdir()
    pointsman(tmp_path, "card", "create", "--title", "one")
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", SHOWING, str(tmp_path)]
    told = subprocess.run(command, cwd=root, check=True, timeout=60, capture_output=True, text=True).stdout
    assert told.splitlines()[-1] == "[]"
