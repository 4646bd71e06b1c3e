"""The ledger's tables as Core sees them, for statements: light, because the table classes take long to load.

The classes of ``tables`` say what the columns are; a test proves that both, and the migrated store, are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Boolean, Column, Integer, MetaData, String, Table

from dispatcher.ledger.instants import Instant

_METADATA = MetaData()


def _table(name: str, keys: str, **columns: str) -> Table:
    """A table by its columns' names: ``texts``, ``numbers``, ``truths``, ``instants``."""
    kinds: Mapping[str, tuple[Any, Any]] = {
        "texts": (String(), ""),
        "numbers": (Integer(), 0),
        "truths": (Boolean(), False),
        "instants": (Instant(), None),
    }
    primary = keys.split()
    made = [
        Column(each, kind, primary_key=each in primary, default=None if each in primary else blank)
        for (kind, blank), names in ((kinds[name], columns[name]) for name in columns)
        for each in names.split()
    ]
    ordered = sorted(made, key=lambda column: primary.index(column.name) if column.name in primary else len(primary))
    return Table(name, _METADATA, *ordered)


CardLink = _table(
    "card_link",
    "board card_id",
    texts="board card_id last_run previous_run expected_column workspace bot",
    numbers="number attempts epoch column_sequence handled_sequence",
    truths="ours",
)
ClaimRow = _table(
    "claim",
    "board card_id",
    texts="board card_id state run_id instance host boot",
    numbers="epoch pid start_ticks",
    instants="claimed_at",
)
IntentRow = _table(
    "intent",
    "board card_id",
    texts="board card_id run_id kind instance point origin",
    truths="attended",
    instants="opened_at",
)
SettlementRow = _table(
    "settlement",
    "board card_id run_id outcome",
    texts="board card_id run_id follows status code to_column",
    numbers="outcome",
    truths="moved commented closed",
    instants="opened_at",
)
RetryRow = _table(
    "retry",
    "board card_id",
    texts="board card_id run_id code cause ladder",
    numbers="attempt sequence",
    instants="scheduled_at not_before",
)
ParkRow = _table(
    "park",
    "id",
    texts="board card_id run_id reason column question facts released",
    numbers="id outcome",
    truths="seen",
    instants="since released_at",
)
GiveUpRow = _table(
    "give_up", "board card_id", texts="board card_id run_id code error", numbers="attempts", instants="at"
)
PendingMoveRow = _table(
    "pending_move",
    "board card_id",
    texts="board card_id origin to why effect_id",
    numbers="attempts",
    instants="since next_at",
)
BreakerRow = _table(
    "breaker", "scope name", texts="scope name cause state about", numbers="count", instants="window_start until"
)
IdleReasonRow = _table("idle_reason", "board card_id", texts="board card_id code text unblock facts", instants="since")
DesiredRow = _table("desired_state", "id", texts="state by", numbers="id", instants="since")
HookMark = _table("hook_mark", "run_id attempt hook", texts="run_id hook result", numbers="attempt", instants="at")
Sighting = _table("orphan_sighting", "run_id", texts="run_id", truths="stopped", instants="seen_at")
ForgeLimit = _table("forge_limit", "credential", texts="credential state")
ForgeColumn = _table("forge_column", "board name", texts="board name configured label_id label_name")
ForgeCard = _table(
    "forge_card",
    "board card_id",
    texts="board card_id column by mover run_id origin target note entrant pinned",
    numbers="sequence",
    instants="since",
)
ForgeClaim = _table(
    "forge_claim",
    "board card_id what",
    texts="board card_id what comment_id instance state",
    numbers="epoch",
    instants="until",
)
ForgeStore = _table("forge_store", "name", texts="name identity")
ForgeMirror = _table("forge_mirror", "board source_id", texts="board source_id card_id column version")
ForgeDelivery = _table(
    "forge_delivery", "forge delivery_id", texts="forge delivery_id board event", instants="received_at"
)

TABLES = tuple(_METADATA.tables.values())
"""All of them."""
