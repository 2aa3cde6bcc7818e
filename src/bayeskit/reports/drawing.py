"""Drawing: pictures as SVG and HTML whose colours are the page's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float, Label
from bayeskit.plots.nomogram import round_step
from bayeskit.reports.markup import Safe, percent, plain, text

if TYPE_CHECKING:
    from bayeskit.reports.effects import Effect

SIZE, LEFT, BOTTOM, TOP = 300, 56, 42, 10  # of a square plot and its margins
WIDTH, HEIGHT = LEFT + SIZE + TOP, TOP + SIZE + BOTTOM
SHORT = 5  # letters of a name that stand over a narrow column
FEW = 4  # classes whose names have room in a table of true classes against predicted ones


def square(inner: str, across: str, up: str, label: str, even: bool = True) -> str:
    """A plot of two shares from 0 to 1; ``even`` draws where they are equal."""
    diagonal = f'<line class="even" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>' if even else ""
    marks = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _x(share), _y(share)
        marks.append(f'<line class="rule" x1="{x}" x2="{x}" y1="{TOP}" y2="{TOP + SIZE}"/>')
        marks.append(f'<line class="rule" x1="{LEFT}" x2="{LEFT + SIZE}" y1="{y}" y2="{y}"/>')
        marks.append(f'<text class="tick" x="{x}" y="{TOP + SIZE + 16}" text-anchor="middle">{share:g}</text>')
        marks.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 4}" text-anchor="end">{share:g}</text>')
    middle = TOP + SIZE / 2
    turned = f'x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})"'
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{plain(label, 120)}">'
        f"{''.join(marks)}{diagonal}{inner}"
        f'<text class="axis" x="{LEFT + SIZE / 2}" y="{HEIGHT - 6}" text-anchor="middle">{plain(across)}</text>'
        f'<text class="axis" {turned}>{plain(up)}</text>'
        f"</svg>"
    )


def line(x: Float, y: Float) -> str:
    """A curve in a square plot."""
    points = " ".join(f"{_x(a):.1f},{_y(b):.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return f'<polyline class="line" points="{points}"/>'


def level(share: float) -> str:
    """A dashed line across a square plot."""
    return f'<line class="even" x1="{_x(0)}" y1="{_y(share):.1f}" x2="{_x(1)}" y2="{_y(share):.1f}"/>'


def dots(x: Float, y: Float, low: Float, high: Float, weight: Float) -> str:
    """Points with their intervals; the area of a point is its weight."""
    size = 2.5 + 5.5 * np.sqrt(weight / max(float(weight.max(initial=0.0)), 1e-300))
    every = zip(x.tolist(), y.tolist(), low.tolist(), high.tolist(), size.tolist(), strict=True)
    return "".join(
        f'<line class="whisker" x1="{_x(a):.1f}" x2="{_x(a):.1f}" y1="{_y(down):.1f}" y2="{_y(up):.1f}"/>'
        f'<circle class="dot" cx="{_x(a):.1f}" cy="{_y(b):.1f}" r="{r:.1f}"/>'
        for a, b, down, up, r in every
    )


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)


def heat(matrix: Float, labels: Sequence[Label], actions: Sequence[Label]) -> str:
    """True classes against predicted ones: counts, shaded by their share of the true class."""
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)
    long = 28 if len(actions) <= FEW else 18

    def name(label: Label) -> str:  # may be broken after an underscore
        return text(label, long).replace("_", "_<wbr>") if len(str(label)) <= long else text(label, long)

    head = "".join(f'<th scope="col">{name(label)}</th>' for label in actions)
    rows = []
    for i, label in enumerate(labels):
        cells = "".join(
            f'<td class="{"right" if i == j else "wrong"}" style="--share:{share[i, j]:.3f}">'
            f"<b>{matrix[i, j]:,.6g}</b> <small>{percent(share[i, j])}</small></td>"
            for j in range(len(actions))
        )
        rows.append(f'<tr><th scope="row">{name(label)}</th>{cells}</tr>')
    return (
        f'<p class="fine">Rows are true classes, columns predicted ones; shares are of the true class.</p>'
        f'<div class="wide"><table class="heat"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def small_heat(matrix: Float, labels: Sequence[Label], actions: Sequence[Label]) -> str:
    """The same for many classes: small cells, which say more when pointed at."""
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)
    tall = max(len(str(label)) for label in actions) > SHORT  # then names stand upright over their columns
    long = 24 if tall else SHORT
    head = "".join(
        f'<th scope="col" title="{plain(label, 90)}"><span>{plain(label, long)}</span></th>' for label in actions
    )

    def cell(i: int, j: int) -> str:
        if not matrix[i, j] > 0:
            return "<td></td>"
        title = f"{labels[i]} predicted as {actions[j]}: {matrix[i, j]:,.6g} rows, {percent(share[i, j])}"
        kind = "right" if i == j else "wrong"
        return (
            f'<td class="{kind}" style="--share:{share[i, j]:.3f}" title="{plain(title, 200)}">{matrix[i, j]:.4g}</td>'
        )

    rows = "".join(
        f'<tr><th scope="row" title="{plain(label, 90)}">{plain(label, 24)}</th>'
        f"{''.join(cell(i, j) for j in range(len(actions)))}</tr>"
        for i, label in enumerate(labels)
    )
    return (
        f'<p class="fine">Rows are true classes, columns predicted ones: numbers of rows, shaded by their share of the '
        f"true class.</p>"
        f'<div class="wide" aria-label="True classes against predicted ones, scrolls sideways">'
        f'<table class="heat small{" tall" if tall else ""}"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def bars(names: Sequence[Label], sizes: Sequence[float], unit: str) -> str:
    """Lengths beside each other."""
    most = max(sizes, default=0.0) or 1.0
    rows = "".join(
        f'<li><span class="name">{text(name)}</span><span class="track"><i style="width:{100 * size / most:.2f}%"></i>'
        f'</span><span class="n">{brief(size, 3)}</span></li>'
        for name, size in zip(names, sizes, strict=True)
    )
    return f'<ol class="bars" aria-label="{plain(unit, 120)}">{rows}</ol>'


def waterfall(rows: Sequence[tuple[Safe, float]]) -> str:
    """Steps that add up, each beginning where the one before ended; the whole comes last."""
    ends = np.cumsum([0.0, *(step for _, step in rows)])
    low, high = float(ends.min()), float(ends.max())
    wide = (high - low) or 1.0

    def at(value: float) -> float:
        return 100 * (value - low) / wide

    def row(name: str, begin: float, end: float, kind: str, shown: str) -> str:
        left, width = at(min(begin, end)), 100 * abs(end - begin) / wide
        return (
            f'<li class="{kind}"><span class="name">{name}</span><span class="track">'
            f'<u style="left:{at(0):.2f}%"></u><i style="left:{left:.2f}%;width:{width:.2f}%"></i></span>'
            f'<span class="n">{shown}</span></li>'
        )

    steps = [
        row(name, begin, end, "for" if step >= 0 else "against", with_sign(step))
        for (name, step), begin, end in zip(rows, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    total = float(ends[-1])
    return f'<ol class="fall">{"".join(steps)}{row("together", 0.0, total, "total", with_sign(total))}</ol>'


def with_sign(number: float) -> str:
    """A step with its sign."""
    return "0.00" if abs(number) < 0.005 else _minus(("+" if number > 0 else "-") + brief(abs(number), 2))


def brief(size: float, places: int) -> str:
    """A size that fits beside a bar, however large.

    >>> brief(3.14159, 2), brief(31415.9, 2), brief(3.14159e9, 2)
    ('3.14', '31416', '3.1e9')
    """
    if size < 1000:
        return f"{size:.{places}f}"
    return f"{size:.0f}" if size < 1e5 else f"{size:.1e}".replace("e+0", "e").replace("e+", "e")


def key(labels: Sequence[Label]) -> str:
    """Which colour is which class."""
    shown = "".join(f'<li><i class="c{k}"></i>{text(label)}</li>' for k, label in enumerate(labels))
    return f'<ul class="key">{shown}</ul>'


def effect_curves(effect: Effect, reach: float) -> str:
    """Curves over the values of a number column, from -reach to reach bits, above a histogram of the rows."""
    wide, left, edge, top, high, bars = 320, 40, 8, 8, 120, 26
    low, far = float(effect.edges[0]), float(effect.edges[-1])
    floor = top + high + bars + 6

    def across(x: Float | float) -> Float:
        return left + (np.asarray(x, dtype=np.float64) - low) / (far - low) * (wide - left - edge)

    def height(bits: Float | float) -> Float:
        return top + (reach - np.clip(bits, -reach, reach)) / (2 * reach) * high

    def points(x: Float, y: Float) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across(x).tolist(), height(y).tolist(), strict=True))

    x = np.asarray(effect.values, dtype=np.float64)
    several = effect.bits.shape[1] > 1
    band = ""
    if effect.varies and not several:
        around = points(x, effect.low[:, 0]), points(x[::-1], effect.high[::-1, 0])
        band = f'<polygon class="band" points="{" ".join(around)}"/>'
    names = [f"line c{k}" if several else "line" for k in range(effect.bits.shape[1])]
    curves = "".join(
        f'<polyline class="{name}" points="{points(x, effect.bits[:, k])}"/>' for k, name in enumerate(names)
    )
    ticks = [-reach, -reach / 2, 0.0, reach / 2, reach]
    sides = "".join(
        f'<line class="{"even" if v == 0 else "rule"}" x1="{left}" x2="{wide - edge}" y1="{height(v):.1f}" '
        f'y2="{height(v):.1f}"/><text x="{left - 6}" y="{height(v) + 4:.1f}" text-anchor="end">'
        f"{_minus(f'{v:+g}' if v else '0')}</text>"
        for v in ticks
    )
    most = max(float(effect.share.max(initial=0.0)), 1e-300)
    columns = zip(across(effect.edges[:-1]).tolist(), across(effect.edges[1:]).tolist(), effect.share, strict=True)
    histogram = "".join(
        f'<rect class="mass" x="{a:.1f}" width="{max(b - a - 0.6, 0.6):.1f}" y="{floor - bars * s / most:.1f}" '
        f'height="{bars * s / most:.1f}"/>'
        for a, b, s in columns
        if s > 0
    )
    marks = round_ticks(low, far, 4)
    ends = "".join(
        f'<text x="{across(v):.1f}" y="{floor + 16}" text-anchor="{"end" if across(v) > wide - 24 else "middle"}">'
        f"{_minus(f'{v:,.6g}')}</text>"
        for v in marks
    )
    base = f'<line class="rule" x1="{left}" x2="{wide - edge}" y1="{floor}" y2="{floor}"/>'
    named = f'role="img" aria-label="{plain(f"Evidence in bits by value of {effect.name}", 120)}"'
    inner = f"{sides}{base}{histogram}{band}{curves}{ends}"
    return f'<svg class="plot" viewBox="0 0 {wide} {floor + 22}" {named}>{inner}</svg>'


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers between two ends, about so many.

    >>> round_ticks(0.3, 9.7, 4)
    [2.5, 5.0, 7.5]
    """
    step = round_step((high - low) / about)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(k * step, 12) for k in range(first, last + 1)]


def effect_levels(
    names: Sequence[Label], bits: Float, exact: Float, shares: Sequence[str], reach: float, several: bool
) -> str:
    """Levels with bars (points, of several classes) from -reach to reach bits, and the share of rows that have each."""

    def at(size: float) -> float:
        return 50 + 50 * size / reach

    rows = []
    for name, row, true, share in zip(names, bits.tolist(), exact.tolist(), shares, strict=True):
        if several:
            marks = "".join(f'<i class="c{k}" style="left:{2 + 0.96 * at(b):.2f}%"></i>' for k, b in enumerate(row))
            track = f'<span class="track dotted"><u style="left:50%"></u>{marks}</span>'
        else:
            b = row[0]
            place = f"left:{min(at(b), 50.0):.2f}%;width:{abs(at(b) - 50):.2f}%"
            track = f'<span class="track"><u style="left:50%"></u><i style="{place}"></i></span>'
        kind = "" if several else "for" if row[0] >= 0 else "against"  # of several, each mark has a colour of its own
        said = "" if several else f"{with_sign(true[0])} "
        rows.append(
            f'<li class="{kind}"><span class="name">{text(name, 24)} <small>{share}</small></span>{track}'
            f'<span class="n">{said}</span></li>'
        )
    ends = f"<small>{_minus(f'{-reach:g}')}</small><small>0</small><small>+{reach:g}</small>"
    foot = f'<li><span></span><span class="ends">{ends}</span><span></span></li>'
    return f'<ol class="fall levels">{"".join(rows)}{foot}</ol>'


def _minus(number: str) -> str:
    return number.replace("-", "−")
