"""What the views work with: the wiring of the process, the daemon's door, the metrics.

The daemon implements ``DaemonDoor`` and hands a ``Backstage`` to ``server.WebServer``. Views find it through
``Depends(backstage)``; they decide nothing and write only through verbs of board, engine and door.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Protocol, cast

from fastapi import Depends, Request

from connectors.deadline import Deadline, within
from dispatcher.web.news import News

if TYPE_CHECKING:
    from dispatcher.metrics import Metrics
    from dispatcher.wiring import Wiring
    from engine.api import ResumeRequest


class DaemonDoor(Protocol):
    """What the web side asks of the daemon. Called from many threads."""

    def state(self) -> Mapping[str, object]:
        """The document of ``GET /api/dispatcher``: that of the last tick, whole (dispatcher.md 25)."""
        ...

    def not_ready(self) -> Sequence[str]:
        """Why the daemon is not ready, as sentences; nothing when it is."""
        ...

    def refresh(self, source: str) -> None:
        """Bring the next tick forward; any number before it is one."""
        ...

    def desire(self, state: str, by: str) -> None:
        """Set the desired state (``running``, ``paused``, ``draining``); stored when this returns."""
        ...

    def reload(self) -> object:
        """Read the configuration again; what came of it is in ``state``."""
        ...

    def execute(self, run_id: str, work: Callable[[], None]) -> bool:
        """Execute ``work`` in a slot's thread, counted for the run's card; False when that card has a slot already.

        Raises ``Refused`` while the daemon stops.
        """
        ...

    def take_up(self, request: ResumeRequest) -> None:
        """Execute a resume until it stops, where runs execute; called as the work of ``execute``."""
        ...


@dataclass(frozen=True, slots=True)
class Backstage:
    """Everything that the views need; ``stopping`` ends open streams, ``news`` is what they share, ``patience`` are the
    seconds in which a view asks forges."""

    wiring: Wiring
    door: DaemonDoor
    metrics: Metrics
    stopping: threading.Event = field(default_factory=threading.Event)
    news: News = field(default_factory=News)
    patience: float = 5.0

    def in_time(self) -> AbstractContextManager[None]:
        """What is read of forges inside ends in time for who waits; what was not read by then counts as unreadable."""
        return within(Deadline.after(self.wiring.clock, self.patience))


def backstage(request: Request) -> Backstage:
    """The app's backstage."""
    return cast(Backstage, request.app.state.backstage)


Behind = Annotated[Backstage, Depends(backstage)]
"""How a view asks for it."""
