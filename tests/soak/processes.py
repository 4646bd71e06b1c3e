"""A look at a process from outside, and SIGKILL to one of its children."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process used at one moment: its age in seconds, resident MiB, open descriptors, threads."""

    age: float
    memory: float
    descriptors: int
    threads: int


def sample(pid: int, age: float) -> Sample | None:
    """A look at it, None when it is gone."""
    try:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
        )
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - one look, no objects
        return Sample(age, int(fields["VmRSS"].split()[0]) / 1024, descriptors, int(fields["Threads"]))
    except (OSError, KeyError, ValueError):
        return None


def children(pid: int) -> list[int]:
    """The processes that it started and that still live."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(each) for each in task.read_text().split()]
    return found


def kill_a_child(pid: int, random: Random) -> bool:
    """SIGKILL to one of them, chosen at random; False when there is none."""
    with suppress(OSError):
        there = children(pid)
        if there:
            os.kill(random.choice(there), signal.SIGKILL)
            return True
    return False
