"""What a durable node costs: compute and tool nodes beside raw commits and bare shells, taken in turn in one run.

A run of ``n`` nodes is a loop over one node, so that the graph is the same size for 10 and for 10,000; 100 nodes in a
row are measured as well. Runs execute in this process, through the engine's own door.
"""

import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.api import Engine, EngineSettings, LaunchRequest
from engine.ports import RandomIds, SystemClock
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store
from tests.benchmarks import raw

COMPUTE = 'compute step:\n  expr:\n    i: "loop.laps.iteration"\n'
TOOL = "tool step:\n  command: `true`\n"
SIZES = (10, 100, 10_000)
REPEATS = 5


@contextmanager
def engine_in(folder: Path) -> Iterator[Engine]:
    """An engine over a fresh store in ``folder``."""
    folder.mkdir(parents=True)
    database = Database.open(f"sqlite:///{folder / 'pointsman.db'}")
    try:
        clock = SystemClock()
        yield Engine(Store(database, clock, folder), EngineSettings(), clock, RandomIds())
    finally:
        database.close()


def looped(folder: Path, node: str, count: int) -> Path:
    """A workflow that runs ``node`` so many times."""
    path = folder / f"loop-{count}.bot"
    way = f"  step -> step as laps({count - 1})\n" if count > 1 else ""
    path.write_text(f"{node}\nworkflow bench:\n  entry: step\n{way}  step -> done\n", "utf-8")
    return path


def chained(folder: Path, count: int) -> Path:
    """A workflow of so many compute nodes in a row."""
    path = folder / f"chain-{count}.bot"
    nodes = [f'compute n{i}:\n  expr:\n    i: "{i}"\n' for i in range(count)]
    edges = " -> ".join([f"n{i}" for i in range(count)] + ["done"])
    path.write_text("\n".join([*nodes, "workflow bench:", "  entry: n0", f"  {edges}", ""]), "utf-8")
    return path


def run_once(engine: Engine, source: Path, workspace: Path) -> tuple[float, str]:
    """Seconds of one whole run, and its id."""
    began = time.perf_counter()
    record = engine.launch(LaunchRequest(file=source, workspace=workspace))
    spent = time.perf_counter() - began
    assert record.status == RunStatus.FINISHED, record
    return spent, record.id


def growth(engine: Engine, run_id: str) -> float:
    """Time of the last tenth of a run's nodes over that of the first tenth, by the timeline."""
    times = [event.time for event in engine.store.timeline.events(run_id) if event.type == "node_finished"]
    tenth = len(times) // 10
    return (times[-1] - times[-1 - tenth]).total_seconds() / (times[tenth] - times[0]).total_seconds()


def _computes(folder: Path) -> Iterator[dict[str, object]]:
    for count in SIZES:
        repeats = REPEATS if count < max(SIZES) else 3
        raws, ours, last = [], [], 1.0
        with engine_in(folder / f"compute-{count}") as engine:
            source = looped(folder, COMPUTE, count)
            run_once(engine, looped(folder, COMPUTE, 2), folder)
            for number in range(repeats):
                place = folder / f"raw-{count}-{number}"
                place.mkdir()
                raws.append(raw.seconds_for(place, count))
                spent, run_id = run_once(engine, source, folder)
                ours.append(spent)
            last = growth(engine, run_id) if count >= 100 else 1.0
        yield _row("compute_node", count, statistics.median(ours), statistics.median(raws)) | {"last_over_first": last}


def _chain(folder: Path) -> Iterator[dict[str, object]]:
    with engine_in(folder / "chain") as engine:
        source = chained(folder, 100)
        raws, ours = [], []
        for number in range(REPEATS + 1):
            place = folder / f"raw-chain-{number}"
            place.mkdir()
            raws.append(raw.seconds_for(place, 100))
            ours.append(run_once(engine, source, folder)[0])
        yield _row("compute_chain", 100, statistics.median(ours[1:]), statistics.median(raws[1:]))


def _tools(folder: Path) -> Iterator[dict[str, object]]:
    for count in (10, 100, 1_000):
        shells, ours = [], []
        workspace = folder / f"workspace-of-tools-{count}"
        workspace.mkdir()
        with engine_in(folder / f"tool-{count}") as engine:
            source = looped(folder, TOOL, count)
            run_once(engine, looped(folder, TOOL, 2), workspace)
            for _ in range(3):
                began = time.perf_counter()
                for _ in range(count):
                    subprocess.run(["bash", "-c", "true"], check=True, capture_output=True, start_new_session=True)
                shells.append(time.perf_counter() - began)
                ours.append(run_once(engine, source, workspace)[0])
        mine, shell = statistics.median(ours), statistics.median(shells)
        yield {
            "bench": "tool_node",
            "nodes": count,
            "ms_per_node": 1000 * mine / count,
            "bare_shell_ms": 1000 * shell / count,
            "over_shell_ms": 1000 * (mine - shell) / count,
        }


def _boundaries(folder: Path) -> Iterator[dict[str, object]]:
    """A tool node in workspaces of several sizes, with boundaries of the workspace and without, in turn."""
    count = 50
    for files in (10, 1_000, 10_000):
        workspace = folder / f"workspace-{files}"
        for number in range(files):
            place = workspace / str(number // 50)
            place.mkdir(parents=True, exist_ok=True)
            (place / str(number)).write_text(f"file {number}", "utf-8")
        with engine_in(folder / f"boundaries-{files}") as engine:
            plain = Engine(engine.store, EngineSettings(workspace_boundaries=False), SystemClock(), RandomIds())
            source = looped(folder, TOOL, count)
            first = run_once(engine, looped(folder, TOOL, 1), workspace)[0]
            taken = [(run_once(engine, source, workspace)[0], run_once(plain, source, workspace)[0]) for _ in range(3)]
        ours, floor = (statistics.median(column) for column in zip(*taken, strict=True))
        yield {
            "bench": "tool_node_boundaries",
            "files": files,
            "ms_per_node": 1000 * ours / count,
            "without_ms": 1000 * floor / count,
            "first_look_ms": 1000 * first,
        }


def _row(name: str, count: int, ours: float, floor: float) -> dict[str, object]:
    return {
        "bench": name,
        "nodes": count,
        "ms_per_node": 1000 * ours / count,
        "raw_ms": 1000 * floor / count,
        "times_raw": ours / floor,
    }


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """Rows for compute nodes, a chain, tool nodes, and tools in large workspaces."""
    yield from _computes(folder)
    yield from _chain(folder)
    yield from _tools(folder)
    yield from _boundaries(folder)
