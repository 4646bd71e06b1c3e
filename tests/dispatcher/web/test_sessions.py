"""Cookies of browsers that gave the token once."""

from __future__ import annotations

import pytest

from dispatcher.web.guard import Rules, verdict
from dispatcher.web.sessions import LASTS, NAME, header, holds, issue, value_in

NOW = 1_800_000_000.0


def test_a_cookie_holds_for_its_token_and_its_time_only() -> None:
    value = issue("s3cret", NOW)
    assert holds("s3cret", value, NOW)
    assert holds("s3cret", value, NOW + LASTS - 1)
    assert not holds("s3cret", value, NOW + LASTS)
    assert not holds("other", value, NOW)
    assert "s3cret" not in value


@pytest.mark.parametrize("value", ["", ".", "x.y", "9" * 40 + ".0", "1.", f"{int(NOW) + 5}.{'0' * 64}", "²."])
def test_what_nobody_issued_holds_nothing(value: str) -> None:
    assert not holds("s3cret", value, NOW)


def test_a_later_end_does_not_fit_the_signature() -> None:
    until, _, signature = issue("s3cret", NOW).partition(".")
    assert not holds("s3cret", f"{int(until) + 1}.{signature}", NOW)


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites() -> None:
    assert header("v") == f"{NAME}=v; Path=/; HttpOnly; SameSite=Strict; Max-Age={LASTS}"
    assert header("").endswith("Max-Age=0")
    assert header("v", secure=True).endswith("; Secure")


def test_the_cookie_is_found_among_others() -> None:
    assert value_in(["a=b", f"x=1; {NAME}=1.2; y=2"]) == "1.2"
    assert value_in(["nonsense;;", ""]) == ""


def test_a_cookie_opens_the_door_and_mends_no_wrong_token() -> None:
    rules = Rules.of("127.0.0.1", "s3cret")
    cookie = f"{NAME}={issue('s3cret', NOW)}"

    def refused(now: float = NOW, **headers: str) -> str:
        given = {"host": ["127.0.0.1"], **{name: [value] for name, value in headers.items()}}
        found = verdict(rules, "GET", given, now=now)
        return found.code if found is not None else ""

    assert refused(cookie=cookie) == ""
    assert refused(cookie=cookie, now=NOW + LASTS) == "unauthorized"
    assert refused(cookie=cookie, authorization="Bearer wrong") == "unauthorized"
    assert refused(cookie=cookie, origin="https://evil.example") == "forbidden"
