"""The README's first command: from an empty folder to a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(not (PROGRAMS / "pointsman").exists(), reason="pointsman is not installed beside this Python")
def test_the_demo_goes_from_a_card_to_a_commit(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    command = ["bash", str(ROOT / "demo" / "run.sh")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (work,) = tmp_path.glob("pointsman-demo.*")
    notes = (work / "shop" / "RELEASE_NOTES.md").read_text()
    assert "## Release 1.1" in notes
    assert "**api**: prices are whole cents" in notes
    assert "awaiting_input" in done.stdout
    assert "Traceback" not in done.stderr
