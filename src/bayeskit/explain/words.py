"""Words: the columns of a text by name, and how probable each is in every class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.arrays import Float, NamesLike
from bayeskit.densities.counts import Counts
from bayeskit.errors import InputError
from bayeskit.model.model import Model


def name_columns(columns: Sequence[str], names: NamesLike) -> tuple[str, ...]:
    """The columns by the names given for them in their order, if any are.

    >>> name_columns(["x0", "x1"], ["free", "money"])
    ('free', 'money')
    """
    if names is None:
        return tuple(columns)
    given = tuple(map(str, np.asarray(names).tolist()))
    if len(given) != len(columns):
        raise InputError(f"names has {len(given)} names for {len(columns)} columns; give one for each, in their order")
    return given


def name_parts(parts: Sequence[str], columns: Sequence[str], names: NamesLike) -> tuple[str, ...]:
    """Parts of an explanation by the names given for the columns; what is no column keeps its own.

    >>> name_parts(["x1", "(rest)"], ["x0", "x1"], ["free", "money"])
    ('money', '(rest)')
    """
    if names is None:
        return tuple(parts)
    given = dict(zip(columns, name_columns(columns, names), strict=True))
    return tuple(given.get(part, part) for part in parts)


def find_column(name: str, columns: Sequence[str], names: NamesLike) -> str:
    """The column that is called so by the names given, or by itself where none are."""
    given = name_columns(columns, names)
    if names is None or name not in given:
        return name
    if given.count(name) > 1:
        raise InputError(f"two columns are called {name!r}; ask for one by its own name, such as {columns[0]!r}")
    return columns[given.index(name)]


def word_densities(model: Model) -> list[Counts]:
    """Those of the columns of texts, if there are any."""
    return [density for density in model.class_density.densities if isinstance(density, Counts)]


def word_probability(model: Model, name: str) -> Float | None:
    """P(word | class) of one column, (K,); None if it is no word."""
    for density in word_densities(model):
        if name in density.columns:
            found: Float = density.probabilities()[density.columns.index(name)]
            return found
    return None


def word_probabilities(model: Model) -> tuple[tuple[str, ...], Float]:
    """The columns of texts, and P(word | class): (columns, K)."""
    texts = word_densities(model)
    if not texts:
        raise InputError(
            "no column is a word: P(word | class) is that of the families Multinomial and Bernoulli; of other columns "
            "ask marginal(column)"
        )
    return tuple(n for density in texts for n in density.columns), np.concatenate([d.probabilities() for d in texts])
