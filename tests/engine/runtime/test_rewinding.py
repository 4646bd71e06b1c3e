"""Rewinding real runs over a real store: refusals, what is dropped, what stays, and the files (engine.md 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.api import EngineSettings, RewindRequest, Rewound
from engine.errors import (
    BadInput,
    LockHeld,
    NothingToRewind,
    PivotInvalid,
    RestoreFailed,
    RunConflict,
    SourceChanged,
    WrongStatus,
)
from engine.events import EventType, NewEvent
from engine.runtime.pruning import prune_pool
from engine.runtime.rewind import rewound_head
from engine.states import RunStatus, can_be_rewound
from engine.store.locks import RunLock
from engine.store.owners import owner_here
from engine.store.rewinds import Rewinding
from tests.kit.engine import Rig

STEPS = """tool a:
  command: `echo a >> trace; echo one > shared; echo '{"v": "a"}'`
  publish: plan

tool b:
  command: `echo b >> trace; echo two > shared; mkdir -p out; echo b > out/b`

tool c:
  command: `echo c >> trace; echo half > c.txt; test -e ok`

workflow w:
  entry: a
  a -> b
  b -> c
  c -> done
"""
"""Its runs fail at c until the file ok is there."""
ASKING = """schema yes:
  ok: bool

prompt ask:
  Shall we?

tool a:
  command: `echo a > a.txt`

human gate:
  instructions: ask
  output: yes

tool b:
  command: `echo b > a.txt`

tool c:
  command: `test -e ok`

workflow w:
  entry: a
  a -> gate
  gate -> b
  b -> c
  c -> done
"""


def rewind(rig: Rig, node: str = "", **values: Any) -> Rewound:
    return rig.engine.rewind(RewindRequest("r1", node, **values))


def files(rig: Rig) -> dict[str, str]:
    found = (path for path in rig.workspace.rglob("*") if path.is_file())
    return {path.relative_to(rig.workspace).as_posix(): path.read_text() for path in found}


def labels(rig: Rig) -> list[str]:
    return [mark.label for mark in rig.store.marks.chain("r1")]


def test_the_anchor_moves_and_the_run_waits_for_an_explicit_resume(engine: Rig) -> None:
    """R228, R253, R254, R256, R259: dropped outputs, kept counters and identity, the event with all its keys."""
    engine.run(STEPS)
    before, was, told = engine.head().spent, engine.store.runs.get("r1"), len(engine.events())
    rewound = rewind(engine, "b")
    record = rewound.record
    assert record.status == RunStatus.PAUSED_OPERATOR
    assert record.explicit_resume_required
    assert (record.error, record.failure_code) == ("", "")
    assert (record.name, record.inputs, record.digest) == (was.name, was.inputs, was.digest)
    assert (engine.head().node_id, engine.head().completed, engine.head().spent) == ("b", False, before)
    assert [*engine.outputs()] == ["a"]
    (event,) = engine.events("run_rewound")
    assert len(engine.events()) == told + 2
    assert (event.data["from_node"], event.data["to_node"]) == ("c", "b")
    assert event.data["dropped_nodes"] == ["b", "c"]
    keys = "tombstoned_artifacts orphaned_child_runs promoted_from files_reverted files_ref files_revert_commit"
    keys += " files_backup_ref files_skip_reason files_restore_scope files_scope_count files_overwritten"
    keys += " files_overwritten_paths files_left_in_place files_left_in_place_paths from_node to_node dropped_nodes"
    assert event.data.keys() == set(keys.split())
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert not engine.store.runs.get("r1").explicit_resume_required


@pytest.mark.parametrize("status", [status for status in RunStatus if can_be_rewound(status)])
def test_every_status_that_stopped_short_can_be_rewound(engine: Rig, status: RunStatus) -> None:
    """R230, R056: failed, failed_resumable, cancelled, both pauses and queued."""
    if status == RunStatus.PAUSED_WAITING_HUMAN:
        engine.run(ASKING)
    else:
        engine.run(STEPS.replace("c -> done", "c -> fail").replace("; test -e ok", ""))
    if status not in (RunStatus.PAUSED_WAITING_HUMAN, RunStatus.FAILED):
        with engine.store.database.write_raw() as cursor:
            cursor.execute("UPDATE run SET status = ?", (status,))
    assert engine.store.runs.get("r1").status == status
    assert rewind(engine, "a", keep_files=True).record.status == RunStatus.PAUSED_OPERATOR
    assert engine.head().pending is None


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.FINISHED])
def test_a_run_that_runs_or_finished_is_not_rewound(engine: Rig, status: RunStatus) -> None:
    """R229: refused, unaltered."""
    engine.run(STEPS)
    with engine.store.database.write_raw() as cursor:
        cursor.execute("UPDATE run SET status = ?", (status,))
    with pytest.raises(WrongStatus):
        rewind(engine, "a")
    assert engine.head().node_id == "c"


def test_nodes_that_are_unknown_or_were_not_reached_are_refused_with_those_that_were(engine: Rig) -> None:
    """R232, and the scope is looked at first."""
    engine.run(STEPS.replace("echo two > shared;", "exit 1;"))
    with pytest.raises(PivotInvalid, match="not reached") as refused:
        rewind(engine, "c")
    assert "a, b" in refused.value.hint
    with pytest.raises(PivotInvalid, match="ghost"):
        rewind(engine, "ghost")
    with pytest.raises(BadInput, match="scope"):
        rewind(engine, "a", scope="everything")
    assert engine.store.runs.get("r1").status == RunStatus.FAILED_RESUMABLE


def test_without_a_checkpoint_there_is_nothing_to_rewind(engine: Rig) -> None:
    """R231."""
    engine.run(STEPS)
    with engine.store.database.write_raw() as cursor:
        cursor.execute("DELETE FROM checkpoint")
    with pytest.raises(NothingToRewind, match="nothing to rewind"):
        rewind(engine, "a")


def test_a_resume_that_came_first_makes_the_rewind_lose(engine: Rig) -> None:
    """R233: the lock is held, nothing changes."""
    engine.run(STEPS)
    before = engine.store.runs.get("r1")
    lock = RunLock(engine.store.root, "r1", owner_here(""))
    assert lock.acquire()
    with pytest.raises(LockHeld):
        rewind(engine, "a")
    lock.release()
    assert engine.store.runs.get("r1") == before
    assert files(engine)["shared"] == "two\n"


def test_a_record_that_changed_meanwhile_is_a_conflict_that_says_what_may_have_happened(engine: Rig) -> None:
    """R267: somebody cancels between the claim and the save; nothing of the rewind is saved."""
    engine.run(STEPS)
    head, version = engine.head(), engine.store.runs.get("r1").version
    engine.engine.cancel("r1")
    event = NewEvent(EventType.RUN_REWOUND)
    late = Rewinding(version, rewound_head(head, "a", frozenset("abc")), frozenset("abc"), frozenset("abc"), event)
    with pytest.raises(RunConflict, match="may already be restored"):
        engine.store.rewinds.save("r1", late)
    assert engine.head().node_id == "c"
    assert engine.store.runs.get("r1").status == RunStatus.CANCELLED
    assert [*engine.outputs()] == ["a", "b"]


def test_a_restore_that_fails_leaves_the_run_resumable_where_it_was(engine: Rig) -> None:
    """R371: the checkpoint is unedited."""
    engine.run(STEPS)
    for kept in (engine.store.root / "workspace-objects").glob("[0-9a-f][0-9a-f]/*"):
        if kept.read_bytes() == b"one\n":
            kept.unlink()
    with pytest.raises(RestoreFailed):
        rewind(engine, "b")
    assert files(engine)["shared"] == "two\n"
    assert engine.head().node_id == "c"
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED


def test_artifacts_are_taken_back_and_numbered_on(engine: Rig) -> None:
    """R255: old versions stay readable, a new one is appended behind the mark, no second mark."""
    engine.run(STEPS)
    assert engine.document()["artifacts"]["plan"]["version"] == 0
    rewind(engine, "a", keep_files=True)
    assert engine.document()["artifacts"] == {}
    rewind(engine, "a", keep_files=True)
    assert [each.labels for each in engine.store.artifacts.versions("r1")] == [(), ("rewound",)]
    engine.resume()
    assert engine.document()["artifacts"]["plan"]["version"] == 2
    assert engine.store.artifacts.versions("r1")[0].data == {"v": "a"}


def test_an_edited_source_needs_force_to_go_on_but_not_to_rewind(engine: Rig) -> None:
    """R235, R366: rewinding checks no digest, the resume does."""
    engine.run(STEPS)
    engine.bot(STEPS.replace("echo b >>", "echo B >>"))
    rewind(engine, "b")
    engine.write("ok")
    with pytest.raises(SourceChanged):
        engine.resume()
    assert engine.resume(force=True).status == RunStatus.FINISHED
    assert engine.trace() == ["a", "B", "c"]


def test_a_source_that_moved_is_named(engine: Rig, tmp_path: Path) -> None:
    """R363: the graph is that of the file."""
    engine.run(STEPS)
    (tmp_path / "main.bot").rename(tmp_path / "moved.bot")
    assert rewind(engine, "b", file=tmp_path / "moved.bot").data["to_node"] == "b"


def test_a_question_is_withdrawn_and_asked_anew(engine: Rig) -> None:
    """R257: pending gone; answers of before the rewind are not used again."""
    engine.run(ASKING)
    rewind(engine, "a")
    assert engine.head().pending is None
    assert engine.store.interactions.pending("r1") == ()
    assert engine.resume().status == RunStatus.PAUSED_WAITING_HUMAN
    engine.resume(answers={"ok": True})
    rewind(engine, "gate")
    assert engine.resume().status == RunStatus.PAUSED_WAITING_HUMAN


def test_auto_prints_what_differs_and_refuses_what_is_unclear(engine: Rig) -> None:
    """R237, R245, R246: the edited node; a comment is no edit; no recorded source."""
    engine.run(STEPS)
    engine.bot("# only a comment\n" + STEPS)
    with pytest.raises(NothingToRewind, match="nothing that counts differs"):
        rewind(engine, auto=True)
    engine.bot(STEPS.replace("echo two", "echo three"))
    assert rewind(engine, auto=True).changes == {"b": "`command` differs"}
    with engine.store.database.write_raw() as cursor:
        cursor.execute("DELETE FROM run_source")
    with pytest.raises(NothingToRewind, match="recorded no source"):
        rewind(engine, auto=True)
    assert rewind(engine, "a").data["to_node"] == "a"


def test_a_source_that_was_too_large_to_record_whole_is_refused(engine: Rig) -> None:
    """R247, R248."""
    engine.run(STEPS)
    with engine.store.database.write_raw() as cursor:
        cursor.execute("UPDATE run_source SET main_only = 1")
    with pytest.raises(NothingToRewind, match="only the main file"):
        rewind(engine, auto=True)


def test_a_second_auto_compares_with_the_text_that_ran_last(engine: Rig) -> None:
    """R159, R251."""
    engine.run(STEPS)
    engine.bot(STEPS.replace("echo b >>", "echo B >>"))
    rewind(engine, auto=True)
    engine.resume(force=True)
    engine.bot(STEPS.replace("echo b >>", "echo B >>").replace("echo c >>", "echo C >>"))
    assert [*rewind(engine, auto=True).changes] == ["c"]


def test_files_are_as_they_were_before_the_node_and_the_present_ones_are_banked(engine: Rig) -> None:
    """R278, R273: what a failed node left goes, what the run never touched stays."""
    engine.write("mine", "untouched")
    engine.run(STEPS)
    assert "c.txt" in files(engine)
    data = rewind(engine, "b").data
    assert files(engine) == {"trace": "a\n", "shared": "one\n", "mine": "untouched"}
    assert (data["files_reverted"], data["files_ref"]) == (True, "pre:b:0")
    assert data["files_backup_ref"] == "rewind-backup:b:0"
    assert "rewind-backup:b:0" in labels(engine)


def test_two_rewinds_to_one_node_keep_two_banks(engine: Rig) -> None:
    """R270 in a plain folder: number 0 and 1."""
    engine.run(STEPS)
    rewind(engine, "b")
    engine.resume()
    rewind(engine, "b")
    assert {"rewind-backup:b:0", "rewind-backup:b:1"} <= set(labels(engine))
    assert files(engine) == {"trace": "a\n", "shared": "one\n"}


@pytest.mark.parametrize("values", [{"scope": "none"}, {"keep_files": True}])
def test_files_are_kept_when_asked(engine: Rig, values: dict[str, Any]) -> None:
    """R271: untouched, and the reason is given."""
    engine.run(STEPS)
    before = files(engine)
    data = rewind(engine, "a", **values).data
    assert files(engine) == before
    assert (data["files_restore_scope"], data["files_skip_reason"]) == ("none", "files are kept as asked")


def test_what_a_person_made_while_the_run_waited_is_left_and_reported(engine: Rig) -> None:
    """R275: between the question and its answer."""
    engine.run(ASKING)
    engine.write("notes", "mine")
    engine.resume(answers={"ok": True})
    data = rewind(engine, "a").data
    assert files(engine) == {"notes": "mine"}
    assert data["files_scope_count"] == 1


def test_what_a_person_edited_between_failure_and_resume_is_left(engine: Rig) -> None:
    """R276: and what was edited since the last boundary is reported."""
    engine.run(STEPS)
    engine.write("mine", "1")
    engine.resume()
    engine.write("later", "1")
    data = rewind(engine, "b").data
    assert files(engine) == {"trace": "a\n", "shared": "one\n", "mine": "1", "later": "1"}
    assert data["files_left_in_place_paths"] == ["later"]
    assert data["files_overwritten"] == 0


def test_a_restored_file_that_somebody_else_changed_is_reported_as_overwritten(engine: Rig) -> None:
    """R277."""
    engine.run(STEPS)
    engine.write("shared", "a person's")
    data = rewind(engine, "b").data
    assert files(engine)["shared"] == "one\n"
    assert (data["files_overwritten"], data["files_overwritten_paths"]) == (1, ["shared"])


def test_nothing_recorded_after_the_pivot_restores_nothing_and_says_so(engine: Rig) -> None:
    """R279."""
    engine.run(STEPS.replace("echo c >> trace; echo half > c.txt; ", ""))
    data = rewind(engine, "c").data
    assert (data["files_reverted"], data["files_backup_ref"]) == (False, "")
    assert "has changed no file since pre:c:0" in str(data["files_skip_reason"])


def test_a_resume_into_a_node_with_a_start_boundary_gets_its_own(engine: Rig) -> None:
    """R282: `resume` is written, `pre` is unchanged."""
    engine.run(STEPS)
    before = labels(engine)
    engine.resume()
    assert labels(engine)[: len(before)] == before
    assert labels(engine)[len(before) :] == ["resume:c:0", "fail:c:0"]


def test_the_workflow_inside_the_workspace_is_not_reverted(engine: Rig) -> None:
    """R287: full scope too."""
    engine.write("main.bot", STEPS)
    from engine.api import LaunchRequest

    engine.engine.launch(LaunchRequest(engine.workspace / "main.bot", engine.workspace, run_id="r1"))
    engine.write("main.bot", STEPS.replace("echo two", "echo three"))
    rewind(engine, "b", scope="full")
    assert "echo three" in files(engine)["main.bot"]
    assert files(engine)["shared"] == "one\n"


def test_a_computed_node_gets_its_boundary_from_the_next_capture(engine: Rig) -> None:
    text = STEPS.replace("a -> b", "a -> n\n  n -> b").replace(
        "workflow", 'compute n:\n  expr:\n    x: "1"\n\nworkflow'
    )
    engine.run(text)
    assert labels(engine) == ["pre:a:0", "post:a:0", "pre:n:0", "pre:b:0", "post:b:0", "pre:c:0", "fail:c:0"]
    rewind(engine, "n")
    assert files(engine)["shared"] == "one\n"


def test_a_workspace_that_is_too_large_costs_no_run_and_skips_the_restore(engine: Rig, clock: Any) -> None:
    engine.write("big", "x" * 100)
    small = engine.other(workspace_max_file=10)
    small.run(STEPS)
    small.write("big", "y" * 100)
    data = rewind(small, "b").data
    assert files(small)["big"] == "y" * 100
    assert data["files_left_in_place_paths"] == ["big"]


def test_switched_off_there_are_no_boundaries_and_a_rewind_says_so(engine: Rig) -> None:
    off = engine.other(workspace_boundaries=False)
    off.run(STEPS)
    assert labels(off) == []
    assert rewind(off, "b").data["files_skip_reason"] == "no boundary before node b is recorded"


def test_boundaries_add_no_commit(engine: Rig) -> None:
    """The rows of a boundary ride in the commit of its node (engine.md 2.2)."""
    seen: list[str] = []
    counts = []
    with engine.store.database.write_raw() as cursor:
        connection = cursor.connection
    connection.set_trace_callback(seen.append)
    for on in (True, False):
        seen.clear()
        engine.other(workspace_boundaries=on).run(STEPS, f"run-{on}")
        counts.append(seen.count("COMMIT"))
    connection.set_trace_callback(None)
    assert counts == [4, 4]


BRANCHES = """tool left:
  command: `echo l >> left; echo '{"n": 1}'`
  parallel_safe: true

tool right:
  command: `echo r >> right; test -e ok`
  parallel_safe: true

router fan:
  mode: fan_out_all

compute join:
  expr:
    n: "1"

workflow w:
  entry: fan
  fan -> left
  fan -> right
  left -> join
  right -> join
  join -> done
"""


def test_a_pivot_inside_branches_rewinds_to_their_router_and_replays_all(engine: Rig) -> None:
    """R260: anchored at the router, what was asked for is reported; files of both branches go."""
    engine.run(BRANCHES, ask={"max_parallel_branches": 1})
    data = rewind(engine, "left").data
    assert (data["to_node"], data["promoted_from"]) == ("fan", "left")
    assert files(engine) == {}
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert files(engine) == {"ok": "", "left": "l\n", "right": "r\n"}


PARENT = """subbot child:
  source: "child.bot"

tool after:
  command: `test -e ok`

workflow w:
  entry: child
  child -> after
  after -> done
"""
CHILD = """tool work:
  command: `echo child >> trace; test -e fine`

workflow c:
  entry: work
  work -> done
"""


def test_a_dropped_subbot_gets_a_fresh_child_and_the_old_one_is_left(engine: Rig) -> None:
    """R264, R265, R376: the pointer is released, the child listed and untouched."""
    engine.bot(CHILD, "child.bot")
    engine.run(PARENT)
    children = dict(engine.store.runs.get("r1").children)
    old = children["child"]
    before = engine.store.runs.get(old)
    assert rewind(engine, "child").data["orphaned_child_runs"] == [old]
    assert engine.store.runs.get("r1").children == {}
    assert engine.store.runs.get(old) == before
    engine.write("fine")
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED


def test_a_workspace_that_is_gone_is_a_reason_and_no_error(engine: Rig) -> None:
    engine.run(STEPS)
    engine.workspace.rename(engine.folder / "elsewhere")
    assert "is not there" in str(rewind(engine, "b").data["files_skip_reason"])


def test_an_edited_fragment_is_found_and_an_edited_child_is_not_seen(engine: Rig) -> None:
    """R249, R250: the whole unit was recorded; a child workflow is none of it, its node can be named."""
    (engine.folder / "lib").mkdir()
    engine.bot("tool work:\n  command: `echo w > w.txt`\n", "lib/x.bot")
    engine.bot(CHILD.replace("; test -e fine", ""), "child.bot")
    engine.run('import "lib/x.bot"\n\n' + PARENT.replace("entry: child", "entry: work\n  work -> child"))
    engine.bot(CHILD.replace("echo child", "echo CHILD"), "child.bot")
    with pytest.raises(NothingToRewind, match="nothing that counts differs"):
        rewind(engine, auto=True)
    assert rewind(engine, "child").data["to_node"] == "child"
    engine.bot("tool work:\n  command: `echo W > w.txt`\n", "lib/x.bot")
    assert [*rewind(engine, auto=True).changes] == ["work"]


def contents(rig: Rig) -> set[bytes]:
    return {kept.read_bytes() for kept in (rig.store.root / "workspace-objects").glob("[0-9a-f][0-9a-f]/*")}


def test_deleting_a_run_prunes_what_no_other_run_names(engine: Rig) -> None:
    engine.run(STEPS)
    rewind(engine, "a")
    engine.engine.cancel("r1")
    engine.run(STEPS.replace("two", "three"), "r2")
    engine.engine.delete("r1")
    assert b"two\n" not in contents(engine)
    assert {b"one\n", b"three\n"} <= contents(engine)


def test_nothing_is_pruned_when_a_boundary_cannot_be_read(engine: Rig) -> None:
    engine.run(STEPS)
    before = contents(engine)
    with engine.store.database.write_raw() as cursor:
        cursor.execute("UPDATE workspace_mark SET ref = 'gone' WHERE seq = 1")
        cursor.execute("DELETE FROM workspace_file")
    assert prune_pool(engine.store) == 0
    assert contents(engine) == before


def test_settings_of_boundaries_have_the_documented_defaults() -> None:
    settings = EngineSettings()
    assert (settings.workspace_boundaries, settings.workspace_max_file) == (True, 32 * 1024 * 1024)
