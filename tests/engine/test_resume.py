"""Resuming: where it starts again, what it keeps, what refuses it (engine.md 3.5 to 3.7, 7)."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest
from sqlalchemy import text as sql

from engine.api import LaunchRequest
from engine.dsl.graph import NodeKind
from engine.errors import (
    AlreadyRunning,
    EngineError,
    InvalidAnswers,
    LockHeld,
    RecordUnreadable,
    RunDeleted,
    RunUnknown,
    SourceChanged,
    SourceMissing,
    TooRecent,
    WorktreeBroken,
    WrongStatus,
)
from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.run import RunRecord
from engine.states import RunStatus
from engine.store.changes import ClaimChange, StopKind
from engine.store.locks import RunLock
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, scripted
from tests.kit.runs import OWNER

CHAIN = """
tool a:
  command: `echo a >> trace; echo '{"v": 7}'`
tool b:
  command: `echo b >> trace; test -e ok`
tool c:
  command: `echo c {{outputs.a.v}} {{input.x}} >> trace`
workflow w:
  entry: a
  a -> b
  b -> c with { x: "{{outputs.a.v}}" }
  c -> done
"""

COUNTED = """
compute n:
  expr:
    v: "loop.l.iteration * 10"
    p: "loop.l.previous_output.v"
tool work:
  command: `echo {{loop.l.iteration}} >> trace; [ {{loop.l.iteration}} -ne 2 ] || test -e ok`
workflow w:
  entry: n
  n -> work as l(3)
  n -> done
  work -> n
"""


TWO = """
compute a:
  expr:
    n: "1"
compute b:
  expr:
    n: "1"
workflow w:
  entry: a
  a -> b
  b -> done
"""

A_THEN_B = """
compute a:
  expr:
    x: "1"
tool b:
  command: `echo b >> trace`
workflow w:
  entry: a
  a -> b
  b -> done
"""


def failed_at_b(engine: Rig) -> Rig:
    record = engine.run(CHAIN)
    assert (record.status, engine.head().node_id) == (RunStatus.FAILED_RESUMABLE, "b")
    return engine


def test_only_the_failed_node_runs_again(engine: Rig) -> None:
    """R004, R028, R160: same id, anchor node again, error and code gone."""
    rig = failed_at_b(engine)
    rig.write("ok")
    record = rig.resume()
    assert (record.status, record.failure_code, record.error) == (RunStatus.FINISHED, "", "")
    assert rig.trace() == ["a", "b", "b", "c 7 7"]
    assert rig.events("run_resumed")[0].data == {"resumed_from": "failed", "restart_node": "b"}


def test_a_first_node_that_failed_starts_from_the_entry(engine: Rig) -> None:
    """R173: resumable before, from_entry after."""
    engine.run("tool a:\n  command: `test -e ok`\nworkflow w:\n  entry: a\n  a -> done\n")
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.events("run_resumed")[0].data["from_entry"] is True


def test_a_run_goes_on_without_its_events(engine: Rig) -> None:
    """R022: the checkpoint is the authority."""
    rig = failed_at_b(engine)
    with rig.store.database.write() as connection:
        connection.execute(sql("DELETE FROM event"))
    rig.write("ok")
    assert rig.resume().status == RunStatus.FINISHED
    assert rig.trace() == ["a", "b", "b", "c 7 7"]


def test_a_lost_checkpoint_starts_at_the_entry(engine: Rig) -> None:
    """3.7: same id, from_entry; of a paused run it is an error."""
    rig = failed_at_b(engine)
    with rig.store.database.write() as connection:
        connection.execute(sql("DELETE FROM checkpoint"))
        connection.execute(sql("DELETE FROM node_output"))
    rig.write("ok")
    assert rig.resume().status == RunStatus.FINISHED
    assert rig.trace() == ["a", "b", "a", "b", "c 7 7"]
    assert rig.events("run_resumed")[0].data["from_entry"] is True


def test_a_question_without_a_checkpoint_is_not_guessed(engine: Rig) -> None:
    """R023: nothing is rebuilt from events."""
    engine.run('human gate:\n  description: "x"\nworkflow w:\n  entry: gate\n  gate -> done\n')
    with engine.store.database.write() as connection:
        connection.execute(sql("DELETE FROM checkpoint"))
    with pytest.raises(RecordUnreadable, match="checkpoint is lost"):
        engine.resume(answers={"a": 1})


def test_loop_counters_and_copies_survive_a_stop(engine: Rig) -> None:
    """R163, R165."""
    engine.run(COUNTED)
    assert engine.head().loop_counters == {"l": 2}
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.trace() == ["1", "2", "2", "3"]
    assert engine.outputs()["n"] == {"v": 30, "p": 10}


def test_a_restored_state_shares_nothing_with_the_store(engine: Rig) -> None:
    """R176: the stored record does not change while the run works on its copy."""
    rig = failed_at_b(engine)
    before = rig.head()
    rig.resume()
    assert before.spent.iterations == 1
    assert rig.head().spent.iterations == before.spent.iterations


def test_consumed_budget_is_carried_over_and_the_pause_is_not_counted(engine: Rig, clock: FakeClock) -> None:
    """R170, R174: iterations go on; eight hours of waiting are no active time."""
    rig = failed_at_b(engine)
    clock.advance(8 * 3600)
    rig.write("ok")
    rig.resume()
    assert rig.head().spent.iterations == 3
    assert rig.head().spent.elapsed_ns < 60 * 1_000_000_000


def test_a_head_without_accounting_reads_as_zero(engine: Rig) -> None:
    """R171."""
    rig = failed_at_b(engine)
    with rig.store.database.write() as connection:
        connection.execute(sql("UPDATE checkpoint SET body = '{}'"))
    rig.write("ok")
    assert rig.resume().status == RunStatus.FINISHED
    assert rig.head().spent.iterations == 2


def test_a_merged_ask_stays_in_force(engine: Rig) -> None:
    """R179, R180, R181, R183: the same cap is the same wall, 0 inherits, a raise is kept."""
    ten = "\n".join(f'compute t{n}:\n  expr:\n    x: "1"' for n in range(12))
    edges = "\n".join(f"  t{n} -> t{n + 1}" for n in range(11))
    text = f"{ten}\nworkflow w:\n  budget:\n    max_iterations: 5\n  entry: t0\n{edges}\n  t11 -> done\n"
    rig = engine.other(exit_grace=0.0)
    assert rig.run(text).failure_code == FailureCode.BUDGET_EXCEEDED
    for ask in ({"max_iterations": 5}, {"max_iterations": 0}, {}):
        record = rig.resume(ask=ask)
        assert (record.failure_code, rig.head().node_id) == (FailureCode.BUDGET_EXCEEDED, "t5")
        assert "--max-iterations" in record.error
    assert rig.resume(ask={"max_iterations": 8}).failure_code == FailureCode.BUDGET_EXCEEDED
    assert rig.head().node_id == "t8"
    assert rig.store.runs.get("r1").ask.max_iterations == 8
    assert rig.resume(ask={"max_iterations": 50}).status == RunStatus.FINISHED


def test_a_budget_stop_is_put_straight_back(engine: Rig) -> None:
    """R180, 10.4: nothing starts; the message names axis, consumption and cap."""
    script = Script(Completed({"n": 1}, cost_usd=5.0))
    rig = engine.other(**scripted(script), exit_grace=0.0)
    text = TWO
    rig.run(text, ask={"max_cost_usd": 5.0})
    record = rig.resume(ask={"max_cost_usd": 5.0})
    assert (record.status, script.calls) == (RunStatus.FAILED_RESUMABLE, 1)
    assert "cost_usd budget: 5 of 5 used" in record.error
    assert rig.resume(ask={"max_cost_usd": 20.0}).status == RunStatus.FINISHED


def test_a_run_whose_workspace_is_gone_is_refused_and_stays_as_it_was(engine: Rig) -> None:
    """7.3: a command that runs nowhere would have ended as one that does not exist, for good."""
    engine.run("tool t:\n  command: `test -e ok`\nworkflow w:\n  entry: t\n  t -> done\n")
    aside = engine.workspace.rename(engine.workspace.with_name("aside"))
    before = engine.store.runs.get("r1")
    with pytest.raises(WorktreeBroken, match="is not there"):
        engine.resume()
    assert engine.store.runs.get("r1") == before
    aside.rename(engine.workspace)
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED


def test_a_changed_source_is_refused_and_then_forced(engine: Rig) -> None:
    """R140, R141, R142, R157, R159: both short digests; the forced text and digest are recorded."""
    rig = failed_at_b(engine)
    before = rig.store.runs.get("r1")
    rig.bot(CHAIN.replace("test -e ok", "true"))
    with pytest.raises(SourceChanged) as refused:
        rig.resume()
    assert before.digest[:12] in refused.value.message
    assert "--force" in refused.value.hint
    assert rig.store.runs.get("r1") == before
    assert rig.resume(force=True).status == RunStatus.FINISHED
    after = rig.store.runs.get("r1")
    assert after.digest != before.digest
    assert "true" in rig.store.sources.of("r1")[0].text
    assert "changed source" in (rig.folder / ".pointsman" / "runs" / "r1" / "run.log").read_text()


def test_an_anchor_that_an_edit_removed_is_node_not_found(engine: Rig) -> None:
    """R155, R203."""
    rig = failed_at_b(engine)
    rig.bot("tool a:\n  command: `true`\nworkflow w:\n  entry: a\n  a -> done\n")
    record = rig.resume(force=True)
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.NODE_NOT_FOUND)
    assert rig.head().node_id == "b"


def test_an_empty_recorded_digest_is_accepted(engine: Rig) -> None:
    """R156."""
    rig = failed_at_b(engine)
    with rig.store.database.write() as connection:
        connection.execute(sql("UPDATE run SET digest = ''"))
    rig.bot(CHAIN.replace("test -e ok", "true"))
    assert rig.resume().status == RunStatus.FINISHED


def test_a_source_that_moved_is_named(engine: Rig) -> None:
    """R118, R119: the stored path, else --file; the new path is kept."""
    rig = failed_at_b(engine)
    moved = rig.folder / "elsewhere.bot"
    (rig.folder / "main.bot").rename(moved)
    with pytest.raises(SourceMissing, match=r"main\.bot"):
        rig.resume()
    rig.write("ok")
    assert rig.resume(file=moved).status == RunStatus.FINISHED
    assert rig.store.runs.get("r1").file_path == str(moved)


def refusals(rig: Rig, status: RunStatus) -> RunRecord:
    with rig.store.database.write() as connection:
        connection.execute(sql("UPDATE run SET status = :status"), {"status": status})
    return rig.store.runs.get("r1")


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (RunStatus.FINISHED, WrongStatus),
        (RunStatus.FAILED, WrongStatus),
        (RunStatus.QUEUED, WrongStatus),
        (RunStatus.RUNNING, AlreadyRunning),
        ("brand_new_status", WrongStatus),
    ],
)
def test_what_cannot_be_resumed_says_its_status(engine: Rig, status: RunStatus, refusal: type[EngineError]) -> None:
    """R008, R014, R015, R016: exit 5, nothing changed, a hint."""
    rig = failed_at_b(engine)
    before = refusals(rig, status)
    with pytest.raises(refusal, match=str(status)) as refused:
        rig.resume()
    assert refused.value.hint
    assert rig.store.runs.get("r1") == before


def test_absent_runs_are_unknown_or_deleted(engine: Rig) -> None:
    """R034."""
    with pytest.raises(RunUnknown, match="ghost"):
        engine.resume("ghost")
    failed_at_b(engine)
    engine.engine.delete("r1")
    with pytest.raises(RunDeleted):
        engine.resume()
    with pytest.raises(EngineError, match="deleted"):
        engine.run(CHAIN)


def test_answers_for_a_run_that_asks_nothing_change_nothing(engine: Rig) -> None:
    """R428."""
    rig = failed_at_b(engine)
    before = rig.store.runs.get("r1")
    with pytest.raises(InvalidAnswers, match="asks nothing"):
        rig.resume(texts={"a": "b"})
    assert rig.store.runs.get("r1") == before


def test_a_held_lock_refuses_and_names_its_holder(engine: Rig) -> None:
    """R401, R405: two threads of one process exclude each other too."""
    rig = failed_at_b(engine)
    lock = RunLock(rig.store.root, "r1", OWNER)
    assert lock.acquire()
    with pytest.raises(LockHeld, match="process"):
        rig.resume()
    lock.release()
    rig.write("ok")
    assert rig.resume().status == RunStatus.FINISHED


def test_the_loser_of_a_race_is_told(engine: Rig) -> None:
    """R027, R175: somebody claims between the reading and the claim."""
    rig = failed_at_b(engine)
    started, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        started.set()
        go.wait(20)

    script = Script(Completed({"x": 1}), then=hold)
    slow = rig.other(**scripted(script, NodeKind.TOOL))
    first: list[Any] = []
    worker = threading.Thread(target=lambda: first.append(slow.resume()))
    worker.start()
    assert started.wait(20)
    with pytest.raises(AlreadyRunning):
        rig.resume()
    go.set()
    worker.join(20)
    assert first[0].status == RunStatus.FINISHED


def stale(rig: Rig, age: float, clock: FakeClock) -> None:
    """A run that was launched ``age`` seconds ago and whose owner is gone."""
    failed_at_b(rig)
    claim = rig.store.runs.claim("r1", frozenset({RunStatus.FAILED_RESUMABLE}), OWNER, ClaimChange())
    assert claim is not None
    clock.advance(age)


def test_a_sign_of_life_is_too_recent(engine: Rig, clock: FakeClock) -> None:
    """R009: the age is told, nothing changes."""
    stale(engine, 10, clock)
    with pytest.raises(TooRecent, match="10 s ago"):
        engine.resume(force_stale=True)
    assert engine.store.runs.get("r1").status == RunStatus.RUNNING


def test_a_stale_run_is_promoted_and_resumed(engine: Rig, clock: FakeClock) -> None:
    """R010, R012: promoted with an explaining error, then resumed on the same id."""
    stale(engine, 61, clock)
    engine.write("ok")
    assert engine.resume(force_stale=True).status == RunStatus.FINISHED
    told = [event.data for event in engine.events("run_failed")][-1]
    assert told["code"] == FailureCode.PROCESS_ORPHANED
    assert "force-stale" in str(told["error"])


def test_a_clock_that_stepped_back_makes_a_run_young(engine: Rig, clock: FakeClock) -> None:
    """R479: a negative age counts as zero."""
    stale(engine, 0, clock)
    clock.step(-3600)
    with pytest.raises(TooRecent, match="0 s ago"):
        engine.resume(force_stale=True)


def test_a_stale_run_whose_lock_is_held_is_left_alone(engine: Rig, clock: FakeClock) -> None:
    """R011, R403."""
    stale(engine, 100, clock)
    lock = RunLock(engine.store.root, "r1", OWNER)
    assert lock.acquire()
    with pytest.raises(LockHeld):
        engine.resume(force_stale=True)
    lock.release()


def test_an_orphan_without_a_checkpoint_fails(engine: Rig, clock: FakeClock) -> None:
    """R018."""
    stale(engine, 200, clock)
    with engine.store.database.write() as connection:
        connection.execute(sql("DELETE FROM checkpoint"))
    assert engine.engine.promote("r1", 120).status == RunStatus.FAILED


def test_a_young_orphan_is_left_alone(engine: Rig, clock: FakeClock) -> None:
    """R017, R019: untouched within the grace, promoted after it, once."""
    stale(engine, 30, clock)
    assert engine.engine.promote("r1", 120).kind == "young"
    clock.advance(100)
    promoted = engine.engine.promote("r1", 120)
    assert (promoted.kind, promoted.status, promoted.code) == (
        "promoted",
        RunStatus.FAILED_RESUMABLE,
        FailureCode.PROCESS_ORPHANED,
    )
    assert engine.engine.promote("r1", 120).kind == "not_running"


def test_a_pause_is_resumed_without_answers(engine: Rig) -> None:
    """R006, R162: anchored on the node about to run."""
    rigs: list[Rig] = []
    script = Script(Completed({"x": 1}), then=lambda _: rigs[0].engine.pause("r1"))
    rig = engine.other(**scripted(script))
    rigs.append(rig)
    text = A_THEN_B
    assert rig.run(text).status == RunStatus.PAUSED_OPERATOR
    assert (rig.head().node_id, rig.head().completed, rig.trace()) == ("b", False, [])
    assert rig.outputs() == {"a": {"x": 1}}
    assert engine.resume().status == RunStatus.FINISHED
    with pytest.raises(WrongStatus):
        engine.engine.pause("r1")


def test_a_pause_from_another_process_is_honoured_at_this_very_boundary(engine: Rig) -> None:
    """R006, 1.7: also where it came in the last moment of a node, between two looks at the row."""
    asked = Script(Completed({"x": 1}), then=lambda _: engine.store.runs.request_stop("r1", StopKind.PAUSE))
    rig = engine.other(**scripted(asked))
    assert rig.run(A_THEN_B).status == RunStatus.PAUSED_OPERATOR
    assert (rig.head().node_id, rig.head().completed, rig.trace()) == ("b", False, [])
    assert [event.node_id for event in rig.events("node_started")] == ["a"]
    assert engine.resume().status == RunStatus.FINISHED


def test_a_cancel_from_elsewhere_keeps_its_reason_and_the_place(engine: Rig) -> None:
    """R005, R030, R031, R161: the status was written already; the late failure changes nothing."""
    rigs: list[Rig] = []
    script = Script(
        Failed(FailureCode.EXECUTION_FAILED, "late"), then=lambda _: rigs[0].engine.cancel("r1", "mind changed")
    )
    rig = engine.other(**scripted(script))
    rigs.append(rig)
    record = rig.run('compute a:\n  expr:\n    x: "1"\nworkflow w:\n  entry: a\n  a -> done\n')
    assert (record.status, record.failure_code) == (RunStatus.CANCELLED, FailureCode.CANCELLED)
    assert "mind changed" in record.error
    assert (rig.head().node_id, rig.head().completed) == ("a", False)
    assert len(rig.events("run_cancelled")) == 1
    assert engine.resume().status == RunStatus.FINISHED


def test_an_interruption_is_resumable_and_says_by_what(engine: Rig) -> None:
    """1.7: INTERRUPTED, with both events."""
    rigs: list[Rig] = []
    script = Script(
        Failed(FailureCode.EXECUTION_FAILED, "killed"), then=lambda _: rigs[0].engine.interrupt_all("drain")
    )
    rig = engine.other(**scripted(script))
    rigs.append(rig)
    record = rig.run('compute a:\n  expr:\n    x: "1"\nworkflow w:\n  entry: a\n  a -> done\n')
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.INTERRUPTED)
    assert rig.events("run_interrupted")[0].data == {"reason": "drain"}
    assert rig.events("run_failed")[0].data["interrupted"] is True


def test_the_daily_cap_pauses_any_run_and_midnight_opens_it(engine: Rig, clock: FakeClock) -> None:
    """R007, R201, R202: another run reached the cap; a resume does not count twice."""
    script = Script(Completed({"x": 1}, cost_usd=3.0))
    rig = engine.other(**scripted(script), max_cost_per_day_usd=5.0)
    text = TWO
    assert rig.run(text, "first").status == RunStatus.FINISHED
    assert rig.store.spend.on(clock.now().date()) == 6.0
    assert rig.run(text, "r1").status == RunStatus.PAUSED_OPERATOR
    assert rig.events("run_paused")[0].data["reason"] == "cost_cap_daily"
    clock.advance(24 * 3600)
    assert rig.resume().status == RunStatus.FINISHED
    assert rig.store.spend.on(clock.now().date()) == 6.0


def test_artifacts_go_on_counting(engine: Rig) -> None:
    """R167, R131."""
    text = """
compute make:
  publish: plan
  expr:
    n: "loop.l.iteration"
tool check:
  command: `echo {{artifacts.plan.n}} >> trace; [ {{artifacts.plan.n}} -ne 1 ] || test -e ok`
workflow w:
  entry: make
  make -> check
  check -> make as l(2)
  check -> done
"""
    engine.run(text)
    engine.write("ok")
    engine.resume()
    assert engine.document()["artifacts"] == {"plan": {"version": 2, "data": {"n": 2}}}
    assert [version.version for version in engine.store.artifacts.versions("r1")] == [0, 1, 2]


def test_round_robin_goes_on_at_its_position_and_drops_the_others(engine: Rig) -> None:
    """R164, R216 and 9.2: outputs of targets that were not chosen are dropped, also after a resume."""
    text = """
router turn:
  mode: round_robin
compute a:
  expr:
    x: "'a'"
compute b:
  expr:
    x: "'b'"
tool look:
  command: `echo {{outputs.a.x}} {{outputs.b.x}} >> trace; [ "$(wc -l < trace)" -ne 2 ] || test -e ok`
workflow w:
  entry: turn
  turn -> a
  turn -> b
  a -> look
  b -> look
  look -> turn as l(3)
  look -> done
"""
    engine.run(text)
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    raw = "{{outputs.%s.x}}"
    assert engine.trace() == [f"a {raw % 'b'}", f"{raw % 'a'} b", f"{raw % 'a'} b", f"a {raw % 'b'}", f"{raw % 'a'} b"]
    assert set(engine.document()["outputs"]) == {"turn", "b", "look"}
    started = [event.data for event in engine.events("node_started") if event.node_id == "turn"]
    assert [each["selected_target"] for each in started] == ["a", "b", "a", "b"]


def test_history_is_there_again_after_a_resume(engine: Rig) -> None:
    text = """
compute n:
  expr:
    v: "loop.l.iteration"
compute sum:
  expr:
    all: "map(outputs.n.history, x => x.v)"
tool check:
  command: `[ {{loop.l.iteration}} -ne 1 ] || test -e ok`
workflow w:
  entry: n
  n -> check
  check -> n as l(2)
  check -> sum
  sum -> done
"""
    engine.run(text)
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.outputs()["sum"] == {"all": [0, 1, 2]}


@pytest.mark.parametrize("again", [1, 2])
def test_a_bundle_that_recorded_its_main_file_alone_is_accepted(
    engine: Rig, caplog: pytest.LogCaptureFixture, again: int
) -> None:
    """R149, R150, R151: logged at each resume, the recorded digest unchanged; any other mismatch is refused."""
    bundle = engine.folder / "bundle"
    (bundle / "prompts").mkdir(parents=True)
    (bundle / "manifest.yaml").write_text("schema_version: 1\nname: bundle\nversion: 0.1.0\n")
    (bundle / "prompts" / "p.md").write_text("Hello.\n")
    (bundle / "main.bot").write_text("tool a:\n  command: `test -e ok`\nworkflow w:\n  entry: a\n  a -> done\n")
    engine.engine.launch(LaunchRequest(bundle, engine.workspace, run_id="r1"))
    alone = hashlib.sha256((bundle / "main.bot").read_bytes()).hexdigest()
    assert engine.store.runs.get("r1").digest != alone
    with engine.store.database.write() as connection:
        connection.execute(sql("UPDATE run SET digest = :alone"), {"alone": alone})
    for _ in range(again):
        caplog.clear()
        assert engine.resume().status == RunStatus.FAILED_RESUMABLE
        assert "main file alone" in caplog.text
        assert engine.store.runs.get("r1").digest == alone
    (bundle / "main.bot").write_text("tool a:\n  command: `true`\nworkflow w:\n  entry: a\n  a -> done\n")
    with pytest.raises(SourceChanged):
        engine.resume()
