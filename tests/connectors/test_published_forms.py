"""The checkers of published forms find what does not conform (C162): a checker that finds nothing proves nothing."""

from __future__ import annotations

import json

import pytest

from connectors.fake_forge.exchange import Answer, Request
from tests.kit.published import checker_of

GRAPHQL = "/graphql"


def asked(method: str, target: str, body: object = None) -> Request:
    return Request.of(method, target, {}, json.dumps(body).encode() if body is not None else b"")


@pytest.mark.parametrize(
    ("kind", "request_of", "answer", "told"),
    [
        ("github", asked("POST", "/repos/o/r/issues", {"body": "x"}), Answer(403), ""),
        (
            "github",
            asked("POST", "/repos/o/r/issues", {"body": "x"}),
            Answer(201, {}),
            "'title' is a required property",
        ),
        ("github", asked("GET", "/repos/o/r/issues?labelz=a"), Answer(200, []), "query key labelz"),
        ("github", asked("GET", "/repos/o/r/issues/1"), Answer(200, {"id": 1}), "is a required property"),
        ("github", asked("GET", "/nowhere"), Answer(200, {}), "not in the description"),
        ("github", asked("POST", GRAPHQL, {"query": "{ viewer { nick } }"}), Answer(200, {"data": {}}), "Cannot query"),
        (
            "github",
            asked("POST", GRAPHQL, {"query": "{ viewer { login } }"}),
            Answer(200, {"data": {"viewer": {"login": None}}}),
            "non-nullable",
        ),
        ("gitlab", asked("GET", "/api/v4/projects/1/issues?labelz=a"), Answer(200, []), "would ignore labelz"),
        ("gitlab", asked("PUT", "/api/v4/projects/1/issues/1", {"state": "x"}), Answer(200, {}), "would ignore state"),
        ("gitlab", asked("GET", "/api/v4/user"), Answer(200, {"id": 1}), "lacks username"),
        ("forgejo", asked("GET", "/api/v1/user"), Answer(200, {"id": "1"}), "valid integer"),
        ("forgejo", asked("GET", "/api/v1/user"), Answer(200, {"nick": "x"}), "User has no nick"),
        ("forgejo", asked("PATCH", "/api/v1/repos/o/r/issues/1", {"label": 1}), Answer(201, {}), "has no label"),
        ("forgejo", asked("GET", "/api/v1/repos/o/r/labels"), Answer(200, {}), "a list where none belongs"),
    ],
)
def test_what_does_not_conform_is_found(kind: str, request_of: Request, answer: Answer, told: str) -> None:
    checker = checker_of(kind)
    checker(request_of, answer)
    assert any(told in each for each in checker.found) if told else checker.found == []
