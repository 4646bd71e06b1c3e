"""A daemon over a forge's board that is killed between a label and its work: the next start finishes it, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from connectors.fake_forge.running import FakeForge
from tests.kit.daemons import Site
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS, CONFIG
from tests.kit.yard import tool


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
