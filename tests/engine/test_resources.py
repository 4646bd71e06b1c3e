"""Resources that nodes hold while they run: between branches, between runs, across a crash (engine.md 9.5)."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from engine.failures import FailureCode
from engine.ports import SystemClock
from engine.states import RunStatus
from engine.store.resources import place_lock, places_of
from engine.store.store import Store
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, real_rig
from tests.kit.runs import open_store, python

WORK = """
vars:
  items: json = `[1, 2, 3, 4]`
router spread:
  mode: fan_out_each
  over: "{{vars.items}}"
tool work:
  parallel_safe: true
  needs: bench
  command: `{work}`
compute join:
  await: wait_all
  expr:
    n: "length(vars.items)"
workflow w:
  resources:
    bench: {places}
  entry: spread
  spread -> work -> join -> done
"""
COUNTED = """mkdir in.$POINTSMAN_RESOURCE_BENCH || exit 9
echo $POINTSMAN_RESOURCE_BENCH >> trace; sleep 0.05; rmdir in.$POINTSMAN_RESOURCE_BENCH"""
ONE = """
tool work:
  needs: [bench]
  {limit}
  command: `{work}`
workflow w:
  resources:
    bench: 1
  entry: work
  work -> done
"""


def work(command: str = COUNTED, places: str = "2") -> str:
    return WORK.replace("{work}", command).replace("{places}", places)


def one(command: str = "echo x >> trace", limit: str = 'description: "x"') -> str:
    return ONE.replace("{work}", command).replace("{limit}", limit)


@pytest.fixture
def rig(store: Store, tmp_path: Path) -> Rig:
    return real_rig(store, tmp_path)


@pytest.mark.parametrize(("places", "names"), [("2", {"1", "2"}), ('["red", "blue"]', {"red", "blue"}), ("1", {"1"})])
def test_no_more_branches_hold_a_resource_than_it_has_places(rig: Rig, places: str, names: set[str]) -> None:
    """language.md 6: a number, or named places; a process is told which one is its own."""
    assert rig.run(work(places=places)).status == RunStatus.FINISHED
    assert len(rig.trace()) == 4
    assert set(rig.trace()) <= names


def test_a_run_waits_for_what_another_run_holds_and_its_own_limit_does_not_run(rig: Rig) -> None:
    """9.5: waiting does not count against the node's time limit."""
    first = threading.Thread(target=rig.run, args=(one("touch started; until [ -e go ]; do sleep 0.02; done"), "a"))
    first.start()
    looking = threading.Event()
    while not (rig.workspace / "started").exists():
        looking.wait(0.01)
    clock = FakeClock()
    other, began = Rig(rig.store, clock, rig.folder), clock.monotonic()
    second = threading.Thread(target=other.run, args=(one(limit='timeout: "900ms"'), "b"))
    second.start()
    log = rig.folder / ".pointsman" / "runs" / "b" / "run.log"
    while not log.exists() or "waits for resource bench, held by node work of run a" not in log.read_text():
        looking.wait(0.01)
    while clock.monotonic() < began + 10:
        looking.wait(0.01)  # the clock of the second run goes on by itself, far beyond its node's own limit
    assert rig.trace() == []
    rig.write("go")
    first.join(20)
    second.join(20)
    assert rig.trace() == ["x"]
    assert rig.store.runs.get("b").status == RunStatus.FINISHED


def test_a_place_that_is_not_free_in_the_runs_own_time_is_a_timeout(rig: Rig) -> None:
    held = place_lock(rig.store.root, "bench", "1", {"run_id": "other", "node_id": "n"})
    assert held.acquire()
    try:
        record = rig.run(one(), timeout=0.5)
        assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.TIMEOUT)
        assert "held by node n of run other" in record.error
        assert rig.trace() == []
    finally:
        held.release()
    assert rig.resume().status == RunStatus.FINISHED


def test_a_cancel_ends_the_wait_for_a_resource(rig: Rig) -> None:
    held = place_lock(rig.store.root, "bench", "1", {})
    assert held.acquire()

    def cancel() -> None:
        looking = threading.Event()
        while "work" not in [event.node_id for event in rig.events("node_started")]:
            looking.wait(0.01)
        rig.engine.cancel("r1", "enough")

    canceller = threading.Thread(target=cancel)
    threads = threading.active_count()
    record_of = threading.Thread(target=rig.run, args=(one(),))
    record_of.start()
    while not rig.store.runs.list().records:
        threading.Event().wait(0.01)
    canceller.start()
    record_of.join(20)
    canceller.join(20)
    held.release()
    assert rig.store.runs.get("r1").status == RunStatus.CANCELLED
    assert threading.active_count() <= threads + 1, "the watcher at most; nobody waits on"


def test_what_a_dead_process_held_is_free_and_a_living_child_keeps_it(tmp_path: Path) -> None:
    """12.1, for resources: the processes of a node inherit the lock; the last of them frees it."""
    (tmp_path / "work").mkdir()
    text = one("touch started; until [ -e go ]; do sleep 0.02; done; echo x >> trace")
    (tmp_path / "main.bot").write_text(text)
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from tests.kit.engine import real_rig\nfrom tests.kit.runs import open_store\n"
        "from engine.ports import SystemClock\n"
        "folder = Path(sys.argv[1])\nrig = real_rig(open_store(folder, SystemClock()), folder)\n"
        "rig.run((folder / 'main.bot').read_text(), 'a')\n"
    )
    process = python(code, str(tmp_path))
    looking = threading.Event()
    while not (tmp_path / "work" / "started").exists():
        assert process.poll() is None, process.communicate()
        looking.wait(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    lock = place_lock(tmp_path / ".pointsman", "bench", "1", {})
    assert not lock.acquire(), "the command still works, so its resource is taken"
    (tmp_path / "work" / "go").touch()
    while not lock.acquire():
        looking.wait(0.02)
    lock.release()
    store = open_store(tmp_path, SystemClock())
    assert real_rig(store, tmp_path, force_stale_after=0.0).resume("a", force_stale=True).status == RunStatus.FINISHED
    store.database.close()


def test_a_child_run_uses_what_its_parents_node_holds(rig: Rig) -> None:
    """9.5, 9.6: a resource of one place is no trap for a child that needs it too."""
    rig.bot(one("echo child $POINTSMAN_RESOURCE_BENCH >> trace"), "child.bot")
    text = """
subbot call:
  source: "child.bot"
  needs: bench
workflow parent:
  resources:
    bench: ["the one"]
  entry: call
  call -> done
"""
    assert rig.run(text, timeout=20).status == RunStatus.FINISHED
    assert rig.trace() == ["child the one"]
    lock = place_lock(rig.store.root, "bench", "the one", {})
    assert lock.acquire(), "given back"
    lock.release()


def test_two_resources_are_taken_in_one_order(rig: Rig) -> None:
    """No two nodes hold what the other waits for."""
    text = """
router split:
  mode: fan_out_all
tool left:
  readonly: true
  needs: [a, b]
  command: `sleep 0.05; echo left >> trace`
tool right:
  readonly: true
  needs: [b, a]
  command: `sleep 0.05; echo right >> trace`
compute join:
  await: wait_all
  expr:
    x: "1"
workflow w:
  resources:
    a: 1
    b: 1
  entry: split
  split -> left -> join
  split -> right -> join
  join -> done
"""
    assert rig.run(text, timeout=20).status == RunStatus.FINISHED
    assert sorted(rig.trace()) == ["left", "right"]


@pytest.mark.parametrize(
    ("declared", "places"),
    [(2, ("1", "2")), (("x", "y", "x"), ("x", "y")), (None, ()), (0, ())],
)
def test_places_have_names(declared: object, places: tuple[str, ...]) -> None:
    assert places_of(declared) == places


def test_a_name_from_the_workflow_never_leaves_the_folder(tmp_path: Path) -> None:
    """R441, for resources."""
    for name in ("../../x", "a/b", "", ".", "x" * 300, "ünï"):
        lock = place_lock(tmp_path, name, name, {})
        assert lock.path.resolve().is_relative_to(tmp_path / "resources")
        assert len(lock.path.relative_to(tmp_path).parts) == 3
        assert len(lock.path.name) < 100


def test_the_command_line_runs_what_needs_a_resource(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(work())
    assert "X001" not in pointsman(tmp_path, "validate", "main.bot", "--json").out
    answer = pointsman(tmp_path, "run", "main.bot", "--json", environment={"PATH": os.environ["PATH"]})
    assert answer.document["status"] == "finished"
