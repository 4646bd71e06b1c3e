"""Files of a run: copied into ``runs/<id>/attachments/`` under checked names, then recorded.

Called through ``Store.attachments`` when an answer or a launch brings a file (engine.md 7.4). The copy is made before
the row, and no transaction is open meanwhile; a copy without a row is harmless. A copy that a row names is never
replaced by another content: the descriptor that an output holds stays true.
"""

from __future__ import annotations

import hashlib
import itertools
import mimetypes
import re
import stat
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam

from engine.errors import BadInput, StoreFull
from engine.run import Attachment, check_run_id
from engine.store import writes
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import PreparedRead
from engine.store.rows import Row

_ATTACHMENT = table("attachment")
_OF_RUN = PreparedRead(
    _ATTACHMENT.c, _ATTACHMENT.c.run_id == bindparam("the_run"), order=[_ATTACHMENT.c.name], locking=False
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_BLOCK = 1024 * 1024
_PART = ".part-"
"""Start of the name of a copy that is not complete; no recorded file starts with a dot."""


def safe_name(filename: str) -> str:
    """A name that may become part of a path, from any file's."""
    return (re.sub(r"[^A-Za-z0-9._-]+|\.{2,}", "_", filename).lstrip("._-") or "file")[-100:].lstrip("._-") or "file"


def mime_of(filename: str) -> str:
    """The type of a file by its name."""
    return mimetypes.guess_type(filename)[0] or "application/octet-stream"


def check_name(name: str) -> str:
    """The name itself when it may become part of a path (engine.md 2.4). Raises BadInput otherwise."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise BadInput(f"{name[:140]!r} cannot name a file", "use letters, digits, '.', '_' and '-', without '..'")
    return name


class Attachments:
    """The verbs of ``Store.attachments``."""

    def __init__(self, database: Database, root: Path) -> None:
        self._database = database
        self._root = root

    def stage(self, run_id: str, path: Path, name: str = "", origin: str = "answer") -> Attachment:
        """Copy a file into the run and record it under ``name``, by default a free name made from the file's.

        Raises BadInput for a missing file or a bad name, StoreFull when the copy cannot be written.
        """
        kept, folder = check_name(name or safe_name(path.name)), self._folder(run_id)
        partial = folder / f"{_PART}{threading.get_ident()}"
        size, digest = _copy(path, partial)
        if not name:
            kept = self._free(run_id, kept, digest)
        target = folder / kept
        partial.replace(target)
        stored = Attachment(kept, str(target), path.name, mime_of(path.name), size, digest, origin)
        with self._database.write_raw() as cursor:
            writes.put_attachment(cursor, run_id, stored)
        return stored

    def copy(self, run_id: str, path: Path, name: str, origin: str = "launch") -> Attachment:
        """Copy a file of a launch into the run; its row goes with the launch. Raises as ``stage``."""
        target = self._folder(run_id) / check_name(name) / safe_name(path.name)
        partial = target.with_name(_PART + target.name)
        size, digest = _copy(path, partial)
        partial.replace(target)
        return Attachment(name, str(target), path.name, mime_of(path.name), size, digest, origin)

    def _folder(self, run_id: str) -> Path:
        return self._root / "runs" / check_run_id(run_id) / "attachments"

    def _free(self, run_id: str, wanted: str, digest: str) -> str:
        """A name that no other content has: the wanted one, or one with a number in it."""
        taken = {each.name: each.sha256 for each in self.all(run_id)}
        stem, dot, ending = wanted.partition(".")
        for number in itertools.count(1):
            name = wanted if number == 1 else f"{stem}-{number}{dot}{ending}"
            if taken.get(name, digest) == digest and not (self._folder(run_id) / name).is_dir():
                return name
        raise AssertionError("numbers do not end")

    def all(self, run_id: str) -> tuple[Attachment, ...]:
        """The recorded files of the run, by name."""
        with self._database.read_raw() as cursor:
            return tuple(self._read(row) for row in _OF_RUN.many(cursor, {"the_run": run_id}))

    def _read(self, values: Mapping[Any, Any]) -> Attachment:
        row = Row("attachment", f"{values['run_id']}/{values['name']}", values)
        return Attachment(
            name=row.text("name"),
            path=str(self._root / row.text("path")),
            filename=row.text("filename"),
            mime=row.text("mime"),
            size=row.integer("size"),
            sha256=row.text("sha256"),
            origin=row.text("origin"),
        )


def _copy(source: Path, partial: Path) -> tuple[int, str]:
    """Copy to a neighbour of the target, which replaces it when it is complete; size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    try:
        kind = source.stat().st_mode
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise BadInput(f"{source} is a device and may have no end", "name a file")
        reader = source.open("rb")
    except OSError as error:
        raise BadInput(f"the file {source} cannot be read: {error.strerror}", "check the path") from error
    with reader:
        try:
            partial.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.touch(mode=0o600)
            with partial.open("wb") as out:
                while block := reader.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                    out.write(block)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise StoreFull(f"the file {source} cannot be stored: {error.strerror}", "free some space") from error
    return size, digest.hexdigest()
