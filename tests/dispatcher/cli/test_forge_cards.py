"""``card list|show|move|comment`` and ``explain`` on the board of a forge: the same words as on a native one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.fake_forge.running import FakeForge, running
from tests.kit.cli import Answer, pointsman

CONFIG = """
boards:
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    columns: {{ready: {{label: ready}}, review: {{label: review}}}}
columns: {{running: null, awaiting_input: null, failed: null, completed: review, cancelled: review}}
"""
BOT = "tool work:\n  command: `true`\n\nworkflow work:\n  entry: work\n  work -> done\n"


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def forge(request: pytest.FixtureRequest) -> Iterator[FakeForge]:
    with running(request.param) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, forge: FakeForge) -> Path:
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "work.bot").write_text(BOT)
    (tmp_path / "pointsman.yaml").write_text(CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo))
    for number in (1, 2):
        forge.issue(f"Card {number}", labels=["ready"] if number == 1 else ["ready", "bug"])
    return tmp_path


def ask(folder: Path, forge: FakeForge, *words: str) -> Answer:
    return pointsman(folder, *words, environment={"TOKEN": forge.token})


def test_before_there_is_a_store_nothing_is_asked_and_that_is_said(folder: Path, forge: FakeForge) -> None:
    answer = ask(folder, forge, "card", "list")
    assert (answer.code, answer.out.strip()) == (0, "No cards.")
    assert "dispatch --once" in answer.err
    assert forge.requests() == []


def test_cards_of_a_forge_are_listed_shown_moved_and_commented(folder: Path, forge: FakeForge) -> None:
    (folder / ".pointsman").mkdir()
    assert ask(folder, forge, "db", "upgrade").code == 0
    listed = ask(folder, forge, "card", "list", "--label", "bug", "--json").document["cards"]
    assert [(each["number"], each["column"]) for each in listed] == [(2, "ready")]
    assert ask(folder, forge, "card", "move", "#1", "--to", "review", "--board", "web").code == 0
    assert ask(folder, forge, "card", "comment", "1", "looks good").code == 0
    shown = ask(folder, forge, "card", "show", "1", "--json").document
    assert (shown["column"], "looks good" in shown["comments"][-1]["text"]) == ("review", True)
    assert shown["column_by"] == "person"
    assert forge.labels_of(1) == ["review"]


def test_what_is_not_there_is_named(folder: Path, forge: FakeForge) -> None:
    assert ask(folder, forge, "db", "upgrade").code == 0
    for words, named in ((("show", "99"), "99"), (("show", "x1"), "x1"), (("move", "1", "--to", "nowhere"), "nowhere")):
        answer = ask(folder, forge, "card", *words)
        assert (answer.code in (1, 2), named in answer.err) == (True, True), answer.err
    assert ask(folder, forge, "card", "--board", "other", "list").code == 2
    assert ask(folder, forge, "card", "list", "--board", "other").code == 2
    forge.act("transfer", number=2, to="octo/other")
    told = {"github": ": it moved to octo/other", "gitlab": ": it moved to issue id", "forgejo": "There is no card 2"}
    for words in (("card", "show", "2"), ("card", "move", "2", "--to", "review"), ("explain", "web#2")):
        assert told[forge.kind] in ask(folder, forge, *words).err


def test_a_list_that_broke_off_says_so(folder: Path, forge: FakeForge) -> None:
    """connectors.md 26: part of a list is never shown as the whole."""
    assert ask(folder, forge, "db", "upgrade").code == 0
    forge.script({"match": {"operation": "issue.list"}, "fault": "page_cut"})
    answer = ask(folder, forge, "card", "list", "--json")
    assert (answer.code, answer.document["cards"], answer.document["complete"]) == (0, [], False)
    assert "This list is not whole: " in answer.err


def test_explain_finds_a_card_by_board_and_number(folder: Path, forge: FakeForge) -> None:
    assert ask(folder, forge, "db", "upgrade").code == 0
    told = ask(folder, forge, "explain", "web#2", "--json").document
    assert (told["number"], told["board"]) == (2, "web")
    more = CONFIG.format(kind=forge.kind, url="http://127.0.0.1:9", repo="octo/none").replace("name: web", "name: far")
    near = more.split("columns: {running")[0] + (folder / "pointsman.yaml").read_text().split("boards:\n")[1]
    (folder / "pointsman.yaml").write_text(near)
    assert ask(folder, forge, "explain", "2", "--json").document["board"] == "web"
    assert ask(folder, forge, "explain", "web#99").code == 1
