"""Who a process is: host, boot, pid and start time together, since a pid alone proves nothing (dispatcher.md 1, 9).

Called by the runtime when it claims a run, and by whoever asks whether a recorded owner still lives. The answer "gone"
is a proof, "alive" is one too; an owner on another host is neither, and counts as alive.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

from engine.process import listed_start
from engine.run import Owner

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MACHINE = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_STATE, _START = 0, 19


_NAMED: list[str] = []


def name_host(name: str) -> None:
    """Call this host ``name`` from now on, in this process: where the machine's own id is not its alone."""
    _NAMED[:] = [name]
    host_id.cache_clear()


@cache
def host_id() -> str:
    """The name that was given, else the machine's own id, its name where it has none."""
    if _NAMED:
        return _NAMED[0]
    for path in _MACHINE:
        try:
            return path.read_text().strip() or platform.node()
        except OSError:
            continue
    return platform.node()


@cache
def boot_id() -> str:
    """An id of the present boot, empty where the system gives none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """When the process started, in the system's own unit; 0 when it does not exist or is only a remains."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return 0 if boot_id() else listed_start(pid)
    except OSError:
        return 0
    fields = text[text.rindex(b")") + 2 :].split()
    return 0 if fields[_STATE] in b"ZX" else int(fields[_START])


def owner_here(instance: str = "") -> Owner:
    """The identity of this process; ``instance`` is the random id of a daemon."""
    pid = os.getpid()
    return Owner(instance, host_id(), boot_id(), pid, start_ticks(pid))


def is_here(owner: Owner) -> bool:
    """Whether the owner was recorded on this host."""
    return owner.host == host_id()


def owner_alive(owner: Owner) -> bool:
    """Whether the recorded process may still live; True for one on another host, which cannot be judged from here."""
    if not owner.pid:
        return False
    if not is_here(owner):
        return True
    if owner.boot != boot_id():
        return False
    return start_ticks(owner.pid) == owner.start_ticks and owner.start_ticks != 0
