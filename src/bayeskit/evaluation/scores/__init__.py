"""Scores of an evaluation: each one file, found by walking this package, shown by topic and name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from inspect import isabstract
from operator import methodcaller
from typing import Protocol, TypeVar

from bayeskit.evaluation.score import TOPICS, ByRow, RowScore, Score, TableScore


def _walk() -> list[Score]:
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return [
        value()
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Score) and value.__module__ == module.__name__
        if not isabstract(value)
    ]


SCORES = {score.name: score for score in sorted(_walk(), key=lambda score: (TOPICS.index(score.topic), score.name))}
TABLE_SCORES = {name: score for name, score in SCORES.items() if isinstance(score, TableScore)}
ROW_SCORES = tuple(score for score in SCORES.values() if isinstance(score, RowScore))
BY_ROW: tuple[ByRow, ...] = tuple(score for score in SCORES.values() if isinstance(score, ByRow))


class HasValue(Protocol):
    """What knows scores by name."""

    def value(self, name: str) -> float:
        """The score of this name."""


C = TypeVar("C", bound=HasValue)


def with_scores(names: Iterable[str]) -> Callable[[type[C]], type[C]]:
    """Give a class that has ``value(name)`` a property for each score."""

    def add(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, property(methodcaller("value", name), doc=SCORES[name].__doc__))
        return cls

    return add
