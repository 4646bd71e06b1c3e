"""Remote calls as people and programs read them: the list, one call with its question, the JSON document.

Used by ``effects`` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dispatcher.cli.output import rfc3339, table
from engine.run import EffectRecord, EffectState, SettledBy

QUESTION = """
{question} Look, then say one of:
  pointsman effects settle {id} --done{given}   {done}
  pointsman effects settle {id} --not-done{blank}   {not_done}
  pointsman effects settle {id} --abandon {blank}   {abandon}"""
FILE = " --response FILE"
OF_RUN = {
    "done": "it was made; FILE holds its result as JSON",
    "not_done": "it was not made: it is sent again",
    "abandon": "nobody knows: the run waits for your resume",
}
OF_CARD = {
    "done": "it was written",
    "not_done": "it was not written; the daemon goes on from what the card shows",
    "abandon": "nobody knows; nothing waits for it",
}
"""What settling a call of a run, and a write of the daemon to a card, leads to."""


def document(each: EffectRecord) -> dict[str, object]:
    """One call as JSON."""
    return {
        "id": each.id,
        "run_id": each.run_id,
        "node_id": each.node_id,
        "branch_id": each.branch_path,
        "iteration": each.iteration_path,
        "attempt": each.attempt,
        "connection": each.connection,
        "operation": each.operation,
        "class": each.effect_class,
        "params": dict(each.params),
        "fingerprint": each.fingerprint,
        "marker": each.marker,
        "state": str(each.state),
        "settled_by": each.settled_by,
        "settler": each.settler,
        "stopped_run": each.stopped_run,
        "response": dict(each.response),
        "note": each.note,
        "card": each.card,
        "place": each.place,
        "http_status": each.http_status,
        "pending": each.pending,
        "wire": dict(each.wire),
        "probes": each.probes,
        "asked": list(each.asked),
        "created_at": rfc3339(each.created_at),
        "sent_at": rfc3339(each.sent_at) if each.sent_at else None,
        "settled_at": rfc3339(each.settled_at) if each.settled_at else None,
        "probed_at": rfc3339(each.probed_at) if each.probed_at else None,
    }


def list_text(found: Sequence[EffectRecord]) -> str:
    """The calls as a table."""
    if not found:
        return "There are no recorded remote calls."
    rows = [(each.id, str(each.state), each.operation, each.run_id, each.node_id or each.card) for each in found]
    return table(("ID", "STATE", "OPERATION", "RUN", "NODE"), rows)


def effect_text(each: EffectRecord, *, asks: bool) -> str:
    """One call; while it is in doubt with the question and the commands. ``asks``: the forge can be asked."""
    from connectors.catalogue.settling import question

    how = "its answer was lost" if each.settled_by == SettledBy.LOST else f"by {each.settled_by}"
    by = f" ({how}{f', {each.settler}' if each.settler else ''})" if each.settled_by else ""
    lines = [
        f"Effect {each.id}: {each.state}{by}",
        f"  call        {each.operation} on {each.connection or 'no connection'}, class {each.effect_class or '-'}",
        f"  parameters  {_json(each.params)}",
        *_origin(each),
        f"  fingerprint {each.fingerprint}",
        f"  intended    {rfc3339(each.created_at)}",
        *_course(each),
    ]
    if each.state == EffectState.DONE:
        lines.append(f"  response    {_json(each.response)}")
    if not asks:
        lines.append("The forge cannot be asked about this operation.")
    if each.state == EffectState.AMBIGUOUS:
        lines.append(_question(each, question(each.operation, each.connection, each.params), asks=asks))
    return "\n".join(lines)


def _question(each: EffectRecord, asked: str, *, asks: bool) -> str:
    """What is to be found out, with a command for each answer."""
    given, outcomes = (FILE, OF_RUN) if each.run_id else ("    ", OF_CARD)
    blank = " " * (len(f"--done{given}") - len("--not-done"))
    told = QUESTION.format(id=each.id, question=asked, given=given, blank=blank, **outcomes)
    once_more = f"\n  pointsman effects probe {each.id}{' ' * len(f' --done{given}')}    ask the forge once more"
    return told + once_more if asks else told


def _origin(each: EffectRecord) -> list[str]:
    """Whose call it is: a node's, or a write of the daemon to a card."""
    if not each.run_id:
        return [f"  card        {each.card}, {each.place}"]
    branch = f", branch {each.branch_path}" if each.branch_path else ""
    return [f"  run         {each.run_id}, node {each.node_id}, attempt {each.attempt}{branch}"]


def _course(each: EffectRecord) -> list[str]:
    """What happened to it, as far as it is known."""
    lines = [f"  sent        {rfc3339(each.sent_at)}"] if each.sent_at else ["  sent        never"]
    lines += [f"  {each.state:<11} {rfc3339(each.settled_at)}"] if each.settled_at else []
    status = f"HTTP {each.http_status}{', taken and not done yet' if each.pending else ''}"
    lines += [f"  answer      {status}"] if each.http_status else []
    lines += [f"  wire        {_json(each.wire)}"] if each.wire else []
    lines += [f"  marker      {each.marker}"] if each.marker else []
    lines += [f"  note        {each.note}"] if each.note else []
    lines += [f"  asked       {told}" for told in each.asked]
    return lines


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)
