"""Files of a run: copied into ``runs/<id>/attachments/`` under checked names, then recorded.

Called through ``Store.attachments`` when an answer or a launch brings a file (engine.md 7.4). The copy is made before
the row, and no transaction is open meanwhile; a copy without a row is harmless.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select

from engine.errors import BadInput, StoreFull
from engine.run import Attachment, check_run_id
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import upserting
from engine.store.rows import Row

_ATTACHMENT = table("attachment")
_PUT = upserting(_ATTACHMENT)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_BLOCK = 1024 * 1024


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
        """Copy a file into the run and record it under ``name``, by default a name made from the file's.

        Raises BadInput for a missing file or a bad name, StoreFull when the copy cannot be written.
        """
        kept = check_name(name or re.sub(r"[^A-Za-z0-9._-]+|\.{2,}", "_", path.name).lstrip("._-") or "file")
        folder = self._root / "runs" / check_run_id(run_id) / "attachments"
        target = folder / kept
        size, digest = _copy(path, target)
        mime = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        stored = Attachment(kept, str(target), path.name, mime, size, digest, origin)
        inside = str(target.relative_to(self._root))
        values = {"run_id": run_id, "name": kept, "path": inside, "filename": path.name, "mime": mime}
        with self._database.write_raw() as cursor:
            _PUT.run(cursor, {**values, "size": size, "sha256": digest, "origin": origin})
        return stored

    def all(self, run_id: str) -> tuple[Attachment, ...]:
        """The recorded files of the run, by name."""
        query = select(_ATTACHMENT).where(_ATTACHMENT.c.run_id == run_id).order_by(_ATTACHMENT.c.name)
        with self._database.read() as connection:
            return tuple(self._read(row) for row in connection.execute(query).mappings())

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


def _copy(source: Path, target: Path) -> tuple[int, str]:
    """Copy through a neighbour that replaces the target when it is complete; size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    partial = target.with_name(target.name + ".part")
    try:
        reader = source.open("rb")
    except OSError as error:
        raise BadInput(f"the file {source} cannot be read: {error.strerror}", "check the path") from error
    with reader:
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.touch(mode=0o600)
            with partial.open("wb") as out:
                while block := reader.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                    out.write(block)
            partial.replace(target)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise StoreFull(f"the file {source} cannot be stored: {error.strerror}", "free some space") from error
    return size, digest.hexdigest()
