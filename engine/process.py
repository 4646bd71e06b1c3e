"""Runs a command in a process group of its own (engine.md 12.4)."""

from __future__ import annotations

import subprocess
import zlib


def listed_start(pid: int) -> int:
    """A number that stands for when the process started, from ``ps``, where there is no ``/proc``; 0 when unknown."""
    listing = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return zlib.crc32(listing.stdout.strip()) if listing.returncode == 0 else 0
