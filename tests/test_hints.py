"""Errors for what is typed by habit from other libraries: each says what to write instead."""

import inspect
import pickle

import pandas as pd
import pytest
from sklearn import discriminant_analysis, model_selection, naive_bayes, neighbors, preprocessing
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.errors import InputError, KeywordError, KindError, SchemaError
from bayeskit.keywords import ELSEWHERE

MAILS = pd.DataFrame(
    {"text": ["win money", "free money", "lunch now", "see you"], "class": ["spam", "spam", "ham", "ham"]}
)


@pytest.mark.parametrize("name", sorted(bk._ELSEWHERE))
def test_a_name_of_another_library_is_answered_with_the_name_here(name):
    assert name not in bk.__all__
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; "):
        getattr(bk, name)


def test_other_names_are_just_missing():
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        bk.nothing  # noqa: B018


def test_a_cost_in_place_of_the_answer_for_undecided_rows_is_refused():
    rows, labels = [[1.0], [2.0], [2.0], [3.0]], list("aabb")
    with pytest.raises(InputError, match=r"reject=0\.3 is the cost"):
        bk.RiskClassifier(bk.NaiveBayes(), abstain=0.3).fit(rows, labels)
    model = bk.RiskClassifier(bk.NaiveBayes(), reject=0.1, abstain=-1.5).fit(rows, labels)
    assert model.predict([[2.0]]).tolist() == [-1.5]
    assert bk.RiskClassifier(bk.NaiveBayes(), abstain=-1.0).fit(rows, labels).predict([[0.0]]).tolist() == ["a"]


def test_texts_lead_to_a_vectorizer():
    with pytest.raises(InputError, match="CountVectorizer"):
        bk.NaiveBayes(families="Multinomial").fit(MAILS, "class")
    pipeline = make_pipeline(CountVectorizer(), bk.NaiveBayes(families="Multinomial"))
    with pytest.raises(InputError, match=r"X\['text'\], not the frame"):
        bk.evaluate(pipeline, MAILS, "class", 2)
    with pytest.raises(InputError, match=r"y has 1 values, the table 2 rows$"):
        bk.NaiveBayes().fit([[1.0], [2.0]], ["a"])
    with pytest.raises(KindError, match="last step of a pipeline"):
        bk.Calibrated(pipeline).fit(MAILS["text"], MAILS["class"])


def test_an_unseen_column_is_to_be_left_out():
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.0]}, list("aab"))
    with pytest.raises(SchemaError, match="Leave out the columns that are unseen"):
        model.predict({"x": [1.0], "y": [2.0]})


def test_a_word_for_smoothing_leads_to_the_number():
    with pytest.raises(InputError, match="1 is Laplace's rule"):
        bk.NaiveBayes(smoothing="laplace").fit({"x": ["u", "v"]}, list("ab"))


PUBLIC = {name: getattr(bk, name) for name in bk.__all__ if callable(getattr(bk, name))}
PUBLIC |= {f"families.{name}": getattr(bk.families, name) for name in dir(bk.families)}
OPEN = {"explain_pipeline", "average_network"}  # take keywords for explain and learn_network
PEERS = [  # theirs, ours, and what has no counterpart here
    (naive_bayes.GaussianNB, bk.NaiveBayes, ()),
    (naive_bayes.CategoricalNB, bk.NaiveBayes, ()),
    (naive_bayes.BernoulliNB, bk.NaiveBayes, ()),
    (naive_bayes.MultinomialNB, bk.NaiveBayes, ()),
    (neighbors.KNeighborsClassifier, bk.KNNBayes, ("metric_params",)),
    (discriminant_analysis.QuadraticDiscriminantAnalysis, bk.FullBayes, ("tol", "covariance_estimator")),
    (discriminant_analysis.LinearDiscriminantAnalysis, bk.FullBayes, ("tol", "n_components", "covariance_estimator")),
    (model_selection.StratifiedKFold, bk.CrossValidation, ("shuffle", "random_state")),
    (model_selection.cross_val_score, bk.evaluate, ("fit_params", "params", "pre_dispatch", "error_score", "verbose")),
    (
        preprocessing.KBinsDiscretizer,
        bk.Discretizer,
        ("encode", "dtype", "subsample", "quantile_method", "random_state"),
    ),
]


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - OPEN))
def test_a_parameter_that_is_not_there_is_named(name):
    takes = list(inspect.signature(PUBLIC[name]).parameters)
    with pytest.raises(KeywordError, match="has no parameter 'no_such'; it takes") as caught:
        PUBLIC[name](no_such=1)
    assert str(caught.value).endswith(", ".join(takes) or "none")
    for typed in (word for word in takes if len(word) > 5):  # one letter left out
        with pytest.raises(KeywordError, match=f"write {typed}="):
            PUBLIC[name](**{typed[:2] + typed[3:]: 1})


@pytest.mark.parametrize(("theirs", "ours", "without"), PEERS, ids=lambda value: getattr(value, "__name__", ""))
def test_parameters_of_scikit_learn_lead_on(theirs, ours, without):
    takes = inspect.signature(ours).parameters
    for name in inspect.signature(theirs).parameters:
        if name not in takes:
            with pytest.raises(KeywordError) as caught:
                ours(**{name: 1})
            assert (name in without) == ("; it takes" in str(caught.value)), str(caught.value)


def test_every_lead_leads_somewhere():
    takes = {name: set(inspect.signature(public).parameters) for name, public in PUBLIC.items()}
    for word, (names, remark) in ELSEWHERE.items():
        assert names or remark
        for owner, _, name in (entry.rpartition(".") for entry in names.split()):
            assert any(name in found and word not in found for found in takes.values()), (word, name)
            assert not owner or name in takes[owner]


def test_arguments_by_place_lead_to_names():
    with pytest.raises(KeywordError, match=r"by name: write KNNBayes\(k=\.\.\.\)"):
        bk.KNNBayes(5)
    with pytest.raises(KeywordError, match=r"at most 4 arguments by place: write evaluate\(costs="):
        bk.evaluate(bk.NaiveBayes(), [[1.0]], ["a"], 5, {})
    with pytest.raises(TypeError, match="LeaveOneOut"):
        bk.LeaveOneOut(True, 5)


def test_classes_and_functions_stay_what_they_were():
    model = bk.KNNBayes(k=3)
    assert clone(model).get_params() == model.get_params() == bk.KNNBayes(**model.get_params()).get_params()
    assert sorted(inspect.signature(bk.KNNBayes).parameters) == sorted(model.get_params())
    assert pickle.loads(pickle.dumps(bk.evaluate)) is bk.evaluate
    assert bk.evaluate.__name__ == "evaluate"
    assert bk.evaluate.__doc__


def test_help_lists_every_public_name():
    words = set(bk.__doc__.replace(",", " ").replace(";", " ").split())
    assert set(bk.__all__) <= words


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: model.predict_proba(x=[[1.0]]), "predict_proba has no parameter 'x'; write X="),
        (lambda model: model.fit(data=[[1.0]], y=["a"]), "fit has no parameter 'data'; write X="),
        (lambda model: model.fit([[1.0]], target=["a"]), "fit has no parameter 'target'; write y="),
        (
            lambda model: model.forget([[1.0]], ["a"], weights=[1]),
            "forget has no parameter 'weights'; write sample_weight=",
        ),
        (lambda model: model.save(filename="m.bayes"), "save has no parameter 'filename'; write path="),
        (lambda model: model.adapt_prior(df=[[1.0]]), "adapt_prior has no parameter 'df'; write X="),
        (
            lambda model: model.counterfactual([[1.0]], wanted="b"),
            "counterfactual has no parameter 'wanted'; it takes X, ",
        ),
    ],
)
@pytest.mark.parametrize("make", [bk.NaiveBayes, bk.TAN], ids=["NaiveBayes", "TAN"])
def test_a_wrong_keyword_of_a_method_leads_on(make, call, said):
    with pytest.raises(KeywordError) as error:
        call(make().fit([[1.0], [2.0], [2.0], [3.0]], list("aabb")))
    assert str(error.value).startswith(said)
