"""GitHub's documents of the fake's records: pure, complete as far as the published description requires."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from connectors.fake_forge.clock import stamp
from connectors.fake_forge.records import Comment, Event, Issue, Label, Reaction, Release, Repo, Review, User, World

Document = dict[str, Any]
REPO_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}
USER_LINKS = {
    "events_url": "/events{/privacy}",
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "organizations_url": "/orgs",
    "received_events_url": "/received_events",
    "repos_url": "/repos",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
}


def node_id(kind: str, number: int) -> str:
    """The GraphQL id of an object."""
    return f"{kind}_" + base64.urlsafe_b64encode(str(number).encode()).decode().rstrip("=")


def when(instant: datetime | None) -> str | None:
    """A time, or null."""
    return stamp(instant) if instant else None


def permissions(right: str) -> dict[str, bool]:
    """What a right allows, by GitHub's names."""
    order = ["read", "triage", "write", "maintain", "admin"]
    names = ("pull", "triage", "push", "maintain", "admin")
    held = order.index(right) if right in order else -1
    return {name: place <= held for place, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class Show:
    """Makes the documents of one world under one address."""

    world: World
    base: str

    def user(self, login: str) -> Document:
        """A simple user; an account that is not there any more is GitHub's ``ghost``."""
        user = self.world.users.get(login) or User(
            id=10137, login="ghost", created_at=next(iter(self.world.users.values())).created_at
        )
        name = f"{user.login}[bot]" if user.kind == "Bot" and not user.login.endswith("[bot]") else user.login
        url = f"{self.base}/users/{quote(name)}"
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node_id("U", user.id),
            "avatar_url": f"{self.base}/avatars/{user.id}",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self.base}/{quote(user.login)}",
            **{key: url + tail for key, tail in USER_LINKS.items()},
            "type": user.kind,
            "site_admin": False,
        }

    def account(self, user: User) -> Document:
        """The private document of the token's own account."""
        numbers = ("public_gists", "public_repos", "followers", "following", "private_gists", "total_private_repos")
        more = ("owned_private_repos", "disk_usage", "collaborators")
        texts = dict.fromkeys(("bio", "blog", "company", "email", "hireable", "location"))
        return {
            **self.user(user.login),
            **texts,
            "name": user.login,
            **dict.fromkeys((*numbers, *more), 0),
            "two_factor_authentication": True,
            "user_view_type": "private",
            "created_at": stamp(user.created_at),
            "updated_at": stamp(user.created_at),
        }

    def url(self, repo: Repo) -> str:
        """A repository's API address."""
        return f"{self.base}/repos/{repo.path}"

    def repo(self, repo: Repo, login: str = "") -> Document:
        """A full repository."""
        url, page = self.url(repo), f"{self.base}/{repo.path}"
        open_count = sum(each.state == "open" for each in [*repo.issues.values(), *repo.pulls.values()])
        counts = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size")
        return {
            "id": repo.id,
            "node_id": node_id("R", repo.id),
            "name": repo.name,
            "full_name": repo.path,
            "owner": self.user(repo.owner),
            "private": False,
            "html_url": page,
            "url": url,
            **{key: url + tail for key, tail in REPO_LINKS.items()},
            **dict.fromkeys(("description", "mirror_url", "homepage", "language", "license")),
            "fork": False,
            "clone_url": f"{page}.git",
            "git_url": f"git://127.0.0.1/{repo.path}.git",
            "ssh_url": f"git@127.0.0.1:{repo.path}.git",
            "svn_url": page,
            **dict.fromkeys((*counts, "network_count", "subscribers_count"), 0),
            "default_branch": repo.default_branch,
            "open_issues": open_count,
            "open_issues_count": open_count,
            "has_issues": repo.issues_enabled,
            "has_projects": True,
            "has_wiki": False,
            "has_pages": False,
            "has_discussions": False,
            "has_downloads": True,
            "archived": repo.archived,
            "disabled": False,
            "visibility": "public",
            "pushed_at": stamp(repo.updated_at),
            "created_at": stamp(repo.created_at),
            "updated_at": stamp(repo.updated_at),
            "permissions": permissions(repo.rights.get(login, "read")),
        }

    def label(self, repo: Repo, label: Label) -> Document:
        """A label definition."""
        return {
            "id": label.id,
            "node_id": node_id("LA", label.id),
            "url": f"{self.url(repo)}/labels/{quote(label.name, safe='')}",
            "name": label.name,
            "description": label.description or None,
            "color": label.color,
            "default": False,
        }

    def issue(self, repo: Repo, issue: Issue) -> Document:
        """An issue, or a pull as the issues endpoints show it."""
        url = f"{self.url(repo)}/issues/{issue.number}"
        part = "pull" if issue.pull else "issues"
        html = f"{self.base}/{repo.path}/{part}/{issue.number}"
        document = {
            "id": issue.id,
            "node_id": node_id("PR" if issue.pull else "I", issue.id),
            "url": url,
            "repository_url": self.url(repo),
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": html,
            "labels": [self.label(repo, repo.labels[each]) for each in issue.labels],
            "author_association": "OWNER" if issue.author == repo.owner else "NONE",
            "reactions": self.reactions(url, issue.reactions),
            **self._values(issue),
        }
        if issue.pull:
            links = {"url": f"{self.url(repo)}/pulls/{issue.number}", "html_url": html}
            links |= {"diff_url": f"{html}.diff", "patch_url": f"{html}.patch"}
            document |= {"draft": issue.pull.draft, "pull_request": {**links, "merged_at": when(issue.pull.merged_at)}}
        return document

    def _values(self, issue: Issue) -> Document:
        waits = len(issue.blocked_by)
        return {
            "number": issue.number,
            "state": issue.state,
            "state_reason": issue.reason or None,
            "title": issue.title,
            "body": issue.body or None,
            "user": self.user(issue.author),
            "assignee": self.user(issue.assignees[0]) if issue.assignees else None,
            "assignees": [self.user(each) for each in issue.assignees],
            "milestone": None,
            "locked": issue.locked,
            "active_lock_reason": None,
            "comments": len(issue.comments),
            "closed_at": when(issue.closed_at),
            "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at),
            "performed_via_github_app": None,
            "issue_dependencies_summary": {
                "blocked_by": waits,
                "blocking": 0,
                "total_blocked_by": waits,
                "total_blocking": 0,
            },
        }

    def reactions(self, url: str, reactions: list[Reaction]) -> Document:
        """The counts of reactions."""
        names = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")
        counts = {name: sum(each.name == name for each in reactions) for name in names}
        return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}

    def reaction(self, reaction: Reaction) -> Document:
        """One reaction."""
        return {
            "id": reaction.id,
            "node_id": node_id("REA", reaction.id),
            "user": self.user(reaction.login),
            "content": reaction.name,
            "created_at": stamp(reaction.created_at),
        }

    def comment(self, repo: Repo, issue: Issue, comment: Comment) -> Document:
        """A comment of a card."""
        url = f"{self.url(repo)}/issues/comments/{comment.id}"
        return {
            "id": comment.id,
            "node_id": node_id("IC", comment.id),
            "url": url,
            "html_url": f"{self.base}/{repo.path}/issues/{issue.number}#issuecomment-{comment.id}",
            "issue_url": f"{self.url(repo)}/issues/{issue.number}",
            "user": self.user(comment.author),
            "body": comment.body,
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "author_association": "NONE",
            "reactions": self.reactions(url, comment.reactions),
            "performed_via_github_app": None,
        }

    def event(self, repo: Repo, event: Event) -> Document:
        """An event of a card's history."""
        document: Document = {
            "id": event.id,
            "node_id": node_id("E", event.id),
            "url": f"{self.url(repo)}/issues/events/{event.id}",
            "actor": self.user(event.actor),
            "event": event.kind,
            "commit_id": event.data.get("sha"),
            "commit_url": None,
            "created_at": stamp(event.created_at),
            "performed_via_github_app": None,
        }
        if event.kind in ("labeled", "unlabeled"):
            document["label"] = {"name": event.data["label"], "color": event.data["color"]}
        if event.kind in ("assigned", "unassigned"):
            person = self.user(event.data["assignee"])
            document |= {"assignee": person, "assigner": self.user(event.actor)}
        if event.kind == "renamed":
            document["rename"] = {"from": event.data["previous"], "to": event.data["to"]}
        if event.kind == "closed":
            document["state_reason"] = None
        return document

    def review(self, repo: Repo, issue: Issue, review: Review) -> Document:
        """A review of a pull."""
        pull = f"{self.url(repo)}/pulls/{issue.number}"
        html = f"{self.base}/{repo.path}/pull/{issue.number}#pullrequestreview-{review.id}"
        return {
            "id": review.id,
            "node_id": node_id("PRR", review.id),
            "user": self.user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": html,
            "pull_request_url": pull,
            "_links": {"html": {"href": html}, "pull_request": {"href": pull}},
            "submitted_at": stamp(review.created_at),
            "commit_id": review.sha,
            "author_association": "NONE",
        }

    def release(self, repo: Repo, release: Release) -> Document:
        """A release."""
        url = f"{self.url(repo)}/releases/{release.id}"
        return {
            "id": release.id,
            "node_id": node_id("RE", release.id),
            "url": url,
            "html_url": f"{self.base}/{repo.path}/releases/tag/{quote(release.tag)}",
            "assets_url": f"{url}/assets",
            "upload_url": f"{url}/assets{{?name,label}}",
            "tarball_url": None,
            "zipball_url": None,
            "tag_name": release.tag,
            "target_commitish": repo.default_branch,
            "name": release.name,
            "body": release.body,
            "draft": release.draft,
            "prerelease": False,
            "created_at": stamp(release.created_at),
            "published_at": None if release.draft else stamp(release.created_at),
            "author": self.user(release.author),
            "assets": [],
        }
