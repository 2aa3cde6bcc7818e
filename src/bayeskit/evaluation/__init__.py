"""How far to trust a model: out-of-sample posteriors, scores with intervals, and comparisons."""
