"""A row of the ledger that cannot be read holds its card and nobody else (dispatcher.md 2 and 35)."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from dispatcher.checkup import Patient, check_rows
from dispatcher.explaining import explain
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, Yard, tool


def spoil(yard: Yard, table: str, column: str, value: object) -> object:
    """Write the value into the table's rows, of which the first counts; what was there."""
    store = sqlite3.connect(yard.wiring.store_dir / "pointsman.db")
    (before,) = store.execute(f"SELECT {column} FROM {table}").fetchone()
    store.execute(f"UPDATE {table} SET {column} = ?", (value,))
    store.commit()
    store.close()
    return before


def test_a_damaged_row_of_a_card_holds_it_until_it_is_repaired(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock, bot=ASKS)
    card = yard.make()
    yard.settled()
    yard.bot(tool("true"))
    for table, column in (("claim", "state"), ("park", "facts")):
        before = spoil(yard, table, column, "{garbage")
        other = yard.make()
        degraded: Any = yard.settled().state["degraded"]
        assert (yard.reason(card), yard.column(other)) == ("run_unreadable", "review"), (table, column)
        assert [each["code"] for each in degraded] == ["run_unreadable"]
        (found,) = check_rows(Patient(yard.wiring.settings, tmp_path, yard.wiring.store_url, yard.wiring))
        assert (found.level, card in found.text) == ("fail", True)
        told = explain(yard.wiring, {}, card).judgement.decision
        assert (told.row, "a row of the card" in told.text) == ("R03", True)
        spoil(yard, table, column, before)
        yard.settled()
        assert (yard.reason(card), yard.column(card)) == ("waiting_for_answers", "awaiting_input")
    yard.close()


def test_a_damaged_reason_is_written_anew_and_a_damaged_switch_holds_all(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock, bot=ASKS)
    card = yard.make()
    yard.settled()
    spoil(yard, "idle_reason", "since", "yesterday")
    assert yard.view(card).idle is None
    assert yard.again().tick().complete
    assert yard.reason(card) == "waiting_for_answers"
    yard.daemon.desire("running", "me")
    for column, value in (("since", "soon"), ("state", "hibernating")):
        before = spoil(yard, "desired_state", column, value)
        other = yard.make()
        yard.tick()
        assert (yard.column(other), yard.reason(other)) == ("ready", "daemon_paused")
        spoil(yard, "desired_state", column, before)
    yard.close()


def test_a_damaged_outcome_or_column_hides_nothing_else(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock)
    yard.make()
    yard.settled()
    spoil(yard, "run", "outcome_sequence", "{garbage")
    other = yard.again().make()
    yard.settled()
    assert yard.column(other) == "review"
    spoil(yard, "board_column", "aliases", "{garbage")
    report = yard.tick()
    (told,) = [each for each in report.state["degraded"] if each["code"] == "board_unreadable"]  # type: ignore[attr-defined]
    assert (report.complete, "its earlier names are damaged" in told["text"]) == (True, True)
    yard.close()
