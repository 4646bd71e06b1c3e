"""What can be changed of GitLab's branches, files, merge requests, statuses, releases and pipelines.

One request per change, sent once (connectors.md 7, 20). A review with a verdict is one note whose last line is a quick
action of ours (ADR 0010); everything that others wrote was neutralised before it came here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType

from connectors.answer import AnswerKind
from connectors.errand import Errand
from connectors.errors import ForgeError, ForgeRefused
from connectors.forge.payloads import refused
from connectors.forge.records import (
    Check,
    FileChange,
    FileDraft,
    ForgeComment,
    Missing,
    Pipeline,
    Pull,
    PullDraft,
    PullPatch,
    Ref,
    Release,
    ReleaseDraft,
    Subject,
)
from connectors.gitlab import mapping
from connectors.gitlab.writes import NOBODY, Changes, encoded
from connectors.transport.models import accept, misfit

STATES: Mapping[str, str] = MappingProxyType({"pending": "pending", "success": "success", "failure": "failed"})
"""Our state of a status -> GitLab's."""
VERDICTS: Mapping[str, str] = MappingProxyType(
    {"approve": "\n\n/approve", "request_changes": "\n\n/request_changes", "comment": ""}
)
"""A review's verdict -> the quick action that gives it."""


class CodeWrites(Changes):
    """Implements ``forge.client.CodeWrites``."""

    def create_ref(self, name: str, sha: str, errand: Errand) -> Ref:
        """A branch; GitLab makes no other refs."""
        body = {"branch": _branch(name), "ref": sha}
        return mapping.branch_of(
            accept(self._send(errand, "POST", "/repository/branches", body), mapping.BRANCH, errand)
        )

    def delete_ref(self, name: str, errand: Errand) -> None:
        """A branch less."""
        self._send(errand, "DELETE", f"/repository/branches/{encoded(_branch(name))}")

    def put_file(self, draft: FileDraft, errand: Errand) -> FileChange:
        """A new file, or another content for the blob that the draft names; what was made is read back, since GitLab
        answers neither commit nor blob."""
        reading = errand.reading()
        path = f"/repository/files/{encoded(draft.path)}"
        body = {
            "branch": draft.branch,
            "content": base64.b64encode(draft.content).decode("ascii"),
            "encoding": "base64",
            "commit_message": draft.message,
        }
        if draft.sha:
            before = accept(self._file(draft.path, draft.branch, reading), mapping.FILE, reading)
            if before.blob_id != draft.sha:
                text = f"{draft.path} is at {before.blob_id}, not at {draft.sha}."
                raise refused(text, "Read it again.", AnswerKind.CONFLICT, 409)
            body["last_commit_id"] = before.last_commit_id
        answer = self._send(errand, "PUT" if draft.sha else "POST", path, body)
        accept(answer, mapping.WRITTEN, errand)
        try:
            after = accept(self._file(draft.path, draft.branch, reading), mapping.FILE, reading)
        except ForgeError as error:
            # The change was made; only what it made could not be read.
            raise misfit(answer, error, errand) from error
        return FileChange(after.last_commit_id, after.blob_id)

    def create_pull(self, draft: PullDraft, errand: Errand) -> Pull:
        """A new merge request."""
        body = {
            "source_branch": draft.head,
            "target_branch": draft.base,
            "title": mapping.draft_title(draft.title, draft=True) if draft.draft else draft.title,
            "description": draft.body,
        }
        return mapping.pull_of(accept(self._send(errand, "POST", "/merge_requests", body), mapping.MERGE, errand))

    def edit_pull(self, number: int, patch: PullPatch, errand: Errand) -> Pull:
        """The given fields; whether it is a draft stands in the title, which is read first where it is not given."""
        body: dict[str, object] = {}
        if patch.title is not None or patch.draft is not None:
            body["title"] = self._title(number, patch, errand.reading())
        if patch.body is not None:
            body["description"] = patch.body
        if patch.is_open is not None:
            body["state_event"] = "reopen" if patch.is_open else "close"
        answer = self._send(errand, "PUT", f"/merge_requests/{number}", body)
        return mapping.pull_of(accept(answer, mapping.MERGE, errand))

    def _title(self, number: int, patch: PullPatch, reading: Errand) -> str:
        before = accept(self._get(reading, f"/merge_requests/{number}"), mapping.MERGE, reading)
        draft = before.draft if patch.draft is None else patch.draft
        if patch.title is not None and not draft:
            return patch.title
        return mapping.draft_title(before.title if patch.title is None else patch.title, draft=draft)

    def merge_pull(self, number: int, head_sha: str, method: str, errand: Errand) -> None:
        """A merge of exactly this head. A rebase is the project's setting, not the call's."""
        if method == "rebase":
            raise refused("GitLab takes no rebase for a single merge.", "Use merge or squash.")
        body = {"sha": head_sha, "squash": method == "squash"}
        accept(self._send(errand, "PUT", f"/merge_requests/{number}/merge", body), mapping.MERGE, errand)

    def review_pull(self, number: int, event: str, body: str, errand: Errand) -> ForgeComment:
        """A note, and in the same request the verdict."""
        subject = Subject(number, is_pull=True)
        answer = self._send(errand, "POST", f"/merge_requests/{number}/notes", {"body": body + VERDICTS[event]})
        return mapping.comment_of(accept(answer, mapping.NOTE, errand), number, self._page_of(subject))

    def request_reviews(self, number: int, logins: tuple[str, ...], errand: Errand) -> None:
        """People who shall review come to those who do already; the set is written as a whole."""
        reading = errand.reading()
        before = accept(self._get(reading, f"/merge_requests/{number}"), mapping.MERGE, reading)
        present = [each.id for each in before.reviewers]
        wanted = list(dict.fromkeys([*present, *self._user_ids(logins, errand)]))
        answer = self._send(errand, "PUT", f"/merge_requests/{number}", {"reviewer_ids": wanted or NOBODY})
        accept(answer, mapping.MERGE, errand)

    def set_status(self, sha: str, check: Check, errand: Errand) -> None:
        """A status of a commit under its name. GitLab refuses one that is as it was; a read shows that."""
        body = {"state": STATES[check.state], "name": check.name, "description": check.text, "target_url": check.url}
        try:
            answer = self._send(errand, "POST", f"/statuses/{sha}", {key: each for key, each in body.items() if each})
        except ForgeRefused as error:
            if error.status != 400 or not self._has_status(sha, check, errand.reading()):
                raise
            return
        accept(answer, mapping.STATUS, errand)

    def _has_status(self, sha: str, check: Check, errand: Errand) -> bool:
        found = {each.name: each.state for each in self.checks(sha, errand).items}
        return found.get(check.name) == check.state

    def create_release(self, draft: ReleaseDraft, errand: Errand) -> Release:
        """A release of a tag, which is made on the default branch where it does not exist. GitLab has no drafts."""
        if draft.draft:
            raise refused("GitLab has no draft releases.", "Leave draft out.")
        reading = errand.reading()
        body = {"tag_name": draft.tag, "name": draft.name, "description": draft.body}
        if isinstance(self.ref(f"refs/tags/{draft.tag}", reading), Missing):
            project = accept(self._get(reading, ""), mapping.PROJECT, reading)
            body["ref"] = project.default_branch
        return mapping.release_of(accept(self._send(errand, "POST", "/releases", body), mapping.RELEASE, errand))

    def start_pipeline(self, ref: str, values: Mapping[str, str], errand: Errand, file: str = "") -> Pipeline | None:
        """A pipeline of a branch."""
        variables = [{"key": key, "value": value} for key, value in values.items()]
        answer = self._send(errand, "POST", "/pipeline", {"ref": ref, "variables": variables})
        return mapping.pipeline_of(accept(answer, mapping.PIPELINE, errand))


def _branch(name: str) -> str:
    """A branch's short name. Raises ``ForgeRefused`` for any other ref."""
    short = name.removeprefix("refs/heads/")
    if short.startswith("refs/"):
        raise refused(f"GitLab's interface makes and deletes branches only, not {name}.", "Name a branch.")
    return short
