"""A process that outlives the one that started it: a session of its own, a pair of pipes to talk over, a log file.

Started by the dispatcher for a run in a process of its own (engine.md 12.3). When the starter dies, the process reads
the end of its input and goes on. Descriptors that it inherits stay open in it, a run lock among them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path


class Detached:
    """A process that was started; its lines are heard and answered in turn. Not thread-safe."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        self._popen = popen

    @property
    def pid(self) -> int:
        """The process, which leads its own group and session."""
        return self._popen.pid

    def tell(self, line: str) -> None:
        """Send a line; one that does not listen any more is left alone."""
        assert self._popen.stdin is not None
        with suppress(OSError, ValueError):
            self._popen.stdin.write(line + "\n")
            self._popen.stdin.flush()

    def hear(self) -> str:
        """The next line, without its end; empty when there comes none."""
        assert self._popen.stdout is not None
        return self._popen.stdout.readline().rstrip("\n")

    def hang_up(self) -> None:
        """Say nothing more: the process reads the end of its input."""
        assert self._popen.stdin is not None
        with suppress(OSError):
            self._popen.stdin.close()

    def wait(self) -> int:
        """Wait until it has ended; its exit code, negative after a signal."""
        code = self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        return code


def start(argv: Sequence[str], environment: Mapping[str, str], inherit: Collection[int], log: Path) -> Detached:
    """Start it; ``log`` (0600) takes what it writes to stderr, behind what is there. Raises OSError."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.touch(mode=0o600)
    with log.open("ab") as errors:
        popen = subprocess.Popen(
            list(argv),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=tuple(inherit),
            start_new_session=True,
            text=True,
            encoding="utf-8",
        )
    return Detached(popen)
