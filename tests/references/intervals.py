"""Figures of tests/test_intervals.py, by statsmodels and by uncertainty-calibration (Kumar, Liang and Ma's own)."""

import calibration
import numpy as np
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

# mean of recalls 56/70 and 32/80: half of 1 + the difference of 56/70 and 48/80 (Newcombe 1998: 0.0524 to 0.3339)
print("wilson", proportion_confint(56, 70, method="wilson"), proportion_confint(48, 80, method="wilson"))
print("difference", confint_proportions_2indep(56, 70, 48, 80, method="newcomb", compare="diff"))
print("holm", multipletests([0.01, 0.04, 0.03, 0.2], method="holm")[1])

rng = np.random.default_rng(0)
said = np.repeat([0.2, 0.5, 0.9], [40, 60, 100])
true = np.concatenate([np.arange(40) < 14, np.arange(60) < 31, np.arange(100) < 82]).astype(int)
for p in (2, 1):
    for debias in (False, True):
        found = calibration.get_calibration_error(said, true, p=p, debias=debias)
        print("calibration error, p =", p, "debiased" if debias else "plain", found)
