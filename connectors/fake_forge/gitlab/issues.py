"""GitLab's issues: list, read, create, change in one call, links, history, moving."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.gitlab import finding
from connectors.fake_forge.gitlab.finding import doer, given, issue_of, labels_named, repo_of, show, text_of, writing
from connectors.fake_forge.gitlab.quick import obey, split
from connectors.fake_forge.gitlab.show import LEVELS
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Label, Ref, Repo

STATES = {"opened": "open", "closed": "closed"}


def list_issues(call: Call) -> Answer:
    """``state``, ``labels``, ``iids[]``, ``issue_type``, ``updated_after``, ``author_username``, order. GitLab
    ignores keys that it does not know, and so does this."""
    repo = repo_of(call)
    if not repo.issues_enabled:
        raise Refusal(403, "403 Forbidden")
    state, numbers = call.query("state", "all"), call.query_all("iids[]")
    since = finding.since_of(call, "updated_after")
    wanted = finding.names_in(call.query("labels"))
    if "unknown_filter_ignored" in call.quirks:
        wanted = [name for name in wanted if deeds.find_label(call.world, repo, name)]
    found = [
        issue
        for issue in repo.issues.values()
        if not (issue.hidden or issue.gone)
        and (state == "all" or STATES.get(state) == _state(issue))
        and (not numbers or str(issue.number) in numbers)
        and set(wanted) <= {repo.labels[each].name for each in issue.labels}
        and (since is None or issue.updated_at >= since)
        and call.query("issue_type", issue.kind) == issue.kind
        and call.query("author_username", issue.author) == issue.author
    ]
    return listed(call, ordered(call, found), lambda issue: show(call).issue(repo, issue))


def _state(issue: Issue) -> str:
    return "closed" if issue.moved_to else issue.state


def ordered(call: Call, found: list[Issue]) -> list[Issue]:
    """By ``order_by`` and ``sort``; newest first unless told otherwise."""
    by_update = call.query("order_by", "created_at") == "updated_at"
    return sorted(
        found,
        key=lambda issue: (issue.updated_at if by_update else issue.created_at, issue.number),
        reverse=call.query("sort", "desc") != "asc",
    )


def get_issue(call: Call) -> Answer:
    """One issue by its iid."""
    return Answer(200, show(call).issue(*issue_of(call)))


def create_issue(call: Call) -> Answer:
    """``title``, ``description`` (quick actions in it are obeyed), ``labels``, ``assignee_ids``."""
    repo = repo_of(call)
    call.writable(repo)
    if not repo.issues_enabled:
        raise Refusal(403, "403 Forbidden")
    title = finding.needed_text(call, "title")
    if len(title) > 255:
        raise Refusal(400, "", fields={"title": ["is too long (maximum is 255 characters)"]})
    text = split(text_of(call, "description") or "")
    may = LEVELS[repo.rights.get(call.user.login, "none")] >= finding.REPORTER
    labels = labels_named(call, repo, given(call).get("labels")) if may else []
    issue = deeds.create_issue(doer(call), repo, title, text.text, tuple(labels))
    if may:
        obey(doer(call), repo, issue, text)
        assign(call, repo, issue)
    return Answer(201, show(call).issue(repo, issue))


def assign(call: Call, repo: Repo, issue: Issue) -> None:
    """``assignee_ids`` replace; without the paid features the first one only."""
    ids = given(call).get("assignee_ids")
    if ids is None:
        return
    logins = finding.logins_of(call, ids)
    wanted = [login for login in logins if repo.rights.get(login, "none") != "none"]
    deeds.set_assignees(doer(call), repo, issue, wanted if call.world.licensed else wanted[:1])


def edit_issue(call: Call) -> Answer:
    """One call for title, description, labels (added, removed or replaced), state and assignees."""
    repo, issue = issue_of(call)
    writing(call, repo, finding.REPORTER)
    values = given(call)
    event = values.get("state_event")
    if event not in (None, "close", "reopen"):
        raise Refusal(400, "", error="state_event does not have a valid value")
    if not set(values) & KNOWN:
        raise Refusal(400, "", error=f"{', '.join(sorted(KNOWN))} are missing, at least one parameter must be provided")
    title = text_of(call, "title")
    if title is not None and not title.strip():
        raise Refusal(400, "", fields={"title": ["can't be blank"]})
    text = split(text_of(call, "description") or "")
    deeds.edit(doer(call), repo, issue, title, text.text if "description" in values else None)
    obey(doer(call), repo, issue, text)
    relabel(call, repo, issue)
    assign(call, repo, issue)
    if event:
        deeds.set_state(doer(call), repo, issue, "closed" if event == "close" else "open")
    return Answer(200, show(call).issue(repo, issue))


KNOWN = {
    "title",
    "description",
    "labels",
    "add_labels",
    "remove_labels",
    "state_event",
    "assignee_ids",
    "discussion_locked",
}


def relabel(call: Call, repo: Repo, issue: Issue) -> None:
    """``labels`` replaces; ``add_labels`` and ``remove_labels`` change; scoped ones push each other out."""
    values = given(call)
    if "labels" in values:
        deeds.set_labels(doer(call), repo, issue, labels_named(call, repo, values["labels"]))
    added = labels_named(call, repo, values.get("add_labels"))
    if added and "put_replaces" in call.quirks:
        deeds.set_labels(doer(call), repo, issue, added)
    for label in added:
        for other in _same_scope(call, repo, issue, label):
            deeds.remove_label(doer(call), repo, issue, other)
        deeds.add_label(doer(call), repo, issue, label)
    for name in finding.names_in(values.get("remove_labels")):
        found = deeds.find_label(call.world, repo, name)
        if found is not None and "remove_by_name_404" not in call.quirks:
            deeds.remove_label(doer(call), repo, issue, found)


def _same_scope(call: Call, repo: Repo, issue: Issue, label: Label) -> list[Label]:
    scope, mark, _ = label.name.rpartition("::")
    if not mark or not call.world.licensed:
        return []
    others = [repo.labels[each] for each in issue.labels if each != label.id]
    return [each for each in others if each.name.rpartition("::")[0] == scope]


def delete_issue(call: Call) -> Answer:
    """It goes, for an owner."""
    repo, issue = issue_of(call)
    writing(call, repo, 50)
    issue.gone = True
    return Answer(204)


def list_label_events(call: Call) -> Answer:
    """Labels that came and went, oldest first."""
    repo, issue = issue_of(call)
    found = [event for event in issue.events if event.kind in ("labeled", "unlabeled")]
    return listed(call, found, lambda event: show(call).label_event(repo, issue, event))


def list_state_events(call: Call) -> Answer:
    """Closings and reopenings, oldest first."""
    _, issue = issue_of(call)
    found = [event for event in issue.events if event.kind in ("closed", "reopened")]
    return listed(call, found, lambda event: show(call).state_event(issue, event))


def list_links(call: Call) -> Answer:
    """Linked issues; blocking ones need a licence."""
    _licensed(call)
    _, issue = issue_of(call)
    found = []
    for ref in issue.blocked_by:
        repo = call.world.repos.get(ref.repo)
        if repo is not None and ref.number in repo.issues:
            other = repo.issues[ref.number]
            found.append(show(call).link(repo, other, "is_blocked_by", _link_id(issue, other)))
    return Answer(200, found)


def _link_id(issue: Issue, other: Issue) -> int:
    return issue.id * 100_000 + other.id


def _licensed(call: Call) -> None:
    if not call.world.licensed:
        raise Refusal(403, "Blocked issues not available for current license")


def add_link(call: Call) -> Answer:
    """``target_project_id``, ``target_issue_iid``, ``link_type``: 409 when it is there."""
    repo, issue = issue_of(call)
    writing(call, repo, finding.REPORTER)
    values = given(call)
    kind = str(values.get("link_type") or "relates_to")
    if kind not in ("relates_to", "blocks", "is_blocked_by"):
        raise Refusal(400, "", error="link_type does not have a valid value")
    if kind != "relates_to":
        _licensed(call)
    wanted = str(values.get("target_project_id") or "")
    target = next((each for each in call.world.repos.values() if wanted in (str(each.id), each.path)), None)
    number = int(values.get("target_issue_iid") or 0)
    if target is None or number not in target.issues:
        raise Refusal(404, "404 Not found")
    other = target.issues[number]
    waits, by = (issue, Ref(repo=target.path, number=number)), Ref(repo=repo.path, number=issue.number)
    if kind == "blocks":
        waits = (other, by)
    if kind != "relates_to" and not deeds.block(doer(call), *waits):
        raise Refusal(409, "Issue(s) already assigned")
    source = show(call).issue(repo, issue)
    told = {"source_issue": source, "target_issue": show(call).issue(target, other), "link_type": kind}
    return Answer(201, {"id": _link_id(issue, other), **told})


def remove_link(call: Call) -> Answer:
    """By the link's id."""
    repo, issue = issue_of(call)
    writing(call, repo, finding.REPORTER)
    for ref in list(issue.blocked_by):
        target = call.world.repos[ref.repo]
        other = target.issues[ref.number]
        if str(_link_id(issue, other)) == call.params["link"]:
            deeds.unblock(doer(call), issue, ref)
            return Answer(200, {"id": _link_id(issue, other), "link_type": "is_blocked_by"})
    raise Refusal(404, "404 Not found")


def move_issue(call: Call) -> Answer:
    """``to_project_id``: a copy there, the old one closed with ``moved_to_id``."""
    repo, issue = issue_of(call)
    writing(call, repo, finding.REPORTER)
    wanted = str(given(call).get("to_project_id") or "")
    target = next((each for each in call.world.repos.values() if str(each.id) == wanted), None)
    if target is None:
        raise Refusal(404, "404 Project Not Found")
    return Answer(201, show(call).issue(target, deeds.transfer(doer(call), repo, issue, target)))


_ISSUES = "/projects/{project}/issues"
_ONE = _ISSUES + "/{iid}"
ROUTES = (
    Route("GET", _ISSUES, "issue.list", list_issues, "read"),
    Route("POST", _ISSUES, "issue.create", create_issue, "issues"),
    Route("GET", _ONE, "issue.get", get_issue, "read"),
    Route("PUT", _ONE, "issue.edit", edit_issue, "issues"),
    Route("DELETE", _ONE, "issue.delete", delete_issue, "issues"),
    Route("POST", _ONE + "/move", "issue.move", move_issue, "issues"),
    Route("GET", _ONE + "/resource_label_events", "event.list", list_label_events, "read"),
    Route("GET", _ONE + "/resource_state_events", "event.list", list_state_events, "read"),
    Route("GET", _ONE + "/links", "dependency.list", list_links, "read"),
    Route("POST", _ONE + "/links", "dependency.add", add_link, "issues"),
    Route("DELETE", _ONE + "/links/{link}", "dependency.remove", remove_link, "issues"),
)
