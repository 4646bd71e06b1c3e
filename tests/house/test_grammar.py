"""The grammar for editors colours what the compiler reads: a small reader of TextMate grammars plays the editor."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.dsl.parser import TOP_BLOCKS, WORDS
from tests.engine.dsl.front_examples import EXAMPLES
from tests.house.grammar import grammar
from tests.house.language_pages import SAMPLES

GRAMMAR = grammar()


@dataclass
class Open:
    """A rule that spans lines and is not closed yet."""

    rule: dict[str, Any]
    end: str


@dataclass
class Reader:
    """Scopes of a text, as (text, scope) pairs, in order."""

    found: list[tuple[str, str]] = field(default_factory=list)
    stack: list[Open] = field(default_factory=list)

    def read(self, text: str) -> list[tuple[str, str]]:
        for line in text.split("\n"):
            self._line(line)
        return self.found

    def _line(self, line: str) -> None:
        at = 0
        while at <= len(line):
            hits = [(hit.start(), order, rule, hit) for order, (rule, hit) in enumerate(self._hits(line, at)) if hit]
            if not hits:
                self._plain(line[at:])
                return
            _, _, rule, hit = min(hits, key=lambda found: found[:2])
            self._plain(line[at : hit.start()])
            if rule is None:
                self._scope(self.stack.pop().rule.get("name"), hit[0])
            elif "begin" in rule:
                self._captures(hit, rule.get("beginCaptures", {}))
                self._scope(rule.get("name"), hit[0])
                self.stack.append(Open(rule, rule["end"].replace("\\1", re.escape(hit[1]) if hit.groups() else "")))
            else:
                self._captures(hit, rule.get("captures", {}))
                self._scope(rule.get("name"), hit[0])
            closed_here = rule is None and hit.end() == at
            at = hit.end() if hit.end() > at or closed_here else at + 1
            if at == len(line) and not closed_here:
                return

    def _hits(self, line: str, at: int) -> list[tuple[dict[str, Any] | None, re.Match[str] | None]]:
        top = self.stack[-1] if self.stack else None
        rules = flat(top.rule.get("patterns", []) if top else GRAMMAR["patterns"])
        hits: list[tuple[dict[str, Any] | None, re.Match[str] | None]] = []
        if top:
            hits.append((None, re.compile(top.end).search(line, at)))
        hits += [(rule, re.compile(rule.get("begin") or rule["match"]).search(line, at)) for rule in rules]
        return hits

    def _captures(self, hit: re.Match[str], captures: dict[str, Any]) -> None:
        for number, capture in captures.items():
            self._scope(capture["name"], hit[int(number)] or "")

    def _plain(self, text: str) -> None:
        if self.stack and text:
            self._scope(self.stack[-1].rule.get("contentName") or self.stack[-1].rule.get("name"), text)

    def _scope(self, scope: str | None, text: str) -> None:
        if scope and text.strip():
            self.found.append((text.strip(), scope.removesuffix(".pointsman")))


def flat(patterns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for pattern in patterns:
        name = pattern.get("include", "")
        rule = GRAMMAR["repository"][name.removeprefix("#")] if name else pattern
        found += flat(rule["patterns"]) if "patterns" in rule and "begin" not in rule else [rule]
    return found


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_word_of_every_declaration_is_a_keyword(kind: str) -> None:
    found = Reader().read(SAMPLES[kind])
    assert any(text == kind and scope.startswith("keyword") for text, scope in found)
    if kind not in (*TOP_BLOCKS, "import"):
        assert any(scope == "entity.name" for _, scope in found)


def test_every_declaration_has_its_colour() -> None:
    assert set(SAMPLES) == set(WORDS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_read_to_its_end(name: object) -> None:
    for file, text in EXAMPLES[name].items():  # type: ignore[index]
        if not file.endswith(".bot"):
            continue
        reader = Reader()
        found = reader.read(text + "\n")
        assert reader.stack == []
        keywords = [word for word, scope in found if scope == "keyword.declaration" and word in WORDS]
        declared = [line.split(":")[0].split()[0] for line in text.split("\n") if re.match(r"[a-z_]+( \w+.*)?:", line)]
        assert set(declared) - {"dsl"} <= set(keywords)


def test_a_prompt_is_text_to_its_end_and_references_shine_through() -> None:
    text = 'prompt p:\n  agent x: "no" `tick\n\n    ## deeper {{vars.who}}\ntool t:\n  command: `a\nb {{outputs.n}}`\n'
    found = Reader().read(text)
    assert ("tool", "keyword.declaration") in found
    assert ("agent", "keyword.declaration") not in found
    assert [text for text, scope in found if scope == "variable.language"] == ["vars", "outputs"]
    assert ("a", "string.quoted.other.raw") in found


def test_a_block_scalar_ends_where_a_shallower_line_starts() -> None:
    found = Reader().read("tool t:\n  script: |\n    when (x) { # no comment\n\n    }\n  language: js\n")
    assert ("script:", "support.type.property-name") in found
    assert ("language", "support.type.property-name") in found
    assert ("js", "constant.language.word") in found
    assert not [scope for _, scope in found if scope.startswith(("keyword.control", "comment"))]
