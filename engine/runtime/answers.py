"""Answers of a person against the question that waits: coerced, staged, checked, before anything is claimed.

Called by ``resume`` and, for typed answers, by the command line. Implements engine.md 7.4 and language.md 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoint import PendingQuestion
from engine.dsl.graph import Field, Graph, HumanNode, ValueType
from engine.dsl.values import ATTACHMENTS, check_answers, coerce_answers, staged_path
from engine.errors import BadInput, InvalidAnswers
from engine.outcome import RECOVERY
from engine.store.attachments import Attachments


@dataclass(frozen=True, slots=True)
class Form:
    """What may be answered: the fields (None takes any map that is not empty) and how many answers are enough."""

    fields: tuple[Field, ...] | None
    min_answers: int = 0


def form_of(graph: Graph, question: PendingQuestion) -> Form:
    """The form of a question: of a human node its present output schema, else the fields that were stored with it."""
    node = graph.nodes.get(question.node_id)
    if isinstance(node, HumanNode) and question.kind != RECOVERY:
        schema = graph.schema_of(node.output)
        return Form(schema.fields if schema else None, node.min_answers)
    fields = tuple(field_of(each) for each in question.fields)
    return Form(fields or None)


def field_of(stored: Mapping[str, object]) -> Field:
    """A field of a form as it was stored with its question."""
    enum = stored.get("enum")
    kind = str(stored.get("type", ValueType.STRING))
    known = ValueType(kind) if kind in ValueType.__members__.values() else ValueType.JSON
    return Field(str(stored.get("name", "")), known, tuple(map(str, enum)) if isinstance(enum, (list, tuple)) else ())


def check(
    form_: Form, typed: Mapping[str, object], texts: Mapping[str, str], attachments: Attachments, run_id: str
) -> dict[str, object]:
    """The answers as they will be the node's output. Files are staged last, once everything else fits.

    Raises InvalidAnswers naming each field that does not fit; a missing file is one of them.
    """
    fields, uploads = form_.fields, _uploads(texts)
    files = {
        field.name: Path(path)
        for field in fields or ()
        if field.type is ValueType.FILE and (path := staged_path(texts.get(field.name, "")))
    }
    plain = {name: text for name, text in texts.items() if name not in files and name != ATTACHMENTS}
    coerced = coerce_answers(fields, plain, min_answers=form_.min_answers)
    promised: dict[str, object] = {name: {"path": str(path)} for name, path in files.items()}
    if uploads:
        promised[ATTACHMENTS] = []
    merged = {**typed, **coerced.value, **promised}
    checked = check_answers(fields, form_.min_answers, merged)
    seen = {problem.field for problem in coerced.problems}
    problems = [*coerced.problems, *(each for each in checked.problems if each.field not in seen)]
    if problems:
        named = "; ".join(problem.text for problem in problems)
        raise InvalidAnswers(f"the answers do not fit: {named}", _hint(form_))
    made = dict(checked.value)
    for name, staged in files.items():
        made[name] = _staged(attachments, run_id, name, staged)
    if uploads:
        made[ATTACHMENTS] = [_staged(attachments, run_id, ATTACHMENTS, path) for path in uploads]
    return made


def _uploads(texts: Mapping[str, str]) -> tuple[Path, ...]:
    """The loose files of ``_attachments=@PATH``, one per line. Raises InvalidAnswers for anything else."""
    lines = texts.get(ATTACHMENTS, "").splitlines()
    paths = tuple(Path(path) for line in lines if (path := staged_path(line)))
    if len(paths) < len(lines) or (ATTACHMENTS in texts and not lines):
        raise InvalidAnswers(f"{ATTACHMENTS} takes files alone", f"write --answer {ATTACHMENTS}=@PATH")
    return paths


def _staged(attachments: Attachments, run_id: str, field: str, path: Path) -> dict[str, object]:
    try:
        return attachments.stage(run_id, path).descriptor()
    except BadInput as problem:
        raise InvalidAnswers(f"{field}: {problem.message}", problem.hint) from problem


def _hint(form_: Form) -> str:
    if form_.fields is None:
        return "give any answer with --answer NAME=VALUE"
    shown = ", ".join(f"{each.name} ({' | '.join(each.enum) if each.enum else each.type})" for each in form_.fields)
    return f"the fields are: {shown}"
