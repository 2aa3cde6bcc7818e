"""Commands that judge: evaluate."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.commands import command
from bayeskit.cli.options import CostsFile, Settings, Target, Weight
from bayeskit.cli.output import Saying, notes
from bayeskit.cli.places import Rows, opened, table_of
from bayeskit.errors import InputError

METHODS = {"cv": "CrossValidation", "holdout": "Holdout", "loo": "LeaveOneOut", "bootstrap": "Bootstrap632"}
Method = Annotated[str, typer.Option(help="cv, holdout, loo (leave one out) or bootstrap.")]
Folds = Annotated[int | None, typer.Option(help="Of cross-validation; 10 unless given.")]
TestSize = Annotated[float | None, typer.Option(help="Share held out; 1/3 unless given.")]
Seed = Annotated[int, typer.Option(help="Of the random division.")]


def register(app: typer.Typer) -> None:
    command(app, evaluate, "bayeskit evaluate people.csv --target income --method loo")


def evaluate(
    target: Target,
    rows: Rows,
    settings: Settings,
    say: Saying,
    method: Method = "cv",
    folds: Folds = None,
    test_size: TestSize = None,
    seed: Seed = 0,
    costs: CostsFile = None,
    weight: Weight = None,
) -> None:
    """Judge a model by rows it has not learned."""
    import bayeskit as bk

    classifier, way = settings.classifier(), method_of(method, folds, test_size)
    stakes = {"costs": None if costs is None else bk.Costs(costs), "sample_weight": weight}
    with notes(say) as told:
        with opened(rows, say, "reading") as source:
            table = table_of(source)
        found = bk.evaluate(classifier, table, target, way, random_state=seed, **stakes)
    say.answer(found, {**measures(found), "notes": told})


def method_of(name: str, folds: int | None, test_size: float | None) -> Any:
    """A way to divide the rows."""
    import bayeskit as bk

    if name not in METHODS:
        raise InputError(f"--method {name!r}: choose one of {', '.join(METHODS)}")
    if folds is not None and name != "cv":
        raise InputError("--folds belongs to --method cv")
    if test_size is not None and name != "holdout":
        raise InputError("--test-size belongs to --method holdout")
    given = {n: v for n, v in (("folds", folds), ("test_size", test_size)) if v is not None}
    return getattr(bk, METHODS[name])(**given)


def measures(found: Any) -> dict[str, Any]:
    """An evaluation for machines."""
    labels = found.classes.tolist()
    confusion = {t: dict(zip(labels, row, strict=True)) for t, row in zip(labels, found.confusion.matrix, strict=True)}
    return {
        "model": found.name,
        "computed": found.computed,
        "measures": found.frame("pyarrow").to_pylist(),
        "confusion": confusion,
    }
