"""From the words of a sentence to what it says of acts and facts, by the grammar in `grammar.lark` (Earley).

A reading consumes every token.  With A an act, C `when` and R `requires` (absent: nothing permits A):

    forbid, permit_only_if:  ALWAYS (A IMPLIES (NOT C OR R))
    oblige:                  ALWAYS (C IMPLIES EVENTUALLY A)

`parse(text)` gives a norm for each derivation; which of them can be bound is for `vocabulary`, and those that can be
must say the same (`reader`).  Which condition belongs to which of several acts is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from lark import Lark, Token, Tree, UnexpectedInput
from lark.lexer import Lexer

from wb.offline import lexicon

MOST = 48  # derivations of one sentence; one with more is open
OPERATORS = {"LE": "<=", "GE": ">=", "LT": "<", "GT": ">", "ORMORE": ">=", "ORLESS": "<="}
UPPER = ("<", "<=")
Kind = Literal["forbid", "permit_only_if", "oblige", "permit", "exempt"]


class Unread(ValueError):
    """A sentence that no rule of the grammar fits, or that has no one meaning; the message says why."""


class Limit(NamedTuple):
    """A comparison with a number: its operator, the number, the sign of its unit ("$", "%"), the words that follow."""

    op: str
    value: int | float
    unit: str
    words: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """Words that say one fact, or what a limit is about; `about` is the thing that they are said of."""

    words: str
    about: str = ""
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """The fact does not hold."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The act was done, or the fact was so, at this step or before."""

    fact: Fact


Fact = Leaf | Not | Every | Some | Earlier


@dataclass(frozen=True, slots=True)
class Acts:
    """Acts joined by `joint`, each a verb and what it is done to; `thing` is what all are done to in the passive."""

    parts: tuple[str, ...] = ()
    joint: Literal["", "or", "and"] = ""
    mods: tuple[Fact, ...] = ()
    thing: str = ""


@dataclass(frozen=True, slots=True)
class Norm:
    """What one main clause says.  `who` does it, which restricts by its own words and by `whose`.

    `trailing` says that a condition follows the acts: with two whole acts it may belong to the last alone.
    Without acts, a limit on the thing `who`, or on what stands beside it.
    """

    kind: Kind
    acts: Acts = Acts()
    who: str = ""
    whose: tuple[Fact, ...] = ()
    when: tuple[Fact, ...] = ()
    requires: Fact | None = None
    trailing: bool = False


class _Tokens(Lexer):
    def __init__(self, *_: object) -> None: ...

    def lex(self, data: list[Token]) -> Iterator[Token]:
        yield from data


@cache
def _parser() -> Lark:
    text = Path(__file__).with_name("grammar.lark").read_text("utf-8")
    return Lark(text, parser="earley", lexer=_Tokens, ambiguity="explicit")


@lru_cache(maxsize=2_000)
def parse(text: str) -> tuple[tuple[Norm, ...], ...]:
    """The norms of each derivation of a sentence: one, or two where a comma and "and" join two main clauses.

    Raises:
        Unread: no derivation consumes all of it, or none of them, or too many, can be meant.
    """
    tokens = lexicon.tokenize(text)
    try:
        tree = _parser().parse(tokens)
    except UnexpectedInput as error:
        at = getattr(error, "token", None)
        where = f" at {str(at)!r}" if at is not None and at.type != "$END" else ""
        raise Unread(f"no form of the grammar fits this sentence{where}") from None
    norms, why = [], ""
    for one in _derivations(tree):
        try:
            norms.append(_norms(one.children[0]))
        except Unread as error:
            why = str(error)
    if not norms:
        raise Unread(why)
    return tuple(dict.fromkeys(norms))


def _derivations(tree: Tree) -> list[Tree]:
    """Every tree that an ambiguous one stands for."""
    if not isinstance(tree, Tree):
        return [tree]
    if tree.data == "_ambig":
        found = [each for child in tree.children for each in _derivations(child)]
    else:
        below = [_derivations(child) for child in tree.children]
        count = 1
        for each in below:
            count *= len(each)
            if count > MOST:
                raise Unread("it can be read in too many ways")
        found = [Tree(tree.data, list(children)) for children in product(*below)]
    if len(found) > MOST:
        raise Unread("it can be read in too many ways")
    return found


# ---- trees to norms ---------------------------------------------------------------------------


def _norms(tree: Tree) -> tuple[Norm, ...]:
    match tree.data:
        case "both":
            parts = [_main(part) for part in _below(tree)]
            if parts[-1].trailing or any(_loose(mod) for mod in parts[-1].acts.mods):
                raise Unread("whether the last condition is one of both parts is not said")
            return tuple(parts)
        case "led":
            lead, main = _below(tree)
            return (_conditioned(_main(main), _below(lead)),)
    return (_main(tree),)


def _loose(fact: Fact) -> bool:
    """Whether words behind an act may belong to what stands before it: "without a key"."""
    return isinstance(fact, Not) and isinstance(fact.fact, Leaf) and fact.fact.words.startswith("having ")


def _main(tree: Tree) -> Norm:
    """The norm of a main clause, its trailing conditions added."""
    parts = _below(tree)
    trails = [part for part in parts if part.data in _ADJUNCTS]
    norm = _form(str(tree.data), [part for part in parts if part.data not in _ADJUNCTS])
    done = _conditioned(norm, trails, only=tree.data in ("permit_only", "permit_only_done"))
    return replace(done, trailing=True) if trails else done


def _form(form: str, parts: Sequence[Tree]) -> Norm:
    """The norm of a main clause without its conditions; each of its parts is used."""
    if [part.data for part in parts if part.data not in _PARTS]:
        raise AssertionError(f"parts of {form} that nothing reads: {[part.data for part in parts]}")
    if form in ("bare_forbid", "bare_permit"):
        return Norm("forbid" if form == "bare_forbid" else "permit")
    if form in ("limit", "limit_not", "bare_limit"):
        thing, whose = _who(parts[0]) if form != "bare_limit" else ("", ())
        fact: Fact = Leaf("", thing, _limit(parts[-1]))
        return Norm("permit_only_if", who=thing, when=whose, requires=Not(fact) if form == "limit_not" else fact)
    if form == "requires":
        return Norm("permit_only_if", _acts(parts[0]), requires=_fact(parts[1]))
    if form in ("need", "need_not", "need_have"):
        (who, whose), held = _who(parts[0]), parts[1]
        fact = _state(held, who) if form != "need_have" else Leaf(f"having {_text(held)}", who)
        fact = Not(fact) if form == "need_not" else fact
        return Norm("permit_only_if", _acts(parts[2]), when=(*_narrowing(who), *whose), requires=fact)
    if form == "only_who":
        who, whose = _who(parts[0])
        facts = (*_narrowing(who), *whose)
        if not facts:
            raise Unread("'only' was required to say who")
        return Norm("permit_only_if", _acts(parts[1]), requires=facts[0] if len(facts) == 1 else Every(facts))
    if form == "order_object":
        return _with_object(Norm("permit", _acts(parts[0])), parts[1])
    if parts[0].data == "acts":
        return Norm("forbid", _acts(parts[0]))
    who, whose = _who(parts[0])
    if who in ("it", "this", "these", "they", "he", "she", "them"):
        raise Unread(f"{who!r} points back: what is meant stands in another sentence")
    acts = _acts(parts[1])
    kind: Kind = form.partition("_")[0]
    if form.endswith("_done"):
        acts = replace(acts, thing=who, mods=acts.mods)
        norm = Norm(kind, acts, when=whose)
    else:
        norm = Norm(kind, acts, who, whose)
    return _with_object(norm, parts[2]) if "object" in form else norm


_PARTS = frozenset("who acts object state chunk compared fact every some".split())
_ADJUNCTS = frozenset("unless when only_if only_after after before until".split())


def _with_object(norm: Norm, tree: Tree) -> Norm:
    """The norm of an act that is done only to what is described so."""
    parts = _below(tree)
    chunk = _text(parts[0]) if parts[0].data == "chunk" else ""
    facts = _mods([part for part in parts if part.data != "chunk"], chunk)
    if len(norm.acts.parts) != 1 or norm.acts.mods or not facts:
        raise Unread("'only' was required to stand before one thing and what it is like")
    acts = replace(norm.acts, parts=(f"{norm.acts.parts[0]} {chunk}".strip(),))
    return replace(norm, kind="permit_only_if", acts=acts, requires=facts[0] if len(facts) == 1 else Every(facts))


def _conditioned(norm: Norm, adjuncts: Sequence[Tree], *, only: bool = False) -> Norm:
    """The norm under what stands before or behind it; with `only`, "may only be done" if or after it."""
    for adjunct in adjuncts:
        name, fact = str(adjunct.data), _fact(_below(adjunct)[0])
        permits = norm.kind in ("permit", "permit_only_if")
        if name in ("after", "only_after", "before", "until"):
            if isinstance(fact, Every | Some):
                raise Unread(f"one thing behind {name.replace('_', ' ')!r} was required")
            if name == "before" and norm.kind == "oblige":
                norm = _first(norm, fact)
                continue
            if isinstance(fact, Not):
                raise Unread(f"what is not so, behind {name.replace('_', ' ')!r}, has no one meaning")
            fact = Earlier(fact)
        if name in ("when", "after") and norm.kind in ("forbid", "oblige"):
            norm = replace(norm, when=(*norm.when, fact))
        elif only and name in ("when", "after") and permits:
            norm = _requiring(norm, fact)
        elif (name in ("only_if", "only_after") and permits) or (name in ("before", "until") and norm.kind == "forbid"):
            norm = _requiring(norm, fact)
        elif name == "unless" and norm.kind in ("forbid", "permit_only_if"):
            norm = replace(norm, requires=Some((norm.requires, fact)) if norm.requires else fact)
        elif name == "unless" and norm.kind == "permit":
            norm = _requiring(norm, Not(fact))
        else:
            raise Unread(f"{name.replace('_', ' ')!r} has no one meaning here")
    return norm


def _requiring(norm: Norm, fact: Fact) -> Norm:
    if norm.requires is not None:
        raise Unread("two conditions that may stand for one another")
    kind = "permit_only_if" if norm.kind == "permit" else norm.kind
    return replace(norm, kind=kind, requires=fact)


def _first(norm: Norm, later: Fact) -> Norm:
    """The duty to do something before an act, as what the act requires."""
    if not isinstance(later, Leaf) or later.limit or norm.acts.joint or norm.acts.mods or norm.whose or norm.when:
        raise Unread("one act before one other was required")
    if norm.requires is not None:
        raise Unread("two conditions that may stand for one another")
    (done,) = norm.acts.parts
    return Norm("permit_only_if", Acts((later.words,)), requires=Earlier(Leaf(done)), who=norm.who)


def _who(tree: Tree) -> tuple[str, tuple[Fact, ...]]:
    chunk, *mods = _below(tree)
    return _text(chunk), _mods(mods, _text(chunk))


def _narrowing(who: str) -> tuple[Fact, ...]:
    """What the words of a subject themselves say of it: "domestic users"."""
    return (Leaf(" ".join(lexicon.content(who))),) if lexicon.content(who) else ()


def _acts(tree: Tree) -> Acts:
    series, *mods = _below(tree)
    parts = tuple(map(_text, _below(series)))
    joints = {str(t).strip(", ") for t in series.children if isinstance(t, Token)} - {""}
    if len(parts) > 1 and len(joints) != 1:
        raise Unread("acts joined by one of 'or' and 'and' were required")
    return Acts(parts, joints.pop() if joints else "", _mods(mods, parts[-1]))


def _mods(mods: Sequence[Tree], about: str) -> tuple[Fact, ...]:
    """What restricts the thing that the mods stand behind."""
    found: list[Fact] = []
    for mod in mods:
        parts = _below(mod)
        match str(mod.data):
            case "relative":
                found.append(_fact(parts[0], about))
            case "relative_own":
                found.append(_predicate(parts[0], "", about))
            case "lacking":
                found.append(Not(Leaf(f"having {_text(parts[0])}", about)))
            case "having":
                found.append(Leaf(f"having {_text(parts[0])}", about))
            case "limited":
                found.append(Leaf("", about, _limit(parts[0])))
    return tuple(found)


def _fact(tree: Tree, about: str = "") -> Fact:
    match str(tree.data):
        case "every" | "some" as joint:
            parts = _below(tree)
            subject = _text(_below(parts[0])[0]) if len(_below(parts[0])) > 1 else about
            facts = tuple(_predicate(p, subject) if p.data in ("so", "not_so") else _fact(p, about) for p in parts)
            if isinstance(facts[0], Not) and any(part.data == "clause" for part in parts[1:]):
                raise Unread("whether what is not so is one of two things, or both, is not said")
            return Every(facts) if joint == "every" else Some(facts)
        case "fact":
            return _fact(_below(tree)[0], about)
        case "clause":
            return Leaf(_text(_below(tree)[0]), about)
        case "said":
            chunk, predicate = _below(tree)
            return _predicate(predicate, _text(chunk), about)
        case "measured":
            chunk, limit = _below(tree)
            return Leaf("", _text(chunk), _limit(limit))
        case "nobody":
            return Not(Leaf(f"somebody {_text(_below(tree)[0])}", about))
    return _predicate(tree, about)


def _predicate(tree: Tree, subject: str, about: str = "") -> Fact:
    (state,) = _below(tree)
    fact = _state(state, subject, about)
    return Not(fact) if tree.data == "not_so" else fact


def _state(state: Tree, subject: str, about: str = "") -> Fact:
    """What is said of a subject; `about` is what a relative clause is hung on."""
    parts = [state] if state.data == "chunk" else _below(state)
    if parts[-1].data == "compared":
        of = f"{subject or about} {_text(parts[0]) if len(parts) > 1 else ''}"
        return Leaf("", of.strip(), _limit(parts[-1]))
    return Leaf(f"{subject} {_text(parts[0])}".strip(), about)


def _limit(tree: Tree) -> Limit:
    (op,) = [OPERATORS[t.type] for t in tree.children if isinstance(t, Token)]
    amount, *chunk = _below(tree)
    signs = {t.type: str(t) for t in amount.children}
    unit = signs.get("MONEY", signs.get("PERCENT", ""))
    return Limit(op, lexicon.number(signs["NUMBER"]), unit, _text(chunk[0]) if chunk else "")


def _below(tree: Tree) -> list[Tree]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _text(tree: Tree) -> str:
    return " ".join(map(str, tree.children))
