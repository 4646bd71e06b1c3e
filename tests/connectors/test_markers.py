"""Markers: found through what people do to a text, and never in what somebody quotes (connectors.md 10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.effects.markers import carries, marker_of, markers_in, mentions, with_pairs

MARKER = "<!-- pointsman effect=e1 run=r1 node=post attempt=2 -->"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"hello\n\n{MARKER}", id="as-written"),
        pytest.param(f"hello\r\n{MARKER}\r\nand a line more", id="C074-crlf-and-extra-line"),
        pytest.param(f"hello\n    \t{MARKER}   \n", id="C074-indented"),
        pytest.param("x\n<!--pointsman   effect=e1   new_key=7 run=r1 -->", id="blanks-and-unknown-keys"),
        pytest.param(f"```\ncode\n```\n{MARKER}", id="behind-code"),
        pytest.param(f"~~~\n```\n~~~\n{MARKER}", id="behind-nested-fences"),
    ],
)
def test_a_marker_that_people_left_legible_counts(text: str) -> None:
    """C074."""
    assert carries(text, "e1")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"> {MARKER}", id="C073-quoted"),
        pytest.param(f"```\n{MARKER}\n```", id="in-code"),
        pytest.param(f"```\n{MARKER}", id="in-code-left-open"),
        pytest.param(f"see `{MARKER}`", id="in-a-line"),
        pytest.param("<!-- pointsman effect=e12 -->", id="another-effect"),
        pytest.param("<!-- pointsman\u2060 effect=e1 -->", id="broken-by-us"),
    ],
)
def test_a_marker_in_a_quotation_in_code_or_broken_counts_for_nothing(text: str) -> None:
    """C073, and what ``posting`` breaks."""
    assert not carries(text, "e1")


def test_keys_are_added_behind_and_read_back() -> None:
    (found,) = markers_in(f"text\n{with_pairs(MARKER, key='daily:2026-01-02', none='')}")
    assert (found.effect, found.key, found.pairs["attempt"], found.is_claim) == ("e1", "daily:2026-01-02", "2", False)
    assert carries(marker_of("e2"), "e2")
    assert mentions("> <!-- pointsman effect=e2 -->", "e2")


def test_a_claim_is_told_from_an_effect() -> None:
    (found,) = markers_in("<!-- pointsman claim owner=s1 instance=i1 epoch=4 until=2026-01-02T03:04:05Z -->")
    assert found.is_claim
    assert (found.pairs["owner"], found.effect) == ("s1", "")


@given(st.text(), st.text(alphabet="abc \n", max_size=20))
def test_no_text_in_front_hides_a_marker_but_an_open_fence(before: str, after: str) -> None:
    fenced = any(line.lstrip(" ").startswith(("```", "~~~")) for line in before.splitlines())
    assert fenced or carries(f"{before}\n{MARKER}\n{after}", "e1")
