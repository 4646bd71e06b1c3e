"""A board over a project's statuses: the one board over forges, on a client whose labels are the options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from connectors.errors import ForgeRefused, Unsupported
from connectors.fake_forge.running import FakeForge
from connectors.forge.records import Issue, IssueQuery, LabelDef, LabelSwap, Missing
from connectors.github.statuses import DOCUMENTS, StatusClient
from connectors.registry import client_by_status
from tests.kit.fakes import fake
from tests.kit.forges import client_of
from tests.kit.github import PROJECT, READ, WRITE, github
from tests.kit.graphql_schema import schema

Pair = tuple[FakeForge, StatusClient]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with fake("github") as forge, github(forge, project=PROJECT) as client:
        found = client_by_status(client, ("ready",))
        assert isinstance(found, StatusClient)
        yield forge, found


def option(client: StatusClient, name: str) -> LabelDef:
    return next(label for label in client.labels(READ).items if label.name == name)


def status_of(client: StatusClient, number: int) -> str:
    found = client.project_item(number, READ)
    assert not isinstance(found, Missing)
    return found.status


@pytest.mark.parametrize("text", DOCUMENTS)
def test_every_swap_is_valid_by_the_published_schema(text: str) -> None:
    """C162."""
    from graphql import parse, validate

    assert validate(schema(), parse(text)) == []


def test_an_issue_carries_its_status_in_front_of_its_labels(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue(labels=["bug", "ready"])
    forge.act("add_item", number=number, status="review")
    found = client.issue(number, READ)
    assert isinstance(found, Issue)
    assert found.labels == ("review", "bug"), "a label that is spelled like a status is no second column"


def test_a_listing_brings_every_card_with_its_status_and_no_archived_one(pair: Pair) -> None:
    forge, client = pair
    one, two, three, outside = (forge.issue(f"card {each}") for each in range(4))
    for number, status in ((one, "ready"), (two, "review"), (three, "ready")):
        forge.act("add_item", number=number, status=status)
    forge.act("archive_item", number=three)
    forge.act("close", number=two)
    every = client.issues(IssueQuery(state="all"), READ)
    assert {issue.number: issue.labels for issue in every.items} == {one: ("ready",), two: ("review",)}
    assert dict(every.skipped) == {"archived": 1}
    ready = client.issues(IssueQuery(option(client, "ready")), READ)
    assert [issue.number for issue in ready.items] == [one]
    archived = client.issue(three, READ)
    assert isinstance(archived, Issue)
    assert archived.labels == ("ready",), "archived is alive"
    alone = client.issue(outside, READ)
    assert isinstance(alone, Issue)
    assert alone.labels == ()


def test_a_move_is_one_request_also_when_it_closes(pair: Pair) -> None:
    """C024: never a moment without a status."""
    forge, client = pair
    number = forge.issue()
    forge.act("add_item", number=number, status="ready")
    client.swap_labels(number, LabelSwap(option(client, "in_progress"), option(client, "ready")), WRITE)
    assert status_of(client, number) == "in_progress"
    swap = LabelSwap(remove=option(client, "in_progress"), is_open=False)
    client.swap_labels(number, swap, replace(WRITE, effect_id="e2"))
    assert (status_of(client, number), forge.card(number).state) == ("", "closed")
    swap = LabelSwap(add=option(client, "ready"), is_open=True)
    client.swap_labels(number, swap, replace(WRITE, effect_id="e3"))
    assert (status_of(client, number), forge.card(number).state) == ("ready", "open")
    changes = [each for each in forge.requests("POST", "graphql") if "mutation" in each["body"]["query"]]
    assert len(changes) == 3


def test_options_made_anew_between_reading_and_writing_are_resolved_by_name(pair: Pair) -> None:
    """C037."""
    forge, client = pair
    number = forge.issue()
    forge.act("add_item", number=number, status="ready")
    before = option(client, "review")
    forge.act("options_regenerated")
    client.add_label(number, before, WRITE)
    assert status_of(client, number) == "review"


def test_a_status_that_somebody_else_set_meanwhile_is_not_cleared(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    forge.act("add_item", number=number, status="review")
    client.remove_label(number, option(client, "ready"), WRITE)
    assert status_of(client, number) == "review"
    client.remove_label(number, option(client, "review"), WRITE)
    assert status_of(client, number) == ""


def test_a_label_of_the_repository_stays_a_label(pair: Pair) -> None:
    forge, client = pair
    number = forge.issue()
    forge.act("add_item", number=number, status="ready")
    names = [label.name for label in client.labels(READ).items]
    assert names.count("ready") == 1
    client.add_label(number, option(client, "bug"), WRITE)
    found = client.issue(number, READ)
    assert isinstance(found, Issue)
    assert found.labels == ("ready", "bug")
    client.remove_label(number, option(client, "bug"), replace(WRITE, effect_id="e2"))
    assert forge.labels_of(number) == []
    assert status_of(client, number) == "ready"


def test_a_lost_option_and_a_card_outside_the_project_are_refused(pair: Pair) -> None:
    forge, client = pair
    inside, outside = forge.issue(), forge.issue()
    forge.act("add_item", number=inside, status="ready")
    with pytest.raises(ForgeRefused, match="no status"):
        client.add_label(inside, LabelDef("status:x", "nothing"), WRITE)
    with pytest.raises(ForgeRefused, match="not on project"):
        client.add_label(outside, option(client, "ready"), WRITE)
    with pytest.raises(ForgeRefused):
        client.add_label(999, option(client, "ready"), WRITE)
    assert not [each for each in forge.requests("POST", "graphql") if "mutation" in each["body"]["query"]]


def test_statuses_want_a_project_and_a_forge_that_has_them() -> None:
    with fake("github") as forge, github(forge) as client, pytest.raises(Unsupported, match="project"):
        client_by_status(client, ("ready",))
    with fake("forgejo") as forge, client_of(forge) as other, pytest.raises(Unsupported, match="no project statuses"):
        client_by_status(other, ("ready",))
