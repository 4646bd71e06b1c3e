"""Remote calls as people and programs read them: the list, one call with its question, the JSON document.

Used by ``effects`` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dispatcher.cli.output import rfc3339, table
from engine.run import EffectRecord, EffectState

QUESTION = """
Was this call made? Look at the forge, then say one of:
  pointsman effects settle {id} --done --response FILE   it was made; FILE holds its result as JSON
  pointsman effects settle {id} --not-done               it was not made: it is sent again
  pointsman effects settle {id} --abandon                nobody knows: the run waits for your resume"""


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
        "stopped_run": each.stopped_run,
        "response": dict(each.response),
        "note": each.note,
        "probes": each.probes,
        "created_at": rfc3339(each.created_at),
        "settled_at": rfc3339(each.settled_at) if each.settled_at else None,
        "probed_at": rfc3339(each.probed_at) if each.probed_at else None,
    }


def list_text(found: Sequence[EffectRecord]) -> str:
    """The calls as a table."""
    if not found:
        return "There are no recorded remote calls."
    rows = [(each.id, str(each.state), each.operation, each.run_id, each.node_id) for each in found]
    return table(("ID", "STATE", "OPERATION", "RUN", "NODE"), rows)


def effect_text(each: EffectRecord, *, asks: bool) -> str:
    """One call; while it is in doubt with the question and the commands. ``asks``: the forge can be asked."""
    place = f"{each.run_id}, node {each.node_id}, attempt {each.attempt}"
    lines = [
        f"Effect {each.id}: {each.state}{f' (by {each.settled_by})' if each.settled_by else ''}",
        f"  call        {each.operation} on {each.connection or 'no connection'}",
        f"  parameters  {_json(each.params)}",
        f"  run         {place}{f', branch {each.branch_path}' if each.branch_path else ''}",
        f"  sent        {rfc3339(each.created_at)}",
    ]
    if each.marker:
        lines.append(f"  marker      {each.marker}")
    if each.note:
        lines.append(f"  note        {each.note}")
    if each.probed_at:
        lines.append(f"  asked       {each.probes} times, last {rfc3339(each.probed_at)}")
    if each.state == EffectState.DONE:
        lines.append(f"  response    {_json(each.response)}")
    if not asks:
        lines.append("The forge cannot be asked about this operation.")
    if each.state == EffectState.AMBIGUOUS:
        lines.append(QUESTION.format(id=each.id))
        if asks:
            lines.append(f"  pointsman effects probe {each.id}                    ask the forge once more")
    return "\n".join(lines)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)
