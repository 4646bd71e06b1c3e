"""What the connectors tell while they work, as log events and metrics. Implements ``connectors.observer.Observer``.

Made by ``forges`` for each process. A metric that the table does not have is a programming error, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatcher import log
from dispatcher.metrics import Tally

_log = log.get(__name__)


class Watcher:
    """Logs events, and tallies numbers for whoever reads them."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def event(self, name: str, level: str = "info", **values: object) -> None:
        """One line of the log."""
        levels: dict[str, Callable[..., object]] = {
            "debug": _log.debug,
            "info": _log.info,
            "warning": _log.warning,
            "error": _log.error,
        }
        levels[level](name, **values)

    def count(self, metric: str, by: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        self._tally.count(metric, by, **labels)

    def gauge(self, metric: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._tally.set(metric, value, **labels)

    def seconds(self, metric: str, value: float, **labels: str) -> None:
        """Put a duration into a histogram."""
        self._tally.observe(metric, value, **labels)
