"""GitLab's merge requests: list, read, create, change, merge, approve."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.gitlab import finding
from connectors.fake_forge.gitlab.finding import doer, given, merge_of, needed_text, repo_of, show, text_of, writing
from connectors.fake_forge.gitlab.issues import ordered, relabel
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Review

DRAFT = ("Draft:", "draft:", "[Draft]", "(Draft)")


def list_merges(call: Call) -> Answer:
    """``state``, ``source_branch``, ``target_branch``, ``author_username``."""
    repo = repo_of(call)
    state = call.query("state", "all")
    head, base = call.query("source_branch"), call.query("target_branch")
    found = [
        issue
        for issue in repo.pulls.values()
        if issue.pull
        and state in ("all", show(call).merge_request(repo, issue)["state"])
        and (not head or head == issue.pull.head)
        and (not base or base == issue.pull.base)
        and call.query("author_username", issue.author) == issue.author
    ]
    return listed(call, ordered(call, found), lambda each: show(call).merge_request(repo, each))


def get_merge(call: Call) -> Answer:
    """One merge request."""
    return Answer(200, show(call).merge_request(*merge_of(call)))


def _titled(issue: Issue, title: str) -> None:
    """A title that begins with a draft word marks a draft, one without readies it."""
    assert issue.pull is not None
    word = next((each for each in DRAFT if title.startswith(each)), "")
    issue.title = title.removeprefix(word).strip() if word else title
    issue.pull.draft = bool(word)


def create_merge(call: Call) -> Answer:
    """``source_branch``, ``target_branch``, ``title``, ``description``: 409 when one is open for that source."""
    repo = writing(call, repo_of(call), finding.DEVELOPER)
    head, base = needed_text(call, "source_branch"), needed_text(call, "target_branch")
    title = needed_text(call, "title")
    if f"refs/heads/{base}" not in repo.refs or f"refs/heads/{head}" not in repo.refs:
        raise Refusal(422, "", fields={"base": ["Source branch or target branch does not exist"]})
    for each in repo.pulls.values():
        if each.state == "open" and each.pull and (each.pull.head, each.pull.base) == (head, base):
            text = f"Another open merge request already exists for this source branch: !{each.number}"
            raise Refusal(409, "", fields=[text])
    made = deeds.create_pull(doer(call), repo, head, base, title)
    made.body = text_of(call, "description") or ""
    _titled(made, title)
    return Answer(201, show(call).merge_request(repo, made))


def edit_merge(call: Call) -> Answer:
    """``title``, ``description``, ``state_event``, ``reviewer_ids`` (replace), labels."""
    repo, issue = merge_of(call)
    writing(call, repo, finding.DEVELOPER)
    pull, values = issue.pull, given(call)
    assert pull is not None
    event = values.get("state_event")
    if event not in (None, "close", "reopen"):
        raise Refusal(400, "", error="state_event does not have a valid value")
    if "title" in values:
        _titled(issue, needed_text(call, "title"))
    deeds.edit(doer(call), repo, issue, None, text_of(call, "description"))
    if "reviewer_ids" in values:
        wanted = finding.logins_of(call, values["reviewer_ids"])
        pull.reviewers = wanted if call.world.licensed else wanted[:1]
    relabel(call, repo, issue)
    deeds.touch(doer(call), issue)
    if event and not pull.merged_at:
        deeds.set_state(doer(call), repo, issue, "closed" if event == "close" else "open")
    return Answer(200, show(call).merge_request(repo, issue))


def accept_merge(call: Call) -> Answer:
    """``sha`` must be the head (409); what cannot be merged is 405 or 422."""
    repo, issue = merge_of(call)
    writing(call, repo, finding.DEVELOPER)
    pull = issue.pull
    assert pull is not None
    if issue.state == "closed" or pull.draft:
        raise Refusal(405, "405 Method Not Allowed")
    if not pull.mergeable:
        raise Refusal(422, "Branch cannot be merged")
    sha = given(call).get("sha")
    if sha and sha != pull.head_sha:
        raise Refusal(409, "SHA does not match HEAD of source branch: " + pull.head_sha)
    deeds.merge(doer(call), repo, issue, f"Merge branch '{pull.head}' into '{pull.base}'")
    return Answer(200, show(call).merge_request(repo, issue))


def approve(call: Call) -> Answer:
    """Our account approves; 401 for the second time."""
    repo, issue = merge_of(call)
    writing(call, repo, finding.DEVELOPER)
    pull = issue.pull
    assert pull is not None
    if any(each.author == call.user.login and each.state == "APPROVED" for each in pull.reviews):
        raise Refusal(401, "401 Unauthorized")
    made = Review(
        id=call.world.new_id(),
        author=call.user.login,
        body="",
        state="APPROVED",
        sha=pull.head_sha,
        created_at=call.now,
    )
    pull.reviews.append(made)
    return Answer(201, _approvals(call, issue))


def approvals(call: Call) -> Answer:
    """Who approved."""
    _, issue = merge_of(call)
    return Answer(200, _approvals(call, issue))


def _approvals(call: Call, issue: Issue) -> dict[str, object]:
    reviews = issue.pull.reviews if issue.pull else []
    by = [{"user": show(call).user(each.author)} for each in reviews if each.state == "APPROVED"]
    return {"user_has_approved": any(each.author == call.user.login for each in reviews), "approved_by": by}


_MERGES = "/projects/{project}/merge_requests"
_ONE = _MERGES + "/{iid}"
ROUTES = (
    Route("GET", _MERGES, "pull.list", list_merges, "read"),
    Route("POST", _MERGES, "pull.create", create_merge, "pulls"),
    Route("GET", _ONE, "pull.get", get_merge, "read"),
    Route("PUT", _ONE, "pull.edit", edit_merge, "pulls"),
    Route("PUT", _ONE + "/merge", "pull.merge", accept_merge, "contents"),
    Route("POST", _ONE + "/approve", "pull.review", approve, "pulls"),
    Route("GET", _ONE + "/approvals", "review.list", approvals, "read"),
)
