"""Heads as they are stored and read: older writers, kinds of numbers, damage, nothing shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from engine.checkpoint import Head, PendingQuestion, Spent, interaction_id
from engine.errors import BadInput, RecordUnreadable, StoreFull
from engine.store.store import Store
from tests.kit.runs import launched, step

FULL = Head(
    node_id="n",
    completed=True,
    pending=PendingQuestion("r1_n", "n", "human", {"q": [1, 2.0]}, ({"name": "ok", "type": "bool", "enum": None},)),
    loop_counters={"l": 3},
    round_robin_counters={"r": 1},
    loop_previous_output={"l": {"x": 1}},
    loop_current_output={"l": {"x": 2.0}},
    loop_still={"l": 1},
    loop_budget_marks={"l": {"tokens": [0, 5]}},
    artifact_versions={"n": 2},
    artifact_revisions={"report": ["n", 1]},
    selected_incoming={"n": (0, 4)},
    recovery_counts={"n": {"TIMEOUT": 1}},
    recovery_pause=True,
    recovery_code="TIMEOUT",
    warned_axes=("tokens",),
    spent=Spent(5, 40_000, 3.0, 600_000_000_000),
    parallel={"router_node_id": "r"},
    extra={"vars": {"a": 1}},
)


def damage(store: Store, statement: str) -> None:
    with store.database.write() as connection:
        connection.execute(text(statement))


def test_a_head_comes_back_as_it_was(store: Store) -> None:
    """R168, R170: recovery counts and consumed budget are in the head."""
    launched(store, head=FULL)
    assert store.checkpoints.head("r1") == FULL


def test_a_head_without_the_newer_fields_reads_as_zero_and_empty(store: Store) -> None:
    """R171"""
    launched(store)
    damage(store, "UPDATE checkpoint SET body = '{}'")
    assert store.checkpoints.head("r1") == Head("entry")


def test_fields_of_a_newer_writer_are_passed_over(store: Store) -> None:
    launched(store)
    damage(store, """UPDATE checkpoint SET body = '{"from_the_future": 1, "loop_counters": {"l": 1}}'""")
    assert store.checkpoints.head("r1") == Head("entry", loop_counters={"l": 1})


def test_counters_stored_as_floats_are_whole_numbers_again(store: Store) -> None:
    """R362"""
    launched(store)
    body = """{"loop_counters": {"l": 2.0}, "recovery_counts": {"n": {"X": 1.0}}, "spent": [5.0, 7.0, 1, 9.0]}"""
    damage(store, f"UPDATE checkpoint SET body = '{body}'")
    head = store.checkpoints.head("r1")
    assert head is not None
    values = [head.loop_counters["l"], head.recovery_counts["n"]["X"], head.spent.iterations, head.spent.elapsed_ns]
    assert (values, [type(value) for value in values]) == ([2, 1, 5, 9], [int] * 4)
    assert type(head.spent.cost_usd) is float


def test_a_restored_head_is_shared_with_nobody(store: Store) -> None:
    """R176"""
    launched(store, head=FULL)
    head = store.checkpoints.head("r1")
    assert head is not None
    head.loop_counters["l"] = 99  # type: ignore[index]
    head.extra["vars"]["a"] = 99  # type: ignore[index]
    assert store.checkpoints.head("r1") == FULL


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("body = '{broken'", "body"),
        ("body = '[]'", "body"),
        ("""body = '{"loop_counters": [1]}'""", "body"),
        ("""body = '{"spent": [1]}'""", "body"),
        ("pending = 'x'", "pending"),
        ("""pending = '{"kind": "human"}'""", "body"),
        pytest.param("completed = 'perhaps'", "completed", marks=pytest.mark.sqlite),
    ],
)
def test_a_damaged_checkpoint_is_named_and_others_are_read(store: Store, change: str, column: str) -> None:
    """R477"""
    for run_id in ("r1", "r2"):
        launched(store, run_id)
    damage(store, f"UPDATE checkpoint SET {change} WHERE run_id = 'r1'".replace(":", "\\:"))
    with pytest.raises(RecordUnreadable, match=f"table checkpoint, id r1: column {column} "):
        store.checkpoints.head("r1")
    assert store.checkpoints.head("r2") == Head("entry")
    assert len(store.runs.list().records) == 2


def test_a_damaged_output_or_event_is_named_with_its_place(store: Store) -> None:
    launched(store)
    store.boundary("r1", 1).commit(Head("a", completed=True), step("a"))
    damage(store, "UPDATE node_output SET output = 'no'")
    damage(store, "UPDATE event SET data = 'no' WHERE seq = 2")
    with pytest.raises(RecordUnreadable, match="table node_output, id r1/1: column output"):
        store.checkpoints.outputs("r1")
    with pytest.raises(RecordUnreadable, match="table event, id r1/2: column data"):
        list(store.timeline.events("r1"))


def test_an_output_dropped_by_a_rewind_gives_way_to_the_one_before(store: Store) -> None:
    launched(store)
    writer = store.boundary("r1", 1)
    for count in range(3):
        writer.commit(Head("a", completed=True), step("a", {"count": count}))
    damage(store, "UPDATE node_output SET dropped_by = 1 WHERE seq = 3")
    assert [stored.row.output for stored in store.checkpoints.outputs("r1")] == [{"count": 1}]
    assert [stored.dropped_by for stored in store.checkpoints.history("r1")] == [0, 0, 1]


def test_a_timeline_longer_than_a_page_is_read_whole(store: Store) -> None:
    launched(store)
    writer = store.boundary("r1", 1)
    if store.database.driver.name.startswith("sqlite"):
        with store.database.exclusive() as raw:
            raw.execute("PRAGMA synchronous=OFF")
    for _ in range(1100):
        writer.commit(Head("a"), step("a"))
    assert [event.seq for event in store.timeline.events("r1")] == list(range(1, 2202))
    assert [event.seq for event in store.timeline.events("r1", since=2199)] == [2200, 2201]
    assert len(list(store.timeline.events("r1", limit=1500))) == 1500


@pytest.mark.parametrize(
    ("iterations", "expected"),
    [
        ((), "r_n"),
        ((("l", 0),), "r_n"),
        ((("l", 2),), "r_n_2"),
        ((("o", 1), ("i", 0)), "r_n_o.1-i.0"),
        ((("o", 0), ("i", 2)), "r_n_o.0-i.2"),
    ],
)
def test_no_two_iterations_share_a_question(iterations: tuple[tuple[str, int], ...], expected: str) -> None:
    assert interaction_id("r", "n", iterations) == expected


def test_a_file_is_copied_under_a_checked_name_and_described(store: Store, tmp_path: Path) -> None:
    """R127 in part, R441"""
    launched(store)
    source = tmp_path / "my theme..mp3"
    source.write_bytes(b"la la")
    staged = store.attachments.stage("r1", source)
    assert Path(staged.path).parent == store.root / "runs" / "r1" / "attachments"
    assert (Path(staged.path).read_bytes(), Path(staged.path).stat().st_mode & 0o777) == (b"la la", 0o600)
    assert staged.descriptor() == {
        "path": staged.path,
        "filename": "my theme..mp3",
        "mime": "audio/mpeg",
        "size": 5,
        "sha256": "9a9e0a33c99f975bdce3ec7c95c0b702bfef280b48ec4a3f1194e6b9d041efcd",
        "attachment": "my_theme_mp3",
    }
    assert store.attachments.all("r1") == (staged,)
    for name in ("../../x", "a/b", ".hidden", "x..y"):
        with pytest.raises(BadInput, match="cannot name a file"):
            store.attachments.stage("r1", source, name)
    with pytest.raises(BadInput, match="cannot be read"):
        store.attachments.stage("r1", tmp_path / "absent")


def test_a_file_that_cannot_be_stored_leaves_no_row(store: Store, tmp_path: Path) -> None:
    launched(store)
    source = tmp_path / "a.txt"
    source.write_text("x")
    (store.root / "runs").mkdir(parents=True, exist_ok=True)
    (store.root / "runs" / "r1").write_text("in the way")
    with pytest.raises(StoreFull, match="cannot be stored"):
        store.attachments.stage("r1", source)
    assert store.attachments.all("r1") == ()
