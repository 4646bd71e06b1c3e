"""GitHub's refs that say who has a card: ``refs/pointsman/claims/NUMBER``, each on a small commit (connectors.md 19).

GitHub makes a ref only where none is, and moves one only forward unless it is forced; both are decided there, so that
of two who try at once one is refused. One request per change, sent once. Used by ``forge.claim_refs``.
"""

from __future__ import annotations

from pydantic import AwareDatetime, TypeAdapter

from connectors.errand import Errand
from connectors.forge.payloads import Payload
from connectors.forge.records import ClaimCommit, ClaimRead, CommitDraft
from connectors.github import mapping
from connectors.github.reads import Wired
from connectors.transport.models import accept

_BELOW = "pointsman/claims"
FILE_MODE = "100644"


class AuthorPayload(Payload):
    """Who made a commit, by the name that stands in it."""

    name: str
    date: AwareDatetime


class CommitPayload(Payload):
    """A commit as git has it."""

    sha: str
    html_url: str
    message: str
    author: AuthorPayload


REFS = TypeAdapter(list[mapping.RefPayload])
COMMIT = TypeAdapter(CommitPayload)
MADE = TypeAdapter(mapping.CommitPayload)


class ClaimRefs(Wired):
    """Implements ``forge.client.RefClient`` as far as it is about refs."""

    def claim_ref(self, number: int, errand: Errand) -> ClaimRead:
        """The ref among those that begin like it, since that list also answers when there is none."""
        answer = self._get(errand, f"/git/matching-refs/{_BELOW}/{number}")
        refs = accept(answer, REFS, errand)
        ref = next((each for each in refs if each.ref == f"refs/{_BELOW}/{number}"), None)
        if ref is None:
            return ClaimRead(None, answer.date)
        found = accept(self._get(errand, f"/git/commits/{ref.object.sha}"), COMMIT, errand)
        made = found.author
        return ClaimRead(ClaimCommit(found.sha, made.name, found.message, found.html_url, made.date), answer.date)

    def create_tree(self, path: str, text: str, errand: Errand) -> str:
        """The same file makes the same tree."""
        entry = {"path": path, "mode": FILE_MODE, "type": "blob", "content": text}
        answer = self._library.ask(errand, "POST", "/git/trees", {"tree": [entry]})
        return accept(answer, MADE, errand).sha

    def create_commit(self, draft: CommitDraft, errand: Errand) -> str:
        """Dated by GitHub."""
        author = {"name": draft.author, "email": f"{draft.author}@users.noreply.github.com"}
        parents = [draft.parent] if draft.parent else []
        body = {"message": draft.message, "tree": draft.tree, "parents": parents, "author": author}
        return accept(self._library.ask(errand, "POST", "/git/commits", body), MADE, errand).sha

    def create_claim_ref(self, number: int, sha: str, errand: Errand) -> None:
        """422 where one exists."""
        body = {"ref": f"refs/{_BELOW}/{number}", "sha": sha}
        accept(self._library.ask(errand, "POST", "/git/refs", body), mapping.REF, errand)

    def advance_claim_ref(self, number: int, sha: str, errand: Errand) -> None:
        """422 where that would be no fast-forward."""
        body = {"sha": sha, "force": False}
        accept(self._library.ask(errand, "PATCH", f"/git/refs/{_BELOW}/{number}", body), mapping.REF, errand)

    def delete_claim_ref(self, number: int, errand: Errand) -> None:
        """A ref less."""
        self._library.ask(errand, "DELETE", f"/git/refs/{_BELOW}/{number}")
