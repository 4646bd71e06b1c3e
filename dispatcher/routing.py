"""Which bot works on a card, with which values: pure, from the card and its board's settings (dispatcher.md 20).

The first name that is *set* decides (the card's own, its assignee's route, the board's); nothing falls through. Values
are rendered once: inserted card text is never read as a template again, and reaches tools as data only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.boards import BoardSettings
from config.problems import did_you_mean
from config.templates import FIELD_PREFIX, REFERENCE, field_references
from connectors.card import Card
from dispatcher.candidate import Problem
from dispatcher.reasons import Reason

Find = Callable[[str], Path | None]
"""A bot's name or path -> its file or bundle folder."""


@dataclass(frozen=True, slots=True)
class Route:
    """The bot of a card: its name, where it lies, and the templates of its values with the card's own over them."""

    bot: str
    path: Path
    templates: Mapping[str, Any]
    own: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Names:
    """What the templates know beside the card."""

    run_id: str = ""
    workspace: str = ""
    attempt: int = 1


def route(card: Card, board: BoardSettings, find: Find) -> Route | Problem:
    """The card's bot, or why it has none."""
    named = _named(card, board)
    if isinstance(named, Problem):
        return named
    name, templates = named
    path = find(name)
    if path is None:
        return Problem(Reason.BOT_UNKNOWN, {"name": name})
    return Route(path.stem if path.suffix else path.name, path, templates, card.bot_args)


def _named(card: Card, board: BoardSettings) -> tuple[str, Mapping[str, Any]] | Problem:
    if card.bot:
        return card.bot, board.route_vars.get(card.bot, board.vars)
    matched = [who for who in card.assignees if who in board.routes]
    for who in matched[1:]:
        if board.routes[who] != board.routes[matched[0]]:
            return Problem(Reason.ROUTE_AMBIGUOUS, {"a": matched[0], "b": who})
    if matched:
        return board.routes[matched[0]], board.route_vars.get(matched[0], board.vars)
    if board.bot:
        return board.bot, board.vars
    return Problem(Reason.NO_ROUTE, {"assignee": card.assignee or "nobody"})


def undeclared(found: Route, declared: Callable[[], Collection[str]]) -> Problem | None:
    """A template that names a field which its board does not declare; one that declares none takes any.

    The board is asked only where a template names a field at all.
    """
    named = [(name, field) for name, value in found.templates.items() for field in field_references(value)]
    known = declared() if named else ()
    for name, field in named if known else ():
        if field not in known:
            told = f'the board has no field "{field}". {did_you_mean(field, known)}'.rstrip()
            return Problem(Reason.VARS_INVALID, {"var": name, "problem": told.removesuffix(".")})
    return None


def rendered(found: Route, card: Card, names: Names) -> dict[str, Any]:
    """The values of a run: templates filled, then the card's own arguments over them, as they are."""
    return {**{key: fill(value, card, names) for key, value in found.templates.items()}, **found.own}


def fill(value: Any, card: Card, names: Names) -> Any:
    """``value`` with every reference inside its texts replaced, once; other values as they are."""
    if isinstance(value, str):
        return REFERENCE.sub(lambda match: _text(reference(match.group(1), card, names)), value)
    if isinstance(value, dict):
        return {key: fill(inner, card, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, card, names) for inner in value]
    return value


def reference(name: str, card: Card, names: Names) -> object:
    """What one reference means for this card; a field without value is nothing."""
    if name.startswith(FIELD_PREFIX):
        return card.fields.get(name.removeprefix(FIELD_PREFIX))
    own = {
        "board.name": card.board,
        "run.id": names.run_id,
        "workspace.path": names.workspace,
        "attempt": names.attempt,
    }
    if name in own:
        return own[name]
    return getattr(card, name.removeprefix("card."), None)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    instant = getattr(value, "isoformat", None)
    return str(instant()).replace("+00:00", "Z") if instant else str(value)
