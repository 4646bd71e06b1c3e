"""Run as a process of its own by ``test_boundary.py``: forks a writer per round and kills it at a random moment.

The writer launches a run, commits boundaries, fails it, claims it again, and acknowledges each commit on a pipe. After
each kill the store must be sound, hold everything acknowledged, and agree with itself.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

from sqlalchemy import text

from engine.checkpoint import Head
from engine.ports import SystemClock
from engine.states import RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import Transition
from engine.store.store import Store
from tests.kit.runs import OWNER, RUNNING, launched, open_store, step


def write(folder: Path, run_id: str, pipe: int) -> None:
    """The writer: never returns."""
    store = open_store(folder, SystemClock())
    launched(store, run_id)
    epoch, number = 1, 0
    while True:
        writer = store.boundary(run_id, epoch)
        for _ in range(3):
            number += 1
            writer.commit(Head(f"n{number}", completed=True), step(f"n{number}", {"number": number}))
            os.write(pipe, b"%d\n" % number)
        failed = Transition(RunStatus.FAILED_RESUMABLE, RUNNING, error=f"after {number}", head=Head(f"n{number + 1}"))
        writer.finish(failed)
        os.write(pipe, b"f%d\n" % number)
        claim = store.runs.claim(run_id, RESUMABLE_WITHOUT_ANSWERS, OWNER)
        assert claim is not None
        epoch = claim.epoch


def one_round(folder: Path, run_id: str) -> list[str]:
    """Fork, wait a little, kill; what was acknowledged."""
    reader, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            write(folder, run_id, pipe)
        finally:
            os._exit(1)
    os.close(pipe)
    moment = threading.Event()
    moment.wait(random.uniform(0.0, 0.03))
    first = os.read(reader, 8)
    moment.wait(random.uniform(0.0, 0.01))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    rest = b""
    while block := os.read(reader, 65536):
        rest += block
    os.close(reader)
    return (first + rest).decode().split()


def faults_of(store: Store, run_id: str, acknowledged: list[str]) -> list[str]:
    """What disagrees."""
    faults = []
    record, head = store.runs.get(run_id), store.checkpoints.head(run_id)
    numbers = [stored.row.output["number"] for stored in store.checkpoints.history(run_id)]
    events = list(store.timeline.events(run_id))
    done = [int(line) for line in acknowledged if line.isdigit()]
    if numbers != list(range(1, len(numbers) + 1)) or (done and len(numbers) < done[-1]):
        faults.append(f"{run_id}: outputs {numbers}, acknowledged {done[-1:]}")
    if [event.seq for event in events] != list(range(1, record.event_seq + 1)):
        faults.append(f"{run_id}: events {[event.seq for event in events]} of {record.event_seq}")
    last = [event.type for event in events if event.type.startswith("run_")][-1]
    wanted = {"running": ("run_started", "run_resumed"), "failed_resumable": ("run_failed",)}[record.status]
    if last not in wanted:
        faults.append(f"{run_id}: status {record.status}, last event {last}")
    failed = record.status == RunStatus.FAILED_RESUMABLE
    if failed and (record.error != f"after {len(numbers)}" or head != Head(f"n{len(numbers) + 1}")):
        faults.append(f"{run_id}: error {record.error!r}, head {head}")
    if head is None or (head.completed and head.node_id != f"n{len(numbers)}"):
        faults.append(f"{run_id}: head {head} with {len(numbers)} outputs")
    return faults


def main() -> None:
    """All rounds; one JSON document."""
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    open_store(folder, SystemClock()).database.close()
    faults: list[str] = []
    acknowledged = 0
    for number in range(rounds):
        lines = one_round(folder, f"r{number}")
        acknowledged += len(lines)
        store = open_store(folder, SystemClock())
        faults += faults_of(store, f"r{number}", lines)
        with store.database.read() as connection:
            sound = connection.execute(text("PRAGMA integrity_check")).scalar()
        if sound != "ok":
            faults.append(f"r{number}: {sound}")
        store.database.close()
    sys.stdout.write(json.dumps({"faults": faults, "acknowledged": acknowledged}))


if __name__ == "__main__":
    main()
