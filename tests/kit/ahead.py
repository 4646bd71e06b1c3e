"""``python -m tests.kit.ahead SECONDS ARGUMENT...``: ``pointsman`` on a machine whose clock is ahead by so much."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from dispatcher.cli.output import Output
from dispatcher.cli.session import Session
from dispatcher.cli.shell import run
from dispatcher.wiring import Wiring
from engine.ports import SystemClock


class Ahead(SystemClock):
    """The machine's clock, set wrong; durations are right."""

    def __init__(self, seconds: float) -> None:
        self._by = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._by


class There(Session):
    """A session of that machine."""

    seconds = 0.0

    def wiring(self) -> Wiring:
        made = super().wiring()
        if not isinstance(made.clock, Ahead):
            made.clock = Ahead(self.seconds)
        return made


if __name__ == "__main__":
    session = There(os.environ, Output(sys.stdout, sys.stderr), Path.cwd())
    session.seconds = float(sys.argv[1])
    sys.exit(run(sys.argv[2:], session))
