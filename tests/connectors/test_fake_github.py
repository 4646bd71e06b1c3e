"""The fake GitHub behaves as GitHub does, and in its published forms (connectors.md 20, 24; C162)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

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


PROJECT = """
query Board($login: String!, $number: Int!, $after: String, $archived: Boolean = true) {
  owner: repositoryOwner(login: $login) { __typename ... on ProjectV2Owner { projectV2(number: $number) { ...Board } } }
  viewer { login }
  rateLimit { cost remaining resetAt }
}
fragment Board on ProjectV2 {
  id
  field(name: "status") { __typename ... on ProjectV2SingleSelectField { id name options { id name } } }
  items(first: 2, after: $after) {
    totalCount
    pageInfo { hasNextPage endCursor }
    nodes {
      id type
      isArchived @include(if: $archived)
      content {
        __typename
        ... on Issue { number title labels(first: 5) { nodes { name } } repository { nameWithOwner } }
        ... on DraftIssue { title }
      }
      status: fieldValueByName(name: "Status") {
        __typename ... on ProjectV2ItemFieldSingleSelectValue { name optionId }
      }
    }
  }
}
"""
SET = """
mutation Move($input: UpdateProjectV2ItemFieldValueInput!) {
  updateProjectV2ItemFieldValue(input: $input) { clientMutationId projectV2Item { id } }
}
"""


def ask(call: Caller, query: str, **variables: object) -> dict[str, Any]:
    answer: dict[str, Any] = call("POST", "/graphql", {"query": query, "variables": variables}).json()
    return answer


def test_a_project_board_is_read_in_pages(forge: FakeForge, call: Caller) -> None:
    """C162: the query and its answer fit GitHub's published schema."""
    one = forge.issue(labels=["bug"])
    forge.act("add_item", number=one, status="ready")
    forge.act("add_item", draft="an idea")
    forge.act("add_item", redacted=True)
    board = ask(call, PROJECT, login="octo", number=1)["data"]["owner"]["projectV2"]
    assert [each["type"] for each in board["items"]["nodes"]] == ["ISSUE", "DRAFT_ISSUE"]
    first = board["items"]["nodes"][0]
    assert (first["content"]["number"], first["status"]["name"], first["isArchived"]) == (one, "ready", False)
    after = board["items"]["pageInfo"]["endCursor"]
    rest = ask(call, PROJECT, login="octo", number=1, after=after)["data"]["owner"]["projectV2"]["items"]
    assert ([each["type"] for each in rest["nodes"]], rest["pageInfo"]["hasNextPage"]) == (["REDACTED"], False)
    assert ask(call, PROJECT, login="octo", number=2)["errors"][0]["type"] == "NOT_FOUND"


def test_a_status_is_set_by_its_option_and_an_old_option_is_refused(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    item = forge.act("add_item", number=number, status="ready")["item_id"]
    project = forge.world.projects[0]
    field = project.fields[0]
    review = next(option.id for option in field.options if option.name == "review")
    given = {"projectId": project.id, "itemId": item, "fieldId": field.id, "clientMutationId": "m"}
    done = ask(call, SET, input=given | {"value": {"singleSelectOptionId": review}})
    assert done["data"]["updateProjectV2ItemFieldValue"] == {"clientMutationId": "m", "projectV2Item": {"id": item}}
    assert project.items[0].values[field.id] == review
    forge.act("options_regenerated")
    refused = ask(call, SET, input=given | {"value": {"singleSelectOptionId": review}})
    assert refused["errors"][0]["type"] == "VALIDATION"


def test_an_item_comes_once_and_can_be_archived(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    node = call("GET", f"{REPO}/issues/{number}").json()["node_id"]
    project = forge.world.projects[0]
    add = "mutation($p: ID!, $c: ID!) { addProjectV2ItemById(input: {projectId: $p, contentId: $c}) { item { id } } }"
    made = [ask(call, add, p=project.id, c=node)["data"]["addProjectV2ItemById"]["item"]["id"] for _ in range(2)]
    assert made[0] == made[1]
    away = "mutation { archiveProjectV2Item(input: {projectId: %s, itemId: %s}) { item { isArchived } } }"
    archived = ask(call, away.replace("%s", f'"{project.id}"', 1).replace("%s", f'"{made[0]}"'))
    assert archived["data"]["archiveProjectV2Item"]["item"]["isArchived"]


def test_a_query_that_cannot_be_read_is_an_error_inside_a_success(forge: FakeForge, call: Caller) -> None:
    assert "errors" in ask(call, "query { viewer { login }")
    assert ask(call, "{ viewer { nonsense } }")["errors"][0]["type"] == "UNDEFINED_FIELD"
    assert ask(call, '{ repository(owner: "octo", name: "no") { id } }')["errors"][0]["type"] == "NOT_FOUND"


def test_an_app_gets_a_token_that_ends_by_the_clock_of_the_forge(forge: FakeForge) -> None:
    forge.clock(frozen=True)
    now = int(forge.now().timestamp())

    def claim(**claims: int) -> str:
        part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        return f"e30.{part}.c2ln"

    path = "/app/installations/7/access_tokens"
    with Caller(forge, token=claim(iat=now - 60, exp=now + 540, iss=1)) as app:
        token = app("POST", path).json()["token"]
    with Caller(forge, token=claim(exp=now + 3600)) as app:
        assert app("POST", path).status_code == 401
    with Caller(forge, token=token) as call:
        assert call("GET", REPO).status_code == 200
        forge.clock(advance=3601)
        assert call("GET", REPO).status_code == 401


def test_a_pull_is_changed_and_readied_in_one_document(forge: FakeForge, call: Caller) -> None:
    number = forge.act("create_pull", head="work", title="Work")["number"]
    node = call("GET", f"{REPO}/pulls/{number}").json()["node_id"]
    text = """mutation($id: ID!, $fields: UpdatePullRequestInput!) {
      update: updatePullRequest(input: $fields) { pullRequest { id } }
      draft: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { id isDraft } }
    }"""
    done = ask(call, text, id=node, fields={"pullRequestId": node, "title": "Other", "state": "CLOSED"})
    assert done["data"]["draft"]["pullRequest"]["isDraft"]
    shown = call("GET", f"{REPO}/pulls/{number}").json()
    assert (shown["title"], shown["state"], shown["draft"]) == ("Other", "closed", True)


def test_a_large_file_can_be_read_as_a_blob(forge: FakeForge, call: Caller) -> None:
    sha = call("GET", f"{REPO}/contents/README.md").json()["sha"]
    assert base64.b64decode(call("GET", f"{REPO}/git/blobs/{sha}").json()["content"]) == b"# demo\n"


@pytest.mark.parametrize("body", [{"tree": [{"content": "no path"}]}, {"tree": "text"}, {"tree": [1]}])
def test_a_request_of_another_shape_is_refused_not_dropped(call: Caller, body: object) -> None:
    answer = call("POST", f"{REPO}/git/trees", body)
    assert answer.status_code == 422
    assert call("POST", f"{REPO}/git/trees", [1]).status_code == 400
    assert call.http.post(f"{REPO}/git/trees", content=b"{").status_code == 400
