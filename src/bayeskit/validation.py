"""Settings: numbers given from outside, as the plain numbers by which likelihoods are compared, named and saved."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from bayeskit.errors import InputError

SAVED_AS = "saved as"  # in the metadata of a field: its name in files


def name_in_files(name: str) -> dict[str, str]:
    """Metadata of a field that goes by another name in files than in Python."""
    return {SAVED_AS: name}


def number(value: object) -> float | None:
    """A finite number of any type as a double; None if it is none.

    >>> number(np.float32(0.5)), number(True), number("0.5"), number(10**400)
    (0.5, None, None, None)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if np.isfinite(plain) else None


def integer(value: object) -> int | None:
    """An integer of any type; None if it is none.

    >>> integer(np.int64(20)), integer(20.0), integer(True), integer("20")
    (20, None, None, None)
    """
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def positive(what: str, value: float) -> float:
    """A setting as a plain number above 0: settings are compared and saved by what they print."""
    plain = number(value)
    if plain is None or not plain > 0:
        raise InputError(f"{what}={value!r}: give a finite number above 0")
    return plain


def switch(owner: object, **values: object) -> None:
    """Check settings that are on or off."""
    for name, given in values.items():
        if not isinstance(given, bool | np.bool_):
            raise InputError(f"{type(owner).__name__}({name}={given!r}): give True or False")
        keep(owner, **{name: bool(given)})


def keep(owner: object, **values: object) -> None:
    """Give a frozen value its settings in their plain form."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)
