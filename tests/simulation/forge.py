"""The ground of a forge's board: a fake forge over a loopback, what people do on it, and its weather.

Between the product and the fake's desk everything is real: board, rows, guard, limiter, transport, HTTP. Each request
is a seam, before it arrives and when it was answered, so that people, crashes and faults find the worst moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from connectors.base import Board, Move, Moved
from connectors.card import PERSON, MoverKind
from connectors.fake_forge.clock import ForgeClock
from connectors.fake_forge.desk import Desk
from connectors.fake_forge.dialects import dialect_of
from connectors.fake_forge.git import Push
from connectors.fake_forge.records import Issue, Kind
from connectors.fake_forge.running import FakeForge
from connectors.fake_forge.seed import BOT, COLUMNS
from connectors.fake_forge.seed import PERSON as OWNER
from dispatcher.ledger.records import Snapshot
from engine.ports import OperationCall
from engine.run import RunRecord
from engine.runtime.probing import may_send_again, probe_orphan
from engine.runtime.requests import ResumeRequest
from engine.store.database import take_sequence
from tests.kit.loopback import Forge
from tests.simulation import forge_laws
from tests.simulation.grounds import Draft, Standing
from tests.simulation.hands import Hands, MakeHands
from tests.simulation.seams import Deed, Fault
from tests.simulation.weather import rule_of

if TYPE_CHECKING:
    from tests.simulation.machine import Execution
    from tests.simulation.play import Dispatcher, Play

CALM = (30.0,) * 2 + (400.0,) * 4 + (3700.0,) * 30
"""Seconds between the ticks in which everything comes to rest."""
FIRST = 2
"""Cards that lie on the board from the beginning."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A card as the forge has it at this moment."""

    board: str
    id: str
    number: int
    column: str | None
    column_by: MoverKind
    closed: bool
    column_sequence: int = 0


class ForgeGround:
    """One fake forge with its people. ``kind`` is set by a subclass per forge."""

    name = "web"
    calm = CALM
    remote = True
    kind = ""

    def __init__(self, play: Play, hands: MakeHands = Hands) -> None:
        self.play, self._make = play, hands
        self.desk = Desk(dialect_of(Kind(self.kind)), ForgeClock(play.clock))
        self.side = Forge(self.desk, play.clock)
        self.forge = FakeForge(self.desk, self.side, None)  # type: ignore[arg-type]
        self._hands: dict[str, Hands] = {}
        self._rules: list[dict[str, Any]] = []
        self._unfinished: list[Callable[[], object]] = []
        self.told: list[str] = []
        for _ in range(FIRST):
            self.forge.issue("a card", labels=["ready"])

    # -- processes -----------------------------------------------------------------------------------------------------
    def hands(self, process: str) -> Hands:
        """The way of a process to the forge."""
        if process not in self._hands:
            self._hands[process] = self._make(self, process)
        return self._hands[process]

    def around(self, process: str) -> None:
        """A request, or a point of an effect: somebody may act here, and the process may die."""
        seams = self.play.seams
        seams.passed()
        if process not in self.play.machine.processes:
            seams.die()

    def watching(self, move: Callable[[str, Move], Any]) -> Callable[[str, Move], Any]:
        """The board's own move, watched."""

        def moved(card_id: str, wanted: Move) -> Any:
            before = self._shown(int(card_id))
            answer = move(card_id, wanted)
            after = self._shown(int(card_id))
            if isinstance(answer, Moved) and answer.changed and before is not None and after is not None:
                self.play.watch.moved(before, wanted, after)
            return answer

        return moved

    def board(self, process: str) -> Board:
        return self.hands(process).board

    def journal(self, process: str) -> Any:
        return self.hands(process).journal

    def died(self, process: str) -> None:
        gone = self._hands.pop(process, None)
        if gone is not None:
            gone.close()

    def close_all(self) -> None:
        """Let go of every connection."""
        for process in list(self._hands):
            self.died(process)

    # -- the truth -----------------------------------------------------------------------------------------------------
    def cards(self) -> Iterator[Standing]:
        issues = self.forge.here.issues.values()
        found = [self._shown(each.number) for each in issues if each.author != BOT]
        return iter([each for each in found if each is not None])

    def _shown(self, number: int) -> Shown | None:
        issue = self.forge.here.issues.get(number)
        if issue is None or issue.gone:
            return None
        closed, columns = issue.state == "closed", self.columns(issue)
        column = "done" if closed else columns[0] if len(columns) == 1 else None
        return Shown(self.name, str(number), number, column, self._by(issue, column), closed)

    def columns(self, issue: Issue) -> list[str]:
        """The labels of columns on a card."""
        return [name for name in self.forge.labels_of(issue.number) if name in COLUMNS]

    def _by(self, issue: Issue, column: str | None) -> MoverKind:
        for event in reversed(issue.events):
            came = event.kind == "reopened" or column in event.data.values()  # its label may have stayed on it
            if event.kind == "closed" if column == "done" else came:
                return MoverKind.DISPATCHER if event.actor == BOT else MoverKind.PERSON
        return MoverKind.PERSON

    # -- weather -------------------------------------------------------------------------------------------------------
    def step(self) -> None:
        """A tick later: idle connections have ended, and who did half a thing does the other half."""
        for each in self._hands.values():
            each.loopback.hang_up()
        unfinished, self._unfinished = self._unfinished, []
        for finish in unfinished:
            finish()

    def fault(self, number: int) -> Fault | Deed:
        return lambda: self._spoil(number)

    def _spoil(self, number: int) -> None:
        rule = rule_of(Random(number), self.kind)
        self._rules = [*self._rules[-2:], rule]
        self.forge.script(*self._rules)
        self.play.watch.note(f"    the forge: {rule}")

    def hide(self) -> None:
        """For the next ticks a list is cut, or shows the past."""
        self._spoil(self.play.ticks)

    def settle(self) -> None:
        self._rules = []
        self.forge.script()
        self.step()

    # -- laws ----------------------------------------------------------------------------------------------------------
    def ticked(self) -> None:
        forge_laws.nothing_twice(self)

    def at_rest(self, daemon: Dispatcher, snapshot: Snapshot) -> None:
        forge_laws.at_rest(self, snapshot)

    def changes(self) -> object:
        """What must not change any more at rest; claims of parked cards are prolonged for ever."""
        runs = self.play.store.runs.list().records
        told = [(each.id, each.status, each.outcome_sequence) for each in runs]
        writes = [each for each in self.desk.recorded if each.method != "GET" and each.performed]
        renewed = ("ref.update", "commit.create", "comment.delete")
        lasting = sum(each.operation not in renewed and "pointsman claim" not in str(each.body) for each in writes)
        return lasting, told, repr(self.play.snapshot())

    def blind(self) -> bool:
        """Whether lists show the past, so that nobody can say a word about what is new in them."""
        return any(rule["fault"] == "lag" for rule in self._rules)

    def met(self) -> tuple[str, ...]:
        return tuple(each.fault for each in self.desk.recorded if each.fault and each.method != "GET")

    # -- people --------------------------------------------------------------------------------------------------------
    def create(self, draft: Draft) -> int:
        body = f"Blocked by #{draft.blocker.number}" if draft.blocker is not None else ""
        number = self.forge.issue("a card", body=body)
        self.forge.act("add_label", number=number, label=draft.column)
        self._came(number, draft.column)
        return number

    def move(self, card: Standing, to: str, number: int) -> None:
        issue = self.forge.card(card.number)
        before = self.columns(issue)
        if to == "done":
            self.close(card)
            return
        if card.closed:
            self.forge.act("reopen", number=card.number)
        if to not in before:
            self.forge.act("add_label", number=card.number, label=to)
        if number % 4:
            self._take_away(card.number, to)
        else:
            self._unfinished.append(lambda: self._take_away(card.number, to))
        self._came(card.number, to)

    def _take_away(self, number: int, to: str) -> None:
        """The second half of a person's move: every other column goes, and the own one stays."""
        for label in self.columns(self.forge.card(number)):
            if label != to:
                self.forge.act("remove_label", number=number, label=label)
        if to not in self.columns(self.forge.card(number)):
            self.forge.act("add_label", number=number, label=to)

    def close(self, card: Standing) -> None:
        self.forge.act("close", number=card.number)
        self._came(card.number, "done")

    def delete(self, card: Standing) -> None:
        self.forge.act("delete", number=card.number)

    def edit(self, card: Standing, number: int) -> None:
        if number:
            self.forge.act("comment", number=card.number, body="a person's word")
        else:
            self.forge.act("add_label", number=card.number, label="bug")

    def _came(self, number: int, to: str) -> None:
        shown = self._shown(number)
        if shown is None:
            return
        with self.play.seams.paused(), self.play.database.write_raw() as cursor:
            sequence = take_sequence(cursor)
        after = Shown(shown.board, shown.id, number, to, MoverKind.PERSON, shown.closed, sequence)
        self.play.watch.moved(shown, Move(to, PERSON), after)

    # -- runs ----------------------------------------------------------------------------------------------------------
    def free(self, process: str) -> bool:
        return process not in self._hands or not self._hands[process].loopback.busy

    def call(self, each: Execution) -> str:
        """The calls of a run, one node after the other; the code of the first that failed."""
        hands = self.hands(each.process)
        for node, call in self._calls(each):
            code = hands.call(each, node, call)
            if code or each.run_id not in self.play.machine.live:
                self.play.watch.note(f"    {each.run_id}: {call.operation} ended with {code or 'its process'}")
                return code
        return ""

    def _calls(self, each: Execution) -> list[tuple[str, OperationCall]]:
        number, run = int(each.key[1]), each.run_id
        pull = "merge_request" if self.kind == "gitlab" else "pull"
        self._branch(f"work-{run}")
        every = (
            ("note", "issue.comment", {"number": number, "body": f"note of {run}"}),
            ("make", "issue.create", {"title": f"issue of {run}", "body": "text"}),
            ("open", f"{pull}.create", {"head": f"work-{run}", "base": "main", "title": f"pull of {run}", "body": "x"}),
            ("mark", "label.add", {"number": number, "label": "bug"}),
            ("last", "issue.comment", {"number": number, "body": f"last of {run}"}),
        )
        chosen = Random(run).sample(every, 3)
        return [(node, OperationCall(f"{self.kind}.{what}", self.name, given)) for node, what, given in chosen]

    def alerted(self, text: str) -> None:
        """What a run's log tells a person at once: a row that the store refused to settle, above all."""
        self.told.append(text)
        self.play.watch.note(f"    {text}")

    def _branch(self, head: str) -> None:
        repo = self.forge.here
        if f"refs/heads/{head}" not in repo.refs:
            repo.refs[f"refs/heads/{head}"] = repo.refs["refs/heads/main"]
            self.desk.git.put(repo, Push(head, f"{head}.txt", b"work", "Work", OWNER))

    def decided(self, process: str, record: RunRecord, *, attended: bool) -> frozenset[str]:
        host = self.hands(process).engine._host
        return may_send_again(host, ResumeRequest(record.id, attended=attended), record)

    def doubtful(self, process: str, run_id: str) -> bool:
        return bool(probe_orphan(self.hands(process).engine._host, run_id))

    def probe(self, process: str, effect_id: str) -> object:
        return self.hands(process).engine.probe_effect(effect_id)


class GitHubGround(ForgeGround):
    """Two requests per move, validators, a limit per hour."""

    kind = "github"


class GitLabGround(ForgeGround):
    """One request per move."""

    kind = "gitlab"


class ForgejoGround(ForgeGround):
    """Two requests per move, no limits."""

    kind = "forgejo"


FORGES = {each.kind: each for each in (GitHubGround, GitLabGround, ForgejoGround)}
"""kind -> the ground of its boards."""
