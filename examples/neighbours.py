"""The circle around a row that holds its five nearest neighbours (A6).

python examples/neighbours.py neighbours.png
"""

from iris import ASKED, iris
from output import show

import bayeskit as bk

X, y = iris()
model = bk.KNNBayes(k=5).fit(X, y)
show(bk.plots.NeighbourDisplay.from_estimator(model, X, y, ASKED).plot().figure_)
