"""File locks: the run lock whose holder is the run's owner, and the lock of a single instance (engine.md 12.1, 12.2).

Called by the runtime for a whole attempt, by reconcile, and by the dispatcher for its own folder. A lock is ``flock``
on an open file: processes that inherit the descriptor hold it too, until somebody unlocks it explicitly. A free lock
proves nothing on a network file system; ``network_file_system`` tells where that is.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from engine.errors import StoreFull, StoreUnreachable
from engine.run import Owner, check_run_id

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_BUSY = frozenset({errno.EAGAIN, errno.EACCES})
_LOOK_AGAIN = 0.002
_PROBES = 3
SENDING = ".sending-"
"""What the file of a remote call on its way is called, before the effect's id; it lies in the folder of its run."""
MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux tells what is mounted where."""
_ESCAPED = re.compile(r"\\([0-7]{3})")
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs", "fuse.glusterfs"}
)


class FileLock:
    """An exclusive lock on a file whose content tells people who holds it. The lock is the authority, not the text."""

    def __init__(self, path: Path, content: Mapping[str, object]) -> None:
        self.path = path
        self._content = content
        self._descriptor = -1
        self._mode = fcntl.LOCK_EX

    def acquire(self, patience: float = 0.0) -> bool:
        """Take the lock; False when somebody holds it for longer than ``patience`` seconds.

        Raises StoreFull or StoreUnreachable when the file cannot be made.
        """
        waiting = threading.Event()
        attempts = max(_PROBES, int(patience / 0.02))
        for attempt in range(attempts):
            if self._try():
                return True
            if attempt < attempts - 1:
                waiting.wait(_LOOK_AGAIN if attempt < _PROBES else 0.02)
        return False

    def share(self) -> bool:
        """Take the lock beside others that share it; False when somebody holds it alone. As ``acquire``.

        Who comes first writes the text; it is true of all that share.
        """
        if not self.acquire():
            self._mode = fcntl.LOCK_SH
            return self._try()
        self._mode = fcntl.LOCK_SH
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        return True

    def _try(self) -> bool:
        """One look. A file that was replaced between opening and locking it is not the lock: open it again."""
        while True:
            descriptor = self._opened()
            try:
                fcntl.flock(descriptor, self._mode | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if error.errno in _BUSY:
                    return False
                message = f"{self.path} cannot be locked: {error.strerror}"
                raise StoreUnreachable(message, "keep the store on a local file system") from error
            if self._is_file(descriptor):
                self._descriptor = descriptor
                if self._mode == fcntl.LOCK_EX:
                    self._sign()
                return True
            os.close(descriptor)

    def adopt(self, descriptor: int) -> None:
        """Hold the lock through a descriptor that this process inherited from a holder. Raises StoreUnreachable."""
        if not self._is_file(descriptor):
            raise StoreUnreachable(f"descriptor {descriptor} is not the lock {self.path}", "start the run again")
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._sign()

    def let_go(self) -> None:
        """Hold it no longer here, and leave it to the processes that inherited it: nothing is unlocked."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def release(self) -> None:
        """Unlock for every holder, a child that stayed in the background included. Harmless when not held."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1

    def fileno(self) -> int:
        """The descriptor that children inherit; -1 when the lock is not held."""
        return self._descriptor

    @property
    def taken(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor >= 0

    def still_ours(self) -> bool:
        """Whether the locked file is still the one at the path: False when it was removed or replaced."""
        return self.taken and self._is_file(self._descriptor)

    def held(self) -> bool:
        """Whether anybody holds it. Takes it for a moment with a shared lock; makes no file."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            message = f"the lock {self.path} cannot be read: {error.strerror}"
            raise StoreUnreachable(message, "give it back to the daemon's user as a file, or delete it") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return True
            hint = "keep the store on a local disk whose files can be locked"
            raise StoreUnreachable(f"{self.path} cannot be locked: {error.strerror}", hint) from error
        finally:
            os.close(descriptor)
        return False

    def holder(self) -> dict[str, object]:
        """What the last holder wrote about itself, empty when there is nothing readable."""
        try:
            found = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def holder_text(self) -> str:
        """The holder in words: ``process 4711 on host x``."""
        holder = self.holder()
        return f"process {holder.get('pid', 'unknown')}" + (f" on {holder['host']}" if holder.get("host") else "")

    def _opened(self) -> int:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            kind = StoreFull if error.errno in _FULL else StoreUnreachable
            message = f"the lock file {self.path} cannot be made: {error.strerror}"
            raise kind(message, "make room there, or look at the rights of its folder") from error

    def _is_file(self, descriptor: int) -> bool:
        try:
            there, ours = self.path.stat(), os.fstat(descriptor)
        except OSError:
            return False
        return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)

    def _sign(self) -> None:
        """Write who holds it; a full disk leaves the lock unsigned, which harms nobody."""
        text = json.dumps({"pid": os.getpid(), **self._content}).encode()
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text, 0)
        except OSError:
            return


class RunLock(FileLock):
    """The lock of one run, ``runs/<id>/.lock``: whoever holds it owns the run (engine.md 12.1)."""

    def take(self, inherited: int = -1) -> bool:
        """Hold it through the descriptor ``inherited`` where there is one, else as ``acquire``."""
        if inherited < 0:
            return self.acquire()
        self.adopt(inherited)
        return True

    def __init__(self, root: Path, run_id: str, owner: Owner | None = None) -> None:
        self.run_id = check_run_id(run_id)
        super().__init__(root / "runs" / run_id / ".lock", asdict(owner) if owner else {})


class SendLock(FileLock):
    """Held while a remote call of a run is on its way, from before its row is written until it is settled.

    A branch that does not stop in time outlives its attempt, and so the run lock: this one says that it still sends
    (connectors.md 9). It proves nothing about a sender on another host.
    """

    def __init__(self, root: Path, run_id: str, effect_id: str, owner: Owner | None = None) -> None:
        path = root / "runs" / check_run_id(run_id) / f"{SENDING}{effect_id}"
        super().__init__(path, asdict(owner) if owner else {})

    @contextmanager
    def while_sending(self) -> Iterator[None]:
        """Hold it for the length of the block, and leave no file behind. Raises StoreFull, StoreUnreachable."""
        self.acquire()
        try:
            yield
        finally:
            with suppress(OSError):
                self.path.unlink()
            self.release()


def held(root: Path, run_id: str) -> bool:
    """Whether somebody holds the lock of the run, a thread of this process included."""
    return RunLock(root, run_id).held()


def sent_now(root: Path, run_id: str, effect_id: str) -> bool:
    """Whether a process on this host is making that remote call of the run, a thread of this process included."""
    return SendLock(root, run_id, effect_id).held()


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str:
    """The type of the network file system that ``path`` lies on, empty for a local one or where it cannot be told.

    ``mounts`` is where the system tells what is mounted where (proc_pid_mountinfo(5)).
    """
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    best, found = "", ""
    where = str(path.resolve())
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), before.split()[4])
        inside = mount == "/" or where == mount or where.startswith(mount + "/")
        if inside and len(mount) >= len(best):
            best, found = mount, after.split()[0]
    return found if found in _NETWORK else ""
