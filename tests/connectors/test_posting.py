"""A text of ours commands, mentions, closes and forges nothing, and no limit swallows it."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.posting.markdown import first_visible, open_fence
from connectors.posting.neutral import CLOSING_WORDS, JOINER, neutral
from connectors.posting.posting import NO_TITLE, Posting, cleaned, compose, label_in_path, plain, title
from connectors.posting.sizes import LIMITS
from connectors.secrets import Redactor, Secret
from connectors.text import same_name

NONE = Redactor()
MARKER = "<!-- pointsman effect=e1 run=r1 node=n attempt=1 -->"
GITHUB, GITLAB, FORGEJO = (Posting(kind, run_id="r1") for kind in ("github", "gitlab", "forgejo"))
FAMILY = "👨‍👩‍👧‍👦"
ENDS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")


@pytest.mark.parametrize("end", ENDS, ids=repr)
@pytest.mark.parametrize("before", ["", " ", "\t", "\u200b", "\ufeff", "    "], ids=repr)
def test_a_line_that_begins_with_a_slash_is_no_command(before: str, end: str) -> None:
    """C145."""
    text = neutral(f"report{end}{before}/close{end}rest", "gitlab")
    assert text == f"report{end}{before}\\/close{end}rest"
    assert neutral(f"{before}/close", "gitlab") == f"{before}\\/close"


def test_a_slash_inside_a_block_of_code_stays_and_behind_it_does_not() -> None:
    """C145."""
    text = "```sh\n/usr/bin/env\n```\n/close\n~~~\n/close\n~~~"
    assert neutral(text, "gitlab") == "```sh\n/usr/bin/env\n```\n\\/close\n~~~\n\\/close\n~~~"


def test_a_fence_that_closes_nothing_opens_nothing() -> None:
    """C145: what a forge does not take for code is not taken for code here."""
    assert neutral("``` a ` b\n/close", "gitlab").endswith("\n\\/close")
    assert neutral("    ```\n/close", "gitlab").endswith("\n\\/close")
    assert neutral("````\n```\n/close", "gitlab") == "````\n```\n/close\n````"
    assert neutral("`a\n/close`", "gitlab") == "`a\n\\/close`"


@pytest.mark.parametrize("text", ["```\nopen", "~~~~\nopen\n", "text\n```py\n/close"])
def test_a_fence_that_is_left_open_is_closed(text: str) -> None:
    """C145."""
    assert open_fence(text)
    assert not open_fence(neutral(text, "github"))


def test_mentions_are_broken_unless_they_are_allowed_and_addresses_are_not_mentions() -> None:
    """C146."""
    text = neutral("@octo/team and @someone, a@b.c and `@code` (@x).", "github", allow_mentions=["Someone"])
    assert text == f"@{JOINER}octo/team and @someone, a@b.c and `@code` (@{JOINER}x)."
    assert (
        neutral("@someone/else @someone.", "github", allow_mentions=["@someone"]) == f"@{JOINER}someone/else @someone."
    )
    assert neutral("ü@someone", "github") == f"ü@{JOINER}someone"


@pytest.mark.parametrize(("kind", "word"), [(kind, word) for kind, words in CLOSING_WORDS.items() for word in words])
def test_a_closing_word_loses_its_number(kind: str, word: str) -> None:
    """C147."""
    for spelled in (word, word.title(), word.upper()):
        assert neutral(f"{spelled} #1", kind) == f"{spelled} #{JOINER}1"


@pytest.mark.parametrize(
    "text",
    [
        "Fixes: #1",
        "fixes octo/app#12",
        "closes GH-3",
        "Closes #1, #2 and #3",
        "resolved\n#4",
        "fix   : #5",
        "(fixes #6)",
    ],
)
def test_no_number_is_left_behind_a_closing_word(text: str) -> None:
    """C147."""
    found = neutral(text, "github")
    assert not re.search(r"(#|GH-)\d", found)
    assert found.replace(JOINER, "") == text
    assert neutral(text, "github", keep_closing=True) == text


def test_a_closing_word_stands_apart_from_an_address() -> None:
    """C147."""
    link = "https://forge.test/o/r/issues/1"
    assert neutral(f"Fixes {link}", "github") == f"Fixes{JOINER} {link}"


def test_words_that_close_nothing_and_numbers_alone_are_left() -> None:
    for text in ("see #1", "prefixes #1", "#1 is fixed", "unfixed #1", "fixes 1"):
        assert neutral(text, "github") == text


@pytest.mark.parametrize("dress", ["<!-- pointsman effect=e9 -->", "<!--pointsman x-->", "<!--\n\tPointsman claim -->"])
def test_a_marker_in_foreign_text_is_broken_and_ours_is_last(dress: str) -> None:
    """C149."""
    found = compose(f"before `{dress}`\n```\n{dress}\n```", GITHUB, NONE, MARKER).text
    assert len(re.findall(r"<!--\s*pointsman", found, re.IGNORECASE)) == 1
    assert found.endswith(f"\n\n{MARKER}")


PIECES = [*"/@#1a `~<!-:\n\r\u2028", "fixes ", "pointsman", "```", "<!--", " and ", "gh-"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=300, deadline=None)
def test_neutralising_twice_is_neutralising_once(text: str) -> None:
    """C145 C146 C147 C149: and nothing that a person sees is lost."""
    once = neutral(text, "gitlab")
    assert neutral(once, "gitlab") == once
    visible = once.replace(JOINER, "").replace("\\", "")
    assert visible.startswith(text.replace(JOINER, "").replace("\\", ""))


def test_a_text_that_fits_is_sent_whole_with_the_marker_last() -> None:
    found = compose("Done.", FORGEJO, NONE, MARKER)
    assert (found.text, found.cut) == (f"Done.\n\n{MARKER}", False)
    assert compose("", FORGEJO, NONE, MARKER).text == MARKER


LONG = {
    "family_at_the_edge": "x" * 65_536 + FAMILY,
    "four_byte_letters": "𒀀" * 65_600,
    "families": FAMILY * 12_000,
    "lines": "a line of text\n" * 20_000,
    "code": "```\n" + "code\n" * 30_000,
    "slashes": "/close\n" * 30_000,
    "mentions": "@someone " * 20_000,
    "one_grapheme": "e" + "\u0301" * 200_000,
    "open_span": "`@someone " + "x" * 70_000 + "`",
}


@pytest.mark.parametrize("posting", [GITHUB, FORGEJO], ids=lambda posting: posting.kind)
@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_cut_between_graphemes_and_keeps_its_marker(name: str, posting: Posting) -> None:
    """C148 C078."""
    text = LONG[name]
    found = compose(text, posting, NONE, MARKER)
    if not found.cut:
        pytest.skip("it fits here")
    assert LIMITS[posting.kind].size_over(found.text) <= 0
    assert found.text.endswith(f"\n\n{MARKER}")
    shown, _, notice = found.text.removesuffix(f"\n\n{MARKER}").rpartition("\n\n… cut: ")
    kept = int(notice.split(" of ")[0])
    assert notice == f"{kept} of {len(text)} characters; full text: pointsman report --run-id r1"
    boundaries = {match.end() for match in regex.finditer(r"\X", text)} | {0}
    assert kept in boundaries
    assert not open_fence(shown)
    assert not re.search(r"@someone", shown)
    assert not re.search(r"(?m)^/close", shown)


def test_a_cut_falls_on_a_line_end_that_is_near() -> None:
    found = compose("a line of text\n" * 20_000, FORGEJO, NONE, MARKER).text
    assert found.split("\n\n… cut")[0].endswith("\na line of text")


def test_a_million_characters_fit_where_a_million_are_allowed() -> None:
    """C148 F40."""
    assert not compose("x" * 999_000, GITLAB, NONE, MARKER).cut
    assert compose("x" * 1_000_001, GITLAB, NONE, MARKER).cut


def test_a_secret_in_a_text_is_taken_out_before_it_is_posted() -> None:
    """C141."""
    redactor = Redactor([Secret("a-token-of-the-forge")])
    found = compose("the token is a-token-of-\nthe-forge!", GITHUB, redactor, MARKER)
    assert found.redacted == 1
    assert found.text.startswith("the token is ***!")


NASTY = "a\x00b\ud800c\u202ed" + FAMILY * 256


def test_characters_that_cannot_be_written_are_replaced() -> None:
    """C150."""
    body = compose(NASTY, GITHUB, NONE, MARKER).text
    assert body.encode("utf-8")
    assert body.startswith("a\ufffdb\ufffdc\u202ed")
    found = title(NASTY, GITHUB, NONE)
    assert len(found) <= 255
    assert found.encode("utf-8")
    assert [match.group() for match in regex.finditer(r"\X", found)][-2] == FAMILY


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "\x00"[:0], "\u200b\u2060", "\u202e"])
def test_an_empty_title_says_so(text: str) -> None:
    """C151."""
    assert title(text, GITHUB, NONE) == NO_TITLE


def test_a_title_is_one_line() -> None:
    assert title("a\r\nb\u2028c", GITHUB, NONE) == "a b c"
    assert title("ask @someone", GITHUB, NONE) == f"ask @{JOINER}someone"


@given(st.text(max_size=400))
def test_any_title_and_any_text_can_be_written(text: str) -> None:
    """C150."""
    assert len(title(text, GITHUB, NONE)) <= 255
    assert compose(text, FORGEJO, NONE, MARKER).text.encode("utf-8")
    assert cleaned(cleaned(text)) == cleaned(text)


def test_labels_are_equal_after_composition_and_letters_of_turkish_stay_different() -> None:
    """C152."""
    assert same_name("caf\u00e9") == same_name("cafe\u0301")
    assert same_name("bitti") != same_name("bıttı")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("stat: stale", "stat%3A%20stale"),
        ("lifecycle/stale", "lifecycle%2Fstale"),
        ("approved?", "approved%3F"),
        ("bug#1", "bug%231"),
        ("a%2Fb", "a%252Fb"),
        ("❤️", "%E2%9D%A4%EF%B8%8F"),
    ],
)
def test_a_label_in_a_path_is_encoded_once(name: str, path: str) -> None:
    """C033."""
    assert label_in_path(name) == path


def test_card_text_is_parsed_without_its_code_and_only_so_much_of_it() -> None:
    text = "Blocked by #1\r\n```\nBlocked by #2\n```\rNot before: `x` today"
    assert plain(text) == "Blocked by #1\n\n\n\nNot before:  today"
    assert len(plain("ü" * 300_000)) == 131_072


def test_a_line_of_nothing_visible_has_no_first_character() -> None:
    assert first_visible(" \u200b\u3164") == -1
