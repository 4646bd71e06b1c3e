"""``POST /api/hooks/{forge}``: a forge says that something changed; the next tick looks for itself (connectors.md 15).

A verified delivery is never answered with an error, whatever its content, and decides nothing. Its id is kept before
it is answered; where the store is busy for longer than two seconds the forge is told so, and the next tick's reading
makes up for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from fastapi import APIRouter, Request

from config.boards import BoardSettings
from connectors import deliveries
from connectors.deliveries import Delivery
from dispatcher import log
from dispatcher.ledger.deliveries import Received, receive
from dispatcher.refusals import Refused
from dispatcher.waking import heard
from dispatcher.web import answered
from dispatcher.web.answers import Document
from dispatcher.web.backstage import Backstage, Behind
from dispatcher.web.contract import refusals
from engine.errors import StoreError

router = APIRouter(tags=["webhooks"], default_response_class=Document)
_log = log.get(__name__)
PATIENCE = 2.0
"""Seconds that the store may take to keep a delivery."""


@router.post("/api/hooks/{forge}", status_code=202, response_model=answered.Taken, responses=refusals(404))
async def deliver(forge: str, request: Request, behind: Behind) -> Document:
    """Take a delivery: 202 for each that is signed, also for one that came before."""
    body = await request.body()
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        board, delivery = _verified(behind, forge, headers, body)
    except Refused as refused:
        _count(behind, forge, refused.code)
        raise
    keeping = asyncio.get_running_loop().run_in_executor(None, _keep, behind, board, delivery)
    keeping.add_done_callback(lambda kept: kept.exception())
    try:
        result = await asyncio.wait_for(asyncio.shield(keeping), PATIENCE)
    except (TimeoutError, StoreError):
        _count(behind, forge, "busy")
        raise Refused("store_busy", "The store is busy.", "Nothing is lost: the next tick reads the board.") from None
    _count(behind, forge, result)
    return Document({"accepted": True, "result": result}, 202)


def _verified(behind: Backstage, forge: str, headers: Mapping[str, str], body: bytes) -> tuple[BoardSettings, Delivery]:
    """The board whose secret signed the delivery. Raises Refused: unknown, or not signed."""
    if forge not in deliveries.IDS:
        raise Refused("not_found", f'There is no forge "{forge}".', f"Known are {', '.join(deliveries.IDS)}.")
    delivery = deliveries.understood(forge, headers, body)
    boards = _boards(behind, forge, delivery)
    if delivery is None or not boards:
        text = "No board with a webhook_secret belongs to this delivery's repository."
        raise Refused("not_found", text, "Set webhook_secret of the board, and send events of its repository.")
    now = behind.wiring.clock.now()
    for board in boards:
        secret = board.webhook_secret
        if secret is not None and deliveries.signed(forge, headers, body, secret.get_secret_value(), now):
            return board, delivery
    raise Refused("unauthorized", "The signature is missing or wrong.", "Give the hook the board's webhook_secret.")


def _boards(behind: Backstage, forge: str, delivery: Delivery | None) -> list[BoardSettings]:
    given: Iterable[BoardSettings] = behind.wiring.settings.boards if delivery is not None else ()
    repo = delivery.repo.casefold() if delivery is not None else ""
    fits = [each for each in given if each.kind == forge and (each.repo or "").strip("/").casefold() == repo]
    return [each for each in fits if each.webhook_secret is not None]


def _keep(behind: Backstage, board: BoardSettings, delivery: Delivery) -> str:
    """Keep the id and hurry the next tick, unless it came before, tells of what we did ourselves, or of a card about
    which too much was told that came to nothing."""
    ledger, now = behind.wiring.ledger, behind.wiring.clock.now()
    ours, key = _ours(behind, board, delivery), (board.name, delivery.card)
    with ledger.together():
        if not receive(ledger, Received(board.kind, delivery.id, board.name, delivery.event, now)):
            return "duplicate"
        passes = ours or not delivery.card or heard(ledger, key, now)
    if ours or not passes:
        return "own_event" if ours else "breaker_open"
    behind.door.refresh("webhook")
    return "accepted"


def _ours(behind: Backstage, board: BoardSettings, delivery: Delivery) -> bool:
    """Whether it tells of what this store did: by a marker in its text, or by the account of the board's token."""
    if any(behind.wiring.store.effects.get(each) is not None for each in delivery.effects):
        return True
    account = str(getattr(behind.wiring.boards.get(board.name), "known_login", ""))
    return bool(account) and account.casefold() == delivery.sender.casefold()


def _count(behind: Backstage, forge: str, result: str) -> None:
    known = forge if forge in deliveries.IDS else "unknown"
    behind.metrics.count("pointsman_webhooks_total", forge=known, result=result)
    _log.debug("webhook.received", forge=known, result=result)
