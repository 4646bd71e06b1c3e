"""The fake GitLab behaves as GitLab does (connectors.md 20, 24)."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from connectors.fake_forge.running import FakeForge
from tests.kit.fakes import Caller, fake

PROJECT = "/api/v4/projects/octo%2Fdemo"


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake("gitlab") as running:
        yield running


@pytest.fixture
def call(forge: FakeForge) -> Iterator[Caller]:
    with Caller(forge) as caller:
        yield caller


def test_one_call_adds_a_label_takes_one_away_and_closes(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready", "bug"])
    given = {"add_labels": "in_progress", "remove_labels": "ready", "state_event": "close"}
    answer = call("PUT", f"{PROJECT}/issues/{number}", given).json()
    assert (answer["labels"], answer["state"]) == (["bug", "in_progress"], "closed")
    events = call("GET", f"{PROJECT}/issues/{number}/resource_label_events").json()
    assert [(each["action"], each["label"]["name"]) for each in events][-2:] == [
        ("add", "in_progress"),
        ("remove", "ready"),
    ]
    assert call("GET", f"{PROJECT}/issues/{number}/resource_state_events").json()[0]["state"] == "closed"


def test_labels_are_exact_made_on_use_and_replaced_by_the_plain_key(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    path = f"{PROJECT}/issues/{number}"
    assert call("PUT", path, {"add_labels": "Ready"}).json()["labels"] == ["Ready", "ready"]
    assert call("PUT", path, {"labels": "bug"}).json()["labels"] == ["bug"]
    assert call("PUT", path, {"labels": ""}).json()["labels"] == []
    assert call("POST", f"{PROJECT}/labels", {"name": "bug", "color": "#ff0000"}).status_code == 409
    call("PUT", path, {"add_labels": "stage::one"})
    assert call("PUT", path, {"add_labels": "stage::two"}).json()["labels"] == ["stage::two"]


def test_numbers_are_a_filter_and_unknown_labels_match_nothing(forge: FakeForge, call: Caller) -> None:
    one, _, three = forge.issue(), forge.issue(), forge.issue()
    found = call("GET", f"{PROJECT}/issues", params={"iids[]": [str(one), str(three)], "sort": "asc"})
    assert [each["iid"] for each in found.json()] == [one, three]
    assert found.headers["x-total"] == "2"
    assert call("GET", f"{PROJECT}/issues", params={"labels": "nope"}).json() == []


def test_quick_actions_in_a_note_are_obeyed_and_leave_the_text(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    notes = f"{PROJECT}/issues/{number}/notes"
    mixed = call("POST", notes, {"body": 'Done\n/close\n/label ~"bug"\n```\n/reopen\n```'})
    assert mixed.json()["body"] == "Done\n```\n/reopen\n```"
    assert (forge.card(number).state, forge.labels_of(number)) == ("closed", ["ready", "bug"])
    only = call("POST", notes, {"body": "/reopen"})
    assert (only.status_code, "id" in only.json()) == (202, False)
    assert len(call("GET", notes, params={"activity_filter": "only_comments"}).json()) == 1
    assert len(call("GET", notes).json()) == 3


def test_notes_are_edited_only_by_their_author(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    notes = f"{PROJECT}/issues/{number}/notes"
    theirs = forge.act("comment", number=number, body="mine")["id"]
    ours = call("POST", notes, {"body": "ours"}).json()["id"]
    assert call("PUT", f"{notes}/{theirs}", {"body": "x"}).status_code == 403
    assert call("PUT", f"{notes}/{ours}", {"body": "x"}).json()["body"] == "x"
    assert call("POST", f"{notes}/{ours}/award_emoji", {"name": "eyes"}).status_code == 201
    assert call("POST", f"{notes}/{ours}/award_emoji", {"name": "eyes"}).status_code == 404
    assert call("DELETE", f"{notes}/{ours}").status_code == 204


def test_blocking_links_need_a_licence(forge: FakeForge, call: Caller) -> None:
    one, two = forge.issue(), forge.issue()
    links = f"{PROJECT}/issues/{one}/links"
    wanted = {"target_project_id": "octo/demo", "target_issue_iid": two, "link_type": "is_blocked_by"}
    made = call("POST", links, wanted)
    assert made.status_code == 201
    assert call("POST", links, wanted).status_code == 409
    assert [(each["iid"], each["link_type"]) for each in call("GET", links).json()] == [(two, "is_blocked_by")]
    assert call("DELETE", f"{links}/{made.json()['id']}").status_code == 200
    forge.act("license", held=False)
    assert call("GET", links).status_code == 403


def test_a_merge_request_has_numbers_of_its_own_and_is_merged_with_its_head(forge: FakeForge, call: Caller) -> None:
    forge.issue()
    assert call("POST", f"{PROJECT}/repository/branches", {"branch": "work", "ref": "main"}).status_code == 201
    assert call("POST", f"{PROJECT}/repository/branches", {"branch": "work", "ref": "main"}).status_code == 400
    content = {
        "branch": "work",
        "content": base64.b64encode(b"x").decode(),
        "encoding": "base64",
        "commit_message": "m",
    }
    assert call("POST", f"{PROJECT}/repository/files/a%2Fb.txt", content).status_code == 201
    assert call("GET", f"{PROJECT}/repository/files/a%2Fb.txt", params={"ref": "work"}).json()["file_name"] == "b.txt"
    wanted = {"source_branch": "work", "target_branch": "main", "title": "Draft: Work"}
    made = call("POST", f"{PROJECT}/merge_requests", wanted).json()
    assert (made["iid"], made["draft"]) == (1, True)
    assert call("POST", f"{PROJECT}/merge_requests", wanted).status_code == 409
    one = f"{PROJECT}/merge_requests/1"
    assert call("PUT", f"{one}/merge", {"sha": made["sha"]}).status_code == 405
    assert call("PUT", one, {"title": "Work"}).json()["draft"] is False
    assert call("PUT", f"{one}/merge", {"sha": "0" * 40}).status_code == 409
    assert call("POST", f"{one}/approve").status_code == 201
    assert call("PUT", f"{one}/merge", {"sha": made["sha"]}).json()["state"] == "merged"


def test_a_renamed_project_redirects_reads_and_refuses_the_rest(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    forge.act("rename_repo", to="octo/new")
    moved = call("GET", f"{PROJECT}/issues/{number}")
    assert moved.status_code == 301
    assert call.http.get(moved.headers["location"]).json()["iid"] == number
    assert call("PUT", f"{PROJECT}/issues/{number}", {"title": "x"}).status_code == 405


def test_what_is_moved_deleted_or_hidden_answers_as_gitlab_does(forge: FakeForge, call: Caller) -> None:
    moved, gone = forge.issue(), forge.issue()
    forge.act("transfer", number=moved, to="octo/other")
    forge.act("delete", number=gone)
    shown = call("GET", f"{PROJECT}/issues/{moved}").json()
    assert shown["state"] == "closed"
    assert shown["moved_to_id"]
    assert call("GET", f"{PROJECT}/issues/{gone}").status_code == 404
    forge.act("issues_off")
    assert call("GET", f"{PROJECT}/issues").status_code == 403


def test_errors_come_in_every_form_of_gitlab(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    assert call("POST", f"{PROJECT}/issues", {}).json() == {"error": "title is missing"}
    assert call("POST", f"{PROJECT}/issues", {"title": "x" * 256}).json()["message"]["title"]
    assert call("GET", "/api/v4/projects/999").json() == {"message": "404 Project Not Found"}
    forge.act("scope_missing", scope="issues")
    assert call("PUT", f"{PROJECT}/issues/{number}", {"title": "x"}).json()["error"] == "insufficient_scope"
    with Caller(forge, token="wrong") as stranger:
        assert stranger("GET", PROJECT).status_code == 401


def test_statuses_releases_pipelines_and_people_are_kept(forge: FakeForge, call: Caller) -> None:
    sha = call("GET", f"{PROJECT}/repository/commits/main").json()["id"]
    assert call("POST", f"{PROJECT}/statuses/{sha}", {"state": "success", "name": "ci"}).status_code == 201
    assert call("POST", f"{PROJECT}/statuses/{sha}", {"state": "success", "name": "ci"}).status_code == 400
    assert call("GET", f"{PROJECT}/repository/commits/{sha}/statuses").json()[0]["status"] == "success"
    made = call("POST", f"{PROJECT}/releases", {"tag_name": "v1", "ref": "main", "description": "b"})
    assert made.status_code == 201
    assert call("GET", f"{PROJECT}/releases/v1").json()["description"] == "b"
    assert call("POST", f"{PROJECT}/pipeline", {"ref": "main"}).status_code == 201
    octo = call("GET", "/api/v4/users", params={"username": "octo"}).json()[0]["id"]
    assert call("GET", f"{PROJECT}/members/all/{octo}").json()["access_level"] == 50
    assert call("GET", "/api/v4/user").json()["username"] == "pointsman-bot"
