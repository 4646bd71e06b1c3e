"""One call of a connector by a node: written down before it is made, settled after it, never made twice by mistake.

Called through ``NodeContext.perform``. The row is committed as ``intended`` first, as ``sent`` right before bytes may
leave, and its outcome behind the answer; a call that an earlier attempt made is answered from its row. A node makes one
call, so equal calls of one execution need no number. Implements engine.md 5.1, 5.3, 5.4 (at once), 5.5 and the points
X1, X2 and X5 of connectors.md 9.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

from engine.dsl.catalogue import IDEMPOTENT, READ, Operation
from engine.dsl.graph import NodeKind
from engine.errors import StopRequested, StoreError
from engine.failures import FailureCode
from engine.outcome import Completed, Failed, Outcome
from engine.ports import Found, OperationCall, Remote, Undone, Witness
from engine.run import IN_DOUBT, UNDER_WAY, EffectRecord, EffectState, SettledBy
from engine.runtime.attempt import Line
from engine.runtime.calls import CallVerdict, fingerprint, judge, marker, unsent
from engine.runtime.preparing import Step, limit_of, own_timeout
from engine.runtime.probing import lose, probe
from engine.store.effects import CallKey, Settling
from engine.store.locks import SendLock, sent_now


class Sending:
    """A call on its way: the guard that its runner sees, and, left as a context, the verdict on how it ended.

    An exception ends here: it becomes ``outcome``. An order to end the process settles the row and goes on.
    """

    def __init__(self, line: Line, remote: Remote, operation: Operation, effect: EffectRecord | None) -> None:
        self._line, self._remote = line, remote
        self._class, self._keyed = operation.effect, operation.honours_key
        self._effect = effect
        self._key_sent = self._left = False
        self._witness = Witness()
        self.effect_id = effect.id if effect else ""
        self.marker = effect.marker if effect else ""
        self.outcome: Outcome | None = None

    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self._line.attempt.stop.is_set()

    def sending(self) -> None:
        """From now on bytes may leave. Raises StopRequested, OwnershipLost, StoreError: then none may."""
        attempt = self._line.attempt
        if self.stopped():
            raise StopRequested(f"run {attempt.run_id} was told to stop", "the call is withdrawn; nothing was sent")
        if self._effect is not None and not self._left:
            attempt.store.effects.send(self.effect_id, attempt.epoch, self._line.state.branch_id)
            self._left = True
            self._remote.passed("X2")

    def witness(self, witness: Witness) -> None:
        """What the row keeps beside the answer."""
        self._witness = witness

    def key_sent(self) -> None:
        """The idempotency key left with the request; it counts where the operation is known to honour one."""
        self._key_sent = self._keyed

    def answered(self, response: dict[str, object]) -> None:
        """The remote confirmed: the response is kept, then it becomes the output. What had not to be sent was not."""
        if self._left:
            by = SettledBy.READ_BACK if self._witness.read_back else SettledBy.ANSWER
            self._settle(Settling(EffectState.DONE, by, self._witness.note, response=response))
        else:
            self._settle(Settling(EffectState.NOT_SENT, SettledBy.WITHDRAWN, "it was so already; nothing was sent"))
        self.outcome = Completed(response)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if error is None or self.outcome is not None:
            return False
        verdict = self._verdict(error)
        failed = replace(verdict.failed, effect=self.effect_id)
        ambiguous = verdict.state is EffectState.AMBIGUOUS
        stopped = (ambiguous and not verdict.repeatable) or None
        note = " ".join(failed.message.split())
        self._settle(Settling(verdict.state, verdict.by, note, stopped=stopped, repeatable=verdict.repeatable))
        if not isinstance(error, Exception):
            return False
        if stopped:
            failed = replace(failed, message=f"{failed.message} (pointsman effects show {self.effect_id})")
        self.outcome = (self._found() if ambiguous else None) or failed
        return True

    def _verdict(self, error: BaseException) -> CallVerdict:
        """What the error means; of a call that never left its row says so, whatever the error looks like."""
        now = self._line.attempt.clock.now()
        if self._effect is None or self._left:
            verdict = judge(error, self._class, key_sent=self._key_sent, now=now)
            by_reading = self._witness.read_back and verdict.state is not EffectState.AMBIGUOUS
            return replace(verdict, by=SettledBy.READ_BACK) if by_reading else verdict
        return unsent(error, self._class, stopped=self.stopped() or isinstance(error, StopRequested), now=now)

    def _found(self) -> Outcome | None:
        """The output when the forge shows at once that the call was made."""
        assert self._effect is not None
        answer = probe(self._line.attempt.host, self._effect)
        return Completed(dict(answer.response)) if isinstance(answer, Found) else None

    def _settle(self, settling: Settling) -> None:
        if self._effect is None:
            return
        try:
            self._line.attempt.store.effects.settle(self.effect_id, replace(settling, witness=self._witness))
            self._remote.passed("X5")
        except StoreError as problem:
            text = f"what became of effect {self.effect_id} could not be written: {problem.message}"
            self._line.attempt.runlog.alert(text)


def perform(line: Line, step: Step, call: OperationCall) -> Outcome:
    """Make the call, or answer it from an earlier attempt. Raises OwnershipLost before anything is sent."""
    attempt = line.attempt
    remote = attempt.settings.remote
    assert remote is not None  # a launch without one is refused
    operation = (attempt.settings.around.catalogue or {})[call.operation]
    timeout, within = own_timeout(step.node, attempt.environment), limit_of(line, step.node).seconds
    key = call.idempotency_key if call.idempotency_key.strip() else ""  # a blank one would name nothing
    call = replace(call, timeout=timeout, within=within, idempotency_key=key)
    operation = replace(operation, honours_key=operation.honours_key and bool(key))
    if attempt.stop.is_set():
        return Failed(FailureCode.INTERRUPTED, f"the run was stopped before {call.operation} was called")
    misfit = remote.check(call)
    if misfit:
        return Failed(FailureCode.EXPRESSION_FAILED, f"node {step.node.name}: {misfit}; nothing was sent")
    if operation.effect == READ:
        return _send(remote, call, Sending(line, remote, operation, None))
    return _before(line, step, call) or _changed(line, step, call, operation)


def _changed(line: Line, step: Step, call: OperationCall, operation: Operation) -> Outcome:
    """Write a change down and make it; other processes see for as long that its sender lives."""
    attempt, remote = line.attempt, line.attempt.settings.remote
    assert remote is not None
    effect = replace(_row(line, step, call, operation.effect), params=remote.shown(call.params))
    lock = SendLock(attempt.store.root, attempt.run_id, effect.id, attempt.host.owner)
    with ExitStack() as on_its_way:
        try:
            on_its_way.enter_context(lock.while_sending())
            attempt.store.effects.open(effect, attempt.epoch, line.state.branch_id)
        except StoreError as problem:
            text = f"the call {call.operation} was not made, because it could not be written down: {problem.message}"
            return Failed(FailureCode.EXECUTION_FAILED, text, cause=problem)
        remote.passed("X1")
        return _send(remote, call, Sending(line, remote, operation, effect))


def _send(remote: Remote, call: OperationCall, sending: Sending) -> Outcome:
    with sending:
        sending.answered(dict(remote.runner.run(call, sending)))
    assert sending.outcome is not None
    return sending.outcome


def _row(line: Line, step: Step, call: OperationCall, effect_class: str) -> EffectRecord:
    attempt, effect_id = line.attempt, line.attempt.ids.new("e")
    return EffectRecord(
        id=effect_id,
        run_id=attempt.run_id,
        node_id=step.node.name,
        branch_path=line.branch,
        iteration_path=step.path,
        attempt=attempt.epoch,
        connection=call.connection,
        operation=call.operation,
        fingerprint=fingerprint(call),
        marker=marker(effect_id, attempt.run_id, step.node.name, attempt.epoch),
        state=EffectState.INTENDED,
        created_at=attempt.clock.now(),
        effect_class=effect_class,
        params=call.params,
        repeatable=effect_class == IDEMPOTENT,
    )


def _before(line: Line, step: Step, call: OperationCall) -> Outcome | None:
    """The answer of the same call by an earlier attempt, or why it must not be made; None when it may be."""
    attempt = line.attempt
    key = CallKey(attempt.run_id, step.node.name, line.branch, step.path, fingerprint(call))
    earlier = attempt.store.effects.newest(key)
    if earlier is not None and earlier.state in UNDER_WAY:
        if sent_now(attempt.store.root, attempt.run_id, earlier.id):
            text = f"{call.operation} ({earlier.id}) is being made by an earlier attempt, whose sender lives"
            return Failed(FailureCode.EXECUTION_FAILED, f"{text}; nothing was sent", effect=earlier.id)
        earlier = attempt.store.effects.get(earlier.id)  # its sender may have settled it a moment ago
    if earlier is None:
        return None
    if earlier.state == EffectState.DONE:
        return Completed(dict(earlier.response))
    if earlier.state == EffectState.INTENDED:
        note = "its attempt ended before anything was sent"
        taken = Settling(EffectState.NOT_SENT, SettledBy.WITHDRAWN, note)
        attempt.store.effects.settle(earlier.id, taken)
    elif earlier.state == EffectState.SENT:
        lose(attempt.host, earlier, "its attempt ended before the answer was written")
    in_doubt = earlier.state in IN_DOUBT
    return _in_doubt(line, earlier) if in_doubt else None


def _in_doubt(line: Line, earlier: EffectRecord) -> Outcome | None:
    attempt, decided = line.attempt, earlier.id in line.attempt.again
    if not decided:
        answer = probe(attempt.host, earlier)
        if isinstance(answer, Found):
            return Completed(dict(answer.response))
        if isinstance(answer, Undone):
            return None
    if not decided and not earlier.repeatable:
        text = f"{earlier.operation} ({earlier.id}) may have been made by an earlier attempt; nothing was sent"
        return Failed(FailureCode.AMBIGUOUS_EFFECT, text, effect=earlier.id)
    if decided:
        text = f"the call {earlier.operation} of node {earlier.node_id} ({earlier.id}) is sent again"
        attempt.runlog.alert(f"run {attempt.run_id}: {text}, as the resume decided")
    by, note = (SettledBy.RESUME, "sent again") if decided else (SettledBy.REPEAT, "a repeat is safe")
    who = attempt.by if decided else ""
    attempt.store.effects.settle(earlier.id, Settling(EffectState.ABANDONED, by, note, stopped=False, settler=who))
    return None


def with_row(line: Line, step: Step, failed: Failed) -> Failed:
    """The failure with the row that stands for it: an ambiguous one that came without a row gets one (engine.md 5.3).

    A child run's has one in the child.
    """
    if failed.code != FailureCode.AMBIGUOUS_EFFECT or failed.effect or step.node.kind is NodeKind.SUBBOT:
        return failed
    made = _row(line, step, OperationCall(str(step.node.kind), ""), "")
    now = line.attempt.clock.now()
    lost = replace(made, state=EffectState.AMBIGUOUS, settled_by=SettledBy.LOST, stopped_run=True, sent_at=now)
    note = " ".join(failed.message.split())
    effect = replace(lost, marker="", note=note, settled_at=now)
    try:
        line.attempt.store.effects.open(effect, line.attempt.epoch, line.state.branch_id)
    except StoreError as problem:
        line.attempt.runlog.alert(f"effect {effect.id} could not be written: {problem.message}")
    return replace(failed, effect=effect.id)
