"""Whether rules account for their sentence: a reading that leaves a word over, or adds one, stays open.

Both engines' rules go through it.  It reads no meaning; it counts, by closed lists of English words and the
words of the toolbox: operators that no reader here understands, more than one exception or condition, "or" and
"and" beside a formula of another shape, negations beside literals of another sign, content words that no tool
or field of the rules has, and fields none of whose words the sentence says.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel, facts
from wb.logic import formula as F
from wb.logic.facts import Comparison, Conjunction, Disjunction, Fact, Negation, OneOf, Path, Scalar
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules import words
from wb.rules.lint import NUMBERS
from wb.rules.rule import Predicate, Rule
from wb.rules.words import stem

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
_EXCEPTION = re.compile(r"\b(?:unless|except\w*|without|only|provided(?! for\b)|providing)\b", re.I)
_CONDITION = re.compile(
    r"(?<!only )\b(?:if|when|where|once|whenever|before|after|prior to|as long as|so long as)\b", re.I
)
_TOGETHER = re.compile(  # one exception: "only if", "can only be lent if"
    r"\bonly (?:if|when|where|after|once|with)\b|(?<=\b(?:can|may) )only be [a-z]+ (?:if|when|where|after)\b|"
    r"(?<!\bneed )(?<!\bneeds )\bonly be \w+(?:ed|en|wn) (?:if|when|where|after)\b",
    re.I,
)
_ITS_ACT = re.compile(r"\b(?:tak(?:e|ing)|perform(?:ing)?) (?:the|this) action\b", re.I)
# What a tool is called by that tells something.
_TELLS = frozenset("get find show list read view fetch retrieve".split())
_ASKED = "check checks checked checking view views inspect inspects see sees"  # what is said of using such a tool
_QUANTITY_OR = re.compile(
    r"(?<=\d )(?:\w+ )?or (?:more|less|fewer|older|younger|above|over|below|under|later|earlier|higher|lower|greater|"
    r"larger|smaller|longer|shorter)\b(?! (?:than )?[$€£]?\d)",
    re.I,
)
_BOTH_WAYS = re.compile(r"\bif and only if\b", re.I)
_OPENING = re.compile(r"\A(?:in particular,\s+)?(?:(?:please |always )?remember to(?= [a-z]))?", re.I)
_THAN = re.compile(
    rf"\b(?:than|exceed\w*)\s+(?!(?:[$€£]?\s?\d|(?:a|an|the)? ?(?:{'|'.join(NUMBERS)})\b))",
    re.I,
)
_NUMERAL = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,.]*\d)|(?<![\w.,-])\d+(?:\.\d+)?(?![.,]?\d)")
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\d,])")  # 10.000 may be ten, or ten thousand
_PERSON = "people|persons?|users?|customers?|clients?|anyone|anybody|someone|somebody|everyone|those|nobody|one"
_AGED = re.compile(
    rf"\b(?:{_PERSON}) (?:who (?:is|are) |that (?:is|are) |aged? )?(?:older|younger|over|under|above|below|of)\b", re.I
)
_UNFINISHED = re.compile(
    r"(?:\b(?:if|unless|when|where|while|before|after|until|that|which|who|than|and|or|but|not|only|except|the|an?|to|of|"
    r"for|by|with|without|from|in|on|at|any|as|following|below)|[,;–—-])\s*\Z",
    re.I,
)
_TURNED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_WORTH = r"\s+(?:the age of\s+|an? (?:age|amount|total|price|value) of\s+)?[$€£]?\s?\Z"
_COMPARED = {
    op: (re.compile(rf"\b(?:{ahead}){_WORTH}", re.I), re.compile(rf"(?:\s+\w+)?\s+(?:{behind})\b", re.I))
    for op, ahead, behind in (
        (
            ">",
            r"over|above|beyond|exceed\w*|(?<!no )(?<!not )(?:more|greater|larger|older|longer|higher) than",
            r"(?!)",
        ),
        (
            "<",
            r"under|below|(?<!no )(?<!not )(?:less|fewer|smaller|younger|shorter|lower) than",
            r"(?!)",
        ),
        (
            ">=",
            r"at (?:the )?least|minimum(?: of)?|(?:no|not) (?:less|fewer|smaller|younger|shorter|lower) than",
            r"(?:or|and) (?:more|older|over|above|longer|greater|larger|higher)",
        ),
        (
            "<=",
            r"at (?:the )?most|maximum(?: of)?|up to|(?:no|not) (?:more|greater|larger|older|longer|higher) than",
            r"(?:or|and) (?:less|fewer|younger|under|below|shorter|smaller|lower)",
        ),
    )
}
_JOINED = re.compile(r"[,;]?(?:\s+(and|or))?[,;]?\s*\Z", re.I)  # how an item goes on to the next one
_NOT_ONLY = re.compile(
    r"\b(?:not|cannot|[a-z]+n't|never|no|forbid\w*|prohibit\w*|banned|nobody|none)\b.*\bonly\b", re.I
)
_NEGATION = re.compile(
    r"\b(?:not|cannot|[a-z]+n't|never|no(?! (?:more|less|fewer|later|earlier|longer|greater|larger) than)|nobody|"
    r"no one|none|nothing|without|lack\w*|unless|except\w*|forbid\w*|prohibit\w*|banned|disallowed)\b",
    re.I,
)
_BANS = re.compile(
    r"\b(?:not|cannot|[a-z]+n't|never|no|nobody|no one|none|nor|only|forbid\w*|prohibit\w*|banned|disallow\w*|refrain|"
    r"unless|except\w*|until|refuse\w*|decline\w*|den(?:y|ied)|avoid|stop(?= \w+ing)|illegal\w*|unlawful\w*|"
    r"off limits|red lines?)\b",
    re.I,
)
_JOINS = re.compile(r"\b(?:and|or|nor|both|then|but|so|also|too)\b|[,;:/&]", re.I)
_VERB_AFTER_AND = re.compile(r"\band (?:is|are|has|have|was|were|does|do|did|the \w+ (?:is|are|has|have|was))\b", re.I)
# What a sentence may say beside its tools, fields and quantities.
_FILLER = frozenset(
    """a an the this that these those any all every each some its his her their your our my of to for in on at by from
 with into onto as it they them he she who which whose whom what there here is are be been being am do does did
 done has have having can could may might must shall should ought need needs needed not no never
 cannot without unless except only if when where whenever once before after then than so and or always please than
 more less fewer most least under over above below up exceed exceeds exceeding beyond least greater larger smaller
 higher lower longer shorter older younger later earlier within maximum minimum limit limited limits
 allowed permitted forbidden prohibited required requires require mandatory obliged obligatory banned
 user users customer customers client clients person persons people anyone anybody someone somebody everyone everybody
 anything something nothing nobody one assistant agent you we i us himself herself themselves itself yourself
 prior long provided contain contains""".split()
)
_UNITS = frozenset(
    """usd dollar dollars euro euros eur percent year years day days hour hours minute minutes week weeks month months
 old aged age mb gb kb item items number amount size count times zero one two three four five six seven eight nine ten
 eleven twelve""".split()
)
_DIMENSIONS = frozenset(
    """age amount total size count number length duration price cost value quantity sum days hours minutes years weeks
 months mb gb kb usd eur at id is has can was""".split()
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
    | _UNITS - frozenset("item items number amount age aged old size count".split())
    | frozenset(NUMBERS)
)
_FEW = 6  # rules of one sentence, which are divided between its two demands
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
_OFTEN = r"(?P<often>once|(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) times?)"
_AT_MOST = re.compile(  # "can only be called once", "at most three times"
    rf"\b(?:only|at most|no more than|not more than|up to)(?P<kept>(?: be)?(?: [a-z]+)?) {_OFTEN}\b", re.I
)
_NO_MORE = re.compile(rf"(?<=[a-z])(?<!\bno)(?<!\bnot)(?P<kept>) more than {_OFTEN}\b", re.I)
_EACH = re.compile(r"\b(?:per|each|every|the same|a single) ([a-z]+)\b", re.I)
_ONE = re.compile(r"\b(?:an?|one|any) ([a-z]+)\b", re.I)
_FREES = re.compile(r"\b(?:unless|except (?:if|when|where)|if|when|where)\b", re.I)
_ONLY = re.compile(r"\bonly\b|\bwithout\b|\bexcept\w*(?! (?:if|when|where)\b)", re.I)
_FIRST = re.compile(r"\b(?:before|prior to|after|once|unless|only if)\b", re.I)
_POINTS = re.compile(r"\b(?:it|its|this|that|they|them|their|so)\b", re.I)
_OTHERNESS = re.compile(
    r"\b(?:differ\w*|other\w*|another|else\w*|same|equal\w*|identical|similar\w*|alike|unlike|opposite|contrary|"
    r"distinct|respective|further|additional\w*|anymore|any more|no longer|still|yet|again|already)\b",
    re.I,
)
_MODAL = r"\b(?:must|shall|should|ought|may|can|cannot|could|might|needs?|ha(?:s|ve) to|is|are|be|do|does)\b"
# What a description says beside a tool's verb and its object.
_ASIDE = re.compile(
    r"[,.;:(]|\b(?:to|for|from|with|without|in|on|at|of|by|that|which|who|whose|when|if|and|or)\b", re.I
)
_GIVEN = "give gives given provide provides provided"  # what is said of an argument that is no empty text
_FAMILIES = (
    {unit: rf"\b{unit}s?\b" for unit in ("second", "minute", "hour", "day", "week", "month", "year")},
    {"dollars": r"\$|\b(?:dollars?|usd)\b", "euros": r"€|\b(?:euros?|eur)\b", "pounds": r"£|\b(?:pounds?|gbp)\b"},
    {unit: rf"\b{unit}\b" for unit in ("kb", "mb", "gb", "tb")},
    {unit: rf"\b{unit}\b" for unit in ("mg", "g", "kg", "mm", "cm", "m", "km", "ml", "l")},
)
_NOT_THE_LIMIT = "not the limit that is said"
_SUPPOSED = re.compile(r"\b(?:if|when|where|while|once|after|in case)\b", re.I)
_LIMIT_IN_NAME = re.compile(r"_at_(least|most)_(\d+)\Z")
_EMPTY = frozenset(stem(word) for word in _FILLER | _DIMENSIONS)


def unaccounted(
    text: str,
    context: Sequence[str],
    rules: Sequence[Rule],
    predicates: Sequence[Predicate],
    toolbox: Toolbox,
    *,
    headings: Sequence[str] = (),
    partial: bool = False,
) -> tuple[str, ...]:
    """Why the rules do not account for a sentence, said with its `context` (list openings, cells); empty if they do.

    A tool that the sentence names in part may be named in full by the `headings` above it.  Of `partial` rules, which
    lack a tool or a field, the words and numbers are not counted, only their shape and signs.  A sentence of two
    demands is accounted for where each of them is, by rules of its own.
    """
    given = tuple(predicates), toolbox
    why = _unaccounted(text, context, rules, *given, headings=headings, partial=partial)
    both = demands(text) if not partial and not context else ()
    if not both or not (why or any(_forced(one, rules) for one in both)):
        return why
    if len(both) == 1:
        return (*_unaccounted(*both, (), rules, *given, headings=headings), *_forced(*both, rules))
    first, second = both
    above = (*headings, first) if _POINTS.search(second) else headings
    tries = []
    for one in _divided(rules):
        other = [rule for rule in rules if rule not in one]
        left = _unaccounted(first, (), one, *given, headings=headings)
        left += _unaccounted(second, (), other, *given, headings=above)
        left += (*_forced(first, one), *_forced(second, other))
        if not left:
            return ()
        tries.append(left)
    return min(tries, key=lambda left: len(" ".join(left)), default=why)


def _divided(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """The choices of some of the rules, not all and not none, for the first of two demands."""
    for size in range(1, len(rules)) if len(rules) <= _FEW else ():
        yield from map(list, combinations(rules, size))


def demands(text: str) -> tuple[str, ...]:
    """The two demands that a sentence makes, one after the other, each with its subject and its verb of force; none
    where it makes one, or where a condition or an exception may be meant for both.

    In the second one "before taking the action" speaks of the act of the first.  Of "you may do a, but must not do b"
    only the second one is a demand.
    """
    said = words.plain(_opened(text))
    if found := _opposed(said):
        return found
    joined = list(_SECOND.finditer(said))
    if len(joined) != 1 or _LED.search(said):
        return ()
    first, second = said[: joined[0].start()], said[joined[0].start(1) :]
    asked = _ACT.sub(" ", second)
    if re.search(r"\bbut\b", joined[0].group(), re.I) and _POINTS.match(second) and not re.match(_WHO, first, re.I):
        return ()  # of whom the second one speaks, the first one alone says
    if not words.forced(first) and not _EXCEPTION.search(first):
        return ()
    if _EXCEPTION.search(asked) or _CONDITION.search(asked) or re.search(r"[;:,()]", second):
        return ()
    return f"{first}.", _ACT.sub(" before it", second)


def _forced(said: str, rules: Iterable[Rule]) -> tuple[str, ...]:
    """Whether rules of one act alone forbid it where a demand forbids, and ask for it where it asks."""
    for rule in rules:
        match rule.formula:
            case F.Eventually(F.Atom()) | F.Always(F.Eventually(F.Atom())) if bans(said):
                return ("it forbids, and its rule asks for an act",)
            case F.Always(F.Not(F.Atom())) if not bans(said):
                return ("it asks for an act, and its rule forbids one",)
    return ()


def _opposed(said: str) -> tuple[str, ...]:
    """What a sentence demands on both sides of "but", whose subject is nobody in particular; without a side that only
    allows something.  None where a condition, an exception or a limit may be meant for both sides."""
    at = _BUT.match(said)
    if at is None or len(re.findall(r"\bbut\b", said, re.I)) > 1:
        return ()
    first = f"{re.split(r',? but ', said, maxsplit=1, flags=re.I)[0]}."
    second = f"{at['who']} {said[at.start('second') :]}"
    if any(pattern.search(one) for pattern in (_EXCEPTION, _CONDITION) for one in (first, second)):
        return ()
    if re.search(r"[;:,()]", second):
        return ()
    if words.forced(first):
        return first, second
    limits = words.limit(first) or _spoken(first) or _NEGATION.search(first) or _OTHERNESS.search(first)
    return () if limits or bans(first) else (second,)


def _unaccounted(
    text: str,
    context: Sequence[str],
    rules: Sequence[Rule],
    predicates: Sequence[Predicate],
    toolbox: Toolbox,
    *,
    headings: Sequence[str] = (),
    partial: bool = False,
) -> tuple[str, ...]:
    """The same of one demand, or of all of them at once."""
    used = [p for p in predicates if any(p.name in rule.predicates for rule in rules)]
    text, why = _uncounted(text, rules)
    if why := (*why, *_same(" ".join((*context, text)), rules, used, toolbox)):
        return why
    acts = {p.name for p in used if p.kind == "action"}
    rules = [replace(rule, formula=_asking(_bare(rule.formula), acts)) for rule in rules]
    if strange := _unread(text, context):
        return strange
    said = words.plain(" ".join((*context, _opened(text))))
    if foreign := _foreign(rules, used) or _one_way(said, rules):
        return foreign
    said = _BOTH_WAYS.sub("only if", said)
    carried = _carried(used, toolbox)
    if partial:
        return (*_shape(said, rules, used), *_units(said, used, toolbox), *_signs(said, rules, used, carried))
    return (
        *_left_over(said, carried),
        *_numbers(said, used),
        *_not_said(said, used, toolbox, headings),
        *_shape(said, rules, used),
        *_others(said, used, toolbox),
        *_units(said, used, toolbox),
        *_aged(said, used, toolbox),
        *_signs(said, rules, used, carried),
        *_values(said, used, toolbox),
        *_sides(said, rules, used, toolbox),
        *_order(said, rules, used, toolbox),
    )


def turned(
    text: str, context: Sequence[str], rules: Sequence[Rule], predicates: Sequence[Predicate], toolbox: Toolbox
) -> tuple[str, ...]:
    """Why rules that are grounded in part or in whole say the opposite of a sentence, or ask for its acts in another
    order: one way for two, a limit the other way round, another side of an exception, what comes first put last.

    It tells less than `unaccounted`, which refuses what it cannot tell: a sign that a word like "different" may turn,
    and words that are left over, do not count.  A limit that a predicate without a field has in its name counts.
    """
    used = [p for p in predicates if any(p.name in rule.predicates for rule in rules)]
    rules = [replace(rule, formula=_bare(rule.formula)) for rule in rules]
    said = words.plain(" ".join((*context, _opened(text))))
    one_way, said = _one_way(said, rules), _BOTH_WAYS.sub("only if", said)
    limits = [why for why in _signs(said, rules, used, _carried(used, toolbox)) if why.startswith(_NOT_THE_LIMIT)]
    named = [] if _SUPPOSED.search(said) or _EXCEPTION.search(said) else list(_misnamed(said, rules, used))
    named = [f"{_NOT_THE_LIMIT}: {', '.join(named)}"] if named else []
    return (*one_way, *limits, *named, *_sides(said, rules, used, toolbox), *_order(said, rules, used, toolbox))


def _misnamed(said: str, rules: Iterable[Rule], used: Iterable[Predicate]) -> Iterator[str]:
    """The facts without a field whose names have a limit that the sentence says the other way round."""
    known = {p.name: _LIMIT_IN_NAME.search(p.name) for p in used if p.kind == "state" and p.test is None}
    count = _negations(said, frozenset())
    for rule in rules if count is not None else ():
        match rule.formula:
            case F.Always(F.Implies(F.Atom(), right)):
                for positive, name in _joined(right, True) if _plain(right) else ():
                    if at := known.get(name):
                        op = {"least": ">=", "most": "<="}[at[1]]
                        told = {_TURNED[one] if count % 2 else one for one in _compared(said, float(at[2]))}
                        if len(told) == 1 and (op if positive else _TURNED[op]) not in told:
                            yield name


def _plain(formula: Formula) -> bool:
    """Whether a formula joins literals by AND and OR alone, each now or before."""
    return all(isinstance(node, F.Atom | F.Not | F.Once | F.And | F.Or) for node in F.subformulas(formula))


def unreadable(text: str, context: Sequence[str]) -> tuple[str, ...]:
    """Why no rules at all would account for a sentence: what it is written or joined with; empty if some may."""
    apart = [_unread(one, ()) for one in demands(text)] if not context else []
    return next(filter(None, apart), ()) if apart and _unread(text, ()) else _unread(text, context)


def _unread(text: str, context: Sequence[str]) -> tuple[str, ...]:
    """The same of all that a sentence says at once."""
    whole = " ".join((*context, text))
    said = words.plain(whole)
    strange = characters(whole) or _operators(words.plain(" ".join((*context, _opened(text)))))
    if strange:
        return strange
    if re.search(r"\?\W*\Z", said):
        return ("it is a question",)
    if found := _UNFINISHED.search(_JOINED.sub("", words.plain(text)) if context else words.plain(text)):
        return (f"it does not end here: its last word is {found.group().strip()!r}",)
    return ()


def wider(predicates: Iterable[Predicate]) -> bool:
    """Whether a test is of another form than words can be counted against, such as one of two fields, of what lies
    within a list, a sum or a time: no sentence is read into that, and no narrower answer would say the same."""
    found = [fact for p in predicates if p.test is not None for _, fact in _leaves(p.test, True)]
    return any(not _leaf(fact) or any(len(path.names) > 2 for path in facts.paths(fact)) for fact in found)


def together(opening: str, items: Iterable[str]) -> str:
    """Why the items of a list have to be read together, as one condition; empty where each says its own.

    "Not if a, or b" and "only if a, and b" say two things; "not if a, and b" and "only if a, or b" say one.
    """
    said = words.plain(opening)
    joins = {found.lower() for item in items if (found := _JOINED.search(words.plain(item))[1])}
    if not joins:
        return ""
    apart = {"or"} if _NEGATION.search(said) and not _EXCEPTION.search(said) else {"and"}
    if apart == {"or"} and not _CONDITION.search(said):
        apart = {"and", "or"}
    wrong = sorted(joins - apart)
    return f"its list has to be read as one: its items are joined by {wrong[0]!r}" if wrong else ""


def past(rules: Iterable[Rule], predicates: Iterable[Predicate]) -> bool:
    """Whether a rule asks for a fact that was so once, where the sentence may mean that it is so now."""
    states = {p.name for p in predicates if p.kind == "state"}
    return any(
        isinstance(node, F.Once | F.Since) and states & set(F.atoms(node))
        for rule in rules
        for node in F.subformulas(rule.formula)
    )


def narrowed(rules: Iterable[Rule]) -> bool:
    """Whether a duty says how, by whom or with what: to do it otherwise may be forbidden, and no rule says that."""
    return any(
        isinstance(node, F.Eventually) and not isinstance(node.body, F.Atom)
        for rule in rules
        for node in F.subformulas(rule.formula)
    )


def bans(*texts: str) -> str:
    """The words by which a text forbids or restricts something; empty for none."""
    return ", ".join(dict.fromkeys(m.group().lower() for text in texts for m in _BANS.finditer(words.plain(text))))


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
    alike = [word for word in re.findall(r"[^\W\d_]+", said) if not word.isascii() and _alike(word)]
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
    names = [unicodedata.name(c, "") for c in word if not c.isascii()]
    return any(
        name.split(" ")[0] in _SCRIPTS or "SMALL CAPITAL" in name or name.startswith("MODIFIER LETTER")
        for name in names
    ) or any(low <= c <= high for c in word for low, high in _PHONETIC)


def _foreign(rules: Iterable[Rule], used: Iterable[Predicate]) -> tuple[str, ...]:
    """The formulas and tests of other forms than those whose parts the words of a sentence can be counted against.

    A formula is `ALWAYS` of facts, of what was done once or has to follow, or has an act wait for one; no fact stands
    twice in it.  A test joins comparisons of a field, or of how many items it has, with literals.
    """
    found = [render(rule.formula) for rule in rules if not _counted(rule.formula)]
    found += [cel.render(p.test) for p in used if p.test is not None and not _simple(p.test)]
    return tuple([f"no sentence is read into this form, a person may write it: {text}" for text in found])


def _counted(formula: Formula) -> bool:
    match formula:
        case F.Always(F.Eventually(body)) | F.Always(body) | F.Eventually(body):
            parts = (body,)
        case F.WeakUntil(left, right) | F.Until(left, right):
            parts = (left, right)
        case _:
            parts = (formula,)
    said = [name for part in parts for name in _atoms(part)]
    return None not in said and len(set(said)) == len(said)


def _atoms(formula: Formula) -> Iterator[str | None]:
    """The atoms of a formula of facts, as often as they stand in it; None for a part of another form."""
    match formula:
        case F.Atom(name) | F.Once(F.Atom(name)):
            yield name
        case F.Eventually(body) if F.propositional(body):
            yield from _atoms(body)
        case F.Not() | F.And() | F.Or() | F.Implies():
            for part in F.children(formula):
                yield from _atoms(part)
        case _:
            yield None


def _simple(test: Fact) -> bool:
    """Whether a test joins truths of fields and comparisons with literals; of a field in alternatives one alone."""
    facts_of = [fact for _, fact in _leaves(test, True)]
    read = [path for fact in facts_of for path in facts.paths(fact)]
    apart = len(set(read)) == len(read) or not any(isinstance(node, Disjunction) for node in _inner(test))
    return apart and all(len(path.names) == 2 for path in read) and all(map(_leaf, facts_of))


def _leaf(fact: Fact) -> bool:
    match fact:
        case Path():
            return True
        case OneOf(item):
            return isinstance(item, Path)
        case Comparison(limit=limit):
            return limit is not None
    return False


def _inner(test: Fact) -> Iterator[Fact]:
    yield test
    if isinstance(test, Negation | Conjunction | Disjunction):
        for part in facts.children(test):
            yield from _inner(part)


def _operators(said: str) -> tuple[str, ...]:
    """Operators that no reading stands for, or more of them than one."""
    said = _BOTH_WAYS.sub("only if", said)
    unread = tuple(dict.fromkeys(m.group().lower() for m in _UNREAD.finditer(said)))
    if unread:
        return (f"not accounted for: {', '.join(map(repr, unread))}",)
    joined = _TOGETHER.sub("only", said)
    several = [m.group().lower() for pattern in (_EXCEPTION, _CONDITION) for m in pattern.finditer(joined)]
    if len(several) > 1:
        return (f"more than one exception or condition: {', '.join(map(repr, several))}",)
    return ()


def _opened(text: str) -> str:
    """A sentence without the words it opens with that join it to the one before, or call it to mind, and with "only if"
    where it says "but only if"."""
    return _BUT_ONLY.sub(" ", _OPENING.sub("", text))


def _one_way(said: str, rules: Sequence[Rule]) -> tuple[str, ...]:
    """ "If and only if" says two things: the act asks for the fact, and the fact for the act, at some time."""
    if not _BOTH_WAYS.search(said):
        return ()
    asked = {(left, right) for rule in rules for left, right in _implied(rule.formula)}
    if len(rules) == len(asked) == 2 and any((right, F.Eventually(left)) in asked for left, right in asked):
        return ()
    return ("not accounted for: 'if and only if'",)


def _implied(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    match formula:
        case F.Always(F.Implies(left, right)):
            yield left, right


def limited(formula: Formula) -> tuple[int, str] | None:
    """How often an act may be done, and which: of `ALWAYS (a IMPLIES COUNT[<= n] a)`; None for another form."""
    match formula:
        case F.Always(F.Implies(F.Atom(act), F.Not(F.Next(F.Eventually(F.Atom(again)))))) if act == again:
            return 1, act
        case F.Always(F.Implies(F.Atom(act), F.Not(F.Once() as body))):
            often = F.counted(body)
            return (often[0] - 1, act) if often is not None and often[1] == F.Atom(act) and often[0] > 1 else None
    return None


def _uncounted(text: str, rules: Sequence[Rule]) -> tuple[str, tuple[str, ...]]:
    """A sentence without the words that say how often its act may be done, where a rule says just that; or why not."""
    limits = [one for rule in rules if (one := limited(rule.formula)) is not None]
    if not limits:
        return text, ()
    said = words.plain(text)
    negated = bool(len(_NEGATION.findall(said)) % 2)
    found = list((_NO_MORE if negated else _AT_MOST).finditer(said))
    if len(found) != 1 or len(rules) > 1 or _often(found[0]["often"]) != limits[0][0] or strict(found[0]["kept"]):
        return text, ("how often an act may be done is not what its rule says",)
    at = found[0]
    if re.search(rf"\b{_OFTEN}\b", said[: at.start()] + said[at.end() :], re.I):
        return text, ("how often is said twice",)
    return f"{said[: at.start()]}{at['kept']}{said[at.end() :]}".replace("  ", " "), ()


def _often(said: str) -> int:
    word = said.lower().partition(" ")[0]
    return 1 if word == "once" else int(word) if word.isdigit() else int(NUMBERS.get(word, 0))


def _same(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether the objects of the rules are said, and those that the sentence says are meant by its rules.

    A count is of each object only where the sentence says of which, "per order", "an order"; an act that has to have
    been done before is of the same one where the sentence names it.
    """
    known, text = {p.name: p for p in used}, words.plain(said)
    each = [_content(m[1]) for m in _EACH.finditer(text)]
    one = [_content(m[1]) for m in _ONE.finditer(text)]
    for rule in rules:
        atoms = [node for node in F.subformulas(rule.formula) if isinstance(node, F.Atom)]
        about = {node.objects for node in atoms}
        looks_back = any(isinstance(node, F.Once) for node in F.subformulas(rule.formula)) or limited(rule.formula)
        names = [_content(path.names[-1]) for a in atoms if a.objects for path in known[a.predicate].objects]
        if not names:
            tools = [t for a in atoms if known[a.predicate].kind == "action" for t in known[a.predicate].tools]
            given = [a for t in toolbox.tools if t.name in tools for a in t.arguments]
            own = [_content(a.name) for a in given]
            if looks_back and any(noun and noun <= name for noun in each for name in own):
                return ("of which object is said, and its rule is of any",)
            continue
        if len(about) > 1 or len(next(iter(about))) != 1:
            return (f"no sentence is read into this form, a person may write it: {render(rule.formula)}",)
        counts = limited(rule.formula) is not None
        told = [*each, *one] if counts else [_stems(text)]
        if not all(
            any(name and (noun <= name if counts else name <= noun) and noun for noun in told) for name in names
        ):
            return ("of which object is not said, and its rule is of the same one",)
    return ()


def _asking(formula: Formula, acts: set[str]) -> Formula:
    """A formula as what an act asks for, `ALWAYS (act IMPLIES what)`, in whichever way it is said; itself where it asks
    nothing of an act."""
    match formula:
        case F.Not(F.Eventually(body)):
            return _asking(F.Always(F.Not(body)), acts)
        case F.Always(body):
            parts = tuple(_alternatives(body, True))
            named = [one.body for one in parts if isinstance(one, F.Not) and _names_act(one.body, acts)]
            asked = tuple(one for one in parts if not (isinstance(one, F.Not) and _names_act(one.body, acts)))
            whole = F.Implies(F.conjunction(tuple(named)), F.disjunction(asked))
            plain = isinstance(body, F.Implies) and any(_names_act(one, acts) for one in _conjuncts(body.left))
            said = plain and isinstance(body.right, F.Atom | F.And | F.Or | F.Implies | F.Once)
            return formula if not named or not asked or said else F.Always(whole)
    return formula


def _names_act(formula: Formula, acts: set[str]) -> bool:
    return isinstance(formula, F.Atom) and formula.name in acts


def _alternatives(formula: Formula, positive: bool) -> Iterator[Formula]:
    """The formulas of which one at least has to hold, where the formula holds, or does not."""
    match formula, positive:
        case (F.Or(left, right), True) | (F.And(left, right), False):
            yield from _alternatives(left, positive)
            yield from _alternatives(right, positive)
        case (F.Implies(left, right), True):
            yield from _alternatives(left, False)
            yield from _alternatives(right, True)
        case (F.Not(body), _):
            yield from _alternatives(body, not positive)
        case (F.Constant(value), _):
            yield from () if value != positive else (formula,)
        case _:
            yield formula if positive else F.Not(formula)


def _bare(formula: Formula) -> Formula:
    """The formula without its objects, and what limits how often an act is done as what is about that act."""
    bare = F.substitute(
        formula, {a: F.Atom(a.predicate) for a in F.subformulas(formula) if isinstance(a, F.Atom) and a.objects}
    )
    often = limited(bare)
    return bare if often is None else F.Always(F.Not(F.Atom(often[1])))


def _carried(used: Iterable[Predicate], toolbox: Toolbox) -> frozenset[str]:
    """The stems of all that the tools and fields of these predicates are called by."""
    texts: list[str] = []
    for p in used:
        texts += [f"{path.names[-1]} same per" for path in p.objects]
    for p in used:
        for name in p.tools:
            tool = next((t for t in toolbox.tools if t.name == name), None)
            if tool is not None:
                texts += [tool.name, *tool.keywords, _ASIDE.split(tool.description)[0]]
                texts += [_ASKED] if _telling(tool) else []
        for field in fields(p, toolbox):
            texts += [field.name, field.description, *field.keywords]
        texts += [str(literal.value) for literal in _literals(p)]
        texts += [_GIVEN for _, fact in _leaves(p.test, True) if _given(fact)]
    return _stems(" ".join(texts))


def _telling(tool: Tool) -> bool:
    """Whether a tool is called by what it tells."""
    return tool.name.split("_")[0].lower() in _TELLS


def _given(fact: Fact | None) -> bool:
    """Whether a fact is that an argument of the call is no empty text."""
    match fact:
        case Comparison("!=", Path(("call", _)), Scalar("")):
            return True
    return False


def _literals(predicate: Predicate) -> tuple[Scalar, ...]:
    """The literals of the predicate's test."""
    found, waiting = [], [predicate.test] if predicate.test is not None else []
    while waiting:
        node = waiting.pop()
        waiting += facts.children(node)
        found += [node] if isinstance(node, Scalar) else []
    return tuple(found)


def _numbers(said: str, used: Sequence[Predicate]) -> tuple[str, ...]:
    """Numbers of the sentence that no test has, and those of tests that the sentence does not have."""
    text = said.lower()
    numerals = _NUMERAL.findall(text)
    spoken = {float(n.replace(",", "")) for n in numerals}
    if re.search(r"\d", _NUMERAL.sub(" ", text)) or _GROUPED.search(text):
        return ("a number that is not plain digits",)
    spoken |= {value for word, value in NUMBERS.items() if re.search(rf"\b{word}\b(?![- ](?:of|by|another)\b)", text)}
    told = {float(one.value) for p in used for one in _literals(p) if type(one.value) in (int, float)}
    over = spoken - told - ({1.0} if not told & {1.0} else set())
    why = [f"not accounted for: {n:g}" for n in sorted(over)]
    why += [f"not said by the sentence, but meant by its rule: {n:g}" for n in sorted(told - spoken)]
    return tuple(why)


def fields(predicate: Predicate, toolbox: Toolbox) -> tuple[Field, ...]:
    """The declared fields that the predicate's test reads."""
    if predicate.test is None:
        return ()
    found = []
    for path in facts.paths(predicate.test):
        owners = (
            [toolbox.state]
            if path.names[0] == "state"
            else [t.arguments for t in toolbox.tools if not predicate.tools or t.name in predicate.tools]
        )
        found += [field for owner in owners for field in owner if field.name == path.names[1]]
    return tuple(found)


@lru_cache(maxsize=10_000)  # the names and descriptions of tools are read for each sentence anew
def _stems(text: str) -> frozenset[str]:
    """The stems of all words, parts of names and of words with a hyphen too."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text.replace("’", "'")).replace("_", " ").lower()
    text = re.sub(r"\be-(?=mail)", "e", re.sub(r"'s\b|'(?=\s|\Z)", "", text))
    return frozenset(stem(w) for token in re.findall(r"[a-z]+(?:-[a-z]+)*", text) for w in (token, *token.split("-")))


def left_over(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The content words of a sentence that no tool and no field of these predicates has."""
    return _left(words.plain(" ".join(demands(said) or (said,))), _carried(used, toolbox))


def unnamed(
    said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Field, ...]]:
    """The tools that rules over these predicates speak of, and the fields that they read, which a sentence under these
    headings does not name.

    Of a tool's name or keyword the sentence or the heading next above it has a word, and all those above it the rest.
    """
    return _unnamed(words.plain(said), tuple(used), toolbox, headings)


def measured(test: Fact) -> tuple[tuple[Path, str], ...]:
    """The fields that a test reads, each with the text that it compares it with; "" for none or no text."""
    found: list[tuple[Path, str]] = []
    for _, fact in _leaves(test, True):
        match fact:
            case Comparison("==" | "!=", Path() as path, Scalar(str(value))):
                found.append((path, value))
            case OneOf(Path() as path, options):
                found += [(path, str(one.value)) for one in options]
            case _:
                found += [(path, "") for path in facts.paths(fact)]
    return tuple(dict.fromkeys(found))


def strict(phrase: str) -> tuple[str, ...]:
    """The words of a phrase that no tool or field may ever be called by: negations, exceptions, conditions, operators,
    comparisons, quantifiers, numbers, units, words of force, and words of likeness or otherness."""
    said = words.plain(phrase)
    patterns = (_UNREAD, _EXCEPTION, _CONDITION, _NEGATION, _BANS, _OTHERNESS)
    found = [m.group().lower() for pattern in patterns for m in pattern.finditer(said)]
    found += [word for word in re.findall(r"[\w'-]+", said.lower()) if word in _HELD or re.search(r"\d", word)]
    return tuple(dict.fromkeys(found))


def loose(part: str) -> str:
    """The negations and exceptions of a part of a sentence that has no verb of its own; empty for none."""
    said = words.plain(part)
    signs = [m.group().lower() for pattern in (_NEGATION, _EXCEPTION) for m in pattern.finditer(said)]
    return "" if re.search(_MODAL, said, re.I) else ", ".join(dict.fromkeys(signs))


def _left_over(said: str, carried: frozenset[str]) -> tuple[str, ...]:
    left = _left(said, carried)
    return (f"not accounted for: {', '.join(map(repr, left))}",) if left else ()


def _left(said: str, carried: frozenset[str]) -> tuple[str, ...]:
    text = re.sub(r"\be-(?=mail)", "e", re.sub(r"'s\b|'(?=\s|\Z)", "", said.lower()))
    text = _ITS_ACT.sub(" ", re.sub(r"\b[a-z]+n't\b", "not", text))
    left = [
        token
        for token in re.findall(r"[a-z]+(?:-[a-z]+)*", text)
        if token not in _FILLER
        and token not in _UNITS
        and stem(token) not in carried
        and not all(part in _FILLER or stem(part) in carried for part in token.split("-"))
    ]
    return tuple(dict.fromkeys(left))


def _not_said(said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]) -> tuple[str, ...]:
    tools, read = _unnamed(said, used, toolbox, headings)
    found = dict.fromkeys((*tools, *(field.name for field in read)))
    return (f"not said by the sentence, but meant by its rule: {', '.join(found)}",) if found else ()


def _unnamed(
    said: str, used: Iterable[Predicate], toolbox: Toolbox, headings: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Field, ...]]:
    spoken, titled = _stems(said), _stems(words.plain(" / ".join(headings)))
    nearest = spoken | _stems(words.plain(" / ".join(headings[-1:])))
    tools: list[str] = []
    read: dict[Field, None] = {}
    for name in dict.fromkeys(name for p in used if p.kind == "action" for name in p.tools):
        tool = next((t for t in toolbox.tools if t.name == name), None)
        told = _names(tool, toolbox, spoken) if tool is not None else []
        together = [_shared(p.tools, toolbox) for p in used if p.kind == "action" and name in p.tools]
        if not any(one & nearest and one <= spoken | titled for one in (*told, *together)):
            tools.append(name)
    for p in used:
        for field in fields(p, toolbox):
            name = _content(field.name)
            told = [name, *map(_content, (*field.keywords, field.description))]
            values = [v for v in field.values if _content(v) and _content(v) <= spoken]
            if not any(one <= spoken for one in told if one or one is name) and not values:
                read[field] = None
    return tuple(tools), tuple(read)


def _names(tool: Tool, toolbox: Toolbox, spoken: frozenset[str]) -> list[frozenset[str]]:
    """What a tool may be named by: its name, also without words of quantity if no other tool has the rest, its
    keywords, and, in a sentence that speaks of checking, what it tells."""
    core = _content(tool.name) - frozenset(map(stem, _UNITS))
    others = [_content(one.name) for one in toolbox.tools if one.name != tool.name]
    found = [_content(tool.name), *map(_content, tool.keywords)]
    found += [] if any(core <= one for one in others) else [core]
    if _telling(tool) and spoken & _stems(_ASKED):
        found.append(_content(_ASIDE.split(tool.description)[0]) - _stems(" ".join(_TELLS)))
    return [one for one in found if one]


def _shared(names: Sequence[str], toolbox: Toolbox) -> frozenset[str]:
    """What the names of several tools have in common, if no other tool has it too: they are named together by it."""
    common = frozenset.intersection(*map(_content, names)) if len(names) > 1 else frozenset()
    return frozenset() if any(common <= _content(t.name) for t in toolbox.tools if t.name not in names) else common


def _others(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Tools and fields that the sentence names as well as those that the rules mean: which is meant is not known."""
    spoken, found = _stems(said), []
    tools = {name for p in used if p.kind == "action" for name in p.tools}
    for one in tools:
        found += [t.name for t in toolbox.tools if t.name not in tools and _stems(one) < _stems(t.name)]
    read = [field for p in used for field in fields(p, toolbox)]
    near = [*toolbox.state, *(a for t in toolbox.tools if t.name in tools for a in t.arguments)]
    for field in read:
        told = [*map(_content, (field.name, *field.keywords, field.description))]
        for other in near:
            name, values = _content(other.name), [v for v in other.values if _content(v) and _content(v) <= spoken]
            if other in read or not (values or name <= spoken) or any(name < one <= spoken for one in told):
                continue
            if len(name) > 1 if other.type != field.type else values or (name and not other.values):
                found.append(other.name)
    return (f"it may as well mean {', '.join(dict.fromkeys(found))}",) if found else ()


def _units(said: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Units of the sentence that the fields of its numbers do not have, where these have another of the kind."""
    for family in _FAMILIES:
        told = {unit for unit, words in family.items() if re.search(words, said, re.I)}
        for p in used:
            for field in fields(p, toolbox) if told and any(type(one.value) is not str for one in _literals(p)) else ():
                text = f"{field.name} {field.description} {' '.join(field.keywords)}".replace("_", " ")
                own = {unit for unit, words in family.items() if re.search(words, text, re.I)}
                if own and not own & told and field.type in ("integer", "number"):
                    return (f"{field.name} is in {', '.join(sorted(own))}, the sentence in {', '.join(sorted(told))}",)
                if own and (others := _alike_in(family, field, p, said, toolbox)):
                    return (f"it may as well mean {', '.join(others)}, which is in such a unit too",)
    return ()


def _alike_in(family: Mapping[str, str], field: Field, p: Predicate, said: str, toolbox: Toolbox) -> tuple[str, ...]:
    """Other fields of the tools that are measured in such units, where the sentence says no more of the one that is
    read than its unit."""
    units = {stem(word) for unit in family for word in (unit, f"{unit}s")}
    if (_content(field.name) - units) & _stems(said):
        return ()
    near = [a for t in toolbox.tools if t.name in p.tools for a in t.arguments if a.name != field.name]
    texts = {a.name: f"{a.name} {a.description} {' '.join(a.keywords)}".replace("_", " ") for a in near}
    numbers = {a.name for a in near if a.type in ("integer", "number")}
    return tuple(
        name
        for name, text in texts.items()
        if name in numbers and any(re.search(one, text, re.I) for one in family.values())
    )


def _aged(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Fields named after a thing, where the sentence tells the age of a person."""
    if not _AGED.search(said):
        return ()
    people, found = _stems(_PERSON.replace("?", "").replace("|", " ")), []
    for p in used:
        if any(_number(fact) is not None for _, fact in _leaves(p.test, True)):
            read = [field for field in fields(p, toolbox) if "age" in _stems(field.name)]
            found += [field.name for field in read if _content(field.name) - people]
    return (f"it tells the age of a person: {', '.join(found)} may be that of a thing",) if found else ()


def _content(text: str) -> frozenset[str]:
    return _stems(text) - _EMPTY


def _shape(said: str, rules: Sequence[Rule], used: Sequence[Predicate]) -> tuple[str, ...]:
    """Whether "or" and "and" of the sentence are what the formulas make of them, as far as the shape tells."""
    plain = _QUANTITY_OR.sub(" ", said)
    several = [rule for rule in rules if _disjunctive(rule.formula)]
    if re.search(r"\bor\b", plain, re.I) and several:
        return ("'or' beside a rule that several facts must break together",)
    if re.search(r"\bor\b", plain, re.I) and re.search(r"\band\b", plain, re.I):
        return ("'or' and 'and' in one sentence",)
    if re.search(r"\band\b", plain, re.I) and several and not _VERB_AFTER_AND.search(plain):
        return ("'and' beside a rule that several facts must break together",)
    if not _EXCEPTION.search(plain) and not _JOINS.search(plain) and _twice(rules, used):
        return ("two rules about one act, and nothing in the sentence that joins two demands",)
    paths = [
        [path for p in used if p.name in rule.predicates and p.test for path in facts.paths(p.test)] for rule in several
    ]
    if any(len(set(read)) < len(read) for read in paths):
        return ("one field stands for two things of the sentence",)
    if _NOT_ONLY.search(plain):
        return ("'only' under a negation",)
    if _THAN.search(plain):
        return ("a comparison without a number",)
    if re.search(r"\bwithout\b", plain, re.I) and words.permissive(plain):
        return ("a permission 'without' something",)
    if words.permissive(plain) and len({p.name for p in used if p.kind == "state"}) > 1:
        return ("a permission with two limits: one of them may only say when the other one holds",)
    return ()


def _twice(rules: Sequence[Rule], used: Iterable[Predicate]) -> bool:
    """Whether two rules speak of one act: it has to meet both, where a sentence may mean the one if the other."""
    acts = {p.name for p in used if p.kind == "action"}
    return any(acts & set(one.predicates) & set(other.predicates) for one, other in combinations(rules, 2))


def _disjunctive(formula: Formula) -> bool:
    """Whether what a call asks for holds already where one of several facts does: it takes all of them to break it."""
    match formula:
        case F.Always(F.Implies(left, right)):
            return isinstance(left, F.And) or isinstance(right, F.Or | F.Implies) or _nested(right)
        case F.Always(F.Not(F.And())):
            return True
    return False


def _nested(formula: Formula) -> bool:
    return any(
        isinstance(node, F.Or | F.Implies) or (isinstance(node, F.Not) and isinstance(node.body, F.And))
        for node in F.subformulas(formula)
    )


def _signs(said: str, rules: Sequence[Rule], used: Sequence[Predicate], carried: frozenset[str]) -> tuple[str, ...]:
    """Whether the facts of a rule have the signs that the sentence's negations give them, an even number the positive
    one, and its numbers are limits in the direction that the sentence says."""
    known, count = {p.name: p for p in used}, _negations(said, carried)
    if count is None:
        return ()
    several = bool(count % 2) and not _EXCEPTION.search(said)  # "not if a and b": each is negated
    signs, limits = [], []
    for rule in rules:
        for positive, atom in _literals_of(rule.formula, several):
            p = known.get(atom)
            for asked, fact in _leaves(p.test, positive) if p is not None else ():
                if _truth(fact) and (asked == _affirms(fact)) != (count % 2 == 0):
                    signs.append(atom)
                if (limit := _number(fact)) is not None:
                    op, number = limit
                    told = {_TURNED[one] if count % 2 else one for one in _compared(said, number)}
                    if len(told) == 1 and (op if asked else _TURNED[op]) not in told:
                        limits.append(f"{number:g}")
    why = [f"{count} negations, but {', '.join(dict.fromkeys(signs))} with the other sign"] if signs else []
    return (*why, *([f"{_NOT_THE_LIMIT}: {', '.join(dict.fromkeys(limits))}"] if limits else []))


def _values(said: str, used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The values of enumerations that the rules mean and the sentence does not say."""
    spoken, found = _stems(said), []
    for p in used:
        listed = {value for field in fields(p, toolbox) for value in field.values}
        found += [value for _, value in measured(p.test) if value in listed] if p.test is not None else []
    found = [value for value in dict.fromkeys(found) if not _stems(value) <= spoken]
    return (f"not said by the sentence, but meant by its rule: {', '.join(map(repr, found))}",) if found else ()


def _sides(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether of several facts, any of which frees an act, those of an exception or a condition and those of the rest
    have the signs that each side gives them, and its numbers are limits in the direction that is said."""
    cut = _side(said)
    if cut is None:
        return ()
    rest, side, frees = cut
    known, wrong = {p.name: p for p in used}, []
    for rule in rules:
        freeing = _freeing(rule.formula, {name for name, p in known.items() if p.kind == "action"})
        if freeing is None and frees:
            return ("an exception frees what it excepts: facts joined by AND, or in another form",)
        for positive, name in freeing if freeing and len(freeing) > 1 else ():
            for asked, fact in _leaves(known[name].test, positive):
                where = _standing(known[name], fact, rest, side, toolbox)
                if where is None:
                    continue
                odd = bool(len(_NEGATION.findall(where)) % 2)
                turned = odd != (where is side and not frees)  # "if it is so" asks that it is not
                if (limit := _number(fact)) is not None:
                    told = {_TURNED[one] if turned else one for one in _compared(where, limit[1])}
                    if len(told) == 1 and (limit[0] if asked else _TURNED[limit[0]]) not in told:
                        wrong.append(name)
                elif _truth(fact) and (asked == _affirms(fact)) == turned:
                    wrong.append(name)
    return (f"another sign than its side of the sentence gives: {', '.join(dict.fromkeys(wrong))}",) if wrong else ()


def _side(said: str) -> tuple[str, str, bool] | None:
    """The rest of a sentence and its one exception or condition, and whether that frees; None for another form."""
    text = said.rstrip(" .")
    found = [m for m in _FREES.finditer(text)]
    if len(found) != 1 or _ONLY.search(text):
        return None
    at, frees = found[0], not re.match(r"(?:if|when|where)\b", found[0].group(), re.I)
    if at.start() > 0:
        return text[: at.start()], text[at.end() :], frees
    side, comma, rest = text[at.end() :].partition(",")
    return (rest, side, frees) if comma else None


def _freeing(formula: Formula, acts: set[str]) -> tuple[tuple[bool, str], ...] | None:
    """The facts any of which frees the act of a rule, each with its sign; None for a rule of another form."""
    match formula:
        case F.Always(F.Implies(left, right)):
            given = [one for one in _conjuncts(left) if not (isinstance(one, F.Atom) and one.name in acts)]
            parts = [*(F.Not(one) for one in given), *_alternatives(right, True)]
            found = [_literal(part) for part in parts]
            return None if None in found else tuple(found)
    return None


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    match formula:
        case F.And(left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield formula


def _literal(formula: Formula) -> tuple[bool, str] | None:
    match formula:
        case F.Atom(name):
            return True, name
        case F.Once(body) | F.Eventually(body):
            return _literal(body)
        case F.Not(body):
            inner = _literal(body)
            return None if inner is None else (not inner[0], inner[1])
    return None


def _standing(p: Predicate, fact: Fact | None, rest: str, side: str, toolbox: Toolbox) -> str | None:
    """The side of a sentence that speaks of a fact: has its number, or more words of its field; None if unclear."""
    limit = _number(fact)
    if limit is not None:
        has = [text for text in (rest, side) if limit[1] in _spoken(text)]
        return has[0] if len(has) == 1 else None
    own = frozenset().union(*(_content(t) for f in fields(p, toolbox) for t in _named_by(f)))
    own |= frozenset().union(*(_content(value) for _, value in (measured(p.test) if p.test is not None else ())))
    one, other = (len(own & _stems(text)) for text in (rest, side))
    return None if one == other else rest if one > other else side


def _named_by(field: Field) -> tuple[str, ...]:
    return (field.name, field.description, *field.keywords)


def _spoken(text: str) -> set[float]:
    """The numbers that a text says, in digits or words."""
    found = {float(n.replace(",", "")) for n in _NUMERAL.findall(text.lower())}
    return found | {value for word, value in NUMBERS.items() if re.search(rf"\b{word}\b", text, re.I)}


def _order(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether of two acts the one that is said to come first, or to be asked for, is the one that has to be done."""
    found = list(_FIRST.finditer(said))
    if len(found) != 1:
        return ()
    at, known = found[0], {p.name: p for p in used if p.kind == "action"}
    behind = re.split(r",", said[at.end() :], maxsplit=1)[0] if at.start() == 0 else said[at.end() :]
    rest = said.replace(said[at.start() : at.end()] + behind, " ")
    negated = bool(len(_NEGATION.findall(rest)) % 2)  # "not A before B" says that B comes first
    frees = re.match("unless|only if", at.group(), re.I)
    earlier = bool(frees) or bool(re.match("after|once", at.group(), re.I)) != negated
    for rule in rules:
        match rule.formula:
            case F.Always(F.Implies(F.Atom(later), F.Eventually(F.Atom(first)))) if frees or not earlier:
                if {later, first} <= known.keys():
                    return ("what comes before has to have been done, and its rule asks for it at some time",)
            case F.Always(F.Implies(F.Atom(later), F.Once(F.Atom(first)))) if {later, first} <= known.keys():
                mine, other = (_called(known[name], toolbox, said) for name in (later, first))
                here = rest if earlier else behind
                one, two = (len((own - those) & _stems(here)) for own, those in ((mine, other), (other, mine)))
                there = len((other - mine) & _stems(behind if earlier else rest))
                if one < two or (not one and not there):
                    return ("the act that is said to come first is not the one that has to have been done",)
    return ()


def _called(p: Predicate, toolbox: Toolbox, said: str) -> frozenset[str]:
    """The stems of what an act's tools may be called by in a sentence."""
    own = [t for t in toolbox.tools if t.name in p.tools]
    return frozenset().union(*(name for t in own for name in _names(t, toolbox, _stems(said))))


def _negations(said: str, carried: frozenset[str]) -> int | None:
    """How often a sentence negates what it asks for; None where that cannot be told."""
    count = len(_NEGATION.findall(said))
    if count and re.search(r"\b(?:before|until|prior to)\b", said, re.I):
        count += 1
    prefixed = re.findall(r"\b(?:un|in|im|ir|il|non-?|dis)([a-z]{4,})", said.lower())
    if any(stem(rest) in carried for rest in prefixed) or re.search(r"\bnot only\b", said, re.I):
        return None  # "untrained" beside a field "trained" may or may not negate it: other checks must tell
    if len(re.findall(r"\bnot\b", said)) and re.search(r",? and (?:do|must|may|can) ?not\b", said):
        return None  # two sentences in one
    return count


def _leaves(test: Fact | None, positive: bool) -> Iterator[tuple[bool, Fact | None]]:
    """The facts that a test joins, each with whether it is asked for; without a test the predicate itself, as None."""
    match test:
        case Negation(body):
            yield from _leaves(body, not positive)
        case Conjunction(parts) | Disjunction(parts):
            for part in parts:
                yield from _leaves(part, positive)
        case _:
            yield positive, test


def _number(fact: Fact | None) -> tuple[str, float] | None:
    """The operator and the number that a fact compares with."""
    match fact:
        case Comparison(limit=(_, op, Scalar(value))) if type(value) in (int, float):
            return op, float(value)
    return None


def _compared(said: str, number: float) -> set[str]:
    """How a sentence compares something with the number, wherever it says the number."""
    written = [m for m in _NUMERAL.finditer(said) if float(m.group().replace(",", "")) == number]
    named = [word for word, value in NUMBERS.items() if value == number]
    written += [m for word in named for m in re.finditer(rf"\b{word}\b", said, re.I)]
    found = set()
    for at in written:
        before, after = said[: at.start()], said[at.end() :]
        found |= {op for op, (ahead, behind) in _COMPARED.items() if ahead.search(before) or behind.match(after)}
    return found


def _literals_of(formula: Formula, several: bool) -> Iterator[tuple[bool, str]]:
    """The signs and names of the facts that a call asks for: of one alone, or of `several`; none for another shape."""
    match formula:
        case F.Always(F.Implies(F.Atom(), right)):
            found = tuple(_joined(right, True))
            yield from found if several or len(found) == 1 else ()


def _joined(formula: Formula, positive: bool) -> Iterator[tuple[bool, str]]:
    match formula:
        case F.Atom(name):
            yield positive, name
        case F.Not(body):
            yield from _joined(body, not positive)
        case F.Once(body):
            yield from _joined(body, positive)
        case F.And(left, right) | F.Or(left, right):
            yield from _joined(left, positive)
            yield from _joined(right, positive)


def _truth(fact: Fact | None) -> bool:
    """Whether a fact is a field's being true or having a value, or an action; of a comparison of sizes not."""
    match fact:
        case None | Path() | OneOf():
            return True
        case Comparison("==" | "!=", Path(), Scalar(value)):
            return not isinstance(value, int | float) or isinstance(value, bool)
    return False


def _affirms(fact: Fact | None) -> bool:
    match fact:
        case Comparison(op, _, Scalar(value)):
            return (op == "==") == (value is not False and value != "")
    return True
