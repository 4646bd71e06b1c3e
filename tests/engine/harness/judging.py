"""Starts a sweep and judges what it left: each strike against the undisturbed run."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

from engine.ports import SystemClock
from engine.store.store import Store
from tests.engine.harness import laws
from tests.engine.harness.driving import RUN, opened, trace_of
from tests.kit.runs import ROOT


def swept(fault: str, graph: str, where: Path, *most: int) -> dict[str, list[int]]:
    """The strikes on the graph; how the attempts ended, by folder."""
    script = [sys.executable, "-m", "tests.engine.harness.sweeping", fault, graph, str(where), *map(str, most)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(script, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    ends: dict[str, list[int]] = json.loads(done.stdout)
    unable = {name: codes for name, codes in ends.items() if codes[1:] != [0]}
    assert not unable, f"{unable}\n{done.stderr}"
    return ends


def read(folder: Path) -> tuple[laws.Told, list[str]]:
    """What is stored and what tools left in the end; the laws that one run alone has to keep hold."""
    with opened(folder) as database:
        store = Store(database, SystemClock(), folder / ".pointsman")
        laws.store_is_sound(database)
        seen = laws.told(store, RUN)
        laws.timeline_holds(list(store.timeline.events(RUN)), seen)
    return seen, trace_of(folder)


def check(folder: Path, end: laws.Told, trace: list[str]) -> None:
    """The laws of one strike against the undisturbed run."""
    seen, left = pickle.loads((folder / "left").read_bytes())
    ours, mine = read(folder)
    laws.same_end(ours, end)
    laws.nothing_lost(ours, seen)
    laws.no_finished_node_repeated(mine, trace, left, seen)


def broken(where: Path, ends: dict[str, list[int]]) -> dict[str, str]:
    """The strikes that broke a law, with the law."""
    found = {}
    end, trace = read(where / "undisturbed")
    for name in ends:
        try:
            check(where / name, end, trace)
        except AssertionError as law:
            found[name] = str(law).split("\n", maxsplit=1)[0]
    return found
