"""Identifiers: what files call estimators and their settings, whatever these are called in Python."""

from __future__ import annotations

from collections.abc import Mapping

from bayeskit.arrays import Json
from bayeskit.errors import InputError, ModelFileError
from bayeskit.storage import format1

BUNDLES = {
    "AutoBayes": "auto_bayes",
    "Calibrated": "calibrated",
    "RiskClassifier": "risk_classifier",
    "Conformal": "conformal",
    "VennAbers": "venn_abers",
}  # of others
LATER = {"CorrectedNaiveBayes": "corrected", "ProbabilityForest": "forest", "BoostedTrees": "boosted"}  # than format 1
ESTIMATORS = {n: identifier for n, identifier in format1.ESTIMATORS.items() if n != format1.NETWORK} | BUNDLES | LATER
SETTINGS: dict[str, str] = {}  # those of estimators that go by another name in files


def identifier_of(kind: str) -> str:
    """What files call an estimator."""
    if kind not in ESTIMATORS:
        raise InputError(f"a {kind} cannot be saved in a model file; only bayeskit's own estimators can")
    return ESTIMATORS[kind]


def estimator_of(identifier: str) -> str:
    """The estimator that files call so."""
    for name, known in ESTIMATORS.items():
        if known == identifier:
            return name
    raise ModelFileError(f"model kind {identifier!r} is not known to this version; update bayeskit")


def name_settings(settings: Mapping[str, object]) -> Json:
    """Settings of an estimator by their names in files."""
    return {SETTINGS.get(name, name): value for name, value in settings.items()}


def settings_of(saved: object) -> Json:
    """And back."""
    if not isinstance(saved, dict) or not all(isinstance(name, str) for name in saved):
        raise ModelFileError("its settings are none")
    names = {other: name for name, other in SETTINGS.items()}
    return {names.get(str(name), str(name)): value for name, value in saved.items()}
