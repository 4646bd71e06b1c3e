from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tables import MARK, ROOT, TABLES, pages, renewed


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_the_tables_of_every_page_are_those_of_the_code(page: Path) -> None:
    """`make docs` writes them anew."""
    text = page.read_text(encoding="utf-8")
    assert renewed(text) == text


def test_every_table_stands_on_some_page() -> None:
    named = {found.group(2) for page in pages() for found in MARK.finditer(page.read_text(encoding="utf-8"))}
    assert named == set(TABLES)


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*pages(), ROOT / "README.md", ROOT / "AGENTS.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
