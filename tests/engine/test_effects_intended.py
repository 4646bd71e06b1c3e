"""Between the decision to call and the first byte: the row is ``intended``; nothing can have left (connectors.md 9)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from connectors.errors import RateLimited
from engine.failures import FailureCode
from engine.ports import EffectGuard, OperationCall, Remote, SystemClock, Undone, Witness
from engine.run import EffectRecord
from engine.states import RunStatus
from engine.store.changes import StopKind
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.forge import AROUND, FakeForge, calls, comments
from tests.kit.runs import open_store, python

CODE = f"from {__name__} import die; import sys; die(*sys.argv[1:])"


class Waiting:
    """A runner that does something before it sends, and answers with a witness."""

    def __init__(self, before: Callable[[], None], witness: Witness | None = None) -> None:
        self.before, self.given, self.sent = before, witness, 0

    def run(self, call: OperationCall, guard: EffectGuard) -> Mapping[str, object]:
        """As ``OperationRunner``."""
        self.before()
        guard.sending()
        self.sent += 1
        if self.given is not None:
            guard.witness(self.given)
        return {"id": "c1"}


def rig_of(store: Store, clock: FakeClock, folder: Path, remote: Remote) -> Rig:
    return Rig(store, clock, folder, remote=remote, around=AROUND)


def only(rig: Rig) -> EffectRecord:
    (row,) = rig.store.effects.list()
    return row


def test_a_stop_that_is_written_before_the_call_withdraws_it(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    """C068: the cause stands in the store alone, and that is enough."""
    runner = Waiting(lambda: store.runs.request_stop("r1", StopKind.INTERRUPT, "external_move") and None)
    rig = rig_of(store, clock, tmp_path, Remote(runner))
    record = rig.run(comments())
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.INTERRUPTED)
    row = only(rig)
    assert (row.state, row.settled_by, row.sent_at, runner.sent) == ("not_sent", "withdrawn", None, 0)
    assert "effect_sent" not in rig.kinds()


def test_a_throttle_while_the_call_waits_for_its_turn_is_no_doubt(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    def throttled() -> None:
        raise RateLimited("the credential is blocked")

    rig = rig_of(store, clock, tmp_path, Remote(Waiting(throttled)))
    record = rig.run(comments(), ask={})
    assert record.failure_code == FailureCode.RATE_LIMITED
    assert {each.settled_by for each in store.effects.list()} == {"withdrawn"}


def test_the_row_keeps_status_and_wire_record(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    witness = Witness(201, {"phases": ["connecting", "head_sent"]}, read_back=True, note="found by reading")
    rig = rig_of(store, clock, tmp_path, Remote(Waiting(lambda: None, witness)))
    assert rig.run(comments()).status == RunStatus.FINISHED
    row = only(rig)
    assert (row.http_status, row.settled_by, row.note) == (201, "read_back", "found by reading")
    assert row.wire == {"phases": ["connecting", "head_sent"]}
    assert row.sent_at == clock.now()


def test_a_read_that_shows_a_call_undone_lets_it_be_sent_again(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    """Of a call whose repetition is safe the read-back settles the row (connectors.md 9)."""

    class Reading(FakeForge):
        def probe(self, effect: object) -> Undone:  # type: ignore[override]
            return Undone("the label is not there")

    forge = Reading(tmp_path / "forge", "vanished")
    rig = rig_of(store, clock, tmp_path, forge.remote)
    rig.run(calls("fake.pull.merge"))
    assert [(each.state, each.settled_by) for each in store.effects.list()] == [("not_sent", "read_back")]
    assert rig.resume(attended=False).status == RunStatus.FINISHED
    assert len(forge.received) == 2


def die(folder: str, point: str, bot: str = "") -> None:
    """The process that is killed at a point of its one call."""

    def passed(at: str) -> None:
        if at == point:
            os.kill(os.getpid(), signal.SIGKILL)

    forge, clock = FakeForge(Path(folder) / "forge"), SystemClock()
    remote = Remote(forge, forge, passed=passed)
    Rig(open_store(Path(folder), clock), clock, Path(folder), remote=remote, around=AROUND).run(bot or comments())


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "state", "code", "received"),
    [
        pytest.param("X1", "intended", FailureCode.PROCESS_ORPHANED, 0, id="C045"),
        pytest.param("X2", "sent", FailureCode.AMBIGUOUS_EFFECT, 0, id="C046-X2"),
        pytest.param("X5", "done", FailureCode.PROCESS_ORPHANED, 1, id="C047"),
    ],
)
def test_a_kill_at_a_point_of_the_effect(
    tmp_path: Path, point: str, state: str, code: FailureCode, received: int
) -> None:
    """C045, C046 (X2), C047, C048: what the next owner believes is what the row says."""
    process = python(CODE, str(tmp_path), point)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL, errors
    clock, forge = SystemClock(), FakeForge(tmp_path / "forge")
    store = open_store(tmp_path, clock)
    rig = Rig(store, clock, tmp_path, remote=forge.remote, around=AROUND, force_stale_after=0.0)
    assert (only(rig).state, len(forge.received)) == (state, received)
    assert rig.engine.promote("r1", 0.0).code == code
    assert only(rig).state == {"X1": "not_sent", "X2": "ambiguous", "X5": "done"}[point]
    record = rig.resume(attended=False)
    if code == FailureCode.AMBIGUOUS_EFFECT:
        assert (record.failure_code, len(forge.received)) == (code, 0)
    else:
        assert (record.status, len(forge.received)) == (RunStatus.FINISHED, 1)
    store.database.close()


@pytest.mark.timeout(120)
def test_a_call_that_may_be_repeated_is_asked_about_as_well_when_its_sender_died(tmp_path: Path) -> None:
    """C046, C103: no row stays ``sent`` for ever, and the run is held up by none that is safe to repeat."""
    bot = calls("fake.label.add", "    number: 7\n    label: ready\n")
    process = python(CODE, str(tmp_path), "X2", bot)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL, errors
    clock, forge = SystemClock(), FakeForge(tmp_path / "forge")
    store = open_store(tmp_path, clock)
    rig = Rig(store, clock, tmp_path, remote=forge.remote, around=AROUND, force_stale_after=0.0)
    assert rig.engine.promote("r1", 0.0).code == FailureCode.PROCESS_ORPHANED
    assert (only(rig).state, only(rig).stopped_run, forge.probes) == ("ambiguous", False, 1)
    assert rig.resume(attended=False).status == RunStatus.FINISHED
    assert len(forge.received) == 1
    store.database.close()
