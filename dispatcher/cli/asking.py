"""Asking a paused run's questions on the terminal; types and enums are checked before anything is sent.

Used by ``execution``. Prompts go to stderr, so that stdout stays the document's (engine.md 7.1, 7.4).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from engine.documents import RunView

FREE = "answer"
"""The name under which a question without a form takes its answer."""


def can_ask() -> bool:
    """Whether a person sits at both ends."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except ValueError:
        return False


def ask(session: Session, view: RunView) -> dict[str, str] | None:
    """The texts that the person typed, by field; None when the person would rather not (Ctrl-D, Ctrl-C)."""
    pending = view.head.pending if view.head else None
    if pending is None:
        return None
    session.warn(f"Run {view.record.id} asks at {pending.node_id}:")
    for line in pending.instructions.splitlines():
        session.warn(f"  {line}")
    for name, value in pending.questions.items():
        session.warn(f"  {name}: {value}")
    fields = pending.fields or ({"name": FREE, "type": "string"},)
    some = 0 < pending.min_answers < len(fields)
    if some:
        session.warn(f"  At least {pending.min_answers} answers are needed; leave the others empty.")
    try:
        return {str(each["name"]): text for each in fields if (text := _one(session, each, some)) is not None}
    except (click.Abort, EOFError, KeyboardInterrupt):
        session.warn("")
        return None


def _one(session: Session, field: Mapping[str, object], may_skip: bool) -> str | None:
    """One answer, asked again until it fits; None for one that may be left out and was: a file field always may."""
    enum = field.get("enum")
    choices = [str(each) for each in enum] if isinstance(enum, list | tuple) else []
    label = f"{field['name']} ({' | '.join(choices) if choices else field['type']})"
    while True:
        text = str(click.prompt(label, default="", show_default=False, err=True))
        if not text and (may_skip or field["type"] == "file"):
            return None
        problem = _problem(field, choices, text)
        if not problem:
            return text
        session.warn(f"  {problem}")


def _problem(field: Mapping[str, object], choices: list[str], text: str) -> str:
    from engine.dsl.graph import ValueType
    from engine.dsl.values import coerce, staged_path

    kind = ValueType(str(field["type"]))
    path = staged_path(text) if kind is ValueType.FILE else ""
    if path:
        return "" if Path(path).is_file() else f"there is no file {path}"
    return coerce(kind, text, tuple(choices)).problem
