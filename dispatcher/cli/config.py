"""``pointsman config check|schema|show``: whether the configuration is right, what it may hold, what it amounts to."""

from __future__ import annotations

import click

from dispatcher.cli.output import json_text
from dispatcher.cli.session import Session


@click.group(help="Check, describe or show the configuration.")
def command() -> None:
    """The group; its commands follow."""


@command.command("check", help="Read the whole configuration and name everything that is wrong with it.")
@click.pass_obj
def check(session: Session) -> None:
    """Say that the configuration is right; anything wrong is refused with exit 2 by the session."""
    settings = session.settings()
    path, boards = session.config_path, [board.name for board in settings.boards]
    if session.json:
        session.emit({"ok": True, "file": path, "boards": boards, "unset": settings.origin.unset_names})
        return
    if path is None:
        session.say("There is no pointsman.yaml here; the built-in defaults hold.")
    else:
        session.say(f"{path} is right. Boards: {', '.join(boards)}.")
    for name in sorted(settings.origin.unset_names):
        session.warn(f"${name} is not set and counts as empty. Set it, or write ${{{name}:-a default}}.")


@command.command("schema", help="Print the JSON Schema of pointsman.yaml.")
@click.pass_obj
def schema(session: Session) -> None:
    """Print the schema; it is JSON with and without ``--json``."""
    from config.show import schema as schema_of

    session.output.line(json_text(schema_of(), indent=2))


@command.command("show", help="Print all settings with the defaults filled in and the secrets masked.")
@click.pass_obj
def show(session: Session) -> None:
    """Print the settings as YAML, or as one JSON document."""
    from config.show import document_of, yaml_of

    document = document_of(session.settings())
    if session.json:
        session.emit(document)
    else:
        session.say(yaml_of(document).rstrip())
