"""GitLab's dialect of the fake forge: routes, credentials, errors, limits and webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from connectors.fake_forge.exchange import Answer, Json, Refusal, Request, Route
from connectors.fake_forge.gitlab import account, code, issues, merges, notes
from connectors.fake_forge.gitlab.show import Show
from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Hook, Kind, Limit, Repo

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

PREFIX = "/api/v4"
ACTIONS = {"opened": "open", "closed": "close", "reopened": "reopen", "created": "create"}
EVENTS = {
    "issues": ("issue", "Issue Hook"),
    "issue_comment": ("note", "Note Hook"),
    "pull_request": ("merge_request", "Merge Request Hook"),
    "pull_request_review": ("merge_request", "Merge Request Hook"),
}
"""Our events -> ``object_kind`` and the header's name."""


@dataclass(frozen=True)
class GitLabDialect:
    """A GitLab below ``/api/v4``."""

    kind: Kind = Kind.GITLAB
    quirks: frozenset[str] = frozenset({"unknown_label_created"})
    validators: bool = True
    routes: tuple[Route, ...] = (*issues.ROUTES, *notes.ROUTES, *merges.ROUTES, *code.ROUTES, *account.ROUTES)

    def path_of(self, request: Request) -> str:
        """Below the API's root."""
        return request.path.removeprefix(PREFIX) if request.path.startswith(PREFIX) else "outside"

    def credential(self, request: Request) -> str:
        """``PRIVATE-TOKEN`` or a bearer."""
        bearer = request.headers.get("authorization", "").partition(" ")
        return request.headers.get("private-token") or (bearer[2].strip() if bearer[0].lower() == "bearer" else "")

    def refusal(self, status: int, message: str, more: Mapping[str, Json]) -> Answer:
        """``{message}``, whose value is a text, a list or an object, or ``{error}``."""
        limit = more.get("limit")
        if isinstance(limit, Limit):
            return Answer(429, b"Retry later\n", {"Retry-After": "60"}, "text/plain")
        if "error" in more:
            return Answer(status, {"error": more["error"]})
        if "fields" in more:
            return Answer(status, {"message": more["fields"]})
        if message == "Resource not accessible by personal access token":
            told = "The request requires higher privileges than provided by the access token."
            return Answer(403, {"error": "insufficient_scope", "error_description": told, "scope": "api"})
        if message == "Bad credentials":
            message = "401 Unauthorized"
        location = str(more.get("location") or "")
        return Answer(status, {"message": message}, {"Location": location} if location else {})

    def archived(self, repo: Repo) -> None:
        """403."""
        raise Refusal(403, "403 Forbidden")

    def throttled(self, fault: str, seconds: float, now: datetime) -> Answer:
        """429, with the budget's headers for the primary limit."""
        headers = {"Retry-After": str(int(seconds))}
        if fault == "throttle_primary":
            reset = str(int(now.timestamp() + seconds))
            headers = {"RateLimit-Limit": "2000", "RateLimit-Remaining": "0", "RateLimit-Reset": reset}
        return Answer(429, b"Retry later\n", headers, "text/plain")

    def limit_headers(self, limit: Limit, resource: str) -> dict[str, str]:
        """``RateLimit-*``."""
        return {
            "RateLimit-Limit": str(limit.limit),
            "RateLimit-Observed": str(limit.used),
            "RateLimit-Remaining": str(max(0, limit.limit - limit.used)),
            "RateLimit-Reset": str(int(limit.reset.timestamp())),
            "RateLimit-Name": "throttle_authenticated_api",
        }

    def hook_payload(self, desk: Desk, happening: Happening) -> dict[str, Json] | None:
        """The event's document."""
        show = Show(desk.world, desk.address)
        repo, issue = happening.repo, happening.issue
        kind, _ = EVENTS[happening.event]
        user = show.user(happening.login)
        shown = show.merge_request(repo, issue) if issue.pull else show.issue(repo, issue)
        attributes = {**shown, "action": ACTIONS.get(happening.action, "update")}
        document: dict[str, Json] = {
            "object_kind": kind,
            "event_type": kind,
            "user": user,
            "project": show.project(repo),
            "object_attributes": attributes,
            "labels": [show.label(repo, repo.labels[each]) for each in issue.labels],
            "changes": {},
        }
        if kind == "note" and issue.comments:
            note = show.note(repo, issue, issue.comments[-1])
            document["object_attributes"] = {**note, "note": note["body"], "action": attributes["action"]}
            document["merge_request" if issue.pull else "issue"] = shown
        return document

    def ping_payload(self, desk: Desk, repo: Repo, hook: Hook) -> dict[str, Json] | None:
        """GitLab says nothing when a hook is made."""
        return None

    def with_action(self, document: dict[str, Json], action: str) -> dict[str, Json]:
        """Another ``object_attributes.action``."""
        return {**document, "object_attributes": {**document["object_attributes"], "action": action}}

    def hook_headers(self, hook: Hook, event: str, guid: str, body: bytes, now: datetime) -> dict[str, str]:
        """The shared token, the signature, or both."""
        headers = {
            "Content-Type": "application/json",
            "X-Gitlab-Event": EVENTS[event][1],
            "X-Gitlab-Event-UUID": guid,
            "Idempotency-Key": guid,
        }
        if hook.token:
            headers["X-Gitlab-Token"] = hook.token
        if hook.secret:
            at = str(int(now.timestamp()))
            signed = hmac.new(hook.secret.encode(), f"{guid}.{at}.".encode() + body, hashlib.sha256).digest()
            headers |= {"webhook-id": guid, "webhook-timestamp": at}
            headers["webhook-signature"] = "v1," + base64.b64encode(signed).decode()
        return headers

    def spoil_signature(self, headers: dict[str, str]) -> dict[str, str]:
        """A signature of something else, a token of somebody else."""
        spoilt = {"webhook-signature": "v1," + base64.b64encode(bytes(32)).decode(), "X-Gitlab-Token": "wrong"}
        return headers | {name: value for name, value in spoilt.items() if name in headers}


DIALECT = GitLabDialect()
