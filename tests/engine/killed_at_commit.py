"""Run as a process of its own by ``test_kill_at_every_commit.py``: kills a run at each of its commits, then resumes it.

Usage: ``killed_at_commit FOLDER``: every folder inside is a round called ``<name>-<when>-<n>`` with its ``main.bot``.
Each attempt is a forked process whose database counts its write transactions and kills it right before, or behind, the
commit of the n-th: no seam of the engine is needed for it. What is left is written to ``seen.json``.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.api import Engine, EngineSettings, LaunchRequest, ResumeRequest
from engine.documents import run_document
from engine.ports import RandomIds, SystemClock
from engine.store.database import Database
from engine.store.store import Store


class DyingDatabase(Database):
    """Counts write transactions once it was told when to die."""

    when = "never"
    left = 0

    @contextmanager
    def write_raw(self) -> Iterator[sqlite3.Cursor]:
        """As the real one, and the end of the process at the wanted commit."""
        with super().write_raw() as cursor:
            yield cursor
            self._count("before")
        self._count("after")

    def _count(self, moment: str) -> None:
        if moment == self.when:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def opened(folder: Path, when: str = "never", number: int = 0) -> Engine:
    """An engine over the folder's store that dies at the wanted commit."""
    root = folder / ".pointsman"
    clock = SystemClock()
    database = DyingDatabase.open(f"sqlite:///{root / 'pointsman.db'}", synchronous="NORMAL")
    assert isinstance(database, DyingDatabase)
    settings = EngineSettings(environment={"PATH": os.environ["PATH"]}, force_stale_after=0.0)
    engine = Engine(Store(database, clock, root), settings, clock, RandomIds())
    database.when, database.left = when, number
    return engine


def launch(folder: Path, when: str, number: int) -> None:
    """The first attempt."""
    engine = opened(folder, when, number)
    engine.launch(LaunchRequest(folder / "main.bot", folder / "work", run_id="r1"))


def look(folder: Path) -> None:
    """Write down what the crash left."""
    engine = opened(folder)
    stored = engine.store.runs.list().records
    document = run_document(engine.inspect("r1")) if stored else {"status": "", "outputs": {}}
    (folder / "seen.json").write_text(json.dumps({"status": document["status"], "outputs": document["outputs"]}))


def go_on(folder: Path) -> None:
    """The next attempt, or the first when nothing was stored; nothing for a run that has finished."""
    seen = json.loads((folder / "seen.json").read_text())
    if not seen["status"]:
        launch(folder, "never", 0)
    elif seen["status"] == "running":
        opened(folder).resume(ResumeRequest("r1", force_stale=True))


def forked(act: Callable[[], None]) -> int:
    """Do it in a process of its own; the exit status, -9 when it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(where: Path) -> None:
    """All rounds, one after the other; prints how each attempt ended."""
    ends: dict[str, list[int]] = {}
    for folder in sorted(where.iterdir()):
        _, when, number = folder.name.rsplit("-", 2)
        acts = [lambda: launch(folder, when, int(number)), lambda: look(folder), lambda: go_on(folder)]  # noqa: B023
        ends[folder.name] = [forked(act) for act in acts]
    print(json.dumps(ends))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
