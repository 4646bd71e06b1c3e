"""``make rows``: which row ids of the acceptance matrices (``R…``, ``D…``, ``C…``) some test names, and where.

Rows live outside this repository; with their file as an argument the rows that no test names are listed as well.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

ROW = re.compile(r"\b([RDC]\d{3})\b")
RANGE = re.compile(r"\b([RDC])(\d{3})\s*(?:-|–|to)\s*[RDC]?(\d{3})\b")


def rows_in(text: str) -> set[str]:
    """Every row id that ``text`` names, ranges included."""
    found = set(ROW.findall(text))
    for letter, first, last in RANGE.findall(text):
        found |= {f"{letter}{number:03d}" for number in range(int(first), int(last) + 1)}
    return found


def main(matrices: list[str]) -> None:
    """Print the rows and the test files that name them."""
    where: dict[str, list[str]] = defaultdict(list)
    for path in sorted(Path("tests").rglob("test_*.py")):
        for row in rows_in(path.read_text(encoding="utf-8")):
            where[row].append(path.as_posix())
    for row in sorted(where):
        print(row, *where[row])  # noqa: T201
    for matrix in matrices:
        wanted = set(re.findall(r"^\| ([RDC]\d{3}) ", Path(matrix).read_text(encoding="utf-8"), re.MULTILINE))
        missing = sorted(wanted - set(where))
        print(f"{matrix}: {len(wanted) - len(missing)} of {len(wanted)} rows named; not named:", *missing)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
