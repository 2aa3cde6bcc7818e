"""Where the best decision is wrong: two normal classes on a line (E4).

python examples/errors.py errors.png
"""

import matplotlib.pyplot as plt
import numpy as np
from output import show

import bayeskit as bk

rows = {"equal variances": ([-1.0, 1.0], [1.0, 3.0]), "two borders": ([-1.0, 1.0], [-3.5, 4.5])}
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, (name, (a, b)) in zip(axes, rows.items(), strict=True):
    model = bk.NaiveBayes().fit({"x": [*a, *b]}, ["a", "a", "b", "b"])
    x = np.linspace(-8, 8, 1601)
    joint = np.exp(model.predict_joint_log_proba({"x": x}))
    for k, (colour, label) in enumerate(zip(("#0072B2", "#D55E00"), model.classes_, strict=True)):
        ax.plot(x, joint[:, k], color=colour, ls=("-", "--")[k], label=f"P({label}) p(x | {label})")
    ax.fill_between(x, joint.min(axis=1), color="#555555", alpha=0.35, label="decided wrongly")
    ax.set_title(f"{name}: error {bk.bayes_error(model).error:.4f}", loc="left", fontsize=11)
    ax.set_xlabel("x")
    ax.legend(frameon=False, fontsize=9)
show(figure)
