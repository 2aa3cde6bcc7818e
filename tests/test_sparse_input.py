"""Sparse matrices of every type, and those that cannot be read: what they give, and what is said about them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import bayeskit as bk
from bayeskit.errors import InputError

RNG = np.random.default_rng(0)
COUNTS = sparse.csr_array(RNG.poisson(0.4, (40, 9)))
Y = np.arange(40) % 3
PEERS = [
    ("Multinomial", MultinomialNB(), "empirical"),
    ("Complement", ComplementNB(), "uniform"),
    ("Bernoulli", BernoulliNB(), "empirical"),
]


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, lambda x: x.toarray()])
@pytest.mark.parametrize(("family", "peer", "prior"), PEERS, ids=[p[0] for p in PEERS])
def test_a_matrix_of_truth_values_is_one_of_zeros_and_ones(family, peer, prior, form):
    there = COUNTS.astype(bool)
    model = bk.NaiveBayes(families=family, prior=prior).fit(form(there), Y)
    assert model.predict_proba(form(there)) == pytest.approx(peer.fit(there, Y).predict_proba(there), abs=1e-10)
    numbers = bk.NaiveBayes(families=family, prior=prior).fit(there.astype(float), Y)
    assert numbers.model_.digest == model.model_.digest
    assert (numbers + model).model_.digest == numbers.partial_fit(form(there), Y).model_.digest
    assert "bool" in model.schema_.columns[0].why


def test_columns_of_truth_values_may_be_a_group_of_a_frame():
    there = COUNTS.toarray() > 0
    frame = pd.DataFrame(there[:, :3], columns=list("uvw")).assign(age=COUNTS.toarray()[:, 3])
    groups = {("u", "v", "w"): "Bernoulli"}
    model = bk.NaiveBayes(families=groups, prior="uniform").fit(frame, Y)
    told = model.explain(frame).terms[:, :3].sum(axis=1)
    peer = BernoulliNB(fit_prior=False).fit(there[:, :3], Y).predict_joint_log_proba(there[:, :3])
    assert told == pytest.approx(peer + np.log(3), abs=1e-10)
    assert model.schema_["age"].family == "Gaussian"


def test_beside_counts_a_column_of_truth_values_stays_a_category():
    frame = pd.DataFrame({"word": COUNTS.toarray()[:, 0], "reply": COUNTS.toarray()[:, 1] > 0})
    model = bk.NaiveBayes(families="Multinomial").fit(frame, Y)
    assert [c.kind for c in model.schema_.columns] == ["quantitative", "binary"]


def test_extended_precision_is_read_as_doubles():
    model = bk.NaiveBayes(families="Multinomial").fit(COUNTS.astype(np.longdouble), Y)
    assert model.model_.digest == bk.NaiveBayes(families="Multinomial").fit(COUNTS.astype(float), Y).model_.digest


def spoiled(change):
    bad = sparse.csr_matrix(COUNTS, dtype=float)
    bad.indices = bad.indices.astype(np.int64)
    change(bad)
    return bad


WRONG = {
    "complex": (COUNTS.astype(complex), "Complex"),
    "one axis": (sparse.coo_array(np.arange(40.0)), "1D"),
    "an index beyond 32 bits": (spoiled(lambda x: x.indices.__setitem__(3, 2**32 + 2)), "outside its 9 columns"),
    "an index below 0": (spoiled(lambda x: x.indices.__setitem__(3, -1)), "outside its 9 columns"),
    "too many columns": (sparse.csr_array((40, 2**31)), "columns"),
}


@pytest.mark.parametrize("family", [None, "Multinomial", "auto"])
@pytest.mark.parametrize(("x", "says"), WRONG.values(), ids=WRONG)
def test_a_sparse_matrix_that_cannot_be_read_is_refused(x, says, family):
    with pytest.raises(InputError, match=says):
        bk.NaiveBayes(families=family).fit(x, Y)
    model = bk.NaiveBayes(families=family).fit(COUNTS, Y)
    with pytest.raises(InputError):
        model.predict(x)
