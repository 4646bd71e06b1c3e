"""Commands as real processes: ends, limits, stops, groups, output, environment (engine.md 12.4, 6.4)."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.capture import INLINE, Capture, OutputPlace
from engine.ports import SystemClock
from engine.process import CommandSpec, ProcessEnd, clean_environment, listed_start, run

CLOCK = SystemClock()


class Told:
    """A watcher that remembers, and acts when the command starts or prints."""

    def __init__(self, at_output: Callable[[], None] = lambda: None) -> None:
        self.leaders: list[int] = []
        self.ends: list[int] = []
        self.blocks = 0
        self._at_output = at_output

    def started(self, pid: int) -> None:
        self.leaders.append(pid)

    def output(self) -> None:
        self.blocks += 1
        self._at_output()

    def ended(self, pid: int) -> None:
        self.ends.append(pid)


@pytest.fixture
def spec(tmp_path: Path) -> CommandSpec:
    environment = {"PATH": os.environ["PATH"]}
    return CommandSpec(("true",), tmp_path, environment, threading.Event(), OutputPlace(tmp_path / "output", "n.1"))


def bash(spec: CommandSpec, command: str, **values: object) -> ProcessEnd:
    return run(replace(spec, argv=("bash", "-c", command), **values), CLOCK)  # type: ignore[arg-type]


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_both_streams_and_the_exit_code_come_back(spec: CommandSpec, tmp_path: Path) -> None:
    end = bash(spec, "pwd; echo oh >&2; cat; exit 3")
    assert (end.exit_code, end.signal, end.timed_out, end.stopped, end.left_open) == (3, 0, False, False, False)
    assert (end.stdout.head, end.stderr.head) == (f"{tmp_path}\n".encode(), b"oh\n")
    assert (end.stdout.truncated, end.stdout.file, end.stdout.lost) == (False, None, 0)
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_death_by_a_signal_from_elsewhere_is_reported_as_such(spec: CommandSpec, number: signal.Signals) -> None:
    """R433 in part"""
    end = bash(spec, f"kill -{number} $$")
    assert (end.exit_code, end.signal, end.timed_out, end.stopped) == (-1, number, False, False)


def test_a_program_that_is_not_there_ends_like_a_shells(spec: CommandSpec, tmp_path: Path) -> None:
    """R431 in part"""
    (tmp_path / "notes.txt").write_text("x")
    missing = run(replace(spec, argv=("no-such-program",)), CLOCK)
    refused = run(replace(spec, argv=(str(tmp_path / "notes.txt"),)), CLOCK)
    nowhere = run(replace(spec, folder=tmp_path / "absent"), CLOCK)
    assert [end.exit_code for end in (missing, refused, nowhere)] == [127, 126, 127]
    assert missing.stderr.head == b"no-such-program: No such file or directory\n"
    assert str(tmp_path / "absent").encode() in nowhere.stderr.head


def test_the_whole_group_is_gone_after_the_limit(spec: CommandSpec) -> None:
    """R435 in part"""
    end = bash(spec, "sleep 60 & echo $!; sleep 60 & echo $!; wait", limit=0.2)
    assert (end.timed_out, end.stopped, end.signal) == (True, False, signal.SIGTERM)
    assert end.seconds < 3
    assert [lives(int(pid)) for pid in end.stdout.head.split()] == [False, False]


@pytest.mark.slow
def test_a_group_that_ignores_sigterm_is_killed_after_the_grace(spec: CommandSpec) -> None:
    """R436 in part"""
    stop = threading.Event()
    watcher = Told(at_output=stop.set)
    command = "trap '' TERM; (trap '' TERM; while :; do sleep 60; done) & echo $!; while :; do sleep 60; done"
    end = bash(spec, command, stop=stop, watcher=watcher)
    assert (end.timed_out, end.stopped, end.signal) == (False, True, signal.SIGKILL)
    assert 4.9 < end.seconds < 10
    assert not lives(int(end.stdout.head))
    assert watcher.leaders == watcher.ends


@pytest.mark.slow
def test_a_leader_that_ends_at_sigterm_does_not_save_its_stubborn_child(spec: CommandSpec) -> None:
    end = bash(spec, "(trap '' TERM; echo $BASHPID; exec sleep 60) & wait", limit=0.3)
    assert end.timed_out
    assert not lives(int(end.stdout.head))


def test_a_command_that_is_stopped_for_good_by_job_control_still_ends(spec: CommandSpec) -> None:
    end = bash(spec, "kill -STOP $$", limit=0.2)
    assert end.timed_out
    assert end.seconds < 4


def test_a_stop_signal_is_noticed_at_once(spec: CommandSpec) -> None:
    stop = threading.Event()
    moments: list[float] = []

    def told() -> None:
        moments.append(CLOCK.monotonic())
        stop.set()

    end = bash(spec, "echo now; exec sleep 60", stop=stop, watcher=Told(told))
    assert end.stopped
    assert CLOCK.monotonic() - moments[0] < 1.0


def test_a_pipe_kept_open_by_a_background_child_is_left_after_two_seconds(spec: CommandSpec) -> None:
    """R438"""
    end = bash(spec, "sleep 60 & echo $!")
    assert (end.exit_code, end.left_open) == (0, True)
    assert 1.9 < end.seconds < 5
    os.kill(int(end.stdout.head), signal.SIGKILL)


def test_a_command_that_closes_its_streams_is_waited_for(spec: CommandSpec) -> None:
    end = bash(spec, "exec >&- 2>&-; sleep 0.3; exit 4")
    assert end.exit_code == 4
    assert end.seconds >= 0.3


def test_memory_stays_bounded_whatever_is_printed(spec: CommandSpec, tmp_path: Path) -> None:
    """R437, with 300 MiB and a cap of 32 MiB"""
    printed, cap = 300 * 1024 * 1024, 32 * 1024 * 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = bash(spec, f"head -c {printed} /dev/zero; echo end", outputs=OutputPlace(tmp_path / "output", "n.1", cap))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 16 * 1024 * 1024
    assert (len(end.stdout.head), end.stdout.total, end.stdout.truncated) == (INLINE, printed + 4, True)
    assert end.stdout.tail.endswith(b"\0end\n")
    assert end.stdout.file == tmp_path / "output" / "n.1.stdout"
    assert (end.stdout.file.stat().st_size, end.stdout.lost) == (cap, printed + 4 - cap)
    assert end.stdout.file.stat().st_mode & 0o777 == 0o600
    assert end.stdout.file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("size", [100_000, 65_536])
def test_a_long_output_is_whole_in_its_file(tmp_path: Path, size: int) -> None:
    capture = Capture(OutputPlace(tmp_path, "n"), "stdout")
    blocks = [bytes([number]) * size for number in range(30)]
    for block in blocks:
        capture.feed(block)
    end = capture.end()
    whole = b"".join(blocks)
    assert end.file is not None
    assert (end.head, end.file.read_bytes(), end.lost) == (whole[:INLINE], whole, 0)
    assert end.tail == whole[-8192:]


def test_output_of_exactly_the_inline_size_needs_no_file(tmp_path: Path) -> None:
    capture = Capture(OutputPlace(tmp_path / "none", "n"), "stdout")
    capture.feed(b"x" * INLINE)
    end = capture.end()
    assert (len(end.head), end.file, end.truncated) == (INLINE, None, False)
    assert not (tmp_path / "none").exists()


def test_output_that_cannot_be_kept_is_counted_and_the_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    capture = Capture(OutputPlace(tmp_path / "blocked", "n"), "stdout")
    capture.feed(b"x" * (INLINE + 10))
    capture.feed(b"y" * 10)
    end = capture.end()
    assert (len(end.head), end.file, end.lost, end.total) == (INLINE, None, 20, INLINE + 20)


def test_the_lock_is_inherited_and_nothing_else_is(spec: CommandSpec, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock, (tmp_path / "other").open("w") as other:
        os.set_inheritable(other.fileno(), True)
        end = bash(spec, "ls -l /proc/self/fd", lock_fd=lock.fileno())
    assert (
        str(tmp_path / "lock") in end.stdout.head.decode(),
        str(tmp_path / "other") in end.stdout.head.decode(),
    ) == (
        True,
        False,
    )


def test_signs_of_life_are_told_while_it_prints(spec: CommandSpec) -> None:
    watcher = Told()
    bash(spec, "for i in 1 2 3; do echo $i; sleep 0.05; done", watcher=watcher)
    assert watcher.blocks >= 3
    assert watcher.leaders == watcher.ends


def test_a_clean_environment_has_no_secret_and_no_setting_of_ours() -> None:
    """R439 in part"""
    base = {
        "PATH": "/bin",
        "HOME": "/h",
        "GITHUB_TOKEN": "s",
        "aws_secret": "s",
        "DB_PASSWORD": "s",
        "OPENAI_API_KEY": "s",
        "X_CREDENTIALS": "s",
        "POINTSMAN_STORE_URL": "s",
        "POINTSMAN_STORE_DIR": "d",
        "FORGE": "named in the configuration",
        "KEYBOARD": "us",
    }
    base |= {"NOTIFY_SOCKET": "/run/n", "CREDENTIALS_DIRECTORY": "/run/credentials/x", "JOURNAL_STREAM": "8:1"}
    assert clean_environment(base, {"FORGE"}) == {"PATH": "/bin", "HOME": "/h", "KEYBOARD": "us"}


def test_a_process_listing_tells_one_start_from_none() -> None:
    assert listed_start(os.getpid()) == listed_start(os.getpid()) != 0
    assert listed_start(2**22 + 1) == 0
