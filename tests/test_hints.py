"""Errors for what is typed by habit from other libraries: each says what to write instead."""

import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.errors import InputError, KindError, SchemaError

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
