"""The catalogue: total, in the words of the language, and strict about what it takes (connectors.md 7)."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from connectors.catalogue.operations import FORGES, NAMES, OPERATIONS, Entry, Probe
from connectors.catalogue.params import Params
from connectors.catalogue.settling import QUESTIONS, fields, misfit, question
from connectors.catalogue.shapes import shapes
from connectors.effects.guard import Effect
from engine.dsl.catalogue import TYPES

every = pytest.mark.parametrize("entry", OPERATIONS.values(), ids=OPERATIONS)


@every
def test_each_entry_has_models_a_class_and_a_probe_or_none(entry: Entry) -> None:
    """C069."""
    assert issubclass(entry.params, Params)
    assert issubclass(entry.result, BaseModel)
    assert entry.params.model_config["extra"] == "forbid"
    assert entry.result.model_config["extra"] == "ignore"
    assert entry.result.model_config["frozen"]
    for forge in entry.forges:
        effect = entry.effect_on(forge)
        assert (effect is Effect.READ) == (entry.probe is Probe.NOTHING_TO_DECIDE)
        assert entry.probe is not Probe.READ_BACK or effect in (Effect.IDEMPOTENT, Effect.GUARDED)


@every
def test_each_parameter_is_of_a_type_of_the_language(entry: Entry) -> None:
    found = shapes(entry.params)
    assert {shape.type for shape in found} <= set(TYPES)
    assert [shape.required for shape in found] == sorted((shape.required for shape in found), reverse=True)
    assert "repo" not in {shape.name for shape in found}


def test_the_names_are_those_of_the_forges() -> None:
    assert NAMES["github.pull.merge"][1] is NAMES["gitlab.merge_request.merge"][1] is OPERATIONS["pull.merge"]
    assert "gitlab.pull.merge" not in NAMES
    assert "forgejo.workflow.dispatch" not in NAMES
    assert len(NAMES) == sum(len(entry.forges) for entry in OPERATIONS.values())
    assert all(name.split(".")[0] in FORGES and name.count(".") == 2 for name in NAMES)


@pytest.mark.parametrize(
    ("suffix", "given"),
    [
        pytest.param("issue.comment", {"number": 0, "body": "x"}, id="C071-number-0"),
        pytest.param("issue.comment", {"number": 1, "body": " \n"}, id="C071-empty-body"),
        pytest.param("issue.comment", {"number": 1, "body": "x", "boddy": "y"}, id="C071-unknown"),
        pytest.param("label.add", {"number": 1, "label": ""}, id="C038-empty-label"),
        pytest.param("label.add", {"number": 1, "label": "a\nb"}, id="line-end-in-a-name"),
        pytest.param("branch.create", {"name": "x", "sha": "abc"}, id="short-sha"),
        pytest.param("label.define", {"name": "x", "color": "red"}, id="no-colour"),
        pytest.param("pull.merge", {"number": 1, "head_sha": "a" * 40, "method": "octopus"}, id="unknown-method"),
        pytest.param("issue.comment_keyed", {"number": 1, "body": "x", "key": "a b"}, id="blank-in-a-key"),
        pytest.param("pull.request_review", {"number": 1, "logins": []}, id="nobody"),
    ],
)
def test_what_does_not_fit_is_refused(suffix: str, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        OPERATIONS[suffix].params.model_validate(given)


def test_each_probe_has_a_question_for_people() -> None:
    assert set(QUESTIONS) == set(Probe)
    asked = question("github.issue.create", "web", {"title": "A\n card", "body": "x"})
    assert 'an issue "A card" on web' in asked
    assert question("fake.issue.create", "", {}) == "Was this call made?"
    assert question("github.board.move", "web", {"number": 7}) == "Was this written to card 7 of board web?"


def test_what_a_person_answers_must_fit_the_result() -> None:
    """C059, in the table."""
    made = {
        "id": "1",
        "number": 7,
        "author": "a",
        "body": "b",
        "url": "https://x",
        "created_at": "2026-01-01T00:00:00Z",
    }
    assert misfit("github.issue.comment", made) == ""
    assert misfit("github.issue.comment", {**made, "number": 0}).startswith("number: ")
    assert misfit("fake.issue.comment", {}) == ""
    assert set(fields("github.issue.comment")) == set(made)


def test_no_operation_replaces_a_label_set() -> None:
    """C038: no parameter of any change takes a list of labels, but that of a new issue."""
    takes = {e.suffix for e in OPERATIONS.values() for s in shapes(e.params) if s.name == "labels"}
    assert takes == {"issue.create"}
