"""What the clients of GitLab and Forgejo read of the fake (connectors.md 5, 20)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from connectors.answer import StopReason
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeRefused, RateLimited, Unreachable
from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ForgeClient
from connectors.forge.payloads import query_of
from connectors.forge.records import (
    Blocker,
    Issue,
    IssueQuery,
    LabelDef,
    Missing,
    MissingKind,
    PullQuery,
    Ref,
    Subject,
)
from connectors.forgejo.reads import KEYS as FORGEJO_KEYS
from connectors.gitlab.reads import KEYS as GITLAB_KEYS
from tests.kit.forge_clients import READ, client_of


def label(forge: FakeForge, name: str) -> LabelDef:
    return next(LabelDef(str(each.id), each.name) for each in forge.here.labels.values() if each.name == name)


def found(issue: Issue | Missing) -> Issue:
    assert isinstance(issue, Issue)
    return issue


def test_the_account_the_repository_and_rights_are_told(forge: FakeForge, client: ForgeClient) -> None:
    assert client.whoami(READ).login == "pointsman-bot"
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert (repository.path, repository.default_branch, repository.archived) == ("octo/demo", "main", False)
    assert repository.moved_to == ""
    assert repository.date is not None
    assert [client.may_write(login, READ) for login in ("octo", "passer-by", "nobody")] == [True, False, False]
    client.whoami(READ)
    assert len(forge.requests(operation="account.get")) == 1
    client.whoami(Errand(Purpose.DOCTOR))
    assert len(forge.requests(operation="account.get")) == 2


def test_an_issue_is_read_with_everything(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue("Título 😀", body="a\r\nb", labels=["ready", "bug"])
    forge.act("assign", number=number, logins=["octo"])
    issue = found(client.issue(number, READ))
    assert (issue.title, issue.body, issue.is_open, issue.author) == ("Título 😀", "a\r\nb", True, "octo")
    assert sorted(issue.labels) == ["bug", "ready"]
    assert issue.assignees == ("octo",)
    assert issue.url.endswith(f"/issues/{number}")
    assert issue.created_at.tzinfo is not None


def test_issues_come_by_creation_with_their_label_and_state(forge: FakeForge, client: ForgeClient) -> None:
    for count in range(5):
        forge.issue(f"card {count}", labels=["ready"] if count % 2 else [])
        forge.clock(advance=10)
    forge.act("close", number=4)
    everything = client.issues(IssueQuery(state="all"), READ)
    assert [issue.number for issue in everything.items] == [1, 2, 3, 4, 5]
    assert everything.complete
    ready = client.issues(IssueQuery(label=label(forge, "ready")), READ)
    assert [issue.number for issue in ready.items] == [2]
    assert [issue.number for issue in client.issues(IssueQuery(state="closed"), READ).items] == [4]
    newest = client.issues(IssueQuery(state="all", newest_first=True, limit=2), READ)
    assert [issue.number for issue in newest.items] == [5, 4]
    oldest = client.issues(IssueQuery(state="all", limit=2), READ)
    assert [issue.number for issue in oldest.items] == [1, 2]
    since = found(client.issue(4, READ)).updated_at
    assert 4 in [issue.number for issue in client.issues(IssueQuery(state="all", since=since), READ).items]
    later = client.issues(IssueQuery(state="all", since=forge.now() + timedelta(seconds=60)), READ)
    assert later.items == ()
    assert client.issues(IssueQuery(author="passer-by"), READ).items == ()


def test_pulls_incidents_and_others_are_no_cards(forge: FakeForge, client: ForgeClient) -> None:
    """C015: what is no card is left out and counted."""
    number = forge.issue()
    forge.act("create_pull", head="work")
    if forge.kind == "gitlab":
        forge.issue("burning", kind="incident")
    read = client.issues(IssueQuery(), READ)
    assert [issue.number for issue in read.items] == [number]
    if forge.kind == "forgejo":
        assert client.issue(2, READ) == Missing(MissingKind.NOT_FOUND)


def test_a_listing_goes_over_all_pages_and_a_clamp_is_followed(forge: FakeForge, client: ForgeClient) -> None:
    """C008, C010: by links alone, whatever the forge clamps and does not count."""
    for _ in range(120):
        forge.issue()
    assert len(client.issues(IssueQuery(), READ).items) == 120
    forge.script({"fault": "page_clamp", "with": {"to": 30}})
    read = client.issues(IssueQuery(), READ)
    assert (len(read.items), read.complete) == (120, True)
    forge.script({"fault": "no_totals"})
    assert client.issues(IssueQuery(), READ).complete
    forge.script({"fault": "page_clamp", "with": {"to": 30, "links": False}})
    cut = client.issues(IssueQuery(), READ)
    assert (cut.complete, cut.stopped) == (False, StopReason.CLAMPED)


@pytest.mark.parametrize(
    ("fault", "stopped"),
    [
        ("page_loop", StopReason.LOOP),
        ("page_cut", StopReason.DECODE),
        ("page_empty_next", None),
        ("page_overlap", None),
    ],
)
def test_pages_that_misbehave_are_survived_or_told(
    forge: FakeForge, client: ForgeClient, fault: str, stopped: StopReason | None
) -> None:
    """C004, C005, C006."""
    for _ in range(120):
        forge.issue()
    forge.script({"fault": fault, "match": {"operation": "issue.list"}})
    read = client.issues(IssueQuery(), READ)
    assert (read.complete, read.stopped) == (stopped is None, stopped)
    if stopped is None:
        assert len({issue.number for issue in read.items}) == len(read.items) == 120


def test_an_issue_that_is_not_there_says_how(forge: FakeForge, client: ForgeClient) -> None:
    gone, hidden, moved = forge.issue(), forge.issue(), forge.issue()
    forge.act("delete", number=gone)
    forge.act("hide", number=hidden)
    assert client.issue(gone, READ) == Missing(MissingKind.NOT_FOUND)
    assert client.issue(hidden, READ) == Missing(MissingKind.NOT_FOUND)
    assert client.issue(999, READ) == Missing(MissingKind.NOT_FOUND)
    if forge.kind == "gitlab":
        forge.act("transfer", number=moved, to="octo/other")
        absent = client.issue(moved, READ)
        assert isinstance(absent, Missing)
        assert (absent.kind, absent.moved_to.startswith("issue id ")) == (MissingKind.MOVED, True)


def test_many_issues_by_number_land_in_one_place_each(forge: FakeForge, client: ForgeClient) -> None:
    """C012: an absence is proved by a read of the card itself."""
    numbers = [forge.issue() for _ in range(4)]
    forge.act("delete", number=numbers[1])
    sighting = client.issues_many([*numbers, 99], READ)
    assert sorted(sighting.found) == [1, 3, 4]
    assert {number: each.kind for number, each in sighting.missing.items()} == {
        2: MissingKind.NOT_FOUND,
        99: MissingKind.NOT_FOUND,
    }
    assert sighting.unread == {}
    forge.script({"fault": "status", "with": {"code": 502}})
    broken = client.issues_many(numbers[:1], READ)
    assert (broken.found, broken.missing, list(broken.unread)) == ({}, {}, numbers[:1])


def test_comments_are_peoples_and_ours_only(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    forge.act("comment", number=number, body="first\r\n😀")
    forge.act("close", number=number)
    forge.clock(advance=100)
    since = forge.now()
    forge.act("comment", number=number, body="second", by="pointsman-bot")
    read = client.comments(Subject(number), READ)
    assert [(each.author, each.body) for each in read.items] == [
        ("octo", "first\r\n😀"),
        ("pointsman-bot", "second"),
    ]
    assert read.items[0].url.rpartition("/")[2].startswith(f"{number}#")
    assert [each.body for each in client.comments(Subject(number), READ, since - timedelta(seconds=5)).items] == [
        "second"
    ]


def test_comments_of_a_pull_are_told_from_those_of_an_issue(forge: FakeForge, client: ForgeClient) -> None:
    forge.issue()
    number = forge.act("create_pull", head="work")["number"]
    forge.act("comment", number=number, body="on the pull", pull=True)
    assert [each.body for each in client.comments(Subject(number, is_pull=True), READ).items] == ["on the pull"]


def test_who_moved_a_card_is_told(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue(labels=["ready"])
    forge.clock(advance=10)
    forge.act("move", number=number, to="review", **{"from": "ready"})
    forge.act("close", number=number, by="pointsman-bot")
    events = client.label_events(number, READ).items
    assert [(event.label, event.added, event.closed, event.actor) for event in events] == [
        ("ready", True, None, "octo"),
        ("ready", False, None, "octo"),
        ("review", True, None, "octo"),
        ("", True, True, "pointsman-bot"),
    ]


def test_blockers_are_read_over_repositories(forge: FakeForge, client: ForgeClient) -> None:
    one, two = forge.issue(), forge.issue()
    forge.issue(repo="octo/other")
    forge.act("block", number=one, by_number=two)
    forge.act("block", number=one, by_number=1, by_repo="octo/other")
    forge.act("close", number=two)
    assert client.blockers(one, READ).items == (Blocker(two, "", False), Blocker(1, "octo/other", True))
    assert client.blockers(two, READ).items == ()


def test_pulls_checks_refs_files_and_releases_are_read(forge: FakeForge, client: ForgeClient) -> None:
    made = forge.act("create_pull", head="work", title="Work", body="text")
    pull = client.pull(made["number"], READ)
    assert not isinstance(pull, Missing)
    assert (pull.title, pull.state, pull.head, pull.base, pull.head_sha) == (
        "Work",
        "open",
        "work",
        "main",
        made["sha"],
    )
    forge.act("pull_state", number=pull.number, mergeable=None)
    assert [each.number for each in client.pulls(PullQuery(head="work", base="main"), READ).items] == [pull.number]
    assert client.pulls(PullQuery(head="other"), READ).items == ()
    forge.act("merge", number=pull.number)
    merged = client.pull(pull.number, READ)
    assert not isinstance(merged, Missing)
    assert (merged.state, bool(merged.merge_sha), merged.head_sha) == ("merged", True, made["sha"])
    assert [each.number for each in client.pulls(PullQuery(state="merged"), READ).items] == [pull.number]
    assert client.pull(99, READ) == Missing(MissingKind.NOT_FOUND)
    main = client.ref("main", READ)
    assert isinstance(main, Ref)
    assert client.ref("refs/heads/main", READ) == main
    assert isinstance(client.ref("no/such", READ), Missing)
    file = client.file("README.md", "main", READ)
    assert not isinstance(file, Missing)
    assert file.content == b"# demo\n"
    assert client.file("README.md", "", READ) == file
    assert client.file("nothing/here.md", "main", READ) == Missing(MissingKind.NOT_FOUND)
    assert client.release("v9", READ) == Missing(MissingKind.NOT_FOUND)
    assert client.checks(main.sha, READ).items == ()
    assert client.reviews(pull.number, READ).items == ()


def test_a_renamed_repository_says_where_it_is(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue("kept")
    forge.act("rename_repo", to="octo/new")
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert repository.moved_to == "octo/new"
    assert found(client.issue(number, READ)).title == "kept"


def test_a_repository_that_is_hidden_or_without_issues_is_not_an_empty_one(
    forge: FakeForge, client: ForgeClient
) -> None:
    forge.issue()
    forge.act("issues_off")
    with pytest.raises(ForgeRefused):
        client.issues(IssueQuery(), READ)
    repository = client.repository(READ)
    assert not isinstance(repository, Missing)
    assert not repository.has_issues
    forge.act("hide")
    assert client.repository(READ) == Missing(MissingKind.NOT_FOUND)
    with pytest.raises(ForgeRefused):
        client.labels(READ)


@pytest.mark.parametrize(("status", "kind"), [(401, "unauthorised"), (403, "forbidden"), (404, "not_found_or_hidden")])
def test_refusals_keep_their_kind(forge: FakeForge, client: ForgeClient, status: int, kind: str) -> None:
    forge.script({"fault": "status", "with": {"code": status}})
    with pytest.raises(ForgeRefused) as caught:
        client.labels(READ)
    assert (caught.value.status, caught.value.evidence.kind) == (status, kind)


def test_a_throttle_is_no_answer_about_a_card(forge: FakeForge) -> None:
    for fault in ("throttle_primary", "throttle_secondary", "throttle_plain", "throttle_date_form"):
        with client_of(forge) as client:
            forge.script({"fault": fault})
            with pytest.raises(RateLimited) as caught:
                client.issue(1, READ)
            assert caught.value.until is not None


def test_a_page_that_fails_makes_the_listing_incomplete(forge: FakeForge, client: ForgeClient) -> None:
    """C003."""
    for _ in range(120):
        forge.issue()
    forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "issue.list", "after": 1}})
    read = client.issues(IssueQuery(newest_first=True), READ)
    assert (read.complete, read.stopped) == (False, StopReason.PAGE_FAILED)
    assert read.items


def test_a_payload_that_does_not_fit_is_told_by_its_field(forge: FakeForge, client: ForgeClient) -> None:
    forge.issue()
    forge.script({"fault": "act_then_bad_json", "with": {"body": '{"id": 1}'}})
    with pytest.raises(Unreachable) as caught:
        client.issue(1, READ)
    assert caught.value.stopped is StopReason.DECODE
    assert "number" in caught.value.message or "iid" in caught.value.message


def test_a_filter_that_the_forge_ignores_widens_nothing(forge: FakeForge, client: ForgeClient) -> None:
    """C028 F31: a label that the forge knows no more, a filter that it ignores: only cards that carry it are listed."""
    forge.issue(labels=["bug"])
    carries = forge.issue(labels=["ready"])
    ready, review = label(forge, "ready"), label(forge, "review")
    forge.script({"fault": "unknown_filter_ignored"})
    assert [issue.number for issue in client.issues(IssueQuery(label=ready), READ).items] == [carries]
    forge.act("delete_label", label="review")
    read = client.issues(IssueQuery(label=review), READ)
    assert (read.items, read.complete) == ((), True)


def test_query_keys_that_nobody_knows_fail_with_us() -> None:
    """C022: the forges ignore an unknown key, and the list would be wider than meant."""
    for keys in (GITLAB_KEYS["issues"], FORGEJO_KEYS["issues"]):
        with pytest.raises(KeyError):
            query_of(keys, labelz="ready")
        assert query_of(keys, state="all", labels="") == (("state", "all"),)
