"""Spherical, diagonal and full covariance: points at Mahalanobis distance 1, 2 and 3 (E6).

python examples/ellipses.py ellipses.png
"""

import matplotlib.pyplot as plt
from output import show

import bayeskit as bk

matrices = {
    "spherical": [[1.0, 0.0], [0.0, 1.0]],
    "diagonal": [[3.0, 0.0], [0.0, 0.5]],
    "full": [[2.0, 1.2], [1.2, 1.5]],
}
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, matrix) in zip(axes, matrices.items(), strict=True):
    bk.plots.EllipseDisplay.from_moments([[0.0, 0.0]], [matrix], [name]).plot(ax)
show(figure)
