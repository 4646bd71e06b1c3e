"""Calls and processes: a sender that lives elsewhere is left alone, and a doubt from elsewhere stays a doubt."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path

import pytest

from connectors.errors import AmbiguousEffect, Evidence
from engine.errors import EffectSettled
from engine.failures import FailureCode
from engine.ports import SystemClock
from engine.run import EffectRecord
from engine.runtime.classify import classify
from engine.states import RunStatus
from tests.kit.engine import Rig
from tests.kit.forge import AROUND, FakeForge, comments
from tests.kit.runs import open_store, python

pytestmark = pytest.mark.timeout(120)
CHILD = 'subbot kid:\n  source: "child.bot"\n\nworkflow w:\n  entry: kid\n  kid -> done\n'
BRANCHES = """tool post:
  action: fake.issue.comment
  connection: web
  params:
    number: 7
    body: "hello"

tool quick:
  command: `until [ -e started ]; do sleep 0.02; done; test -e mended`
  parallel_safe: true

tool join:
  command: `true`
  await: wait_all

router split:
  mode: fan_out_all

workflow w:
  entry: split
  split -> post
  split -> quick
  post -> join
  quick -> join
  join -> done
"""


def rig_in(folder: Path, forge: FakeForge) -> Rig:
    clock = SystemClock()
    return Rig(open_store(folder, clock), clock, folder, remote=forge.remote, around=AROUND, branch_cancel_grace=0.05)


def only(rig: Rig) -> EffectRecord:
    (row,) = rig.store.effects.list()
    return row


def sender(folder: str) -> None:
    """The other process: its attempt ends because of one branch while another branch still waits for an answer."""
    goes_on = threading.Event()

    def hang() -> None:
        (Path(folder) / "work" / "started").touch()
        assert goes_on.wait(60)

    rig = rig_in(Path(folder), FakeForge(Path(folder) / "forge", hang))
    print(rig.run(BRANCHES).status, flush=True)  # noqa: T201
    sys.stdin.readline()
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("split"):
            thread.join(60)
    print(only(rig).state, flush=True)  # noqa: T201


def test_a_call_that_a_living_process_makes_is_not_made_here(tmp_path: Path) -> None:
    """C066: neither sent again nor called lost; once its sender has an answer, that is the answer here too."""
    process = python(f"from {__name__} import sender; import sys; sender(*sys.argv[1:])", str(tmp_path))
    assert process.stdout is not None
    assert process.stdout.readline().strip() == RunStatus.FAILED_RESUMABLE
    forge = FakeForge(tmp_path / "forge")
    rig = rig_in(tmp_path, forge)
    (rig.workspace / "mended").touch()
    refused = rig.resume()
    assert (refused.status, refused.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.EXECUTION_FAILED)
    assert "whose sender lives" in refused.error
    assert (only(rig).state, len(forge.received), forge.probes) == ("sent", 1, 0)
    with pytest.raises(EffectSettled, match="is being sent"):
        rig.engine.probe_effect(only(rig).id)
    out, errors = process.communicate("\n", timeout=90)
    assert (out.strip(), process.returncode) == ("done", 0), errors
    assert rig.resume().status == RunStatus.FINISHED
    assert (len(forge.received), rig.outputs()["post"]["id"]) == (1, f"c-{only(rig).id}")
    rig.store.database.close()


def doubtful_child(folder: str) -> None:
    """The other process: the call of a sub-run loses its answer."""
    rig = rig_in(Path(folder), FakeForge(Path(folder) / "forge", "vanished"))
    rig.bot(comments(), "child.bot")
    rig.run(CHILD)


def test_a_doubt_of_a_child_run_in_another_process_stays_one(tmp_path: Path) -> None:
    """C063: read from the store in this process, parent and child are in doubt, and no attempt here forgets it."""
    process = python(f"from {__name__} import doubtful_child as f; import sys; f(*sys.argv[1:])", str(tmp_path))
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    forge = FakeForge(tmp_path / "forge")
    rig = rig_in(tmp_path, forge)
    parent = rig.store.runs.get("r1")
    (child,) = (rig.store.runs.get(each) for each in parent.children.values())
    assert {parent.failure_code, child.failure_code} == {FailureCode.AMBIGUOUS_EFFECT}
    assert rig.resume(attended=False).failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert len(forge.received) == 1
    rig.store.database.close()


def test_a_doubt_that_crossed_a_process_boundary_is_classified_as_one() -> None:
    """C063: the class survives pickling, with its row and what is known of the call."""
    told = Evidence(kind="lost", status=201, wire={"phases": ["head_sent"]})
    error = AmbiguousEffect("connection reset by peer", "look there", effect_id="e1", evidence=told)
    error.__cause__ = ConnectionResetError("connection reset by peer")
    again = pickle.loads(pickle.dumps(error))
    assert classify(again).code is FailureCode.AMBIGUOUS_EFFECT
    assert (again.effect_id, again.evidence, again.hint) == ("e1", told, "look there")
