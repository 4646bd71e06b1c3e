"""What can be changed of GitHub's issues: one request per change, worded by the library (connectors.md 6, 7, 20).

A result that does not fit its model is a lost answer. A label is added alone and taken away alone: no set is ever
replaced or emptied, and labels and state have requests of their own.
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
from connectors.github import mapping
from connectors.github.client import given
from connectors.github.reads import Wired
from connectors.posting.posting import label_in_path
from connectors.transport.models import accept
from connectors.transport.request import Request


class IssueWrites(Wired):
    """Implements ``forge.client.IssueWrites``."""

    def add_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label."""
        if not label.name.strip():
            raise BadCard("A label without a name cannot be added.", "Name one.")
        with self._library.calling(errand):
            self._library.repo.get_issue(number).add_to_labels(label.name)

    def remove_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label, by its name, encoded once."""
        if not label.name.strip():
            raise BadCard("A label without a name cannot be taken away.", "Name one.")
        self._library.ask(errand, "DELETE", f"/issues/{number}/labels/{label_in_path(label.name)}")

    def swap_labels(self, number: int, swap: LabelSwap, errand: Errand) -> None:
        """GitHub needs two calls; ``traits.swaps`` says so."""
        raise BadCard(f"The labels of issue {number} cannot be swapped in one call.", "Add one, then take one away.")

    def define_label(self, name: str, color: str, description: str, errand: Errand) -> LabelDef:
        """A new label of the repository."""
        with self._library.calling(errand) as seen:
            self._library.repo.create_label(name, color, given(description or None))
        return mapping.label_of(accept(seen.answer, mapping.LABEL, errand))

    def set_state(self, number: int, is_open: bool, errand: Errand) -> Issue:
        """The state and nothing else."""
        with self._library.calling(errand) as seen:
            self._library.repo.get_issue(number).edit(state="open" if is_open else "closed")
        return mapping.issue_of(accept(seen.answer, mapping.ISSUE, errand))

    def create_issue(self, draft: IssueDraft, errand: Errand) -> Issue:
        """A new issue."""
        with self._library.calling(errand) as seen:
            self._library.repo.create_issue(
                draft.title,
                draft.body,
                labels=[label.name for label in draft.labels],
                assignees=list(draft.assignees),
            )
        return mapping.issue_of(accept(seen.answer, mapping.ISSUE, errand))

    def edit_issue(self, number: int, patch: IssuePatch, errand: Errand) -> Issue:
        """Title and body, as far as they are given."""
        with self._library.calling(errand) as seen:
            self._library.repo.get_issue(number).edit(title=given(patch.title), body=given(patch.body))
        return mapping.issue_of(accept(seen.answer, mapping.ISSUE, errand))

    def change_assignees(self, number: int, present: tuple[str, ...], wanted: tuple[str, ...], errand: Errand) -> None:
        """One login more or less. GitHub drops in silence whom it may not assign; the read-back finds out."""
        more = [login for login in wanted if login not in present]
        less = [login for login in present if login not in wanted]
        with self._library.calling(errand):
            issue = self._library.repo.get_issue(number)
            if more:
                issue.add_to_assignees(*more)
            else:
                issue.remove_from_assignees(*less)

    def create_comment(self, subject: Subject, text: str, errand: Errand) -> ForgeComment:
        """A comment; those of a pull lie with its issue."""
        with self._library.calling(errand) as seen:
            self._library.repo.get_issue(subject.number).create_comment(text)
        return mapping.comment_of(accept(seen.answer, mapping.COMMENT, errand), subject.number)

    def edit_comment(self, number: int, comment_id: str, text: str, errand: Errand) -> ForgeComment:
        """Another text for a comment."""
        answer = self._library.ask(
            errand, "PATCH", f"/issues/comments/{number_in(comment_id, 'comment')}", {"body": text}
        )
        return mapping.comment_of(accept(answer, mapping.COMMENT, errand), number)

    def delete_comment(self, number: int, comment_id: str, errand: Errand) -> None:
        """A comment less."""
        self._library.ask(errand, "DELETE", f"/issues/comments/{number_in(comment_id, 'comment')}")

    def add_reaction(self, number: int, comment_id: str, name: str, errand: Errand) -> None:
        """One per person and name."""
        if comment_id:
            self._library.ask(
                errand, "POST", f"/issues/comments/{number_in(comment_id, 'comment')}/reactions", {"content": name}
            )
            return
        with self._library.calling(errand):
            self._library.repo.get_issue(number).create_reaction(name)

    def add_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """A link to what an issue waits for, by the id that is read first."""
        path = f"/issues/{number}/dependencies/blocked_by"
        self._library.ask(errand, "POST", path, {"issue_id": self._issue_id(blocker, errand)})

    def remove_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """The link less."""
        path = f"/issues/{number}/dependencies/blocked_by/{self._issue_id(blocker, errand)}"
        self._library.ask(errand, "DELETE", path)

    def _issue_id(self, blocker: Blocker, errand: Errand) -> int:
        """The id that names an issue across repositories. Raises ``ForgeRefused`` when it is not there."""
        reading = errand.reading()
        repo = f"/repos/{blocker.repo}" if blocker.repo else self._path
        answer = self._transport.read(reading, Request("GET", f"{repo}/issues/{blocker.number}"))
        return accept(answer, mapping.ISSUE, reading).id


def _comment(comment_id: str) -> str:
    """The path of a comment. Raises ``ForgeRefused`` for an id that is none."""
    return f"/issues/comments/{number_in(comment_id, 'comment')}"
