"""Forgejo's issues, labels, comments, reactions and dependencies."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.forgejo import finding
from connectors.fake_forge.forgejo.finding import card_of, doer, for_writing, repo_of, show, text_of, writing
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Reaction, Ref, Repo


def list_issues(call: Call) -> Answer:
    """``type``, ``state``, ``labels``, ``since``, ``created_by``; newest first. An unknown label is no filter."""
    repo = repo_of(call)
    if not repo.issues_enabled:
        raise Refusal(404, finding.GONE)
    state, kind, since = call.query("state", "open"), call.query("type"), finding.since_of(call)
    names = [name for name in call.query("labels").split(",") if name]
    if "unknown_filter_ignored" in call.quirks:
        names = [name for name in names if deeds.find_label(call.world, repo, name)]
    cards = ([] if kind == "pulls" else [*repo.issues.values()]) + ([] if kind == "issues" else [*repo.pulls.values()])
    found = [
        issue
        for issue in cards
        if state in ("all", issue.state)
        and not (issue.hidden or issue.gone or issue.moved_to)
        and set(names) <= {repo.labels[each].name for each in issue.labels}
        and (since is None or issue.updated_at >= since)
        and call.query("created_by", issue.author) == issue.author
    ]
    found.sort(key=lambda issue: (issue.created_at, issue.number), reverse=True)
    return listed(call, found, lambda issue: show(call).issue(repo, issue))


def get_issue(call: Call) -> Answer:
    """One issue or pull by its index."""
    return Answer(200, show(call).issue(*card_of(call)))


def create_issue(call: Call) -> Answer:
    """``title``, ``body``, ``labels`` (ids), ``assignees``: an unknown assignee is 422."""
    repo = repo_of(call)
    call.writable(repo)
    if not repo.issues_enabled:
        raise Refusal(404, finding.GONE)
    title = finding.needed_text(call, "title")
    if len(title) > 255:
        raise Refusal(422, "[Title]: MaxSize")
    may = repo.rights.get(call.user.login) in finding.WRITERS
    labels = finding.labels_given(call, repo, call.json.get("labels")) if may else []
    logins = [str(each) for each in call.json.get("assignees") or []]
    _assignable(repo, logins)
    issue = deeds.create_issue(doer(call), repo, title, text_of(call, "body") or "", tuple(labels))
    if may:
        deeds.set_assignees(doer(call), repo, issue, logins)
    return Answer(201, show(call).issue(repo, issue))


def _assignable(repo: Repo, logins: list[str]) -> None:
    for login in logins:
        if repo.rights.get(login, "none") == "none":
            raise Refusal(422, f"Assignee does not exist: [name: {login}]")


def edit_issue(call: Call) -> Answer:
    """``title``, ``body``, ``state``; ``assignees`` replace. Closing is 412 while a dependency is open."""
    repo, issue = for_writing(call)
    state = call.json.get("state")
    if state not in (None, "open", "closed"):
        raise Refusal(412, f"unknown state: {state}")
    if call.json.get("assignees") is not None:
        logins = [str(each) for each in call.json["assignees"]]
        _assignable(repo, logins)
        deeds.set_assignees(doer(call), repo, issue, logins)
    deeds.edit(doer(call), repo, issue, text_of(call, "title"), text_of(call, "body"))
    if state == "closed" and any(each.state == "open" for _, each in blockers(call, issue)):
        raise Refusal(412, "cannot close this issue or pull request because it still has open dependencies")
    if state:
        deeds.set_state(doer(call), repo, issue, state)
    return Answer(201, show(call).issue(repo, issue))


def delete_issue(call: Call) -> Answer:
    """It goes, for an owner."""
    repo, issue = for_writing(call)
    if repo.rights.get(call.user.login) != "admin":
        raise Refusal(403, "user should be an owner of the repo")
    issue.gone = True
    return Answer(204)


def list_timeline(call: Call) -> Answer:
    """Events and comments, oldest first."""
    repo, issue = card_of(call)
    shown = [(event.created_at, event.id, show(call).event(repo, issue, event)) for event in issue.events]
    for comment in issue.comments:
        document = show(call).comment(repo, issue, comment)
        for key in ("assets", "original_author", "original_author_id"):
            del document[key]
        shown.append((comment.created_at, comment.id, document | {"type": "comment"}))
    return listed(call, sorted(shown, key=lambda each: each[:2]), lambda each: each[2])


def blockers(call: Call, issue: Issue) -> list[tuple[Repo, Issue]]:
    """The cards that an issue waits for."""
    found = []
    for ref in issue.blocked_by:
        repo = call.world.repos.get(ref.repo)
        other = deeds.find_issue(repo, ref.number) if repo else None
        if repo is not None and other is not None:
            found.append((repo, other))
    return found


def list_blockers(call: Call) -> Answer:
    """The cards that this one depends on."""
    _, issue = card_of(call)
    return listed(call, blockers(call, issue), lambda each: show(call).issue(*each))


def _named(call: Call, repo: Repo) -> tuple[Ref, Repo, Issue]:
    given = call.json
    path = f"{given['owner']}/{given['repo']}" if given.get("owner") and given.get("repo") else repo.path
    target = call.world.repos.get(path)
    other = deeds.find_issue(target, int(given.get("index") or 0)) if target else None
    if target is None or other is None:
        raise Refusal(404, "issue does not exist")
    return Ref(repo=path, number=other.number), target, other


def add_blocker(call: Call) -> Answer:
    """``owner``, ``repo``, ``index``."""
    repo, issue = for_writing(call)
    ref, _, other = _named(call, repo)
    if other is issue:
        raise Refusal(400, "cannot make a dependency on itself")
    if not deeds.block(doer(call), issue, ref):
        raise Refusal(409, "issue dependency does already exist")
    return Answer(201, show(call).issue(repo, issue))


def remove_blocker(call: Call) -> Answer:
    """By the same body."""
    repo, issue = for_writing(call)
    ref, _, _ = _named(call, repo)
    if not deeds.unblock(doer(call), issue, ref):
        raise Refusal(404, "issue dependency does not exist")
    return Answer(200, show(call).issue(repo, issue))


def list_comments(call: Call) -> Answer:
    """All in one answer, oldest first; ``since`` by update."""
    repo, issue = card_of(call)
    since = finding.since_of(call)
    found = [each for each in issue.comments if since is None or each.updated_at >= since]
    return Answer(200, [show(call).comment(repo, issue, each) for each in found])


def create_comment(call: Call) -> Answer:
    """``body``."""
    repo, issue = card_of(call)
    call.writable(repo)
    if issue.locked and repo.rights.get(call.user.login) not in finding.WRITERS:
        raise Refusal(423, "comment on a locked issue")
    made = deeds.add_comment(doer(call), repo, issue, finding.needed_text(call, "body"))
    return Answer(201, show(call).comment(repo, issue, made))


def get_comment(call: Call) -> Answer:
    """One comment."""
    return Answer(200, show(call).comment(*finding.comment_of(call)))


def edit_comment(call: Call) -> Answer:
    """Another ``body``: one's own, or any for an owner."""
    repo, issue, comment = finding.comment_of(call)
    call.writable(repo)
    if comment.author != call.user.login and repo.rights.get(call.user.login) != "admin":
        raise Refusal(403, "Forbidden")
    deeds.edit_comment(doer(call), repo, issue, comment, finding.needed_text(call, "body"))
    return Answer(200, show(call).comment(repo, issue, comment))


def delete_comment(call: Call) -> Answer:
    """It goes."""
    repo, issue, comment = finding.comment_of(call)
    call.writable(repo)
    if comment.author != call.user.login and repo.rights.get(call.user.login) != "admin":
        raise Refusal(403, "Forbidden")
    deeds.delete_comment(doer(call), repo, issue, comment)
    return Answer(204)


def _react(call: Call, reactions: list[Reaction]) -> Answer:
    name = str(call.json.get("content") or "")
    if name not in ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket"):
        raise Refusal(403, f"'{name}' is not an allowed reaction")
    made, new = deeds.react(doer(call), reactions, name)
    return Answer(201 if new else 200, show(call).reaction(made))


def react_to_card(call: Call) -> Answer:
    """``content``: 201 when new, 200 when it was there."""
    return _react(call, card_of(call)[1].reactions)


def react_to_comment(call: Call) -> Answer:
    """The same on a comment."""
    return _react(call, finding.comment_of(call)[2].reactions)


def list_reactions(call: Call) -> Answer:
    """A card's reactions."""
    return listed(call, card_of(call)[1].reactions, show(call).reaction)


def list_labels(call: Call) -> Answer:
    """The repository's own labels."""
    repo = repo_of(call)
    found = sorted((each for each in repo.labels.values() if not each.group), key=lambda label: label.name)
    return listed(call, found, lambda label: show(call).label(repo, label))


def list_group_labels(call: Call) -> Answer:
    """An organisation's labels; 404 for a person."""
    repos = [each for each in call.world.repos.values() if each.owner == call.params["org"]]
    found = [(repo, label) for repo in repos for label in repo.labels.values() if label.group]
    if not found:
        raise Refusal(404, "user redirect does not exist")
    return listed(call, found, lambda each: show(call).label(*each))


def create_label(call: Call) -> Answer:
    """``name``, ``color``, ``description``. Two labels of one name are possible here."""
    repo = writing(call, repo_of(call))
    name, color = finding.needed_text(call, "name"), finding.needed_text(call, "color")
    made = deeds.define_label(doer(call), repo, name, color, text_of(call, "description") or "")
    return Answer(201, show(call).label(repo, made))


def list_on_card(call: Call) -> Answer:
    """The card's labels."""
    repo, issue = card_of(call)
    return _on_card(call, repo, issue)


def _on_card(call: Call, repo: Repo, issue: Issue) -> Answer:
    return Answer(200, [show(call).label(repo, repo.labels[each]) for each in sorted(issue.labels)])


def add_to_card(call: Call) -> Answer:
    """``labels``: ids or names come to those that are there."""
    repo, issue = for_writing(call)
    labels = finding.labels_given(call, repo, call.json.get("labels"))
    if "put_replaces" in call.quirks:
        deeds.set_labels(doer(call), repo, issue, labels)
    for label in labels:
        deeds.add_label(doer(call), repo, issue, label)
    return _on_card(call, repo, issue)


def set_on_card(call: Call) -> Answer:
    """``labels`` replace the whole set."""
    repo, issue = for_writing(call)
    deeds.set_labels(doer(call), repo, issue, finding.labels_given(call, repo, call.json.get("labels")))
    return _on_card(call, repo, issue)


def clear_card(call: Call) -> Answer:
    """Every label goes."""
    repo, issue = for_writing(call)
    deeds.set_labels(doer(call), repo, issue, [])
    return Answer(204)


def remove_from_card(call: Call) -> Answer:
    """By id; by name it is 404 although the label is there. An id that no label has is 422."""
    repo, issue = for_writing(call)
    wanted = call.params["label"]
    label = repo.labels.get(int(wanted)) if wanted.isdecimal() else deeds.find_label(call.world, repo, wanted)
    if not wanted.isdecimal() and (label is None or "remove_by_name_404" in call.quirks):
        raise Refusal(404, finding.GONE)
    if label is None:
        raise Refusal(422, "label does not exist")
    deeds.remove_label(doer(call), repo, issue, label)
    return Answer(204)


_REPO = "/repos/{owner}/{name}"
_ISSUES = _REPO + "/issues"
_ONE = _ISSUES + "/{index}"
_COMMENT = _ISSUES + "/comments/{id}"
ROUTES = (
    Route("GET", _COMMENT, "comment.get", get_comment, "read"),
    Route("PATCH", _COMMENT, "comment.edit", edit_comment, "issues"),
    Route("DELETE", _COMMENT, "comment.delete", delete_comment, "issues"),
    Route("POST", _COMMENT + "/reactions", "reaction.add", react_to_comment, "issues"),
    Route("GET", _ISSUES, "issue.list", list_issues, "read"),
    Route("POST", _ISSUES, "issue.create", create_issue, "issues"),
    Route("GET", _ONE, "issue.get", get_issue, "read"),
    Route("PATCH", _ONE, "issue.edit", edit_issue, "issues"),
    Route("DELETE", _ONE, "issue.delete", delete_issue, "issues"),
    Route("GET", _ONE + "/timeline", "event.list", list_timeline, "read"),
    Route("GET", _ONE + "/dependencies", "dependency.list", list_blockers, "read"),
    Route("POST", _ONE + "/dependencies", "dependency.add", add_blocker, "issues"),
    Route("DELETE", _ONE + "/dependencies", "dependency.remove", remove_blocker, "issues"),
    Route("GET", _ONE + "/comments", "comment.list", list_comments, "read"),
    Route("POST", _ONE + "/comments", "issue.comment", create_comment, "issues"),
    Route("GET", _ONE + "/reactions", "reaction.list", list_reactions, "read"),
    Route("POST", _ONE + "/reactions", "reaction.add", react_to_card, "issues"),
    Route("GET", _ONE + "/labels", "issue.labels", list_on_card, "read"),
    Route("POST", _ONE + "/labels", "label.add", add_to_card, "issues"),
    Route("PUT", _ONE + "/labels", "label.set", set_on_card, "issues"),
    Route("DELETE", _ONE + "/labels", "label.clear", clear_card, "issues"),
    Route("DELETE", _ONE + "/labels/{label}", "label.remove", remove_from_card, "issues"),
    Route("GET", _REPO + "/labels", "label.list", list_labels, "read"),
    Route("POST", _REPO + "/labels", "label.define", create_label, "issues"),
    Route("GET", "/orgs/{org}/labels", "label.list", list_group_labels, "read"),
)
