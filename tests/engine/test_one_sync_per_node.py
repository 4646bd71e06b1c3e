"""Decision 6 and engine.md 2.2, counted where it counts: what the process asks of the disk, as the kernel saw it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRACE = shutil.which("strace") or ""
LAUNCH = """
import sys
from pathlib import Path
from engine.api import Engine, EngineSettings, LaunchRequest
from engine.ports import RandomIds, SystemClock
from engine.store.database import Database
from engine.store.store import Store

folder = Path(sys.argv[1])
database = Database.open(f"sqlite:///{folder / 'pointsman.db'}")
engine = Engine(Store(database, SystemClock(), folder), EngineSettings(), SystemClock(), RandomIds())
assert engine.launch(LaunchRequest(file=Path(sys.argv[2]), workspace=folder)).status == "finished"
"""


def syncs(folder: Path, nodes: int) -> int:
    """How often a process that runs so many compute nodes in a row syncs a file."""
    home = folder / str(nodes)
    home.mkdir()
    source = home / "row.bot"
    computes = "\n".join(f'compute n{i}:\n  expr:\n    i: "{i}"' for i in range(nodes))
    way = " -> ".join([f"n{i}" for i in range(nodes)] + ["done"])
    source.write_text(f"{computes}\nworkflow row:\n  entry: n0\n  {way}\n", "utf-8")
    trace = home / "trace"
    watched = [STRACE, "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range", "-o", str(trace)]
    command = [*watched, sys.executable, "-c", LAUNCH, str(home), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    if "ptrace" in done.stderr:
        pytest.skip(f"strace may not look here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return sum("sync(" in line for line in trace.read_text().splitlines())


@pytest.mark.skipif(not STRACE, reason="strace is not installed: syncs cannot be counted (apt-get install strace)")
def test_fifty_more_nodes_are_fifty_more_syncs(tmp_path: Path) -> None:
    """Exactly one commit reaches the disk per node, whatever the length of the run."""
    assert syncs(tmp_path, 60) - syncs(tmp_path, 10) == 50
