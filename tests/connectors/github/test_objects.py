"""Each primitive of the GitHub client against the fake, whose every exchange is held against the published forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import httpx
import pytest

from connectors.errors import AmbiguousEffect, BadCard, ForgeRefused
from connectors.fake_forge.running import FakeForge
from connectors.forge.payloads import query_of
from connectors.forge.records import (
    Blocker,
    Check,
    FileDraft,
    Issue,
    IssueDraft,
    IssuePatch,
    IssueQuery,
    LabelDef,
    LabelSwap,
    Missing,
    MissingKind,
    PullDraft,
    PullPatch,
    PullQuery,
    Ref,
    ReleaseDraft,
    Subject,
)
from connectors.github.connector import GitHubClient
from connectors.github.reads import KEYS
from tests.kit.fakes import fake
from tests.kit.github import READ, WRITE, client_at, github
from tests.kit.wire import answering, peer

Pair = tuple[FakeForge, GitHubClient]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with fake("github") as forge, github(forge) as client:
        yield forge, client


def label(forge: FakeForge, name: str) -> LabelDef:
    found = next(each for each in forge.here.labels.values() if each.name == name)
    return LabelDef(str(found.id), found.name)


def test_account_and_repository_are_told_with_their_ids(pair: Pair) -> None:
    _, client = pair
    account = client.whoami(READ)
    assert account.login == "pointsman-bot"
    assert account.rights == ("project", "repo")
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert (repository.path, repository.default_branch, repository.archived) == ("octo/demo", "main", False)
    assert repository.date is not None
    assert client.may_write("octo", READ)
    assert not client.may_write("passer-by", READ)
    assert not client.may_write("nobody", READ)


def test_a_renamed_repository_is_followed_and_told(pair: Pair) -> None:
    """C120: the issue is still the repository's own."""
    forge, client = pair
    number = forge.issue()
    forge.act("rename_repo", to="octo/renamed")
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert repository.moved_to == "octo/renamed"
    assert isinstance(client.issue(number, READ), Issue)


def test_a_repository_that_is_hidden_is_missing(pair: Pair) -> None:
    forge, _ = pair
    with github(forge, repo="octo/nothing") as other:
        assert other.repository(READ) == Missing(MissingKind.NOT_FOUND)
        with pytest.raises(ForgeRefused):
            other.labels(READ)


def test_issues_are_listed_by_label_oldest_first_without_pulls(pair: Pair) -> None:
    """C015."""
    forge, client = pair
    numbers = [forge.issue(f"card {each}", labels=["ready"]) for each in range(3)]
    forge.issue("other")
    pull = forge.act("create_pull", head="work", title="A pull")["number"]
    forge.act("add_label", number=pull, label="ready")
    read = client.issues(IssueQuery(label(forge, "ready")), READ)
    assert [issue.number for issue in read.items] == numbers
    assert read.complete
    assert dict(read.skipped) == {"pull requests": 1}
    newest = client.issues(IssueQuery(newest_first=True, limit=2, author="octo"), READ)
    assert [issue.number for issue in newest.items] == [pull - 1, numbers[-1]]


def test_an_issue_whose_payload_lacks_a_field_is_unfit_and_the_others_are_used(pair: Pair) -> None:
    """C014."""
    forge, _ = pair
    for title in ("one", "two"):
        forge.issue(title)
    headers = {"authorization": f"Bearer {forge.token}"}
    whole = httpx.get(f"{forge.url}/repos/octo/demo/issues", headers=headers, trust_env=False).json()
    del whole[0]["title"]
    with peer(answering(200, whole)) as at:
        other = client_at(f"http://127.0.0.1:{at.port}")
        read = other.issues(IssueQuery(), READ)
        other.close()
    assert [issue.title for issue in read.items] == ["one"]
    assert [(each.number, each.where) for each in read.unfit] == [(2, "title: field required")]
    assert read.complete


def test_more_than_a_page_of_issues_is_read_whole(pair: Pair) -> None:
    """C009: no search endpoint among the requests."""
    forge, client = pair
    for each in range(205):
        forge.issue(f"card {each}")
    read = client.issues(IssueQuery(), READ)
    assert (len(read.items), read.complete) == (205, True)
    assert not any("search" in each["path"] for each in forge.requests())


def test_an_unchanged_listing_costs_nothing(pair: Pair) -> None:
    """C017."""
    forge, client = pair
    for each in range(150):
        forge.issue(f"card {each}")
    first = client.issues(IssueQuery(), READ)
    used = client.pace.budget()
    second = client.issues(IssueQuery(), READ)
    after = client.pace.budget()
    assert first.items == second.items
    assert used is not None
    assert after is not None
    assert used.remaining == after.remaining


def test_an_issue_is_found_gone_moved_or_not_there(pair: Pair) -> None:
    """C012 C013."""
    forge, client = pair
    here, gone, moved, hidden = (forge.issue() for _ in range(4))
    pull = forge.act("create_pull", head="work", title="A pull")["number"]
    forge.act("delete", number=gone)
    target = forge.act("transfer", number=moved, to="octo/other")["number"]
    forge.act("hide", number=hidden)
    found = client.issue(here, READ)
    assert isinstance(found, Issue)
    assert client.issue(gone, READ) == Missing(MissingKind.GONE)
    assert client.issue(moved, READ) == Missing(MissingKind.MOVED, f"octo/other#{target}")
    assert client.issue(hidden, READ) == Missing(MissingKind.NOT_FOUND)
    assert client.issue(pull, READ) == Missing(MissingKind.NOT_FOUND)
    seen = client.issues_many([here, gone, moved, 999], READ)
    assert set(seen.found) == {here}
    assert {number: each.kind for number, each in seen.missing.items()} == {
        gone: MissingKind.GONE,
        moved: MissingKind.MOVED,
        999: MissingKind.NOT_FOUND,
    }


def test_one_failing_issue_spoils_no_other(pair: Pair) -> None:
    """C011."""
    forge, client = pair
    one, two = forge.issue(), forge.issue()
    refusal = {"fault": "status", "with": {"code": 451}}
    forge.script({"match": {"path": f"/repos/octo/demo/issues/{one}"}, **refusal})
    seen = client.issues_many([one, two], READ)
    assert set(seen.found) == {two}
    assert set(seen.unread) == {one}


LABELS = ["stat: stale", "lifecycle/stale", "approved?", "bug#1", "a%2Fb", "❤️", "a,b"]


@pytest.mark.parametrize("name", LABELS)
def test_a_label_of_any_spelling_is_added_listed_and_taken_away(pair: Pair, name: str) -> None:
    """C023 C033: encoded once; a label that a person set stays."""
    forge, client = pair
    forge.act("define_label", label=name)
    number = forge.issue(labels=["bug"])
    client.add_label(number, label(forge, name), WRITE)
    assert forge.labels_of(number) == ["bug", name]
    listed = client.issues(IssueQuery(label(forge, name)), READ)
    assert [issue.number for issue in listed.items] == [number]
    client.remove_label(number, label(forge, name), WRITE)
    assert forge.labels_of(number) == ["bug"]
    with pytest.raises(ForgeRefused) as refused:
        client.remove_label(number, label(forge, name), WRITE)
    assert refused.value.status == 404
    methods = {each["operation"] for each in forge.requests()}
    assert not methods & {"label.set", "label.clear"}


@pytest.mark.parametrize("name", ["", " "])
def test_a_label_without_a_name_never_empties_a_set(pair: Pair, name: str) -> None:
    """C038."""
    forge, client = pair
    number = forge.issue(labels=["bug"])
    for call in (client.add_label, client.remove_label):
        with pytest.raises(BadCard):
            call(number, LabelDef("1", name), WRITE)
    with pytest.raises(BadCard):
        client.swap_labels(number, LabelSwap(), WRITE)
    assert forge.labels_of(number) == ["bug"]
    assert not [each for each in forge.requests() if each["method"] != "GET"]


def test_a_label_is_defined_once(pair: Pair) -> None:
    """C042."""
    _, client = pair
    made = client.define_label("brand new", "00ff00", "text", WRITE)
    assert made in client.labels(READ).items
    with pytest.raises(ForgeRefused) as refused:
        client.define_label("Brand New", "00ff00", "", WRITE)
    assert refused.value.status == 422


def test_an_issue_is_made_edited_closed_and_keeps_its_labels_and_milestone(pair: Pair) -> None:
    forge, client = pair
    made = client.create_issue(IssueDraft("One", "text", (label(forge, "ready"),), ("octo",)), WRITE)
    assert (made.title, made.body, made.labels, made.assignees) == ("One", "text", ("ready",), ("octo",))
    assert client.edit_issue(made.number, IssuePatch(title="Two"), WRITE).body == "text"
    assert not client.set_state(made.number, False, WRITE).is_open
    assert client.set_state(made.number, True, WRITE).is_open
    sent = [each["body"] for each in forge.requests("PATCH")]
    assert sent == [{"title": "Two"}, {"state": "closed"}, {"state": "open"}]
    assert forge.labels_of(made.number) == ["ready"]


def test_assignees_are_added_and_taken_away_one_by_one(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    client.change_assignees(number, (), ("octo",), WRITE)
    client.change_assignees(number, ("octo",), ("octo", "pointsman-bot"), WRITE)
    client.change_assignees(number, ("octo", "pointsman-bot"), ("pointsman-bot",), WRITE)
    assert forge.card(number).assignees == ["pointsman-bot"]
    client.change_assignees(number, ("pointsman-bot",), ("pointsman-bot", "passer-by"), WRITE)
    assert forge.card(number).assignees == ["pointsman-bot"], "dropped in silence: the read-back finds out"


def test_comments_are_made_edited_listed_and_deleted(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    forge.act("comment", number=number, body="from a person")
    made = client.create_comment(Subject(number), "first", WRITE)
    edited = client.edit_comment(number, made.id, "second", WRITE)
    assert (edited.id, edited.body, edited.number) == (made.id, "second", number)
    read = client.comments(Subject(number), READ)
    assert [(each.author, each.body) for each in read.items] == [("octo", "from a person"), ("pointsman-bot", "second")]
    later = client.comments(Subject(number), READ, edited.updated_at + timedelta(seconds=1))
    assert later.items == ()
    client.delete_comment(number, made.id, WRITE)
    assert len(client.comments(Subject(number), READ).items) == 1
    with pytest.raises(ForgeRefused):
        client.edit_comment(number, "no-number", "text", WRITE)


def test_reactions_and_dependencies_are_set(pair: Pair) -> None:
    forge, client = pair
    number, blocker = forge.issue(), forge.issue()
    comment = client.create_comment(Subject(number), "text", WRITE)
    client.add_reaction(number, "", "eyes", WRITE)
    client.add_reaction(number, comment.id, "rocket", WRITE)
    client.add_dependency(number, Blocker(blocker), WRITE)
    assert client.blockers(number, READ).items == (Blocker(blocker),)
    forge.act("close", number=blocker)
    assert client.blockers(number, READ).items == (Blocker(blocker, is_open=False),)
    client.remove_dependency(number, Blocker(blocker), WRITE)
    assert client.blockers(number, READ).items == ()
    with pytest.raises(ForgeRefused):
        client.add_dependency(number, Blocker(999), WRITE)


def test_who_moved_a_card_and_when_is_told_by_its_events(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    client.add_label(number, label(forge, "ready"), WRITE)
    forge.act("remove_label", number=number, label="ready")
    forge.act("close", number=number)
    events = client.label_events(number, READ).items
    assert [(each.actor, each.label, each.added, each.closed) for each in events] == [
        ("pointsman-bot", "ready", True, None),
        ("octo", "ready", False, None),
        ("octo", "", True, True),
    ]


def test_branches_and_files_are_made_read_and_deleted(pair: Pair) -> None:
    _, client = pair
    main = client.ref("main", READ)
    assert isinstance(main, Ref)
    made = client.create_ref("feature/one", main.sha, WRITE)
    assert made == Ref("feature/one", main.sha)
    assert client.ref("feature/one", READ) == made
    assert client.ref("feature", READ) == Missing(MissingKind.NOT_FOUND)
    with pytest.raises(ForgeRefused) as refused:
        client.create_ref("feature/one", main.sha, WRITE)
    assert refused.value.status == 422
    written = client.put_file(FileDraft("a dir/b#1.txt", "feature/one", "hé".encode(), "Add"), WRITE)
    found = client.file("a dir/b#1.txt", "feature/one", READ)
    assert not isinstance(found, Missing)
    assert (found.content, found.sha) == ("hé".encode(), written.sha)
    again = client.put_file(FileDraft("a dir/b#1.txt", "feature/one", b"new", "Change", found.sha), WRITE)
    assert again.commit != written.commit
    assert isinstance(client.file("nothing.txt", "main", READ), Missing)
    client.delete_ref("feature/one", WRITE)
    assert isinstance(client.ref("feature/one", READ), Missing)
    claim = client.create_ref("refs/pointsman/claims/1", main.sha, WRITE)
    assert claim.name == "refs/pointsman/claims/1"
    assert client.ref("refs/pointsman/claims/1", READ) == claim


@pytest.fixture
def branch(pair: Pair) -> str:
    _, client = pair
    main = client.ref("main", READ)
    assert isinstance(main, Ref)
    client.create_ref("work", main.sha, WRITE)
    client.put_file(FileDraft("work.txt", "work", b"work", "Work"), WRITE)
    return "work"


def test_a_pull_is_made_reviewed_and_merged(pair: Pair, branch: str) -> None:
    _, client = pair
    pull = client.create_pull(PullDraft(branch, "main", "A pull", "text"), WRITE)
    assert (pull.state, pull.head, pull.base, pull.draft) == ("open", branch, "main", False)
    assert client.edit_pull(pull.number, PullPatch(title="Better"), WRITE).title == "Better"
    client.request_reviews(pull.number, ("octo",), WRITE)
    review = client.review_pull(pull.number, "comment", "looks fine", WRITE)
    assert review.body == "looks fine"
    assert [each.id for each in client.reviews(pull.number, READ).items] == [review.id]
    shown = client.pull(pull.number, READ)
    assert not isinstance(shown, Missing)
    assert shown.reviewers == ("octo",)
    assert [each.number for each in client.pulls(PullQuery(head=branch, base="main"), READ).items] == [pull.number]
    with pytest.raises(ForgeRefused) as refused:
        client.merge_pull(pull.number, "0" * 40, "merge", WRITE)
    assert refused.value.status == 409
    client.merge_pull(pull.number, pull.head_sha, "squash", WRITE)
    merged = client.pull(pull.number, READ)
    assert not isinstance(merged, Missing)
    assert merged.state == "merged"
    assert merged.merge_sha
    assert client.pulls(PullQuery(), READ).items == ()
    assert [each.number for each in client.pulls(PullQuery(state="merged"), READ).items] == [pull.number]
    assert client.pulls(PullQuery(state="closed"), READ).items == ()


def test_a_pull_becomes_a_draft_and_ready_in_one_request_each(pair: Pair, branch: str) -> None:
    forge, client = pair
    pull = client.create_pull(PullDraft(branch, "main", "A pull", "text", draft=True), WRITE)
    assert pull.draft
    assert not client.edit_pull(pull.number, PullPatch(draft=False), WRITE).draft
    changed = client.edit_pull(pull.number, PullPatch(title="T", body="B", is_open=False, draft=True), WRITE)
    assert (changed.title, changed.body, changed.state, changed.draft) == ("T", "B", "closed", True)
    assert len(forge.requests("POST", "graphql")) == 2


def test_statuses_and_checks_are_one_list_of_the_newest(pair: Pair) -> None:
    forge, client = pair
    main = client.ref("main", READ)
    assert isinstance(main, Ref)
    client.set_status(main.sha, Check("ci/one", "pending"), WRITE)
    client.set_status(main.sha, Check("ci/one", "failure", "broken", "https://ci.example/1"), WRITE)
    forge.act("add_check", sha=main.sha, name="app", conclusion="neutral")
    forge.act("add_check", sha=main.sha, name="slow", status="in_progress", conclusion="")
    checks = client.checks(main.sha, READ)
    assert checks.complete
    assert {check.name: check.state for check in checks.items} == {
        "ci/one": "failure",
        "app": "success",
        "slow": "pending",
    }


def test_a_release_is_found_by_its_tag_also_as_a_draft(pair: Pair) -> None:
    _, client = pair
    made = client.create_release(ReleaseDraft("v1", "One", "text"), WRITE)
    assert client.release("v1", READ) == made
    draft = client.create_release(ReleaseDraft("v2", "Two", "text", draft=True), WRITE)
    assert client.release("v2", READ) == draft
    assert client.release("v3", READ) == Missing(MissingKind.NOT_FOUND)
    with pytest.raises(ForgeRefused):
        client.create_release(ReleaseDraft("v1", "One", "text"), WRITE)


def test_a_workflow_is_dispatched(pair: Pair) -> None:
    forge, client = pair
    forge.here.workflows.append("deploy.yml")
    assert client.start_pipeline("main", {"level": "high"}, WRITE, "deploy.yml") is None
    assert forge.requests(operation="workflow.dispatch")[0]["body"] == {"ref": "main", "inputs": {"level": "high"}}


def test_a_key_that_a_listing_does_not_know_fails_before_any_request() -> None:
    """C022."""
    assert query_of(KEYS["issues"], state="open", labels="") == (("state", "open"),)
    for known in KEYS.values():
        with pytest.raises(KeyError, match="labelz"):
            query_of(known, labelz="ready")


def test_a_switched_off_tracker_is_the_boards_matter(pair: Pair) -> None:
    """C121."""
    forge, client = pair
    forge.act("issues_off")
    with pytest.raises(ForgeRefused) as refused:
        client.issues(IssueQuery(), READ)
    assert refused.value.status == 410
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert not repository.has_issues


def test_an_archived_repository_refuses_writes_by_name(pair: Pair) -> None:
    """C122."""
    forge, client = pair
    number = forge.issue()
    forge.act("archive")
    with pytest.raises(ForgeRefused) as refused:
        client.create_comment(Subject(number), "text", WRITE)
    assert refused.value.evidence.kind == "forbidden"
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert repository.archived


CHANGES: dict[str, Callable[[GitHubClient, int], object]] = {
    "issue.create": lambda client, number: client.create_issue(IssueDraft("t", "b"), WRITE),
    "issue.comment": lambda client, number: client.create_comment(Subject(number), "b", WRITE),
    "issue.edit": lambda client, number: client.edit_issue(number, IssuePatch(title="t"), WRITE),
}


@pytest.mark.parametrize("fault", ["act_then_bad_json", "act_then_empty", "act_then_cut_body", "act_then_bad_gzip"])
@pytest.mark.parametrize("operation", CHANGES)
def test_a_result_that_cannot_be_read_is_a_lost_answer(pair: Pair, operation: str, fault: str) -> None:
    """C057 C097."""
    forge, client = pair
    number = forge.issue()
    forge.script({"match": {"operation": operation}, "fault": fault})
    with pytest.raises(AmbiguousEffect) as lost:
        CHANGES[operation](client, number)
    assert lost.value.evidence.status in (200, 201)
    assert len(forge.requests(operation=operation)) == 1
