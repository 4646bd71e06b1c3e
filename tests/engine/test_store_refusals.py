"""When the store misbehaves while a run works: refused boundaries, refused failures, a lost owner (engine.md 2.3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from engine.errors import StoreFull
from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, scripted

CHAIN = """
compute a:
  expr:
    n: "1"
compute b:
  expr:
    n: "2"
compute c:
  expr:
    n: "3"
workflow w:
  entry: a
  a -> b
  b -> c
  c -> done
"""


class FullDatabase(Database):
    """A database whose disk is full for some of its write transactions, counted from 1."""

    refuse: Callable[[int], bool] = staticmethod(lambda _: False)
    count = 0

    @contextmanager
    def write_raw(self) -> Iterator[sqlite3.Cursor]:
        """As the real one; the commit of a refused transaction fails and leaves nothing."""
        with super().write_raw() as cursor:
            yield cursor
            self.count += 1
            if self.refuse(self.count):
                raise StoreFull("the disk is full", "free some space")


@pytest.fixture
def full(tmp_path: Path, clock: FakeClock) -> Iterator[tuple[Rig, FullDatabase]]:
    database = FullDatabase.open(f"sqlite:///{tmp_path / 'p.db'}")
    assert isinstance(database, FullDatabase)
    with database:
        yield Rig(Store(database, clock, tmp_path), clock, tmp_path), database


def test_a_boundary_refused_once_rides_with_the_next(full: tuple[Rig, FullDatabase]) -> None:
    """R172: logged, the run goes on one node, the next commit carries all rows still owed."""
    rig, database = full
    database.refuse = lambda count: count == 2
    assert rig.run(CHAIN).status == RunStatus.FINISHED
    assert set(rig.outputs()) == {"a", "b", "c"}
    assert [event.seq for event in rig.events()] == list(range(1, len(rig.events()) + 1))
    assert "rides with the next" in (rig.store.root / "runs" / "r1" / "run.log").read_text().replace(
        "rows ride", "rides"
    )


def test_a_disk_that_stays_full_stops_the_run_with_a_clear_error(full: tuple[Rig, FullDatabase]) -> None:
    """R476: refused twice in a row; nothing that was stored is lost; space makes it go on from the last good head."""
    rig, database = full
    database.refuse = lambda count: count >= 3
    with pytest.raises(StoreFull, match="full"):
        rig.run(CHAIN)
    database.refuse = lambda _: False
    assert rig.store.runs.get("r1").status == RunStatus.RUNNING
    assert rig.head().node_id == "a"
    assert rig.engine.promote("r1", 0).code == FailureCode.PROCESS_ORPHANED
    assert rig.resume().status == RunStatus.FINISHED
    assert len([event for event in rig.events("node_finished") if event.node_id == "a"]) == 1


def test_the_last_commit_is_tried_for_five_seconds(full: tuple[Rig, FullDatabase], clock: FakeClock) -> None:
    """1.7: final writes have a bound of their own."""
    rig, database = full
    began = clock.monotonic()
    database.refuse = lambda count: count >= 4 and clock.monotonic() < began + 3
    assert rig.run(CHAIN).status == RunStatus.FINISHED
    assert 3 <= clock.monotonic() - began < 5


def test_a_cancel_that_the_store_refuses_is_logged_and_rebuilt_from_nothing(
    full: tuple[Rig, FullDatabase], caplog: pytest.LogCaptureFixture
) -> None:
    """R354: the stored head stands, whatever the timeline or the dead attempt knew; the run goes on from there."""
    rig, database = full

    def stop(_: object) -> None:
        database.refuse = lambda _: True
        rigs[0].engine.cancel_all("Ctrl-C")

    rigs = [rig.other(**scripted(Script(Completed({"n": 1}), then=stop)))]
    with pytest.raises(StoreFull, match="full"):
        rigs[0].run(CHAIN)
    database.refuse = lambda _: False
    assert "the last commit was refused" in caplog.text
    assert rig.store.runs.get("r1").status == RunStatus.RUNNING
    assert (rig.head().node_id, rig.outputs(), rig.events("run_cancelled")) == ("a", {}, [])
    assert rig.engine.promote("r1", 0).code == FailureCode.PROCESS_ORPHANED
    assert rig.resume().status == RunStatus.FINISHED


def test_a_failure_whose_checkpoint_is_refused_still_fails(full: tuple[Rig, FullDatabase]) -> None:
    """R026: failed, and the loss is in the error and in the log."""
    rig, database = full
    database.refuse = lambda count: 2 <= count <= 27
    record = rig.other(**scripted(Script(Failed(FailureCode.EXECUTION_FAILED, "broken")))).run(CHAIN)
    assert record.status == RunStatus.FAILED
    assert "could not be stored" in record.error


def test_a_lost_owner_writes_nothing_more(engine: Rig) -> None:
    """R306, 1.3: somebody else claimed; the late writes change nothing."""

    def steal(_: object) -> None:
        with engine.store.database.write() as connection:
            connection.execute(sql("UPDATE run SET epoch = epoch + 1"))

    rig = engine.other(**scripted(Script(Completed({"n": 1}), then=steal)))
    before = rig.run(CHAIN)
    assert before.status == RunStatus.RUNNING
    assert rig.outputs() == {}
    assert rig.head().node_id == "a"


def test_a_log_that_takes_no_line_harms_no_run(engine: Rig) -> None:
    folder = engine.store.root / "runs" / "r1"
    (folder / "run.log").mkdir(parents=True)
    assert engine.run("tool a:\n  command: `echo x >&2`\nworkflow w:\n  entry: a\n  a -> done\n").status == "finished"
