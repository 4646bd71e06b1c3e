"""Public field cases of forges over whole ticks of the dispatcher: each test rebuilds a fault that users of comparable
tools reported, on a fake forge over real HTTP, and says what must be true afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.fake_forge.running import Setup
from connectors.forge.body import blockers_in
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS, THREE, ForgeYard, forge_yard
from tests.kit.yard import ASKS, Yard, tool, waits

Maker = Callable[..., ForgeYard]


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock) -> Iterator[Maker]:
    """Makes the yard of a forge with a bot."""
    with ExitStack() as stack:
        yield lambda kind, bot: stack.enter_context(forge_yard(kind, tmp_path, clock, bot))
        (tmp_path / "go").touch()


def ticks(yard: ForgeYard, clock: FakeClock, times: int = 1, *, wait: bool = False, seconds: float = 20) -> None:
    """So many intervals pass."""
    for _ in range(times):
        clock.advance(seconds)
        yard.tick(wait=wait)


def writes(yard: ForgeYard) -> list[str]:
    return [each["operation"] for each in yard.forge.requests() if each["method"] != "GET"]


def reason(yard: ForgeYard, card: str) -> str:
    idle = yard.view(card).idle
    return idle.code if idle else ""


def working(yard: ForgeYard, **given: Any) -> str:
    """A card whose run has begun and waits."""
    card = yard.issue(**given)
    yard.tick(wait=False)
    yard.until("started")
    return card


def test_two_column_labels_hold_the_card_and_nothing_is_written(make: Maker, clock: FakeClock) -> None:
    """D044: ten ticks long."""
    yard = make("gitlab", tool("true"))
    card = yard.issue()
    yard.forge.act("add_label", number=int(card), label="in_progress")
    yard.forge.forget_requests()
    ticks(yard, clock, 10)
    assert (reason(yard, card), yard.runs(), writes(yard)) == ("column_contradictory", (), [])


@pytest.mark.parametrize("kind", ["github", "forgejo"])
def test_f19_a_card_closed_in_the_middle_of_its_run_is_visible_and_resumable(
    make: Maker, clock: FakeClock, tmp_path: Path, kind: str
) -> None:
    """F19 D134: interrupted with its cause; reopened outside the eligible columns it waits, moved in it goes on."""
    yard = make(kind, waits(tmp_path))
    card = working(yard)
    yard.forge.act("create_pull", head="work")
    yard.forge.act("close", number=int(card))
    ticks(yard, clock, 2)
    yard.join()
    ticks(yard, clock)
    assert yard.run(card).status == RunStatus.FAILED_RESUMABLE
    yard.forge.act("move", number=int(card), to="backlog", **{"from": "in_progress"})
    yard.forge.act("reopen", number=int(card))
    (tmp_path / "go").touch()
    ticks(yard, clock, 3, wait=True)
    assert yard.run(card).status == RunStatus.FAILED_RESUMABLE
    yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
    ticks(yard, clock, 3, wait=True)
    assert (yard.run(card).status, len(yard.runs())) == (RunStatus.FINISHED, 1)


def test_f22_a_card_closed_behind_a_lagging_list_is_not_started(make: Maker, clock: FakeClock) -> None:
    """F22 D135: the read of the card itself refuses it at S4; no attempt is counted, no claim stays."""
    yard = make("github", tool("true"))
    card = yard.issue()
    yard.forge.script({"fault": "lag", "with": {"seconds": 30, "what": "lists"}})
    clock.advance(31)
    yard.forge.act("close", number=int(card))
    yard.tick()
    assert yard.runs() == ()
    assert (yard.view(card).last_run, yard.view(card).attempts) == ("", 0)
    assert ("web", card) not in yard.ledger().claims


def test_f23_a_card_closed_before_its_last_node_opens_no_pull_request(
    make: Maker, clock: FakeClock, tmp_path: Path
) -> None:
    """F23 D134 C068: the interrupt's cause is there first, so no request of the run leaves any more."""
    pull = (
        "tool open:\n  action: github.pull.create\n  connection: web\n  params:\n    head: work\n    base: main\n"
        "    title: Work\n    body: hello\n\n"
    )
    bot = waits(tmp_path).replace("work -> after", "work -> open\n  open -> after")
    yard = make("github", bot.replace("workflow work:", f"{pull}workflow work:"))
    card = working(yard)
    yard.forge.act("close", number=int(card))
    yard.forge.forget_requests()
    ticks(yard, clock, 2)
    (tmp_path / "go").touch()
    yard.join()
    ticks(yard, clock, 2)
    assert "pull.create" not in writes(yard)
    assert not yard.forge.here.pulls
    assert yard.run(card).status == RunStatus.FAILED_RESUMABLE


@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "with": {"code": 404}},
        {"fault": "status", "with": {"code": 200, "body": "<html>away</html>"}},
        {"fault": "act_then_close"},
    ],
    ids=["D186-gone", "html", "no-answer"],
)
def test_f26_one_repository_in_trouble_ends_nothing_for_the_others(
    tmp_path: Path, clock: FakeClock, fault: dict[str, Any]
) -> None:
    """F26 D186: the other boards work in every tick; no card of the second is judged gone."""
    with fake("gitlab", Setup(clock=clock)) as forge:
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
        config = THREE.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        yard = Yard(tmp_path, clock, config, ASKS.replace('vars:\n  title: string = ""\n\n', ""), TOKEN=forge.token)
        parked = forge.issue(labels=["ready"])
        yard.settled()
        before = yard.wiring.ledger.views([("two", str(parked))])[("two", str(parked))].last_run
        forge.script(fault)
        for name in ("one", "three", "one", "three"):
            board: Any = yard.wiring.boards[name]
            made = board.create(CardDraft("Do it", column="ready"), PERSON).id
            clock.advance(20)
            yard.settled()
            assert board.get(made).column == "awaiting_input"
        run = yard.wiring.store.runs.get(before)
        assert run.status == RunStatus.PAUSED_WAITING_HUMAN
        assert ("two", str(parked)) in yard.ledger().parks
        yard.close()


@pytest.mark.parametrize("kind", ["github", "gitlab", "forgejo"])
def test_f29_labels_beyond_the_first_page_are_found(make: Maker, kind: str) -> None:
    """F29: 120 definitions before the mapped one; a card with forty labels whose column label is the last."""
    yard = make(kind, tool("true"))
    yard.forge.act("delete_label", label="review")
    for n in range(120):
        yard.forge.act("define_label", label=f"l{n:03}")
    yard.forge.act("define_label", label="review")
    card = yard.issue("l000")
    for n in range(1, 40):
        yard.forge.act("add_label", number=int(card), label=f"l{n:03}")
    yard.forge.act("add_label", number=int(card), label="ready")
    yard.settled()
    assert yard.place(card) == "review"
    assert len(yard.forge.labels_of(int(card))) == 41
    yard.forge.act("delete_label", label="in_progress")
    other = yard.issue()
    degraded: Any = yard.tick().state["degraded"]
    idle = yard.view(other).idle
    assert idle is not None
    assert (idle.code, degraded[0]["text"]) == ("board_degraded", idle.text)
    assert idle.text == "board web: column in_progress lost: the forge has no such label"


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\n"])
def test_f41_line_ends_of_other_systems_hide_no_reference(line_end: str) -> None:
    """F41 D163: recognised outside code, ignored inside; the text itself stays as it is."""
    body = line_end.join(["Blocked by #12", "text", "```", "Blocked by #13", "```", "blocked BY #14", ""])
    assert [each.number for each in blockers_in(body)] == [12, 14]


@pytest.mark.parametrize("empty", [False, True], ids=["with place", "without"])
@pytest.mark.parametrize("parked", [False, True], ids=["running", "parked"])
def test_f42_a_transferred_card_stops_itself_and_nothing_else(
    make: Maker, clock: FakeClock, tmp_path: Path, parked: bool, empty: bool
) -> None:
    """F42 C013: its run ends or is let go, every other card is handled in the same tick, and no tick trips over it."""
    yard = make("github", ASKS if parked else waits(tmp_path))
    if parked:
        card = yard.issue()
        yard.settled()
    else:
        card = working(yard)
    yard.forge.act("transfer", number=int(card), to="octo/other")
    if empty:
        yard.forge.script({"fault": "redirect_empty", "match": {"path": f"*/issues/{card}*"}})
    other = yard.issue(title="Another")
    for _ in range(2):
        ticks(yard, clock, wait=parked)
    (tmp_path / "go").touch()
    yard.join()
    ticks(yard, clock, 2, wait=True)
    assert yard.place(other) == ("awaiting_input" if parked else "review")
    if not parked:
        assert yard.run(card).status == RunStatus.FAILED_RESUMABLE
    assert ("web", card) not in yard.ledger().claims
    assert ("web", card) not in yard.ledger().parks


def test_one_unreadable_answer_about_a_running_card_touches_no_run(
    make: Maker, clock: FakeClock, tmp_path: Path
) -> None:
    """D136: the next tick is clean."""
    yard = make("github", waits(tmp_path))
    card = working(yard)
    yard.forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "issue.get"}})
    ticks(yard, clock)
    assert yard.run(card).status == RunStatus.RUNNING
    yard.forge.script()
    ticks(yard, clock)
    (tmp_path / "go").touch()
    yard.settled(2)
    assert (yard.run(card).status, yard.place(card)) == (RunStatus.FINISHED, "review")


def test_an_empty_list_interrupts_nothing_and_one_card_that_is_gone_itself_alone(
    make: Maker, clock: FakeClock, tmp_path: Path
) -> None:
    """D137 D138: ten runs; reads of the cards themselves decide."""
    started = f"{tmp_path}/started"
    yard = make("github", waits(tmp_path).replace(started, f"{started}-{{{{vars.title}}}}"))
    path = tmp_path / "pointsman.yaml"
    path.write_text(f"{path.read_text()}concurrency: {{max: 10}}\n")
    yard.again()
    cards = [yard.issue(title=f"c{n}") for n in range(10)]
    yard.tick(wait=False)
    for n in range(10):
        yard.until(f"started-c{n}")
    yard.forge.script({"fault": "status", "with": {"code": 200, "body": []}, "match": {"operation": "issue.list"}})
    ticks(yard, clock, 2)
    assert [yard.run(card).status for card in cards] == [RunStatus.RUNNING] * 10
    yard.forge.script()
    yard.forge.act("gone", number=int(cards[0]))
    ticks(yard, clock, 3)
    (tmp_path / "go").touch()
    yard.settled(2)
    statuses = [yard.run(card).status for card in cards]
    assert statuses == [RunStatus.FAILED_RESUMABLE, *[RunStatus.FINISHED] * 9]


def test_a_parked_card_whose_label_does_not_show_yet_stays_parked(make: Maker, clock: FakeClock) -> None:
    """D103: a reading from before the move is no gesture of a person."""
    yard = make("gitlab", ASKS)
    card = yard.issue()
    yard.tick()
    yard.forge.script({"fault": "lag", "with": {"seconds": 8, "what": "lists"}})
    yard.settled()
    for _ in range(4):
        clock.advance(3)
        yard.tick()
    assert ("web", card) in yard.ledger().parks
    assert len(yard.runs()) == 1


def test_blockers_that_the_forge_hides_hold_the_card(make: Maker, clock: FakeClock) -> None:
    """D164: 404 of the list of links is no empty list."""
    yard = make("github", tool("true"))
    card = yard.issue()
    yard.forge.script({"fault": "status", "with": {"code": 404}, "match": {"operation": "dependency.list"}})
    ticks(yard, clock)
    assert (yard.runs(), reason(yard, card)) == ((), "blockers_unreadable")


def test_a_workspace_goes_when_its_issue_is_closed_and_few_are_asked_at_once(
    make: Maker, clock: FakeClock, tmp_path: Path
) -> None:
    """dispatcher.md 21: every ten minutes twenty cards of a forge are read by their ids, in turn."""
    yard = make("gitlab", tool("true"))
    path = tmp_path / "pointsman.yaml"
    path.write_text(f"{path.read_text()}concurrency: {{max: 30}}\nworkspace: {{persist: cleanup_on_done}}\n")
    yard.again()
    cards = [yard.issue(title=f"c{n}") for n in range(25)]
    yard.settled()
    rooms = {card: Path(yard.run(card).workspace) for card in cards}
    for card in cards:
        yard.forge.act("close", number=int(card))
    for left in (5, 0):
        clock.advance(601)
        yard.forge.forget_requests()
        yard.tick()
        assert len(yard.forge.requests(operation="issue.get")) <= 20
        assert sum(each.is_dir() for each in rooms.values()) == left


def test_a_give_up_whose_move_the_forge_refuses_is_moved_later_and_held_meanwhile(
    make: Maker, clock: FakeClock
) -> None:
    """D115: three attempts; the stamp holds the card while its move is asked again, and no fourth attempt begins."""
    yard = make("gitlab", tool("exit 1"))
    card = yard.issue()
    for _ in range(2):
        yard.settled()
        clock.advance(400)
    yard.tick()
    yard.forge.script({"fault": "status", "with": {"code": 403}, "match": {"operation": "issue.edit"}})
    for _ in range(3):
        yard.tick()
        clock.advance(20)
    assert (yard.place(card), yard.run(card).epoch) == ("in_progress", 3)
    yard.forge.script()
    clock.advance(400)
    yard.tick(2)
    assert (yard.place(card), yard.run(card).epoch) == ("blocked", 3)


def test_an_outcome_that_the_forge_refuses_is_moved_later_and_picked_by_nobody(make: Maker, clock: FakeClock) -> None:
    """D074: for twenty minutes the forge takes no label."""
    yard = make("github", tool("true"))
    card = yard.issue()
    yard.tick()
    yard.forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "label.add"}})
    yard.forge.forget_requests()
    ticks(yard, clock, 20, wait=True, seconds=60)
    asked = len(yard.forge.requests(operation="label.add"))
    assert (len(yard.runs()), yard.place(card)) == (1, "in_progress")
    assert ("web", card) in yard.ledger().claims
    yard.forge.script()
    ticks(yard, clock, 3, wait=True, seconds=900)
    assert (len(yard.runs()), yard.place(card)) == (1, "review")
    assert asked <= 30, "each tick asked, though the pauses grow"


@pytest.mark.parametrize("fault", ["act_then_close", "act_then_5xx"])
@pytest.mark.parametrize("kind", ["github", "gitlab", "forgejo"])
def test_an_outcomes_writes_whose_answers_are_lost_are_made_once(
    make: Maker, clock: FakeClock, kind: str, fault: str
) -> None:
    """D066 D067: one move in the forge's history, one comment, settled by its marker."""
    yard = make(kind, ASKS)
    card = yard.issue()
    yard.tick()
    operations = ("label.add", "label.remove", "comment.create", "issue.edit")
    yard.forge.script(*({"fault": fault, "match": {"operation": name, "nth": 1}} for name in operations))
    for _ in range(4):
        yard.settled()
        clock.advance(30)
    assert yard.place(card) == "awaiting_input"
    assert len([each for each in yard.forge.card(int(card)).comments if not each.system]) == 1
    events = [event.data["label"] for event in yard.forge.card(int(card)).events if event.kind == "labeled"]
    assert events == ["ready", "in_progress", "awaiting_input"]
