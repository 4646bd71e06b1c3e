"""Changes of branches, files, pulls, statuses, releases and pipelines, as the guard makes them (connectors.md 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from connectors.catalogue import results
from connectors.effects.guard import Change, Conflict, Done, Effect, Ready, Sight
from connectors.effects.markers import carries
from connectors.errand import Errand
from connectors.forge.desk import Desk, marked, pull_at, there, whole
from connectors.forge.issue_changes import CHANGED, ISSUE_CHANGES, Declared, unchanged
from connectors.forge.records import (
    Check,
    FileDraft,
    Missing,
    Pull,
    PullDraft,
    PullPatch,
    PullQuery,
    Release,
    ReleaseDraft,
    Subject,
)
from connectors.forge.shown import comment_of, fit, pull_of, ref_of, same_text


def create_branch(desk: Desk) -> Declared:
    """A branch: one that exists with that commit is ours, with another it is not."""
    given = desk.params

    def look(reading: Errand) -> Sight[results.Ref]:
        found = desk.client.ref(given.name, reading)
        if isinstance(found, Missing):
            return Ready()
        if found.sha.lower() != given.sha.lower():
            return Conflict(f"branch {given.name} exists at {found.sha}")
        return Done(ref_of(found, reading))

    def send(sending: Errand) -> results.Ref:
        return ref_of(desk.client.create_ref(given.name, given.sha, sending), sending)

    return Change(Effect.AMBIGUOUS, send, look, exists_is_done=True)


def delete_branch(desk: Desk) -> Declared:
    """A branch that shall be absent, if it is still where it was."""
    given = desk.params
    first: list[str] = []

    def look(reading: Errand) -> Sight[results.Changed]:
        found = desk.client.ref(given.name, reading)
        if isinstance(found, Missing):
            return Done(CHANGED)
        first.append(found.sha)
        expected = (given.expect_sha or first[0]).lower()
        return Ready() if found.sha.lower() == expected else Conflict(f"branch {given.name} is at {found.sha}")

    def send(sending: Errand) -> results.Changed:
        desk.client.delete_ref(given.name, sending)
        return CHANGED

    return Change(Effect.GUARDED, send, look, looks_first=True, already=unchanged)


def put_file(desk: Desk) -> Declared:
    """A file of a branch, when its blob is still the expected one."""
    given, content = desk.params, desk.params.text.encode()
    draft = FileDraft(given.path, given.branch, content, desk.words.compose(given.message), given.expect_sha or "")

    def look(reading: Errand) -> Sight[results.Commit]:
        found = desk.client.file(given.path, given.branch, reading)
        if isinstance(found, Missing):
            return Conflict(f"there is no file {given.path}") if given.expect_sha else Ready()
        if found.content == content:
            head = there(desk.client.ref(given.branch, reading), f"branch {given.branch}")
            return Done(fit(results.Commit, reading, commit=head.sha, sha=found.sha))
        expected = (given.expect_sha or "").lower()
        return Ready() if found.sha.lower() == expected else Conflict(f"{given.path} is at {found.sha}")

    def send(sending: Errand) -> results.Commit:
        made = desk.client.put_file(draft, sending)
        return fit(results.Commit, sending, commit=made.commit, sha=made.sha)

    return Change(Effect.GUARDED, send, look, looks_first=True)


def create_pull(desk: Desk) -> Declared:
    """A new pull; found again by its marker, else as the one open pull of that head and base."""
    given = desk.params
    body = desk.words.compose(given.body, desk.marker, keep_closing=True)
    draft = PullDraft(given.head, given.base, desk.words.title(given.title), body, given.draft)

    def look(reading: Errand) -> Sight[results.Pull]:
        found = whole(desk.client.pulls(PullQuery(given.head, given.base, "all"), reading))
        seen = marked(desk, found, reading, pull_of)
        opened = [each for each in found if each.state == "open"]
        if isinstance(seen, Ready) and len(opened) == 1 and opened[0].author == desk.client.whoami(reading).login:
            return Done(pull_of(opened[0], reading), "found as the one open pull of that head and base")
        return seen

    def send(sending: Errand) -> results.Pull:
        return pull_of(desk.client.create_pull(draft, sending), sending)

    return Change(Effect.AMBIGUOUS, send, look)


def edit_pull(desk: Desk) -> Declared:
    """Fields of a pull, set when nobody changed it since it was read."""
    given = desk.params
    first: list[Pull] = []
    patch = PullPatch(
        desk.words.title(given.title) if given.title is not None else None,
        desk.words.compose(given.body, keep_closing=True) if given.body is not None else None,
        None if given.state is None else given.state == "open",
        given.draft,
    )

    def look(reading: Errand) -> Sight[results.Pull]:
        pull = pull_at(desk, given.number, reading)
        if _as_wanted(pull, patch):
            return Done(pull_of(pull, reading))
        if pull.state == "merged" and patch.is_open is not None:
            return Conflict(f"pull {pull.number} is merged")
        first.append(pull)
        moved = desk.touched(pull.updated_at, reading) or pull.updated_at != first[0].updated_at
        return Conflict(f"pull {pull.number} was changed meanwhile") if moved else Ready()

    def send(sending: Errand) -> results.Pull:
        return pull_of(desk.client.edit_pull(given.number, patch, sending), sending)

    return Change(Effect.GUARDED, send, look, looks_first=True)


def _as_wanted(pull: Pull, patch: PullPatch) -> bool:
    return (
        (patch.title is None or patch.title == pull.title)
        and (patch.body is None or same_text(patch.body, pull.body))
        and (patch.is_open is None or patch.is_open == (pull.state == "open"))
        and (patch.draft is None or patch.draft == pull.draft)
    )


def review_pull(desk: Desk) -> Declared:
    """A review with a verdict and a text."""
    given = desk.params
    text = desk.words.compose(given.body, desk.marker)

    def look(reading: Errand) -> Sight[results.Comment]:
        begins = desk.begins(reading)
        reviews = whole(desk.client.reviews(given.number, reading))
        comments = whole(desk.client.comments(Subject(given.number, True), reading, begins))
        return marked(desk, (*reviews, *comments), reading, comment_of)

    def send(sending: Errand) -> results.Comment:
        return comment_of(desk.client.review_pull(given.number, given.event, text, sending), sending)

    return Change(Effect.AMBIGUOUS, send, look)


def request_review(desk: Desk) -> Declared:
    """People who shall review; those who do already are asked for no more."""
    given = desk.params

    def look(reading: Errand) -> Sight[results.Changed]:
        reviewers = frozenset(pull_at(desk, given.number, reading).reviewers)
        return Done(CHANGED) if reviewers.issuperset(given.logins) else Ready()

    def send(sending: Errand) -> results.Changed:
        desk.client.request_reviews(given.number, given.logins, sending)
        return CHANGED

    return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)


def merge_pull(desk: Desk) -> Declared:
    """A merge of exactly one head: merged with it is done, merged otherwise is somebody else's."""
    given = desk.params

    def look(reading: Errand) -> Sight[results.Pull]:
        pull = pull_at(desk, given.number, reading)
        same = pull.head_sha.lower() == given.head_sha.lower()
        if pull.state == "merged" and same:
            return Done(pull_of(pull, reading))
        if pull.state != "open":
            return Conflict(f"pull {pull.number} is {pull.state}, at {pull.head_sha}")
        return Ready() if same else Conflict(f"the head of pull {pull.number} is {pull.head_sha}")

    def send(sending: Errand) -> None:
        desk.client.merge_pull(given.number, given.head_sha, given.method, sending)

    return Change(Effect.GUARDED, send, look, looks_first=True, settles=True)


def set_status(desk: Desk) -> Declared:
    """The status of a commit; the newest of its context counts."""
    given = desk.params
    check = Check(given.context, given.state, given.text, given.url)

    def look(reading: Errand) -> Sight[results.Changed]:
        found = [each for each in whole(desk.client.checks(given.sha, reading)) if each.name == check.name]
        newest = found[-1] if found else None
        same = newest is not None and (newest.state, newest.text) == (check.state, check.text)
        return Done(CHANGED) if same else Ready()

    def send(sending: Errand) -> results.Changed:
        desk.client.set_status(given.sha, check, sending)
        return CHANGED

    return Change(Effect.IDEMPOTENT, send, look)


def create_release(desk: Desk) -> Declared:
    """A release of a tag; found again by the tag, and its marker says whose it is."""
    given = desk.params
    body = desk.words.compose(given.body, desk.marker)
    draft = ReleaseDraft(given.tag, desk.words.title(given.name), body, given.draft)

    def look(reading: Errand) -> Sight[results.Release]:
        found = desk.client.release(given.tag, reading)
        if isinstance(found, Missing):
            return Ready()
        if carries(found.body, desk.effect_id):
            return Done(_release(found, reading))
        return Conflict(f"tag {given.tag} has another release")

    def send(sending: Errand) -> results.Release:
        return _release(desk.client.create_release(draft, sending), sending)

    return Change(Effect.AMBIGUOUS, send, look)


def _release(found: Release, errand: Errand) -> results.Release:
    return fit(results.Release, errand, id=found.id, tag=found.tag, url=found.url)


def dispatch_workflow(desk: Desk) -> Declared:
    """A run of a workflow file; the forge says nothing by which it could be found again."""
    given = desk.params

    def send(sending: Errand) -> results.Changed:
        desk.client.start_pipeline(given.ref, given.inputs, sending, given.file)
        return CHANGED

    return Change(Effect.AMBIGUOUS, send)


def create_pipeline(desk: Desk) -> Declared:
    """A pipeline of a branch."""
    given = desk.params

    def send(sending: Errand) -> results.Pipeline:
        made = desk.client.start_pipeline(given.ref, given.variables, sending)
        return fit(results.Pipeline, sending, id=made.id if made else "", url=made.url if made else "")

    return Change(Effect.AMBIGUOUS, send)


CHANGES: Mapping[str, Callable[[Desk], Change[Any]]] = MappingProxyType(
    {
        **ISSUE_CHANGES,
        "branch.create": create_branch,
        "branch.delete": delete_branch,
        "file.put": put_file,
        "pull.create": create_pull,
        "pull.edit": edit_pull,
        "pull.review": review_pull,
        "pull.request_review": request_review,
        "pull.merge": merge_pull,
        "status.set": set_status,
        "release.create": create_release,
        "workflow.dispatch": dispatch_workflow,
        "pipeline.create": create_pipeline,
    }
)
"""suffix -> how the change is declared; with ``READS`` total over the catalogue."""
