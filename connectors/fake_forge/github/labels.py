"""GitHub's labels: definitions of a repository, and those on a card. Names fold case; unknown ones are made on use."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Json, Refusal, Route
from connectors.fake_forge.github.finding import (
    card_of,
    doer,
    for_writing,
    invalid,
    label_of,
    repo_of,
    show,
    writing,
)
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Issue, Label, Repo


def labels_named(call: Call, repo: Repo, given: Json) -> list[Label]:
    """The labels of a list of names or objects; an unknown one is made, or dropped by a scripted quirk."""
    if not isinstance(given, list):
        raise Refusal(422, 'Invalid request.\n\nNo subschema in "oneOf" matched.')
    found = []
    for each in given:
        name = str(each.get("name", "")) if isinstance(each, dict) else str(each)
        label = deeds.find_label(call.world, repo, name)
        if label is None and "unknown_label_dropped" in call.quirks:
            continue
        found.append(label or deeds.define_label(doer(call), repo, checked_name(name)))
    return found


def checked_name(name: str) -> str:
    """A name that a label may have. Raises ``Refusal`` 422."""
    if not name.strip() or len(name) > 50:
        raise invalid("Label", "name", "invalid")
    return name


def list_labels(call: Call) -> Answer:
    """The repository's labels by name."""
    repo = repo_of(call)
    ordered = sorted(repo.labels.values(), key=lambda label: label.name.casefold())
    return listed(call, ordered, lambda label: show(call).label(repo, label))


def create_label(call: Call) -> Answer:
    """``name``, ``color``, ``description``; 422 when the name is there in any case."""
    repo = writing(call, repo_of(call))
    name = checked_name(str(call.json.get("name") or ""))
    if deeds.find_label(call.world, repo, name):
        raise invalid("Label", "name", "already_exists")
    color = str(call.json.get("color") or "ededed")
    if color.startswith("#"):
        raise invalid("Label", "color", "invalid")
    made = deeds.define_label(doer(call), repo, name, color, str(call.json.get("description") or ""))
    return Answer(201, show(call).label(repo, made), {"Location": show(call).label(repo, made)["url"]})


def get_label(call: Call) -> Answer:
    """One definition."""
    repo = repo_of(call)
    return Answer(200, show(call).label(repo, label_of(call, repo, call.params["label"])))


def edit_label(call: Call) -> Answer:
    """``new_name``, ``color``, ``description``."""
    repo = writing(call, repo_of(call))
    label = label_of(call, repo, call.params["label"])
    label.name = checked_name(str(call.json.get("new_name") or label.name))
    label.color = str(call.json.get("color") or label.color)
    label.description = str(call.json.get("description") or label.description)
    return Answer(200, show(call).label(repo, label))


def delete_label(call: Call) -> Answer:
    """The definition goes, from every card too."""
    repo = writing(call, repo_of(call))
    deeds.delete_label(doer(call), repo, label_of(call, repo, call.params["label"]))
    return Answer(204)


def _on_card(call: Call, repo: Repo, issue: Issue) -> Answer:
    return Answer(200, [show(call).label(repo, repo.labels[each]) for each in issue.labels])


def list_on_card(call: Call) -> Answer:
    """The card's labels."""
    repo, issue = card_of(call, part=True)
    return listed(call, [repo.labels[each] for each in issue.labels], lambda label: show(call).label(repo, label))


def add_to_card(call: Call) -> Answer:
    """Names, bare or below ``labels``, come to those that are there. An empty list takes all away."""
    repo, issue = for_writing(call, card_of(call, part=True))
    given = call.any_json
    names = given.get("labels", []) if isinstance(given, dict) else given
    labels = labels_named(call, repo, names)
    if not names or "put_replaces" in call.quirks:
        deeds.set_labels(doer(call), repo, issue, labels)
    for label in labels:
        deeds.add_label(doer(call), repo, issue, label)
    return _on_card(call, repo, issue)


def set_on_card(call: Call) -> Answer:
    """The names replace the whole set."""
    repo, issue = for_writing(call, card_of(call, part=True))
    given = call.any_json
    names = given.get("labels", []) if isinstance(given, dict) else given
    deeds.set_labels(doer(call), repo, issue, labels_named(call, repo, names))
    return _on_card(call, repo, issue)


def remove_all(call: Call) -> Answer:
    """Every label goes."""
    repo, issue = for_writing(call, card_of(call, part=True))
    deeds.set_labels(doer(call), repo, issue, [])
    return Answer(204)


def remove_from_card(call: Call) -> Answer:
    """One name goes; 404 when it is not on the card."""
    repo, issue = for_writing(call, card_of(call, part=True))
    label = deeds.find_label(call.world, repo, call.params["label"])
    if label is None or label.id not in issue.labels or "remove_by_name_404" in call.quirks:
        raise Refusal(404, "Label does not exist")
    deeds.remove_label(doer(call), repo, issue, label)
    return _on_card(call, repo, issue)


_LABELS = "/repos/{owner}/{name}/labels"
_CARD = "/repos/{owner}/{name}/issues/{number}/labels"
ROUTES = (
    Route("GET", _LABELS, "label.list", list_labels, "read"),
    Route("POST", _LABELS, "label.define", create_label, "issues"),
    Route("GET", _LABELS + "/{label}", "label.get", get_label, "read"),
    Route("PATCH", _LABELS + "/{label}", "label.edit", edit_label, "issues"),
    Route("DELETE", _LABELS + "/{label}", "label.delete", delete_label, "issues"),
    Route("GET", _CARD, "issue.labels", list_on_card, "read"),
    Route("POST", _CARD, "label.add", add_to_card, "issues"),
    Route("PUT", _CARD, "label.set", set_on_card, "issues"),
    Route("DELETE", _CARD, "label.clear", remove_all, "issues"),
    Route("DELETE", _CARD + "/{label}", "label.remove", remove_from_card, "issues"),
)
