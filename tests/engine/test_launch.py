"""Launching: what refuses it before anything is stored, and what the first commit holds (engine.md 1.3, 3.4)."""

from __future__ import annotations

import pytest

from engine.api import LaunchRequest
from engine.dsl.graph import NodeKind
from engine.errors import InvalidId, InvalidVars, RunConflict, SourceInvalid, SourceMissing
from engine.outcome import Completed
from engine.states import RunStatus
from tests.kit.engine import Rig, Script, scripted

ONE = "tool a:\n  command: `echo a >> trace`\nworkflow w:\n  {more}entry: a\n  a -> done\n"
AGENT = 'agent a:\n  backend: scripted\n  user: "hi"\nworkflow w:\n  entry: a\n  a -> done\n'
ROUTED = (
    'router r:\n  mode: llm\n  backend: scripted\ncompute x:\n  expr:\n    a: "1"\ncompute y:\n  expr:\n    a: "1"\n'
    "workflow w:\n  entry: r\n  r -> x -> done\n  r -> y -> done\n"
)
ANSWERED = (
    'schema s:\n  ok: bool\nhuman h:\n  interaction: llm\n  model: "m"\n  output: s\n'
    "workflow w:\n  entry: h\n  h -> done\n"
)


def one(more: str = "") -> str:
    return ONE.replace("{more}", more)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (AGENT, "X001 node a is of kind agent: it asks a model, and this build asks none"),
        (ROUTED, "X001 node r lets a model choose its edge"),
        (ANSWERED, "X001 node h lets a model answer its question"),
        ("workflow w:\n  entry: nowhere\n", "nowhere"),
    ],
)
def test_what_this_build_does_not_run_is_refused_and_leaves_nothing(engine: Rig, text: str, said: str) -> None:
    """R025: no run row."""
    with pytest.raises(SourceInvalid, match=said) as refused:
        engine.run(text)
    assert refused.value.hint
    assert engine.store.runs.list().records == ()


def test_a_missing_file_and_a_bad_id_leave_nothing(engine: Rig) -> None:
    """R440."""
    with pytest.raises(SourceMissing, match=r"gone\.bot"):
        engine.engine.launch(LaunchRequest(engine.folder / "gone.bot", engine.workspace))
    for run_id in ("../evil", "a/b", "", ".hidden", "x" * 300):
        with pytest.raises(InvalidId):
            engine.run(one(), run_id)
    assert engine.store.runs.list().records == ()
    assert not list(engine.folder.glob("**/evil*"))


def test_an_id_is_used_once(engine: Rig) -> None:
    """R034: also after the run was deleted."""
    engine.run(one())
    with pytest.raises(RunConflict, match="r1"):
        engine.run(one())
    engine.engine.delete("r1")
    with pytest.raises(RunConflict, match="deleted"):
        engine.run(one())
    assert engine.trace() == ["a"]


def test_a_required_value_is_named(engine: Rig) -> None:
    with pytest.raises(InvalidVars, match="need"):
        engine.run("vars:\n  need: string\n" + one())


def test_worktree_and_sandbox_absent_mean_in_place(engine: Rig) -> None:
    """R488."""
    engine.run("tool a:\n  command: `pwd > where`\nworkflow w:\n  entry: a\n  a -> done\n")
    assert engine.trace("where") == [str(engine.workspace)]


def test_the_first_commit_holds_head_and_start(engine: Rig) -> None:
    """3.4, first row: the entry, not completed, in the commit of the launch."""
    seen: list[object] = []
    script = Script(Completed({}), then=lambda _: seen.extend([engine.head(), engine.kinds()]))
    rig = engine.other(**scripted(script, NodeKind.TOOL))
    assert rig.run(one()).status == RunStatus.FINISHED
    head, kinds = seen
    assert (head.node_id, head.completed) == ("a", False)  # type: ignore[attr-defined]
    assert kinds == ["run_started", "node_started"]
