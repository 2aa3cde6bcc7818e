"""Every error bayeskit raises on purpose; each says what, where and what to do.

They derive from the built-in that scikit-learn's contract expects in their place.
"""

import functools
import inspect
import os
import warnings

WITHIN = os.path.join(os.path.dirname(__file__), ""), functools.__file__  # cached properties are asked by the latter


class HeldWarning(UserWarning):
    """Rows were forgotten, and choices that were made with them stay."""


class BayeskitError(Exception):
    """Base of all: ``except BayeskitError`` catches what bayeskit refuses."""


class InputError(BayeskitError, ValueError):
    """The data or an argument cannot be used as given."""


class UsageError(InputError):
    """A command was given words that mean nothing to it."""


class FileError(InputError):
    """A file is not there, cannot be read, or must not be written."""


class MemoryRefusal(InputError, MemoryError):
    """A model, or an answer, of this size takes more memory than there is."""


class SchemaError(InputError):
    """A column is missing, extra, doubled, or of another kind than before."""


class KindError(BayeskitError, TypeError):
    """A value or a column has a type no model here can take."""


class KeywordError(BayeskitError, TypeError):
    """A class or a function has no parameter of this name; the message says what to write."""


class NoSuchAnswer(KindError, AttributeError):
    """A classifier has no answer of this name; the message says why, and what to ask instead."""


class ForgetError(InputError):
    """The rows to forget cannot have been learned; the model stays as it was."""


class MergeError(InputError):
    """Two models count different things and cannot be merged."""


class ModelFileError(InputError):
    """A ``.bayes`` file is damaged, truncated, hostile or of an unknown version."""


class ModelFileUnreadable(ModelFileError, FileError):
    """A ``.bayes`` file is not there or cannot be opened."""


class NetworkError(InputError):
    """A graph, a table or a BIF file is no Bayesian network, or an answer is out of its reach."""


class ImpossibleEvidence(NetworkError):
    """The network gives what was observed probability zero, so nothing follows from it."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Tell of it at the line of the user's that led here: the nearest one outside this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(WITHIN):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
