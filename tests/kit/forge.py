"""A forge in a folder: takes calls by a script, keeps what was made, finds it again by its marker; it sends nothing.

Implements ``OperationRunner`` and ``EffectProbe``. Everything lies in files, so that it outlives a process that is
killed. Each call takes the next word of the script, ``ok`` when it is used up.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from connectors.errors import AmbiguousEffect, ForgeRefused
from engine.dsl.catalogue import Operation, Parameter
from engine.dsl.surroundings import Surroundings
from engine.ports import EffectGuard, Found, NotFound, OperationCall, Probed, Remote, SentEffect, Unreadable

NUMBER = Parameter("number", "int", required=True)
BODY = Parameter("body", "string", required=True)
EXTRAS = (Parameter("labels", "string[]"), Parameter("fields", "object"), Parameter("urgent", "bool"))
CATALOGUE = {
    each.name: each
    for each in (
        Operation("fake.issue.comment", (NUMBER, BODY, *EXTRAS), effect="ambiguous", honours_key=True),
        Operation("github.issue.comment", (NUMBER, BODY), effect="ambiguous"),
        Operation("fake.issue.get", (NUMBER,)),
        Operation("fake.label.add", (NUMBER, Parameter("label", required=True)), effect="idempotent"),
        Operation("fake.pull.merge", (NUMBER,), effect="guarded"),
    )
}
AROUND = Surroundings(CATALOGUE, {"web": "fake"})
Word = str | Exception | Callable[[], None]


class FakeForge:
    """``script`` says per call: ``ok``; ``lost`` (made, answer lost); ``vanished`` (not made, answer lost); ``kill``
    (made, then the process dies), ``kill_unmade``; an exception to raise; a function to call first."""

    def __init__(self, folder: Path, *script: Word) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.script = list(script)
        self.readable = True
        self.key_arrives = False
        self._lock = threading.Lock()

    @property
    def remote(self) -> Remote:
        """The forge as a host hands it over."""
        return Remote(self, self)

    @property
    def received(self) -> list[Any]:
        """Every call that arrived, oldest first."""
        log = self.folder / "received"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def made(self) -> list[Any]:
        """What exists, by the markers of it."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("made-*"))]

    @property
    def probes(self) -> int:
        """How often it was asked."""
        path = self.folder / "probes"
        return len(path.read_text()) if path.exists() else 0

    def run(self, call: OperationCall, guard: EffectGuard) -> Mapping[str, object]:
        """As ``OperationRunner``."""
        with self._lock:
            word = self.script.pop(0) if self.script else "ok"
        guard.sending()
        told = {"operation": call.operation, "params": dict(call.params), "key": call.idempotency_key}
        with (self.folder / "received").open("a") as log:
            log.write(json.dumps({**told, "timeout": call.timeout, "marker": guard.marker}) + "\n")
        if isinstance(word, Exception):
            raise word
        if self.key_arrives:
            guard.key_sent()
        if callable(word):
            word()
            word = "ok"
        if word not in ("vanished", "kill_unmade"):
            self.make(guard.effect_id, call, guard.marker)
        if word.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if word != "ok":
            raise AmbiguousEffect("the connection was reset", effect_id=guard.effect_id)
        return self._response(guard.effect_id)

    def make(self, effect_id: str, call: OperationCall, marker: str) -> None:
        """Make the object, as a call does that arrives late."""
        made = {"id": f"c-{effect_id}", "body": call.params.get("body", ""), "marker": marker}
        (self.folder / f"made-{effect_id}").write_text(json.dumps(made))

    def late(self, effect: SentEffect) -> None:
        """The object of a lost call shows up after all."""
        self.make(effect.id, OperationCall(effect.operation, effect.connection, effect.params), effect.marker)

    def probe(self, effect: SentEffect) -> Probed:
        """As ``EffectProbe``."""
        with (self.folder / "probes").open("a") as log:
            log.write("p")
        if not self.readable:
            return Unreadable("503 from the forge")
        return Found(self._response(effect.id)) if (self.folder / f"made-{effect.id}").exists() else NotFound()

    def _response(self, effect_id: str) -> Mapping[str, object]:
        path = self.folder / f"made-{effect_id}"
        made = json.loads(path.read_text()) if path.exists() else {}
        return {"id": made.get("id", ""), "body": made.get("body", "")}


def refused(status: int) -> ForgeRefused:
    """The forge's no."""
    return ForgeRefused(f"{status} from the forge", status=status)


def comments(rest: str = "", body: str = "hello", before: str = "") -> str:
    """A workflow of one node that comments, then a tool that notes it."""
    return f"""{before}tool post:
  action: fake.issue.comment
  connection: web
{rest}  params:
    number: 7
    body: "{body}"

tool after:
  command: `echo after >> trace`

workflow w:
  entry: post
  post -> after
  after -> done
"""


def calls(operation: str, params: str = "    number: 7\n") -> str:
    """A workflow of one node that calls this operation."""
    return (
        f"tool post:\n  action: {operation}\n  connection: web\n  params:\n{params}\n"
        "workflow w:\n  entry: post\n  post -> done\n"
    )
