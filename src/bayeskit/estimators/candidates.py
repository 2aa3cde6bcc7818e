"""Candidates: the classifiers AutoBayes chooses from, and when each is worth trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bayeskit
from bayeskit.arrays import Json, KindsLike
from bayeskit.ensemble.candidate import Candidate, Facts
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.naive import NaiveBayes

DEEP = 700  # rows from which columns are joined by threes, and have four parents
PAIRED = 150  # columns up to which pairs of columns are counted
BROAD = 1000  # columns up to which covariances are counted
SIZES = (5, 15, 40)  # numbers of neighbours
NEAR = 16_000  # rows among which neighbours are sought, so that asking stays cheap


def candidates(kinds: KindsLike, unseen: str, holed: Sequence[str]) -> tuple[Candidate, ...]:
    """All there are, the most useful first; ``holed`` are the columns in which holes may be a level."""
    shared: Json = {"kinds": kinds, "unseen": unseen}
    levels = dict.fromkeys(holed, "level") if holed else "skip"

    def kdb(k: int, cuts: str, **more: Any) -> Callable[[], BayesClassifier]:
        return lambda: bayeskit.KDB(k=k, cuts=cuts, backoff="class", **{**shared, **more})

    def normal(covariance: str, shrinkage: float | str) -> Callable[[], BayesClassifier]:
        return lambda: bayeskit.FullBayes(covariance=covariance, shrinkage=shrinkage)

    def near(k: int = max(SIZES)) -> BayesClassifier:
        return bayeskit.KNNBayes(k=k, scale="mutual_information", weights="epanechnikov", pseudo=1.0, max_rows=NEAR)

    return (
        Candidate("KDB(k=2) on equal frequencies", kdb(2, "frequency"), weighed=True, helps=_narrow),
        Candidate("naive, families chosen", lambda: NaiveBayes(families="auto", **shared), weighed=True),
        Candidate("corrected naive", lambda: bayeskit.CorrectedNaiveBayes(missing=levels, **shared), cost=5.0),
        Candidate("forest", lambda: bayeskit.ProbabilityForest(missing=levels, **shared), cost=3.0, portable=False),
        Candidate(
            "shrunk normal on indicators",
            normal("full", "pooled"),
            view="indicators",
            counts="normal",
            helps=_some_levels,
        ),
        Candidate(
            "linear on indicators", normal("tied", "auto"), view="indicators", counts="normal", helps=_some_levels
        ),
        Candidate(
            "shrunk normal on scores", normal("full", "pooled"), view="scores", counts="normal", helps=_some_numbers
        ),
        Candidate("linear on scores", normal("tied", "auto"), view="scores", counts="normal", helps=_some_numbers),
        Candidate(
            "AODE on description lengths", lambda: bayeskit.AODE(cuts="mdlp", parents=50, **shared), helps=_narrow
        ),
        Candidate("nearest", near, view="indicators", sizes=SIZES, portable=False),
        Candidate(
            "sets of up to three columns",
            lambda: bayeskit.AJE(cuts="frequency", weights=None, **shared),
            plain=False,
            weighed=True,
            helps=_deep,
        ),
        Candidate("KDB(k=2) on description lengths", kdb(2, "mdlp"), plain=False, weighed=True, helps=_cuts_matter),
        Candidate("KDB(k=1) on equal frequencies", kdb(1, "frequency"), plain=False, weighed=True, helps=_narrow),
        Candidate(
            "shrunk normal on numbers", normal("full", "pooled"), view="numbers", counts="normal", helps=_some_numbers
        ),
        Candidate("linear on numbers", normal("tied", "auto"), view="numbers", counts="normal", helps=_some_numbers),
        Candidate("KDB(k=3) on description lengths", kdb(3, "mdlp"), helps=_shallow),
        Candidate("KDB(k=4) on description lengths", kdb(4, "mdlp"), helps=_deep),
        Candidate(
            "AODE on equal frequencies",
            lambda: bayeskit.AODE(cuts="frequency", parents=50, **shared),
            helps=_cuts_matter,
        ),
        Candidate("naive on equal frequencies", kdb(0, "frequency"), helps=_narrow),
        Candidate(
            "KDB(k=2), holes as levels",
            kdb(2, "frequency", missing=levels),
            plain=False,
            weighed=True,
            helps=_holes,
        ),
    )


def _narrow(facts: Facts) -> str:
    return f"more than {PAIRED} columns have too many pairs" if facts.columns > PAIRED else ""


def _cuts_matter(facts: Facts) -> str:
    return _narrow(facts) or ("" if facts.numeric else "there are no numbers to cut in another way")


def _deep(facts: Facts) -> str:
    return _narrow(facts) or (f"so many columns together need {DEEP} rows" if facts.rows <= DEEP else "")


def _shallow(facts: Facts) -> str:
    return _narrow(facts) or ("" if facts.rows <= DEEP else f"four parents are tried above {DEEP} rows")


def _some_numbers(facts: Facts) -> str:
    return _narrow_enough(facts) or ("" if facts.numeric else "there are no numeric columns")


def _some_levels(facts: Facts) -> str:
    return _narrow_enough(facts) or ("" if facts.coded else "there are no levels to indicate")


def _narrow_enough(facts: Facts) -> str:
    return f"more than {BROAD:,} columns have too many covariances" if facts.columns > BROAD else ""


def _holes(facts: Facts) -> str:
    return _narrow(facts) or ("" if facts.holes > 0.005 else "next to nothing is missing")
