"""What ``validate`` knows of operations: all of them, with their parameters, classes and probes (connectors.md 7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.catalogue.operations import NAMES
from dispatcher.operations import CATALOGUE as KNOWN
from tests.kit.cli import pointsman
from tests.kit.forge import calls

CONFIG = """boards: [{name: own, kind: native}]
connections: {web: {kind: github, repo: "octo/web", token: $TOKEN}}
"""


def test_the_engine_is_told_of_every_operation() -> None:
    """C069: the four words of the language are those of the catalogue."""
    assert KNOWN.keys() == NAMES.keys()
    assert (KNOWN["github.assignee.add"].effect, KNOWN["gitlab.assignee.add"].effect) == ("idempotent", "guarded")
    assert [name for name, each in KNOWN.items() if not each.has_probe] == [
        "github.workflow.dispatch",
        "gitlab.pipeline.create",
    ]
    assert not any(each.honours_key for each in KNOWN.values())


@pytest.mark.parametrize(
    ("operation", "params", "code", "told"),
    [
        pytest.param("github.isue.comment", "    number: 1", "X002", "github.issue.comment", id="unknown-operation"),
        pytest.param("github.issue.get", "    nummer: 1", "X003", "number", id="C071-unknown-parameter"),
        pytest.param("github.label.add", "    number: 1", "X003", "label", id="C071-missing-parameter"),
        pytest.param("gitlab.issue.get", "    number: 1", "X004", "github", id="connection-of-another-kind"),
        pytest.param(
            "github.workflow.dispatch",
            '    file: "a.yml"\n    ref: "main"',
            "X012",
            "github.workflow.dispatch",
            id="C070",
        ),
    ],
)
def test_validate_names_what_does_not_fit(tmp_path: Path, operation: str, params: str, code: str, told: str) -> None:
    """C070, C071."""
    (tmp_path / "pointsman.yaml").write_text(CONFIG)
    (tmp_path / "a.bot").write_text(calls(operation, params))
    answer = pointsman(tmp_path, "validate", "a.bot", environment={"TOKEN": "t" * 20})
    text = answer.out + answer.err
    assert code in text, text
    assert told in text
