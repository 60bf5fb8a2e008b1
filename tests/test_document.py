"""Documents: sentences at their exact places, with the titles, stems, labels and rows they are read with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import shared
from hostile_documents import HONEST, SHOWN
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import document

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
LEGAL = "The following shall be prohibited:\n\n{}\n\n(b) shouting where:\n\n(i) people sleep;\n\n(ii) people read.\n\nRest is allowed."  # noqa: E501


def found(text: str = MARKDOWN, **options: bool) -> list[document.Sentence]:
    return [s for s in document.parse(text, **options).sentences if s.kind != "heading"]


def test_every_sentence_is_a_verbatim_piece_of_the_text() -> None:
    assert all(MARKDOWN[s.start : s.end] == s.text for s in found())
    assert len(found()) >= 11


@pytest.mark.parametrize(
    ("text", "start", "known"),
    [
        (MARKDOWN, "Guests (see", {"text": "Guests (see No. 4, e.g. the\nannex) must ring."}),
        (MARKDOWN, "It opens", {"text": "It opens at 9 a.m."}),
        (MARKDOWN, "Guests leave", {"text": "Guests leave by 5 p.m. sharp."}),
        (MARKDOWN, "Cash", {"text": "Cash, 3.5 euros at most, is taken.", "label": "Payment"}),
        (MARKDOWN, "A card", {"label": "Payment"}),
        (MARKDOWN, "Rooms are", {"headings": ("Rules of the house", "1. Rooms")}),
        (MARKDOWN, "enter at night", {"stems": ("The staff may not:",)}),
        (MARKDOWN, "never lend", {"stems": (), "label": "Keys"}),
        (MARKDOWN, "The staff may not:", {"kind": "stem"}),
        (MARKDOWN, "At most two", {"row": (("Thing", "A bicycle"),), "column": "Rule"}),
        (MARKDOWN, "Locked", {"text": "Locked \\| chained."}),
        ("Note the following:\n\n# Next\n\nMore.", "Note the following", {"kind": "prose"}),
        ("If it rains: stay inside today.", "If it rains", {"label": ""}),
        ("Late fees\n\nA fee is due.\n", "Late fees", {"kind": "prose"}),
        (LEGAL.format("(a) never run;"), "people read", {"stems": ("The following shall be prohibited:", "shouting where:")}),  # noqa: E501
        *(
            (LEGAL.format(f"{mark} never run;"), start, {"stems": stems})
            for mark in ("a)", "(a)", "(1)")
            for start, stems in (("never run", ("The following shall be prohibited:",)), ("Rest", ()))
        ),
    ],
)  # fmt: skip
def test_a_sentence_knows_what_it_is_read_with(text: str, start: str, known: dict[str, object]) -> None:
    sentence = next(s for s in found(text) if s.text.startswith(start))
    assert {name: getattr(sentence, name) for name in known} == known


def test_a_short_line_alone_is_a_title_in_plain_text_only() -> None:
    assert found("Late fees\n\nA fee is due.\n", titles=True)[0].headings == ("Late fees",)


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
        ("Stop at 35 km/h. Go on.", 2),  # a unit of one letter ends a sentence, and an initial does not
        ("It closes in 9 h.\nGo on.", 2),
        ("Weigh 5 g. Go on.", 2),
        ("Ask J. Smith to go.", 1),
        ("Plan B. Smith goes.", 1),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, count: int) -> None:
    assert len(document.spans(text)) == count


@pytest.mark.parametrize("mark", ["10)", "1.", "-", "+", "> \t10)"])
@pytest.mark.parametrize("blanks", ["\t", " \t", "  \t", "\t \t", "\t\t"])
def test_a_list_mark_is_no_part_of_its_item_however_many_columns_the_blanks_take(mark: str, blanks: str) -> None:
    (sentence,) = found(f"{mark}{blanks}You must not run.")
    kind = "step" if any(letter.isdigit() for letter in mark) else "item"
    assert (sentence.text, sentence.start, sentence.kind) == ("You must not run.", len(mark + blanks), kind)


def page(folder: Path, body: str) -> document.Document:
    (folder / "page.html").write_text(f"<html><head><title>x</title></head><body>{body}</body></html>", "utf-8")
    return document.read(folder / "page.html")


def test_an_item_of_a_numbered_list_is_a_step_and_another_one_is_not(tmp_path: Path) -> None:
    text = "1. Look.\n   - Ask for the key.\n   - Go in.\n2. Leave. Call the owner.\n\n- Rest."
    kinds = ["step", "item", "item", "step", "step", "item"]
    assert [s.kind for s in found(text)] == kinds
    body = "<ol><li>Look.<ul><li>Ask for the key.</li><li>Go in.</li></ul></li><li>Leave. Call the owner.</li></ol>"
    assert [s.kind for s in page(tmp_path, f"{body}<ul><li>Rest.</li></ul>").sentences] == kinds


@settings(max_examples=150)
@given(st.text(alphabet=st.sampled_from("ab. :;()[]*_`#-|>\n\t\"'1i\\é“”$&<"), max_size=120))
def test_any_text_is_read_with_exact_and_ordered_places(text: str) -> None:
    read = document.parse(text)
    assert all(text[s.start : s.end] == s.text and s.text.strip() for s in read.sentences)
    assert all(a.end <= b.start for a, b in zip(read.sentences, read.sentences[1:], strict=False))


@settings(max_examples=80)
@given(st.text(max_size=200))
def test_splitting_loses_nothing_but_blanks(text: str) -> None:
    whole = "".join(text[i:j] for i, j in document.spans(text))
    assert "".join(whole.split()) == "".join(text.split())


def test_html_becomes_text_with_the_same_structure(tmp_path: Path) -> None:
    read = page(
        tmp_path,
        "<h1>Club</h1><p>Pay by <b>Friday</b>.</p><ul><li>No noise.</li><li>You may not:<ul><li>run</li></ul></li></ul>"
        "<table><tr><th>Thing</th><th>Rule</th></tr><tr><td>Ball</td><td>At most one.</td></tr></table>"
        "<script>var a;</script>",
    )
    texts = {s.text: s for s in read.sentences}
    assert {"Pay by Friday.", "No noise.", "At most one."} <= set(texts) and "var a" not in read.text
    assert texts["Pay by Friday."].headings == ("Club",)
    assert texts["run"].stems == ("You may not:",)
    assert texts["At most one."].row == (("Thing", "Ball"),)
    assert all(read.text[s.start : s.end] == s.text for s in read.sentences)


def test_a_pdf_is_read_by_its_text_layer(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(HONEST)
    assert tuple(s.text for s in document.read(tmp_path / "a.pdf").sentences) == SHOWN


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
def test_a_document_that_cannot_be_read_says_what_was_required_and_got(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(document.DocumentError, match=message):
        document.read(tmp_path / name)


def test_offsets_of_the_airline_policy_are_those_of_the_gold() -> None:
    rows = map(json.loads, shared("data", "offline_gold", "sentences.jsonl").read_text("utf-8").splitlines())
    own = {(s.start, s.end) for s in document.read(shared("data", "common", "tau_airline", "policy.md")).sentences}
    gold = [(row["start"], row["end"]) for row in rows if row["doc"] == "airline"]

    def stands(start: int, end: int) -> bool:
        return any((a <= start and end <= b) or (start <= a and b <= end) for a, b in own)

    assert gold and all(stands(*span) for span in gold)
