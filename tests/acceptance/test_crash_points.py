"""kill -9 right behind every point of starting and settling a card: one run, one execution, the card is settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.daemons import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BOT = """vars:
  title: string = ""

tool work:
  command: `echo {{vars.title}} >> FOLDER/trace`

workflow work:
  entry: work
  work -> done
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, BOT.replace("FOLDER", str(tmp_path)))
    yield made
    made.close()


def settled(site: Site) -> bool:
    card = site.card()
    return bool(card["column"] == "review" and card["last_run_status"] == "finished" and card["claim"] is None)


@pytest.mark.parametrize("point", ["S0", "S1", "S2", "S4", "S5", "S6", "S7", "S8", "S9", "S10"])
def test_a_start_that_died_leaves_one_run_and_one_execution(site: Site, point: str) -> None:
    """D048 to D050, D052, D053, D056 to D058."""
    site.do("card", "create", "--title", "x", "--column", "ready")
    assert site.once(crash_at=point) == -9
    site.until(lambda: settled(site), site.once)
    assert site.trace() == ["x"]
    runs = site.read("inspect")["runs"]
    assert [run["status"] for run in runs] == ["finished"]
    assert site.once() == 0
    assert site.trace() == ["x"]


@pytest.mark.parametrize("point", ["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9"])
def test_a_settling_that_died_is_finished_once(site: Site, point: str) -> None:
    """D061, D063, D065, D070."""
    site.do("card", "create", "--title", "x", "--column", "ready")
    assert site.once(crash_at=point) == -9
    site.until(lambda: settled(site), site.once)
    moves = [event for event in site.read("card", "history", "1")["events"] if event["type"] == "card_moved"]
    assert [(move["data"]["from"], move["data"]["to"]) for move in moves] == [
        ("ready", "in_progress"),
        ("in_progress", "review"),
    ]
    assert site.trace() == ["x"]


def test_an_attempt_that_never_reached_a_run_is_counted_until_it_gives_up(site: Site) -> None:
    """D060."""
    site.do("card", "create", "--title", "x", "--column", "ready")
    codes = [site.once(crash_at="S5") for _ in range(3)]
    assert codes == [-9, -9, -9]
    site.until(lambda: site.card()["column"] == "blocked", site.once)
    assert site.once() == 0
    assert site.trace() == []
    assert site.read("inspect")["runs"] == []


def test_hooks_that_completed_are_not_run_again_where_they_must_not(site: Site) -> None:
    """D057: behind ``after_create``, before ``before_run``."""
    hooks = (
        f"hooks:\n  after_create: {{script: 'echo made >> {site.folder}/hooks'}}\n"
        f"  before_run: {{script: 'echo before >> {site.folder}/hooks; [ -e {site.folder}/fine ] || kill -9 $PPID'}}\n"
    )
    path = site.folder / "pointsman.yaml"
    path.write_text(path.read_text() + hooks)
    site.do("card", "create", "--title", "x", "--column", "ready")
    assert site.once() == -9
    (site.folder / "fine").touch()
    site.until(lambda: settled(site), site.once)
    assert site.trace("hooks") == ["made", "before", "before"]


def test_a_daemon_that_died_over_a_removal_is_followed_by_one_that_ends_it(site: Site) -> None:
    """D068: inside E7, between the retired mark and the folder; the settling goes on and nothing is left."""
    died = f"[ -e {site.folder}/fine ] || {{ touch {site.folder}/fine; kill -9 $PPID; }}"
    path = site.folder / "pointsman.yaml"
    path.write_text(
        f"{path.read_text()}columns: {{completed: done}}\nworkspace: {{root: rooms, persist: cleanup_on_done}}\n"
        f"hooks:\n  before_remove: {{script: '{died}'}}\n"
    )
    site.do("card", "create", "--title", "x", "--column", "ready")
    assert site.once() == -9
    assert [each.suffix for each in (site.folder / "rooms" / ".marks").iterdir()] == [".retired"]
    assert site.once() == 0
    card = site.card()
    assert (card["column"], card["claim"], site.trace()) == ("done", None, ["x"])
    assert {each.name for each in (site.folder / "rooms").rglob("*")} == {".dispatcher.lock", ".marks", ".quarantine"}


def test_a_retry_that_was_decided_is_not_decided_again(site: Site) -> None:
    """D064: one row, the same due time."""
    (site.folder / "bots" / "work.bot").write_text(BOT.replace("echo {{vars.title}} >> FOLDER/trace", "exit 1"))
    path = site.folder / "pointsman.yaml"
    path.write_text(path.read_text().replace("base: 100ms, cap: 300ms", "base: 600s, cap: 600s"))
    site.do("card", "create", "--title", "x", "--column", "ready")
    assert site.once(crash_at="E4") == -9
    due = retries(site)
    assert site.once() == 0
    assert (len(due), retries(site)) == (1, due)
    assert site.read("inspect")["runs"][0]["status"] == "failed_resumable"


def retries(site: Site) -> list[object]:
    with sqlite3.connect(site.folder / ".pointsman" / "pointsman.db") as store:
        return store.execute("SELECT card_id, not_before, attempt FROM retry").fetchall()
