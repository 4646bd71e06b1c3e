"""Calls of connectors: written down before they are made, settled once, never made twice by mistake (engine.md 5)."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import AmbiguousEffect, NotSent, RateLimited
from engine.api import AutoResume, ResumeRequest, RewindRequest
from engine.errors import AmbiguousUnread, EffectSettled, SourceInvalid
from engine.failures import FailureCode
from engine.run import EffectRecord, EffectState, SettledBy
from engine.states import RunStatus
from engine.store.effects import Settling
from engine.store.store import Store
from tests.engine.test_store_refusals import FullDatabase
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, real_rig, scripted
from tests.kit.forge import AROUND, FakeForge, Word, calls, comments, refused

FR = RunStatus.FAILED_RESUMABLE


@pytest.fixture
def forge(tmp_path: Path) -> FakeForge:
    return FakeForge(tmp_path / "forge")


@pytest.fixture
def rig(store: Store, clock: FakeClock, tmp_path: Path, forge: FakeForge) -> Rig:
    return Rig(store, clock, tmp_path, remote=forge.remote, around=AROUND)


def rows(rig: Rig) -> list[EffectRecord]:
    return list(rig.store.effects.list())


def states(rig: Rig) -> list[str]:
    return [str(each.state) for each in rows(rig)]


def lose(rig: Rig, forge: FakeForge, word: Word = "vanished") -> EffectRecord:
    """Run until the one call has lost its answer; its row."""
    forge.script = [word]
    assert rig.run(comments()).failure_code == FailureCode.AMBIGUOUS_EFFECT
    return rows(rig)[-1]


def test_the_row_is_stored_while_the_call_hangs(rig: Rig, forge: FakeForge) -> None:
    """R465, R474."""
    hangs, goes_on, seen = threading.Event(), threading.Event(), []

    def hang() -> None:
        hangs.set()
        assert goes_on.wait(30)

    forge.script = [hang]
    running = threading.Thread(target=rig.run, args=(comments(),))
    running.start()
    assert hangs.wait(30)
    seen = rows(rig)
    goes_on.set()
    running.join(30)
    (row,) = seen
    assert (row.state, row.run_id, row.node_id, row.attempt, row.connection) == ("sent", "r1", "post", 1, "web")
    assert row.operation == "fake.issue.comment"
    assert row.marker == f"<!-- pointsman effect={row.id} run=r1 node=post attempt=1 -->"
    assert row.params == {"number": 7, "body": "hello"}
    assert forge.received[0]["marker"] == forge.made[0]["marker"] == row.marker


def test_an_answer_is_kept_and_becomes_the_output(rig: Rig, forge: FakeForge) -> None:
    assert rig.run(comments('  timeout: "7s"\n')).status == RunStatus.FINISHED
    (row,) = rows(rig)
    assert (row.state, row.settled_by, row.stopped_run) == ("done", "answer", False)
    assert rig.outputs()["post"] == row.response == {"id": f"c-{row.id}", "body": "hello"}
    assert forge.received[0]["timeout"] == 7
    told = [(event.type, event.data["state"]) for event in rig.events() if event.type.startswith("effect_")]
    assert told == [("effect_sent", "sent"), ("effect_settled", "done")]


def test_without_a_row_nothing_is_called(clock: FakeClock, tmp_path: Path, forge: FakeForge) -> None:
    """R466: the disk is full whenever a row is to be written; the launch, the recovery and the ending fit."""
    database = FullDatabase.open(f"sqlite:///{tmp_path / 'p.db'}")
    assert isinstance(database, FullDatabase)
    with database:
        rig = Rig(Store(database, clock, tmp_path), clock, tmp_path, remote=forge.remote, around=AROUND)
        database.refuse = lambda count: count in (2, 4)
        record = rig.run(comments())
        assert (record.status, record.failure_code) == (FR, FailureCode.EXECUTION_FAILED)
        assert "was not made" in record.error
        assert (forge.received, rows(rig)) == ([], [])
        assert rig.resume().status == RunStatus.FINISHED
        assert len(forge.received) == 1


def test_a_lost_answer_stops_the_run_and_is_not_repeated_in_place(rig: Rig, forge: FakeForge) -> None:
    """R082, R083."""
    row = lose(rig, forge)
    record = rig.store.runs.get("r1")
    assert (record.status, row.state, row.stopped_run) == (FR, "ambiguous", True)
    assert f"pointsman effects show {row.id}" in record.error
    assert len(forge.received) == 1
    assert "node_recovery" not in rig.kinds()
    record = rig.engine.auto_resume(record, AutoResume(3))
    assert len(forge.received) == 1
    skipped = rig.events("run_retry_skipped")
    assert [event.data["reason"] for event in skipped] == ["ambiguous"]


@pytest.mark.parametrize("word", ["lost", refused(503), KeyError("x")])
def test_any_end_without_a_proof_is_ambiguous(rig: Rig, forge: FakeForge, word: Word) -> None:
    """R089, R091."""
    forge.readable = False
    row = lose(rig, forge, word)
    assert row.note
    assert len(forge.received) == 1


def test_a_lost_answer_whose_comment_exists_is_no_failure(rig: Rig, forge: FakeForge) -> None:
    """R469."""
    forge.script = ["lost"]
    assert rig.run(comments()).status == RunStatus.FINISHED
    (row,) = rows(rig)
    assert (row.state, row.settled_by) == ("done", "probe")
    assert rig.outputs()["post"] == {"id": f"c-{row.id}", "body": "hello"}
    assert len(forge.received) == 1


@pytest.mark.parametrize(
    ("word", "state", "code"),
    [
        (NotSent("no route"), "not_sent", FailureCode.EXECUTION_FAILED),
        (refused(404), "refused", FailureCode.TOOL_FAILED_PERMANENT),
        (RateLimited("slow down"), "refused", FailureCode.RATE_LIMITED),
    ],
)
def test_what_is_certain_is_sent_again_under_a_new_row(
    rig: Rig, forge: FakeForge, word: Word, state: str, code: FailureCode
) -> None:
    """R085 to R088, R090."""
    forge.script = [word] * 9
    assert rig.run(comments()).failure_code == code
    before = states(rig)
    assert set(before) == {state}
    forge.script = []
    assert rig.resume().status == RunStatus.FINISHED
    assert states(rig) == [*before, "done"]
    assert len(forge.made) == 1


def test_an_unsent_call_is_repeated_in_place_once(rig: Rig, forge: FakeForge) -> None:
    forge.script = [NotSent("no route")]
    assert rig.run(comments()).status == RunStatus.FINISHED
    assert states(rig) == ["not_sent", "done"]


def test_refused_credentials_pause_for_a_person(rig: Rig, forge: FakeForge) -> None:
    forge.script = [refused(401)]
    assert rig.run(comments()).status == RunStatus.PAUSED_WAITING_HUMAN
    assert rig.resume(texts={"acknowledge_recovery": "ok"}).status == RunStatus.FINISHED


def test_a_person_who_was_told_sends_it_again(rig: Rig, forge: FakeForge, caplog: pytest.LogCaptureFixture) -> None:
    """R084, C049: asked first, said, then sent; the old row has the person's name."""
    row = lose(rig, forge)
    probes = forge.probes
    said: list[int] = []
    forge.script = [lambda: said.append(len(caplog.records))]
    with caplog.at_level(logging.WARNING):
        assert rig.resume(by="ann").status == RunStatus.FINISHED
    assert forge.probes == probes + 1
    assert said
    assert any(row.id in record.getMessage() for record in caplog.records[: said[0]])
    first, second = rows(rig)
    assert (first.state, first.settled_by, first.settler, first.note) == ("abandoned", "resume", "ann", "sent again")
    assert (second.state, second.attempt) == ("done", 2)
    assert len(forge.made) == 1


def test_a_marker_that_shows_up_settles_the_call_without_sending(rig: Rig, forge: FakeForge) -> None:
    """R084: the marker exists by now."""
    row = lose(rig, forge)
    forge.late(row)
    assert rig.resume().status == RunStatus.FINISHED
    assert states(rig) == ["done"]
    assert len(forge.received) == 1
    assert rig.outputs()["post"] == {"id": f"c-{row.id}", "body": "hello"}


def test_nobody_but_a_person_sends_it_again(rig: Rig, forge: FakeForge) -> None:
    row = lose(rig, forge)
    record = rig.resume(attended=False)
    assert (record.status, record.failure_code) == (FR, FailureCode.AMBIGUOUS_EFFECT)
    assert row.id in record.error
    assert len(forge.received) == 1
    assert states(rig) == ["ambiguous"]


def test_a_person_who_was_not_told_sends_nothing_again(rig: Rig, forge: FakeForge) -> None:
    """The run was cancelled while the call hung: its code tells of no call in doubt."""

    def cancelled() -> None:
        rig.engine.cancel("r1")
        raise AmbiguousEffect("the call was cut off")

    forge.script = [cancelled]
    assert rig.run(comments()).status == RunStatus.CANCELLED
    assert states(rig) == ["ambiguous"]
    assert rig.resume().failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert len(forge.received) == 1
    assert rig.resume().status == RunStatus.FINISHED


def test_a_call_that_was_sent_again_holds_the_run_no_more(rig: Rig, forge: FakeForge) -> None:
    """Lost, sent again, lost again: only the second one has to be settled."""
    lose(rig, forge)
    forge.script = ["vanished"]
    assert rig.resume().failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert states(rig) == ["abandoned", "ambiguous"]
    assert [each.id for each in rig.store.effects.stopping(["r1"])] == [rows(rig)[1].id]


def test_a_forge_that_cannot_be_asked_refuses_the_resume(rig: Rig, forge: FakeForge) -> None:
    row = lose(rig, forge)
    forge.readable = False
    with pytest.raises(AmbiguousUnread, match="503 from the forge") as refusal:
        rig.resume()
    assert row.id in refusal.value.message
    with pytest.raises(AmbiguousUnread):
        rig.engine.admit_resume(ResumeRequest("r1"))
    assert rig.store.runs.get("r1").status == FR
    assert rig.store.runs.get("r1").epoch == 1
    assert rig.resume(force=True).status == RunStatus.FINISHED
    assert states(rig) == ["abandoned", "done"]


def test_a_call_settled_by_hand_is_answered_from_its_row(rig: Rig, forge: FakeForge) -> None:
    row = lose(rig, forge)
    done = Settling(EffectState.DONE, SettledBy.PERSON, response={"id": "by hand"})
    assert rig.engine.settle_effect(row.id, done).state == EffectState.DONE
    with pytest.raises(EffectSettled, match="done, by person"):
        rig.engine.settle_effect(row.id, done)
    forge.readable = False
    assert rig.resume(attended=False).status == RunStatus.FINISHED
    assert rig.outputs()["post"] == {"id": "by hand"}
    assert len(forge.received) == 1
    assert not rows(rig)[0].stopped_run


@pytest.mark.parametrize("state", [EffectState.NOT_SENT, EffectState.ABANDONED])
def test_a_call_settled_as_not_made_is_sent_under_a_new_row(rig: Rig, forge: FakeForge, state: EffectState) -> None:
    row = lose(rig, forge)
    rig.engine.settle_effect(row.id, Settling(state, SettledBy.PERSON))
    assert rig.resume().status == RunStatus.FINISHED
    assert states(rig) == [state, "done"]
    assert len(forge.received) == 2


def test_a_node_that_runs_again_does_not_call_again(rig: Rig, forge: FakeForge) -> None:
    """The comment was made, its output does not fit: the next attempt is answered from the row."""
    text = comments("  output: s\n", before="schema s:\n  sha: string\n\n")
    assert rig.run(text).failure_code == FailureCode.SCHEMA_VALIDATION
    rig.bot(text.replace("  sha: string", "  id: string\n  body: string"))
    assert rig.resume(force=True).status == RunStatus.FINISHED
    assert rig.outputs()["post"]["body"] == "hello"
    assert len(forge.received) == 1


def test_each_crossing_of_a_loop_is_a_call_of_its_own(rig: Rig, forge: FakeForge) -> None:
    text = comments().replace("  after -> done", "  after -> post as again(2)\n  after -> done")
    rig.run(text)
    assert len(forge.received) == 3
    assert len({(each.iteration_path, each.fingerprint) for each in rows(rig)}) == 3


def test_a_read_writes_no_row(rig: Rig, forge: FakeForge) -> None:
    """R092."""
    forge.script = [AmbiguousEffect("reset")]
    assert rig.run(calls("fake.issue.get")).status == RunStatus.FINISHED
    assert len(forge.received) == 2
    assert rows(rig) == []


def test_a_call_that_changes_nothing_twice_is_repeated(rig: Rig, forge: FakeForge) -> None:
    forge.script = ["vanished"]
    assert rig.run(calls("fake.label.add", "    number: 7\n    label: ready\n")).status == RunStatus.FINISHED
    first, second = rows(rig)
    assert (first.state, first.settled_by, second.state) == ("abandoned", "repeat", "done")


def test_a_guarded_call_is_not_repeated(rig: Rig, forge: FakeForge) -> None:
    forge.script = ["vanished"]
    assert rig.run(calls("fake.pull.merge")).failure_code == FailureCode.AMBIGUOUS_EFFECT


def test_a_key_that_was_really_sent_makes_a_repeat_safe(rig: Rig, forge: FakeForge) -> None:
    """R093."""
    keyed = comments('  idempotency_key: "{{run.id}}-post"\n')
    forge.script = ["vanished"]
    assert rig.run(keyed).failure_code == FailureCode.AMBIGUOUS_EFFECT
    forge.script, forge.key_arrives = ["vanished"], True
    assert rig.run(keyed, run_id="r2").status == RunStatus.FINISHED
    assert [each["key"] for each in forge.received] == ["r1-post", "r2-post", "r2-post"]


@pytest.mark.parametrize("key", ["", "  ", "{{vars.blank}}"])
def test_a_blank_key_is_no_key(rig: Rig, forge: FakeForge, key: str) -> None:
    """C065: nothing would name the call, so a lost answer stays in doubt, whatever the runner says it sent."""
    forge.script, forge.key_arrives = ["vanished"], True
    bot = comments(f'  idempotency_key: "{key}"\n', before='vars:\n  blank: string = "   "\n\n')
    assert rig.run(bot).failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert [each["key"] for each in forge.received] == [""]


def test_an_ambiguous_failure_without_a_row_gets_one(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    rig = Rig(store, clock, tmp_path, **scripted(Script(AmbiguousEffect("lost by something else"))))
    rig.run('compute think:\n  expr:\n    x: "1"\n\nworkflow w:\n  entry: think\n  think -> done\n')
    (row,) = rows(rig)
    assert (row.state, row.node_id, row.operation, row.stopped_run) == ("ambiguous", "think", "compute", True)
    assert row.note == "lost by something else"


def test_behind_a_rewind_the_call_is_made_anew(rig: Rig, forge: FakeForge) -> None:
    rig.run(comments().replace("echo after >> trace", "exit 1"))
    rig.bot(comments().replace("echo after >> trace", "exit 2"))
    rig.resume(force=True)
    assert len(forge.received) == 1
    rig.engine.rewind(RewindRequest("r1", node="post"))
    rig.resume()
    assert len(forge.received) == 2
    assert [each.dropped_by for each in rows(rig)] == [1, 0]


def test_a_child_in_doubt_is_asked_and_not_started_afresh(rig: Rig, forge: FakeForge) -> None:
    """The child's mark becomes the parent's; the person who resumes the parent was told."""
    rig.bot(comments(), "child.bot")
    forge.script = ["vanished"]
    record = rig.run('subbot kid:\n  source: "child.bot"\n\nworkflow w:\n  entry: kid\n  kid -> done\n')
    assert record.failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert states(rig) == ["ambiguous"]
    assert rig.resume(attended=False).failure_code == FailureCode.AMBIGUOUS_EFFECT
    forge.readable = False
    assert rig.resume().failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert len(forge.received) == 1
    forge.readable = True
    assert rig.resume().status == RunStatus.FINISHED
    assert states(rig) == ["abandoned", "done"]
    assert len(rig.store.runs.list().records) == 2


def test_branches_call_for_themselves(store: Store, tmp_path: Path) -> None:
    forge = FakeForge(tmp_path / "forge")
    rig = real_rig(store, tmp_path, remote=forge.remote, around=AROUND)
    rig.run(
        """tool list:
  command: `echo '{"items": [1, 2, 3]}'`

router each:
  mode: fan_out_each
  over: "{{outputs.list.items}}"

tool post:
  action: fake.issue.comment
  connection: web
  params:
    number: 7
    body: "the same"

compute join:
  await: wait_all
  expr:
    ok: "true"

workflow w:
  entry: list
  list -> each
  each -> post
  post -> join
  join -> done
"""
    )
    assert states(rig) == ["done"] * 3
    assert len({(each.branch_path, each.fingerprint) for each in rows(rig)}) == 3
    assert len({each.fingerprint for each in rows(rig)}) == 1


def test_a_run_that_was_stopped_calls_nobody(rig: Rig, forge: FakeForge) -> None:
    """D134: nothing is sent once the cause is written, the repeat of an unsent call included."""

    def interrupted() -> None:
        rig.engine.interrupt("r1", "external_move")
        raise NotSent("no route")

    forge.script = [interrupted]
    assert rig.run(comments()).failure_code == FailureCode.INTERRUPTED
    assert states(rig) == ["not_sent"]


def test_without_a_runner_a_launch_is_refused(engine: Rig, rig: Rig) -> None:
    with pytest.raises(
        SourceInvalid, match="X001 node post calls a connector, and nothing here runs connector operations"
    ):
        engine.run(comments())
    with pytest.raises(SourceInvalid, match="X002"):
        rig.run(calls("fake.issue.burn"))


def test_only_calls_in_doubt_can_be_settled(rig: Rig, forge: FakeForge) -> None:
    told: list[Any] = []

    def meanwhile() -> None:
        with pytest.raises(EffectSettled, match="is being sent by run r1"):
            rig.engine.probe_effect(rows(rig)[0].id)
        told.append(True)

    forge.script = [meanwhile]
    rig.run(comments())
    assert told
    with pytest.raises(EffectSettled, match="not in doubt"):
        rig.engine.probe_effect(rows(rig)[0].id)
