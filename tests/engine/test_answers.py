"""Questions and answers: forms, coercion, checks before the claim, reuse (engine.md 7.4, 7.5; language.md 5.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from engine.errors import InvalidAnswers, WrongStatus
from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.states import RunStatus
from tests.kit.engine import Rig, Script, scripted

FORM = """
schema answer:
  approved: bool
  note: string
  count: int
  ratio: float
  tags: string[]
  data: json
  colour: string [enum: "red", "blue"]
compute first:
  expr:
    plan: "'ship it'"
human gate:
  output: answer
  instructions: "Is the plan good?"
tool yes:
  command: `echo yes {{outputs.gate.note}} >> trace`
tool no:
  command: `echo no >> trace`
workflow w:
  entry: first
  first -> gate with { plan: "{{input.plan}}", steps: "one of 2" }
  gate -> yes when approved
  gate -> no when not approved
  yes -> done
  no -> done
"""
TYPED: dict[str, Any] = {
    "approved": True, "note": "n", "count": 4, "ratio": 2.5, "tags": ["a"], "data": {"k": None}, "colour": "red",
}  # fmt: skip
TEXTS = {
    "approved": "yes", "note": "n", "count": " 4 ", "ratio": "2.5", "colour": "red",
    "tags": '["a"]', "data": '{"k": null}',
}  # fmt: skip


def asked(engine: Rig, text: str = FORM) -> Rig:
    assert engine.run(text).status == RunStatus.PAUSED_WAITING_HUMAN
    return engine


def human(schema: str, rest: str = "", edges: str = "  gate -> done\n") -> str:
    return f"schema answer:\n{schema}human gate:\n  output: answer\n{rest}workflow w:\n  entry: gate\n{edges}"


def test_a_pause_stores_the_question_with_its_form(engine: Rig) -> None:
    """R001: one commit; the form in the order of the schema; the mapping shown read-only."""
    rig = asked(engine)
    pending = rig.document()["pending"]
    assert (pending["node_id"], pending["kind"], pending["interaction_id"]) == ("gate", "human", "r1_gate")
    assert pending["questions"] == {"plan": "ship it", "steps": "one of 2"}
    assert [field["name"] for field in pending["fields"]] == list(TYPED)
    assert pending["fields"][-1] == {"name": "colour", "type": "string", "enum": ["red", "blue"]}
    told = rig.events("human_input_requested")[0].data
    assert told["instructions"] == "Is the plan good?"
    assert rig.kinds()[-1] == "run_paused"


@pytest.mark.parametrize("values", [{"answers": TYPED}, {"texts": TEXTS}], ids=["typed", "texts"])
def test_answers_become_the_output_in_the_claim_commit(engine: Rig, values: Any) -> None:
    """R002, R120, R122, R123, R124, R126, R132: the same output either way; the question is consumed."""
    rig = asked(engine)
    record = rig.resume(**values)
    assert record.status == RunStatus.FINISHED
    assert rig.outputs()["gate"] == TYPED
    assert rig.trace() == ["yes n"]
    assert rig.document()["pending"] is None
    kinds = rig.kinds()
    start = kinds.index("human_answers_recorded")
    assert kinds[start : start + 3] == ["human_answers_recorded", "node_finished", "run_resumed"]
    assert rig.events("run_resumed")[0].data == {}


def test_texts_win_over_typed_values(engine: Rig) -> None:
    """R125."""
    rig = asked(engine)
    rig.resume(answers=TYPED, texts={"approved": "no", "note": "from flag"})
    assert (rig.outputs()["gate"]["approved"], rig.outputs()["gate"]["note"]) == (False, "from flag")


@pytest.mark.parametrize(
    ("texts", "typed", "named"),
    [
        ({**TEXTS, "count": "abc"}, None, "count"),
        ({**TEXTS, "count": "2.5"}, None, "count"),
        ({**TEXTS, "ratio": "much"}, None, "ratio"),
        ({**TEXTS, "approved": "maybe"}, None, "approved"),
        ({**TEXTS, "colour": "pink"}, None, "colour: wants one of red, blue"),
        ({**TEXTS, "tags": "a,b"}, None, "tags"),
        ({**TEXTS, "ghost": "1"}, None, "ghost"),
        ({name: text for name, text in TEXTS.items() if name != "note"}, None, "note"),
        ({}, {**TYPED, "note": 5}, "note"),
        ({}, {**TYPED, "approved": "true"}, "approved"),
        ({}, {**TYPED, "tags": ["a", 1]}, "tags"),
        ({}, {}, "approved"),
    ],
)
def test_answers_that_do_not_fit_name_their_field_and_change_nothing(
    engine: Rig, texts: dict[str, str], typed: dict[str, Any] | None, named: str
) -> None:
    """R420, R421, R422, R423, R425, decisions 19."""
    rig = asked(engine)
    before, events = rig.store.runs.get("r1"), rig.kinds()
    with pytest.raises(InvalidAnswers, match=named):
        rig.resume(texts=texts, answers=typed)
    assert rig.store.runs.get("r1") == before
    assert rig.kinds() == events


def test_no_answers_at_all_are_asked_for(engine: Rig) -> None:
    """R001."""
    rig = asked(engine)
    with pytest.raises(InvalidAnswers, match="got none") as refused:
        rig.resume()
    assert "approved" in refused.value.hint


def test_files_are_staged_first_and_only_for_file_fields(engine: Rig) -> None:
    """R127, R128, R129, R130: a descriptor that can be opened; a missing file is refused before the claim."""
    rig = asked(engine, human("  doc: file\n  handle: string\n"))
    note = rig.folder / "note.txt"
    note.write_text("hello\n")
    with pytest.raises(InvalidAnswers, match="no-such"):
        rig.resume(texts={"doc": f"@{rig.folder}/no-such", "handle": "x"})
    assert rig.store.runs.get("r1").status == RunStatus.PAUSED_WAITING_HUMAN
    assert rig.resume(texts={"doc": f"@{note}", "handle": "@bob"}).status == RunStatus.FINISHED
    gate = rig.outputs()["gate"]
    assert (gate["handle"], gate["doc"]["filename"], gate["doc"]["size"]) == ("@bob", "note.txt", 6)
    assert Path(gate["doc"]["path"]).read_text() == "hello\n"


def test_a_doubled_at_is_the_text_itself(engine: Rig) -> None:
    """R129."""
    rig = asked(engine, human("  doc: file\n"))
    rig.resume(texts={"doc": "@@note"})
    assert rig.outputs()["gate"] == {"doc": "@note"}


def test_min_answers_are_enough_and_the_rest_is_null(engine: Rig) -> None:
    """R139, decisions 18."""
    rig = asked(engine, human("  a: string\n  b: string\n  c: string\n", "  min_answers: 2\n"))
    with pytest.raises(InvalidAnswers, match="2 answers are needed"):
        rig.resume(texts={"a": "1", "b": ""})
    rig.resume(texts={"a": "1", "c": "3"})
    assert rig.outputs()["gate"] == {"a": "1", "b": None, "c": "3"}


def test_a_question_without_a_form_takes_any_map_but_none_at_all(engine: Rig) -> None:
    """R426."""
    rig = asked(engine, 'human gate:\n  description: "x"\nworkflow w:\n  entry: gate\n  gate -> done\n')
    with pytest.raises(InvalidAnswers):
        rig.resume(answers={})
    rig.resume(answers={"anything": {"deep": 1}}, texts={"more": "text"})
    assert rig.outputs()["gate"] == {"anything": {"deep": 1}, "more": "text"}


def test_answers_without_an_edge_are_kept_and_used_again(engine: Rig) -> None:
    """R133, R137, 7.5 "answered earlier": not asked again; new answers replace them."""
    rig = asked(engine, human("  note: string\n", edges=""))
    record = rig.resume(texts={"note": "precious"})
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.NO_OUTGOING_EDGE)
    assert rig.head().node_id == "gate"
    with pytest.raises(InvalidAnswers, match="ghost"):
        rig.resume(texts={"ghost": "1"})
    assert rig.resume().failure_code == FailureCode.NO_OUTGOING_EDGE
    assert rig.resume(texts={"note": "newer"}).failure_code == FailureCode.NO_OUTGOING_EDGE
    assert rig.outputs()["gate"] == {"note": "newer"}
    rig.bot(human("  note: string\n"))
    assert rig.resume(force=True).status == RunStatus.FINISHED
    assert len(rig.events("human_input_requested")) == 1


def test_two_iterations_never_share_a_question(engine: Rig) -> None:
    """R377: r1_one, then r1_one_1; nothing upstream repeats."""
    text = human(
        "  text: string\n",
        "tool look:\n  command: `echo look >> trace`\n",
        "  gate -> look as l(5) when \"text == 'again'\"\n  gate -> done else\n  look -> gate\n",
    )
    rig = asked(engine, text)
    assert rig.document()["pending"]["interaction_id"] == "r1_gate"
    rig.resume(texts={"text": "again"})
    assert rig.document()["pending"]["interaction_id"] == "r1_gate_1"
    assert rig.resume(texts={"text": "enough"}).status == RunStatus.FINISHED
    assert rig.trace() == ["look"]


def test_a_lost_question_row_is_rebuilt_from_the_head(engine: Rig) -> None:
    """R136."""
    rig = asked(engine)
    with rig.store.database.write() as connection:
        connection.execute(sql("DELETE FROM interaction"))
    assert rig.document()["pending"]["questions"]["plan"] == "ship it"
    assert rig.resume(answers=TYPED).status == RunStatus.FINISHED
    assert rig.store.interactions.all("r1")[0].answers == TYPED


def test_a_cancelled_question_is_asked_again(engine: Rig) -> None:
    """R005: resumed by a person it asks again; a finished run cannot be cancelled."""
    rig = asked(engine, human("  ok: bool\n"))
    assert rig.engine.cancel("r1").status == RunStatus.CANCELLED
    assert rig.document()["pending"] is None
    assert rig.resume().status == RunStatus.PAUSED_WAITING_HUMAN
    assert rig.resume(texts={"ok": "on"}).status == RunStatus.FINISHED
    with pytest.raises(WrongStatus, match="finished"):
        rig.engine.cancel("r1")


def test_answers_are_a_published_artifact(engine: Rig) -> None:
    """R131."""
    rig = asked(engine, human("  verdict: string\n", "  publish: review\n"))
    rig.resume(texts={"verdict": "good"})
    assert rig.document()["artifacts"] == {"review": {"version": 0, "data": {"verdict": "good"}}}


def test_a_recovery_pause_runs_the_failed_node_again(engine: Rig) -> None:
    """R106, R107, R108, R109, R111: acknowledged, not turned into output."""
    script = Script(Failed(FailureCode.AUTH_FAILED, "401"), Completed({"from": "node"}))
    rig = engine.other(**scripted(script))
    record = rig.run('compute a:\n  expr:\n    x: "1"\nworkflow w:\n  entry: a\n  a -> done\n')
    assert record.status == RunStatus.PAUSED_WAITING_HUMAN
    pending = rig.document()["pending"]
    assert (pending["kind"], pending["questions"]["recovery_code"]) == ("recovery", "AUTH_FAILED")
    assert rig.head().recovery_pause
    assert rig.resume(texts={"acknowledge_recovery": "continue"}).status == RunStatus.FINISHED
    assert rig.outputs()["a"] == {"from": "node"}
    assert rig.events("run_resumed")[0].data == {
        "resumed_from": "recovery_pause",
        "restart_node": "a",
        "recovery_code": "AUTH_FAILED",
    }
    assert rig.store.interactions.all("r1")[0].answers == {"acknowledge_recovery": "continue"}
