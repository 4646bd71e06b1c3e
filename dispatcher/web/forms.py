"""The form that answers a question, typed by its fields: pure, from a run document to what the page draws.

Called by ``board_page``. The page sends typed JSON; whether an answer fits is decided by the engine alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

FREE = "answer"
"""The name under which a question without a form takes its answer."""


@dataclass(frozen=True, slots=True)
class Input:
    """One control. ``kind`` is how it is drawn and how its text becomes a value; ``hint`` is told with its label."""

    name: str
    label: str
    kind: str
    hint: str = ""
    options: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A question and its controls. ``facts`` are what the run shows with it, names and texts."""

    run_id: str
    node: str
    instructions: str
    facts: tuple[tuple[str, str], ...]
    inputs: tuple[Input, ...]
    needed: int = 0
    """How many answers are enough; 0 means every one."""
    loose: bool = False
    """Whether files may come that no field asks for."""


_KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "string": ("text", ""),
        "bool": ("checkbox", ""),
        "int": ("integer", "a whole number"),
        "float": ("number", "a number"),
        "string[]": ("lines", "one per line"),
        "json": ("json", "JSON"),
        "file": ("file", "a file"),
    }
)
"""type of a field -> how it is drawn, and what is said with its label. A test proves it total over the language."""


def form_of(run: Mapping[str, Any], asked: Mapping[str, Any]) -> Form | None:
    """The form of the run document's pending question; ``asked`` is the data of the event that asked it."""
    pending = run.get("pending")
    if not pending:
        return None
    needed = asked.get("min_answers", 0)
    fields = pending["fields"] or [{"name": FREE, "type": "string"}]
    return Form(
        run_id=str(run["run_id"]),
        node=str(pending["node_id"]),
        instructions=str(asked.get("instructions", "")),
        facts=tuple((str(name), shown(value)) for name, value in pending["questions"].items()),
        inputs=tuple(_input(field, optional=bool(needed)) for field in fields),
        needed=needed if isinstance(needed, int) else 0,
        loose=pending["kind"] == "human",
    )


def _input(field: Mapping[str, Any], *, optional: bool) -> Input:
    name, enum = str(field["name"]), field.get("enum") or ()
    kind, hint = _KINDS.get(str(field["type"]), _KINDS["json"])
    options = tuple(map(str, enum))
    if options:
        kind, hint = "select", ""
    required = not optional and kind not in ("checkbox", "lines", "file")
    return Input(name, name.replace("_", " "), kind, hint, options, required)


def shown(value: object) -> str:
    """A value of a question as text: text as it is, lists line by line, anything else as JSON."""
    import json

    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
