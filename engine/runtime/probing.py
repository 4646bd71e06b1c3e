"""Asking the forge what became of calls whose answer was lost, and writing down what it says (engine.md 5.4, 5.5).

Called by ``performing``, ``promote``, ``resume`` and, through ``api``, by ``pointsman effects`` and the dispatcher. No
transaction is open while a forge is asked; two who ask at once settle a row once.
"""

from __future__ import annotations

from engine.errors import AmbiguousUnread, EffectSettled
from engine.failures import FailureCode
from engine.ports import FindsNothing, Found, NotFound, Probed, Undone
from engine.run import IN_DOUBT, UNDER_WAY, EffectRecord, EffectState, RunRecord, SettledBy
from engine.runtime.host import Host
from engine.runtime.requests import ResumeRequest
from engine.states import is_running
from engine.store.effects import Settling, unknown
from engine.store.locks import sent_now


def probe(host: Host, effect: EffectRecord) -> Probed:
    """Ask, and write the answer down: found is ``done`` with the response, anything else is a note."""
    remote = host.settings.remote
    answer = (remote.probe if remote is not None else FindsNothing()).probe(effect)
    if isinstance(answer, Found | Undone):
        if effect.state == EffectState.SENT and isinstance(answer, Undone):
            lose(host, effect, "its answer was lost")
        host.store.effects.settle(effect.id, _settling(answer))
        return answer
    note = "asked, not found" if isinstance(answer, NotFound) else f"asked, not readable: {answer.reason}"
    host.store.effects.probed(effect.id, note)
    return answer


def _settling(answer: Found | Undone) -> Settling:
    if isinstance(answer, Found):
        return Settling(EffectState.DONE, SettledBy.PROBE, answer.note or "found on the forge", answer.response)
    return Settling(EffectState.NOT_SENT, SettledBy.READ_BACK, answer.why)


def lose(host: Host, effect: EffectRecord, note: str) -> None:
    """A row whose call nobody waits for any more is ambiguous, and its run stops because of it."""
    lost = Settling(EffectState.AMBIGUOUS, SettledBy.LOST, note, stopped=not effect.repeatable)
    host.store.effects.settle(effect.id, lost)


def probe_orphan(host: Host, run_id: str) -> tuple[EffectRecord, ...]:
    """Settle what a dead owner left under way; the rows that nobody can answer for, each ambiguous (engine.md 12.3).

    What never left is withdrawn. Of a call that may be repeated the forge is asked too, but it holds up no run.
    """
    left = []
    for effect in host.store.effects.list(run_id, tuple(UNDER_WAY | IN_DOUBT)):
        if effect.dropped_by or (effect.repeatable and effect.state == EffectState.AMBIGUOUS):
            continue
        if effect.state == EffectState.INTENDED:
            note = "its sender died before anything was sent"
            host.store.effects.settle(effect.id, Settling(EffectState.NOT_SENT, SettledBy.WITHDRAWN, note))
        elif not isinstance(probe(host, effect), Found | Undone):
            lose(host, effect, "its sender died before the answer was written")
            left += [] if effect.repeatable else [effect]
    return tuple(left)


def may_send_again(host: Host, request: ResumeRequest, record: RunRecord) -> frozenset[str]:
    """The rows in doubt that this resume decides to send again, after a last look at the forge.

    Empty unless a person asks who was told: the run's code is AMBIGUOUS_EFFECT. Raises AmbiguousUnread when the forge
    could not be asked and the request does not carry force.
    """
    if not told(request, record):
        return frozenset()
    left, unread = [], []
    for effect in host.store.effects.in_doubt(record.id):
        answer = probe(host, effect)
        if isinstance(answer, Found | Undone):
            continue
        left.append(effect.id)
        if not isinstance(answer, NotFound):
            unread.append(f"{effect.operation} of node {effect.node_id} ({effect.id}): {answer.reason}")
    if unread and not request.force:
        hint = "try again later, settle it with: pointsman effects settle, or resume with --force to send it again"
        raise AmbiguousUnread(f"run {record.id}: the forge could not be asked about {'; '.join(unread)}", hint)
    return frozenset(left)


def told(request: ResumeRequest, record: RunRecord) -> bool:
    """Whether a person resumes a run that stopped with an ambiguous call, and so was told of it."""
    return request.attended and record.failure_code == FailureCode.AMBIGUOUS_EFFECT


def in_doubt(host: Host, effect_id: str) -> EffectRecord:
    """The row, when what became of its call is not known and nobody waits for it; a dead owner's becomes ambiguous.

    Raises EffectUnknown, EffectSettled.
    """
    effect = host.store.effects.get(effect_id)
    if effect is None:
        raise unknown(effect_id)
    if effect.state == EffectState.SENT:
        if _is_sent(host, effect):
            text = f"effect {effect_id} is being sent by {f'run {effect.run_id}' if effect.run_id else 'the daemon'}"
            late = f", or: pointsman resume --run-id {effect.run_id} --force-stale" if effect.run_id else ""
            hint = f"wait until it has an answer; if that process is dead, the daemon's next tick finds it{late}"
            raise EffectSettled(text, hint)
        lose(host, effect, "its run stopped before the answer was written")
        effect = host.store.effects.get(effect_id) or effect
    if effect.state != EffectState.AMBIGUOUS:
        by = f", by {effect.settled_by}" if effect.settled_by else ""
        raise EffectSettled(f"effect {effect_id} is not in doubt (state: {effect.state}{by})", "nothing is to be done")
    return effect


def _is_sent(host: Host, effect: EffectRecord) -> bool:
    """Whether somebody may still be sending it: its run is executed, or a branch outlives the attempt that began it."""
    if not effect.run_id or is_running(host.store.runs.get(effect.run_id).status):
        return True
    return sent_now(host.store.root, effect.run_id, effect.id)


def settle_by_hand(host: Host, effect_id: str, settling: Settling) -> EffectRecord:
    """What a person says of a call in doubt; settled once. Raises EffectUnknown, EffectSettled."""
    in_doubt(host, effect_id)
    if not host.store.effects.settle(effect_id, settling):
        in_doubt(host, effect_id)
    return host.store.effects.get(effect_id) or in_doubt(host, effect_id)
