"""The nodes of GitHub's graph: accounts, repositories, cards, projects with their items and status fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connectors.fake_forge import deeds
from connectors.fake_forge.clock import stamp
from connectors.fake_forge.exchange import Call
from connectors.fake_forge.github.executor import Node, Problem, connection
from connectors.fake_forge.github.show import Show, node_id, when
from connectors.fake_forge.records import Comment, Issue, Label, Option, Project, ProjectField, ProjectItem, Repo, World

Args = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """Makes nodes of one call's world."""

    call: Call

    @property
    def world(self) -> World:
        """As the call sees it."""
        return self.call.world

    def root(self) -> Node:
        """``query``."""
        fields: dict[str, Any] = {
            "viewer": self.actor(self.call.user.login),
            "repository": self._repository,
            "user": lambda args: self._owner(args, "User"),
            "organization": lambda args: self._owner(args, "Organization"),
            "repositoryOwner": lambda args: self._owner(args, ""),
            "node": lambda args: self.by_id(str(args.get("id"))),
            "nodes": lambda args: [self._or_none(str(each)) for each in args.get("ids") or []],
            "rateLimit": self._rate_limit(),
        }
        return Node("Query", fields)

    def _rate_limit(self) -> Node:
        limit = self.call.desk.budget(self.call.token, "graphql")
        left = max(0, limit.limit - limit.used)
        fields = {"limit": limit.limit, "remaining": left, "used": limit.used, "cost": 1, "nodeCount": 0}
        return Node("RateLimit", fields | {"resetAt": stamp(limit.reset)})

    def _owner(self, args: Args, kind: str) -> Node:
        login = str(args.get("login"))
        user = self.world.users.get(login)
        if user is None or (kind and (user.kind == "Organization") is not (kind == "Organization")):
            raise Problem(
                "NOT_FOUND", f"Could not resolve to a {kind or 'RepositoryOwner'} with the login of '{login}'."
            )
        return self.actor(login)

    def actor(self, login: str) -> Node:
        """An account."""
        document = Show(self.world, self.call.base).user(login)
        fields: dict[str, Any] = {
            "id": document["node_id"],
            "databaseId": document["id"],
            "login": document["login"],
            "url": document["html_url"],
            "projectV2": lambda args: self._project_of(login, int(args.get("number") or 0)),
        }
        return Node(document["type"], fields)

    def _project_of(self, login: str, number: int) -> Node:
        found = next((each for each in self.world.projects if each.owner == login and each.number == number), None)
        if found is None or "project" not in self.call.token.scopes:
            raise Problem("NOT_FOUND", f"Could not resolve to a ProjectV2 with the number {number}.")
        return self.project(found)

    def _repository(self, args: Args) -> Node:
        path = f"{args.get('owner')}/{args.get('name')}"
        repo = self.world.repos.get(self.world.renamed.get(path, path))
        if repo is None or repo.hidden:
            raise Problem("NOT_FOUND", f"Could not resolve to a Repository with the name '{path}'.")
        return self.repo(repo)

    def repo(self, repo: Repo) -> Node:
        """A repository; its cards by number."""
        fields: dict[str, Any] = {
            "id": node_id("R", repo.id),
            "databaseId": repo.id,
            "name": repo.name,
            "nameWithOwner": repo.path,
            "owner": self.actor(repo.owner),
            "url": f"{self.call.base}/{repo.path}",
            "isArchived": repo.archived,
            "hasIssuesEnabled": repo.issues_enabled,
            "issue": lambda args: self._card(repo, args, pull=False),
            "pullRequest": lambda args: self._card(repo, args, pull=True),
            "issueOrPullRequest": lambda args: self._card(repo, args, pull=None),
            "labels": connection("LabelConnection", list(repo.labels.values()), self.label),
        }
        return Node("Repository", fields)

    def _card(self, repo: Repo, args: Args, *, pull: bool | None) -> Node:
        number = int(args.get("number") or 0)
        issue = deeds.find_issue(repo, number)
        fits = issue is not None and (pull is None or (issue.pull is not None) is pull)
        if issue is None or not fits or issue.gone or issue.hidden:
            kind = "PullRequest" if pull else "Issue"
            raise Problem("NOT_FOUND", f"Could not resolve to an {kind} with the number of {number}.")
        if issue.moved_to is not None:
            target = self.world.repos[issue.moved_to.repo]
            return self.card(target, target.issues[issue.moved_to.number])
        return self.card(repo, issue)

    def card(self, repo: Repo, issue: Issue) -> Node:
        """An issue or a pull."""
        closed = issue.state == "closed"
        state = "MERGED" if issue.pull and issue.pull.merged_at else issue.state.upper()
        labels = [repo.labels[each] for each in issue.labels]
        fields: dict[str, Any] = {
            "id": node_id("PR" if issue.pull else "I", issue.id),
            "databaseId": issue.id,
            "fullDatabaseId": str(issue.id),
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "state": state,
            "closed": closed,
            "locked": issue.locked,
            "author": self.actor(issue.author),
            "authorAssociation": "NONE",
            "repository": self.repo(repo),
            "url": Show(self.world, self.call.base).issue(repo, issue)["html_url"],
            "createdAt": stamp(issue.created_at),
            "updatedAt": stamp(issue.updated_at),
            "closedAt": when(issue.closed_at),
            "labels": connection("LabelConnection", labels, self.label),
            "assignees": connection("UserConnection", issue.assignees, self.actor),
            "comments": connection("IssueCommentConnection", issue.comments, self.comment),
            "projectItems": connection(
                "ProjectV2ItemConnection", self._items_of(repo, issue), lambda pair: self.item(*pair)
            ),
        }
        if issue.pull:
            fields |= {"isDraft": issue.pull.draft, "headRefName": issue.pull.head, "headRefOid": issue.pull.head_sha}
            fields |= {"baseRefName": issue.pull.base, "merged": issue.pull.merged_at is not None}
        else:
            fields["stateReason"] = issue.reason.upper() or None
        return Node("PullRequest" if issue.pull else "Issue", fields)

    def _items_of(self, repo: Repo, issue: Issue) -> list[tuple[Project, ProjectItem]]:
        return [
            (project, item)
            for project in self.world.projects
            for item in project.items
            if item.card and (item.card.repo, item.card.number) == (repo.path, issue.number)
        ]

    def label(self, label: Label) -> Node:
        """A label."""
        fields = {"id": node_id("LA", label.id), "name": label.name, "color": label.color}
        return Node("Label", fields | {"description": label.description or None})

    def comment(self, comment: Comment) -> Node:
        """A comment."""
        fields = {
            "id": node_id("IC", comment.id),
            "databaseId": comment.id,
            "author": self.actor(comment.author),
            "body": comment.body,
            "createdAt": stamp(comment.created_at),
            "updatedAt": stamp(comment.updated_at),
        }
        return Node("IssueComment", fields)

    def project(self, project: Project) -> Node:
        """A project."""
        fields: dict[str, Any] = {
            "id": project.id,
            "number": project.number,
            "title": project.title,
            "closed": False,
            "url": f"{self.call.base}/users/{project.owner}/projects/{project.number}",
            "owner": self.actor(project.owner),
            "fields": connection("ProjectV2FieldConfigurationConnection", project.fields, self.field),
            "field": lambda args: self._field_named(project, str(args.get("name"))),
            "items": connection("ProjectV2ItemConnection", project.items, lambda item: self.item(project, item)),
        }
        return Node("ProjectV2", fields)

    def _field_named(self, project: Project, name: str) -> Node | None:
        found = next((each for each in project.fields if each.name.casefold() == name.casefold()), None)
        return self.field(found) if found else None

    def field(self, field: ProjectField) -> Node:
        """A single-select field."""
        fields = {"id": field.id, "name": field.name, "dataType": "SINGLE_SELECT"}
        return Node("ProjectV2SingleSelectField", fields | {"options": lambda args: _options(field, args)})

    def item(self, project: Project, item: ProjectItem) -> Node:
        """An item with its content."""
        fields: dict[str, Any] = {
            "id": item.id,
            "type": self._type(item),
            "isArchived": item.archived,
            "createdAt": stamp(item.created_at),
            "updatedAt": stamp(item.updated_at),
            "project": lambda _: self.project(project),
            "content": self._content(item),
            "fieldValueByName": lambda args: self._value(project, item, str(args.get("name"))),
            "fieldValues": connection(
                "ProjectV2ItemFieldValueConnection", list(item.values), self._valued(project, item)
            ),
        }
        return Node("ProjectV2Item", fields)

    def _valued(self, project: Project, item: ProjectItem) -> Callable[[str], Node | None]:
        names = {field.id: field.name for field in project.fields}
        return lambda key: self._value(project, item, names[key])

    def _type(self, item: ProjectItem) -> str:
        if item.redacted:
            return "REDACTED"
        if item.card is None:
            return "DRAFT_ISSUE"
        issue = deeds.find_issue(self.world.repos[item.card.repo], item.card.number)
        return "PULL_REQUEST" if issue and issue.pull else "ISSUE"

    def _content(self, item: ProjectItem) -> Node | None:
        if item.redacted:
            return None
        if item.card is None:
            return Node("DraftIssue", {"id": f"DI_{item.id}", "title": item.draft, "body": ""})
        repo = self.world.repos[item.card.repo]
        issue = deeds.find_issue(repo, item.card.number)
        return None if issue is None or issue.gone or issue.hidden else self.card(repo, issue)

    def _value(self, project: Project, item: ProjectItem, name: str) -> Node | None:
        field = next((each for each in project.fields if each.name.casefold() == name.casefold()), None)
        chosen = item.values.get(field.id) if field else None
        option = next((each for each in field.options if each.id == chosen), None) if field else None
        if field is None or option is None:
            return None
        fields = {
            "id": f"PVTFSV_{item.id}_{field.id}",
            "name": option.name,
            "optionId": option.id,
            "updatedAt": stamp(item.updated_at),
            "field": self.field(field),
            "item": lambda _: self.item(project, item),
        }
        return Node("ProjectV2ItemFieldSingleSelectValue", fields)

    def by_id(self, wanted: str) -> Node:
        """Any object by its id. Raises ``Problem``."""
        found = self._or_none(wanted)
        if found is None:
            raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{wanted}'")
        return found

    def _or_none(self, wanted: str) -> Node | None:
        for project in self.world.projects:
            if project.id == wanted:
                return self.project(project)
            for item in project.items:
                if item.id == wanted:
                    return self.item(project, item)
        for repo in self.world.repos.values():
            if node_id("R", repo.id) == wanted:
                return self.repo(repo)
            for issue in [*repo.issues.values(), *repo.pulls.values()]:
                if node_id("PR" if issue.pull else "I", issue.id) == wanted and not (issue.gone or issue.hidden):
                    return self.card(repo, issue)
        return None


def _options(field: ProjectField, args: Args) -> list[Node]:
    names = args.get("names")
    chosen: list[Option] = [each for each in field.options if names is None or each.name in names]
    shown = {"color": "GRAY", "description": ""}
    return [Node("ProjectV2SingleSelectFieldOption", {"id": each.id, "name": each.name, **shown}) for each in chosen]
