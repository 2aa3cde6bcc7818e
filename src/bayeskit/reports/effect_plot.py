"""Effect plot: what each value of a column says, over how many rows have it; and pairs that say more together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.plots.nomogram import round_step
from bayeskit.reports import drawing
from bayeskit.reports.effects import Effect, EffectProbe, Pair
from bayeskit.reports.markup import Section, percent, text
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.profile import Profile, Table

COLUMNS, CLASSES = 8, 6  # that are drawn at most
TRIED = 40  # columns that are looked at where none is known to matter
PAIRED, PAIRS = 5, 3  # columns that are joined in twos, and pairs shown
SURE = 10.0  # bits beyond which odds of more than 1,000 to 1 look equal
WORTH, TOGETHER = 0.01, 0.1  # bits on average below which a column, or a pair, is not drawn


@dataclass(frozen=True)
class Effects:
    """What each column says, of those that matter most."""

    probe: EffectProbe | None  # None where no column can be changed
    found: tuple[Effect, ...]

    @classmethod
    def of(
        cls, evaluation: Evaluation, table: Table | None, interest: OneClass, evidence: Mapping[str, float] | None
    ) -> Effects:
        """``evidence`` is the evidence in each column, where it is known."""
        if table is None or not table.names or table.single_values or len(evaluation.classes) < 2:
            return cls(None, ())
        probe = EffectProbe(evaluation.model, table, _curves(evaluation, interest))
        tried = (probe.effect(p) for p in _rank(table.profiles, evidence))
        found = [effect for effect in tried if effect is not None and np.isfinite(effect.bits).all()]
        return cls(probe, tuple(found if evidence else sorted(found, key=lambda effect: -effect.worth)))

    @property
    def worth(self) -> dict[str, float]:
        """By column the mean over rows of how far it moves the odds, in bits."""
        return {effect.name: effect.worth for effect in self.found}

    def section(self) -> Section | None:
        """Each column by itself, and pairs that say more together; None where none says anything."""
        shown = [effect for effect in self.found if effect.worth >= WORTH][:COLUMNS]
        if not shown or self.probe is None:
            return None
        labels = [self.probe.model.classes_.tolist()[k] for k in self.probe.curves]
        several = len(labels) > 1
        reach = _reach(shown)
        figures = "".join(_figure(effect, reach, several) for effect in shown)
        key = drawing.key(labels) if several else ""
        body = f'{_lead(self.probe, labels, shown, several, reach)}{key}<div class="portraits">{figures}</div>'
        if any(effect.varies for effect in shown):
            profiles = [self.probe.table.profiles[effect.name] for effect in shown[:PAIRED]]
            body += _pairs(self.probe, profiles, labels[0])
        return Section("values", "What each value says", body)


def _curves(evaluation: Evaluation, interest: OneClass) -> tuple[int, ...]:
    """The classes to draw: of two the one of interest, of many the one of interest and the commonest."""
    count = len(evaluation.classes)
    if count == 2:
        return (interest.place,)
    often = np.argsort(-evaluation.confusion.matrix.sum(axis=1), kind="stable").tolist()
    drawn = [interest.place, *(k for k in often if k != interest.place)][:CLASSES]
    return tuple([drawn[0], *sorted(drawn[1:])] if count > CLASSES else range(count))


def _rank(profiles: Mapping[str, Profile], evidence: Mapping[str, float] | None) -> list[Profile]:
    """The columns to look at: those with most evidence, if it is known."""
    if evidence is None:
        return list(profiles.values())[:TRIED]
    order = sorted((name for name in profiles if evidence.get(name, 0.0) > 0), key=lambda name: -evidence[name])
    return [profiles[name] for name in order[: 2 * COLUMNS]]


def _lead(probe: EffectProbe, labels: Sequence[object], shown: Sequence[Effect], several: bool, reach: float) -> str:
    against = "not knowing the column" if probe.optional else "the average of the column"
    how = (
        "Each colour is a class: the higher (or further right), the more a value speaks for it, against the mean of "
        "all classes"
        if several
        else f"Above zero (or to the right) a value speaks for {text(labels[0])}, below against it"
    )
    clipped = any(np.abs(effect.bits).max(initial=0.0) > reach for effect in shown)
    beyond = f"what is beyond {reach:g} bits is drawn at its edge; " if clipped else ""
    band = (
        " What a column says depends on the others here: lines are means over rows, bands hold eight of ten rows."
        if any(effect.varies for effect in shown) and not several
        else ""
    )
    return (
        f"<p>How far each value moves the odds, compared with {against}, in bits: one bit doubles or halves them. "
        f"{how}. All pictures have the same scale; {beyond}grey bars show how many rows have a value.{band}</p>"
    )


def _reach(effects: Sequence[Effect]) -> float:
    """How many bits to either side are drawn: as far as 99 of 100 rows go."""
    sizes, weights = [], []
    for e in effects:
        if e.numeric:
            middle = (e.edges[1:] + e.edges[:-1]) / 2
            x = np.asarray(e.values, dtype=np.float64)
            sizes += [np.abs([np.interp(middle, x, curve) for curve in e.bits.T]).max(axis=0)]
        else:
            sizes += [np.abs(e.bits).max(axis=1)]
        weights += [e.share]
    size, weight = np.concatenate(sizes), np.concatenate(weights)
    order = np.argsort(size, kind="stable")
    passed = np.cumsum(weight[order]) / max(float(weight.sum()), 1e-300)
    far = float(size[order][min(int(np.searchsorted(passed, 0.99)), len(size) - 1)])
    step = round_step(min(max(far, 0.1), SURE) / 2)
    return 2 * step


def _figure(effect: Effect, reach: float, several: bool) -> str:
    if effect.numeric:
        picture = drawing.effect_curves(effect, reach)
    else:
        bits = np.clip(effect.bits, -reach, reach)
        names = [f"{value}" for value in effect.values]
        shares = [percent(share) for share in effect.share.tolist()]
        picture = drawing.effect_levels(names, bits, effect.bits, shares, reach, several)
        if effect.others > 0:
            more = f"{effect.others:,} rarer level{'s' if effect.others > 1 else ''} not shown"
            picture += f'<p class="fine">{more}</p>'
    return f"<figure><h3>{text(effect.name)}</h3>{picture}</figure>"


def _pairs(probe: EffectProbe, profiles: Sequence[Profile], label: object) -> str:
    """The pairs that say most beyond their two columns."""
    found = [pair for one, other in combinations(profiles, 2) if (pair := probe.pair(one, other)) is not None]
    shown = sorted((p for p in found if p.size >= TOGETHER), key=lambda p: -p.size)[:PAIRS]
    if not shown:
        return (
            '<p class="fine">No two of the columns that matter most say much together that they do not say apart '
            f"(less than {TOGETHER:g} bits on average).</p>"
        )
    most = max(float(np.nanmax(np.abs(p.bits), initial=0.1)) for p in shown)
    tables = "".join(_pair(pair, most) for pair in shown)
    return (
        f"<h3>Columns that say more together</h3><p>What two values say for {text(label)} beyond what each says by "
        f"itself, in bits; empty where few rows have both.</p>"
        f'<div class="pairs">{tables}</div>'
    )


def _pair(pair: Pair, most: float) -> str:
    head = "".join(f'<th scope="col">{text(name, 12)}</th>' for name in pair.values[1])
    rows = "".join(
        f'<tr><th scope="row">{text(name, 12)}</th>{"".join(_cell(b, most) for b in bits)}</tr>'
        for name, bits in zip(pair.values[0], pair.bits.tolist(), strict=True)
    )
    one, other = (text(name, 28) for name in pair.names)
    return (
        f'<figure><h4>{one} <span class="fine">(down)</span> and {other} <span class="fine">(across)</span></h4>'
        f'<div class="wide"><table class="heat pair"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></figure>"
    )


def _cell(bits: float, most: float) -> str:
    if not np.isfinite(bits):
        return "<td></td>"
    kind = "right" if bits >= 0 else "wrong"
    return f'<td class="{kind}" style="--share:{abs(bits) / most:.3f}">{drawing.with_sign(bits)}</td>'
