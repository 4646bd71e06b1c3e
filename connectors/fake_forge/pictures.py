"""The past of a fake forge, for reads that lag (fault ``lag``): pictures of the world with their times."""

from __future__ import annotations

from datetime import datetime, timedelta

from connectors.fake_forge.records import World


class Pictures:
    """Kept only while a script has a lag in it: the first picture stands for everything before."""

    def __init__(self) -> None:
        self._kept: list[tuple[datetime, str]] = []

    def begin(self, world: World, now: datetime) -> None:
        """Forget all and start with the world as it is."""
        self._kept = [(now, world.model_dump_json())]

    def stop(self) -> None:
        """Keep nothing any more."""
        self._kept = []

    def take(self, world: World, now: datetime) -> None:
        """One more picture, if pictures are kept."""
        if self._kept:
            self._kept.append((now, world.model_dump_json()))

    def at(self, now: datetime, seconds: float) -> World | None:
        """The world as it was ``seconds`` ago, or None when no pictures are kept."""
        if not self._kept:
            return None
        wanted = now - timedelta(seconds=seconds)
        past = [text for taken, text in self._kept if taken <= wanted] or [self._kept[0][1]]
        return World.model_validate_json(past[-1])
