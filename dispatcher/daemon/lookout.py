"""Events of one folder, so that a changed configuration is seen at once (dispatcher.md 23). Linux's inotify, in hand.

Made and asked by ``generations``. It says only that something happened; what changed, the caller looks at himself.
Where the system refuses to watch, or is another one, it never hears anything, and says why.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0x40 | 0x80, 0x100, 0x200
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE


class Lookout:
    """The watch on one folder, not on what lies below its folders."""

    def __init__(self, folder: Path) -> None:
        self.trouble = ""
        """Why nothing is heard; empty while the folder is watched."""
        self._file = -1
        try:
            self._file = _watch(folder)
        except (OSError, AttributeError) as error:
            self.trouble = getattr(error, "strerror", None) or str(error)

    def heard(self) -> bool:
        """Whether anything happened in the folder since this was asked last; never waits."""
        some = False
        while self._file >= 0:
            try:
                if not os.read(self._file, 65536):
                    break
            except BlockingIOError:
                break
            some = True
        return some

    def close(self) -> None:
        """Watch no longer."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _watch(folder: Path) -> int:
    """A descriptor that hears of the folder. Raises OSError, or AttributeError where the system has no such calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    file = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if libc.inotify_add_watch(file, os.fsencode(folder), _WANTED) < 0:
        number = ctypes.get_errno()
        os.close(file)
        raise OSError(number, os.strerror(number))
    return file
