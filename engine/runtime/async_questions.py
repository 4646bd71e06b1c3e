"""Questions that do not stop the run: asked by a node that goes on, answered at any time, waited for by another node.

``ask_later`` is what a node asks with, through ``NodeContext.ask``; ``collect`` is the node ``await_answers``;
``answer`` is how a person answers, through ``api.Engine``. A question is a row of its own and outlives every attempt; a
rewind of the node that asked withdraws it. Implements engine.md 7.4 and 7.5 (kind ``async``) and language.md 5.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.checkpoint import Interaction
from engine.dsl.graph import SignalNode
from engine.errors import InvalidAnswers, RunConflict, WrongStatus
from engine.events import EventType, NewEvent
from engine.outcome import ASYNC, RECOVERY, Outcome, Question
from engine.runtime.answers import Form, check, field_of
from engine.runtime.attempt import Line
from engine.runtime.hearing import waited
from engine.runtime.host import Host
from engine.runtime.preparing import Step, question_id
from engine.states import is_final
from engine.store.changes import AnswersAccepted

PERIOD = 0.05
"""Seconds between two looks whether anybody wrote to the store at all; only then are answers looked for."""
PERIOD_BLIND = 0.1
"""The same where a store cannot tell that cheaply."""
TEXT = "answer"
"""The field of a question that has one answer in words."""


class Asked:
    """The questions of one execution of a node. Executed again after a crash, it asks the same ones, which stay."""

    def __init__(self, line: Line, step: Step) -> None:
        self._line = line
        self._step = step
        self._count = 0

    def ask_later(self, question: Question) -> str:
        """Store the question; its id. Raises StoreError."""
        line, name = self._line, self._step.node.name
        self._count += 1
        identity = f"{question_id(line, self._step)}_q{self._count}"
        store, run_id = line.attempt.store, line.attempt.run_id
        if store.interactions.get(run_id, name, identity) is not None:
            return identity
        asked = Interaction(
            id=identity,
            run_id=run_id,
            node_id=name,
            kind=ASYNC,
            questions=question.questions,
            fields=question.fields or ({"name": TEXT, "type": "string"},),
            answers=None,
            asked_at=line.attempt.clock.now(),
            answered_at=None,
            retired_at=None,
        )
        data: dict[str, object] = {"interaction_id": identity, "questions": dict(question.questions), "source": ASYNC}
        data |= {"async": True, **({"instructions": question.instructions} if question.instructions else {})}
        store.interactions.ask(asked, NewEvent(EventType.HUMAN_INPUT_REQUESTED, name, line.state.branch_id, data))
        return identity


def collect(line: Line, step: Step) -> Outcome:
    """The answers, once no question of ``from`` (without it, of any node) is open; TIMEOUT when its time passes."""
    node = step.node
    assert isinstance(node, SignalNode)

    store = line.attempt.store
    seen: int | None = None

    def look() -> Mapping[str, object] | None:
        nonlocal seen
        version = store.database.version()
        if version is not None and version == seen:
            return None
        seen = version
        every = store.interactions.all(line.attempt.run_id)
        asked = [each for each in every if each.retired_at is None and _concerns(each, node.await_from)]
        if any(each.kind == ASYNC and each.answered_at is None for each in asked):
            return None
        return {"answers": [_told(each) for each in asked if each.answers is not None]}

    what = f"answers to what {node.await_from} asked" if node.await_from else "answers"
    return waited(line, step, look, what, PERIOD_BLIND if store.database.driver.shared else PERIOD)


def _concerns(question: Interaction, node: str) -> bool:
    if node:
        return question.node_id == node and question.kind != RECOVERY
    return question.kind == ASYNC


def _told(question: Interaction) -> dict[str, object]:
    answers = dict(question.answers or {})
    return {
        "interaction_id": question.id,
        "node": question.node_id,
        "question": question.questions.get("question", dict(question.questions)),
        "answer": answers[TEXT] if set(answers) == {TEXT} else answers,
    }


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Answers to a question that does not stop its run; ``texts`` are as people type them, and win over ``answers``.

    ``interaction_id`` may be left out while one question is open.
    """

    run_id: str
    interaction_id: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, object] = field(default_factory=dict)


def answer(host: Host, request: AnswerRequest) -> Interaction:
    """Record the answers; the run is left as it is. The question as it is then.

    Raises InvalidAnswers when nothing is asked or the answers do not fit, WrongStatus for a run that nothing continues,
    RunConflict when somebody else answered meanwhile, RunUnknown, RunDeleted.
    """
    record = host.store.runs.get(request.run_id)
    if is_final(record.status):
        raise WrongStatus(f"run {record.id} asks nothing any more (status: {record.status})", "launch a new run")
    question = _open(host, request)
    form = Form(tuple(field_of(each) for each in question.fields) or None)
    answers = check(form, request.answers, request.texts, host.store.attachments, record.id)
    accepted = AnswersAccepted(question.id, question.node_id, answers)
    data = {"interaction_id": question.id, "answers": answers}
    if not host.store.interactions.answer(
        record.id, accepted, NewEvent(EventType.INTERACTION_ANSWERED, question.node_id, data=data)
    ):
        raise RunConflict(f"question {question.id} was answered or withdrawn meanwhile", "look with: pointsman inspect")
    return replace(question, answers=answers, answered_at=host.clock.now())


def _open(host: Host, request: AnswerRequest) -> Interaction:
    questions = [each for each in host.store.interactions.pending(request.run_id) if each.kind == ASYNC]
    wanted = [each for each in questions if request.interaction_id in ("", each.id)]
    ids = ", ".join(each.id for each in questions)
    if not questions:
        hint = "a paused run is answered with: pointsman resume --answer"
        raise InvalidAnswers(f"run {request.run_id} has no open question that can be answered while it works", hint)
    if not wanted:
        raise InvalidAnswers(f"run {request.run_id} has no open question {request.interaction_id}", f"open are: {ids}")
    if len(wanted) > 1:
        raise InvalidAnswers(f"run {request.run_id} has {len(wanted)} open questions", f"name one of: {ids}")
    return wanted[0]
