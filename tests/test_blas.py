"""Threads of BLAS, whatever their number: they do not show, and are left as they were."""

import numpy as np
import scipy.linalg  # noqa: F401  it brings a BLAS of its own
from threadpoolctl import threadpool_info, threadpool_limits

import bayeskit as bk


def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_of_blas_do_not_show_and_are_given_back():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    X = rng.normal(y[:, None], 2.0, (5000, 60)) @ rng.normal(size=(60, 60))
    digests, answers = [], []
    for number in (1, 2, 4):
        with threadpool_limits(number, "blas"):
            before = threads()
            model = bk.FullBayes(n_jobs=2).fit(X, y)
            answers.append(model.predict_log_proba(X))
            assert threads() == before
        digests.append(model.model_.digest)
    assert before == [4] * len(before)
    assert len(set(digests)) == 1
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-10, atol=1e-10)
