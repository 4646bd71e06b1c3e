"""What can be changed of GitLab's issues, labels and notes: one request per change (connectors.md 6, 7, 20).

A label is added and taken away by name, both in one request where a card moves; the key that replaces a set is never
sent to an issue that exists. A result that does not fit its model is a lost answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from connectors.answer import AnswerKind
from connectors.errand import Errand
from connectors.errors import BadCard, ForgeRefused
from connectors.forge.desk import whole
from connectors.forge.payloads import Items, number_in, refused
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
from connectors.gitlab import mapping
from connectors.gitlab.reads import Reads
from connectors.transport.models import accept
from connectors.transport.request import Answer, Request

REACTIONS: Mapping[str, str] = MappingProxyType(
    {
        "+1": "thumbsup",
        "-1": "thumbsdown",
        "laugh": "laughing",
        "hooray": "tada",
        "confused": "confused",
        "heart": "heart",
        "rocket": "rocket",
        "eyes": "eyes",
    }
)
"""The common name of a reaction -> GitLab's; other names are sent as they are."""
NOBODY = [0]
"""What GitLab takes for an empty set of people."""


class Changes(Reads):
    """How a change is sent."""

    def _send(self, errand: Errand, method: str, path: str, body: object = None) -> Answer:
        """One change below the project's address, once."""
        return self._transport.mutate(errand, Request(method, self._path + path, body=body))

    def _user_ids(self, logins: tuple[str, ...], errand: Errand) -> list[int]:
        """The ids of people. Raises ``ForgeRefused`` for one whom GitLab does not know; nothing was sent then."""
        found = {login: self._user_id(login, errand.reading()) for login in logins}
        unknown = [login for login, number in found.items() if number is None]
        if unknown:
            raise refused(f"GitLab knows nobody called {', '.join(unknown)}.", "Look at the spelling.")
        return [number for number in found.values() if number is not None]


class IssueWrites(Changes):
    """Implements ``forge.client.IssueWrites``."""

    def add_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label."""
        self.swap_labels(number, LabelSwap(add=label), errand)

    def remove_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Exactly one label."""
        self.swap_labels(number, LabelSwap(remove=label), errand)

    def swap_labels(self, number: int, swap: LabelSwap, errand: Errand) -> None:
        """One request for the label that comes, the one that goes, and the state. Raises ``BadCard`` for a swap of
        nothing and for a name that GitLab would take for several."""
        body: dict[str, object] = {}
        if swap.add is not None:
            body["add_labels"] = _name(swap.add)
        if swap.remove is not None:
            body["remove_labels"] = _name(swap.remove)
        if swap.is_open is not None:
            body["state_event"] = "reopen" if swap.is_open else "close"
        if not body:
            raise BadCard(f"Nothing is to be changed of issue {number}.", "Name a label or a state.")
        self._edit(number, body, errand)

    def _edit(self, number: int, body: Mapping[str, object], errand: Errand) -> Issue:
        answer = self._send(errand, "PUT", f"/issues/{number}", dict(body))
        return mapping.issue_of(accept(answer, mapping.ISSUE, errand))

    def define_label(self, name: str, color: str, description: str, errand: Errand) -> LabelDef:
        """A new label of the project."""
        body = {"name": name, "color": f"#{color}", "description": description}
        return mapping.label_of(accept(self._send(errand, "POST", "/labels", body), mapping.LABEL, errand))

    def set_state(self, number: int, is_open: bool, errand: Errand) -> Issue:
        """The state and nothing else."""
        return self._edit(number, {"state_event": "reopen" if is_open else "close"}, errand)

    def create_issue(self, draft: IssueDraft, errand: Errand) -> Issue:
        """A new issue with its labels and people."""
        body: dict[str, object] = {"title": draft.title, "description": draft.body, "issue_type": "issue"}
        if draft.labels:
            body["labels"] = ",".join(_name(label) for label in draft.labels)
        if draft.assignees:
            body["assignee_ids"] = self._user_ids(draft.assignees, errand)
        return mapping.issue_of(accept(self._send(errand, "POST", "/issues", body), mapping.ISSUE, errand))

    def edit_issue(self, number: int, patch: IssuePatch, errand: Errand) -> Issue:
        """Title and text, as far as they are given."""
        body = {"title": patch.title, "description": patch.body}
        return self._edit(number, {key: value for key, value in body.items() if value is not None}, errand)

    def change_assignees(self, number: int, present: tuple[str, ...], wanted: tuple[str, ...], errand: Errand) -> None:
        """The wanted set, which replaces the present one; whom GitLab drops the read-back finds out."""
        self._edit(number, {"assignee_ids": self._user_ids(wanted, errand) or NOBODY}, errand)

    def create_comment(self, subject: Subject, text: str, errand: Errand) -> ForgeComment:
        """A note; an answer without a note's id is a lost one."""
        part = "merge_requests" if subject.is_pull else "issues"
        answer = self._send(errand, "POST", f"/{part}/{subject.number}/notes", {"body": text})
        return mapping.comment_of(accept(answer, mapping.NOTE, errand), subject.number, self._page_of(subject))

    def edit_comment(self, number: int, comment_id: str, text: str, errand: Errand) -> ForgeComment:
        """Another text for a note of an issue."""
        path = f"/issues/{number}/notes/{number_in(comment_id, 'comment')}"
        answer = self._send(errand, "PUT", path, {"body": text})
        return mapping.comment_of(accept(answer, mapping.NOTE, errand), number, self._page_of(Subject(number)))

    def delete_comment(self, number: int, comment_id: str, errand: Errand) -> None:
        """A note less."""
        self._send(errand, "DELETE", f"/issues/{number}/notes/{number_in(comment_id, 'comment')}")

    def add_reaction(self, number: int, comment_id: str, name: str, errand: Errand) -> None:
        """One per person and name: the 404 of one that is there already is a success once a read shows it."""
        note = f"/notes/{number_in(comment_id, 'comment')}" if comment_id else ""
        path, wanted = f"/issues/{number}{note}/award_emoji", REACTIONS.get(name, name)
        try:
            self._send(errand, "POST", path, {"name": wanted})
        except ForgeRefused as error:
            if error.status != 404 or not self._has_reaction(path, wanted, errand.reading()):
                raise

    def _has_reaction(self, path: str, name: str, errand: Errand) -> bool:
        me = self.whoami(errand).login
        read = self._listed(errand, ("awards", path), Items(mapping.AWARD, lambda each: each))
        return any(each.name == name and each.user.username == me for each in read.items)

    def add_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """A link to what an issue waits for."""
        target = blocker.repo or self._target.repo
        body = {"target_project_id": target, "target_issue_iid": blocker.number, "link_type": "is_blocked_by"}
        self._send(errand, "POST", f"/issues/{number}/links", body)

    def remove_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None:
        """The link less, by its id, which is read first. Raises ``ForgeRefused`` when there is none."""
        wanted = (blocker.number, (blocker.repo or self._target.repo).casefold())

        def made(payload: mapping.LinkPayload) -> int | str:
            found = mapping.blocker_of(payload, self._target.repo)
            same = (found.number, (found.repo or self._target.repo).casefold()) == wanted
            return payload.issue_link_id if same and payload.link_type == "is_blocked_by" else "other links"

        path = f"/issues/{number}/links"
        links = whole(self._listed(errand.reading(), ("links", path), Items(mapping.LINK, made)))
        if not links:
            text = f"Issue {number} does not wait for {blocker.number}."
            raise refused(text, "Nothing is to be done.", AnswerKind.NOT_FOUND_OR_HIDDEN, 404)
        self._send(errand, "DELETE", f"{path}/{links[0]}")


def _name(label: LabelDef) -> str:
    """A name that GitLab reads as one. Raises ``BadCard``."""
    if not label.name.strip() or "," in label.name:
        raise BadCard(f'GitLab would not take "{label.name}" for one label.', "Name a label without a comma.")
    return label.name


def encoded(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
