"""Webhooks of a fake forge: each change is told to the repository's hooks, signed as that forge signs.

One thread sends, in order; scripted faults may repeat, hold, lose, reorder or spoil a delivery (connectors.md 15, 24).
What was sent, and what the receiver answered, stays in the world's list of deliveries.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from connectors.fake_forge.deeds import sha_of
from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Delivery, Hook, Repo
from connectors.fake_forge.script import Facts, Stage

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATIENCE = 10.0
"""Seconds that a receiver has to answer."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A delivery on its way."""

    hook: Hook
    event: str
    action: str
    guid: str
    body: bytes
    headers: dict[str, str]
    sent: datetime
    due: datetime | None = None


class Deliveries:
    """Makes, spoils and sends the letters. ``tell`` and ``release`` are called under the desk's lock."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._outbox: queue.Queue[Letter | None] = queue.Queue()
        self._held: list[Letter] = []
        self._swapped: Letter | None = None
        self._thread: threading.Thread | None = None

    def tell(self, happening: Happening) -> None:
        """Something happened to a card of a repository."""
        for hook in [each for each in happening.repo.hooks if each.active]:
            document = self._desk.dialect.hook_payload(self._desk, happening)
            if document is not None:
                self._post(hook, happening.event, happening.action, document)

    def ping(self, hook: Hook, repo: Repo) -> None:
        """The first delivery of a new hook."""
        document = self._desk.dialect.ping_payload(self._desk, repo, hook)
        if document is not None:
            self._post(hook, "ping", "", document)

    def _post(self, hook: Hook, event: str, action: str, document: dict[str, object]) -> None:
        rule = self._desk.script.pick({Stage.DELIVERY}, Facts(event=event))
        fault = rule.fault if rule else ""
        if fault == "deliver_unknown_action":
            action = "transmogrified"
            document = self._desk.dialect.with_action(document, action)
        number = self._desk.world.new_id()
        digest = sha_of("delivery", number)
        guid = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
        body = json.dumps(document, ensure_ascii=False).encode()
        now = self._desk.clock.now()
        headers = self._desk.dialect.hook_headers(hook, event, guid, body, now)
        letter = Letter(hook, event, action, guid, body, headers, now)
        self._dispatch(letter, fault, float(rule.given.get("seconds", 60)) if rule else 0.0)

    def _dispatch(self, letter: Letter, fault: str, seconds: float) -> None:
        if fault == "deliver_bad_signature":
            letter = replace(letter, headers=self._desk.dialect.spoil_signature(letter.headers))
        if fault == "deliver_lost":
            self._remember(letter, 0)
        elif fault == "deliver_late":
            self._held.append(replace(letter, due=letter.sent + timedelta(seconds=seconds)))
        elif fault == "deliver_out_of_order" and self._swapped is None:
            self._swapped = letter
        else:
            self._send(letter)
            if fault == "deliver_twice":
                self._send(letter)
            if self._swapped is not None:
                self._send(self._swapped)
                self._swapped = None

    def release(self) -> None:
        """Send what was held until the forge's present time."""
        now = self._desk.clock.now()
        due = [letter for letter in self._held if letter.due is None or letter.due <= now]
        self._held = [letter for letter in self._held if letter not in due]
        for letter in due:
            self._send(letter)

    def _send(self, letter: Letter) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="fake-forge-hooks", daemon=True)
            self._thread.start()
        self._outbox.put(letter)

    def wait(self) -> None:
        """Return when everything in the outbox was answered or failed."""
        self._outbox.join()

    def stop(self) -> None:
        """Send what is left and end."""
        if self._thread is not None:
            self._outbox.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (letter := self._outbox.get()) is not None:
            status = post(letter)
            with self._desk.lock:
                self._remember(letter, status)
            self._outbox.task_done()
        self._outbox.task_done()

    def _remember(self, letter: Letter, status: int) -> None:
        world = self._desk.world
        made = Delivery(
            id=world.new_id(),
            guid=letter.guid,
            hook=letter.hook.id,
            event=letter.event,
            action=letter.action,
            status=status,
            created_at=letter.sent,
        )
        world.deliveries.append(made)


def post(letter: Letter) -> int:
    """Send one letter; answers the receiver's status, 0 when there was none. A rehearsal does not leave the machine."""
    to = urlsplit(letter.hook.url)
    if to.hostname not in LOOPBACK:
        return 0
    connection = http.client.HTTPConnection(to.hostname or "", to.port or 80, timeout=PATIENCE)
    try:
        connection.request("POST", to.path or "/", letter.body, letter.headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
