"""A pipeline of scikit-learn that ends in a classifier of bayeskit, explained by what goes into the pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from bayeskit.arrays import TableLike
from bayeskit.errors import InputError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.explain.explanation import Explanation


def explain_pipeline(pipeline: object, X: TableLike, top: int | None = None, **more: Any) -> Explanation:
    """What each word, or other column that the steps of a fitted pipeline make of X, says for each class.

    explain_pipeline(p, X) = p[-1].explain(p[:-1].transform(X), names=p[:-1].get_feature_names_out()).

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Fitted, with a classifier of this library at its end.
    X : table, or texts
        What the pipeline takes; one text may stand for a list of it.
    top : int, optional
        Show so many columns, and the others as one.
    **more
        Further arguments of ``explain``.

    Returns
    -------
    Explanation
        The terms of each column.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> import bayeskit as bk
    >>> mail = make_pipeline(CountVectorizer(), bk.NaiveBayes(families="Multinomial"))
    >>> mail = mail.fit(["free money", "free offer", "see you home"], ["spam", "spam", "ham"])
    >>> explain_pipeline(mail, "free, see you", top=2).parts
    ('free', 'see', '(rest)')
    """
    if not isinstance(pipeline, Pipeline) or len(pipeline.steps) < 2:
        raise InputError(f"{pipeline!r} is no pipeline of scikit-learn with steps before its classifier; call explain")
    before, classifier = pipeline[:-1], pipeline.steps[-1][1]
    if not isinstance(classifier, BayesClassifier | Wrapper):
        raise InputError(f"{type(classifier).__name__} explains nothing; end the pipeline in a bayeskit classifier")
    rows = before.transform([X] if isinstance(X, str) else X)
    found: Explanation = classifier.explain(rows, top, names=_names(before), **more)
    return found


def _names(before: Pipeline) -> Any:
    """What the steps call the columns they make."""
    try:
        return before.get_feature_names_out()
    except AttributeError as error:
        raise InputError(
            f"the steps before the classifier do not name the columns they make ({error}); explain the transformed "
            f"rows with names of your own: explain(X, names=...)"
        ) from error
