"""Parameters of a connector's operation: rendered, coerced and checked before anything is sent (language.md 5.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.dsl.catalogue import TYPES
from engine.dsl.expressions import EvaluationError
from engine.failures import FailureCode
from engine.nodes.action import KINDS, fitting
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.forge import AROUND, FakeForge

GIVES = """tool give:
  command: `echo '{"n": 7, "words": ["a", "b"], "map": {"k": 1}, "text": "12", "no": null, "off": false, "empty": ""}'`

"""


@pytest.fixture
def forge(tmp_path: Path) -> FakeForge:
    return FakeForge(tmp_path / "forge")


@pytest.fixture
def rig(store: Store, clock: FakeClock, tmp_path: Path, forge: FakeForge) -> Rig:
    return Rig(store, clock, tmp_path, remote=forge.remote, around=AROUND)


def posting(params: str, rest: str = "") -> str:
    return (
        f"{GIVES}tool post:\n  action: fake.issue.comment\n  connection: web\n{rest}  params:\n{params}\n"
        "workflow w:\n  entry: give\n  give -> post\n  post -> done\n"
    )


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        ('    number: 7\n    body: "x"\n', {"number": 7, "body": "x"}),
        (
            '    number: "{{outputs.give.n}}"\n    body: "n is {{outputs.give.n}}, {{outputs.give.words}}"\n',
            {"number": 7, "body": 'n is 7, ["a","b"]'},
        ),
        ('    number: "{{outputs.give.text}}"\n    body: "{{outputs.give.empty}}"\n', {"number": 12, "body": ""}),
        (
            '    number: 7\n    body: "x"\n    labels: "{{outputs.give.words}}"\n    fields: "{{outputs.give.map}}"\n',
            {"number": 7, "body": "x", "labels": ["a", "b"], "fields": {"k": 1}},
        ),
        (
            '    number: 7\n    body: "x"\n    labels: `["a"]`\n    urgent: "{{outputs.give.off}}"\n',
            {"number": 7, "body": "x", "labels": ["a"], "urgent": False},
        ),
        (
            '    number: 7\n    body: "x"\n    labels: "{{outputs.give.no}}"\n    fields: "{{outputs.give.gone}}"\n',
            {"number": 7, "body": "x"},
        ),
        ('    number: 7\n    body: "x {{outputs.give.no}}{{outputs.give.gone}}"\n', {"number": 7, "body": "x "}),
        ('    number: 7\n    body: "x"\n    repo: "octo/web"\n', {"number": 7, "body": "x", "repo": "octo/web"}),
    ],
)
def test_values_arrive_in_the_types_of_the_catalogue(
    rig: Rig, forge: FakeForge, params: str, sent: dict[str, Any]
) -> None:
    assert rig.run(posting(params)).status == RunStatus.FINISHED
    assert forge.received[0]["params"] == sent


@pytest.mark.parametrize(
    ("params", "rest", "told"),
    [
        ('    number: "{{outputs.give.no}}"\n    body: "x"\n', "", "wants the parameter number"),
        ('    number: "{{outputs.give.gone}}"\n    body: "x"\n', "", "wants the parameter number"),
        ('    number: "seven"\n    body: "x"\n', "", "number wants an integer"),
        ('    number: 7\n    body: "{{outputs.give.words}}"\n', "", "body wants a text"),
        ('    number: 7\n    body: "x"\n    fields: "[1]"\n', "", "fields wants an object, found list"),
        ('    number: 7\n    body: "x"\n', '  idempotency_key: "k-{{outputs.give.gone}}"\n', "has no value"),
        ('    number: 7\n    body: "x"\n', '  idempotency_key: "k-{{outputs.give.no}}"\n', "is null"),
        ('    number: 7\n    body: "x"\n', '  idempotency_key: "k-{{outputs.give.empty}}"\n', "is empty"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_sent(
    rig: Rig, forge: FakeForge, params: str, rest: str, told: str
) -> None:
    record = rig.run(posting(params, rest))
    assert record.failure_code == FailureCode.EXPRESSION_FAILED
    assert told in record.error
    assert forge.received == []
    assert rig.store.effects.list() == ()


def test_every_type_of_the_catalogue_has_its_rules() -> None:
    assert set(KINDS) == set(TYPES)
    assert fitting("x", "a type of its own", {"a": 1}) == {"a": 1}
    with pytest.raises(EvaluationError, match="wants a list, found map"):
        fitting("x", "list", "{}")
