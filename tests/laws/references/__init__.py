"""Reference densities, one module per family by the name of its module, written without bayeskit's formulas.

Each has VARIANTS, the settings to try (one with every field away from its default), and computes in high precision:
``log_density(family, groups, points)`` gives log p(point | class), (points, classes), from groups: for each class its
values with their weights, None where missing. SUPPORT says how the total is checked: "levels" are summed; "real", any
number, is integrated around what ``location(family, groups)`` tells of each class, its centre and its width (None where
the column says nothing); any other word is for the reader. A family that does not take every number brings its tables,
``data(kind, family)``; ``supported.py`` has some, and exact sums of them. TOLERANCE is 1e-12 unless given. WORKED says
what a family writes down (``Parametric.write``, ``worked()``) by SciPy: the text, with # for numbers, and its density.
"""
