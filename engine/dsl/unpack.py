"""Reading packed bundles: a ``.botz`` file as its files, and as a folder in a cache (language.md 13).

Called by ``load`` and by ``bundle inspect``. A pack comes from anywhere, so nothing in it is believed: every path is
checked before anything is written, what is read is counted while it is read, and the folder appears in one step under
its content id. A gzipped tar is read, never written.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from engine.dsl.pack import (
    EXECUTABLE,
    MOST_BYTES,
    PLAIN,
    Packed,
    check_names,
    check_ratio,
    check_size,
    content_id,
    special,
    walk,
)
from engine.dsl.unit import MAIN
from engine.errors import SourceInvalid, SourceMissing

UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error)
"""What the two archive libraries raise for bytes that are no archive, an encrypted one, an unknown method."""
MOST_HEADERS = 64 * 1024 * 1024
"""Bytes that a tar may need beyond those of its files."""


def read_pack(path: Path) -> tuple[Packed, ...]:
    """The files of a pack. Raises ``SourceInvalid``; ``SourceMissing`` when there is no such file."""
    if not path.is_file():
        raise SourceMissing(f"The bundle {path} does not exist.", "Check the path.")
    try:
        size = path.stat().st_size
        check_size(size, 0)
        files: list[Packed] = []
        total = 0
        for file in _read_zip(path) if zipfile.is_zipfile(path) else _read_tar(path):
            files.append(file)
            total += len(file.data)
            check_size(total, len(files))
            check_ratio(total, size)
    except UNREADABLE:
        raise SourceInvalid(f"{path} is no bundle that can be read.", "Pack it again: pointsman bundle pack.") from None
    check_names(file.name for file in files)
    if not any(file.name == MAIN for file in files):
        raise SourceInvalid(f"{path} has no {MAIN}.", "Pack the folder that holds main.bot.")
    return tuple(files)


def _read_zip(path: Path) -> Iterator[Packed]:
    """The library reads no more of an entry than its header promises, and checks the sum; the promise is checked."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        check_size(sum(entry.file_size for entry in entries), len(entries))
        for entry in entries:
            name = safe_path(entry.filename)
            if entry.is_dir():
                continue
            mode = entry.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise special(entry.filename)
            yield Packed(name, archive.read(entry), bool(mode & stat.S_IXUSR))


def _read_tar(path: Path) -> Iterator[Packed]:
    with gzip.open(path) as stream, tarfile.open(fileobj=_Counted(stream), mode="r|") as archive:
        for count, entry in enumerate(archive, 1):
            check_size(entry.size, count)
            name = "" if entry.isdir() and entry.name in (".", "./") else safe_path(entry.name)
            if entry.isdir():
                continue
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None:
                raise special(entry.name)
            yield Packed(name, content.read(), bool(entry.mode & stat.S_IXUSR))


class _Counted(io.RawIOBase):
    """What a tar unpacks to, byte by byte counted, because its headers may be as large as it likes."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        super().__init__()
        self._stream = stream
        self._left = MOST_BYTES + MOST_HEADERS

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises ``SourceInvalid`` beyond the limit."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            check_size(MOST_BYTES + 1, 0)
        return data


def safe_path(name: str) -> str:
    """The path of a member, which stays inside the folder that it is unpacked to. Raises ``SourceInvalid``."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or ":" in parts[0]:
        raise SourceInvalid(f"The bundle holds the path {name!r}, which leaves it.", "Do not trust this bundle.")
    return "/".join(parts)


def unpack(path: Path, cache: Path) -> Path:
    """Unpack into ``cache`` under the content id, once; the folder of the bundle.

    The folder appears in one step, so that a second process never sees half of it. One that is there already is used
    when it holds what the pack holds, and made anew otherwise. Raises ``SourceInvalid`` and ``SourceMissing``.
    """
    files = read_pack(path)
    folder = cache / content_id(files)
    try:
        _make_private(cache)
        if not _holds(folder, files):
            _settle(_written(cache, files), folder)
    except OSError as problem:
        reason = problem.strerror or "the disk refused it"
        raise SourceInvalid(f"{path} cannot be unpacked to {cache}: {reason}.", "Check folder and space.") from None
    return folder


def _make_private(cache: Path) -> None:
    """The folder of the cache, which nobody else may have prepared."""
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    if cache.lstat().st_uid != os.getuid():
        raise SourceInvalid(f"The folder {cache} belongs to somebody else.", "Remove it, or name another store.")


def _holds(folder: Path, files: tuple[Packed, ...]) -> bool:
    """Whether ``folder`` has exactly these files; what a run left there and no pack takes does not count."""
    if not folder.is_dir():
        return False
    names = {found.relative_to(folder).as_posix() for found in walk(folder)}
    if not names <= {file.name for file in files}:
        return False
    try:
        return all((folder / file.name).read_bytes() == file.data for file in files)
    except FileNotFoundError:
        return False


def _written(cache: Path, files: tuple[Packed, ...]) -> Path:
    part = Path(tempfile.mkdtemp(dir=cache))
    try:
        for file in files:
            target = part / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
            target.chmod(EXECUTABLE if file.executable else PLAIN)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return part


def _settle(part: Path, folder: Path) -> None:
    """Give the folder its name, in the place of a damaged one; a lost race is fine, the other wrote the same files."""
    if folder.is_dir():
        aside = Path(tempfile.mkdtemp(dir=folder.parent))
        folder.replace(aside)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        part.replace(folder)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        if not (folder / MAIN).is_file():
            raise


def default_cache() -> Path:
    """Where packs go when nobody says otherwise: a private folder of this user among the temporary files."""
    return Path(tempfile.gettempdir()) / f"pointsman-bundles-{os.getuid()}"
