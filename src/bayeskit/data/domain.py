"""Domain: the classes and the levels of every coded column, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayeskit.data.levels import NAMES, Levels
from bayeskit.errors import KindError


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
        mine, theirs = ({k[0] for k in some.classes.keys} for some in (self, other))
        if mine and theirs - mine:
            raise KindError(
                f"the classes of the model are {_named(mine)} ({self.classes.show(3)}), and the new labels are "
                f"{_named(theirs)} ({other.classes.show(3)}); convert the labels"
            )

    def union(self, other: Domain) -> Domain:
        if other == self:
            return self
        levels = dict(self.levels)
        for name, theirs in other.levels.items():
            levels[name] = levels.get(name, Levels()).union(theirs)
        return Domain(self.classes.union(other.classes), levels)


def _named(families: set[int]) -> str:
    return " and ".join(NAMES[family] for family in sorted(families))
