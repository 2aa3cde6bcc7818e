"""Keywords: what is called with a parameter it does not have leads on to the one it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any

from bayeskit.errors import KeywordError

VARIADIC = 0x04 | 0x08  # of code: it takes any number of arguments, by place or by name
# What other libraries call it: the names it has here, of which the first that is a parameter is shown ("compare.by": of
# compare alone), and a remark.
ELSEWHERE: dict[str, tuple[str, str]] = {
    "alpha": ("smoothing", "the pseudo-count of each level"),
    "laplace": ("smoothing", "1 is Laplace's rule, 0 is none"),
    "pseudocount": ("smoothing pseudo", ""),
    "var_smoothing": (
        "",
        "a variance that is too small is raised on the scale of its own column; there is nothing to set",
    ),
    "fit_prior": ("prior", "'empirical' learns it, 'uniform' gives every class the same"),
    "class_prior": ("prior", "by class, as in {'yes': 0.1, 'no': 0.9}"),
    "priors": ("prior", "by class, as in {'yes': 0.1, 'no': 0.9}"),
    "class_weight": ("prior", "costs of errors go to RiskClassifier(model, costs)"),
    "binarize": ("", "discretize with Discretizer(cuts=...), or write families='Bernoulli' for words"),
    "min_categories": ("kinds", "Nominal([...]) declares levels that may be absent from the rows"),
    "categories": ("kinds levels", ""),
    "categorical_features": ("kinds", "{'column': 'nominal'}"),
    "feature_types": ("kinds", "{'column': 'nominal'}"),
    "handle_unknown": ("unseen", "'missing', 'smooth' or 'error'"),
    "distribution": ("families", ""),
    "distributions": ("families", ""),
    "n_neighbors": ("k", ""),
    "k": ("folds n_features n", ""),
    "distance": ("metric", ""),
    "p": ("metric", ""),
    "algorithm": ("", "neighbours are searched exactly, in the way that suits the table; there is nothing to set"),
    "leaf_size": ("", "neighbours are searched exactly, in the way that suits the table; there is nothing to set"),
    "force_alpha": ("", "any smoothing of 0 or more is taken as it is given"),
    "covariance_type": ("covariance", "'full', 'tied', 'diagonal' or 'spherical'"),
    "reg_param": ("shrinkage", ""),
    "solver": ("", "FullBayes(covariance='tied') is linear discriminant analysis"),
    "store_covariance": ("", "means_ and covariances_ are always there"),
    "n_estimators": ("trees", ""),
    "n_trees": ("trees", ""),
    "time_limit": ("time_budget", "seconds"),
    "cv": ("evaluate.method compare.method folds", "a number of folds, a splitter, LeaveOneOut(), Bootstrap632() ..."),
    "n_splits": ("folds evaluate.method compare.method", ""),
    "n_folds": ("folds evaluate.method compare.method", ""),
    "folds": ("evaluate.method compare.method", "a number of folds, a splitter, LeaveOneOut(), Bootstrap632() ..."),
    "n_repeats": ("repeats", ""),
    "train_size": ("test_size", "the share of rows that are held out"),
    "scoring": ("compare.by criterion", "the result has every score, such as evaluate(...).log_loss"),
    "metric": ("compare.by", "the result has every score, such as evaluate(...).log_loss"),
    "sample_weights": ("sample_weight", ""),
    "weights": ("sample_weight", ""),
    "weight": ("sample_weight", ""),
    "seed": ("random_state", ""),
    "rng": ("random_state", ""),
    "n_threads": ("n_jobs", ""),
    "threads": ("n_jobs", ""),
    "cost_matrix": ("costs table", "{true class: {action: cost}}"),
    "loss": ("costs", "{true class: {action: cost}}"),
    "base_estimator": ("estimator model", ""),
    "model": ("estimator models", ""),
    "estimator": ("model", ""),
    "data": ("X", ""),
    "df": ("X", ""),
    "table": ("X", ""),
    "target": ("y", "labels, or the name of their column"),
    "label": ("y", "labels, or the name of their column"),
    "labels": ("y classes", "labels, or the name of their column"),
    "filename": ("path", ""),
    "output": ("path", ""),
    "n_bins": ("bins", ""),
    "strategy": ("method", ""),
    "n_features_to_select": ("n_features", ""),
    "max_indegree": ("max_parents k", ""),
    "scoring_method": ("score criterion", ""),
    "equivalent_sample_size": ("ess", ""),
    "latents": ("states", "a node without a column in the table is hidden; give the states it may have"),
    "hidden": ("states", "a node without a column in the table is hidden; give the states it may have"),
    "edges": ("structure", ""),
    "ignore": (
        "",
        "leave columns out of the table: frame.drop(columns=...), or bk.Reading(path, ignore=...) of a file",
    ),
    "drop": ("", "leave columns out of the table: frame.drop(columns=...), or bk.Reading(path, ignore=...) of a file"),
    "cpds": ("tables", ""),
    "bw_method": ("bandwidth", ""),
}


@cache
def guide(public: object) -> Any:
    """The public class or function, with errors for parameters that it does not have.

    A class stays the object it is, and so do the classes of this package that it inherits from, whose methods are given
    apart from others by their names; a function becomes one of the package itself. Signatures stay as they were.
    """
    if isinstance(public, type):
        for part in public.__mro__:
            if part.__module__.startswith("bayeskit."):
                _guide_methods(part)
        made = public.__init__  # type: ignore[misc]
        if isinstance(made, FunctionType):
            public.__init__ = _checked(made, public.__name__, 1)  # type: ignore[misc]
    elif isinstance(public, FunctionType):
        public = _checked(public, public.__name__, 0)
        public.__module__ = "bayeskit"  # where pickle finds it
    return public


@cache
def _guide_methods(owner: type) -> None:
    """The same for what a class defines itself and people call."""
    for name, method in list(vars(owner).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(owner, name, _checked(method, name, 1))


def _checked(function: FunctionType, name: str, bound: int) -> Callable[..., Any]:
    """The function, called only with what it takes; ``bound`` arguments are not the caller's."""
    code = function.__code__
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known, places = frozenset(taken), code.co_argcount
    if code.co_flags & VARIADIC:
        return function

    @wraps(function)
    def call(*arguments: object, **settings: object) -> Any:
        unknown = settings.keys() - known
        if unknown:
            word = next(word for word in settings if word in unknown)
            raise KeywordError(f"{name} has no parameter {word!r}; {_lead_on(name, word, taken[bound:])}")
        if len(arguments) > places < len(taken):
            how = f"at most {places - bound} arguments by place" if places > bound else "its parameters by name"
            raise KeywordError(f"{name} takes {how}: write {name}({taken[places]}=...)")
        return function(*arguments, **settings)

    return call


def _lead_on(owner: str, word: str, taken: tuple[str, ...]) -> str:
    """What to write instead of a keyword that is none of the parameters of its owner."""
    from difflib import get_close_matches  # of use here alone

    names, remark = ELSEWHERE.get(word.lower(), ("", ""))
    split = [name.rpartition(".") for name in names.split()]
    ours = [name for only, _, name in split if name in taken and only in ("", owner)]
    close = [name for name in taken if name.lower() == word.lower()]
    close = close or get_close_matches(word.lower(), taken, n=1, cutoff=0.75)
    if ours or (close and not remark):
        return f"write {(ours or close)[0]}=" + (f" ({remark})" if ours and remark else "")
    if remark:
        return remark
    return f"it takes {', '.join(taken)}" if taken else "it takes none"
