"""GitHub's comments and reactions of cards."""

from __future__ import annotations

from connectors.fake_forge import deeds
from connectors.fake_forge.exchange import Answer, Call, Refusal, Route
from connectors.fake_forge.github.finding import (
    WRITERS,
    card_of,
    comment_of,
    doer,
    invalid,
    show,
    since_of,
    text_of,
)
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Comment, Issue, Reaction, Repo

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


def list_comments(call: Call) -> Answer:
    """A card's comments by id; ``since`` by update."""
    repo, issue = card_of(call, part=True)
    since = since_of(call)
    found = [each for each in issue.comments if since is None or each.updated_at >= since]
    return listed(call, found, lambda comment: show(call).comment(repo, issue, comment))


def create_comment(call: Call) -> Answer:
    """``body``; anybody may who can read, unless the card is locked."""
    repo, issue = card_of(call, part=True)
    call.writable(repo)
    if issue.locked and repo.rights.get(call.user.login) not in WRITERS:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    body = text_of(call, "body", needed=True) or ""
    made = deeds.add_comment(doer(call), repo, issue, body)
    document = show(call).comment(repo, issue, made)
    return Answer(201, document, {"Location": document["url"]})


def get_comment(call: Call) -> Answer:
    """One comment."""
    return Answer(200, show(call).comment(*comment_of(call)))


def edit_comment(call: Call) -> Answer:
    """Another ``body``: one's own, or any with write permission."""
    repo, issue, comment = _own(call)
    deeds.edit_comment(doer(call), repo, issue, comment, text_of(call, "body", needed=True) or "")
    return Answer(200, show(call).comment(repo, issue, comment))


def delete_comment(call: Call) -> Answer:
    """It goes."""
    repo, issue, comment = _own(call)
    deeds.delete_comment(doer(call), repo, issue, comment)
    return Answer(204)


def _own(call: Call) -> tuple[Repo, Issue, Comment]:
    found = comment_of(call)
    call.writable(found[0])
    if found[2].author != call.user.login and found[0].rights.get(call.user.login) not in WRITERS:
        raise Refusal(403, "Must have admin rights to Repository.")
    return found


def _react(call: Call, reactions: list[Reaction]) -> Answer:
    name = str(call.json.get("content") or "")
    if name not in REACTIONS:
        raise invalid("Reaction", "content", "invalid")
    made, new = deeds.react(doer(call), reactions, name)
    return Answer(201 if new else 200, show(call).reaction(made))


def react_to_card(call: Call) -> Answer:
    """``content``: 201 when new, 200 when it was there."""
    return _react(call, card_of(call, part=True)[1].reactions)


def react_to_comment(call: Call) -> Answer:
    """The same on a comment."""
    return _react(call, comment_of(call)[2].reactions)


def list_card_reactions(call: Call) -> Answer:
    """A card's reactions."""
    return listed(call, card_of(call, part=True)[1].reactions, show(call).reaction)


def list_comment_reactions(call: Call) -> Answer:
    """A comment's reactions."""
    return listed(call, comment_of(call)[2].reactions, show(call).reaction)


_CARD = "/repos/{owner}/{name}/issues/{number}"
_COMMENT = "/repos/{owner}/{name}/issues/comments/{id}"
ROUTES = (
    Route("GET", _COMMENT, "comment.get", get_comment, "read"),
    Route("PATCH", _COMMENT, "comment.edit", edit_comment, "issues"),
    Route("DELETE", _COMMENT, "comment.delete", delete_comment, "issues"),
    Route("GET", _COMMENT + "/reactions", "reaction.list", list_comment_reactions, "read"),
    Route("POST", _COMMENT + "/reactions", "reaction.add", react_to_comment, "issues"),
    Route("GET", _CARD + "/comments", "comment.list", list_comments, "read"),
    Route("POST", _CARD + "/comments", "issue.comment", create_comment, "issues"),
    Route("GET", _CARD + "/reactions", "reaction.list", list_card_reactions, "read"),
    Route("POST", _CARD + "/reactions", "reaction.add", react_to_card, "issues"),
)
