"""Verb phrases: passives made active, coordinated verbs taken apart, gerunds put in plain form.

An action is always handed on as "verb object": "be deleted" of "a file" becomes "delete a file".
"""
from __future__ import annotations

import re
from typing import NamedTuple

from wb import phrases, restriction
from wb.conditions import ACTOR, Condition, Earlier, Every, Phrase, parse
from wb.modality import VERBS

_ADVERBS = r"(?:(?:only|also|already|always|never|first|then|ever|explicitly|not|\w+ly)\s+)*"
_PASSIVE = re.compile(rf"{_ADVERBS}(?:be|get|been|being)\s+{_ADVERBS}(?P<verb>[a-z-]+)(?P<tail>.*)\Z", re.I | re.S)
_IRREGULAR_PARTICIPLE = frozenset("""made done sent kept held sold told paid bought given taken shown written chosen read put set left lost met found
 brought built spent spoken driven flown broken hidden begun run understood drawn known seen gone bound fed led lent cut hit shut split
 quoted overridden withdrawn withheld forgotten frozen stolen sworn thrown reset cast spread forwarded""".split())
_STATES = frozenset("""related limited detailed tired interested concerned aged advanced based united needed required located entitled allowed permitted
 supposed expected used-to logged-in signed-in allowed""".split())
_ALSO_NOUN = frozenset("""refund book credit report request order record review display document email contact limit list log mark mask match process
 purchase quote schedule search set stop test track transfer treat upgrade update use upload download visit answer charge check block call
 change copy end export grant import issue print release repeat reply reset return run scan start state sort view wait advice access
 address show share place offer help handle notice claim deal design form name plan post pay place""".split())
_ALONE = frozenset("stop wait pause proceed continue finish end exit quit refuse abort smoke drink eat sleep work speak".split())
CAUSING = frozenset("use ask tell require force allow permit make need expect encourage invite remind instruct".split())
_DETERMINED = re.compile(r"(?:(?:a|an|the|any|all|each|every|no|only|both|some|its|their|his|her|your)\s+)+", re.I)
_EVENT = re.compile(r"\A(?:any\s+)?(?:(?:taking|performing|making|executing|carrying out|calling)\s+)?(?:any\s+|an\s+|the\s+)?(?:consequential\s+|such\s+)?actions?\b[^(]*\((?P<list>[^)]+)\)", re.I)


_MORE_DONE = re.compile(r"(?:,\s*(?:and|or)?|\s*(?:and|or))\s+(?P<verb>[a-z-]+)(?P<tail>\b.*)\Z", re.I)


class Passive(NamedTuple):
    """The verb of a passive in plain form, and what follows it."""

    verb: str
    tail: str


def passive(rest: str) -> Passive | None:
    """The verb and the tail of "be V-ed …"; None where no participle follows."""
    found = _PASSIVE.match(rest)
    if not found:
        return None
    word = found["verb"].lower()
    participle = word in _IRREGULAR_PARTICIPLE or (word.endswith("ed") and word not in _STATES and len(word) > 3 and word != "need")
    return Passive(phrases.lemma(word), found["tail"].strip(" ,")) if participle else None


def _done(found: Passive, noun: str) -> tuple[str, ...]:
    """"be tagged and signed" of a thing as one action a participle."""
    more = _MORE_DONE.match(found.tail)
    second = passive(f"be {more['verb']}") if more else None
    if second is None:
        return (" ".join(f"{found.verb} {noun} {found.tail}".split()),)
    return (f"{found.verb} {noun}", *_done(Passive(second.verb, more["tail"].strip(" ,")), noun))


def actions(subject: str, rest: str) -> tuple[tuple[str, ...], list[Condition]]:
    """The actions of "subject … rest", any of which is meant, and what narrows their subject and object."""
    found = passive(rest)
    if found and not restriction.of_actor(subject)[0]:
        noun, narrowed = restriction.of_noun(subject)
        first, *others = _done(found, _bare(noun))
        core, more = restriction.of_object(first)
        return (*split_verbs(core), *others), [*narrowed, *more]
    narrowed = _who(subject)
    core, more = restriction.of_object(_plain(rest))
    return split_verbs(core), [*narrowed, *more]


def duties(subject: str, rest: str) -> tuple[tuple[str, ...], list[Condition]]:
    """The actions that are demanded, each of them, and what narrows the thing they are done to."""
    found = passive(rest)
    if found and subject:
        noun, narrowed = restriction.of_noun(subject) if not restriction.of_actor(subject)[0] else (subject, [])
        return _done(found, _bare(noun)), narrowed
    return tuple(part for vp in split_verbs(_plain(rest)) for part in _split_objects(vp)), []


def first_then(rest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """"first Z, then W": the actions Z and the actions W (none where nothing follows)."""
    text = re.sub(r"\Afirst,?\s+", "", rest.strip(), flags=re.I)
    first, _, later = (re.split(r",?\s+(?:and\s+)?(?:only\s+)?then\s+", text, maxsplit=1) + ["", ""])[:3] if " then " in text else (text, "", "")
    if " then " in text:
        later = re.split(r",?\s+(?:and\s+)?(?:only\s+)?then\s+", text, maxsplit=1)[1]
    return duties("", first)[0], duties("", later)[0] if later else ()


def split_verbs(vp: str) -> tuple[str, ...]:
    """"buy or rent X" as "buy X" and "rent X"; "do X and make Y" as two, where Y has a verb of its own."""
    vp = _plain(vp)
    shared = re.match(r"(?P<verbs>\w+(?:,\s*\w+)*,?\s*(?:/|\s(?:or|and|and/or|nor)\s)\s*\w+)\b\s+(?P<object>.+)", vp)
    if shared:
        verbs = [v for v in re.split(r",\s*|\s*/\s*|\s+(?:or|and|and/or|nor)\s+", re.sub(r",\s*(?=(?:or|and|nor)\b)", " ", shared["verbs"])) if v]
        if all(_is_verb(v) for v in verbs[1:]) or re.match(_DETERMINED, shared["object"]):
            return tuple(v if v.lower() in _ALONE else f"{phrases.verb_first(v)} {shared['object']}" for v in verbs[:-1]) + (f"{verbs[-1]} {shared['object']}",)
    parts, start = [], 0
    for joint in re.finditer(r",?\s+(?:or|and|nor|and/or)\s+(?:to\s+)?(?:then\s+)?|,\s+", vp):
        word = re.match(r"([A-Za-z-]+)\s+(?=\S)", vp[joint.end():])
        outside = vp[: joint.start()].count("(") == vp[: joint.start()].count(")")
        noun = word and word.group(1).lower() in _ALSO_NOUN and not _DETERMINED.match(vp[joint.end() + word.end():])
        if word and outside and _is_verb(word.group(1)) and not noun and not re.match(r"(?:of|or|and|for|to|in|on|from)\b", vp[joint.end() + word.end():]):
            parts.append(vp[start:joint.start()])
            start = joint.end()
    parts.append(vp[start:])
    return tuple(_plain(part.strip(" ,")) for part in parts if part.strip(" ,"))


def as_verb(text: str) -> str:
    """A subject that names an action, as a verb phrase: "Booking a room" and "room changes" by their verbs."""
    words = _bare(text.strip()).split()
    if len(words) > 2 and words[1].lower() == "of" and words[0].lower() in VERBS:
        return f"{words[0].lower()} {' '.join(words[2:])}"
    if 1 < len(words) <= 4 and words[-1].lower() not in VERBS and phrases.lemma(words[-1].lower()) in VERBS and not words[0].lower().endswith("ing"):
        return f"{phrases.lemma(words[-1].lower())} {' '.join(words[:-1]).lower()}"
    return phrases.verb_first(re.sub(r"\A(?:the\s+act\s+of\s+|any\s+|the\s+|an?\s+)?", "", text.strip(), flags=re.I))


def event(words: str) -> tuple[str, ...]:
    """The actions that an event names: "placing an order", "any action that … (a, b or c)", "payment"."""
    listed = _EVENT.match(words)
    if listed:
        items = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", listed["list"])
        return tuple(as_verb(item) for item in items if item.strip())
    being = re.match(r"(?:it|they|(?P<noun>(?:the|an?|any) [\w' -]+?))\s+(?:is|are|was|were|has been|have been)\s+(?P<tail>.+)", words, re.I) \
        or re.match(r"(?P<noun>)being\s+(?P<tail>.+)", words, re.I)
    done = passive(f"be {being['tail']}") if being else None
    if done:
        return (" ".join(f"{done.verb} {_bare(being['noun'] or '')} {done.tail}".split()),)
    clause = re.match(rf"(?:the\s+|a\s+)?{ACTOR}\s+(?P<act>[a-z]+(?:s|es)?\s+.+)", words, re.I)
    if clause:
        head, _, tail = clause["act"].partition(" ")
        return split_verbs(f"{phrases.lemma(head.lower())} {tail}")
    return split_verbs(as_verb(words))


def happened(words: str) -> Condition:
    """What stands behind "without": an action not done before ("asking the user"), or a thing not there."""
    text = words.strip()
    if re.match(r"(?:first\s+|having\s+|explicitly\s+|previously\s+)*[a-z]{2,}ing\b", text, re.I):
        text = re.sub(r"\A(?:first|previously)\s+", "", text, flags=re.I)
        having = re.match(r"having\s+(?:first\s+)?", text, re.I)
        parts = [Earlier(Phrase(vp)) for vp in split_verbs(text[having.end():] if having else as_verb(text))]
        return parts[0] if len(parts) == 1 else Every(tuple(parts))
    return parse(re.sub(r"\A(?:any|prior)\s+", "", text, flags=re.I))


def _who(subject: str) -> list[Condition]:
    """What a subject says of who acts; a subject that is no neutral actor is itself the condition."""
    subject = re.sub(r"\A(?:as\s+[^,]+,\s*)", "", subject.strip(), flags=re.I)
    if not subject or subject.lower() in ("it", "this", "there"):
        return []
    is_actor, condition = restriction.of_actor(subject)
    if is_actor:
        return [condition] if condition is not None else []
    noun, narrowed = restriction.of_noun(subject)
    return [parse(_bare(noun)), *narrowed] if _bare(noun) else narrowed


def _split_objects(vp: str) -> tuple[str, ...]:
    """"obtain the X, the Y, and the Z" as three, where each object has its article."""
    verb, _, objects = vp.partition(" ")
    parts = re.split(r",\s*(?:and\s+)?(?=(?:the|a|an)\s)|\s+and\s+(?=(?:the|a|an)\s)", objects) if "(" not in objects.split(",")[0] else [objects]
    return tuple(f"{verb} {part.strip(' ,')}" for part in parts) if len(parts) > 1 else (vp,)


def _plain(rest: str) -> str:
    return phrases.verb_first(re.sub(r"\A(?:not\s+|ever\s+|please\s+|you\s+)+", "", rest.strip(), flags=re.I))


def _bare(noun: str) -> str:
    """A noun phrase without its determiners."""
    return _DETERMINED.sub("", noun.strip(), count=1) if _DETERMINED.match(noun.strip()) else noun.strip()


def _is_verb(word: str) -> bool:
    return word.lower() in VERBS or (word.lower().endswith("ing") and phrases.lemma(word.lower()) in VERBS)
