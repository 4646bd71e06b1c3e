"""What the end and the output of a process mean (language.md 5.5, engine.md 6.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.capture import Captured
from engine.dsl.graph import NodeKind
from engine.errors import SourceInvalid
from engine.failures import FailureCode
from engine.nodes.base import Limit
from engine.nodes.kinds import NODE_KINDS
from engine.nodes.tool import output_of, verdict
from engine.process import ProcessEnd
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.engine import Rig, real_rig

LIMIT = Limit(2.0, FailureCode.BUDGET_EXCEEDED, "max_duration of 2 s")


def captured(text: str = "", total: int = 0) -> Captured:
    raw = text.encode()
    return Captured(raw, raw[-8:], total or len(raw), None, 0)


def ended(code: int = 0, signal: int = 0, *, timed_out: bool = False, stopped: bool = False) -> ProcessEnd:
    return ProcessEnd(code, signal, timed_out, stopped, False, captured("out"), captured("err"), 0.1)


@pytest.mark.parametrize(
    ("end", "shell", "code"),
    [
        (ended(0), True, None),
        (ended(1), True, FailureCode.EXECUTION_FAILED),
        (ended(75), True, FailureCode.TOOL_FAILED_TRANSIENT),
        (ended(75), False, FailureCode.TOOL_FAILED_TRANSIENT),
        (ended(126), True, FailureCode.TOOL_FAILED_PERMANENT),
        (ended(127), False, FailureCode.TOOL_FAILED_PERMANENT),
        (ended(128), True, FailureCode.EXECUTION_FAILED),
        (ended(129), True, FailureCode.TOOL_FAILED_TRANSIENT),
        (ended(159), True, FailureCode.TOOL_FAILED_TRANSIENT),
        (ended(160), True, FailureCode.EXECUTION_FAILED),
        (ended(137), False, FailureCode.EXECUTION_FAILED),
        (ended(-1, 9), False, FailureCode.TOOL_FAILED_TRANSIENT),
        (ended(-1, 15, timed_out=True), True, FailureCode.BUDGET_EXCEEDED),
        (ended(-1, 15, stopped=True), True, FailureCode.INTERRUPTED),
    ],
)
def test_an_end_has_one_code(end: ProcessEnd, shell: bool, code: FailureCode | None) -> None:
    """R430 to R434: by exit status alone."""
    failed = verdict(end, shell=shell, limit=LIMIT)
    assert (failed.code if failed else None) == code


def test_an_error_carries_the_end_of_both_streams() -> None:
    failed = verdict(ended(9), shell=True, limit=LIMIT)
    assert failed is not None
    assert "stdout: out" in failed.message
    assert "stderr: err" in failed.message


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\n  {"x": true} \n\n', {"x": True}),
        ("[1,2]", {"result": "[1,2]"}),
        ("42", {"result": "42"}),
        ("", {"result": ""}),
        ('log\n{"a":1}', {"result": 'log\n{"a":1}'}),
        ('{"a": NaN}', {"result": '{"a": NaN}'}),
        ('{"a": 1} {"b": 2}', {"result": '{"a": 1} {"b": 2}'}),
        ("\n\t in the middle \n", {"result": "in the middle"}),
    ],
)
def test_one_object_is_the_output_and_anything_else_is_text(text: str, output: dict[str, object]) -> None:
    assert output_of(captured(text)) == output


def test_a_flood_is_marked() -> None:
    """R437."""
    assert output_of(captured("xx", total=9)) == {"result": "xx", "_truncated": True}


def test_every_kind_of_node_has_a_row() -> None:
    assert set(NODE_KINDS) == set(NodeKind)


def test_a_tool_sees_its_run_and_no_secret(engine: Rig) -> None:
    """R439, 12.4."""
    rig = engine.other(
        environment={"PLAIN": "seen", "MY_TOKEN": "hidden", "FORGE": "hidden", "POINTSMAN_AUTO_RESUME": "3"},
        secret_names=frozenset({"FORGE"}),
    )
    rig.run("tool t:\n  command: `env > env`\nworkflow w:\n  entry: t\n  t -> done\n")
    seen = dict(line.split("=", 1) for line in rig.trace("env") if "=" in line)
    assert seen["PLAIN"] == "seen"
    assert seen["PROJECT_DIR"] == str(rig.workspace)
    assert seen["POINTSMAN_RUN_ID"] == "r1"
    assert seen["POINTSMAN_STORE_DIR"] == str(rig.store.root)
    assert seen["ITERION_ARTIFACT_FILES_DIR"] == seen["POINTSMAN_ARTIFACT_FILES_DIR"]
    assert not seen["PROJECT_SCRATCH_DIR"].startswith(str(rig.workspace))
    assert "hidden" not in "".join(seen.values())
    assert "POINTSMAN_AUTO_RESUME" not in seen


def test_a_script_for_node_is_no_machine_code(engine: Rig) -> None:
    """language.md 5.5: `node` and `js` are one language, and `.node` is the ending of something else."""
    text = "tool t:\n  language: node\n  script: `console.log('{\"n\":1}')`\nworkflow w:\n  entry: t\n  t -> done\n"
    assert engine.run(text).status == RunStatus.FINISHED
    assert engine.outputs()["t"] == {"n": 1}


def test_a_command_takes_a_whole_output_of_another_node(engine: Rig) -> None:
    """language.md 17: 1 MiB lies inline, and one argument of a process is bounded at an eighth of it."""
    text = """
tool great:
  command: `printf '%0300000d' 7`
tool count:
  command: `printf %s {{outputs.great.result}} | wc -c; exit ${CODE:-0}`
workflow w:
  entry: great
  great -> count -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    assert engine.outputs()["count"] == {"result": "300000"}


def test_a_workspace_that_a_tool_removed_is_named(engine: Rig) -> None:
    """6.4: exit 127 is a command that is not there, which no machine tries again; a folder may come back."""
    text = 'tool a:\n  command: `rm -r "$PROJECT_DIR"`\ntool b:\n  command: `true`\nworkflow w:\n  entry: a\n'
    record = engine.run(text + "  a -> b -> done\n")
    assert (record.failure_code, engine.head().node_id) == (FailureCode.EXECUTION_FAILED, "b")
    assert f"the workspace {engine.workspace} is not there" in record.error


def test_a_limit_from_the_environment_that_is_none_fails_the_node(engine: Rig) -> None:
    """language.md 2.6: nothing runs, or waits, without the limit that it was to have."""
    tail = "workflow w:\n  entry: t\n  t -> done\n"
    rig = engine.other(environment={"LIMIT": "20"})
    for number, text in enumerate(
        (
            'tool t:\n  command: `echo x >> trace`\n  timeout: "$LIMIT"\n',
            'wait t:\n  event: "e"\n  timeout: "$LIMIT"\n',
            'wait t:\n  event: "e"\n  timeout: "$NOT_SET"\n',
        )
    ):
        record = rig.run(text + tail, run_id=f"r{number}")
        assert record.failure_code == FailureCode.EXPRESSION_FAILED
        assert "no duration" in record.error
    assert not (rig.workspace / "trace").exists()


def test_scripts_in_each_language_read_their_values(engine: Rig) -> None:
    text = """
vars:
  name: string = `O'Neil "x"`
tool py:
  language: py
  script: |
    from __future__ import annotations
    import json
    print(json.dumps({"name": {{vars.name}}, "flag": true, "none": {{input.gone}}}))
tool shell:
  script: |
    echo {{vars.name}} {{outputs.py.flag}}
workflow w:
  entry: py
  py -> shell
  shell -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    assert engine.outputs()["py"] == {"name": 'O\'Neil "x"', "flag": True, "none": None}
    assert engine.outputs()["shell"] == {"result": 'O\'Neil "x" true'}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "budget", "code"),
    [
        ({"timeout": 0.5}, "", FailureCode.TIMEOUT),
        ({}, '  budget:\n    max_duration: "500ms"\n', FailureCode.BUDGET_EXCEEDED),
        ({}, "", FailureCode.TIMEOUT),
    ],
    ids=["--timeout", "max_duration", "the node's own"],
)
def test_the_tightest_limit_names_the_code(
    store: Store, tmp_path: Path, values: dict[str, float], budget: str, code: FailureCode
) -> None:
    """R199, R210, R435: the whole group is gone, nothing is retried in place."""
    rig = real_rig(store, tmp_path)
    own = "" if values or budget else '  timeout: "500ms"\n'
    command = "echo x >> trace; (sleep 2; echo late > late) & sleep 30"
    text = f"tool t:\n  command: `{command}`\n{own}workflow w:\n{budget}  entry: t\n  t -> done\n"
    record = rig.run(text, **values)
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, code)
    assert rig.head().node_id == "t"
    assert rig.trace() == ["x"]
    assert not rig.events("node_recovery")
    assert not rig.trace("late")


VERIFIED = """
tool make:
  command: `echo x >> trace; {command}`
  goal: "the file is there"
  postcondition: `test "$(wc -l < trace)" -ge {wanted}`
  policy: {policy}
{recovery}
workflow w:
  entry: make
  make -> done
"""


def verified(policy: str, wanted: int, recovery: str = "", command: str = "true") -> str:
    made = VERIFIED.replace("{policy}", policy).replace("{wanted}", str(wanted)).replace("{recovery}", recovery)
    return made.replace("{command}", command)


@pytest.mark.parametrize(
    ("policy", "wanted", "recovery", "status", "runs"),
    [
        ("required", 1, "", RunStatus.FINISHED, 1),
        ("required", 2, "", RunStatus.FAILED_RESUMABLE, 1),
        ("best_effort", 2, "", RunStatus.FINISHED, 1),
        ("recover", 2, "", RunStatus.FINISHED, 2),
        ("recover", 3, "", RunStatus.FAILED_RESUMABLE, 2),
        ("recover", 3, "  recovery:\n    max_repair_attempts: 2\n", RunStatus.FINISHED, 3),
        ("recover", 2, "  recovery:\n    max_repair_attempts: 0\n", RunStatus.FAILED_RESUMABLE, 1),
    ],
)
def test_a_postcondition_is_seen_to(
    engine: Rig, policy: str, wanted: int, recovery: str, status: RunStatus, runs: int
) -> None:
    """language.md 5.5: what a command left behind is looked at, not what it says."""
    record = engine.run(verified(policy, wanted, recovery))
    assert (record.status, len(engine.trace())) == (status, runs)
    if status is RunStatus.FAILED_RESUMABLE:
        assert record.failure_code == FailureCode.EXECUTION_FAILED
        assert "the postcondition does not hold (exit code 1)" in record.error


def test_a_command_that_fails_is_not_asked_for_its_postcondition(engine: Rig) -> None:
    record = engine.run(verified("recover", 1, command="exit 127"))
    assert (record.failure_code, engine.trace()) == (FailureCode.TOOL_FAILED_PERMANENT, ["x"])


def test_a_repair_by_a_model_is_refused_at_launch(engine: Rig) -> None:
    """X001: nobody here runs it."""
    with pytest.raises(SourceInvalid, match="max_agent_attempts"):
        engine.run(verified("recover", 1, "  recovery:\n    max_agent_attempts: 1\n"))
