"""Classifiers and networks from files, those of other programs too, and from others of their kind; files that learn."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias

from bayeskit.arrays import FilePath, TableLike, WeightsLike
from bayeskit.engines.files import contents_of
from bayeskit.errors import InputError, MergeError, ModelFileError, warn
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.network import Network
from bayeskit.estimators.revive import revive, revive_bundle
from bayeskit.estimators.wrapper import Wrapper, core
from bayeskit.model.journal import Entry, Journal, Origin, find_learned, without_origin
from bayeskit.networks import bif, interchange
from bayeskit.replacement import lock_file
from bayeskit.storage import container, identifiers, model_file, network_file
from bayeskit.storage.model_file import Bundle

Learner: TypeAlias = BayesClassifier | Wrapper


def load(path: FilePath) -> BayesClassifier | Network | Wrapper:
    """The classifier or network of a ``.bayes`` file, ready to predict, learn and forget.

    Parameters
    ----------
    path : path
        A ``.bayes`` file.

    Returns
    -------
    classifier or Network
        What was saved, with its settings.

    Raises
    ------
    ModelFileError
        The file is damaged, truncated, hostile or of an unknown version.
    """
    kind = container.peek(path).get("model")
    if kind == network_file.KIND:
        return Network.restore(path)
    if kind in identifiers.BUNDLES.values():
        with model_file.doubts(path):
            return revive_bundle(Bundle.load(path))
    model, name, settings = model_file.load(path)
    with model_file.doubts(path):
        return revive(model, name, settings)


def read_bif(path: FilePath) -> Network:
    """The network of a BIF file, gzipped or not.

    Parameters
    ----------
    path : path
        A BIF file, perhaps ending in .gz.

    Returns
    -------
    Network
        With the graph and the tables of the file.

    Raises
    ------
    NetworkError
        The file is no Bayesian network.
    """
    return Network.of(bif.read_bif(path))


def write_bif(network: Network, path: FilePath) -> None:
    """Write a network as BIF, gzipped if the name ends in .gz.

    Parameters
    ----------
    network : Network
        A network with tables.
    path : path
        Where to write; an existing file is replaced.
    """
    bif.write_bif(network.network_, path)


def read_network(path: FilePath) -> Network:
    """The network of a file in a format that other programs write: BIF, XMLBIF, or the JSON of a Gaussian network.

    Parameters
    ----------
    path : path
        A file that ends in .bif, in .xml, .xmlbif or .bifxml, or in .json; perhaps gzipped, with .gz behind it.

    Returns
    -------
    Network
        With the graph and the probabilities of the file.

    Raises
    ------
    NetworkError
        The file is no Bayesian network, or its ending says nothing.
    """
    return Network.of(interchange.read_network(path))


def write_network(network: Network, path: FilePath) -> None:
    """Write a network for other programs: BIF, XMLBIF, or, of numbers alone, JSON, as the ending says.

    Parameters
    ----------
    network : Network
        A network with tables.
    path : path
        Where to write; an existing file is replaced. Ends as in ``read_network``.
    """
    interchange.write_network(network.network_, path)


def merge(models: Iterable[Any]) -> Any:
    """One classifier, or network, that has learned what all of them have.

    Parameters
    ----------
    models : iterable
        Fitted classifiers, or networks, of one kind and equal settings.

    Returns
    -------
    classifier or Network
        A new one.

    Raises
    ------
    MergeError
        They count different things.
    """
    given = [models] if isinstance(models, BayesClassifier | Network | Wrapper) else list(models)
    if not given or not all(isinstance(model, BayesClassifier | Network | Wrapper) for model in given):
        raise MergeError("merge takes a list of at least one fitted bayeskit classifier, or network")
    return reduce(lambda a, b: a.merge(b), given)


def update_file(path: FilePath, X: TableLike, y: str | None = None, sample_weight: WeightsLike = None) -> Learner:
    """Teach a model file more rows; the file is replaced whole, with a line in its journal, or stays as it is."""
    return _revise(path, "update", X, y, sample_weight)


def forget_file(path: FilePath, X: TableLike, y: str | None = None, sample_weight: WeightsLike = None) -> Learner:
    """Make a model file forget rows, likewise; rows that cannot have been learned are refused."""
    return _revise(path, "forget", X, y, sample_weight)


def renew_file(
    path: FilePath,
    X: TableLike,
    y: str | None = None,
    sample_weight: WeightsLike = None,
    target: FilePath | None = None,
) -> Learner:
    """Let a model file choose anew what it holds from the rows that it has; write it there, or to another file."""
    with _alone(path):
        model = _learner(path)
        model.renew(X, _target(core(model), y), sample_weight)
        _add(model, Entry.now("renew", core(model).model_.counted.weight))
        model.save(path if target is None else target)
    return model


def merge_files(paths: Iterable[FilePath], target: FilePath) -> Learner:
    """Write one model file that has learned what all of them have."""
    first, *others = [_learner(path) for path in paths]
    whole: Learner = merge([first, *others])
    for model in others:
        _add(whole, Entry.now("merge", core(model).model_.counted.weight))
    whole.save(target)
    return whole


def prune_file(path: FilePath, min_count: float, target: FilePath) -> BayesClassifier:
    """Write a model file without the cells of another that are below a count."""
    model = _learner(path)
    if not isinstance(model, BayesClassifier):
        raise InputError(f"{path}: {type(model).__name__} cannot be pruned, for it keeps more than counts of columns")
    pruned = model.prune(min_count)
    pruned.save(target)
    return pruned


def add_to_journal(model: Learner, operation: str, rows: float, origin: Origin) -> Learner:
    """The model with a line in its journal that says what was done to it, and with which files.

    Of files that are forgotten no trace is kept.
    """
    journal = core(model).model_.journal
    if operation == "forget":
        _keep(model, without_origin(journal, origin))
        origin = Origin()
    elif before := find_learned(journal, origin):
        warn(
            f"{origin.file} was learned before ({before.operation} of {before.time}, {before.rows:.12g} rows); its "
            f"rows count twice now; if that was not meant, make the model forget them once (bayeskit forget)"
        )
    _add(model, Entry.now(operation, rows, origin))
    return model


def warn_of_journal(path: FilePath) -> None:
    """Say that a model file which is to be replaced has been updated since it was fitted, which is lost."""
    if not os.path.lexists(path):
        return
    try:
        old = core(_learner(path)).model_.journal
    except InputError:  # no model, or none of this version
        return
    if done := [entry for entry in old if entry.operation != "fit"]:
        warn(
            f"{path} is replaced; it had been changed {len(done)} times since it was fitted (last: {done[-1]}), and "
            f"neither those rows nor its journal are kept"
        )


def _learner(path: FilePath) -> Learner:
    model = load(path)
    if isinstance(model, Network):
        raise ModelFileError(f"{path}: holds a network, not a classifier; load it and go on in Python")
    return model


def _revise(path: FilePath, operation: str, X: TableLike, y: str | None, weight: WeightsLike) -> Learner:
    with _alone(path):
        model = _learner(path)
        before, known = core(model).model_.counted.weight, model.classes_.tolist()
        change = model.partial_fit if operation == "update" else model.forget
        change(X, _target(core(model), y), sample_weight=weight)
        if new := [str(label) for label in model.classes_.tolist() if label not in known]:
            warn(f"the model has learned classes that are new to it: {', '.join(new)}")
        rows = abs(core(model).model_.counted.weight - before)
        add_to_journal(model, operation, rows, Origin(*contents_of(X))).save(path)
    return model


def _alone(path: FilePath) -> AbstractContextManager[None]:
    container.peek(path)  # what is no model file is not opened to be locked: a pipe would block
    return lock_file(os.fspath(path))


def _target(model: BayesClassifier, y: str | None) -> str:
    target = y or model.model_.schema.target
    if target is None:
        raise InputError("the model does not know the name of its target; name the column with the labels")
    return target


def _add(model: Learner, entry: Entry) -> None:
    _keep(model, (*core(model).model_.journal, entry))


def _keep(model: Learner, journal: Journal) -> None:
    known = core(model)
    known.model_ = replace(known.model_, journal=journal)
