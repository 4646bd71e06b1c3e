"""The fake Forgejo behaves as Forgejo does, in the forms of Gitea's models (connectors.md 20, 24; C162)."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from connectors.fake_forge.running import FakeForge
from tests.kit.fakes import Caller, fake

REPO = "/api/v1/repos/octo/demo"


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake("forgejo") as running:
        yield running


@pytest.fixture
def call(forge: FakeForge) -> Iterator[Caller]:
    with Caller(forge) as caller:
        yield caller


def ids(forge: FakeForge, *names: str) -> list[int]:
    return [label.id for name in names for label in forge.here.labels.values() if label.name == name]


def test_labels_go_on_and_off_by_id_and_unknown_names_are_dropped(forge: FakeForge, call: Caller) -> None:
    """C162: every exchange of this file is held against the published models by the fixture."""
    number = forge.issue(labels=["ready"])
    path = f"{REPO}/issues/{number}/labels"
    answer = call("POST", path, {"labels": ids(forge, "review")})
    assert sorted(each["name"] for each in answer.json()) == ["ready", "review"]
    assert call("POST", path, {"labels": ["nobody made this"]}).status_code == 200
    assert len(call("GET", path).json()) == 2
    assert call("DELETE", f"{path}/ready").status_code == 404
    assert call("DELETE", f"{path}/{ids(forge, 'ready')[0]}").status_code == 204
    assert forge.labels_of(number) == ["review"]
    assert call("PUT", path, {"labels": ids(forge, "bug")}).json()[0]["name"] == "bug"
    assert call("DELETE", path).status_code == 204


def test_a_filter_of_an_unknown_label_filters_nothing_and_pages_are_clamped(forge: FakeForge, call: Caller) -> None:
    for _ in range(51):
        forge.issue()
    found = call("GET", f"{REPO}/issues", params={"labels": "nope", "type": "issues", "limit": "100"})
    assert len(found.json()) == 50
    assert found.json()[0]["number"] == 51
    assert found.headers["x-total-count"] == "51"
    assert len(call.http.get(found.links["next"]["url"]).json()) == 1
    assert "etag" not in found.headers


def test_closing_is_refused_while_a_dependency_is_open(forge: FakeForge, call: Caller) -> None:
    one, two = forge.issue(), forge.issue()
    wanted = {"owner": "octo", "repo": "demo", "index": two}
    dependencies = f"{REPO}/issues/{one}/dependencies"
    assert call("POST", dependencies, wanted).status_code == 201
    assert call("POST", dependencies, wanted).status_code == 409
    assert [each["number"] for each in call("GET", dependencies).json()] == [two]
    assert call("PATCH", f"{REPO}/issues/{one}", {"state": "closed"}).status_code == 412
    assert call("PATCH", f"{REPO}/issues/{one}", {"state": "shut"}).status_code == 412
    forge.act("close", number=two)
    assert call("PATCH", f"{REPO}/issues/{one}", {"state": "closed"}).json()["state"] == "closed"
    assert call("DELETE", dependencies, wanted).status_code == 200


def test_an_archived_repository_is_locked(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    forge.act("archive")
    assert call("POST", f"{REPO}/issues/{number}/comments", {"body": "x"}).status_code == 423


def test_comments_come_in_one_page_and_the_timeline_tells_labels(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    for count in range(60):
        forge.act("comment", number=number, body=str(count))
    ours = call("POST", f"{REPO}/issues/{number}/comments", {"body": "ours"}).json()["id"]
    assert len(call("GET", f"{REPO}/issues/{number}/comments").json()) == 61
    assert call("PATCH", f"{REPO}/issues/comments/{ours}", {"body": "new"}).json()["body"] == "new"
    assert call("POST", f"{REPO}/issues/comments/{ours}/reactions", {"content": "eyes"}).status_code == 201
    assert call("POST", f"{REPO}/issues/{number}/reactions", {"content": "eyes"}).status_code == 201
    first = call("GET", f"{REPO}/issues/{number}/timeline").json()[0]
    assert (first["type"], first["label"]["name"], first["body"]) == ("label", "ready", "1")
    assert call("GET", f"{REPO}/issues/comments/{ours}").status_code == 200
    assert call("DELETE", f"{REPO}/issues/comments/{ours}").status_code == 204


def test_assignees_replace_and_unknown_ones_are_refused(forge: FakeForge, call: Caller) -> None:
    made = call(
        "POST", f"{REPO}/issues", {"title": "t", "body": "b", "labels": ids(forge, "bug"), "assignees": ["octo"]}
    )
    path = f"{REPO}/issues/{made.json()['number']}"
    assert call("PATCH", path, {"assignees": ["passer-by"]}).status_code == 422
    changed = call("PATCH", path, {"assignees": ["pointsman-bot"]}).json()
    assert [each["login"] for each in changed["assignees"]] == ["pointsman-bot"]


def test_a_pull_is_a_draft_by_its_title_and_merged_with_its_head(forge: FakeForge, call: Caller) -> None:
    assert call("POST", f"{REPO}/branches", {"new_branch_name": "work", "old_ref_name": "main"}).status_code == 201
    content = {"content": base64.b64encode(b"x").decode(), "branch": "work", "message": "m"}
    assert call("POST", f"{REPO}/contents/a.txt", content).status_code == 201
    there = call("GET", f"{REPO}/contents/a.txt", params={"ref": "work"}).json()
    assert call("PUT", f"{REPO}/contents/a.txt", content | {"sha": "0" * 40}).status_code == 422
    assert call("PUT", f"{REPO}/contents/a.txt", content | {"sha": there["sha"]}).status_code == 200
    made = call("POST", f"{REPO}/pulls", {"head": "work", "base": "main", "title": "WIP: Work"}).json()
    path, head = f"{REPO}/pulls/{made['number']}", made["head"]["sha"]
    assert made["draft"]
    assert call("POST", f"{path}/merge", {"Do": "merge", "head_commit_id": head}).status_code == 405
    assert call("PATCH", path, {"title": "Work"}).json()["draft"] is False
    assert call("POST", f"{path}/reviews", {"event": "COMMENT", "body": "fine"}).status_code == 200
    assert call("POST", f"{path}/requested_reviewers", {"reviewers": ["octo"]}).status_code == 201
    assert call("POST", f"{path}/merge", {"Do": "merge", "head_commit_id": "0" * 40}).status_code == 409
    assert call("POST", f"{path}/merge", {"Do": "merge", "head_commit_id": head}).content == b""
    assert call("GET", path).json()["merged"]
    assert len(call("GET", f"{path}/reviews").json()) == 1
    assert len(call("GET", f"{REPO}/pulls", params={"state": "closed"}).json()) == 1


def test_code_account_and_rights_are_told(forge: FakeForge, call: Caller) -> None:
    sha = call("GET", f"{REPO}/branches/main").json()["commit"]["id"]
    assert call("GET", f"{REPO}/git/refs/heads/main").json()[0]["object"]["sha"] == sha
    assert call("GET", f"{REPO}/git/commits/{sha}").json()["sha"] == sha
    assert call("POST", f"{REPO}/statuses/{sha}", {"state": "success", "context": "ci"}).status_code == 201
    assert call("GET", f"{REPO}/commits/{sha}/status").json()["state"] == "success"
    assert len(call("GET", f"{REPO}/statuses/{sha}").json()) == 1
    made = call("POST", f"{REPO}/releases", {"tag_name": "v1", "name": "One", "body": "b"})
    assert made.status_code == 201
    assert call("GET", f"{REPO}/releases/tags/v1").json()["id"] == made.json()["id"]
    assert call("GET", "/api/v1/user").json()["login"] == "pointsman-bot"
    assert call("GET", "/api/v1/version").json()["version"]
    assert call("GET", REPO).json()["permissions"] == {"admin": False, "push": True, "pull": True}
    assert call("GET", f"{REPO}/collaborators/octo/permission").json()["permission"] == "admin"
    hook = {"type": "gitea", "config": {"url": "http://127.0.0.1:1/", "content_type": "json"}, "active": True}
    assert call("POST", f"{REPO}/hooks", hook).status_code == 201
    assert len(call("GET", f"{REPO}/hooks").json()) == 1


def test_labels_of_the_organisation_count_too(forge: FakeForge, call: Caller) -> None:
    forge.act("define_label", label="shared", group=True)
    number = forge.issue(labels=["shared"])
    assert "shared" not in [each["name"] for each in call("GET", f"{REPO}/labels").json()]
    assert [each["name"] for each in call("GET", "/api/v1/orgs/octo/labels").json()] == ["shared"]
    assert [each["name"] for each in call("GET", f"{REPO}/issues/{number}").json()["labels"]] == ["shared"]
    assert call("POST", f"{REPO}/labels", {"name": "x", "color": "#ff0000"}).status_code == 201


def test_a_renamed_repository_redirects(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    forge.act("rename_repo", to="octo/new")
    moved = call("GET", f"{REPO}/issues/{number}")
    assert moved.status_code == 301
    assert call.http.get(moved.headers["location"]).json()["number"] == number
