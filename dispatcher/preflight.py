"""The configuration as the daemon needs it: a right file, bots that exist, vars that they declare.

Called by the session for ``dispatch`` and ``config``, and by the daemon at start and at every reload (dispatcher.md 20
and 23). A bot with errors is not a fault of the configuration: its cards are held with the first finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from config.catalogue import find_bot
from config.load import load_complete, refusal
from config.problems import Problem, did_you_mean
from engine.errors import EngineError

if TYPE_CHECKING:
    from config.settings import Settings
    from engine.dsl.graph import Graph


def load_checked(path: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of ``path``; raises ``ConfigError`` with everything that is wrong with the file or its bots."""
    settings = load_complete(path, environment)
    wrong = [*undeclared_vars(settings)]
    if wrong:
        raise refusal(path, wrong)
    return settings


def undeclared_vars(settings: Settings) -> Iterator[Problem]:
    """A problem for each key of ``vars`` and ``route_vars`` that a bot which gets it does not declare."""
    graphs: dict[str, Graph | None] = {}
    for key, bot, values in _given(settings):
        if bot not in graphs:
            graphs[bot] = _graph(settings, bot)
        graph = graphs[bot]
        if graph is None:
            continue
        for name in values:
            if name not in graph.vars:
                yield Problem(f"the bot {bot} declares no var {name}", f"{key}.{name}", did_you_mean(name, graph.vars))


def _given(settings: Settings) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """(key of the configuration, bot, what the bot gets from there): a route's own vars replace the board's."""
    for index, board in enumerate(settings.boards):
        if board.bot:
            yield f"boards[{index}].vars", board.bot, board.vars
        for who, bot in board.routes.items():
            own = board.route_vars.get(who)
            key = "vars" if own is None else f"route_vars.{who}"
            yield f"boards[{index}].{key}", bot, board.vars if own is None else own


def _graph(settings: Settings, bot: str) -> Graph | None:
    from engine.dsl.load import load

    path = find_bot(bot, settings.bots.paths, settings.origin.folder)
    if path is None:
        return None
    try:
        return load(path).graph
    except EngineError:
        return None
