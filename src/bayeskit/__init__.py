"""Bayesian classification on exact, mergeable statistics.

Classifiers NaiveBayes FullBayes KNNBayes TAN KDB AODE AJE NetworkBayes CorrectedNaiveBayes ProbabilityForest
            BoostedTrees AutoBayes
Around them Calibrated VennAbers Conformal RiskClassifier; Stream
Networks    Network learn_network average_network read_bif write_bif read_network write_network
Columns     Nominal Ordinal, families, smoothing; Discretizer NormalScores FeatureSelector date_features
Evaluation  evaluate compare cross_population drift; CrossValidation LeaveOneOut Holdout Bootstrap632 AsFitted Confusion
Decisions   Costs decide bayes_error; bayes_rule independence
Results     report panel plots explain_pipeline
Files       load merge Reading export register_onnx, errors

Names load on first use, so that ``import bayeskit`` costs next to nothing. ``help(bayeskit.NaiveBayes)`` describes one;
the packages below are how the library is made, and may change.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bayeskit.keywords import guide

_PLACES = {
    "AJE": "bayeskit.estimators.augmented",
    "AODE": "bayeskit.estimators.augmented",
    "KDB": "bayeskit.estimators.augmented",
    "AutoBayes": "bayeskit.estimators.auto",
    "CorrectedNaiveBayes": "bayeskit.estimators.discriminative",
    "FullBayes": "bayeskit.estimators.full",
    "NaiveBayes": "bayeskit.estimators.naive",
    "KNNBayes": "bayeskit.estimators.knn",
    "FeatureSelector": "bayeskit.estimators.selector",
    "Discretizer": "bayeskit.estimators.discretizer",
    "Nominal": "bayeskit.data.kinds",
    "Ordinal": "bayeskit.data.kinds",
    "NormalScores": "bayeskit.estimators.binned",
    "Network": "bayeskit.estimators.network",
    "NetworkBayes": "bayeskit.estimators.networked",
    "learn_network": "bayeskit.estimators.structure",
    "average_network": "bayeskit.estimators.averaged",
    "read_bif": "bayeskit.estimators.files",
    "read_network": "bayeskit.estimators.files",
    "write_bif": "bayeskit.estimators.files",
    "write_network": "bayeskit.estimators.files",
    "TAN": "bayeskit.estimators.augmented",
    "Reading": "bayeskit.engines.reading",
    "load": "bayeskit.estimators.files",
    "merge": "bayeskit.estimators.files",
    "ProbabilityForest": "bayeskit.estimators.discriminative",
    "BoostedTrees": "bayeskit.estimators.discriminative",
    "Calibrated": "bayeskit.estimators.calibrated",
    "Conformal": "bayeskit.estimators.conformal",
    "VennAbers": "bayeskit.estimators.venn",
    "RiskClassifier": "bayeskit.estimators.risk",
    "Costs": "bayeskit.decision.costs",
    "decide": "bayeskit.decision.costs",
    "bayes_error": "bayeskit.decision.error",
    "bayes_rule": "bayeskit.decision.independence",
    "independence": "bayeskit.decision.independence",
    "evaluate": "bayeskit.evaluation.evaluate",
    "date_features": "bayeskit.data.dates",
    "drift": "bayeskit.evaluation.drift",
    "explain_pipeline": "bayeskit.estimators.pipeline",
    "compare": "bayeskit.evaluation.compare",
    "cross_population": "bayeskit.evaluation.cross_population",
    "AsFitted": "bayeskit.evaluation.methods",
    "Holdout": "bayeskit.evaluation.methods",
    "CrossValidation": "bayeskit.evaluation.methods",
    "LeaveOneOut": "bayeskit.evaluation.methods",
    "Bootstrap632": "bayeskit.evaluation.methods",
    "Confusion": "bayeskit.evaluation.confusion",
    "panel": "bayeskit.reports.notebook",
    "report": "bayeskit.reports.page",
    "Stream": "bayeskit.estimators.stream",
    "export": "bayeskit.targets.door",
    "register_onnx": "bayeskit.estimators.onnx",
}
_ELSEWHERE = {  # names that other libraries have
    "cross_validate": "evaluate(model, X, y, 5) cross-validates",
    "cross_val_score": "evaluate(model, X, y, 5) cross-validates",
    "save": "call model.save('model.bayes')",
    "GaussianNB": "NaiveBayes() has a normal density for each column of numbers",
    "CategoricalNB": "NaiveBayes() counts the levels of each column of texts",
    "MultinomialNB": "write NaiveBayes(families='Multinomial')",
    "BernoulliNB": "write NaiveBayes(families='Bernoulli')",
    "ComplementNB": "write NaiveBayes(families='Complement', prior='uniform')",
    "BayesianNetwork": "Network is a Bayesian network, NetworkBayes one that classifies",
    "CalibratedClassifierCV": "write Calibrated(model)",
}
_MODULES = ("errors", "families", "plots", "smoothing")

__all__ = sorted([*_PLACES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        try:
            return version("bayeskit")
        except PackageNotFoundError:
            return "0+source"
    if name in _MODULES:
        return import_module(f"bayeskit.{name}")
    if name in _PLACES:
        return guide(getattr(import_module(_PLACES[name]), name))
    hint = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'bayeskit' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
