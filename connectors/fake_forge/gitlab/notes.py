"""GitLab's notes and award emoji of issues and merge requests, and the labels of a project."""

from __future__ import annotations

from typing import Any

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.gitlab.finding import (
    DEVELOPER,
    REPORTER,
    doer,
    given,
    issue_of,
    needed_text,
    note_of,
    noteable_of,
    repo_of,
    show,
    text_of,
    writing,
)
from connectors.fake_forge.gitlab.quick import obey, split
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Comment, Issue, Label, Reaction, Repo


def list_notes(call: Call) -> Answer:
    """Newest first unless ``sort=asc``; system notes among them unless ``activity_filter=only_comments``."""
    repo, issue = noteable_of(call)
    shown = [(note.created_at, note.id, show(call).note(repo, issue, note)) for note in issue.comments]
    if call.query("activity_filter", "all_notes") != "only_comments":
        told = [event for event in issue.events if event.kind in ("closed", "reopened", "renamed", "assigned")]
        shown += [(event.created_at, event.id, show(call).system_note(repo, issue, event)) for event in told]
    ordered = sorted(shown, key=lambda each: each[:2], reverse=call.query("sort", "desc") != "asc")
    return listed(call, ordered, lambda each: each[2])


def create_note(call: Call) -> Answer:
    """``body``: quick actions are obeyed and leave the text; a text of nothing else makes no note (202)."""
    repo, issue = noteable_of(call)
    call.writable(repo)
    text = split(needed_text(call, "body"))
    told = obey(doer(call), repo, issue, text)
    if text.commands and not text.text:
        return Answer(202, {"commands_changes": told, "summary": [f"Applied {', '.join(told)}."]})
    made = deeds.add_comment(doer(call), repo, issue, text.text)
    return Answer(201, show(call).note(repo, issue, made) | {"commands_changes": told})


def get_note(call: Call) -> Answer:
    """One note."""
    return Answer(200, show(call).note(*note_of(call)))


def _own(call: Call) -> tuple[Repo, Issue, Comment]:
    repo, issue, note = note_of(call)
    call.writable(repo)
    if note.author != call.user.login and repo.rights.get(call.user.login) not in ("maintain", "admin"):
        raise Refusal(403, "403 Forbidden")
    return repo, issue, note


def edit_note(call: Call) -> Answer:
    """Another ``body``; quick actions are obeyed here too."""
    repo, issue, note = _own(call)
    text = split(needed_text(call, "body"))
    obey(doer(call), repo, issue, text)
    deeds.edit_comment(doer(call), repo, issue, note, text.text)
    return Answer(200, show(call).note(repo, issue, note))


def delete_note(call: Call) -> Answer:
    """It goes."""
    repo, issue, note = _own(call)
    deeds.delete_comment(doer(call), repo, issue, note)
    return Answer(204)


def _award(call: Call, issue: Issue, reactions: list[Reaction]) -> Answer:
    name = str(given(call).get("name") or "")
    if not name:
        raise Refusal(400, "", error="name is missing")
    made, new = deeds.react(doer(call), reactions, name)
    if not new:
        raise Refusal(404, "404 Award Emoji Name has already been taken Not Found")
    return Answer(201, show(call).award(issue, made))


def award_card(call: Call) -> Answer:
    """``name``: 404 when it was there."""
    _, issue = noteable_of(call)
    return _award(call, issue, issue.reactions)


def award_note(call: Call) -> Answer:
    """The same on a note."""
    _, issue, note = note_of(call)
    return _award(call, issue, note.reactions)


def list_awards(call: Call) -> Answer:
    """An issue's reactions."""
    _, issue = issue_of(call)
    return listed(call, issue.reactions, lambda each: show(call).award(issue, each))


def list_note_awards(call: Call) -> Answer:
    """A note's reactions."""
    _, issue, note = note_of(call)
    return listed(call, note.reactions, lambda each: show(call).award(issue, each))


def list_labels(call: Call) -> Answer:
    """The project's and its group's labels by name."""
    repo = repo_of(call)
    ordered = sorted(repo.labels.values(), key=lambda label: (label.name.casefold(), label.id))
    return listed(call, ordered, lambda label: show(call).label(repo, label))


def _label(call: Call, repo: Repo) -> Label:
    wanted = call.params["label"]
    found = deeds.find_label(call.world, repo, wanted)
    found = found or next((each for each in repo.labels.values() if str(each.id) == wanted), None)
    if found is None:
        raise Refusal(404, "404 Label Not Found")
    return found


def get_label(call: Call) -> Answer:
    """By name or id."""
    repo = repo_of(call)
    return Answer(200, show(call).label(repo, _label(call, repo)))


def create_label(call: Call) -> Answer:
    """``name``, ``color``, ``description``: 409 when the name is there."""
    repo = writing(call, repo_of(call), REPORTER)
    name, color = needed_text(call, "name"), needed_text(call, "color")
    if "," in name:
        raise Refusal(400, "", fields={"title": ["is invalid"]})
    if deeds.find_label(call.world, repo, name):
        raise Refusal(409, "Label already exists")
    made = deeds.define_label(doer(call), repo, name, color, text_of(call, "description") or "")
    return Answer(201, show(call).label(repo, made))


def edit_label(call: Call) -> Answer:
    """``new_name``, ``color``, ``description``."""
    repo = writing(call, repo_of(call), REPORTER)
    label = _label(call, repo)
    values: dict[str, Any] = given(call)
    label.name = str(values.get("new_name") or label.name)
    label.color = str(values.get("color") or label.color).lstrip("#")
    label.description = str(values.get("description") or label.description)
    return Answer(200, show(call).label(repo, label))


def delete_label(call: Call) -> Answer:
    """The definition goes, from every card too."""
    repo = writing(call, repo_of(call), DEVELOPER)
    deeds.delete_label(doer(call), repo, _label(call, repo))
    return Answer(204)


_LABELS = "/projects/{project}/labels"


def _of(kind: str) -> tuple[Route, ...]:
    notes = f"/projects/{{project}}/{kind}/{{iid}}/notes"
    made = "issue.comment" if kind == "issues" else "pull.comment"
    return (
        Route("GET", notes, "comment.list", list_notes, "read"),
        Route("POST", notes, made, create_note, "issues"),
        Route("GET", notes + "/{note}", "comment.get", get_note, "read"),
        Route("PUT", notes + "/{note}", "comment.edit", edit_note, "issues"),
        Route("DELETE", notes + "/{note}", "comment.delete", delete_note, "issues"),
        Route("GET", notes + "/{note}/award_emoji", "reaction.list", list_note_awards, "read"),
        Route("POST", notes + "/{note}/award_emoji", "reaction.add", award_note, "issues"),
        Route("POST", f"/projects/{{project}}/{kind}/{{iid}}/award_emoji", "reaction.add", award_card, "issues"),
    )


ROUTES = (
    *_of("issues"),
    *_of("merge_requests"),
    Route("GET", "/projects/{project}/issues/{iid}/award_emoji", "reaction.list", list_awards, "read"),
    Route("GET", _LABELS, "label.list", list_labels, "read"),
    Route("POST", _LABELS, "label.define", create_label, "issues"),
    Route("GET", _LABELS + "/{label}", "label.get", get_label, "read"),
    Route("PUT", _LABELS + "/{label}", "label.edit", edit_label, "issues"),
    Route("DELETE", _LABELS + "/{label}", "label.delete", delete_label, "issues"),
)
