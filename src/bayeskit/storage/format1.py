"""Format 1 of model files, which named value classes as Python did, read as the present format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayeskit.arrays import Json

NETWORK = "network"
ESTIMATORS = {
    "AJE": "aje",
    "AODE": "aode",
    "AutoBayes": "auto_bayes",
    "FullBayes": "full_bayes",
    "KDB": "kdb",
    "KNNBayes": "knn_bayes",
    "NaiveBayes": "naive_bayes",
    "NetworkBayes": "network_bayes",
    "TAN": "tan",
    NETWORK: NETWORK,
}
# what each class is called now, and the fields that named its counts, in their order
CLASSES = {
    "AddM": ("smoothing/add_m", "m"),
    "Augmented": ("structure/augmented", "cuts smoothing arcs k toll strength backoff"),
    "Averaged": ("structure/aode", "cuts smoothing limit parents given"),
    "Backed": ("structure/backoff", "family rows"),
    "Bernoulli": ("family/bernoulli", "smoothing group"),
    "Beta": ("family/beta", ""),
    "Binomial": ("family/binomial", "trials smoothing"),
    "Categorical": ("family/categorical", "smoothing"),
    "Choice": ("structure/choice", "candidates"),
    "Complement": ("family/complement", "smoothing norm group"),
    "Exponential": ("family/exponential", "smoothing"),
    "Full": ("structure/full", "covariance shrinkage smoothing available"),
    "Gamma": ("family/gamma", ""),
    "Gaussian": ("family/gaussian", "predictive"),
    "Histogram": ("family/histogram", "bins smoothing"),
    "Joined": ("structure/aje", "cuts n most"),
    "Kernel": ("family/kernel", "bandwidth"),
    "Laplace": ("smoothing/laplace", "alpha"),
    "LevelChoice": ("structure/level_choice", "candidates"),
    "LogNormal": ("family/lognormal", ""),
    "MEstimate": ("smoothing/m_estimate", "m prior"),
    "Multinomial": ("family/multinomial", "smoothing group"),
    "NegativeBinomial": ("family/negative_binomial", "smoothing"),
    "Neighbours": ("structure/neighbors", "k metric scale weights pseudo most seed"),
    "Networked": (
        "structure/network",
        "cuts smoothing given score search max_parents ess restarts random_state strength backoff augmented",
    ),
    "NoSmoothing": ("smoothing/none", ""),
    "Ordinal": ("family/ordinal", "smoothing"),
    "Paired": ("structure/a2de", "cuts smoothing limit parents given"),
    "Poisson": ("family/poisson", "smoothing"),
    "ReplaceZeros": ("smoothing/replace_zeros", "by"),
    "TowardPooled": ("smoothing/toward_pooled", "m"),
    "VonMises": ("family/von_mises", ""),
    "ZeroInflated": ("family/zero_inflated", "family smoothing"),
}
FIELDS = {"toll": "penalty"}  # those called otherwise now
VARIANCES = ("diagonal", "spherical")  # covariances that counted the products of every two columns then
GONE = ("shapes", "digest")  # the first follows from the tensors; the second was that of the old names


def upgrade(header: Json, tensors: Iterable[str]) -> tuple[Json, dict[str, str]]:
    """The header as the present format has it, and what each tensor is called there."""
    if "parts" not in header:
        return _upgrade(header, tensors)
    parts, names = {}, {name: name for name in tensors if name.startswith("numbers/")}
    for part, record in header["parts"].items():
        mine = [name.removeprefix(f"{part}/") for name in tensors if name.startswith(f"{part}/")]
        parts[part], found = _upgrade(record, mine)
        names |= {f"{part}/{old}": f"{part}/{new}" for old, new in found.items()}
    kept = {name: value for name, value in header.items() if name != "numbers"}
    return {
        **kept,
        "model": ESTIMATORS[header["model"]],
        "settings": _settings(header["settings"]),
        "parts": parts,
    }, names


def _upgrade(header: Json, tensors: Iterable[str]) -> tuple[Json, dict[str, str]]:
    """Of a model or a network."""
    kept = {name: value for name, value in header.items() if name not in (*GONE, "families", "recipe")}
    kept |= {"model": ESTIMATORS[header["model"]], "settings": _settings(header["settings"])}
    if header["model"] == NETWORK:
        return {**kept, "recipe": dict(header["recipe"]["map"])}, {name: name for name in tensors}
    fronts = [f"counts/features/{_repr(record)}/" for record, _ in header["families"]]
    names = {}
    for name in tensors:
        here = [(i, front) for i, front in enumerate(fronts) if name.startswith(front)]
        names[name] = f"counts/features/{here[0][0]}/{name.removeprefix(here[0][1])}" if here else name
    kept |= {name: _value(header[name]) for name in ("prior", "declared")}
    if any(record["is"] == "Full" and record["covariance"] in VARIANCES for record, _ in header["families"]):
        kept["products"] = True
    return {**kept, "components": [[_value(record), count] for record, count in header["families"]]}, names


def _settings(settings: Json) -> Json:
    """The settings of an estimator."""
    return {"map": [[FIELDS.get(name, name), _value(value)] for name, value in settings["map"]]}


def _value(record: object) -> Any:
    """A description, in the names of now."""
    if isinstance(record, list):
        return [_value(part) for part in record]
    if not isinstance(record, dict):
        return record
    if "is" not in record:
        return {name: _value(part) for name, part in record.items()}
    plain = {FIELDS.get(name, name): _value(part) for name, part in record.items() if name != "is"}
    return {"is": CLASSES[record["is"]][0], **plain}


def _repr(record: object) -> str:
    """The text that Python printed for a description."""
    if isinstance(record, list):
        return f"({', '.join(map(_repr, record))}{',' if len(record) == 1 else ''})"
    if not isinstance(record, dict):
        return repr(record)
    fields = (f"{name}={_repr(record[name])}" for name in CLASSES[record["is"]][1].split())
    return f"{record['is']}({', '.join(fields)})"
