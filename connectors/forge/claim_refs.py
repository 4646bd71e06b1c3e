"""Claims of one board as refs of its repository: made where none is, moved only from what was read (connectors.md 19).

The forge itself decides between two who try at once, so nothing settles and nothing is compared afterwards: who made
the ref, or moved an ended one on, has the card. Whose a claim that is there is, ``claims`` decides; times are the
forge's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast

from connectors.catalogue import results
from connectors.effects.guard import Change, Conflict, Done, Effect, Ready, Row, Sight
from connectors.errand import Errand
from connectors.errors import ForgeRefused
from connectors.forge.board_moving import SETTLING
from connectors.forge.claiming import Claims, Look
from connectors.forge.claims import Claimed, Mark, claim_of_commit
from connectors.forge.client import RefClient
from connectors.forge.issue_changes import CHANGED, unchanged
from connectors.forge.records import CommitDraft

FILE, TEXT = "README", "Who works on which card of this board. See refs/pointsman/claims.\n"
"""The one file of every claim's tree."""
SAFE = timedelta(minutes=2)
"""A claim that lasts longer than this is nobody else's while it is taken away."""
AGAIN = timedelta(minutes=10)
"""So long a claim that has ended is taken once more, to be taken away."""


@dataclass(frozen=True, slots=True)
class ClaimRefs(Claims):
    """The claim refs of one board. Only over a client whose ``traits.refs_claim`` holds."""

    tree: list[str] = field(default_factory=list)
    """The tree of the claims' commits, once it was made; empty before."""

    @property
    def at_once(self) -> bool:
        """A ref that was made is won."""
        return True

    @property
    def _refs(self) -> RefClient:
        return cast(RefClient, self.client)

    def look(self, card_id: str) -> Look:
        """The claim of the card, if any. Raises ``ForgeError``, also for an answer without a time."""
        read = self._refs.claim_ref(int(card_id), SETTLING)
        at = self.seen(read.date)
        return Look((claim_of_commit(read.commit),) if read.commit is not None else (), at)

    def write(self, card_id: str, mark: Mark, look: Look) -> str:
        """A new claim, or one in the place of that which the look showed; the SHA of its commit.

        Raises what the guard raises: ``ForgeRefused`` where somebody else was there first.
        """
        before = look.claims[0].comment_id if look.claims else ""
        sha = self._commit(card_id, mark, before)
        self._point(card_id, before, sha)
        return sha

    def prolong(self, card_id: str, claim: Claimed, mark: Mark) -> str:
        """The ref on a commit with another end; its SHA. Raises what the guard raises."""
        sha = self._commit(card_id, mark, claim.comment_id)
        self._point(card_id, claim.comment_id, sha)
        return sha

    def remove(self, card_id: str, claim: Claimed) -> None:
        """The ref away, as a read shows; absent, or somebody else's by now, is done. Raises what the guard raises.

        The forge cannot delete by expectation. So one that has ended is taken once more first, if it still can be.
        """
        now = self.now()
        if claim.until is None or now is None or claim.until < now + SAFE:
            mark = Mark(claim.owner, claim.instance, claim.epoch, (now or claim.changed_at) + AGAIN)
            try:
                claim = replace(claim, comment_id=self.prolong(card_id, claim, mark), until=mark.until)
            except ForgeRefused:
                return
        number, sha = int(card_id), claim.comment_id

        def look(reading: Errand) -> Sight[results.Changed]:
            return Ready() if self._present(number, reading) == sha else Done(CHANGED)

        def send(sending: Errand) -> results.Changed:
            self._refs.delete_claim_ref(number, sending)
            return CHANGED

        def declare(_row: Row) -> Change[results.Changed]:
            return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)

        self._carry(card_id, "remove_ref", Effect.IDEMPOTENT, declare)

    def _commit(self, card_id: str, mark: Mark, parent: str) -> str:
        """A commit that says it; nothing points to it yet, so that a repeat is safe."""
        if not self.tree:
            self.tree.append(self._object(card_id, "tree", lambda _row, to: self._refs.create_tree(FILE, TEXT, to)))
        tree = self.tree[0]

        author = self.login()

        def made(row: Row, sending: Errand) -> str:
            return self._refs.create_commit(CommitDraft(self._text(mark, row), author, tree, parent), sending)

        return self._object(card_id, "commit", made)

    def _object(self, card_id: str, what: str, make: Callable[[Row, Errand], str]) -> str:
        """An object of git's, which is the same when it is made again; its SHA."""

        def declare(row: Row) -> Change[str]:
            return Change(Effect.IDEMPOTENT, lambda sending: make(row, sending))

        return str(self._carry(card_id, what, Effect.IDEMPOTENT, declare, lambda sha: {"sha": sha}))

    def _point(self, card_id: str, before: str, sha: str) -> None:
        """The ref from where it was seen to the commit."""
        number = int(card_id)

        def look(reading: Errand) -> Sight[results.Changed]:
            present = self._present(number, reading)
            if present == sha:
                return Done(CHANGED)
            return Ready() if present == before else Conflict("somebody else claimed the card meanwhile")

        def send(sending: Errand) -> results.Changed:
            if before:
                self._refs.advance_claim_ref(number, sha, sending)
            else:
                self._refs.create_claim_ref(number, sha, sending)
            return CHANGED

        self._carry(card_id, "ref", Effect.GUARDED, lambda _row: Change(Effect.GUARDED, send, look))

    def _present(self, number: int, reading: Errand) -> str:
        found = self._refs.claim_ref(number, reading).commit
        return found.sha if found is not None else ""
