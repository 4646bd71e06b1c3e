"""kill -9 while a mirroring daemon shows a copy's column on the forge: one copy, one move, nothing comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.fake_forge.running import FakeForge, running
from tests.acceptance.test_forge_crashes import NAMES
from tests.kit.cli import pointsman
from tests.kit.daemons import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CONFIG = """
name: accept
boards:
  - {{name: native, kind: native, mirror: web}}
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    columns: {{{columns}, done: {{closed: true}}}}
tick: {{interval: 100ms}}
shutdown: {{grace: 1s}}
"""


class MirrorSite(Site):
    """A site whose native board mirrors a fake forge's."""

    def __init__(self, folder: Path, forge: FakeForge) -> None:
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in NAMES)
        config = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        super().__init__(folder, "tool a:\n  command: `true`\n\nworkflow w:\n  entry: a\n  a -> done\n", config)
        self.forge = forge

    def tick(self, crash_at: str = "") -> int:
        """One ``dispatch --once``, which may kill itself at a point."""
        more = {"POINTSMAN_CRASH_AT": crash_at, "POINTSMAN_TESTING": "1"} if crash_at else {}
        return self.run("dispatch", "--once", "--no-server", TOKEN=self.forge.token, **more)

    def copies(self) -> list[dict[str, Any]]:
        """The cards of the native board."""
        answer = pointsman(self.folder, "board", "export", environment={"TOKEN": self.forge.token})
        cards: list[dict[str, Any]] = answer.document["cards"]
        return cards


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MirrorSite]:
    with running(request.param) as forge:
        made = MirrorSite(tmp_path, forge)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("site", "point"),
    [("github", "X3#1"), ("gitlab", "X4#1"), ("forgejo", "X2#1")],
    indirect=["site"],
)
def test_a_push_that_died_anywhere_is_one_move(site: MirrorSite, point: str) -> None:
    """C024, C025 through a mirror."""
    number = site.forge.issue("x", labels=["backlog", "bug"])
    assert site.tick() == 0
    assert site.run("card", "move", "1", "--to", "blocked", TOKEN=site.forge.token) == 0
    assert site.tick(point) == -9
    for _ in range(3):
        assert site.tick() == 0
    assert site.forge.labels_of(number) == ["bug", "blocked"]
    added = [each for each in site.forge.card(number).events if each.data.get("label") == "blocked"]
    assert [each.kind for each in added] == ["labeled"]
    (copy,) = site.copies()
    assert copy["column"] == "blocked"
