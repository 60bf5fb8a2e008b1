"""Only, at most, at least: what exclusive words and limits demand of an action or of a thing."""

from __future__ import annotations

import re
from typing import NamedTuple

from wb.offline import conditions, lexicon, modality, phrases
from wb.offline.conditions import Condition, Phrase, every, leaf, negate, parse

STATIVE = re.compile(
    r"(?:(?:only|also|already|always)\s+)*"
    r"(?P<verb>be|have|hold|own|contain|include|exceed|last|cost|weigh|consist of|remain|match|"
    r"possess|exist|fit|use(?= (?:at most|no more|up to)))\b\s*",
    re.I,
)
_PREPOSED = re.compile(
    r"(?:for|to|by|with|from|in|within|during|on|at|between|via|through|as|under|into|before|after|while)\b\s*", re.I
)
_LIMIT = re.compile(
    r"\b(?:at (?:the )?most|no more than|not more than|up to|maximum|at (?:the )?least|no fewer than|"
    r"no less than|minimum|a maximum|limited to|"
    r"exactly|fewer than|less than|smaller than|shorter than|under|below)\b",
    re.I,
)


class Exclusive(NamedTuple):
    """Actions, what narrows them, what they require.

    `conditional`: a plain "if" of the sentence counts as "only if"; `fallback`: what the modifiers of the
    object demand, should the sentence hold no condition at all.
    """

    actions: tuple[str, ...]
    narrowed: list[Condition]
    required: list[Condition]
    conditional: bool = False
    fallback: tuple[str, tuple[Condition, ...]] = ("", ())


def only(sentence: modality.MainClause) -> Exclusive | None:
    """The reading of "only" in a permission or an order; None where there is none."""
    subject, rest = sentence.subject, sentence.rest
    if re.match(r"only\s+", subject, re.I):
        return _only_subject(re.sub(r"\Aonly\s+", "", subject, flags=re.I), rest)
    found = re.match(r"(?P<before>.*?)(?<![\w-])only\s+(?P<what>.+)\Z", rest, re.I | re.S)
    if not found and re.search(r"\bonly\b", sentence.modal, re.I):
        found = re.match(r"(?P<before>)(?P<what>.+)\Z", rest, re.S)
    if not found:
        return None
    before, what = found["before"].strip(), found["what"].strip()
    if re.search(r"\b(?:not|the|an?|his|her|their|my|your)\s*\Z", before, re.I):
        return None
    if _PREPOSED.match(what) and not before and not subject:
        return Exclusive((), [], [_purpose(what)])
    if _PREPOSED.match(what) and before and before.lower() != "be":
        actions, narrowed = phrases.actions(subject, before)
        return Exclusive(actions, narrowed, [_purpose(what)])
    if not before or before.lower() == "be" or phrases.passive(f"{before} {what}"):
        return _only_verb(subject, f"{before} {what}".strip())
    return _only_object(subject, before, what)


def limit(sentence: modality.MainClause, *, negated: bool) -> Exclusive | None:
    """A limit or a state that a sentence demands of a thing or an action.

    "An order must not contain more than ten items", "An order can contain at most ten items", "A file
    may be kept for at most 30 days"; None where the sentence is of another form.
    """
    subject, rest = sentence.subject, sentence.rest
    stative, passive = STATIVE.match(rest), phrases.passive(rest)
    quantity = lexicon.find(rest)
    about = () if phrases.of_actor(subject)[0] else nouns(subject)
    if stative and not passive and (quantity or (negated and subject and about)):
        condition = _state(subject, rest, stative)
        return Exclusive(about, [], [negate(condition) if negated else condition])
    if (
        negated
        or quantity is None
        or quantity.op not in ("<=", ">=", "<", "==")
        or not _LIMIT.search(rest[quantity.start : quantity.end])
    ):
        return None
    if re.search(rf"\b(?:up to|at most|until)\b.*?\b(?:{lexicon.DURATION})\s+(?:before|prior)\b", rest, re.I):
        return Exclusive((), [], [])  # "up to two days before" means at least: no reading is better than the wrong one
    actions, narrowed = phrases.actions(subject, rest)
    kept = [c for c in narrowed if not (isinstance(c, Phrase) and lexicon.find(c.text))]
    return Exclusive(actions, kept, [c for c in narrowed if c not in kept] or [Phrase(rest[quantity.start :], subject)])


def state_of(subject: str, rest: str) -> Condition:
    """The condition in "subject must be/have … rest", as a positive statement."""
    stative = STATIVE.match(rest)
    if stative and lexicon.find(rest):
        return _state(subject, rest, stative)
    plural = bool(re.match(r"(?:all|both|the \w+s\b|\w+s\b)", subject, re.I))
    text = re.sub(
        r"\A((?:\w+ly\s+|also\s+|already\s+|always\s+)*)be\b", r"\1are" if plural else r"\1is", rest, flags=re.I
    )
    return parse(f"{subject} {text}".strip())


def nouns(subject: str) -> tuple[str, ...]:
    """The thing that a sentence speaks of, as the only trace of its actions: with "the", as no verb phrase has it."""
    bare = re.sub(r"\A(?:(?:each|every|any|all|the|an?|no|both)\s+)+", "", subject.strip(), flags=re.I)
    return (f"the {bare}",) if bare and bare.lower() not in ("it", "this", "there", "they", "these") else ()


def _state(subject: str, rest: str, stative: re.Match[str]) -> Condition:
    """One or several comparisons of a thing: "at most one X, at most two Y and at least one Z"."""
    verb = stative["verb"].lower()
    tail = rest if verb in ("exceed",) else rest[stative.end() :]
    bare = re.sub(r"\A(?:(?:each|every|any|all|the|an?|no)\s+)+", "", subject, flags=re.I)
    if not lexicon.find(tail):
        present = {"be": "is", "have": "has"}.get(verb, f"{verb}s")
        return parse(f"{bare} {present} {tail}".strip())
    parts = re.split(rf",\s*(?:and\s+)?(?={_LIMIT.pattern})|\s+and\s+(?={_LIMIT.pattern})", tail, flags=re.I)
    return every([Phrase(part.strip(" ,"), bare) for part in parts if part.strip(" ,")]) or Phrase(tail, bare)


def _only_subject(subject: str, rest: str) -> Exclusive:
    """ "Only S may A"; in a passive, "only NP may be V-ed" narrows the thing."""
    is_actor, condition = phrases.of_actor(subject)
    passive = phrases.passive(rest)
    if modality.quantified(subject):
        thing = re.sub(r"\A(?:a single|\w+)\s+", "", subject)
        actions = (f"{passive.verb} {thing}",) if passive else phrases.actions("", rest)[0]
        return Exclusive(actions, [], [Phrase(f"at most {subject} {passive.tail if passive else ''}".strip())])
    if is_actor or not passive:
        actions, narrowed = phrases.actions("", rest)
        return Exclusive(actions, narrowed, [condition if condition is not None else parse(subject)])
    noun, found = phrases.of_noun(subject)
    if not found:
        noun, found = _modifiers(noun)
    return Exclusive((f"{passive.verb} {noun} {passive.tail}".strip(),), [], found)


def _only_verb(subject: str, vp: str) -> Exclusive:
    """ "may only V …": the object's relative clause, its preposition or its number is what is required."""
    passive = phrases.passive(vp) if not phrases.of_actor(subject)[0] else None
    words = vp
    if passive:
        thing = re.sub(r"^(?:the|an?|all|any|each|every) ", "", subject, flags=re.I)
        words = f"{passive.verb} {thing} {passive.tail}".strip()
    who = [] if passive else phrases.actions(subject, "x")[1]
    core, narrowed = phrases.of_object(words)
    if narrowed:
        return Exclusive(phrases.split_verbs(core), who, narrowed)
    times = re.match(r"(?P<act>.+?)\s+(?P<count>once|twice)\b(?P<tail>.*)", words, re.I)
    if times and "," in times["tail"]:
        return Exclusive((), [], [])  # another clause follows: what it says is not read
    if times:
        return Exclusive(
            phrases.split_verbs(times["act"]), who, [Phrase(f"at most {times['count']}{times['tail']}", times["act"])]
        )
    number = re.match(rf"(?P<verb>\w+)\s+(?P<count>(?:{lexicon.COUNT}|a single|\d+)\b.*)", words, re.I)
    if number:
        counted = re.sub(r"\Aa single", "one", number["count"])
        return Exclusive(
            (f"{number['verb']} {re.sub(rf'^(?:{lexicon.COUNT}|[0-9]+) ', '', counted)}",),
            who,
            [Phrase(f"at most {counted}")],
        )
    spot = re.search(rf"\s(?={_PREPOSED.pattern})", words, re.I)
    if spot and spot.start() > 0:
        return Exclusive(phrases.split_verbs(words[: spot.start()]), who, [_purpose(words[spot.end() :])], True)
    verb, _, noun = words.partition(" ")
    core, modifiers = _modifiers(noun) if noun else ("", [])
    return Exclusive(phrases.split_verbs(words), who, [], True, (f"{verb} {core}".strip(), tuple(modifiers)))


def _only_object(subject: str, before: str, what: str) -> Exclusive:
    """ "V only NP …": NP's relative clause, else its modifiers, else NP itself."""
    noun, found = phrases.of_object(f"{before} {what}")
    if not found:
        core, found = _modifiers(what)
        noun = f"{before} {core}"
    return Exclusive(phrases.split_verbs(noun), phrases.actions(subject, "x")[1], found)


def _modifiers(noun: str) -> tuple[str, list[Condition]]:
    """A noun without what stands behind or before it, and that as a condition on it."""
    plain = re.sub(r"\A(?:the|an?|those|such)\s+", "", noun.strip(), flags=re.I)
    behind = re.match(
        r"(?P<head>[\w'-]+(?:\s+[\w'-]+)?)\s+(?P<post>(?:\w{2,}ed|from|in|on|with|without|by|of|within|under|over)\b.+)",
        plain,
    )
    if behind:
        return behind["head"], [leaf(f"{behind['head']} {behind['post']}")]
    words = plain.split()
    if len(words) > 1:
        return words[-1], [leaf(" ".join(words[:-1]), plain)]
    return plain, [Phrase(plain)]


def _purpose(words: str) -> Condition:
    """What follows "only for", "only with", …: the narrowing of an actor, else the words themselves."""
    found = _PREPOSED.match(words)
    is_actor, condition = phrases.of_actor(words[found.end() :]) if found else (False, None)
    if is_actor and condition is not None:
        return condition
    if found and found.group().strip().lower() in ("with",):
        return conditions.parse(words[found.end() :])
    return parse(words)
