"""What payloads of GitLab and Forgejo are taken for: words with several meanings, and gaps (connectors.md 7)."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.forgejo import mapping as forgejo
from connectors.gitlab import mapping as gitlab
from connectors.transport.models import Misfit, fitting

AT = "2026-01-01T00:00:00Z"
USER = {"id": 1, "username": "octo", "login": "octo"}
MERGE = {
    "iid": 1,
    "id": 2,
    "title": "Draft: Work",
    "state": "opened",
    "draft": True,
    "source_branch": "work",
    "target_branch": "main",
    "author": None,
    "web_url": "https://forge.example/1",
    "created_at": AT,
    "updated_at": AT,
}
PULL = {
    "number": 1,
    "id": 2,
    "title": "WIP: Work",
    "state": "open",
    "merged": False,
    "head": {"ref": "work", "sha": "1"},
    "base": {"ref": "main", "sha": "2"},
    "user": None,
    "html_url": "https://forge.example/1",
    "created_at": AT,
    "updated_at": AT,
}


def merge(**more: Any) -> Any:
    return gitlab.pull_of(fitting({**MERGE, **more}, gitlab.MERGE))


@pytest.mark.parametrize(
    ("word", "means"),
    [("can_be_merged", True), ("cannot_be_merged", False), ("checking", None), ("cannot_be_merged_recheck", None)],
)
def test_a_merge_that_is_not_computed_yet_is_no_answer(word: str, means: bool | None) -> None:
    assert merge(merge_status=word).mergeable is means
    assert merge().mergeable is None


@pytest.mark.parametrize(
    ("status", "may_fail", "means"),
    [
        ("success", False, "success"),
        ("failed", False, "failure"),
        ("failed", True, "success"),
        ("canceled", False, "failure"),
        ("skipped", False, "success"),
        ("manual", False, "pending"),
        ("a word of tomorrow", False, "pending"),
    ],
)
def test_a_job_s_status_is_one_of_three(status: str, may_fail: bool, means: str) -> None:
    payload = {"id": 1, "name": "ci", "status": status, "allow_failure": may_fail}
    assert gitlab.check_of(fitting(payload, gitlab.STATUS)).state == means


@pytest.mark.parametrize(
    ("title", "plain"),
    [("Draft: Work", "Work"), ("[Draft] Work", "Work"), ("draft: Work", "Work"), ("Drafting", "Drafting")],
)
def test_a_draft_is_told_from_its_title_on_gitlab(title: str, plain: str) -> None:
    assert gitlab.plain_title(title) == plain
    assert gitlab.draft_title(title, draft=True) == f"Draft: {plain}"
    assert gitlab.draft_title(title, draft=False) == plain


@pytest.mark.parametrize(("title", "draft"), [("WIP: Work", True), ("[WIP] Work", True), ("Work WIP:", False)])
def test_a_draft_is_told_from_its_title_on_forgejo(title: str, draft: bool) -> None:
    pull = forgejo.pull_of(fitting({**PULL, "title": title}, forgejo.PULL))
    assert (pull.draft, pull.title) == (draft, "Work" if draft else title)


def test_what_a_deleted_account_wrote_is_a_ghost_s() -> None:
    assert merge().author == "ghost"
    assert forgejo.pull_of(fitting(PULL, forgejo.PULL)).author == "Ghost"


def test_lists_that_forgejo_gives_as_null_are_empty() -> None:
    issue = {
        "number": 1,
        "id": 2,
        "title": "t",
        "body": None,
        "state": "open",
        "labels": None,
        "assignees": None,
        "user": USER,
        "html_url": "https://forge.example/1",
        "created_at": AT,
        "updated_at": AT,
    }
    made = forgejo.issue_of(fitting(issue, forgejo.ISSUE))
    assert (made.labels, made.assignees, made.body) == ((), (), "")
    with pytest.raises(Misfit, match="title"):
        fitting({key: value for key, value in issue.items() if key != "title"}, forgejo.ISSUE)


def test_a_folder_and_a_broken_content_are_no_file() -> None:
    for payload in ({"type": "dir", "content": ""}, {"type": "file", "content": "!"}):
        with pytest.raises(Misfit):
            forgejo.file_of(fitting({"path": "a", "sha": "1", **payload}, forgejo.FILE))
    broken = {"file_path": "a", "blob_id": "1", "last_commit_id": "2", "encoding": "base64", "content": "!"}
    with pytest.raises(Misfit):
        gitlab.file_of(fitting(broken, gitlab.FILE))


def test_events_that_say_nothing_about_columns_are_left_out() -> None:
    event = {"user": None, "created_at": AT, "label": None, "action": "add"}
    assert gitlab.label_event_of(fitting(event, gitlab.LABEL_EVENT)) is None
    state = {"user": None, "created_at": AT, "state": "merged"}
    assert gitlab.state_event_of(fitting(state, gitlab.STATE_EVENT)) is None
    entry = {"type": "comment", "created_at": AT}
    assert forgejo.label_event_of(fitting(entry, forgejo.TIMELINE)) is None
    pending = {"id": 1, "state": "PENDING", "user": None, "html_url": "", "submitted_at": AT}
    assert forgejo.review_of(fitting(pending, forgejo.REVIEW), 1) is None
