"""What is captured of a workspace and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.workspace.ignore import Rules, ignore_text, read_rules


@pytest.mark.parametrize(
    ("lines", "path", "excluded"),
    [
        ("*.log", "a/b/x.log", True),
        ("*.log", "a/b/x.txt", False),
        ("/top.txt", "top.txt", True),
        ("/top.txt", "a/top.txt", False),
        ("a/*.txt", "a/x.txt", True),
        ("a/*.txt", "a/b/x.txt", False),
        ("a/**/x.txt", "a/x.txt", True),
        ("a/**/x.txt", "a/b/c/x.txt", True),
        ("logs/", "logs/x", True),
        ("logs/", "deep/logs/x", True),
        ("logs/", "logs", False),
        ("data/**", "data/x/y", True),
        ("file?.[ch]", "file1.c", True),
        ("file?.[!ch]", "file1.c", False),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("out/\n!out/keep.txt", "out/keep.txt", False),
        ("out/\n!out/keep.txt", "out/other.txt", True),
        ("# a comment\n\n\\#file", "#file", True),
        ("[unclosed", "[unclosed", True),
        ("", "anything", False),
    ],
)
def test_patterns_mean_what_they_mean_in_git_and_the_last_match_wins(lines: str, path: str, excluded: bool) -> None:
    assert read_rules(lines).excludes_path(path) is excluded


@pytest.mark.parametrize("path", [".git/config", "a/.git", "node_modules/x/y.js", "a/__pycache__/b.pyc", ".venv/x"])
def test_git_dependencies_and_what_a_build_made_are_never_captured(path: str) -> None:
    assert read_rules("!*").excludes_path(path)


def test_vendored_files_are_captured() -> None:
    assert not Rules().excludes_path("vendor/lib/x.go")


def test_the_workspaces_own_ignore_file_replaces_that_of_git(tmp_path: Path) -> None:
    assert ignore_text(tmp_path) == ""
    (tmp_path / ".gitignore").write_text("a\n")
    assert ignore_text(tmp_path) == "a\n"
    (tmp_path / ".pointsmanignore").write_text("b\n")
    assert ignore_text(tmp_path) == "b\n"
