"""Whether a folder holds work that is nowhere else: uncommitted or unpushed changes of git (dispatcher.md 21).

Asked before a workspace is removed. A folder that is no repository holds nothing that git could tell; a question that
git does not answer in time counts as unsaved work.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dispatcher.commands import Command, run_command
from engine.ports import Clock

LIMIT = 20.0
"""Seconds for one question to git."""


def unsaved(folder: Path, environment: Mapping[str, str], outputs: Path, clock: Clock) -> str:
    """Why the folder must be kept, in one line; empty when everything is saved elsewhere."""
    if not (folder / ".git").exists():
        return ""
    for argv, why in (
        (("git", "status", "--porcelain"), "uncommitted changes"),
        (("git", "log", "--branches", "HEAD", "--not", "--remotes", "--oneline", "-1"), "unpushed commits"),
    ):
        end = run_command(Command(argv, folder, environment, LIMIT, outputs, "git"), clock)
        if end.code != 0 or end.timed_out:
            return "git could not tell whether it is saved"
        if end.out.strip():
            return why
    return ""
