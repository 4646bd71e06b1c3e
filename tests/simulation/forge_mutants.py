"""Faulty ways to a forge, to try the laws of forges out: each breaks one, and the simulation must find it.

As in ``mutants`` a variant takes the place of one part through the door that the product has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from connectors.card import Comment
from connectors.catalogue.operations import NAMES
from connectors.effects.guard import Effect
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect
from connectors.forge.board import LabelBoard
from connectors.forge.claiming import ClaimComments
from connectors.forge.claims import Claimed
from connectors.transport.client import Transport
from connectors.transport.request import Answer, Request
from dispatcher import board_rows
from dispatcher.forges import ForgeWords
from engine.ports import Probed, Remote, SentEffect, Undone
from tests.simulation.forge import FORGES
from tests.simulation.forge_laws import CLAIM, COLUMN, DOUBT, TWICE
from tests.simulation.hands import Hands, LoopForges
from tests.simulation.play import Parts


class RepeatingTransport(Transport):
    """A client that sends a change again when its answer was lost."""

    def mutate(self, errand: Errand, request: Request) -> Answer:
        with suppress(AmbiguousEffect):
            return super().mutate(errand, request)
        return super().mutate(errand, request)


class RepeatingForges(LoopForges):
    """Connections whose client repeats."""

    def transport(self, *parts: Any) -> Transport:
        return RepeatingTransport(*parts)


class Repeats(Hands):
    """A library below us repeats."""

    forges_class = RepeatingForges


class ForgetfulWords(ForgeWords):
    """Texts without our marker."""

    def compose(self, text: str, marker: str = "", *, keep_closing: bool = False) -> str:
        return super().compose(text, "", keep_closing=keep_closing)


class UnmarkedForges(LoopForges):
    """Connections whose texts carry no marker."""

    def words(self, name: str, run_id: str = "") -> ForgeWords:
        made = super().words(name, run_id)
        return ForgetfulWords(made.kind, made.allow_mentions, made.redactor, made.observer, run_id)


class Unmarked(Hands):
    """No marker is written."""

    forges_class = UnmarkedForges


class SettlesWithoutLooking(Hands):
    """What is not found at once counts as not made, so that it is made again."""

    def remote(self) -> Remote:
        real = super().remote()

        class Blind:
            def probe(self, effect: SentEffect) -> Probed:
                forge, entry = NAMES.get(effect.operation, ("", None))
                if entry is None or entry.effect_on(forge) is not Effect.AMBIGUOUS:
                    return real.probe.probe(effect)
                return Undone("nobody looked")

        return Remote(real.runner, Blind(), real.check, real.shown, real.passed)


class PostsAgain(Hands):
    """The status comment is posted anew for each outcome, and again when its answer was lost."""

    def shaped(self, board: LabelBoard) -> LabelBoard:
        def post(card_id: str, text: str, *, place: str) -> Comment:
            order = board._order(card_id, f"status {place}", Effect.AMBIGUOUS, "status")
            return board._made(card_id, order, text, key="status")

        board.post_status = post  # type: ignore[method-assign]
        return board


class ForgetsMoves(Hands):
    """Nobody remembers that a move is under way: half of one is nobody's."""

    def shaped(self, board: LabelBoard) -> LabelBoard:
        board._hands.memory.cross = lambda card_id, crossing: None  # type: ignore[method-assign]
        return board


class KeepsWhatIsUnknown(board_rows.BoardRows):
    """Rows of a dead sender stay as they are."""

    def lose_orphans(self, board: str) -> tuple[Any, ...]:
        return ()


class LosesNoOrphans(Hands):
    """A daemon that does not look at what the one before it left under way."""

    rows_class = KeepsWhatIsUnknown


class StuckComments(ClaimComments):
    """Claims that are not taken away."""

    def remove(self, card_id: str, claim: Claimed) -> None:
        return None


class KeepsClaims(Hands):
    """A claim stays on its card, whatever became of the work."""

    def shaped(self, board: LabelBoard) -> LabelBoard:
        known = board.claiming
        board.claiming = StuckComments(*(getattr(known, each.name) for each in fields(known)))
        return board


@dataclass(frozen=True, slots=True)
class ForgeMutant:
    """A faulty way to the forge and the laws of which it must break one; on which board, and from which seed on."""

    hands: type[Hands]
    laws: frozenset[str]
    board: str
    first: int

    def parts(self) -> Parts:
        """The parts of a play with it."""
        make: Callable[..., Any] = FORGES[self.board]
        return Parts(ground=partial(make, hands=self.hands))


STAYS_HALF = frozenset({COLUMN, "nothing stays half-done", "no card is lost"})
FORGE_MUTANTS: Mapping[str, ForgeMutant] = {
    "a lost change is sent again": ForgeMutant(Repeats, frozenset({TWICE}), "github", 4),
    "no marker is written": ForgeMutant(Unmarked, frozenset({TWICE, DOUBT}), "gitlab", 1),
    "what is not looked up is made again": ForgeMutant(SettlesWithoutLooking, frozenset({TWICE}), "gitlab", 1),
    "the status comment is posted anew": ForgeMutant(PostsAgain, frozenset({TWICE}), "github", 1),
    "half a move stays half": ForgeMutant(ForgetsMoves, STAYS_HALF, "github", 18),
    "a claim stays for ever": ForgeMutant(KeepsClaims, frozenset({CLAIM}), "gitlab", 6),
    "orphaned rows are left alone": ForgeMutant(LosesNoOrphans, frozenset({DOUBT}), "forgejo", 13),
}
