"""The exclusive insert, the claim, the one setter, stop requests, deletion, and reading with care."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from engine.checkpoint import Head, Interaction, OutputRow, PendingQuestion
from engine.errors import (
    InvalidId,
    RecordUnreadable,
    RunConflict,
    RunDeleted,
    RunUnknown,
    StoreUnreachable,
    WrongStatus,
)
from engine.events import EventType, NewEvent
from engine.failures import FailureCode
from engine.run import BudgetAsk, Owner, SourceFile
from engine.states import RESUMABLE_WITH_ANSWERS, RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import AnswersAccepted, ClaimChange, Launch, RunFilter, StopKind, Transition, Written
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.runs import OWNER, RUNNING, ended, launched, new_run, python, step

ME = Owner("instance-2", "host", "boot", 5, 6)


def types(store: Store, run_id: str) -> list[str]:
    return [event.type for event in store.timeline.events(run_id)]


def damage(store: Store, statement: str) -> None:
    with store.database.write() as connection:
        connection.execute(text(statement))


@pytest.mark.sqlite
def test_a_launch_is_one_commit_with_head_sources_and_first_event(store: Store) -> None:
    commits: list[str] = []
    with store.database.exclusive() as raw:
        raw.set_trace_callback(commits.append)
    launched(store, inputs={"n": 1, "f": 1.0}, ask=BudgetAsk(max_tokens=5))
    with store.database.exclusive() as raw:
        raw.set_trace_callback(None)
    assert commits.count("COMMIT") == 1
    record = store.runs.get("r1")
    assert (record.status, record.epoch, record.owner, record.ask.max_tokens) == (RunStatus.RUNNING, 1, OWNER, 5)
    assert store.checkpoints.head("r1") == Head("entry")
    assert store.sources.of("r1") == (SourceFile("hello.bot", "x"),)
    assert types(store, "r1") == ["run_started"]


def test_numbers_keep_their_kind(store: Store) -> None:
    launched(store, inputs={"n": 2, "f": 2.0})
    inputs = store.runs.get("r1").inputs
    assert [type(inputs[name]) for name in ("n", "f")] == [int, float]
    with pytest.raises(ValueError, match="not JSON compliant"):
        launched(store, "r2", inputs={"f": float("nan")})
    assert store.runs.status_of(["r2"]) == {}


def test_a_used_id_is_refused_and_changes_nothing(store: Store) -> None:
    launched(store)
    with pytest.raises(RunConflict, match="already exists"):
        launched(store, workflow="other")
    assert store.runs.get("r1").workflow == "hello"


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", "x" * 300, ".x", "-x", "a..b", "a b", "ä"])
def test_ids_that_could_leave_the_store_are_refused(store: Store, run_id: str) -> None:
    """R440"""
    with pytest.raises(InvalidId):
        launched(store, run_id)
    with pytest.raises(InvalidId):
        store.runs.get(run_id)


def test_two_resumes_of_one_run_have_one_winner(store: Store) -> None:
    """R175: cancelled run, two claimants."""
    launched(store)
    ended(store, "r1", RunStatus.CANCELLED, error="stop")
    claims = [store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, ME) for _ in range(2)]
    assert [claim.epoch for claim in claims if claim] == [2]
    record = store.runs.get("r1")
    assert (record.status, record.owner, record.error, record.failure_code) == (RunStatus.RUNNING, ME, "", "")
    assert types(store, "r1") == ["run_started", "run_cancelled", "run_resumed"]


def test_two_processes_that_claim_one_run_have_one_winner(store: Store, tmp_path: Path) -> None:
    """R175, with processes."""
    launched(store)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE, failure_code=FailureCode.TIMEOUT)
    code = (
        "import sys\nfrom pathlib import Path\nfrom engine.ports import SystemClock\nfrom engine.run import Owner\n"
        "from engine.states import RESUMABLE_WITHOUT_ANSWERS\nfrom engine.store.database import Database\n"
        "from engine.store.store import Store\n"
        "store = Store(Database.open(sys.argv[3]), SystemClock(), Path(sys.argv[1]))\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "claim = store.runs.claim('r1', RESUMABLE_WITHOUT_ANSWERS, Owner(instance=sys.argv[2]))\n"
        "print('lost' if claim is None else claim.epoch)\n"
    )
    processes = [python(code, str(tmp_path), str(number), store.database.driver.name) for number in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    answers = sorted(process.communicate("go\n")[0].strip() for process in processes)
    assert answers == ["2", "lost", "lost"]


def test_answers_their_output_and_the_head_are_one_commit_that_consumes_the_question(
    store: Store, clock: FakeClock
) -> None:
    """R137: a stop after the claim finds the answers recorded and no question to answer again."""
    launched(store)
    pending = PendingQuestion("r1_ask", "ask", "human", {"q": 1}, ({"name": "ok", "type": "bool"},))
    question = Interaction("r1_ask", "r1", "ask", "human", {"q": 1}, pending.fields, None, clock.now(), None, None)
    ended(store, "r1", RunStatus.PAUSED_WAITING_HUMAN, head=Head("ask", pending=pending), question=question)
    assert store.interactions.pending("r1") == (question,)
    assert store.checkpoints.head("r1") == Head("ask", pending=pending)

    clock.advance(60)
    rows = Written(outputs=(OutputRow("ask", {"ok": True}),), events=(NewEvent(EventType.HUMAN_ANSWERS_RECORDED),))
    accepted = AnswersAccepted("r1_ask", "ask", {"ok": True})
    change = ClaimChange(answers=accepted, head=Head("ask", completed=True), written=rows)
    claim = store.runs.claim("r1", RESUMABLE_WITH_ANSWERS, ME, change)
    assert claim is not None
    assert (claim.head, claim.pending, claim.came_from) == (
        Head("ask", completed=True),
        pending,
        RunStatus.PAUSED_WAITING_HUMAN,
    )
    assert store.checkpoints.head("r1") == Head("ask", completed=True)
    answered = store.interactions.get("r1", "ask", "r1_ask")
    assert answered == replace(question, answers={"ok": True}, answered_at=clock.now())
    assert store.interactions.pending("r1") == ()
    assert [stored.row.output for stored in store.checkpoints.outputs("r1")] == [{"ok": True}]
    assert types(store, "r1")[-2:] == ["human_answers_recorded", "run_resumed"]


def test_a_lost_question_is_made_again_from_the_head_when_it_is_answered(store: Store) -> None:
    launched(store)
    pending = PendingQuestion("r1_ask", "ask", "human", {"q": "why"})
    ended(store, "r1", RunStatus.PAUSED_WAITING_HUMAN, head=Head("ask", pending=pending))
    assert store.interactions.all("r1") == ()
    change = ClaimChange(answers=AnswersAccepted("r1_ask", "ask", {"a": 1}))
    assert store.runs.claim("r1", RESUMABLE_WITH_ANSWERS, ME, change)
    (made,) = store.interactions.all("r1")
    assert (made.questions, made.answers) == ({"q": "why"}, {"a": 1})


def test_a_status_that_cannot_carry_a_question_drops_it_and_keeps_the_rest_of_the_checkpoint(store: Store) -> None:
    launched(store)
    head = Head("ask", pending=PendingQuestion("i", "ask", "human", {}), loop_counters={"l": 2})
    ended(store, "r1", RunStatus.PAUSED_WAITING_HUMAN, head=head)
    change = Transition(RunStatus.CANCELLED, frozenset({RunStatus.PAUSED_WAITING_HUMAN}))
    assert store.runs.transition("r1", change)
    assert store.checkpoints.head("r1") == replace(head, pending=None)


def test_a_claim_takes_changed_sources_digest_and_ask_along(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE)
    sources = (SourceFile("new.bot", "y"), SourceFile("prompts/a.md", "z"))
    change = ClaimChange(digest="d2", sources=sources, file_path="new.bot", ask=BudgetAsk(max_cost_usd=9.0))
    claim = store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, ME, change)
    assert claim is not None
    assert (claim.record.digest, claim.record.file_path, claim.record.ask.max_cost_usd) == ("d2", "new.bot", 9.0)
    assert store.sources.of("r1") == sources


def test_a_run_without_checkpoint_is_claimed_with_no_head(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE)
    damage(store, "DELETE FROM checkpoint")
    claim = store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, ME)
    assert claim is not None
    assert claim.head is None


def test_a_change_from_another_status_or_epoch_changes_nothing(store: Store) -> None:
    """R406 in part: a write under an old epoch changes no row."""
    launched(store)
    before = store.runs.get("r1")
    stale = Transition(RunStatus.FINISHED, RUNNING, epoch=7)
    elsewhere = Transition(RunStatus.CANCELLED, frozenset({RunStatus.PAUSED_OPERATOR}))
    assert not store.runs.transition("r1", stale)
    assert not store.runs.transition("r1", elsewhere)
    assert store.runs.get("r1") == before
    with pytest.raises(ValueError, match="nothing"):
        store.runs.transition("r1", Transition(RunStatus.FINISHED, frozenset()))


def test_a_failure_that_arrives_after_a_cancel_leaves_it_cancelled(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.CANCELLED, error="a person said so")
    assert not store.runs.transition("r1", Transition(RunStatus.FAILED_RESUMABLE, RUNNING, epoch=1))
    assert store.runs.get("r1").status == RunStatus.CANCELLED


def test_outcomes_and_pauses_take_numbers_of_the_whole_store(store: Store) -> None:
    for run_id in ("a", "b", "c"):
        launched(store, run_id)
    ended(store, "b", RunStatus.FINISHED)
    with store.database.write() as connection:
        assert store.database.next_sequence(connection) == 2
    ended(store, "a", RunStatus.PAUSED_OPERATOR)
    assert store.runs.outcomes_after(0, 9) == (("b", 1), ("a", 3))
    assert store.runs.outcomes_after(0, 1) == (("b", 1),)
    assert store.runs.outcomes_after(1, 9) == (("a", 3),)
    assert store.runs.outcomes_after(3, 9) == ()


def test_a_stop_request_reaches_a_running_run_and_the_stronger_one_wins(store: Store) -> None:
    launched(store)
    assert store.runs.request_stop("r1", StopKind.PAUSE, "wait")
    assert store.runs.request_stop("r1", StopKind.CANCEL, "enough")
    assert not store.runs.request_stop("r1", StopKind.PAUSE, "wait")
    stop = store.runs.stop_request("r1")
    assert (stop.status, stop.request, stop.reason, stop.epoch) == (RunStatus.RUNNING, "cancel", "enough", 1)
    ended(store, "r1", RunStatus.PAUSED_OPERATOR)
    assert store.runs.stop_request("r1").request == ""
    assert not store.runs.request_stop("r1", StopKind.PAUSE)


def test_a_retry_is_declared_skipped_once_per_stop(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE)
    event = NewEvent(EventType.RUN_RETRY_SKIPPED, data={"reason": "deterministic"})
    assert [store.runs.retry_skipped_once("r1", 1, event) for _ in range(3)] == [True, False, False]
    assert store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, ME)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE)
    assert not store.runs.retry_skipped_once("r1", 1, event)
    assert store.runs.retry_skipped_once("r1", 2, event)
    assert types(store, "r1").count("run_retry_skipped") == 2


def test_event_numbers_have_no_gap_and_no_repeat_and_follow_no_clock(store: Store, clock: FakeClock) -> None:
    """R478 in part: the clock steps back and the order of events stays."""
    launched(store)
    clock.step(-3600)
    assert store.runs.note("r1", NewEvent(EventType.BUDGET_WARNING, "n", data={"used": 1}))
    ended(store, "r1", RunStatus.FINISHED)
    events = list(store.timeline.events("r1"))
    assert [(event.seq, event.type) for event in events] == [
        (1, "run_started"),
        (2, "budget_warning"),
        (3, "run_finished"),
    ]
    assert [event.seq for event in store.timeline.events("r1", since=1, limit=1)] == [2]


@pytest.mark.sqlite
def test_a_lost_note_is_logged_and_harms_nothing(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """R380"""
    launched(store)
    with store.database.exclusive() as raw:
        raw.execute(f"PRAGMA max_page_count={raw.execute('PRAGMA page_count').fetchone()[0]}")
    assert not store.runs.note("r1", NewEvent(EventType.BUDGET_WARNING, data={"text": "x" * 100_000}))
    assert "run.event_lost" in caplog.text
    with store.database.exclusive() as raw:
        raw.execute("PRAGMA max_page_count=1000000")
    assert store.runs.note("r1", NewEvent(EventType.BUDGET_WARNING))
    assert [event.seq for event in store.timeline.events("r1")] == [1, 2]


def test_a_deleted_run_is_deleted_for_ever_and_never_unknown(store: Store) -> None:
    launched(store)
    with pytest.raises(WrongStatus, match="running"):
        store.runs.delete("r1")
    store.boundary("r1", 1).commit(Head("a", completed=True), replace(step("a"), spend=(("r1", 2.5),)))
    ended(store, "r1", RunStatus.FINISHED)
    folder = store.root / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / "run.log").write_text("x")
    store.runs.delete("r1")
    for verb in (store.runs.get, store.runs.stop_request, store.runs.delete):
        with pytest.raises(RunDeleted):
            verb("r1")
    with pytest.raises(RunDeleted):
        launched(store)
    with pytest.raises(RunUnknown):
        store.runs.get("r2")
    assert store.runs.deleted_among(["r1", "r2"]) == {"r1"}
    assert not folder.exists()
    assert (list(store.timeline.events("r1")), store.checkpoints.outputs("r1")) == ([], ())
    assert store.spend.on(store.runs._clock.now().date()) == 2.5


def test_one_damaged_run_is_named_and_the_others_are_listed(store: Store) -> None:
    """R477"""
    for run_id in ("good", "bad", "older"):
        launched(store, run_id)
    damage(store, "UPDATE run SET inputs = '{broken' WHERE id = 'bad'")
    with pytest.raises(RecordUnreadable, match="table run, id bad: column inputs"):
        store.runs.get("bad")
    for listing in (store.runs.list(), store.runs.running(), store.runs.get_many(["good", "bad", "older", "no"])):
        assert {record.id for record in listing.records} == {"good", "older"}
        assert [run.id for run in listing.unreadable] == ["bad"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("created_at", "'soon'"),
        ("ask", "'[1]'"),
        ("owner", "'{\"x\": 1}'"),
        pytest.param("epoch", "'one'", marks=pytest.mark.sqlite),
        ("inputs", "'NaN'"),
    ],
)
def test_whatever_is_damaged_the_column_is_named(store: Store, column: str, value: str) -> None:
    launched(store)
    damage(store, f"UPDATE run SET {column} = {value}")
    with pytest.raises(RecordUnreadable, match=f"column {column} "):
        store.runs.get("r1")


def test_reading_heals_what_an_older_writer_left(store: Store) -> None:
    launched(store, name="")
    damage(store, "UPDATE run SET finished_at = created_at, failure_code = 'TIMEOUT', outcome_seq = 2.0")
    record = store.runs.get("r1")
    assert (record.name, record.finished_at, record.failure_code) == ("hello-r1", None, "")
    assert (record.outcome_seq, type(record.outcome_seq)) == (2, int)


def test_a_status_of_a_newer_build_is_shown_and_claimed_by_nobody(store: Store) -> None:
    launched(store)
    damage(store, "UPDATE run SET status = 'meditating'")
    assert store.runs.get("r1").status == "meditating"
    assert store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, ME) is None


def test_runs_are_listed_newest_first_and_by_filter(store: Store, clock: FakeClock) -> None:
    for number, workflow in enumerate(["x", "y", "x"]):
        clock.advance(1)
        launched(store, f"r{number}", workflow=workflow)
    ended(store, "r2", RunStatus.FINISHED)
    listed = [
        [record.id for record in store.runs.list(wanted).records]
        for wanted in (RunFilter(), RunFilter(workflow="x"), RunFilter(statuses=("finished",)), RunFilter(limit=2))
    ]
    assert listed == [["r2", "r1", "r0"], ["r2", "r0"], ["r2"], ["r2", "r1"]]
    assert store.runs.status_of(["r0", "r2", "absent"]) == {"r0": "running", "r2": "finished"}


@pytest.mark.sqlite
def test_what_runs_is_found_by_the_index_of_open_runs(store: Store) -> None:
    from engine.store.run_reads import _RUNNING

    with store.database.read_raw() as cursor:
        plan = cursor.execute(f"EXPLAIN QUERY PLAN {_RUNNING.sql}").fetchone()
    assert "ix_run_open" in plan[-1], plan


@pytest.mark.sqlite
def test_a_store_that_is_gone_proves_nothing_about_a_run(store: Store) -> None:
    launched(store)
    store.database._read_engine.dispose()
    path = store.root / "pointsman.db"
    path.rename(path.with_name("moved.db"))
    path.mkdir()
    with pytest.raises(StoreUnreachable):
        store.runs.get("r1")


def test_sources_above_a_mebibyte_are_kept_as_their_main_file_alone(store: Store) -> None:
    parts = (SourceFile("main.bot", "m"), SourceFile("prompts/big.md", "x" * 1024 * 1024))
    store.runs.insert_claimed(new_run("r1"), Launch(OWNER, Head("entry"), parts))
    assert store.sources.of("r1") == (SourceFile("main.bot", "m", main_only=True),)


def test_a_text_is_kept_once_for_all_runs_that_name_it(store: Store) -> None:
    """language.md 15: what runs record of their programs does not grow with their number."""

    def texts() -> list[str]:
        with store.database.read() as connection:
            return list(connection.execute(text("SELECT source FROM source_text ORDER BY source")).scalars())

    shared, own = SourceFile("lib/shared.bot", "shared"), SourceFile("main.bot", "own")
    for run_id, parts in (("r1", (shared,)), ("r2", (own, shared))):
        store.runs.insert_claimed(new_run(run_id), Launch(OWNER, Head("entry"), parts))
        store.runs.transition(run_id, Transition(RunStatus.FINISHED, frozenset({RunStatus.RUNNING})))
    assert texts() == ["own", "shared"]
    assert store.sources.of("r2") == (own, shared)
    store.runs.delete("r2")
    assert (texts(), store.sources.of("r1")) == (["shared"], (shared,))
    store.runs.delete("r1")
    assert texts() == []


def test_budget_and_children_can_be_stored_and_only_on_a_run_that_exists(store: Store) -> None:
    launched(store)
    store.runs.set_ask("r1", BudgetAsk(max_duration=1.5))
    store.runs.set_children("r1", {"sub": "r1-child"})
    record = store.runs.get("r1")
    assert (record.ask, record.children) == (BudgetAsk(max_duration=1.5), {"sub": "r1-child"})
    with pytest.raises(RunUnknown):
        store.runs.set_ask("r2", BudgetAsk())
