"""English words, from `lexicon.yaml`: tokens of the grammar, roots for comparing, and names in snake_case.

General English only; the words of a domain come from its toolbox.  Irregular forms are listed, the rest follows
spelling rules, so an unknown word may get an odd root, but always the same one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import yaml
from lark import Token

_DATA = yaml.load(Path(__file__).with_name("lexicon.yaml").read_text("utf-8"), Loader=yaml.BaseLoader)


def words(name: str) -> frozenset[str]:
    """The words of an entry of the lexicon; in one of several words these stand joined by hyphens."""
    return frozenset(_DATA[name].split())


def entry(name: str) -> str | list[str]:
    """An entry of the lexicon as it stands: a text, such as a regular expression, or a list of phrases."""
    return _DATA[name]


NUMBERS = {word: int(value) for word, _, value in (pair.partition(":") for pair in _DATA["numbers"].split())}
PERSONS = words("persons") | {f"{person}s" for person in words("persons")}
_IRREGULAR = dict(pair.split(":") for pair in _DATA["irregular"].split())
_ENDINGS = tuple(_DATA["endings"].split())
_TYPES = {tuple(phrase.split()): kind for kind, listed in _DATA["tokens"].items() for phrase in listed}
_LONGEST = max(map(len, _TYPES))
STOP = frozenset(phrase[0] for phrase in _TYPES if len(phrase) == 1) | PERSONS | words("hollow")
_PLACES = frozenset("over under above below".split())
_PLAIN = re.compile(r"[A-Za-z][A-Za-z'’]*|\d[\d,]*(?:\.\d+)?|[$€£%]")
_TOKEN = re.compile(r"[A-Za-z](?:[\w/]|['-](?=\w))*|\d[\d,]*(?:\.\d+)?(?![\w-])|\S")


def tokenize(text: str) -> list[Token]:
    """The tokens of a sentence: phrases of the lexicon by their types, numbers, money, words, marks.

    Contractions are spelled out ("can't", "cannot": can not), emphasis and quotation of words are left out.
    """
    plain = re.sub(r"[*`\"“”]|(?<!\w)[_']|_(?!\w)", "", text.replace("’", "'")).lower()
    plain = re.sub(r"\be-(?=mail)", "e", re.sub(r"\bcannot\b", "can not", plain))
    plain = re.sub(r"\bwon't\b", "will not", re.sub(r"\bcan't\b", "can not", plain))
    plain = re.sub(r"'s?(?!\w)", "", re.sub(r"n't\b", " not", plain))
    parts, found, at = _TOKEN.findall(plain), [], 0
    while at < len(parts):
        size = next((n for n in range(_LONGEST, 0, -1) if tuple(parts[at : at + n]) in _TYPES), 0)
        if size:
            found.append(Token(_TYPES[tuple(parts[at : at + size])], " ".join(parts[at : at + size])))
        else:
            found.append(Token(_kind(parts[at]), parts[at]))
        at += size or 1
        if found[-1] in _PLACES and not _amount(parts[at : at + 1]):
            found[-1] = Token("PREP", str(found[-1]))  # "over https"
        if len(found) > 1 and found[-2].type == "COMMA" and found[-1].type in ("AND", "OR"):
            found[-2:] = [Token(f"COMMA_{found[-1].type}", f", {found[-1]}")]
    return found


def _amount(part: list[str]) -> bool:
    return bool(part) and (number(part[0]) is not None or part[0] in "$€£")


def _kind(part: str) -> str:
    if number(part) is not None:
        return "NUMBER"
    marks = {",": "COMMA", ".": "STOP", ";": "STOP", "$": "MONEY", "€": "MONEY", "£": "MONEY", "%": "PERCENT"}
    return marks.get(part) or ("WORD" if part[0].isalpha() else "MARK")


def number(text: str) -> int | float | None:
    """The value of a numeral or number word; None for anything else."""
    if text in NUMBERS:
        return NUMBERS[text]
    plain = text.replace(",", "")
    return (float(plain) if "." in plain else int(plain)) if re.fullmatch(r"\d+(?:\.\d+)?", plain) else None


@lru_cache(maxsize=20_000)
def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and money signs of a text in lower case; `e-mail` is `email`, `a_b` two words."""
    plain = re.sub(r"\b([eE])-(?=[a-z])", r"\1", text).replace("_", " ").replace("’", "'")
    return tuple(re.sub(r"'s?\Z", "", found.lower()) for found in _PLAIN.findall(plain))


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What the forms of a word share, for comparing: `confirmation`, `confirmed` -> confirm."""
    base = _IRREGULAR.get(word, word)
    if not base.isalpha() or _IRREGULAR.get(base) == base:
        return base
    ending = next((e for e in _ENDINGS if base.endswith(e) and len(base) - len(e) >= 3 and base[-2:] != "ss"), "")
    base = base.removesuffix(ending)
    while len(base) > 3 and base[-1] in "ey":
        base = base[:-1]
    return base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiou" else base


def content(text: str) -> tuple[str, ...]:
    """The words of a text that carry meaning, as they stand: no closed class, nobody who merely acts or is served."""
    return tuple(word for word in tokens(text) if word not in STOP)


@lru_cache(maxsize=20_000)
def roots(text: str) -> frozenset[str]:
    """The roots of the content words of a text."""
    return frozenset(map(root, content(text)))


def nouns(text: str) -> frozenset[str]:
    """The roots of the words of a text that carry meaning, persons among them: "at most 8 guests"."""
    return frozenset(root(word) for word in tokens(text) if word not in STOP or word in PERSONS)


def rooted(entry: str) -> frozenset[str]:
    """The roots of the words of an entry of the lexicon."""
    return frozenset(map(root, words(entry)))


def synonyms() -> dict[str, frozenset[str]]:
    """Groups of everyday verbs that are used alike, by the root of each."""
    groups = [frozenset(map(root, group.split())) for group in _DATA["synonyms"]]
    return {word: frozenset().union(*(g for g in groups if word in g)) for group in groups for word in group}


def name(text: str, *, most: int = 9) -> str:
    """A snake_case name for a phrase: articles and persons left out, the first `most` words; `unnamed` for none."""
    signs = {"$": "usd", "€": "eur", "£": "gbp", "%": "percent"}
    said = [word for word in tokens(text) if word not in STOP] or list(tokens(text))
    plain = [re.sub(r"[^a-z0-9]", "", signs.get(word, word)) for word in said]
    joined = "_".join([word for word in plain if word][:most]) or "unnamed"
    return f"n_{joined}" if not joined[0].isalpha() or joined in ("true", "false") else joined


def sentence(text: str) -> str:
    """A phrase as a sentence, for a description."""
    plain = re.sub(r"\s+", " ", text).strip(" .,;")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else ""


def keywords(text: str) -> tuple[str, ...]:
    """The words of a phrase that carry meaning, at most eight, for the keywords of a predicate."""
    return tuple(dict.fromkeys(content(text)))[:8]
