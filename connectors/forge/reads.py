"""The operations that change nothing: suffix -> function (connectors.md 7). Each is one read of the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from connectors.catalogue import results
from connectors.forge.desk import Desk, issue_at, label_named, pull_at, there
from connectors.forge.records import IssueQuery, PullQuery, Subject
from connectors.forge.shown import checks_of, comment_of, file_of, fit, issue_of, label_of, page_of, pull_of, ref_of

EVERY_LABEL = 10_000


def _repo(desk: Desk) -> results.Repo:
    found = there(desk.client.repository(desk.errand), "the repository")
    values = {name: getattr(found, name) for name in ("id", "path", "default_branch", "archived")}
    return fit(results.Repo, desk.errand, **values)


def _issue(desk: Desk) -> results.Issue:
    return issue_of(issue_at(desk, desk.params.number, desk.errand), desk.errand)


def _issues(desk: Desk) -> results.Page[results.Issue]:
    given = desk.params
    label = label_named(desk, given.label, desk.errand) if given.label else None
    query = IssueQuery(label=label, state=given.state, since=given.since, limit=given.limit + 1)
    return page_of(desk.client.issues(query, desk.errand), issue_of, desk.errand, given.limit)


def _comments(desk: Desk) -> results.Page[results.Comment]:
    read = desk.client.comments(Subject(desk.params.number), desk.errand, desk.params.since)
    return page_of(read, comment_of, desk.errand, desk.params.limit)


def _labels(desk: Desk) -> results.Page[results.Label]:
    return page_of(desk.client.labels(desk.errand), label_of, desk.errand, EVERY_LABEL)


def _pull(desk: Desk) -> results.Pull:
    return pull_of(pull_at(desk, desk.params.number, desk.errand), desk.errand)


def _pulls(desk: Desk) -> results.Page[results.Pull]:
    given = desk.params
    query = PullQuery(given.head or "", given.base or "", given.state, given.limit + 1)
    return page_of(desk.client.pulls(query, desk.errand), pull_of, desk.errand, given.limit)


def _checks(desk: Desk) -> results.Checks:
    return checks_of(
        desk.client.checks(pull_at(desk, desk.params.number, desk.errand).head_sha, desk.errand), desk.errand
    )


def _ref(desk: Desk) -> results.Ref:
    return ref_of(there(desk.client.ref(desk.params.name, desk.errand), f"branch {desk.params.name}"), desk.errand)


def _file(desk: Desk) -> results.File:
    given = desk.params
    branch = given.ref or there(desk.client.repository(desk.errand), "the repository").default_branch
    return file_of(there(desk.client.file(given.path, branch, desk.errand), f"file {given.path}"), desk.errand)


READS: Mapping[str, Callable[[Desk], results.Result]] = MappingProxyType(
    {
        "repo.get": _repo,
        "issue.get": _issue,
        "issue.list": _issues,
        "comment.list": _comments,
        "label.list": _labels,
        "pull.get": _pull,
        "pull.list": _pulls,
        "pull.checks": _checks,
        "ref.get": _ref,
        "file.get": _file,
    }
)
