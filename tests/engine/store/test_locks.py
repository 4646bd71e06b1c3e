"""The run lock as liveness: threads, processes, children that outlive their parent, replaced files, identities."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.capture import OutputPlace
from engine.errors import InvalidId, StoreUnreachable
from engine.ports import SystemClock
from engine.process import CommandSpec, run
from engine.run import Owner
from engine.store.groups import Group, Groups
from engine.store.locks import FileLock, RunLock, held, network_file_system
from engine.store.owners import is_here, owner_alive, owner_here, start_ticks
from tests.kit.runs import python

HOLD = (
    "import sys\nfrom pathlib import Path\nfrom engine.store.locks import RunLock\n"
    "lock = RunLock(Path(sys.argv[1]), 'r1')\nprint(lock.acquire(), flush=True)\nsys.stdin.readline()\n"
)


def test_two_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    """R405"""
    locks = [RunLock(tmp_path, "r1") for _ in range(8)]
    start = threading.Barrier(8)
    won: list[bool] = []

    def try_it(lock: RunLock) -> None:
        start.wait()
        won.append(lock.acquire())

    threads = [threading.Thread(target=try_it, args=(lock,)) for lock in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    assert held(tmp_path, "r1")
    for lock in locks:
        lock.release()
    assert not held(tmp_path, "r1")


def test_a_lock_is_private_signed_and_looked_at_without_making_it(tmp_path: Path) -> None:
    assert not held(tmp_path, "r1")
    assert not (tmp_path / "runs").exists()
    lock = RunLock(tmp_path, "r1", Owner("i", "here", "boot", 4711, 5))
    assert lock.fileno() == -1
    assert lock.acquire()
    assert lock.taken
    assert (tmp_path / "runs" / "r1" / ".lock").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "runs" / "r1").stat().st_mode & 0o777 == 0o700
    assert RunLock(tmp_path, "r1").holder_text() == "process 4711 on here"
    lock.release()
    lock.release()
    with pytest.raises(InvalidId):
        RunLock(tmp_path, "../r1")


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    holder = python(HOLD, str(tmp_path))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    lock = RunLock(tmp_path, "r1")
    assert not lock.acquire()
    assert lock.held()
    holder.kill()
    holder.communicate()
    assert lock.acquire()
    lock.release()


def test_a_child_that_outlives_a_killed_engine_keeps_the_lock(tmp_path: Path) -> None:
    """R401, R408 in part: the descriptor is inherited by the tools of the run."""
    code = (
        "import sys, threading\nfrom pathlib import Path\nfrom engine.capture import OutputPlace\n"
        "from engine.ports import SystemClock\nfrom engine.process import CommandSpec, run\n"
        "from engine.store.locks import RunLock\nfrom engine.store.groups import Groups\n"
        "root = Path(sys.argv[1])\nlock = RunLock(root, 'r1')\nlock.acquire()\n"
        "class Tell(Groups):\n"
        "    def started(self, pid):\n        super().started(pid)\n        print(pid, flush=True)\n"
        "run(CommandSpec(('sleep', '60'), root, {}, threading.Event(), OutputPlace(root, 'x'), lock_fd=lock.fileno(),\n"
        "    watcher=Tell(root, 'r1')), SystemClock())\n"
    )
    engine = python(code, str(tmp_path))
    assert engine.stdout is not None
    child = int(engine.stdout.readline())
    engine.kill()
    engine.communicate()
    lock = RunLock(tmp_path, "r1")
    assert not lock.acquire()
    groups = Groups(tmp_path, "r1")
    assert [group.leader for group in groups.alive()] == [child]
    os.killpg(child, 9)
    assert lock.acquire(10.0)
    assert groups.alive() == ()
    lock.release()


def test_a_normal_end_frees_the_lock_also_for_a_child_in_the_background(tmp_path: Path) -> None:
    """R404"""
    lock = RunLock(tmp_path, "r1")
    assert lock.acquire()
    command = "sleep 60 >/dev/null 2>&1 & echo $!"
    spec = CommandSpec(
        ("bash", "-c", command),
        tmp_path,
        {"PATH": os.defpath},
        threading.Event(),
        OutputPlace(tmp_path, "x"),
        lock_fd=lock.fileno(),
    )
    child = int(run(spec, SystemClock()).stdout.head)
    assert RunLock(tmp_path, "r1").held()
    lock.release()
    again = RunLock(tmp_path, "r1")
    assert again.acquire()
    again.release()
    os.kill(child, 9)


def test_a_lock_file_that_was_replaced_is_noticed_and_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "dispatcher.lock"
    first, second = FileLock(path, {"who": "first"}), FileLock(path, {"who": "second"})
    assert first.acquire()
    assert first.still_ours()
    path.unlink()
    assert not first.still_ours()
    assert second.acquire()
    assert second.holder()["who"] == "second"
    first.release()
    assert not FileLock(path, {}).acquire()
    second.release()


def test_an_unreadable_signature_and_an_impossible_place_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.write_text("[torn")
    assert FileLock(path, {}).holder() == {}
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreachable, match="cannot be made"):
        FileLock(tmp_path / "file" / "x.lock", {}).acquire()


def test_an_owner_is_known_by_more_than_its_pid() -> None:
    me = owner_here("i")
    assert owner_alive(me)
    assert is_here(me)
    assert not owner_alive(replace(me, start_ticks=me.start_ticks + 1))
    assert not owner_alive(replace(me, boot="another boot"))
    assert owner_alive(replace(me, host="another host"))
    assert not owner_alive(Owner())


def test_an_owner_that_has_ended_is_gone_even_before_it_is_reaped() -> None:
    process = python("print('x')")
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(process.pid) == 0
    process.communicate()
    assert not owner_alive(replace(owner_here(), pid=process.pid))


def test_groups_are_forgotten_when_they_end_and_damage_is_passed_over(tmp_path: Path) -> None:
    groups = Groups(tmp_path, "r1")
    assert groups.recorded() == ()
    groups.started(os.getpid())
    groups.started(1)
    groups.output()
    with (tmp_path / "runs" / "r1" / "groups").open("a") as file:
        file.write("+ torn\n- \n\n+ a b c\n")
    assert [group.leader for group in groups.recorded()] == [os.getpid(), 1]
    assert groups.alive()[0].leader == os.getpid()
    groups.ended(1)
    assert [group.leader for group in groups.recorded()] == [os.getpid()]
    assert not Group(os.getpid(), 1, owner_here().boot).alive
    groups.begin()
    assert groups.recorded() == ()
    assert stat.S_ISDIR((tmp_path / "runs" / "r1").stat().st_mode)


def test_a_local_folder_is_on_no_network(tmp_path: Path) -> None:
    assert network_file_system(tmp_path) == ""
    assert network_file_system(tmp_path, tmp_path / "no table") == ""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", ""),
        ("/srv/team/store", "nfs4"),
        ("/srv/team", "nfs4"),
        ("/srv/teamwork", ""),
        ("/srv/team/local/store", ""),
        ("/mnt/two words/store", "fuse.sshfs"),
    ],
)
def test_the_nearest_mount_says_what_a_folder_lies_on(tmp_path: Path, folder: str, kind: str) -> None:
    """The table is as Linux writes it: optional fields before the dash, blanks of paths in octal."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "40 22 0:44 / /srv/team rw,relatime shared:8 master:2 - nfs4 host:/team rw,vers=4.2\n"
        "41 40 254:1 / /srv/team/local rw - xfs /dev/vdb rw\n"
        "42 22 0:45 / /mnt/two\\040words rw - fuse.sshfs user@host: rw\n"
    )
    assert network_file_system(Path(folder), table) == kind
