"""kill -9 right behind every point of a change of a forge, in a real daemon: one column, one comment, one execution."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.fake_forge.running import FakeForge, running
from tests.kit.cli import pointsman
from tests.kit.daemons import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAMES = ("ready", "in_progress", "awaiting_input", "review", "blocked", "backlog")
CONFIG = """
name: accept
boards:
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    trust: {{who: anyone, pin_body: false}}
    vars: {{title: "{{{{card.title}}}}"}}
    comments: [finished]
    columns: {{{columns}, done: {{closed: true}}}}
tick: {{interval: 100ms}}
retry: {{max_attempts: 5, base: 100ms, cap: 300ms}}
runs: {{orphan_grace: 1s}}
shutdown: {{grace: 1s}}
"""
BOT = """vars:
  title: string = ""

tool work:
  command: `echo {{vars.title}} >> FOLDER/trace`

workflow work:
  entry: work
  work -> done
"""


class ForgeSite(Site):
    """A site whose one board is on a fake forge."""

    def __init__(self, folder: Path, forge: FakeForge) -> None:
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in NAMES)
        config = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        super().__init__(folder, BOT.replace("FOLDER", str(folder)), config)
        self.forge = forge

    def tick(self, crash_at: str = "") -> int:
        """One ``dispatch --once``, which may kill itself at a point."""
        more = {"POINTSMAN_CRASH_AT": crash_at, "POINTSMAN_TESTING": "1"} if crash_at else {}
        return self.run("dispatch", "--once", "--no-server", TOKEN=self.forge.token, **more)

    def place(self, number: int) -> list[str]:
        """The labels of the card."""
        return self.forge.labels_of(number)

    def comments(self, number: int) -> list[str]:
        """What was said on the card."""
        return [each.body for each in self.forge.card(number).comments if not each.system]


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ForgeSite]:
    with running(request.param) as forge:
        made = ForgeSite(tmp_path, forge)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("site", "point"),
    [
        ("github", "X1#2"),
        ("github", "X3#2"),
        ("github", "X5#2"),
        ("github", "X3#1"),
        ("gitlab", "X2#1"),
        ("gitlab", "X4#2"),
    ],
    indirect=["site"],
)
def test_a_move_that_died_anywhere_ends_in_one_column(site: ForgeSite, point: str) -> None:
    """C024, C025, C045: two labels of our own are no contradiction, and each label is written once."""
    number = site.forge.issue("x", labels=["ready", "bug"])
    assert site.tick(point) == -9
    site.until(lambda: site.place(number) == ["bug", "review"] and bool(site.comments(number)), site.tick)
    assert site.trace() == ["x"]
    labels = [each.data["label"] for each in site.forge.card(number).events if each.kind == "labeled"]
    assert [label for label in labels if label in NAMES] == ["ready", "in_progress", "review"]
    assert len(site.comments(number)) == 1


@pytest.mark.parametrize(
    ("site", "point", "comments"),
    [("github", "X2", 0), ("github", "X3", 1), ("gitlab", "X4", 1), ("gitlab", "X5", 1)],
    indirect=["site"],
)
def test_a_comment_that_may_have_been_made_is_not_made_again(site: ForgeSite, point: str, comments: int) -> None:
    """C046, C047 for the board's own comment: found by its marker, or left to a person; never two."""
    number = site.forge.issue("x", labels=["ready"])
    moves = 4 if site.forge.kind == "github" else 2
    assert site.tick(f"{point}#{moves + 1}") == -9
    site.until(lambda: site.place(number) == ["review"], site.tick)
    for _ in range(2):
        assert site.tick() == 0
    assert len(site.comments(number)) == comments
    assert site.trace() == ["x"]


def parts(kind: str) -> str:
    """A bot of four calls: a comment on card 1 and three issues."""
    made = [
        f'tool c0:\n  action: {kind}.issue.comment\n  connection: web\n  params:\n    number: 1\n    body: "Parts"\n'
    ]
    made += [
        f"tool c{n}:\n  action: {kind}.issue.create\n  connection: web\n  params:\n"
        f'    title: "Part {n}"\n    body: "x"\n'
        for n in (1, 2, 3)
    ]
    flow = "workflow work:\n  entry: c0\n  c0 -> c1\n  c1 -> c2\n  c2 -> c3\n  c3 -> done\n"
    return "\n".join(['vars:\n  title: string = ""\n', *made, flow])


@pytest.mark.parametrize("site", ["gitlab"], indirect=True)
def test_f38_one_call_that_was_made_proves_nothing_about_the_others(site: ForgeSite) -> None:
    """F38 C081: killed behind the comment's answer; four rows in the end, one comment, and three issues."""
    path = site.folder / "pointsman.yaml"
    path.write_text(path.read_text().replace("comments: [finished]", "comments: []"))
    (site.folder / "bots" / "work.bot").write_text(parts("gitlab"))
    number = site.forge.issue("x", labels=["ready"])
    assert site.tick("X4#2") == -9
    assert (len(site.comments(number)), len(site.forge.here.issues)) == (1, 1)
    site.until(lambda: site.place(number) == ["review"], site.tick)
    assert [body.splitlines()[0] for body in site.comments(number)] == ["Parts"]
    assert sorted(each.title for each in site.forge.here.issues.values()) == ["Part 1", "Part 2", "Part 3", "x"]
    answer = pointsman(site.folder, "effects", "list", "--json", environment={"TOKEN": site.forge.token})
    rows = [each for each in answer.document["effects"] if each["operation"].startswith("gitlab.issue.")]
    assert [each["state"] for each in rows] == ["done"] * 4
