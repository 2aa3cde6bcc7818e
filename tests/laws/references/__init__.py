"""Reference densities, one module per family by the name of its module, written without bayeskit's formulas.

Each has VARIANTS (the settings to try) and SUPPORT ("real" or "levels"), and computes in high precision:
``log_density(family, groups, points)`` gives log p(point | class), (points, classes), from groups: for each
class its values with their weights, None where missing. Those on "real" also tell for each class where its
density lies and how wide it is: ``location(family, groups)``, None where it says nothing.
"""
