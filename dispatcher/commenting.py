"""The status comment of a card: which outcomes write one, and that a cause writes one only (dispatcher.md 8 E6, 11).

A comment names the run, the reason, what unblocks, and the command. Its last line is a marker by which a repeat is
recognised. A board that does not take the comment now does not hold up the settling.
"""

from __future__ import annotations

from connectors.base import Board
from connectors.card import Card, Mover, MoverKind
from connectors.errors import ConnectorError
from dispatcher import log
from dispatcher.ledger import outcomes
from dispatcher.ledger.records import Follows, Settlement
from dispatcher.reasons import Reason, ended, render
from dispatcher.world import World, park_texts

_log = log.get(__name__)
WANTED = {
    Follows.PARKED: "parked",
    Follows.GAVE_UP: "gave_up",
    Follows.FAILED: "failed",
    Follows.COMPLETED: "finished",
}
"""What follows -> its word in ``boards[].comments``."""


def comment(world: World, card: Card, settlement: Settlement) -> None:
    """E6: the comment of an outcome, when the board wants one."""
    word = WANTED.get(settlement.follows, "")
    if settlement.commented or word not in world.station.board_settings(card.board).comments:
        return
    say(world, card, _text(world, card, settlement), f"run={settlement.run_id} outcome={settlement.outcome}")
    with world.station.ledger.write() as connection:
        outcomes.change_settlement(connection, settlement, commented=True)


def say(world: World, card: Card, text: str, place: str) -> None:
    """What we have to say about a card, once per ``place``: in its status comment where the board keeps one, else in a
    comment whose last line is a marker by which a repeat is recognised."""
    board = world.station.boards[card.board]
    post = getattr(board, "post_status", None)
    marker = f"<!-- pointsman {place} -->"
    try:
        if post is not None:
            post(card.id, text, place=place)
        elif not _there(board, card.id, marker):
            author = Mover(MoverKind.DISPATCHER, world.station.settings.name)
            board.comment(card.id, f"{text}\n{marker}", author)
    except ConnectorError as error:
        _log.warning("board.degraded", board=card.board, card_id=card.id, what="comment", error=error.message)


def _there(board: Board, card_id: str, marker: str) -> bool:
    comments = getattr(board, "comments", None)
    return comments is not None and any(marker in comment.text for comment in comments(card_id))


def _text(world: World, card: Card, settlement: Settlement) -> str:
    record = world.runs.get(settlement.run_id)
    error = " ".join(record.error.split()) if record else ""
    code, run = settlement.code, settlement.run_id
    if settlement.follows is Follows.PARKED:
        park = world.park_of((card.board, card.id))
        reason, told = (Reason(park.reason), park_texts(park)) if park else (Reason.WAITING_FOR_PERSON, {})
        text, unblock = render(reason, {"run": run, "code": code, "error": error, "message": error, **told})
        return f"Parked: {ended(text)} To go on: {ended(unblock)}"
    if settlement.follows is Follows.GAVE_UP:
        told = {"n": world.station.settings.retry.max_attempts, "code": code, "error": error}
        text, unblock = render(Reason.GAVE_UP, told)
        return f"Run {run} {ended(text)} To go on: {ended(unblock)}"
    if settlement.follows is Follows.FAILED:
        return f"Run {run} failed ({code}): {ended(error)} To start anew: move the card in."
    return f"Run {run} finished."
