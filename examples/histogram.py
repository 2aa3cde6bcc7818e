"""The posterior of one variable from a histogram, with a prior given from outside (E1).

python examples/histogram.py histogram.png
"""

import matplotlib.pyplot as plt
import numpy as np
from output import show

import bayeskit as bk

rng = np.random.default_rng(1)
x = np.concatenate([rng.normal(3, 1.2, 300), rng.normal(6, 1.5, 300)])
y = np.repeat(["a", "b"], 300)
prior = {"a": 0.75, "b": 0.25}
model = bk.NaiveBayes(families=bk.families.Histogram(), prior=prior).fit({"x": x}, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
bk.plots.DensityDisplay.from_estimator(model, {"x": x}, y, "x").plot(left)
along = np.linspace(x.min(), x.max(), 800)
right.plot(along, model.predict_proba({"x": along})[:, 0], color="#0072B2")
right.set(xlabel="x", ylabel="P(a | x)", ylim=(0, 1.02))
right.set_title("posterior, P(a) = 0.75", loc="left", fontsize=11)
show(figure)
