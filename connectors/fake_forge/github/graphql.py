"""GitHub's GraphQL address: queries over the graph, and the mutations that project boards and drafts need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.github.executor import Execution, Node, Problem
from connectors.fake_forge.github.finding import WRITERS, doer
from connectors.fake_forge.github.graph import Graph
from connectors.fake_forge.github.query import QueryError, read_query
from connectors.fake_forge.github.show import node_id
from connectors.fake_forge.records import Issue, Project, ProjectField, ProjectItem, Ref, Repo

Input = dict[str, Any]


def graphql(call: Call) -> Answer:
    """``query`` and ``variables``; 200 whatever comes of it, errors inside."""
    text = call.json.get("query")
    if not isinstance(text, str):
        raise Refusal(400, "A query attribute must be specified and must be a string.")
    try:
        query = read_query(text)
    except QueryError as error:
        return Answer(200, {"errors": [{"message": str(error)}]})
    variables = {**query.defaults, **(call.json.get("variables") or {})}
    execution = Execution(query, variables)
    root = _mutation_root(call) if query.kind == "mutation" else Graph(call).root()
    data = execution.project(root, query.chosen)
    undefined = [each for each in execution.errors if each["type"].startswith(("UNDEFINED", "MISSING"))]
    document: dict[str, Any] = {} if undefined else {"data": data}
    if execution.errors:
        document["errors"] = execution.errors
    return Answer(200, document)


def _mutation_root(call: Call) -> Node:
    """Each mutation runs when its field is resolved, in the order of the text."""
    return Node("Mutation", {name: _bound(call, mutate) for name, mutate in MUTATIONS.items()})


def _bound(call: Call, mutate: Callable[[Call, Input], Node]) -> Callable[[dict[str, Any]], Node]:
    def resolve(args: dict[str, Any]) -> Node:
        given = dict(args.get("input") or {})
        node = mutate(call, given)
        return Node(node.type, {**node.fields, "clientMutationId": given.get("clientMutationId")})

    return resolve


def _project(call: Call, given: Input) -> Project:
    found = next((each for each in call.world.projects if each.id == given.get("projectId")), None)
    if found is None:
        raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{given.get('projectId')}'")
    if "project" not in call.token.scopes:
        raise Problem("FORBIDDEN", "Resource not accessible by personal access token")
    return found


def _item(project: Project, given: Input) -> ProjectItem:
    found = next((each for each in project.items if each.id == given.get("itemId")), None)
    if found is None:
        raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{given.get('itemId')}'")
    return found


def _field(project: Project, given: Input) -> ProjectField:
    found = next((each for each in project.fields if each.id == given.get("fieldId")), None)
    if found is None:
        raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{given.get('fieldId')}'")
    return found


def _content(call: Call, wanted: object) -> tuple[Repo, Issue]:
    for repo in call.world.repos.values():
        for issue in [*repo.issues.values(), *repo.pulls.values()]:
            if node_id("PR" if issue.pull else "I", issue.id) == wanted:
                return repo, issue
    raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{wanted}'")


def add_item(call: Call, given: Input) -> Node:
    """A card comes onto the project; the item that is there already is given back."""
    project = _project(call, given)
    repo, issue = _content(call, given.get("contentId"))
    ref = Ref(repo=repo.path, number=issue.number)
    item = next((each for each in project.items if each.card == ref), None)
    if item is None:
        now = call.now
        item = ProjectItem(id=f"PVTI_{call.world.new_id()}", card=ref, created_at=now, updated_at=now)
        project.items.append(item)
    return Node("AddProjectV2ItemByIdPayload", {"item": Graph(call).item(project, item)})


def set_value(call: Call, given: Input) -> Node:
    """The option of a single-select field."""
    project = _project(call, given)
    item, field = _item(project, given), _field(project, given)
    option = (given.get("value") or {}).get("singleSelectOptionId")
    if option not in [each.id for each in field.options]:
        raise Problem("VALIDATION", "The single select option Id does not belong to the field")
    if item.archived:
        raise Problem("UNPROCESSABLE", "The item is archived and cannot be updated")
    item.values[field.id] = str(option)
    item.updated_at = call.now
    return Node("UpdateProjectV2ItemFieldValuePayload", {"projectV2Item": Graph(call).item(project, item)})


def clear_value(call: Call, given: Input) -> Node:
    """The field is empty again."""
    project = _project(call, given)
    item = _item(project, given)
    item.values.pop(_field(project, given).id, None)
    item.updated_at = call.now
    return Node("ClearProjectV2ItemFieldValuePayload", {"projectV2Item": Graph(call).item(project, item)})


def _archived(call: Call, given: Input, *, archived: bool) -> Node:
    project = _project(call, given)
    item = _item(project, given)
    item.archived, item.updated_at = archived, call.now
    kind = "ArchiveProjectV2ItemPayload" if archived else "UnarchiveProjectV2ItemPayload"
    return Node(kind, {"item": Graph(call).item(project, item)})


def _draft(call: Call, given: Input, *, draft: bool) -> Node:
    repo, issue = _content(call, given.get("pullRequestId"))
    if repo.rights.get(call.user.login) not in WRITERS or issue.pull is None:
        raise Problem("FORBIDDEN", "Resource not accessible by personal access token")
    issue.pull.draft = draft
    issue.updated_at = call.now
    kind = "ConvertPullRequestToDraftPayload" if draft else "MarkPullRequestReadyForReviewPayload"
    return Node(kind, {"pullRequest": Graph(call).card(repo, issue)})


def update_pull(call: Call, given: Input) -> Node:
    """Title, text and state of a pull."""
    repo, issue = _content(call, given.get("pullRequestId"))
    if repo.rights.get(call.user.login) not in WRITERS or issue.pull is None:
        raise Problem("FORBIDDEN", "Resource not accessible by personal access token")
    deeds.edit(doer(call), repo, issue, given.get("title"), given.get("body"))
    if given.get("state"):
        deeds.set_state(doer(call), repo, issue, str(given["state"]).lower())
    return Node("UpdatePullRequestPayload", {"pullRequest": Graph(call).card(repo, issue)})


def _state(call: Call, given: Input, state: str) -> Node:
    repo, issue = _content(call, given.get("issueId"))
    if repo.rights.get(call.user.login) not in WRITERS or repo.archived:
        raise Problem("FORBIDDEN", "Resource not accessible by personal access token")
    deeds.set_state(doer(call), repo, issue, state, str(given.get("stateReason") or "").lower())
    kind = "CloseIssuePayload" if state == "closed" else "ReopenIssuePayload"
    return Node(kind, {"issue": Graph(call).card(repo, issue)})


MUTATIONS: Mapping[str, Callable[[Call, Input], Node]] = MappingProxyType(
    {
        "addProjectV2ItemById": add_item,
        "updateProjectV2ItemFieldValue": set_value,
        "clearProjectV2ItemFieldValue": clear_value,
        "archiveProjectV2Item": lambda call, given: _archived(call, given, archived=True),
        "unarchiveProjectV2Item": lambda call, given: _archived(call, given, archived=False),
        "updatePullRequest": update_pull,
        "closeIssue": lambda call, given: _state(call, given, "closed"),
        "reopenIssue": lambda call, given: _state(call, given, "open"),
        "convertPullRequestToDraft": lambda call, given: _draft(call, given, draft=True),
        "markPullRequestReadyForReview": lambda call, given: _draft(call, given, draft=False),
    }
)
"""Name of the mutation -> what it does."""

ROUTES = (Route("POST", "/graphql", "graphql", graphql),)
