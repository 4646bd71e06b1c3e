"""Who listens on a port: from the tables of Linux, for one message. Where they cannot be read nobody is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_TABLES = ("net/tcp", "net/tcp6")
_LISTENS = "0A"


def holder_of(port: int, proc: Path = Path("/proc")) -> str:
    """``process 123 (name)`` of whoever listens on a TCP port, empty when that cannot be told."""
    inodes = {f"socket:[{inode}]" for table in _TABLES for inode in _listening(proc / table, port)}
    if not inodes:
        return ""
    for process in proc.glob("[0-9]*"):
        if _holds(process, inodes):
            return f"process {process.name} ({_name(process)})"
    return ""


def _listening(table: Path, port: int) -> Iterator[str]:
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        cells = line.split()
        if cells[3] == _LISTENS and int(cells[1].rsplit(":", 1)[1], 16) == port:
            yield cells[9]


def _holds(process: Path, inodes: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in inodes for link in (process / "fd").iterdir())
    except OSError:
        return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "ended"
