"""Verb phrases and noun phrases: the plain action in a clause, what narrows it, and what its words stand for.

An action is always handed on as "verb object": "be deleted" of "a file" becomes "delete a file", coordinated
verbs are taken apart, gerunds put in plain form.  What restricts a subject or an object ("users who …",
"more than 20 recipients", "under 18") becomes a condition.  "It", defined terms and doers named by their
deeds are replaced by what they stand for.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wb.offline import conditions, lexicon
from wb.offline.conditions import ACTOR, Condition, Earlier, Every, Negated, Phrase, every, mapped, negate, parse
from wb.offline.modality import VERBS

_DETERMINER = r"(?:(?:a|an|the|any|all|each|every|no|only|such|those|these|some|its|their|his|her|your|both)\s+)*"
_RELATIVE = re.compile(
    r"[ ,]+(?:to\s+|of\s+|for\s+|in\s+|with\s+|on\s+)?(?P<pronoun>who|that|which|whom|whose)\s+(?P<clause>.+)\Z",
    re.I | re.S,
)
_PERSON = re.compile(
    r"(?:ees?|[cst]ors?|ants?|ists?|ians?|staff|guests?|children|child|adults?|minors?|parents?|students?|"
    r"managers?|employers?|owners?|holders?|"
    r"workers?|teachers?|controllers?|processors?|providers?|deployers?|manufacturers?|importers?|publishers?|"
    r"developers?|reviewers?|visitors?|buyers?|sellers?|suppliers?|senders?|officers?|nurses?|lawyers?|"
    r"vendors?|directors?)\Z",
    re.I,
)
_NO_PERSON = frozenset(
    """
        fee fees list lists committee guarantee guarantees factor factors sector sectors monitor monitors error errors
        grant grants variant variants constant relevant
    """.split()
)
_REDUCED = re.compile(
    r"\s+(?:not\s+)?(?:\w{3,}ed|given|shown|made|written|sent|held|chosen)\s+(?:by|through|via)\s+.+\Z", re.I | re.S
)
_LACKING = re.compile(
    r"\s+(?:without|lacking|(?:with|having|holding|carrying)\s+(?:no|neither)|"
    r"not\s+(?:yet\s+|currently\s+|already\s+)?(?:\w{2,}(?:ing|ed|en|wn|de|nt|ld|id|pt)|in|under|of))\b.*\Z",
    re.I | re.S,
)
_OBJECT_GAP = re.compile(rf"(?:the|an?|any|its|their|our|your|his|her|no|all|{ACTOR})\b\s+", re.I)
_ONE_THING = r"(?:a|an|the|their|his|her|its|your|our)"
_HEAD_ACTOR = re.compile(
    rf"\A{_DETERMINER}(?P<pre>(?:[\w'/-]+(?:\s*,\s*|\s+(?:or|and)\s+|\s+)){{0,6}}?)(?P<actor>{ACTOR})\b(?P<post>.*)\Z",
    re.I | re.S,
)
_FOR_ACTOR = re.compile(
    rf"\s+(?:for|on behalf of|to|from|by)\s+(?=(?:a|an|any|the|all)?\s*(?:[\w'-]+\s+){{0,3}}?{ACTOR}\b)", re.I
)


def of_actor(subject: str) -> tuple[bool, Condition | None]:
    """Whether a subject is a neutral actor ("users", "the agent"), and what narrows it.

    `("Users under 18")` gives `(True, Phrase("under 18"))`; `("An order")` gives `(False, None)`.
    """
    if re.fullmatch(rf"{_DETERMINER}{ACTOR}(?:\s+(?:or|and)\s+{_DETERMINER}{ACTOR})+", subject.strip(), re.I):
        return True, None
    found = _HEAD_ACTOR.match(subject.strip())
    if not found:
        return False, None
    pre, post = found["pre"].strip(" ,"), found["post"].strip(" ,")
    if re.search(r"\b(?:that|which|who|of|in|on|for|to|with|from|by|without|under)\b", pre, re.I) or re.match(
        r"'s?\b|s?'", post
    ):
        return False, None
    parts: list[Condition] = []
    if pre and pre.lower() not in (
        "booking",
        "given",
        "current",
        "same",
        "requesting",
        "human",
        "web",
        "signed-in",
        "ai",
    ):
        parts.append(parse(pre))
    if post:
        parts.append(_behind_actor(post))
    return True, every(parts)


def is_person(subject: str) -> bool:
    """Whether the head of a subject is a word for somebody who acts: "employees", "a guardian"."""
    head = re.sub(_DETERMINER, "", subject.strip(), count=1, flags=re.I).split(" who ")[0].split(" with")[0].split()
    word = head[-1].lower() if head else ""
    return bool(_PERSON.search(word)) and word not in _NO_PERSON


def of_object(phrase: str) -> tuple[str, list[Condition]]:
    """An action phrase without its relative clause, its narrowed recipient and its comparison, and these."""
    found: list[Condition] = []
    relative = _RELATIVE.search(phrase)
    if relative and not re.search(
        r"\b(?:so|such|ensure|sure|confirm|verify|check|say|state|tell|inform|know|explain|fact|show|indicate|proof|"
        r"evidence|confirmation|assurance|notice|belief|assumption)"
        r"(?:\s+(?:him|her|them|the user|users))?\s*,?\s*\Z",
        phrase[: relative.start()],
        re.I,
    ):
        found.append(
            _relative(phrase[: relative.start()], relative["clause"], whose=relative["pronoun"].lower() == "whose")
        )
        phrase = phrase[: relative.start()]
    else:
        reduced = _REDUCED.search(phrase)
        if reduced and " " in phrase[: reduced.start()].strip():
            noun = head_noun(phrase[: reduced.start()])
            found.append(parse(f"{noun} is {reduced.group().strip()}"))
            phrase = phrase[: reduced.start()]
        elif (lacking := _LACKING.search(phrase)) and head_noun(phrase[: lacking.start()]):
            found.append(parse(f"{bare(head_noun(phrase[: lacking.start()]))} {lacking.group().strip()}"))
            phrase = phrase[: lacking.start()]
    recipient = _FOR_ACTOR.search(phrase)
    if recipient:
        is_actor, condition = of_actor(phrase[recipient.end() :])
        if is_actor and condition is not None:
            found.append(condition)
            phrase = phrase[: recipient.start()]
    return _comparison(phrase, found)


def of_noun(phrase: str) -> tuple[str, list[Condition]]:
    """A noun phrase that is not an actor, without its relative clause, and this as a condition."""
    found: list[Condition] = []
    relative = _RELATIVE.search(phrase)
    if relative:
        found.append(_relative(f"x {phrase[: relative.start()]}", relative["clause"]))
        phrase = phrase[: relative.start()]
    elif lacking := _LACKING.search(phrase):
        found.append(parse(bare(phrase)))
        phrase = phrase[: lacking.start()]
    core, found = _comparison(f"x {phrase}", found)
    return re.sub(r"\Ax\s*", "", core), found


def lacks(phrase: str) -> bool:
    """Whether a noun phrase says what is not there: "without …", "not holding …", and no relative clause follows it."""
    return _LACKING.search(phrase) is not None and not _RELATIVE.search(phrase)


def head_noun(phrase: str) -> str:
    """The noun phrase at the end of a verb phrase, with its article: what a relative clause is about."""
    last = re.split(r"\b(?:to|of|on|in|at|from|with|for|by|into|through|via|and|or)\s+", phrase.strip())[-1]
    article = re.search(r"\b(?:the|a|an|any|all|only|every|each|no|its|their)\s+.*\Z", last, re.I)
    if article:
        return re.sub(r"\A(?:only|no)\s+", "", article.group(), flags=re.I).strip()
    words = last.split()
    if len(words) == 1 and last == phrase.strip():
        return ""
    return " ".join(words[1:] if len(words) > 1 and last == phrase.strip() else words)


def bare(noun: str) -> str:
    """A noun phrase without its determiners."""
    return re.sub(rf"\A{_DETERMINER}", "", noun.strip(), count=1, flags=re.I)


def resolve(condition: Condition, antecedent: str) -> Condition:
    """The condition with "it" and "them" replaced by the noun phrase that they stand for."""
    plain = re.sub(r"\A(?:only|no|each|every|all|any)\s+", "", antecedent, flags=re.I)
    if not plain or re.match(rf"\A{_DETERMINER}{ACTOR}\Z", plain, re.I):
        return condition
    pronoun = re.compile(r"(?<!how )\b(?:it|them)\b", re.I)
    return mapped(condition, lambda leaf: Phrase(pronoun.sub(plain, leaf.text), leaf.about)) or condition


def _behind_actor(post: str) -> Condition:
    """What stands behind an actor: a relative clause, "without …", "under 18", "in the country"."""
    relative = re.match(r"(?:who|that|which|whose)\s+", post, re.I)
    if relative:
        return parse(post[relative.end() :], about="the user")
    without = re.match(r"(?:without|lacking|(?:with|having|holding) no)\s+(?:any\s+)?", post, re.I)
    if without:
        return negate(parse(f"has {post[without.end() :]}"))
    possessing = re.match(r"(?:with|having|holding)\s+", post, re.I)
    if possessing:
        return parse(f"has {post[possessing.end() :]}")
    return parse(post)


def _relative(before: str, clause: str, *, whose: bool = False) -> Condition:
    """A relative clause as a full condition, its noun put back where it is missing."""
    if whose:
        return parse(clause)
    noun = head_noun(before)
    if not _OBJECT_GAP.match(clause):
        return parse(f"{noun} {clause}")
    condition = parse(clause)
    return _with_object(condition, noun)


def _with_object(condition: Condition, noun: str) -> Condition:
    match condition:
        case Phrase(text, about):
            spot = re.search(r"\b(?:as|to|for|in|on|with|from|at|by)\b\s", text)
            at = spot.start() if spot else len(text)
            return Phrase(" ".join(f"{text[:at].strip()} {noun} {text[at:]}".split()), about)
        case Negated(body):
            return Negated(_with_object(body, noun))
    return condition


def _comparison(phrase: str, found: list[Condition]) -> tuple[str, list[Condition]]:
    """Take "above $500", "to more than 20 recipients" out of a phrase."""
    quantity = lexicon.find(phrase)
    if quantity is None:
        return phrase.strip(" ,"), found
    before = re.sub(
        r"\s*\b(?:to|for|of|with|in|by|from|aged|over a|worth|costing|priced at)\s*\Z",
        "",
        phrase[: quantity.start].rstrip(),
    )
    noun = head_noun(before) if before else ""
    rest = phrase[quantity.start :]
    tail = re.search(r"\s+(?:to|for|from|in|on|at|with|into|by)\s+(?!a time)", rest[quantity.end - quantity.start :])
    counted = re.match(r"\s+(?P<noun>[a-z][\w'-]+)", rest[quantity.end - quantity.start :], re.I)
    if (
        counted
        and not noun
        and before
        and counted["noun"].lower() not in ("to", "for", "from", "in", "on", "at", "with", "per", "into", "by")
    ):
        before = f"{before} {counted['noun']}"
    cut = quantity.end - quantity.start + tail.start() if tail else len(rest)
    found.append(Phrase(rest[:cut].strip(), noun or re.sub(r"\Ax\s*", "", before)))
    return f"{before} {rest[cut:].strip()}".strip(" ,"), found


_ADVERBS = r"(?:(?:only|also|already|always|never|first|then|ever|explicitly|not|\w+ly)\s+)*"
_PASSIVE = re.compile(
    rf"{_ADVERBS}(?:be|get|been|being)\s+(?P<how>{_ADVERBS})(?P<verb>[a-z-]+)(?P<tail>.*)\Z", re.I | re.S
)
_IRREGULAR_PARTICIPLE = frozenset(
    """
        made done sent kept held sold told paid bought given taken shown written chosen read put set left lost met
        found brought built spent spoken driven flown broken hidden begun run understood drawn known seen gone bound
        fed led lent cut hit shut split quoted overridden withdrawn withheld forgotten frozen stolen sworn thrown
        reset cast spread forwarded
    """.split()
)
_ADDS = frozenset("only explicitly expressly strictly generally normally usually currently".split())  # no manner
_STATES = frozenset(
    """
        related limited detailed tired interested concerned aged advanced based united needed required located
        entitled allowed permitted supposed expected used-to logged-in signed-in
    """.split()
)
_ALSO_NOUN = frozenset(
    """
        refund book credit report request order record review display document email contact limit list log mark mask
        match process purchase quote schedule search set stop test track transfer treat upgrade update use upload
        download visit answer charge check block call change copy end export grant import issue print release repeat
        reply reset return run scan start state sort view wait advice access address show share place offer help
        handle notice claim deal design form name plan post pay
    """.split()
)
_ALONE = frozenset(
    "stop wait pause proceed continue finish end exit quit refuse abort smoke drink eat sleep work speak".split()
)
CAUSING = frozenset("use ask tell require force allow permit make need expect encourage invite remind instruct".split())
_DETERMINED = re.compile(r"(?:(?:a|an|the|any|all|each|every|no|only|both|some|its|their|his|her|your)\s+)+", re.I)
_EVENT = re.compile(
    r"\A(?:any\s+)?(?:(?:taking|performing|making|executing|carrying out|calling)\s+)?(?:any\s+|an\s+|the\s+)?"
    r"(?:consequential\s+|such\s+)?actions?\b[^(]*\((?P<list>[^)]+)\)",
    re.I,
)


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
    participle = word in _IRREGULAR_PARTICIPLE or (
        word.endswith("ed") and word not in _STATES and len(word) > 3 and word != "need"
    )
    how = " ".join(word for word in found["how"].split() if word.endswith("ly") and word.lower() not in _ADDS)
    return Passive(lexicon.lemma(word), f"{found['tail'].strip(' ,')} {how}".strip()) if participle else None


def _done(found: Passive, noun: str) -> tuple[str, ...]:
    """ "be tagged and signed" of a thing as one action a participle."""
    more = _MORE_DONE.match(found.tail)
    second = passive(f"be {more['verb']}") if more else None
    if second is None:
        return (" ".join(f"{found.verb} {noun} {found.tail}".split()),)
    return (f"{found.verb} {noun}", *_done(Passive(second.verb, more["tail"].strip(" ,")), noun))


def actions(subject: str, rest: str) -> tuple[tuple[str, ...], list[Condition]]:
    """The actions of "subject … rest", any of which is meant, and what narrows their subject and object."""
    found = passive(rest)
    if found and not of_actor(subject)[0]:
        noun, narrowed = of_noun(subject)
        first, *others = _done(found, _bare(noun))
        core, more = of_object(first)
        return (*split_verbs(core), *others), [*narrowed, *more]
    narrowed = _who(subject)
    core, more = of_object(_plain(rest))
    return split_verbs(core), [*narrowed, *more]


def duties(subject: str, rest: str) -> tuple[tuple[str, ...], list[Condition]]:
    """The actions that are demanded, each of them, and what narrows the thing they are done to."""
    found = passive(rest)
    if found and subject:
        noun, narrowed = of_noun(subject) if not of_actor(subject)[0] else (subject, [])
        return _done(found, _bare(noun)), narrowed
    return tuple(part for vp in split_verbs(_plain(rest)) for part in _split_objects(vp)), []


def first_then(rest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """ "first Z, then W": the actions Z and the actions W (none where nothing follows)."""
    text = re.sub(r"\Afirst,?\s+", "", rest.strip(), flags=re.I)
    first, _, later = (
        (re.split(r",?\s+(?:and\s+)?(?:only\s+)?then\s+", text, maxsplit=1) + ["", ""])[:3]
        if " then " in text
        else (text, "", "")
    )
    if " then " in text:
        later = re.split(r",?\s+(?:and\s+)?(?:only\s+)?then\s+", text, maxsplit=1)[1]
    return duties("", first)[0], duties("", later)[0] if later else ()


def split_verbs(vp: str) -> tuple[str, ...]:
    """ "buy or rent X" as "buy X" and "rent X"; "do X and make Y" as two, where Y has a verb of its own."""
    vp = _plain(vp)
    shared = re.match(r"(?P<verbs>\w+(?:,\s*\w+)*,?\s*(?:/|\s(?:or|and|and/or|nor)\s)\s*\w+)\b\s+(?P<object>.+)", vp)
    if shared:
        verbs = [
            v
            for v in re.split(
                r",\s*|\s*/\s*|\s+(?:or|and|and/or|nor)\s+", re.sub(r",\s*(?=(?:or|and|nor)\b)", " ", shared["verbs"])
            )
            if v
        ]
        where = re.match(r"(?:in|on|at|near|within|inside|outside|during)\b", shared["object"])  # said of each
        if all(_is_verb(v) for v in verbs[1:]) or re.match(_DETERMINED, shared["object"]):
            return tuple(
                v if v.lower() in _ALONE and not where else f"{lexicon.verb_first(v)} {shared['object']}"
                for v in verbs[:-1]
            ) + (f"{verbs[-1]} {shared['object']}",)
    parts, start = [], 0
    for joint in re.finditer(r",?\s+(?:or|and|nor|and/or)\s+(?:to\s+)?(?:then\s+)?|,\s+", vp):
        word = re.match(r"([A-Za-z-]+)\s+(?=\S)", vp[joint.end() :])
        outside = vp[: joint.start()].count("(") == vp[: joint.start()].count(")")
        raised = re.search(r"\b(?:with|from|to|for|of|on|by)\Z", vp[: joint.start()])  # "consult with and ask her"
        outside = outside and raised is None
        noun = word and word.group(1).lower() in _ALSO_NOUN and not _DETERMINED.match(vp[joint.end() + word.end() :])
        if (
            word
            and outside
            and _is_verb(word.group(1))
            and not noun
            and not re.match(r"(?:of|or|and|for|to|in|on|from)\b", vp[joint.end() + word.end() :])
        ):
            parts.append(vp[start : joint.start()])
            start = joint.end()
    parts.append(vp[start:])
    return tuple(_plain(part.strip(" ,")) for part in parts if part.strip(" ,"))


def as_verb(text: str) -> str:
    """A subject that names an action, as a verb phrase: "Booking a room" and "room changes" by their verbs."""
    words = _bare(text.strip()).split()
    if len(words) > 2 and words[1].lower() == "of" and words[0].lower() in VERBS:
        return f"{words[0].lower()} {' '.join(words[2:])}"
    if (
        1 < len(words) <= 4
        and words[-1].lower() not in VERBS
        and lexicon.lemma(words[-1].lower()) in VERBS
        and not words[0].lower().endswith("ing")
    ):
        return f"{lexicon.lemma(words[-1].lower())} {' '.join(words[:-1]).lower()}"
    return lexicon.verb_first(re.sub(r"\A(?:the\s+act\s+of\s+|any\s+|the\s+|an?\s+)?", "", text.strip(), flags=re.I))


def event(words: str) -> tuple[str, ...]:
    """The actions that an event names: "placing an order", "any action that … (a, b or c)", "payment"."""
    listed = _EVENT.match(words)
    if listed:
        items = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", listed["list"])
        return tuple(as_verb(item) for item in items if item.strip())
    being = re.match(
        r"(?:it|they|(?P<noun>(?:the|an?|any) [\w' -]+?))\s+(?:is|are|was|were|has been|have been)\s+(?P<tail>.+)",
        words,
        re.I,
    ) or re.match(r"(?P<noun>)being\s+(?P<tail>.+)", words, re.I)
    done = passive(f"be {being['tail']}") if being else None
    if done:
        return (" ".join(f"{done.verb} {_bare(being['noun'] or '')} {done.tail}".split()),)
    clause = re.match(rf"(?:the\s+|a\s+)?{ACTOR}\s+(?P<act>[a-z]+(?:s|es)?\s+.+)", words, re.I)
    if clause:
        head, _, tail = clause["act"].partition(" ")
        return split_verbs(f"{lexicon.lemma(head.lower())} {tail}")
    return split_verbs(as_verb(words))


def happened(words: str) -> Condition:
    """What stands behind "without": an action not done before ("asking the user"), or a thing not there."""
    text = words.strip()
    if re.match(r"(?:first\s+|having\s+|explicitly\s+|previously\s+)*[a-z]{2,}ing\b", text, re.I):
        text = re.sub(r"\A(?:first|previously)\s+", "", text, flags=re.I)
        having = re.match(r"having\s+(?:first\s+)?", text, re.I)
        parts = [Earlier(Phrase(vp)) for vp in split_verbs(text[having.end() :] if having else as_verb(text))]
        return parts[0] if len(parts) == 1 else Every(tuple(parts))
    return parse(re.sub(r"\A(?:any|prior)\s+", "", text, flags=re.I))


def _who(subject: str) -> list[Condition]:
    """What a subject says of who acts; a subject that is no neutral actor is itself the condition."""
    subject = re.sub(r"\A(?:as\s+[^,]+,\s*)", "", subject.strip(), flags=re.I)
    if not subject or subject.lower() in ("it", "this", "there"):
        return []
    is_actor, condition = of_actor(subject)
    if is_actor:
        return [condition] if condition is not None else []
    noun, narrowed = of_noun(subject)
    if lacks(subject):  # "a reader without a card": who the doer is and what he lacks are one condition
        return narrowed
    return [parse(_bare(noun)), *narrowed] if _bare(noun) else narrowed


def _split_objects(vp: str) -> tuple[str, ...]:
    """ "obtain the X, the Y, and the Z" as three, where each object has its article."""
    verb, _, objects = vp.partition(" ")
    parts = (
        re.split(r",\s*(?:and\s+)?(?=(?:the|a|an)\s)|\s+and\s+(?=(?:the|a|an)\s)", objects)
        if "(" not in objects.split(",")[0]
        else [objects]
    )
    return tuple(f"{verb} {part.strip(' ,')}" for part in parts) if len(parts) > 1 else (vp,)


def _plain(rest: str) -> str:
    return lexicon.verb_first(re.sub(r"\A(?:not\s+|ever\s+|please\s+|you\s+)+", "", rest.strip(), flags=re.I))


def _bare(noun: str) -> str:
    """A noun phrase without its determiners."""
    return _DETERMINED.sub("", noun.strip(), count=1) if _DETERMINED.match(noun.strip()) else noun.strip()


def _is_verb(word: str) -> bool:
    return word.lower() in VERBS or (word.lower().endswith("ing") and lexicon.lemma(word.lower()) in VERBS)


_DEFINITION = re.compile(
    rf"\A\W*(?:(?:the\s+)?(?:term|word|expression)\s+)?(?:an?\s+|the\s+|any\s+)?[\"“']?"
    rf"(?P<term>[\w -]{{2,40}}?)[\"”']?\s+(?:is|are|means?|refers? to|denotes?)\s+"
    rf"(?P<meaning>(?:an?\s+|any\s+|all\s+|the\s+)?"
    rf"(?:[\w-]+\s+)?{ACTOR}\b.*)\Z",
    re.I | re.S,
)


def defined(sentence: str) -> tuple[str, Condition] | None:
    """The term that a sentence defines by what it says of a person, and that condition.

    'A "minor" is a user under 18.' gives ("minor", Phrase("under 18")); None for any other sentence.
    """
    found = _DEFINITION.match(sentence.strip().rstrip("."))
    if not found:
        return None
    is_actor, condition = of_actor(" ".join(found["meaning"].split()))
    return (found["term"].strip(), condition) if is_actor and condition is not None else None


def antecedent(subject: str, rest: str) -> str:
    """What "it" stands for in the rest of a sentence: a thing as subject, else (or if a person does it) the object."""
    if subject and not of_actor(subject)[0] and not (is_person(subject) and rest and not passive(rest)):
        return subject
    noun = head_noun(of_object(rest)[0]) if rest else ""
    return "" if of_actor(noun)[0] else noun


def put_in(rest: str, leading: tuple[tuple[str, str], ...]) -> str:
    """The rest of a sentence with a closing "it" replaced by the subject of the clause before it."""
    noun = next((found for _, words in leading if (found := conditions.subject(words))), "")
    if not noun or of_actor(noun)[0]:
        return rest
    return re.sub(r"\b(?:it|them)\Z", noun, rest, flags=re.I)


def last_named(leading: tuple[tuple[str, str], ...]) -> str:
    """What "it" may be as the subject behind one leading clause: the thing that this names last, "a box" of "if the
    reader returns a box"; empty where it names another one too."""
    you = re.match(r"(?:you|we)\b", leading[0][1], re.I) if len(leading) == 1 else None
    if len(leading) != 1 or not (who := you.group() if you else conditions.subject(leading[0][1])):
        return ""
    if not you and not of_actor(who)[0]:
        return ""
    behind = re.sub(r"\s+(?:back|away|up|off|out)\Z", "", leading[0][1][len(who) :])
    things = re.findall(r"\b(?:a|an|the|their|his|her|its|your|our)\s+[a-z][\w '-]*\Z", behind, re.I)
    noun = things[0] if things else ""
    return "" if re.search(r"\b(?:to|of|in|for|with|on|at|by|from|and|or)\b", noun, re.I) else noun


def only_named(leading: tuple[tuple[str, str], ...]) -> str:
    """What "it" may be as the object behind one leading clause without a subject of its own: the one thing with a
    determiner that this names, "the form" of "after filling in the form"; empty where it names another one too."""
    if len(leading) != 1 or not re.match(r"[a-z]{2,}ing\b", leading[0][1], re.I):
        return ""
    things = re.findall(rf"\b{_ONE_THING}\s+(?:(?!{_ONE_THING}\b)[\w'-]+ ?)+", leading[0][1], re.I)
    if len(things) != 1 or not leading[0][1].endswith(things[0]):
        return ""
    return "" if re.search(r"\s(?:to|of|in|for|with|on|at|by|from|and|or)\s", things[0], re.I) else things[0]


def is_doer(subject: str, actions: tuple[str, ...]) -> bool:
    """Whether a subject is only the doer of the action: "applicants" who "apply"."""
    words = [lexicon.root(w)[:4] for w in lexicon.content(subject)]
    return bool(words) and all(
        any(lexicon.root(w).startswith(head) for a in actions for w in lexicon.tokens(a)) for head in words
    )


def noun_of(subject: str) -> str:
    """The subject without a clause that stands between it and its modal: "the room has been paid, [cannot]"."""
    found = re.match(
        r"(?P<noun>(?:the|a|an|any|all)\s+[\w'-]+(?:\s(?!who\b|that\b|which\b)[\w'-]+)?)\s+"
        r"(?:has|have|is|are|was|were)\s+.*,?\Z",
        subject,
        re.I,
    )
    return found["noun"] if found else subject
