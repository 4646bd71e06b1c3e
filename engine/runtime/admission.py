"""May this resume happen? Everything that refuses it, before anything is claimed.

Called by ``resume`` and, for the admission of the web side, through ``api``. A refusal leaves the run and its open form
as they were; staging the files of answers is the only write. Implements engine.md 7.1 (steps 1 to 6), 7.3, 7.4, 7.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.checkpoint import Head, PendingQuestion, interaction_id
from engine.dsl.graph import Graph, HumanNode
from engine.errors import AlreadyRunning, InvalidAnswers, RecordUnreadable, SourceChanged, SourceMissing, WrongStatus
from engine.outcome import ASYNC
from engine.run import BudgetAsk, RunRecord
from engine.runtime.answers import check, form_of
from engine.runtime.host import Host
from engine.runtime.loops import loop_map
from engine.runtime.opening import visible_environment
from engine.runtime.program import Program, load_program, recorded_elsewhere
from engine.runtime.recipes import kept
from engine.runtime.requests import ResumeRequest
from engine.runtime.runlog import LOGGER
from engine.runtime.variables import resolve
from engine.runtime.worktrees import check_workspace
from engine.states import RunStatus, can_machine_resume, can_person_resume, is_running, requires_answers

SHORT = 12


@dataclass(frozen=True, slots=True)
class Answered:
    """A question and its checked answers."""

    question: PendingQuestion
    answers: dict[str, object]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A resume that nothing forbids before the lock.

    ``changed`` says that the source differs and was accepted by force; ``ask`` is the merged budget; ``vars`` are the
    launch values, resolved again.
    """

    record: RunRecord
    program: Program
    head: Head | None
    ask: BudgetAsk
    vars: dict[str, object]
    answered: Answered | None = None
    changed: bool = False


def admit(host: Host, request: ResumeRequest) -> Admitted:
    """Check the request against the run as it is stored. Raises every refusal of engine.md 7.3."""
    record = host.store.runs.get(request.run_id)
    check_status(record)
    if request.only not in (-1, record.outcome_sequence):  # the claim compares with this very record once more
        raise WrongStatus(f"run {record.id} stopped anew meanwhile and is {record.status}", "look at it again")
    if not request.attended and record.status == RunStatus.CANCELLED:
        raise WrongStatus(f"run {record.id} was cancelled by a person; no machine resumes it", "resume it yourself")
    head = host.store.checkpoints.head(record.id)
    _check_answering(record, head, request)
    recipe = kept(host, record.id)
    program = load_program(host, source_of(record, request.file), recipe)
    changed = _check_digest(record, program, request)
    check_workspace(host, record)
    preset_vars = recipe.map("preset_vars") if recipe else {}
    vars_ = resolve(program.graph, record.inputs, record.preset, visible_environment(host), preset_vars)
    answered = None
    if request.answering:
        question = _question(host, record, head, program.graph)
        form = form_of(program.graph, question)
        answers = check(form, request.answers or {}, request.texts, host.store.attachments, record.id)
        answered = Answered(question, answers)
    return Admitted(record, program, head, request.ask.merged_over(record.ask), vars_, answered, changed)


def check_status(record: RunRecord) -> None:
    """Refuse a status that cannot be resumed. Raises AlreadyRunning, WrongStatus."""
    if is_running(record.status):
        raise AlreadyRunning(
            f"run {record.id} is already being executed (status: {record.status}, process {record.owner.pid})",
            f"look with: pointsman inspect --run-id {record.id}; if its process is dead, resume with --force-stale",
        )
    if not can_person_resume(record.status):
        hint = "launch a new run" if record.status != RunStatus.QUEUED else "wait until it was delivered"
        raise WrongStatus(f"run {record.id} cannot be resumed (status: {record.status})", hint)


def _check_answering(record: RunRecord, head: Head | None, request: ResumeRequest) -> None:
    """Refuse a question without answers, and a question whose checkpoint is lost (engine.md 3.7)."""
    if not requires_answers(record.status):
        return
    if head is None or head.pending is None:
        text = f"run {record.id} waits for answers, but its checkpoint is lost; nothing is guessed from events"
        raise RecordUnreadable(text, "restore the store from a backup, or cancel the run")
    if not request.answering:
        names = ", ".join(str(each.get("name")) for each in head.pending.fields)
        hint = "give them with --answer NAME=VALUE or --answers-file FILE"
        raise InvalidAnswers(
            f"run {record.id} waits for answers and got none", hint + (f"; fields: {names}" if names else "")
        )


def _question(host: Host, record: RunRecord, head: Head | None, graph: Graph) -> PendingQuestion:
    """The question that the answers belong to: the pending one, or one answered before the run stopped at its node.

    Raises InvalidAnswers when the run asks nothing (engine.md 7.4, 7.5).
    """
    if head is not None and head.pending is not None and requires_answers(record.status):
        return head.pending
    if head is not None and can_machine_resume(record.status) and isinstance(graph.nodes.get(head.node_id), HumanNode):
        loops = loop_map(graph).loops_of(head.node_id)
        counts = tuple((name, head.loop_counters.get(name, 0)) for name in loops)
        found = host.store.interactions.get(record.id, head.node_id, interaction_id(record.id, head.node_id, counts))
        if found is not None and found.answers is not None and found.retired_at is None:
            return PendingQuestion(found.id, found.node_id, found.kind, found.questions, found.fields)
    later = any(each.kind == ASYNC for each in host.store.interactions.pending(record.id))
    hint = f"answer it with: pointsman answer --run-id {record.id}" if later else "resume it without answers"
    raise InvalidAnswers(f"run {record.id} asks nothing that stops it (status: {record.status})", hint)


def source_of(record: RunRecord, file: Path | None) -> Path:
    """The source of a run: ``file`` when it is named, else the stored path. Raises SourceMissing."""
    if file is not None:
        return file
    stored = record.bundle_path or record.file_path
    if not stored:
        raise SourceMissing(f"run {record.id} has no source path", "name it with --file")
    path = Path(stored)
    if not path.exists():
        raise SourceMissing(f"the source of run {record.id} is gone: {path}", "name it with --file FILE")
    return path


def _check_digest(record: RunRecord, program: Program, request: ResumeRequest) -> bool:
    """Whether the source differs and force accepts it. Raises SourceChanged."""
    if not record.digest or not program.digest or record.digest == program.digest:
        return False
    if recorded_elsewhere(program, record.digest):
        LOGGER.warning("run %s recorded the digest of its main file alone; it is accepted", record.id)
        return False
    was, now = record.digest[:SHORT], program.digest[:SHORT]
    if not request.force:
        raise SourceChanged(
            f"the source of run {record.id} changed since it ran: {was} then, {now} now",
            "restore the text, or resume with --force to run the changed one",
        )
    return True
