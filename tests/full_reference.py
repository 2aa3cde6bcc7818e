"""Full Bayes written out in NumPy and SciPy, for complete rows, and how models are asked to be compared with it."""

from math import prod

import numpy as np
import pyarrow as pa
from scipy.stats import multivariate_normal

from bayeskit.data.encode import Roles

FLOOR, PULL = 1e-9, 5.0


def oas(scaled, weight):
    """Chen, Wiesel, Eldar and Hero (2010), equation (23)."""
    p = len(scaled)
    trace, square = np.trace(scaled), np.trace(scaled @ scaled)
    above = (1 - 2 / p) * square + trace**2
    below = (weight + 1 - 2 / p) * (square - trace**2 / p)
    return 1.0 if weight < 2 or below <= above else above / below  # also where both are 0


def class_scale(scaled, weight, power=1):
    """Directions are counted by tr^2 / tr of the square, unbiased for normal rows (Srivastava 2005)."""
    d, trace, square = len(scaled), np.trace(scaled), np.trace(scaled @ scaled)
    scale = (weight * trace / d + 5) / (max(weight - 1, 0) + 5)
    if weight <= 1:
        return scale
    unbiased = weight**2 / ((weight - 1) * (weight + 2)) * (square - trace**2 / weight)
    directions = d if unbiased <= 0 else min(trace**2 / unbiased, d)
    return 1 + (directions / d) ** power * (scale - 1)


def log_normal(x, mean, covariance):
    """SciPy's density, in deviations: it takes columns of very different sizes for dependent ones."""
    size = np.sqrt(np.diag(covariance))
    scaled = multivariate_normal(np.zeros(len(size)), covariance / np.outer(size, size), allow_singular=False)
    return scaled.logpdf((x - mean) / size) - np.log(size).sum()


def shaped(matrix, shape):
    if shape == "diagonal":
        return np.diag(np.diag(matrix))
    if shape == "spherical":
        return np.eye(len(matrix)) * np.trace(matrix) / len(matrix)
    return matrix


class FullReference:
    """Means, covariances and cells of every class; ``held`` keeps the target of another one.

    S_c' = (1 - rho) S_c + rho mu D, mu as ``class_scale`` has it; toward the pooled covariance with its square share.
    """

    def __init__(self, x, cells, y, w, sizes=(), shape="full", shrinkage="auto", alpha=1.0, held=None):
        self.classes, self.alpha, self.total = sorted(set(y)) if held is None else held.classes, alpha, prod(sizes)
        self.count, self.mean, scatter, self.weight = {}, {}, {}, {}
        for c in self.classes:
            mine = np.array([label == c for label in y])
            xs, ws, own = x[mine], w[mine], [cell for cell, m in zip(cells, mine, strict=True) if m]
            self.weight[c] = ws.sum()
            centre = (ws @ xs) / ws.sum()
            means, scatter[c] = {(): centre}, np.zeros((x.shape[1], x.shape[1]))
            for cell in sorted(set(own)):
                inside = np.array([other == cell for other in own])
                n = ws[inside].sum()
                self.count[c, cell] = n
                if cell:
                    means[cell] = (ws[inside] @ xs[inside] + PULL * centre) / (n + PULL)
                away = xs[inside] - means[cell]
                scatter[c] += (away * ws[inside, None]).T @ away
            self.mean[c] = means
        whole = sum(self.weight.values())
        pooled = sum(scatter.values()) / whole
        least = FLOOR * np.diag(np.cov(x.T, aweights=w, ddof=0).reshape(pooled.shape))
        self.target = np.maximum(np.diag(pooled), least) if held is None else held.target
        if shape == "spherical" and held is None:
            self.target = np.full_like(self.target, self.target.mean())
        self.share, self.scale, self.covariance = {}, {}, {}
        size, d = np.sqrt(np.outer(self.target, self.target)), x.shape[1]
        for c in self.classes:
            own, rows, oas_rows = shaped(scatter[c] / self.weight[c], shape), self.weight[c], self.weight[c]
            if shape == "tied":
                own, rows, oas_rows = pooled, whole, whole
            if shrinkage == "pooled":
                oas_rows = whole
                if shape != "tied":
                    scale = class_scale(own / size, rows, 2)
                    own = (rows * own + (d + 2) * scale * shaped(pooled, shape)) / (rows + d + 2)
            self.scale[c] = class_scale(own / size, rows)
            if shrinkage not in ("auto", "pooled"):
                self.share[c] = shrinkage or 0.0
            else:
                self.share[c] = 0.0 if shape == "diagonal" else oas(own / size, oas_rows)
            made = (1 - self.share[c]) * own + self.share[c] * self.scale[c] * np.diag(self.target)
            low = np.diag(made) < least
            made[low, low] = np.maximum(self.target / (self.weight[c] + 1), least)[low]
            self.covariance[c] = made

    def log(self, x, cell=()):
        """log p(x, cell | c) of every class."""
        out = []
        for c in self.classes:
            mean = self.mean[c].get(cell, self.mean[c][()])
            normal = log_normal(x, mean, self.covariance[c])
            share = (self.count.get((c, cell), 0.0) + self.alpha) / (self.weight[c] + self.alpha * self.total)
            out.append(normal + (np.log(share) if cell else 0.0))
        return np.array(out)


def log_densities(model, X):
    """log p(x | c): what a model says without its prior."""
    return model.predict_joint_log_proba(X) - model.model_.log_prior()


def left_out(model, frame, y, w):
    """log p(x_i | c) without row i, by algebra."""
    table = pa.RecordBatch.from_pandas(frame.assign(**{"class": y, "weight": w}), preserve_index=False)
    fitted = model.fit(frame, y, sample_weight=w).model_
    out = np.zeros((len(y), len(fitted.classes)))
    fitted.density.left_out.add(fitted.counted.block_with_classes(table, Roles("class", "weight")), out)
    return out
