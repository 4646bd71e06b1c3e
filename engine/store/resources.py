"""Resources that nodes hold while they run: so many places, each a file lock in the store's folder (engine.md 9.5).

Called by ``runtime/holding.py``. A place is held by whoever holds the lock of its file: by the node's processes too,
which inherit it, and by nobody once they are all dead. Places are shared by all runs of the store on this host; the
name of the resource and the name of the place say which one it is, whatever workflow asks. Lock files stay.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.store.locks import FileLock

FOLDER = "resources"
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Lent:
    """A place of a resource that the parent's subbot node holds: one node of the child at a time may use it.

    ``descriptor`` is that of its lock, inherited by every process of the child.
    """

    place: str
    descriptor: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


def places_of(declared: object) -> tuple[str, ...]:
    """The places of a resource as the workflow declares it: a list of names, or so many numbers from 1 on."""
    if isinstance(declared, int):
        return tuple(str(number) for number in range(1, declared + 1))
    return tuple(dict.fromkeys(map(str, declared))) if isinstance(declared, (tuple, list)) else ()


def place_lock(root: Path, resource: str, place: str, holder: Mapping[str, object]) -> FileLock:
    """The lock of one place; ``holder`` tells people who holds it."""
    return FileLock(root / FOLDER / _file_name(resource) / f"{_file_name(place)}.lock", holder)


def _file_name(name: str) -> str:
    """A name that may be part of a path: itself, or its digest when it is not plain."""
    return name if _PLAIN.fullmatch(name) else f"~{hashlib.sha256(name.encode()).hexdigest()[:40]}"
