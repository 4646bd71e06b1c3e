"""``pointsman effects``: remote calls whose answer was lost, shown, asked about, and settled by a person.

Only a call in doubt can be settled, and it is settled once. Implements interface.md 5 and engine.md 5.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused
from engine.run import IN_DOUBT, EffectRecord, EffectState, SettledBy

if TYPE_CHECKING:
    from engine.api import Engine


@click.group()
def command() -> None:
    """List and settle remote calls whose answer was lost."""


@command.command(name="list")
@click.option("--run-id", default="", metavar="ID", help="of this run only")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([each.value for each in EffectState]),
    help="only in this state",
)
@click.pass_obj
def list_effects(session: Session, run_id: str, states: tuple[str, ...]) -> int:
    """Every recorded remote call: those in doubt first, then oldest first."""
    from dispatcher.cli.effects_text import document, list_text

    rows = session.wiring().store.effects.list(run_id, states) if session.store_exists() else ()
    found = sorted(rows, key=lambda each: each.state not in IN_DOUBT)
    if session.json:
        session.emit({"effects": [document(each) for each in found]})
    else:
        session.say(list_text(found))
    return 0


@command.command()
@click.argument("effect_id", metavar="ID")
@click.pass_obj
def show(session: Session, effect_id: str) -> int:
    """One call: what was sent, what became of it, and what can be done."""
    _print(session, _engine(session, effect_id).effect(effect_id))
    return 0


@command.command()
@click.argument("effect_id", metavar="ID")
@click.option("--done", is_flag=True, help="the call was made")
@click.option("--response", type=click.Path(path_type=Path), metavar="F", help="its result, a JSON file; with --done")
@click.option("--not-done", is_flag=True, help="the call was not made; it is sent again")
@click.option("--abandon", is_flag=True, help="nobody knows; the run stays stopped until a person resumes it")
@click.pass_obj
def settle(session: Session, /, **given: object) -> int:
    """Say what became of a call in doubt."""
    from dispatcher.cli.run_options import json_object
    from engine.store.effects import Settling

    path, to = given["response"], _state(given)
    response: dict[str, object] = {}
    effect_id = str(given["effect_id"])
    engine = _engine(session, effect_id)
    if isinstance(path, Path):
        response = json_object(session.folder / path, "response file", "bad_input")
        _check(engine.effect(effect_id), response)
    who = session.who
    settling = Settling(to, SettledBy.PERSON, f"settled by {who}", response, settler=who)
    _print(session, engine.settle_effect(effect_id, settling))
    return 0


def _check(effect: EffectRecord, response: dict[str, object]) -> None:
    """The response must be what the operation answers: it becomes the node's output."""
    from connectors.catalogue.settling import fields, misfit

    problem = misfit(effect.operation, response)
    if problem:
        text = f"The response does not fit {effect.operation}: {problem}"
        raise Refused("bad_input", text, f"A result has: {', '.join(fields(effect.operation))}")


@command.command()
@click.argument("effect_id", metavar="ID")
@click.pass_obj
def probe(session: Session, effect_id: str) -> int:
    """Ask the forge about a call in doubt, now."""
    _print(session, _engine(session, effect_id).probe_effect(effect_id))
    return 0


def _state(given: dict[str, object]) -> EffectState:
    chosen = [
        state
        for name, state in (
            ("done", EffectState.DONE),
            ("not_done", EffectState.NOT_SENT),
            ("abandon", EffectState.ABANDONED),
        )
        if given[name]
    ]
    if len(chosen) != 1:
        raise Refused("usage", "One of --done, --not-done and --abandon is needed", "Look with: pointsman effects show")
    if given["response"] is not None and chosen != [EffectState.DONE]:
        raise Refused("usage", "--response goes with --done only", "A call that was not made has no result.")
    return chosen[0]


def _engine(session: Session, effect_id: str) -> Engine:
    if not session.store_exists():
        text = f"effect {effect_id} is unknown"
        raise Refused("effect_unknown", text, f"There is no store at {session.store_dir} yet.")
    return session.wiring().engine


def _print(session: Session, effect: EffectRecord) -> None:
    from dispatcher.cli.effects_text import document, effect_text

    if session.json:
        session.emit(document(effect))
        return
    operation = (session.wiring().around.catalogue or {}).get(effect.operation)
    session.say(effect_text(effect, asks=operation is None or operation.has_probe))
