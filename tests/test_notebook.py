"""A notebook's mistakes are found in its text, before anything runs."""

from __future__ import annotations

import json

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from wb.runs import notebook
from wb.runs.notebook import NotebookError

OPEN = 'from wb import store\nstage = store.open("01_a", parameters={}, reads=("00_z",))\n'
PLAIN = 'from wb import store\nstage = store.open("01_a", parameters={})\n'


def load(tmp_path, *, parameters="k = 1", code=(PLAIN,), name="01_a"):
    path = tmp_path / f"{name}.ipynb"
    tiny.notebook(path, parameters=parameters, code=list(code))
    return notebook.load(path)


def test_parameters_are_the_literals_of_the_tagged_cell(tmp_path):
    book = load(
        tmp_path, parameters='policy = "x"  # a name\nk: int = 3\nshare = -0.5\nnothing = None\nnames = ("a", "b")'
    )
    assert book.defaults == {"policy": "x", "k": 3, "share": -0.5, "nothing": None, "names": ("a", "b")}


@pytest.mark.parametrize(
    ("parameters", "code", "message"),
    [
        ("k = 1 + n", [PLAIN], "must be a literal"),
        ("k = f()", [PLAIN], "must be a literal"),
        ("k = = 1", [PLAIN], "must be a literal"),
        ("import os", [PLAIN], "only 'name = literal'"),
        ("a = b = 1", [PLAIN], "only 'name = literal'"),
        ("k: int", [PLAIN], "only 'name = literal'"),
        ('k: exec("1") = 1', [PLAIN], "only 'name = literal'"),
        ("k = 1", ["x = 1"], "one call store.open"),
        ("k = 1", [PLAIN, PLAIN], "got 2"),
        ("k = 1", [PLAIN.replace("01_a", "02_b")], "must be given the stage '01_a'; got '02_b'"),
        ("k = 1", ['stage = store.open("01_a", parameters={}, reads=others)'], "literal tuple"),
    ],
)
def test_parameters_are_literals_and_a_notebook_opens_its_own_stage_once(tmp_path, parameters, code, message):
    with pytest.raises(NotebookError, match=message):
        load(tmp_path, parameters=parameters, code=code)


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_parameters_cell_is_required(tmp_path, count):
    load(tmp_path)
    path = tmp_path / "01_a.ipynb"
    data = json.loads(path.read_text("utf-8"))
    for cell in data["cells"]:
        cell["metadata"] = {}
    for cell in data["cells"][1 : 1 + count]:
        cell["metadata"] = {"tags": ["parameters"]}
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(NotebookError, match=f"exactly one code cell tagged 'parameters' was required; got {count}"):
        notebook.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON was required"),
        ("[]", "format 4"),
        ('{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}', "for 'R'"),
    ],
)
def test_a_file_that_is_no_python_notebook_is_refused(tmp_path, text, message):
    path = tmp_path / "01_a.ipynb"
    path.write_text(text, "utf-8")
    with pytest.raises(NotebookError, match=message):
        notebook.load(path)


@pytest.mark.parametrize(
    ("code", "files"),
    [
        (
            'x = stage.read("00_z", "a.json")\ny = stage.source("00_z", "b.bin")\nstage.write("c.json", x)',
            ("a.json", "b.bin"),
        ),
        ("stage.finish()", ()),
        ('name = "a.json"\nx = stage.read("00_z", name)', None),
        ("x = [stage.read(*pair) for pair in pairs]", None),
        ("other = stage", None),
        ('read = stage.read\nread("00_z", "a.json")', None),
        ("work(stage)", None),
    ],
)
def test_the_files_read_are_known_or_any_of_them(tmp_path, code, files):
    assert load(tmp_path, code=[OPEN, "%matplotlib inline\n" + code]).files == {"00_z": files}


TYPES = 'text = "x"\nwhole = 1\nshare = 0.5\nyes = True\nnothing = None\n'


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("text", {"5": "5", "": ""}),
        ("whole", {"-7": -7}),
        ("share", {"2": 2.0, "1e-3": 0.001}),
        ("yes", {"false": False, "True": True}),
        ("nothing", {"3": 3, "gpt": "gpt", "None": None}),
    ],
)
def test_a_value_takes_the_type_of_its_default(tmp_path, name, values):
    book = load(tmp_path, parameters=TYPES)
    for text, value in values.items():
        got = notebook.typed(book, name, text)
        assert got == value and type(got) is type(value)


@pytest.mark.parametrize(("name", "texts"), [("whole", "x 1.5 True"), ("share", "much yes"), ("yes", "1 no")])
def test_a_value_of_another_type_is_refused_with_both(tmp_path, name, texts):
    book = load(tmp_path, parameters=TYPES)
    for text in texts.split():
        like = rf"{name} must be of type (int|float|bool), like its default .*; got '{text}'"
        with pytest.raises(NotebookError, match=like):
            notebook.typed(book, name, text)


RANGES = """share = 0.5  # a part, 0..1; of 3..9 no word
least: int = 2  # k, 1.. (Eq. 3)
below = -3  # -5..-1
text = "0..1"  # 2..3
yes = True  # 0..0
free = 4  # version 1.2, ...
dots = 4  # 1...9
"""


def test_a_number_may_have_a_range_in_the_comment_on_it(tmp_path):
    assert load(tmp_path, parameters=RANGES).ranges == {"share": "0..1", "least": "1..", "below": "-5..-1"}


@pytest.mark.parametrize(
    ("name", "fitting", "others", "declared"),
    [
        ("share", "0 0.5 1", "-0.01 1.01 1e999", "0..1"),
        ("least", "1 99", "0", "1.."),
        ("below", "-5 -1", "-6 0", "-5.."),
    ],
)
def test_a_number_out_of_its_range_is_refused(tmp_path, name, fitting, others, declared):
    book = load(tmp_path, parameters=RANGES)
    assert [notebook.typed(book, name, text) for text in fitting.split()] == [float(text) for text in fitting.split()]
    for text in others.split():
        with pytest.raises(NotebookError, match=rf"{name} must be in {declared}.*, as the comment.*; got '{text}'"):
            notebook.typed(book, name, text)
    with pytest.raises(NotebookError):
        notebook.fitting(book, name, float("nan"), "nan")


def test_every_default_is_in_its_range_and_what_code_refuses_is_refused_before():
    books = {book.stage[:2]: book for book in notebook.find(tiny.ROOT / "notebooks")}
    for book in books.values():
        for name in book.ranges:
            notebook.fitting(book, name, book.defaults[name], None)
    for number, name, text in (("01", "readers", "0"), ("01", "readers", "4"), ("02", "max_rounds", "99")):
        with pytest.raises(NotebookError, match=f"{name} must be in .*; got '{text}'"):
            notebook.typed(books[number], name, text)


@given(
    st.integers()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(codec="ascii"))
)
def test_a_printed_value_is_read_back_as_itself(value):
    book = notebook.Notebook("01_a", tiny.ROOT / "01_a.ipynb", {"k": type(value)()}, (), (), {}, {}, "")
    assert notebook.typed(book, "k", str(value)) == value


def test_a_notebook_may_read_only_earlier_stages(tmp_path):
    tiny.notebook(
        tmp_path / "01_a.ipynb", parameters="k = 1", code=['stage = store.open("01_a", parameters={}, reads=("02_b",))']
    )
    tiny.notebook(tmp_path / "02_b.ipynb", parameters="k = 1", code=['stage = store.open("02_b", parameters={})'])
    with pytest.raises(NotebookError, match=r"01_a.ipynb: may read only earlier stages \[\]; it reads \['02_b'\]"):
        notebook.find(tmp_path)


def test_a_folder_without_notebooks_is_an_error(tmp_path):
    with pytest.raises(NotebookError, match="got none in"):
        notebook.find(tmp_path)
