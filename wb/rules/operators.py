"""The words and signs by which a sentence says more than its content words do: closed lists of English, read by eye.

Operators, exceptions, conditions, negations, bans, numbers, and characters that may not be what they look like.  Where
one of them is such that no reader here stands for it, no rule accounts for the sentence (`unreadable`).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

from wb.rules import words
from wb.rules.lint import NUMBERS

_MARKUP = re.compile(r"<[!?]|-->")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*")
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070-\u209c]|\\w[\u0334-\u0338\u20d2-\u20e5]")
_SCRIPTS = frozenset("CYRILLIC GREEK ARMENIAN CHEROKEE COPTIC LISU GEORGIAN DESERET OSAGE".split())
_PHONETIC = (("\u0250", "\u02ff"), ("\u1d00", "\u1dbf"), ("\u2c60", "\u2c7f"), ("\ua720", "\uab6f"))
# Words that change what a sentence says, in ways that no reading here stands for.
_UNREAD = re.compile(
    r"\b(?:"
    + "|".join(
        """even despite notwithstanding regardless irrespective barring excluding either neither nor both whichever
 whoever whatever whether instead rather otherwise else respectively likewise including included especially
 particularly namely possibly twice thrice again altogether combined consecutive immediately directly promptly
 hardly scarcely barely rarely seldom almost nearly partly partially mostly usually normally generally means
 deemed considered refrain absent void just merely solely exclusively purely vs versus plus
 minus until during while whereas although though since but""".split()
    )
    + r"|apart from|aside from|other than|vice versa|in (?:particular|a row|lieu|place of|principle)|such as|"
    r"possible exception|with or without|and/or|free of|far from|as well|treated as|counts? as|fails? to|and only if|"
    r"once (?:an?|per|every|each) (?:minute|hour|day|night|week|month|year)|"
    r"save(?= (?:for|in|that|where|when|as|to)\b)|(?<=, )save|at once|"
    r"not (?:all|every|each|everyone|everybody|always|only))\b|\b(?:e\.g|i\.e|etc)\.",
    re.I,
)
EXCEPTION = re.compile(r"\b(?:unless|except\w*|without|only|provided(?! for\b)|providing)\b", re.I)
_CONDITION = re.compile(
    r"(?<!only )\b(?:if|when|where|once|whenever|before|after|prior to|as long as|so long as)\b", re.I
)
_TOGETHER = re.compile(  # one exception: "only if", "can only be lent if"
    r"\bonly (?:if|when|where|after|once|with)\b|(?<=\b(?:can|may) )only be [a-z]+ (?:if|when|where|after)\b|"
    r"(?<!\bneed )(?<!\bneeds )\bonly be \w+(?:ed|en|wn) (?:if|when|where|after)\b",
    re.I,
)
BOTH_WAYS = re.compile(r"\bif and only if\b", re.I)
_OPENING = re.compile(r"\A(?:in particular,\s+)?(?:(?:please |always )?remember to(?= [a-z]))?", re.I)
NUMERAL = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,.]*\d)|(?<![\w.,-])\d+(?:\.\d+)?(?![.,]?\d)")
_UNFINISHED = re.compile(
    r"(?:\b(?:if|unless|when|where|while|before|after|until|that|which|who|than|and|or|but|not|only|except|the|an?|to|of|"
    r"for|by|with|without|from|in|on|at|any|as|following|below)|[,;–—-])\s*\Z",
    re.I,
)
_JOINED = re.compile(r"[,;]?(?:\s+(and|or))?[,;]?\s*\Z", re.I)  # how an item goes on to the next one
NEGATION = re.compile(
    r"\b(?:"
    r"not(?! (?:more|less|fewer|later|earlier|longer|greater|larger|higher|lower|older|younger|shorter|smaller) than)|"
    r"cannot|[a-z]+n't|never|no(?! (?:more|less|fewer|later|earlier|longer|greater|larger) than)|nobody|"
    r"no one|none|nothing|without|lack\w*|unless|except\w*|forbid\w*|prohibit\w*|banned|disallowed)\b",
    re.I,
)
BANS = re.compile(
    r"\b(?:not|cannot|[a-z]+n't|never|no|nobody|no one|none|nor|only|forbid\w*|prohibit\w*|banned|disallow\w*|refrain|"
    r"unless|except\w*|until|refuse\w*|decline\w*|den(?:y|ied)|avoid|stop(?= \w+ing)|illegal\w*|unlawful\w*|"
    r"unacceptable|off limits|red lines?)\b",
    re.I,
)
UNITS = frozenset(
    """usd dollar dollars euro euros eur percent year years day days hour hours minute minutes week weeks month months
 age mb gb kb item items number amount size count times zero one two three four five six seven eight nine ten
 eleven twelve""".split()
)
# What no tool and no field may be called by, though a sentence says it: it is counted elsewhere, or tells others.
_HELD = (
    frozenset(
        """any all every each some several many few much both either own more most less least fewer first last next
 previous only always once twice thrice single sole double half per must may can could might shall should need needs
 over under above below up exceed exceeds exceeding beyond greater larger smaller higher lower longer shorter older
 younger later earlier within maximum minimum limit limits limited and or nor but so yet if then
 was were had did will would been done it its they them this that these those""".split()
    )
    | UNITS - frozenset("item items number amount age size count".split())
    | frozenset(NUMBERS)
)
_FORCED = r"(?:must|shall|should|ought to|need to|needs to|ha(?:s|ve) to|may not|cannot)"
_SECOND = re.compile(rf",? (?:and|but) ((?:you|the (?:agent|assistant)|it|they) {_FORCED}\b)", re.I)
# The same of one who is not told from others, with the subject said once, or a permission before it.
_WHO = r"\A(?P<who>(?:(?:the|an?|any|every|each|all) )?(?:you|users?|customers?|clients?|agents?|assistants?))"
_BUT = re.compile(rf"{_WHO} (?:{_FORCED}|can|may)\b[^,;:()]*?,? but (?P<second>{_FORCED}\b)", re.I)
_BUT_ONLY = re.compile(r",? but (?=only (?:if|when|where|after|with)\b)", re.I)
_LED = re.compile(  # a condition that a sentence begins with holds for all of it
    r"\A\W*(?:if|when\w*|where\w*|once|unless|except\w*|without|with|for|in|on|at|by|before|after|until|during|while|"
    r"as|since|provided|given|only|under|upon|from|to)\b",
    re.I,
)
_ACT = re.compile(
    r" (?:before|prior to) (?:taking|performing|doing|making) (?:the|this|that) (?:action|call|change)\b|"
    r" (?:before|prior to) doing (?:so|this|that)\b",
    re.I,
)
POINTS = re.compile(r"\b(?:it|its|this|that|they|them|their|so)\b", re.I)
_OTHERNESS = re.compile(
    r"\b(?:differ\w*|other\w*|another|else\w*|same|equal\w*|identical|similar\w*|alike|unlike|opposite|contrary|"
    r"distinct|respective|further|additional\w*|anymore|any more|no longer|still|yet|again|already)\b",
    re.I,
)
_MODAL = r"\b(?:must|shall|should|ought|may|can|cannot|could|might|needs?|ha(?:s|ve) to|is|are|be|do|does)\b"


def demands(text: str) -> tuple[str, ...]:
    """The two demands that a sentence makes, one after the other, each with its subject and its verb of force; none
    where it makes one, or where a condition or an exception may be meant for both.

    In the second one "before taking the action" speaks of the act of the first.  Of "you may do a, but must not do b"
    only the second one is a demand.
    """
    said = words.plain(opened(text))
    if found := _opposed(said):
        return found
    joined = list(_SECOND.finditer(said))
    if len(joined) != 1 or _LED.search(said):
        return ()
    (at,) = joined
    first, second = said[: at.start()], said[at.start(1) :]
    asked = _ACT.sub(" ", second)
    if re.search(r"\bbut\b", at.group(), re.I) and POINTS.match(second) and not re.match(_WHO, first, re.I):
        return ()  # of whom the second one speaks, the first one alone says
    if not words.forced(first) and not EXCEPTION.search(first):
        return ()
    if EXCEPTION.search(asked) or _CONDITION.search(asked) or re.search(r"[;:,()]", second):
        return ()
    return f"{first}.", _ACT.sub(" before it", second)


def _opposed(said: str) -> tuple[str, ...]:
    """What a sentence demands on both sides of "but", whose subject is nobody in particular; without a side that only
    allows something.  None where a condition, an exception or a limit may be meant for both sides."""
    at = _BUT.match(said)
    if at is None or len(re.findall(r"\bbut\b", said, re.I)) > 1:
        return ()
    first = f"{re.split(r',? but ', said, flags=re.I)[0]}."
    second = f"{at['who']} {said[at.start('second') :]}"
    if any(pattern.search(one) for pattern in (EXCEPTION, _CONDITION) for one in (first, second)):
        return ()
    if re.search(r"[;:,()]", second):
        return ()
    if words.forced(first):
        return first, second
    limits = words.limit(first) or spoken(first) or NEGATION.search(first) or _OTHERNESS.search(first)
    return () if limits or bans(first) else (second,)


def unreadable(text: str, context: Sequence[str]) -> tuple[str, ...]:
    """Why no rules at all would account for a sentence: what it is written or joined with; empty if some may."""
    apart = [unread(one, ()) for one in demands(text)] if not context else []
    return next(filter(None, apart), ()) if apart and unread(text, ()) else unread(text, context)


def unread(text: str, context: Sequence[str]) -> tuple[str, ...]:
    """The same of all that a sentence says at once."""
    whole = " ".join((*context, text))
    said = words.plain(whole)
    strange = characters(whole) or _operators(words.plain(" ".join((*context, opened(text)))))
    if strange:
        return strange
    if re.search(r"\?\W*\Z", said):
        return ("it is a question",)
    if found := _UNFINISHED.search(_JOINED.sub("", words.plain(text)) if context else words.plain(text)):
        return (f"it does not end here: its last word is {found.group().strip()!r}",)
    return ()


def together(opening: str, items: Iterable[str]) -> str:
    """Why the items of a list have to be read together, as one condition; empty where each says its own.

    "Not if a, or b" and "only if a, and b" say two things; "not if a, and b" and "only if a, or b" say one.
    """
    said = words.plain(opening)
    joins = {found.lower() for item in items if (found := _JOINED.search(words.plain(item))[1])}
    apart = {"or"} if NEGATION.search(said) and not EXCEPTION.search(said) else {"and"}
    if apart == {"or"} and not _CONDITION.search(said):
        apart = {"and", "or"}
    wrong = sorted(joins - apart)
    return f"its list has to be read as one: its items are joined by {wrong[0]!r}" if wrong else ""


def bans(*texts: str) -> str:
    """The words by which a text forbids or restricts something; empty for none."""
    return ", ".join(dict.fromkeys(m.group().lower() for text in texts for m in BANS.finditer(words.plain(text))))


def characters(said: str, *, whole: bool = True) -> tuple[str, ...]:
    """What may not be what it looks like: entities, markup, struck or raised text, unseen characters, look-alikes.

    Not `whole`: what stands in angle brackets may be a name.
    """
    if html.unescape(said) != said:
        return ("it has a character that is written as an entity",)
    if _MARKUP.search(said) or (whole and _TAG.search(said)):
        return ("it has markup that was not read",)
    if re.search(r"~~|\w\^|\d_\d", words.plain(said)) or _RAISED.search(said):
        return ("it has text that is struck out, raised or lowered",)
    if said.isascii() and said.isprintable():
        return ()
    hidden = sorted({_named(c) for c in said if c == "\ufffd" or (_unseen(c) and not c.isspace())})
    if hidden:
        return (f"it has characters that cannot be seen: {', '.join(hidden)}",)
    alike = [word for word in re.findall(r"[^\W\d_]+", said) if _alike(word)]
    if alike and re.search("[A-Za-z]", said):
        return (f"it has letters that look like others: {', '.join(map(ascii, dict.fromkeys(alike)))}",)
    bare = "".join(c for c in unicodedata.normalize("NFD", said) if unicodedata.category(c) != "Mn")
    if words.forced(bare) != words.forced(said):
        return ("with its accents it has other words of a constraint than without",)
    return ()


def _unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Cc", "Co", "Cs", "Cn")


def _named(character: str) -> str:
    return unicodedata.name(character, hex(ord(character))).lower()


def _alike(word: str) -> bool:
    """Whether a word has letters of a script that has Latin look-alikes, or Latin letters made to look like others."""
    names = [unicodedata.name(c, "") for c in word]
    return any(
        name.split(" ")[0] in _SCRIPTS or "SMALL CAPITAL" in name or name.startswith("MODIFIER LETTER")
        for name in names
    ) or any(low <= c <= high for c in word for low, high in _PHONETIC)


_ASKED_WITHIN = re.compile(  # what has to be so is not what is so
    r"\b(?:who|which|that) must\b|"
    r"(?<=\w )(?:if|when|where|unless|as long as|so long as)\b[^,]*\bmust\b|"
    r"\A\W*(?:if|when|where|unless|as long as|so long as)\b[^,]*\bmust\b[^,]*,",
    re.I,
)


_DEGREE = re.compile(  # how much, how many, where and how likely, but for limits: "at most", "more than", "or less"
    r"\b(?:some|could|might|(?<!\bas )(?<!\bso )(?<!\bno )long|(?<!\bor )(?:more|less|fewer)(?! than\b)|"
    r"(?<!\bat )(?<!\bat the )(?<!\bat the very )(?:most|least|fewest)|"
    r"here|there(?! (?:is|are|must|shall|should|may|can|has|have)\b))\b|"
    r"\b(?:who|which|that) (?:\w+ly )?(?:may|can|should|would|cannot|can't)\b|"
    r"\b(?:if|when|where|unless|as long as|so long as) (?:(?!(?:is|are|has|have|was|were|do|does)\b)[\w'-]+ ){1,5}?"
    r"(?:may|can|should|would)\b(?! (?:not|never)\b)",
    re.I,
)


def conditioned(said: str) -> bool:
    """Whether a condition or an exception stands in a text."""
    return bool(EXCEPTION.search(said) or _CONDITION.search(said))


def degrees(said: str, inside: str) -> tuple[str, ...]:
    """Words that make a fact more, less, somewhat or possibly so, which no test stands for; not those `inside` of what
    the facts are called, as in "can swim"."""
    called = frozenset(re.findall(r"[a-z]+", inside.lower().replace("_", " ")))
    words_of = {word: re.sub(r"can(?:not|'t)\Z", "can", word).split()[-1] for word in map(str.lower, _degrees(said))}
    found = [word for word, last in words_of.items() if last not in called]
    return (f"not accounted for: {', '.join(map(repr, found))}",) if found else ()


def _degrees(said: str) -> list[str]:
    return [m.group() for m in _DEGREE.finditer(said)]


def _operators(said: str) -> tuple[str, ...]:
    """Operators that no reading stands for, or more of them than one."""
    said = BOTH_WAYS.sub("only if", said)
    unread = tuple(dict.fromkeys(m.group().lower() for m in _UNREAD.finditer(said)))
    if unread:
        return (f"not accounted for: {', '.join(map(repr, unread))}",)
    joined = _TOGETHER.sub("only", said)
    several = [m.group().lower() for pattern in (EXCEPTION, _CONDITION) for m in pattern.finditer(joined)]
    if found := _ASKED_WITHIN.search(said):
        return (f"a demand stands within a condition: {found.group()!r}",)
    if len(several) > 1:
        return (f"more than one exception or condition: {', '.join(map(repr, several))}",)
    return ()


def opened(text: str) -> str:
    """A sentence without the words it opens with that join it to the one before, or call it to mind, and with "only if"
    where it says "but only if"."""
    return _BUT_ONLY.sub(" ", _OPENING.sub("", text))


def strict(phrase: str) -> tuple[str, ...]:
    """The words of a phrase that no tool or field may ever be called by: negations, exceptions, conditions, operators,
    comparisons, quantifiers, numbers, units, words of force, and words of likeness or otherness."""
    said = words.plain(phrase)
    patterns = (_UNREAD, EXCEPTION, _CONDITION, NEGATION, BANS, _OTHERNESS)
    found = [m.group().lower() for pattern in patterns for m in pattern.finditer(said)]
    found += [word for word in re.findall(r"[\w'-]+", said.lower()) if word in _HELD or re.search(r"\d", word)]
    return tuple(dict.fromkeys(found))


_ALL_BUT = re.compile(r"\b(?:no|none|not|never|all|nothing|nobody|any\w*|every\w*)\b[^,]*\Z", re.I)
_TURNS = re.compile(
    r"\b(?:refus\w+|den(?:y|ies|ied)|prohibit\w*|forbid\w*|ban(?:s|ned)?|wrong|out of the question|neither|nor|"
    r"refrain\w*|abstain\w*|avoid\w*|stop\w*|cease\w*|before|until|till|prior to|(?:an)?other(?: \w+){0,2} than)\b|"
    r"\b(?:below|above|under|over|beyond|less|more|least|most|than|exceed\w*)\W*\Z",
    re.I,
)
_BORDER_BEHIND = re.compile(r"(?:\A|[,;:.(–—-]|\b(?:and|or|but))\s*\Z", re.I)
_BORDER_AHEAD = re.compile(r"\s*(?:\Z|[,;:.)–—-]|(?:and|or|but|unless|except)\b)", re.I)


def loose(part: str, text: str) -> str:
    """What of a part of a sentence turns what it stands beside, a negation, an exception or a word of refusal, where it
    is no whole clause with a verb, from one comma or "and" to the next; empty for none."""
    said = words.plain(part)
    signs = [m.group().lower() for pattern in (NEGATION, EXCEPTION, _TURNS) for m in pattern.finditer(said)]
    signs += filter(None, (words.refuses(part), words.against(part)))
    before, _, behind = text.partition(part)
    inside = re.search(r"[^\s(,;:–—]\s+but\b", part, re.I)
    signs += ["but"] if inside or (re.match(r"but\b", said, re.I) and _ALL_BUT.search(before)) else []
    whole = _BORDER_BEHIND.search(before) or _BORDER_AHEAD.match(part)
    whole = whole and (_BORDER_AHEAD.match(behind) or _BORDER_BEHIND.search(part))
    return "" if whole and re.search(_MODAL, said, re.I) else ", ".join(dict.fromkeys(signs))


def spoken(text: str) -> set[float]:
    """The numbers that a text says, in digits or words."""
    found = {float(n.replace(",", "")) for n in NUMERAL.findall(text.lower())}
    return found | {value for word, value in NUMBERS.items() if re.search(rf"\b{word}\b", text, re.I)}
