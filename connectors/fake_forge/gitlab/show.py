"""GitLab's documents of the fake's records: pure."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from connectors.fake_forge.records import Comment, Event, Issue, Label, Reaction, Ref, Release, Repo, Run, Status, World

Document = dict[str, Any]
LEVELS = {"none": 0, "read": 20, "triage": 20, "write": 30, "maintain": 40, "admin": 50}
"""Right -> access level (guest, reporter, developer, maintainer, owner)."""


def milli(instant: datetime) -> str:
    """RFC 3339 with milliseconds, as GitLab writes it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant.microsecond // 1000:03d}Z"


def when(instant: datetime | None) -> str | None:
    """A time, or null."""
    return milli(instant) if instant else None


@dataclass(frozen=True, slots=True)
class Show:
    """Makes the documents of one world under one address."""

    world: World
    base: str

    def user(self, login: str) -> Document:
        """A basic user; a deleted account is GitLab's ghost."""
        user = self.world.users.get(login)
        name = user.login if user else "ghost"
        return {
            "id": user.id if user else 1,
            "username": name,
            "public_email": None,
            "name": name,
            "state": "active",
            "locked": False,
            "avatar_url": None,
            "web_url": f"{self.base}/{quote(name)}",
        }

    def project(self, repo: Repo, login: str = "") -> Document:
        """A project."""
        level = LEVELS[repo.rights.get(login, "none")]
        count = sum(issue.state == "open" for issue in repo.issues.values())
        page = f"{self.base}/{repo.path}"
        space = {"id": repo.id + 1, "name": repo.owner, "path": repo.owner, "kind": "user", "full_path": repo.owner}
        return {
            "id": repo.id,
            "description": None,
            "name": repo.name,
            "name_with_namespace": f"{repo.owner} / {repo.name}",
            "path": repo.name,
            "path_with_namespace": repo.path,
            "created_at": milli(repo.created_at),
            "default_branch": repo.default_branch,
            "ssh_url_to_repo": f"git@127.0.0.1:{repo.path}.git",
            "http_url_to_repo": f"{page}.git",
            "web_url": page,
            "namespace": space,
            "last_activity_at": milli(repo.updated_at),
            "visibility": "public",
            "archived": repo.archived,
            "issues_enabled": repo.issues_enabled,
            "issues_access_level": "enabled" if repo.issues_enabled else "disabled",
            "merge_requests_enabled": True,
            "open_issues_count": count,
            "permissions": {"project_access": {"access_level": level, "notification_level": 3}, "group_access": None},
        }

    def label(self, repo: Repo, label: Label) -> Document:
        """A label definition."""
        open_count = sum(label.id in each.labels and each.state == "open" for each in repo.issues.values())
        return {
            "id": label.id,
            "name": label.name,
            "color": f"#{label.color}",
            "text_color": "#333333",
            "description": label.description or None,
            "description_html": label.description,
            "open_issues_count": open_count,
            "closed_issues_count": 0,
            "open_merge_requests_count": 0,
            "subscribed": False,
            "priority": None,
            "is_project_label": not label.group,
            "archived": False,
        }

    def _names(self, repo: Repo, issue: Issue) -> list[str]:
        return sorted(repo.labels[each].name for each in issue.labels)

    def _common(self, repo: Repo, issue: Issue) -> Document:
        assignees = [self.user(each) for each in issue.assignees]
        return {
            "id": issue.id,
            "iid": issue.number,
            "project_id": repo.id,
            "title": issue.title,
            "description": issue.body or None,
            "created_at": milli(issue.created_at),
            "updated_at": milli(issue.updated_at),
            "closed_at": when(issue.closed_at),
            "closed_by": self.user(issue.closed_by) if issue.closed_by else None,
            "labels": self._names(repo, issue),
            "milestone": None,
            "assignees": assignees,
            "assignee": assignees[0] if assignees else None,
            "author": self.user(issue.author),
            "user_notes_count": len(issue.comments),
            "upvotes": sum(each.name == "thumbsup" for each in issue.reactions),
            "downvotes": sum(each.name == "thumbsdown" for each in issue.reactions),
            "confidential": False,
            "discussion_locked": issue.locked or None,
        }

    def issue(self, repo: Repo, issue: Issue) -> Document:
        """An issue."""
        url = f"{self.base}/api/v4/projects/{repo.id}/issues/{issue.number}"
        moved = issue.moved_to
        links: Document = {"self": url, "notes": f"{url}/notes", "award_emoji": f"{url}/award_emoji"}
        links |= {"project": f"{self.base}/api/v4/projects/{repo.id}", "closed_as_duplicate_of": None}
        return self._common(repo, issue) | {
            "state": "opened" if issue.state == "open" and moved is None else "closed",
            "type": issue.kind.upper(),
            "issue_type": issue.kind,
            "due_date": None,
            "weight": None,
            "web_url": f"{self.base}/{repo.path}/-/issues/{issue.number}",
            "references": _references("#", repo, issue),
            "has_tasks": False,
            "blocking_issues_count": 0,
            "moved_to_id": self._id_of(moved) if moved else None,
            "severity": "UNKNOWN",
            "_links": links,
        }

    def _id_of(self, ref: Ref) -> int | None:
        repo = self.world.repos.get(ref.repo)
        return repo.issues[ref.number].id if repo else None

    def merge_request(self, repo: Repo, issue: Issue) -> Document:
        """A merge request."""
        pull = issue.pull
        assert pull is not None
        state = "merged" if pull.merged_at else {"open": "opened"}.get(issue.state, "closed")
        status = {True: "mergeable", False: "conflict", None: "checking"}[pull.mergeable]
        title = f"Draft: {issue.title}" if pull.draft else issue.title
        return self._common(repo, issue) | {
            "title": title,
            "state": state,
            "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
            "merged_at": when(pull.merged_at),
            "target_branch": pull.base,
            "source_branch": pull.head,
            "reviewers": [self.user(each) for each in pull.reviewers],
            "source_project_id": repo.id,
            "target_project_id": repo.id,
            "draft": pull.draft,
            "work_in_progress": pull.draft,
            "merge_when_pipeline_succeeds": False,
            "merge_status": {True: "can_be_merged", False: "cannot_be_merged", None: "checking"}[pull.mergeable],
            "detailed_merge_status": "draft_status" if pull.draft else status,
            "sha": pull.head_sha,
            "merge_commit_sha": pull.merge_sha or None,
            "squash_commit_sha": None,
            "web_url": f"{self.base}/{repo.path}/-/merge_requests/{issue.number}",
            "references": _references("!", repo, issue),
            "has_conflicts": pull.mergeable is False,
            "blocking_discussions_resolved": True,
            "diff_refs": {"base_sha": pull.base_sha, "head_sha": pull.head_sha, "start_sha": pull.base_sha},
        }

    def note(self, repo: Repo, issue: Issue, comment: Comment) -> Document:
        """A note."""
        return {
            "id": comment.id,
            "type": None,
            "body": comment.body,
            "author": self.user(comment.author),
            "created_at": milli(comment.created_at),
            "updated_at": milli(comment.updated_at),
            "system": comment.system,
            "noteable_id": issue.id,
            "noteable_type": "MergeRequest" if issue.pull else "Issue",
            "project_id": repo.id,
            "resolvable": False,
            "confidential": False,
            "internal": False,
            "imported": False,
            "imported_from": "none",
            "noteable_iid": issue.number,
            "commands_changes": {},
        }

    def system_note(self, repo: Repo, issue: Issue, event: Event) -> Document:
        """What GitLab writes about an event among the notes."""
        texts = {
            "renamed": f"changed title from **{event.data.get('previous')}** to **{event.data.get('to')}**",
            "assigned": f"assigned to @{event.data.get('assignee')}",
            "unassigned": f"unassigned @{event.data.get('assignee')}",
        }
        note = Comment(
            id=event.id,
            author=event.actor,
            body=texts.get(event.kind, event.kind),
            created_at=event.created_at,
            updated_at=event.created_at,
            system=True,
        )
        return self.note(repo, issue, note)

    def label_event(self, repo: Repo, issue: Issue, event: Event) -> Document:
        """A label that came or went; the label is null once its definition is gone."""
        label = repo.labels.get(int(event.data["label_id"]))
        shown = {"id": label.id, "name": label.name, "color": f"#{label.color}", "description": None} if label else None
        return {
            "id": event.id,
            "user": self.user(event.actor),
            "created_at": milli(event.created_at),
            "resource_type": "Issue",
            "resource_id": issue.id,
            "label": shown,
            "action": "add" if event.kind == "labeled" else "remove",
        }

    def state_event(self, issue: Issue, event: Event) -> Document:
        """Closed or reopened."""
        return {
            "id": event.id,
            "user": self.user(event.actor),
            "created_at": milli(event.created_at),
            "resource_type": "Issue",
            "resource_id": issue.id,
            "state": event.kind,
        }

    def link(self, repo: Repo, issue: Issue, kind: str, number: int) -> Document:
        """A linked issue."""
        return self.issue(repo, issue) | {"issue_link_id": number, "link_type": kind}

    def award(self, issue: Issue, reaction: Reaction) -> Document:
        """A reaction."""
        return {
            "id": reaction.id,
            "name": reaction.name,
            "user": self.user(reaction.login),
            "created_at": milli(reaction.created_at),
            "updated_at": milli(reaction.created_at),
            "awardable_id": issue.id,
            "awardable_type": "Issue",
            "url": None,
        }

    def commit(self, repo: Repo, sha: str) -> Document:
        """A commit."""
        commit = repo.commits[sha]
        email = f"{commit.author}@users.example"
        at = milli(commit.created_at)
        return {
            "id": sha,
            "short_id": sha[:8],
            "created_at": at,
            "parent_ids": commit.parents,
            "title": commit.message.split("\n", 1)[0],
            "message": commit.message,
            "author_name": commit.author,
            "author_email": email,
            "authored_date": at,
            "committer_name": commit.author,
            "committer_email": email,
            "committed_date": at,
            "web_url": f"{self.base}/{repo.path}/-/commit/{sha}",
        }

    def branch(self, repo: Repo, name: str) -> Document:
        """A branch."""
        return {
            "name": name,
            "commit": self.commit(repo, repo.refs[f"refs/heads/{name}"]),
            "merged": False,
            "protected": name == repo.default_branch,
            "developers_can_push": True,
            "developers_can_merge": True,
            "can_push": True,
            "default": name == repo.default_branch,
            "web_url": f"{self.base}/{repo.path}/-/tree/{quote(name)}",
        }

    def file(self, repo: Repo, path: str, ref: str, sha: str) -> Document:
        """A file with its content."""
        blob = repo.commits[sha].files[path]
        content = base64.b64decode(repo.blobs[blob])
        return {
            "file_name": path.rsplit("/", 1)[-1],
            "file_path": path,
            "size": len(content),
            "encoding": "base64",
            "content": repo.blobs[blob],
            "content_sha256": "",
            "ref": ref,
            "blob_id": blob,
            "commit_id": sha,
            "last_commit_id": sha,
            "execute_filemode": False,
        }

    def status(self, repo: Repo, status: Status) -> Document:
        """A commit status."""
        return {
            "id": status.id,
            "sha": status.sha,
            "ref": repo.default_branch,
            "status": status.state,
            "name": status.context,
            "target_url": status.url or None,
            "description": status.text or None,
            "created_at": milli(status.created_at),
            "started_at": None,
            "finished_at": milli(status.created_at),
            "allow_failure": False,
            "coverage": None,
            "pipeline_id": status.id,
            "author": self.user(status.author),
        }

    def release(self, repo: Repo, release: Release) -> Document:
        """A release."""
        page = f"{self.base}/{repo.path}/-/releases/{quote(release.tag, safe='')}"
        return {
            "tag_name": release.tag,
            "description": release.body,
            "name": release.name or release.tag,
            "created_at": milli(release.created_at),
            "released_at": milli(release.created_at),
            "author": self.user(release.author),
            "commit": self.commit(repo, repo.refs[f"refs/tags/{release.tag}"]),
            "upcoming_release": False,
            "assets": {"count": 0, "sources": [], "links": []},
            "evidences": [],
            "_links": {"self": page},
        }

    def pipeline(self, repo: Repo, run: Run) -> Document:
        """A started pipeline."""
        return {
            "id": run.id,
            "iid": run.id,
            "project_id": repo.id,
            "sha": repo.refs[f"refs/heads/{run.ref}"],
            "ref": run.ref,
            "status": "created",
            "source": "api",
            "created_at": milli(run.created_at),
            "updated_at": milli(run.created_at),
            "web_url": f"{self.base}/{repo.path}/-/pipelines/{run.id}",
        }


def _references(mark: str, repo: Repo, issue: Issue) -> Document:
    short = f"{mark}{issue.number}"
    return {"short": short, "relative": short, "full": repo.path + short}
