"""``pointsman bots list``: the catalogue of ``bots.paths``, and what keeps a bot of it from running."""

from __future__ import annotations

from pathlib import Path

import click

from dispatcher import __version__
from dispatcher.cli.output import table
from dispatcher.cli.session import Session
from dispatcher.cli.validate import connections_of
from dispatcher.operations import CATALOGUE

PROBLEM = "has errors"


@click.group(help="Show the catalogue of bots.")
def command() -> None:
    """The group; its commands follow."""


@command.command("list", help="List the bots of `bots.paths` with what they say about themselves and their errors.")
@click.pass_obj
def list_bots(session: Session) -> int:
    """Every bot by name; a broken one is listed with its errors and stops nothing."""
    from config.catalogue import bots_in

    settings = session.settings()
    connections = connections_of(session)
    found = sorted(bots_in(settings.bots.paths).items())
    bots = [_look(session, name, path, connections) for name, path in found]
    if session.json:
        session.emit({"bots": bots})
    elif not bots:
        places = ", ".join(str(path) for path in settings.bots.paths)
        session.say(f"There are no bots in {places}. Put a .bot file there, or set bots.paths.")
    else:
        rows = [(each["name"], each["version"], each["file"], _remark(each)) for each in bots]
        session.say(table(("NAME", "VERSION", "FILE", "DESCRIPTION"), rows))
        _problems(session, bots)
    return 0


def _look(session: Session, name: str, path: Path, connections: dict[str, str] | None) -> dict[str, object]:
    from engine.dsl.about import About, about
    from engine.dsl.load import load
    from engine.errors import BadInput

    try:
        problems = [
            f"{each.file}:{each.line}: {each.code} {each.message}"
            for each in load(path, catalogue=CATALOGUE, connections=connections, version=__version__).errors
        ]
        said = about(path)
    except BadInput as problem:
        problems, said = [problem.message], About()
    file = path.relative_to(session.folder) if path.is_relative_to(session.folder) else path
    return {
        "name": name,
        "file": str(file),
        "version": said.version,
        "description": said.description,
        "enabled": said.enabled,
        "problems": problems,
    }


def _remark(bot: dict[str, object]) -> str:
    remarks = [] if bot["enabled"] else ["(not enabled)"]
    if bot["problems"]:
        remarks.append(f"({PROBLEM})")
    return " ".join([*remarks, str(bot["description"])]).strip()


def _problems(session: Session, bots: list[dict[str, object]]) -> None:
    for bot in bots:
        found = bot["problems"]
        assert isinstance(found, list)
        if found:
            more = f" ({len(found) - 1} more; see `pointsman validate {bot['file']}`)" if len(found) > 1 else ""
            session.say(f"{bot['name']}: {found[0]}{more}")
