"""Verdict: in two sentences whether the columns predict the target, and whether the probabilities can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Label
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.reports.markup import number, percent, text
from bayeskit.reports.one_class import FEW

TRUSTED, ROUGH = 0.03, 0.08  # calibration error beyond chance up to which probabilities are right, or roughly
SEVERAL = 20  # numbers as classes that look like a quantity
NEAR = 0.99  # an accuracy that is too good not to be looked at
ALONE = 0.5  # share of the rows with a class of their own, of an identifier
SELDOM = 0.5  # share found of a class that is worth a word
UNSURE = 0.1  # what the calibration error may be at most, with 95 % confidence, to say that it is small


def by_probability(evaluation: Evaluation) -> bool:
    """Whether rows are counted by their most probable class although costs decide what is done."""
    costs = evaluation.decision_costs
    return costs is not None and costs.priced and costs.own is None


@dataclass(frozen=True)
class Verdict:
    """What to take home from an evaluation.

    ``predicts`` is False where the AUC may be 1/2 and the log loss that of the shares of the classes.
    """

    evaluation: Evaluation
    target: str = ""
    interest: Label | None = None  # the class of which it says how many are found; of two

    @property
    def predicts(self) -> bool:
        """Whether the columns say anything of the target that these rows can show."""
        low, high = self.evaluation.interval("auc").low, self.evaluation.interval("log_loss").high
        area = low if np.isfinite(low) else self._value("auc")
        loss = high if np.isfinite(high) else self._value("log_loss")
        return area > 0.5 or loss < self._base("log_loss")

    @property
    def trusted(self) -> bool:
        """Whether probabilities are right to three points in a hundred beyond chance, and enough rows say so."""
        return self.predicts and self._value("ece_debiased") <= TRUSTED and not self._few

    @property
    def sentences(self) -> list[str]:
        """As plain text: the headline first."""
        if not self.predicts:
            return [self._nothing, *self._odd_target, *self._advice]
        return [f"{self._right}; {self.trust}.", *self._odd_target, *self._found, *self._more]

    def html(self) -> str:
        """For the head of a page."""
        first, *others = (str(text(sentence, 1000)) for sentence in self.sentences)
        kind = "good" if self.trusted else "fair" if self.predicts else "poor"
        rest = "".join(f"<p>{sentence}</p>" for sentence in others)
        return f'<div class="lead {kind}" id="lead"><p class="headline">{first}</p>{rest}</div>'

    @property
    def _commonest(self) -> Label:
        labels: list[Label] = self.evaluation.classes.tolist()
        return labels[int(np.argmax(self.evaluation.confusion.matrix.sum(axis=1)))]

    @property
    def _right(self) -> str:
        mine, base = self._value("accuracy"), self._base("accuracy")
        always = f"always saying “{self._commonest}” is right in {percent(base)}"
        said = f"Right in {percent(mine)} of the cases"
        low = self.evaluation.interval("accuracy").low
        if (low if np.isfinite(low) else mine) > base:
            return f"{said}, where {always}"
        area = f"but it does rank the cases (AUC {number(self._value('auc'))}, where chance has 0.5)"
        return f"{said}, where {always}: by that no better than chance explains, {area}"

    @property
    def trust(self) -> str:
        """Whether the probabilities can be trusted, as part of a sentence."""
        error, ece = self._value("ece_debiased"), f"ECE {number(self._value('ece'))}"
        if self._value("log_loss") >= self._base("log_loss"):
            return f"its probabilities are worse than the shares of the classes alone: {self._lean} ({ece})"
        if error <= TRUSTED:
            rows = f"{self.evaluation.measures.total.weight[0]:,.6g}"
            few = f"its probabilities show no error beyond chance, but {rows} rows are too few to be sure ({ece})"
            return few if self._few else f"its probabilities can be trusted ({ece})"
        points = f"{100 * error:.0f} points in a hundred beyond chance"
        if error <= ROUGH:
            return f"its probabilities are roughly right: {self._lean}, off by {points} ({ece})"
        return f"its probabilities cannot be taken at their word: {self._lean}, off by {points} ({ece})"

    @property
    def _few(self) -> bool:
        """Whether a calibration error of note may hide behind chance."""
        found = self.evaluation.interval("ece_l2")
        if np.isfinite(found.high):
            return found.high > UNSURE
        return float(self.evaluation.measures.total.rows[0]) < 200

    @property
    def _lean(self) -> str:
        """Whether the model was surer than right, or less sure."""
        _, said, right, _ = self.evaluation.measures.total.top[0].sum(axis=-1)
        return "it is too sure of itself" if said > right else "it is right more often than it says"

    @property
    def _more(self) -> list[str]:
        found, said = self.evaluation, []
        if "realised_cost" in found.measures.names:
            mine, base = number(self._value("realised_cost"), 4), number(self._base("realised_cost"), 4)
            said.append(f"Its decisions cost {mine} a row; the best single answer for all rows would have cost {base}.")
        elif self._value("ece_debiased") > TRUSTED:
            other = "" if found.name == "AutoBayes" else ", or try AutoBayes (--model auto)"
            said.append(f"Calibrated (in Python) sets probabilities right on rows the model has not learned{other}.")
        if self._value("accuracy") >= NEAR > self._base("accuracy") + 1 - NEAR:
            said.append(
                "So few mistakes are rare: make sure that no column was recorded after the outcome or follows from it."
            )
        return said

    @property
    def _found(self) -> list[str]:
        """How many of the class of interest are found, of two classes; of more the class that is found least."""
        rates = self.evaluation.frame("pyarrow", of="classes").to_pylist()
        if len(rates) == 2:
            one = next((r for r in rates if r["class"] == self.interest), rates[0])
            if one["sensitivity"] is None:
                return []
            priced = by_probability(self.evaluation)
            it = "Its most probable class, whatever the costs, finds" if priced else "It finds"
            said = f"{it} {percent(one['sensitivity'])} of the {one['weight']:,.10g} cases of “{one['class']}”"
            named = (
                ""
                if one["precision"] is None
                else f", and is right in {percent(one['precision'])} of those it calls so"
            )
            line = (
                ". From which probability on to act can be chosen below"
                if one["sensitivity"] < SELDOM and not priced
                else ""
            )
            return [f"{said}{named}{line}."]
        low = [r for r in rates if r["weight"] >= FEW and r["sensitivity"] is not None and r["sensitivity"] < SELDOM]
        if not low:
            return []
        worst = min(low, key=lambda r: float(r["sensitivity"]))
        many = f"{len(low) - 1} other classes" if len(low) > 2 else "one other class"
        others = f", and less than half of {many}" if len(low) > 1 else ""
        cases = f"{worst['weight']:,.10g} cases of “{worst['class']}”"
        return [f"It finds only {percent(worst['sensitivity'])} of the {cases}{others}."]

    @property
    def _odd_target(self) -> list[str]:
        """A target that is no class: a quantity, or a name for each row."""
        labels = self.evaluation.classes.tolist()
        rows = self.evaluation.confusion.matrix.sum(axis=1)
        name = f"“{self.target}”" if self.target else "the target"
        if len(labels) > SEVERAL and float((rows == 1).sum()) > ALONE * float(rows.sum()):
            return [f"Most rows have a class of their own: {name} looks like an identifier, which nothing can predict."]
        if len(labels) > SEVERAL and all(isinstance(label, int | float) for label in labels):
            return [
                f"Each of the {len(labels):,} different numbers of {name} is a class of its own here; if it is a "
                f"quantity, cut it into ranges first, as 0–17, 18–64, 65 and over."
            ]
        return []

    @property
    def _nothing(self) -> str:
        mine, base = percent(self._value("accuracy")), percent(self._base("accuracy"))
        area = f"AUC {number(self._value('auc'))}, where chance has 0.5"
        return (
            f"These columns do not predict {self.target or 'the target'}: right in {mine} of the cases, where always "
            f"saying “{self._commonest}” is right in {base}, and {area}."
        )

    @property
    def _advice(self) -> list[str]:
        rows, classes = float(self.evaluation.measures.total.rows[0]), len(self.evaluation.classes)
        tips = ["columns that were recorded before the outcome and may have to do with it"]
        tips += ["more rows"] if rows < 1000 else []
        tips += ["fewer, broader classes"] if classes > 2 else []
        tips += ["AutoBayes (--model auto), which tries many models"] if self.evaluation.name != "AutoBayes" else []
        tips += ["whether labels and rows belong together: a table sorted or joined wrongly looks like this"]
        return [f"Worth trying: {'; '.join(tips)}."]

    def _value(self, name: str) -> float:
        return self.evaluation.value(name)

    def _base(self, name: str) -> float:
        return self.evaluation.baseline.value(name)
