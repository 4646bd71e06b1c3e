"""What connectors tell about their work: log events and counts, handed to whoever hosts them (connectors.md 25).

The dispatcher implements ``Observer`` over its log and its metrics; a connector never chooses where they go. Telling
never raises and decides nothing, and no value told is a secret.
"""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Takes events and numbers."""

    def event(self, name: str, level: str = "info", **values: object) -> None:
        """A dotted event in the past tense, ``level`` as logging knows it in lower case."""
        ...

    def count(self, metric: str, by: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        ...

    def gauge(self, metric: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        ...

    def seconds(self, metric: str, value: float, **labels: str) -> None:
        """Put a duration into a histogram."""
        ...


class Silent:
    """The observer of a host that listens to nothing."""

    def event(self, name: str, level: str = "info", **values: object) -> None:
        """Nothing."""

    def count(self, metric: str, by: float = 1.0, **labels: str) -> None:
        """Nothing."""

    def gauge(self, metric: str, value: float, **labels: str) -> None:
        """Nothing."""

    def seconds(self, metric: str, value: float, **labels: str) -> None:
        """Nothing."""
