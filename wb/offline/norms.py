"""Norms: what one clause forbids, permits only under conditions, or obliges, before words are tied to tools and fields.

With A an action, C = `when` and R = `requires` (absent: nothing permits A):

    forbid, permit_only_if:  ALWAYS (A IMPLIES (NOT C OR R))
    oblige:                  ALWAYS (C IMPLIES EVENTUALLY A)

Subordinate clauses are peeled and sorted first (conditions, exceptions, preconditions), then the form of
the sentence's modal force, one function each, reads the main clause.  `norms(clause)` is the whole
interface, pure and deterministic, beside `constrains`, the cheaper question whether a sentence states a
constraint at all.  Facts, definitions and permissions give no norm; a constraint that no form fits gives
an undecided norm with a `reason`: nothing is dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wb.domain.policy import Clause
from wb.offline import conditions, counts, lexicon, modality, negation, only, phrases
from wb.offline.conditions import Condition, Earlier, Either, Negated, Phrase, every, leaf, negate
from wb.offline.modality import MainClause
from wb.rules.rule import Modality


@dataclass(frozen=True, slots=True)
class Norm:
    """What one clause says of some actions.

    `actions` are verb phrases ("place an order"), or "the" and a noun when the clause speaks of a thing
    ("the order" of "an order can contain …"); any of them is meant.  `scope` holds the titles that stand over the
    clause, outermost first: they help to ground an action, and name it when `actions` is empty.
    What whoever is served has to give is a duty with a `requires`: that it was done before what the titles name.
    A norm with a `reason` is undecided and has no reading.  `review` names a doubtful reading.
    `terms` are the defined words that the clause may use for a condition.
    With `often`, it says no more than how often something may be done.
    """

    clause: str
    quote: str
    modality: Modality
    actions: tuple[str, ...] = ()
    when: Condition | None = None
    requires: Condition | None = None
    scope: tuple[str, ...] = ()
    reason: str = ""
    review: str = ""
    terms: tuple[tuple[str, Condition], ...] = ()
    often: counts.Limit | None = None


_GERUND = re.compile(r"\A[a-z]{2,}ing\b", re.I)


@dataclass(frozen=True, slots=True)
class Adjuncts:
    """`when` (if, when, after), `requires` (only if, provided, if and only if), `unless` (unless,
    except), and words still unread: `without`, `before` and `gerund` ("when booking": an action),
    `until`. `both` marks "if and only if", `lost` a marker that nothing reads."""

    when: tuple[Condition, ...] = ()
    requires: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    without: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    gerund: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    both: bool = False
    lost: str = ""

    def actions(self) -> tuple[str, ...]:
        """The actions that "before …" and "when …ing" name."""
        return tuple(action for words in (*self.before, *self.gerund) for action in phrases.event(words))

    def excepted(self) -> Condition | None:
        """Any of the exceptions; None where there is none."""
        return any_of(self.unless)


def sort(pairs: tuple[tuple[str, str], ...], antecedent: str) -> Adjuncts:
    """The adjuncts of a sentence, with "it" and "them" standing for `antecedent`."""
    kept: dict[str, list] = {
        name: [] for name in ("when", "requires", "unless", "without", "before", "gerund", "until")
    }
    both, lost = False, ""
    for marker, words in pairs:
        name = {
            "if": "gerund" if _GERUND.match(words) else "when",
            "provided": "requires",
            "only_if": "requires",
            "iff": "requires",
            "except": "unless",
            "regardless": "",
        }.get(marker, marker)
        both = both or marker == "iff"
        if name in ("without", "before", "until", "gerund"):
            noun = antecedent if antecedent and not phrases.of_actor(antecedent)[0] else ""
            if re.match(r"(?:all|both|these|those|many|several)\b", noun, re.I) and re.match(r"it\b", words, re.I):
                noun = ""  # "it" is not said of several
            kept[name].append(
                re.sub(
                    r"\A(?:it|they)\b(?=\s+(?:is|are|was|were|has|have)\b)",
                    f"the {phrases.bare(noun)}",
                    words,
                    flags=re.I,
                )
                if noun
                else words
            )
        elif name in ("only_after", "after"):
            done = Phrase(phrases.as_verb(words)) if _GERUND.match(words) else _read(words, antecedent)
            holds = (
                name == "only_after" and re.search(r"\b(?:is|are)\b", words) is not None
            )  # "only once X is empty": it still is
            kept["requires" if name == "only_after" else "when"].append(done if holds else Earlier(done))
        elif name in kept:
            kept[name].append(_read(words, antecedent))
        else:
            lost = lost or name
    return Adjuncts(**{name: tuple(values) for name, values in kept.items()}, both=both, lost=lost)


def any_of(parts: tuple[Condition, ...]) -> Condition | None:
    """At least one of the parts; None for none."""
    return None if not parts else parts[0] if len(parts) == 1 else Either(parts)


def _read(words: str, antecedent: str) -> Condition:
    purpose = re.match(r"for\s+(?P<who>.+)", words)
    if purpose:
        is_actor, narrowed = phrases.of_actor(purpose["who"])
        if is_actor and narrowed is not None:
            return narrowed
    condition = conditions.parse(words)
    resolved = phrases.resolve(condition, antecedent)
    return resolved if not isinstance(resolved, Negated) or resolved.body != resolved else condition


_PURPOSE = re.compile(
    r"\s+(?:in order\s+)?to\s+(?=[a-z]+\b)"
    r"(?!(?:be|the|an?|its|their|his|her|your|our|my|any|all|each|every|no|this|that|these|those|it|them)\b)",
    re.I,
)
_ENOUGH = re.compile(r"\b(?:enough|sufficient)\s+(?!to\b)[a-z]+.*\bto\b", re.I)
_GIVES = re.compile(r"(?:explicitly\s+)?(?:provide|confirm|give|present|supply|submit|state|name|show)\b", re.I)
_SERVED = re.compile(
    r"(?:(?:the|an?|each|every|all|any)\s+)?(?:users?|customers?|clients?|guests?|patients?|applicants?|callers?|"
    r"visitors?)\Z",
    re.I,
)
_LET = re.compile(
    rf"(?:let|allow|permit|enable)\s+(?P<who>.+?)\s+(?:to\s+)?(?P<act>(?:{'|'.join(sorted(modality.VERBS))})\b.*)", re.I
)
_ENSURE = re.compile(r"(?:make sure|ensure|be sure|verify|check|confirm|see to it)\s+(?:that\s+)?(?P<state>.+)", re.I)
_BACKWARD = re.compile(
    r"(?:^|\s)(?:this|these|those|that|so|such)\Z|(?<!whether )(?<!if )(?<!that )(?<!how )\b"
    r"(?:(?-i:[Ii]t)|them|itself|themselves)\b|"
    r"\b(?:the (?:above|below|former|latter)|above is)\b",
    re.I,
)
_LIMITED = re.compile(r"\bonly\b|\b(?:at (?:the )?most|no (?:more|later) than)\b|\band/or\b", re.I)
_ELSEWHERE = re.compile(
    r"(?:the\s+)?(?:(?:first|second|third|last)\s+)?(?:sub)?(?:paragraph|point|article|section|annex|clause)s?\b.*\d",
    re.I,
)
_EXAMPLE = re.compile(r"\be\.g\.?|\bi\.e\.?|\betc\b", re.I)
_HOLLOW = re.compile(
    r"(?:\w+ly|able|available|applicable|appropriate|sure|cases?|addition|way|so|anymore|again|also|too|instead)\Z",
    re.I,
)
_INVERTED = re.compile(
    r"should\s+(?P<when>[^,]{5,}?)(?:,\s+(?=\S)|\s+(?=(?:they|he|she|you|we)\s+(?:must|should|shall|ha(?:s|ve) to)\b))",
    re.I,
)
_RULE = re.compile(
    r"(?:this|that|these|those|the|such)\s+(?:above\s+)?(?:article|section|rule|prohibition|ban|paragraph|provision|"
    r"requirement|restriction|limit|exception|clause|chapter|regulation|obligation)s?\Z",
    re.I,
)
_SEVERAL = re.compile(
    rf"(?:(?:at (?:the )?(?:least|most)|(?:no |not )?(?:more|fewer|less) than|up to|exactly|any|only|"
    rf"an? (?:minimum|maximum) of|each of the|all|the) )?(?:\d+|{lexicon.COUNT})\b(?! ?%)|"
    r"(?:both|half|most|several|either)\b|(?:an? |the )?(?:\w+ )?(?:majority|quorum|minority|third|quarter)\b|"
    r"(?:one|any|each|neither|some|many|few|all|two) of (?:them|the|these|those|our|its|their|us|you)\b",
    re.I,
)
_ITS_STATE = re.compile(r"(?<=\w )it(?= (?:has|is) (?:been )?(?:\w+ed|lost|stolen|broken)\b)", re.I)
_EMPTY_SUBJECT = re.compile(r"(?:it|this|that|these)?\Z", re.I)


def read(text: str) -> list[Norm]:
    """The norms of one main clause, without their clause and scope."""
    text = re.sub(r",\s+which\s+(?!(?:may|must|can)\b)[^;]*\Z", "", text)
    text = _INVERTED.sub(r"If \g<when>, ", text) if _INVERTED.match(text) else text
    otherwise = re.match(r"(?:otherwise|in all other cases|else),?\s+", text, re.I)
    main, leading = conditions.leading(text[otherwise.end() :] if otherwise else text)
    leading = (*([("if", "otherwise")] if otherwise else []), *leading)
    sentence = modality.split(main)
    if sentence is None:
        return _bare_limit(main, leading)
    let = _LET.match(sentence.rest)
    if sentence.force == "forbid" and let and phrases.of_actor(let["who"])[0]:
        sentence = replace(sentence, subject=let["who"], rest=let["act"])
    rest, trailing = conditions.peel(sentence.rest)
    subject = phrases.noun_of(sentence.subject)
    if re.match(r"(?:this|that|these|those)(?:\s+(?:is|are)\b|\Z)", subject, re.I) and sentence.force != "permit":
        return [_undecided(f"'{subject.split()[0]}' points back: what is meant stands in another sentence")]
    if (
        not subject
        and sentence.force in ("forbid", "oblige")
        and re.match(r"(?:\w+\s+)?be\b", rest, re.I)
        and sentence.modal
    ):
        return [_undecided(f"'{sentence.modal} {rest}' does not say what is meant")]
    if re.match(r"(?:it|they)\b|(?:these|those)\Z", subject, re.I) and phrases.passive(rest):
        return [_undecided(f"'{subject}' points back: what is meant stands in another sentence")]
    if re.match(r"be aware\b", rest, re.I):
        return [_undecided("to be aware of something is nothing that is done")]
    if _RULE.match(subject):
        return [_undecided(f"'{subject}' is itself a rule: it says where another one holds")]
    purpose = re.match(r"(?:in order )?to\s+(?P<act>[a-z][^,]{2,80}),\s+(?=\S)", subject, re.I)
    if purpose and sentence.force in ("oblige", "needed"):
        subject, leading = subject[purpose.end() :], (*leading, ("before", purpose["act"]))
    setting = re.match(
        r"(?P<preposition>at|in|on|during|for|by|with|as)\s+(?P<words>[^,]{3,80}),\s+(?=\S)", subject, re.I
    )
    if setting:
        subject = subject[setting.end() :]
        leading = (
            *leading,
            *([("if", setting.group().strip(" ,"))] if setting["preposition"].lower() not in ("as", "for") else []),
        )
    rest = phrases.put_in(rest, leading)
    if named := phrases.last_named(leading):
        subject = named if re.match(r"(?:it|they)\Z", subject, re.I) else subject
        rest = _ITS_STATE.sub(named, rest)
    if named := phrases.only_named(leading):
        rest = re.sub(r"\A(\w+) it\b", rf"\1 {named}", rest)
    sentence = replace(sentence, subject=subject)
    if several := _doers(subject, rest, sentence.force, (*leading, *trailing)):
        return [_undecided(f"how many have to do it, or may, is not counted: {several!r}")]
    subject = re.sub(
        r"\Aneither\s+(.+?)\s+nor\s+",
        lambda m: m.group() if phrases.lacks(m[1]) else f"no {m[1]} or ",
        subject,
        flags=re.I,
    )
    none = re.match(r"(?:no|neither|none of(?: the| these| those| our)?)\s+(?!one\b)(?=\w)", subject, re.I)
    nobody = re.match(r"(?:nobody|no one)\b|nothing\b", subject, re.I)
    if none or nobody or re.match(r"not\b", subject, re.I):
        if sentence.force not in ("permit", "oblige") or not (none or nobody):
            opening = re.match(r"no one|[\w']+", subject, re.I).group()
            return [
                _undecided(
                    negation.not_understood(opening.lower(), " ".join(f"{subject} {sentence.modal}".split()[:6]))
                )
            ]
        subject = (
            subject[none.end() :]
            if none
            else f"{'anything' if nobody.group().lower() == 'nothing' else 'user'}{subject[nobody.end() :]}"
        )
        sentence = replace(sentence, force="forbid", subject=subject)
    found = _FORMS[sentence.force](
        replace(sentence, rest=rest), sort((*leading, *trailing), phrases.antecedent(subject, rest))
    )
    return [_checked(norm) for norm in found]


def _doers(subject: str, rest: str, force: str, adjuncts: Sequence[tuple[str, str]]) -> str:
    """The number of those who do something ("at least two must approve"), or of what it has to be done to; empty
    where the subject is no number, or what is said of it is a state or a limit on a thing.

    No rule counts who does something, and that it was done once says too little.
    """
    several = _SEVERAL.match(subject)
    if not several and phrases.is_person(subject) and not phrases.of_actor(subject)[0]:
        later = any(name in ("before", "until") and re.search(r"\b(?:is|are)\b", words) for name, words in adjuncts)
        several = re.match(r"(?:all|each|every)\b", subject, re.I) if later else None  # before others do something
    if not several or force not in ("oblige", "permit", "forbid"):
        return ""
    done = phrases.passive(rest) is not None
    if not done and only.STATIVE.match(rest):
        return ""
    return several.group().strip() if not done or force == "oblige" else ""


def _forbid(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """Not A; `if` narrows it, `unless`, `without`, `until` and `before` say what allows it."""
    passive = phrases.passive(sentence.rest)
    if sentence.modal.lower().endswith("forbidden to") and sentence.rest.split(" ")[0].lower() not in modality.VERBS:
        return [
            _undecided(f"to do what is forbidden is not said: '{sentence.subject} {sentence.modal} {sentence.rest}'")
        ]
    state = (
        only.STATIVE.match(sentence.rest)
        and _PURPOSE.search(sentence.rest)
        and not (passive and passive.verb in phrases.CAUSING)
    )
    if state and phrases.of_actor(sentence.subject)[0]:
        return [_inverted(norm) for norm in _must_be(sentence, adjuncts)]
    stated = only.limit(sentence, negated=True)
    if stated is not None:
        return [
            _guard("permit_only_if", stated.actions, adjuncts.when, (*stated.required, *adjuncts.requires), adjuncts)
        ]
    if re.match(r"only\s+", sentence.rest, re.I):
        return [_undecided("a prohibition with 'only' has two readings")]
    parts = [sentence.rest] if phrases.passive(sentence.rest) else phrases.split_verbs(sentence.rest) or [sentence.rest]
    readings = [phrases.actions(sentence.subject, part) for part in parts]
    return [
        _forbidden(tuple(a for found, _ in readings for a in found) if same else found, narrowed, adjuncts)
        for same in (all(n == readings[0][1] for _, n in readings),)
        for found, narrowed in (readings[:1] if same else readings)
    ]


def _inverted(norm: Norm) -> Norm:
    """The norm with the opposite of what it requires."""
    return replace(norm, requires=negate(norm.requires)) if norm.requires is not None else norm


def _forbidden(actions: tuple[str, ...], narrowed: Sequence[Condition], adjuncts: Adjuncts) -> Norm:
    """A is forbidden where it is so narrowed, unless what the adjuncts allow holds."""
    required = [phrases.happened(words) for words in adjuncts.without] + [
        Earlier(conditions.parse(words)) for words in adjuncts.until
    ]
    required += [Earlier(conditions.parse(words)) for words in adjuncts.before]
    when = [*narrowed, *adjuncts.when]
    if adjuncts.requires and adjuncts.without:
        # "not A without B, provided that C": A without B is what C allows
        when, required = [*when, *(negate(c) for c in required)], [*adjuncts.requires]
    elif adjuncts.requires:
        when += adjuncts.requires
    allowed = any_of(tuple(c for c in (every(required), *adjuncts.unless) if c is not None))
    return Norm("", "", "forbid", actions, every(when), allowed, reason=_lost(adjuncts))


def _ban(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """ "A is prohibited", "it is not possible to A", "A is not V-able"."""
    able = re.search(r"not\s+(\w+?)(?:able|ible)\b", sentence.modal)
    if able and able.group(1) not in ("poss", "accept", "avail", "elig", "perm"):
        return _forbid(MainClause("", "forbid", "", f"{able.group(1)} {sentence.subject}"), adjuncts)
    purpose = re.match(r"(?:for (?P<who>[^,]+?) )?to (?P<action>.+)", sentence.rest)
    if _EMPTY_SUBJECT.match(sentence.subject.strip()) and purpose:
        return _forbid(MainClause(purpose["who"] or "", "forbid", "", purpose["action"]), adjuncts)
    action = "" if _EMPTY_SUBJECT.match(sentence.subject.strip()) else phrases.as_verb(sentence.subject)
    who = re.match(r"(?:for|to) (?P<who>.+)", sentence.rest)
    if who and phrases.of_actor(who["who"])[0]:
        return _forbid(MainClause(who["who"], "forbid", "", action), adjuncts)
    main, inner = conditions.peel(f"{action} {sentence.rest}".strip())
    more = sort(inner, "")
    return _forbid(MainClause("", "forbid", "", main), _joined(adjuncts, more))


def _permit(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """A permission constrains only by `only`, a limit, `unless`, `without` or `but not`."""
    if re.match(r"(?:is|are)\b(?!.*\bto\Z)", sentence.modal, re.I):
        action = re.sub(r"\Athis\b", "", phrases.as_verb(sentence.subject), flags=re.I)
        sentence = replace(
            sentence,
            subject="",
            rest=f"{action} {sentence.modal if 'only' in sentence.modal else ''} {sentence.rest}".strip(),
        )
        sentence = replace(sentence, rest=re.sub(r"\b(?:is|are) only \w+", "only", sentence.rest))
    found = only.only(sentence)
    if found is not None:
        return [_exclusive(found, adjuncts)]
    but_not = re.match(r"(?P<yes>\w+(?: \w+){0,3}?),?\s+but\s+(?:may |can )?not\s+(?P<no>.+)", sentence.rest)
    if but_not and re.match(r"both\b", but_not["no"], re.I):
        return [_undecided("'not both' excludes actions that are each allowed alone")]
    if but_not:
        return _forbid(replace(sentence, rest=but_not["no"], force="forbid"), adjuncts)
    stated = only.limit(sentence, negated=False)
    if stated is not None:
        return [_exclusive(stated, adjuncts)]
    actions, narrowed = phrases.actions(sentence.subject, sentence.rest)
    avoided = [_avoided(words) for words in adjuncts.without]
    if adjuncts.requires:
        guard = _guard(
            "permit_only_if",
            actions,
            (*narrowed, *adjuncts.when, *avoided),
            adjuncts.requires,
            replace(adjuncts, without=()),
        )
        demanded = adjuncts.both and not sentence.modal  # "X is done if and only if C": also a duty; "may" is none
        return [
            guard,
            *(
                _duty(actions, [*narrowed, *adjuncts.when, *adjuncts.requires], replace(adjuncts, without=()))
                if demanded
                else []
            ),
        ]
    if adjuncts.unless:
        excepted = any_of(adjuncts.unless)
        return [
            Norm("", "", "forbid", actions, every([*narrowed, *adjuncts.when, excepted]), None, reason=_lost(adjuncts))
        ]
    if avoided and not adjuncts.when and not phrases.of_actor(sentence.subject)[0]:
        return [
            Norm(
                "",
                "",
                "permit_only_if",
                actions,
                every(narrowed),
                every(avoided),
                reason=_lost(adjuncts),
                review="'can A without B' is read as a restriction; it may be a mere permission",
            )
        ]
    return []


def _oblige(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """Must Z: before A a precondition of A; of a thing a condition on its actions; else a duty."""
    subject, rest = sentence.subject, sentence.rest
    if re.match(r"(?:be\s+|be allowed\s+|be used\s+)?only\s+", rest, re.I) or re.match(r"only\b", subject, re.I):
        return _permit(replace(sentence, force="permit"), adjuncts)
    is_actor, narrowed = phrases.of_actor(subject) if subject else (True, None)
    state, passive = only.STATIVE.match(rest), phrases.passive(rest)
    if (
        state
        and subject
        and not (passive and (not is_actor or passive.verb in phrases.CAUSING))
        and (_PURPOSE.search(rest) or not passive)
        and (is_actor or _PURPOSE.search(rest))
    ):
        return _must_be(sentence, adjuncts)
    if not is_actor and not passive and phrases.is_person(subject) and not state:
        is_actor, narrowed = True, conditions.leaf(only.nouns(subject)[0].removeprefix("the "))
    if not is_actor and not passive and not (adjuncts.actions() and not state):
        about = adjuncts.actions() or only.nouns(subject)
        return [
            _guard(
                "permit_only_if",
                about,
                adjuncts.when,
                (only.state_of(subject, rest), *adjuncts.requires),
                _used(adjuncts),
            )
        ]
    if _SERVED.match(subject) and _GIVES.match(rest) and not adjuncts.actions():
        given = phrases.duties(subject, rest)[0]
        done = every([Earlier(Phrase(duty)) for duty in given])
        return [replace(norm, requires=done) for norm in _duty(given, adjuncts.when, adjuncts)]
    duties, of_thing = phrases.duties(subject, rest)
    when = [*([narrowed] if narrowed is not None and not passive else []), *of_thing, *adjuncts.when]
    if adjuncts.requires:
        guard = _guard("permit_only_if", duties, when, adjuncts.requires, adjuncts)
        return [guard, *_duty(duties, [*when, *adjuncts.requires], adjuncts)] if adjuncts.both else [guard]
    if adjuncts.actions():
        thing = not (is_actor or passive) and re.match(r"(?:an?|each|every|any)\s", subject, re.I)
        doer = phrases.bare(subject) if thing else ""  # "a parcel must pass the scan before leaving"
        return [
            _guard(
                "permit_only_if",
                adjuncts.actions(),
                when,
                [_precondition(f"{doer} {duty}".strip()) for duty in duties],
                _used(adjuncts),
            )
        ]
    if re.match(r"first\b", rest, re.I):
        return _first(rest, when, adjuncts)
    return _duty(duties, when, adjuncts)


def _precondition(duty: str) -> Condition:
    """What must have been done before; "make sure that C" is C itself."""
    ensured = _ENSURE.match(duty)
    stated = ensured and re.search(
        r"\b(?:is|are|was|were|has|have|holds?|appl(?:y|ies)|exists?|can|may)\b", ensured["state"]
    )
    return (
        conditions.parse(ensured["state"])
        if stated and not re.match(r"(?:whether|if)\b", ensured["state"])
        else Earlier(Phrase(duty))
    )


def _must_be(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """ "S must be C to A", "S must have C before A-ing": A only if C; without an A, what the titles name.

    What a thing has enough for is no A: "it must have enough paper to print the page" says how much.
    """
    is_actor, narrowed = phrases.of_actor(sentence.subject)
    if not is_actor and _ENOUGH.search(sentence.rest):
        amount = only.state_of(sentence.subject, sentence.rest)
        about = adjuncts.actions()
        return [_guard("permit_only_if", about, adjuncts.when, (amount, *adjuncts.requires), _used(adjuncts))]
    purpose = _PURPOSE.search(sentence.rest)
    state = sentence.rest[: purpose.start()] if purpose else sentence.rest
    actions, more = phrases.actions("", sentence.rest[purpose.end() :]) if purpose else (adjuncts.actions(), [])
    when = [*([narrowed] if narrowed is not None else []), *more, *adjuncts.when]
    if not is_actor and not phrases.is_doer(sentence.subject, actions):
        when.insert(0, conditions.parse(sentence.subject))
    return [_guard("permit_only_if", actions, when, (only.state_of("", state), *adjuncts.requires), _used(adjuncts))]


def _first(rest: str, when: Sequence[Condition], adjuncts: Adjuncts) -> list[Norm]:
    """ "must first Z [, then W]": Z before whatever the titles name, and before W."""
    first, later = phrases.first_then(rest)
    done = [Earlier(Phrase(z)) for z in first]
    found = [_guard("permit_only_if", (), when, done, adjuncts)]
    return [*found, *([_guard("permit_only_if", later, when, done, adjuncts)] if later else [])]


def _needed(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """ "X is required for A"; without an A and with a condition, X is a duty."""
    purpose = re.match(r"(?:in order )?(?:for|to|when|before)\s+(?P<action>.+)", sentence.rest)
    if purpose and phrases.of_actor(sentence.subject)[0]:
        return _oblige(MainClause(sentence.subject, "oblige", "must", purpose["action"]), adjuncts)
    if purpose and _EMPTY_SUBJECT.match(sentence.subject):
        return _oblige(MainClause("", "oblige", "must", purpose["action"]), adjuncts)
    actions = phrases.event(purpose["action"]) if purpose else adjuncts.actions()
    if not actions and adjuncts.when:
        return _duty((lexicon.verb_first(sentence.subject),), adjuncts.when, adjuncts)
    return [_guard("permit_only_if", actions, adjuncts.when, (leaf(sentence.subject),), _used(adjuncts))]


def _requires(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """ "A requires C", "A requires that S is C", "A requires S to V"."""
    rest = re.sub(r"\Athat\s+", "", sentence.rest)
    infinitive = re.match(r"(?P<who>.+?)\s+to\s+(?P<act>\w+.*)", rest)
    condition = conditions.parse(f"{infinitive['who']} {infinitive['act']}" if infinitive else rest)
    actions, narrowed = phrases.actions("", phrases.as_verb(sentence.subject))
    return [
        _guard(
            "permit_only_if",
            actions,
            (*narrowed, *adjuncts.when),
            (phrases.resolve(condition, sentence.subject),),
            adjuncts,
        )
    ]


def _imperative(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """An order: "Z first, then A"; "V only NP where …"; "V only if C"; else a duty.  "Consider V-ing" is advice."""
    if re.match(r"consider \w+ing\b", sentence.rest, re.I):
        return []
    chain = re.match(r"(?P<first>.+?)(?:\s+first)?,\s+(?:and\s+)?(?:only\s+)?then\s+(?P<then>.+)", sentence.rest, re.I)
    if chain:
        done = [Earlier(Phrase(z)) for z in phrases.duties("", chain["first"])[0]]
        return [_guard("permit_only_if", phrases.duties("", chain["then"])[0], adjuncts.when, done, adjuncts)]
    found = only.only(sentence)
    if found is not None:
        return [_exclusive(found, adjuncts)]
    if adjuncts.requires and not adjuncts.both:
        actions, narrowed = phrases.actions("", sentence.rest)
        return [_guard("permit_only_if", actions, (*narrowed, *adjuncts.when), adjuncts.requires, adjuncts)]
    return _oblige(replace(sentence, force="oblige"), adjuncts)


def _exempt(sentence: MainClause, adjuncts: Adjuncts) -> list[Norm]:
    """ "need not A" constrains nothing."""
    return []


_FORBIDDING = re.compile(
    r"(?:un(?:acceptable|authori[sz]ed|permitted)|impermissible|prohibited|forbidden|banned|disallowed)"
    r"(?: [a-z]+(?: and [a-z]+)?)?\Z",
    re.I,
)
_NOMINAL = re.compile(r"(?:(?:all|any)\s+(?!(?:of|the|these|those|other|such)\b)(?=[a-z])|(?=[a-z]{2,}ing\s))", re.I)


def _entitled(clause: Clause) -> list[Norm]:
    """What stands by its name alone under a title that forbids: "All illegal trade", "Feeding the birds"."""
    text = modality.plain(clause.said)
    under = clause.headings and _FORBIDDING.match(modality.plain(clause.headings[-1])) and not clause.context
    if not under or not _NOMINAL.match(text) or modality.split(text) is not None:
        return []
    named = phrases.as_verb(text) if _GERUND.match(text) else phrases.bare(text)
    if re.search(r"\b(?:is|are|was|were|will)\b", re.sub(r"\b(?:that|which|who)\b.*", "", text)):
        return []
    return [Norm("", "", "forbid", (named,))]


def _bare_limit(text: str, leading: tuple[tuple[str, str], ...]) -> list[Norm]:
    """ "At most 8 guests per order.", "The limit is 5 items.": a limit on what the titles or the row name."""
    quantity = lexicon.find(text)
    opens = quantity and not text[: quantity.start].strip()
    named = re.match(r"(?:the\s+)?(?:maximum|minimum|limit)\b.*?\b(?:is|are)\s+(?P<n>.+)", text, re.I)
    fixed = re.match(r"(?P<what>.+?)\s+(?:is|are)\s+(?:limited|capped)\s+(?:to|at)\s+(?P<n>.+)", text, re.I)
    if fixed:
        what = fixed["what"]
        about = (phrases.as_verb(what),) if re.match(r"\w+ing\b", what) else only.nouns(what)
        return [
            _guard(
                "permit_only_if", about, sort(leading, "").when, (Phrase(f"at most {fixed['n']}", what),), Adjuncts()
            )
        ]
    single = re.match(r"only (?:one|a single|\d+)\b", text, re.I)
    if not (opens or named or single) or (quantity and quantity.op == ">"):
        return []
    if single:
        text = re.sub(
            r"\Aonly (?:a single|one)",
            "at most one",
            re.sub(r"\Aonly (?=\d)", "at most ", text, flags=re.I),
            flags=re.I,
        )
    return [_guard("permit_only_if", (), sort(leading, "").when, (Phrase(text),), Adjuncts())]


_FORMS = {
    "forbid": _forbid,
    "ban": _ban,
    "permit": _permit,
    "oblige": _oblige,
    "needed": _needed,
    "requires": _requires,
    "imperative": _imperative,
    "exempt": _exempt,
}


def _exclusive(found: only.Exclusive, adjuncts: Adjuncts) -> Norm:
    """The norm of an "only" or a limit; after "only", a plain "if" or "after" says what is required."""
    when, required = [*found.narrowed, *adjuncts.when], [*found.required, *adjuncts.requires]
    if found.conditional and adjuncts.when and not found.required:
        when, required = [*found.narrowed], [*adjuncts.when, *adjuncts.requires]
    if not required and adjuncts.before:
        required, adjuncts = [leaf(f"before {words}") for words in adjuncts.before], _used(adjuncts)
    if not required and adjuncts.without:
        required, adjuncts = [_avoided(words) for words in adjuncts.without], replace(adjuncts, without=())
    if not required and not adjuncts.unless and found.fallback[1]:
        return _guard("permit_only_if", (found.fallback[0],), when, found.fallback[1], adjuncts)
    if not required and not adjuncts.unless:
        return _undecided("an 'only' or a limit stands here whose condition has no reading")
    return _guard("permit_only_if", found.actions, when, required, adjuncts)


def _guard(
    force: Modality,
    actions: tuple[str, ...],
    when: Sequence[Condition],
    required: Sequence[Condition],
    adjuncts: Adjuncts,
) -> Norm:
    """A only if all that is required; exceptions free it, leftovers make it undecided."""
    required = [*required, *(Earlier(conditions.parse(words)) for words in adjuncts.until)]
    allowed = every(required)
    if adjuncts.unless:
        allowed = Either((allowed, *adjuncts.unless)) if allowed is not None else any_of(adjuncts.unless)
    left = "without" if adjuncts.without else "before" if adjuncts.before else ""
    return Norm(
        "",
        "",
        force,
        tuple(actions),
        every(list(when)),
        allowed,
        reason=_lost(adjuncts) or (f"a clause with '{left}' has no reading here" if left else ""),
    )


def _duty(duties: tuple[str, ...], when: Sequence[Condition], adjuncts: Adjuncts) -> list[Norm]:
    """One norm a duty; `until` and `without` stay in its words."""
    tail = "".join(
        f" {marker} {words}"
        for marker, all_words in (("until", adjuncts.until), ("without", adjuncts.without))
        for words in all_words
    )
    excepted = adjuncts.excepted()
    condition = every([*when, *([negate(excepted)] if excepted is not None else [])])
    return [Norm("", "", "oblige", (f"{duty}{tail}",), condition, reason=_lost(adjuncts)) for duty in duties]


def _undecided(reason: str) -> Norm:
    return Norm("", "", "oblige", reason=reason)


def _lost(adjuncts: Adjuncts) -> str:
    return f"a clause with '{adjuncts.lost}' has no reading here" if adjuncts.lost else ""


def _checked(norm: Norm) -> Norm:
    """Undecided where an action or a condition holds a pronoun that nothing in the sentence stands for, or says nothing
    of its own ("able", "in that case")."""
    leaves = [leaf.text for side in (norm.when, norm.requires) for leaf in conditions.phrases_of(side)]
    back = next((text for text in (*norm.actions, *leaves) if _BACKWARD.search(text)), None)
    if back and not norm.reason:
        return replace(norm, reason=f"'{back}' points back: what is meant stands in another sentence")
    said = (*norm.actions, *leaves)
    if not norm.reason and (example := next((text for text in said if _EXAMPLE.search(text)), None)):
        return replace(norm, reason=f"'{example}' gives examples of what it means")
    if not norm.reason and any(map(_ELSEWHERE.match, norm.actions)):
        return replace(norm, reason="it speaks of what another place of the document says")
    if not norm.reason and norm.modality == "oblige" and any(map(_LIMITED.search, norm.actions)):
        return replace(norm, reason="a limit, an 'only' or an 'and/or' within what has to be done")
    if not norm.reason and any(
        lexicon.find(text) and re.search(r"\b(?:different|same|other)\b", text) for text in leaves
    ):
        return replace(norm, reason="a number of what is different or the same")
    empty = next((text for text in leaves if all(map(_HOLLOW.match, lexicon.content(text)))), None)
    if empty is not None and not norm.reason:
        return replace(norm, reason=f"'{empty}' says nothing that could be so or not")
    return norm


def _avoided(words: str) -> Condition:
    """ "without B" of a permission: B is what must not happen."""
    return Negated(Phrase(phrases.as_verb(words)))


def _used(adjuncts: Adjuncts) -> Adjuncts:
    return replace(adjuncts, before=(), gerund=())


def _joined(a: Adjuncts, b: Adjuncts) -> Adjuncts:
    return Adjuncts(
        *(
            getattr(a, f) + getattr(b, f)
            for f in ("when", "requires", "unless", "without", "before", "gerund", "until")
        ),
        both=a.both or b.both,
        lost=a.lost or b.lost,
    )


_ONE_OF = re.compile(
    r"\b(?:unless|if|when|only|where|except|provided)\b.*\b(?:any|one|either|at least one)\b(?: of)? "
    r"(?:the |these )?following\b",
    re.I | re.S,
)


_EXAMPLES = re.compile(
    r"\b(?:examples?|strateg(?:y|ies)|options?|ways?|tips?|ideas?|suggestions?)\b[^.]*:\s*\Z",
    re.I,
)
_PROHIBITS = re.compile(r"\W*(?:do not|don't|never|avoid)\b", re.I)


def norms(clause: Clause) -> tuple[Norm, ...]:
    """What a clause demands, in the order it says so; empty for facts, definitions and permissions."""
    scope = (*clause.headings, *(c for c in clause.context if not c.endswith(":")))
    if any(_ONE_OF.search(stem) for stem in clause.context if stem.endswith(":")):
        return (
            Norm(
                clause.id,
                clause.text,
                "oblige",
                scope=scope,
                reason="one of several conditions that are listed apart: they have to be read together",
            ),
        )
    if any(_EXAMPLES.search(stem) for stem in clause.context if stem.endswith(":")) and not _PROHIBITS.match(
        clause.said
    ):
        why = "an item of a list of examples, which may be no demand of its own"
        return (Norm(clause.id, clause.text, "oblige", scope=scope, reason=why),) if constrains(clause) else ()
    terms = tuple(found for found in map(phrases.defined, clause.definitions) if found)
    found: list[Norm] = [replace(one, clause=clause.id, quote=clause.text, scope=scope) for one in _entitled(clause)]
    for unit in filter(modality.cue, units(clause)):
        for draft in _complete(unit):
            found.append(replace(draft, clause=clause.id, quote=clause.text, scope=scope, terms=terms))
    if not found and constrains(clause):
        return (
            Norm(clause.id, clause.text, "oblige", scope=scope, reason="no form of the grammar fits this sentence"),
        )
    return tuple(dict.fromkeys(found))


def _complete(unit: str) -> list[Norm]:
    """The norms of a main clause; undecided where a negation word of it stands in a name or changes nothing."""
    found, often = read(unit), counts.limit(unit)
    found = [replace(norm, often=often) for norm in found] if len(found) == 1 else found
    for norm in found:
        said = (
            *norm.actions,
            *(
                f"{part.about} {part.text}"
                for side in (norm.when, norm.requires)
                for part in conditions.phrases_of(side)
            ),
        )
        for words in said:
            if not norm.reason and (word := negation.inside(words)):
                return [Norm("", "", "oblige", reason=negation.not_understood(word, words.strip()))]
    for word, words, without in negation.without_each(_without_remark(unit)):
        if found and not any(norm.reason for norm in found) and read(without) == found:
            return [Norm("", "", "oblige", reason=negation.not_understood(word, words))]
    return found


def _without_remark(unit: str) -> str:
    """A main clause without the clause between its subject and its modal: "the room [has not been paid,] cannot …"."""
    found = modality.split(conditions.leading(unit)[0])
    return unit.replace(found.subject, phrases.noun_of(found.subject), 1) if found and found.subject else unit


def constrains(clause: Clause) -> bool:
    """Whether the clause, read with its list's stem, has the words of a constraint."""
    return any(modality.cue(unit) for unit in units(clause)) or bool(_entitled(clause))


def units(clause: Clause) -> tuple[str, ...]:
    """The main sentences in a clause as plain text, each read with the stem of its list."""
    text = modality.plain(clause.said)
    for stem in reversed([c for c in clause.context if c.endswith(":")]):
        text = modality.under_stem(modality.plain(stem), text)
    return modality.main_clauses(text)
