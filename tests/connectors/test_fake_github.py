"""The fake GitHub behaves as GitHub does, and in its published forms (connectors.md 20, 24; C162)."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from connectors.fake_forge.running import FakeForge
from tests.kit.fakes import Caller, fake

REPO = "/repos/octo/demo"


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake("github") as running:
        yield running


@pytest.fixture
def call(forge: FakeForge) -> Iterator[Caller]:
    with Caller(forge) as caller:
        yield caller


def test_an_issue_is_made_read_edited_and_closed(forge: FakeForge, call: Caller) -> None:
    """C162: every exchange of this file is held against the published description by the fixture."""
    made = call("POST", f"{REPO}/issues", {"title": "One", "body": "text", "labels": ["ready"], "assignees": ["octo"]})
    assert made.status_code == 201
    number = made.json()["number"]
    edited = call("PATCH", f"{REPO}/issues/{number}", {"title": "Two", "state": "closed"})
    assert (edited.json()["title"], edited.json()["state"]) == ("Two", "closed")
    assert call("GET", f"{REPO}/issues/{number}").json()["closed_at"]
    assert [each["event"] for each in call("GET", f"{REPO}/issues/{number}/events").json()] == [
        "labeled",
        "assigned",
        "renamed",
        "closed",
    ]


def test_labels_fold_case_and_unknown_ones_are_made_on_use(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    assert [each["name"] for each in call("POST", f"{REPO}/issues/{number}/labels", {"labels": ["REVIEW"]}).json()] == [
        "ready",
        "review",
    ]
    call("POST", f"{REPO}/issues/{number}/labels", ["brand new"])
    assert call("GET", f"{REPO}/labels/brand%20new").status_code == 200
    assert call("DELETE", f"{REPO}/issues/{number}/labels/READY").status_code == 200
    assert call("DELETE", f"{REPO}/issues/{number}/labels/ready").status_code == 404
    assert call("POST", f"{REPO}/issues/{number}/labels", {"labels": []}).json() == []
    assert call("POST", f"{REPO}/labels", {"name": "Ready", "color": "ff0000"}).status_code == 422


def test_a_list_is_newest_first_paged_and_holds_pulls(forge: FakeForge, call: Caller) -> None:
    for _ in range(3):
        forge.issue()
    forge.act("create_pull", head="work", title="A pull")
    first = call("GET", f"{REPO}/issues", params={"per_page": "2"})
    assert [each["number"] for each in first.json()] == [4, 3]
    assert "pull_request" in first.json()[0]
    assert 'rel="next"' in first.headers["link"]
    second = call.http.get(first.links["next"]["url"])
    assert [each["number"] for each in second.json()] == [2, 1]
    assert "next" not in second.links
    ascending = call("GET", f"{REPO}/issues", params={"direction": "asc", "sort": "created", "labels": "nope"})
    assert ascending.json() == []


def test_a_validator_saves_the_budget(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    first = call("GET", f"{REPO}/issues/{number}")
    second = call("GET", f"{REPO}/issues/{number}", headers={"If-None-Match": first.headers["etag"]})
    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"]
    forge.act("edit", number=number, title="Other")
    assert call("GET", f"{REPO}/issues/{number}", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_comments_are_limited_and_reactions_are_one_per_name(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    path = f"{REPO}/issues/{number}/comments"
    made = call("POST", path, {"body": "😀" * 32_768})
    assert made.status_code == 201
    assert call("POST", path, {"body": "😀" * 32_768 + "x"}).status_code == 422
    comment = f"{REPO}/issues/comments/{made.json()['id']}"
    assert call("PATCH", comment, {"body": "new"}).json()["body"] == "new"
    assert [each["body"] for each in call("GET", path).json()] == ["new"]
    assert call("POST", f"{comment}/reactions", {"content": "eyes"}).status_code == 201
    assert call("POST", f"{comment}/reactions", {"content": "eyes"}).status_code == 200
    assert call("POST", f"{REPO}/issues/{number}/reactions", {"content": "+1"}).status_code == 201
    assert call("DELETE", comment).status_code == 204
    assert call("GET", comment).status_code == 404


def test_who_may_not_be_assigned_is_dropped_without_a_word(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    path = f"{REPO}/issues/{number}/assignees"
    answer = call("POST", path, {"assignees": ["octo", "passer-by"]})
    assert [each["login"] for each in answer.json()["assignees"]] == ["octo"]
    assert call("GET", f"{REPO}/assignees/octo").status_code == 204
    assert call("GET", f"{REPO}/assignees/passer-by").status_code == 404
    assert call("DELETE", path, {"assignees": ["octo"]}).json()["assignees"] == []


def test_blockers_are_named_by_id(forge: FakeForge, call: Caller) -> None:
    one, two = forge.issue(), forge.issue()
    path = f"{REPO}/issues/{one}/dependencies/blocked_by"
    wanted = forge.card(two).id
    assert call("POST", path, {"issue_id": wanted}).status_code == 201
    assert [each["number"] for each in call("GET", path).json()] == [two]
    assert call("POST", path, {"issue_id": wanted}).status_code == 422
    assert call("DELETE", f"{path}/{wanted}").status_code == 200
    assert call("GET", path).json() == []


def test_a_pull_is_made_reviewed_and_merged_with_its_head(forge: FakeForge, call: Caller) -> None:
    forge.act("put_file", path="README.md", text="more")
    main = call("GET", f"{REPO}/git/ref/heads/main").json()["object"]["sha"]
    assert call("POST", f"{REPO}/git/refs", {"ref": "refs/heads/work", "sha": main}).status_code == 201
    assert call("POST", f"{REPO}/git/refs", {"ref": "refs/heads/work", "sha": main}).status_code == 422
    pull = {"head": "work", "base": "main", "title": "Work", "body": "Fixes #1"}
    assert call("POST", f"{REPO}/pulls", pull).status_code == 422
    content = base64.b64encode(b"x").decode()
    put = call("PUT", f"{REPO}/contents/a/b.txt", {"message": "m", "content": content, "branch": "work"})
    assert put.status_code == 201
    issue = forge.issue()
    made = call("POST", f"{REPO}/pulls", pull | {"body": f"Fixes #{issue}"})
    number, head = made.json()["number"], made.json()["head"]["sha"]
    assert call("POST", f"{REPO}/pulls", pull).status_code == 422
    assert call("POST", f"{REPO}/pulls/{number}/reviews", {"event": "COMMENT", "body": "Looks fine"}).status_code == 200
    assert call("POST", f"{REPO}/pulls/{number}/requested_reviewers", {"reviewers": ["octo"]}).status_code == 201
    assert call("GET", f"{REPO}/pulls/{number}/reviews").json()[0]["state"] == "COMMENTED"
    assert call("PUT", f"{REPO}/pulls/{number}/merge", {"sha": main}).status_code == 409
    assert call("GET", f"{REPO}/pulls", params={"head": "octo:work"}).json()[0]["number"] == number
    merged = call("PUT", f"{REPO}/pulls/{number}/merge", {"sha": head, "merge_method": "squash"})
    assert merged.json()["merged"]
    assert call("GET", f"{REPO}/pulls/{number}").json()["merged"]
    assert forge.card(issue).state == "closed"


def test_a_file_is_put_only_over_the_blob_that_is_named(forge: FakeForge, call: Caller) -> None:
    path = f"{REPO}/contents/README.md"
    before = call("GET", path).json()
    content = base64.b64encode(b"new").decode()
    given = {"message": "m", "content": content, "branch": "main"}
    assert call("PUT", path, given).status_code == 422
    assert call("PUT", path, given | {"sha": "0" * 40}).status_code == 409
    assert call("PUT", path, given | {"sha": before["sha"]}).status_code == 200
    assert base64.b64decode(call("GET", path).json()["content"]) == b"new"
    assert call("GET", f"{REPO}/contents/nothing").status_code == 404


def test_statuses_checks_releases_and_workflows_are_kept(forge: FakeForge, call: Caller) -> None:
    sha = call("GET", f"{REPO}/commits/main").json()["sha"]
    assert call("POST", f"{REPO}/statuses/{sha}", {"state": "success", "context": "ci"}).status_code == 201
    assert call("GET", f"{REPO}/commits/{sha}/status").json()["state"] == "success"
    assert len(call("GET", f"{REPO}/commits/{sha}/statuses").json()) == 1
    forge.act("add_check", sha=sha, name="build", conclusion="failure")
    assert call("GET", f"{REPO}/commits/{sha}/check-runs").json()["check_runs"][0]["conclusion"] == "failure"
    made = call("POST", f"{REPO}/releases", {"tag_name": "v1", "name": "One", "body": "b", "draft": False})
    assert made.status_code == 201
    assert call("GET", f"{REPO}/releases/tags/v1").json()["id"] == made.json()["id"]
    assert call("POST", f"{REPO}/releases", {"tag_name": "v1"}).status_code == 422
    assert call("POST", f"{REPO}/actions/workflows/ci.yml/dispatches", {"ref": "main"}).status_code == 204
    assert forge.here.runs[0].file == "ci.yml"
    assert call("GET", f"{REPO}/branches/main").json()["commit"]["sha"] == sha


def test_a_small_commit_and_a_ref_can_hold_a_claim(forge: FakeForge, call: Caller) -> None:
    tree = call(
        "POST", f"{REPO}/git/trees", {"tree": [{"path": "c", "mode": "100644", "type": "blob", "content": "x"}]}
    )
    commit = call("POST", f"{REPO}/git/commits", {"message": "claim", "tree": tree.json()["sha"], "parents": []})
    sha = commit.json()["sha"]
    ref = "refs/pointsman/claims/7"
    assert call("POST", f"{REPO}/git/refs", {"ref": ref, "sha": sha}).status_code == 201
    assert call("GET", f"{REPO}/git/ref/pointsman/claims/7").json()["object"]["sha"] == sha
    assert call("GET", f"{REPO}/git/commits/{sha}").json()["message"] == "claim"
    assert len(call("GET", f"{REPO}/git/matching-refs/pointsman/claims").json()) == 1
    assert call("DELETE", f"{REPO}/git/refs/pointsman/claims/7").status_code == 204
    assert call("DELETE", f"{REPO}/git/refs/pointsman/claims/7").status_code == 422


def test_account_rights_budget_and_repository_are_told(forge: FakeForge, call: Caller) -> None:
    assert call("GET", "/user").json()["login"] == "pointsman-bot"
    assert call("GET", "/rate_limit").json()["rate"]["limit"] == 5000
    assert call("GET", REPO).json()["permissions"]["push"] is True
    assert call("GET", f"{REPO}/collaborators/octo/permission").json()["permission"] == "admin"
    assert call("GET", f"{REPO}/collaborators/passer-by/permission").json()["permission"] == "read"
    assert call("GET", "/api/v3/user").status_code == 200


def test_what_is_gone_hidden_moved_or_renamed_answers_as_github_does(forge: FakeForge, call: Caller) -> None:
    gone, hidden, moved = forge.issue(), forge.issue(), forge.issue()
    forge.act("delete", number=gone)
    forge.act("hide", number=hidden)
    forge.act("transfer", number=moved, to="octo/other")
    assert call("GET", f"{REPO}/issues/{gone}").status_code == 410
    assert call("GET", f"{REPO}/issues/{hidden}").status_code == 404
    redirect = call("GET", f"{REPO}/issues/{moved}")
    assert redirect.status_code == 301
    assert call.http.get(redirect.headers["location"]).json()["number"] == 1
    below = call("GET", f"{REPO}/issues/{moved}/comments")
    assert (below.status_code, below.headers.get("location")) == (301, None)
    forge.act("rename_repo", to="octo/renamed")
    assert call("GET", f"{REPO}/issues").status_code == 301
    assert call("POST", f"{REPO}/issues", {"title": "x"}).status_code == 307
    forge.act("issues_off")
    assert call("GET", "/repos/octo/renamed/issues").status_code == 410


def test_credentials_scopes_and_archives_are_respected(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    with Caller(forge, token="wrong") as stranger:
        assert stranger("GET", REPO).status_code == 401
    forge.act("scope_missing", scope="contents")
    assert call("PUT", f"{REPO}/contents/x", {"message": "m", "content": "eA=="}).status_code == 403
    forge.act("archive")
    assert call("POST", f"{REPO}/issues/{number}/comments", {"body": "x"}).status_code == 403
    forge.act("revoke_token")
    assert call("GET", REPO).status_code == 401


def test_the_budget_runs_out_and_comes_back_with_the_hour(forge: FakeForge, call: Caller) -> None:
    forge.act("set_limit", remaining=1)
    assert call("GET", REPO).status_code == 200
    out = call("GET", REPO)
    assert (out.status_code, out.headers["x-ratelimit-remaining"]) == (403, "0")
    forge.clock(advance=3601)
    assert call("GET", REPO).status_code == 200
