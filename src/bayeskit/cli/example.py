"""The embedded example: visits to a clinic, with numbers, texts, booleans and missing values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array

DIAGNOSES = ("cold", "flu", "pneumonia")
PRIOR = (0.55, 0.30, 0.15)
TEMPERATURE = ((37.0, 0.4), (38.7, 0.6), (38.9, 0.8))
PULSE = ((76, 8), (90, 9), (101, 12))
COUGHS = ("none", "dry", "wet")
COUGH = ((0.45, 0.40, 0.15), (0.15, 0.65, 0.20), (0.03, 0.22, 0.75))
ACHES = (0.15, 0.80, 0.45)
AGE = ((35, 16), (38, 18), (62, 15))
HOLES = {"temperature": 0.08, "pulse": 0.15, "cough": 0.05}


def clinic(rows: int = 3000, seed: int = 7) -> pa.Table:
    """A table of invented visits; the diagnosis is the class.

    >>> clinic(2).column_names
    ['age', 'temperature', 'pulse', 'cough', 'aches', 'diagnosis']
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(len(DIAGNOSES), rows, p=PRIOR)

    def normal(parameters: tuple[tuple[float, float], ...], digits: int) -> Array:
        mean, deviation = np.array(parameters)[kind].T
        drawn: Array = rng.normal(mean, deviation).round(digits)
        return drawn

    cough = (rng.random(rows)[:, None] > np.cumsum(np.array(COUGH)[kind], axis=1)).sum(axis=1)
    columns = {
        "age": np.clip(normal(AGE, 0), 1, 99).astype(np.int64),
        "temperature": normal(TEMPERATURE, 1),
        "pulse": normal(PULSE, 0),
        "cough": np.array(COUGHS)[np.minimum(cough, len(COUGHS) - 1)],
        "aches": rng.random(rows) < np.array(ACHES)[kind],
        "diagnosis": np.array(DIAGNOSES)[kind],
    }
    missing = {name: rng.random(rows) < share for name, share in HOLES.items()}
    return pa.table({name: pa.array(values, mask=missing.get(name)) for name, values in columns.items()})
