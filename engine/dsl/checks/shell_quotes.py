"""Follows the quotes of a shell text, as far as telling whether a place in it is inside quotes (language.md 9.3).

Used for C137 only. It knows single and double quotes, backslashes, comments, and command substitutions, which start
afresh inside double quotes; here-documents are left to the caller.
"""

from __future__ import annotations

PLAIN, SINGLE, DOUBLE = "(", "'", '"'


class ShellQuotes:
    """A stack of what is open; ``read`` goes on where the last text ended."""

    def __init__(self) -> None:
        self.open = [PLAIN]

    @property
    def quoted(self) -> bool:
        """Whether the next character stands inside quotes."""
        return self.open[-1] != PLAIN

    def read(self, text: str) -> None:
        """Take in ``text``."""
        place = 0
        while place < len(text):
            place = self._single(text, place) if self.open[-1] == SINGLE else self._letter(text, place)

    def _single(self, text: str, place: int) -> int:
        end = text.find("'", place)
        if end < 0:
            return len(text)
        self.open.pop()
        return end + 1

    def _letter(self, text: str, place: int) -> int:
        letter, inside = text[place], self.open[-1]
        if letter == "\\":
            return place + 2
        if letter == DOUBLE:
            if inside == DOUBLE:
                self.open.pop()
            else:
                self.open.append(DOUBLE)
        elif letter == "$" and text.startswith("$(", place):
            self.open.append(PLAIN)
            return place + 2
        elif inside == PLAIN:
            return self._plain(text, place, letter)
        return place + 1

    def _plain(self, text: str, place: int, letter: str) -> int:
        if letter == SINGLE:
            self.open.append(SINGLE)
        elif letter == "(":
            self.open.append(PLAIN)
        elif letter == ")" and len(self.open) > 1:
            self.open.pop()
        elif letter == "#" and (place == 0 or text[place - 1] in " \t\n;"):
            end = text.find("\n", place)
            return end if end >= 0 else len(text)
        return place + 1
