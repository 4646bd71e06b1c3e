"""An observer that remembers."""

from __future__ import annotations

from collections import Counter


class Listener:
    """Implements ``connectors.observer.Observer``: events by name with their values, counts by metric and labels."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.gauges: dict[tuple[str, ...], float] = {}

    @property
    def names(self) -> list[str]:
        """The events' names, oldest first."""
        return [name for name, _ in self.events]

    def event(self, name: str, level: str = "info", **values: object) -> None:
        """Remember."""
        self.events.append((name, {"level": level, **values}))

    def count(self, metric: str, by: float = 1.0, **labels: str) -> None:
        """Add."""
        self.counts[metric, *labels.values()] += int(by)

    def gauge(self, metric: str, value: float, **labels: str) -> None:
        """Set."""
        self.gauges[metric, *labels.values()] = value

    def seconds(self, metric: str, value: float, **labels: str) -> None:
        """Count the observation."""
        self.counts[metric, *labels.values()] += 1
