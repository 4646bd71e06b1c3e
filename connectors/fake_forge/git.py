"""The small git of a fake forge: blobs, commits and refs as records, with SHAs that depend on content and time.

No object format of git is produced; nothing can be cloned. What the APIs show of it is consistent: a commit's tree, a
file's blob, a ref's target.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from connectors.fake_forge.clock import ForgeClock, stamp
from connectors.fake_forge.records import Commit, Repo

HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Push:
    """One file for one branch."""

    branch: str
    path: str
    content: bytes
    message: str
    author: str


class Git:
    """Makes blobs and commits; the clock gives their times."""

    def __init__(self, clock: ForgeClock) -> None:
        self._clock = clock

    def blob(self, repo: Repo, content: bytes) -> str:
        """Keep content; answers the SHA that git itself would give it."""
        sha = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        repo.blobs[sha] = base64.b64encode(content).decode()
        return sha

    def tree(self, repo: Repo, files: dict[str, str]) -> str:
        """Keep a tree (path -> blob SHA); answers its SHA."""
        text = "\n".join(f"{path}\0{sha}" for path, sha in sorted(files.items()))
        sha = hashlib.sha1(b"tree " + text.encode(), usedforsecurity=False).hexdigest()
        repo.trees[sha] = dict(files)
        return sha

    def commit(self, repo: Repo, message: str, files: dict[str, str], parents: list[str], author: str) -> Commit:
        """Keep a commit; no ref moves."""
        now = self._clock.now()
        tree = self.tree(repo, files)
        text = "\0".join([tree, message, author, stamp(now), *parents])
        sha = hashlib.sha1(b"commit " + text.encode(), usedforsecurity=False).hexdigest()
        made = Commit(
            sha=sha, message=message, author=author, created_at=now, parents=parents, files=dict(files), tree=tree
        )
        repo.commits[sha] = made
        return made

    def put(self, repo: Repo, push: Push) -> Commit:
        """One file changed on a branch, which moves."""
        before = repo.refs.get(HEADS + push.branch)
        files = dict(repo.commits[before].files) if before else {}
        files[push.path] = self.blob(repo, push.content)
        made = self.commit(repo, push.message, files, [before] if before else [], push.author)
        self.move(repo, HEADS + push.branch, made.sha)
        return made

    def move(self, repo: Repo, ref: str, sha: str) -> None:
        """A ref points elsewhere; open pulls from that branch have a new head."""
        repo.refs[ref] = sha
        for issue in repo.pulls.values():
            if issue.pull and issue.state == "open" and HEADS + issue.pull.head == ref:
                issue.pull.head_sha = sha


def resolve(repo: Repo, name: str) -> str | None:
    """The commit behind a branch, tag, full ref or SHA."""
    for ref in (name, HEADS + name, f"refs/tags/{name}", f"refs/{name}"):
        if ref in repo.refs:
            return repo.refs[ref]
    return name if name in repo.commits else None
