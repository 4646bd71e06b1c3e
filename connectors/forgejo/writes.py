"""What can be changed of Forgejo's issues, labels and comments: one request per change (connectors.md 6, 7, 20).

Labels go on and off by their numbers; the address that replaces a set is not used, nor an issue's own for its labels.
A result that does not fit its model is a lost answer.
"""

from __future__ import annotations

from connectors.errand import Errand
from connectors.errors import BadCard
from connectors.forge.payloads import number_in
from connectors.forge.records import (
    Blocker,
    ForgeComment,
    Issue,
    IssueDraft,
    IssuePatch,
    LabelDef,
    LabelSwap,
    Subject,
)
from connectors.forgejo import mapping
from connectors.forgejo.reads import Reads
from connectors.transport.models import accept
from connectors.transport.request import Answer, Request


class Changes(Reads):
    """How a change is sent."""

    def _send(self, errand: Errand, method: str, path: str, body: object = None) -> Answer:
        """One change below the repository's address, once."""
        return self._transport.mutate(errand, Request(method, self._path + path, body=body))


class IssueWrites(Changes):
    """Implements ``forge.client.IssueWrites``."""

    def add_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label; one that Forgejo drops in silence the read-back finds out."""
        self._send(errand, "POST", f"/issues/{number}/labels", {"labels": [_id(label)]})

    def remove_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label."""
        self._send(errand, "DELETE", f"/issues/{number}/labels/{_id(label)}")

    def swap_labels(self, number: int, swap: LabelSwap, errand: Errand) -> None:
        """Forgejo needs two calls; ``traits.swaps`` says so."""
        raise BadCard(f"The labels of issue {number} cannot be swapped in one call.", "Add one, then take one away.")

    def define_label(self, name: str, color: str, description: str, errand: Errand) -> LabelDef:
        """A new label of the repository."""
        body = {"name": name, "color": f"#{color}", "description": description}
        return mapping.label_of(accept(self._send(errand, "POST", "/labels", body), mapping.LABEL, errand))

    def set_state(self, number: int, is_open: bool, errand: Errand) -> Issue:
        """The state and nothing else."""
        return self._edit(number, {"state": "open" if is_open else "closed"}, errand)

    def _edit(self, number: int, body: dict[str, object], errand: Errand) -> Issue:
        answer = self._send(errand, "PATCH", f"/issues/{number}", body)
        return mapping.issue_of(accept(answer, mapping.ISSUE, errand))

    def create_issue(self, draft: IssueDraft, errand: Errand) -> Issue:
        """A new issue with its labels and people."""
        body: dict[str, object] = {"title": draft.title, "body": draft.body}
        if draft.labels:
            body["labels"] = [_id(label) for label in draft.labels]
        if draft.assignees:
            body["assignees"] = list(draft.assignees)
        return mapping.issue_of(accept(self._send(errand, "POST", "/issues", body), mapping.ISSUE, errand))

    def edit_issue(self, number: int, patch: IssuePatch, errand: Errand) -> Issue:
        """Title and text, as far as they are given."""
        body = {"title": patch.title, "body": patch.body}
        return self._edit(number, {key: value for key, value in body.items() if value is not None}, errand)

    def change_assignees(self, number: int, present: tuple[str, ...], wanted: tuple[str, ...], errand: Errand) -> None:
        """The wanted set, which replaces the present one."""
        self._edit(number, {"assignees": list(wanted)}, errand)

    def create_comment(self, subject: Subject, text: str, errand: Errand) -> ForgeComment:
        """A comment; those of a pull lie with its issue."""
        answer = self._send(errand, "POST", f"/issues/{subject.number}/comments", {"body": text})
        return mapping.comment_of(accept(answer, mapping.COMMENT, errand), subject.number)

    def edit_comment(self, number: int, comment_id: str, text: str, errand: Errand) -> ForgeComment:
        """Another text for a comment."""
        path = f"/issues/comments/{number_in(comment_id, 'comment')}"
        return mapping.comment_of(
            accept(self._send(errand, "PATCH", path, {"body": text}), mapping.COMMENT, errand), number
        )

    def delete_comment(self, number: int, comment_id: str, errand: Errand) -> None:
        """A comment less."""
        self._send(errand, "DELETE", f"/issues/comments/{number_in(comment_id, 'comment')}")

    def add_reaction(self, number: int, comment_id: str, name: str, errand: Errand) -> None:
        """One per person and name."""
        where = f"comments/{number_in(comment_id, 'comment')}" if comment_id else str(number)
        self._send(errand, "POST", f"/issues/{where}/reactions", {"content": name})

    def add_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """A link to what an issue waits for."""
        self._send(errand, "POST", f"/issues/{number}/dependencies", self._named(blocker))

    def remove_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """The link less."""
        self._send(errand, "DELETE", f"/issues/{number}/dependencies", self._named(blocker))

    def _named(self, blocker: Blocker) -> dict[str, object]:
        owner, _, repo = (blocker.repo or self._target.repo).partition("/")
        return {"owner": owner, "repo": repo, "index": blocker.number}


def _id(label: LabelDef) -> int:
    """The number of a label. Raises ``ForgeRefused`` for one without."""
    return number_in(label.id, "label")
