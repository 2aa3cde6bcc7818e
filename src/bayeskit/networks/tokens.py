"""Tokens: the words and marks of a BIF text, read without recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayeskit.errors import NetworkError

# comments, quoted names, marks, and words, which end at white space or a mark
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?P<quoted>[^"\n]*)"|(?P<mark>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|"]+)', re.DOTALL
)


class Tokens:
    """Words and marks of a text, one after the other; nothing recurses."""

    def __init__(self, text: str) -> None:
        self.found: list[str] = []
        self.marks: list[bool] = []
        self.begin: list[int] = []
        self.text = text
        end = 0
        for match in _TOKEN.finditer(text):
            self._gap(end, match.start())
            end = match.end()
            if match.lastgroup is not None:
                self.found.append(match[match.lastgroup])
                self.marks.append(match.lastgroup == "mark")
                self.begin.append(match.start())
        self._gap(end, len(text))
        self.at = 0

    def _gap(self, start: int, end: int) -> None:
        if (gap := self.text[start:end]) and not gap.isspace():
            line = self.text.count("\n", 0, start) + 1
            raise NetworkError(f"line {line}: {gap.strip()[:20]!r} is not closed (a quoted name or a comment)")

    def next(self) -> str | None:
        self.at += 1
        return self.found[self.at - 1] if self.at <= len(self.found) else None

    def need(self, what: str) -> str:
        if (word := self.next()) is None:
            raise self.error(f"it ends where {what} belongs; it is cut short")
        return word

    def name(self, what: str) -> str:
        word = self.need(f"the name of {what}")
        if self.marks[self.at - 1]:
            raise self.error(f"{word!r} stands where the name of {what} belongs")
        return word

    def mark(self, wanted: str) -> None:
        word = self.need(repr(wanted))
        if word != wanted or not self.marks[self.at - 1]:
            raise self.error(f"{word[:40]!r} stands where {wanted!r} belongs")

    def number(self) -> float:
        word = self.name("a probability")
        try:
            return float(word)
        except ValueError:
            raise self.error(f"{word[:40]!r} is no number") from None

    def ahead(self, mark: str) -> bool:
        """Whether the next token is this mark, which is then taken."""
        if self.at < len(self.found) and self.marks[self.at] and self.found[self.at] == mark:
            self.at += 1
            return True
        return False

    def skip_braces(self) -> None:
        depth = 0
        while True:
            word = self.need("'}'")
            if self.marks[self.at - 1]:
                depth += (word == "{") - (word == "}")
                if not depth:
                    return

    def skip_property(self) -> None:
        while not (self.need("';'") == ";" and self.marks[self.at - 1]):
            pass

    def separated(self, end: str) -> Iterator[None]:
        """Once before every item of a list; commas may separate them."""
        while not self.ahead(end):
            yield
            self.ahead(",")

    def error(self, what: str) -> NetworkError:
        place = self.begin[min(self.at, len(self.begin)) - 1] if self.begin else 0
        return NetworkError(f"line {self.text.count(chr(10), 0, place) + 1}: {what}")
