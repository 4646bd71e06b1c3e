"""Neutral records as results of operations (connectors.md 7). A record that does not fit is a lost answer of a change,
and an unreadable one of a read: nothing received is trusted before a model accepted it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic import ValidationError

from connectors.answer import Read
from connectors.catalogue import results
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, Unreachable
from connectors.forge.records import Check, File, ForgeComment, Issue, LabelDef, Pull, Ref

R = TypeVar("R", bound=results.Result)
S = TypeVar("S")


def fit(model: type[R], errand: Errand, **values: object) -> R:
    """The result. Raises ``AmbiguousEffect`` for the answer of a change, ``Unreachable`` for that of a read."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        where = ".".join(str(part) for part in problem.errors()[0]["loc"])
        text = f"the forge's answer does not fit {model.__name__}: {where}"
        if errand.effect_id:
            raise AmbiguousEffect(text, effect_id=errand.effect_id) from problem
        raise Unreachable(text, "look at the object on the forge") from problem


def issue_of(issue: Issue, errand: Errand) -> results.Issue:
    """An issue."""
    return fit(
        results.Issue,
        errand,
        number=issue.number,
        id=issue.id,
        title=issue.title,
        body=issue.body,
        state="open" if issue.is_open else "closed",
        labels=issue.labels,
        assignees=issue.assignees,
        author=issue.author,
        url=issue.url,
        created_at=issue.created_at,
        updated_at=issue.updated_at,
    )


def comment_of(comment: ForgeComment, errand: Errand) -> results.Comment:
    """A comment."""
    return fit(
        results.Comment,
        errand,
        id=comment.id,
        number=comment.number,
        author=comment.author,
        body=comment.body,
        url=comment.url,
        created_at=comment.created_at,
    )


def pull_of(pull: Pull, errand: Errand) -> results.Pull:
    """A pull."""
    return fit(
        results.Pull,
        errand,
        number=pull.number,
        id=pull.id,
        title=pull.title,
        state=pull.state,
        draft=pull.draft,
        head=pull.head,
        head_sha=pull.head_sha,
        base=pull.base,
        url=pull.url,
        mergeable=pull.mergeable,
        merge_sha=pull.merge_sha or None,
    )


def label_of(label: LabelDef, errand: Errand) -> results.Label:
    """A label's definition."""
    return fit(results.Label, errand, id=label.id, name=label.name, color=label.color)


def ref_of(ref: Ref, errand: Errand) -> results.Ref:
    """A branch."""
    return fit(results.Ref, errand, name=ref.name, sha=ref.sha)


def file_of(file: File, errand: Errand) -> results.File:
    """A file: as text when it is UTF-8."""
    try:
        return fit(results.File, errand, path=file.path, sha=file.sha, text=file.content.decode())
    except UnicodeDecodeError:
        coded = base64.b64encode(file.content).decode("ascii")
        return fit(results.File, errand, path=file.path, sha=file.sha, base64=coded)


def checks_of(read: Read[Check], errand: Errand) -> results.Checks:
    """All checks as one state: a failure counts at once, success only when all succeeded and none can be missing."""
    states = {check.state for check in read.items}
    if "failure" in states:
        state = "failure"
    else:
        state = "success" if states == {"success"} and read.complete else "pending"
    items = [{"name": c.name, "state": c.state, "text": c.text, "url": c.url} for c in read.items]
    return fit(results.Checks, errand, state=state, items=items, complete=read.complete)


def page_of(read: Read[S], show: Callable[[S, Errand], R], errand: Errand, limit: int) -> results.Page[R]:
    """A listing, cut at ``limit``: then it is not complete either."""
    items = tuple(show(each, errand) for each in read.items[:limit])
    cut = len(read.items) > limit
    stopped = "limit" if cut else (str(read.stopped) if read.stopped else None)
    return results.Page[R](items=items, complete=read.complete and not cut and not read.unfit, stopped=stopped)


def same_text(mine: str, theirs: str) -> bool:
    """Whether two texts are equal as a forge stores them: line ends and blanks at the end aside."""
    return _plain(mine) == _plain(theirs)


def _plain(text: str) -> list[str]:
    return "\n".join(_lines(text.splitlines())).strip("\n").split("\n")


def _lines(lines: Iterable[str]) -> list[str]:
    return [line.rstrip() for line in lines]
