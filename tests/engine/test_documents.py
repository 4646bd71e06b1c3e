"""Run documents and reports: exactly what interface.md 3 and engine.md 11.2 promise."""

from __future__ import annotations

import re

from engine.documents import event_document, report_text, summary_document
from engine.outcome import Completed
from engine.store.store import Store
from tests.kit.engine import Rig, Script, scripted
from tests.kit.runs import launched

CHAIN = """
compute a:
  publish: plan
  expr:
    n: "1"
compute b:
  expr:
    n: "2"
workflow w:
  entry: a
  a -> b
  b -> done
"""
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def test_a_run_document_has_every_promised_key(engine: Rig) -> None:
    engine.run(CHAIN)
    document = engine.document()
    assert {
        *("run_id", "name", "workflow", "status", "failure_code", "error", "outputs", "artifacts", "checkpoint"),
        *("pending", "budget", "created_at", "updated_at", "finished_at", "last_event_at"),
    } <= set(document)
    assert document["checkpoint"] == {"node_id": "b", "completed": True}
    assert document["budget"] == {"tokens": 0, "cost_usd": 0.0, "iterations": 2, "elapsed_seconds": 0.0}
    assert document["artifacts"] == {"plan": {"version": 0, "data": {"n": 1}}}
    assert INSTANT.fullmatch(document["created_at"])
    assert INSTANT.fullmatch(document["finished_at"])


def test_a_running_run_has_no_end(store: Store) -> None:
    document = summary_document(store.runs.get(launched(store)))
    assert (document["status"], document["finished_at"]) == ("running", "")
    assert "outputs" not in document


def test_an_event_line_has_every_promised_key(engine: Rig) -> None:
    engine.run(CHAIN)
    line = event_document(engine.events("node_started")[0])
    assert set(line) == {"seq", "time", "type", "run_id", "node_id", "branch_id", "data"}
    assert INSTANT.fullmatch(str(line["time"]))


def test_a_report_shows_every_grace_and_every_skip(engine: Rig) -> None:
    """11.2."""
    rig = engine.other(**scripted(Script(Completed({"n": 1}, tokens=100))))
    rig.run(CHAIN, ask={"max_tokens": 100})
    text = report_text(rig.engine.inspect("r1"), rig.events())
    assert text.startswith("# Run r1")
    assert "budget_exit_grace" in text
    assert "| node executions | 2 |" in text
    assert "**plan** version 0" in text
