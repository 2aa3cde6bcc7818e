"""Options of a model, the texts of options as values, and commands from functions that share them."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

import bayeskit
from bayeskit.arrays import Json, Label
from bayeskit.errors import InputError, UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MODELS = {  # by the name a user types; those are offered that this version has
    "naive": "NaiveBayes",
    "full": "FullBayes",
    "knn": "KNNBayes",
    "tan": "TAN",
    "kdb": "KDB",
    "aode": "AODE",
    "aje": "AJE",
    "corrected": "CorrectedNaiveBayes",
    "forest": "ProbabilityForest",
    "boosted": "BoostedTrees",
    "network": "NetworkBayes",
    "auto": "AutoBayes",
}
OFFERED = tuple(name for name, public in MODELS.items() if public in bayeskit.__all__)
WORDS = {"true": True, "false": False, "none": None}
PANEL = "Model"

ModelFile = Annotated[Path, typer.Argument(help="A .bayes model file.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column with the classes.", show_default=False)]
Weight = Annotated[str | None, typer.Option(help="A column with the weights of the rows.")]
Prior = Annotated[str | None, typer.Option(help="empirical, uniform, or by class: yes=0.1,no=0.9")]
Reject = Annotated[
    float | None,
    typer.Option(
        help="The cost of leaving a row undecided; without --costs being wrong costs 1, so 0.3 asks for 70 % certainty."
    ),
]
CostsFile = Annotated[
    Path | None, typer.Option(help="A CSV table of costs: a row for each class, a column for each action.")
]


LabelledTable = Annotated[
    int | None,
    typer.Option(
        help="Most rows to take, drawn at random, by a model that keeps them at hand; 0 is all.",
        min=0,
        rich_help_panel=PANEL,
    ),
]
ModelOption = typer.Option("--model", "-m", help=f"One of {', '.join(OFFERED)}.", rich_help_panel=PANEL)
ModelName = Annotated[str, ModelOption]
OtherTarget = Annotated[
    str | None, typer.Option("--target", "-t", help="The column with the classes; that of the model file unless given.")
]


Kinds = Annotated[
    list[str] | None,
    typer.Option(
        help="What a column is: zip=nominal, visits=count, stage=ordinal, or all levels, income=low|medium|high, "
        "in order: size=S<M<L",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class Settings:
    """How a model is set."""

    prior: Annotated[
        str | None, typer.Option(help="empirical, uniform, or by class: yes=0.1,no=0.9", rich_help_panel=PANEL)
    ] = None
    kinds: Kinds = None
    families: Annotated[
        list[str] | None,
        typer.Option(
            help="Likelihoods: auto, or by column: age=Kernel, hits=Binomial(trials=20)", rich_help_panel=PANEL
        ),
    ] = None
    smoothing: Annotated[float | None, typer.Option(help="Added to zero counts; 0 is none.", rich_help_panel=PANEL)] = (
        None
    )
    unseen: Annotated[
        str | None, typer.Option(help="A level never seen: missing, smooth or error.", rich_help_panel=PANEL)
    ] = None
    missing: Annotated[
        str | None, typer.Option(help="A missing value: skip, or level (a value of its own).", rich_help_panel=PANEL)
    ] = None
    set: Annotated[
        list[str] | None, typer.Option(help="Any other setting of the model: k=7", rich_help_panel=PANEL)
    ] = None
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads, -1 for all cores.", rich_help_panel=PANEL)] = -1

    @property
    def given(self) -> bool:
        """Whether any was."""
        return any(getattr(self, f.name) not in (None, [], ()) for f in fields(self) if f.name != "jobs")

    def classifier(self, name: str) -> Any:
        """The classifier by the name a user types, with those settings that were given."""
        if name not in OFFERED:
            raise UsageError(f"--model {name!r} is not known; choose one of {', '.join(OFFERED)}")
        kind = getattr(bayeskit, MODELS[name])
        given: Json = {
            "prior": prior_of(self.prior),
            "kinds": kinds_of(self.kinds),
            "families": families_of(self.families),
            "smoothing": self.smoothing,
            "unseen": self.unseen,
            "missing": self.missing,
        }
        wanted = {setting: value for setting, value in given.items() if value is not None}
        wanted |= {setting: _value(text) for setting, text in parse_settings(self.set or (), "--set").items()}
        taken = inspect.signature(kind).parameters
        for setting in wanted:
            if setting not in taken:
                known = ", ".join(p for p in taken if p != "n_jobs")
                raise UsageError(
                    f"--model {name} has no setting {setting!r}; it has: {known}. Other models have others"
                )
        return kind(**wanted, **({"n_jobs": self.jobs} if "n_jobs" in taken else {}))


def load_classifier(file: Path, instead: str = "ask it with bayeskit network query") -> Any:
    """The classifier of a model file; a network is refused, with what to do ``instead``."""
    model = bayeskit.load(file)
    if isinstance(model, bayeskit.Network):
        raise InputError(f"{file}: this is a network, not a classifier; {instead}")
    return model


def split_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names given one by one or with commas.

    >>> split_names(["id,name", "town"])
    ('id', 'name', 'town')
    """
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def parse_settings(given: Sequence[str], option: str) -> dict[str, str]:
    """``name=value`` settings, several with commas, as a mapping.

    >>> parse_settings(["yes=0.1,no=0.9"], "--prior")
    {'yes': '0.1', 'no': '0.9'}
    """
    found: dict[str, str] = {}
    for part in split_names(given):
        name, sign, value = part.rpartition("=")
        if not sign or not name:
            raise UsageError(f"{option} {part!r}: write it as name=value")
        if name.strip() in found:
            raise UsageError(f"{option} names {name.strip()!r} twice")
        found[name.strip()] = value.strip()
    return found


def exact(text: str, option: str) -> Fraction:
    """A number, also one written as a fraction.

    >>> exact("1/50000", "--prior")
    Fraction(1, 50000)
    """
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{option}: {text!r} is not a number") from error


def prior_of(given: str | None, classes: Sequence[Label] = ()) -> str | dict[Label, float] | None:
    """A prior as a word or by class; classes that are numbers are found by how they are written."""
    if given is None or "=" not in given:
        return given
    written = {str(label): label for label in classes}
    return {
        written.get(name, name): float(exact(p, "--prior")) for name, p in parse_settings([given], "--prior").items()
    }


def kinds_of(given: Sequence[str] | None) -> Json | None:
    """
    >>> kinds_of(["zip=nominal", "size=S<M<L", "rooms=1|2|3"])
    {'zip': 'nominal', 'size': ['S', 'M', 'L'], 'rooms': Nominal(levels=(1, 2, 3))}
    """
    if not given:
        return None
    return {name: _kind(kind) for name, kind in parse_settings(given, "--kinds").items()}


def _kind(text: str) -> object:
    """A kind by name, or by all of its levels; numbers where all of them are."""
    sign = next((s for s in "<|" if s in text), None)
    if sign is None:
        return text
    words = [level.strip() for level in text.split(sign)]
    values = [_value(word) for word in words]
    levels = values if all(isinstance(v, int | float) for v in values) else words
    return levels if sign == "<" else bayeskit.Nominal(levels)


def families_of(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """One family for all, or by column; settings may stand in brackets.

    >>> families_of(["age=Kernel(bandwidth=2),hits=Binomial(trials=20)"])
    {'age': 'Kernel(bandwidth=2)', 'hits': 'Binomial(trials=20)'}
    >>> families_of(["Histogram(bins=(0, 5))"])
    'Histogram(bins=(0, 5))'
    >>> families_of(["income (USD)=LogNormal", "a=b=ZeroInflated(Exponential(smoothing=0))"])
    {'income (USD)': 'LogNormal', 'a=b': 'ZeroInflated(Exponential(smoothing=0))'}
    """
    if not given:
        return None
    parts = [part.strip() for text in given for part in re.split(r",(?![^(]*\))", text) if part.strip()]
    found: dict[str, str] = {}
    for part in parts:
        ends = (sign.start() for sign in reversed([*re.finditer("=", part)]))  # a name may have signs and brackets too
        end = next((j for j in ends if part.count("(", 0, j) == part.count(")", 0, j)), -1)
        name, family = part[: max(end, 0)].strip(), part[end + 1 :].strip()
        if end < 0 and len(parts) == 1:
            return part
        if not name or not family:
            raise UsageError(f"--families {part!r}: write it as column=family")
        if name in found:
            raise UsageError(f"--families names {name!r} twice")
        found[name] = family
    return found


def _value(text: str) -> str | float | None:
    """A setting as a number or a word of Python where it is one."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def command(app: typer.Typer, function: Callable[..., None], example: str) -> None:
    """Add a function as a command; a parameter that is a dataclass stands for the options that are its fields."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in signature(function).parameters.items():
        if is_dataclass(kind := hints[name]):
            groups[name] = kind
            parameters += _options(kind)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    def run(**given: object) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        try:
            function(**given, **made)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough; what is left is written to nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    vars(run)["__signature__"] = Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(epilog=f"Example: {example}")(run)


def _options(kind: DataclassInstance | type[DataclassInstance]) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in fields(kind)
    ]
