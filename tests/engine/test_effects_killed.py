"""kill -9 between a call and its answer: the next owner asks the forge before anything else (engine.md 5.4, 12.3)."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.api import PromotionKind
from engine.failures import FailureCode
from engine.ports import SystemClock
from engine.run import EffectRecord
from engine.states import RunStatus
from tests.kit.engine import Rig
from tests.kit.forge import AROUND, FakeForge, comments
from tests.kit.runs import open_store, python

pytestmark = pytest.mark.timeout(120)
CODE = f"from {__name__} import die; import sys; die(*sys.argv[1:])"


def rig_in(folder: Path, forge: FakeForge) -> Rig:
    clock = SystemClock()
    return Rig(open_store(folder, clock), clock, folder, remote=forge.remote, around=AROUND, force_stale_after=0.0)


def die(folder: str, word: str) -> None:
    """The process that is killed while its one call is on the way."""
    rig_in(Path(folder), FakeForge(Path(folder) / "forge", word)).run(comments())


def killed(folder: Path, word: str) -> tuple[Rig, FakeForge]:
    """The next owner, after a first one died in its call."""
    process = python(CODE, str(folder), word)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL, errors
    forge = FakeForge(folder / "forge")
    return rig_in(folder, forge), forge


def only(rig: Rig) -> EffectRecord:
    (row,) = rig.store.effects.list()
    return row


def test_a_comment_that_exists_is_found_and_not_made_twice(tmp_path: Path) -> None:
    """R467."""
    rig, forge = killed(tmp_path, "kill")
    assert only(rig).state == "sent"
    promotion = rig.engine.promote("r1", 0.0)
    assert (promotion.kind, promotion.code) == (PromotionKind.PROMOTED, FailureCode.PROCESS_ORPHANED)
    row = only(rig)
    assert (row.state, row.settled_by, row.stopped_run) == ("done", "probe", False)
    assert rig.resume(attended=False).status == RunStatus.FINISHED
    assert rig.outputs()["post"] == {"id": f"c-{row.id}", "body": "hello"}
    assert len(forge.received) == len(forge.made) == 1
    rig.store.database.close()


def test_a_call_that_nobody_finds_stops_the_run(tmp_path: Path) -> None:
    """R468: promoted as ambiguous; no machine goes on; a person does."""
    rig, forge = killed(tmp_path, "kill_unmade")
    promotion = rig.engine.promote("r1", 0.0)
    assert (promotion.status, promotion.code) == (RunStatus.FAILED_RESUMABLE, FailureCode.AMBIGUOUS_EFFECT)
    row = only(rig)
    assert (row.state, row.settled_by, row.stopped_run, row.probes) == ("ambiguous", "lost", True, 0)
    assert row.id in rig.store.runs.get("r1").error
    assert rig.resume(attended=False).failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert len(forge.received) == 1
    assert rig.resume().status == RunStatus.FINISHED
    assert len(forge.received) == 2
    rig.store.database.close()


def test_taking_over_stops_at_an_ambiguous_call(tmp_path: Path) -> None:
    """``--force-stale`` names it and goes no further (engine.md 7.10)."""
    rig, forge = killed(tmp_path, "kill_unmade")
    record = rig.resume(force_stale=True)
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.AMBIGUOUS_EFFECT)
    assert only(rig).id in record.error
    assert len(forge.received) == 1
    rig.store.database.close()
