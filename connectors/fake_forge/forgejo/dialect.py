"""Forgejo's dialect of the fake forge: routes, credentials, errors and webhooks. It has no limits and no validators."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from connectors.fake_forge.exchange import Answer, Json, Refusal, Request, Route
from connectors.fake_forge.forgejo import code, issues, pulls
from connectors.fake_forge.forgejo.show import Show
from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Hook, Kind, Limit, Repo

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

PREFIX = "/api/v1"
ACTIONS = {"labeled": "label_updated", "unlabeled": "label_updated"}
EVENTS = {"pull_request_review": "pull_request_comment"}
QUIRKS = frozenset({"unknown_label_dropped", "unknown_filter_ignored", "remove_by_name_404"})


@dataclass(frozen=True)
class ForgejoDialect:
    """A Forgejo below ``/api/v1``."""

    kind: Kind = Kind.FORGEJO
    quirks: frozenset[str] = QUIRKS
    validators: bool = False
    routes: tuple[Route, ...] = (*issues.ROUTES, *pulls.ROUTES, *code.ROUTES)

    def path_of(self, request: Request) -> str:
        """Below the API's root."""
        return request.path.removeprefix(PREFIX) if request.path.startswith(PREFIX) else "outside"

    def credential(self, request: Request) -> str:
        """``Authorization: token`` or a bearer."""
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        return value.strip() if kind.lower() in ("bearer", "token") else ""

    def refusal(self, status: int, message: str, more: Mapping[str, Json]) -> Answer:
        """``{message, url}``, for a 404 with ``errors``."""
        location = str(more.get("location") or "")
        if location:
            return Answer(status, None, {"Location": location})
        if message == "Resource not accessible by personal access token":
            message = "token does not have at least one of required scope(s), required=[write:issue]"
        if message == "Bad credentials":
            message = "user does not exist [uid: 0, name: ]"
        document: dict[str, Json] = {"message": message, "url": "https://forge.example/api/swagger"}
        return Answer(status, document | ({"errors": []} if status == 404 else {}))

    def archived(self, repo: Repo) -> None:
        """423."""
        raise Refusal(423, f"{repo.path} is archived.")

    def throttled(self, fault: str, seconds: float, now: datetime) -> Answer:
        """Of a proxy before it."""
        return Answer(429, b"Too many requests\n", {"Retry-After": str(int(seconds))}, "text/plain")

    def limit_headers(self, limit: Limit, resource: str) -> dict[str, str]:
        """None."""
        return {}

    def hook_payload(self, desk: Desk, happening: Happening) -> dict[str, Json] | None:
        """The event's document."""
        show = Show(desk.world, desk.address)
        repo, issue = happening.repo, happening.issue
        document: dict[str, Json] = {
            "action": ACTIONS.get(happening.action, happening.action),
            "number": issue.number,
            "repository": show.repo(repo),
            "sender": show.user(happening.login),
        }
        document["pull_request" if issue.pull else "issue"] = (show.pull if issue.pull else show.issue)(repo, issue)
        if happening.event == "issue_comment" and issue.comments:
            document |= {"comment": show.comment(repo, issue, issue.comments[-1]), "is_pull": issue.pull is not None}
        return document

    def ping_payload(self, desk: Desk, repo: Repo, hook: Hook) -> dict[str, Json] | None:
        """Nothing is said when a hook is made."""
        return None

    def with_action(self, document: dict[str, Json], action: str) -> dict[str, Json]:
        """Another ``action``."""
        return {**document, "action": action}

    def hook_headers(self, hook: Hook, event: str, guid: str, body: bytes, now: datetime) -> dict[str, str]:
        """Three signatures of the same, two delivery ids."""
        event = EVENTS.get(event, event)
        digest = hmac.new(hook.secret.encode(), body, hashlib.sha256).hexdigest()
        signed = {
            "X-Forgejo-Signature": digest,
            "X-Gitea-Signature": digest,
            "X-Hub-Signature-256": f"sha256={digest}",
        }
        return {
            "Content-Type": "application/json",
            "X-Forgejo-Event": event,
            "X-Gitea-Event": event,
            "X-Forgejo-Delivery": guid,
            "X-Gitea-Delivery": guid,
            **(signed if hook.secret else {}),
        }

    def spoil_signature(self, headers: dict[str, str]) -> dict[str, str]:
        """The native one turned, the aliases left right."""
        native = headers.get("X-Forgejo-Signature", "")
        turned = native[:-1] + ("0" if native[-1:] != "0" else "1")
        return headers | ({"X-Forgejo-Signature": turned} if native else {})


DIALECT = ForgejoDialect()
