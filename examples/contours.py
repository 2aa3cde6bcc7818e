"""Class densities at 1 % of their peak: full Bayes beside naive Bayes (A6).

python examples/contours.py contours.png
"""

import matplotlib.pyplot as plt
from iris import ASKED, iris
from output import show

import bayeskit as bk

X, y = iris()
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
models = {"full Bayes": bk.FullBayes(shrinkage=None), "naive Bayes": bk.NaiveBayes()}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    bk.plots.ContourDisplay.from_estimator(model.fit(X, y), X, y, points=[ASKED]).plot(ax)
    decision = model.predict({name: [value] for name, value in zip(X, ASKED, strict=True)})[0]
    ax.set_title(f"{name}: decides on {decision}; contours at 1 % of the peak", loc="left", fontsize=10)
show(figure)
