"""Written: calculations as a textbook prints them, in text, HTML and LaTeX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape

import numpy as np

NEXT, BREAK = "\n", " \\\\\n"  # a piece that is NEXT begins a new line
TEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Ratio:
    """A probability as the fraction a textbook writes, not reduced.

    >>> print(Ratio.of([2, 1], [9, 3]), float(Ratio.of([2, 1], [9, 3])))
    (2+1)/(9+3) 0.25
    """

    above: str
    below: str
    value: Fraction
    power: int = 1  # to which it is raised; the value is the power's

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> Ratio:
        """One sum over another."""
        top, bottom = (sum((decimal(x) for x in terms), Fraction(0)) for terms in (above, below))
        return cls("+".join(map(plain, above)), "+".join(map(plain, below)), top / bottom if bottom else Fraction(0))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        above, below = (f"({text})" if set(text) & set("+·/") else text for text in (self.above, self.below))
        return f"{above}/{below}" if self.power == 1 else f"({above}/{below})^{self.power}"

    def to_power(self, power: int) -> Ratio:
        """The fraction, so many times."""
        return replace(self, value=self.value**power, power=power)


def decimal(x: float) -> Fraction:
    """A number as the decimal it prints as: 0.1 is a tenth."""
    return Fraction(repr(float(x)))


def plain(x: float) -> str:
    """A number without a fraction that is zero: 2, 0.5."""
    return f"{float(x):.10g}"


Piece = str | Ratio
Line = tuple[Piece, ...]


class Written(ABC):
    """Lines of words and fractions: ``print`` it, show it in a notebook, or take its ``latex()``."""

    @abstractmethod
    def _lines(self) -> list[Line]:
        """The calculation, line by line."""

    def __str__(self) -> str:
        return "\n".join(text_of(line) for line in self._lines())

    def __repr__(self) -> str:
        return str(self)

    def latex(self) -> str:
        """An ``align*`` environment."""
        lines = (" ".join(_tex(piece) for piece in line) for line in self._lines())
        return "\\begin{align*}\n" + BREAK.join("& " + line for line in lines) + "\n\\end{align*}"

    def _repr_html_(self) -> str:
        rows = ("".join(_html(piece) for piece in line) for line in self._lines())
        return "<div>" + "".join(f'<p style="margin:.3em 0;line-height:1.9">{row}</p>' for row in rows) + "</div>"


def text_of(line: Line) -> str:
    return "".join("\n   " if piece == NEXT else str(piece) for piece in line)


def from_log(log: float) -> str:
    """A number by its logarithm, also below the range of a double."""
    if np.isneginf(log) or log > -600:
        return f"{np.exp(log):.4g}"
    digits = log / np.log(10)
    return f"{10 ** (digits - np.floor(digits)):.3f}e{int(np.floor(digits))}"


def _tex(piece: Piece) -> str:
    if isinstance(piece, Ratio):
        above, below = (part.replace("·", r"\cdot ") for part in (piece.above, piece.below))
        fraction = rf"\tfrac{{{above}}}{{{below}}}"
        return fraction if piece.power == 1 else rf"\left({fraction}\right)^{{{piece.power}}}"
    if piece == NEXT:
        return BREAK + r"& \quad"
    words = "".join(TEX.get(c, c) for c in piece)
    return r"\text{" + words.replace("·", r"$\cdot$") + "}"


def _html(piece: Piece) -> str:
    if isinstance(piece, Ratio):
        above, below = (f"<mn>{escape(part)}</mn>" for part in (piece.above, piece.below))
        fraction = f"<mfrac>{above}{below}</mfrac>"
        if piece.power != 1:
            fraction = f"<msup><mrow><mo>(</mo>{fraction}<mo>)</mo></mrow><mn>{piece.power}</mn></msup>"
        return f"<math>{fraction}</math>"
    return "<br>&emsp;" if piece == NEXT else escape(piece)
