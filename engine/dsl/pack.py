"""Packing bundles: a folder bundle as one ``.botz`` file (language.md 13).

Called by ``bundle pack`` and ``bundle inspect``; reading packs is ``unpack``. Packing is deterministic: the same files
give the same bytes. What could not be unpacked everywhere is refused here already: links, special files, names that
collide on file systems without case, more than the limits.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from engine.dsl.digest import Part, frame
from engine.dsl.unit import MAIN
from engine.errors import SourceInvalid

SUFFIX = ".botz"
TAG = "bundle.file"
SKIPPED_FOLDERS = frozenset({".git", ".pointsman", ".iterion", "__pycache__"})
SKIPPED_NAMES = frozenset({".DS_Store"})
SKIPPED_SUFFIXES = (".pyc", SUFFIX, ".swp", "~", ".bot.yaml")
EPOCH = (1980, 1, 1, 0, 0, 0)
MOST_BYTES = 256 * 1024 * 1024
MOST_FILES = 20_000
MOST_RATIO = 100
"""How many times larger than its pack a bundle may be, once it is larger than ``FREE_OF_RATIO`` bytes."""
FREE_OF_RATIO = 16 * 1024 * 1024
EXECUTABLE, PLAIN = 0o755, 0o644


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of a bundle: its path with ``/``, its bytes, whether it is executable."""

    name: str
    data: bytes
    executable: bool = False


def read_folder(folder: Path) -> tuple[Packed, ...]:
    """The files that belong into a pack, sorted by path. Raises ``SourceInvalid`` for what cannot be packed."""
    if not (folder / MAIN).is_file():
        raise SourceInvalid(f"The folder {folder} has no {MAIN}.", "Name the folder of a bundle.")
    files: list[Packed] = []
    total = 0
    try:
        for path in walk(folder):
            name = path.relative_to(folder).as_posix()
            entry = path.lstat()
            if not stat.S_ISREG(entry.st_mode):
                raise special(name)
            total += entry.st_size
            check_size(total, len(files) + 1)
            files.append(Packed(name, path.read_bytes(), bool(entry.st_mode & stat.S_IXUSR)))
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise SourceInvalid(f"The bundle {folder} cannot be read: {reason}.", "Check its rights.") from None
    check_names(file.name for file in files)
    return tuple(sorted(files, key=_by_path))


def walk(folder: Path) -> Iterator[Path]:
    """Everything below ``folder`` that is no folder and belongs to a bundle, links to folders included."""
    todo = [folder]
    while todo:
        for path in todo.pop().iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name not in SKIPPED_FOLDERS:
                    todo.append(path)
            elif path.name not in SKIPPED_NAMES and not path.name.endswith(SKIPPED_SUFFIXES):
                yield path


def special(name: str) -> SourceInvalid:
    """The refusal of a link or special file."""
    return SourceInvalid(f"{name} is a link or special file.", "Replace it by a regular file, or remove it.")


def check_size(total: int, count: int) -> None:
    """Raises ``SourceInvalid`` for more bytes or files than a bundle may have."""
    if total > MOST_BYTES or count > MOST_FILES:
        most = f"{MOST_BYTES // 1024 // 1024} MiB or {MOST_FILES} files"
        raise SourceInvalid(f"The bundle is larger than {most}.", "Move what is not source out of it.")


def check_ratio(total: int, packed: int) -> None:
    """Raises ``SourceInvalid`` when ``packed`` bytes stand for suspiciously many."""
    if total > FREE_OF_RATIO and total > MOST_RATIO * packed:
        found = f"The bundle unpacks to more than {MOST_RATIO} times its size"
        raise SourceInvalid(f"{found}.", "Leave files that are nearly empty out of it.")


def check_names(names: Iterable[str]) -> None:
    """Raises ``SourceInvalid`` for a path given twice, paths that differ in case only, a file that is a folder too."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for name in names:
        known = files.setdefault(_folded(name), name)
        if known is not name:
            raise _collision(name, known)
        for above in [str(each) for each in PurePosixPath(name).parents][:-1]:
            known = folders.setdefault(_folded(above), above)
            if known != above:
                raise _collision(above, known)
    for folded in files.keys() & folders.keys():
        raise _collision(files[folded], folders[folded])


def _folded(name: str) -> str:
    """The name as a file system without case sees it."""
    return unicodedata.normalize("NFC", name).casefold()


def _collision(name: str, known: str) -> SourceInvalid:
    found = f"the path {name!r} twice" if name == known else f"both {known!r} and {name!r}, one name on many disks"
    return SourceInvalid(f"The bundle holds {found}.", "Rename one of them.")


def _by_path(file: Packed) -> bytes:
    return file.name.encode("utf-8", "surrogateescape")


def content_id(files: Iterable[Packed]) -> str:
    """The SHA-256, in hex, over all files sorted by path, each framed with the tag ``bundle.file``."""
    total = hashlib.sha256()
    for file in sorted(files, key=_by_path):
        total.update(frame(Part(TAG, file.name, file.data)))
    return total.hexdigest()


def pack(folder: Path, target: Path) -> str:
    """Write the bundle at ``folder`` to ``target``, replacing it in one step; the content id.

    Raises ``SourceInvalid`` for a bundle that cannot be packed and for a target that cannot be written.
    """
    if target.exists() and not target.is_file():
        raise SourceInvalid(f"{target} is there and is no file.", "Name another file.")
    files = read_folder(folder)
    data = packed_bytes(files)
    check_ratio(sum(len(file.data) for file in files), len(data))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except OSError as problem:
        reason = problem.strerror or "the disk refused it"
        raise SourceInvalid(f"{target} cannot be written: {reason}.", "Check folder and space.") from None
    return content_id(files)


def packed_bytes(files: Iterable[Packed]) -> bytes:
    """The ZIP of ``files`` in their order: no times, plain or executable, nothing that depends on the machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, EPOCH)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (EXECUTABLE if file.executable else PLAIN)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.data)
    return stream.getvalue()


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(PLAIN)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
