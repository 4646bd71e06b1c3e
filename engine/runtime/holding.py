"""Holding the resources that a node ``needs`` for as long as it runs (engine.md 9.5, language.md 5 and 6).

Called by ``executing`` around every try of a node. Several resources are taken in the order of their names, so that two
nodes never hold what the other waits for. Waiting costs no thread, does not count against the node's own time limit,
ends with a stop or with the run's own limits, and is no stall. A child run may use what its parent's subbot node holds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from engine.failures import FailureCode
from engine.runtime.attempt import Line
from engine.runtime.classify import NodeFailure
from engine.runtime.preparing import NOTHING, Leased, Step, run_limit
from engine.store.locks import FileLock
from engine.store.resources import Lent, place_lock, places_of

PERIOD = 0.1
"""Seconds between two looks for a free place."""


@contextmanager
def leased(line: Line, step: Step) -> Iterator[Leased]:
    """Hold what the node needs for the length of the block.

    Raises NodeFailure when the run stops or its time is up before all of it is free, and when a place cannot be given
    back (RESOURCE_RESTORE_FAILED); StoreError when a lock file cannot be made.
    """
    if not step.node.needs:
        yield NOTHING
        return
    places: dict[str, str] = {}
    descriptors: list[int] = []
    with ExitStack() as held:
        for resource in sorted(set(step.node.needs)):
            place, lock = _waited(line, step, resource)
            held.callback(_give_back, resource, place, lock)
            places[resource] = place
            descriptors.append(lock.fileno() if isinstance(lock, FileLock) else line.attempt.lent[resource].descriptor)
        yield Leased(places, tuple(descriptors))


def _give_back(resource: str, place: str, lock: FileLock | threading.Lock) -> None:
    try:
        lock.release()
    except OSError as problem:
        text = f"place {place} of resource {resource} cannot be given back: {problem.strerror}"
        raise NodeFailure(FailureCode.RESOURCE_RESTORE_FAILED, text) from problem


def _waited(line: Line, step: Step, resource: str) -> tuple[str, FileLock | threading.Lock]:
    attempt, limit = line.attempt, run_limit(line)
    until = attempt.clock.monotonic() + limit.seconds
    told = False
    while (found := _free(line, step, resource)) is None:
        if not told:
            attempt.runlog.line(
                f"node {step.node.name} waits for resource {resource}, held by {_holders(line, resource)}"
            )
            told = True
        attempt.stop.signs.seen()
        if attempt.clock.wait(attempt.stop.event, PERIOD):
            raise NodeFailure(FailureCode.INTERRUPTED, f"the run was stopped while it waited for resource {resource}")
        if attempt.clock.monotonic() >= until:
            by = _holders(line, resource)
            raise NodeFailure(limit.code, f"resource {resource}, held by {by}, was not free before {limit.text} passed")
    return found


def _free(line: Line, step: Step, resource: str) -> tuple[str, FileLock | threading.Lock] | None:
    """A place that was free and is held now: the parent's before any other."""
    attempt = line.attempt
    lent = attempt.lent.get(resource)
    if lent is not None and lent.lock.acquire(blocking=False):
        return lent.place, lent.lock
    holder = {"run_id": attempt.run_id, "node_id": step.node.name, "host": attempt.host.owner.host}
    for place in places_of(attempt.graph.resources.get(resource)):
        lock = place_lock(attempt.store.root, resource, place, holder)
        if lock.acquire():
            return place, lock
    return None


def _holders(line: Line, resource: str) -> str:
    attempt = line.attempt
    names = places_of(attempt.graph.resources.get(resource))
    holders = [place_lock(attempt.store.root, resource, place, {}).holder() for place in names]
    return (
        ", ".join(f"node {each.get('node_id')} of run {each.get('run_id')}" for each in holders if each)
        or "nobody known"
    )


def lend(line: Line, step: Step) -> Mapping[str, Lent]:
    """What a child run may use: what its subbot node holds, and what the parent itself was lent."""
    held = dict(zip(step.leased.places.items(), step.leased.descriptors, strict=True))
    own = {name: Lent(place, descriptor) for (name, place), descriptor in held.items()}
    return {**line.attempt.lent, **own}
