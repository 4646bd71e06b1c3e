"""``pointsman pickup``: whether the dispatcher picks up work, and the switch; stored, so that a new start obeys it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from dispatcher.candidate import Desired


@click.group(
    invoke_without_command=True, help="Tell whether work is picked up, or switch it; a daemon obeys at its next tick."
)
@click.pass_context
def command(context: click.Context) -> None:
    """Without a further word: how it stands."""
    if context.invoked_subcommand is None:
        _tell(context.obj)


@command.command("pause", help="Start nothing more; what runs goes on. It stays so over new starts of the daemon.")
@click.pass_obj
def pause(session: Session) -> None:
    """Hold everything that would start by itself."""
    from dispatcher.candidate import Desired

    _want(session, Desired.PAUSED)


@command.command("drain", help="Start nothing new; retries and resumes of runs that exist go on until none is left.")
@click.pass_obj
def drain(session: Session) -> None:
    """Let what exists come to its end."""
    from dispatcher.candidate import Desired

    _want(session, Desired.DRAINING)


@command.command("resume", help="Pick up work again, and close the breakers of boards.")
@click.pass_obj
def resume(session: Session) -> None:
    """As it is by itself."""
    from dispatcher.candidate import Desired

    _want(session, Desired.RUNNING)


def _want(session: Session, state: Desired) -> None:
    from dispatcher.pickup import want

    want(session.wiring().ledger, state, session.who, session.wiring().clock.now())
    _tell(session)


def _tell(session: Session) -> None:
    document = _document(session)
    if session.json:
        session.emit(document)
    elif document["by"]:
        session.say(f"Pick-up is {document['state']}, by {document['by']} since {document['since']}.")
    else:
        session.say(f"Pick-up is {document['state']}.")


def _document(session: Session) -> Mapping[str, object]:
    """The desired state as stored; nobody ever switched it in a store that does not exist."""
    from dispatcher.cli.output import rfc3339

    found = session.wiring().ledger.snapshot().desired if session.store_exists() else None
    if found is None:
        return {"state": "running", "by": None, "since": None}
    return {"state": found.state, "by": found.by, "since": rfc3339(found.since)}
