"""Taking a backup of a whole store back: looked at whole before anything is touched, and nothing is thrown away.

Called by ``pointsman restore``, which holds the dispatcher's lock. The archive is unpacked beside the store, its sums,
its schema and every row are checked; then the database is exchanged in one step. What lay there before is kept in a
folder ``before-restore-…``. A crash at any moment leaves the old store or the new one, never none.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path, PurePosixPath

from engine.errors import BadInput, LockHeld, Refusal, StoreFull
from engine.store import copying, sqlite
from engine.store.addresses import address_of
from engine.store.archiving import DATABASE, FILES, FORMAT, KEPT_PREFIX, MANIFEST, STAGING
from engine.store.checking import check
from engine.store.drivers import POSTGRES
from engine.store.health import look

_HINT = "take another backup; this one is left as it is"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup holds: when it was made, its schema, how many files besides the database."""

    made_at: datetime
    revision: str
    files: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done: the contents, how many files were put in place, and where the old store is kept."""

    contents: Contents
    replaced: int
    kept: Path | None


def verify(source: Path, root: Path) -> Contents:
    """Look at a backup whole, unpacked in ``root`` for the length of the look. Raises BadInput, Refusal, StoreFull."""
    staging = _staging(root)
    try:
        return _unpacked(source, staging)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def restore(source: Path, url: str, root: Path, now: datetime) -> Restored:
    """Put the backup in the store's place. Raises as ``verify``; LockHeld while a command has the database open."""
    if url.startswith(POSTGRES):
        raise BadInput("a PostgreSQL store is not restored from a file", "use pg_restore, into an empty database")
    database = sqlite.path_of(url)
    root.mkdir(parents=True, exist_ok=True)
    staging = _staging(root)
    kept = _free(root / f"{KEPT_PREFIX}{now.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    try:
        contents = _unpacked(source, staging)
        if database.exists():
            _still(database)
            kept.mkdir(mode=0o700)
            _keep(database, kept / DATABASE)
        replaced = _merge(staging / FILES, root, kept / FILES)
        _exchange(staging / DATABASE, database)
        copying.flush(database.parent)
    except OSError as error:
        text = f"{source} could not be put in place: {error.strerror}"
        raise StoreFull(text, "the old store is as it was; make room, or look at the rights, and try again") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Restored(contents, replaced, kept if kept.is_dir() else None)


def _free(wanted: Path) -> Path:
    """That name, or the next one that nobody has."""
    names = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
    return next(path for path in (wanted, *islice(names, 100)) if not path.exists())


def _staging(root: Path) -> Path:
    """An empty folder of the same file system; what an interrupted restore left there is worth nothing."""
    staging = root / STAGING
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise StoreFull(f"{staging} cannot be made: {error.strerror}", "make room, or look at the rights") from error
    return staging


def _unpacked(source: Path, staging: Path) -> Contents:
    if not source.is_file():
        what = "is no file" if source.exists() else "does not exist"
        raise BadInput(f"{source} {what}", "give the path of what pointsman backup made")
    try:
        sums = _extract(source, staging)
        told = json.loads((staging / MANIFEST).read_bytes())
        if told["format"] != FORMAT:
            raise Refusal(
                f"{source} has the format {told['format']}, which this build does not know", "use a newer one"
            )
        expected = {str(name): str(value) for name, value in told["sha256"].items()}
        made_at = datetime.fromisoformat(told["made_at"])
    except (tarfile.TarError, EOFError, zlib.error, KeyError, TypeError, ValueError, FileNotFoundError) as error:
        raise BadInput(f"{source} is no whole backup: {_short(error)}", _HINT) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = f"{source} could not be unpacked beside the store: {error.strerror}"
            raise StoreFull(text, "make room, then try again; nothing was changed") from error
        raise BadInput(f"{source} cannot be read: {error.strerror or error}", _HINT) from error
    if sums != expected:
        wrong = sorted(name for name in {*sums, *expected} if sums.get(name) != expected.get(name))
        raise BadInput(f"{source} is damaged: {wrong[0]} is not what was written, of {len(wrong)} in all", _HINT)
    _check_database(source, staging / DATABASE)
    return Contents(made_at, str(told["revision"]), len(expected) - 1)


def _short(error: Exception) -> str:
    """Why an archive cannot be taken, in a few words: libraries tell of every form that they tried."""
    if isinstance(error, tarfile.ReadError) and "opened successfully" in str(error):
        return "it is no archive"
    if isinstance(error, (KeyError, TypeError, ValueError, FileNotFoundError)):
        return "its list of contents is missing or not as it should be"
    return str(error).splitlines()[0]


def _extract(source: Path, staging: Path) -> Mapping[str, str]:
    """Unpack every member to its place below ``staging``; the sums by name."""
    sums: dict[str, str] = {}
    with tarfile.open(source, "r:*") as tar:
        for entry in tar:
            _check_name(entry)
            file = tar.extractfile(entry)
            assert file is not None
            target = staging / entry.name
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with target.open("xb") as out:
                os.fchmod(out.fileno(), entry.mode & 0o700 | 0o600)
                while data := file.read(1 << 20):
                    digest.update(data)
                    out.write(data)
                out.flush()
                os.fsync(out.fileno())
            if entry.name != MANIFEST:
                sums[entry.name] = digest.hexdigest()
    return sums


def _check_name(entry: tarfile.TarInfo) -> None:
    """Raises BadInput for a member that no backup of ours holds: a link, a device, a path that leads elsewhere."""
    parts = PurePosixPath(entry.name).parts
    inside = entry.name in (DATABASE, MANIFEST) or (entry.name.startswith(FILES) and len(parts) > 1)
    if not entry.isreg() or ".." in parts or not inside or "\0" in entry.name or parts[1:2] == (DATABASE,):
        raise BadInput(f'the backup holds "{entry.name}", which no backup of ours does', "do not use it")


def _check_database(source: Path, database: Path) -> None:
    url = address_of(database)
    seen = look(url)
    if seen.newer:
        raise Refusal(f"{source} has the schema {seen.revision}, newer than this build", "use the version that made it")
    found = check(url)
    if seen.fault or not found.sound:
        raise BadInput(f"the database in {source} is damaged: {seen.fault or 'not every row can be read'}", _HINT)


def _still(database: Path) -> None:
    """Everything that was written stands in the one file; nobody else has it open."""
    sqlite.settle(database)
    if any(database.with_name(database.name + end).exists() for end in ("-wal", "-shm")):
        raise LockHeld("a command of this store is still running", "let it end, or stop it, then restore again")


def _keep(path: Path, place: Path) -> None:
    try:
        os.link(path, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copy2(path, place)


def _exchange(new: Path, database: Path) -> None:
    """The new database in the old one's place, in one step; first beside it, where it lies on another file system."""
    if new.stat().st_dev != database.parent.stat().st_dev:
        beside = database.with_name(f"{database.name}.{STAGING}")
        shutil.copy2(new, beside)
        copying.flush(beside)
        new = beside
    new.replace(database)


def _merge(new: Path, root: Path, kept: Path) -> int:
    """Put each file that differs in its place, the old one kept; files that the backup does not name stay."""
    replaced = 0
    for folder, _, names in os.walk(new):
        for name in names:
            source = Path(folder) / name
            place = source.relative_to(new)
            target = root / place
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            if os.path.lexists(target):
                (kept / place).parent.mkdir(parents=True, exist_ok=True)
                _keep(target, kept / place)
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
            replaced += 1
    with suppress(OSError):
        copying.flush(root)
    return replaced
