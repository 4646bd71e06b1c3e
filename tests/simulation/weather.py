"""What a forge and the way to it do wrong: one rule of the fake's script, drawn from a number."""

from __future__ import annotations

from random import Random
from typing import Any

LOST = (
    "act_then_close",
    "act_then_reset",
    "act_then_hang",
    "act_then_5xx",
    "act_then_cut_head",
    "act_then_cut_body",
    "act_then_bad_json",
    "act_then_empty",
)
"""Performed; the answer never comes, or cannot be read."""
UNMADE = ("close_before_read", "reset_on_connect", "reset_mid_upload", "refuse")
"""Cut before it was performed; only of a refused connection is that known."""
REFUSED = ("status", "throttle_secondary", "throttle_plain", "throttle_primary")
READS = ("page_cut", "page_overlap", "lag", "lag", "lag")
"""Lists that are cut, repeat themselves, or show the past."""
WRITES = ("POST", "POST", "PUT", "PATCH", "DELETE", "")


def rule_of(random: Random, forge: str) -> dict[str, Any]:
    """A rule for the requests that come. Cards by number, which GitLab reads in lists, lag for a moment."""
    kind = random.choices((LOST, UNMADE, REFUSED, READS), (60, 10, 12, 18))[0]
    fault = random.choice(kind)
    rule: dict[str, Any] = {"fault": fault}
    if kind is LOST or kind is REFUSED:
        rule["match"] = {"method": random.choice(WRITES), "nth": random.choice((1, 1, 2, 3))}
    if fault == "act_then_5xx":
        rule["with"] = {"status": random.choice((500, 502, 503, 504))}
    elif fault == "status":
        rule["with"] = {"code": random.choice((500, 502, 503, 429, 408))}
    elif fault in ("throttle_primary", "throttle_secondary"):
        rule["with"] = {"seconds": random.choice((2, 60, 300))}
    elif fault == "reset_mid_upload":
        rule["match"] = {"method": "POST", "nth": 1}
    elif fault == "refuse":
        rule["match"] = {"after": random.choice((0, 2, 5, 9))}
    elif fault == "lag":
        rule["match"] = {"method": "GET"}
        seconds, what = random.choice((5, 20, 90)), random.choice(("lists", "comments", "labels"))
        short = what == "labels" or (what == "lists" and forge == "gitlab")
        rule["with"] = {"seconds": 5 if short else seconds, "what": what}
    elif kind is not LOST and kind is not REFUSED:
        rule["match"] = {"nth": random.choice((1, 2))}
    return rule
