"""Levels: the distinct values of a categorical column (or the classes) and their codes; Domain: those of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from bayeskit.arrays import Bool, Code, Int, Label
from bayeskit.errors import InputError, KindError

Key = tuple[int, Hashable]
BOOL, NUMBER, TEXT, MARK = range(4)
NAMES = {BOOL: "truth values", NUMBER: "numbers", TEXT: "text"}
DENSE_RANGE = 1 << 16
FEW = 64  # levels of which one object is kept
NO_TEXTS = b"", np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
MISSING: Key = (MARK, "missing")
PRESENT: Key = (MARK, "present")
FORGOTTEN: Key = (MARK, "forgotten")  # in the place of a level that no row has any more
EVERYTHING: Key = (MARK, "everything")  # the one group of rows without labels


def key(value: object) -> Key | None:
    """Identity of a value: its type family and itself; None where it is missing.

    >>> key(True), key(1), key(1.0), key("1"), key(float("nan"))
    ((0, True), (1, 1), (1, 1), (2, '1'), None)
    """
    if isinstance(value, str):
        return (TEXT, str(value))
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return (BOOL, bool(value))
    if isinstance(value, int | np.integer):
        return (NUMBER, int(value))
    if isinstance(value, float | np.floating | Decimal):
        if value != value:
            return None
        if value in (float("inf"), float("-inf")):
            raise InputError("Input contains infinity: an infinite number can be neither a level nor a label")
        return (NUMBER, int(value)) if value == int(value) else (NUMBER, float(value))
    raise KindError(f"{value!r} of type {type(value).__name__} cannot be a level")


def show(key: Key) -> str:
    """The key as a person reads it."""
    family, value = key
    return f"({value})" if family == MARK else str(value)


def word(value: object) -> NDArray[np.uint64]:
    """A hash of a name or a key that is the same on every machine: (1,)."""
    return np.frombuffer(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class Levels:
    """Distinct values by code: the position in ``keys`` is the code, private to this object."""

    keys: tuple[Key, ...] = ()

    def __deepcopy__(self, memo: object) -> Levels:
        return self  # a value; it may be long

    @classmethod
    def intern(cls, keys: tuple[Key, ...]) -> Levels:
        """One object for all columns of the same few levels: what it works out is worked out once."""
        return _few(keys) if len(keys) <= FEW else cls(keys)

    @classmethod
    def of(cls, values: Iterable[Label]) -> Levels:
        keys = (key(value) for value in values)
        return cls(tuple(dict.fromkeys(k for k in keys if k is not None)))

    @cached_property
    def index(self) -> Mapping[Key, int]:
        return {key: code for code, key in enumerate(self.keys)}

    @cached_property
    def dense(self) -> Mapping[int, tuple[int, Code]]:
        """Tables from whole numbers and truth values to codes: the lowest value, and codes from it on, -2 for none."""
        tables = {}
        for family in (BOOL, NUMBER):
            known = {int(v): c for (f, v), c in self.index.items() if f == family and isinstance(v, int)}
            known = {v: c for v, c in known.items() if -(2**63) <= v < 2**63}
            low = min(known, default=0)
            table = np.full(min(max(known, default=low - 1) - low + 1, DENSE_RANGE), -2, dtype=np.int32)
            for value, code in known.items():
                if value - low < len(table):
                    table[value - low] = code
            tables[family] = (low, table)
        return tables

    @cached_property
    def texts(self) -> tuple[bytes, Int, Code]:
        """The levels that are text, one after the other in UTF-8: the bytes, where each begins, and its code."""
        if not self.keys:
            return NO_TEXTS
        known = [str(v).encode("utf-8", "surrogatepass") for f, v in self.keys if f == TEXT]
        codes = [c for c, (f, _) in enumerate(self.keys) if f == TEXT]
        start = list(accumulate(map(len, known), initial=0))[:-1]
        return b"".join(known), np.array(start, dtype=np.int64), np.array(codes, dtype=np.int32)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """Hashes of the levels, whatever their codes: (n,)."""
        return np.concatenate([np.empty(0, dtype=np.uint64), *map(word, self.keys)])

    @property
    def types(self) -> list[str]:
        """What the levels are: truth values, numbers, text; marks are of no type."""
        return [NAMES[family] for family in sorted({family for family, _ in self.keys} - {MARK})]

    @property
    def values(self) -> list[Label]:
        return [None if key == MISSING else key[1] for key in self.keys]

    def __len__(self) -> int:
        return len(self.keys)

    def union(self, other: Levels) -> Levels:
        """These, then what the other adds: codes of ``self`` stay valid."""
        if other.keys == self.keys:
            return self
        new = tuple(k for k in other.keys if k not in self.index)
        return Levels(self.keys + new) if new else self

    @cached_property
    def ordered(self) -> Levels:
        """The same by (type, value)."""
        keys = tuple(sorted(self.keys))
        return self if keys == self.keys else Levels.intern(keys)

    def codes_in(self, target: Levels) -> Int:
        """For each code here the code there, -1 where the target has no such level."""
        if target is self:
            return np.arange(len(self.keys))
        return np.array([target.index.get(k, -1) for k in self.keys], dtype=np.int64)

    def canonical(self, occupied: Bool, declared: Sequence[Key] = (), in_order: bool = False) -> Levels:
        """Declared and occupied levels by (type, value); or the declared ones in their order, then the others."""
        if not declared and occupied.all():
            return self.ordered
        fixed = set(declared)
        rest = [k for k, seen in zip(self.keys, occupied.tolist(), strict=True) if seen and k not in fixed]
        return Levels.intern((*declared, *sorted(rest)) if in_order else tuple(sorted((*declared, *rest))))

    def show(self, most: int = 8) -> str:
        """The levels for an error message, shortened."""
        names = [show(k) for k in self.keys[:most]]
        if len(self.keys) > most:
            names.append(f"... {len(self.keys) - most} more")
        return ", ".join(names) or "none"


@lru_cache(maxsize=1024)
def _few(keys: tuple[Key, ...]) -> Levels:
    return Levels(keys)


@dataclass(frozen=True)
class Domain:
    """Classes and levels, as values; codes are private to one Domain.

    >>> a = Domain(Levels.of(["yes"]), {"colour": Levels.of(["red", "blue"])})
    >>> b = Domain(Levels.of(["no"]), {"colour": Levels.of(["blue", "green"])})
    >>> a.union(b).levels["colour"].values
    ['red', 'blue', 'green']
    """

    classes: Levels = Levels()
    levels: Mapping[str, Levels] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> Domain:
        return self  # a value; its columns may be many

    def check_classes(self, other: Domain) -> None:
        """Refuse classes of another type: 1 and "1" would be two classes, and labels would change their type."""
        mine, theirs = ({k[0] for k in domain.classes.keys} for domain in (self, other))
        if mine and theirs - mine:
            raise KindError(
                f"the classes of the model are {_join_names(mine)} ({self.classes.show(3)}), and the new labels are "
                f"{_join_names(theirs)} ({other.classes.show(3)}); convert the labels"
            )

    def union(self, other: Domain) -> Domain:
        if other == self:
            return self
        levels = dict(self.levels)
        for name, theirs in other.levels.items():
            levels[name] = levels.get(name, Levels()).union(theirs)
        return Domain(self.classes.union(other.classes), levels)


def _join_names(families: set[int]) -> str:
    return " and ".join(NAMES[family] for family in sorted(families))
