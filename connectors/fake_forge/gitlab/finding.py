"""From a call's path to its objects, with GitLab's answers for what is moved, hidden or not allowed."""

from __future__ import annotations

from datetime import datetime

from connectors.fake_forge import deeds
from connectors.fake_forge.deeds import Doer
from connectors.fake_forge.exchange import Call, Json, Refusal
from connectors.fake_forge.gitlab.show import LEVELS, Show
from connectors.fake_forge.records import Comment, Issue, Label, Repo

REPORTER, DEVELOPER = 20, 30
TEXT_LIMIT = 1_000_000


def show(call: Call) -> Show:
    """The documents of the call's world."""
    return Show(call.world, call.base)


def doer(call: Call) -> Doer:
    """The account of the call."""
    return Doer(call.desk, call.user.login)


def given(call: Call) -> dict[str, Json]:
    """The parameters, from the body or the query: GitLab takes both."""
    return {**dict(call.request.query), **call.json}


def repo_of(call: Call) -> Repo:
    """The project by number or encoded path; a former path redirects reads and refuses the rest. Raises ``Refusal``."""
    wanted = call.params["project"]
    found = next((each for each in call.world.repos.values() if str(each.id) == wanted), None)
    found = found or call.world.repos.get(wanted)
    new = call.world.renamed.get(wanted)
    if found is None and new is not None:
        if call.request.method != "GET":
            raise Refusal(405, "Non GET methods are not allowed for moved projects")
        rest = call.request.path.split("/projects/", 1)[1].partition("/")
        location = f"{call.base}/api/v4/projects/{call.world.repos[new].id}{rest[1]}{rest[2]}"
        raise Refusal(301, "This resource has been moved permanently", location=location)
    if found is None or found.hidden:
        raise Refusal(404, "404 Project Not Found")
    return found


def writing(call: Call, repo: Repo, level: int) -> Repo:
    """The project when our account has at least this access level. Raises ``Refusal`` 403."""
    call.writable(repo)
    if LEVELS[repo.rights.get(call.user.login, "none")] < level:
        raise Refusal(403, "403 Forbidden")
    return repo


def issue_of(call: Call) -> tuple[Repo, Issue]:
    """Project and issue. Raises ``Refusal`` 404; with issues off everything is 404 or 403 there."""
    repo = repo_of(call)
    number = call.params["iid"]
    issue = repo.issues.get(int(number)) if number.isdecimal() else None
    if not repo.issues_enabled:
        raise Refusal(403, "403 Forbidden")
    if issue is None or issue.hidden or issue.gone:
        raise Refusal(404, "404 Not found")
    return repo, issue


def merge_of(call: Call) -> tuple[Repo, Issue]:
    """Project and merge request. Raises ``Refusal`` 404."""
    repo = repo_of(call)
    number = call.params["iid"]
    issue = repo.pulls.get(int(number)) if number.isdecimal() else None
    if issue is None or issue.hidden or issue.gone:
        raise Refusal(404, "404 Not found")
    return repo, issue


def noteable_of(call: Call) -> tuple[Repo, Issue]:
    """What is commented on, by the word in the path."""
    return merge_of(call) if "/merge_requests/" in call.request.path else issue_of(call)


def note_of(call: Call) -> tuple[Repo, Issue, Comment]:
    """A note of it. Raises ``Refusal`` 404."""
    repo, issue = noteable_of(call)
    found = next((each for each in issue.comments if str(each.id) == call.params["note"]), None)
    if found is None:
        raise Refusal(404, "404 Note Not Found")
    return repo, issue, found


def text_of(call: Call, key: str) -> str | None:
    """A text within GitLab's limit. Raises ``Refusal`` 400."""
    value = given(call).get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refusal(400, "", error=f"{key} is invalid")
    if len(value) > TEXT_LIMIT:
        raise Refusal(400, "", fields={key: [f"is too long ({len(value)} characters). The maximum size is 1000000."]})
    return value


def needed_text(call: Call, key: str) -> str:
    """A text that must be there. Raises ``Refusal`` 400."""
    value = text_of(call, key)
    if not value or not value.strip():
        raise Refusal(400, "", error=f"{key} is missing")
    return value


def names_in(value: Json) -> list[str]:
    """Names of a comma-separated text or a list."""
    names = value if isinstance(value, list) else str(value or "").split(",")
    return [str(name).strip() for name in names if str(name).strip()]


def labels_named(call: Call, repo: Repo, value: Json) -> list[Label]:
    """The labels of these names, case-sensitive; unknown ones are made, or dropped by a scripted quirk."""
    found = []
    for name in names_in(value):
        label = deeds.find_label(call.world, repo, name)
        if label is None and "unknown_label_dropped" in call.quirks:
            continue
        found.append(label or deeds.define_label(doer(call), repo, name))
    return found


def since_of(call: Call, key: str) -> datetime | None:
    """An instant of the query. Raises ``Refusal`` 400."""
    text = call.query(key)
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(400, "", error=f"{key} is invalid") from None


def logins_of(call: Call, ids: Json) -> list[str]:
    """The accounts behind ids; 0 stands for nobody, unknown ones are dropped."""
    known = {user.id: user.login for user in call.world.users.values()}
    return [known[int(each)] for each in (ids or []) if int(each) in known]
