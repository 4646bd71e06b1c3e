"""A backup of a whole store in one private file, made while everything runs: the database first, then its files.

Called by ``pointsman backup``; ``unarchiving`` takes it back. The database is one consistent moment; the files of runs
are read after it, so each that a row of that moment names is there, or was deleted since by ``gc``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from engine.errors import BadInput, Refusal, StoreFull
from engine.store import copying
from engine.store.addresses import address_of
from engine.store.drivers import POSTGRES
from engine.store.locks import SENDING

FORMAT = 1
DATABASE, MANIFEST, FILES = "pointsman.db", "manifest.json", "files/"
"""Members of the archive; the manifest is the last one, so that a file that was cut off lacks it."""
SKIPPED_FOLDERS = frozenset({"scratch", "output"})
"""What is worth nothing to another process."""
KEPT_PREFIX = "before-restore-"
STAGING = "restoring"
_LOCAL = frozenset({".lock", "groups"})
"""Files about the processes of this moment."""


@dataclass(frozen=True, slots=True)
class Archive:
    """What was written: bytes in all, the schema, how many files besides the database."""

    size: int
    revision: str
    files: int


def archive(url: str, root: Path, target: Path, made: datetime) -> Archive:
    """Write the store of ``url``, whose files lie in ``root``, to ``target`` (0600), whole or not at all.

    Raises as ``copying.backup``; Refusal when ``target`` exists.
    """
    if url.startswith(POSTGRES):
        raise BadInput("a PostgreSQL store is not put into a file", "use pg_dump, and copy the store folder after it")
    if os.path.lexists(target):
        raise Refusal(f"{target} exists", "name another file; a backup never replaces one")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder:
            database, partial = Path(folder) / DATABASE, Path(folder) / "whole"
            copying.backup(url, database)
            written = _write(partial, database, root, made)
            os.link(partial, target)
    except FileExistsError as error:
        raise Refusal(f"{target} exists", "name another file; a backup never replaces one") from error
    except FileNotFoundError as error:
        raise BadInput(f"{target} cannot be made: {error.strerror}", "choose a folder that is there") from error
    except OSError as error:
        raise StoreFull(f"{target} cannot be written: {error.strerror}", "free some space, then try again") from error
    copying.flush(target.parent)
    return Archive(target.stat().st_size, written.revision, written.files)


def _write(partial: Path, database: Path, root: Path, made: datetime) -> Archive:
    from engine.store.health import look

    revision = look(address_of(database)).revision
    hashes: dict[str, str] = {}
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=3, format=tarfile.PAX_FORMAT) as tar:
            hashes[DATABASE] = _add(tar, DATABASE, database)
            for path in files_of(root):
                with suppress(FileNotFoundError):
                    name = FILES + path.relative_to(root).as_posix()
                    hashes[name] = _add(tar, name, path)
            told = {"format": FORMAT, "made_at": made.isoformat(), "revision": revision, "sha256": hashes}
            text = json.dumps(told, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogateescape")
            entry = tarfile.TarInfo(MANIFEST)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
        raw.flush()
        os.fsync(raw.fileno())
    return Archive(0, revision, len(hashes) - 1)


def files_of(root: Path) -> Iterator[Path]:
    """The files of the store besides its database that another process can use; links are not followed."""
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(each for each in folders if each not in SKIPPED_FOLDERS and not _ours(here == root, each))
        for name in sorted(names):
            path = here / name
            at_top = here == root and (name.startswith(DATABASE) or name.endswith(".lock"))
            local = name in _LOCAL or name.startswith(SENDING)
            if not local and not at_top and path.is_file() and not path.is_symlink():
                yield path


def _ours(at_top: bool, folder: str) -> bool:
    return at_top and (folder.startswith(KEPT_PREFIX) or folder == STAGING)


class _Hashing:
    """A file that is hashed while it is read, to the length that it had at first: a log may grow meanwhile."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._file.read(size)
        self.digest.update(data)
        return data


def _add(tar: tarfile.TarFile, name: str, path: Path) -> str:
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = found.st_size, found.st_mode & 0o777, int(found.st_mtime)
        hashing = _Hashing(file)
        tar.addfile(entry, hashing)
        return hashing.digest.hexdigest()
