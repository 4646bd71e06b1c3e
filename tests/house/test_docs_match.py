from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.dsl.load import load_text
from engine.dsl.parser import WORDS
from tests.house.language_pages import SAMPLES
from tests.house.tables import MARK, ROOT, TABLES, made, pages, renewed


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_the_tables_of_every_page_are_those_of_the_code(page: Path) -> None:
    """`make docs` writes them anew."""
    text = page.read_text(encoding="utf-8")
    assert renewed(text) == text


def test_made_pages_and_the_editors_files_are_those_of_the_code() -> None:
    """`make docs` writes them anew; a file that nobody makes any more is gone."""
    wanted = made()
    for path, text in wanted.items():
        assert path.read_text(encoding="utf-8") == text, path
    found = {path for folder in (ROOT / "docs/language", ROOT / "editors") for path in folder.iterdir()}
    assert found == set(wanted)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_samples_of_the_language_are_read_without_a_mistake(kind: str) -> None:
    assert kind in WORDS
    found = [each for each in load_text(SAMPLES[kind]).diagnostics if each.code[0] == "E" and each.is_error]
    assert found == []


def test_every_table_stands_on_some_page() -> None:
    named = {found.group(2) for page in pages() for found in MARK.finditer(page.read_text(encoding="utf-8"))}
    assert named == set(TABLES)


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*pages(), ROOT / "README.md", ROOT / "AGENTS.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
