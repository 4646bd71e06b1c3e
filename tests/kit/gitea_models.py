"""Forgejo's exchanges held against the models that are generated from Gitea's published description (C162).

The models allow every field to be absent, so that unknown keys and wrong types are what they find.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ValidationError

from connectors.fake_forge.exchange import Answer, Request

REPO = "/repos/{}/{}"
MODELS: dict[str, tuple[str, str]] = {
    "GET /user": ("", "User"),
    "GET /version": ("", "ServerVersion"),
    f"GET {REPO}": ("", "Repository"),
    f"GET {REPO}/collaborators/{{}}/permission": ("", "RepoCollaboratorPermission"),
    f"GET {REPO}/hooks": ("", "[Hook]"),
    f"POST {REPO}/hooks": ("CreateHookOption", "Hook"),
    f"GET {REPO}/issues": ("", "[Issue]"),
    f"POST {REPO}/issues": ("CreateIssueOption", "Issue"),
    f"GET {REPO}/issues/{{}}": ("", "Issue"),
    f"PATCH {REPO}/issues/{{}}": ("EditIssueOption", "Issue"),
    f"GET {REPO}/issues/{{}}/timeline": ("", "[TimelineComment]"),
    f"GET {REPO}/issues/{{}}/dependencies": ("", "[Issue]"),
    f"POST {REPO}/issues/{{}}/dependencies": ("IssueMeta", "Issue"),
    f"DELETE {REPO}/issues/{{}}/dependencies": ("IssueMeta", "Issue"),
    f"GET {REPO}/issues/{{}}/comments": ("", "[Comment]"),
    f"POST {REPO}/issues/{{}}/comments": ("CreateIssueCommentOption", "Comment"),
    f"GET {REPO}/issues/comments/{{}}": ("", "Comment"),
    f"PATCH {REPO}/issues/comments/{{}}": ("EditIssueCommentOption", "Comment"),
    f"POST {REPO}/issues/comments/{{}}/reactions": ("EditReactionOption", "Reaction"),
    f"GET {REPO}/issues/{{}}/reactions": ("", "[Reaction]"),
    f"POST {REPO}/issues/{{}}/reactions": ("EditReactionOption", "Reaction"),
    f"GET {REPO}/issues/{{}}/labels": ("", "[Label]"),
    f"POST {REPO}/issues/{{}}/labels": ("IssueLabelsOption", "[Label]"),
    f"PUT {REPO}/issues/{{}}/labels": ("IssueLabelsOption", "[Label]"),
    f"DELETE {REPO}/issues/{{}}/labels": ("", ""),
    f"DELETE {REPO}/issues/{{}}/labels/{{}}": ("", ""),
    f"GET {REPO}/labels": ("", "[Label]"),
    f"POST {REPO}/labels": ("CreateLabelOption", "Label"),
    "GET /orgs/{}/labels": ("", "[Label]"),
    f"GET {REPO}/pulls": ("", "[PullRequest]"),
    f"POST {REPO}/pulls": ("CreatePullRequestOption", "PullRequest"),
    f"GET {REPO}/pulls/{{}}": ("", "PullRequest"),
    f"PATCH {REPO}/pulls/{{}}": ("EditPullRequestOption", "PullRequest"),
    f"POST {REPO}/pulls/{{}}/merge": ("MergePullRequestOption", ""),
    f"GET {REPO}/pulls/{{}}/reviews": ("", "[PullReview]"),
    f"POST {REPO}/pulls/{{}}/reviews": ("CreatePullReviewOptions", "PullReview"),
    f"POST {REPO}/pulls/{{}}/requested_reviewers": ("PullReviewRequestOptions", "[PullReview]"),
    f"GET {REPO}/branches/{{}}": ("", "Branch"),
    f"POST {REPO}/branches": ("CreateBranchRepoOption", "Branch"),
    f"GET {REPO}/git/refs/{{}}": ("", "[Reference]"),
    f"GET {REPO}/git/commits/{{}}": ("", "Commit"),
    f"GET {REPO}/contents/{{}}": ("", "ContentsResponse"),
    f"POST {REPO}/contents/{{}}": ("CreateFileOptions", "FileResponse"),
    f"PUT {REPO}/contents/{{}}": ("UpdateFileOptions", "FileResponse"),
    f"GET {REPO}/commits/{{}}/status": ("", "CombinedStatus"),
    f"GET {REPO}/statuses/{{}}": ("", "[CommitStatus]"),
    f"POST {REPO}/statuses/{{}}": ("CreateStatusOption", "CommitStatus"),
    f"GET {REPO}/releases/tags/{{}}": ("", "Release"),
    f"POST {REPO}/releases": ("CreateReleaseOption", "Release"),
}
"""Operation -> (request model, response model); a list's model is in brackets, nothing means no body."""
OTHERS = ("DELETE",)
LOOSE = ("IssueLabelsOption",)
"""Models that are generated wrongly: labels are given by number or name, the model wants objects."""


@cache
def patterns() -> list[tuple[re.Pattern[str], str]]:
    """The longest paths first; the last parameter may hold slashes."""
    found = []
    for key in sorted(MODELS, key=lambda each: (each.count("{}"), -len(each))):
        made = re.escape(key).replace(r"\{\}", "[^/]+")
        if re.search(r"/(branches|refs|contents|tags)/\{\}$", key):
            made = made.removesuffix("[^/]+") + ".+"
        found.append((re.compile(made), key))
    return found


@cache
def model(name: str) -> type[BaseModel]:
    """A generated model by its name."""
    bare_package()
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: type[BaseModel] = getattr(import_module(f"gitea_api_client.models.{snake}"), name)
    return found


@cache
def bare_package() -> None:
    """Let single models be imported without the package's own imports, which load hundreds and take seconds."""
    spec = importlib.util.find_spec("gitea_api_client")
    assert spec is not None
    assert spec.submodule_search_locations
    for name, folder in (("gitea_api_client", ""), ("gitea_api_client.models", "models")):
        made = ModuleType(name)
        made.__path__ = [str(Path(spec.submodule_search_locations[0]) / folder)]
        sys.modules[name] = made


class ForgejoChecker:
    """Gitea's models, by path and method."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __call__(self, request: Request, answer: Answer) -> None:
        """Request body and answer body."""
        if answer.status >= 300:
            return
        asked = f"{request.method} {request.path.removeprefix('/api/v1')}"
        for pattern, key in patterns():
            if pattern.fullmatch(asked):
                given, told = MODELS[key]
                self._body(f"{asked} request", given, request.body)
                self._body(f"{asked} {answer.status}", told, answer.payload())
                return
        if request.method not in OTHERS:
            self.found.append(f"{asked}: not in the table")

    def _body(self, where: str, name: str, body: bytes) -> None:
        if name in LOOSE and body:
            return
        if not name or not body:
            if bool(name) != bool(body):
                self.found.append(f"{where}: a body {'is missing' if name else 'where none belongs'}")
            return
        value = json.loads(body)
        kind = model(name.strip("[]"))
        if name.startswith("[") is not isinstance(value, list):
            self.found.append(f"{where}: a list where none belongs, or the other way round")
            return
        if name == "MergePullRequestOption":
            value["do"] = value.pop("Do")  # written so by Forgejo; Go reads keys of either case
        for each in value if isinstance(value, list) else [value]:
            self.found += [f"{where}: {told}" for told in misfits(kind, each)]


def misfits(kind: type[BaseModel], value: Any) -> Iterator[str]:
    """What is wrong with one document."""
    known = {field.alias or name for name, field in kind.model_fields.items()}
    yield from (f"{kind.__name__} has no {key}" for key in sorted(set(value) - known))
    try:
        kind.model_validate(value)
    except ValidationError as error:
        yield from (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
