"""Forgejo's documents of the fake's records: pure."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from connectors.fake_forge.clock import stamp
from connectors.fake_forge.records import (
    Comment,
    Commit,
    Event,
    Hook,
    Issue,
    Label,
    Reaction,
    Release,
    Repo,
    Review,
    Status,
    World,
)

Document = dict[str, Any]
WORK_IN_PROGRESS = ("WIP:", "[WIP]")


def when(instant: datetime | None) -> str | None:
    """A time, or null."""
    return stamp(instant) if instant else None


def is_draft(issue: Issue) -> bool:
    """A pull is a draft by its title."""
    return issue.title.upper().startswith(WORK_IN_PROGRESS)


@dataclass(frozen=True, slots=True)
class Show:
    """Makes the documents of one world under one address."""

    world: World
    base: str

    def user(self, login: str) -> Document:
        """An account; a deleted one is ``Ghost``."""
        user = self.world.users.get(login)
        name = user.login if user else "Ghost"
        created = user.created_at if user else next(iter(self.world.users.values())).created_at
        counts = ("followers_count", "following_count", "starred_repos_count", "source_id")
        texts = ("description", "language", "location", "website", "full_name", "login_name")
        return {
            "id": user.id if user else -1,
            "login": name,
            "email": f"{name}@noreply.example",
            "avatar_url": f"{self.base}/avatars/{name}",
            "html_url": f"{self.base}/{quote(name)}",
            "created": stamp(created),
            "last_login": "0001-01-01T00:00:00Z",
            **dict.fromkeys(texts, ""),
            **dict.fromkeys(counts, 0),
            **dict.fromkeys(("is_admin", "restricted", "active", "prohibit_login"), False),
            "visibility": "public",
        }

    def url(self, repo: Repo) -> str:
        """A repository's API address."""
        return f"{self.base}/api/v1/repos/{repo.path}"

    def repo(self, repo: Repo, login: str = "") -> Document:
        """A repository with what the account may do."""
        right = repo.rights.get(login, "read")
        may = {"admin": right == "admin", "push": right in ("admin", "maintain", "write"), "pull": right != "none"}
        page = f"{self.base}/{repo.path}"
        switches = ("private", "fork", "template", "mirror", "empty", "internal")
        return {
            "id": repo.id,
            "owner": self.user(repo.owner),
            "name": repo.name,
            "full_name": repo.path,
            "description": "",
            **dict.fromkeys(switches, False),
            "size": 1,
            "html_url": page,
            "url": self.url(repo),
            "ssh_url": f"git@127.0.0.1:{repo.path}.git",
            "clone_url": f"{page}.git",
            "stars_count": 0,
            "forks_count": 0,
            "watchers_count": 1,
            "open_issues_count": sum(each.state == "open" for each in repo.issues.values()),
            "open_pr_counter": sum(each.state == "open" for each in repo.pulls.values()),
            "release_counter": len(repo.releases),
            "default_branch": repo.default_branch,
            "archived": repo.archived,
            "created_at": stamp(repo.created_at),
            "updated_at": stamp(repo.updated_at),
            "archived_at": "1970-01-01T00:00:00Z",
            "permissions": may,
            "has_issues": repo.issues_enabled,
            "has_pull_requests": True,
            "object_format_name": "sha1",
        }

    def label(self, repo: Repo, label: Label) -> Document:
        """A label definition."""
        home = f"orgs/{repo.owner}" if label.group else f"repos/{repo.path}"
        return {
            "id": label.id,
            "name": label.name,
            "exclusive": "/" in label.name,
            "is_archived": False,
            "color": label.color,
            "description": label.description,
            "url": f"{self.base}/api/v1/{home}/labels/{label.id}",
        }

    def _common(self, repo: Repo, issue: Issue) -> Document:
        assignees = [self.user(each) for each in issue.assignees]
        return {
            "id": issue.id,
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "user": self.user(issue.author),
            "labels": [self.label(repo, repo.labels[each]) for each in sorted(issue.labels)],
            "milestone": None,
            "assignee": assignees[0] if assignees else None,
            "assignees": assignees or None,
            "state": issue.state,
            "is_locked": issue.locked,
            "comments": len(issue.comments),
            "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at),
            "closed_at": when(issue.closed_at),
            "due_date": None,
            "pin_order": 0,
        }

    def issue(self, repo: Repo, issue: Issue) -> Document:
        """An issue, or a pull as the issue endpoints show it."""
        part = "pulls" if issue.pull else "issues"
        html = f"{self.base}/{repo.path}/{part}/{issue.number}"
        pull = None
        if issue.pull:
            merged = issue.pull.merged_at
            pull = {"merged": merged is not None, "merged_at": when(merged), "draft": is_draft(issue), "html_url": html}
        return self._common(repo, issue) | {
            "url": f"{self.url(repo)}/issues/{issue.number}",
            "html_url": html,
            "original_author": "",
            "original_author_id": 0,
            "assets": [],
            "ref": "",
            "pull_request": pull,
            "repository": {"id": repo.id, "name": repo.name, "owner": repo.owner, "full_name": repo.path},
        }

    def pull(self, repo: Repo, issue: Issue) -> Document:
        """A pull."""
        pull = issue.pull
        assert pull is not None
        html = f"{self.base}/{repo.path}/pulls/{issue.number}"
        return self._common(repo, issue) | {
            "url": html,
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "draft": is_draft(issue),
            "mergeable": pull.mergeable is True and not is_draft(issue),
            "merged": pull.merged_at is not None,
            "merged_at": when(pull.merged_at),
            "merge_commit_sha": pull.merge_sha or None,
            "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
            "allow_maintainer_edit": False,
            "base": self._side(repo, pull.base, pull.base_sha),
            "head": self._side(repo, pull.head, pull.head_sha),
            "merge_base": pull.base_sha,
            "requested_reviewers": [self.user(each) for each in pull.reviewers] or None,
            "requested_reviewers_teams": None,
            "review_comments": 0,
            "additions": 1,
            "deletions": 0,
            "changed_files": 1,
        }

    def _side(self, repo: Repo, branch: str, sha: str) -> Document:
        return {"label": branch, "ref": branch, "sha": sha, "repo_id": repo.id, "repo": self.repo(repo)}

    def comment(self, repo: Repo, issue: Issue, comment: Comment) -> Document:
        """A comment."""
        part = "pulls" if issue.pull else "issues"
        page = f"{self.base}/{repo.path}/{part}/{issue.number}"
        return {
            "id": comment.id,
            "html_url": f"{page}#issuecomment-{comment.id}",
            "pull_request_url": page if issue.pull else "",
            "issue_url": "" if issue.pull else page,
            "user": self.user(comment.author),
            "original_author": "",
            "original_author_id": 0,
            "body": comment.body,
            "assets": [],
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
        }

    def event(self, repo: Repo, issue: Issue, event: Event) -> Document:
        """An event among the card's timeline; of a label, ``body`` is ``1`` when it came and empty when it went."""
        words = {"closed": "close", "reopened": "reopen", "renamed": "change_title", "merged": "merge_pull"}
        words |= {"labeled": "label", "unlabeled": "label", "assigned": "assignees", "unassigned": "assignees"}
        words |= {"blocked_by_added": "add_dependency", "blocked_by_removed": "remove_dependency"}
        document: Document = {
            "id": event.id,
            "type": words.get(event.kind, event.kind),
            "html_url": f"{self.base}/{repo.path}/issues/{issue.number}#event-{event.id}",
            "user": self.user(event.actor),
            "body": "1" if event.kind == "labeled" else "",
            "created_at": stamp(event.created_at),
            "updated_at": stamp(event.created_at),
            "old_title": event.data.get("previous", ""),
            "new_title": event.data.get("to", ""),
            "removed_assignee": event.kind == "unassigned",
        }
        if "label_id" in event.data:
            label = repo.labels.get(int(event.data["label_id"]))
            document["label"] = self.label(repo, label) if label else None
        if "assignee" in event.data:
            document["assignee"] = self.user(event.data["assignee"])
        return document

    def reaction(self, reaction: Reaction) -> Document:
        """One reaction."""
        user = self.user(reaction.login)
        return {"user": user, "content": reaction.name, "created_at": stamp(reaction.created_at)}

    def review(self, repo: Repo, issue: Issue, review: Review) -> Document:
        """A review of a pull."""
        page = f"{self.base}/{repo.path}/pulls/{issue.number}"
        return {
            "id": review.id,
            "user": self.user(review.author),
            "team": None,
            "state": review.state,
            "body": review.body,
            "commit_id": review.sha,
            "stale": False,
            "official": True,
            "dismissed": False,
            "comments_count": 0,
            "submitted_at": stamp(review.created_at),
            "updated_at": stamp(review.created_at),
            "html_url": f"{page}#issuecomment-{review.id}",
            "pull_request_url": page,
        }

    def _person(self, commit: Commit) -> Document:
        return {"name": commit.author, "email": f"{commit.author}@users.example", "username": commit.author}

    def payload_commit(self, repo: Repo, commit: Commit) -> Document:
        """A commit as a branch shows it."""
        return {
            "id": commit.sha,
            "message": commit.message,
            "url": f"{self.base}/{repo.path}/commit/{commit.sha}",
            "author": self._person(commit),
            "committer": self._person(commit),
            "verification": None,
            "timestamp": stamp(commit.created_at),
            "added": None,
            "removed": None,
            "modified": None,
        }

    def branch(self, repo: Repo, name: str) -> Document:
        """A branch."""
        return {
            "name": name,
            "commit": self.payload_commit(repo, repo.commits[repo.refs[f"refs/heads/{name}"]]),
            "protected": False,
            "required_approvals": 0,
            "enable_status_check": False,
            "status_check_contexts": [],
            "user_can_push": True,
            "user_can_merge": True,
            "effective_branch_protection_name": "",
        }

    def ref(self, repo: Repo, name: str, sha: str) -> Document:
        """A ref."""
        url = f"{self.url(repo)}/git"
        target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
        return {"ref": name, "url": f"{url}/{name}", "object": target}

    def commit(self, repo: Repo, commit: Commit) -> Document:
        """A commit."""
        url = f"{self.url(repo)}/git/commits/{commit.sha}"
        who = {"name": commit.author, "email": f"{commit.author}@users.example", "date": stamp(commit.created_at)}
        tree = {"url": f"{self.url(repo)}/git/trees/{commit.tree}", "sha": commit.tree}
        inner = {"url": url, "author": who, "committer": who, "message": commit.message, "tree": tree}
        return {
            "url": url,
            "sha": commit.sha,
            "created": stamp(commit.created_at),
            "html_url": f"{self.base}/{repo.path}/commit/{commit.sha}",
            "commit": inner,
            "author": self.user(commit.author),
            "committer": self.user(commit.author),
            "parents": [{"url": url, "sha": each} for each in commit.parents],
        }

    def file(self, repo: Repo, path: str, sha: str, ref: str) -> Document:
        """A file with its content."""
        encoded = repo.blobs[sha]
        url = f"{self.url(repo)}/contents/{quote(path)}?ref={quote(ref)}"
        git, html = (
            f"{self.url(repo)}/git/blobs/{sha}",
            f"{self.base}/{repo.path}/src/branch/{quote(ref)}/{quote(path)}",
        )
        return {
            "name": path.rsplit("/", 1)[-1],
            "path": path,
            "sha": sha,
            "last_commit_sha": repo.refs.get(f"refs/heads/{ref}", ""),
            "type": "file",
            "size": len(base64.b64decode(encoded)),
            "encoding": "base64",
            "content": encoded,
            "target": None,
            "url": url,
            "html_url": html,
            "git_url": git,
            "download_url": f"{self.base}/{repo.path}/raw/branch/{quote(ref)}/{quote(path)}",
            "submodule_git_url": None,
            "_links": {"self": url, "git": git, "html": html},
        }

    def status(self, repo: Repo, status: Status) -> Document:
        """A commit status."""
        return {
            "id": status.id,
            "status": status.state,
            "target_url": status.url,
            "description": status.text,
            "url": f"{self.url(repo)}/statuses/{status.sha}",
            "context": status.context,
            "creator": self.user(status.author),
            "created_at": stamp(status.created_at),
            "updated_at": stamp(status.created_at),
        }

    def release(self, repo: Repo, release: Release) -> Document:
        """A release."""
        url = f"{self.url(repo)}/releases/{release.id}"
        return {
            "id": release.id,
            "tag_name": release.tag,
            "target_commitish": repo.default_branch,
            "name": release.name,
            "body": release.body,
            "url": url,
            "html_url": f"{self.base}/{repo.path}/releases/tag/{quote(release.tag)}",
            "tarball_url": f"{url}.tar.gz",
            "zipball_url": f"{url}.zip",
            "upload_url": f"{url}/assets",
            "draft": release.draft,
            "prerelease": False,
            "created_at": stamp(release.created_at),
            "published_at": stamp(release.created_at),
            "author": self.user(release.author),
            "assets": [],
        }

    def hook(self, hook: Hook) -> Document:
        """A webhook."""
        return {
            "id": hook.id,
            "type": "gitea",
            "branch_filter": "*",
            "config": {"url": hook.url, "content_type": "json"},
            "events": ["issues", "issue_comment", "pull_request"],
            "authorization_header": "",
            "active": hook.active,
            "created_at": stamp(hook.created_at),
            "updated_at": stamp(hook.created_at),
        }
