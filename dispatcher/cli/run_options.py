"""Options that ``run`` and ``resume`` share, and the readers of their texts (interface.md 3).

Imported by those verbs only. What does not read is bad usage before anything is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.numbers import FROM_ZERO
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from engine.run import BudgetAsk

LOOSE = "_attachments"
"""The answer that takes loose files (language.md 5.4)."""
CAP_OPTIONS = ("max_cost_usd", "max_tokens", "max_duration", "max_iterations", "max_parallel_branches")


class Duration(click.ParamType[float]):
    """A duration such as ``90s`` or ``1h30m``, in seconds."""

    name = "D"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; fails with what was found and what to write."""
        from engine.dsl.durations import DurationError, parse_duration

        if isinstance(value, float | int):
            return float(value)
        try:
            return parse_duration(str(value))
        except DurationError as problem:
            self.fail(str(problem), param, ctx)


class Cost(click.FloatRange):
    """An amount of US dollars from 0 on; neither infinite nor undefined."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The amount; fails with what was found."""
        made = super().convert(value, param, ctx)
        if not isfinite(made):
            self.fail(f"{value!r} is no amount; write a number such as 2.50.", param, ctx)
        return made


def execution_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The caps, the permission and model overrides, ``--timeout``, ``--auto-resume`` and ``--no-interactive``."""
    many: dict[str, Any] = {"multiple": True, "metavar": "R"}
    options = (
        click.option("--timeout", type=Duration(), default=0.0, help="bound this attempt; passing it is TIMEOUT"),
        click.option("--max-cost-usd", type=Cost(), default=0.0, metavar="X", help="cap in USD"),
        click.option("--max-tokens", type=FROM_ZERO, default=0, metavar="N", help="cap in tokens"),
        click.option("--max-duration", type=Duration(), default=0.0, help="cap of active time"),
        click.option("--max-iterations", type=FROM_ZERO, default=0, metavar="N", help="cap of executions"),
        click.option("--max-parallel-branches", type=FROM_ZERO, default=0, metavar="N"),
        click.option("--permission", type=click.Choice(("off", "ask", "deny")), help="tool gate of agents"),
        click.option("--permission-allow", **many),
        click.option("--permission-ask", **many),
        click.option("--permission-deny", **many),
        click.option("--model", multiple=True, metavar="[SELECTOR=]M", help="model of agents"),
        click.option("--backend", multiple=True, metavar="[SELECTOR=]B", help="backend of agents"),
        click.option("--auto-resume", type=FROM_ZERO, metavar="N", help="resume failures up to N times"),
        click.option("--no-interactive", is_flag=True, help="never ask on the terminal"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def ask_of(given: Mapping[str, Any]) -> BudgetAsk:
    """The caps of the command line; 0 inherits (engine.md 7.7)."""
    from engine.run import BudgetAsk

    return BudgetAsk(**{name: given[name] for name in CAP_OPTIONS})


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``K=V`` texts as a map, V as it is. Raises Refused (bad usage) for a text without ``=``."""
    made: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            lack = "has no name before its" if equals else "has no"
            raise Refused("usage", f'{option} "{text}" {lack} "="', f"Write {option} NAME=VALUE.")
        made[name] = value
    return made


def answer_texts(texts: Sequence[str]) -> dict[str, str]:
    """The answers of ``--answer``; ``_attachments`` may come more than once, one file per line then."""
    made: dict[str, str] = {}
    for text in texts:
        for name, value in pairs([text], "--answer").items():
            loose = name == LOOSE and name in made
            made[name] = f"{made[name]}\n{value}" if loose else value
    return made


def json_object(path: Path, what: str, code: str) -> dict[str, object]:
    """The JSON object in a file. Raises Refused with ``code``, naming the file."""
    from engine.dsl.textform import NotJson, read_json

    try:
        value = read_json(path.read_bytes())
    except OSError as problem:
        raise Refused(code, f"The {what} {path} cannot be read: {problem.strerror}", "Check the path.") from problem
    except NotJson as problem:
        raise Refused(code, f"The {what} {path} is no JSON: {problem}", "Give one JSON object.") from problem
    if not isinstance(value, dict):
        raise Refused(code, f"The {what} {path} holds no JSON object", "Give one JSON object: names and values.")
    return value
