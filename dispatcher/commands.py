"""Short commands of the daemon itself, run by ``engine.process``: hooks and questions to git.

The group is killed at the limit and output is bounded, as a tool's.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.capture import OutputPlace
from engine.ports import Clock
from engine.process import CommandSpec, run


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and where; ``environment`` is the whole of it, ``limit`` in seconds. Output beyond 1 MiB goes to
    ``outputs/<name>.stdout``."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limit: float
    outputs: Path
    name: str = "command"
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends it early, when set."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: exit code (-1 after a signal), whether its limit passed or it was told to stop, what it
    printed."""

    code: int
    timed_out: bool
    stopped: bool
    out: str
    err: str
    seconds: float


def run_command(command: Command, clock: Clock) -> Ended:
    """Run to the end or to the limit. Raises OSError when no process can be started."""
    spec = CommandSpec(
        argv=command.argv,
        folder=command.folder,
        environment=command.environment,
        stop=command.stop,
        outputs=OutputPlace(command.outputs, command.name),
        limit=command.limit,
    )
    end = run(spec, clock)
    out, err = (part.decode("utf-8", "replace") for part in (end.stdout.head, end.stderr.tail))
    return Ended(end.exit_code, end.timed_out, end.stopped, out, err, end.seconds)
