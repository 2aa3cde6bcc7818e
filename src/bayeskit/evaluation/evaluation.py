"""Evaluation: how a model did on rows it had not learned, and how far to trust that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from bayeskit.arrays import Array, Axes, Bool, Float, Frame, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.bootstrapped import Bootstrapped
from bayeskit.evaluation.confusion import Confusion
from bayeskit.evaluation.decisions import THRESHOLDS, CostCurve, DecisionCosts, DecisionCurve
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.out_of_fold import OutOfFold
from bayeskit.evaluation.refit import FoldModels
from bayeskit.evaluation.scores import SCORES, with_scores
from bayeskit.evaluation.tables import table_of
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import Curve, Interval, curve
from bayeskit.plots.style import Display, Panels

if TYPE_CHECKING:
    from bayeskit.evaluation.groups import Groups
    from bayeskit.evaluation.segments import Segments


@with_scores(SCORES)
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(TableRepr):
    """Out-of-sample posteriors, and every measure of them with an interval.

    ``computed`` says how the models of the folds came about: by "algebra" on the statistics of one pass, or by
    "refit". ``held`` says what models by algebra have of all rows, which a refit would find anew (the grid of a column
    with more values than cells, in leave-one-out also bandwidths and the target of shrinkage); nothing else differs
    from refits, and ``LeaveOneOut(exact=True)`` holds nothing. ``proba`` is NaN for rows never tested, and None for
    sources that were streamed.
    """

    classes: Array  # (K,)
    measures: Measures | Bootstrapped
    method: Any
    computed: str
    name: str = ""  # of the model
    kind: str = "pyarrow"  # of frames
    fit: Callable[[], Any] | None = None  # gives the model of all rows
    X: Any = None  # the rows evaluated
    y: Any = None
    random_state: Any = None  # that divided the rows
    held: tuple[str, ...] = ()  # what the models of the rows left out have of all rows
    others: tuple[Any, ...] = ()  # what the model did beside naming a class
    fold_models: FoldModels | None = None  # what predicted each row, where it was one model
    groups: Groups | None = None  # every measure by group of rows, where ``by`` was given

    @cached_property
    def model(self) -> Any:
        """The model fitted to all rows, when first asked for."""
        if self.fit is None:
            raise InputError("these are predictions without a model; evaluate a model to have it fitted")
        return self.fit()

    def model_for(self, row: int) -> Any:
        """The model that predicted a row without having learned it; None where several did, or none was kept.

        It is fitted again unless ``keep_models`` kept it; of models by algebra that finds anew what is ``held``.

        Parameters
        ----------
        row : int
            The number of the row, from 0.
        """
        if self.fold_models is not None:
            return self.fold_models.of(row)
        return self.model if self.computed == "fit" else None

    @property
    def proba(self) -> Float | None:
        """P(class | row) by models that had not learned the row, the mean over repeats: (n, K)."""
        kept = self._kept
        return None if kept is None else kept.proba

    @cached_property
    def confusion(self) -> Confusion:
        """Weights by true class and what the model did (``predict``): the class it named, or one of ``others``.

        Where rows were divided more than once it is the mean over repeats, of a bootstrap blended as the accuracy is.
        """
        matrix = self.measures.confusion
        more = len(self.classes) + len(self.others) - matrix.shape[1]
        tables = (np.pad(table, ((0, 0), (0, more))) for table in (matrix, self.measures.squared))
        counts, squared = tables
        return Confusion(counts, self.classes, self.kind, self.others, squared)

    @cached_property
    def baseline(self) -> Measures:
        """Measures of the answer that looks at no column: the commonest class, and the shares of the classes tested."""
        weight = self.confusion.matrix.sum(axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(weight / max(float(weight.sum()), 1e-300))
        costs = None if self.decision_costs is None else replace(self.decision_costs, own=None)
        rows = Rows(np.arange(len(weight)), weight, self.classes)  # one for each class
        return Measures.of(rows, np.tile(logs, (len(weight), 1)), 0.0, costs)

    @property
    def auc_by_class(self) -> dict[Label, float]:
        return dict(zip(self.classes.tolist(), self.measures.areas.tolist(), strict=True))

    @property
    def auc_bound(self) -> float:
        """How far binning of scores may have moved an area at most; 0 where rows were kept."""
        return self._rows_measured.area_bound

    @property
    def decision_costs(self) -> DecisionCosts | None:
        """What actions cost, if costs were given."""
        return self._rows_measured.decision_costs

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> float: ...  # the scores

    def value(self, name: str) -> float:
        """A score by its name; each is a property too, as ``evaluation.accuracy``.

        Parameters
        ----------
        name : str
            Name of a measure.
        """
        return self.measures.value(self._check_score(name))

    def interval(self, name: str) -> Interval:
        """Where a score lies with 95 % confidence, and how that was found.

        What lies there is the mean score of the models of the folds on new rows. The more a model errs less on its own
        rows than on new ones, the wider intervals of cross-validation are (by a root of 1.4 at most), for which the
        model of all rows is fitted when the first is asked for: without that 87 to 96 % of simulated intervals hold the
        truth for one neighbour and full trees, with it 93 to 98 %. Of files that are read in passes it is left out.

        Parameters
        ----------
        name : str
            Name of a measure.
        """
        return self.measures.interval(self._check_score(name))

    # -- tables ----------------------------------------------------------------------------------

    @document_frame_like_x
    def frame(self, kind: str | None = None, of: str = "measures") -> Frame:
        """A table of one kind of frame ("pandas", "polars", "pyarrow"; that of X unless asked).

        ``of`` is "measures" (with intervals), "classes" (rates, calibration intercept and slope by class), "folds",
        "rows" (out-of-sample probabilities), "reliability", "brier" (uncertainty, resolution, reliability) or "roc".

        Parameters
        ----------
        of : str
            What to show, as listed above.
        """
        return frame(table_of(self, self._rows_measured, of), kind or self.kind)

    def roc(self, label: Label) -> Curve:
        """The ROC curve of one class against the rest, over the rows that were tested.

        Parameters
        ----------
        label : class
            Which class.
        """
        kept, labels = self.require_rows("the ROC curve"), self.classes.tolist()
        if label not in labels:
            raise InputError(f"label {label!r} is not a class ({', '.join(map(str, labels))})")
        judged = kept.rows.counted & ~np.isnan(kept.proba).any(axis=1)
        k = labels.index(label)
        found = curve(kept.odds[judged, k], kept.rows.codes[judged] == k, kept.rows.weights[judged])
        return replace(found, threshold=np.append(np.inf, expit(found.threshold[1:])))

    def decision_curve(self, label: Label, thresholds: Sequence[float] | None = None) -> DecisionCurve:
        """The net benefit of acting on the probability of a class, by the threshold one would act at.

        Parameters
        ----------
        label : class
            Which class.
        thresholds : sequence of float, optional
            Probabilities to act at; 0.01 to 0.99 unless given.
        """
        given = THRESHOLDS if thresholds is None else np.asarray(thresholds, dtype=np.float64)
        return replace(DecisionCurve.of(label, *self._against_rest(label, "a decision curve"), given), kind=self.kind)

    def cost_curve(self, label: Label, balances: Sequence[float] | None = None) -> CostCurve:
        """What deciding for a class by its probability costs, for every balance of misses and false alarms.

        Parameters
        ----------
        label : class
            Which class.
        balances : sequence of float, optional
            Shares of the cost that misses have, share of the class times cost of a miss; 0.01 to 0.99 unless given.
        """
        given = None if balances is None else np.asarray(balances, dtype=np.float64)
        return replace(CostCurve.of(label, *self._against_rest(label, "a cost curve"), given), kind=self.kind)

    def _against_rest(self, label: Label, what: str) -> tuple[Float, Bool, Float]:
        """Probability of a class, whether a row is of it, and weights, of the rows tested: (n,) each."""
        kept, labels = self.require_rows(what), self.classes.tolist()
        if label not in labels:
            raise InputError(f"label {label!r} is not a class ({', '.join(map(str, labels))})")
        judged, k = kept.rows.counted & ~np.isnan(kept.proba).any(axis=1), labels.index(label)
        return kept.proba[judged, k], kept.rows.codes[judged] == k, kept.rows.weights[judged]

    def worst_segments(
        self,
        measure: str = "error_rate",
        *,
        columns: Sequence[str] | None = None,
        least: int | None = None,
        most: int = 10,
        overlap: float = 1.0,
    ) -> Segments:
        """Where the model fails most: groups of rows, by one column or two, that are predicted worse than all others.

        Numbers are cut into quarters of the rows, missing values are a group of their own. Each segment is tested, with
        a correction for all segments there are.

        Parameters
        ----------
        measure : str, default "error_rate"
            A measure that is a mean over rows: "error_rate", "log_loss", "brier", "realised_cost".
        columns : sequence of str, optional
            Columns to look at; all unless given.
        least : int, optional
            Rows a segment must have; 20 or one in a hundred unless given.
        most : int, default 10
            Segments that are listed.
        overlap : float, default 1
            Share of its rows that a segment may have in common with those listed before it: 0.5 leaves out segments
            that mostly repeat worse ones.
        """
        from bayeskit.evaluation.segments import worst_segments

        return worst_segments(self, measure, columns=columns, least=least, most=most, overlap=overlap)

    def plot(self, of: str = "overview", ax: Axes | None = None, **options: Any) -> Display | Panels:
        """A picture: "overview", "confusion", "roc", "reliability" (label=, bands="wilson", "consistency" or
        "bootstrap"), "folds" (measure=), "cost" (by threshold; costs=, label=), "cost_curve" or "benefit" (label=).

        Parameters
        ----------
        of : str
            What to show, as listed above.
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        **options
            Further arguments of that picture.
        """
        from bayeskit.evaluation.pictures import picture

        return picture(self, of, ax, **options)

    # -- showing ---------------------------------------------------------------------------------

    def __str__(self) -> str:
        groups = "" if self.groups is None else f"\n\n{self.groups}"
        return f"{super().__str__()}\n\n{self.confusion}{groups}"

    def _repr_html_(self) -> str:
        groups = "" if self.groups is None else self.groups._repr_html_()
        return f"<div>{super()._repr_html_()}{self.confusion._repr_html_()}{groups}</div>"

    def _title(self) -> str:
        weight = f"{self.measures.total.weight[0]:.10g}"
        held = f"; held from all rows: {', '.join(self.held)}" if self.held else ""
        return f"{self.name}, {self.method}, {weight} rows tested, computed by {self.computed}{held}"

    def _lines(self) -> list[list[str]]:
        headline = (name for name in self.measures.names if SCORES[name].headline)
        lines = [["", "value", "95 % from", "to", "baseline", "by"]]
        for name in headline:
            found = self.measures.interval(name)
            each = (self.measures.value(name), found.low, found.high, self.baseline.value(name))
            shown = ("–" if np.isnan(x) else f"{x:.4f}" for x in each)
            lines.append([name.replace("_", " "), *shown, found.how])
        return lines

    @property
    def _rows_measured(self) -> Measures:
        return self.measures.out if isinstance(self.measures, Bootstrapped) else self.measures

    @property
    def _kept(self) -> OutOfFold | None:
        return self._rows_measured.kept

    def require_rows(self, what: str) -> OutOfFold:
        """Predictions row by row, for something that cannot be shown without them.

        Parameters
        ----------
        what : str
            What is to be shown, for the error where no rows were kept.

        Returns
        -------
        OutOfFold
            The rows with what was predicted for them.
        """
        if self._kept is None:
            raise InputError(f"{what} cannot be shown: rows of a streamed source are not kept; evaluate them in memory")
        return self._kept

    def _check_score(self, name: str) -> str:
        """The name of a score that was taken."""
        if name in self.measures.names:
            return name
        if name in SCORES and SCORES[name].needs:
            raise InputError(f"{name} is known after evaluate(..., {SCORES[name].needs}=...)")
        if name in SCORES:
            raise InputError(f"{name} needs folds; cross-validate")
        raise InputError(f"no measure is named {name!r}; there are {', '.join(self.measures.names)}")
