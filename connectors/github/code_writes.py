"""What can be changed of GitHub's refs, files, pulls, statuses, releases and workflows (connectors.md 7 and 20).

One request per change, sent once. A pull that becomes a draft or ready, or has other fields changed besides, is one
GraphQL document: the other interface cannot say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from connectors.errand import Errand
from connectors.errors import ForgeError
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
from connectors.github import mapping
from connectors.github.client import given
from connectors.github.reads import Wired, full_ref
from connectors.transport.models import Misfit, accept, misfit

EVENTS: Mapping[str, str] = {
    "approve": "APPROVE",
    "request_changes": "REQUEST_CHANGES",
    "comment": "COMMENT",
}
"""A review's verdict -> GitHub's word for it."""

_READY = "ready: markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { id } }"
_DRAFT = "draft: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { id } }"
_UPDATE = "update: updatePullRequest(input: $fields) { pullRequest { id } }"


def _document(*, updates: bool, draft: bool) -> str:
    takes = "($id: ID!, $fields: UpdatePullRequestInput!)" if updates else "($id: ID!)"
    return f"mutation{takes} {{ {_UPDATE if updates else ''} {_DRAFT if draft else _READY} }}"


DOCUMENTS = tuple(_document(updates=updates, draft=draft) for updates in (False, True) for draft in (False, True))
"""Every GraphQL document that this room sends; a test checks them against GitHub's published schema."""


class CodeWrites(Wired):
    """Implements ``forge.client.CodeWrites``."""

    def create_ref(self, name: str, sha: str, errand: Errand) -> Ref:
        """A branch by its short name, any other ref by its full one."""
        with self._library.calling(errand) as seen:
            self._library.repo.create_git_ref(full_ref(name), sha)
        return mapping.ref_of(accept(seen.answer, mapping.REF, errand))

    def delete_ref(self, name: str, errand: Errand) -> None:
        """A ref less."""
        self._library.ask(errand, "DELETE", f"/git/{quote(full_ref(name), safe='/')}")

    def put_file(self, draft: FileDraft, errand: Errand) -> FileChange:
        """A new file, or another content for the blob that the draft names."""
        with self._library.calling(errand) as seen:
            repo = self._library.repo
            if draft.sha:
                repo.update_file(draft.path, draft.message, draft.content, draft.sha, branch=draft.branch)
            else:
                repo.create_file(draft.path, draft.message, draft.content, branch=draft.branch)
        return mapping.file_change_of(accept(seen.answer, mapping.FILE_CHANGE, errand))

    def create_pull(self, draft: PullDraft, errand: Errand) -> Pull:
        """A new pull."""
        with self._library.calling(errand) as seen:
            self._library.repo.create_pull(
                draft.base, draft.head, title=draft.title, body=draft.body, draft=draft.draft
            )
        return mapping.pull_of(accept(seen.answer, mapping.PULL, errand))

    def edit_pull(self, number: int, patch: PullPatch, errand: Errand) -> Pull:
        """The given fields; the answer is the pull as it is then."""
        state = None if patch.is_open is None else "open" if patch.is_open else "closed"
        if patch.draft is not None:
            return self._edit_by_graphql(number, patch, errand)
        with self._library.calling(errand) as seen:
            self._library.repo.get_pull(number).edit(
                title=given(patch.title), body=given(patch.body), state=given(state)
            )
        return mapping.pull_of(accept(seen.answer, mapping.PULL, errand))

    def _edit_by_graphql(self, number: int, patch: PullPatch, errand: Errand) -> Pull:
        """All of the patch in one document, then the pull as a read shows it."""
        reading = errand.reading()
        before = accept(self._get(reading, f"/pulls/{number}"), mapping.PULL, reading)
        fields: dict[str, object] = {"pullRequestId": before.node_id}
        if patch.title is not None:
            fields["title"] = patch.title
        if patch.body is not None:
            fields["body"] = patch.body
        if patch.is_open is not None:
            fields["state"] = "OPEN" if patch.is_open else "CLOSED"
        updates = len(fields) > 1
        variables = {"id": before.node_id, **({"fields": fields} if updates else {})}
        answer = self._library.graphql(errand, _document(updates=updates, draft=patch.draft is True), variables)
        try:
            after = accept(self._get(reading, f"/pulls/{number}"), mapping.PULL, reading)
        except ForgeError as error:
            # The change was made; only what it made could not be read.
            raise misfit(answer, error, errand) from error
        return mapping.pull_of(after)

    def merge_pull(self, number: int, head_sha: str, method: str, errand: Errand) -> None:
        """A merge of exactly this head."""
        with self._library.calling(errand):
            self._library.repo.get_pull(number).merge(merge_method=method, sha=head_sha)

    def review_pull(self, number: int, event: str, body: str, errand: Errand) -> ForgeComment:
        """A review that is sent off at once."""
        with self._library.calling(errand) as seen:
            self._library.repo.get_pull(number).create_review(body=body, event=EVENTS[event])
        payload = accept(seen.answer, mapping.REVIEW, errand)
        made = mapping.review_of(payload, number)
        if made is None:
            raise misfit(seen.answer, Misfit("submitted_at: the review was not sent off"), errand)
        return made

    def request_reviews(self, number: int, logins: tuple[str, ...], errand: Errand) -> None:
        """People who shall review."""
        with self._library.calling(errand):
            self._library.repo.get_pull(number).create_review_request(reviewers=list(logins))

    def set_status(self, sha: str, check: Check, errand: Errand) -> None:
        """A status of a commit under its context."""
        body = {"state": check.state, "context": check.name, "description": check.text, "target_url": check.url}
        self._library.ask(errand, "POST", f"/statuses/{sha}", {key: value for key, value in body.items() if value})

    def create_release(self, draft: ReleaseDraft, errand: Errand) -> Release:
        """A release of a tag, which is made where it does not exist."""
        with self._library.calling(errand) as seen:
            self._library.repo.create_git_release(draft.tag, draft.name, draft.body, draft=draft.draft)
        return mapping.release_of(accept(seen.answer, mapping.RELEASE, errand))

    def start_pipeline(self, ref: str, values: Mapping[str, str], errand: Errand, file: str = "") -> Pipeline | None:
        """A workflow of the repository, by its file. GitHub names no run for it."""
        path = f"/actions/workflows/{quote(file, safe='')}/dispatches"
        self._library.ask(errand, "POST", path, {"ref": ref, "inputs": dict(values)})
        return None
