"""ContentOrder: kept rows in an order that hangs on nothing but what they hold, for fits whose last bits hang on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Bool, Int
from bayeskit.data.block import Block
from bayeskit.data.hash_split import Word
from bayeskit.data.levels import Domain
from bayeskit.statistics.content import Content
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.units import Units


@dataclass(frozen=True)
class ContentOrder:
    """Rows by the hash of their content, classes by the least hash among their rows.

    So no order of rows or columns and no names of classes move a bit of what is made of them.
    """

    block: Block  # the rows as they are kept
    order: Int  # (n,) their places in it
    label: Int  # (n,) in the new order, the place of the class among ``classes``
    classes: Int  # (P,) the classes that have rows, by code
    units: Units  # in the new order

    @classmethod
    def of(cls, rows: Rows, domain: Domain) -> ContentOrder:
        block = replace(rows.block(), levels=domain.levels)
        words = Content.varying([block]).words(block)
        classes, label = _by_content(words, rows.rows.group)
        order = np.lexsort((label, words[1], words[0]))
        units = Units(np.ascontiguousarray(words[:, order]), label[order], rows.rows.weight.to_float()[order])
        return cls(block, order, label[order], classes, units)


def _by_content(words: Word, group: Int) -> tuple[Int, Int]:
    """The classes that have rows in an order that hangs on no name, and the place of each row's class in it."""
    every, size = np.unique(group, return_counts=True)
    order = np.lexsort((words[1], words[0], group))
    least = [tuple(words[:, i].tolist()) for i in order[_begins(group[order])].tolist()]
    ranked = sorted(range(len(every)), key=lambda i: (least[i], int(size[i]), i))
    place = np.empty(int(every.max(initial=0)) + 1, dtype=np.int64)
    place[every[ranked]] = np.arange(len(every))
    return every[ranked], place[group]


def _begins(group: Int) -> Bool:
    """Where each stretch of equal numbers begins."""
    found: Bool = np.diff(group, prepend=-1) != 0
    return found
