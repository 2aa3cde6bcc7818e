"""Commands from functions: groups of options are dataclasses, written once and shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


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
        function(**given, **made)

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
