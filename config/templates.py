"""Which references the templates of ``vars`` and ``route_vars`` know (interface.md 7), and what is wrong with others.

Read at load, so that a misspelt ``{{card.titel}}`` stops the start instead of reaching a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CARD_NAMES = frozenset(
    f"card.{name}"
    for name in (
        *("id", "number", "title", "body", "column", "priority"),
        *("assignee", "labels", "url", "created_at", "updated_at"),
    )
)
KNOWN_NAMES = CARD_NAMES | {"board.name", "run.id", "workspace.path", "attempt"}
FIELD_PREFIX = "card.fields."

REFERENCE = re.compile(r"\{\{\s*(.*?)\s*\}\}", re.DOTALL)


def references(text: str) -> Iterator[str]:
    """What stands between each pair of double braces, without the blanks around it."""
    return (match.group(1) for match in REFERENCE.finditer(text))


def is_known(reference: str) -> bool:
    """Whether a reference names something that every card has, or a field of the card."""
    field = reference.removeprefix(FIELD_PREFIX)
    return reference in KNOWN_NAMES or (field != reference and bool(re.fullmatch(r"[\w-]+", field)))


def references_in(value: object) -> Iterator[str]:
    """Every reference anywhere inside ``value`` (text, list or mapping)."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from references_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from references_in(inner)


def unknown_references(value: object) -> Iterator[str]:
    """Every unknown reference anywhere inside ``value``."""
    return (reference for reference in references_in(value) if not is_known(reference))


def field_references(value: object) -> Iterator[str]:
    """The name of every field of the card that is referred to anywhere inside ``value``."""
    fields = (reference for reference in references_in(value) if reference.startswith(FIELD_PREFIX))
    return (reference.removeprefix(FIELD_PREFIX) for reference in fields)
