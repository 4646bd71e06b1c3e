"""Exchanges with the fake forge held against what the forges publish about themselves (connectors.md 24, C162).

A ``Checker`` is the observer of a fake forge: it collects what does not conform and the fixture fails with it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from connectors.fake_forge.exchange import Answer, Request
from connectors.fake_forge.records import Kind
from tests.kit.gitea_models import ForgejoChecker
from tests.kit.gitlab_keys import GitLabChecker
from tests.kit.graphql_schema import graphql_misfits

DATA = Path(__file__).parent.parent / "data"
ROOT = "urn:github"
LOOSE = {
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/labels"): "the library sends a bare list, which is accepted",
    ("put", "/repos/{owner}/{repo}/issues/{issue_number}/labels"): "the same",
}
"""Requests that the published text forbids and the real forge takes."""


class Checker(Protocol):
    """An observer that remembers what was wrong."""

    found: list[str]

    def __call__(self, request: Request, answer: Answer) -> None:
        """Look at one exchange."""
        ...


@cache
def github_description() -> dict[str, Any]:
    """The slice, with its components' references made absolute."""
    with gzip.open(DATA / "github-openapi.json.gz") as file:
        text = file.read().decode().replace('"#/components/', f'"{ROOT}#/components/')
    loaded: dict[str, Any] = json.loads(text, object_hook=_null_allowed)
    return loaded


def _null_allowed(schema: dict[str, Any]) -> dict[str, Any]:
    """An enum that is nullable means null as well; the published text leaves it out of the list."""
    if schema.get("nullable") is True and isinstance(schema.get("enum"), list):
        schema["enum"] = [*schema["enum"], None]
    return schema


@cache
def github_registry() -> Any:
    resource = Resource.from_contents(github_description(), default_specification=DRAFT4)
    return Registry().with_resource(ROOT, resource)


@cache
def github_paths() -> list[tuple[re.Pattern[str], str]]:
    """Patterns, those with fewer parameters first."""
    ordered = sorted(github_description()["paths"], key=lambda path: (path.count("{"), -len(path)))
    wide = {"path", "ref"}

    def pattern(path: str) -> re.Pattern[str]:
        parts = re.split(r"(\{\w+\})", path)
        made = "".join(
            (".+" if part[1:-1] in wide else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
        )
        return re.compile(made)

    return [(pattern(path), path) for path in ordered]


class GitHubChecker:
    """GitHub's OpenAPI description, by path, method and status."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __call__(self, request: Request, answer: Answer) -> None:
        """Request keys and body, answer status and body."""
        path = request.path.removeprefix("/api/v3")
        if path.startswith("/repositories/"):
            return
        if path in ("/graphql", "/api/graphql"):
            self.found += [f"graphql: {told}" for told in graphql_misfits(request.body, answer.payload())]
            return
        method = request.method.lower()
        for pattern, name in github_paths():
            item = github_description()["paths"][name]
            if method in item and pattern.fullmatch(path):
                self._operation(f"{request.method} {request.path}", (method, name), request, answer)
                return
        if answer.status != 404:
            self.found.append(f"{request.method} {request.path}: not in the description")

    def _operation(self, where: str, key: tuple[str, str], request: Request, answer: Answer) -> None:
        item = github_description()["paths"][key[1]]
        operation = item[key[0]]
        if answer.status < 400:
            known = {resolved(each)["name"] for each in [*item.get("parameters", []), *operation.get("parameters", [])]}
            for name, _ in request.query:
                if name not in known:
                    self.found.append(f"{where}: query key {name}")
            if key not in LOOSE:
                self._body(f"{where} request", operation.get("requestBody"), request.body)
        response = operation["responses"].get(str(answer.status))
        if response is None:
            if answer.status not in (400, 301, 304, 307, 401, 403, 404, 410, 422, 429, 500):
                self.found.append(f"{where}: status {answer.status} is not described")
            return
        if answer.status < 300:
            self._body(f"{where} {answer.status}", resolved(response), answer.payload(), reading=True)

    def _body(self, where: str, described: Any, body: bytes, *, reading: bool = False) -> None:
        content = (resolved(described) if described else {}).get("content", {}).get("application/json")
        if content is None:
            if body and not reading:
                self.found.append(f"{where}: a body where none is described")
            return
        if not body:
            if reading or resolved(described).get("required"):
                self.found.append(f"{where}: no body")
            return
        kind = OAS30ReadValidator if reading else OAS30WriteValidator
        validator = kind(content["schema"], registry=github_registry())
        for error in list(validator.iter_errors(json.loads(body)))[:5]:
            place = "/".join(str(each) for each in error.absolute_path)
            self.found.append(f"{where}: {place}: {error.message[-200:]}")


def resolved(value: Any) -> Any:
    """A value behind a reference."""
    if "$ref" not in value:
        return value
    _, kind, name = value["$ref"].removeprefix(ROOT + "#/").split("/")
    return github_description()["components"][kind][name]


def checker_of(kind: str) -> Checker:
    """The checker for a forge."""
    checkers: dict[Kind, Callable[[], Checker]] = {
        Kind.GITHUB: GitHubChecker,
        Kind.GITLAB: GitLabChecker,
        Kind.FORGEJO: ForgejoChecker,
    }
    return checkers[Kind(kind)]()
