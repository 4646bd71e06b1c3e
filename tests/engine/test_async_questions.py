"""Questions that do not stop the run, and the node that waits for their answers (engine.md 7.4, 7.5)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from engine.api import AnswerRequest, ResumeRequest, RewindRequest
from engine.dsl.graph import NodeKind
from engine.errors import InvalidAnswers, WrongStatus
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Outcome, Question
from engine.states import RunStatus
from engine.store.changes import AnswersAccepted
from engine.store.store import Store
from tests.kit.cli import pointsman
from tests.kit.engine import Rig, real_rig

ASKS = """
tool asker:
  command: `true`
compute between:
  expr:
    n: "1"
await_answers sync:
  from: asker
  timeout: "{timeout}"
workflow w:
  entry: asker
  asker -> between -> sync
  sync -> {end}
"""
NUMBER = ({"name": "n", "type": "int"},)


def asking(*questions: Question) -> Any:
    """A tool that asks and goes on."""

    def run(context: NodeContext) -> Outcome:
        return Completed({"asked": [context.ask(question) for question in questions]})

    return run


def asks(rig: Rig, *questions: Question) -> Rig:
    return rig.other(nodes={NodeKind.TOOL: asking(*questions)})


def text(timeout: str = "2s", end: str = "done") -> str:
    return ASKS.replace("{timeout}", timeout).replace("{end}", end)


WHO = Question("async", {"question": "Who?"})
HOW_MANY = Question("async", {"question": "How many?"}, NUMBER, "Count them.")


def test_a_run_goes_on_with_what_was_answered_meanwhile(store: Store, tmp_path: Path) -> None:
    """7.5: the question is asked, the run works on, the answer comes while it waits."""
    rig = asks(real_rig(store, tmp_path), WHO, HOW_MANY)

    def answer_both() -> None:
        looking = threading.Event()
        while "sync" not in [event.node_id for event in rig.events("node_started")]:
            looking.wait(0.01)
        rig.engine.answer(AnswerRequest("r1", "r1_asker_q1", {"answer": "me"}))
        rig.engine.answer(AnswerRequest("r1", texts={"n": "3"}))

    helper = threading.Timer(0.0, answer_both)
    launched = threading.Thread(target=rig.run, args=(text("60s"),))
    launched.start()
    while not rig.store.runs.list().records:
        threading.Event().wait(0.01)
    helper.start()
    launched.join(60)
    helper.join(60)
    assert rig.document()["status"] == RunStatus.FINISHED
    assert rig.outputs()["sync"] == {
        "answers": [
            {"interaction_id": "r1_asker_q1", "node": "asker", "question": "Who?", "answer": "me"},
            {"interaction_id": "r1_asker_q2", "node": "asker", "question": "How many?", "answer": {"n": 3}},
        ]
    }
    asked = [event.data for event in rig.events("human_input_requested")]
    assert [data["async"] for data in asked] == [True, True]
    assert asked[1]["instructions"] == "Count them."
    assert [event.data["interaction_id"] for event in rig.events("interaction_answered")] == [
        "r1_asker_q1",
        "r1_asker_q2",
    ]


def test_what_nobody_answers_is_a_timeout_and_an_answer_to_the_stopped_run_helps(engine: Rig) -> None:
    rig = asks(engine, HOW_MANY)
    record = rig.run(text())
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.TIMEOUT)
    with pytest.raises(InvalidAnswers, match="n: wants an integer"):
        rig.engine.answer(AnswerRequest("r1", texts={"n": "many"}))
    with pytest.raises(InvalidAnswers) as refused:
        rig.engine.resume(ResumeRequest("r1", texts={"n": "3"}))
    assert "pointsman answer" in refused.value.hint
    rig.engine.answer(AnswerRequest("r1", answers={"n": 3}))
    assert rig.resume().status == RunStatus.FINISHED
    assert rig.outputs()["sync"]["answers"][0]["answer"] == {"n": 3}


def test_a_node_that_runs_again_asks_the_same_questions(engine: Rig) -> None:
    """At-least-once: the answer of the first execution stays."""
    calls = []

    def run(context: NodeContext) -> Outcome:
        calls.append(context.ask(WHO))
        if len(calls) == 1:
            engine.engine.answer(AnswerRequest("r1", texts={"answer": "me"}))
            raise OSError("broken")
        return Completed({})

    rig = engine.other(nodes={NodeKind.TOOL: run})
    assert rig.run(text()).status == RunStatus.FAILED_RESUMABLE
    assert rig.resume().status == RunStatus.FINISHED
    assert calls == ["r1_asker_q1", "r1_asker_q1"]
    assert rig.outputs()["sync"]["answers"][0]["answer"] == "me"


def test_which_question_is_meant_has_to_be_clear(engine: Rig) -> None:
    rig = asks(engine, WHO, WHO)
    rig.run(text())
    with pytest.raises(InvalidAnswers, match="has 2 open questions"):
        rig.engine.answer(AnswerRequest("r1", texts={"answer": "x"}))
    with pytest.raises(InvalidAnswers, match="no open question q9"):
        rig.engine.answer(AnswerRequest("r1", "q9", texts={"answer": "x"}))
    rig.engine.answer(AnswerRequest("r1", "r1_asker_q2", texts={"answer": "x"}))
    rig.engine.answer(AnswerRequest("r1", texts={"answer": "y"}))
    with pytest.raises(InvalidAnswers, match="no open question that"):
        rig.engine.answer(AnswerRequest("r1", texts={"answer": "z"}))


def test_the_second_of_two_answers_changes_nothing(engine: Rig) -> None:
    rig = asks(engine, WHO)
    rig.run(text())
    store = rig.store.interactions
    assert store.answer("r1", AnswersAccepted("r1_asker_q1", "asker", {"answer": "first"}))
    assert not store.answer("r1", AnswersAccepted("r1_asker_q1", "asker", {"answer": "second"}))
    assert [each.answers for each in store.all("r1")] == [{"answer": "first"}]


def test_a_rewind_withdraws_the_questions_of_the_dropped_nodes(engine: Rig) -> None:
    """8.1, 8.4."""
    rig = asks(engine, WHO)
    rig.run(text())
    rig.engine.rewind(RewindRequest("r1", "between"))
    assert [each.retired_at for each in rig.store.interactions.all("r1")] == [None]
    rig.engine.rewind(RewindRequest("r1", "asker"))
    assert rig.store.interactions.pending("r1") == ()
    with pytest.raises(InvalidAnswers):
        rig.engine.answer(AnswerRequest("r1", texts={"answer": "late"}))


def test_nothing_asked_is_nothing_to_wait_for(engine: Rig) -> None:
    assert engine.run(text()).status == RunStatus.FINISHED
    assert engine.outputs()["sync"] == {"answers": []}
    with pytest.raises(WrongStatus, match="asks nothing any more"):
        engine.engine.answer(AnswerRequest("r1", texts={"answer": "x"}))


def test_answers_of_a_human_node_are_collected_too(engine: Rig) -> None:
    """5.8: ``from`` may name a human node; its question stopped the run, so it is answered by then."""
    bot = """
schema answer:
  ok: bool
human gate:
  output: answer
await_answers sync:
  from: gate
  timeout: "1s"
workflow w:
  entry: gate
  gate -> sync -> done
"""
    engine.run(bot)
    assert engine.resume(texts={"ok": "yes"}).status == RunStatus.FINISHED
    assert [each["answer"] for each in engine.outputs()["sync"]["answers"]] == [{"ok": True}]


def test_the_command_line_answers_and_runs_what_waits(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(text())
    assert "X001" not in pointsman(tmp_path, "validate", "main.bot", "--json").out
    environment = {"PATH": "/usr/bin:/bin"}
    done = pointsman(tmp_path, "run", "main.bot", "--run-id", "r1", "--json", environment=environment)
    assert done.document["outputs"]["sync"] == {"answers": []}
    late = pointsman(tmp_path, "answer", "--run-id", "r1", "--answer", "a=b", "--json", environment=environment)
    assert (late.code, late.document["error"]["code"]) == (5, "wrong_status")
    unknown = pointsman(tmp_path, "answer", "--run-id", "r9", "--answer", "a=b", "--json", environment=environment)
    assert (unknown.code, unknown.document["error"]["code"]) == (1, "not_found")


def test_the_command_line_answers_a_question_of_a_stopped_run(engine: Rig, tmp_path: Path) -> None:
    rig = asks(engine, HOW_MANY)
    rig.run(text())
    environment = {"PATH": "/usr/bin:/bin", "POINTSMAN_STORE_DIR": str(rig.store.root)}
    wrong = pointsman(tmp_path, "answer", "--run-id", "r1", "--answer", "n=x", environment=environment)
    assert (wrong.code, "n: wants an integer" in wrong.err) == (2, True)
    told = pointsman(tmp_path, "answer", "--run-id", "r1", "--answer", "n=4", "--json", environment=environment)
    assert told.document == {
        "run_id": "r1",
        "interaction_id": "r1_asker_q1",
        "answers": {"n": 4},
        "node_id": "asker",
    }
