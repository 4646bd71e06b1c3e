"""GitHub's pulls: list, read, create, edit, merge, reviews, requested reviewers."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.github.finding import doer, for_writing, invalid, pull_of, repo_of, show, text_of, writing
from connectors.fake_forge.github.issues import sorted_issues
from connectors.fake_forge.github.show_git import pull_document
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Review

REVIEWS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def list_pulls(call: Call) -> Answer:
    """``state``, ``head`` (``owner:branch``), ``base``."""
    repo = repo_of(call)
    state, head, base = call.query("state", "open"), call.query("head"), call.query("base")
    found = [
        issue
        for issue in repo.pulls.values()
        if issue.pull
        and state in ("all", issue.state)
        and (not head or head == f"{repo.owner}:{issue.pull.head}")
        and (not base or base == issue.pull.base)
    ]
    return listed(call, sorted_issues(call, found), lambda each: pull_document(show(call), repo, each, full=False))


def get_pull(call: Call) -> Answer:
    """One pull with what is computed for it."""
    repo, issue = pull_of(call)
    return Answer(200, pull_document(show(call), repo, issue, full=True))


def create_pull(call: Call) -> Answer:
    """``head``, ``base``, ``title``, ``body``, ``draft``."""
    repo = writing(call, repo_of(call))
    head = str(call.json.get("head") or "").removeprefix(f"{repo.owner}:")
    base = str(call.json.get("base") or "")
    title = text_of(call, "title", needed=True) or ""
    for key, branch in (("head", head), ("base", base)):
        if f"refs/heads/{branch}" not in repo.refs:
            raise invalid("PullRequest", key, "invalid")
    there = [each for each in repo.pulls.values() if each.pull and (each.pull.head, each.pull.base) == (head, base)]
    if any(each.state == "open" for each in there):
        raise Refusal(
            422, "Validation Failed", errors=[_custom(f"A pull request already exists for {repo.owner}:{head}.")]
        )
    if repo.refs[f"refs/heads/{head}"] == repo.refs[f"refs/heads/{base}"]:
        raise Refusal(422, "Validation Failed", errors=[_custom(f"No commits between {base} and {head}")])
    made = deeds.create_pull(doer(call), repo, head, base, title)
    made.body = text_of(call, "body") or ""
    if made.pull:
        made.pull.draft = bool(call.json.get("draft"))
    document = pull_document(show(call), repo, made, full=True)
    return Answer(201, document, {"Location": document["url"]})


def _custom(message: str) -> dict[str, str]:
    return {"resource": "PullRequest", "code": "custom", "message": message}


def edit_pull(call: Call) -> Answer:
    """``title``, ``body``, ``state``, ``base``."""
    repo, issue = for_writing(call, pull_of(call))
    state = call.json.get("state")
    if state not in (None, "open", "closed"):
        raise invalid("PullRequest", "state", "invalid")
    if state == "open" and issue.pull and issue.pull.merged_at:
        raise invalid("PullRequest", "state", "invalid")
    deeds.edit(doer(call), repo, issue, text_of(call, "title"), text_of(call, "body"))
    if state:
        deeds.set_state(doer(call), repo, issue, state)
    return Answer(200, pull_document(show(call), repo, issue, full=True))


def merge_pull(call: Call) -> Answer:
    """``sha`` must be the head (409); a pull that is merged already is 405, or 200 for the same head."""
    repo, issue = for_writing(call, pull_of(call))
    writing(call, repo)
    pull = issue.pull
    assert pull is not None
    if pull.merged_at:
        done = {"sha": pull.merge_sha, "merged": True, "message": "Pull Request successfully merged"}
        return Answer(200, done)
    if issue.state == "closed" or pull.draft or not pull.mergeable:
        raise Refusal(405, "Pull Request is not mergeable")
    wanted = call.json.get("sha")
    if wanted and wanted != pull.head_sha:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    if call.json.get("merge_method", "merge") not in ("merge", "squash", "rebase"):
        raise invalid("PullRequest", "merge_method", "invalid")
    title = call.json.get("commit_title") or f"Merge pull request #{issue.number} from {repo.owner}/{pull.head}"
    sha = deeds.merge(doer(call), repo, issue, str(title))
    return Answer(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def is_merged(call: Call) -> Answer:
    """204 when merged, else 404."""
    _, issue = pull_of(call)
    if not (issue.pull and issue.pull.merged_at):
        raise Refusal(404, "Not Found")
    return Answer(204)


def list_reviews(call: Call) -> Answer:
    """Reviews in their order."""
    repo, issue = pull_of(call)
    reviews = issue.pull.reviews if issue.pull else []
    return listed(call, reviews, lambda review: show(call).review(repo, issue, review))


def create_review(call: Call) -> Answer:
    """``event``, ``body``."""
    repo, issue = pull_of(call)
    call.writable(repo)
    pull = issue.pull
    assert pull is not None
    event = str(call.json.get("event") or "")
    body = text_of(call, "body") or ""
    if event and event not in REVIEWS:
        raise invalid("PullRequestReview", "event", "invalid")
    if event in ("APPROVE", "REQUEST_CHANGES") and issue.author == call.user.login:
        raise Refusal(422, "Unprocessable Entity", errors=["Review Can not approve your own pull request"])
    if event in ("REQUEST_CHANGES", "COMMENT") and not body:
        raise Refusal(422, "Unprocessable Entity", errors=["Body can't be blank"])
    made = Review(
        id=call.world.new_id(),
        author=call.user.login,
        body=body,
        state=REVIEWS.get(event, "PENDING"),
        sha=pull.head_sha,
        created_at=call.now,
    )
    pull.reviews.append(made)
    deeds.touch(doer(call), issue)
    deeds.tell(doer(call), repo, issue, "pull_request_review", "submitted")
    return Answer(200, show(call).review(repo, issue, made))


def list_reviewers(call: Call) -> Answer:
    """Who was asked and has not answered."""
    _, issue = pull_of(call)
    reviewers = issue.pull.reviewers if issue.pull else []
    return Answer(200, {"users": [show(call).user(each) for each in reviewers], "teams": []})


def request_reviewers(call: Call) -> Answer:
    """``reviewers``: 422 for a login that may not review."""
    repo, issue = for_writing(call, pull_of(call))
    pull = issue.pull
    assert pull is not None
    logins = [str(each) for each in call.json.get("reviewers") or []]
    if any(repo.rights.get(login, "none") == "none" for login in logins):
        raise Refusal(422, "Reviews may only be requested from collaborators.")
    if issue.author in logins:
        raise Refusal(422, "Review cannot be requested from pull request author.")
    pull.reviewers = list(dict.fromkeys([*pull.reviewers, *logins]))
    deeds.note(doer(call), issue, "review_requested")
    return Answer(201, pull_document(show(call), repo, issue, full=False))


def remove_reviewers(call: Call) -> Answer:
    """``reviewers`` go."""
    repo, issue = for_writing(call, pull_of(call))
    pull = issue.pull
    assert pull is not None
    gone = call.json.get("reviewers") or []
    pull.reviewers = [each for each in pull.reviewers if each not in gone]
    return Answer(200, pull_document(show(call), repo, issue, full=False))


_PULLS = "/repos/{owner}/{name}/pulls"
_ONE = _PULLS + "/{number}"
ROUTES = (
    Route("GET", _PULLS, "pull.list", list_pulls, "read"),
    Route("POST", _PULLS, "pull.create", create_pull, "pulls"),
    Route("GET", _ONE, "pull.get", get_pull, "read"),
    Route("PATCH", _ONE, "pull.edit", edit_pull, "pulls"),
    Route("GET", _ONE + "/merge", "pull.merged", is_merged, "read"),
    Route("PUT", _ONE + "/merge", "pull.merge", merge_pull, "contents"),
    Route("GET", _ONE + "/reviews", "review.list", list_reviews, "read"),
    Route("POST", _ONE + "/reviews", "pull.review", create_review, "pulls"),
    Route("GET", _ONE + "/requested_reviewers", "reviewer.list", list_reviewers, "read"),
    Route("POST", _ONE + "/requested_reviewers", "pull.request_review", request_reviewers, "pulls"),
    Route("DELETE", _ONE + "/requested_reviewers", "pull.unrequest_review", remove_reviewers, "pulls"),
)
