"""An answer as a sum, and how sure models are: one tumour explained, and 569 predicted by models new to them.

python examples/overview.py overview.svg
"""

import matplotlib.pyplot as plt
import numpy as np
from output import show
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map({0: "malignant", 1: "benign"})
columns = ["mean texture", "mean smoothness", "area error", "worst concavity", "worst symmetry"]
asked = 566
rest = np.arange(len(y)) != asked
model = bk.NaiveBayes(families="auto").fit(X.loc[rest, columns], y[rest])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[1, 1.05])
model.explain(X.loc[[asked], columns]).plot(label="malignant", ax=left)
left.set_xlim(-2.4, 5.6)
left.set_title("Why this tumour is called malignant", loc="left", fontsize=11)

models = {
    "GaussianNB (scikit-learn)": GaussianNB(),
    'NaiveBayes(families="auto")': bk.NaiveBayes(families="auto"),
    "TAN()": bk.TAN(),
    "FullBayes()": bk.FullBayes(),
    "AutoBayes()": bk.AutoBayes(),
}
for place, classifier in enumerate(models.values()):
    found = bk.evaluate(classifier, X, y, bk.CrossValidation(10), random_state=0)
    said = found.proba.max(axis=1).mean()
    right.plot([said, found.accuracy], [place, place], color="#B0B0B0", lw=3, zorder=1)
    right.scatter(said, place, s=70, color="#D55E00", label="how sure it says it is" if place == 0 else None)
    right.scatter(found.accuracy, place, s=70, color="#0072B2", label="how often it is right" if place == 0 else None)
    right.text(1.025, place, f"{found.log_loss:.3f}", va="center", ha="right", fontsize=9)
right.set_yticks(range(len(models)), models)
right.text(1.025, len(models) - 0.55, "log-loss", va="center", ha="right", fontsize=9)
right.set(xlim=(0.935, 1.026), ylim=(-0.5, len(models) - 0.3))
right.set_xticks([0.94, 0.96, 0.98, 1.0], ["94 %", "96 %", "98 %", "100 %"])
right.set_title("569 tumours, 10-fold cross-validation", loc="left", fontsize=11)
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, fontsize=9)
show(figure)
