"""Which bot a card gets, and the values of its run (dispatcher.md 20)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from config.boards import BoardSettings
from connectors.card import Card, MoverKind
from dispatcher.candidate import Problem
from dispatcher.reasons import Reason
from dispatcher.routing import Names, Route, fill, rendered, route, undeclared

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CARD = Card("native", "c1", 7, "A title", "ready", NOW, NOW, NOW, MoverKind.PERSON)
BOTS = {"work": Path("/bots/work.bot"), "other": Path("/bots/other.bot"), "feature-dev": Path("/bots/feature-dev")}
BOARD = BoardSettings(
    name="native",
    bot="work",
    routes={"Ana": "other", "dev": "feature-dev"},
    vars={"title": "{{card.title}}"},
    route_vars={"dev": {"prompt": "{{card.body}}!"}},
)


def routed(**card: object) -> Route | Problem:
    return route(replace(CARD, **card), BOARD, BOTS.get)  # type: ignore[arg-type]


def test_the_board_has_the_last_word() -> None:
    found = routed()
    assert isinstance(found, Route)
    assert (found.bot, found.path) == ("work", BOTS["work"])


def test_a_cards_own_bot_beats_its_assignees_route_and_nothing_falls_through() -> None:
    """D166."""
    own = routed(bot="work", assignees=("dev",))
    assert isinstance(own, Route)
    assert own.bot == "work"
    assert routed(bot="no-such-bot", assignees=("dev",)) == Problem(Reason.BOT_UNKNOWN, {"name": "no-such-bot"})


def test_routes_compare_exactly() -> None:
    """D167."""
    found = routed(assignees=("ana",))
    assert isinstance(found, Route)
    assert found.bot == "work"


def test_without_any_bot_there_is_a_reason() -> None:
    bare = BoardSettings(name="native")
    assert route(CARD, bare, BOTS.get) == Problem(Reason.NO_ROUTE, {"assignee": "nobody"})


def test_assignees_with_different_routes_are_ambiguous() -> None:
    """dispatcher.md 20."""
    found = routed(assignees=("Ana", "dev"))
    assert isinstance(found, Problem)
    assert found.reason is Reason.ROUTE_AMBIGUOUS


def test_route_vars_replace_the_boards_and_arguments_go_over_them() -> None:
    found = routed(assignees=("dev",), bot_args={"extra": "{{card.title}}"}, body="text")
    assert isinstance(found, Route)
    values = rendered(found, replace(CARD, body="text"), Names())
    assert values == {"prompt": "text!", "extra": "{{card.title}}"}


def test_a_template_names_only_fields_that_its_board_declares() -> None:
    """dispatcher.md 20: with the nearest name; a board that declares none takes any."""
    board = BoardSettings(name="native", bot="work", vars={"a": ["{{card.fields.sise}}"], "b": "{{card.fields.size}}"})
    found = route(CARD, board, BOTS.get)
    assert isinstance(found, Route)
    assert undeclared(found, tuple) is None
    assert undeclared(found, lambda: {"size", "sise"}) is None
    wrong = undeclared(found, lambda: {"size"})
    told = {"var": "a", "problem": 'the board has no field "sise". Did you mean size?'}
    assert wrong == Problem(Reason.VARS_INVALID, told)


def test_inserted_text_is_never_read_as_a_template_again() -> None:
    """D168."""
    sly = replace(CARD, body="{{card.id}} {{run.id}}")
    assert fill("{{ card.body }}", sly, Names("r1")) == "{{card.id}} {{run.id}}"


def test_every_name_is_known_and_a_field_without_value_is_empty() -> None:
    """interface.md 7."""
    card = replace(CARD, labels=("a", "b"), fields={"size": "big"}, assignees=("ann",))
    text = "{{card.id}}|{{card.number}}|{{card.labels}}|{{card.fields.size}}|{{card.fields.none}}|{{card.created_at}}"
    assert fill(text, card, Names()) == "c1|7|a, b|big||2026-11-01T00:00:00Z"
    names = Names("r1", "/w", 2)
    assert fill("{{board.name}} {{run.id}} {{workspace.path}} {{attempt}}", card, names) == "native r1 /w 2"


def test_other_values_than_text_pass_as_they_are() -> None:
    assert fill({"n": 3, "l": ["{{card.number}}", True]}, CARD, Names()) == {"n": 3, "l": ["7", True]}
