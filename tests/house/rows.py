"""``make rows``: which rows of the acceptance matrices (``R…``, ``D…``, ``C…``) and which field cases (``F…``) a test
names, where, and which of them none does.

The matrices live beside this repository (``../shared/spec``) or are given as arguments; without any only what the
tests name is printed. Of a matrix with stages those of the first count, since later ones belong to later releases.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROW = re.compile(r"\b([RDC]\d{3}|F\d{2})\b")
RANGE = re.compile(r"\b([RDC])(\d{3})\s*(?:-|–|to)\s*[RDC]?(\d{3})\b")
NAMED = re.compile(r"test_(f\d{2})_")
WANTED = re.compile(r"^\| ([RDC]\d{3}) .*$|^\*\*(F\d{2}) ", re.MULTILINE)
LATER = re.compile(r"\| [2-9] \|$")
BESIDE = Path("../shared/spec")
MATRICES = ("acceptance.md", "dispatcher.md", "connectors.md", "field-cases.md")


def rows_in(text: str) -> set[str]:
    """Every row id that ``text`` names, ranges included; a field case may stand in a test's name as well."""
    found = set(ROW.findall(text)) | {each.upper() for each in NAMED.findall(text)}
    for letter, first, last in RANGE.findall(text):
        found |= {f"{letter}{number:03d}" for number in range(int(first), int(last) + 1)}
    return found


def wanted_of(matrix: Path) -> set[str]:
    """The ids of the rows or cases that a matrix asks for, without those of later stages."""
    found = WANTED.finditer(matrix.read_text(encoding="utf-8"))
    return {each[1] or each[2] for each in found if not LATER.search(each[0].rstrip())}


def beside() -> list[Path]:
    """The matrices that lie beside this checkout."""
    return [path for name in MATRICES if (path := BESIDE / name).exists()]


def named() -> dict[str, list[str]]:
    """Row id -> the test files that name it."""
    where: dict[str, list[str]] = defaultdict(list)
    for path in sorted(Path("tests").rglob("test_*.py")):
        for row in rows_in(path.read_text(encoding="utf-8")):
            where[row].append(path.as_posix())
    return where


def main(matrices: Sequence[Path]) -> None:
    """Print the rows and the test files that name them, then what no test names."""
    where = named()
    for row in sorted(where):
        print(row, *where[row])  # noqa: T201
    for matrix in matrices or beside():
        wanted = wanted_of(matrix)
        missing = sorted(wanted - set(where)) or ["none"]
        count = len(wanted - set(missing))
        print(f"{matrix.name}: {count} of {len(wanted)} named by a test; not named:", *missing)  # noqa: T201


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
