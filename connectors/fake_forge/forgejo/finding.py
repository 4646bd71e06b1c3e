"""From a call's path to its objects, with Forgejo's answers for what is renamed, hidden or not allowed."""

from __future__ import annotations

from datetime import datetime

from connectors.fake_forge import deeds
from connectors.fake_forge.deeds import Doer
from connectors.fake_forge.exchange import Call, Json, Refusal
from connectors.fake_forge.forgejo.show import Show
from connectors.fake_forge.records import Comment, Issue, Label, Repo

WRITERS = ("admin", "maintain", "write")
TEXT_LIMIT = 65_536
GONE = "The target couldn't be found."


def show(call: Call) -> Show:
    """The documents of the call's world."""
    return Show(call.world, call.base)


def doer(call: Call) -> Doer:
    """The account of the call."""
    return Doer(call.desk, call.user.login)


def repo_of(call: Call) -> Repo:
    """The repository; a former path is a redirect. Raises ``Refusal``."""
    path = f"{call.params['owner']}/{call.params['name']}"
    found = next((each for key, each in call.world.repos.items() if key.lower() == path.lower()), None)
    new = call.world.renamed.get(path)
    if found is None and new is not None:
        location = call.base + call.request.path.replace(path, new, 1)
        raise Refusal(301 if call.request.method == "GET" else 307, "Moved", location=location)
    if found is None or found.hidden:
        raise Refusal(404, GONE)
    return found


def writing(call: Call, repo: Repo) -> Repo:
    """The repository when our account may write to it. Raises ``Refusal`` 403."""
    call.writable(repo)
    if repo.rights.get(call.user.login) not in WRITERS:
        raise Refusal(403, "user should have a permission to write to a repo")
    return repo


def card_of(call: Call) -> tuple[Repo, Issue]:
    """Repository and issue or pull by the index. Raises ``Refusal`` 404."""
    repo = repo_of(call)
    if not repo.issues_enabled:
        raise Refusal(404, GONE)
    number = call.params["index"]
    issue = deeds.find_issue(repo, int(number)) if number.isdecimal() else None
    if issue is None or issue.hidden or issue.gone or issue.moved_to:
        raise Refusal(404, "issue does not exist [id: 0, repo_id: 0, index: 0]")
    return repo, issue


def for_writing(call: Call) -> tuple[Repo, Issue]:
    """The same when our account may change it."""
    repo, issue = card_of(call)
    writing(call, repo)
    return repo, issue


def pull_of(call: Call) -> tuple[Repo, Issue]:
    """Repository and pull. Raises ``Refusal`` 404."""
    repo, issue = card_of(call)
    if issue.pull is None:
        raise Refusal(404, GONE)
    return repo, issue


def comment_of(call: Call) -> tuple[Repo, Issue, Comment]:
    """Repository, card and comment by the comment's id. Raises ``Refusal`` 404."""
    repo = repo_of(call)
    for issue in [*repo.issues.values(), *repo.pulls.values()]:
        for comment in issue.comments:
            if str(comment.id) == call.params["id"] and not (issue.gone or issue.hidden):
                return repo, issue, comment
    raise Refusal(404, "comment does not exist")


def text_of(call: Call, key: str) -> str | None:
    """A text within the limit. Raises ``Refusal`` 422."""
    value = call.json.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > TEXT_LIMIT:
        raise Refusal(422, f"[{key}]: MaxSize")
    return value


def needed_text(call: Call, key: str) -> str:
    """A text that must be there. Raises ``Refusal`` 422."""
    value = text_of(call, key)
    if not value or not value.strip():
        raise Refusal(422, f"[{key.capitalize()}]: Required")
    return value


def labels_given(call: Call, repo: Repo, value: Json) -> list[Label]:
    """Labels by id or name; unknown ones are dropped without a word, or made by a scripted quirk."""
    found = []
    for each in value or []:
        if isinstance(each, int):
            label = repo.labels.get(each)
        else:
            label = deeds.find_label(call.world, repo, str(each))
            if label is None and "unknown_label_created" in call.quirks:
                label = deeds.define_label(doer(call), repo, str(each))
        if label is not None:
            found.append(label)
    return found


def since_of(call: Call) -> datetime | None:
    """The query key ``since``. Raises ``Refusal`` 422."""
    text = call.query("since")
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(422, f'parsing time "{text}"') from None
