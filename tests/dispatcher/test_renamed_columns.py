"""Columns that have another name on the board than in the configuration (dispatcher.md 29, row D200)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.card import PERSON
from connectors.fields import FieldSpec
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, Yard, tool, waits

LIMITS = "concurrency: {max: 3, wip: {review: 1}, by_column: {ready: 1}}\n"
NAMES = {
    "ready": "todo",
    "in_progress": "doing",
    "awaiting_input": "asking",
    "waiting_deps": "later",
    "review": "checked",
    "blocked": "broken",
}


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock, CONFIG + LIMITS)
    for old, new in NAMES.items():
        made.board.rename_column(old, new, PERSON)
    yield made
    (tmp_path / "go").touch()
    made.close()


def test_limits_blockers_and_waiting_cards_go_by_the_present_names(yard: Yard) -> None:
    """D200: wip and by_column hold, the failed column releases nobody, T9 finds those that wait."""
    yard.bot(waits(yard.folder))
    failed = yard.make("failed", column="broken")
    first, second = yard.make("first"), yard.make("second")
    held = yard.make("waits for the failed one", blockers=(failed,))
    done = yard.make("done", column="done")
    freed = yard.make("waits for the done one", column="later", blockers=(done,))
    yard.tick(wait=False)
    assert (yard.reason(second), yard.reason(held)) == ("cap_column", "blocked_by")
    assert (yard.column(first), yard.column(freed)) == ("doing", "todo")
    caps = {each["name"]: each["used"] for each in yard.tick(wait=False).state["caps"]}
    assert caps == {"by_column:ready": 1, "wip:review": 0}
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(2)
    assert (yard.column(first), yard.reason(second)) == ("checked", "wip_full")


def test_a_park_in_a_renamed_column_is_kept_and_left_by_its_answers(yard: Yard) -> None:
    """D200."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled(3)
    assert (yard.column(card), len(yard.ledger().parks)) == ("asking", 1)
    yard.resume(card, answers={"ok": True})
    yard.settled(2)
    assert (yard.column(card), len(yard.ledger().parks)) == ("checked", 0)


def test_the_doctor_tells_a_board_from_which_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "pointsman.yaml").write_text("columns: {running: null, failed: null}\n")
    for name in ("ready", "in_progress", "done", "blocked"):
        assert pointsman(tmp_path, "board", "columns", "delete", name).code == 0
    checks = [each for each in pointsman(tmp_path, "doctor", "--json").document["checks"] if each["id"] == "columns"]
    assert [each["level"] for each in checks] == ["warn", "warn", "pass"]
    assert ("eligible" in checks[0]["text"], "terminal" in checks[1]["text"]) == (True, True)


def test_a_field_that_a_template_misspells_holds_the_card_and_the_doctor_names_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    yard = Yard(tmp_path, clock, CONFIG.replace("{{card.title}}", "{{card.fields.sise}}"), tool("true"))
    yard.board.declare_field(FieldSpec("size"), PERSON)
    card = yard.make()
    yard.tick()
    assert (yard.reason(card), yard.runs()) == ("vars_invalid", ())
    yard.board.declare_field(FieldSpec("sise"), PERSON)
    yard.settled()
    assert yard.column(card) == "review"
    yard.close()
    pointsman(tmp_path, "board", "fields", "add", "size")
    (tmp_path / "pointsman.yaml").write_text(CONFIG.replace("{{card.title}}", "{{card.fields.sise}}"))
    told = [each["text"] for each in pointsman(tmp_path, "doctor", "--json").document["checks"]]
    assert any('"sise"' in each for each in told)


def test_the_doctor_tells_old_names_and_cards_in_no_column(tmp_path: Path) -> None:
    """D200, D202: an old name goes on working and is no failure; an unmapped card is listed."""
    (tmp_path / "pointsman.yaml").write_text("concurrency: {wip: {reveiw: 1}}\n")
    (tmp_path / "cards.json").write_text('{"cards": [{"id": "cx", "title": "lost", "column": "elsewhere"}]}')
    pointsman(tmp_path, "board", "import", "cards.json")
    pointsman(tmp_path, "board", "columns", "rename", "blocked", "broken")
    checks = [each for each in pointsman(tmp_path, "doctor", "--json").document["checks"] if each["id"] == "columns"]
    told = [(each["level"], each["text"]) for each in checks]
    assert [level for level, _ in told] == ["warn", "pass", "warn", "warn"]
    assert "is called broken now; columns.failed goes on working" in told[0][1]
    assert "card #1 is in elsewhere" in told[2][1]
    assert '"reveiw"' in told[3][1]
