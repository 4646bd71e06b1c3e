"""What is particular to PostgreSQL: connecting, losing the connection, its errors, several writers, every room on it.

The verbs themselves are proved over both databases by the other files of this folder.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, inspect, text

from dispatcher.ledger import Ledger, schema
from dispatcher.ledger.rows import put
from engine.checkpoint import Head, OutputRow
from engine.errors import InvalidSetting, LockHeld, SchemaNewer, StoreBusy, StoreFull, StoreUnreachable
from engine.run import Owner
from engine.runtime.promote import PromotionKind
from engine.states import RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import Transition, Written
from engine.store.database import Database
from engine.store.leases import run_lease
from engine.store.owners import owner_here, start_ticks
from engine.store.schema import revisions
from engine.store.store import Store
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.postgres import Server, programs
from tests.kit.runs import RUNNING, ended, given_up, lapsed, launched, python, step

WORKFLOW = "tool a:\n  command: `echo hi; test ! -e broken`\nworkflow w:\n  entry: a\n  a -> done\n"


@pytest.fixture
def url(postgres: Server) -> str:
    """A database of its own with the newest schema."""
    return postgres.fresh()


@pytest.fixture
def shared(url: str, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A store over it."""
    with Database.open(url) as database:
        yield Store(database, clock, tmp_path / ".pointsman")


def test_processes_that_open_a_new_store_at_the_same_moment_all_succeed(postgres: Server) -> None:
    code = (
        "import sys\nfrom engine.store.database import Database\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "database = Database.open(sys.argv[1])\n"
        "with database.write() as connection: print(database.next_sequence(connection))"
    )
    address = postgres.empty()
    processes = [python(code, address) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    results = [process.communicate("go\n") for process in processes]
    assert sorted(output for output, _ in results) == ["1\n", "2\n", "3\n"], results


def test_the_schema_is_that_of_sqlite(url: str, tmp_path: Path) -> None:
    found = []
    for address in (url, f"sqlite:///{tmp_path}/pointsman.db"):
        with Database.open(address) as database, database.read() as connection:
            look = inspect(connection)
            names = sorted(look.get_table_names())
            columns = {name: [(c["name"], c["nullable"]) for c in look.get_columns(name)] for name in names}
            keys = {name: look.get_pk_constraint(name)["constrained_columns"] for name in names}
            found.append((columns, keys, sorted(index_names(connection))))
    assert found[0] == found[1]


def index_names(connection: Connection) -> set[str]:
    """From the catalogue: what SQLAlchemy reflects of SQLite leaves out indexes over expressions."""
    if connection.dialect.name == "sqlite":
        asked = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    else:
        asked = "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'"
    names = map(str, connection.exec_driver_sql(asked).scalars())
    return {name for name in names if not name.startswith("uq_") and not name.endswith(("_pkey", "_pkc"))}


def test_an_address_that_leads_nowhere_is_said_without_its_password(postgres: Server) -> None:
    for address in (
        f"postgresql+psycopg://me:secret@/absent?host={postgres.folder}",
        "postgresql+psycopg://me:secret@127.0.0.1:1/absent?connect_timeout=2",
        "postgresql+psycopg:///x?host=/absent&password=secret",
    ):
        with pytest.raises(StoreUnreachable) as refusal:
            Database.open(address)
        assert "secret" not in refusal.value.message + refusal.value.hint
    with pytest.raises(InvalidSetting):
        Database.open("postgresql+psycopg://:bad:port:x/")


def test_a_newer_schema_is_refused(url: str) -> None:
    with Database.open(url) as database, database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaNewer, match="9999"):
        Database.open(url)


def test_a_server_that_hangs_up_costs_one_write_and_one_read(shared: Store) -> None:
    launched(shared)
    writer = shared.boundary("r1", 1)
    hang_up = text(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with Database.open(shared.database.driver.name) as other, other.read() as connection:
        connection.execute(hang_up)
    with pytest.raises(StoreUnreachable):
        writer.commit(Head("a"), step("a"))
    assert writer.commit(Head("b"), step("b")).stored
    assert [each.row.node_id for each in shared.checkpoints.outputs("r1")] == ["b"]


def test_a_row_that_another_process_holds_is_waited_for_and_then_called_busy(url: str, shared: Store) -> None:
    launched(shared)
    with Database.open(url, busy_timeout=0.05) as impatient, shared.database.write() as connection:
        connection.execute(text("UPDATE run SET name = 'x'"))
        hurried = Store(impatient, FakeClock(), shared.root)
        with pytest.raises(StoreBusy):
            hurried.runs.transition("r1", Transition(RunStatus.FINISHED, RUNNING))
        with pytest.raises(StoreBusy), impatient.write():
            raise AssertionError("unreachable")
    assert hurried.runs is not None


def test_readers_cannot_write(shared: Store) -> None:
    with pytest.raises(StoreFull), shared.database.read() as connection:
        connection.execute(text("UPDATE store_counter SET value = 7"))


def test_texts_with_nul_and_wide_numbers_are_kept(shared: Store) -> None:
    launched(shared)
    output = OutputRow("a", {"text": "a\0b", "n": 2**60}, tokens=2**40)
    shared.boundary("r1", 1).commit(Head("a"), Written(outputs=(output,)))
    (kept,) = shared.checkpoints.outputs("r1")
    assert (kept.row.output, kept.row.tokens) == ({"text": "a\0b", "n": 2**60}, 2**40)
    ended(shared, "r1", RunStatus.FAILED, error="said\0nothing")
    assert shared.runs.get("r1").error == "said\ufffdnothing"


def test_writers_of_several_processes_lose_no_number_and_one_claim_wins(url: str, shared: Store) -> None:
    """R175 over a shared store: outcomes are numbered in the order in which they are seen."""
    for number in range(8):
        launched(shared, f"r{number}")
        given_up(shared, f"r{number}")
    claims: list[object] = []
    stores = [Store(Database.open(url), FakeClock(), shared.root) for _ in range(4)]

    def work(store: Store) -> None:
        for number in range(8):
            store.runs.transition(f"r{number}", Transition(RunStatus.FAILED_RESUMABLE, RUNNING))
            claims.append(store.runs.claim(f"r{number}", RESUMABLE_WITHOUT_ANSWERS, Owner(instance="x")))

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.database.close()
    numbers = [number for _, number in shared.runs.outcomes_after(0, 99)]
    assert len(set(numbers)) == len(numbers) == 8
    epochs = [record.epoch for record in shared.runs.list().records]
    assert sum(claim is not None for claim in claims) == sum(epochs) - 8
    for record in shared.runs.list().records:
        events = list(shared.timeline.events(record.id))
        assert [event.seq for event in events] == list(range(1, record.event_seq + 1))


def test_one_launch_of_an_id_wins(url: str, shared: Store) -> None:
    refused: list[str] = []
    stores = [Store(Database.open(url), FakeClock(), shared.root) for _ in range(4)]

    def work(store: Store) -> None:
        try:
            launched(store, "same")
        except Exception as error:  # noqa: BLE001
            refused.append(type(error).__name__)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.database.close()
    assert refused == ["RunConflict"] * 3


def test_a_boundary_is_one_transaction(url: str, shared: Store) -> None:
    launched(shared)
    writer = shared.boundary("r1", 1)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as watching:
        query = "SELECT xmin::text FROM {} WHERE run_id = 'r1' ORDER BY xmin::text::bigint DESC LIMIT 1"
        writer.commit(Head("a", completed=True), step("a"))
        written = {watching.execute(query.format(name)).fetchone() for name in ("node_output", "event", "checkpoint")}
    assert len(written) == 1


@pytest.mark.parametrize("elsewhere", [Owner("i", "another-host", "boot", 1, 1), Owner()])
def test_the_run_of_another_host_is_promoted_when_its_lease_has_ended(
    elsewhere: Owner, shared: Store, tmp_path: Path
) -> None:
    """D082, R11: a live lease is a live owner, wherever it is; one that ended is taken over."""
    rig = Rig(shared, FakeClock(), tmp_path, force_stale_after=0.0)
    launched(shared)
    ended(shared, "r1", RunStatus.FAILED_RESUMABLE)
    shared.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, elsewhere)
    assert rig.engine.promote("r1", 0.0).kind == PromotionKind.HELD
    with pytest.raises(LockHeld, match="its lease ends in"):
        rig.resume("r1", force_stale=True)
    assert shared.runs.get("r1").status == RunStatus.RUNNING
    lapsed(shared, run_lease("r1"))
    assert rig.engine.promote("r1", 0.0).kind == PromotionKind.PROMOTED
    assert shared.leases.look_at(run_lease("r1")) is None


def test_a_process_of_this_host_that_lives_keeps_its_run_behind_its_lease(shared: Store, tmp_path: Path) -> None:
    """A lease that ended is only a question (dispatcher.md 9): while the owner lives here, nothing is taken."""
    rig = Rig(shared, FakeClock(), tmp_path)
    launched(shared)
    ended(shared, "r1", RunStatus.FAILED_RESUMABLE)
    here, parent = owner_here(), os.getppid()
    shared.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, Owner("i", here.host, here.boot, parent, start_ticks(parent)))
    lapsed(shared, run_lease("r1"))
    assert rig.engine.promote("r1", 0.0).kind == PromotionKind.HELD


def test_the_run_of_a_dead_process_of_this_host_waits_for_its_lease_too(shared: Store, tmp_path: Path) -> None:
    rig = Rig(shared, FakeClock(), tmp_path)
    launched(shared)
    ended(shared, "r1", RunStatus.FAILED_RESUMABLE)
    here = owner_here()
    shared.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, Owner("i", here.host, here.boot, 2**22 + 1, 5))
    assert rig.engine.promote("r1", 0.0).kind == PromotionKind.HELD
    lapsed(shared, run_lease("r1"))
    assert rig.engine.promote("r1", 0.0).kind == PromotionKind.PROMOTED


def test_board_ledger_and_verbs_work_on_it(url: str, tmp_path: Path) -> None:
    def told(*arguments: str) -> object:
        answer = pointsman(tmp_path, "--store-url", url, *arguments, "--json")
        assert answer.code in (0, 3), (arguments, answer.err, answer.out)
        return answer.document

    (tmp_path / "main.bot").write_text(WORKFLOW)
    assert told("run", "main.bot", "--run-id", "one")["status"] == "finished"  # type: ignore[index]
    (tmp_path / "broken").touch()
    assert told("run", "main.bot", "--run-id", "two")["status"] != "finished"  # type: ignore[index]
    assert len(told("inspect")["runs"]) == 2  # type: ignore[index]
    for number in (1, 2, 3):
        told("card", "create", "--title", f"card {number}", "--label", "Bug" if number == 1 else "idea")
    listed = told("card", "list", "--label", "Bug")["cards"]  # type: ignore[index]
    assert [card["title"] for card in listed] == ["card 1"]
    told("card", "move", listed[0]["id"][:12], "--to", "review")
    told("card", "comment", "1", "hello")
    assert told("card", "show", "1")["column"] == "review"  # type: ignore[index]
    told("card", "history", "1")
    told("board", "export")
    told("dispatch", "--once", "--no-server")
    checked = told("db", "check")
    assert checked["ok"], checked  # type: ignore[index]
    assert told("db", "current")["revision"] == revisions()[-1]  # type: ignore[index]
    there = {"PATH": "/nowhere"}
    nowhere = pointsman(tmp_path, "--store-url", url, "db", "backup", "copy.db", environment=there)
    assert (nowhere.code, "pg_dump" in nowhere.err) == (2, True)
    doctor = pointsman(tmp_path, "--store-url", url, "doctor")
    assert "is sound" in doctor.out, doctor.out
    assert "board native is led by nobody now" in doctor.out


def test_a_backup_is_restored_into_an_empty_database_with_every_row(
    postgres: Server, url: str, shared: Store, tmp_path: Path
) -> None:
    """``db backup`` is the server's own dump: private, whole or not at all, and never over another file."""
    launched(shared)
    shared.boundary("r1", 1).commit(Head("a"), step("a"))
    path = {"PATH": f"{programs()}:/usr/bin:/bin"}
    answer = pointsman(tmp_path, "--store-url", url, "db", "backup", "copy.dump", "--json", environment=path)
    assert answer.code == 0, answer.err
    made = tmp_path / "copy.dump"
    assert (answer.document["bytes"], made.stat().st_mode & 0o777) == (made.stat().st_size, 0o600)
    assert [each.name for each in tmp_path.glob("copy.dump*")] == ["copy.dump"]
    again = pointsman(tmp_path, "--store-url", url, "db", "backup", "copy.dump", environment=path)
    assert (again.code, "exists" in again.err) == (5, True)
    empty = postgres.empty()
    subprocess.run(
        [programs() / "pg_restore", "--no-owner", "--dbname", empty.replace("+psycopg", ""), made], check=True
    )
    with Database.open(empty) as database:
        restored = Store(database, FakeClock(), tmp_path / "other")
        assert restored.runs.get("r1") == shared.runs.get("r1")
        assert len(list(restored.timeline.events("r1"))) == len(list(shared.timeline.events("r1")))
    gone = pointsman(tmp_path, "--store-url", url + "_gone", "db", "backup", "x.dump", environment=path)
    assert gone.code != 0
    assert not list(tmp_path.glob("x.dump*"))


def test_the_ledger_keeps_its_rows_there(shared: Store) -> None:
    ledger = Ledger(shared.database)
    values = {"board": "b", "card_id": "c", "run_id": "r1", "state": "live", "epoch": 1, "pid": 2**40}
    blank = {c.name: "" for c in schema.ClaimRow.columns} | {"start_ticks": 2**40, "claimed_at": FakeClock().now()}
    with ledger.write() as connection:
        put(connection, schema.ClaimRow, {**blank, **values})
        put(connection, schema.ClaimRow, {**blank, **values, "epoch": 2})
    (claim,) = ledger.snapshot().claims.values()
    assert (claim.epoch, claim.owner.pid) == (2, 2**40)
    assert ledger.needed_runs() == {"r1": "a card holds it"}
