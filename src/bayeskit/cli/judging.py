"""Commands that judge: evaluate, report, compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import bayeskit as bk
from bayeskit.cli.commands import command
from bayeskit.cli.options import OFFERED, CostsFile, ModelName, Settings, Target, Weight, listed
from bayeskit.cli.output import Saying, notes
from bayeskit.cli.places import Rows, at_hand, opened
from bayeskit.errors import InputError

METHODS = {"cv": "CrossValidation", "holdout": "Holdout", "loo": "LeaveOneOut", "bootstrap": "Bootstrap632"}
USUAL = ("naive", "full", "tan", "kdb", "aode")


@dataclass(frozen=True)
class Judging:
    """How rows are divided, and what is at stake."""

    method: Annotated[str, typer.Option(help="cv, holdout, loo (leave one out) or bootstrap.")] = "cv"
    folds: Annotated[int | None, typer.Option(help="Of cross-validation; 10 unless given.")] = None
    test_size: Annotated[float | None, typer.Option(help="Share held out; 1/3 unless given.")] = None
    groups: Annotated[str | None, typer.Option(help="A column, no feature, whose values keep rows together.")] = None
    seed: Annotated[int, typer.Option(help="Of the random division.")] = 0
    costs: CostsFile = None
    weight: Weight = None

    @property
    def way(self) -> Any:
        """How to divide the rows."""
        if self.method not in METHODS:
            raise InputError(f"--method {self.method!r}: choose one of {', '.join(METHODS)}")
        if self.folds is not None and self.method != "cv":
            raise InputError("--folds belongs to --method cv")
        if self.test_size is not None and self.method != "holdout":
            raise InputError("--test-size belongs to --method holdout")
        given = {n: v for n, v in (("folds", self.folds), ("test_size", self.test_size)) if v is not None}
        return getattr(bk, METHODS[self.method])(**given)

    @property
    def others(self) -> dict[str, Any]:
        """The other arguments of evaluate and compare."""
        costs = None if self.costs is None else bk.Costs(self.costs)
        return {"costs": costs, "groups": self.groups, "sample_weight": self.weight, "random_state": self.seed}


def register(app: typer.Typer) -> None:
    command(app, evaluate, "bayeskit evaluate people.csv --target income --method loo")
    command(app, report, "bayeskit report people.csv --target income -o people.html")
    command(app, compare, "bayeskit compare people.csv --target income --model naive,tan,aode --baselines")


def evaluate(
    target: Target, rows: Rows, judging: Judging, settings: Settings, say: Saying, model: ModelName = "naive"
) -> None:
    """Judge a model by rows it has not learned; large files are read in passes, with no row kept."""
    classifier, way, others = settings.classifier(model), judging.way, judging.others
    with notes(say) as told, opened(rows, say, "reading") as source:
        found = bk.evaluate(classifier, at_hand(source), target, way, **others)
    say.answer(found, {**_measures(found), "notes": told})


def report(
    target: Target,
    rows: Rows,
    judging: Judging,
    settings: Settings,
    say: Saying,
    model: ModelName = "naive",
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
) -> None:
    """Judge a model and write what was found as one HTML page, with the model to try out."""
    classifier, way, others = settings.classifier(model), judging.way, judging.others
    with notes(say) as told, opened(rows, say, "reading") as source:
        found = bk.evaluate(classifier, at_hand(source), target, way, **others)
        path = bk.report(found, output, title)
    say.answer(f"{found}\n\nwritten to {path}", {**_measures(found), "path": str(path), "notes": told})


def compare(
    target: Target,
    rows: Rows,
    judging: Judging,
    settings: Settings,
    say: Saying,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help=f"Models to compare, of {', '.join(OFFERED)}.")
    ] = None,
    by: Annotated[str, typer.Option(help="The measure to rank by.")] = "log_loss",
    baselines: Annotated[bool, typer.Option("--baselines", help="Add scikit-learn's usual models.")] = False,
) -> None:
    """Judge several models on the same folds, side by side."""
    names = listed(model) or tuple(name for name in USUAL if name in OFFERED)
    models, way, others = {name: settings.classifier(name) for name in names}, judging.way, judging.others
    with notes(say) as told, opened(rows, say, "reading") as source:
        found = bk.compare(models, at_hand(source), target, way, by=by, baselines=baselines, **others)
    each = {name: _measures(found[name]) for name in found.ranking}
    say.answer(found, {"by": found.by, "models": found.frame("pyarrow").to_pylist(), "each": each, "notes": told})


def _measures(found: Any) -> dict[str, Any]:
    """An evaluation for machines."""
    labels = found.classes.tolist()
    confusion = {t: dict(zip(labels, row, strict=True)) for t, row in zip(labels, found.confusion.matrix, strict=True)}
    return {
        "model": found.name,
        "computed": found.computed,
        "measures": found.frame("pyarrow").to_pylist(),
        "confusion": confusion,
    }
