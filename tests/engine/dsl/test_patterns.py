"""Patterns that a file brings are tried for a bounded time (language.md 4.1, 17)."""

from __future__ import annotations

import time

import pytest

from engine.dsl import patterns


@pytest.mark.parametrize(
    ("pattern", "value", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        (r"^[a-z]+\d{2}$", "ab12", True),
        ("", "", True),
        ("ä", "wände", True),
        (r"(?P<x>a)(?P=x)", "caa", True),
    ],
)
def test_a_pattern_is_searched_anywhere(pattern: str, value: str, found: bool) -> None:
    assert patterns.matches(pattern, value) is found


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+$", r"(\w+\s?)*$", "(.*a){25}$"])
def test_a_pattern_that_backtracks_without_end_is_stopped(pattern: str) -> None:
    began = time.monotonic()
    patterns.matches(pattern, "a" * 60 + "!")
    assert time.monotonic() - began < 10 * patterns.SECONDS


@pytest.mark.parametrize("pattern", ["(", "[", "*a", "(" * 400 + ")" * 401, "a" * 1001, "(?P<1>a)"])
def test_a_pattern_that_cannot_be_used_is_said_to_be(pattern: str) -> None:
    assert patterns.problem_of(pattern)
