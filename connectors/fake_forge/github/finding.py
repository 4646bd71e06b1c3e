"""From a call's path to its objects, with GitHub's answers for what is renamed, moved, gone, hidden."""

from __future__ import annotations

from datetime import datetime

from connectors.fake_forge import deeds
from connectors.fake_forge.deeds import Doer
from connectors.fake_forge.exchange import Call, Refusal
from connectors.fake_forge.github.show import Show
from connectors.fake_forge.records import Comment, Issue, Label, Repo

WRITERS = ("admin", "maintain", "write")
BODY_LIMIT = 65_536
"""UTF-16 code units; above it a text is refused with 422."""


def show(call: Call) -> Show:
    """The documents of the call's world."""
    return Show(call.world, call.base)


def doer(call: Call) -> Doer:
    """The account of the call."""
    return Doer(call.desk, call.user.login)


def repo_of(call: Call) -> Repo:
    """The repository; a former path is a redirect to the one by id. Raises ``Refusal``."""
    if "repo_id" in call.params:
        found = next((each for each in call.world.repos.values() if str(each.id) == call.params["repo_id"]), None)
    else:
        path = f"{call.params['owner']}/{call.params['name']}"
        found = next((each for key, each in call.world.repos.items() if key.lower() == path.lower()), None)
        new = call.world.renamed.get(path)
        if found is None and new is not None:
            _redirect(call, call.world.repos[new], call.request.path.partition(path)[2])
    if found is None or found.hidden:
        raise Refusal(404, "Not Found")
    return found


def _redirect(call: Call, repo: Repo, rest: str) -> None:
    location = f"{call.base}/repositories/{repo.id}{rest}"
    raise Refusal(301 if call.request.method == "GET" else 307, "Moved Permanently", location=location)


def open_repo(call: Call) -> Repo:
    """The repository when its issues are on. Raises ``Refusal`` 410."""
    repo = repo_of(call)
    if not repo.issues_enabled:
        raise Refusal(410, "Issues has been disabled in this repository.")
    return repo


def card_of(call: Call, *, part: bool = False) -> tuple[Repo, Issue]:
    """Repository and card; ``part`` for addresses below the card, whose redirect names no place."""
    repo = open_repo(call)
    number = call.params["number"]
    issue = deeds.find_issue(repo, int(number)) if number.isdecimal() else None
    if issue is None or issue.hidden:
        raise Refusal(404, "Not Found")
    if issue.gone:
        raise Refusal(410, "This issue was deleted")
    if issue.moved_to is not None:
        if part:
            raise Refusal(301, "Moved Permanently", location="")
        _redirect(call, call.world.repos[issue.moved_to.repo], f"/issues/{issue.moved_to.number}")
    return repo, issue


def pull_of(call: Call) -> tuple[Repo, Issue]:
    """Repository and pull. Raises ``Refusal`` 404."""
    repo = repo_of(call)
    number = call.params["number"]
    issue = repo.pulls.get(int(number)) if number.isdecimal() else None
    if issue is None or issue.hidden:
        raise Refusal(404, "Not Found")
    return repo, issue


def for_writing(call: Call, found: tuple[Repo, Issue]) -> tuple[Repo, Issue]:
    """The same when our account may change it. Raises ``Refusal`` 403."""
    call.writable(found[0])
    if found[0].rights.get(call.user.login) not in (*WRITERS, "triage"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return found


def writing(call: Call, repo: Repo) -> Repo:
    """The repository when our account may push to it. Raises ``Refusal`` 403."""
    call.writable(repo)
    if repo.rights.get(call.user.login) not in WRITERS:
        raise Refusal(403, "Resource not accessible by integration")
    return repo


def label_of(call: Call, repo: Repo, name: str) -> Label:
    """A label definition, case folded. Raises ``Refusal`` 404."""
    found = deeds.find_label(call.world, repo, name)
    if found is None:
        raise Refusal(404, "Not Found")
    return found


def comment_of(call: Call) -> tuple[Repo, Issue, Comment]:
    """Repository, card and comment by the comment's id. Raises ``Refusal`` 404."""
    repo = repo_of(call)
    for issue in [*repo.issues.values(), *repo.pulls.values()]:
        for comment in issue.comments:
            if str(comment.id) == call.params["id"] and not (issue.gone or issue.hidden or issue.moved_to):
                return repo, issue, comment
    raise Refusal(404, "Not Found")


def text_of(call: Call, key: str, *, needed: bool = False) -> str | None:
    """A text of the body within GitHub's limit. Raises ``Refusal`` 422."""
    value = call.json.get(key)
    if value is None or value == "":
        if needed:
            raise invalid("Issue", key, "missing_field")
        return None if value is None else ""
    if not isinstance(value, str):
        raise Refusal(422, f"Invalid request.\n\nFor 'properties/{key}', {value!r} is not a string.")
    if len(value.encode("utf-16-le")) // 2 > BODY_LIMIT:
        raise Refusal(422, "Validation Failed", errors=[f"{key} is too long (maximum is {BODY_LIMIT} characters)"])
    return value


def invalid(resource: str, field: str, code: str) -> Refusal:
    """A 422 in GitHub's form."""
    return Refusal(422, "Validation Failed", errors=[{"resource": resource, "field": field, "code": code}])


def fold_name(call: Call, name: str) -> str:
    """A label's name as it is compared here."""
    return deeds.fold(call.world, name)


def since_of(call: Call) -> datetime | None:
    """The query key ``since``. Raises ``Refusal`` 422."""
    text = call.query("since")
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(422, "Invalid since") from None
