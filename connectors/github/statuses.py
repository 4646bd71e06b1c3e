"""A project's status as a board's columns: the client that a board over ``{status: NAME}`` works with.

For such a board a status option is what a column's label is for others: ``labels`` names the options in front of the
repository's labels, an issue carries the name of its status in front of its own, and a swap sets the status, and the
state with it, in one GraphQL document. A label of the repository that is spelled like an option is left out, so that it
is no second column. Actions keep the plain client, for which labels are labels (connectors.md 4, 6, 20).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from connectors.answer import AnswerKind, Read
from connectors.errand import Errand
from connectors.errors import ForgeRefused, Unsupported
from connectors.forge.client import ForgeClient, Traits
from connectors.forge.payloads import refused
from connectors.forge.records import Issue, IssueQuery, LabelDef, LabelSwap, Missing, ProjectField, Sighting
from connectors.forge.wire import sighted
from connectors.github.connector import GitHubClient
from connectors.github.projects import Membership, Placed

_SET = """
  status: updateProjectV2ItemFieldValue(
    input: {projectId: $project, itemId: $item, fieldId: $field, value: {singleSelectOptionId: $option}}
  ) { projectV2Item { id } }
"""
_CLEAR = """
  status: clearProjectV2ItemFieldValue(input: {projectId: $project, itemId: $item, fieldId: $field}) {
    projectV2Item { id }
  }
"""
_CLOSE = "state: closeIssue(input: {issueId: $issue, stateReason: COMPLETED}) { issue { id } }"
_REOPEN = "state: reopenIssue(input: {issueId: $issue}) { issue { id } }"


def document(*, option: bool | None, is_open: bool | None) -> str:
    """What a swap sends. ``option``: True sets a status, False clears it, None leaves it."""
    takes = []
    if option is not None:
        takes.append("$project: ID!, $item: ID!, $field: ID!" + (", $option: String!" if option else ""))
    if is_open is not None:
        takes.append("$issue: ID!")
    status = "" if option is None else _SET if option else _CLEAR
    state = "" if is_open is None else _REOPEN if is_open else _CLOSE
    # The state first: it is confirmed before the status goes.
    return f"mutation({', '.join(takes)}) {{ {state} {status} }}"


OPTION = "status:"
"""What an option's id begins with among labels; a label's own id is a number."""
CHOICES = (None, True, False)
DOCUMENTS = tuple(
    document(option=option, is_open=is_open)
    for option in CHOICES
    for is_open in CHOICES
    if (option, is_open) != (None, None)
)
"""Every document that this room sends; a test checks them against GitHub's published schema."""


class StatusClient(GitHubClient):
    """A GitHub client for which the options of a project's status field are labels too."""

    _options: frozenset[str] = frozenset()
    _mapped: frozenset[str] = frozenset()

    @classmethod
    def over(cls, client: ForgeClient, mapped: Collection[str]) -> StatusClient:
        """The same connection, seen so; ``mapped`` are the statuses that are columns, which no label stands in for when
        they are lost. Raises ``Unsupported`` for a connection without a project."""
        if not isinstance(client, GitHubClient) or client.target.project is None:
            raise Unsupported("Columns are mapped by status, and the board has no project.", "Give it `project:`.")
        made = cls(client.transport, client.target, url=client.url, app=client.app)
        made._mapped = frozenset(mapped)
        return made

    @property
    def traits(self) -> Traits:
        """Options are spelled exactly, exclude each other, and are set in one call."""
        return Traits(swaps=True, lists_whole=True, exclusive=True, label_history=False, projects=True)

    def labels(self, errand: Errand) -> Read[LabelDef]:
        """The options of the status field as they are now, then the labels that are spelled like none of them."""
        field = self.project_field(errand)
        self._options = self._mapped.union(field.options)
        options = tuple(LabelDef(OPTION + option, name) for name, option in field.options.items())
        rest = super().labels(errand)
        plain = tuple(label for label in rest.items if label.name not in self._options)
        return replace(rest, items=(*options, *plain))

    def issues(self, query: IssueQuery, errand: Errand) -> Read[Issue]:
        """Issues of the project; archived ones are in no column that starts anything."""
        self._know_options(errand)
        read = self.project_items(errand)
        shown = [self._shown(item.issue, item.status) for item in read.items if not item.archived]
        kept = tuple(issue for issue in shown if _fits(issue, query))
        archived = sum(item.archived for item in read.items)
        skipped = {**read.skipped, **({"archived": archived} if archived else {})}
        return Read(kept, read.complete, read.stopped, read.why, read.date, read.unfit, skipped, read.moved_to)

    def issue(self, number: int, errand: Errand) -> Issue | Missing:
        """One issue with its status; one that is not on the project has none."""
        self._know_options(errand)
        found = self._placed(number, errand)
        if isinstance(found, Missing):
            return found
        place = self._place(found, errand)
        return self._shown(found.issue(), place.status if place else "")

    def issues_many(self, numbers: Sequence[int], errand: Errand) -> Sighting:
        """Each by itself, so that an error beside one says nothing about another."""
        return sighted(numbers, lambda number: self.issue(number, errand))

    def add_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Set the status, or add a label of the repository."""
        if _is_option(label):
            self.swap_labels(number, LabelSwap(add=label), errand)
        else:
            super().add_label(number, label, errand)

    def remove_label(self, number: int, label: LabelDef, errand: Errand) -> None:
        """Clear the status, when it is this one, or take a label of the repository away."""
        if _is_option(label):
            self.swap_labels(number, LabelSwap(remove=label), errand)
        else:
            super().remove_label(number, label, errand)

    def swap_labels(self, number: int, swap: LabelSwap, errand: Errand) -> None:
        """Set or clear the status, open or close the issue: one document. The option is resolved by its name right
        before, since an id may be another by now; a status that somebody else set meanwhile is not cleared.

        Raises ``ForgeRefused`` for an issue that is not on the project and an option that is not there.
        """
        reading = errand.reading()
        field = self.project_field(reading)
        found = self._placed(number, reading)
        if isinstance(found, Missing):
            raise refused(f"Issue {number} is not there.", "Look at the board.", status=404)
        place = found.place_in(field.project_id)
        option = _option(swap, place)
        _check_unmoved(number, swap, place)
        told: dict[str, object] = {} if swap.is_open is None else {"issue": found.node}
        if option is not None:
            told |= self._where(number, place, field)
        if option:
            told["option"] = _id_of(swap, field)
        if told:
            self._library.graphql(errand, document(option=option, is_open=swap.is_open), told)

    def _where(self, number: int, place: Membership | None, field: ProjectField) -> dict[str, object]:
        if place is None:
            text = f"Issue {number} is not on project {self._project.number}."
            raise refused(text, "Add it to the project.", status=404)
        return {"project": field.project_id, "item": place.id, "field": field.field_id}

    def _place(self, found: Placed, errand: Errand) -> Membership | None:
        return found.place_in(self._known(errand)[0])

    def _know_options(self, errand: Errand) -> None:
        if not self._options:
            self.labels(errand)

    def _shown(self, issue: Issue, status: str) -> Issue:
        """The issue as a board over statuses sees it."""
        rest = tuple(label for label in issue.labels if label not in self._options)
        return replace(issue, labels=((status, *rest) if status else rest))


def _is_option(label: LabelDef) -> bool:
    return label.id.startswith(OPTION)


def _option(swap: LabelSwap, place: Membership | None) -> bool | None:
    """Whether the status is set, cleared, or left."""
    if swap.add is not None:
        return True
    present = place.status if place is not None else ""
    return False if swap.remove is not None and present == swap.remove.name else None


def _check_unmoved(number: int, swap: LabelSwap, place: Membership | None) -> None:
    """A status is set in the place of exactly the one that it replaces. Raises ``ForgeRefused``."""
    present = place.status if place is not None else ""
    if swap.add is None or swap.remove is None or present in (swap.remove.name, swap.add.name):
        return
    text = f"Issue {number} is in {present or 'no status'} by now, not in {swap.remove.name}."
    raise refused(text, "Somebody else moved it meanwhile; look at the board.", AnswerKind.CONFLICT, 409)


def _id_of(swap: LabelSwap, field: ProjectField) -> str:
    assert swap.add is not None
    option = field.options.get(swap.add.name)
    if option is None:
        raise _no_option(swap.add.name, field.options)
    return option


def _no_option(name: str, options: Collection[str]) -> ForgeRefused:
    return refused(f'The project has no status "{name}".', f"It has: {', '.join(options)}.")


def _fits(issue: Issue, query: IssueQuery) -> bool:
    state = query.state == "all" or issue.is_open == (query.state == "open")
    return state and (query.label is None or query.label.name in issue.labels[:1])
