"""Packed bundles: a folder bundle as one ``.botz`` file, and back (language.md 13).

``pack`` is deterministic: the same files give the same bytes. ``unpack`` goes to a cache keyed by content id and
refuses paths that would leave it; links and special files are refused both ways. A gzipped tar is read, never written.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from engine.dsl.digest import Part, frame
from engine.dsl.unit import MAIN
from engine.errors import SourceInvalid, SourceMissing

SUFFIX = ".botz"
TAG = "bundle.file"
SKIPPED_FOLDERS = frozenset({".git", ".pointsman", ".iterion", "__pycache__"})
SKIPPED_NAMES = frozenset({".DS_Store"})
SKIPPED_SUFFIXES = (".pyc", SUFFIX, ".swp", "~", ".bot.yaml")
EPOCH = (1980, 1, 1, 0, 0, 0)
MOST_BYTES = 256 * 1024 * 1024
MOST_FILES = 20_000
EXECUTABLE, PLAIN = 0o755, 0o644


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of a bundle: its path with ``/``, its bytes, whether it is executable."""

    name: str
    data: bytes
    executable: bool = False


def read_folder(folder: Path) -> tuple[Packed, ...]:
    """The files that belong into a pack, sorted by path. Raises ``SourceInvalid`` for links and special files."""
    if not (folder / MAIN).is_file():
        raise SourceInvalid(f"The folder {folder} has no {MAIN}.", "Name the folder of a bundle.")
    files: list[Packed] = []
    total = 0
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise SourceInvalid(f"{name} is a link or special file.", "Replace it by a regular file, or remove it.")
        data = path.read_bytes()
        total += len(data)
        _check_size(total, len(files) + 1)
        files.append(Packed(name, data, bool(mode & stat.S_IXUSR)))
    return tuple(sorted(files, key=lambda file: file.name.encode("utf-8", "surrogateescape")))


def _walk(folder: Path) -> Iterator[Path]:
    todo = [folder]
    while todo:
        for path in todo.pop().iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name not in SKIPPED_FOLDERS:
                    todo.append(path)
            elif path.name not in SKIPPED_NAMES and not path.name.endswith(SKIPPED_SUFFIXES):
                yield path


def _check_size(total: int, count: int) -> None:
    if total > MOST_BYTES or count > MOST_FILES:
        raise SourceInvalid("The bundle is larger than 256 MiB or 20 000 files.", "Move what is not source out of it.")


def content_id(files: Iterable[Packed]) -> str:
    """The SHA-256, in hex, over all files sorted by path, each framed with the tag ``bundle.file``."""
    total = hashlib.sha256()
    for file in sorted(files, key=lambda one: one.name.encode("utf-8", "surrogateescape")):
        total.update(frame(Part(TAG, file.name, file.data)))
    return total.hexdigest()


def pack(folder: Path, target: Path) -> str:
    """Write the bundle at ``folder`` to ``target``, replacing it in one step; the content id."""
    files = read_folder(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, files)
        Path(name).replace(target)
    except OSError as problem:
        Path(name).unlink(missing_ok=True)
        reason = problem.strerror or "the disk refused it"
        raise SourceInvalid(f"{target} cannot be written: {reason}.", "Check folder and space.") from None
    return content_id(files)


def _write(stream: IO[bytes], files: Iterable[Packed]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, EPOCH)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (EXECUTABLE if file.executable else PLAIN)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.data)


def read_pack(path: Path) -> tuple[Packed, ...]:
    """The files of a pack. Raises ``SourceInvalid``; ``SourceMissing`` when there is no such file."""
    if not path.is_file():
        raise SourceMissing(f"The bundle {path} does not exist.", "Check the path.")
    try:
        files = tuple(_read_zip(path) if zipfile.is_zipfile(path) else _read_tar(path))
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile):
        raise SourceInvalid(f"{path} is no bundle that can be read.", "Pack it again: pointsman bundle pack.") from None
    if not any(file.name == MAIN for file in files):
        raise SourceInvalid(f"{path} has no {MAIN}.", "Pack the folder that holds main.bot.")
    return files


def _read_zip(path: Path) -> Iterator[Packed]:
    total = 0
    with zipfile.ZipFile(path) as archive:
        for count, entry in enumerate(archive.infolist(), 1):
            if entry.is_dir():
                continue
            mode = entry.external_attr >> 16
            if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                raise SourceInvalid(f"{entry.filename} is a link or special file.", "Pack the bundle again.")
            total += entry.file_size
            _check_size(total, count)
            with archive.open(entry) as stream:
                data = stream.read(entry.file_size + 1)
            yield Packed(_safe(entry.filename), data, bool(mode & stat.S_IXUSR))


def _read_tar(path: Path) -> Iterator[Packed]:
    total = 0
    with tarfile.open(path, "r:gz") as archive:
        for count, entry in enumerate(archive, 1):
            if entry.isdir():
                continue
            stream = archive.extractfile(entry) if entry.isreg() else None
            if stream is None:
                raise SourceInvalid(f"{entry.name} is a link or special file.", "Pack the bundle again.")
            total += entry.size
            _check_size(total, count)
            yield Packed(_safe(entry.name), stream.read(), bool(entry.mode & stat.S_IXUSR))


def _safe(name: str) -> str:
    """The path of a member, which stays inside the folder that it is unpacked to."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or ":" in parts[0]:
        raise SourceInvalid(f"The bundle holds the path {name!r}, which leaves it.", "Do not trust this bundle.")
    return "/".join(parts)


def unpack(path: Path, cache: Path) -> Path:
    """Unpack into ``cache`` under the content id, once; the folder of the bundle.

    The folder appears in one step, so that a second process never sees half of it.
    """
    files = read_pack(path)
    folder = cache / content_id(files)
    if (folder / MAIN).is_file():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = Path(tempfile.mkdtemp(dir=cache))
        for file in files:
            target = part / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
            target.chmod(EXECUTABLE if file.executable else PLAIN)
        _settle(part, folder)
    except OSError as problem:
        reason = problem.strerror or "the disk refused it"
        raise SourceInvalid(f"{path} cannot be unpacked to {cache}: {reason}.", "Check folder and space.") from None
    return folder


def _settle(part: Path, folder: Path) -> None:
    """Give the folder its name; a lost race is fine, the other process wrote the same files."""
    try:
        part.replace(folder)
    except OSError:
        if not (folder / MAIN).is_file():
            raise


def default_cache() -> Path:
    """Where packs go when nobody says otherwise: a private folder of this user among the temporary files."""
    return Path(tempfile.gettempdir()) / f"pointsman-bundles-{os.getuid()}"
