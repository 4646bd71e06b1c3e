"""What a probe finds, and what a lost answer leads to, on all three forges (connectors.md 8, 10, 18)."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.effects.markers import marker_of
from connectors.errors import AmbiguousEffect, ForgeRefused
from connectors.forge.operations import Made, Unread, Unseen
from tests.kit.stages import EFFECT, Row, Stage, stage

FORGES = ("github", "gitlab", "forgejo")
on_each = pytest.mark.parametrize("forge", FORGES)
MARKER = marker_of(EFFECT)
LOST: dict[str, Any] = {"match": {"operation": "issue.comment"}, "fault": "act_then_5xx"}


def lose(on: Stage, *rules: dict[str, Any]) -> None:
    """Make the call; its answer is lost."""
    on.forge.script(LOST, *rules)
    with pytest.raises(AmbiguousEffect):
        on.run()


def commented(on: Stage, body: str, by: str = "pointsman-bot") -> str:
    made = on.forge.act("comment", number=on.given["number"], body=body, by=by)
    return str(made["id"])


@on_each
def test_a_comment_in_a_list_that_lags_is_found_later(forge: str) -> None:
    """C075, the probe's part: not found at first, which proves nothing; found once the list shows it."""
    with stage(f"{forge}.issue.comment") as on:
        lose(on, {"fault": "lag", "with": {"seconds": 20, "what": "comments"}})
        assert isinstance(on.probe(), Unseen)
        on.clock.advance(60)
        assert isinstance(on.probe(), Made)
        assert on.seen() == 1


@on_each
def test_a_list_that_fails_in_the_middle_is_unreadable_not_empty(forge: str) -> None:
    """C077."""
    with stage(f"{forge}.issue.comment") as on:
        for count in range(120):
            commented(on, f"talk {count}", by="octo")
        after = 0 if forge == "forgejo" else 1  # Forgejo gives all comments in one page
        failing = {"fault": "status", "with": {"code": 502}, "match": {"operation": "comment.list", "after": after}}
        lose(on, failing)
        assert isinstance(on.probe(), Unread)
        on.forge.script()
        assert isinstance(on.probe(), Made)


@on_each
def test_of_two_comments_the_older_is_the_answer_and_the_other_is_named(forge: str) -> None:
    """C079: nothing is deleted."""
    with stage(f"{forge}.issue.comment") as on:
        lose(on)
        first = on.forge.card(on.given["number"]).comments[0]
        on.clock.advance(5)
        second = commented(on, first.body)
        answer = on.probe()
        assert isinstance(answer, Made)
        assert answer.response["id"] == str(first.id)
        assert answer.note.startswith("duplicate: ")
        assert answer.note.endswith(second)
        assert on.seen() == 2


@on_each
def test_another_s_copy_and_our_own_quotation_count_for_nothing(forge: str) -> None:
    """C072, C073."""
    with stage(f"{forge}.issue.comment") as on:
        commented(on, f"look: \n\n{MARKER}", by="octo")
        commented(on, f"> hello\n>\n> {MARKER}\n\nthat was it")
        commented(on, f"```\n{MARKER}\n```")
        assert isinstance(on.probe(), Unseen)
        assert len(on.foreign) >= 1


@on_each
def test_what_a_person_did_to_our_text_does_not_hide_the_marker(forge: str) -> None:
    """C074."""
    with stage(f"{forge}.issue.comment") as on:
        lose(on)
        number = on.given["number"]
        body = on.forge.card(number).comments[0].body.replace("\n", "\r\n").replace("<!--", "  <!--")
        on.forge.act("edit_comment", number=number, body=f"{body}\r\nand a line of mine")
        assert isinstance(on.probe(), Made)


@on_each
def test_a_deleted_comment_stays_in_doubt(forge: str) -> None:
    """C076, the probe's part."""
    with stage(f"{forge}.issue.comment") as on:
        lose(on)
        on.forge.act("delete_comment", number=on.given["number"])
        for _ in range(3):
            on.clock.advance(1800)
            assert isinstance(on.probe(), Unseen)
        assert len(on.changes()) == 1


@on_each
def test_a_long_report_is_cut_and_still_found(forge: str) -> None:
    """C078, C148, F39, F40: the forge takes it, the marker is last and whole."""
    with stage(f"{forge}.issue.comment") as on:
        on.given["body"] = "hello 👨‍👩‍👧\n" * 7_000
        lose(on)
        stored = on.forge.card(on.given["number"]).comments[0].body
        assert stored.endswith(MARKER)
        assert ("… cut:" in stored) == (forge != "gitlab")
        assert isinstance(on.probe(), Made)


@on_each
def test_no_text_of_ours_commands_the_forge(forge: str) -> None:
    """C145: quick actions in every disguise stay text; the card stays as it was."""
    body = "hello\n/close\n /close\n\r/close\r\n/label ~bug\u2028/close\n```\n/close\n```\n~~~\nnever closed\n/close"
    with stage(f"{forge}.issue.comment") as on:
        on.given["body"] = body
        on.run()
        card = on.forge.card(on.given["number"])
        assert (card.state, on.forge.labels_of(card.number), len(card.comments)) == ("open", [], 1)
        assert card.comments[0].body.count("/close") == body.count("/close")
        assert card.comments[0].body.endswith(MARKER)


@pytest.mark.parametrize(
    "fault",
    [
        "act_then_close",
        "act_then_reset",
        "act_then_cut_head",
        "act_then_cut_body",
        "act_then_bad_json",
        "act_then_bad_gzip",
        "redirect_empty",
        "act_then_empty",
    ],
)
@on_each
def test_a_lost_label_is_read_back_and_never_put_on_twice(forge: str, fault: str) -> None:
    """C052, and C103 for what is lost after the request: one label, success."""
    operation = "issue.edit" if forge == "gitlab" else "label.add"
    with stage(f"{forge}.label.add") as on:
        on.forge.script({"fault": fault, "match": {"operation": operation, "nth": 1}})
        row = Row()
        on.run(row)
        assert on.seen() == 1
        assert row.sent == (2 if fault == "redirect_empty" else 1)  # a redirect was not performed: it is sent again


@on_each
def test_a_label_that_a_failing_forge_did_not_put_on_is_sent_again(forge: str) -> None:
    """C052, the other way: read back, absent, repeated once."""
    with stage(f"{forge}.label.add") as on:
        operation = "issue.edit" if forge == "gitlab" else "label.add"
        on.forge.script({"fault": "status", "with": {"code": 503}, "match": {"operation": operation, "nth": 1}})
        row = Row()
        on.run(row)
        assert (on.seen(), row.sent) == (1, 2)


@on_each
def test_what_a_person_decided_meanwhile_is_not_undone(forge: str) -> None:
    """C054: the closing was performed and its answer lost; a person reopened; nothing is sent again."""
    with stage(f"{forge}.issue.close") as on:
        number = on.given["number"]
        reopens = {"do": "reopen", "number": number}
        on.forge.script(
            {"fault": "act_then_close", "match": {"operation": "issue.edit"}},
            {"fault": "person", "with": {"act": reopens}, "match": {"operation": "issue.get", "nth": 2}},
        )
        on.forge.clock(advance=5)
        with pytest.raises(ForgeRefused) as caught:
            on.run()
        assert caught.value.evidence.kind == "superseded"
        assert on.forge.card(number).state == "open"
        assert len(on.changes()) == 1
