"""Forgejo's pulls: list, read, create, edit, merge, reviews, requested reviewers."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.forgejo.finding import (
    doer,
    for_writing,
    needed_text,
    pull_of,
    repo_of,
    show,
    text_of,
    writing,
)
from connectors.fake_forge.forgejo.show import is_draft
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Pull, Repo, Review

METHODS = ("merge", "rebase", "rebase-merge", "squash", "fast-forward-only", "manually-merged")


def list_pulls(call: Call) -> Answer:
    """``state``, ``base_branch``; newest first."""
    repo = repo_of(call)
    state, base = call.query("state", "open"), call.query("base_branch")
    found = [
        each
        for each in repo.pulls.values()
        if state in ("all", each.state) and each.pull and (not base or base == each.pull.base)
    ]
    found.sort(key=lambda each: (each.created_at, each.number), reverse=True)
    return listed(call, found, lambda each: show(call).pull(repo, each))


def get_pull(call: Call) -> Answer:
    """One pull by its index."""
    return Answer(200, show(call).pull(*pull_of(call)))


def create_pull(call: Call) -> Answer:
    """``head``, ``base``, ``title``, ``body``: 409 when one is open for both."""
    repo = writing(call, repo_of(call))
    head, base, title = needed_text(call, "head"), needed_text(call, "base"), needed_text(call, "title")
    if f"refs/heads/{head}" not in repo.refs or f"refs/heads/{base}" not in repo.refs:
        raise Refusal(404, "The target couldn't be found.")
    for each in repo.pulls.values():
        if each.state == "open" and each.pull and (each.pull.head, each.pull.base) == (head, base):
            raise Refusal(409, f"pull request already exists for these targets [id: {each.id}]")
    made = deeds.create_pull(doer(call), repo, head, base, title)
    made.body = text_of(call, "body") or ""
    return Answer(201, show(call).pull(repo, made))


def _pull(call: Call) -> tuple[Repo, Issue, Pull]:
    repo, issue = for_writing(call)
    if issue.pull is None:
        raise Refusal(404, "The target couldn't be found.")
    return repo, issue, issue.pull


def edit_pull(call: Call) -> Answer:
    """``title``, ``body``, ``state``."""
    repo, issue, pull = _pull(call)
    state = call.json.get("state")
    if state not in (None, "open", "closed") or (state and pull.merged_at):
        raise Refusal(412, "cannot change state of this pull request, it was already merged")
    deeds.edit(doer(call), repo, issue, text_of(call, "title"), text_of(call, "body"))
    if state:
        deeds.set_state(doer(call), repo, issue, state)
    return Answer(201, show(call).pull(repo, issue))


def merge_pull(call: Call) -> Answer:
    """``Do``, ``head_commit_id``: 409 for another head, 405 for what cannot be merged; no body."""
    repo, issue, pull = _pull(call)
    if call.json.get("Do") not in METHODS:
        raise Refusal(422, "[Do]: In")
    if pull.merged_at:
        raise Refusal(405, "The PR is already merged")
    if issue.state == "closed" or is_draft(issue) or not pull.mergeable:
        raise Refusal(405, "Please try again later")
    head = call.json.get("head_commit_id")
    if head and head != pull.head_sha:
        raise Refusal(409, "head out of date")
    deeds.merge(doer(call), repo, issue, f"Merge pull request '{issue.title}' (#{issue.number})")
    return Answer(200, b"", content_type="text/plain")


def list_reviews(call: Call) -> Answer:
    """Reviews, oldest first."""
    repo, issue = pull_of(call)
    reviews = issue.pull.reviews if issue.pull else []
    return listed(call, reviews, lambda review: show(call).review(repo, issue, review))


def create_review(call: Call) -> Answer:
    """``event``, ``body``."""
    repo, issue = pull_of(call)
    call.writable(repo)
    pull = issue.pull
    assert pull is not None
    event, body = str(call.json.get("event") or "PENDING"), text_of(call, "body") or ""
    if event not in ("APPROVED", "REQUEST_CHANGES", "COMMENT", "PENDING"):
        raise Refusal(422, "[Event]: In")
    if event in ("APPROVED", "REQUEST_CHANGES") and issue.author == call.user.login:
        raise Refusal(422, "approve your own pull is not allowed")
    if event in ("COMMENT", "REQUEST_CHANGES") and not body.strip():
        raise Refusal(422, f"review event {event} requires a body or a comment")
    made = Review(
        id=call.world.new_id(),
        author=call.user.login,
        body=body,
        state=event,
        sha=pull.head_sha,
        created_at=call.now,
    )
    pull.reviews.append(made)
    deeds.touch(doer(call), issue)
    return Answer(200, show(call).review(repo, issue, made))


def request_reviewers(call: Call) -> Answer:
    """``reviewers``: 422 for who may not review."""
    repo, issue, pull = _pull(call)
    logins = [str(each) for each in call.json.get("reviewers") or []]
    for login in logins:
        if repo.rights.get(login, "none") == "none" or login == issue.author:
            raise Refusal(422, f"Reviewer can't be added: {login}")
    pull.reviewers = list(dict.fromkeys([*pull.reviewers, *logins]))
    deeds.touch(doer(call), issue)
    return Answer(201, [])


_PULLS = "/repos/{owner}/{name}/pulls"
_ONE = _PULLS + "/{index}"
ROUTES = (
    Route("GET", _PULLS, "pull.list", list_pulls, "read"),
    Route("POST", _PULLS, "pull.create", create_pull, "pulls"),
    Route("GET", _ONE, "pull.get", get_pull, "read"),
    Route("PATCH", _ONE, "pull.edit", edit_pull, "pulls"),
    Route("POST", _ONE + "/merge", "pull.merge", merge_pull, "contents"),
    Route("GET", _ONE + "/reviews", "review.list", list_reviews, "read"),
    Route("POST", _ONE + "/reviews", "pull.review", create_review, "pulls"),
    Route("POST", _ONE + "/requested_reviewers", "pull.request_review", request_reviewers, "pulls"),
)
