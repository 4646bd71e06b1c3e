"""The bot ``release-notes``, run on real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kit.cli import Answer, pointsman

BOT = Path(__file__).parents[2] / "bots" / "release-notes.bot"
SUBJECTS = (
    "chore: a shop",
    "feat(cart): saved items",
    "fix: rounding",
    "feat(api)!: whole cents",
    "Tidy up by hand",
)


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with five commits, four of them after the tag."""
    repository = tmp_path / "shop"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    git(repository, "config", "user.name", "Ada")
    git(repository, "config", "user.email", "ada@example.org")
    for number, subject in enumerate(SUBJECTS):
        (repository / "file").write_text(str(number))
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", subject)
        if number == 0:
            git(repository, "tag", "v1.0")
    return repository


def draft(folder: Path, repository: Path, *more: str) -> Answer:
    line = ["run", str(BOT), "--var", f"repo={repository}", "--run-id", "r1", "--no-interactive", "--json"]
    return pointsman(folder, *line, *more, environment={"PATH": "/usr/local/bin:/usr/bin:/bin"})


def answer(folder: Path, approved: str, note: str) -> Answer:
    line = ["resume", "--run-id", "r1", "--no-interactive", "--json"]
    return pointsman(folder, *line, "--answer", f"approved={approved}", "--answer", f"note={note}")


def test_the_draft_groups_what_came_after_the_tag_and_waits(tmp_path: Path, shop: Path) -> None:
    waiting = draft(tmp_path, shop)
    assert (waiting.code, waiting.document["status"]) == (4, "paused_waiting_human")
    text = waiting.document["pending"]["questions"]["draft"]
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["## Unreleased", "### Breaking", "### New", "### Fixed", "### Changed"]
    assert "**api**: whole cents" in text
    assert "a shop" not in text
    assert [field["name"] for field in waiting.document["pending"]["fields"]] == ["approved", "note"]
    assert not (shop / "RELEASE_NOTES.md").exists()


def test_a_yes_commits_the_notes_with_the_note_on_top(tmp_path: Path, shop: Path) -> None:
    draft(tmp_path, shop, "--var", "heading=1.1")
    done = answer(tmp_path, "yes", "Mind the cents.")
    assert (done.code, done.document["status"]) == (0, "finished")
    commit = done.document["outputs"]["commit"]["commit"]
    assert git(shop, "rev-parse", "HEAD") == commit
    assert git(shop, "log", "-1", "--format=%s") == "docs: release notes for 1.1"
    assert git(shop, "show", "--name-only", "--format=", "HEAD") == "RELEASE_NOTES.md"
    notes = (shop / "RELEASE_NOTES.md").read_text()
    assert notes.startswith("# Release notes\n\n## 1.1\n\nMind the cents.\n\n### Breaking\n")
    assert git(shop, "status", "--porcelain") == ""


def test_new_notes_stand_above_the_old_ones(tmp_path: Path, shop: Path) -> None:
    (shop / "RELEASE_NOTES.md").write_text("# What changed\n\n## 1.0\n\n- everything\n")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "docs: release notes by hand")
    draft(tmp_path, shop, "--var", "heading=1.1")
    answer(tmp_path, "yes", "")
    lines = (shop / "RELEASE_NOTES.md").read_text().splitlines()
    assert lines[0] == "# What changed"
    assert lines.index("## 1.1") < lines.index("## 1.0")
    assert lines[-1] == "- everything"


def test_a_no_ends_in_a_failure_with_its_own_code(tmp_path: Path, shop: Path) -> None:
    draft(tmp_path, shop)
    refused = answer(tmp_path, "no", "too early")
    assert (refused.code, refused.document["failure_code"]) == (1, "NOTES_REFUSED")
    assert "too early" in refused.document["error"]
    assert not (shop / "RELEASE_NOTES.md").exists()


def test_nothing_new_finishes_without_a_question(tmp_path: Path, shop: Path) -> None:
    git(shop, "tag", "v2.0")
    assert draft(tmp_path, shop).document["status"] == "finished"


def test_what_is_no_repository_or_not_clean_is_said(tmp_path: Path, shop: Path) -> None:
    nowhere = draft(tmp_path, tmp_path / "nowhere")
    assert (nowhere.code, nowhere.document["failure_code"]) == (1, "NO_HISTORY")
    assert "nowhere" in nowhere.document["error"]
    (shop / "RELEASE_NOTES.md").write_text("half written")
    dirty = draft(tmp_path, shop, "--store-dir", "other")
    assert "not committed" in dirty.document["error"]


def test_a_crash_behind_the_commit_does_not_commit_twice(tmp_path: Path, shop: Path) -> None:
    """Every tool may run twice: the second look finds the commit of this run by its trailer."""
    draft(tmp_path, shop)
    (shop / "file").write_text("by hand")
    git(shop, "commit", "--quiet", "--all", "--message", "docs: by another hand\n\nPointsman-Run: r1")
    before = git(shop, "rev-parse", "HEAD")
    done = answer(tmp_path, "yes", "")
    assert done.document["outputs"]["commit"]["commit"] == before
    assert git(shop, "rev-parse", "HEAD") == before
