from bayeskit import errors as errors
from bayeskit import families as families
from bayeskit import plots as plots
from bayeskit import smoothing as smoothing
from bayeskit.data.dates import date_features as date_features
from bayeskit.data.kinds import Nominal as Nominal
from bayeskit.data.kinds import Ordinal as Ordinal
from bayeskit.decision.costs import Costs as Costs
from bayeskit.decision.costs import decide as decide
from bayeskit.decision.error import bayes_error as bayes_error
from bayeskit.decision.independence import bayes_rule as bayes_rule
from bayeskit.decision.independence import independence as independence
from bayeskit.engines.reading import Reading as Reading
from bayeskit.estimators.augmented import AJE as AJE
from bayeskit.estimators.augmented import AODE as AODE
from bayeskit.estimators.augmented import KDB as KDB
from bayeskit.estimators.augmented import TAN as TAN
from bayeskit.estimators.auto import AutoBayes as AutoBayes
from bayeskit.estimators.averaged import average_network as average_network
from bayeskit.estimators.binned import NormalScores as NormalScores
from bayeskit.estimators.calibrated import Calibrated as Calibrated
from bayeskit.estimators.conformal import Conformal as Conformal
from bayeskit.estimators.discretizer import Discretizer as Discretizer
from bayeskit.estimators.discriminative import BoostedTrees as BoostedTrees
from bayeskit.estimators.discriminative import CorrectedNaiveBayes as CorrectedNaiveBayes
from bayeskit.estimators.discriminative import ProbabilityForest as ProbabilityForest
from bayeskit.estimators.files import load as load
from bayeskit.estimators.files import merge as merge
from bayeskit.estimators.files import read_bif as read_bif
from bayeskit.estimators.files import read_network as read_network
from bayeskit.estimators.files import write_bif as write_bif
from bayeskit.estimators.files import write_network as write_network
from bayeskit.estimators.full import FullBayes as FullBayes
from bayeskit.estimators.knn import KNNBayes as KNNBayes
from bayeskit.estimators.naive import NaiveBayes as NaiveBayes
from bayeskit.estimators.network import Network as Network
from bayeskit.estimators.networked import NetworkBayes as NetworkBayes
from bayeskit.estimators.onnx import register_onnx as register_onnx
from bayeskit.estimators.pipeline import explain_pipeline as explain_pipeline
from bayeskit.estimators.risk import RiskClassifier as RiskClassifier
from bayeskit.estimators.selector import FeatureSelector as FeatureSelector
from bayeskit.estimators.stream import Stream as Stream
from bayeskit.estimators.structure import learn_network as learn_network
from bayeskit.estimators.venn import VennAbers as VennAbers
from bayeskit.evaluation.compare import compare as compare
from bayeskit.evaluation.confusion import Confusion as Confusion
from bayeskit.evaluation.cross_population import cross_population as cross_population
from bayeskit.evaluation.drift import drift as drift
from bayeskit.evaluation.evaluate import evaluate as evaluate
from bayeskit.evaluation.methods import AsFitted as AsFitted
from bayeskit.evaluation.methods import Bootstrap632 as Bootstrap632
from bayeskit.evaluation.methods import CrossValidation as CrossValidation
from bayeskit.evaluation.methods import Holdout as Holdout
from bayeskit.evaluation.methods import LeaveOneOut as LeaveOneOut
from bayeskit.reports.notebook import panel as panel
from bayeskit.reports.page import report as report
from bayeskit.targets.door import export as export

__all__ = [  # noqa: RUF022
    "AJE",
    "AODE",
    "AsFitted",
    "AutoBayes",
    "BoostedTrees",
    "Bootstrap632",
    "Calibrated",
    "Conformal",
    "Confusion",
    "CorrectedNaiveBayes",
    "Costs",
    "CrossValidation",
    "Discretizer",
    "FeatureSelector",
    "FullBayes",
    "Holdout",
    "KDB",
    "KNNBayes",
    "LeaveOneOut",
    "NaiveBayes",
    "Network",
    "NetworkBayes",
    "Nominal",
    "NormalScores",
    "Ordinal",
    "ProbabilityForest",
    "Reading",
    "RiskClassifier",
    "Stream",
    "TAN",
    "VennAbers",
    "average_network",
    "bayes_error",
    "bayes_rule",
    "compare",
    "cross_population",
    "date_features",
    "decide",
    "drift",
    "errors",
    "evaluate",
    "explain_pipeline",
    "export",
    "families",
    "independence",
    "learn_network",
    "load",
    "merge",
    "panel",
    "plots",
    "read_bif",
    "read_network",
    "register_onnx",
    "report",
    "smoothing",
    "write_bif",
    "write_network",
]
__version__: str
