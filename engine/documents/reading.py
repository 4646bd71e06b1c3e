"""One reading of a run from the store, for whoever shows it. Reading never writes (engine.md 11.2)."""

from __future__ import annotations

from engine.checkpoint import visible
from engine.documents.run import RunView
from engine.store.store import Store


def read_view(store: Store, run_id: str) -> RunView:
    """Everything that a run document needs.

    Raises InvalidId, RunUnknown, RunDeleted, RecordUnreadable, StoreUnreachable.
    """
    record = store.runs.get(run_id)
    head = store.checkpoints.head(run_id)
    outputs = visible(store.checkpoints.outputs(run_id), head)
    return RunView(record, head, outputs, store.artifacts.in_force(run_id))
