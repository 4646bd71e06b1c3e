"""GitLab's quick actions: lines of a text that start with ``/`` are commands, are obeyed, and leave the text.

Outside code blocks only. What they may do is the whole point of neutralising texts before they are sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.fake_forge import deeds
from connectors.fake_forge.deeds import Doer
from connectors.fake_forge.records import Issue, Repo, Review

COMMANDS = ("close", "reopen", "label", "unlabel", "relabel", "assign", "unassign", "title", "lock")
REVIEWS = {"approve": "APPROVED", "request_changes": "CHANGES_REQUESTED"}
"""Commands that review a merge request."""
LINE = re.compile(rf"/({'|'.join((*COMMANDS, *REVIEWS))})\b[ \t]*(.*)")
NAMES = re.compile(r'~"([^"]+)"|~([^\s~]+)')


@dataclass(frozen=True, slots=True)
class Split:
    """A text without its commands, and the commands."""

    text: str
    commands: tuple[tuple[str, str], ...]


def split(text: str) -> Split:
    """Take the commands out of a text."""
    kept, found, fenced = [], [], False
    for line in text.splitlines():
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        match = None if fenced or line.startswith("    ") else LINE.fullmatch(line.strip())
        if match:
            found.append((match[1], match[2].strip()))
        else:
            kept.append(line)
    return Split("\n".join(kept).strip() if found else text, tuple(found))


def obey(doer: Doer, repo: Repo, issue: Issue, split_text: Split) -> dict[str, str]:
    """Do what the commands say; answers what changed."""
    told = {}
    for command, rest in split_text.commands:
        told[command] = rest
        labels = [found for found in (deeds.find_label(doer.world, repo, name) for name in _names(rest)) if found]
        if command == "close":
            deeds.set_state(doer, repo, issue, "closed")
        elif command == "reopen":
            deeds.set_state(doer, repo, issue, "open")
        elif command == "title" and rest:
            deeds.edit(doer, repo, issue, title=rest)
        elif command == "relabel":
            deeds.set_labels(doer, repo, issue, labels)
        elif command in ("assign", "unassign"):
            logins = re.findall(r"@([\w.-]+)", rest)
            left = [each for each in issue.assignees if each not in logins]
            deeds.set_assignees(doer, repo, issue, [*left, *logins] if command == "assign" else left if logins else [])
        elif command == "lock":
            issue.locked = True
        elif command in REVIEWS:
            _review(doer, issue, REVIEWS[command])
        for label in labels if command in ("label", "unlabel") else ():
            (deeds.add_label if command == "label" else deeds.remove_label)(doer, repo, issue, label)
    return told


def _review(doer: Doer, issue: Issue, state: str) -> None:
    if issue.pull is not None:
        made = Review(
            id=doer.world.new_id(),
            author=doer.login,
            body="",
            state=state,
            sha=issue.pull.head_sha,
            created_at=doer.now,
        )
        issue.pull.reviews.append(made)


def _names(text: str) -> list[str]:
    return [quoted or bare for quoted, bare in NAMES.findall(text)]
