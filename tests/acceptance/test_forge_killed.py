"""A daemon over a forge's board that is killed between a label and its work: the next start finishes it, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from connectors.fake_forge.running import FakeForge
from tests.kit.cli import pointsman
from tests.kit.daemons import Site
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS, CONFIG
from tests.kit.yard import HEAD, tool


@contextmanager
def site(folder: Path, forge: FakeForge) -> Iterator[Site]:
    columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
    config = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
    with closing(Site(folder, tool(f"echo ran >> {folder}/trace"), config)) as made:
        yield made


def dispatched(at: Site, forge: FakeForge, crash_at: str = "") -> int:
    testing = {"POINTSMAN_TESTING": "1", "POINTSMAN_CRASH_AT": crash_at} if crash_at else {}
    return at.run("dispatch", "--once", "--no-server", TOKEN=forge.token, **testing)


@pytest.mark.parametrize("lost", [False, True], ids=["D054", "D055"])
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_f06_a_label_flipped_by_a_daemon_that_died_is_followed_by_its_work(
    tmp_path: Path, kind: str, lost: bool
) -> None:
    """F06 D054 D055: no grace is waited for, and the label is written once, whether the answer came or not."""
    with fake(kind) as forge, site(tmp_path, forge) as at:
        card = forge.issue("Do it", labels=["ready"])
        if lost:
            operation = "issue.edit" if kind == "gitlab" else "label.add"
            forge.script({"fault": "act_then_close", "match": {"operation": operation, "nth": 1}})
        assert dispatched(at, forge, "S6") == -9
        assert forge.labels_of(card) == ["in_progress"]
        assert at.trace() == []
        assert dispatched(at, forge) == 0
        assert at.trace() == ["ran"]
        assert forge.labels_of(card) == ["review"]
        put_on = [each.data["label"] for each in forge.card(card).events if each.kind == "labeled"]
        assert put_on == ["ready", "in_progress", "review"]


@pytest.mark.parametrize("point", ["E5", "E6", "E9"])
def test_an_outcome_that_a_daemon_did_not_finish_is_finished_once(tmp_path: Path, point: str) -> None:
    """D066 D067 behind a kill: one move in the forge's history, no second run, nothing written twice."""
    with fake("github") as forge, site(tmp_path, forge) as at:
        card = forge.issue("Do it", labels=["ready"])
        assert dispatched(at, forge, point) == -9
        assert dispatched(at, forge) == 0
        assert at.trace() == ["ran"]
        assert forge.labels_of(card) == ["review"]
        put_on = [each.data["label"] for each in forge.card(card).events if each.kind == "labeled"]
        assert put_on == ["ready", "in_progress", "review"]
        assert len(forge.card(card).comments) <= 1


STOPS = f"""{HEAD}tool first:
  command: `t={{{{vars.title}}}}; echo first-$t >> FOLDER/trace; until [ -e FOLDER/go-$t ]; do sleep 0.02; done`

tool second:
  command: `echo second-{{{{vars.title}}}} >> FOLDER/trace`

workflow work:
  entry: first
  first -> second
  second -> done
"""


def test_f07_a_stop_leaves_labels_that_are_true(tmp_path: Path) -> None:
    """F07 D120 D213: of two runs one reaches its boundary within the grace, one does not. While the daemon is down both
    cards are in work, claimed, and say why they wait; the next start goes on with both, as the same attempt."""
    with fake("github") as forge, site(tmp_path, forge) as at:
        (tmp_path / "bots" / "work.bot").write_text(STOPS.replace("FOLDER", str(tmp_path)))
        path = tmp_path / "pointsman.yaml"
        path.write_text(path.read_text().replace("shutdown: {grace: 0s}", "shutdown: {grace: 3s}"))
        cards = [forge.issue(title, labels=["ready"]) for title in ("quick", "slow")]
        daemon = at.start("dispatch", "--no-server", "--log-format", "json", TOKEN=forge.token)
        at.until(lambda: sorted(at.trace()) == ["first-quick", "first-slow"])
        daemon.terminate()
        at.until(lambda: bool(at.logged("dispatcher.stopping")))
        (tmp_path / "go-quick").touch()
        assert daemon.wait(60) == 0
        assert [forge.labels_of(card) for card in cards] == [["in_progress"]] * 2
        before = [shown(at, forge, card) for card in cards]
        assert [(each["last_run_status"], each["claim"]["state"]) for each in before] == [
            ("failed_resumable", "retrying")
        ] * 2
        assert [each["idle_reason"]["code"] for each in before] == ["stopping"] * 2
        assert sorted(at.trace()) == ["first-quick", "first-slow"]
        (tmp_path / "go-slow").touch()
        assert dispatched(at, forge) == 0
        assert sorted(at.trace()) == ["first-quick", "first-slow", "first-slow", "second-quick", "second-slow"]
        after = [shown(at, forge, card) for card in cards]
        assert [each["last_run"] for each in after] == [each["last_run"] for each in before]
        assert [forge.labels_of(card) for card in cards] == [["review"]] * 2


def shown(at: Site, forge: FakeForge, card: int) -> Any:
    """What a person sees of the card."""
    answer = pointsman(
        at.folder, "card", "--board", "web", "show", str(card), "--json", environment={"TOKEN": forge.token}
    )
    assert answer.code == 0, answer.err
    return answer.document
