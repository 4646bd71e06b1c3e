"""Arranges real stores and runs: a database file, a run with its head, a step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from engine.checkpoint import Head, OutputRow
from engine.events import EventType, NewEvent
from engine.ports import Clock
from engine.run import NewRun, Owner, SourceFile
from engine.states import RunStatus
from engine.store.changes import Launch, Transition, Written
from engine.store.database import Database
from engine.store.leases import run_lease
from engine.store.store import Store

ROOT = Path(__file__).parents[2]
OWNER = Owner("instance-1", "host", "boot", 4711, 42)
RUNNING = frozenset({RunStatus.RUNNING})


def open_store(folder: Path, clock: Clock, *, busy_timeout: float = 30.0) -> Store:
    """A store in ``folder``, made when it is missing."""
    url = f"sqlite:///{folder / '.pointsman' / 'pointsman.db'}"
    return Store(Database.open(url, busy_timeout=busy_timeout), clock, folder / ".pointsman")


def new_run(run_id: str, **values: object) -> NewRun:
    """A run of a workflow in ``bots/hello.bot``."""
    plain = {"id": run_id, "name": f"name-{run_id}", "workflow": "hello", "file_path": "bots/hello.bot"}
    return NewRun(**{**plain, "workspace": "/w", "digest": "d1", **values})  # type: ignore[arg-type]


def launched(store: Store, run_id: str = "r1", head: Head = Head("entry"), **values: object) -> str:
    """A run that was just launched: running, epoch 1."""
    written = Written(events=(NewEvent(EventType.RUN_STARTED),))
    store.runs.insert_claimed(new_run(run_id, **values), Launch(OWNER, head, (SourceFile("hello.bot", "x"),), written))
    return run_id


def ended(store: Store, run_id: str, to: RunStatus, **values: object) -> None:
    """Bring a running run into a status; its owner gives it up."""
    assert store.runs.transition(run_id, Transition(to, RUNNING, **values))  # type: ignore[arg-type]
    given_up(store, run_id)


def given_up(store: Store, run_id: str = "r1") -> None:
    """The owner of the run works on it no more: what its process would do at the end of an attempt."""
    record = store.runs.get(run_id)
    store.leases.release(run_lease(run_id), record.epoch, record.owner)


def lapsed(store: Store, resource: str) -> None:
    """The lease ended a moment ago by the store's own clock, as if nobody had renewed it for long enough."""
    with store.database.write() as connection:
        row = {"past": "2020-01-01T00:00:00.000000Z", "what": resource}
        connection.execute(text("UPDATE lease SET expires_at = :past WHERE resource = :what"), row)


def step(node: str, output: dict[str, object] | None = None) -> Written:
    """What a node leaves behind."""
    events = (NewEvent(EventType.NODE_FINISHED, node), NewEvent(EventType.EDGE_SELECTED, node))
    return Written(outputs=(OutputRow(node, output or {"ok": True}, tokens=2, cost_usd=0.25),), events=events)


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process of its own that can import the project."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, **pipes)  # type: ignore[call-overload,no-any-return]
