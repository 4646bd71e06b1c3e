"""What can be changed of Forgejo's branches, files, pulls, statuses and releases (connectors.md 7, 20).

One request per change, sent once.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from connectors.errand import Errand
from connectors.errors import Unsupported
from connectors.forge.payloads import refused
from connectors.forge.records import (
    Check,
    FileChange,
    FileDraft,
    ForgeComment,
    Pipeline,
    Pull,
    PullDraft,
    PullPatch,
    Ref,
    Release,
    ReleaseDraft,
)
from connectors.forgejo import mapping
from connectors.forgejo.writes import Changes
from connectors.transport.models import Misfit, accept, misfit

EVENTS: Mapping[str, str] = MappingProxyType(
    {"approve": "APPROVED", "request_changes": "REQUEST_CHANGES", "comment": "COMMENT"}
)
"""A review's verdict -> Forgejo's word for it."""


class CodeWrites(Changes):
    """Implements ``forge.client.CodeWrites``."""

    def create_ref(self, name: str, sha: str, errand: Errand) -> Ref:
        """A branch; Forgejo makes no other refs."""
        body = {"new_branch_name": _branch(name), "old_ref_name": sha}
        return mapping.branch_of(accept(self._send(errand, "POST", "/branches", body), mapping.BRANCH, errand))

    def delete_ref(self, name: str, errand: Errand) -> None:
        """A branch less."""
        self._send(errand, "DELETE", f"/branches/{quote(_branch(name), safe='/')}")

    def put_file(self, draft: FileDraft, errand: Errand) -> FileChange:
        """A new file, or another content for the blob that the draft names."""
        content = base64.b64encode(draft.content).decode("ascii")
        body = {"branch": draft.branch, "content": content, "message": draft.message}
        if draft.sha:
            body["sha"] = draft.sha
        answer = self._send(errand, "PUT" if draft.sha else "POST", f"/contents/{quote(draft.path, safe='/')}", body)
        return mapping.change_of(accept(answer, mapping.CHANGE, errand))

    def create_pull(self, draft: PullDraft, errand: Errand) -> Pull:
        """A new pull; a draft is one by its title."""
        title = mapping.draft_title(draft.title, draft=True) if draft.draft else draft.title
        body = {"head": draft.head, "base": draft.base, "title": title, "body": draft.body}
        return mapping.pull_of(accept(self._send(errand, "POST", "/pulls", body), mapping.PULL, errand))

    def edit_pull(self, number: int, patch: PullPatch, errand: Errand) -> Pull:
        """The given fields; whether it is a draft stands in the title, which is read first where it is not given."""
        body: dict[str, object] = {}
        if patch.title is not None or patch.draft is not None:
            body["title"] = self._title(number, patch, errand.reading())
        if patch.body is not None:
            body["body"] = patch.body
        if patch.is_open is not None:
            body["state"] = "open" if patch.is_open else "closed"
        answer = self._send(errand, "PATCH", f"/pulls/{number}", body)
        return mapping.pull_of(accept(answer, mapping.PULL, errand))

    def _title(self, number: int, patch: PullPatch, reading: Errand) -> str:
        before = accept(self._get(reading, f"/pulls/{number}"), mapping.PULL, reading)
        draft = mapping.is_draft(before) if patch.draft is None else patch.draft
        if patch.title is not None and not draft:
            return patch.title
        return mapping.draft_title(before.title if patch.title is None else patch.title, draft=draft)

    def merge_pull(self, number: int, head_sha: str, method: str, errand: Errand) -> None:
        """A merge of exactly this head; a success has no body."""
        self._send(errand, "POST", f"/pulls/{number}/merge", {"Do": method, "head_commit_id": head_sha})

    def review_pull(self, number: int, event: str, body: str, errand: Errand) -> ForgeComment:
        """A review that is sent off at once."""
        answer = self._send(errand, "POST", f"/pulls/{number}/reviews", {"event": EVENTS[event], "body": body})
        made = mapping.review_of(accept(answer, mapping.REVIEW, errand), number)
        if made is None:
            raise misfit(answer, Misfit("state: the review was not sent off"), errand)
        return made

    def request_reviews(self, number: int, logins: tuple[str, ...], errand: Errand) -> None:
        """People who shall review come to those who do already."""
        self._send(errand, "POST", f"/pulls/{number}/requested_reviewers", {"reviewers": list(logins)})

    def set_status(self, sha: str, check: Check, errand: Errand) -> None:
        """A status of a commit under its context."""
        body = {"state": check.state, "context": check.name, "description": check.text, "target_url": check.url}
        answer = self._send(errand, "POST", f"/statuses/{sha}", {key: each for key, each in body.items() if each})
        accept(answer, mapping.STATUS, errand)

    def create_release(self, draft: ReleaseDraft, errand: Errand) -> Release:
        """A release of a tag, which is made where it does not exist."""
        body = {"tag_name": draft.tag, "name": draft.name, "body": draft.body, "draft": draft.draft}
        return mapping.release_of(accept(self._send(errand, "POST", "/releases", body), mapping.RELEASE, errand))

    def start_pipeline(self, ref: str, values: Mapping[str, str], errand: Errand, file: str = "") -> Pipeline | None:
        """Not among the operations of this forge; ``validate`` says so before."""
        raise Unsupported(f"No pipeline of {ref} can be started on Forgejo.", "Start it by a push.")


def _branch(name: str) -> str:
    """A branch's short name. Raises ``ForgeRefused`` for any other ref."""
    short = name.removeprefix("refs/heads/")
    if short.startswith("refs/"):
        raise refused(f"Forgejo's interface makes and deletes branches only, not {name}.", "Name a branch.")
    return short
