"""``pointsman validate FILE... [--strict]``: every finding about each workflow; exit 2 when one forbids a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatcher import __version__
from dispatcher.cli.session import Session
from dispatcher.operations import CATALOGUE

if TYPE_CHECKING:
    from engine.dsl.diagnostics import Diagnostic
    from engine.dsl.load import Loaded

INVALID = 2


@click.command(help="Check each FILE and list every finding: code, severity, place, message, what to do.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="warnings count as errors")
@click.pass_obj
def command(session: Session, files: tuple[Path, ...], strict: bool) -> int:
    """Print all findings of all files; a file that is not there is refused by name."""
    from engine.dsl.load import load
    from engine.dsl.surroundings import Surroundings

    connections = connections_of(session)
    around = Surroundings(CATALOGUE, connections, version=__version__)
    loaded = [load(session.folder / path, around) for path in files]
    found = [each for one in loaded for each in one.diagnostics]
    bad = [each for each in found if each.is_error or strict]
    if session.json:
        session.emit({"ok": not bad, "diagnostics": [document_of(each) for each in found]})
    else:
        _show(session, loaded)
        errors = sum(each.is_error for each in found)
        session.say(
            f"{_count(len(files), 'file')}: {_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}."
        )
    return INVALID if bad else 0


def connections_of(session: Session) -> dict[str, str] | None:
    """The kind of each connection by name (every board is one); ``None`` without a configuration file."""
    if session.config_path is None:
        return None
    settings = session.settings()
    boards = {board.name: str(board.kind) for board in settings.boards}
    return boards | {name: str(each.kind) for name, each in settings.connections.items()}


def document_of(found: Diagnostic) -> dict[str, object]:
    """A finding as ``validate --json`` shows it (interface.md 2)."""
    document: dict[str, object] = {
        "code": found.code,
        "severity": found.severity.value,
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "message": found.message,
        "hint": found.hint,
    }
    if found.node:
        document["node"] = found.node
    if found.edge:
        document["edge"] = found.edge
    return document


def _show(session: Session, loaded: list[Loaded]) -> None:
    from engine.dsl.diagnostics import render

    on_terminal = session.output.on_terminal()
    for one in loaded:
        for each in one.diagnostics:
            text = render(each, one.texts.get(each.file, "") if on_terminal else "")
            session.say(text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
