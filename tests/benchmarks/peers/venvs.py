"""A virtual environment for each engine that is not ours, made once in a folder of the caller's choice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "dbos": ("dbos", "psycopg[binary]"),
    "langgraph": (
        "langgraph",
        "langgraph-checkpoint-sqlite",
        "langgraph-checkpoint-postgres",
        "psycopg[binary]",
    ),
}
"""Environment -> what is installed there."""
LIVES_IN: Mapping[str, str] = {"dbos": "dbos", "dbos_wal": "dbos", "langgraph": "langgraph"}
"""Engine -> its environment; any other runs where this runs."""


def python_of(peer: str, folder: Path) -> Path:
    """The Python that has the engine; its environment is made when it is missing."""
    name = LIVES_IN.get(peer)
    if name is None:
        return Path(sys.executable)
    place = folder / name
    ready = place / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES[name]], check=True)
        ready.touch()
    return place / "bin" / "python"


def versions(peer: str, folder: Path) -> str:
    """The engine with its version, as its environment tells."""
    package = LIVES_IN.get(peer)
    if package is None:
        return peer
    code = "import sys; from importlib.metadata import version; print(sys.argv[1], version(sys.argv[1]))"
    told = subprocess.run([python_of(peer, folder), "-c", code, package], check=True, capture_output=True, text=True)
    return told.stdout.strip()
