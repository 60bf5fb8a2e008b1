"""Documents: sentences at their exact places, with the titles, stems, labels and rows they are read with."""

from pathlib import Path

import pytest
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import document, extraction

MARKDOWN = """# Rules of the house

## 1. Rooms

Rooms are **quiet**. Guests (see No. 4, e.g. the
annex) must ring. It opens at 9 a.m. Guests leave by 5 p.m. sharp.

Payment: A card is needed. Cash, 3.5 euros at most, is taken.

- Keys: never lend them.
- The staff may not:
  - enter at night;
  - open *letters*.

| Thing | Rule |
|---|---|
| A bicycle | At most two. Locked \\| chained. |
"""


def found(text: str = MARKDOWN, **options) -> list[document.Sentence]:
    return [s for s in document.parse(text, **options).sentences if s.kind != "heading"]


def one(start: str, text: str = MARKDOWN) -> document.Sentence:
    return next(s for s in found(text) if s.text.startswith(start))


def test_every_sentence_is_a_verbatim_piece_of_the_text():
    assert all(MARKDOWN[s.start : s.end] == s.text for s in found())
    assert len(found()) >= 11


@pytest.mark.parametrize(
    ("start", "whole"),
    [
        ("Guests (see", "Guests (see No. 4, e.g. the\nannex) must ring."),
        ("It opens", "It opens at 9 a.m."),
        ("Guests leave", "Guests leave by 5 p.m. sharp."),
        ("Cash", "Cash, 3.5 euros at most, is taken."),
    ],
)
def test_sentences_end_where_a_reader_ends_them(start, whole):
    assert one(start).text == whole


def test_a_sentence_knows_the_titles_above_it():
    assert one("Rooms are").headings == ("Rules of the house", "1. Rooms")


def test_a_list_item_knows_the_opening_of_its_list_and_no_other():
    assert one("enter at night").stems == ("The staff may not:",)
    assert one("never lend").stems == ()


def test_an_opening_is_no_sentence_of_its_own_but_a_colon_without_a_list_is():
    assert one("The staff may not:").kind == "stem"
    assert one("Note the following", "Note the following:\n\n# Next\n\nMore.").kind == "prose"


def test_a_run_in_label_goes_with_every_sentence_of_its_paragraph():
    assert one("A card").label == one("Cash").label == "Payment"
    assert one("never lend").label == "Keys"


def test_a_clause_before_a_colon_is_no_label():
    assert one("If it rains", "If it rains: stay inside today.").label == ""


def test_a_cell_knows_the_rest_of_its_row():
    assert one("At most two").row == (("Thing", "A bicycle"),)
    assert one("Locked").text == "Locked \\| chained."


@pytest.mark.parametrize("line", ["a) never run;", "(a) never run;", "(1) never run;"])
def test_legal_enumerators_nest_without_markdown_lists(line):
    text = (
        f"The following shall be prohibited:\n\n{line}\n\n(b) shouting where:\n\n(i) people sleep;\n\n"
        f"(ii) people read.\n\nRest is allowed."
    )
    assert one("never run", text).stems == ("The following shall be prohibited:",)
    if line.startswith("(a)"):
        assert one("people read", text).stems[-1] == "shouting where:"
    assert one("Rest", text).stems == ()


def test_a_short_line_alone_is_a_title_in_plain_text_only():
    text = "Late fees\n\nA fee is due.\n"
    assert found(text, titles=True)[0].headings == ("Late fees",)
    assert found(text)[0].text == "Late fees"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('He said "Stop. Now." and left.', 1),
        ("Ask Mr. Smith. He knows.", 2),
        ("See Fig. 3 and Sec. 4.", 1),
        ("Is it open? No! Try later...", 3),
        ("Version 2.1 is out. U.S. rules apply.", 2),
        ("", 0),
        ("   ", 0),
    ],
)
def test_sentence_rules(text, count):
    assert len(document.spans(text)) == count


MARKS = [
    f"{mark}{blanks}"
    for mark in ("10)", "1.", "-", "+", "> \t10)")
    for blanks in ("\t", " \t", "  \t", "\t \t", "\t\t")
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_list_mark_is_no_part_of_its_item_however_many_columns_the_blanks_after_it_take(mark):
    (sentence,) = found(f"{mark}You must not run.")
    kind = "step" if any(letter.isdigit() for letter in mark) else "item"
    assert (sentence.text, sentence.start, sentence.kind) == ("You must not run.", len(mark), kind)


NUMBERED = """1. Look.
   - Ask for the key.
   - Go in.
2. Leave. Call the owner.

- Rest."""
KINDS = ["step", "item", "item", "step", "step", "item"]


def test_an_item_of_a_numbered_list_is_a_step_and_another_one_is_not(tmp_path):
    assert [one.kind for one in found(NUMBERED)] == KINDS
    page = "<ol><li>Look.<ul><li>Ask for the key.</li><li>Go in.</li></ul></li><li>Leave. Call the owner.</li></ol>"
    path = tmp_path / "steps.html"
    path.write_text(f"<html><body>{page}<ul><li>Rest.</li></ul></body></html>", encoding="utf-8")
    assert [one.kind for one in document.read(path).sentences] == KINDS


@settings(max_examples=150)
@given(st.text(alphabet=st.sampled_from("ab. :;()[]*_`#-|>\n\t\"'1i\\é“”$&<"), max_size=120))
def test_any_text_is_read_with_exact_and_ordered_places(text):
    read = document.parse(text)
    assert all(text[s.start : s.end] == s.text and s.text.strip() for s in read.sentences)
    assert all(a.end <= b.start for a, b in zip(read.sentences, read.sentences[1:], strict=False))


@settings(max_examples=80)
@given(st.text(max_size=200))
def test_splitting_loses_nothing_but_blanks(text):
    kept = "".join(text[i:j] for i, j in document.spans(text))
    assert "".join(kept.split()) == "".join(text.split())


HTML = """<html><head><title>x</title><style>p {}</style></head><body><h1>Club</h1><p>Pay by <b>Friday</b>.</p>
<ul><li>No noise.</li><li>You may not:<ul><li>run</li></ul></li></ul>
<table><tr><th>Thing</th><th>Rule</th></tr><tr><td>Ball</td><td>At most one.</td></tr></table>
<script>var a;</script></body></html>"""


def test_html_becomes_text_with_the_same_structure(tmp_path):
    path = tmp_path / "club.html"
    path.write_text(HTML, encoding="utf-8")
    read = document.read(path)
    texts = {s.text: s for s in read.sentences}
    assert {"Pay by Friday.", "No noise.", "At most one."} <= set(texts) and "var a" not in read.text
    assert texts["Pay by Friday."].headings == ("Club",)
    assert texts["run"].stems == ("You may not:",)
    assert texts["At most one."].row == (("Thing", "Ball"),)
    assert all(read.text[s.start : s.end] == s.text for s in read.sentences)


def test_lines_of_a_pdf_are_joined_to_paragraphs():
    joined = extraction._paragraphs(
        "Members of the club pay their yearly fee on the first\n"
        "day of the year. They may leave at the end of the com-\ning year.\n1. Fees\n• never late\n"
    )
    assert "on the first day of the year" in joined and "coming year." in joined
    assert "- never late" in joined


def pdf(path: Path, lines: list[str]) -> Path:
    """A minimal PDF with a text layer, written by hand."""
    content = "BT /F1 12 Tf 14 TL 50 750 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, offsets = "%PDF-1.4\n", []
    for i, item in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{i} 0 obj{item}endobj\n"
    start = len(body)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{o:010d} 00000 n \n" for o in offsets)
    path.write_bytes(
        f"{body}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n".encode("latin-1")
    )
    return path


def test_a_pdf_is_read_by_its_text_layer(tmp_path):
    read = document.read(
        pdf(tmp_path / "a.pdf", ["You must ring before you enter the house.", "Dogs are not allowed."])
    )
    assert [s.text for s in read.sentences] == ["You must ring before you enter the house.", "Dogs are not allowed."]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.md", b"", "an empty one"),
        ("a.md", b"  \n", "an empty one"),
        ("a.md", b"ab\xff", "UTF-8 text was required; got byte 0xff at offset 2"),
        ("a.doc", b"x", "a document must be one of"),
        ("a.pdf", b"not a pdf", "PDF"),
    ],
)
def test_a_document_that_cannot_be_read_says_what_was_required_and_got(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises((document.DocumentError, extraction.ExtractionError), match=message):
        document.read(tmp_path / name)


def test_offsets_of_the_airline_policy_are_those_of_the_gold():
    import json

    text = shared("data", "common", "tau_airline", "policy.md")
    rows = map(json.loads, shared("data", "offline_gold", "sentences.jsonl").read_text("utf-8").splitlines())
    mine = {(s.start, s.end) for s in document.read(text).sentences}
    gold = [(row["start"], row["end"]) for row in rows if row["doc"] == "airline"]
    assert sum(
        span in mine or any(a <= span[0] and span[1] <= b or span[0] <= a and b <= span[1] for a, b in mine)
        for span in gold
    ) == len(gold)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Stop at 35 km/h. Go on.", 2),
        ("It closes in 9 h.\nGo on.", 2),
        ("Weigh 5 g. Go on.", 2),
        ("Ask J. Smith to go.", 1),
        ("Plan B. Smith goes.", 1),
    ],
)
def test_a_unit_of_one_letter_ends_a_sentence_and_an_initial_does_not(text: str, count: int) -> None:
    assert len(document.spans(text)) == count
