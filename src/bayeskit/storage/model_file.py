"""Model file: a model, or a bundle of them, as header and tensors of a ``.bayes`` file, and back with every doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from bayeskit.arrays import Array, FilePath, Float, Json
from bayeskit.data.encode import IngestReport
from bayeskit.data.levels import Domain
from bayeskit.data.schema import CODED, NUMERIC, UNDETERMINED, Alike, Column, Schema
from bayeskit.errors import BayeskitError, ModelFileError
from bayeskit.model.codec import (
    build,
    describe,
    json_text,
    keys_of,
    likelihoods,
    parse,
    parse_fields,
    registry,
    write_fields,
)
from bayeskit.model.journal import Entry
from bayeskit.model.learn import UNSEEN
from bayeskit.model.model import Model
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.ranges import STEPS, Ranges
from bayeskit.statistics.sliced import Sliced
from bayeskit.statistics.statistic import Product, sizes_of
from bayeskit.statistics.tables import Tables
from bayeskit.storage import container
from bayeskit.storage.container import check_label, key_of, read_columns, read_domain, with_titles, without_titles
from bayeskit.storage.identifiers import estimator_of, identifier_of, name_settings, settings_of
from bayeskit.structures.choice import Choice, LevelChoice
from bayeskit.structures.covariance import FLAT
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.full import Full, without_products
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import Backoff, FactorWeights
from bayeskit.validation import name_in_files

TEXTS = ("names", "columns", "classes", "levels")
T = TypeVar("T")
FIELDS = {"model", "settings", "parts", "notes"}  # of a bundle


@dataclass(frozen=True)
class Header:
    """What a file says of a model beside its tensors; a field that is not there has its default."""

    model: str  # the identifier of its estimator
    components: tuple[tuple[Any, int], ...]  # likelihoods, by number in the counts, and how many columns each has
    named: bool = True
    target: str | None = None
    label: str = "O"
    declared: tuple[Any, ...] = ()
    prior: Any = "empirical"
    unseen: str = "missing"
    tuned: bool = False
    products: bool = False  # whether variances alone come from the products of every two columns, as in format 1
    ranged: bool = False  # whether the range of numeric columns is there; where it is not, it is unknown
    stepped: bool = False  # whether the decimals of their values are, likewise
    settings: Any = field(default_factory=dict)  # of the estimator
    ingest: IngestReport = field(default=IngestReport(), metadata=name_in_files("tally"))
    journal: tuple[Entry, ...] = ()
    digest: str | None = None  # of the model; files of format 1 have none that could be compared


def save(path: FilePath, model: Model, kind: str, settings: Mapping[str, object]) -> None:
    """Write a model with the name and the settings of its estimator."""
    container.write(path, *pack(model, kind, settings))


def pack(model: Model, kind: str, settings: Mapping[str, object]) -> tuple[Json, dict[str, Array]]:
    """Header and tensors of a model."""
    counted, schema = model.counted, model.schema
    arrays: dict[str, Array] = {}
    domain = counted.domain
    names = schema.coded
    runs = list(without_titles(schema).runs)
    texts = {
        "names": list(schema.names),
        "columns": [json_text(write_fields(run.like)) for run in runs],
        "classes": keys_of(domain.classes),
        "levels": [text for name in names for text in keys_of(domain.levels[name])],
    }
    for name, lines in texts.items():
        arrays[f"{name}.text"], arrays[f"{name}.ends"] = container.pack(lines)
    arrays["columns.runs"] = np.array([len(run) for run in runs], dtype=np.int64)
    arrays["levels.sizes"] = np.array([len(domain.levels[n]) for n in names], dtype=np.int64)
    position = {name: j for j, name in enumerate(schema.names)}
    arrays["owners"] = np.array([position[n] for _, owned in model.structure.components for n in owned], dtype=np.int64)
    arrays |= {f"counts/{name}": array for name, array in counted.statistic.arrays().items()}
    if ranged := counted.ranges.known:
        arrays["ranges.low"], arrays["ranges.high"] = counted.ranges.low, counted.ranges.high
        arrays["ranges.decimals"] = counted.ranges.decimals
    if model.weighting is not None:
        arrays["tuning.weight"], arrays["tuning.bias"] = model.weighting.weight, model.weighting.bias_of(domain.classes)
    header = Header(
        identifier_of(kind),
        tuple((family, len(owned)) for family, owned in model.structure.components),
        schema.named,
        schema.target,
        schema.label,
        schema.classes,
        model.prior,
        model.unseen,
        model.weighting is not None,
        False,
        ranged,
        ranged,
        name_settings(settings),
        counted.ingest,
        model.journal,
        model.digest,
    )
    return write_fields(header), arrays


Read = tuple[Model, str, dict[str, Any]]  # a model, the name and the settings of its estimator


def load(path: FilePath) -> Read:
    """What a file holds; ModelFileError if anything is not as saved."""
    header, arrays = container.read(path, tensor_spec)
    with doubts(path):
        return unpack(header, arrays)


def unpack(header: Mapping[str, object], arrays: Mapping[str, Array]) -> Read:
    """Back from header and tensors."""
    parsed = parse_fields(Header, header)
    return _model(parsed, arrays), estimator_of(parsed.model), settings_of(parsed.settings)


@contextmanager
def doubts(path: FilePath) -> Iterator[None]:
    """Whatever turns out wrong in the content of a file is reported with its name."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (BayeskitError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path}: its content contradicts itself ({error}); save the model again") from error


def tensor_spec(header: Mapping[str, object], shapes: container.Shapes) -> container.Spec:
    """Names and types of the tensors a file with this header must have; their shapes are those there are."""
    parsed = parse_fields(Header, header)
    (d,) = shapes["names.ends"]
    parts = tuple(
        (family, tuple(f"{i}.{j}" for j in range(min(n, d)))) for i, (family, n) in enumerate(_components(parsed))
    )
    blank = Alike(Column("", "nominal", "", ""), tuple(name for _, names in parts for name in names))
    empty = Model.statistic(_counting(Naive((), parts), parsed), Schema(blank))(0)
    counts = {f"counts/{name}": array.dtype for name, array in empty.arrays().items()}
    whole = dict.fromkeys(("owners", "columns.runs", "levels.sizes"), np.dtype(np.int64))
    tuned = ("tuning.weight", "tuning.bias") if parsed.tuned else ()
    ranged = ("ranges.low", "ranges.high") if parsed.ranged else ()
    stepped = ("ranges.decimals",) if parsed.ranged and parsed.stepped else ()
    spec = {**whole, **counts, **dict.fromkeys((*tuned, *ranged, *stepped), np.dtype(np.float64))}
    for name in TEXTS:
        spec |= {f"{name}.text": np.dtype(np.uint8), f"{name}.ends": np.dtype(np.int64)}
    return {name: (dtype, shapes[name]) for name, dtype in spec.items()}


def _components(header: Header) -> tuple[tuple[Any, int], ...]:
    """The likelihoods, each different, and how many columns each has."""
    known = likelihoods()
    if not all(type(family) in known and count >= 0 for family, count in header.components):
        raise ModelFileError("a component is no likelihood of columns")
    if not all(_is_sound(family) for family, _ in header.components):
        raise ModelFileError("a component is made of likelihoods that it cannot be made of")
    if len({family for family, _ in header.components}) < len(header.components):
        raise ModelFileError("a component occurs twice")
    return header.components


def _is_sound(component: Any) -> bool:
    """Whether what a component is made of are families that its columns could take."""
    several = isinstance(component, Choice | LevelChoice)
    inner = component.candidates if several else (component.family,) if isinstance(component, Backoff) else ()
    taken = {*(CODED if isinstance(component, LevelChoice) else NUMERIC)}
    known = {kind for name, kind in registry().items() if name.startswith("family/")}
    sound = all(type(c) in known and taken & {*c.kinds} and not c.sparse for c in inner)
    return sound and (bool(inner) or not several)


def _model(header: Header, arrays: Mapping[str, Array]) -> Model:
    text = {name: container.unpack(arrays[f"{name}.text"], arrays[f"{name}.ends"]) for name in TEXTS}
    columns = read_columns(text["columns"], arrays["columns.runs"].tolist(), text["names"])
    schema = Schema(columns, header.named, header.target, header.label, header.declared)
    if len(set(schema.names)) < len(columns):
        raise ModelFileError("two columns have the same name")
    if not header.named and schema.names != tuple(f"x{j}" for j in range(len(columns))):
        raise ModelFileError("the columns of a matrix have names of their own")
    if header.unseen not in UNSEEN or min(astuple(header.ingest)) < 0:
        raise ModelFileError("its header is not as it should be")
    check_label(header.label, [key_of(line) for line in text["classes"]])
    domain = read_domain(schema, text["classes"], text["levels"], arrays["levels.sizes"].tolist())
    given = _components_of(header, schema, arrays["owners"].tolist())
    structure = Naive.of(given.family_of, schema) if len(given.components) > 1 else given
    schema = with_titles(schema, structure)
    for family, _ in structure.components:
        family.check_columns(schema)
    place = {family: i for i, (family, _) in enumerate(structure.components)}
    fronts = [(f"counts/features/{i}/", f"features/{place[family]}/") for i, (family, _) in enumerate(given.components)]
    counts = {f"classes/{n}": a for n, a in _under("counts/classes/", arrays).items()}
    for old, new in fronts:
        counts |= {f"{new}{n}": a for n, a in _under(old, arrays).items()}
    empty = Model.statistic(_counting(structure, header), schema)(len(domain.classes))
    statistic = _as_counted_now(empty.with_arrays(counts), structure, header)
    ranges = _ranges(header, arrays, len(schema.numeric))
    counted = Counted(schema, domain, statistic, ranges, ingest=header.ingest)
    _check_agreement(counted)
    _check_finished(structure, statistic)
    model = Model(counted, structure, header.prior, header.unseen, journal=header.journal)
    if header.tuned:
        pieces = model.density.factor_names if structure.kept else structure.factor_names
        model = replace(model, weighting=_tuning(arrays, len(pieces), domain))
    if header.digest is not None and model.digest != header.digest:
        raise ModelFileError("its digest does not fit its content")
    model.log_prior(), model.classes  # whatever follows from it must be there
    model.density.verify()
    return model


def _check_finished(structure: Naive, statistic: Product) -> None:
    """Refuse a structure whose cuts or arcs are yet to be chosen from what it counted."""
    for family, _ in structure.components:
        if isinstance(family, Discrete) and not isinstance(statistic.part("features", Product)[family], Sliced):
            raise ModelFileError("it was saved before all it is to choose was chosen")


def _counting(structure: Naive, header: Header) -> Naive:
    """The structure whose counts the file holds."""
    if not header.products:
        return structure
    counting = tuple((_with_products(family), names) for family, names in structure.components)
    return replace(structure, components=counting)


def _with_products(family: Any) -> Any:
    return replace(family, covariance="full") if _flat(family) else family


def _flat(family: object) -> bool:
    return isinstance(family, Full) and family.covariance in FLAT


def _as_counted_now(counts: Product, structure: Naive, header: Header) -> Product:
    """The counts of a file as the structure counts now."""
    if not header.products:
        return counts
    features: Any = counts["features"]
    each = zip(structure.components, features.parts.values(), strict=True)
    new = {family: without_products(part) if _flat(family) else part for (family, _), part in each}
    return replace(counts, parts={**counts.parts, "features": replace(features, parts=new)})


def _components_of(header: Header, schema: Schema, owners: list[int]) -> Naive:
    """The components with the columns each has."""
    components = _components(header)
    begin = np.cumsum([0, *(count for _, count in components)]).tolist()
    if len(owners) != begin[-1] or not all(0 <= j < len(schema.names) for j in owners):
        raise ModelFileError("a column has no family, or a family no column")
    names = [schema.names[j] for j in owners]
    parts = tuple((family, tuple(names[begin[i] : begin[i + 1]])) for i, (family, _) in enumerate(components))
    for family, owned in parts:
        if not owned or len(set(owned)) < len(owned):
            raise ModelFileError("a family has no column, or one twice")
        for column in _distinct(schema, owned):
            if not _takes(family, column):
                raise ModelFileError(f"a column is {column.kind}, which its family does not take")
    taken = {name for _, owned in parts for name in owned}
    if any((run.like.kind == UNDETERMINED) == (name in taken) for run in schema.runs for name in run.names):
        raise ModelFileError("a column has no family, or has one before its kind is known")
    return Naive(schema.names, parts)


def _distinct(schema: Schema, names: tuple[str, ...]) -> list[Column]:
    """Some columns; of those that differ only in name one is enough."""
    return [schema.columns.like] if isinstance(schema.columns, Alike) else [schema[name] for name in names]


def _takes(family: Any, column: Column) -> bool:
    """Whether a family counts such a column, or whether its value is there."""
    absent = column.numeric and column.missing == "level" and "nominal" in family.kinds
    return column.kind in family.kinds or absent


def _under(front: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(front): array for name, array in arrays.items() if name.startswith(front)}


def _ranges(header: Header, arrays: Mapping[str, Array], columns: int) -> Ranges:
    """The least and the greatest value of each numeric column, and its decimals, NaN where they are not known."""
    if not header.ranged:
        return Ranges.unknown(columns)
    low, high = arrays["ranges.low"], arrays["ranges.high"]
    if low.shape != (columns,) or high.shape != (columns,):
        raise ModelFileError("its ranges do not fit its columns")
    if (((low > high) | np.isinf(low) | np.isinf(high)) & ~((low == np.inf) & (high == -np.inf))).any():
        raise ModelFileError("the range of a column ends before it begins")
    decimals = arrays["ranges.decimals"] if header.stepped else np.full(columns, np.nan)
    if decimals.shape != (columns,) or not (np.isnan(decimals) | np.isin(decimals, STEPS)).all():
        raise ModelFileError("the decimals of a column are no number that a range has")
    return Ranges(low, high, decimals)


def _tuning(arrays: Mapping[str, Array], pieces: int, domain: Domain) -> FactorWeights:
    weight, bias = arrays["tuning.weight"], arrays["tuning.bias"]
    fits = weight.shape == (pieces,) and bias.shape == (len(domain.classes),)
    if not fits or not np.isfinite(weight).all() or not np.isfinite(bias).all() or (weight < 0).any():
        raise ModelFileError("its weights do not fit its pieces and classes")
    return FactorWeights(weight, bias, domain.classes)


def _check_agreement(counted: Counted) -> None:
    """Totals that must agree in any table: sizes with levels, no column heavier than its class, canonical order."""
    classes = counted.statistic.part("classes", Tables).table(0)
    if not len(counted.domain.classes) or not classes.nonzero().any():
        raise ModelFileError("it has no class")
    if not np.isfinite(classes.to_float().sum()):
        raise ModelFileError("its rows weigh more than any number")
    for part in counted.statistic.part("features", Product).parts.values():
        for name, size in sizes_of(part).items():
            if size != len(counted.domain.levels[name]):
                raise ModelFileError(f"column {name!r} has {len(counted.domain.levels[name])} levels but {size} counts")
    if counted.find_outweighed():
        raise ModelFileError("a column has more values than its class has rows")
    if counted.canonical().domain != counted.domain:
        raise ModelFileError("its levels or classes are not in order")


@dataclass(frozen=True)
class Bundle:
    """An estimator made of others."""

    kind: str
    settings: Mapping[str, Any]
    parts: Mapping[str, Read]  # each model with the name and settings of its estimator
    notes: Any  # whatever JSON holds
    numbers: Mapping[str, Float]

    def save(self, path: FilePath) -> None:
        """Write it whole or not at all."""
        headers: dict[str, Any] = {}
        arrays: dict[str, Array] = {
            f"numbers/{name}": np.asarray(a, dtype=np.float64) for name, a in self.numbers.items()
        }
        for name, (model, kind, settings) in self.parts.items():
            headers[name], tensors = pack(model, kind, settings)
            arrays |= {f"{name}/{key}": array for key, array in tensors.items()}
        header = {
            "model": identifier_of(self.kind),
            "settings": describe(name_settings(self.settings)),
            "parts": headers,
            "notes": self.notes,
        }
        container.write(path, header, arrays)

    @classmethod
    def load(cls, path: FilePath) -> Bundle:
        """Back from a file; ModelFileError if anything is not as saved."""
        read, arrays = container.read(path, _bundle_spec)
        header: dict[str, Any] = dict(read)
        with doubts(path):
            parts = {name: unpack(head, _of(name, arrays)) for name, head in header["parts"].items()}
            numbers = _of("numbers", arrays)
            if not all(np.isfinite(array).all() for array in numbers.values()):
                raise ModelFileError("it holds numbers that are none")
            kind = estimator_of(parse(str, header["model"], "model"))
            return cls(kind, settings_of(build(header["settings"])), parts, header["notes"], numbers)


def _of(name: str, arrays: Mapping[str, T]) -> dict[str, T]:
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def _bundle_spec(header: Mapping[str, object], shapes: container.Shapes) -> container.Spec:
    """Names and types of the tensors a file with this header must have; their shapes are those there are."""
    if header.keys() != FIELDS or not isinstance(header["parts"], dict):
        raise ModelFileError("the header does not describe models; save the model again")
    spec: dict[str, Any] = {n: (np.dtype(np.float64), shape) for n, shape in shapes.items() if n.startswith("numbers/")}
    for name, head in header["parts"].items():
        spec |= {f"{name}/{key}": what for key, what in tensor_spec(head, _of(name, shapes)).items()}
    return spec
