"""GitHub's dialect of the fake forge: routes, credentials, errors, limits and webhooks."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from connectors.fake_forge.exchange import Answer, Json, Refusal, Request, Route
from connectors.fake_forge.github import account, code, comments, graphql, issues, labels, pulls
from connectors.fake_forge.github.show import Show
from connectors.fake_forge.github.show_git import pull_document
from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Hook, Kind, Limit, Repo

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

REPO = "/repos/{owner}/{name}"


def _routes() -> tuple[Route, ...]:
    """Every route, those of a repository also by its id, where redirects of a renamed one lead."""
    named = (
        *comments.ROUTES,
        *labels.ROUTES,
        *issues.ROUTES,
        *pulls.ROUTES,
        *code.ROUTES,
        *account.ROUTES,
        *graphql.ROUTES,
    )
    by_id = [
        replace(route, pattern="/repositories/{repo_id}" + route.pattern.removeprefix(REPO))
        for route in named
        if route.pattern.startswith(REPO)
    ]
    return (*named, *by_id)


@dataclass(frozen=True)
class GitHubDialect:
    """github.com, or a server of one's own below ``/api/v3``."""

    kind: Kind = Kind.GITHUB
    quirks: frozenset[str] = frozenset({"unknown_label_created"})
    validators: bool = True
    routes: tuple[Route, ...] = _routes()

    def path_of(self, request: Request) -> str:
        """Without the prefix of a server of one's own."""
        if request.path == "/api/graphql":
            return "/graphql"
        return request.path.removeprefix("/api/v3") or "/"

    def credential(self, request: Request) -> str:
        """``Authorization: Bearer`` or ``token``."""
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        return value.strip() if kind.lower() in ("bearer", "token") else ""

    def refusal(self, status: int, message: str, more: Mapping[str, Json]) -> Answer:
        """``{message, documentation_url, status}``, with ``errors`` when there are some."""
        limit = more.get("limit")
        if isinstance(limit, Limit):
            return _limited(message)
        location = str(more.get("location") or "")
        document = {"message": message, "documentation_url": "https://docs.example/rest", "status": str(status)}
        if "errors" in more:
            document["errors"] = more["errors"]
        if location:
            document["url"] = location
        return Answer(status, document, {"Location": location} if location else {})

    def archived(self, repo: Repo) -> None:
        """403."""
        raise Refusal(403, f"Repository was archived so is read-only: {repo.path}.")

    def throttled(self, fault: str, seconds: float, now: datetime) -> Answer:
        """403 in both dresses."""
        if fault == "throttle_primary":
            reset = str(int(now.timestamp() + seconds))
            headers = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
            return _limited("API rate limit exceeded for user ID 1.").with_headers(headers)
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        answer = self.refusal(403, text, {})
        return answer.with_headers({"Retry-After": str(int(seconds)), "X-RateLimit-Remaining": "4000"})

    def limit_headers(self, limit: Limit, resource: str) -> dict[str, str]:
        """``X-RateLimit-*``."""
        return {
            "X-RateLimit-Limit": str(limit.limit),
            "X-RateLimit-Remaining": str(max(0, limit.limit - limit.used)),
            "X-RateLimit-Used": str(limit.used),
            "X-RateLimit-Reset": str(int(limit.reset.timestamp())),
            "X-RateLimit-Resource": resource,
        }

    def hook_payload(self, desk: Desk, happening: Happening) -> dict[str, Json] | None:
        """The event's document."""
        repo, issue, event = happening.repo, happening.issue, happening.event
        show = Show(desk.world, desk.address)
        document: dict[str, Json] = {"action": happening.action, "repository": show.repo(repo)}
        document["sender"] = show.user(happening.login)
        if event.startswith("pull_request"):
            document["pull_request"] = pull_document(show, repo, issue, full=True)
            document["number"] = issue.number
        else:
            document["issue"] = show.issue(repo, issue)
        if event == "issue_comment" and issue.comments:
            document["comment"] = show.comment(repo, issue, issue.comments[-1])
        return document

    def ping_payload(self, desk: Desk, repo: Repo, hook: Hook) -> dict[str, Json] | None:
        """``zen``, ``hook_id``."""
        show = Show(desk.world, desk.address)
        return {"zen": "Keep it logically awesome.", "hook_id": hook.id, "repository": show.repo(repo)}

    def with_action(self, document: dict[str, Json], action: str) -> dict[str, Json]:
        """Another ``action``."""
        return {**document, "action": action}

    def hook_headers(self, hook: Hook, event: str, guid: str, body: bytes, now: datetime) -> dict[str, str]:
        """Both signatures, as GitHub sends them."""
        key = hook.secret.encode()
        signed = {
            "X-Hub-Signature-256": "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest(),
            "X-Hub-Signature": "sha1=" + hmac.new(key, body, hashlib.sha1).hexdigest(),
        }
        return {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/fake",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Hook-ID": str(hook.id),
            **(signed if hook.secret else {}),
        }

    def spoil_signature(self, headers: dict[str, str]) -> dict[str, str]:
        """The last digit turned."""
        names = ("X-Hub-Signature-256", "X-Hub-Signature")
        return headers | {name: _turned(headers[name]) for name in names if name in headers}


def _turned(signature: str) -> str:
    return signature[:-1] + ("0" if signature[-1] != "0" else "1")


def _limited(message: str) -> Answer:
    return Answer(403, {"message": message, "documentation_url": "https://docs.example/rate-limits", "status": "403"})


DIALECT = GitHubDialect()
