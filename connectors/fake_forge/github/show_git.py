"""GitHub's documents of pulls, commits, refs, files, statuses and checks: pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from connectors.fake_forge.clock import stamp
from connectors.fake_forge.github.show import Document, Show, node_id, when
from connectors.fake_forge.records import Check, Commit, Issue, Repo, Status


def pull_document(show: Show, repo: Repo, issue: Issue, *, full: bool) -> Document:
    """A pull; the full form has what is computed for a single one."""
    pull = issue.pull
    assert pull is not None
    url = f"{show.url(repo)}/pulls/{issue.number}"
    as_issue = show.issue(repo, issue)
    taken = ("html_url", "number", "state", "locked", "title", "user", "body", "labels", "milestone", "assignee")
    more = ("assignees", "created_at", "updated_at", "closed_at", "author_association", "active_lock_reason")
    html = str(as_issue["html_url"])
    document: Document = {key: as_issue[key] for key in (*taken, *more)} | {
        "id": issue.id,
        "node_id": node_id("PR", issue.id),
        "url": url,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": as_issue["url"],
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{show.url(repo)}/pulls/comments{{/number}}",
        "comments_url": as_issue["comments_url"],
        "statuses_url": f"{show.url(repo)}/statuses/{pull.head_sha}",
        "merged_at": when(pull.merged_at),
        "merge_commit_sha": pull.merge_sha or None,
        "requested_reviewers": [show.user(each) for each in pull.reviewers],
        "requested_teams": [],
        "head": _side(show, repo, pull.head, pull.head_sha),
        "base": _side(show, repo, pull.base, pull.base_sha),
        "_links": _links(show, repo, issue, url, html),
        "auto_merge": None,
        "draft": pull.draft,
    }
    return document | (_computed(show, issue) if full else {})


def _computed(show: Show, issue: Issue) -> Document:
    pull = issue.pull
    assert pull is not None
    states = {True: "clean", False: "dirty", None: "unknown"}
    return {
        "merged": pull.merged_at is not None,
        "mergeable": pull.mergeable,
        "rebaseable": pull.mergeable,
        "mergeable_state": states[pull.mergeable],
        "merged_by": show.user(pull.merged_by) if pull.merged_by else None,
        "comments": len(issue.comments),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": 1,
        "additions": 1,
        "deletions": 0,
        "changed_files": 1,
    }


def _side(show: Show, repo: Repo, branch: str, sha: str) -> Document:
    owner = show.user(repo.owner)
    return {"label": f"{repo.owner}:{branch}", "ref": branch, "sha": sha, "user": owner, "repo": show.repo(repo)}


def _links(show: Show, repo: Repo, issue: Issue, url: str, html: str) -> Document:
    api = f"{show.url(repo)}/issues/{issue.number}"
    sha = issue.pull.head_sha if issue.pull else ""
    links = {
        "self": url,
        "html": html,
        "issue": api,
        "comments": f"{api}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{show.url(repo)}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{show.url(repo)}/statuses/{sha}",
    }
    return {name: {"href": href} for name, href in links.items()}


def ref_document(show: Show, repo: Repo, name: str, sha: str) -> Document:
    """A ref and what it points to."""
    return {
        "ref": name,
        "node_id": node_id("REF", repo.id),
        "url": f"{show.url(repo)}/git/{quote(name)}",
        "object": {"type": "commit", "sha": sha, "url": f"{show.url(repo)}/git/commits/{sha}"},
    }


def _signature(commit: Commit) -> Document:
    return {"name": commit.author, "email": f"{commit.author}@users.example", "date": stamp(commit.created_at)}


def git_commit(show: Show, repo: Repo, commit: Commit) -> Document:
    """A commit as the git endpoints show it."""
    url = f"{show.url(repo)}/git/commits"
    html = f"{show.base}/{repo.path}/commit"
    return {
        "sha": commit.sha,
        "node_id": node_id("C", repo.id),
        "url": f"{url}/{commit.sha}",
        "html_url": f"{html}/{commit.sha}",
        "author": _signature(commit),
        "committer": _signature(commit),
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": f"{show.url(repo)}/git/trees/{commit.tree}"},
        "parents": [{"sha": each, "url": f"{url}/{each}", "html_url": f"{html}/{each}"} for each in commit.parents],
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }


def commit_document(show: Show, repo: Repo, commit: Commit) -> Document:
    """A commit as the repository's endpoints show it."""
    inner = git_commit(show, repo, commit)
    url = f"{show.url(repo)}/commits/{commit.sha}"
    keys = ("author", "committer", "message", "tree", "verification", "url")
    return {
        "sha": commit.sha,
        "node_id": inner["node_id"],
        "url": url,
        "html_url": inner["html_url"],
        "comments_url": f"{url}/comments",
        "commit": {key: inner[key] for key in keys} | {"comment_count": 0},
        "author": show.user(commit.author),
        "committer": show.user(commit.author),
        "parents": inner["parents"],
    }


def file_document(show: Show, repo: Repo, path: str, sha: str, ref: str) -> Document:
    """A file with its content."""
    encoded = repo.blobs[sha]
    url = f"{show.url(repo)}/contents/{quote(path)}?ref={quote(ref)}"
    html = f"{show.base}/{repo.path}/blob/{quote(ref)}/{quote(path)}"
    git = f"{show.url(repo)}/git/blobs/{sha}"
    size = len(encoded) * 3 // 4 - encoded.count("=")
    lines = [encoded[start : start + 60] for start in range(0, len(encoded), 60)]
    return {
        "type": "file",
        "encoding": "base64",
        "size": size,
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "content": "\n".join(lines) + "\n",
        "sha": sha,
        "url": url,
        "git_url": git,
        "html_url": html,
        "download_url": f"{show.base}/raw/{repo.path}/{quote(ref)}/{quote(path)}",
        "_links": {"git": git, "self": url, "html": html},
    }


def status_document(show: Show, repo: Repo, status: Status) -> Document:
    """A commit status."""
    return {
        "id": status.id,
        "node_id": node_id("SC", status.id),
        "url": f"{show.url(repo)}/statuses/{status.sha}",
        "avatar_url": None,
        "state": status.state,
        "description": status.text or None,
        "target_url": status.url or None,
        "context": status.context,
        "created_at": stamp(status.created_at),
        "updated_at": stamp(status.created_at),
        "creator": show.user(status.author),
    }


def combined_document(show: Show, repo: Repo, sha: str, newest: list[Status]) -> Document:
    """The newest status of each context and what they come to."""
    states = {each.state for each in newest}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    keys = ("url", "avatar_url", "id", "node_id", "state", "description", "target_url", "context")
    shown: list[Any] = []
    for each in newest:
        whole = status_document(show, repo, each)
        shown.append({key: whole[key] for key in (*keys, "created_at", "updated_at")})
    return {
        "state": state,
        "sha": sha,
        "total_count": len(newest),
        "statuses": shown,
        "repository": show.repo(repo),
        "commit_url": f"{show.url(repo)}/commits/{sha}",
        "url": f"{show.url(repo)}/commits/{sha}/status",
    }


def check_document(show: Show, repo: Repo, check: Check) -> Document:
    """A check run."""
    url = f"{show.url(repo)}/check-runs/{check.id}"
    done = check.status == "completed"
    return {
        "id": check.id,
        "node_id": node_id("CR", check.id),
        "head_sha": check.sha,
        "external_id": "",
        "name": check.name,
        "url": url,
        "html_url": f"{show.base}/{repo.path}/runs/{check.id}",
        "details_url": None,
        "status": check.status,
        "conclusion": check.conclusion if done else None,
        "started_at": stamp(check.created_at),
        "completed_at": stamp(check.created_at) if done else None,
        "output": {
            "title": None,
            "summary": None,
            "text": None,
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": check.id},
        "app": None,
        "pull_requests": [],
    }
