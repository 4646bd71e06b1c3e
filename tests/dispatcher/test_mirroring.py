"""A native board that mirrors a forge's: cards are copied, columns follow both ways, nothing comes back as an echo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from config.problems import ConfigError
from connectors.base import Move
from connectors.card import PERSON, Card, Mover, MoverKind
from connectors.fake_forge.running import Setup
from connectors.fake_forge.seed import PERSON as OCTO
from connectors.fake_forge.seed import STRANGER
from dispatcher.ledger.rows import remove
from dispatcher.ledger.schema import ForgeMirror
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS, ForgeYard
from tests.kit.yard import Yard, tool

CONFIG = """
name: yard
boards:
  - {{name: native, kind: native, mirror: web, bot: bots/work.bot, vars: {{title: "{{{{card.title}}}}"}}}}
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    columns: {{{columns}, done: {{closed: true}}}}
retry: {{max_attempts: 3, base: 10s, cap: 300s}}
shutdown: {{grace: 0s}}
"""
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class MirrorYard(ForgeYard):
    """A daemon whose one dispatched board mirrors the forge's."""

    def __init__(self, folder: Path, clock: FakeClock, forge: Any) -> None:
        self.forge = forge
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
        config = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        Yard.__init__(self, folder, clock, config, tool("true"), TOKEN=forge.token)

    def copy(self, number: str) -> Card:
        """The one copy of a card of the forge."""
        end = f"/{number}"
        (found,) = [card for card in self.board.list_cards(None).cards if card.url.endswith(end)]
        return found

    def writes(self) -> list[str]:
        """The changes that the forge was asked for."""
        return [each["operation"] for each in self.forge.requests() if each["method"] in WRITES]

    def quiet(self, times: int = 50) -> None:
        """So many ticks in which neither side is written."""
        self.forge.forget_requests()
        revision = self.board.revision()
        for _ in range(times):
            self.clock.advance(15)
            self.tick(pick=False)
        assert self.writes() == []
        assert self.board.revision() == revision

    clock: FakeClock
    view = Yard.view


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[MirrorYard]:
    with ExitStack() as stack:
        forge = stack.enter_context(fake(request.param, Setup(clock=clock)))
        made = MirrorYard(tmp_path, clock, forge)
        stack.callback(made.close)
        yield made


Act = Callable[[MirrorYard, str], None]


def moved(yard: MirrorYard, number: str, to: str, of: str) -> None:
    """A person moves the card on the forge."""
    yard.forge.act("move", number=int(number), to=to, **{"from": of})


def test_cards_are_copied_once_with_what_they_say(yard: MirrorYard) -> None:
    number = yard.issue("backlog", title="Paint", body="All of it.")
    yard.forge.act("assign", number=int(number), logins=[OCTO])
    yard.forge.act("add_label", number=int(number), label="bug")
    yard.issue("bug", title="In no column")
    yard.tick(3, pick=False)
    copy = yard.copy(number)
    assert (copy.title, copy.body, copy.column, copy.labels) == ("Paint", "All of it.", "backlog", ("bug",))
    assert (copy.assignee, copy.column_by, copy.column_mover) == (OCTO, MoverKind.FORGE, OCTO)
    assert len(yard.board.list_cards(None).cards) == 1
    yard.forge.act("edit", number=int(number), title="Paint it", body="Green.")
    yard.tick(2, pick=False)
    assert (yard.copy(number).title, yard.copy(number).body) == ("Paint it", "Green.")
    yard.quiet(5)


def test_the_whole_way_from_a_label_to_the_outcome_on_the_forge(yard: MirrorYard) -> None:
    number = yard.issue("ready")
    yard.settled(3)
    copy = yard.copy(number)
    assert (yard.run(copy.id).status, copy.column) == (RunStatus.FINISHED, "review")
    assert yard.place(number) == "review"
    assert len(yard.runs()) == 1
    yard.quiet()


def test_each_side_s_move_is_shown_on_the_other_and_comes_not_back(yard: MirrorYard) -> None:
    """Echo-proof: fifty ticks after a move on either side neither is written again."""
    number = yard.issue("inbox")
    yard.tick(pick=False)
    moved(yard, number, "backlog", "inbox")
    yard.tick(pick=False)
    copy = yard.copy(number)
    assert (copy.column, copy.column_by, copy.column_mover) == ("backlog", MoverKind.FORGE, OCTO)
    yard.quiet()
    yard.board.move(copy.id, Move("blocked", PERSON))
    yard.tick(pick=False)
    assert yard.place(number) == "blocked"
    yard.quiet()


def test_when_both_moved_the_forge_holds_and_the_history_says_so(yard: MirrorYard) -> None:
    number = yard.issue("inbox")
    yard.tick(pick=False)
    copy = yard.copy(number)
    yard.board.move(copy.id, Move("review", PERSON))
    moved(yard, number, "backlog", "inbox")
    yard.tick(pick=False)
    assert (yard.copy(number).column, yard.place(number)) == ("backlog", "backlog")
    last = yard.board.history(copy.id)[-1]
    assert "holds over review" in str(last.data["reason"])
    yard.quiet(5)


def test_a_lost_answer_to_a_push_makes_no_second_move(yard: MirrorYard) -> None:
    number = yard.issue("inbox")
    yard.tick(pick=False)
    operation = "issue.edit" if yard.forge.kind == "gitlab" else "label.add"
    yard.forge.script({"fault": "act_then_close", "match": {"operation": operation, "nth": 1}})
    yard.forge.forget_requests()
    yard.board.move(yard.copy(number).id, Move("backlog", PERSON))
    for _ in range(4):
        yard.clock.advance(30)
        yard.tick(pick=False)
    assert (yard.place(number), yard.copy(number).column) == ("backlog", "backlog")
    assert len(yard.forge.requests(operation=operation)) == 1
    yard.quiet(5)


@pytest.mark.parametrize("forgotten", ["nothing", "row", "column"])
def test_a_daemon_that_dies_between_the_two_sides_copies_and_moves_once(yard: MirrorYard, forgotten: str) -> None:
    """A kill behind the copy or the push leaves the row unwritten: what both show is agreed, nothing is redone."""
    number = yard.issue("inbox")
    yard.tick(pick=False)
    copy = yard.copy(number)
    if forgotten == "column":
        yard.web.move(number, Move("backlog", PERSON, "inbox"))
        yard.board.move(copy.id, Move("backlog", PERSON))
    elif forgotten == "row":
        with yard.wiring.ledger.write() as cursor:
            remove(cursor, ForgeMirror, board="native")
    yard.again()
    yard.quiet(3)
    assert yard.copy(number).id == copy.id
    assert yard.place(number) == yard.copy(number).column


def test_a_closed_card_is_closed_here_and_a_reopened_one_comes_back(yard: MirrorYard) -> None:
    number = yard.issue("inbox")
    yard.tick(pick=False)
    yard.forge.act("close", number=int(number))
    yard.tick(pick=False)
    assert yard.copy(number).column == "done"
    yard.quiet(5)
    yard.forge.act("reopen", number=int(number))
    yard.tick(pick=False)
    assert yard.copy(number).column == "inbox"
    yard.board.move(yard.copy(number).id, Move("done", PERSON))
    yard.tick(pick=False)
    assert yard.place(number) == "done"
    yard.quiet(5)


def test_a_card_that_is_gone_is_closed_here_once_and_then_left_alone(yard: MirrorYard) -> None:
    number = yard.issue("inbox")
    yard.tick(pick=False)
    copy = yard.copy(number)
    yard.forge.act("delete", number=int(number))
    yard.tick(pick=False)
    assert yard.copy(number).closed
    yard.board.move(copy.id, Move("backlog", PERSON))
    yard.quiet(3)


def test_a_list_that_breaks_off_or_a_forge_that_is_away_changes_nothing(yard: MirrorYard) -> None:
    """A partial listing never deletes, closes or moves anything."""
    number = yard.issue("inbox")
    yard.tick(pick=False)
    yard.forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "issue.list"}})
    yard.clock.advance(30)
    yard.tick(3, pick=False)
    assert yard.copy(number).column == "inbox"
    yard.forge.script()
    yard.clock.advance(600)
    yard.tick(pick=False)
    assert yard.copy(number).column == "inbox"


def test_an_outsider_s_move_on_the_forge_starts_no_copy(yard: MirrorYard) -> None:
    """D046 F55 through a mirror: who moved the card in on the forge must be one who may write there."""
    number = yard.issue("backlog", by=STRANGER)
    yard.tick()
    yard.forge.act("move", number=int(number), to="ready", by=STRANGER, **{"from": "backlog"})
    yard.settled(2)
    copy = yard.copy(number)
    assert (yard.runs(), copy.column, yard.reason(copy.id)) == ((), "ready", "untrusted_move")
    moved(yard, number, "backlog", "ready")
    yard.clock.advance(20)
    yard.tick()
    moved(yard, number, "ready", "backlog")
    yard.clock.advance(20)
    yard.settled(2)
    assert (len(yard.runs()), yard.place(number)) == (1, "review")


def test_a_text_that_an_outsider_changed_after_the_move_holds_the_copy(yard: MirrorYard) -> None:
    """D046 through a mirror: the text is the one that was accepted by the move in."""
    number = yard.issue("backlog", by=STRANGER)
    yard.tick(pick=False)
    moved(yard, number, "ready", "backlog")
    yard.clock.advance(20)
    yard.tick(pick=False)
    yard.forge.act("edit", number=int(number), body="do what I say", by=STRANGER)
    yard.clock.advance(20)
    yard.settled(2)
    assert yard.runs() == ()
    assert yard.reason(yard.copy(number).id) == "body_changed"


def test_a_deleted_copy_is_not_made_again(yard: MirrorYard) -> None:
    number = yard.issue("inbox")
    yard.tick(pick=False)
    yard.board.delete(yard.copy(number).id, Mover(MoverKind.PERSON))
    yard.quiet(3)
    assert yard.board.list_cards(None).cards == ()
    assert yard.place(number) == "inbox"


@pytest.mark.parametrize(
    ("boards", "said"),
    [
        ("[{name: a, mirror: b}]", "is no board of a forge"),
        ("[{name: a, mirror: b}, {name: b}]", "is no board of a forge"),
        ("[{name: a, mirror: w}, {name: b, mirror: w}, W]", "mirrored twice"),
        ("[{name: a, kind: github, repo: o/r, token: $TOKEN, mirror: w}]", "only a native board"),
    ],
)
def test_a_mirror_that_cannot_work_is_refused(tmp_path: Path, boards: str, said: str) -> None:
    forge = "{name: w, kind: github, repo: o/r, token: $TOKEN, columns: {ready: {label: ready}}}"
    (tmp_path / "pointsman.yaml").write_text(f"boards: {boards.replace('W', forge)}\n")
    with pytest.raises(ConfigError) as refused:
        load(tmp_path / "pointsman.yaml", {"TOKEN": "0123456789abcdef"})
    assert said in " ".join(f"{each.text} {each.sentence()}" for each in refused.value.problems)
