"""What an engine has to offer to be measured, and the one step that all of them execute."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Protocol

SIDE = "BENCH_SIDE"
"""Environment: a file that gets a line per executed step, to count executions from outside."""
SLOW = "BENCH_SLOW"
"""Environment: seconds that each step takes besides, so that a kill meets it half-way."""
_pause = float(os.environ.get(SLOW, "0"))
_side = os.open(os.environ[SIDE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if SIDE in os.environ else -1


def body(number: int) -> dict[str, int]:
    """What every durable step does."""
    if _side >= 0:
        os.write(_side, f"{number} {time.time()}\n".encode())
    if _pause:
        time.sleep(_pause)
    return {"i": number}


class Peer(Protocol):
    """One engine over one store."""

    def __init__(self, folder: Path, store: str, *, again: bool) -> None:
        """Open the store in ``folder``, or at the address ``store`` of a PostgreSQL database. ``again`` says that an
        earlier process worked on it."""
        ...

    def run(self, run_id: str, steps: int) -> None:
        """Run so many durable steps to the end."""
        ...

    def recover(self, run_id: str, steps: int) -> None:
        """Bring a run whose process was killed to its end."""
        ...

    def unfinished(self) -> list[str]:
        """The runs that need somebody: those that wait, and those whose process died."""
        ...

    def pause(self, run_id: str) -> None:
        """Start a run that asks a person; return once it waits durably."""
        ...

    def answer(self, run_id: str, value: int) -> None:
        """Answer it, and return once it has finished."""
        ...

    def close(self) -> None:
        """Give everything up."""
        ...
