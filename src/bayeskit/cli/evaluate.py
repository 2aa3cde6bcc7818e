"""Commands that judge: evaluate, compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bayeskit as bk
from bayeskit.arrays import Json, TableLike
from bayeskit.cli.options import (
    OFFERED,
    CostsFile,
    LabelledTable,
    ModelOption,
    OtherTarget,
    Reject,
    Settings,
    Target,
    Weight,
    command,
    load_classifier,
    split_names,
)
from bayeskit.cli.output import Saying, command_line, notes, trying
from bayeskit.cli.sources import Rows, Taken, in_memory, open_source, read_sample, with_dates
from bayeskit.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from bayeskit.estimators.auto import AutoBayes
    from bayeskit.evaluation.evaluation import Evaluation
    from bayeskit.evaluation.methods import Method

ByGroup = Annotated[
    list[str] | None,
    typer.Option("--by", help="Columns whose groups are judged one by one; also those of --ignore, as no features."),
]
METHODS = {"cv": "CrossValidation", "holdout": "Holdout", "loo": "LeaveOneOut", "bootstrap": "Bootstrap632"}
USUAL = ("naive", "full", "tan", "kdb", "aode")
FEWER = 5  # folds of a pool, every fit of which is many
PASSES = ("cv", "holdout")  # that need no row at hand
POOLED, REFITTED = 50_000, 500_000  # rows at most, of models that keep them at hand


@dataclass(frozen=True)
class EvaluationOptions:
    """How rows are divided, and what is at stake."""

    method: Annotated[str, typer.Option(help="cv, holdout, loo (leave one out) or bootstrap.")] = "cv"
    folds: Annotated[int | None, typer.Option(help="Of cross-validation; 10 unless given, 5 of auto.")] = None
    test_size: Annotated[float | None, typer.Option(help="Share held out; 1/3 unless given.")] = None
    groups: Annotated[str | None, typer.Option(help="A column, no feature, whose values keep rows together.")] = None
    seed: Annotated[int, typer.Option(help="Of the random division.")] = 0
    costs: CostsFile = None
    reject: Reject = None
    weight: Weight = None
    sample: LabelledTable = None

    def way(self, pooled: bool) -> Method:
        """How to divide the rows."""
        if self.method not in METHODS:
            raise UsageError(f"--method {self.method!r}: choose one of {', '.join(METHODS)}")
        if self.folds is not None and self.method != "cv":
            raise UsageError("--folds belongs to --method cv")
        if self.test_size is not None and self.method != "holdout":
            raise UsageError("--test-size belongs to --method holdout")
        folds = FEWER if pooled and self.method == "cv" and self.folds is None else self.folds
        given = {n: v for n, v in (("folds", folds), ("test_size", self.test_size)) if v is not None}
        method: Method = getattr(bk, METHODS[self.method])(**given)
        return method

    @property
    def others(self) -> Json:
        """The other arguments of evaluate and compare."""
        costs = None if self.costs is None else bk.Costs(self.costs)
        return {
            "costs": costs,
            "reject": self.reject,
            "groups": self.groups,
            "sample_weight": self.weight,
            "random_state": self.seed,
        }

    @property
    def words(self) -> tuple[str, ...]:
        """What is at stake, as typed."""
        given = {"--costs": self.costs, "--reject": self.reject, "--weight": self.weight, "--groups": self.groups}
        return tuple(str(word) for option, value in given.items() if value is not None for word in (option, value))

    @property
    def divides(self) -> bool:
        """Whether it was said how to divide rows."""
        return self.method != "cv" or any(v is not None for v in (self.folds, self.test_size, self.groups))

    def keeps_rows(self, models: Iterable[object]) -> bool:
        """Whether some of the rows are taken into memory, because that was asked for or no passes would do."""
        return self.sample is not None or (self.method not in PASSES and _needs_refits(models))

    def most(self, pooled: bool) -> int | None:
        """Rows to take at most, of models that are refitted; none is all."""
        usual = POOLED if pooled else REFITTED
        return usual if self.sample is None else self.sample

    def fits(self, rows: object, way: Method) -> int:
        """How often a model is fitted that has no statistics to divide, about."""
        import pyarrow as pa

        match way:
            case bk.LeaveOneOut():
                return rows.num_rows if isinstance(rows, pa.Table) else 1
            case bk.CrossValidation(folds=int(folds)):
                return folds
            case bk.Bootstrap632(repeats=repeats):
                return repeats
        return 1


def register(app: typer.Typer) -> None:
    command(
        app,
        evaluate,
        "bayeskit evaluate people.csv --target income --method loo, or bayeskit evaluate people.bayes test.csv",
    )
    command(app, compare, "bayeskit compare people.csv --target income --model naive,tan,aode --baselines")


def evaluate(
    *,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="A model file, to be judged as it is by rows that are new to it; without one a model is learned.",
            show_default=False,
        ),
    ] = None,
    rows: Rows,
    options: EvaluationOptions,
    settings: Settings,
    say: Saying,
    target: OtherTarget = None,
    model: Annotated[str | None, ModelOption] = None,
    by: ByGroup = None,
) -> None:
    """Judge a model by rows it has not learned; large files are read in passes, with no row kept."""
    if file is None or not file.endswith(".bayes"):
        if file is not None and rows.place is not None:
            raise UsageError(
                f"{file} is no model file (.bayes), so {rows.place} is one place too many; name a table and "
                "its --target, or a model file and rows that are new to it"
            )
        if target is None:
            raise typer.BadParameter("name the column with the classes", param_hint="--target")
        source = rows if file is None else replace(rows, place=file)
        with notes(say) as messages:
            found = Task(model or "naive", target, source, options, settings, split_names(by)).evaluate(say)
            text, data = str(found), measures(found)  # intervals may need a fit, which may have something to tell
        groups = ("--by", ",".join(split_names(by))) if by else ()
        then = command_line(
            "report", *source.words, "--target", target, "--model", model or "naive", *groups, *options.words
        )
    else:
        if model is not None or settings.given or options.divides:
            raise UsageError(f"{file} is judged as it is; leave out how to learn and how to divide rows")
        with notes(say) as messages, open_source(rows, say, "reading") as source:
            found = _evaluate_file(Path(file), source, target, options, split_names(by))
            text, data = str(found), measures(found)
        then = command_line("predict", file, "NEW.csv")
    say.answer(text, {**data, "notes": messages}, then)


def compare(
    target: Target,
    rows: Rows,
    options: EvaluationOptions,
    settings: Settings,
    say: Saying,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help=f"Models to compare, of {', '.join(OFFERED)}.")
    ] = None,
    by: Annotated[str, typer.Option(help="The measure to rank by.")] = "log_loss",
    baselines: Annotated[bool, typer.Option("--baselines", help="Add scikit-learn's usual models.")] = False,
) -> None:
    """Judge several models on the same folds, side by side."""
    names = split_names(model) or tuple(name for name in USUAL if name in OFFERED)
    models, pooled = {name: settings.classifier(name) for name in names}, "auto" in names
    way, others = options.way(pooled), options.others
    at_hand = baselines or options.keeps_rows(models.values())
    with (
        notes(say) as messages,
        _take(rows, say, options, at_hand, pooled) as taken,
        _show_candidates(models.get("auto"), say, options.fits(taken.table, way)),
    ):
        found = bk.compare(models, taken.table, target, way, by=by, baselines=baselines, **others)
        text, each = str(found), {name: measures(found[name]) for name in found.ranking}
    ranked = {"models": found.frame("pyarrow").to_pylist(), "baseline": found.baseline}
    best = found.best if found.best in OFFERED else "auto"
    then = command_line("fit", *rows.words, "--target", target, "--model", best)
    say.answer(text, {"by": found.by, **ranked, "each": each, "notes": messages}, then)


@dataclass(frozen=True)
class Task:
    """A model by its name and settings, and the rows, target and groups it is to be judged by."""

    model: str
    target: str
    rows: Rows
    options: EvaluationOptions
    settings: Settings
    by: tuple[str, ...] = ()
    coverage: float | None = None  # that sets of classes shall have

    def evaluate(self, say: Saying, then: Callable[[Evaluation, Taken], object] | None = None) -> Evaluation:
        """The model judged; ``then`` something is done with what was found, while the rows are there."""
        from sklearn.base import clone

        from bayeskit.model.labelled_table import drop_columns

        options, pooled = self.options, self.model == "auto"
        classifier, way = self._classifier(), options.way(pooled)
        ranked = self.coverage is not None and _needs_refits([classifier])
        at_hand = bool(self.by) or ranked or options.keeps_rows([classifier])
        rows = without_ignored(self.rows, self.by)
        with (
            _take(rows, say, options, at_hand, pooled, then is not None) as taken,
            _show_candidates(classifier if pooled else None, say, options.fits(taken.table, way) + (then is not None)),
        ):
            table, by = split_groups(taken.table, self.rows, self.by)
            taken = replace(taken, table=table)
            others = {"keep_models": then is not None, "by": by, **options.others}
            found = bk.evaluate(classifier, table, self.target, way, **others)
            if then is not None:
                # fitted by name, so that a file of the model knows its target
                if pooled and not taken.streamed:
                    X = drop_columns(table, [options.groups]) if options.groups else table
                    learn = partial(clone(classifier).fit, X, self.target, sample_weight=options.weight)
                    found = replace(found, fit=learn)
                then(found, taken)
        return found

    def _classifier(self) -> Any:
        """The model, with sets of classes around it if they are wanted."""
        classifier = self.settings.classifier(self.model)
        if self.coverage is None:
            return classifier
        if self.model == "auto" or self.options.weight is not None:
            raise UsageError(
                "--coverage ranks rows of one weight by one model: name it (--model naive), and leave --weight out"
            )
        return bk.Conformal(classifier, self.coverage, "cv+" if _needs_refits([classifier]) else "full")


@contextmanager
def _show_candidates(pool: AutoBayes | None, say: Saying, fits: int) -> Iterator[None]:
    """What a pool tries is shown, if there is one."""
    if pool is None:
        yield
        return
    with trying(say, fits) as pool.callback:
        yield


def _needs_refits(models: Iterable[object]) -> bool:
    """Whether some model has no statistics that folds could be made of."""
    from bayeskit.evaluation.protocols import SupportsSpec

    return not all(isinstance(model, SupportsSpec) and model.fold_spec() for model in models)


@contextmanager
def _take(
    rows: Rows, say: Saying, options: EvaluationOptions, refitted: bool, pooled: bool, hashed: bool = False
) -> Iterator[Taken]:
    """The rows to judge by: in memory for models that are refitted, else as they are if they take much of it."""
    from bayeskit.engines.files import files_of

    with ExitStack() as reading:
        source = reading.enter_context(open_source(rows, say, "reading"))
        taken = (
            read_sample(source, options.most(pooled), options.seed) if refitted else Taken(in_memory(source), source)
        )
        taken = replace(taken, files=tuple(files_of(source))) if hashed else taken
        if not taken.streamed:
            reading.close()
        yield taken


def without_ignored(rows: Rows, by: tuple[str, ...]) -> Rows:
    """The rows with the columns read that are to group them."""
    kept = [name for name in split_names(rows.ignore) if name not in by]
    return replace(rows, ignore=kept or None)


def split_groups(
    table: pa.Table, rows: Rows, by: tuple[str, ...]
) -> tuple[pa.Table, dict[str, pa.ChunkedArray] | None]:
    """A table without the columns that only group its rows, and the groups by name; None where there are none."""
    from bayeskit.model.labelled_table import drop_columns

    if not by:
        return table, None
    if lost := [name for name in by if name not in table.column_names]:
        raise InputError(f"--by {lost[0]}: there is no such column (there are: {', '.join(table.column_names[:20])})")
    values = {name: table[name] for name in by}
    return drop_columns(table, [name for name in split_names(rows.ignore) if name in by]), values


def _evaluate_file(
    file: Path, source: TableLike, target: str | None, options: EvaluationOptions, by: tuple[str, ...] = ()
) -> Evaluation:
    """A model file judged by rows that are new to it."""
    from bayeskit.estimators.wrapper import core

    model = load_classifier(file)
    known = core(model).model_
    target = target or known.schema.target
    if target is None:
        raise InputError("the model does not know the name of its target; name the column with the classes (--target)")
    source = with_dates(source, known.schema.names)
    rows = in_memory(source, {**known.counted.types, target: known.counted.types.get("", "")})
    others = {"costs": options.others["costs"], "sample_weight": options.weight}
    return bk.evaluate(model, rows, target, bk.AsFitted(), by=by or None, **others)


def measures(found: Evaluation) -> Json:
    """An evaluation for machines."""
    labels, actions = found.classes.tolist(), [*found.classes.tolist(), *found.others]
    confusion = {t: dict(zip(actions, row, strict=True)) for t, row in zip(labels, found.confusion.matrix, strict=True)}
    return {
        "model": found.name,
        "computed": found.computed,
        "held": list(found.held),
        "measures": found.frame("pyarrow").to_pylist(),
        "confusion": confusion,
        **({} if found.groups is None else {"groups": found.groups.frame("pyarrow").to_pylist()}),
    }
