"""Three classes in two columns: the posterior of each under Gaussian naive Bayes and a uniform prior (D1).

python examples/posteriors.py posteriors.png
"""

import matplotlib.pyplot as plt
import numpy as np
from output import show

import bayeskit as bk

rng = np.random.default_rng(3)
middle = {"a": (-2.0, 0.0), "b": (2.0, 3.0), "c": (2.0, -2.0)}
spread = {"a": (1.6, 0.9), "b": (1.0, 1.4), "c": (1.2, 0.7)}
X = np.concatenate([rng.normal(middle[c], spread[c], (40, 2)) for c in middle])
y = np.repeat(list(middle), 40)
model = bk.NaiveBayes(prior="uniform").fit(X, y)
figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained", sharey=True)
for ax, label in zip(axes, middle, strict=True):
    bk.plots.SurfaceDisplay.from_estimator(model, X, y, label=label).plot(ax)
show(figure)
