"""English words: tokens, lemmas, roots, names in snake_case, and quantities ("under 18", "$500 or more").

General English only; the words of a domain come from its toolbox.  A *lemma* is for reading and for
names, a *root* (lemma without derivational endings) is for comparing: `confirmed` and `confirmation`
share one.  Irregular forms are listed, the rest follows spelling rules, so an unknown word may get an
odd root, but always the same one.  A quantity is a comparison with a number and a unit; which field it
is about is for the vocabulary of a toolbox to tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wb.rules.stems import IRREGULAR

_TOKEN = re.compile(r"[A-Za-z][A-Za-z'’]*|\d[\d,]*(?:\.\d+)?|[$€£%]")
PERSONS = """
    user users agent agents assistant assistants you we they he she person persons people individual individuals
    anyone anybody someone somebody everyone everybody nobody system bot bots chatbot chatbots model operator
    customer customers client clients caller callers
""".split()
ACTORS = frozenset([*PERSONS, "it", "i", "party", "parties", "human"])
DETERMINERS = frozenset(
    """a an the this that these those any some each every all both either neither no such certain given
 its his her their your our my of which who whom whose what there here following respective""".split()
)
_FUNCTION = frozenset(
    """
        to in on at by for from with without into onto over under about as per via and or but if then than so be is
        are was were been being am do does did has have had having will would shall should may might can could must
        not never only also still just even already always ever again yet it its them him himself themselves itself
        very too more most less least up out off s t e g i one when where while until before after during within upon
        among between through against across
    """.split()
)
_PARTICLES = frozenset("in out up off on down over away".split())  # "log in" and "log out" are two verbs
STOP = ACTORS | DETERMINERS | _FUNCTION
_KEEP_E = re.compile(
    r"(?:at|iz|is|v|c|dg|rg|u|bl|pl|tl|gl|dl|ckl|ir|ur|uir|as|os|us|ns|rs|ang|eng|ag|ak|ik|ok|uk|am|im|om|um|"
    r"ap|ip|op|yp|ar|or|ad|id|od|ud|"
    r"in|on|un|il|ol|ul|al|it|ot|ut|et|iet)\Z"
)
_BARE_VERBS = frozenset(
    """
        accept access add adopt allow answer apply appear approach ask assist attach avoid ban block book cancel check
        claim clear click collect comment commit complain confirm connect consent contact contain convert correct
        credit deposit destroy develop direct display download drop edit email enter exceed exist exit export fail
        fill filter finish follow forward gain grant happen help import inform inspect install interact join keep lack
        last limit list load log look mail mark mask match mention modify monitor offer open order own pass perform
        permit pick plan play post prevent print process profit prohibit prompt protect publish push quit reach reject
        remain remind repair repeat report request respond rest restrict result return review scan search select send
        show sign skip sort spam split start state stay stop submit succeed suggest talk test touch track transfer
        transform trust unlock upload view visit wait walk want warn wash watch wish withdraw withhold work abort
        adjust affect alter appoint assert attempt attend audit benefit bill boost borrow call cast chat concern
        conduct consult contract deduct defer deliver deny depart depend detect differ discount discover discuss
        dismiss earn employ enrol exhaust expect explain express extend extract feel fetch fix fund guard hack hand
        harm highlight hint host hunt intend interpret label land launch lead learn lend link lock mean meet merg need
        obey object obtain omit opt overrid park part pay persist point predict present proceed project proof quot
        redirect redeem refund register reset retail retain reveal reward roll seek seem sell ship shift shout sleep
        speak spell spend stack stamp stand step stick store stream support suspect suspend target tell thank threaten
        train treat trick turn twist wear weigh elicit exhibit inherit inhibit merit orbit recruit solicit vomit
        budget market pocket offset format combat appeal seal heal deal steal conceal reason season question position
        condition function caution lesson person listen sharpen strengthen shorten widen broaden assign design align
        resign campaign maintain refrain restrain begin win spin run plug
    """.split()
)
_SUFFIXES = (
    "ations",
    "ation",
    "itions",
    "ition",
    "ments",
    "ment",
    "ances",
    "ance",
    "ences",
    "ence",
    "ship",
    "ings",
    "ing",
    "ables",
    "able",
    "ators",
    "ator",
    "ers",
    "er",
    "ors",
    "or",
    "ates",
    "ate",
    "ses",
    "se",
    "ces",
    "ce",
    "ions",
    "ion",
    "als",
    "al",
    "es",
    "e",
    "y",
)


@lru_cache(maxsize=20_000)
def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and money signs of a text in lower case; `e-mail` is `email`, `a_b` two words."""
    plain = re.sub(r"\b([eE])-(?=[a-z])", r"\1", text).replace("_", " ").replace("’", "'")
    found = (m.group().lower() for m in _TOKEN.finditer(plain))
    return tuple(re.sub(r"'s?\Z", "", word) if "n't" not in word else word for word in found)


@lru_cache(maxsize=20_000)
def lemma(word: str) -> str:
    """The dictionary form of a word in lower case: `policies` policy, `booked` book, `sent` send."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if word.endswith("ied"):
        return f"{word[:-3]}y"
    for ending in ("ing", "ed"):
        if word.endswith(ending) and re.search(r"[aeiouy]", word[: -len(ending)]) and len(word) - len(ending) >= 2:
            return _base(word[: -len(ending)])
    return word


def _base(stem: str) -> str:
    """The verb behind a stem left by -ing or -ed: doubled consonants undone, a silent e restored."""
    if stem in _BARE_VERBS:
        return stem
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if stem.endswith("ll") and len(stem) > 5:
        return stem[:-1]
    if re.search(r"[^aeiou][aeiou](?:w|x|y)\Z", stem) or re.search(
        r"(?:er|en|ay|ey|oy|ss|ll|rn|rm|rt|st|ct|pt|nt|lt|sh|ch|th|ck|nd|ld|rd|mp|rk|nk|sk|lp|ft|ht|ow|ew|aw|ee|"
        r"ai[nlrmd]|ea[dklmnrtp]|oo[kmnltp]|oa[dnmkt]|ou[nt]|ei[vn])\Z",
        stem,
    ):
        return stem
    return f"{stem}e" if _KEEP_E.search(stem) else stem


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What a word shares with its relatives, for comparing: `confirmation`, `confirmed` -> confirm."""
    base = lemma(word)
    if not base.isalpha():
        return base
    for _ in range(2):  # ownership -> owner -> own, the root of owned
        suffix = next((s for s in _SUFFIXES if base.endswith(s) and len(base) - len(s) >= 4), "")
        base = base.removesuffix(suffix).removesuffix("i") if suffix else base
    if len(base) >= 5 and base.endswith("ie"):
        return base[:-2]
    return base[:-1] if len(base) >= 4 and base[-1] in "ye" else base


def content(text: str) -> tuple[str, ...]:
    """The words of a text that carry meaning, as they stand: no function word, no neutral actor."""
    return tuple(word for word in tokens(text) if word not in STOP)


@lru_cache(maxsize=20_000)
def roots(text: str) -> frozenset[str]:
    """The roots of the content words of a text."""
    return frozenset(root(word) for word in content(text))


def name(text: str, *, most: int = 9) -> str:
    """A snake_case name for a phrase: articles, possessives and a leading neutral actor left out.

    At most `most` words are kept, the first ones; `unnamed` for a phrase without letters.
    """
    words = [w for w in tokens(re.sub(r"\([^)]*\)", " ", text) or text) if w not in DETERMINERS and w not in ("s", "t")]
    while len(words) > 1 and (
        words[0] in ACTORS
        or words[0] in ("is", "are", "was", "were", "be", "been", "being", "has", "have", "to", "for")
    ):
        words = words[1:]
    words = [re.sub(r"[^a-z0-9]", "", {"$": "usd", "€": "eur", "£": "gbp", "%": "percent"}.get(w, w)) for w in words]
    words = [w for w in words if w][:most]
    while len(words) > 1 and words[-1] in _FUNCTION and not (len(words) == 2 and words[-1] in _PARTICLES):
        words = words[:-1]
    joined = "_".join(words) or "unnamed"
    return f"n_{joined}" if not joined[0].isalpha() or joined in ("true", "false") else joined


def verb_first(text: str) -> str:
    """An action phrase in its plain form: `booking a room` -> `book a room`, adverbs before it left out."""
    words = text.strip().split()
    while (
        len(words) > 1
        and (
            words[0].lower().endswith("ly")
            or words[0].lower() in ("also", "first", "always", "never", "then", "ever", "to", "be", "explicitly")
        )
        and words[0].lower() not in ("apply", "reply", "supply", "rely", "comply", "multiply", "fly")
    ):
        words = words[1:]
    if words and re.search(r"ing\Z", words[0].lower()):
        words[0] = lemma(words[0].lower())
    return " ".join(words)


Op = Literal["<", "<=", ">", ">=", "=="]
_WORDS = {
    word: value
    for value, word in enumerate(
        """
        zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty
    """.split()
    )
}
_WORDS |= {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "dozen": 12,
    "thousand": 1000,
    "once": 1,
    "twice": 2,
    "single": 1,
}
_CARDINALS = [word for word in _WORDS if word not in ("zero", "once", "twice", "single")]
COUNT = "|".join(sorted(_CARDINALS, key=len, reverse=True))
DURATION = r"(?:minute|hour|day|week|month|year)s?"
NUMBER = (
    r"(?P<money>[$€£]\s?)?(?P<number>\d[\d,]*(?:\.\d+)?|\b(?:"
    + "|".join(sorted(_WORDS, key=len, reverse=True))
    + r")\b)(?P<percent>\s?%)?"
)
_BEFORE: tuple[tuple[str, Op], ...] = (
    (
        r"(?:no|not) (?:more|greater|higher|longer|larger|older|later|bigger) than|"
        r"not (?:to )?(?:exceed(?:ing)?|over|above)|at (?:the )?most|at a maximum(?: of)?|"
        r"up to|a maximum of|maximum(?: of| is|:)?|limited to|not exceeding",
        "<=",
    ),
    (
        r"(?:no|not) (?:less|fewer|smaller|younger|lower|shorter|under) than|not (?:under|below|younger than)|"
        r"at (?:the )?least|a minimum of|minimum(?: of| is|:)?",
        ">=",
    ),
    (
        r"(?:more|greater|higher|longer|larger|older|bigger|heavier) than|exceed(?:s|ing)?|over(?: the age of)?|"
        r"above(?: the age of)?|beyond",
        ">",
    ),
    (r"(?:less|fewer|smaller|younger|lower|shorter|lighter) than|under(?: the age of)?|below(?: the age of)?", "<"),
    (r"exactly|equal to|precisely", "=="),
)
_AFTER: tuple[tuple[str, Op], ...] = (
    (r"or (?:more|older|over|above|greater|higher|later)|and (?:over|older|above|up)", ">="),
    (r"or (?:less|fewer|younger|under|below|lower|smaller|shorter)|and (?:under|younger|below)", "<="),
)
_PATTERNS = tuple((re.compile(rf"\b(?:{cue})\s+(?:the\s+|an?\s+)?{NUMBER}", re.I), op) for cue, op in _BEFORE) + tuple(
    (re.compile(rf"{NUMBER}(?P<unit>(?:\s+[a-zA-Z]+){{0,2}}?)\s+(?:{cue})\b", re.I), op) for cue, op in _AFTER
)
_AGE = re.compile(r"\b(?:age|aged|old|older|younger|years?)\b", re.I)
_PERSON = re.compile(
    r"^\s*(?:(?:the|a|an|any)\s+)?(?:(?:user|person|individual|customer|client|people|users|anyone|someone)s?\s+)?"
    r"(?:who (?:is|are)\s+|is\s+|are\s+|be\s+|was\s+)*(?:aged\s+)?\Z",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A comparison found at `text[start:end]`: of `value` (in `unit`, where one is named).

    `person` says that a bare number is compared of a person, which in English is the age in years.
    """

    op: Op
    value: int | float
    start: int
    end: int
    unit: str = ""
    person: bool = False


def find(text: str) -> Quantity | None:
    """The first comparison with a number in a text, the longest cue where several start together."""
    found: list[Quantity] = []
    for pattern, op in _PATTERNS:
        for match in pattern.finditer(text):
            found.append(_quantity(text, match, op))
    if not found:
        return None
    return min(found, key=lambda q: (q.start, -(q.end - q.start)))


def number(text: str) -> int | float | None:
    """The value of a numeral or number word; None for anything else."""
    word = text.strip().lower().replace(",", "")
    if word in _WORDS:
        return _WORDS[word]
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return None


def _quantity(text: str, match: re.Match[str], op: Op) -> Quantity:
    value = number(match["number"])
    unit = "$" if match["money"] else "%" if match["percent"] else ""
    before, after = text[: match.start()], text[match.end() :]
    if op in ("<=", ">=") and match.re.groupindex.get("unit"):
        unit = (match["unit"] or "").strip() or unit
    counts = re.search(
        r"\b(?:fewer|less|more|smaller|longer|shorter|heavier|lighter|bigger|larger)\b", match.group(), re.I
    )
    counts = counts or re.search(
        r"\b(?:at (?:the )?most|up to|maximum|exactly|exceed\w*|once|twice|limited)\b", match.group(), re.I
    )
    person = (
        unit.lower() in ("", "year", "years")
        and not (counts and not _AGE.search(text))
        and bool(
            _AGE.search(match.group())
            or _AGE.match(after.strip())
            or re.search(r"\b(?:age|aged)\W*(?:is\W*)?\Z", before, re.I)
            or (_PERSON.match(before) and not re.match(r"\s*[a-zA-Z]", after))
        )
    )
    return Quantity(op, 0 if value is None else value, match.start(), match.end(), unit, person)
