"""What people see of a claim on a forge: the claim's label, the comment of a start, one status comment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard, forge_yard
from tests.kit.yard import ASKS, FAILS_FOR_GOOD

LABEL = "working"


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[ForgeYard]:
    with ExitStack() as stack:
        made = stack.enter_context(forge_yard(request.param, tmp_path, clock, ASKS))
        path = tmp_path / "pointsman.yaml"
        keys = f"claim_label: {LABEL}\n    comments: [started, parked, finished, failed]"
        path.write_text(path.read_text().replace("bot: bots/work.bot", f"bot: bots/work.bot\n    {keys}"))
        made.forge.act("define_label", label=LABEL)
        yield made.again()  # type: ignore[misc]


def labelled(yard: ForgeYard, card: str) -> bool:
    return LABEL in yard.forge.labels_of(int(card))


def changes(yard: ForgeYard, card: str) -> list[str]:
    events = yard.forge.card(int(card)).events
    return [event.kind for event in events if event.data.get("label") == LABEL]


def test_a_claimed_card_carries_the_label_until_its_claim_ends(yard: ForgeYard) -> None:
    card = yard.issue()
    yard.settled(2)
    assert yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN
    assert labelled(yard, card) == bool(yard.ledger().claims)
    yard.resume(card, answers={"ok": True})
    yard.settled(3)
    assert (yard.place(card), labelled(yard, card), yard.ledger().claims) == ("review", False, {})
    assert changes(yard, card) == ["labeled", "unlabeled"] * (len(changes(yard, card)) // 2)
    assert changes(yard, card)
    yard.forge.forget_requests()
    yard.settled(3)
    assert {each["method"] for each in yard.forge.requests()} == {"GET"}


def test_the_one_status_comment_follows_the_card(yard: ForgeYard) -> None:
    """connectors.md 6: one per card, edited in place; ``boards[].comments`` says of what it tells."""
    card = yard.issue()
    yard.tick()
    texts = [each.body for each in yard.forge.card(int(card)).comments]
    assert [text.split(" was ")[1].splitlines()[0] for text in texts] == ["started (attempt 1)."]
    yard.settled()
    yard.resume(card, answers={"ok": True})
    yard.settled(3)
    (comment,) = yard.forge.card(int(card)).comments
    assert comment.body.startswith(f"Run {yard.run(card).id} finished.")


def test_a_label_whose_answer_was_lost_is_taken_away_all_the_same(yard: ForgeYard) -> None:
    """C158 for the label: read back, finished, nothing left behind."""
    yard.bot(FAILS_FOR_GOOD)
    operation = "issue.edit" if yard.forge.kind == "gitlab" else "label.remove"
    yard.forge.script({"fault": "act_then_close", "match": {"operation": operation, "every": 2}})
    card = yard.issue()
    for _ in range(4):
        yard.settled()
        yard.clock.wait(threading.Event(), 60)
    yard.again()
    yard.settled(2)
    assert (yard.place(card), labelled(yard, card)) == ("blocked", False)


def test_a_label_that_does_not_exist_stops_no_run(yard: ForgeYard) -> None:
    yard.forge.act("delete_label", label=LABEL)
    card = yard.issue()
    yard.settled(2)
    yard.resume(card, answers={"ok": True})
    yard.settled(3)
    assert yard.place(card) == "review"
    assert changes(yard, card) == []


def test_a_move_that_the_forge_refused_is_told_with_its_row(yard: ForgeYard) -> None:
    """C122, D037: what ``move_pending`` names can be shown."""
    refusal = {"fault": "status", "with": {"code": 423}}
    yard.forge.script(*({"match": {"method": method}, **refusal} for method in ("POST", "PUT")))
    card = yard.issue()
    yard.tick()
    (row,) = [each for each in yard.wiring.store.effects.list() if each.operation.endswith(".board.move")]
    idle = yard.view(card).idle
    assert idle is not None
    assert (row.state, idle.code) == ("refused", "move_pending")
    assert idle.unblock == f"by itself; effects show {row.id}"
