"""What the clients of GitLab and Forgejo change on the fake: one request each, and what becomes of it (connectors.md 6,
7, 20)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from connectors.errand import Errand, Purpose
from connectors.errors import (
    AmbiguousEffect,
    BadCard,
    EffectMissing,
    ForgeRefused,
    NotSent,
    RateLimited,
    Unsupported,
)
from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ForgeClient
from connectors.forge.records import (
    Blocker,
    Check,
    FileDraft,
    Issue,
    IssueDraft,
    IssuePatch,
    LabelDef,
    LabelSwap,
    Missing,
    Pull,
    PullDraft,
    PullPatch,
    ReleaseDraft,
    Subject,
)
from tests.kit.forge_clients import READ, WRITE, client_of

SOON = Errand(Purpose.ACTION, effect_id="e1", deadline=1.5)


def label(client: ForgeClient, name: str) -> LabelDef:
    return next(each for each in client.labels(READ).items if each.name == name)


def issue_of(client: ForgeClient, number: int) -> Issue:
    issue = client.issue(number, READ)
    assert isinstance(issue, Issue)
    return issue


def pull_of(client: ForgeClient, number: int) -> Pull:
    pull = client.pull(number, READ)
    assert isinstance(pull, Pull)
    return pull


def mutations(forge: FakeForge) -> list[tuple[str, str]]:
    return [(each["method"], each["operation"]) for each in forge.requests() if each["method"] != "GET"]


def test_a_label_comes_and_goes_alone(forge: FakeForge, client: ForgeClient) -> None:
    """C023 F27: what others put on stays, and no request replaces a set."""
    number = forge.issue(labels=["bug", "ready"])
    client.add_label(number, label(client, "review"), WRITE)
    client.remove_label(number, label(client, "ready"), WRITE)
    assert sorted(forge.labels_of(number)) == ["bug", "review"]
    for request in forge.requests():
        assert request["operation"] not in ("label.set", "label.clear")
        assert "labels" not in (request["body"] or {}) or request["method"] == "POST"


def test_gitlab_moves_a_card_in_one_request(forge: FakeForge, client: ForgeClient) -> None:
    """C024: one request names one label to add, one to take away, and the state."""
    number = forge.issue(labels=["ready", "bug"])
    swap = LabelSwap(label(client, "review"), label(client, "ready"), False)
    if not client.traits.swaps:
        with pytest.raises(BadCard):
            client.swap_labels(number, swap, WRITE)
        return
    client.swap_labels(number, swap, WRITE)
    assert (sorted(forge.labels_of(number)), forge.card(number).state) == (["bug", "review"], "closed")
    assert mutations(forge) == [("PUT", "issue.edit")]
    with pytest.raises(BadCard):
        client.swap_labels(number, LabelSwap(), WRITE)
    with pytest.raises(BadCard):
        client.add_label(number, LabelDef("1", "two, labels"), WRITE)


@pytest.mark.parametrize("name", ["stat: stale", "lifecycle/stale", "approved?", "bug#1", "a%2Fb", "🏷️", "trailing "])
def test_labels_of_any_spelling_come_and_go(forge: FakeForge, client: ForgeClient, name: str) -> None:
    """C030, C033, F30, F31: a removal names the label so that exactly it goes; Forgejo's goes by number."""
    name = name.strip() if forge.kind == "gitlab" else name  # GitLab keeps no blank at the end
    number = forge.issue(labels=[name, "bug"])
    target = label(client, name)
    client.remove_label(number, target, WRITE)
    assert forge.labels_of(number) == ["bug"]
    client.add_label(number, target, WRITE)
    assert forge.labels_of(number) == ["bug", name]


def test_labels_of_two_cases_are_two_labels(forge: FakeForge, client: ForgeClient) -> None:
    """C031: both forges are exact."""
    number = forge.issue(labels=["ready", "Ready"])
    client.remove_label(number, label(client, "Ready"), WRITE)
    assert forge.labels_of(number) == ["ready"]
    assert not client.traits.folds_case


def test_a_label_that_the_forge_drops_in_silence_shows_in_the_read_back(forge: FakeForge, client: ForgeClient) -> None:
    """C029 F31: the call itself raises nothing."""
    number = forge.issue()
    gone = label(client, "review")
    forge.act("delete_label", label="review")
    forge.script({"fault": "unknown_label_dropped"})
    client.add_label(number, gone, WRITE)
    assert issue_of(client, number).labels == ()


def test_a_label_is_defined_once(forge: FakeForge, client: ForgeClient) -> None:
    made = client.define_label("new one", "ff00aa", "what it is", WRITE)
    assert label(client, "new one") == made
    assert made.color == "ff00aa"


def test_an_issue_is_made_changed_closed_and_reopened(forge: FakeForge, client: ForgeClient) -> None:
    draft = IssueDraft("Title", "text\n\n<!-- m -->", (label(client, "ready"), label(client, "bug")), ("octo",))
    made = client.create_issue(draft, WRITE)
    assert (made.title, made.body, made.author, made.assignees) == (
        "Title",
        "text\n\n<!-- m -->",
        "pointsman-bot",
        ("octo",),
    )
    assert sorted(made.labels) == ["bug", "ready"]
    assert client.edit_issue(made.number, IssuePatch(title="Other"), WRITE).title == "Other"
    assert client.edit_issue(made.number, IssuePatch(body=""), WRITE).body == ""
    assert not client.set_state(made.number, False, WRITE).is_open
    assert client.set_state(made.number, True, WRITE).is_open
    assert sorted(forge.labels_of(made.number)) == ["bug", "ready"]


def test_assignees_are_written_as_a_set(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    forge.act("rights", login="passer-by", permission="write")
    client.change_assignees(number, (), ("octo", "passer-by"), WRITE)
    assert sorted(issue_of(client, number).assignees) == ["octo", "passer-by"]
    client.change_assignees(number, ("octo", "passer-by"), (), WRITE)
    assert issue_of(client, number).assignees == ()
    with pytest.raises(ForgeRefused):
        client.change_assignees(number, (), ("nobody-at-all",), WRITE)


def test_comments_are_made_edited_and_deleted(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    made = client.create_comment(Subject(number), "text 😀\n\n<!-- m -->", WRITE)
    assert (made.author, made.body, made.number) == ("pointsman-bot", "text 😀\n\n<!-- m -->", number)
    assert client.comments(Subject(number), READ).items == (made,)
    assert client.edit_comment(number, made.id, "other", WRITE).body == "other"
    client.delete_comment(number, made.id, WRITE)
    assert client.comments(Subject(number), READ).items == ()
    with pytest.raises(ForgeRefused) as caught:
        client.edit_comment(number, "no number", "x", WRITE)
    assert caught.value.status == 404


def test_a_reaction_is_given_once(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    comment = client.create_comment(Subject(number), "text", WRITE)
    for _ in range(2):
        client.add_reaction(number, "", "+1", WRITE)
        client.add_reaction(number, comment.id, "eyes", WRITE)
    assert len(forge.card(number).reactions) == len(forge.card(number).comments[0].reactions) == 1
    if forge.kind == "gitlab":
        with pytest.raises(ForgeRefused):
            client.add_reaction(99, "", "+1", WRITE)


def test_dependencies_come_and_go(forge: FakeForge, client: ForgeClient) -> None:
    one, two = forge.issue(), forge.issue()
    forge.issue(repo="octo/other")
    for blocker in (Blocker(two), Blocker(1, "octo/other")):
        client.add_dependency(one, blocker, WRITE)
    assert len(client.blockers(one, READ).items) == 2
    client.remove_dependency(one, Blocker(1, "octo/other"), WRITE)
    assert client.blockers(one, READ).items == (Blocker(two),)
    client.remove_dependency(one, Blocker(two), WRITE)
    with pytest.raises(ForgeRefused):
        client.remove_dependency(one, Blocker(two), WRITE)


def test_a_branch_a_file_and_a_pull_lead_to_a_merge(forge: FakeForge, client: ForgeClient) -> None:
    main = client.ref("main", READ)
    assert not isinstance(main, Missing)
    assert client.create_ref("work/one", main.sha, WRITE).sha == main.sha
    change = client.put_file(FileDraft("a/b c.txt", "work/one", b"x\x00y", "message"), WRITE)
    file = client.file("a/b c.txt", "work/one", READ)
    assert not isinstance(file, Missing)
    assert (file.content, file.sha) == (b"x\x00y", change.sha)
    again = client.put_file(FileDraft("a/b c.txt", "work/one", b"z", "message", file.sha), WRITE)
    assert again.commit == forge.here.refs["refs/heads/work/one"]
    with pytest.raises(ForgeRefused):
        client.put_file(FileDraft("a/b c.txt", "work/one", b"q", "message", "0" * 40), WRITE)
    with pytest.raises(ForgeRefused):
        client.put_file(FileDraft("a/b c.txt", "work/one", b"q", "message"), WRITE)
    made = client.create_pull(PullDraft("work/one", "main", "Work", "body", draft=True), WRITE)
    assert (made.title, made.draft, made.head_sha, made.state) == ("Work", True, again.commit, "open")
    edited = client.edit_pull(made.number, PullPatch(title="Better", body="text"), WRITE)
    assert (edited.title, edited.body, edited.draft) == ("Better", "text", True)
    ready = client.edit_pull(made.number, PullPatch(draft=False), WRITE)
    assert (ready.title, ready.draft) == ("Better", False)
    client.request_reviews(made.number, ("octo",), WRITE)
    assert pull_of(client, made.number).reviewers == ("octo",)
    assert client.edit_pull(made.number, PullPatch(is_open=False), WRITE).state == "closed"
    assert client.edit_pull(made.number, PullPatch(is_open=True), WRITE).state == "open"
    with pytest.raises(ForgeRefused) as caught:
        client.merge_pull(made.number, main.sha, "merge", WRITE)
    assert caught.value.status == 409
    client.merge_pull(made.number, again.commit, "squash", WRITE)
    assert pull_of(client, made.number).state == "merged"
    client.delete_ref("work/one", WRITE)
    assert isinstance(client.ref("work/one", READ), Missing)
    for act in (lambda: client.create_ref("refs/x/y", main.sha, WRITE), lambda: client.delete_ref("refs/x/y", WRITE)):
        with pytest.raises(ForgeRefused):
            act()


def test_a_review_has_a_text_and_a_verdict_in_one_request(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.act("create_pull", head="work")["number"]
    made = [client.review_pull(number, event, f"{event}\n\n<!-- m -->", WRITE) for event in ("comment", "approve")]
    assert [each.body for each in made] == ["comment\n\n<!-- m -->", "approve\n\n<!-- m -->"]
    assert len(mutations(forge)) == 2
    pull = forge.here.pulls[number].pull
    assert pull is not None
    assert "APPROVED" in [each.state for each in pull.reviews]
    where = client.reviews(number, READ) if forge.kind == "forgejo" else client.comments(Subject(number, True), READ)
    assert [each.id for each in where.items] == [each.id for each in made]


def test_a_status_is_set_again_without_harm(forge: FakeForge, client: ForgeClient) -> None:
    main = client.ref("main", READ)
    assert not isinstance(main, Missing)
    for state in ("pending", "failure", "failure", "success"):
        client.set_status(main.sha, Check("ci", state, "text", "https://ci.example/1"), WRITE)
        assert [(each.name, each.state) for each in client.checks(main.sha, READ).items] == [("ci", state)]


def test_a_release_is_made_with_its_tag(forge: FakeForge, client: ForgeClient) -> None:
    made = client.create_release(ReleaseDraft("v1", "One", "text\n<!-- m -->"), WRITE)
    assert client.release("v1", READ) == made
    assert (made.tag, made.name, made.body, made.author) == ("v1", "One", "text\n<!-- m -->", "pointsman-bot")
    if forge.kind == "gitlab":
        with pytest.raises(ForgeRefused):
            client.create_release(ReleaseDraft("v2", "Two", "", draft=True), WRITE)
    else:
        assert client.create_release(ReleaseDraft("v2", "Two", "b", draft=True), WRITE).draft


def test_a_pipeline_is_started_where_there_are_some(forge: FakeForge, client: ForgeClient) -> None:
    if forge.kind == "forgejo":
        with pytest.raises(Unsupported):
            client.start_pipeline("main", {}, WRITE)
        return
    made = client.start_pipeline("main", {"KEY": "value"}, WRITE)
    assert made is not None
    assert forge.here.runs[0].inputs == {"KEY": "value"}


def test_forgejo_refuses_to_close_what_waits_and_gitlab_to_rebase(forge: FakeForge, client: ForgeClient) -> None:
    one, two = forge.issue(), forge.issue()
    forge.act("block", number=one, by_number=two)
    refused: dict[str, tuple[Callable[[], object], int]] = {
        "forgejo": (lambda: client.set_state(one, False, WRITE), 412),
        "gitlab": (lambda: client.merge_pull(1, "0" * 40, "rebase", WRITE), 422),
    }
    act, status = refused[forge.kind]
    with pytest.raises(ForgeRefused) as caught:
        act()
    assert caught.value.status == status


def test_an_archived_repository_refuses_every_change(forge: FakeForge, client: ForgeClient) -> None:
    """C122."""
    number = forge.issue()
    forge.act("archive")
    with pytest.raises(ForgeRefused) as caught:
        client.create_comment(Subject(number), "x", WRITE)
    assert (caught.value.status, caught.value.evidence.kind) == (
        (423, "archived_or_locked") if forge.kind == "forgejo" else (403, "forbidden")
    )


def test_a_change_without_an_effect_is_a_mistake_of_ours(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    with pytest.raises(EffectMissing):
        client.create_comment(Subject(number), "x", READ)
    assert mutations(forge) == []


CALLS: dict[str, Callable[[ForgeClient, int], object]] = {
    "issue.create": lambda client, number: client.create_issue(IssueDraft("t", "b"), WRITE),
    "issue.comment": lambda client, number: client.create_comment(Subject(number), "x", WRITE),
    "issue.edit": lambda client, number: client.set_state(number, False, WRITE),
    "label.define": lambda client, number: client.define_label("n", "ffffff", "", WRITE),
}
FAULTS = (
    "act_then_close",
    "act_then_reset",
    "act_then_5xx",
    "act_then_cut_head",
    "act_then_cut_body",
    "act_then_bad_json",
    "act_then_bad_gzip",
    "act_then_empty",
    "redirect_empty",
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_answer_is_ambiguous_and_sent_once(forge: FakeForge, client: ForgeClient, fault: str, call: str) -> None:
    """C104 for these two clients, C097, C118: one request, never repeated by anything below."""
    number = forge.issue()
    forge.script({"fault": fault, "match": {"operation": call}})
    with pytest.raises(AmbiguousEffect) as caught:
        CALLS[call](client, number)
    assert caught.value.effect_id == "e1"
    assert len(mutations(forge)) == 1


@pytest.mark.parametrize("fault", ["act_then_hang", "drip"])
def test_an_answer_that_never_ends_is_given_up_at_the_deadline(forge: FakeForge, fault: str) -> None:
    """C020, C097 for these two clients."""
    number = forge.issue()
    forge.script({"fault": fault, "match": {"operation": "issue.comment"}})
    with client_of(forge) as client, pytest.raises(AmbiguousEffect):
        client.create_comment(Subject(number), "x", SOON)
    assert len(forge.card(number).comments) == len(mutations(forge)) == 1


def test_a_connection_that_ends_unread_is_ambiguous(forge: FakeForge, client: ForgeClient) -> None:
    """C091 for these two clients: nothing was read, and nothing proves it."""
    number = forge.issue()
    forge.script({"fault": "close_before_read"})
    with pytest.raises(AmbiguousEffect):
        client.create_comment(Subject(number), "x", WRITE)
    assert forge.card(number).comments == []


def test_nobody_listening_is_proof_that_nothing_was_sent(forge: FakeForge, client: ForgeClient) -> None:
    """C082."""
    number = forge.issue()
    forge.script({"fault": "refuse"})
    with pytest.raises(NotSent) as caught:
        client.create_comment(Subject(number), "x", WRITE)
    assert caught.value.evidence.proof == "not_connected"
    forge.script()
    client.create_comment(Subject(number), "x", WRITE)
    assert len(forge.card(number).comments) == 1


def test_a_throttled_change_was_not_performed(forge: FakeForge, client: ForgeClient) -> None:
    number = forge.issue()
    forge.script({"fault": "throttle_plain"})
    with pytest.raises(RateLimited):
        client.create_comment(Subject(number), "x", WRITE)
    assert forge.card(number).comments == []
