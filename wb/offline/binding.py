"""Norms tied to tools and fields: formulas over predicates, or `Unread` with what is not understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from wb.domain.tools import Toolbox
from wb.logic import formula as f
from wb.logic.facts import Path
from wb.logic.formula import Always, And, Atom, Eventually, Formula, Implies, Not, Once, Or
from wb.offline import grammar, lexicon, vocabulary
from wb.offline.grammar import UPPER, Acts, Fact, Leaf, Norm, Unread
from wb.offline.lexicon import roots
from wb.offline.vocabulary import Act, Unbound
from wb.rules.rule import Modality, Predicate

_LIMITING = lexicon.rooted("limiting")


class Reading(NamedTuple):
    """One formula of a norm and the predicates in it: when the action is called, `condition` must hold.

    An obligation is `EVENTUALLY` its action wherever `condition` holds.
    """

    modality: Modality
    formula: Formula
    action: Predicate
    condition: Formula
    predicates: tuple[Predicate, ...]


def read(text: str, toolbox: Toolbox, title: str = "") -> tuple[str, tuple[Reading, ...]]:
    """What a sentence says, and its readings: "rule", "duty", "permission" or "exemption", these two without any.

    `title` is the act that a row of a table, or a label, is about.

    Raises:
        Unread: no derivation is bound in full, or those that are do not say the same.
    """
    found, why = [], []
    for norms in grammar.parse(text):
        try:
            found += [tuple(each) for each in product(*(_bound(norm, toolbox, title) for norm in norms))]
        except Unread as error:
            why.append(str(error))
    if not found:
        raise Unread(why[0] if why else "nothing of it is bound")
    read = [tuple(reading for readings in one for reading in readings) for one in found]
    if len({_meaning(one) for one in read}) > 1:
        raise Unread("it has more than one meaning")
    readings = tuple(dict.fromkeys(read[0]))
    kinds = {norm.kind for norms in grammar.parse(text) for norm in norms}
    if not readings:
        return ("exemption" if kinds == {"exempt"} else "permission"), ()
    return ("duty" if all(one.modality == "oblige" for one in readings) else "rule"), readings


def _meaning(readings: Sequence[Reading]) -> frozenset[object]:
    """What readings say, whatever their predicates are called and in whatever order they stand."""

    def plain(one: Reading) -> Formula:
        told = {
            p.name: f"p{abs(hash((p.test, p.tools if p.kind == 'action' or p.reads_call else ())))}"
            for p in one.predicates
        }
        return f.substitute(one.formula, {Atom(name): Atom(new) for name, new in told.items()})

    return frozenset(plain(one) for one in readings)


def _bound(norm: Norm, toolbox: Toolbox, title: str) -> list[tuple[Reading, ...]]:
    """The readings of a norm, for each way its acts can be meant that is bound in full.

    Raises:
        Unread: there is none.
    """
    norm = _limited(norm)
    if norm.kind == "exempt":
        if norm.when or norm.whose or norm.acts.mods or norm.trailing:
            raise Unread("what one need not do, under a condition, may have to be done without it")
        return [()]
    found, why = [], ""
    for acts, shared in _ways(norm, toolbox, title):
        try:
            found.append(tuple(each for act in acts for each in _reading(norm, act, toolbox, shared)))
        except Unread as error:
            why = why or str(error)
    if not found:
        raise Unread(why or "no act is named, neither in the sentence nor beside it")
    return found


def _limited(norm: Norm) -> Norm:
    """A limit on a thing, "an order can contain at most ten items", or on an act, "may be kept for at most 30 days"."""
    uppers = [mod for mod in norm.acts.mods if isinstance(mod, Leaf) and mod.limit]
    thing = norm.who and not _person(norm.who)
    if thing and uppers and norm.acts.mods == tuple(uppers[:1]) and len(norm.acts.parts) == 1:
        (verb,) = norm.acts.parts
        if roots(verb) <= _LIMITING and norm.requires is None:
            fact: Fact = Leaf("", norm.who, uppers[0].limit)
            if norm.kind == "permit" and uppers[0].limit.op in UPPER:
                return Norm("permit_only_if", who=norm.who, when=norm.whose, requires=fact)
            if norm.kind == "forbid":
                return Norm("permit_only_if", who=norm.who, when=norm.whose, requires=grammar.Not(fact))
    if norm.kind == "permit" and len(uppers) == len(norm.acts.mods) == 1 and uppers[0].limit.op in UPPER:
        if norm.when or norm.whose:
            raise Unread("a limit in a permission for some alone")
        acts = replace(norm.acts, mods=())
        return replace(norm, kind="permit_only_if", acts=acts, requires=uppers[0])
    if norm.kind == "permit_only_if" and any(mod.limit.op in UPPER for mod in uppers):
        raise Unread("a limit and a condition: which of them holds when the other does is not said")
    return norm


def _person(who: str) -> bool:
    return all(word in lexicon.PERSONS for word in lexicon.tokens(who) if word not in lexicon.STOP - lexicon.PERSONS)


def _ways(norm: Norm, toolbox: Toolbox, title: str) -> Iterator[tuple[list[Act], bool]]:
    """The ways in which the acts of a norm can be meant, and whether what stands behind is said of all of them."""
    acts = norm.acts
    if not acts.parts:
        if title:
            yield [_known(title, toolbox)], True
        elif norm.who and isinstance(fact := _inner(norm.requires), Leaf) and fact.limit:
            name = vocabulary.of_thing(norm.who, fact.limit, toolbox)
            yield [Act(norm.who, (name,))], True
        return
    if acts.joint == "and" and norm.kind not in ("permit", "oblige"):
        raise Unread("acts joined by 'and' may be forbidden together alone")
    if acts.joint == "or" and norm.kind == "oblige":
        raise Unread("one of several acts is asked for")
    why = ""
    for phrases, shared in dict(_phrases(acts)).items():
        try:
            yield [vocabulary.act(phrase, toolbox) for phrase in phrases], shared
        except Unbound as error:
            why = why or str(error)
            continue
    if why and len(acts.parts) == 1:
        raise Unbound(why)


def _inner(fact: Fact | None) -> Fact | None:
    return fact.fact if isinstance(fact, grammar.Not) else fact


def _known(title: str, toolbox: Toolbox) -> Act:
    found = vocabulary.act(title, toolbox)
    if found.rest:
        raise Unbound(f"no tool is known by {' '.join(found.rest)!r}")
    return found


def _phrases(acts: Acts) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Each act with its verb and what it is done to."""
    parts, thing = acts.parts, acts.thing
    if len(parts) == 1 or thing:
        yield tuple(f"{part} {thing}".strip() for part in parts), True
        return
    *verbs, last = parts
    if all(map(_bare, verbs)):  # "rent or sell a boat": one thing
        yield tuple([f"{verb} {' '.join(last.split()[1:])}" for verb in verbs] + [last]), True
        return
    if not any(map(_bare, parts)):
        yield parts, False
    first = parts[0].split()
    at = next((i for i, word in enumerate(first) if word not in lexicon.STOP), 0)
    yield (parts[0], *(f"{first[at]} {part}" for part in parts[1:])), False  # "rent boats, tents or bikes": one verb


def _bare(part: str) -> bool:
    """Whether an act is said by a verb alone."""
    return len(lexicon.content(part)) == 1 and not {"anything", "anyone"} & {*part.split()}


def _reading(norm: Norm, act: Act, toolbox: Toolbox, shared: bool) -> Iterator[Reading]:
    """The readings of a norm about one of its acts."""
    several = len(norm.acts.parts) > 1
    if several and not shared and (norm.acts.mods or norm.trailing):
        raise Unread("whether what stands behind is said of all acts, or of the last, is not said")
    known: dict[str, Predicate] = {}
    used = act.known

    def told(fact: Fact) -> Formula:
        return _formula(fact, toolbox, act.tools, used, known)

    whose = norm.whose
    if norm.who and norm.acts.parts and not _person(norm.who):
        whose = (*whose, Leaf(" ".join(lexicon.content(norm.who))))
    when = [told(fact) for fact in (*norm.acts.mods, *whose, *norm.when)]
    flags = [p.description for p in known.values() if isinstance(p.test, Path)]
    taken = roots(" ".join(flags))  # "a page that is served": the fact is of the page
    rest = " ".join(word for word in act.rest if lexicon.root(word) not in taken)
    when = [*([told(Leaf(rest))] if rest else []), *when]
    required = told(norm.requires) if norm.requires is not None else None
    action = vocabulary.action(act, toolbox)
    atom = Atom(action.name)

    def made(whole: Formula, condition: Formula) -> Reading:
        named = [known[name] for name in f.predicates(whole) if name in known and name != action.name]
        modality = "oblige" if norm.kind == "oblige" else "forbid" if norm.kind == "forbid" else "permit_only_if"
        return Reading(modality, whole, action, condition, (action, *named))

    if norm.kind == "permit":
        if when:
            raise Unread("a permission with a condition or an exception may forbid what it does not name")
        return
    if norm.kind == "oblige":
        if required is not None or rest or norm.acts.mods:
            raise Unread("a duty with an exception, or to something narrowed, is not read")
        trigger = f.conjunction(tuple(when))
        yield made(Always(Implies(trigger, Eventually(atom))) if when else Eventually(atom), trigger)
        return
    denied = [negation(f.conjunction(tuple(when)))] if when else []
    if required is None and not when:
        yield made(Always(f.Not(atom)), f.FALSE)
        return
    if required is not None and not when:
        for part in _conjuncts(required):
            yield made(Always(Implies(atom, part)), part)
        return
    condition = f.disjunction((*denied, *([required] if required is not None else [])))
    yield made(Always(Implies(atom, condition)), condition)


def _formula(
    fact: Fact, toolbox: Toolbox, tools: Sequence[str], used: frozenset[str], known: dict[str, Predicate]
) -> Formula:
    """A fact as a formula; its predicates are added to `known`."""
    match fact:
        case Leaf():
            found = vocabulary.literal(fact, toolbox, tools, used)
            atom = _atom(found.predicate, known)
            return atom if found.positive else Not(atom)
        case grammar.Not(inner):
            return negation(_formula(inner, toolbox, tools, used, known))
        case grammar.Earlier(Leaf() as inner):
            try:
                return Once(_atom(vocabulary.done(inner.words, toolbox), known))
            except Unbound:
                return Once(_formula(inner, toolbox, (), used, known))
        case grammar.Every(parts):
            return f.conjunction(tuple(_formula(part, toolbox, tools, used, known) for part in parts))
        case grammar.Some(parts):
            return f.disjunction(tuple(_formula(part, toolbox, tools, used, known) for part in parts))
    raise Unread("what was so before, and more than one fact, has no reading")


def _atom(predicate: Predicate, known: dict[str, Predicate]) -> Atom:
    """The atom of a predicate; another predicate of the same name in this norm gets a number."""
    name, number = predicate.name, 2
    while name in known and known[name].test != predicate.test:
        name, number = f"{predicate.name}_{number}", number + 1
    known.setdefault(name, predicate if name == predicate.name else replace(predicate, name=name))
    return Atom(name)


def negation(part: Formula) -> Formula:
    """The opposite of a formula, without double negations; De Morgan for `And` and `Or`."""
    match part:
        case Not(body):
            return body
        case And(left, right):
            return Or(negation(left), negation(right))
        case Or(left, right):
            return And(negation(left), negation(right))
    return Not(part)


def _conjuncts(part: Formula) -> tuple[Formula, ...]:
    return (*_conjuncts(part.left), *_conjuncts(part.right)) if isinstance(part, And) else (part,)
