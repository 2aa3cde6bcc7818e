"""Decision regions of naive Bayes, full Bayes, one neighbour and ten (A6).

python examples/regions.py regions.png
"""

import matplotlib.pyplot as plt
from iris import iris
from output import show

import bayeskit as bk

X, y = iris()
models = {
    "naive Bayes": bk.NaiveBayes(),
    "full Bayes": bk.FullBayes(shrinkage=None),
    "1 neighbour": bk.KNNBayes(k=1),
    "10 neighbours": bk.KNNBayes(k=10),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    bk.plots.RegionDisplay.from_estimator(model.fit(X, y), X, y).plot(ax)
    ax.set_title(name, loc="left", fontsize=11)
    ax.label_outer()
show(figure)
