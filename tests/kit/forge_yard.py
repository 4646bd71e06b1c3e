"""A dispatcher in this process over a board of a fake forge: everything between a tick and the forge's HTTP is real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connectors.fake_forge.running import FakeForge, Setup
from dispatcher.ledger.records import CardView, Key
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.yard import Yard

COLUMNS = ("inbox", "backlog", "ready", "waiting_deps", "in_progress", "awaiting_input", "review", "blocked")
CONFIG = """
name: yard
boards:
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    vars: {{title: "{{{{card.title}}}}"}}
    columns: {{{columns}, done: {{closed: true}}}}
retry: {{max_attempts: 3, base: 10s, cap: 300s}}
runs: {{orphan_grace: 2s}}
shutdown: {{grace: 0s}}
"""
THREE = """
name: yard
boards:
  - {{name: one, kind: native, bot: bots/work.bot}}
  - name: two
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    columns: {{{columns}, done: {{closed: true}}}}
  - {{name: three, kind: native, bot: bots/work.bot}}
shutdown: {{grace: 0s}}
"""
"""A forge's board between two native ones."""


class ForgeYard(Yard):
    """One daemon over one folder and one fake forge."""

    connected = True

    def __init__(self, folder: Path, clock: FakeClock, forge: FakeForge, bot: str = "") -> None:
        self.forge = forge
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
        config = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        super().__init__(folder, clock, config, bot, TOKEN=forge.token)

    @property
    def web(self) -> Any:
        """The board over the forge."""
        return self.wiring.boards["web"]

    def issue(self, column: str = "ready", **given: Any) -> str:
        """A person makes an issue and puts it into a column; its card's id."""
        return str(self.forge.issue(given.pop("title", "Do it"), labels=[column], **given))

    def place(self, card_id: str) -> str:
        """Where the forge itself shows the card: its one column label, or ``done`` when it is closed."""
        number = int(card_id)
        if self.forge.card(number).state == "closed":
            return "done"
        return " and ".join(each for each in self.forge.labels_of(number) if each in COLUMNS)

    def view(self, card_id: str) -> CardView:
        key: Key = ("web", card_id)
        return self.wiring.ledger.views([key])[key]


@contextmanager
def forge_yard(kind: str, folder: Path, clock: FakeClock, bot: str = "") -> Iterator[ForgeYard]:
    """A daemon over a fake forge of that kind, both on one clock."""
    with fake(kind, Setup(clock=clock)) as forge:
        yard = ForgeYard(folder, clock, forge, bot)
        try:
            yield yard
        finally:
            yard.close()
