"""Glossaries: parameters that many estimators and methods share are described once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayeskit.docstrings import T, complete_docstrings

ROWS = {  # parameters of methods
    "X": """table
        Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
        frame.""",
    "y": """array of shape (n,) or str
        The labels, or the name of their column in X.""",
    "sample_weight": """array of shape (n,), optional
        Weights of the rows: a weight of 2 is the same as two copies of a row.""",
    "classes": """sequence, optional
        Classes to declare beforehand.""",
    "prior": """{"empirical", "uniform"} or mapping, optional
        Another P(class) than that of the model, for this call.""",
    "names": """sequence of str, optional
        Names of the columns of a matrix, such as the words of a vectorizer.""",
    "keep": """str or sequence, optional
        Columns of X to keep beside the answers, or "all"; also such that are no features.""",
    "costs": """Costs or mapping, optional
        Adds the action of least expected cost, and that cost.""",
    "reject": """float, optional
        The cost of leaving a row undecided: no action is given where the least expected cost is above it. Being wrong
        costs 1 unless there are costs.""",
    "evidence": """bool, default False
        Adds log p(row).""",
    "reasons": """int, default 0
        Adds so many columns that speak most for the prediction.""",
    "top": """int, optional
        Show so many columns, those with the widest spread between classes, and the others as one.""",
    "among": """table, optional
        Rows as they occur: only numbers within theirs are used, and their values in columns of which the model
        knows none.""",
    "hold": """sequence of str
        Columns that stay as they are (age, sex).""",
    "columns": """{1, 2}, default 1
        Change one column, or two together where that takes a smaller change.""",
    "target": """class, optional
        The class whose odds are shown; of two classes the second unless given.""",
    "rival": """class, optional
        The class it is compared with; needed with more than two classes.""",
    "column": """str
        Its name.""",
    "method": """{"sigmoid", "isotonic", "temperature", "beta", "quadratic", "vector", "auto"}, default "sigmoid"
        The map that is fitted, as in ``Calibrated``.""",
    "other": """classifier
        Another one of the same kind and settings.""",
    "min_count": """float
        The least weight that may stay, above 1.""",
    "path": """path
        The file.""",
    "height": """int, default 720
        Pixels of the frame in the notebook.""",
    "ax": """matplotlib axes, optional
        Where to draw; a new figure unless given.""",
}

SETTINGS = {  # parameters of constructors, and attributes
    "cuts": """{"frequency", "mdlp"}, default "frequency"
        How columns of numbers are cut into intervals: n^(1/3) of equal weight, from 3 to 12, or where the class
        changes, by minimum description length, which leaves a column out where it finds no cut.""",
    "penalty": """float or None, default 2.0
        An arc is kept where it predicts its column better than the class alone by more than ``penalty`` times log n
        nats in leave-one-out. None keeps all arcs.""",
    "strength": """float, optional
        Pseudo-rows with which P(x | parents, c) shrinks toward simpler tables; None takes as many as leave-one-out
        finds best.""",
    "backoff": """{"both", "class", "even"}, default "both"
        What tables shrink toward: P(x | c) and P(x | other parents), P(x | c) alone, or equal shares (Laplace).""",
    "kinds": """mapping, str or list, optional
        Kinds of the columns, one for all or by name: "binary", "nominal", "ordinal", "quantitative", "count", a list
        of levels in order, ``Nominal(...)`` or ``Ordinal(...)``. Without it the type of a column decides.""",
    "prior": """{"empirical", "uniform"} or mapping, default "empirical"
        P(class): the shares of the rows, equal shares, or probabilities by class, which sum to 1. Calls may override
        it.""",
    "smoothing": """float, default 1.0
        Pseudo-rows in every level of P(x | c).""",
    "unseen": """{"missing", "smooth", "error"}, default "missing"
        What a level never seen in fitting means in predicting: nothing, the probability it would have had if it had
        been declared, or an error.""",
    "missing": """{"skip", "level"} or mapping, default "skip"
        A missing value says nothing, or is a level of its own; for all columns or by name.""",
    "weights": """{"fitted"} or None, default None
        "fitted" multiplies what each column adds by a weight that is fitted to rows predicted by models of the
        others. None counts every column once.""",
    "exact": """bool, default False
        Keep the different rows with their weights, at most 200,000, and derive all choices from them anew after every
        change: batches, forgetting and merging then give the model of one fit, bit for bit.""",
    "n_jobs": """int, optional
        Number of threads, and of processes where models are refitted; -1 is all cores, None the threads that this
        process may have, and one process. Results do not depend on it.""",
    "classes_": """array of shape (K,)
        The classes, sorted; columns of probabilities follow this order.""",
    "schema_": """Schema
        Each column with its kind, its family and why.""",
    "model_": """Model
        What was learned; ``model_.digest`` is equal for equal models.""",
    "exact_": """Exactness
        What learning and forgetting give bit for bit, and what is held as an earlier fit chose it.""",
    "edges_": """tuple of pairs
        The arcs between columns as (parent, child), besides those from the class.""",
    "arcs_": """Arcs
        The same with the mutual information of the two columns given the class, in bits; ``plot()`` draws them.""",
    "weights_": """dict
        The weight of each column or set of columns, where weights are fitted.""",
}


def document(methods: Mapping[str, str] = ROWS, settings: Mapping[str, str] = SETTINGS) -> Callable[[T], T]:
    """Complete the docstrings of an estimator and of its methods from glossaries."""
    return complete_docstrings(methods, settings)
