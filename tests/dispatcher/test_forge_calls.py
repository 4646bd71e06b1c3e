"""Calls of a workflow over the three forges: what each answer means (connectors.md 7 to 10).

Everything between the action node and the forge's HTTP is real.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.fake_forge.running import Setup, running
from connectors.fake_forge.seed import BOT
from engine.api import RewindRequest
from engine.failures import FailureCode
from engine.run import EffectState, SettledBy
from engine.states import RunStatus
from engine.store.effects import Settling
from tests.kit.calling import ForgeRig, rig_over
from tests.kit.clock import FakeClock

FORGES = ("github", "gitlab", "forgejo")
DONE, FAILED = RunStatus.FINISHED, RunStatus.FAILED_RESUMABLE


@pytest.fixture(params=FORGES)
def rig(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[ForgeRig]:
    with rig_over(request.param, tmp_path, clock) as made:
        yield made


def lost(rig: ForgeRig, operation: str, fault: str, **given: object) -> None:
    rig.forge.script({"match": {"operation": operation, "nth": 1}, "fault": fault, "with": given})


# -- success -----------------------------------------------------------------------------------------------------------
def test_a_comment_is_made_and_its_result_is_the_output(rig: ForgeRig) -> None:
    number = rig.forge.issue()
    assert rig.call("issue.comment", number=number, body="Hello").status == DONE
    output, row = rig.output(), rig.row()
    (made,) = rig.comments(number)
    assert (output["number"], output["author"], output["id"]) == (number, BOT, str(made.id))
    assert made.body.endswith(row.marker)
    assert (row.state, row.settled_by, row.http_status) == ("done", "answer", 201)
    assert row.sent_at is not None


@pytest.mark.parametrize(
    ("suffix", "params", "told"),
    [
        ("repo.get", {}, {"path": "octo/demo", "archived": False}),
        ("issue.get", {"number": 1}, {"number": 1, "state": "open", "title": "A card"}),
        ("issue.list", {"state": "open"}, {"complete": True}),
        ("label.list", {}, {"complete": True}),
        ("comment.list", {"number": 1}, {"items": [], "complete": True}),
        ("ref.get", {"name": "main"}, {"name": "main"}),
        ("file.get", {"path": "README.md"}, {"path": "README.md", "text": "# demo\n"}),
    ],
)
def test_a_read_answers_and_leaves_no_row(
    rig: ForgeRig, suffix: str, params: dict[str, Any], told: dict[str, object]
) -> None:
    rig.forge.issue()
    assert rig.call(suffix, **params).status == DONE
    assert told.items() <= rig.output().items()
    assert rig.rows() == []
    assert rig.writes() == []


def test_an_issue_is_made_with_labels_that_exist(rig: ForgeRig) -> None:
    record = rig.call("issue.create", title="A \u202e title", body="Text", labels=["bug"])
    assert record.status == DONE, record.error
    assert rig.output()["labels"] == ["bug"]
    assert rig.call("issue.create", "r2", title="x", body="y", labels=["bugg"]).failure_code == (
        FailureCode.TOOL_FAILED_PERMANENT
    )
    assert rig.row().state == "not_sent"


def test_labels_say_whether_they_changed_anything(rig: ForgeRig) -> None:
    number = rig.forge.issue()
    for run_id, suffix, changed in (
        ("r1", "label.add", True),
        ("r2", "label.add", False),
        ("r3", "label.remove", True),
        ("r4", "label.remove", False),
    ):
        assert rig.call(suffix, run_id, number=number, label="bug").status == DONE
        assert rig.output(run_id) == {"changed": changed}
    assert [(row.state, row.settled_by) for row in rig.rows()] == [
        ("done", "answer"),
        ("not_sent", "withdrawn"),
        ("done", "answer"),
        ("not_sent", "withdrawn"),
    ]


def test_a_label_that_exists_is_defined_already(rig: ForgeRig) -> None:
    """C042: also when somebody was faster by a moment."""
    assert rig.call("label.define", name="fresh", color="ff0000").status == DONE
    assert rig.call("label.define", "r2", name="fresh", color="00ff00").status == DONE
    assert rig.output("r2")["id"] == rig.output("r1")["id"]


def test_a_keyed_comment_is_made_once_and_edited_from_then_on(rig: ForgeRig) -> None:
    number = rig.forge.issue()
    for run_id, body in (("r1", "one"), ("r2", "two")):
        assert rig.call("issue.comment_keyed", run_id, number=number, key="daily", body=body).status == DONE
    (made,) = rig.comments(number)
    assert made.body.startswith("two")
    assert rig.output("r1")["id"] == rig.output("r2")["id"]


# -- parameters --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "params", [{"number": 0, "body": "x"}, {"number": 1, "body": " "}], ids=["C071-zero", "C071-empty"]
)
def test_what_does_not_fit_is_found_before_anything_is_written(rig: ForgeRig, params: dict[str, Any]) -> None:
    """C071."""
    record = rig.call("issue.comment", **params)
    assert (record.failure_code, rig.rows(), rig.forge.requests()) == (FailureCode.EXPRESSION_FAILED, [], [])


# -- lost answers ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_issue_whose_answer_was_lost_is_found_at_once(rig: ForgeRig, status: int) -> None:
    """C051: one request, one issue, no failure."""
    lost(rig, "issue.create", "act_then_5xx", status=status)
    assert rig.call("issue.create", title="Once", body="Text").status == DONE
    assert rig.writes() == ["issue.create"]
    assert [issue.title for issue in rig.forge.here.issues.values()] == ["Once"]
    row = rig.row()
    assert (row.state, row.settled_by, row.http_status) == ("done", "probe", status)
    assert rig.output()["title"] == "Once"


@pytest.mark.parametrize(
    "fault", ["act_then_close", "act_then_reset", "act_then_cut_head", "act_then_bad_json", "act_then_empty"]
)
def test_a_success_that_cannot_be_read_is_a_lost_answer(rig: ForgeRig, fault: str) -> None:
    """C057, C058, C097: decided by the probe."""
    number = rig.forge.issue()
    lost(rig, "issue.comment", fault)
    assert rig.call("issue.comment", number=number, body="Hello").status == DONE
    assert len(rig.comments(number)) == 1
    assert rig.writes() == ["issue.comment"]
    assert rig.row().settled_by == "probe"


def test_a_label_whose_answer_was_lost_is_read_back(rig: ForgeRig) -> None:
    """C052, C103: repeated only if absent; one label."""
    number = rig.forge.issue()
    operation = "issue.edit" if rig.forge.kind == "gitlab" else "label.add"
    lost(rig, operation, "act_then_5xx", status=502)
    assert rig.call("label.add", number=number, label="bug").status == DONE
    assert (rig.forge.labels_of(number), rig.row().settled_by, len(rig.writes())) == (["bug"], "read_back", 1)
    lost(rig, operation, "status", code=502)
    rig.forge.forget_requests()
    assert rig.call("label.add", "r2", number=number, label="review").status == DONE
    assert (rig.forge.labels_of(number), len(rig.writes())) == (["bug", "review"], 2)


def test_a_merge_whose_answer_was_lost_is_read(rig: ForgeRig) -> None:
    """C053: merged with that head is done; one merge."""
    made = rig.forge.act("create_pull", head="work", title="Work")
    lost(rig, "pull.merge", "act_then_5xx", status=502)
    assert rig.call("pull.merge", number=made["number"], head_sha=made["sha"]).status == DONE
    assert rig.output()["state"] == "merged"
    assert (rig.writes(), rig.row().settled_by) == (["pull.merge"], "read_back")
    again = rig.call("pull.merge", "r2", number=made["number"], head_sha="a" * 40)
    assert again.failure_code == FailureCode.TOOL_FAILED_PERMANENT


def test_a_person_who_reopens_is_not_closed_again(rig: ForgeRig) -> None:
    """C054: the answer was lost, a person decided otherwise, nothing is sent again."""
    number = rig.forge.issue()
    operation = "issue.edit"
    rig.clock.advance(60)  # type: ignore[attr-defined]
    rig.forge.script(
        {"match": {"operation": operation, "nth": 1}, "fault": "act_then_close"},
        {
            "match": {"operation": "issue.get", "nth": 2},
            "fault": "person",
            "with": {"act": {"do": "reopen", "number": number}, "when": "before"},
        },
    )
    record = rig.call("issue.close", number=number)
    assert record.failure_code == FailureCode.TOOL_FAILED_PERMANENT
    assert rig.forge.card(number).state == "open"
    assert (len(rig.writes()), rig.row().state, rig.row().settled_by) == (1, "refused", "read_back")


def test_a_pending_answer_is_finished_by_a_read(rig: ForgeRig) -> None:
    """C055: 202 is neither done nor lost; there is no second request."""
    number = rig.forge.issue()
    rig.forge.script(
        {"match": {"operation": "issue.comment"}, "fault": "act_then_5xx", "with": {"status": 202, "body": "{}"}}
    )
    assert rig.call("issue.comment", number=number, body="Hello").status == DONE
    row = rig.row()
    assert (row.state, row.settled_by, row.pending, row.http_status) == ("done", "read_back", True, 202)
    assert rig.writes() == ["issue.comment"]


# -- refusals ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, ""),
        (403, ""),
        (404, FailureCode.TOOL_FAILED_PERMANENT),
        (422, FailureCode.TOOL_FAILED_PERMANENT),
    ],
)
def test_a_refusal_fails_the_node_and_leaves_no_doubt(rig: ForgeRig, status: int, code: str) -> None:
    """A refused credential asks a person, as its recipe says; any other refusal is final."""
    number = rig.forge.issue()
    rig.forge.script({"match": {"operation": "issue.comment"}, "fault": "status", "with": {"code": status}})
    assert rig.call("issue.comment", number=number, body="Hello").failure_code == code
    assert (rig.row().state, rig.row().http_status, len(rig.writes())) == ("refused", status, 1)


# -- doubt -------------------------------------------------------------------------------------------------------------
def doubtful(rig: ForgeRig) -> int:
    """A run that stopped with a comment that nobody can find; the card's number."""
    number = rig.forge.issue()
    lost(rig, "issue.comment", "status", code=503)
    record = rig.call("issue.comment", number=number, body="Hello")
    assert (record.status, record.failure_code, rig.row().state) == (FAILED, FailureCode.AMBIGUOUS_EFFECT, "ambiguous")
    return number


def test_what_is_in_doubt_is_sent_again_by_a_person_only(rig: ForgeRig) -> None:
    """C049: probes, then one new request; the old row is abandoned by the resume."""
    number = doubtful(rig)
    for _ in range(3):
        assert rig.resume().failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert rig.comments(number) == []
    assert rig.resume(attended=True).status == DONE
    assert len(rig.comments(number)) == 1
    assert [(row.state, row.settled_by) for row in rig.rows()] == [("abandoned", "resume"), ("done", "answer")]


def test_a_list_that_lags_is_asked_again_later(rig: ForgeRig) -> None:
    """C075: not found proves nothing; found later it is done without a person."""
    number = rig.forge.issue()
    rig.forge.script(
        {"match": {"operation": "issue.comment"}, "fault": "act_then_close"},
        {"match": {"operation": "comment.list"}, "fault": "lag", "with": {"seconds": 20, "what": "comments"}},
    )
    assert rig.call("issue.comment", number=number, body="Hello").failure_code == FailureCode.AMBIGUOUS_EFFECT
    rig.clock.advance(60)  # type: ignore[attr-defined]
    assert rig.wiring.engine.probe_effect(rig.row().id).state == "done"
    assert rig.resume().status == DONE
    assert len(rig.comments(number)) == 1


def test_a_list_that_cannot_be_read_proves_nothing(rig: ForgeRig) -> None:
    """C077: unreadable is not "not found"."""
    number = rig.forge.issue()
    rig.forge.script(
        {"match": {"operation": "issue.comment"}, "fault": "act_then_close"},
        {"match": {"operation": "comment.list"}, "fault": "status", "with": {"code": 502}},
    )
    assert rig.call("issue.comment", number=number, body="Hello").failure_code == FailureCode.AMBIGUOUS_EFFECT
    assert "not readable" in rig.row().note
    rig.forge.script()
    assert rig.resume().status == DONE
    assert len(rig.comments(number)) == 1


def test_a_marker_of_somebody_else_counts_for_nothing(rig: ForgeRig) -> None:
    """C072, C073: copied by a person, or quoted by ourselves."""
    number = doubtful(rig)
    row = rig.row()
    rig.forge.act("comment", number=number, body=f"see\n{row.marker}")
    assert rig.wiring.engine.probe_effect(row.id).state == "ambiguous"
    rig.forge.act("comment", number=number, body=f"> {row.marker}", by=BOT)
    assert rig.wiring.engine.probe_effect(row.id).state == "ambiguous"
    rig.forge.act("comment", number=number, body=f"Hello\r\n   {row.marker}\r\nmore", by=BOT)
    assert rig.wiring.engine.probe_effect(row.id).state == "done"


def test_two_comments_of_one_effect_are_told_and_kept(rig: ForgeRig) -> None:
    """C079: the older one answers; nothing is deleted."""
    number = doubtful(rig)
    row = rig.row()
    first = rig.forge.act("comment", number=number, body=f"Hello\n\n{row.marker}", by=BOT)["id"]
    rig.clock.advance(5)  # type: ignore[attr-defined]
    rig.forge.act("comment", number=number, body=f"Hello\n\n{row.marker}", by=BOT)
    settled = rig.wiring.engine.probe_effect(row.id)
    assert (settled.state, settled.response["id"]) == ("done", str(first))
    assert "duplicate" in settled.note
    assert len(rig.comments(number)) == 2


def test_a_rewind_makes_the_old_row_answer_no_more(rig: ForgeRig) -> None:
    """C050: the node is run anew, under a new row."""
    number = doubtful(rig)
    rig.wiring.engine.settle_effect(rig.row().id, Settling(EffectState.DONE, SettledBy.PERSON, response={"id": "c1"}))
    rig.wiring.engine.rewind(RewindRequest("r1", "act"))
    assert rig.resume().status == DONE
    assert len(rig.comments(number)) == 1
    assert rig.output()["id"] == str(rig.comments(number)[0].id)


def test_a_long_report_is_cut_and_still_found(rig: ForgeRig) -> None:
    """C078, C148."""
    number = rig.forge.issue()
    lost(rig, "issue.comment", "act_then_close")
    body = "line of a report. " * (62_000 if rig.forge.kind == "gitlab" else 4_000)
    assert rig.call("issue.comment", number=number, body=body).status == DONE
    (made,) = rig.comments(number)
    assert "full text: pointsman report" in made.body
    assert made.body.endswith(rig.row().marker)


@pytest.mark.parametrize("kind", FORGES)
def test_the_row_says_sent_when_the_forge_hears_of_the_call(kind: str, tmp_path: Path, clock: FakeClock) -> None:
    """C044: looked at from the forge's side, while it answers the request."""
    rigs: list[ForgeRig] = []
    seen: list[str] = []

    def look(request: Any, _answer: object) -> None:
        if rigs and request.method == "POST":
            seen.extend(str(row.state) for row in rigs[0].rows())

    with running(kind, Setup(clock=clock, observer=look)) as forge:
        rigs.append(ForgeRig(tmp_path, clock, forge))
        assert rigs[0].call("issue.comment", number=forge.issue(), body="Hello").status == DONE
        assert (seen, str(rigs[0].row().state)) == (["sent"], "done")
        rigs[0].close()
