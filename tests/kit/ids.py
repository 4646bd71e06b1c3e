"""Identifiers that count, so that a test can name them."""

from __future__ import annotations

import itertools


class CountingIds:
    """Implements the id maker: ``prefix`` and a number of eight digits."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str = "") -> str:
        """The next one."""
        return f"{prefix}x{next(self._numbers):08d}"
