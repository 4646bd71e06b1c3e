"""GitHub's issues: list, read, create, edit, assignees, dependencies, history."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.github import finding
from connectors.fake_forge.github.finding import card_of, doer, for_writing, show, text_of
from connectors.fake_forge.github.labels import labels_named
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Ref, Repo


def list_issues(call: Call) -> Answer:
    """Issues and pulls; ``state``, ``labels``, ``since``, ``assignee``, ``creator``, ``sort``, ``direction``."""
    repo = finding.open_repo(call)
    state = call.query("state", "open")
    since = finding.since_of(call)
    wanted = [finding.fold_name(call, name) for name in call.query("labels").split(",") if name]
    if "unknown_filter_ignored" in call.quirks:
        wanted = [name for name in wanted if deeds.find_label(call.world, repo, name)]
    found = [
        issue
        for issue in [*repo.issues.values(), *repo.pulls.values()]
        if state in ("all", issue.state)
        and not (issue.hidden or issue.gone or issue.moved_to)
        and set(wanted) <= {finding.fold_name(call, repo.labels[each].name) for each in issue.labels}
        and (since is None or issue.updated_at >= since)
        and call.query("assignee", "*") in ("*", *issue.assignees)
        and call.query("creator", issue.author) == issue.author
    ]
    return listed(call, sorted_issues(call, found), lambda issue: show(call).issue(repo, issue))


def sorted_issues(call: Call, found: list[Issue]) -> list[Issue]:
    """By ``sort`` and ``direction``; newest first unless told otherwise."""
    keys = {
        "updated": lambda issue: (issue.updated_at, issue.number),
        "comments": lambda issue: (len(issue.comments), issue.number),
    }
    key = keys.get(call.query("sort", "created"), lambda issue: (issue.created_at, issue.number))
    return sorted(found, key=key, reverse=call.query("direction", "desc") != "asc")


def get_issue(call: Call) -> Answer:
    """One issue or pull."""
    repo, issue = card_of(call)
    return Answer(200, show(call).issue(repo, issue))


def create_issue(call: Call) -> Answer:
    """``title``, ``body``, ``labels``, ``assignees``; labels and assignees are dropped for those without rights."""
    repo = finding.open_repo(call)
    call.writable(repo)
    title = text_of(call, "title", needed=True) or ""
    if len(title) > 256:
        raise Refusal(422, "Validation Failed", errors=["title is too long (maximum is 256 characters)"])
    body = text_of(call, "body") or ""
    may = repo.rights.get(call.user.login) in (*finding.WRITERS, "triage")
    labels = labels_named(call, repo, call.json.get("labels") or []) if may else []
    issue = deeds.create_issue(doer(call), repo, title, body, tuple(labels))
    if may:
        assign(call, repo, issue, [*issue.assignees, *(call.json.get("assignees") or [])])
    url = f"{show(call).url(repo)}/issues/{issue.number}"
    return Answer(201, show(call).issue(repo, issue), {"Location": url})


def edit_issue(call: Call) -> Answer:
    """``title``, ``body``, ``state``, ``state_reason``; ``labels`` and ``assignees`` replace the whole set."""
    repo, issue = for_writing(call, card_of(call))
    given = call.json
    state = given.get("state")
    if state not in (None, "open", "closed"):
        raise Refusal(
            422, f'Invalid request.\n\nFor \'properties/state\', {state} is not a member of ["open", "closed"].'
        )
    deeds.edit(doer(call), repo, issue, text_of(call, "title"), text_of(call, "body"))
    if given.get("labels") is not None:
        deeds.set_labels(doer(call), repo, issue, labels_named(call, repo, given["labels"]))
    if given.get("assignees") is not None:
        assign(call, repo, issue, given["assignees"])
    if state:
        deeds.set_state(doer(call), repo, issue, state, given.get("state_reason") or "")
    return Answer(200, show(call).issue(repo, issue))


def assign(call: Call, repo: Repo, issue: Issue, logins: list[str]) -> None:
    """Set the assignees; who may not be assigned is dropped without a word."""
    may = {login.lower(): login for login, right in repo.rights.items() if right != "none"}
    wanted = [may[login.lower()] for login in logins if login.lower() in may]
    deeds.set_assignees(doer(call), repo, issue, list(dict.fromkeys(wanted))[:10])


def add_assignees(call: Call) -> Answer:
    """``assignees`` come to those that are there."""
    repo, issue = for_writing(call, card_of(call, part=True))
    before = [] if "put_replaces" in call.quirks else issue.assignees
    assign(call, repo, issue, [*before, *(call.json.get("assignees") or [])])
    return Answer(201, show(call).issue(repo, issue))


def remove_assignees(call: Call) -> Answer:
    """``assignees`` go."""
    repo, issue = for_writing(call, card_of(call, part=True))
    gone = {login.lower() for login in call.json.get("assignees") or []}
    assign(call, repo, issue, [login for login in issue.assignees if login.lower() not in gone])
    return Answer(200, show(call).issue(repo, issue))


def check_assignee(call: Call) -> Answer:
    """204 when the login may be assigned."""
    repo = finding.repo_of(call)
    if repo.rights.get(call.params["login"], "none") == "none":
        raise Refusal(404, "Not Found")
    return Answer(204)


def list_events(call: Call) -> Answer:
    """The card's events, oldest first."""
    repo, issue = card_of(call, part=True)
    return listed(call, issue.events, lambda event: show(call).event(repo, event))


def list_timeline(call: Call) -> Answer:
    """Events and comments, oldest first."""
    repo, issue = card_of(call, part=True)
    shown = [(event.created_at, event.id, show(call).event(repo, event)) for event in issue.events]
    for comment in issue.comments:
        document = show(call).comment(repo, issue, comment) | {"event": "commented"}
        shown.append((comment.created_at, comment.id, document | {"actor": document["user"]}))
    return listed(call, sorted(shown, key=lambda each: each[:2]), lambda each: each[2])


def list_blockers(call: Call) -> Answer:
    """The cards that this one waits for."""
    _, issue = card_of(call, part=True)
    return listed(call, _blockers(call, issue), lambda each: show(call).issue(*each))


def _blockers(call: Call, issue: Issue) -> list[tuple[Repo, Issue]]:
    found = []
    for ref in issue.blocked_by:
        repo = call.world.repos.get(ref.repo)
        other = deeds.find_issue(repo, ref.number) if repo else None
        if repo is not None and other is not None and not repo.hidden:
            found.append((repo, other))
    return found


def add_blocker(call: Call) -> Answer:
    """``issue_id``: the id, not the number."""
    repo, issue = for_writing(call, card_of(call, part=True))
    other_repo, other = _by_id(call, call.json.get("issue_id"))
    if other is issue:
        raise Refusal(422, "Validation Failed", errors=["An issue cannot block itself"])
    ref = Ref(repo=other_repo.path, number=other.number)
    if not deeds.block(doer(call), issue, ref):
        raise Refusal(422, "Validation Failed", errors=["Dependency already exists"])
    return Answer(
        201, show(call).issue(other_repo, other), {"Location": f"{show(call).url(repo)}/issues/{issue.number}"}
    )


def remove_blocker(call: Call) -> Answer:
    """By the id in the path."""
    _, issue = for_writing(call, card_of(call, part=True))
    repo, other = _by_id(call, call.params["issue_id"])
    if not deeds.unblock(doer(call), issue, Ref(repo=repo.path, number=other.number)):
        raise Refusal(404, "Not Found")
    return Answer(200, show(call).issue(repo, other))


def _by_id(call: Call, given: object) -> tuple[Repo, Issue]:
    for repo in call.world.repos.values():
        for issue in repo.issues.values():
            if str(issue.id) == str(given):
                return repo, issue
    raise Refusal(404, "Not Found")


_ISSUES = "/repos/{owner}/{name}/issues"
_ONE = _ISSUES + "/{number}"
ROUTES = (
    Route("GET", _ISSUES, "issue.list", list_issues, "read"),
    Route("POST", _ISSUES, "issue.create", create_issue, "issues"),
    Route("GET", _ONE, "issue.get", get_issue, "read"),
    Route("PATCH", _ONE, "issue.edit", edit_issue, "issues"),
    Route("POST", _ONE + "/assignees", "assignee.add", add_assignees, "issues"),
    Route("DELETE", _ONE + "/assignees", "assignee.remove", remove_assignees, "issues"),
    Route("GET", "/repos/{owner}/{name}/assignees/{login}", "assignee.check", check_assignee, "read"),
    Route("GET", _ONE + "/events", "event.list", list_events, "read"),
    Route("GET", _ONE + "/timeline", "event.list", list_timeline, "read"),
    Route("GET", _ONE + "/dependencies/blocked_by", "dependency.list", list_blockers, "read"),
    Route("POST", _ONE + "/dependencies/blocked_by", "dependency.add", add_blocker, "issues"),
    Route("DELETE", _ONE + "/dependencies/blocked_by/{issue_id}", "dependency.remove", remove_blocker, "issues"),
)
