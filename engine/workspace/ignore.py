"""Which paths of a workspace are not captured: built-in folders, then ``.pointsmanignore`` or else ``.gitignore``.

Called by ``scan``. Patterns are those of git's ignore files, read from the workspace's root alone; the last match wins,
and ``!`` includes again even below an excluded folder (engine.md 8.5). The built-in folders cannot be included again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

IGNORE_FILES = (".pointsmanignore", ".gitignore")
"""The first that exists counts."""
NEVER = frozenset({".git"})
"""Names that are never captured, as a file (a worktree's pointer) or as a folder."""
BUILT = frozenset(
    {"node_modules", "bower_components", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", "target", "dist"}
    | {"build", ".gradle", ".next", ".nuxt", ".terraform", ".cache"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
)
"""Names of folders that hold dependencies or what a build made; ``vendor`` is kept."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file."""

    matches: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(slots=True)
class Rules:
    """The patterns of one text; answers are remembered, so that a second look at the same tree costs little."""

    patterns: tuple[Pattern, ...] = ()
    _verdicts: dict[str, bool] = field(default_factory=dict)

    @property
    def include_again(self) -> bool:
        """Whether an excluded folder may hold something that is captured."""
        return any(pattern.negated for pattern in self.patterns)

    def excludes(self, path: str, *, folder: bool, inherited: bool = False) -> bool:
        """Whether ``path`` is left out; ``inherited`` is the answer for its folder."""
        if not self.patterns:
            return inherited
        key = path + "/" if folder else path
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = self._judge(path, folder, inherited)
        return found

    def _judge(self, path: str, folder: bool, inherited: bool) -> bool:
        for pattern in reversed(self.patterns):
            if (folder or not pattern.folders_only) and pattern.matches.fullmatch(path):
                return not pattern.negated
        return inherited

    def excludes_path(self, path: str) -> bool:
        """Whether a file is left out, its folders considered, built-in ones too."""
        *folders, name = path.split("/")
        excluded = name in NEVER
        for depth, folder in enumerate(folders, 1):
            if folder in NEVER or folder in BUILT:
                return True
            excluded = self.excludes("/".join(folders[:depth]), folder=True, inherited=excluded)
        return name in NEVER or self.excludes(path, folder=False, inherited=excluded)


def ignore_text(root: Path) -> str:
    """The text of the workspace's ignore file, empty without one."""
    for name in IGNORE_FILES:
        try:
            return (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return ""


def read_rules(text: str) -> Rules:
    """The rules of an ignore file; a line that means nothing is passed over."""
    found = (_pattern(line) for line in text.splitlines())
    return Rules(tuple(pattern for pattern in found if pattern is not None))


def _pattern(line: str) -> Pattern | None:
    text = re.sub(r"(?<!\\) +$", "", line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    try:
        found = re.compile(("" if anchored else "(?:.*/)?") + _translated(text.removeprefix("/")))
    except re.error:
        return None
    return Pattern(found, negated, folders_only)


def _translated(glob: str) -> str:
    """A glob of git as a regular expression; ``*`` stays within one name, ``**`` does not."""
    parts: list[str] = []
    place = 0
    while place < len(glob):
        piece, place = _piece(glob, place)
        parts.append(piece)
    return "".join(parts)


def _piece(glob: str, at: int) -> tuple[str, int]:
    """The regular expression of what stands at ``at``, and the place behind it."""
    if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
        return "(?:.*/)?", at + 3
    if glob[at:] == "**" and glob[at - 1 : at] == "/":
        return ".+", at + 2
    if glob[at] == "*":
        return "[^/]*", at + 1
    if glob[at] == "?":
        return "[^/]", at + 1
    if glob[at] == "\\" and at + 1 < len(glob):
        return re.escape(glob[at + 1]), at + 2
    end = glob.find("]", at + 2) if glob[at] == "[" else -1
    if end > 0:
        inside = glob[at + 1 : end].replace("\\", "\\\\")
        inside = "^" + inside[1:] if inside[0] in "!^" else inside
        return f"[{inside}]", end + 1
    return re.escape(glob[at]), at + 1
