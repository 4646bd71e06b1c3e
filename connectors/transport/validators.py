"""What the forge may answer 304 for: stored answers by address, credential and API version (connectors.md 5).

The store is a protocol. ``MemoryValidators`` keeps them as long as the process and its configuration's generation: they
are worth one reading, which a new start makes anyway to learn what changed while nobody looked.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

LARGEST_KEPT = 2 * 1024 * 1024
"""Longest body that is kept, in bytes."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored answer: its validator, its body and the headers that matter to its reader."""

    etag: str
    modified: str
    body: bytes
    headers: Mapping[str, str]


class Validators(Protocol):
    """Stored answers by an opaque key."""

    def get(self, key: str) -> Kept | None:
        """The answer, None when there is none."""
        ...

    def put(self, key: str, kept: Kept) -> None:
        """Store, in place of an earlier one."""
        ...

    def drop(self, key: str) -> None:
        """Forget, also one that is not there."""
        ...


class NoValidators:
    """For forges that send none."""

    def get(self, key: str) -> Kept | None:
        """None."""
        return None

    def put(self, key: str, kept: Kept) -> None:
        """Nothing."""

    def drop(self, key: str) -> None:
        """Nothing."""


class MemoryValidators:
    """The newest ``most`` answers, in memory."""

    def __init__(self, most: int = 500) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def get(self, key: str) -> Kept | None:
        """The answer, now the newest."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, kept: Kept) -> None:
        """Store; the oldest goes when there is no room."""
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def drop(self, key: str) -> None:
        """Forget."""
        with self._lock:
            self._kept.pop(key, None)


def key_of(url: str, credential: str, headers: Mapping[str, str]) -> str:
    """The key of an address; another credential, API version or media type has other keys, so nothing of theirs is
    ever answered."""
    told = "\0".join([credential, *(f"{name.lower()}:{value}" for name, value in sorted(headers.items())), url])
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()
