"""Cards as people read them: lists, one card, its history. Coloured on a terminal, plain and whole in a pipe."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from dispatcher.cli.output import table, visible

if TYPE_CHECKING:
    from dispatcher.documents import Document

_HEADINGS = ("#", "column", "prio", "title", "assignee", "labels", "run", "why idle")
PERSON = "person"
SHORT = 40
"""So many letters of a value are shown in one line with others."""
_COLOURS = {"done": "green", "blocked": "red", "awaiting_input": "yellow", "in_progress": "cyan", "ready": "blue"}


def cards_table(documents: Sequence[Mapping[str, Any]], out: TextIO) -> str:
    """A list of cards; a sentence when there is none."""
    if not documents:
        return "No cards."
    rows = [_row(document) for document in documents]
    shown = [at for at in range(len(_HEADINGS)) if at < 4 or any(row[at] for row in rows)]
    headings = [_HEADINGS[at] for at in shown]
    chosen = [[row[at] for at in shown] for row in rows]
    return _rich_table(headings, chosen, out) if out.isatty() else table(headings, chosen)


def _row(document: Mapping[str, Any]) -> list[str]:
    idle = document["idle_reason"]
    return [
        f"#{document['number']}",
        str(document["column"]),
        str(document["priority"]),
        str(document["title"]),
        str(document["assignee"]),
        ", ".join(document["labels"]),
        str(document["last_run_status"] or ""),
        idle["code"] if idle else "",
    ]


def _rich_table(headings: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        shown.add_column(heading, overflow="ellipsis" if heading == "title" else "fold")
    for row in rows:
        shown.add_row(*(Text(visible(cell), style=_COLOURS.get(cell, "")) for cell in row))
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=Console(file=out).width)
    console.print(shown)
    return text.getvalue().rstrip("\n")


def card_page(document: Mapping[str, Any], waits: Sequence[str] = ()) -> str:
    """One card: what is set, its reason, body and comments; ``waits`` are the cards that it waits for, in words."""
    lines = [f"#{document['number']}  {document['title']}"]
    plain = ("column", "priority", "assignee", "bot", "not_before", "url")
    lines += [f"  {name:<12}{document[name]}" for name in plain if document[name]]
    lines.append(f"  {'moved':<12}{document['column_since']} by {document['column_by']}")
    if document["labels"]:
        lines.append(f"  {'labels':<12}{', '.join(document['labels'])}")
    if document.get("archived"):
        lines.append(f"  {'put away':<12}card unarchive {document['number']} brings it back")
    if document["blockers"]:
        lines.append(f"  {'waits for':<12}{', '.join(waits or document['blockers'])}")
    for group in ("fields", "bot_args"):
        lines += [f"  {group:<12}{name} = {value}" for name, value in document[group].items()]
    if document["last_run"]:
        lines.append(f"  {'last run':<12}{document['last_run']} ({document['last_run_status'] or 'no record'})")
    idle = document["idle_reason"]
    if idle:
        lines.append(f"  {'why idle':<12}{idle['text']} ({idle['code']})")
        lines.append(f"  {'unblock':<12}{idle['unblock']}")
    lines.append(f"  {'id':<12}{document['id']}")
    if document["body"]:
        lines += ["", str(document["body"]).rstrip("\n")]
    for comment in document.get("comments", ()):
        who = comment["author"]["name"] or comment["author"]["kind"]
        told = f"{comment['id']}, edited" if comment["edited_at"] else comment["id"]
        lines += ["", f"{comment['created_at']}  {who} ({told}):", str(comment["text"]).rstrip("\n")]
    return "\n".join(lines)


def history_text(events: Sequence[Mapping[str, Any]]) -> str:
    """A history, one line per event."""
    lines = [f"{event['seq']:>5}  {event['time']}  {_who(event['by']):<12}  {_told(event)}" for event in events]
    return "\n".join(lines) or "No history."


def _who(mover: Mapping[str, Any]) -> str:
    """A person's name alone; of all others what they are as well, since a name may be anybody's."""
    name = mover["run_id"] or mover["name"]
    kind = str(mover["kind"])
    return str(name or kind) if kind == PERSON else f"{kind} {name}".rstrip()


def _told(event: Mapping[str, Any]) -> str:
    data: Mapping[str, Any] = event["data"]
    kind = str(event["type"])
    if kind == "card_moved":
        reason = f" ({data['reason']})" if data.get("reason") else ""
        return f"{kind}: {data['from']} -> {data['to']}{reason}"
    if kind in {"comment_added", "comment_edited"}:
        return f"{kind}: {_one_line(data.get('text') or data.get('to'))}"
    if kind == "card_updated":
        changed = [_changed(name, value) for name, value in data.get("changed", {}).items()]
        return f"{kind}: {', '.join(changed or data.get('imported') or ())}"
    return f"{kind}: {_one_line(', '.join(f'{name}={_shown(value)}' for name, value in data.items()))}".removesuffix(
        ": "
    )


def _changed(name: str, value: Mapping[str, Any]) -> str:
    """One value with what it was and is; a text is too long for that, a place says nothing to people."""
    if set(value) != {"from", "to"}:
        return name
    return f"{name} {_one_line(_shown(value['from']), SHORT)} -> {_one_line(_shown(value['to']), SHORT)}"


def _shown(value: Any) -> str:
    """A value of an event in people's words."""
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, list):
        return "+".join(map(str, value))
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_shown(each)}" for name, each in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _one_line(text: object, limit: int = 100) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def board_page(documents: Mapping[str, Sequence[Document]], flags: Mapping[str, str]) -> str:
    """The whole board: each column with its cards, below each other."""
    lines: list[str] = []
    for name, cards in documents.items():
        flag = f", {flags[name]}" if flags.get(name) else ""
        lines.append(f"{name} ({len(cards)}{flag})")
        lines += [f"  #{card['number']}  {card['title']}{_tail(card)}" for card in cards]
    return "\n".join(lines)


def _tail(card: Mapping[str, Any]) -> str:
    idle = card["idle_reason"]
    parts = [card["assignee"], *card["labels"], card["last_run_status"], idle["text"] if idle else ""]
    told = ", ".join(str(part) for part in parts if part)
    return f"  [{told}]" if told else ""
