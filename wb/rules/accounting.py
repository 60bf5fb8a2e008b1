"""Whether rules account for their sentence: a reading that leaves a word over, or adds one, stays open.

Both engines' rules go through it.  It puts together what `operators` reads of the sentence, `shapes` of the formulas,
`called` of the words, `negations` and `signs` of their sense.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from wb.domain.tools import Toolbox
from wb.logic import formula as F
from wb.rules import called, covering, negations, operators, senses, shapes, signs, words
from wb.rules.rule import Predicate, Rule

_FEW = 6  # rules of one sentence, which are divided between its two demands
_UNDIVIDED = "its rules could not be divided between its two demands"


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
    both = operators.demands(text) if not partial and not context else ()
    if not both:
        said = " ".join((*headings[-1:], *context, text))
        return why or (() if partial and _in_turn(said, rules) else _forced(said, rules))
    if not why and not any(_forced(one, rules) for one in both):
        return ()
    if len(both) == 1:
        return (*_unaccounted(*both, (), rules, *given, headings=headings), *_forced(*both, rules))
    first, second = both
    above = (*headings, first) if operators.POINTS.search(second) else headings
    tries = []
    for one in _divided(rules):
        other = [rule for rule in rules if rule not in one]
        left = _unaccounted(first, (), one, *given, headings=headings)
        left += _unaccounted(second, (), other, *given, headings=above)
        left += (*_forced(first, one), *_forced(second, other))
        if not left:
            return ()
        tries.append(left)
    return min(tries, key=lambda left: len(" ".join(left)), default=why or (_UNDIVIDED,))


def _divided(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """The choices of some of the rules, not all and not none, for the first of two demands."""
    for size in range(1, len(rules)) if len(rules) <= _FEW else ():
        yield from map(list, combinations(rules, size))


def _forced(said: str, rules: Iterable[Rule]) -> tuple[str, ...]:
    """Whether rules of one act alone forbid it where what is said forbids, and ask for it where it asks."""
    for rule in rules:
        match rule.formula:
            case F.Eventually(F.Atom()) | F.Always(F.Eventually(F.Atom())) if operators.bans(said):
                return ("it forbids, and its rule asks for an act",)
            case F.Always(F.Not(F.Atom())) | F.Not(F.Eventually(F.Atom())) if not operators.bans(said):
                return ("it asks for an act, and its rule forbids one",)
    return ()


def _in_turn(said: str, rules: Sequence[Rule]) -> bool:
    """Whether of two rules the one asks for what stands before the one ban of a sentence, and the other forbids what
    stands behind it."""
    bans = [m.start() for m in operators.BANS.finditer(words.plain(said))]
    if len(bans) != 1 or len(rules) != 2:
        return False
    before, behind = (called.stems(part) for part in (words.plain(said)[: bans[0]], words.plain(said)[bans[0] :]))
    match [rule.formula for rule in rules]:
        case [F.Eventually(F.Atom(asked)), F.Always(F.Not(F.Atom(banned)))]:
            first, second = (called.stems(name) for name in (asked, banned))
            return first <= before and not first <= behind and second <= behind and not second <= before
    return False


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
    text, why = signs.uncounted(called.confirming(text, rules, used, toolbox) if not partial else text, rules)
    text, used = covering.covered(text, used, toolbox)
    if why := (*why, *signs.same(" ".join((*context, text)), rules, used, toolbox)):
        return why
    acts = {p.name for p in used if p.kind == "action"}
    rules = [replace(rule, formula=shapes.asking(shapes.bare(rule.formula), acts)) for rule in rules]
    if strange := operators.unread(text, context):
        return strange
    said = words.plain(" ".join((*context, operators.opened(text))))
    if foreign := shapes.foreign(rules, used) or called.undeclared(used, toolbox) or signs.one_way(said, rules):
        return foreign
    said = operators.BOTH_WAYS.sub("only if", said)
    if twice := negations.repeated(said):
        return twice
    many = signs.many(said, rules, used, toolbox)
    rules, used = shapes.apart(rules, [shapes.spread(p) for p in used])
    carried = called.carried(used, toolbox)
    inside = [p.description.rstrip(".").lower() for p in used if not p.tools and p.test is None]
    if of_degree := operators.degrees(said, " / ".join((*inside, *called.told(used, toolbox)))):
        return of_degree
    if partial:
        loose = said.lower()
        for words_of in sorted(inside, key=len, reverse=True):  # an "and" inside of a fact joins no two
            loose = loose.replace(words_of, words_of.replace(" and ", " "))
        return (
            *many,
            *signs.shape(loose, rules, used),
            *called.units(said, used, toolbox),
            *called.not_said(said, [p for p in used if p.kind == "state"], toolbox, headings),
            *signs.signed(said, rules, used, carried),
        )
    return (
        *many,
        *called.unspent(said, carried),
        *called.idle(said, rules, used, carried),
        *called.numbers(said, used),
        *called.not_said(said, used, toolbox, headings),
        *signs.shape(said, rules, used),
        *called.others(said, used, toolbox, headings),
        *called.undone(said, rules, used, toolbox),
        *called.elsewhere(said, used, toolbox, headings),
        *called.units(said, used, toolbox),
        *called.aged(said, used, toolbox),
        *called.reached(said, used),
        *called.numbered(said, used, toolbox),
        *signs.signed(said, rules, used, carried),
        *called.values(said, used, toolbox),
        *signs.sides(said, rules, used, toolbox),
        *signs.order(said, rules, used, toolbox),
        *signs.unordered(said, rules, used),
        *signs.asked(said, rules, used, toolbox),
        *senses.together(said, rules, used, toolbox),
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
    rules = [replace(rule, formula=shapes.bare(rule.formula)) for rule in rules]
    said = words.plain(" ".join((*context, operators.opened(text))))
    one_way, said = signs.one_way(said, rules), operators.BOTH_WAYS.sub("only if", said)
    limits = [
        why
        for why in signs.signed(said, rules, used, called.carried(used, toolbox))
        if why.startswith(signs.NOT_THE_LIMIT)
    ]
    named = (
        []
        if signs.SUPPOSED.search(said) or operators.EXCEPTION.search(said)
        else list(signs.misnamed(said, rules, used))
    )
    named = [f"{signs.NOT_THE_LIMIT}: {', '.join(named)}"] if named else []
    return (
        *one_way,
        *limits,
        *named,
        *signs.sides(said, rules, used, toolbox),
        *signs.order(said, rules, used, toolbox),
    )
