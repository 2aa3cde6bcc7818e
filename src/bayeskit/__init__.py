"""bayeskit: Bayesian classification on exact, mergeable statistics.

Names load on first use, so that ``import bayeskit`` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PLACES = {
    "NaiveBayes": "bayeskit.estimators.naive",
    "load": "bayeskit.estimators.files",
    "merge": "bayeskit.estimators.files",
    "bayes_rule": "bayeskit.rule",
    "independence": "bayeskit.independence",
    "families": "bayeskit.families",
    "smoothing": "bayeskit.smoothing",
    "errors": "bayeskit.errors",
}

__all__ = ["NaiveBayes", "bayes_rule", "errors", "families", "independence", "load", "merge", "smoothing"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        try:
            return version("bayeskit")
        except PackageNotFoundError:
            return "0+source"
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'bayeskit' has no attribute {name!r}")
    module = import_module(place)
    return module if place == f"bayeskit.{name}" and not hasattr(module, name) else getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
