"""One case per operation of the catalogue: what stands on the forge before, the parameters, and how often it shows.

``seen`` counts what the operation leaves behind on the fake: nothing before it, exactly one after. The same for all
forges where they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from connectors.fake_forge.git import resolve
from connectors.fake_forge.running import FakeForge

Given = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """``prepare`` makes what must be there and answers the parameters; ``seen`` counts what was done (None: a read)."""

    prepare: Callable[[FakeForge], Given]
    seen: Callable[[FakeForge, Given], int] | None = None


def card(forge: FakeForge, **given: Any) -> Given:
    return {"number": forge.issue("A card", body="text", **given)}


def pull(forge: FakeForge) -> Given:
    return {"number": forge.act("create_pull", head="work", title="Work", body="text")["number"]}


def head_of(forge: FakeForge, branch: str = "main") -> str:
    return forge.here.refs[f"refs/heads/{branch}"]


def labelled(forge: FakeForge, given: Given) -> int:
    return forge.labels_of(given["number"]).count(given.get("label", "review"))


def issue_texts(forge: FakeForge, given: Given) -> int:
    return sum("hello" in each.body for each in forge.card(given["number"]).comments)


def pull_texts(forge: FakeForge, given: Given) -> int:
    issue = forge.here.pulls[given["number"]]
    reviews = issue.pull.reviews if issue.pull else []
    return sum("hello" in each.body for each in [*issue.comments, *reviews])


def _merged(forge: FakeForge, given: Given) -> int:
    found = forge.here.pulls[given["number"]].pull
    return int(found is not None and found.merged_at is not None)


def _reviewers(forge: FakeForge, given: Given) -> int:
    found = forge.here.pulls[given["number"]].pull
    return found.reviewers.count("octo") if found else 0


def _own_comment(forge: FakeForge) -> Given:
    given = card(forge)
    made = forge.act("comment", number=given["number"], body="before", by="pointsman-bot")
    return given | {"comment_id": str(made["id"]), "body": "hello"}


def _closed(forge: FakeForge) -> Given:
    given = card(forge)
    forge.act("close", number=given["number"])
    return given


def _assigned(forge: FakeForge) -> Given:
    given = card(forge) | {"login": "octo"}
    forge.act("assign", number=given["number"], logins=["octo"])
    return given


def _branched(forge: FakeForge) -> Given:
    forge.here.refs["refs/heads/old"] = head_of(forge)
    return {"name": "old", "expect_sha": head_of(forge)}


def _pushed(forge: FakeForge) -> Given:
    forge.act("create_pull", head="work")
    forge.here.pulls.clear()
    return {"head": "work", "base": "main", "title": "Work", "body": "hello"}


def _waiting(forge: FakeForge) -> Given:
    given = card(forge) | {"blocked_by": forge.issue()}
    forge.act("block", number=given["number"], by_number=given["blocked_by"])
    return given


def _on_board(forge: FakeForge) -> Given:
    given = card(forge) | {"status": "review"}
    forge.act("add_item", number=given["number"], status="ready")
    return given


def _status(forge: FakeForge) -> str:
    project = forge.world.projects[0]
    chosen = project.items[0].values[project.fields[0].id]
    return next(option.name for option in project.fields[0].options if option.id == chosen)


def _file(forge: FakeForge) -> Given:
    return {"path": "a.txt", "branch": "main", "text": "hello", "message": "Say hello"}


CASES: Mapping[str, Case] = {
    "repo.get": Case(lambda forge: {}),
    "issue.get": Case(card),
    "issue.list": Case(lambda forge: card(forge, labels=["ready"]) and {"label": "ready"}),
    "comment.list": Case(lambda forge: {"number": _own_comment(forge)["number"]}),
    "label.list": Case(lambda forge: {}),
    "pull.get": Case(pull),
    "pull.list": Case(lambda forge: pull(forge) and {"head": "work"}),
    "pull.checks": Case(pull),
    "ref.get": Case(lambda forge: {"name": "main"}),
    "file.get": Case(lambda forge: {"path": "README.md"}),
    "issue.create": Case(
        lambda forge: {"title": "New", "body": "hello", "labels": ["ready"], "assignees": ["octo"]},
        lambda forge, given: sum(each.title == "New" for each in forge.here.issues.values()),
    ),
    "issue.edit": Case(
        lambda forge: card(forge) | {"title": "Other"},
        lambda forge, given: int(forge.card(given["number"]).title == "Other"),
    ),
    "issue.close": Case(card, lambda forge, given: int(forge.card(given["number"]).state == "closed")),
    "issue.reopen": Case(_closed, lambda forge, given: int(forge.card(given["number"]).state == "open")),
    "label.add": Case(lambda forge: card(forge) | {"label": "review"}, labelled),
    "label.remove": Case(
        lambda forge: card(forge, labels=["review"]) | {"label": "review"},
        lambda forge, given: 1 - labelled(forge, given),
    ),
    "label.define": Case(
        lambda forge: {"name": "new", "color": "#ff00aa"},
        lambda forge, given: sum(each.name == "new" for each in forge.here.labels.values()),
    ),
    "assignee.add": Case(
        lambda forge: card(forge) | {"login": "octo"},
        lambda forge, given: forge.card(given["number"]).assignees.count("octo"),
    ),
    "assignee.remove": Case(_assigned, lambda forge, given: 1 - len(forge.card(given["number"]).assignees)),
    "issue.comment": Case(lambda forge: card(forge) | {"body": "hello"}, issue_texts),
    "issue.comment_keyed": Case(lambda forge: card(forge) | {"body": "hello", "key": "k"}, issue_texts),
    "comment.edit": Case(_own_comment, issue_texts),
    "reaction.add": Case(
        lambda forge: card(forge) | {"name": "eyes"},
        lambda forge, given: len(forge.card(given["number"]).reactions),
    ),
    "branch.create": Case(
        lambda forge: {"name": "new", "sha": head_of(forge)},
        lambda forge, given: int("refs/heads/new" in forge.here.refs),
    ),
    "branch.delete": Case(_branched, lambda forge, given: int("refs/heads/old" not in forge.here.refs)),
    "file.put": Case(
        _file, lambda forge, given: int("a.txt" in forge.here.commits[resolve(forge.here, "main") or ""].files)
    ),
    "pull.create": Case(_pushed, lambda forge, given: len(forge.here.pulls)),
    "pull.edit": Case(
        lambda forge: pull(forge) | {"title": "Other"},
        lambda forge, given: int(forge.here.pulls[given["number"]].title == "Other"),
    ),
    "pull.comment": Case(lambda forge: pull(forge) | {"body": "hello"}, pull_texts),
    "pull.review": Case(lambda forge: pull(forge) | {"body": "hello", "event": "approve"}, pull_texts),
    "pull.request_review": Case(lambda forge: {**bot_pull(forge), "logins": ["octo"]}, _reviewers),
    "pull.merge": Case(lambda forge: pull(forge) | {"head_sha": head_of(forge, "work")}, _merged),
    "status.set": Case(
        lambda forge: {"sha": head_of(forge), "context": "ci", "state": "success", "text": "fine"},
        lambda forge, given: len(forge.here.statuses),
    ),
    "release.create": Case(
        lambda forge: {"tag": "v1", "name": "One", "body": "hello"},
        lambda forge, given: len(forge.here.releases),
    ),
    "workflow.dispatch": Case(
        lambda forge: {"file": "ci.yml", "ref": "main", "inputs": {"a": "b"}},
        lambda forge, given: len(forge.here.runs),
    ),
    "pipeline.create": Case(
        lambda forge: {"ref": "main", "variables": {"A": "b"}}, lambda forge, given: len(forge.here.runs)
    ),
    "dependency.add": Case(
        lambda forge: card(forge) | {"blocked_by": forge.issue()},
        lambda forge, given: len(forge.card(given["number"]).blocked_by),
    ),
    "dependency.remove": Case(_waiting, lambda forge, given: 1 - len(forge.card(given["number"]).blocked_by)),
    "project.add_item": Case(card, lambda forge, given: len(forge.world.projects[0].items)),
    "project.set_status": Case(_on_board, lambda forge, given: int(_status(forge) == "review")),
}
"""suffix -> case; a test proves it total over the catalogue."""


def bot_pull(forge: FakeForge) -> Given:
    """A pull of our own account: its author cannot review it, others can."""
    made = forge.act("create_pull", head="work", title="Work", by="pointsman-bot")
    return {"number": made["number"]}
