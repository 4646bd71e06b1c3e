"""Every operation of the catalogue on every forge that has it: done, refused, and with its answer lost (C069).

Through the guard, over the real transport, against the fake: what the forge shows afterwards is the truth.
"""

from __future__ import annotations

import pytest

from connectors.catalogue.operations import NAMES, OPERATIONS, Probe
from connectors.effects.guard import Effect
from connectors.errors import AmbiguousEffect, ForgeRefused
from connectors.forge.operations import Made, Unseen
from engine.failures import FailureCode
from engine.runtime.calls import judge
from tests.kit.operation_cases import CASES
from tests.kit.stages import Row, stage

every = pytest.mark.parametrize("name", NAMES)


def first_change(name: str) -> int:
    """Which of its requests, counted from one, an operation's change is."""
    with stage(name) as dry:
        dry.run()
        return dry.changes()[0]


def test_each_operation_has_its_case() -> None:
    """C069."""
    assert CASES.keys() == OPERATIONS.keys()
    assert all((case.seen is None) == (OPERATIONS[suffix].effect is Effect.READ) for suffix, case in CASES.items())


@every
def test_an_operation_is_done_once_and_answers_its_result(name: str) -> None:
    """C069: success."""
    with stage(name) as on:
        assert on.seen() in (0, None)
        row = Row()
        result = on.run(row)
        NAMES[name][1].result.model_validate(result)
        assert on.seen() in (1, None)
        assert len(on.changes()) == row.sent == (0 if on.entry.effect is Effect.READ else 1)


@every
def test_an_operation_that_is_refused_changes_nothing(name: str) -> None:
    """C069: refusal."""
    entry = NAMES[name][1]
    nth = 1 if entry.effect is Effect.READ else first_change(name)
    with stage(name) as on:
        on.forge.script({"fault": "status", "with": {"code": 403}, "match": {"nth": nth}})
        row = Row()
        with pytest.raises(ForgeRefused) as caught:
            on.run(row)
        assert caught.value.status == 403
        assert on.seen() in (0, None)
        assert row.sent == (0 if entry.effect is Effect.READ else 1)


@every
def test_a_lost_answer_is_decided_by_the_class_of_the_operation(name: str) -> None:
    """C069: lost answer. C051 to C053, F37: one request, and what happened is found."""
    entry = NAMES[name][1]
    effect = entry.effect_on(NAMES[name][0])
    nth = 1 if effect is Effect.READ else first_change(name)
    with stage(name) as on:
        on.forge.script({"fault": "act_then_5xx", "with": {"status": 502}, "match": {"nth": nth}})
        row = Row()
        if effect is not Effect.AMBIGUOUS:
            entry.result.model_validate(on.run(row))
            assert on.seen() in (1, None)
            blind = entry.suffix == "reaction.add"
            assert len(on.changes()) == (0 if effect is Effect.READ else 2 if blind else 1)
            return
        with pytest.raises(AmbiguousEffect):
            on.run(row)
        assert (on.seen(), len(on.changes())) == (1, 1)
        answer = on.probe()
        if entry.probe is Probe.NONE:
            assert isinstance(answer, Unseen)
        else:
            assert isinstance(answer, Made), answer
            entry.result.model_validate(answer.response)
        assert len(on.changes()) == 1


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
def test_a_branch_that_is_there_at_that_commit_is_done(forge: str) -> None:
    """connectors.md 7, 12: however the forge says that it exists; at another commit it is not ours."""
    with stage(f"{forge}.branch.create") as on:
        first = on.run()
        assert (on.run(), on.seen(), len(on.changes())) == (first, 1, 2)
        on.given = {**on.given, "name": "main", "sha": "0" * 40}
        with pytest.raises(ForgeRefused):
            on.run()


def test_an_assignee_that_github_drops_in_silence_is_a_refusal() -> None:
    """connectors.md 6: not a lost answer, and nothing is sent again."""
    with stage("github.assignee.add") as on:
        on.given = {**on.given, "login": "nobody-here"}
        with pytest.raises(ForgeRefused, match="nobody-here was not assigned") as caught:
            on.run()
        assert judge(caught.value, "idempotent", key_sent=False, now=on.clock.now()).state == "refused"
        assert len(on.changes()) == 1


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
def test_a_comment_of_somebody_else_is_no_matter_of_the_token(forge: str) -> None:
    """connectors.md 12: only what the forge answers with 401 or 403 is AUTH_FAILED."""
    with stage(f"{forge}.comment.edit") as on:
        other = on.forge.act("comment", number=on.given["number"], body="mine")["id"]
        on.given = {**on.given, "comment_id": str(other)}
        with pytest.raises(ForgeRefused) as caught:
            on.run()
        verdict = judge(caught.value, "idempotent", key_sent=False, now=on.clock.now())
        assert verdict.failed.code == FailureCode.TOOL_FAILED_PERMANENT
        assert on.changes() == []
