"""Runs one command: its own process group, a time limit, bounded output, a clean environment (engine.md 12.4).

Called by the tool node, by hooks and by agent backends, in the thread that waits for the command; no other thread is
started. It promises that the whole group is gone after a time limit or a stop, and that memory stays bounded whatever
is printed. It does not promise to find a process that left its group on purpose, nor does it judge an exit code.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from engine.capture import Capture, Captured, OutputPlace
from engine.ports import Clock, SystemClock

TERM_GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL to a group."""
DRAIN = 2.0
"""Seconds for which a pipe is read that a background child keeps open."""
DEFAULT_LIMIT = 24 * 3600.0
"""Seconds that one process may take when nothing else is said (``POINTSMAN_PROCESS_TIMEOUT``)."""

_LOOK = 0.05
_BLOCK = 64 * 1024
_SECRET_ENDS = ("_TOKEN", "_SECRET", "_PASSWORD", "_KEY", "_CREDENTIALS")
_OUR_PREFIX = "POINTSMAN_"
_MANAGERS = frozenset(
    {
        *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM", "INVOCATION_ID"),
        *("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "SYSTEMD_EXEC_PID", "MAINPID"),
    }
)
"""What a service manager says to the daemon: no child may speak for it, nor be pointed at its credentials."""
_CANNOT_RUN, _NOT_FOUND = 126, 127
_PROC = Path("/proc")
_machine = SystemClock()


class StopSignal(Protocol):
    """Something that can be told to stop, a ``threading.Event`` for instance."""

    def is_set(self) -> bool:
        """Whether it was told."""
        ...


class Watcher(Protocol):
    """Whoever wants to know what a command does: signs of life, and the groups that a dead daemon would leave."""

    def started(self, pid: int) -> None:
        """The group with this leader exists."""
        ...

    def output(self) -> None:
        """Something was printed just now."""
        ...

    def ended(self, pid: int) -> None:
        """The leader has ended."""
        ...


class NoWatcher:
    """Nobody watches."""

    def started(self, pid: int) -> None:
        """Nothing."""

    def output(self) -> None:
        """Nothing."""

    def ended(self, pid: int) -> None:
        """Nothing."""


NOBODY = NoWatcher()


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What to run. ``environment`` is the whole of it. ``limit`` is in seconds. ``lock_fd`` is inherited, -1 for none.

    ``held`` are descriptors of further locks that it inherits. ``outputs`` says where output beyond the inline part
    goes.
    """

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    stop: StopSignal
    outputs: OutputPlace
    limit: float = DEFAULT_LIMIT
    lock_fd: int = -1
    held: tuple[int, ...] = ()
    watcher: Watcher = NOBODY


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How it ended. ``signal`` is the number of the signal that ended it, else 0; ``exit_code`` is -1 then.

    ``timed_out`` and ``stopped`` say that we ended it, and why. ``left_open``: a child in the background kept a pipe
    open, and what it prints from now on is lost. ``seconds`` is the time it took.
    """

    exit_code: int
    signal: int
    timed_out: bool
    stopped: bool
    left_open: bool
    stdout: Captured
    stderr: Captured
    seconds: float


def run(spec: CommandSpec, clock: Clock) -> ProcessEnd:
    """Run the command to its end, or to the end that its limit or its stop signal makes.

    A program that is not there, or may not be run, ends like a shell's: exit 127 or 126, with the reason on stderr.
    Raises OSError when the system cannot start any process.
    """
    began = clock.monotonic()
    out, err = Capture(spec.outputs, "stdout"), Capture(spec.outputs, "stderr")
    try:
        popen = _spawn(spec)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        err.feed(f"{error.filename or spec.argv[0]}: {error.strerror}\n".encode())
        code = _CANNOT_RUN if isinstance(error, PermissionError) else _NOT_FOUND
        return ProcessEnd(code, 0, False, False, False, out.end(), err.end(), clock.monotonic() - began)
    with _Child(popen, spec.watcher, (out, err)) as child:
        timed_out, stopped = _follow(child, spec, clock, began + spec.limit)
        if timed_out or stopped:
            child.end_group()
        child.drain()
        left_open = child.open_streams > 0
    code = popen.returncode if popen.returncode is not None else -signal.SIGKILL
    return ProcessEnd(
        exit_code=max(code, -1),
        signal=max(-code, 0),
        timed_out=timed_out,
        stopped=stopped,
        left_open=left_open,
        stdout=out.end(),
        stderr=err.end(),
        seconds=clock.monotonic() - began,
    )


def clean_environment(base: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """``base`` without secrets, settings of ours and what a service manager said to us alone (engine.md 12.4)."""
    hidden = _MANAGERS | frozenset(secrets)
    return {
        name: value
        for name, value in base.items()
        if name not in hidden and not name.startswith(_OUR_PREFIX) and not name.upper().endswith(_SECRET_ENDS)
    }


def signal_group(leader: int, number: signal.Signals) -> bool:
    """Signal a whole process group; False when it has no member any more."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def listed_start(pid: int) -> int:
    """A number that stands for when the process started, from ``ps``, where there is no ``/proc``; 0 when unknown."""
    listing = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return zlib.crc32(listing.stdout.strip()) if listing.returncode == 0 else 0


def _spawn(spec: CommandSpec) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spec.argv,
        cwd=spec.folder,
        env=spec.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=(spec.lock_fd, *spec.held) if spec.lock_fd >= 0 else spec.held,
    )


def _follow(child: _Child, spec: CommandSpec, clock: Clock, deadline: float) -> tuple[bool, bool]:
    """Read until the leader ended; (True, False) when its time passed, (False, True) when it is to stop."""
    while not child.leader_ended():
        if spec.stop.is_set():
            return False, True
        left = deadline - clock.monotonic()
        if left <= 0:
            return True, False
        child.pump(min(left, _LOOK))
    return False, False


class _Child:
    """A started command and its two streams, read by whoever waits for it."""

    def __init__(self, popen: subprocess.Popen[bytes], watcher: Watcher, captures: tuple[Capture, Capture]) -> None:
        self._popen = popen
        self._watcher = watcher
        self._poll = select.poll()
        self._streams: dict[int, tuple[IO[bytes], Capture]] = {}
        for stream, capture in zip((popen.stdout, popen.stderr), captures, strict=True):
            assert stream is not None
            self._streams[stream.fileno()] = (stream, capture)
            self._poll.register(stream.fileno(), select.POLLIN | select.POLLHUP)
        self._exit = os.pidfd_open(popen.pid) if hasattr(os, "pidfd_open") else -1
        if self._exit >= 0:
            self._poll.register(self._exit, select.POLLIN)

    def __enter__(self) -> _Child:
        self._watcher.started(self._popen.pid)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.leader_ended():
            self.end_group()
        for descriptor in tuple(self._streams):
            self._close(descriptor)
        self._close_exit()
        self._watcher.ended(self._popen.pid)

    @property
    def open_streams(self) -> int:
        """How many streams somebody still holds open."""
        return len(self._streams)

    def leader_ended(self) -> bool:
        """Whether the process that we started has ended; it is then reaped."""
        return self._popen.poll() is not None

    def pump(self, seconds: float) -> None:
        """Wait up to ``seconds`` for output or the end, and take what is there."""
        for descriptor, _ in self._poll.poll(seconds * 1000):
            if descriptor == self._exit:
                self._close_exit()
            elif block := os.read(descriptor, _BLOCK):
                self._streams[descriptor][1].feed(block)
                self._watcher.output()
            else:
                self._close(descriptor)

    def drain(self) -> None:
        """Read what is left in the pipes, for a bounded time."""
        until = _machine.monotonic() + DRAIN
        while self._streams and (left := until - _machine.monotonic()) > 0:
            self.pump(min(left, _LOOK))

    def end_group(self) -> None:
        """SIGTERM to the group, SIGKILL to what is left of it after the grace."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        self._wait_for_group()
        self._signal(signal.SIGKILL)
        self._wait_for_group()

    def _wait_for_group(self) -> None:
        until = _machine.monotonic() + TERM_GRACE
        while self._group_lives() and _machine.monotonic() < until:
            self.pump(_LOOK / 2)

    def _group_lives(self) -> bool:
        return not self.leader_ended() or _has_members(self._popen.pid)

    def _signal(self, number: signal.Signals) -> None:
        if self._group_lives():
            signal_group(self._popen.pid, number)

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        stream, _ = self._streams.pop(descriptor)
        stream.close()

    def _close_exit(self) -> None:
        if self._exit >= 0:
            self._poll.unregister(self._exit)
            os.close(self._exit)
            self._exit = -1


def _has_members(group: int) -> bool:
    """Whether a process of the group still works; one that nobody has reaped yet does not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return any(_is_member(entry, group) for entry in _PROC.iterdir()) if _PROC.is_dir() else True


def _is_member(entry: Path, group: int) -> bool:
    if not entry.name.isdigit():
        return False
    try:
        text = (entry / "stat").read_bytes()
    except OSError:
        return False
    state, _, member_of = text[text.rindex(b")") + 2 :].split(maxsplit=3)[:3]
    return int(member_of) == group and state not in b"ZX"
