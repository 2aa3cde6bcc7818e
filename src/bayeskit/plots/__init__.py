"""Displays: numbers first, pictures second; matplotlib is imported when one is drawn."""

from importlib import import_module
from typing import Any

_PLACES = {
    "ArcDisplay": "network",
    "BenefitDisplay": "curves",
    "ComparisonDisplay": "bars",
    "ConfusionDisplay": "heat",
    "ContourDisplay": "planes",
    "CostCurveDisplay": "curves",
    "CostDisplay": "curves",
    "CptDisplay": "heat",
    "DensityDisplay": "planes",
    "EllipseDisplay": "ellipses",
    "FoldDisplay": "bars",
    "NeighbourDisplay": "ellipses",
    "NetworkDisplay": "network",
    "NomogramDisplay": "nomogram",
    "Panels": "style",
    "PopulationDisplay": "heat",
    "RegionDisplay": "planes",
    "ReliabilityDisplay": "curves",
    "RocDisplay": "curves",
    "SurfaceDisplay": "planes",
    "TornadoDisplay": "bars",
    "WaterfallDisplay": "bars",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"bayeskit.plots.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'bayeskit.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
