"""GitHub's project boards: columns are the options of a status field, cards the issues among a project's items.

Options are resolved by name in each pass, because GitHub makes new ids when they are rewritten; a status is written by
the option's id of that pass. ``clientMutationId`` de-duplicates nothing and is not sent (connectors.md 4 and 20).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from pydantic import AwareDatetime, Field, TypeAdapter

from connectors.answer import Read, StopReason, Unfit
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, Evidence, ForgeRefused, RateLimited, Unreachable, Unsupported
from connectors.forge.client import ProjectTarget
from connectors.forge.payloads import Payload, Text
from connectors.forge.records import Issue, Missing, MissingKind, ProjectField, ProjectItem
from connectors.github.mapping import GHOST
from connectors.github.reads import Reads
from connectors.transport.models import Misfit, accept, fitting
from connectors.transport.request import Answer

PAGE = 100
NOT_FOUND = "NOT_FOUND"
"""The type of a graph's error that names something that is not there."""
_ISSUE = """
  id number databaseId title body state url createdAt updatedAt author { login } repository { nameWithOwner }
  labels(first: 100) { nodes { name } } assignees(first: 20) { nodes { login } }
"""
_VALUE = "fieldValueByName(name: $field) { ... on ProjectV2ItemFieldSingleSelectValue { name optionId } }"
_PROJECT = """
query($owner: String!, $number: Int!, $field: String!) {
  repositoryOwner(login: $owner) {
    ... on User { projectV2(number: $number) { ...Board } }
    ... on Organization { projectV2(number: $number) { ...Board } }
  }
}
fragment Board on ProjectV2 {
  id
  field(name: $field) { ... on ProjectV2SingleSelectField { id name options { id name } } }
}
"""
_ITEMS = f"""
query($id: ID!, $field: String!, $first: Int!, $after: String) {{
  node(id: $id) {{
    ... on ProjectV2 {{
      items(first: $first, after: $after) {{
        pageInfo {{ hasNextPage endCursor }}
        nodes {{ id type isArchived {_VALUE} content {{ __typename ... on Issue {{ {_ISSUE} }} }} }}
      }}
    }}
  }}
}}
"""
_ITEM = f"""
query($owner: String!, $name: String!, $number: Int!, $field: String!, $first: Int!) {{
  repository(owner: $owner, name: $name) {{
    issue(number: $number) {{
      {_ISSUE}
      projectItems(first: $first, includeArchived: true) {{ nodes {{ id isArchived project {{ id }} {_VALUE} }} }}
    }}
  }}
}}
"""
_ISSUE_ID = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) { id } }
}
"""
_ADD = """
mutation($project: ID!, $content: ID!) {
  addProjectV2ItemById(input: {projectId: $project, contentId: $content}) { item { id } }
}
"""
_SET = """
mutation($project: ID!, $item: ID!, $field: ID!, $option: String!) {
  updateProjectV2ItemFieldValue(
    input: {projectId: $project, itemId: $item, fieldId: $field, value: {singleSelectOptionId: $option}}
  ) { projectV2Item { id } }
}
"""
_CLEAR = """
mutation($project: ID!, $item: ID!, $field: ID!) {
  clearProjectV2ItemFieldValue(input: {projectId: $project, itemId: $item, fieldId: $field}) { projectV2Item { id } }
}
"""
QUERIES = (_PROJECT, _ITEMS, _ITEM, _ISSUE_ID, _ADD, _SET, _CLEAR)
"""Every document that this room sends; a test checks them against GitHub's published schema."""


class Named(Payload):
    """Anything with a name."""

    name: str


class Login(Payload):
    """Somebody."""

    login: str


class Labels(Payload):
    """The first hundred labels."""

    nodes: tuple[Named, ...]


class Logins(Payload):
    """The assignees."""

    nodes: tuple[Login, ...]


class Place(Payload):
    """A repository by its path."""

    path: str = Field(alias="nameWithOwner")


class Content(Payload):
    """An issue as the graph shows it."""

    number: int
    node: str = Field(alias="id")
    database_id: int = Field(alias="databaseId")
    title: str
    body: Text = ""
    state: str
    url: str
    created_at: AwareDatetime = Field(alias="createdAt")
    updated_at: AwareDatetime = Field(alias="updatedAt")
    author: Login | None
    repository: Place
    labels: Labels
    assignees: Logins

    def issue(self) -> Issue:
        """The neutral record."""
        return Issue(
            number=self.number,
            id=str(self.database_id),
            title=self.title,
            body=self.body,
            is_open=self.state == "OPEN",
            labels=tuple(label.name for label in self.labels.nodes),
            assignees=tuple(each.login for each in self.assignees.nodes),
            author=self.author.login if self.author else GHOST,
            url=self.url,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


class Value(Payload):
    """The chosen option; nothing of it when the field is of another kind."""

    name: str = ""


class Item(Payload):
    """An item of a project's list. ``content`` is read on its own, since it may be many things."""

    id: str
    type: str
    archived: bool = Field(alias="isArchived")
    value: Value | None = Field(alias="fieldValueByName")
    content: dict[str, object] | None


class Option(Payload):
    """An option of a status field."""

    id: str
    name: str


class StatusField(Payload):
    """A single-select field."""

    id: str
    options: tuple[Option, ...]


class Cursor(Payload):
    """Where a page of the graph ends."""

    more: bool = Field(alias="hasNextPage")
    end: str | None = Field(alias="endCursor")


class Items(Payload):
    """A page of items; each is read on its own."""

    page: Cursor = Field(alias="pageInfo")
    nodes: tuple[dict[str, object] | None, ...]


class Holder(Payload):
    """The project of an item."""

    id: str


class Membership(Payload):
    """An issue's place in one project."""

    id: str
    archived: bool = Field(alias="isArchived")
    project: Holder
    value: Value | None = Field(alias="fieldValueByName")

    @property
    def status(self) -> str:
        """The chosen option's name, empty for none."""
        return self.value.name if self.value else ""


class Memberships(Payload):
    """An issue's places."""

    nodes: tuple[Membership, ...]


class Placed(Content):
    """An issue with its places."""

    places: Memberships = Field(alias="projectItems")

    def place_in(self, project_id: str) -> Membership | None:
        """The place in one project, None for none."""
        return next((place for place in self.places.nodes if place.project.id == project_id), None)


class Made(Payload):
    """What a change of the graph names."""

    id: str


_DOCUMENT = TypeAdapter(dict[str, object])
_FIELD = TypeAdapter(StatusField)
_ITEMS_PAGE = TypeAdapter(Items)
_ONE_ITEM = TypeAdapter(Item)
_CONTENT = TypeAdapter(Content)
_PLACED = TypeAdapter(Placed)
_MADE = TypeAdapter(Made)


class Projects(Reads):
    """Implements what ``forge.client.ProjectClient`` adds."""

    _ids: tuple[str, str] | None = None
    """The project's and the field's ids, which stay."""

    def project_field(self, errand: Errand) -> ProjectField:
        """The status field as it is now. Raises ``ForgeRefused`` when there is no such project or field."""
        project = self._project
        told = {"owner": project.owner, "number": project.number, "field": project.field}
        try:
            found = _at(self._graphql(errand, _PROJECT, told), "repositoryOwner", "projectV2")
        except (ForgeRefused, Unreachable) as error:
            if error.evidence.code != NOT_FOUND:
                raise
            found = None
        if not isinstance(found, Mapping) or not isinstance(found.get("field"), Mapping):
            where = f"project {project.number} of {project.owner}"
            evidence = Evidence(kind="not_found_or_hidden", status=404)
            raise ForgeRefused(
                f'There is no {where} with a single-select field "{project.field}".',
                "Mend `project`, or give the token the right to read projects; a fine-grained one has none for users.",
                evidence=evidence,
            )
        field = fitting(found["field"], _FIELD)
        self._ids = (str(found["id"]), field.id)
        return ProjectField(str(found["id"]), field.id, {option.name: option.id for option in field.options})

    def project_items(self, errand: Errand) -> Read[ProjectItem]:
        """Issues of the repository among the project's items; archived ones are told."""
        project_id = self.project_field(errand).project_id
        gathered, after = _Gathered(self._target.repo), ""
        for number in range(self._target.max_pages):
            told = {"id": project_id, "field": self._project.field, "first": PAGE, "after": after or None}
            try:
                answer = self._library.graphql(errand, _ITEMS, told)
                page = fitting(_at(_data(answer, errand), "node", "items"), _ITEMS_PAGE)
            except RateLimited as error:
                return gathered.stop(StopReason.THROTTLED, error.message)
            except (Unreachable, ForgeRefused, Misfit) as error:
                if number == 0 and isinstance(error, ForgeRefused):
                    raise
                stopped = error.stopped if isinstance(error, Unreachable) else StopReason.DECODE
                return gathered.stop(stopped, f"page {number + 1}: {error}")
            gathered.take(page, answer.date)
            if not page.page.more:
                return gathered.read()
            if not page.page.end or page.page.end == after:
                return gathered.stop(StopReason.LOOP, f"page {number + 1} leads nowhere else")
            after = page.page.end
        return gathered.stop(StopReason.PAGE_CAP, f"there are more than {self._target.max_pages} pages (max_pages)")

    def project_item(self, number: int, errand: Errand) -> ProjectItem | Missing:
        """One issue's place in the project."""
        project_id = self._known(errand)[0]
        found = self._placed(number, errand)
        if isinstance(found, Missing):
            return found
        place = found.place_in(project_id)
        if place is None:
            return Missing(MissingKind.NOT_FOUND)
        return ProjectItem(place.id, found.issue(), place.status, place.archived)

    def _placed(self, number: int, errand: Errand) -> Placed | Missing:
        """One issue with all its places."""
        owner, name = self._target.repo.split("/", 1)
        told = {"owner": owner, "name": name, "number": number, "field": self._project.field, "first": 50}
        try:
            found = _at(self._graphql(errand, _ITEM, told), "repository", "issue")
        except (ForgeRefused, Unreachable) as error:
            if error.evidence.code != NOT_FOUND:
                raise
            # An error beside data says nothing about a card; the other interface does.
            missing = self.issue_by_number(number, errand)
            if isinstance(missing, Missing):
                return missing
            raise
        if found is None:
            return Missing(MissingKind.NOT_FOUND)
        try:
            issue = fitting(found, _PLACED)
        except Misfit as error:
            raise Unreachable(f"Issue {number} cannot be used: {error}.", stopped=StopReason.DECODE) from error
        if issue.repository.path.casefold() != self._target.repo.casefold():
            return Missing(MissingKind.MOVED, f"{issue.repository.path}#{issue.number}")
        return issue

    def add_project_item(self, number: int, errand: Errand) -> str:
        """Put an issue on the project; the item that is there is given back."""
        reading = errand.reading()
        project_id = self._known(reading)[0]
        owner, name = self._target.repo.split("/", 1)
        found = self._graphql(reading, _ISSUE_ID, {"owner": owner, "name": name, "number": number})
        content = _at(found, "repository", "issue", "id")
        made = self._graphql(errand, _ADD, {"project": project_id, "content": content})
        return self._made(made, errand, "addProjectV2ItemById", "item")

    def set_project_status(self, item_id: str, option_id: str, errand: Errand) -> None:
        """Choose an option; none clears the field."""
        project_id, field_id = self._known(errand.reading())
        told = {"project": project_id, "item": item_id, "field": field_id}
        if option_id:
            made = self._graphql(errand, _SET, {**told, "option": option_id})
            self._made(made, errand, "updateProjectV2ItemFieldValue", "projectV2Item")
        else:
            made = self._graphql(errand, _CLEAR, told)
            self._made(made, errand, "clearProjectV2ItemFieldValue", "projectV2Item")

    @property
    def _project(self) -> ProjectTarget:
        if self._target.project is None:
            raise Unsupported("This connection has no project.", "Give it `project: {owner, number}`.")
        return self._target.project

    def _known(self, errand: Errand) -> tuple[str, str]:
        """The project's and the field's ids."""
        if self._ids is None:
            field = self.project_field(errand)
            return field.project_id, field.field_id
        return self._ids

    def _graphql(self, errand: Errand, query: str, variables: Mapping[str, object]) -> Mapping[str, object]:
        return _data(self._library.graphql(errand, query, variables), errand)

    def _made(self, data: Mapping[str, object], errand: Errand, *path: str) -> str:
        """The id of what was changed. Raises ``AmbiguousEffect`` when the answer does not name it."""
        try:
            return fitting(_at(data, *path), _MADE).id
        except Misfit as error:
            raise AmbiguousEffect(
                f"GitHub's answer names nothing that was changed: {error}.",
                "It was probably done. It is looked up; what is not found, a person settles.",
                effect_id=errand.effect_id,
                evidence=Evidence(kind="lost", status=200, message=str(error)),
            ) from error


class _Gathered:
    """What the pages of a project brought."""

    def __init__(self, repo: str) -> None:
        self._repo = repo.casefold()
        self._items: dict[str, ProjectItem] = {}
        self._unfit: list[Unfit] = []
        self._skipped: Counter[str] = Counter()
        self._date: datetime | None = None

    def take(self, page: Items, date: datetime | None) -> None:
        """A page's items."""
        self._date = date or self._date
        for node in page.nodes:
            try:
                self._take_one(fitting(node, _ONE_ITEM))
            except Misfit as error:
                content = node.get("content") if node else None
                number = content.get("number") if isinstance(content, Mapping) else None
                self._unfit.append(Unfit(number if isinstance(number, int) else 0, str(error)))

    def _take_one(self, item: Item) -> None:
        if item.type != "ISSUE" or item.content is None:
            self._skipped[item.type.lower().replace("_", " ")] += 1
            return
        content = fitting(item.content, _CONTENT)
        if content.repository.path.casefold() != self._repo:
            self._skipped["other repositories"] += 1
            return
        status = item.value.name if item.value else ""
        self._items.setdefault(item.id, ProjectItem(item.id, content.issue(), status, item.archived))

    def stop(self, stopped: StopReason, why: str) -> Read[ProjectItem]:
        """What was read until then."""
        return self._made(complete=False, stopped=stopped, why=why)

    def read(self) -> Read[ProjectItem]:
        """All of it."""
        return self._made(complete=True, stopped=None, why="")

    def _made(self, *, complete: bool, stopped: StopReason | None, why: str) -> Read[ProjectItem]:
        items = tuple(self._items.values())
        return Read(items, complete, stopped, why, self._date, tuple(self._unfit), self._skipped)


def _data(answer: Answer, errand: Errand) -> Mapping[str, object]:
    data = accept(answer, _DOCUMENT, errand).get("data")
    return data if isinstance(data, Mapping) else {}


def _at(found: object, *path: str) -> object:
    """What lies below these keys, None where something on the way is missing."""
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
