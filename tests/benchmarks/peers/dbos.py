"""DBOS on SQLite or PostgreSQL. A paused run waits in ``recv``; recovery is what its launch does by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.peers.peer import body

WAIT = 3600


class Dbos:
    """As it comes: SQLite with a rollback journal. ``DbosInWal`` puts the file into WAL mode first."""

    wal = False

    def __init__(self, folder: Path, store: str, *, again: bool) -> None:
        from dbos import DBOS, SetWorkflowID

        if self.wal:
            _use_wal()
        self._dbos, self._named = DBOS, SetWorkflowID
        self._handles: dict[str, Any] = {}
        url = store or f"sqlite:///{folder / 'dbos.sqlite'}"
        DBOS(
            config={
                "name": "bench",
                "system_database_url": url.replace("+psycopg", ""),
                "log_level": "ERROR",
                "application_version": "1",
                "executor_id": "local",
                "run_admin_server": False,
            }
        )

        @DBOS.step()
        def step(number: int) -> dict[str, int]:
            return body(number)

        @DBOS.workflow()
        def steps(count: int) -> int:
            for number in range(count):
                step(number)
            return count

        @DBOS.workflow()
        def human(name: str) -> Any:
            answer = DBOS.recv("answer", timeout_seconds=WAIT)
            step(0)
            return answer

        self._steps, self._human = steps, human
        DBOS.launch()

    def run(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        with self._named(run_id):
            self._steps(steps)

    def recover(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        self._dbos.retrieve_workflow(run_id).get_result(polling_interval_sec=0.005)

    def unfinished(self) -> list[str]:
        """As the protocol says."""
        return [each.workflow_id for each in self._dbos.list_workflows(status="PENDING")]

    def pause(self, run_id: str) -> None:
        """As the protocol says."""
        with self._named(run_id):
            self._handles[run_id] = self._dbos.start_workflow(self._human, run_id)

    def answer(self, run_id: str, value: int) -> None:
        """As the protocol says."""
        self._dbos.send(run_id, value, "answer")
        self._handles.pop(run_id).get_result()

    def close(self) -> None:
        """As the protocol says."""
        self._dbos.destroy(workflow_completion_timeout_sec=0)


class DbosInWal(Dbos):
    """The same with the journal that this engine uses, and ``synchronous=FULL``."""

    wal = True


def _use_wal() -> None:
    import sqlalchemy

    @sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        if "sqlite" in type(connection).__module__:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
