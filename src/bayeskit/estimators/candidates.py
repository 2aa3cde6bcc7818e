"""Candidates: the classifiers AutoBayes chooses from, and when each is worth trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bayeskit
from bayeskit.arrays import Json, KindsLike
from bayeskit.ensemble.candidate import Candidate, Facts
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.naive import NaiveBayes

DEEP = 700  # rows from which columns are joined by threes, and have four parents
PAIRED = 150  # columns up to which pairs of columns are counted
BROAD = 1000  # columns up to which covariances are counted
TREES, FEWER = 100, 50  # of the forest; where a pool is fast
BOOSTED = 1_000  # rows from which trees are boosted
SLOPES = 10_000  # columns times classes up to which they are
CORRECTED = 3_000  # and up to which each level of each column is corrected for each class
SIZES = (5, 15, 40)  # numbers of neighbours
NEAR = 16_000  # rows among which neighbours are sought, so that asking stays cheap


def candidates(kinds: KindsLike, unseen: str, incomplete: Sequence[str], trees: int) -> tuple[Candidate, ...]:
    """All there are, the most useful first; ``incomplete`` are the columns in which a missing value may be a level.

    The forest has so many ``trees``.
    """
    shared: Json = {"kinds": kinds, "unseen": unseen}
    levels = dict.fromkeys(incomplete, "level") if incomplete else "skip"

    def kdb(k: int, cuts: str) -> Callable[[], BayesClassifier]:
        return lambda: bayeskit.KDB(k=k, cuts=cuts, backoff="class", **shared)

    def normal(covariance: str, shrinkage: float | str) -> Callable[[], BayesClassifier]:
        return lambda: bayeskit.FullBayes(covariance=covariance, shrinkage=shrinkage)

    def near(k: int = max(SIZES)) -> BayesClassifier:
        return bayeskit.KNNBayes(k=k, scale="mutual_information", weights="epanechnikov", pseudo=1.0, max_rows=NEAR)

    return (
        Candidate("KDB(k=2) on equal frequencies", kdb(2, "frequency"), weighed=True, helps=_narrow, many=0.3),
        Candidate("naive, families chosen", lambda: NaiveBayes(families="auto", **shared), weighed=True),
        Candidate(
            "corrected naive",
            lambda: bayeskit.CorrectedNaiveBayes(missing=levels, **shared),
            cost=6.0,
            helps=_few_cells,
            share=0.45,
        ),
        Candidate(
            "forest",
            lambda: bayeskit.ProbabilityForest(trees=trees, missing=levels, **shared),
            cost=8.0,
            share=0.35,
        ),
        Candidate(
            "boosted trees",
            lambda: bayeskit.BoostedTrees(missing=levels, **shared),
            cost=6.0,
            helps=_many,
            share=0.5,
            many=0.7,
        ),
        Candidate(
            "linear on indicators", normal("tied", "auto"), view="indicators", counts="normal", helps=_need_levels
        ),
        Candidate("nearest", near, view="indicators", sizes=SIZES, cost=6.0, helps=_need_columns, portable=False),
        Candidate(
            "shrunk normal on numbers", normal("full", "pooled"), view="numbers", counts="normal", helps=_need_numbers
        ),
        Candidate(
            "shrunk normal on scores",
            normal("full", "pooled"),
            view="scores",
            counts="normal",
            helps=_need_numbers,
            share=0.1,
        ),
        Candidate(
            "sets of up to three columns",
            lambda: bayeskit.AJE(cuts="frequency", weights=None, **shared),
            plain=False,
            weighed=True,
            cost=6.0,
            helps=_deep,
        ),
        Candidate("KDB(k=4) on description lengths", kdb(4, "mdlp"), cost=2.5, helps=_deep),
    )


def _need_columns(facts: Facts) -> str:
    return "" if facts.columns else "all columns are constant"


def _narrow(facts: Facts) -> str:
    return f"more than {PAIRED} columns have too many pairs" if facts.columns > PAIRED else ""


def _many(facts: Facts) -> str:
    if facts.rows <= BOOSTED:
        return f"boosted trees need {BOOSTED:,} rows"
    if facts.columns > PAIRED:
        return f"more than {PAIRED} columns take too long where trees correct each other"
    cells = facts.columns * facts.classes
    return f"{cells:,} columns times classes have too many slopes to sum up" if cells > SLOPES else ""


def _few_cells(facts: Facts) -> str:
    cells = facts.columns * facts.classes
    return f"{cells:,} columns times classes have too many corrections" if cells > CORRECTED else ""


def _deep(facts: Facts) -> str:
    return _narrow(facts) or (f"so many columns together need {DEEP} rows" if facts.rows <= DEEP else "")


def _need_numbers(facts: Facts) -> str:
    return _narrow_enough(facts) or ("" if facts.numeric else "there are no numeric columns")


def _need_levels(facts: Facts) -> str:
    return _narrow_enough(facts) or ("" if facts.coded else "there are no levels to indicate")


def _narrow_enough(facts: Facts) -> str:
    return f"more than {BROAD:,} columns have too many covariances" if facts.columns > BROAD else ""
