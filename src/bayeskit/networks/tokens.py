"""Tokens: the words and marks of a BIF text, one at a time; nothing recurses and nothing is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayeskit.errors import NetworkError

# white space, then a comment, a quoted name, a mark, or a word, which ends at white space or a mark
_TOKEN = re.compile(
    r'\s*+(?:(?P<comment>//[^\n]*+|/\*)|"(?P<quoted>[^"\n]*+)"|(?P<mark>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|"]++)|(?P<end>\Z))'
)
_NUMBERS = re.compile(r"[\s,0-9eE.+-]*+")


class Tokens:
    """A place in a text, and how to go on from there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_mark = False  # of the last token taken

    def _look(self) -> tuple[str | None, bool, int]:
        """The next token (None at the end), whether it is a mark, and where it ends."""
        place = self.at
        while True:
            found = _TOKEN.match(self.text, place)
            if found is None:
                self.at = place
                raise self.error("a quoted name is not closed")
            kind, place = found.lastgroup, found.end()
            if kind == "comment":
                if found["comment"] == "/*":
                    place = self.text.find("*/", place) + 2
                    if place < 2:
                        raise self.error("a comment is not closed")
                continue
            return (None if kind == "end" else found[str(kind)]), kind == "mark", place

    def next(self) -> str | None:
        word, self.is_mark, self.at = self._look()
        return word

    def need(self, what: str) -> str:
        if (word := self.next()) is None:
            raise self.error(f"it ends where {what} belongs; it is cut short")
        return word

    def name(self, what: str) -> str:
        word = self.need(f"the name of {what}")
        if self.is_mark:
            raise self.error(f"{word!r} stands where the name of {what} belongs")
        return word

    def mark(self, wanted: str) -> None:
        word = self.need(repr(wanted))
        if word != wanted or not self.is_mark:
            raise self.error(f"{word[:40]!r} stands where {wanted!r} belongs")

    def ahead(self, mark: str) -> bool:
        """Whether the next token is this mark, which is then taken."""
        word, is_mark, end = self._look()
        if is_mark and word == mark:
            self.at = end
            return True
        return False

    def number(self) -> float:
        word = self.name("a probability")
        try:
            return float(word)
        except ValueError:
            raise self.error(f"{word[:40]!r} is no number") from None

    def numbers(self) -> list[float]:
        """All numbers up to a semicolon, which is taken."""
        plain = _NUMBERS.match(self.text, self.at)
        if plain is not None and self.text[plain.end() : plain.end() + 1] == ";":  # nearly always, and much faster
            try:
                found = [float(word) for word in plain[0].replace(",", " ").split()]
            except ValueError:
                found = []  # the long way says where
            if found:
                self.at = plain.end() + 1
                return found
        return [self.number() for _ in self.items_until(";")]

    def items_until(self, end: str) -> Iterator[None]:
        """Once before every item of a list; commas may separate them."""
        while not self.ahead(end):
            yield
            self.ahead(",")

    def skip_braces(self) -> None:
        depth = 0
        while True:
            word = self.need("'}'")
            if self.is_mark:
                depth += (word == "{") - (word == "}")
                if depth <= 0:
                    return

    def skip_property(self) -> None:
        while not (self.need("';'") == ";" and self.is_mark):
            pass

    def error(self, what: str) -> NetworkError:
        return NetworkError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")
