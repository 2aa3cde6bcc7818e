"""Two coins, heads in twenty tosses: class-conditional binomials and the posterior of the second coin (D2).

python examples/coins.py coins.png
"""

import matplotlib.pyplot as plt
import numpy as np
from output import show

import bayeskit as bk

TOSSES, HEADS = 20, {"coin 1": 0.287, "coin 2": 0.706}
# rows of 1,000 tosses whose share of heads is exact, so that the model has just these rates
rows = [(coin, round(1000 * rate)) for coin, rate in HEADS.items()]
table = {"heads": [20] * (rows[0][1] // 20) + [rows[0][1] % 20] + [0] * (49 - rows[0][1] // 20)}
labels = [rows[0][0]] * 50
table["heads"] += [20] * (rows[1][1] // 20) + [rows[1][1] % 20] + [0] * (49 - rows[1][1] // 20)
labels += [rows[1][0]] * 50
model = bk.NaiveBayes(families=bk.families.Binomial(TOSSES, smoothing=0), prior="uniform").fit(table, labels)
heads = np.arange(TOSSES + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
bk.plots.DensityDisplay.of(model.marginal("heads")).plot(left)
right.plot(heads, model.predict_proba({"heads": heads})[:, 1], "o-", color="#D55E00")
right.set(xlabel="heads in 20 tosses", ylabel="P(coin 2 | heads)")
right.set_title("posterior, uniform prior", loc="left", fontsize=11)
show(figure)
