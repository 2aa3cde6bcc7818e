"""NaiveBayes: columns independent given the class, each with the family its kind calls for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Frame, Json, KindsLike, Label, MissingLike, NamesLike, PriorLike
from bayeskit.data.frame import frame
from bayeskit.data.kinds import by_name
from bayeskit.data.schema import CODED, KINDS, NUMERIC, Alike, Column, Schema
from bayeskit.densities.counts import CountFamily
from bayeskit.densities.likelihood import Likelihood, describe_family
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import wants_weights
from bayeskit.explain.words import name_columns, word_probabilities
from bayeskit.families import families as known_families
from bayeskit.families.categorical import Categorical
from bayeskit.families.gaussian import Gaussian
from bayeskit.families.ordinal import Ordinal
from bayeskit.families.poisson import Poisson
from bayeskit.model.codec import read
from bayeskit.model.learn import Spec
from bayeskit.smoothing import Laplace, NoSmoothing, Smoothing, TowardPooled
from bayeskit.smoothing import smoothing as smoothing_rule
from bayeskit.structures.choice import Choice, LevelChoice
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import Backoff, title
from bayeskit.validation import positive

# what "auto" tries for numbers, fewest parameters first
AUTO = "auto"
STRENGTHS = (1.0, 4.0, 16.0)  # pseudo-rows of categories toward all classes
CANDIDATES = (
    *("Exponential", "Poisson", "Gaussian", "LogNormal", "Gamma", "NegativeBinomial", "Beta", "ZeroInflated"),
    *("Histogram", "Kernel"),
)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayes(BayesClassifier):
    """Naive Bayes for any table: numbers, texts, booleans and missing values in one model.

    P(c | x) is proportional to P(c) times the product over columns of p(x_j | c).

    Parameters
    ----------
    families : str, family or mapping, optional
        The distribution of columns given the class: an object of ``bayeskit.families``, its name as a text such as
        "Binomial(trials=20)", or a mapping from columns (or tuples of columns) to these; one alone serves all columns
        that it takes. "auto" tries several families for each column, takes the one that predicts the rows best by
        leave-one-out, and weighs the column by how probable it is that it depends on the class. Without it the kind
        of a column decides.
    smoothing : float or one of ``bayeskit.smoothing``, default 1.0
        Correction of zero counts in categories, and in Multinomial, Complement and Bernoulli unless they have their
        own; 0 is none.
    backoff : float, default 0.0
        So many pseudo-rows of the density of all classes are mixed into that of each class, in columns of numbers
        ("auto" has one in any case), so that a value far from a class speaks against it with bounds.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Attributes
    ----------
    classes_, schema_, model_, exact_, weights_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"age": 25, "smokes": "no"}, {"age": 60, "smokes": "yes"}, {"age": 58}, {"smokes": "no"}]
    >>> model = bk.NaiveBayes().fit(table, ["well", "ill", "ill", "well"])
    >>> model.predict([{"age": 61, "smokes": None}])
    array(['ill'], dtype='<U4')
    """

    families: object = None
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float | Smoothing = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    backoff: float = 0.0
    weights: str | None = None
    n_jobs: int | None = None

    def spec(self) -> Spec:
        return replace(super().spec(), fits_weights=wants_weights(self.weights))

    def word_probabilities(self, names: NamesLike = None, kind: str = "pyarrow") -> Frame:
        """P(word | class) as a frame, a line for each column of a text: its share of the counts of a class
        (``Multinomial``), or how often it is there (``Bernoulli``). ``names`` are the words, as in ``explain``.

        Parameters
        ----------
        kind : {"pyarrow", "pandas", "polars"}, default "pyarrow"
            The kind of frame.
        """
        check_is_fitted(self, "model_")
        columns, shares = word_probabilities(self.model_)
        labels = self.classes_.tolist()
        by_class = {f"P(word | {label})": shares[:, k] for k, label in enumerate(labels)}
        return frame({"word": list(name_columns(columns, names)), **by_class}, kind)

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        named, general = self._choose_families(schema)
        if isinstance(schema.columns, Alike) and not named:
            like, families = self._column(_as_counts(schema.columns.like, general), None, general)
            if general != AUTO and general is not None and general not in _plain(families):
                raise InputError(f"no column can take the family {general!r}; declare kinds, or name columns")
            schema = replace(schema, columns=replace(schema.columns, like=like))
            return Naive.alike(families, schema), schema
        columns, family_of = [], {}
        bits = all(_as_counts(column, general) is not column for column in schema.columns)
        for column in schema.columns:
            column = _as_counts(column, general if bits else named.get(column.name))
            column, family_of[column.name] = self._column(column, named.get(column.name), general)
            columns.append(column)
        if (
            general != AUTO
            and general is not None
            and not any(general in _plain(owned) for owned in family_of.values())
            and family_of
        ):
            raise InputError(
                f"no column can take the family {general!r}; declare kinds, or name columns. The words of texts are "
                f"counted first: make_pipeline(CountVectorizer(), NaiveBayes(families='Multinomial')) reads a column"
            )
        schema = replace(schema, columns=tuple(columns))
        return Naive.of(family_of, schema), schema

    def _column(self, column: Column, named: object, general: object) -> tuple[Column, list[Any]]:
        """A column with its family named, and all families it has a part in."""
        chosen, why = self._family(column, named, general)
        column = _declare_by(column, chosen)
        if self.backoff and column.kind in NUMERIC and chosen is not None and not isinstance(chosen, Choice):
            chosen = Backoff(chosen, positive("backoff", self.backoff))
        name = "" if chosen is None else _text(chosen) if isinstance(chosen, Choice | LevelChoice) else title(chosen)
        families = [] if chosen is None else [chosen]
        if column.kind not in CODED and column.missing == "level":
            families.append(Categorical(self.smoothing))
        return replace(column, family=name, why_family=why), families

    def _choose_families(self, schema: Schema) -> tuple[dict[str, Any], Any]:
        """Families by column, and the one for the others."""
        smoothing_rule(self.smoothing)
        if self.families is None:
            return {}, None
        if not isinstance(self.families, Mapping):
            return {}, self._with_smoothing(_as_family(self.families, "families"))
        flat: dict[Any, Any] = {}
        for place, (columns, family) in enumerate(self.families.items()):
            family = self._with_smoothing(_as_family(family, f"families[{columns!r}]"))
            for column in columns if isinstance(columns, tuple) else (columns,):
                if column in flat:
                    raise SchemaError(f"families names the column {column!r} twice; name it once")
                flat[column] = (place if isinstance(columns, tuple) else -1, family)
        return _number_groups(by_name(flat, schema.names, schema.named, "families"), schema.names), None

    def _family(self, column: Column, named: Any, general: Any) -> tuple[Any, str]:
        """The family of a column and the reason."""
        if AUTO in (named, general if named is None else None) and (choice := self._choice(column)) is not None:
            return choice, "left to the data"
        if named is not None and named != AUTO:
            if _takes(named, column):
                return named, "family given"
            words = isinstance(named, CountFamily) and "string" in column.type
            raise SchemaError(
                f"column {column.name!r} is {column.kind} ({column.why}) and cannot take {named!r}, "
                f"which takes {', '.join(named.kinds)} columns"
                + ("; turn texts into counts of words first (sklearn's CountVectorizer)" if words else "")
            )
        if general is not None and general != AUTO and _takes(general, column):
            return general, "family given for all"
        return self._default(column), f"default for {column.kind}" if column.kind in KINDS else "no value so far"

    def _with_smoothing(self, family: object) -> Any:
        """A family that leaves its smoothing to the classifier, with it; ``Histogram`` has a default of its own."""
        if not isinstance(family, CountFamily) or family.smoothing is not None:
            return family
        return family.with_settings(smoothing=1.0 if self._alpha is None else self._alpha)

    @property
    def _alpha(self) -> float | None:
        """The smoothing as pseudo-counts, if it can be said so."""
        rule = smoothing_rule(self.smoothing)
        return rule.alpha if isinstance(rule, Laplace) else 0.0 if isinstance(rule, NoSmoothing) else None

    def _choice(self, column: Column) -> Any:
        """What lets the data choose among several candidates, if its kind has such."""
        if column.kind in Choice.kinds:
            return _among_families()
        if column.kind == "ordinal":
            return LevelChoice((self._default(column),)) if smoothing_rule(self.smoothing).normalised else None
        return _among_strengths() if column.kind in LevelChoice.kinds else None

    def _default(self, column: Column) -> Any:
        """The family its kind calls for."""
        alpha = self._alpha
        if column.kind == "ordinal" and column.missing == "skip" and alpha is not None:
            return Ordinal(alpha)
        if column.kind in CODED:
            return Categorical(self.smoothing)
        if column.kind == "count":
            return Poisson(1.0 if alpha is None else alpha)
        return Gaussian() if column.kind in NUMERIC else None


@cache
def _among_families() -> Choice:
    return Choice(tuple(known_families()[name]() for name in CANDIDATES))


@cache
def _among_strengths() -> LevelChoice:
    return LevelChoice(tuple(Categorical(TowardPooled(m)) for m in STRENGTHS))


_text = cache(describe_family)  # of what is the same for many columns


def _plain(owned: Sequence[Label]) -> list[Label]:
    """Families as they were given."""
    return [family.family if isinstance(family, Backoff) else family for family in owned]


def _number_groups(wanted: Mapping[str, tuple[int, object]], names: Sequence[str]) -> Json:
    """Families by column; a tuple of columns is a group of its own for a family over groups, numbered as they come."""
    out: dict[str, Any] = {}
    groups: dict[Any, list[int]] = {}
    for name in (n for n in names if n in wanted):
        place, family = wanted[name]
        if isinstance(family, CountFamily):
            known = groups.setdefault(family, [])
            if place not in known:
                known.append(place)
            family = family.with_settings(group=family.group + known.index(place))
        out[name] = family
    return out


def _as_family(given: object, where: str) -> Any:
    """A family object from itself, its class or its name, perhaps with settings; "auto" lets the data choose."""
    if isinstance(given, str) and given.lower() == AUTO:
        return AUTO
    family, known = given, known_families()
    if isinstance(given, str):
        try:
            family = known[given] if given in known else read(given)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError:
            family = None
    if isinstance(family, type):
        family = family()
    if not isinstance(family, Likelihood):
        what = "is not known" if isinstance(given, str) else "is not a family"
        raise InputError(f"{where} = {given!r} {what}; choose from {', '.join((AUTO, *sorted(known)))}")
    return family


def _as_counts(column: Column, family: object) -> Column:
    """A column of truth values as one of zeros and ones, for a family over groups of counts."""
    if column.type != "bool" or not column.why.startswith("type") or not isinstance(family, CountFamily):
        return column
    return replace(column, kind="quantitative", why=f"type bool, as zeros and ones for {type(family).__name__}")


def _takes(family: Any, column: Column) -> bool:
    return column.kind in family.kinds or _declare_by(column, family).kind in family.kinds


def _declare_by(column: Column, family: Any) -> Column:
    """A whole-number column given a family of categories is declared a category by that."""
    whole = column.type.startswith(("int", "uint"))
    if family is None or column.kind in family.kinds or not (column.why.startswith("type") and whole):
        return column
    kind = next((k for k in family.kinds if k == "nominal"), None)
    return column if kind is None else replace(column, kind=kind, why=f"family {family!r} given for {column.type}")
