"""What text a card may hold: sizes, forbidden characters, and how names are compared (dispatcher.md 29).

Pure. Called by ``drafts`` and the boards before anything is written. Text that passes is stored as it was given; only
comparisons use a normal form.
"""

from __future__ import annotations

import unicodedata

from connectors.errors import InvalidText

TITLE_CHARACTERS = 500
"""Longest title, in characters."""
TEXT_BYTES = 1024 * 1024
"""Longest body or comment, in bytes of UTF-8."""
NAME_CHARACTERS = 255
"""Longest label, assignee, bot or field name, in characters."""
REASON_CHARACTERS = 1000
"""Longest reason of a move, in characters."""


def same_name(name: str) -> str:
    """The form in which labels and columns are compared: NFC, case kept."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def folded(text: str) -> str:
    """The form in which words are looked for: A and a, Ä and ä are the same. Databases do it alike where they can."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def check_title(title: str) -> str:
    """The title as it is. Raises ``InvalidText`` for an empty or too long one."""
    _check_characters("title", title)
    if not title.strip():
        raise InvalidText("The title is empty.", "Give the card a title.")
    if len(title) > TITLE_CHARACTERS:
        raise InvalidText(
            f"The title has {len(title)} characters; a title has at most {TITLE_CHARACTERS}.",
            "Shorten it and put the rest into the body.",
        )
    return title


def fit_title(title: str) -> str:
    """A title of somebody else's making as a card may have it: cut, without NUL, and never empty."""
    return title.replace("\x00", "")[:TITLE_CHARACTERS].strip() or "(no title)"


def check_text(what: str, text: str) -> str:
    """A body or a comment as it is. Raises ``InvalidText`` above 1 MiB of UTF-8."""
    _check_characters(what, text)
    size = len(text.encode("utf-8"))
    if size > TEXT_BYTES:
        raise InvalidText(
            f"The {what} has {size} bytes; it may have at most {TEXT_BYTES} (1 MiB).",
            "Put the long part into a file and name it here.",
        )
    return text


def check_name(what: str, name: str) -> str:
    """A label, an assignee or the like as it is. Raises ``InvalidText`` for an empty or too long one."""
    _check_characters(what, name)
    if not name.strip():
        raise InvalidText(f"The {what} is empty.", f"Leave the {what} out or name it.")
    if len(name) > NAME_CHARACTERS:
        raise InvalidText(
            f"The {what} has {len(name)} characters; it may have at most {NAME_CHARACTERS}.", "Shorten it."
        )
    return name


def check_reason(reason: str) -> str:
    """Why a card is moved, as it is; it may be empty. Raises ``InvalidText`` for a too long one."""
    _check_characters("reason", reason)
    if len(reason) > REASON_CHARACTERS:
        raise InvalidText(
            f"The reason has {len(reason)} characters; it may have at most {REASON_CHARACTERS}.",
            "Shorten it and put the rest into a comment.",
        )
    return reason


def _check_characters(what: str, text: str) -> None:
    if "\x00" in text:
        raise InvalidText(f"The {what} contains a NUL character.", "Remove it; text holds no NUL.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"The {what} contains a lone surrogate at character {error.start + 1}.",
            "Send it as valid Unicode (UTF-8).",
        ) from error
