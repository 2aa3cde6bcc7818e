"""Nasty CSV files: each is read as a person would read it, or refused with its name, line and cure."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import bayeskit as bk
from bayeskit.engines.reading import Reading
from bayeskit.errors import BayeskitError, InputError, SchemaError

LABELS = list("aabb")


def rows(v: list[Any]) -> str:
    """The digest of a column of four values with the labels a, a, b, b."""
    return bk.NaiveBayes().fit({"v": v}, LABELS).model_.digest


def fitted(folder: Path, content: str | bytes, **options: Any) -> bk.NaiveBayes:
    path = folder / "nasty.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return bk.NaiveBayes().fit(Reading(str(path), **options), "class")


READ = {
    "a byte order mark": (b"\xef\xbb\xbfv,class\n1,a\n2,a\n3,b\n4,b\n", {}, [1, 2, 3, 4]),
    "Windows line ends": ("v,class\r\n1,a\r\n2,a\r\n3,b\r\n4,b\r\n", {}, [1, 2, 3, 4]),
    "old Macintosh line ends": ("v,class\r1,a\r2,a\r3,b\r4,b\r", {}, [1, 2, 3, 4]),
    "no line end at the end": ("v,class\n1,a\n2,a\n3,b\n4,b", {}, [1, 2, 3, 4]),
    "blank lines": ("v,class\n1,a\n\n2,a\n3,b\n\n\n4,b\n", {}, [1, 2, 3, 4]),
    "line ends, delimiters and quotes in a field": (
        'v,class\n"x\ny",a\n"p,q",a\n"say ""hi""",b\n"x\ny",b\n',
        {},
        ["x\ny", "p,q", 'say "hi"', "x\ny"],
    ),
    "semicolons, with a comma in a quoted name": ('class;"v"\na;1\na;2\nb;3\nb;4\n', {}, [1, 2, 3, 4]),
    "tabs": ("v\tclass\n1\ta\n2\ta\n3\tb\n4\tb\n", {}, [1, 2, 3, 4]),
    "NA strings": ("v,class\n1,a\nNA,a\n3,b\n,b\n", {}, [1, None, 3, None]),
    "other words for missing": ("v,class\n1,a\n?,a\n3,b\n-,b\n", {"nulls": ("", "?", "-")}, [1, None, 3, None]),
    "decimal commas, declared": ("v;class\n1,5;a\n2;a\n3,25;b\n-4,5e1;b\n", {"decimal": ","}, [1.5, 2, 3.25, -45]),
    "Latin-1, declared": ("v,class\né,a\nè,a\né,b\nô,b\n".encode("latin-1"), {"encoding": "latin-1"}, list("éèéô")),
    "UTF-16, declared": ("v,class\né,a\nè,a\né,b\nô,b\n".encode("utf-16"), {"encoding": "utf-16"}, list("éèéô")),
    "integers of nineteen digits": (
        "v,class\n9223372036854775807,a\n9223372036854775806,a\n-9223372036854775808,b\n1,b\n",
        {},
        [9223372036854775807, 9223372036854775806, -9223372036854775808, 1],
    ),
    "a line end in a name": ('"v",class,"u\nw"\n1,a,x\n2,a,x\n3,b,x\n4,b,x\n', {"ignore": ("u\nw",)}, [1, 2, 3, 4]),
    "Windows line ends, and another in a name": (
        b'"v",class,"u\nw"\r\n1,a,x\r\n2,a,"p\nq"\r\n3,b,x\r\n4,b,x\r\n',
        {"ignore": ("u\nw",)},
        [1, 2, 3, 4],
    ),
    "Windows line ends in a name alone": (
        b'"v",class,"u\r\nw"\n1,a,x\n2,a,"p\r\nq"\n3,b,x\n4,b,x\n',
        {"ignore": ("u\r\nw",)},
        [1, 2, 3, 4],
    ),
    "old Macintosh line ends, and another in a name": (
        b'"v",class,"u\nw"\r1,a,x\r2,a,x\r3,b,x\r4,b,x\r',
        {"ignore": ("u\nw",)},
        [1, 2, 3, 4],
    ),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbfv,class\n1,a\n2,a\n3,b\n4,b\n", {}, [1, 2, 3, 4]),
    "two byte order marks of UTF-16": (
        "\ufeffv,class\né,a\nè,a\né,b\nô,b\n".encode("utf-16"),
        {"encoding": "utf-16"},
        list("éèéô"),
    ),
    "a quoted name after two byte order marks": (
        b'\xef\xbb\xbf\xef\xbb\xbf"v",class\n1,a\n2,a\n3,b\n4,b\n',
        {},
        [1, 2, 3, 4],
    ),
    "a name of 200,000 letters": (
        f"v,class,{'n' * 200_000}\n1,a,x\n2,a,x\n3,b,x\n4,b,x\n",
        {"ignore": ("n" * 200_000,)},
        [1, 2, 3, 4],
    ),
    "spaces around numbers": ("v , class\n 1,a\n2 ,a\n 3 ,b\n4,b\n", {}, [1, 2, 3, 4]),
}


@pytest.mark.parametrize(("content", "options", "values"), READ.values(), ids=list(READ))
@pytest.mark.filterwarnings("ignore:.*integers beyond")
def test_it_is_read_as_a_person_would(tmp_path: Path, content: Any, options: Any, values: list[Any]) -> None:
    assert fitted(tmp_path, content, **options).model_.digest == rows(values)


REFUSED = {
    "a line too long": ("v,class\n1,a\n2,a,x\n3,b\n", InputError, r"nasty\.csv.*Line: 3"),
    "a line too short": ("v,class\n1,a\n2\n3,b\n", InputError, r"nasty\.csv.*Line: 3"),
    "a header too short, as R writes it": ('"v","class"\n"1",1,"a"\n"2",2,"b"\n', InputError, r"nasty\.csv.*Line: 2"),
    "a quote that never ends": ('v,class\n1,a\n"2,a\n3,b\n', InputError, r"nasty\.csv.*Line: 3"),
    "a quote in the middle": ('v,class\n1,a\n"2"2,a\n3,b\n', InputError, r"nasty\.csv.*Line: 3"),
    "a name twice": ("v,v,class\n1,1,a\n2,2,b\n", SchemaError, r"nasty\.csv.*'v' and 'v'"),
    "a column without a name": ("v,,class\n1,1,a\n2,2,b\n", SchemaError, r"nasty\.csv.*column 2 has no name"),
    "Latin-1 in a line": (b"v,class\n1,a\n\xe9,a\n3,b\n", InputError, r"nasty\.csv.*Line: 3"),
    "Latin-1 in the header": (b"v\xe9,class\n1,a\n3,b\n", InputError, r"nasty\.csv.*not utf-8.*--encoding"),
    "UTF-16": ("v,class\n1,a\n2,b\n".encode("utf-16"), InputError, r"nasty\.csv.*not utf-8.*--encoding"),
    "decimal commas": ("v;class\n1,5;a\n2;a\n3,25;b\n", InputError, r"nasty\.csv.*'v'.*--decimal"),
    "NUL characters": (b"v,class\n1\x00,a\n2,b\n", InputError, r"nasty\.csv.*'v'.*NUL"),
    "line ends of two sorts": ("v,class\r\n1,a\n2,a\r\n3,b\r\n", InputError, r"nasty\.csv.*line"),
    "a number too large for a double": ("v,class\n1,a\n1e400,a\n3,b\n", InputError, r"'v' has an infinite value"),
    "a packed file cut short": (gzip.compress(b"v,class\n" + b"1,a\n2,b\n" * 99)[:-12], InputError, r"nasty\.csv\.gz"),
    "a packed file that is none": (b"v,class\n1,a\n", InputError, r"nasty\.csv\.gz"),
}


@pytest.mark.parametrize(("content", "error", "said"), REFUSED.values(), ids=list(REFUSED))
def test_it_is_refused_by_name(tmp_path: Path, content: Any, error: type, said: str) -> None:
    path = tmp_path / ("nasty.csv.gz" if "gz" in said else "nasty.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=said) as told:
        bk.NaiveBayes().fit(path, "class")
    assert isinstance(told.value, BayeskitError)


def test_bad_lines_may_be_left_out_and_are_told(tmp_path: Path) -> None:
    bad = b"v,class\n1,a\n2,a,x\n2,a\n7\n3,b\n\xe9,a\n4,b\n"
    with pytest.warns(UserWarning, match=r"3 bad lines .*nasty\.csv line 3.*line 5.*line 7"):
        model = fitted(tmp_path, bad, bad_lines="skip")
    assert model.model_.digest == rows([1, 2, 3, 4])


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    lines = [f"{i},a\n" if i % 10 else f"{i},a,x\n" for i in range(50_000)]
    with pytest.warns(UserWarning, match=r"5000 bad lines .*and 4995 more"):
        model = fitted(tmp_path, "v,class\n-1,b\n" + "".join(lines), bad_lines="skip")
    assert model.model_.weights.tolist() == [45_000, 1]


def test_a_bad_value_in_rows_to_ask_about_is_told_with_its_line(tmp_path: Path) -> None:
    """What the columns hold is known by then, so that one pass is enough."""
    model = fitted(tmp_path, "v,class\n1,a\n2,a\n3,b\n4,b\n")
    (tmp_path / "new.csv").write_text("v\n1\ntwo\n3\n")
    with pytest.raises(InputError, match=r"new\.csv.*Line: 3"):
        model.predict(tmp_path / "new.csv")


def test_a_key_comes_back_as_it_was(tmp_path: Path) -> None:
    model = fitted(tmp_path, "v,class\n1,a\n2,a\n3,b\n4,b\n")
    (tmp_path / "new.csv").write_text("id,number,v\n007,1,1\n12,2,3\n+5,3,3\n")
    found = model.predict_frame(tmp_path / "new.csv", keep=["id", "number"])
    assert found.select(["id", "number"]).to_pydict() == {"id": ["007", "12", "+5"], "number": [1, 2, 3]}


@pytest.mark.parametrize("option", [{"bad_lines": "perhaps"}, {"decimal": ";"}, {"memory": "much"}])
def test_an_option_that_cannot_be_is_told(option: dict[str, str]) -> None:
    with pytest.raises(InputError, match=next(iter(option))):
        Reading("a.csv", **option)


def test_numbers_spoilt_by_a_word_are_told(tmp_path: Path) -> None:
    """A type that holds every value is text; nine of ten values say that numbers were meant."""
    lines = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9))
    with pytest.warns(UserWarning, match=r"'v' is read as text because of '\?'; 9 of its 10 values are numbers"):
        fitted(tmp_path, f"v,class\n{lines}?,a\n")


def test_whole_numbers_beyond_64_bits_are_told(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="'v' has whole numbers of more than 18 digits, rounded to the nearest double"):
        model = fitted(tmp_path, "v,class\n9223372036854775808,a\n2,a\n3,b\n4,b\n")
    assert model.model_.digest == rows([2.0**63, 2, 3, 4])


def test_a_word_among_numbers_that_were_learned_is_told_with_a_cure(tmp_path: Path) -> None:
    model = fitted(tmp_path, "v,class\n1,a\n2,a\n3,b\n4,b\n")
    (tmp_path / "new.csv").write_text("v,note\n1,x\n?,y\n")
    with pytest.raises(InputError, match=r"'v' held numbers when the model was fitted and now has '\?'.*--null"):
        model.predict_frame(tmp_path / "new.csv", keep="note")
