"""Changes of issues, labels, comments and projects: suffix -> the change as the guard carries it out (connectors.md 7).

A change is declared with its one request and the read that decides a lost answer; its class is the catalogue's. Reads
that a declaration needs (a label's spelling) happen before anything is written down as sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from connectors.catalogue import results
from connectors.effects.guard import Change, Conflict, Done, Effect, Ready, Sight
from connectors.effects.markers import markers_in, with_pairs
from connectors.errand import Errand
from connectors.errors import Evidence, ForgeRefused, Unsupported
from connectors.forge.client import ProjectClient
from connectors.forge.desk import Desk, issue_at, label_named, marked, pick, same_name, there, whole
from connectors.forge.records import (
    Blocker,
    ForgeComment,
    Issue,
    IssueDraft,
    IssuePatch,
    IssueQuery,
    Missing,
    ProjectItem,
    Subject,
)
from connectors.forge.shown import comment_of, fit, issue_of, label_of, same_text

Declared = Change[Any]
CHANGED = results.Changed(changed=True)
UNCHANGED = results.Changed(changed=False)


def unchanged(_: Any) -> results.Changed:
    """What an operation answers that found everything as wanted."""
    return UNCHANGED


def create_issue(desk: Desk) -> Declared:
    """A new issue with its marker; labels only such as exist."""
    given = desk.params
    labels = tuple(label_named(desk, name, desk.errand) for name in given.labels)
    title, body = desk.words.title(given.title), desk.words.compose(given.body, desk.marker)
    draft = IssueDraft(title, body, labels, given.assignees)

    def send(sending: Errand) -> results.Issue:
        return issue_of(desk.client.create_issue(draft, sending), sending)

    def look(reading: Errand) -> Sight[results.Issue]:
        me = desk.client.whoami(reading).login
        query = IssueQuery(state="all", author=me, since=desk.begins(reading))
        found = sorted(whole(desk.client.issues(query, reading)), key=lambda each: each.number)
        return marked(desk, found, reading, issue_of)

    return Change(Effect.AMBIGUOUS, send, look)


def edit_issue(desk: Desk) -> Declared:
    """Title or body, set when nobody changed the issue since it was read."""
    given, before = desk.params, _Before(desk)
    patch = IssuePatch(
        desk.words.title(given.title) if given.title is not None else None,
        desk.words.compose(given.body) if given.body is not None else None,
    )

    def look(reading: Errand) -> Sight[results.Issue]:
        issue = issue_at(desk, given.number, reading)
        if (patch.title is None or patch.title == issue.title) and (
            patch.body is None or same_text(patch.body, issue.body)
        ):
            return Done(issue_of(issue, reading))
        if given.expect_updated_at is not None and issue.updated_at != given.expect_updated_at:
            return Conflict(f"issue {issue.number} was changed at {issue.updated_at.isoformat()}")
        return before.judge(issue, reading)

    def send(sending: Errand) -> results.Issue:
        return issue_of(desk.client.edit_issue(given.number, patch, sending), sending)

    return Change(Effect.GUARDED, send, look, looks_first=True)


class _Before:
    """How an issue was when it was first read: another change of it since then is somebody else's decision."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._first: Issue | None = None

    def judge(self, issue: Issue, reading: Errand) -> Ready | Conflict:
        """Whether the issue is still as it was first read, or, for a probe, as it was before the send."""
        if self._desk.touched(issue.updated_at, reading):
            return Conflict(f"issue {issue.number} was changed after the call was sent")
        first = self._first or issue
        self._first = first
        moved = (issue.updated_at, issue.is_open) != (first.updated_at, first.is_open)
        return Conflict(f"issue {issue.number} was changed meanwhile") if moved else Ready()


def _set_state(*, is_open: bool) -> Callable[[Desk], Declared]:
    def declare(desk: Desk) -> Declared:
        given, before = desk.params, _Before(desk)

        def look(reading: Errand) -> Sight[results.Issue]:
            issue = issue_at(desk, given.number, reading)
            if issue.is_open == is_open:
                return Done(issue_of(issue, reading))
            if given.expect is not None and (given.expect == "open") != issue.is_open:
                return Conflict(f"issue {issue.number} is not {given.expect}")
            return before.judge(issue, reading)

        def send(sending: Errand) -> results.Issue:
            return issue_of(desk.client.set_state(given.number, is_open, sending), sending)

        return Change(Effect.GUARDED, send, look, looks_first=True)

    return declare


def _label(*, adds: bool) -> Callable[[Desk], Declared]:
    def declare(desk: Desk) -> Declared:
        given, folds = desk.params, desk.client.traits.folds_case
        label = label_named(desk, given.label, desk.errand)

        def look(reading: Errand) -> Sight[results.Changed]:
            shown = issue_at(desk, given.number, reading).labels
            present = any(same_name(label.name, each, folds_case=folds) for each in shown)
            return Done(CHANGED) if present == adds else Ready()

        def send(sending: Errand) -> results.Changed:
            act = desk.client.add_label if adds else desk.client.remove_label
            act(given.number, label, sending)
            return CHANGED

        return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)

    return declare


def define_label(desk: Desk) -> Declared:
    """A label's definition; one that exists is done, whatever its colour."""
    given, folds = desk.params, desk.client.traits.folds_case

    def look(reading: Errand) -> Sight[results.Label]:
        found = pick(whole(desk.client.labels(reading)), given.name, folds_case=folds)
        return Done(label_of(found, reading)) if found is not None else Ready()

    def send(sending: Errand) -> results.Label:
        color = given.color.removeprefix("#").lower()
        return label_of(desk.client.define_label(given.name, color, given.description, sending), sending)

    return Change(Effect.IDEMPOTENT, send, look, looks_first=True, exists_is_done=True)


def _assignee(*, adds: bool) -> Callable[[Desk], Declared]:
    def declare(desk: Desk) -> Declared:
        given, sets = desk.params, desk.client.traits.sets_assignees
        first: list[tuple[str, ...]] = []

        def look(reading: Errand) -> Sight[results.Changed]:
            present = issue_at(desk, given.number, reading).assignees
            first.append(present)
            if (given.login in present) == adds:
                return Done(CHANGED)
            if sets and frozenset(present) != frozenset(first[0]):
                return Conflict(f"the assignees of issue {given.number} were changed meanwhile")
            return Ready()

        def send(sending: Errand) -> results.Changed:
            present = first[-1]
            rest = tuple(each for each in present if each != given.login)
            wanted = (*rest, given.login) if adds else rest
            desk.client.change_assignees(given.number, present, wanted, sending)
            return CHANGED

        effect = Effect.GUARDED if sets else Effect.IDEMPOTENT
        told = f"{given.login} was not {'assigned' if adds else 'taken off'}, and the forge does not say why"
        return Change(effect, send, look, looks_first=True, settles=True, already=unchanged, dropped=told)

    return declare


def _comment(*, on_pull: bool) -> Callable[[Desk], Declared]:
    def declare(desk: Desk) -> Declared:
        subject = Subject(desk.params.number, on_pull)
        return new_comment(desk, subject, desk.words.compose(desk.params.body, desk.marker))

    return declare


def new_comment(desk: Desk, subject: Subject, text: str) -> Declared:
    """A comment whose text carries the marker already."""

    def send(sending: Errand) -> results.Comment:
        return comment_of(desk.client.create_comment(subject, text, sending), sending)

    def look(reading: Errand) -> Sight[results.Comment]:
        found = whole(desk.client.comments(subject, reading, desk.begins(reading)))
        return marked(desk, found, reading, comment_of)

    return Change(Effect.AMBIGUOUS, send, look)


def comment_keyed(desk: Desk) -> Declared:
    """The comment of a key: made once, edited from then on."""
    given, subject = desk.params, Subject(desk.params.number)
    mine = own_comments(desk, subject, desk.errand)
    known = [each for each in mine if any(m.key == given.key for m in markers_in(each.body))]
    marker = with_pairs(desk.marker, key=given.key)
    if not known:
        return new_comment(desk, subject, desk.words.compose(given.body, marker))
    return edited(desk, known[0], desk.words.compose(given.body, marker))


def edit_comment(desk: Desk) -> Declared:
    """A comment of ours; its marker stays. Raises ``ForgeRefused`` for another's."""
    given = desk.params
    mine = [each for each in own_comments(desk, Subject(given.number), desk.errand) if each.id == given.comment_id]
    if not mine:
        told = Evidence(kind="not_ours")
        text = f"comment {given.comment_id} of {given.number} is not one of ours"
        raise ForgeRefused(text, "only own comments are edited", evidence=told)
    return edited(desk, mine[0], desk.words.compose(given.body, marker_line(mine[0].body)))


def own_comments(desk: Desk, subject: Subject, errand: Errand) -> list[ForgeComment]:
    """Our own comments there, oldest first."""
    me = desk.client.whoami(errand).login
    return [each for each in whole(desk.client.comments(subject, errand)) if each.author == me]


def marker_line(text: str) -> str:
    """The marker that a text of ours carries, as one line; empty when it has none."""
    for found in markers_in(text):
        if not found.is_claim:
            return "<!-- pointsman " + " ".join(f"{name}={value}" for name, value in found.pairs.items()) + " -->"
    return ""


def edited(desk: Desk, comment: ForgeComment, text: str) -> Declared:
    """A comment of ours with another text."""

    def look(reading: Errand) -> Sight[results.Comment]:
        found = [each for each in own_comments(desk, Subject(comment.number), reading) if each.id == comment.id]
        if not found:
            return Conflict(f"comment {comment.id} was deleted")
        return Done(comment_of(found[0], reading)) if same_text(found[0].body, text) else Ready()

    def send(sending: Errand) -> results.Comment:
        return comment_of(desk.client.edit_comment(comment.number, comment.id, text, sending), sending)

    return Change(Effect.IDEMPOTENT, send, look)


def add_reaction(desk: Desk) -> Declared:
    """One per person and name, as the forges have it."""
    given = desk.params

    def send(sending: Errand) -> results.Changed:
        desk.client.add_reaction(given.number, given.comment_id or "", given.name, sending)
        return CHANGED

    return Change(Effect.IDEMPOTENT, send)


def _dependency(*, adds: bool) -> Callable[[Desk], Declared]:
    def declare(desk: Desk) -> Declared:
        given = desk.params

        def look(reading: Errand) -> Sight[results.Changed]:
            blockers = whole(desk.client.blockers(given.number, reading))
            present = any(each.number == given.blocked_by and not each.repo for each in blockers)
            return Done(CHANGED) if present == adds else Ready()

        def send(sending: Errand) -> results.Changed:
            act = desk.client.add_dependency if adds else desk.client.remove_dependency
            act(given.number, Blocker(given.blocked_by), sending)
            return CHANGED

        return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)

    return declare


def add_to_project(desk: Desk) -> Declared:
    """The forge answers with the item that is there."""
    client, number = project_client(desk), desk.params.number

    def look(reading: Errand) -> Sight[results.ProjectItem]:
        found = client.project_item(number, reading)
        if isinstance(found, Missing):
            return Ready()
        return Done(fit(results.ProjectItem, reading, item_id=found.item_id))

    def send(sending: Errand) -> results.ProjectItem:
        return fit(results.ProjectItem, sending, item_id=client.add_project_item(number, sending))

    return Change(Effect.IDEMPOTENT, send, look, looks_first=True, exists_is_done=True)


def set_project_status(desk: Desk) -> Declared:
    """Set when the option is still the one that was read; options are resolved by name each time."""
    client, given = project_client(desk), desk.params
    seen: list[ProjectItem] = []
    option: list[str] = []

    def look(reading: Errand) -> Sight[results.Changed]:
        options = client.project_field(reading).options
        if given.status not in options:
            told = Evidence(kind="unknown_option", status=422)
            raise ForgeRefused(f'the project has no status "{given.status}"', "mend the name", evidence=told)
        option[:] = [options[given.status]]
        item = there(client.project_item(given.number, reading), f"issue {given.number} in the project")
        seen.append(item)
        if item.status == given.status:
            return Done(CHANGED)
        expected = given.expect if given.expect is not None else seen[0].status
        return Ready() if item.status == expected else Conflict(f"the status is {item.status or 'empty'}")

    def send(sending: Errand) -> results.Changed:
        client.set_project_status(seen[-1].item_id, option[0], sending)
        return CHANGED

    return Change(Effect.GUARDED, send, look, looks_first=True, settles=True, already=unchanged)


def project_client(desk: Desk) -> ProjectClient:
    """The client as one of projects. Raises ``Unsupported``."""
    client: Any = desk.client
    if not desk.client.traits.projects:
        raise Unsupported("this connection has no project", "give it `project: {owner, number}`")
    found: ProjectClient = client
    return found


ISSUE_CHANGES: Mapping[str, Callable[[Desk], Declared]] = MappingProxyType(
    {
        "issue.create": create_issue,
        "issue.edit": edit_issue,
        "issue.close": _set_state(is_open=False),
        "issue.reopen": _set_state(is_open=True),
        "label.add": _label(adds=True),
        "label.remove": _label(adds=False),
        "label.define": define_label,
        "assignee.add": _assignee(adds=True),
        "assignee.remove": _assignee(adds=False),
        "issue.comment": _comment(on_pull=False),
        "issue.comment_keyed": comment_keyed,
        "comment.edit": edit_comment,
        "reaction.add": add_reaction,
        "dependency.add": _dependency(adds=True),
        "dependency.remove": _dependency(adds=False),
        "project.add_item": add_to_project,
        "project.set_status": set_project_status,
        "pull.comment": _comment(on_pull=True),
    }
)
