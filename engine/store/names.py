"""The names of the engine's tables and columns, for Core statements; ``tables.py`` says what they are.

Read by the modules of this folder. Kept apart since it loads in no time, where the classes cost every command a sixth
of a second; a test proves that both name the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import Column, Float, Integer, MetaData, String, Table

from engine.states import RunStatus, is_ended
from engine.store.columns import Flag, Json, UtcTime

OPEN_STATUSES = tuple(status for status in RunStatus if not is_ended(status))
OPEN = "status IN (" + ", ".join(f"'{status}'" for status in OPEN_STATUSES) + ")"
"""The condition of the partial index; a query that repeats it word for word uses the index."""

TYPES: Mapping[str, type[Any]] = MappingProxyType(
    {"": String, "int": Integer, "float": Float, "json": Json, "time": UtcTime, "flag": Flag}
)

DEFAULTS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"": str, "int": int, "float": float, "flag": lambda text: text == "1"}
)

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "artifact": ("run_id! name! node_id! version!:int digest= labels:json time:time data:json"),
        "attachment": ("run_id! name! path filename= mime= size:int=0 sha256= origin="),
        "branch": ("run_id! invocation_key! branch_id! node_id= completed:flag=0 done:flag=0 state:json"),
        "checkpoint": ("run_id! node_id completed:flag=0 pending:json updated_at:time body:json"),
        "effect": (
            "id! run_id node_id= branch_path= iteration_path= attempt:int=0 connection= operation= effect_class= "
            "fingerprint= marker= state settled_by= stopped_run:flag=0 repeatable:flag=0 dropped_by:int=0 "
            "probes:int=0 note= created_at:time settled_at:time probed_at:time params:json response:json sent_at:time "
            "card= place= http_status:int=0 pending:flag=0 wire:json asked:json settler="
        ),
        "event": (
            "run_id! seq!:int time:time type node_id= branch_id= tenant= active_ms:int=0 log_offset:int=0 data:json"
        ),
        "interaction": (
            "run_id! node_id! id! kind asked_at:time answered_at:time retired_at:time questions:json fields:json "
            "answers:json turns:json"
        ),
        "lease": ("resource! holder= epoch:int=0 expires_at:time"),
        "node_output": (
            "run_id! seq!:int branch_path= node_id iteration_path= iteration:int=0 dropped_by:int=0 tokens:int=0 "
            "cost_usd:float=0 duration_ms:int=0 time:time output:json"
        ),
        "run": (
            "id! name= workflow= file_path= bundle_path= workspace= digest= preset= parent_id= inputs:json status "
            "failure_code= error= end_reason= continuation= retry_at:time retry_after_at:time outcome_seq:int=0 "
            "outcome_sequence:int=0 skip_noted:int=-1 version:int=0 event_seq:int=0 output_seq:int=0 epoch:int=0 "
            "owner:json stop_request= stop_reason= explicit_resume_required:flag=0 ask:json raises:json "
            "permissions:json rules:json children:json cost_usd_total:float=0 created_at:time updated_at:time "
            "queued_at:time claimed_at:time finished_at:time last_event_at:time"
        ),
        "run_source": ("run_id! position!:int path main_only:flag=0 digest"),
        "session": ("run_id! slot! backend= fingerprint= state:json"),
        "source_text": ("digest! source"),
        "spend_day": ("day! key! run_id= cost_usd:float=0"),
        "store_counter": ("name! value:int=0"),
        "tombstone": ("run_id! deleted_at:time"),
        "workspace_file": ("run_id! seq!:int path! mode:int=0 hash= skipped="),
        "workspace_mark": ("run_id! seq!:int label node_id= parent:int=0 ref= time:time"),
    }
)
"""By table: ``name`` or ``name:type``; ``=value`` is what an insert may leave out, ``!`` marks a part of the key."""


def _column(text: str) -> Column[Any]:
    declared, has_default, default = text.partition("=")
    name, _, kind = declared.partition(":")
    value: object = DEFAULTS[kind](default) if has_default else None
    return Column(name.rstrip("!"), TYPES[kind](), primary_key=name.endswith("!"), default=value)


def _tables() -> Mapping[str, Table]:
    metadata = MetaData()
    return {name: Table(name, metadata, *map(_column, text.split())) for name, text in COLUMNS.items()}


TABLES = MappingProxyType(_tables())


def table(name: str) -> Table:
    """The Core table of that name."""
    return TABLES[name]
