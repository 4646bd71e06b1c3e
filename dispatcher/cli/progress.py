"""One line on a terminal that says what a run is doing: node, elapsed, spend. Never in a pipe (interface.md 1)."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from dispatcher.cli.output import visible
from dispatcher.cli.session import Session

_CLEAR = "\r\x1b[2K"


class Progress:
    """The line on stderr; silent unless stderr is a terminal."""

    def __init__(self, session: Session) -> None:
        self._err = session.output.err
        self._shown = False
        try:
            self._live = self._err.isatty()
        except ValueError:
            self._live = False

    def node(self, name: str, elapsed_seconds: float, cost_usd: float) -> None:
        """A node starts."""
        if not self._live:
            return
        spend = f"  {cost_usd:.4f} USD" if cost_usd else ""
        self._write(f"{_CLEAR}{visible(name)}  {elapsed_seconds:.0f} s{spend}")
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write(_CLEAR)
            self._shown = False

    def _write(self, text: str) -> None:
        try:
            self._err.write(text)
            self._err.flush()
        except (OSError, ValueError):
            self._live = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()
