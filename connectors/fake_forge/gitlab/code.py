"""GitLab's branches, commits, files, statuses, releases and pipelines."""

from __future__ import annotations

import base64
import binascii

from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.git import HEADS, Push, resolve
from connectors.fake_forge.gitlab.finding import DEVELOPER, given, needed_text, repo_of, show, text_of, writing
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Release, Repo, Run, Status

STATES = ("pending", "running", "success", "failed", "canceled", "skipped")


def get_branch(call: Call) -> Answer:
    """A branch."""
    repo = repo_of(call)
    if HEADS + call.params["branch"] not in repo.refs:
        raise Refusal(404, "404 Branch Not Found")
    return Answer(200, show(call).branch(repo, call.params["branch"]))


def get_tag(call: Call) -> Answer:
    """A tag."""
    repo = repo_of(call)
    name = call.params["tag"]
    sha = repo.refs.get(f"refs/tags/{name}")
    if sha is None:
        raise Refusal(404, "404 Tag Not Found")
    return Answer(200, {"name": name, "target": sha, "message": "", "commit": show(call).commit(repo, sha)})


def create_branch(call: Call) -> Answer:
    """``branch``, ``ref``: 400 when it exists."""
    repo = writing(call, repo_of(call), DEVELOPER)
    name, sha = needed_text(call, "branch"), resolve(repo, needed_text(call, "ref"))
    if HEADS + name in repo.refs:
        raise Refusal(400, "Branch already exists")
    if sha is None:
        raise Refusal(400, "Invalid reference name: " + needed_text(call, "ref"))
    call.desk.git.move(repo, HEADS + name, sha)
    return Answer(201, show(call).branch(repo, name))


def delete_branch(call: Call) -> Answer:
    """It goes."""
    repo = writing(call, repo_of(call), DEVELOPER)
    if repo.refs.pop(HEADS + call.params["branch"], None) is None:
        raise Refusal(404, "404 Branch Not Found")
    return Answer(204)


def _sha(repo: Repo, name: str) -> str:
    sha = resolve(repo, name)
    if sha is None:
        raise Refusal(404, "404 Commit Not Found")
    return sha


def get_commit(call: Call) -> Answer:
    """By SHA, branch or tag."""
    repo = repo_of(call)
    return Answer(200, show(call).commit(repo, _sha(repo, call.params["sha"])))


def get_file(call: Call) -> Answer:
    """A file at ``ref``, which must be given."""
    repo = repo_of(call)
    ref = call.query("ref") or repo.default_branch
    sha = _sha(repo, repo.default_branch if ref == "HEAD" else ref)
    if call.params["path"] not in repo.commits[sha].files:
        raise Refusal(404, "404 File Not Found")
    return Answer(200, show(call).file(repo, call.params["path"], ref, sha))


def _write(call: Call, *, new: bool) -> Answer:
    repo = writing(call, repo_of(call), DEVELOPER)
    branch, path = needed_text(call, "branch"), call.params["path"]
    message = needed_text(call, "commit_message")
    head = repo.refs.get(HEADS + branch)
    if head is None:
        raise Refusal(400, "You can only create or edit files when you are on a branch")
    there = path in repo.commits[head].files
    if there is new:
        text = "A file with this name already exists" if new else "A file with this name doesn't exist"
        raise Refusal(400, text)
    last = text_of(call, "last_commit_id")
    if last and not new and repo.commits[head].files[path] != _blob_at(repo, last, path):
        raise Refusal(400, "You are attempting to update a file that has changed since you started editing it.")
    call.desk.git.put(repo, Push(branch, path, _content(call), message, call.user.login))
    return Answer(201 if new else 200, {"file_path": path, "branch": branch})


def _blob_at(repo: Repo, sha: str, path: str) -> str:
    commit = repo.commits.get(sha)
    return commit.files.get(path, "") if commit else ""


def _content(call: Call) -> bytes:
    values = given(call)
    text = str(values.get("content") or "")
    if values.get("encoding") != "base64":
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Refusal(400, "", error="content is invalid") from None


def create_file(call: Call) -> Answer:
    """``branch``, ``content``, ``encoding``, ``commit_message``."""
    return _write(call, new=True)


def update_file(call: Call) -> Answer:
    """The same over a file that is there; ``last_commit_id`` is the precondition."""
    return _write(call, new=False)


def list_statuses(call: Call) -> Answer:
    """The newest of each name, unless ``all``."""
    repo = repo_of(call)
    sha = _sha(repo, call.params["sha"])
    found = [each for each in repo.statuses if each.sha == sha]
    if call.query("all") != "true":
        found = list({each.context: each for each in found}.values())
    return listed(call, found, lambda each: show(call).status(repo, each))


def set_status(call: Call) -> Answer:
    """``state``, ``name`` or ``context``, ``description``, ``target_url``; a repeated state is 400."""
    repo = writing(call, repo_of(call), DEVELOPER)
    sha, values = call.params["sha"], given(call)
    if sha not in repo.commits:
        raise Refusal(404, "404 Commit Not Found")
    state = values.get("state")
    if state not in STATES:
        raise Refusal(400, "", error="state does not have a valid value")
    name = str(values.get("name") or values.get("context") or "default")
    before = [each for each in repo.statuses if (each.sha, each.context) == (sha, name)]
    if before and before[-1].state == state:
        raise Refusal(400, f"Cannot transition status via :enqueue from :{state} (Reason(s): Status cannot transition)")
    made = Status(
        id=call.world.new_id(),
        sha=sha,
        context=name,
        state=str(state),
        text=str(values.get("description") or ""),
        url=str(values.get("target_url") or ""),
        author=call.user.login,
        created_at=call.now,
    )
    repo.statuses.append(made)
    return Answer(201, show(call).status(repo, made))


def get_release(call: Call) -> Answer:
    """By tag."""
    repo = repo_of(call)
    found = next((each for each in repo.releases if each.tag == call.params["tag"]), None)
    if found is None:
        raise Refusal(404, "404 Not found")
    return Answer(200, show(call).release(repo, found))


def create_release(call: Call) -> Answer:
    """``tag_name``, ``name``, ``description``, ``ref`` for a tag that is not there: 409 when it is."""
    repo = writing(call, repo_of(call), DEVELOPER)
    tag, values = needed_text(call, "tag_name"), given(call)
    if any(each.tag == tag for each in repo.releases):
        raise Refusal(409, "Release already exists")
    if f"refs/tags/{tag}" not in repo.refs:
        sha = resolve(repo, str(values.get("ref") or ""))
        if sha is None:
            raise Refusal(422, "Ref is not specified")
        repo.refs[f"refs/tags/{tag}"] = sha
    made = Release(
        id=call.world.new_id(),
        tag=tag,
        name=str(values.get("name") or ""),
        body=text_of(call, "description") or "",
        draft=False,
        author=call.user.login,
        created_at=call.now,
    )
    repo.releases.append(made)
    return Answer(201, show(call).release(repo, made))


def create_pipeline(call: Call) -> Answer:
    """``ref``, ``variables`` (a list of key and value)."""
    repo = writing(call, repo_of(call), DEVELOPER)
    ref = needed_text(call, "ref")
    if HEADS + ref not in repo.refs:
        raise Refusal(400, "", fields={"base": ["Reference not found"]})
    values = {str(each["key"]): str(each["value"]) for each in call.json.get("variables") or []}
    run = Run(id=call.world.new_id(), file="", ref=ref, inputs=values, created_at=call.now)
    repo.runs.append(run)
    return Answer(201, show(call).pipeline(repo, run))


_REPO = "/projects/{project}"
_CODE = _REPO + "/repository"
ROUTES = (
    Route("GET", _CODE + "/branches/{branch}", "ref.get", get_branch, "read"),
    Route("GET", _CODE + "/tags/{tag}", "ref.get", get_tag, "read"),
    Route("POST", _CODE + "/branches", "branch.create", create_branch, "contents"),
    Route("DELETE", _CODE + "/branches/{branch}", "branch.delete", delete_branch, "contents"),
    Route("GET", _CODE + "/commits/{sha}", "commit.get", get_commit, "read"),
    Route("GET", _CODE + "/commits/{sha}/statuses", "pull.checks", list_statuses, "read"),
    Route("POST", _REPO + "/statuses/{sha}", "status.set", set_status, "statuses"),
    Route("GET", _CODE + "/files/{path}", "file.get", get_file, "read"),
    Route("POST", _CODE + "/files/{path}", "file.put", create_file, "contents"),
    Route("PUT", _CODE + "/files/{path}", "file.put", update_file, "contents"),
    Route("GET", _REPO + "/releases/{tag}", "release.get", get_release, "read"),
    Route("POST", _REPO + "/releases", "release.create", create_release, "contents"),
    Route("POST", _REPO + "/pipeline", "pipeline.create", create_pipeline, "actions"),
)
