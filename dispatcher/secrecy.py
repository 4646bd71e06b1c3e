"""The secrets of a configuration, and the ways out of this process at which they are taken out of texts.

Used by ``wiring`` and by ``forges``. Where a way out leads is a word of the metric ``pointsman_redactions_total``. It
finds known values only (connectors.md 17): whatever else is secret is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from connectors.secrets import Exit, Redactor, Secret, SecretTooShort
from dispatcher.metrics import Tally

if TYPE_CHECKING:
    from config.settings import Settings


class Where(StrEnum):
    """A way out."""

    LOG = "log"
    OUTPUT = "output"
    """What a node of a run gave back: its output, its failure, its question."""
    ROW = "row"
    TEXT = "text"
    """What is posted on a forge."""


def remember(redactor: Redactor, settings: Settings) -> None:
    """Take the secrets of the settings out of everything from now on; one that is too short is refused elsewhere."""
    for value in _values(settings):
        with suppress(SecretTooShort):
            redactor.add(Secret(value))


def way_out(redactor: Redactor, tally: Tally, where: Where) -> Exit:
    """The redactor at one way out, counted."""
    return Exit(redactor, lambda places: tally.count("pointsman_redactions_total", places, where=where.value))


def _values(settings: Settings) -> Iterator[str]:
    connected = (*settings.boards, *settings.connections.values())
    given = [secret for each in connected for secret in (each.token, each.webhook_secret)]
    given += [each.app.key for each in connected if each.app is not None]
    given.append(settings.server.token)
    yield from (secret.get_secret_value() for secret in given if secret is not None)
