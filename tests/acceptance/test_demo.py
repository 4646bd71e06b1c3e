"""The README's first command: from an empty folder to a commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not (PROGRAMS / "pointsman").exists(), reason="pointsman is not installed beside this Python"),
]


def played(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The demo in that folder, to its end."""
    environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    command = ["bash", str(ROOT / "demo" / script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_demo_goes_from_a_card_to_a_commit(tmp_path: Path) -> None:
    done = played("run.sh", tmp_path)
    (work,) = tmp_path.glob("pointsman-demo.*")
    notes = (work / "shop" / "RELEASE_NOTES.md").read_text()
    assert "## Release 1.1" in notes
    assert "**api**: prices are whole cents" in notes
    assert "awaiting_input" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_demo_over_a_forge_comments_once_although_the_answer_is_cut(tmp_path: Path) -> None:
    """C051 for a person: labels go from ready to review, one comment, nobody is asked."""
    done = played("forge.sh", tmp_path)
    end = done.stdout.split("== What a person sees")[1]
    assert "labels: review" in end
    assert end.count("I looked at Paint the fence") == 1
    assert "ambiguous" not in end
    assert "Traceback" not in done.stderr
    (work,) = tmp_path.glob("pointsman-demo.*")
    state = json.loads((work / "state.json").read_text())
    (issue,) = next(iter(state["repos"].values()))["issues"].values()
    labels = [event["data"]["label"] for event in issue["events"] if event["kind"] == "labeled"]
    assert labels == ["ready", "in_progress", "review"]
