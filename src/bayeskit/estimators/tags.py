"""Tags: what scikit-learn is told about an estimator's input."""

from __future__ import annotations

from sklearn.utils import Tags


def any_table(tags: Tags) -> Tags:
    """With holes, texts, categories and sparse matrices among what it takes."""
    for name in ("allow_nan", "string", "categorical", "sparse"):
        setattr(tags.input_tags, name, True)
    return tags
