"""Commands that learn: fit, update, forget, renew, merge, prune."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayeskit.arrays import Json
from bayeskit.cli.options import LabelledTable, ModelFile, ModelName, OtherTarget, Settings, Target, Weight, command
from bayeskit.cli.output import MODEL, Force, Saying, check_output, command_line, notes, trying
from bayeskit.cli.predict import Asker
from bayeskit.cli.sources import Cluster, Rows, open_source, read_sample, with_dates
from bayeskit.errors import UsageError

MOST = 300_000  # rows that are kept at hand to be ranked among
NEW = "NEW.csv"  # what a user has yet to name

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The model file; the source's name with .bayes unless given."),
]


def register(app: typer.Typer) -> None:
    command(app, fit, "bayeskit fit people.csv --target income --kinds zip=nominal -o people.bayes")
    command(app, update, "bayeskit update people.bayes january.parquet")
    command(app, forget, "bayeskit forget people.bayes erased.csv")
    command(app, renew, "bayeskit renew people.bayes left.csv")
    command(app, merge, "bayeskit merge north.bayes south.bayes -o both.bayes")
    command(app, prune, "bayeskit prune north.bayes --min-count 5 -o shared.bayes")


def fit(
    target: Target,
    rows: Rows,
    settings: Settings,
    cluster: Cluster,
    say: Saying,
    output: Output = None,
    model: ModelName = "naive",
    weight: Weight = None,
    sample: LabelledTable = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Answer with sets of classes that hold the true one in this share of the rows: 0.9."),
    ] = None,
    conformal: Annotated[
        str, typer.Option(help="How sets are made: full, jackknife+, cv+ or split (with --coverage).")
    ] = "full",
    force: Force = False,
) -> None:
    """Learn a model from a table and save it."""
    from bayeskit.engines.files import contents_of
    from bayeskit.estimators.files import add_to_journal, warn_of_journal
    from bayeskit.estimators.wrapper import core
    from bayeskit.model.journal import Origin

    classifier, path = settings.classifier(model), output or _beside(rows.place)
    check_output(path, MODEL, [rows.place], force, rows.sql)
    pooled = model == "auto"  # the bar of its candidates stands in place of that of rows
    if coverage is not None:
        classifier = _with_sets(classifier, coverage, conformal, cluster)
    with notes(say) as messages, ExitStack() as shown:
        source = shown.enter_context(open_source(rows, replace(say, quiet=say.quiet or pooled), "learning", cluster))
        origin = Origin(*contents_of(source))
        if coverage is not None:
            classifier.fit(read_sample(source, sample or MOST).table, target, sample_weight=weight)
        else:
            table = read_sample(source, sample).table if sample else source
            if pooled:
                classifier.callback = shown.enter_context(trying(say, 1))
            classifier.fit(table, target, sample_weight=weight)
        warn_of_journal(path)
        add_to_journal(classifier, "fit", core(classifier).model_.counted.weight, origin).save(path)
    _tell(classifier, path, "learned", messages, say, command_line("predict", path, NEW))


def _with_sets(classifier: object, coverage: float, method: str, cluster: Cluster) -> Any:
    """The classifier with a guarantee around it."""
    import bayeskit as bk

    if cluster.engine == "spark":
        raise UsageError("--coverage keeps the rows at hand, so it is not learned on Spark; leave --engine out")
    return bk.Conformal(classifier, coverage, method)


@dataclass(frozen=True)
class Revision:
    """A model file that is changed, and which columns of the rows are no features."""

    file: ModelFile
    target: OtherTarget = None
    weight: Weight = None

    @property
    def written(self) -> Path:
        """Where the changed model is."""
        return self.file


@dataclass(frozen=True)
class Renewal(Revision):
    """A model file that chooses anew, perhaps into another file."""

    output: Annotated[Path | None, typer.Option("--output", "-o", help="Another model file to write.")] = None
    force: Force = False

    @property
    def written(self) -> Path:
        return self.output or self.file


@dataclass(frozen=True)
class Change:
    """What is done to a model file by rows, how that is reported, and what to do next."""

    make: Callable[..., Any]  # from file, source, target and weight the changed model
    done: str
    then: str


def update(revision: Revision, rows: Rows, cluster: Cluster, say: Saying) -> None:
    """Teach a model file more rows; new classes and levels are welcome."""
    from bayeskit.estimators.files import update_file

    _revise(Change(update_file, "learned", command_line("predict", revision.file, NEW)), revision, rows, cluster, say)


def forget(revision: Revision, rows: Rows, cluster: Cluster, say: Saying) -> None:
    """Make a model file forget rows: no text or number that only they had is left in it; what is held is reported."""
    from bayeskit.estimators.files import forget_file

    file = revision.file
    then = command_line("renew", file, "LEFT.csv") + " where choices are held, else " + command_line("inspect", file)
    _revise(Change(forget_file, "forgot", then), revision, rows, cluster, say)


def renew(renewal: Renewal, rows: Rows, cluster: Cluster, say: Saying) -> None:
    """Choose anew what a model file holds, from the rows that it has: cuts, arcs, weights, members of a pool."""
    from bayeskit.estimators.files import renew_file

    if renewal.output is not None:
        check_output(renewal.output, MODEL, [renewal.file, rows.place], renewal.force, rows.sql)
    change = partial(renew_file, target=renewal.output)
    _revise(Change(change, "chose anew from", command_line("inspect", renewal.written)), renewal, rows, cluster, say)


def merge(
    files: Annotated[list[Path], typer.Argument(help="Model files of the same kind.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)],
    say: Saying,
    force: Force = False,
) -> None:
    """Write the model that has learned what all of these have."""
    from bayeskit.estimators.files import merge_files

    check_output(output, MODEL, files, force)
    with notes(say) as messages:
        classifier = merge_files(files, output)
    _tell(classifier, output, f"merged {len(files)} models", messages, say, command_line("predict", output, NEW))


def prune(
    file: ModelFile,
    min_count: Annotated[float, typer.Option(help="The least count that may stay in the file: 5.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)],
    say: Saying,
    force: Force = False,
) -> None:
    """Write a model without small cells, for those who may see counts of many rows alone."""
    from bayeskit.estimators.files import prune_file

    check_output(output, MODEL, [file], force)
    with notes(say) as messages:
        classifier = prune_file(file, min_count, output)
    _tell(classifier, output, f"pruned below {min_count:g}", messages, say, command_line("inspect", output))


def _revise(change: Change, revision: Revision, rows: Rows, cluster: Cluster, say: Saying) -> None:
    """Change a model file by rows, and tell what was done and where the model is."""
    from bayeskit.estimators.wrapper import core

    if revision.written == revision.file and revision.file.exists():  # else its reader says that it is not there
        check_output(revision.file, MODEL, [rows.place], True, rows.sql)
    with notes(say) as messages, open_source(rows, say, "reading", cluster) as source:
        source = with_dates(source, Asker.of(revision.file).model.schema.names)
        classifier = change.make(revision.file, source, revision.target, revision.weight)
    last = core(classifier).model_.journal[-1]
    _tell(classifier, revision.written, f"{change.done} {last.rows:,.10g} rows", messages, say, change.then)


def _beside(place: str | None) -> Path:
    """The model file that goes with a source."""
    plain = place and "://" not in place and not set("*?[") & set(place) and place != "-"
    return Path(Path(place).name.split(".")[0] + ".bayes") if plain and place else Path("model.bayes")


def _tell(classifier: Any, path: Path, done: str, messages: list[str], say: Saying, then: str) -> None:
    """What the model is by now, what was done to it, and what to do next."""
    from bayeskit.estimators.wrapper import core

    counted = core(classifier).summary()
    weight = sum(weight for _, weight, _ in counted.classes)
    data = {
        "model": str(path),
        "rows": weight,
        "classes": [{"label": c, "weight": w, "prior": p} for c, w, p in counted.classes],
        "columns": [{n: c[n] for n in ("name", "kind", "family", "why")} for c in counted.columns],
        **candidates(classifier),
        "notes": messages,
    }
    if "candidates" not in data:
        data["digest"] = counted.digest
    say.answer(f"{classifier.summary()}\n\n{done}; the model has {weight:,.10g} rows; saved in {path}", data, then)


def candidates(classifier: Any) -> Json:
    """What became of the candidates of a pool, for machines; nothing of another model."""
    from bayeskit.ensemble.leaderboard import Leaderboard

    names = ("candidate", "log_loss", "weight", "adds", "why_not")
    found = classifier.summary()
    if not isinstance(found, Leaderboard):
        return {}
    return {"candidates": [dict(zip(names, line, strict=True)) for line in found.lines]}
