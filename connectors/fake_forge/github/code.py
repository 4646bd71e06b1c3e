"""GitHub's refs, commits, files, statuses, checks, releases and workflow starts."""

from __future__ import annotations

import base64
import binascii
import re

from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.git import HEADS, Push, resolve
from connectors.fake_forge.github.finding import invalid, repo_of, show, writing
from connectors.fake_forge.github.show import node_id
from connectors.fake_forge.github.show_git import (
    check_document,
    combined_document,
    commit_document,
    file_document,
    git_commit,
    ref_document,
    status_document,
)
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Release, Repo, Run, Status

SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def get_ref(call: Call) -> Answer:
    """By ``heads/NAME`` or ``tags/NAME``; exact."""
    repo = repo_of(call)
    name = f"refs/{call.params['ref']}"
    if name not in repo.refs:
        raise Refusal(404, "Not Found")
    return Answer(200, ref_document(show(call), repo, name, repo.refs[name]))


def matching_refs(call: Call) -> Answer:
    """Every ref that starts so."""
    repo = repo_of(call)
    found = sorted(name for name in repo.refs if name.startswith(f"refs/{call.params['ref']}"))
    return Answer(200, [ref_document(show(call), repo, name, repo.refs[name]) for name in found])


def create_ref(call: Call) -> Answer:
    """``ref`` (whole), ``sha``; 422 when it exists."""
    repo = writing(call, repo_of(call))
    name, sha = str(call.json.get("ref") or ""), str(call.json.get("sha") or "")
    if not name.startswith("refs/") or name.count("/") < 2:
        raise Refusal(422, "Reference name must start with 'refs/'")
    if sha not in repo.commits:
        raise Refusal(422, "Object does not exist")
    if name in repo.refs:
        raise Refusal(422, "Reference already exists")
    call.desk.git.move(repo, name, sha)
    document = ref_document(show(call), repo, name, sha)
    return Answer(201, document, {"Location": document["url"]})


def update_ref(call: Call) -> Answer:
    """``sha``, ``force``; 422 when it is no fast-forward."""
    repo = writing(call, repo_of(call))
    name, sha = f"refs/{call.params['ref']}", str(call.json.get("sha") or "")
    if name not in repo.refs:
        raise Refusal(422, "Reference does not exist")
    if sha not in repo.commits:
        raise Refusal(422, "Object does not exist")
    if not call.json.get("force") and repo.refs[name] not in _ancestors(repo, sha):
        raise Refusal(422, "Update is not a fast forward")
    call.desk.git.move(repo, name, sha)
    return Answer(200, ref_document(show(call), repo, name, sha))


def _ancestors(repo: Repo, sha: str) -> set[str]:
    found: set[str] = set()
    left = [sha]
    while left:
        each = left.pop()
        if each not in found and each in repo.commits:
            found.add(each)
            left += repo.commits[each].parents
    return found


def delete_ref(call: Call) -> Answer:
    """It goes; 422 when it is not there."""
    repo = writing(call, repo_of(call))
    name = f"refs/{call.params['ref']}"
    if name not in repo.refs:
        raise Refusal(422, "Reference does not exist")
    del repo.refs[name]
    return Answer(204)


def get_branch(call: Call) -> Answer:
    """A branch with its commit."""
    repo = repo_of(call)
    name = call.params["branch"]
    sha = repo.refs.get(HEADS + name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    url = f"{show(call).url(repo)}/branches/{name}"
    document = {
        "name": name,
        "commit": commit_document(show(call), repo, repo.commits[sha]),
        "_links": {"self": url, "html": f"{call.base}/{repo.path}/tree/{name}"},
        "protected": False,
        "protection": {"enabled": False},
        "protection_url": f"{url}/protection",
    }
    return Answer(200, document)


def get_commit(call: Call) -> Answer:
    """By SHA, branch or tag."""
    repo = repo_of(call)
    sha = _sha(repo, call.params["ref"])
    return Answer(200, commit_document(show(call), repo, repo.commits[sha]))


def _sha(repo: Repo, name: str) -> str:
    sha = resolve(repo, name)
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {name}")
    return sha


def get_git_commit(call: Call) -> Answer:
    """By SHA only."""
    repo = repo_of(call)
    commit = repo.commits.get(call.params["sha"])
    if commit is None:
        raise Refusal(404, "Not Found")
    return Answer(200, git_commit(show(call), repo, commit))


def create_git_commit(call: Call) -> Answer:
    """``message``, ``tree``, ``parents``, ``author`` by name."""
    repo = writing(call, repo_of(call))
    tree = str(call.json.get("tree") or "")
    parents = [str(each) for each in call.json.get("parents") or []]
    if tree not in repo.trees:
        raise Refusal(422, "Tree SHA does not exist")
    if any(each not in repo.commits for each in parents):
        raise Refusal(422, "Parent SHA does not exist or is not a commit object")
    message = str(call.json.get("message") or "")
    author = str((call.json.get("author") or {}).get("name") or call.user.login)
    made = call.desk.git.commit(repo, message, repo.trees[tree], parents, author)
    return Answer(201, git_commit(show(call), repo, made))


def create_tree(call: Call) -> Answer:
    """``base_tree`` and ``tree`` (path, content or sha)."""
    repo = writing(call, repo_of(call))
    files = dict(repo.trees.get(str(call.json.get("base_tree") or ""), {}))
    for entry in call.json.get("tree") or []:
        sha = entry.get("sha") or call.desk.git.blob(repo, str(entry.get("content") or "").encode())
        files[str(entry["path"])] = str(sha)
    sha = call.desk.git.tree(repo, files)
    url = f"{show(call).url(repo)}/git"
    shown = [
        {"path": path, "mode": "100644", "type": "blob", "sha": each, "size": 0, "url": f"{url}/blobs/{each}"}
        for path, each in sorted(files.items())
    ]
    return Answer(201, {"sha": sha, "url": f"{url}/trees/{sha}", "truncated": False, "tree": shown})


def get_file(call: Call) -> Answer:
    """A file at ``ref``."""
    repo = repo_of(call)
    ref = call.query("ref") or repo.default_branch
    sha = resolve(repo, ref)
    if sha is None:
        raise Refusal(404, f"No commit found for the ref {ref}")
    path = call.params["path"]
    blob = repo.commits[sha].files.get(path)
    if blob is None:
        raise Refusal(404, "Not Found")
    return Answer(200, file_document(show(call), repo, path, blob, ref))


def get_blob(call: Call) -> Answer:
    """A blob's content."""
    repo = repo_of(call)
    sha = call.params["sha"]
    if sha not in repo.blobs:
        raise Refusal(404, "Not Found")
    encoded = repo.blobs[sha]
    size = len(base64.b64decode(encoded))
    url = f"{show(call).url(repo)}/git/blobs/{sha}"
    document = {"sha": sha, "node_id": node_id("B", repo.id), "size": size, "url": url}
    return Answer(200, document | {"content": encoded, "encoding": "base64"})


def put_file(call: Call) -> Answer:
    """``message``, ``content`` (base64), ``branch``, ``sha`` of the blob replaced: 409 when it is another."""
    repo = writing(call, repo_of(call))
    branch = str(call.json.get("branch") or repo.default_branch)
    head = repo.refs.get(HEADS + branch)
    if head is None:
        raise Refusal(404, f"Branch {branch} not found")
    path = call.params["path"]
    before, given = repo.commits[head].files.get(path), call.json.get("sha")
    if before and not given:
        raise Refusal(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if given != before and (before or given):
        raise Refusal(409, f"{path} does not match {given}")
    try:
        content = base64.b64decode(str(call.json.get("content") or ""), validate=True)
    except binascii.Error:
        raise Refusal(422, "content is not valid Base64") from None
    message = str(call.json.get("message") or "")
    if not message:
        raise Refusal(422, 'Invalid request.\n\n"message" wasn\'t supplied.')
    commit = call.desk.git.put(repo, Push(branch, path, content, message, call.user.login))
    shown = file_document(show(call), repo, path, commit.files[path], branch)
    shown = {key: value for key, value in shown.items() if key not in ("content", "encoding")}
    return Answer(200 if before else 201, {"content": shown, "commit": git_commit(show(call), repo, commit)})


def set_status(call: Call) -> Answer:
    """``state``, ``context``, ``description``, ``target_url``."""
    repo = writing(call, repo_of(call))
    sha = call.params["sha"]
    if sha not in repo.commits:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    given = call.json
    if given.get("state") not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state", "custom")
    made = Status(
        id=call.world.new_id(),
        sha=sha,
        context=str(given.get("context") or "default"),
        state=str(given["state"]),
        text=str(given.get("description") or ""),
        url=str(given.get("target_url") or ""),
        author=call.user.login,
        created_at=call.now,
    )
    repo.statuses.append(made)
    return Answer(201, status_document(show(call), repo, made))


def list_statuses(call: Call) -> Answer:
    """Every status of a commit, newest first."""
    repo = repo_of(call)
    sha = _sha(repo, call.params["ref"])
    found = [each for each in reversed(repo.statuses) if each.sha == sha]
    return listed(call, found, lambda each: status_document(show(call), repo, each))


def combined_status(call: Call) -> Answer:
    """The newest of each context."""
    repo = repo_of(call)
    sha = _sha(repo, call.params["ref"])
    newest = {each.context: each for each in repo.statuses if each.sha == sha}
    return Answer(200, combined_document(show(call), repo, sha, list(newest.values())))


def list_checks(call: Call) -> Answer:
    """The check runs of a commit."""
    repo = repo_of(call)
    sha = _sha(repo, call.params["ref"])
    found = [each for each in repo.checks if each.sha == sha]
    answer = listed(call, found, lambda each: check_document(show(call), repo, each))
    return Answer(200, {"total_count": len(found), "check_runs": answer.body}, answer.headers)


def list_releases(call: Call) -> Answer:
    """Newest first; drafts for those who may push."""
    repo = repo_of(call)
    return listed(call, list(reversed(repo.releases)), lambda each: show(call).release(repo, each))


def release_by_tag(call: Call) -> Answer:
    """A published release."""
    repo = repo_of(call)
    found = next((each for each in repo.releases if each.tag == call.params["tag"] and not each.draft), None)
    if found is None:
        raise Refusal(404, "Not Found")
    return Answer(200, show(call).release(repo, found))


def create_release(call: Call) -> Answer:
    """``tag_name``, ``name``, ``body``, ``draft``; the tag is made on the default branch."""
    repo = writing(call, repo_of(call))
    tag, draft = str(call.json.get("tag_name") or ""), bool(call.json.get("draft"))
    if not tag:
        raise invalid("Release", "tag_name", "missing_field")
    if not draft and any(each.tag == tag and not each.draft for each in repo.releases):
        raise invalid("Release", "tag_name", "already_exists")
    made = Release(
        id=call.world.new_id(),
        tag=tag,
        name=str(call.json.get("name") or ""),
        body=str(call.json.get("body") or ""),
        draft=draft,
        author=call.user.login,
        created_at=call.now,
    )
    repo.releases.append(made)
    if not draft:
        repo.refs.setdefault(f"refs/tags/{tag}", repo.refs[HEADS + repo.default_branch])
    document = show(call).release(repo, made)
    return Answer(201, document, {"Location": document["url"]})


def dispatch_workflow(call: Call) -> Answer:
    """``ref``, ``inputs``: no body, no id."""
    repo = writing(call, repo_of(call))
    file, ref = call.params["file"], str(call.json.get("ref") or "")
    if file not in repo.workflows:
        raise Refusal(404, "Not Found")
    if resolve(repo, ref) is None:
        raise Refusal(422, f"No ref found for: {ref}")
    inputs = {str(key): str(value) for key, value in (call.json.get("inputs") or {}).items()}
    repo.runs.append(Run(id=call.world.new_id(), file=file, ref=ref, inputs=inputs, created_at=call.now))
    return Answer(204)


_REPO = "/repos/{owner}/{name}"
ROUTES = (
    Route("GET", _REPO + "/git/ref/{ref*}", "ref.get", get_ref, "read"),
    Route("GET", _REPO + "/git/matching-refs/{ref*}", "ref.list", matching_refs, "read"),
    Route("POST", _REPO + "/git/refs", "branch.create", create_ref, "contents"),
    Route("PATCH", _REPO + "/git/refs/{ref*}", "ref.update", update_ref, "contents"),
    Route("DELETE", _REPO + "/git/refs/{ref*}", "branch.delete", delete_ref, "contents"),
    Route("GET", _REPO + "/branches/{branch*}", "ref.get", get_branch, "read"),
    Route("GET", _REPO + "/git/blobs/{sha}", "blob.get", get_blob, "read"),
    Route("GET", _REPO + "/git/commits/{sha}", "commit.get", get_git_commit, "read"),
    Route("POST", _REPO + "/git/commits", "commit.create", create_git_commit, "contents"),
    Route("POST", _REPO + "/git/trees", "tree.create", create_tree, "contents"),
    Route("GET", _REPO + "/commits/{ref}/status", "pull.checks", combined_status, "read"),
    Route("GET", _REPO + "/commits/{ref}/statuses", "status.list", list_statuses, "read"),
    Route("GET", _REPO + "/commits/{ref}/check-runs", "pull.checks", list_checks, "read"),
    Route("GET", _REPO + "/commits/{ref*}", "commit.get", get_commit, "read"),
    Route("POST", _REPO + "/statuses/{sha}", "status.set", set_status, "statuses"),
    Route("GET", _REPO + "/contents/{path*}", "file.get", get_file, "read"),
    Route("PUT", _REPO + "/contents/{path*}", "file.put", put_file, "contents"),
    Route("GET", _REPO + "/releases", "release.list", list_releases, "read"),
    Route("GET", _REPO + "/releases/tags/{tag*}", "release.get", release_by_tag, "read"),
    Route("POST", _REPO + "/releases", "release.create", create_release, "contents"),
    Route("POST", _REPO + "/actions/workflows/{file}/dispatches", "workflow.dispatch", dispatch_workflow, "actions"),
)
