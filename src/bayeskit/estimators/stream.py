"""Stream: a classifier that learns and answers one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bayeskit.arrays import Float, Label
from bayeskit.errors import BayeskitError, InputError, KindError, SchemaError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.knn import KNNBayes
from bayeskit.model.posterior import normal_prior

SHARE = 32  # at least this many times the rows that wait have been counted


class Stream:
    """A classifier with the methods of a stream: rows come one by one, as mappings, and memory does not grow with them.

    Rows that were learned wait until there are ``batch`` of them, or one for each 32 counted, and are then counted by
    one ``partial_fit``: so the digest is that of ``partial_fit`` of all rows, and predictions are at most so many rows
    late. ``counted()`` counts those that wait.

    Parameters
    ----------
    classifier : classifier
        One that counts and keeps no rows; fitted or not. One whose fit takes several passes (TAN, KDB, AODE, ...) must
        be fitted before, for what it chooses stays. It learns, as by ``partial_fit``.
    batch : int, default 256
        Rows that may wait to be counted; with 1 predictions are never late.

    Examples
    --------
    >>> import bayeskit as bk
    >>> stream = bk.Stream(bk.NaiveBayes())
    >>> for i in range(100):
    ...     stream.learn_one({"size": i % 10, "colour": "red" if i % 3 else "blue"}, i % 10 > 4)
    >>> stream.predict_one({"size": 9, "colour": None})
    True
    >>> stream.counted().model_.weights.tolist()
    [50.0, 50.0]
    """

    def __init__(self, classifier: BayesClassifier, batch: int = 256) -> None:
        if not isinstance(classifier, BayesClassifier):
            raise KindError(
                f"Stream takes a classifier that counts (NaiveBayes, FullBayes, ...), not {type(classifier).__name__}"
            )
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise InputError(f"batch={batch!r}: give a number of rows, 1 or more")
        spec, name = classifier.spec(), type(classifier).__name__
        if spec.keeps_rows or isinstance(classifier, KNNBayes):
            raise KindError(f"{name} keeps the rows it learns, so its memory would grow with the stream")
        if not classifier.__sklearn_is_fitted__() and not spec.algebraic:
            raise InputError(
                f"what {name} chooses it chooses from the first rows; fit it to some before the stream begins"
            )
        self._classifier, self.batch = classifier, batch
        self._columns = classifier.model_.schema.names if classifier.__sklearn_is_fitted__() else ()
        self._names = frozenset(self._columns)
        self._rows: list[Mapping[str, object]] = []
        self._labels: list[Any] = []
        self._learned = int(classifier.model_.weights.sum()) if classifier.__sklearn_is_fitted__() else 0

    def learn_one(self, x: Mapping[str, object], y: Label) -> None:
        """Learn a row.

        Parameters
        ----------
        x : mapping
            A value for each column; those left out are missing.
        y : label
            Its class.
        """
        if not self._columns:
            self._columns, self._names = tuple(x), frozenset(x)
        elif not x.keys() <= self._names:
            new = ", ".join(repr(name) for name in x if name not in self._columns)
            raise SchemaError(f"column {new} is not one of {', '.join(map(repr, self._columns))}")
        self._rows.append(dict(x))
        self._labels.append(y)
        enough = 1 + self._learned // SHARE if self._learned or len(set(self._labels)) > 1 else self.batch
        if len(self._rows) >= min(self.batch, enough):
            self.counted()

    def predict_proba_one(self, x: Mapping[str, object]) -> dict[Label, float]:
        """P(class | row) by class; nothing as long as nothing was counted, for which two classes are waited for.

        Parameters
        ----------
        x : mapping
            A value for each column; those left out are missing.

        Returns
        -------
        dict
        """
        if not self._classifier.__sklearn_is_fitted__():
            return {}
        return dict(zip(self._classifier.classes_.tolist(), self._posterior(x)[0].tolist(), strict=True))

    def predict_one(self, x: Mapping[str, object]) -> Label | None:
        """The most probable class; None as long as nothing was counted.

        Parameters
        ----------
        x : mapping
            A value for each column; those left out are missing.

        Returns
        -------
        label
        """
        proba = self.predict_proba_one(x)
        return max(proba, key=proba.__getitem__) if proba else None

    def counted(self) -> BayesClassifier:
        """The classifier, with every row counted.

        A row that it refuses is left out, and the error says which; the others stay learned.

        Returns
        -------
        classifier
        """
        if self._rows:
            rows, labels, self._rows, self._labels = self._rows, self._labels, [], []
            try:
                self._count(rows, labels)
            except BayeskitError:
                self._count_each(rows, labels)
        return self._classifier

    def _count(self, rows: list[Mapping[str, object]], labels: list[Any]) -> None:
        if not self._count_plain(rows, labels):
            self._classifier.partial_fit(self._table(rows), labels)
        self._learned += len(rows)

    def _count_plain(self, rows: list[Mapping[str, object]], labels: list[Any]) -> bool:
        """Count rows of plain values, levels and classes that are known, as ``partial_fit`` would; whether it could."""
        known = self._classifier
        if not known.__sklearn_is_fitted__():
            return False
        spec, model = known.spec(), known.model_
        block = model.row_reader.of_mappings(rows, labels, model.counted.domain.classes)
        if block is None or model.weighting is not None:
            return False
        counted = model.counted.add(block)
        learned = replace(model, counted=counted, prior=normal_prior(spec.prior), unseen=spec.unseen)
        learned.log_prior(), learned.density  # what cannot be had is refused before anything is changed
        known.model_ = learned
        return True

    def _count_each(self, rows: list[Mapping[str, object]], labels: list[Any]) -> None:
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            try:
                self._count([row], [label])
            except BayeskitError as why:
                self._rows, self._labels = rows[i + 1 :] + self._rows, labels[i + 1 :] + self._labels
                raise InputError(f"the row {row!r} of class {label!r} was left out: {why}") from why

    def _posterior(self, x: Mapping[str, object]) -> Float:
        model = self._classifier.model_
        row = model.row_reader.of_mapping(x)
        if row is None:
            return self._classifier.predict_proba(self._table([x]))
        return model.posterior(row, model.log_base())

    def _table(self, rows: list[Mapping[str, object]]) -> Any:
        return {name: [row.get(name) for row in rows] for name in self._columns}
