"""Whether rules say what their sentence says and not its opposite: signs, sides, limits, order, counts, objects.

It reads no meaning: negations are counted beside the signs of literals, and of what stands on either side of an
exception or a condition each is held to its side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from wb.domain.tools import Toolbox
from wb.logic import cel, facts
from wb.logic import formula as F
from wb.logic.facts import Fact
from wb.logic.syntax import render
from wb.rules import called, negations, operators, shapes, words
from wb.rules.lint import NUMBERS
from wb.rules.rule import Predicate, Rule
from wb.rules.words import stem

_QUANTITY_OR = re.compile(
    r"(?<=\d )(?:\w+ )?or (?:more|less|fewer|older|younger|above|over|below|under|later|earlier|higher|lower|greater|"
    r"larger|smaller|longer|shorter)\b(?! (?:than )?[$€£]?\d)",
    re.I,
)
_THAN = re.compile(
    rf"\b(?:than|exceed\w*)\s+(?!(?:[$€£]?\s?\d|(?:a|an|the)? ?(?:{'|'.join(NUMBERS)})\b))",
    re.I,
)
TURNED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
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
_NOT_ONLY = re.compile(
    r"\b(?:not|cannot|[a-z]+n't|never|no|forbid\w*|prohibit\w*|banned|nobody|none)\b.*\bonly\b", re.I
)
_JOINS = re.compile(r"\b(?:and|or|nor|both|then|but|so|also|too)\b|[,;:/&]", re.I)
_VERB_AFTER_AND = re.compile(r"\band (?:is|are|has|have|was|were|does|do|did|the \w+ (?:is|are|has|have|was))\b", re.I)
_OFTEN = r"(?P<often>once|twice|(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) times?)"
_AT_MOST = re.compile(  # "can only be called once", "at most three times"
    rf"\b(?:only|at most|no more than|not more than|up to)(?P<kept>(?: be)?(?: [a-z]+)?) {_OFTEN}\b", re.I
)
_NO_MORE = re.compile(rf"(?<=[a-z])(?<!\bno)(?<!\bnot)(?P<kept>) (?:more than {_OFTEN}|(?P<again>twice))\b", re.I)
_EACH = re.compile(r"\b(?:per|each|every|the same|a single) ([a-z]+)\b", re.I)
_ONE = re.compile(r"\A\W*(?:an?|one|any) ([a-z]+)\b", re.I)  # of what something is done to
_FREES = re.compile(r"\b(?:unless|except (?:if|when|where)|if|when|where)\b", re.I)
_ONLY_IF = re.compile(r"\bonly (?:if|when|where|while|once|after)\b", re.I)
_ONLY = re.compile(r"\bonly\b|\bwithout\b|\bexcept\w*(?! (?:if|when|where)\b)", re.I)
_FIRST = re.compile(r"\b(?:before|prior to|after|once|unless|only if|without)\b", re.I)
_FRONTED = re.compile(r"\W*(?:only|not|never|just)?\W*", re.I)  # before a "before" that a sentence begins with
_MAIN = re.compile(  # where the main clause begins behind a clause without a comma: "… you must", "… may you"
    r"\b(?:(?:you|we|they|it|he|she|one|the [a-z]+|an? [a-z]+|[a-z]+s) )?"
    r"(?:must|shall|should|may|can|cannot|needs? to|ha(?:s|ve) to|(?:is|are) (?:it|you|to|not|allowed|permitted))\b",
    re.I,
)
_TOGETHER = re.compile(r"\b(?:and|both|together|same|simultaneous\w*|if|when|while|beside)\b", re.I)
_ONLY_BEFORE = re.compile(r"\bonly (?:\w+ )?(?:before|prior to|until)\b", re.I)
_COMPARES = re.compile(
    r"\b(?:within|least|most|more|less|fewer|over|under|above|below|beyond|up to|maximum|minimum|exceed\w*|than)\b",
    re.I,
)
_MANY = re.compile(
    r"\b(?P<how>all|every|each|any|no|none)(?: of)?(?: the| its| their| his| her)? (?P<noun>[a-z]+)\b", re.I
)
_ASKS = re.compile(r"only (?:if|when|where)|unless|provided(?: that)?", re.I)
_LED_BY = re.compile(
    rf"\b(?:{_ASKS.pattern}|if|when|where|that|which|who|whose|with|without|once|after|before)\b", re.I
)
NOT_THE_LIMIT = "not the limit that is said"
SUPPOSED = re.compile(r"\b(?:if|when|where|while|once|after|in case)\b|\A\W*should\b", re.I)
_LIMIT_IN_NAME = re.compile(r"_at_(least|most)_(\d+)\Z")


def misnamed(said: str, rules: Iterable[Rule], used: Iterable[Predicate]) -> Iterator[str]:
    """The facts without a field whose names have a limit that the sentence says the other way round."""
    known = {p.name for p in used if p.kind == "state" and p.test is None}
    count = negations.counted(said, frozenset())
    for rule in rules if count is not None else ():
        match rule.formula:
            case F.Always(F.Implies(F.Atom(), right)):
                for positive, name in shapes.joined(right, True) if shapes.joins_literals(right) else ():
                    if name in known and _says_limit(said, name, positive, count) is False:
                        yield name


def one_way(said: str, rules: Sequence[Rule]) -> tuple[str, ...]:
    """ "If and only if" says two things: the act asks for the fact, and the fact for the act, at some time."""
    if not operators.BOTH_WAYS.search(said):
        return ()
    asked = {(left, right) for rule in rules for left, right in shapes.implied(rule.formula)}
    if len(rules) == len(asked) == 2 and any((right, F.Eventually(left)) in asked for left, right in asked):
        return ()
    return ("not accounted for: 'if and only if'",)


def uncounted(text: str, rules: Sequence[Rule]) -> tuple[str, tuple[str, ...]]:
    """A sentence without the words that say how often its act may be done, where a rule says just that; or why not."""
    limits = [one for rule in rules if (one := shapes.limited(rule.formula)) is not None]
    if not limits:
        return text, ()
    said = words.plain(text)
    negated = bool(len(operators.NEGATION.findall(said)) % 2)
    found = list((_NO_MORE if negated else _AT_MOST).finditer(said))
    if len(found) != 1 or len(rules) > 1 or _often(found[0]) != limits[0][0] or operators.strict(found[0]["kept"]):
        return text, ("how often an act may be done is not what its rule says",)
    at = found[0]
    if re.search(rf"\b{_OFTEN}\b", said[: at.start()] + said[at.end() :], re.I):
        return text, ("how often is said twice",)
    return f"{said[: at.start()]}{at['kept']}{said[at.end() :]}".replace("  ", " "), ()


def _often(found: re.Match[str]) -> int:
    """How often an act may be done at the most; "not twice" is once."""
    word = (found["often"] or "once").lower().partition(" ")[0]
    return int({"once": 1, "twice": 2, **NUMBERS}.get(word) or word)


def same(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether the objects of the rules are said, and those that the sentence says are meant by its rules.

    A count is of each object only where the sentence says of which, "per order", "an order"; an act that has to have
    been done before is of the same one where the sentence names it.
    """
    known, text = {p.name: p for p in used}, words.plain(said)
    each = [called.content(m[1]) for m in _EACH.finditer(text)]
    one = [called.content(m[1]) for m in _ONE.finditer(text)]
    for rule in rules:
        atoms = [node for node in F.subformulas(rule.formula) if isinstance(node, F.Atom)]
        about = {node.objects for node in atoms}
        looks_back = any(isinstance(node, F.Once) for node in F.subformulas(rule.formula)) or shapes.limited(
            rule.formula
        )
        names = [called.content(path.names[-1]) for a in atoms if a.objects for path in known[a.predicate].objects]
        if not names:
            tools = [t for a in atoms if known[a.predicate].kind == "action" for t in known[a.predicate].tools]
            given = [a for t in toolbox.tools if t.name in tools for a in t.arguments]
            own = [called.content(a.name) for a in given]
            if looks_back and any(noun and noun <= name for noun in each for name in own):
                return ("of which object is said, and its rule is of any",)
            continue
        if len(about) > 1 or len(next(iter(about))) != 1:
            return (f"no sentence is read into this form, a person may write it: {render(rule.formula)}",)
        counts = shapes.limited(rule.formula) is not None
        told = [*each, *one] if counts else [called.stems(text)]
        if not all(
            any(name and (noun <= name if counts else name <= noun) and noun for noun in told) for name in names
        ):
            return ("of which object is not said, and its rule is of the same one",)
        tools = {tool for a in atoms for tool in known[a.predicate].tools}
        meant = {path.names[-1] for a in atoms for path in known[a.predicate].objects}
        given = {a.name for t in toolbox.tools if t.name in tools for a in t.arguments} - meant
        if counts and any(noun & called.content(name) for noun in told for name in given):
            return ("of which object is said, and several arguments may tell it",)
    return ()


def shape(said: str, rules: Sequence[Rule], used: Sequence[Predicate]) -> tuple[str, ...]:
    """Whether "or" and "and" of the sentence are what the formulas make of them, as far as the shape tells."""
    plain = _QUANTITY_OR.sub(" ", said)
    several = [rule for rule in rules if shapes.disjunctive(rule.formula)]
    if re.search(r"\bor\b", plain, re.I) and several:
        return ("'or' beside a rule that several facts must break together",)
    if re.search(r"\bor\b", plain, re.I) and re.search(r"\band\b", plain, re.I):
        return ("'or' and 'and' in one sentence",)
    together = _VERB_AFTER_AND.search(plain) and not operators.EXCEPTION.search(plain)
    if re.search(r"\band\b", plain, re.I) and several and not together:
        return ("'and' beside a rule that several facts must break together",)
    if not operators.EXCEPTION.search(plain) and not _JOINS.search(plain) and shapes.twice(rules, used):
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


def signed(said: str, rules: Sequence[Rule], used: Sequence[Predicate], carried: frozenset[str]) -> tuple[str, ...]:
    """Whether the facts of a rule have the signs that the sentence's negations give them, an even number the positive
    one, and its numbers are limits in the direction that the sentence says.

    Where the number of negations cannot be told there are no signs to hold a fact to, and no rule with one passes.
    """
    bans = negations.bans(said)
    if bans is None:
        return ("of what its second ban is, cannot be told",)
    if not bans:
        return _signed(said, rules, used, carried)
    if operators.conditioned(said):
        return ("a condition stands beside two bans: whether it is one's, or of both, is not said",)
    why: list[str] = []
    for rule in rules:
        mine = [p for p in used if p.name in rule.predicates]
        if len([p for p in mine if p.kind == "state"]) > 1:
            continue  # of both bans: what they come to together is compared by truth
        shared = [len(called.stems(" ".join(map(_called, mine))) & called.stems(ban)) for ban in bans]
        if shared[0] == shared[1]:
            return ("of which of its two bans a rule is cannot be told",)
        why += _signed(bans[shared[1] > shared[0]], [rule], used, carried)
    return tuple(why)


def _called(p: Predicate) -> str:
    """All that a predicate is called by: its name, tools, description and test."""
    return " ".join((p.name, *p.tools, p.description, cel.render(p.test) if p.test is not None else ""))


def _signed(said: str, rules: Sequence[Rule], used: Sequence[Predicate], carried: frozenset[str]) -> tuple[str, ...]:
    """The same of one ban, or of a sentence without."""
    known, whole = {p.name: p for p in used}, negations.counted(said, carried)
    if whole is None:  # rules of acts alone have no facts: whether they forbid as it is said, `accounting` tells
        return (negations.UNTOLD,) if any(any(shapes.literals_of(rule.formula, True)) for rule in rules) else ()
    several = bool(whole % 2) and not operators.EXCEPTION.search(said)  # "not if a and b": each is negated
    several = several or (not whole and not SUPPOSED.search(_ONLY_IF.sub(" ", said)))  # "only if a and b"
    signs, limits, counts = [], [], {whole}
    for rule in rules:
        for positive, atom in shapes.literals_of(rule.formula, several):
            p = known.get(atom)
            count = negations.bearing(said, whole, p) if p is not None else whole
            if count is None:
                return (f"whether {atom} has to be so before is not told",)
            counts.add(count)
            for asked, fact in shapes.leaves(p.test, positive) if p is not None else ():
                odd = shapes.truth(fact) and (asked == shapes.affirms(fact)) != (count % 2 == 0)
                named = _says_limit(said, atom, positive, count) if fact is None else None
                if odd if named is None else not named:
                    signs.append(f"{atom} {'to hold' if positive else 'not to hold'}")
                if (limit := shapes.number(fact)) is not None:
                    op, number = limit
                    told = {TURNED[one] if count % 2 else one for one in compared(said, number)}
                    alone = number in operators.spoken(said) and not told  # then it is that number
                    told = {"!=" if count % 2 else "=="} if alone else told
                    strange = alone and _COMPARES.search(said)  # it is compared in words that are not read
                    if strange or (told and (len(told) > 1 or (op if asked else TURNED[op]) not in told)):
                        limits.append(f"{number:g}")
    why = [f"{negations.denial(max(counts))}, but its rule wants {', '.join(dict.fromkeys(signs))}"] if signs else []
    return (*why, *([f"{NOT_THE_LIMIT}: {', '.join(dict.fromkeys(limits))}"] if limits else []))


def _says_limit(said: str, name: str, positive: bool, count: int) -> bool | None:
    """Whether a sentence with so many negations says the limit that a fact without a field has in its name, as "more
    than 5 is forbidden" says "at most 5"; None where the name has none, or the sentence says none of this number, or
    two."""
    at = _LIMIT_IN_NAME.search(name)
    told = {TURNED[one] if count % 2 else one for one in compared(said, float(at[2]))} if at else set()
    if at is None or len(told) != 1:
        return None
    op = {"least": ">=", "most": "<="}[at[1]]
    return (op if positive else TURNED[op]) in told


def many(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether a sentence asks something of all items of a list where its rule does, and of some where that does: by
    "all", "every", "each", "any", "no" or "none" before what the list is called, and by what it stands in.

    "Only if all boxes are shut", "not if any box is open" and "all boxes must be shut" ask it of all; "not if all boxes
    are open" and "not if no box is shut" of some.
    """
    known = {p.name: p for p in used}
    for p in known.values():
        if not any(True for _ in shapes.gone_through(p.test, True)):
            continue
        asked = [list(shapes.literals_of(rule.formula, True)) for rule in rules if p.name in rule.predicates]
        facts_of = [one for found in asked if len(found) == 1 for one in shapes.leaves(p.test, found[0][0])]
        lists = [one for found in asked if len(found) == 1 for one in shapes.gone_through(p.test, found[0][0])]
        if len(asked) != 1 or len(facts_of) != 1 or len(lists) != 1:
            return (
                f"what is asked of items stands beside something else, a person may write it: {cel.render(p.test)}",
            )
        of_all, path = lists[0]
        told = {_of_all(said, place) for place in called.declared(path.names, p.tools, toolbox)}
        if told != {of_all}:
            said = f"of how many {path.names[-1]} is not said as its rule says it"
            return (f"{said}, a person may write it: {cel.render(p.test)}",)
    return ()


def _of_all(said: str, place: called.Place) -> bool | None:
    """Whether a sentence asks something of all that a list holds, or of some; None where it says neither."""
    text = said.lower()
    found = [m for m in _MANY.finditer(text) if called.nouns(m["noun"]) <= called.nouns(place.last)]
    if len(found) != 1:
        return None
    at, how = found[0], found[0]["how"]
    before, behind = text[: at.start()], text[at.end() :]
    led = list(_LED_BY.finditer(before))
    if how in ("all", "every", "each") and re.search(r"\b(?:not|never|no|[a-z]+n't|cannot)\b", behind.split(",")[0]):
        return None  # "all are not" may mean that not all are
    if not led:
        forced = how == "no" or re.match(r" (?:must|shall|should|ought to|needs? to|ha(?:s|ve) to)\b", behind)
        plain = forced and how != "any" and not operators.NEGATION.search(before)
        return True if plain and not operators.EXCEPTION.search(text) else None
    if _ASKS.match(led[-1].group()):
        return None if how == "any" or len(led) > 1 else True
    rest = before[: led[-1].start()] if led[-1].start() else behind.partition(",")[2]
    if len(led) > 1 or len(operators.NEGATION.findall(rest)) != 1 or operators.EXCEPTION.search(text):
        return None
    return how == "any"


def sides(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether of several facts, any of which frees an act, those of an exception or a condition and those of the rest
    have the signs that each side gives them, and its numbers are limits in the direction that is said."""
    cut = _side(said)
    if cut is None:
        return ()
    rest, side, frees = cut
    known, wrong = {p.name: p for p in used}, []
    for rule in rules:
        freeing = shapes.freeing(rule.formula, {name for name, p in known.items() if p.kind == "action"})
        if freeing is None and frees:
            return ("an exception frees what it excepts: facts joined by AND, or in another form",)
        joined = shapes.demanded(rule.formula) if freeing is None else ()
        used_here = [known[name] for _, name in joined if name in known]
        if any(standing(p, None, rest, side, toolbox, used_here) == side for p in used_here if p.kind == "state"):
            return ("what it supposes is asked for by its rule, joined by AND",)
        for positive, name in freeing if freeing and len(freeing) > 1 else ():
            for asked, fact in shapes.leaves(known[name].test, positive):
                where = standing(known[name], fact, rest, side, toolbox, [known[one] for _, one in freeing])
                if where is None or known[name].kind == "action":
                    continue
                odd = bool(len(operators.NEGATION.findall(where)) % 2)
                turned = odd != (where is side and not frees)  # "if it is so" asks that it is not
                if (limit := shapes.number(fact)) is not None:
                    told = {TURNED[one] if turned else one for one in compared(where, limit[1])}
                    if len(told) == 1 and (limit[0] if asked else TURNED[limit[0]]) not in told:
                        wrong.append(name)
                elif shapes.truth(fact) and (asked == shapes.affirms(fact)) == turned:
                    wrong.append(name)
    return (f"another sign than its side of the sentence gives: {', '.join(dict.fromkeys(wrong))}",) if wrong else ()


def _side(said: str) -> tuple[str, str, bool] | None:
    """The rest of a sentence and its one exception or condition, and whether that frees; None for another form."""
    text = said.rstrip(" .")
    found = [m for m in _FREES.finditer(text)]
    if len(found) != 1 or _ONLY.search(text):
        return None
    (at,) = found
    frees = not re.match(r"(?:if|when|where)\b", at.group(), re.I)
    if rest := text[: at.start()]:
        return rest, text[at.end() :], frees
    side, comma, rest = text[at.end() :].partition(",")
    return (rest, side, frees) if comma else None


def standing(
    p: Predicate, fact: Fact | None, rest: str, side: str, toolbox: Toolbox, beside: Sequence[Predicate]
) -> str | None:
    """The side of a sentence that speaks of a fact: has its number, or more words of its field, first of those that the
    facts beside it do not have; None if unclear."""
    limit = shapes.number(fact)
    if limit is not None:
        has = [text for text in (rest, side) if limit[1] in operators.spoken(text)]
        return has[0] if len(has) == 1 else None
    for mine in called.telling(p, beside, toolbox):
        one, other = (len(mine & called.stems(text)) for text in (rest, side))
        if one != other:
            return rest if one > other else side
    return None


def unordered(said: str, rules: Iterable[Rule], used: Iterable[Predicate]) -> tuple[str, ...]:
    """Why rules of two acts cannot be held to an order: it is not said which comes first, or they ask in another form
    than that the one was done before the other."""
    acts, told = {p.name for p in used if p.kind == "action"}, len(_FIRST.findall(said)) == 1
    for rule in rules:
        nodes = list(F.subformulas(rule.formula))
        done = {node.body.name for node in nodes if isinstance(node, F.Once) and isinstance(node.body, F.Atom)} & acts
        match rule.formula:
            case F.Always(F.Implies(left, right)):
                asked = acts & {*F.predicates(right)} | done
                mine = (acts & {*F.predicates(left)}) - done
            case _:
                mine, asked = acts & {*F.predicates(rule.formula)}, done
        match rule.formula:
            case F.Always(F.Not(body)) if len(acts & {*F.atoms(body)}) > 1 and not done:
                if told or not _TOGETHER.search(said) or len(operators.NEGATION.findall(said)) > 1:
                    return ("its rule forbids two acts together, and it says which comes first, or no such thing",)
        if any(isinstance(node, F.Eventually) for node in nodes) or len(mine | asked) < 2 or not asked:
            continue
        if not told or _ONLY_BEFORE.search(said):
            return ("of two acts it is not said which comes first",)
        literals = shapes.freeing(rule.formula, acts) or shapes.demanded(rule.formula)
        if not mine or asked != done or not all((True, name) in literals for name in done):
            return ("it asks for two acts in another form than that one was done before the other",)
    return ()


def order(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether of two acts the one that is said to come first, or to be asked for, is the one that has to be done."""
    found = list(_FIRST.finditer(said))
    if len(found) != 1:
        return ()
    (at,) = found
    known = {p.name: p for p in used if p.kind == "action"}
    behind, rest = said[at.end() :], said[: at.start()]
    if _FRONTED.fullmatch(rest):
        cut = re.search(",", behind) or _MAIN.search(behind)
        if cut is None and any(len(known.keys() & {*F.predicates(rule.formula)}) > 1 for rule in rules):
            return ("which of its acts comes first is not told: there is no comma",)
        behind, rest = (behind[: cut.start()], behind[cut.start() :]) if cut else (behind, rest)
    negated = bool(len(operators.NEGATION.findall(said)) % 2)  # "not A before B" says that B comes first
    if at.group().lower() == "after" and negated and not re.search(r"\bonly\b", said, re.I):
        return ("what may not be done after something is not what has to be done before",)
    frees = re.match("unless|only if|without", at.group(), re.I)
    earlier = bool(frees) or bool(re.match("after|once", at.group(), re.I)) != negated
    for rule in rules:
        match rule.formula:
            case F.Always(F.Implies(F.Atom(later), F.Eventually(F.Atom(first)))) if frees or not earlier:
                if {later, first} <= known.keys():
                    return ("what comes before has to have been done, and its rule asks for it at some time",)
            case F.Always(F.Implies(F.Atom(later), F.Once(F.Atom(first)))) if {later, first} <= known.keys():
                mine, other = (called.names_of(known[name], toolbox, said) for name in (later, first))
                here = rest if earlier else behind
                one, two = (len((own - those) & called.stems(here)) for own, those in ((mine, other), (other, mine)))
                there = len((other - mine) & called.stems(behind if earlier else rest))
                if one < two or (one == two and (one or not there)):  # a tie tells nothing
                    return ("the act that is said to come first is not the one that has to have been done",)
    return ()


def asked(said: str, rules: Iterable[Rule], used: Iterable[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """Whether a sentence that asks for an act where something is so has a rule that asks for the fact where the act is
    done: "if it is paid, ship the order" lets nobody wait for the money."""
    cut = _side(said)
    if cut is None or cut[2] or operators.NEGATION.search(said) or words.permissive(said) or operators.bans(said):
        return ()
    rest, side, _ = cut
    acts = {p.name: p for p in used if p.kind == "action"}
    for left, right in (sides for rule in rules for sides in shapes.implied(rule.formula)):
        for p in (acts[name] for name in F.atoms(left) if name in acts and not acts.keys() & set(F.atoms(right))):
            own, verbs = called.names_of(p, toolbox, said), {stem(name.split("_")[0]) for name in p.tools}
            here, there = called.stems(rest), called.stems(side)
            if verbs & here - there or (len(own & here) > len(own & there) and not verbs & there):
                return ("it asks for an act, and its rule says when it may be done",)
    return ()


def compared(said: str, number: float) -> set[str]:
    """How a sentence compares something with the number, wherever it says the number."""
    written = [m for m in operators.NUMERAL.finditer(said) if float(m.group().replace(",", "")) == number]
    named = [word for word, value in NUMBERS.items() if value == number]
    written += [m for word in named for m in re.finditer(rf"\b{word}\b", said, re.I)]
    found = set()
    for at in written:
        before, after = said[: at.start()], said[at.end() :]
        found |= {op for op, (ahead, behind) in _COMPARED.items() if ahead.search(before) or behind.match(after)}
    return found
