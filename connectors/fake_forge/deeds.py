"""What can be done to a fake forge's objects, whoever does it: an API call or a person at the web page.

Each deed changes the world, bumps the card's ``updated_at``, writes the card's event and tells the hooks. No rights are
checked here, no faults happen here. The desk's lock is held by the caller.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Comment, Event, Issue, Kind, Label, Pull, Reaction, Ref, Repo, World

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s+#(\d+)\b", re.IGNORECASE)
"""Words in a pull's text that close an issue when the pull is merged."""


@dataclass(frozen=True, slots=True)
class Doer:
    """Who does something, on which desk."""

    desk: Desk
    login: str

    @property
    def world(self) -> World:
        """The world as it is now."""
        return self.desk.world

    @property
    def now(self) -> datetime:
        """The forge's time."""
        return self.desk.clock.now()


def sha_of(*parts: object) -> str:
    """Forty hex digits that depend on the parts only."""
    return hashlib.sha1("\0".join(str(part) for part in parts).encode(), usedforsecurity=False).hexdigest()


def find_label(world: World, repo: Repo, name: str) -> Label | None:
    """A label of the repository by name: GitHub folds case, the others do not."""
    wanted = fold(world, name)
    return next((label for label in repo.labels.values() if fold(world, label.name) == wanted), None)


def fold(world: World, name: str) -> str:
    """A label's name as the forge compares it."""
    return unicodedata.normalize("NFC", name).casefold() if world.forge is Kind.GITHUB else name


def find_issue(repo: Repo, number: int) -> Issue | None:
    """An issue or, where they share numbers, a pull."""
    return repo.issues.get(number) or repo.pulls.get(number)


def next_number(world: World, repo: Repo, *, pull: bool = False) -> int:
    """The next free card number; GitLab counts pulls apart."""
    if world.forge is Kind.GITLAB:
        return max(repo.pulls if pull else repo.issues, default=0) + 1
    return max([*repo.issues, *repo.pulls], default=0) + 1


def touch(doer: Doer, issue: Issue) -> None:
    """The card changed now."""
    issue.updated_at = max(doer.now, issue.updated_at)


def note(doer: Doer, issue: Issue, kind: str, **data: str) -> None:
    """Write an event onto the card's timeline."""
    issue.events.append(Event(id=doer.world.new_id(), kind=kind, actor=doer.login, created_at=doer.now, data=data))
    touch(doer, issue)


def tell(doer: Doer, repo: Repo, issue: Issue, event: str, action: str) -> None:
    """Hand the change to the repository's hooks."""
    doer.desk.deliveries.tell(Happening(repo, issue, event, action, doer.login))


def define_label(doer: Doer, repo: Repo, name: str, color: str = "ededed", description: str = "") -> Label:
    """A new label definition."""
    label = Label(id=doer.world.new_id(), name=name, color=color.lstrip("#").lower(), description=description)
    repo.labels[label.id] = label
    return label


def delete_label(doer: Doer, repo: Repo, label: Label) -> None:
    """The definition goes, and the label from every card."""
    del repo.labels[label.id]
    for issue in [*repo.issues.values(), *repo.pulls.values()]:
        if label.id in issue.labels:
            issue.labels.remove(label.id)
            touch(doer, issue)


def create_issue(doer: Doer, repo: Repo, title: str, body: str = "", labels: tuple[Label, ...] = ()) -> Issue:
    """A new issue, labels in their order."""
    number = next_number(doer.world, repo)
    now = doer.now
    issue = Issue(
        id=doer.world.new_id(), number=number, title=title, body=body, author=doer.login, created_at=now, updated_at=now
    )
    repo.issues[number] = issue
    tell(doer, repo, issue, "issues", "opened")
    for label in labels:
        add_label(doer, repo, issue, label)
    return issue


def add_label(doer: Doer, repo: Repo, issue: Issue, label: Label) -> bool:
    """Put a label on; False when it was on."""
    if label.id in issue.labels:
        return False
    issue.labels.append(label.id)
    note(doer, issue, "labeled", label=label.name, color=label.color, label_id=str(label.id))
    tell(doer, repo, issue, "issues", "labeled")
    return True


def remove_label(doer: Doer, repo: Repo, issue: Issue, label: Label) -> bool:
    """Take a label off; False when it was off."""
    if label.id not in issue.labels:
        return False
    issue.labels.remove(label.id)
    note(doer, issue, "unlabeled", label=label.name, color=label.color, label_id=str(label.id))
    tell(doer, repo, issue, "issues", "unlabeled")
    return True


def set_labels(doer: Doer, repo: Repo, issue: Issue, labels: list[Label]) -> None:
    """Replace the whole set, as a PUT does."""
    wanted = {label.id for label in labels}
    for gone in [repo.labels[each] for each in issue.labels if each not in wanted]:
        remove_label(doer, repo, issue, gone)
    for label in labels:
        add_label(doer, repo, issue, label)


def set_state(doer: Doer, repo: Repo, issue: Issue, state: str, reason: str = "") -> bool:
    """Open or close; False when it was so."""
    if issue.state == state:
        return False
    if state == "closed":
        issue.state, issue.reason = "closed", reason or "completed"
        issue.closed_at, issue.closed_by = doer.now, doer.login
    else:
        issue.state, issue.reason = "open", "reopened"
        issue.closed_at, issue.closed_by = None, ""
    word = "closed" if state == "closed" else "reopened"
    note(doer, issue, word)
    tell(doer, repo, issue, "pull_request" if issue.pull else "issues", word)
    return True


def edit(doer: Doer, repo: Repo, issue: Issue, title: str | None = None, body: str | None = None) -> bool:
    """Change title and text; False when both were so."""
    changed = False
    if title is not None and title != issue.title:
        note(doer, issue, "renamed", previous=issue.title, to=title)
        issue.title, changed = title, True
    if body is not None and body != issue.body:
        issue.body, changed = body, True
    if changed:
        touch(doer, issue)
        tell(doer, repo, issue, "pull_request" if issue.pull else "issues", "edited")
    return changed


def set_assignees(doer: Doer, repo: Repo, issue: Issue, logins: list[str]) -> None:
    """Replace the assignees."""
    for login in [each for each in issue.assignees if each not in logins]:
        issue.assignees.remove(login)
        note(doer, issue, "unassigned", assignee=login)
        tell(doer, repo, issue, "issues", "unassigned")
    for login in logins:
        if login not in issue.assignees:
            issue.assignees.append(login)
            note(doer, issue, "assigned", assignee=login)
            tell(doer, repo, issue, "issues", "assigned")


def add_comment(doer: Doer, repo: Repo, issue: Issue, body: str) -> Comment:
    """One more comment."""
    now = doer.now
    comment = Comment(id=doer.world.new_id(), author=doer.login, body=body, created_at=now, updated_at=now)
    issue.comments.append(comment)
    touch(doer, issue)
    tell(doer, repo, issue, "issue_comment", "created")
    return comment


def edit_comment(doer: Doer, repo: Repo, issue: Issue, comment: Comment, body: str) -> None:
    """Another text for a comment."""
    comment.body, comment.updated_at = body, doer.now
    touch(doer, issue)
    tell(doer, repo, issue, "issue_comment", "edited")


def delete_comment(doer: Doer, repo: Repo, issue: Issue, comment: Comment) -> None:
    """A comment goes."""
    issue.comments.remove(comment)
    touch(doer, issue)
    tell(doer, repo, issue, "issue_comment", "deleted")


def react(doer: Doer, reactions: list[Reaction], name: str) -> tuple[Reaction, bool]:
    """The account's reaction of that name, and whether it is new."""
    found = next((each for each in reactions if each.login == doer.login and each.name == name), None)
    if found is not None:
        return found, False
    made = Reaction(id=doer.world.new_id(), login=doer.login, name=name, created_at=doer.now)
    reactions.append(made)
    return made, True


def block(doer: Doer, issue: Issue, by: Ref) -> bool:
    """The card waits for another; False when it did."""
    if by in issue.blocked_by:
        return False
    issue.blocked_by.append(by)
    note(doer, issue, "blocked_by_added", blocker=f"{by.repo}#{by.number}")
    return True


def unblock(doer: Doer, issue: Issue, by: Ref) -> bool:
    """The card waits for another no longer; False when it did not."""
    if by not in issue.blocked_by:
        return False
    issue.blocked_by.remove(by)
    note(doer, issue, "blocked_by_removed", blocker=f"{by.repo}#{by.number}")
    return True


def create_pull(doer: Doer, repo: Repo, head: str, base: str, title: str) -> Issue:
    """A pull from one branch to another of the same repository; both exist."""
    number = next_number(doer.world, repo, pull=True)
    now = doer.now
    pull = Pull(
        head=head, base=base, head_sha=repo.refs[f"refs/heads/{head}"], base_sha=repo.refs[f"refs/heads/{base}"]
    )
    made = Issue(
        id=doer.world.new_id(), number=number, title=title, author=doer.login, created_at=now, updated_at=now, pull=pull
    )
    repo.pulls[number] = made
    tell(doer, repo, made, "pull_request", "opened")
    return made


def merge(doer: Doer, repo: Repo, issue: Issue, message: str) -> str:
    """Merge a pull: a commit on the base, the pull closed, issues that its text closes closed. Answers the SHA."""
    pull = issue.pull
    assert pull is not None
    head, base = repo.commits[pull.head_sha], repo.commits[repo.refs[f"refs/heads/{pull.base}"]]
    commit = doer.desk.git.commit(repo, message, {**base.files, **head.files}, [base.sha, head.sha], doer.login)
    repo.refs[f"refs/heads/{pull.base}"] = commit.sha
    pull.merged_at, pull.merged_by, pull.merge_sha = doer.now, doer.login, commit.sha
    issue.state, issue.closed_at, issue.closed_by = "closed", doer.now, doer.login
    note(doer, issue, "merged", sha=commit.sha)
    tell(doer, repo, issue, "pull_request", "closed")
    for number in {int(each) for each in CLOSING.findall(issue.body)}:
        target = repo.issues.get(number)
        if target is not None:
            set_state(doer, repo, target, "closed")
    return commit.sha


def transfer(doer: Doer, repo: Repo, issue: Issue, target: Repo) -> Issue:
    """Move a card to another repository under a new number; the old address says where it went."""
    made = issue.model_copy(deep=True)
    made.number, made.labels = next_number(doer.world, target), []
    target.issues[made.number] = made
    issue.moved_to = Ref(repo=target.path, number=made.number)
    note(doer, made, "transferred", previous=repo.path)
    tell(doer, repo, issue, "issues", "transferred")
    return made
