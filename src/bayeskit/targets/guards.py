"""Guards: the conditions under which alone a step is asked for, and what they make shorter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.portable.symbol import Step
from bayeskit.targets.alike import arguments

Guards = tuple[tuple[int, bool], ...]  # steps that are conditions, and whether they must hold
STRICT = ("add", "sub", "mul", "neg", "abs", "square")  # NULL where an argument is, and never else


def guards_of(made: Sequence[Step], roots: Sequence[int]) -> list[Guards]:
    """Of each step the conditions under which alone it is asked for, and whether they must hold, the last innermost."""
    paths: list[Guards | None] = [None] * len(made)

    def reach(i: int, path: Guards) -> None:
        known = paths[i]
        if known is None:
            paths[i] = path
            return
        same = 0
        while same < min(len(known), len(path)) and known[same] == path[same]:
            same += 1
        paths[i] = known[:same]

    for i in roots:
        reach(i, ())
    for i in range(len(made) - 1, -1, -1):
        path = paths[i]
        if path is None:
            continue
        if made[i][0] == "where":
            test, one, other = made[i][1:]
            reach(test, path)
            simple = made[test][0] in ("constant", "missing")
            reach(one, path if simple else (*path, (test, True)))
            reach(other, path if simple else (*path, (test, False)))
        else:
            for a in arguments(made[i]):
                reach(a, path)
    return [path or () for path in paths]


def is_rare(made: Sequence[Step], guard: tuple[int, bool]) -> bool:
    """Whether a condition says that all classes are impossible."""
    test, holds = guard
    return holds and made[test][0] == "lt" and made[made[test][1]][0] == "largest"


def is_null_where_missing(made: Sequence[Step], test: int, one: int, other: int) -> bool:
    """Whether a test is that a number is missing, then 0 is wanted, and the other step is NULL just there."""
    number = made[test][1]
    if made[test][0] != "missing" or made[number][0] != "number" or made[one] != ("constant", 0.0):
        return False
    waiting, found = [other], False
    while waiting:
        i = waiting.pop()
        op, *args = made[i]
        if i == number:
            found = True
        elif op == "div" and made[args[1]][0] == "constant":
            waiting.append(args[0])
        elif op in STRICT:
            waiting += args
        elif op != "constant" or np.isnan(args[0]).any():
            return False
    return found
