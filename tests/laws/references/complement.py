"""Complement: the same tables and fractions as Multinomial."""

from .multinomial import NORMALISED, SUPPORT, VARIANTS, data, log_density

__all__ = ["NORMALISED", "SUPPORT", "VARIANTS", "data", "log_density"]
