"""What must hold of a forge whatever happened: nothing of ours twice, one column per card, no effect left in the dark.

Looks at the forge itself, by the texts that runs wrote and not by our markers, so that a marker that is missing is
found as well.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from connectors.card import MoverKind
from connectors.effects.markers import markers_in
from connectors.fake_forge.seed import BOT
from dispatcher.ledger.records import Snapshot
from dispatcher.reasons import Reason
from engine.run import EffectRecord, EffectState, SettledBy
from engine.states import RunStatus
from tests.simulation.watch import Broken

if TYPE_CHECKING:
    from tests.simulation.forge import ForgeGround

TWICE = "nothing of ours is there twice"
COLUMN = "one column at rest"
CLAIM = "no claim stays on a forge"
DOUBT = "no effect stays in the dark"
SAID = re.compile(r"\b(note|last|issue|pull) of (\w+)")
NODES = {"note": "note", "last": "last", "issue": "make", "pull": "open"}
"""The word of a text -> the node that wrote it."""


def texts(ground: ForgeGround, *, readable: bool = False) -> list[str]:
    """Whatever our account wrote, each object's text once; or only what is on cards that nobody deleted."""
    found = []
    for each in (*ground.forge.here.issues.values(), *ground.forge.here.pulls.values()):
        if readable and each.gone:
            continue
        if each.author == BOT:
            found.append(f"{each.title}\n{each.body}")
        found += [comment.body for comment in each.comments if not comment.system and comment.author == BOT]
    return found


def nothing_twice(ground: ForgeGround) -> None:
    """Each effect has one object at most, each node made one thing, each card has one status comment."""
    written = texts(ground)
    effects = Counter(marker.effect for text in written for marker in markers_in(text) if not marker.is_claim)
    twice = [effect for effect, count in effects.items() if effect and count > 1]
    if twice:
        raise Broken(TWICE, f"effects {twice}")
    said = Counter(found.groups() for text in written for found in [SAID.search(text)] if found is not None)
    again = _sent_again(ground)
    for (word, run), count in said.items():
        if count > 1 + again[run, NODES[word]]:
            raise Broken(TWICE, f"{count} times {word} of {run}")
    for issue in ground.forge.here.issues.values():
        notes = [each for each in issue.comments if any(found.key == "status" for found in markers_in(each.body))]
        if len(notes) > 1:
            raise Broken(TWICE, f"{len(notes)} status comments on #{issue.number}")


def _sent_again(ground: ForgeGround) -> Counter[tuple[str, str]]:
    """How often a person, who was told, decided to send a call again."""
    rows = ground.play.store.effects.list(states=(EffectState.ABANDONED.value,))
    return Counter((each.run_id, each.node_id) for each in rows if each.settled_by == SettledBy.RESUME)


def at_rest(ground: ForgeGround, snapshot: Snapshot) -> None:
    """When nothing moves any more."""
    nothing_twice(ground)
    for issue in ground.forge.here.issues.values():
        columns = ground.columns(issue)
        if issue.state == "open" and not issue.gone and len(columns) > 1:
            raise Broken(COLUMN, f"#{issue.number} in {' and in '.join(columns)}")
    _claims(ground, snapshot)
    written = "\n".join(texts(ground, readable=True))
    alerts = "\n".join(ground.told)
    for row in ground.play.store.effects.list():
        if row.id in alerts:
            continue
        if row.state in (EffectState.INTENDED, EffectState.SENT):
            raise Broken(DOUBT, f"{row.operation} {row.id} is {row.state} for ever")
        if row.state == EffectState.AMBIGUOUS:
            _told(ground, snapshot, row, written)


def _claims(ground: ForgeGround, snapshot: Snapshot) -> None:
    """No card carries a claim of ours that nothing stands behind, and none carries two."""
    refs = ground.forge.here.refs
    for issue in ground.forge.here.issues.values():
        if issue.gone:
            continue
        there = sum(marker.is_claim for each in issue.comments for marker in markers_in(each.body))
        there += f"refs/pointsman/claims/{issue.number}" in refs
        if there > int((ground.name, str(issue.number)) in snapshot.claims):
            raise Broken(CLAIM, f"#{issue.number} carries {there}")


def _told(ground: ForgeGround, snapshot: Snapshot, row: EffectRecord, written: str) -> None:
    """A call in doubt: a run that waits for it is parked with that reason, and what is on the forge was found.

    Nobody looks for the call of a run whose card a person took away; it is found when somebody resumes that run.
    """
    parked = {park.run_id for park in snapshot.parks.values() if park.reason == Reason.PARKED_AMBIGUOUS}
    if row.run_id and row.stopped_run and row.run_id not in parked and _waits(ground, row.run_id):
        raise Broken(DOUBT, f"{row.run_id} is not parked for {row.operation} {row.id}")
    asked = not row.run_id or row.run_id in parked
    if asked and not row.repeatable and _there(ground, row, written):
        raise Broken(DOUBT, f"{row.operation} {row.id} is on the forge and not found: {row.note}")


def _there(ground: ForgeGround, row: EffectRecord, written: str) -> bool:
    """Whether what the call makes is there, by the words of its run or, for a write of the board, by its marker."""
    if not row.run_id:
        return f"effect={row.id}" in written
    words = [word for word, node in NODES.items() if node == row.node_id]
    return any(f"{word} of {row.run_id}" in written for word in words)


def _waits(ground: ForgeGround, run_id: str) -> bool:
    """Whether the run is the newest of a card that nobody took away from us, and may go on."""
    record = ground.play.store.runs.get(run_id)
    if record.status != RunStatus.FAILED_RESUMABLE or record.failure_code != "AMBIGUOUS_EFFECT":
        return False
    for card in ground.cards():
        runs = ground.play.machine.runs_of((card.board, card.id))
        if runs and runs[-1].id == run_id:
            return not card.closed and card.column_by is MoverKind.DISPATCHER
    return False
