"""The upgrade notes speak of commands that exist and of every version that the changelog knows."""

from __future__ import annotations

import re
from pathlib import Path

from dispatcher import __version__
from dispatcher.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "upgrading.md").read_text()


def test_every_version_has_its_notes() -> None:
    released = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert __version__ in released
    assert set(re.findall(r"^### (\d+\.\d+\.\d+)", PAGE, re.MULTILINE)) == set(released)


def test_every_command_of_the_notes_exists() -> None:
    named = set(re.findall(r"`pointsman ([a-z]+)", PAGE))
    assert {"backup", "restore", "doctor", "config", "db"} <= named <= set(VERBS)
