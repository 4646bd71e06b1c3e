"""Forgejo's branches, refs, commits, files, statuses, releases, and the account with its rights and hooks."""

from __future__ import annotations

import base64
import binascii

from connectors.fake_forge.exchange import Answer, Call, Json, Refusal, Route
from connectors.fake_forge.forgejo.finding import GONE, needed_text, repo_of, show, text_of, writing
from connectors.fake_forge.git import HEADS, Push, resolve
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Hook, Release, Repo, Status


def get_branch(call: Call) -> Answer:
    """A branch."""
    repo = repo_of(call)
    if HEADS + call.params["branch"] not in repo.refs:
        raise Refusal(404, GONE)
    return Answer(200, show(call).branch(repo, call.params["branch"]))


def create_branch(call: Call) -> Answer:
    """``new_branch_name``, ``old_ref_name``: 409 when it exists."""
    repo = writing(call, repo_of(call))
    name = needed_text(call, "new_branch_name")
    old = text_of(call, "old_ref_name") or text_of(call, "old_branch_name") or repo.default_branch
    sha = resolve(repo, old)
    if sha is None:
        raise Refusal(404, "The old branch does not exist")
    if HEADS + name in repo.refs:
        raise Refusal(409, "The branch already exists.")
    call.desk.git.move(repo, HEADS + name, sha)
    return Answer(201, show(call).branch(repo, name))


def delete_branch(call: Call) -> Answer:
    """It goes; the default branch does not."""
    repo = writing(call, repo_of(call))
    name = call.params["branch"]
    if name == repo.default_branch:
        raise Refusal(403, "branch protected")
    if repo.refs.pop(HEADS + name, None) is None:
        raise Refusal(404, GONE)
    return Answer(204)


def get_refs(call: Call) -> Answer:
    """Every ref that starts so."""
    repo = repo_of(call)
    found = sorted(name for name in repo.refs if name.startswith(f"refs/{call.params['ref']}"))
    if not found:
        raise Refusal(404, GONE)
    return Answer(200, [show(call).ref(repo, name, repo.refs[name]) for name in found])


def get_commit(call: Call) -> Answer:
    """By SHA, branch or tag."""
    repo = repo_of(call)
    sha = resolve(repo, call.params["sha"])
    if sha is None:
        raise Refusal(404, GONE)
    return Answer(200, show(call).commit(repo, repo.commits[sha]))


def get_file(call: Call) -> Answer:
    """A file at ``ref``."""
    repo = repo_of(call)
    ref = call.query("ref") or repo.default_branch
    sha = resolve(repo, ref)
    path = call.params["path"]
    if sha is None or path not in repo.commits[sha].files:
        raise Refusal(404, GONE)
    return Answer(200, show(call).file(repo, path, repo.commits[sha].files[path], ref))


def create_file(call: Call) -> Answer:
    """``content`` (base64), ``branch``, ``message``: 422 when it is there."""
    return _write(call, before=None)


def update_file(call: Call) -> Answer:
    """The same with ``sha``, which must be the blob that is there: 422 otherwise, 409 never seen."""
    return _write(call, before=needed_text(call, "sha"))


def _write(call: Call, before: str | None) -> Answer:
    repo = writing(call, repo_of(call))
    branch, path = text_of(call, "branch") or repo.default_branch, call.params["path"]
    head = repo.refs.get(HEADS + branch)
    if head is None:
        raise Refusal(404, f"branch does not exist [name: {branch}]")
    there = repo.commits[head].files.get(path)
    if there != before:
        told = (
            f"sha does not match [given: {before}, expected: {there}]" if before else "repository file already exists"
        )
        raise Refusal(422, told)
    try:
        content = base64.b64decode(str(call.json.get("content") or ""), validate=True)
    except binascii.Error:
        raise Refusal(422, "illegal base64 data") from None
    message = text_of(call, "message") or f"Update {path}"
    commit = call.desk.git.put(repo, Push(branch, path, content, message, call.user.login))
    document = {
        "content": show(call).file(repo, path, commit.files[path], branch),
        "commit": _file_commit(call, repo, commit.sha),
        "verification": None,
    }
    return Answer(200 if before else 201, document)


def _file_commit(call: Call, repo: Repo, sha: str) -> dict[str, Json]:
    whole = show(call).commit(repo, repo.commits[sha])
    inner = whole["commit"]
    keys = ("url", "sha", "created", "html_url", "parents")
    return {key: whole[key] for key in keys} | {key: inner[key] for key in ("author", "committer", "message", "tree")}


def list_statuses(call: Call) -> Answer:
    """Every status of a commit, newest first."""
    repo = repo_of(call)
    sha = resolve(repo, call.params["sha"])
    found = [each for each in reversed(repo.statuses) if each.sha == sha]
    return listed(call, found, lambda each: show(call).status(repo, each))


def combined_status(call: Call) -> Answer:
    """The newest of each context and what they come to."""
    repo = repo_of(call)
    sha = resolve(repo, call.params["ref"])
    if sha is None:
        raise Refusal(404, GONE)
    newest = list({each.context: each for each in repo.statuses if each.sha == sha}.values())
    states = {each.state for each in newest}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    document = {
        "state": state,
        "sha": sha,
        "total_count": len(newest),
        "statuses": [show(call).status(repo, each) for each in newest] or None,
        "repository": show(call).repo(repo),
        "commit_url": f"{show(call).url(repo)}/commits/{sha}",
        "url": f"{show(call).url(repo)}/commits/{sha}/status",
    }
    return Answer(200, document)


def set_status(call: Call) -> Answer:
    """``state``, ``context``, ``description``, ``target_url``."""
    repo = writing(call, repo_of(call))
    sha = call.params["sha"]
    if sha not in repo.commits:
        raise Refusal(404, f"object does not exist [id: {sha}, rel_path: ]")
    state = call.json.get("state")
    if state not in ("pending", "success", "error", "failure", "warning"):
        raise Refusal(422, "[State]: In")
    made = Status(
        id=call.world.new_id(),
        sha=sha,
        context=text_of(call, "context") or "default",
        state=str(state),
        text=text_of(call, "description") or "",
        url=text_of(call, "target_url") or "",
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
        raise Refusal(404, GONE)
    return Answer(200, show(call).release(repo, found))


def create_release(call: Call) -> Answer:
    """``tag_name``, ``name``, ``body``, ``draft``: 409 when the tag has one."""
    repo = writing(call, repo_of(call))
    tag = needed_text(call, "tag_name")
    if any(each.tag == tag for each in repo.releases):
        raise Refusal(409, "release already exists")
    made = Release(
        id=call.world.new_id(),
        tag=tag,
        name=text_of(call, "name") or "",
        body=text_of(call, "body") or "",
        draft=bool(call.json.get("draft")),
        author=call.user.login,
        created_at=call.now,
    )
    repo.releases.append(made)
    repo.refs.setdefault(f"refs/tags/{tag}", repo.refs[HEADS + repo.default_branch])
    return Answer(201, show(call).release(repo, made))


def get_user(call: Call) -> Answer:
    """The token's own account."""
    return Answer(200, show(call).user(call.user.login))


def get_repo(call: Call) -> Answer:
    """The repository with what our account may do."""
    return Answer(200, show(call).repo(repo_of(call), call.user.login))


def get_permission(call: Call) -> Answer:
    """A login's right; a stranger reads a public repository."""
    repo = repo_of(call)
    login = call.params["login"]
    if login not in call.world.users:
        raise Refusal(404, f"user does not exist [uid: 0, name: {login}]")
    right = repo.rights.get(login, "read")
    return Answer(200, {"permission": right, "role_name": right, "user": show(call).user(login)})


def list_hooks(call: Call) -> Answer:
    """The hooks."""
    return listed(call, repo_of(call).hooks, show(call).hook)


def create_hook(call: Call) -> Answer:
    """``config: {url, secret}``."""
    repo = repo_of(call)
    config = call.json.get("config") or {}
    if not config.get("url"):
        raise Refusal(422, "Missing config option: url")
    made = Hook(id=call.world.new_id(), url=config["url"], secret=str(config.get("secret") or ""), created_at=call.now)
    repo.hooks.append(made)
    return Answer(201, show(call).hook(made))


_REPO = "/repos/{owner}/{name}"
ROUTES = (
    Route("GET", "/user", "account.get", get_user),
    Route("GET", "/version", "version.get", lambda _: Answer(200, {"version": "12.0.4+gitea-1.22.0"})),
    Route("GET", _REPO, "repo.get", get_repo, "read"),
    Route("GET", _REPO + "/collaborators/{login}/permission", "permission.get", get_permission, "read"),
    Route("GET", _REPO + "/hooks", "hook.list", list_hooks, "hooks"),
    Route("POST", _REPO + "/hooks", "hook.create", create_hook, "hooks"),
    Route("GET", _REPO + "/branches/{branch*}", "ref.get", get_branch, "read"),
    Route("POST", _REPO + "/branches", "branch.create", create_branch, "contents"),
    Route("DELETE", _REPO + "/branches/{branch*}", "branch.delete", delete_branch, "contents"),
    Route("GET", _REPO + "/git/refs/{ref*}", "ref.list", get_refs, "read"),
    Route("GET", _REPO + "/git/commits/{sha}", "commit.get", get_commit, "read"),
    Route("GET", _REPO + "/contents/{path*}", "file.get", get_file, "read"),
    Route("POST", _REPO + "/contents/{path*}", "file.put", create_file, "contents"),
    Route("PUT", _REPO + "/contents/{path*}", "file.put", update_file, "contents"),
    Route("GET", _REPO + "/commits/{ref}/status", "pull.checks", combined_status, "read"),
    Route("GET", _REPO + "/statuses/{sha}", "status.list", list_statuses, "read"),
    Route("POST", _REPO + "/statuses/{sha}", "status.set", set_status, "statuses"),
    Route("GET", _REPO + "/releases/tags/{tag*}", "release.get", get_release, "read"),
    Route("POST", _REPO + "/releases", "release.create", create_release, "contents"),
)
