"""Project boards of GitHub: the status field's options, the items, an issue's place, its status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from connectors.answer import StopReason
from connectors.errors import AmbiguousEffect, ForgeRefused, RateLimited, Unreachable, Unsupported
from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ProjectTarget
from connectors.forge.records import Missing, MissingKind
from connectors.github.code_writes import DOCUMENTS
from connectors.github.connector import GitHubClient
from connectors.github.projects import QUERIES
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.github import PROJECT, READ, WRITE, client_at, github
from tests.kit.graphql_schema import schema
from tests.kit.wire import answering, peer

Pair = tuple[FakeForge, GitHubClient]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with fake("github") as forge, github(forge, project=PROJECT) as client:
        yield forge, client


@pytest.mark.parametrize("document", [*QUERIES, *DOCUMENTS], ids=lambda text: text.split("(")[0].split()[-1])
def test_every_document_is_valid_by_the_published_schema(document: str) -> None:
    """C162."""
    from graphql import parse, validate

    assert validate(schema(), parse(document)) == []


def test_the_options_are_resolved_by_name(pair: Pair) -> None:
    """C037: other ids after the forge made them anew."""
    forge, client = pair
    before = client.project_field(READ)
    assert "in_progress" in before.options
    forge.act("options_regenerated")
    after = client.project_field(READ)
    assert before.options.keys() == after.options.keys()
    assert set(before.options.values()).isdisjoint(after.options.values())
    assert (before.project_id, before.field_id) == (after.project_id, after.field_id)


@pytest.mark.parametrize(
    "target", [ProjectTarget("octo", 9), ProjectTarget("nobody", 1), ProjectTarget("octo", 1, "X")]
)
def test_a_project_or_field_that_is_not_there_is_refused(pair: Pair, target: ProjectTarget) -> None:
    forge, _ = pair
    with github(forge, project=target) as client, pytest.raises(ForgeRefused):
        client.project_field(READ)


def test_a_connection_without_project_says_so(pair: Pair) -> None:
    forge, _ = pair
    with github(forge) as client, pytest.raises(Unsupported):
        client.project_field(READ)


def test_items_are_issues_of_the_repository_with_their_status(pair: Pair) -> None:
    """C015: drafts, pulls and hidden items are counted; archived ones are told."""
    forge, client = pair
    ready, plain, archived = (forge.issue(f"card {each}", labels=["bug"]) for each in range(3))
    pull = forge.act("create_pull", head="work", title="A pull")["number"]
    forge.act("add_item", number=ready, status="ready")
    forge.act("add_item", number=plain)
    forge.act("add_item", number=archived, status="done")
    forge.act("archive_item", number=archived)
    forge.act("add_item", number=pull)
    forge.act("add_item", draft="an idea")
    forge.act("add_item", draft="hidden", redacted=True)
    read = client.project_items(READ)
    assert read.complete
    assert [(item.issue.number, item.status, item.archived) for item in read.items] == [
        (ready, "ready", False),
        (plain, "", False),
        (archived, "done", True),
    ]
    assert read.items[0].issue.labels == ("bug",)
    assert dict(read.skipped) == {"pull request": 1, "draft issue": 1, "redacted": 1}


def test_more_than_a_page_of_items_is_read_whole(pair: Pair) -> None:
    forge, client = pair
    for each in range(130):
        forge.act("add_item", number=forge.issue(f"card {each}"), status="ready")
    read = client.project_items(READ)
    assert (len(read.items), read.complete) == (130, True)


def test_one_issue_is_found_in_the_project_or_not(pair: Pair) -> None:
    forge, client = pair
    inside, outside, moved = (forge.issue() for _ in range(3))
    item_id = forge.act("add_item", number=inside, status="review")["item_id"]
    found = client.project_item(inside, READ)
    assert not isinstance(found, Missing)
    assert (found.item_id, found.status, found.issue.number) == (item_id, "review", inside)
    assert client.project_item(outside, READ) == Missing(MissingKind.NOT_FOUND)
    assert client.project_item(999, READ) == Missing(MissingKind.NOT_FOUND)
    target = forge.act("transfer", number=moved, to="octo/other")["number"]
    assert client.project_item(moved, READ) == Missing(MissingKind.MOVED, f"octo/other#{target}")


def test_an_issue_is_put_on_the_project_once_and_its_status_is_set_and_cleared(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    item_id = client.add_project_item(number, WRITE)
    assert client.add_project_item(number, replace(WRITE, effect_id="e2")) == item_id
    options = client.project_field(READ).options
    client.set_project_status(item_id, options["ready"], WRITE)
    shown = client.project_item(number, READ)
    assert not isinstance(shown, Missing)
    assert shown.status == "ready"
    client.set_project_status(item_id, "", WRITE)
    shown = client.project_item(number, READ)
    assert not isinstance(shown, Missing)
    assert shown.status == ""
    with pytest.raises(ForgeRefused):
        client.set_project_status(item_id, "nothing", WRITE)


def test_data_beside_errors_is_no_answer_about_any_card(pair: Pair) -> None:
    """C019."""
    _, _ = pair
    half = {
        "data": {"repository": {"issue": None}},
        "errors": [{"message": "Something went wrong", "type": "INTERNAL"}],
    }
    with peer(answering(200, half)) as at:
        client = client_at(f"http://127.0.0.1:{at.port}", project=PROJECT, clock=FakeClock())
        client._ids = ("P", "F")
        with pytest.raises(Unreachable):
            client.project_item(1, READ)
        client.close()


def test_errors_beside_data_after_a_change_are_a_lost_answer() -> None:
    """C056."""
    half = {"data": {"updateProjectV2ItemFieldValue": {"projectV2Item": None}}, "errors": [{"message": "Timeout"}]}
    with peer(answering(200, half)) as at:
        client = client_at(f"http://127.0.0.1:{at.port}", project=PROJECT)
        client._ids = ("P", "F")
        with pytest.raises(AmbiguousEffect):
            client.set_project_status("I", "O", WRITE)
        client.close()
        assert len(at.requests) == 1


def test_a_change_that_names_nothing_is_a_lost_answer() -> None:
    """C057."""
    with peer(answering(200, {"data": {"updateProjectV2ItemFieldValue": None, "x": 1}})) as at:
        client = client_at(f"http://127.0.0.1:{at.port}", project=PROJECT)
        client._ids = ("P", "F")
        with pytest.raises(AmbiguousEffect):
            client.set_project_status("I", "O", WRITE)
        client.close()


def test_a_throttled_graph_is_a_throttle(pair: Pair) -> None:
    """C115."""
    forge, client = pair
    forge.script({"match": {"path": "/graphql"}, "fault": "graphql_throttle"})
    with pytest.raises(RateLimited) as held:
        client.project_field(READ)
    assert held.value.until is not None
    assert client.pace.blocked_until() == held.value.until


def test_a_page_that_fails_makes_the_items_incomplete(pair: Pair) -> None:
    forge, client = pair
    for each in range(101):
        forge.act("add_item", number=forge.issue(f"card {each}"))
    refusal = {"fault": "status", "with": {"code": 400, "body": {"message": "no"}}}
    forge.script({"match": {"path": "/graphql", "nth": 3}, **refusal})
    read = client.project_items(READ)
    assert (len(read.items), read.complete, read.stopped) == (100, False, StopReason.DECODE)
