"""Who has a card of a shared board: the one rule over its comments (connectors.md 19)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from connectors.forge.claims import Identity, Standing, claims_of, judge
from connectors.forge.records import ForgeComment

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(minutes=15)
ME = Identity("mine", "bot")
LATER, EARLIER = "2026-03-01T12:10:00Z", "2026-03-01T11:59:59Z"


def said(number: int, body: str, *, author: str = "bot", minutes: float = 0) -> ForgeComment:
    at = NOW - timedelta(minutes=minutes)
    return ForgeComment(str(number), 1, author, body, f"https://forge/c/{number}", at, at)


def claim(owner: str, until: str, epoch: int = 1) -> str:
    return f"Text.\n\n<!-- pointsman claim owner={owner} instance=i epoch={epoch} until={until} -->"


MINE, THEIRS = claim("mine", LATER), claim("theirs", LATER)
TABLE = {
    "no comments": ([], Standing.FREE),
    "comments of people": ([said(1, "hello")], Standing.FREE),
    "only ours": ([said(1, MINE)], Standing.OURS),
    "C153 theirs is older": ([said(9, THEIRS), said(10, MINE)], Standing.THEIRS),
    "C153 ours is older, by number and not by spelling": ([said(10, THEIRS), said(9, MINE)], Standing.OURS),
    "C154 theirs has ended": ([said(1, claim("theirs", EARLIER)), said(2, MINE)], Standing.OURS),
    "C154 all have ended": ([said(1, claim("theirs", EARLIER))], Standing.FREE),
    "the very end is an end": ([said(1, claim("theirs", "2026-03-01T12:00:00Z"))], Standing.FREE),
    "another account": ([said(1, THEIRS, author="other")], Standing.THEIRS),
    "C155 an extra line": ([said(1, THEIRS + "\nThanks!", author="bot")], Standing.THEIRS),
    "C155 indented, other order, an unknown key": (
        [said(1, f"  <!--  pointsman claim until={LATER} colour=red owner=theirs  -->")],
        Standing.THEIRS,
    ),
    "C155 destroyed": ([said(1, "<!-- pointsman claim own")], Standing.UNCERTAIN),
    "C155 destroyed end": ([said(1, claim("theirs", "soon"))], Standing.UNCERTAIN),
    "C155 destroyed, younger than ours": ([said(1, MINE), said(2, "<!-- pointsman claim own")], Standing.OURS),
    "C155 destroyed two leases ago": ([said(1, "<!-- pointsman claim own", minutes=30)], Standing.FREE),
    "C155 destroyed nearly two leases ago": ([said(1, "<!-- pointsman claim own", minutes=29.9)], Standing.UNCERTAIN),
    "quoted": ([said(1, "> " + THEIRS.splitlines()[-1])], Standing.FREE),
    "in a code block": ([said(1, f"```\n{THEIRS}\n```")], Standing.FREE),
    "ours, copied by another account": ([said(1, MINE, author="other")], Standing.FREE),
    "an effect of ours": ([said(1, "<!-- pointsman effect=e1 -->")], Standing.FREE),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_oldest_living_claim_has_the_card(name: str) -> None:
    comments, standing = TABLE[name]
    assert judge(claims_of(comments), ME, NOW, LEASE).standing is standing


def test_a_claim_of_ours_that_a_person_destroyed_is_known_by_its_comment() -> None:
    """C155 seen by the claim's own store."""
    known = Identity("mine", "bot", "i", "7")
    assert judge(claims_of([said(7, "<!-- pointsman claim")]), known, NOW, LEASE).standing is Standing.OURS


def test_the_highest_epoch_is_told_also_of_ended_claims() -> None:
    """C154: who takes over counts on from there."""
    comments = [said(1, claim("theirs", EARLIER, 4)), said(2, claim("mine", EARLIER, 2))]
    assert judge(claims_of(comments), ME, NOW, LEASE).epoch == 4
