"""One folder per card, directly below the root, with an ownership mark beside it (dispatcher.md 21).

Called by the start of a card (point S7), by the facts of a resume, and by settling (point E7). Keys are pure. A folder
that is not provably ours is never used and never deleted: it is put into ``.quarantine``. Nothing outside the root is
touched, and the mark is written last and retired first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from dispatcher.refusals import Refused
from engine.ports import IdMaker

MARKS = ".marks"
QUARANTINE = ".quarantine"
RETIRED = ".retired"
"""Ending of a mark while its folder is being removed."""
_PART = 40
_HASH = 16


@dataclass(frozen=True, slots=True)
class Place:
    """Which card a workspace belongs to: board name and address, card id, number, title."""

    board: str
    address: str
    card_id: str
    number: int
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """The ownership mark. ``generation`` grows whenever the folder is made anew, ``created_hook`` is the generation
    for which ``after_create`` completed. ``aside`` and ``registration`` belong to a removal under way: the folder's
    name in the quarantine, and where git remembers its worktree."""

    board: str
    card_id: str
    store: str
    created: str
    generation: int = 1
    created_hook: int = 0
    runs: tuple[str, ...] = ()
    aside: str = ""
    registration: str = ""


class Found(StrEnum):
    """What lies at a key's place."""

    NOTHING = "nothing"
    OURS = "ours"
    FOREIGN = "foreign"
    """A folder, or something else, without a mark of this card and store."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A prepared folder and its mark; ``quarantined`` names what had to be put aside for it."""

    path: Path
    mark: Mark
    made: bool
    quarantined: Path | None = None


class Removal(StrEnum):
    """How a cleaning ended."""

    REMOVED = "removed"
    KEPT_DIRTY = "kept_dirty"
    QUARANTINED = "quarantined"
    """Renamed, but not deleted: a read-only file, a mount inside, or a failure."""
    UNDONE = "undone"
    """Nothing was removed yet, and the mark is back."""
    ABSENT = "absent"


def key_of(place: Place) -> str:
    """``<board>-<number>-<slug>-<hash>``, at most 120 bytes, different for every card of every board."""
    told = f"{place.board}\0{place.address}\0{place.card_id}"
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{_reduced(place.board)}-{place.number}-{_reduced(place.title)}-{digest}"


def _reduced(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:_PART] or "_"


def _home() -> tuple[Path, ...]:
    """The home folder; none for a number without an account, as a container gives it."""
    try:
        return (Path.home().resolve(),)
    except RuntimeError:
        return ()


class Workspaces:
    """The folders below one root, for one store. ``store`` identifies it in the marks."""

    def __init__(self, root: Path, store: str, ids: IdMaker) -> None:
        self.root = root
        self._store = store
        self._ids = ids

    def check_root(self, store_dir: Path) -> None:
        """Refuse a root that must not be cleaned in. Raises ``Refused`` (``config_invalid``)."""
        real = self.root.resolve()
        forbidden = {Path("/"), *_home(), store_dir.resolve(), *store_dir.resolve().parents}
        if real in forbidden:
            hint = "Name a folder of its own, such as workspaces."
            raise Refused("config_invalid", f"workspace.root is {real}, which must not hold workspaces", hint)

    def path_of(self, key: str) -> Path:
        """The folder of a key."""
        return self.root / key

    def counts(self) -> dict[str, int]:
        """How many folders there are: ``ready`` (marked as ours) and ``quarantined``."""
        found = {"ready": (MARKS, "*.json"), "quarantined": (QUARANTINE, "*")}
        return {state: sum(1 for _ in (self.root / name).glob(files)) for state, (name, files) in found.items()}

    def look(self, key: str, card_id: str) -> Found:
        """What lies at the key's place; writes nothing."""
        path = self.path_of(key)
        if not os.path.lexists(path):
            return Found.NOTHING
        mark = self.mark(key)
        ours = mark is not None and mark.card_id == card_id and mark.store == self._store
        return Found.OURS if ours and path.is_dir() and not path.is_symlink() else Found.FOREIGN

    def marked(self, path: str) -> bool:
        """Whether that folder lies below this root, with a mark; what the mark says is not looked at."""
        folder = Path(path)
        return folder.parent == self.root and self._mark_file(folder.name).is_file()

    def mark(self, key: str) -> Mark | None:
        """The mark of a key; None when there is none that can be read."""
        return _read(self._mark_file(key))

    def prepare(self, key: str, place: Place, run_id: str, now: datetime) -> Workspace:
        """S7: verify the card's folder or make it; the mark is written last. Raises OSError when the disk refuses."""
        found = self.look(key, place.card_id)
        aside = self.quarantine(key) if found is Found.FOREIGN else None
        known = self.mark(key)
        if found is Found.OURS and known is not None:
            mark = known if run_id in known.runs else replace(known, runs=(*known.runs, run_id))
            if mark != known:
                self.write_mark(key, mark)
            return Workspace(self.path_of(key), mark, made=False)
        self.path_of(key).mkdir(parents=True, mode=0o700)
        generation = known.generation + 1 if known is not None and known.store == self._store else 1
        created = now.isoformat(timespec="seconds")
        mark = Mark(place.board, place.card_id, self._store, created, generation, 0, (run_id,))
        self.write_mark(key, mark)
        return Workspace(self.path_of(key), mark, made=True, quarantined=aside)

    def write_mark(self, key: str, mark: Mark) -> None:
        """Replace the mark as a whole."""
        self._write(self._mark_file(key), mark)

    def _write(self, file: Path, mark: Mark) -> None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = file.with_name(f"{file.name}.{self._ids.new()}")
        with fresh.open("w", encoding="utf-8") as handle:
            handle.write(json.dumps(asdict(mark)))
            handle.flush()
            os.fsync(handle.fileno())
        fresh.replace(file)

    def quarantine(self, key: str) -> Path | None:
        """Put whatever lies at the key's place aside; its new name, None when nothing was there."""
        path = self.path_of(key)
        if not os.path.lexists(path):
            return None
        return self._put_aside(path, f"{key}.{self._ids.new()}")

    def _put_aside(self, path: Path, name: str) -> Path:
        aside = self.root / QUARANTINE / name
        aside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.rename(aside)
        return aside

    def remove(self, key: str, card_id: str, unsaved: Callable[[Path], str]) -> tuple[Removal, str]:
        """E7: retire the mark, look for unsaved work, rename, delete. How it ended, and why a folder was kept.

        What a process that dies over it leaves behind is the matter of ``finish_removals``.
        """
        path, mark = self.path_of(key), self.mark(key)
        if mark is None or self.look(key, card_id) is not Found.OURS:
            return Removal.ABSENT, ""
        retired = self._mark_file(key).with_suffix(RETIRED)
        self._mark_file(key).replace(retired)
        why = unsaved(path)
        if why:
            retired.replace(self._mark_file(key))
            return Removal.KEPT_DIRTY, why
        noted = replace(mark, aside=f"{key}.{self._ids.new()}", registration=_worktree_registration(path))
        self._write(retired, noted)
        self._put_aside(path, noted.aside)
        return self._finish(key, noted)

    def finish_removals(self) -> Mapping[str, tuple[Removal, str]]:
        """Finish or undo every removal over which a process died: key -> how it ended, and why not.

        Called before anything is started. A folder that was not put aside yet has lost nothing: its mark is put back.
        """
        found: dict[str, tuple[Removal, str]] = {}
        for retired in sorted((self.root / MARKS).glob(f"*{RETIRED}")):
            mark, key = _read(retired), retired.name.removesuffix(RETIRED)
            if mark is None or mark.store != self._store:
                continue
            begun = os.path.lexists(self.root / QUARANTINE / mark.aside) or not os.path.lexists(self.path_of(key))
            if mark.aside and begun:
                found[key] = self._finish(key, mark)
            else:
                found[key] = self._undo(key, mark)
        return found

    def _finish(self, key: str, mark: Mark) -> tuple[Removal, str]:
        """Delete what was put aside, then what git remembers of it; the retired mark goes last."""
        aside, registration = self.root / QUARANTINE / mark.aside, Path(mark.registration)
        try:
            if os.path.lexists(aside):
                shutil.rmtree(aside)
            if mark.registration and _registers(registration, self.path_of(key)):
                shutil.rmtree(registration)
        except OSError as error:
            return Removal.QUARANTINED, f"{aside}: {error.strerror}"
        finally:
            self._mark_file(key).with_suffix(RETIRED).unlink(missing_ok=True)
        return Removal.REMOVED, ""

    def _undo(self, key: str, mark: Mark) -> tuple[Removal, str]:
        there = os.path.lexists(self.path_of(key)) and not self._mark_file(key).exists()
        if there:
            self.write_mark(key, replace(mark, aside="", registration=""))
        self._mark_file(key).with_suffix(RETIRED).unlink(missing_ok=True)
        return (Removal.UNDONE if there else Removal.ABSENT), ""

    def _mark_file(self, key: str) -> Path:
        return self.root / MARKS / f"{key}.json"


def _read(file: Path) -> Mark | None:
    try:
        data = json.loads(file.read_text())
        return Mark(**{**data, "runs": tuple(data.get("runs", ()))})
    except (OSError, ValueError, TypeError):
        return None


def _worktree_registration(path: Path) -> str:
    """The folder in which a repository remembers this very worktree; empty for anything else."""
    try:
        text = (path / ".git").read_text().strip()
    except OSError:
        return ""
    folder = Path(text.removeprefix("gitdir: "))
    known = text.startswith("gitdir: ") and folder.is_dir() and (folder / "gitdir").is_file()
    return str(folder) if known and _registers(folder, path) else ""


def _registers(folder: Path, path: Path) -> bool:
    """Whether that folder of a repository is about the worktree at ``path``, or what is left of such a one."""
    if folder.parent.name != "worktrees" or not folder.is_dir():
        return False
    try:
        back = Path((folder / "gitdir").read_text().strip())
    except FileNotFoundError:
        return True  # its removal was under way
    return back.parent.resolve() == path.resolve()
