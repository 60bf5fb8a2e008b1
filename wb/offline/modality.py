"""Deontic force: where the modal of a sentence stands, and whether it forbids, obliges or permits.

The text side of the grammar: cleaning, list stems, main clauses, and one table of modal forms.  `norms`
makes norms of what is taken apart here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from wb.offline import conditions, lexicon

Force = Literal["exempt", "forbid", "ban", "needed", "oblige", "permit", "requires", "imperative"]
_ADVERB = (
    r"(?:(?:also|only|always|strictly|expressly|generally|normally|currently|already|explicitly|then|first|"
    r"still|\w+ly)\s+){0,2}"
)
_FORMS: tuple[tuple[Force, str], ...] = (
    (
        "exempt",
        r"need not\b|needn't|(?:do|does) not (?:need|have) to|(?:do|does)n't (?:need|have) to|"
        r"(?:is|are) not (?:required|obliged|obligated|expected|necessary|needed|mandatory)\b|no need to\b|"
        r"not mandatory|are exempt\b|is exempt\b",
    ),
    (
        "forbid",
        r"(?:must|shall|should|may|can|could|ought to)\s+(?:\w+ly\s+)?(?:not|never)\b(?:\s+ever\b)?"
        r"(?:\s+be\s+(?:allowed|permitted|able)\s+to)?|"
        r"(?:cannot|can't|mustn't|shouldn't|shan't|mayn't)\b(?:\s+ever\b)?|(?:will|would)\s+(?:not|never)|won't|"
        rf"(?:is|are|be)\s+{_ADVERB}(?:not|never)\s+{_ADVERB}"
        rf"(?:allowed|permitted|authori[sz]ed|able|eligible|entitled|supposed|to)\s+to\b|"
        rf"(?:is|are)\s+{_ADVERB}(?:not|never)\s+to\b|"
        rf"(?:isn't|aren't)\s+(?:allowed|permitted|able|authori[sz]ed|eligible)\s+to|"
        rf"(?:is|are|be)\s+{_ADVERB}(?:prohibited|forbidden|barred|banned|precluded|disallowed|excluded|"
        rf"restricted)\s+(?:from|to)\b|"
        r"(?:is|are) (?:ineligible|unable) to\b",
    ),
    (
        "ban",
        rf"(?:(?:shall|must|should|will)\s+)?(?:is|are|be)\s+{_ADVERB}"
        rf"(?:prohibited|forbidden|banned|disallowed|unlawful|illegal|impossible|unacceptable|off limits)\b|"
        rf"(?:(?:is|are|be)\s+{_ADVERB}not|isn't|aren't)\s+{_ADVERB}"
        rf"(?:allowed|permitted|possible|acceptable|available|supported|eligible|an option|authori[sz]ed)\b|"
        r"(?:is|are)\s+not\s+\w+(?:able|ible)\b",
    ),
    ("needed", rf"(?:is|are)\s+{_ADVERB}(?:required|needed|mandatory|compulsory|necessary|obligatory)(?!\s+to\s+be)\b"),
    (
        "oblige",
        r"(?:must|shall|should|ought to|has to|have to|had to|(?:will )?needs? to)\b|"
        rf"(?:is|are)\s+{_ADVERB}(?:obliged|obligated|expected|supposed|bound|to)\s+(?:to\b|(?=be\b))|"
        rf"(?:is|are)\s+{_ADVERB}required to(?= be)",
    ),
    (
        "permit",
        rf"(?:may|can|could)\b|(?:is|are)\s+{_ADVERB}"
        rf"(?:allowed|permitted|authori[sz]ed|free|able|eligible|entitled|welcome)\s+{_ADVERB}to\b|"
        rf"(?:is|are)\s+{_ADVERB}(?:allowed|permitted|available|possible|acceptable|authori[sz]ed|eligible)\b",
    ),
    ("requires", r"(?<!to )(?:requires?|demands?|presupposes?|necessitates?)\b"),
)
_MODALS = tuple((force, re.compile(rf"\b(?:{words})", re.I)) for force, words in _FORMS)
_PROHIBITIVE = re.compile(
    r"(?:please\s+)?(?:do not|don't|never|avoid|refrain from|abstain from|"
    r"(?:under no circumstances|in no (?:case|event)|at no time|on no account)"
    r"(?:,| (?:may|should|must|shall|can|will) (?:the |a |an |any )?\w+)?)\s+",
    re.I,
)
_ORDER = re.compile(r"(?:please\s+|always\s+|then\s+|also\s+|first,?\s+|finally,?\s+|at all times,?\s+)*", re.I)
_LIMIT = re.compile(
    r"\b(?:at (?:the )?most|no more than|no fewer than|no less than|not exceed|maximum|minimum|"
    rf"(?:at least|up to) (?:[$€£]?\d+|{lexicon.COUNT})|"
    r"limited to|only one|only once|a single)\b",
    re.I,
)
_STRONG = re.compile(r"\b(?:must|cannot|may not|shall|must never)\b|\bonly (?:if|when|after)\b", re.I)
_ONLY = re.compile(
    r"\bonly (?:if|when|where|after|once|for|by|with|from|to|in)\b|\A(?:only|except)\b|\bunless\b|"
    r"\bif and only if\b|\bprovided (?:that|the)\b|\b(?:as|so) long as\b|\bon (?:the )?condition that\b",
    re.I,
)
VERBS = frozenset(
    """
        accept act add adhere advise allow answer apply approve archive ask assess assist assign attach authenticate
        avoid back block book call cancel change charge check choose clear click close collect compare compensate
        complete comply confirm consider consult contact continue copy create decline delete deny describe detect
        determine disable disclose display document download draft edit email enable encrypt end enforce enter
        escalate establish evaluate explain export fill find finish follow forward gather get give grant greet handle
        help hide identify ignore import include inform insert inspect install investigate issue keep leave limit list
        log maintain make mark mask match mention modify monitor notify obtain offer open order pause pay perform
        place post prefer prepare present prevent process proceed protect provide publish purchase quote read
        recommend record redact redirect refer refund refuse register reject release remember remind remove rename
        renew repeat replace reply report request require reschedule reserve reset resolve respond restrict retain
        retrieve return revert review revoke run save scan schedule search select sell send set share show sign stop
        store submit suggest summarize suspend switch take tell terminate test track transfer treat try turn update
        upgrade upload use validate verify wait warn withdraw write ensure state buy rent browse print uninstall solve
        sort view visit abandon accelerate accommodate accompany achieve acknowledge acquire activate adapt adjust
        administer adopt advertise agree alert allocate alter amend announce anonymize appeal appoint arrange assemble
        assume assure audit authorize award backup balance ban base bill borrow break bring broadcast build bypass
        calculate capture carry cash certify chat cite claim clean collaborate combine commence commit communicate
        compile conceal conclude conduct connect consolidate construct consume control convert convey cooperate
        correct count credit cross cut damage deactivate deal debit decide declare dedicate deduct defer define delay
        delegate deliver demand demonstrate deploy deposit design destroy develop deviate diagnose direct discard
        discount discriminate discuss dismiss dispense dispose distribute divert divide double drink drive drop
        duplicate earn eat elevate eliminate employ encourage endorse engage enroll evict examine exceed exchange
        exclude execute exercise expand expose express extend extract fabricate facilitate falsify feed file finalize
        finance fix flag force forge formulate gain gamble generate guarantee guess guide halt harass harm hire host
        hold implement impersonate impose improve incorporate increase indicate infer influence initiate inquire
        insult insure integrate intercept interfere interrupt introduce invest invite invoke isolate join judge
        justify kill label launch lead learn lease lend let locate lock lose lower manage manipulate manufacture map
        measure merge migrate minimize misrepresent misuse mix move negotiate object observe occupy omit operate
        originate outsource oversee override own pack park participate pass penalize permit pick play pledge predict
        press produce profile prohibit promise promote propose prove pull pursue push put qualify question raise rate
        reach rebook recall recheck reclaim recognize reconcile recover recruit rectify recycle reduce refill refrain
        refresh regulate rehire reimburse reissue relay rely relocate repair repay rephrase represent reproduce
        rescind resell resign retry reuse reveal reverse reward ride sanction sanitize score seal secure seek seize
        separate serve settle shift ship shorten shut smoke solicit speak specify speculate spend split sponsor spread
        standardize steal stream strengthen supervise supply support surrender survey swap synchronize talk target
        teach threaten throw trade train transcribe transform translate transmit transport travel trigger trust
        undertake undo unlock unsubscribe urge value vary violate void volunteer vote wash watch wear weigh withhold
        witness work
    """.split()
)


@dataclass(frozen=True, slots=True)
class MainClause:
    """One main clause taken apart at its modal: subject, force and what follows."""

    subject: str
    force: Force
    modal: str
    rest: str


def plain(text: str) -> str:
    """A clause's words without Markdown marks, line breaks, curly quotes and the final full stop."""
    text = (
        re.sub(r"\b([Nn]o)-one\b", r"\1 one", text)
        .replace("’", "'")
        .replace("‘", "'")
        .replace("“", '"')
        .replace("”", '"')
        .replace("\\", "")
    )
    text = re.sub(r"!?\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*+|`+|(?<![\w])_+|_+(?![\w])|^[>#]+\s*", "", text)
    text = re.sub(r"\(see [^)]*\)", "", text)
    text = re.sub(r"\b([Ii]t)'s (?=been\b)", r"\1 has ", text)
    return re.sub(r"[.!;,]*(?:[;,]\s*(?:and|or))?\s*\Z", "", " ".join(text.split()))


def under_stem(stem: str, item: str) -> str:
    """A list item read under its stem; the item alone where the stem is only a title."""
    opening = stem.rstrip(" :")
    if split(item) is not None and not re.match(r"(?:if|when|unless|before|after)\b", opening, re.I):
        return item
    lowered = item[:1].lower() + item[1:] if item[1:2].islower() or item[1:2] == " " else item
    if re.match(r"(?:if|when|unless|before|after|where|for)\b", opening, re.I) and split(opening) is None:
        return f"{opening}, {lowered}"
    following = re.search(
        r"\b(?:do |any of |all of |one of |each of |either of )*(?:the |these )?following(?: (?!is\b|are\b|appl)\w+)?"
        r"(?: (?:is|are) true| apply| applies)?\b|\bone of these\b",
        opening,
        re.I,
    )
    if split(opening) is None and not following and len(opening.split()) <= 6:
        return item
    if following:
        return " ".join(f"{opening[: following.start()]} {lowered} {opening[following.end() :]}".split())
    return f"{opening} {lowered}"


def main_clauses(text: str) -> tuple[str, ...]:
    """The main clauses of a sentence, each with the subject and the leading condition it shares."""
    text = _JOINED_TO.sub("", text)
    text = _AND_NOT.sub(lambda m: f"{m[1]}, and {m[2]} not {m[4]}" if m[4].lower() in VERBS else m.group(), text)
    main, _ = conditions.leading(text)
    shared = text[: len(text) - len(main)]
    parts = [
        part for piece in _cut(main, r"\s*;\s*", lambda right: True) for part in _cut(piece, _JOINT, _stands_alone)
    ]
    subject = _lead_subject(parts[0])
    whole = []
    for i, part in enumerate(parts):
        part = re.sub(r"^(?:and|but|so|or|nor|however|therefore|thus|also)\b,?\s+", "", part.strip(" ,"), flags=re.I)
        if i and subject and _BARE_MODAL.match(part):
            part = f"{subject} {part}"
        own = re.match(r"(?:if|when|unless|before|after)\b", part, re.I)
        whole.append(part if i and own else f"{shared}{part}" if shared else part)
    return tuple(part for part in whole if part)


def split(text: str) -> MainClause | None:
    """The main clause taken apart at its modal; None for a sentence without any."""
    text = _respelled(text)
    prohibitive = _PROHIBITIVE.match(text)
    if prohibitive:
        return MainClause("", "forbid", prohibitive.group().strip(), text[prohibitive.end() :])
    bare = re.match(
        rf"(?:(?:it|this|that) is )?(?P<p>{_ADVERB}(?:not )?"
        rf"(?:allowed|permitted|prohibited|forbidden|possible|banned))\b",
        text,
        re.I,
    )
    if bare and not re.match(r"(?:it|this|that) is", text, re.I):
        return split(f"This is {text[:1].lower()}{text[1:]}")
    found = _modal(text)
    stated = None if found else _INDICATIVE.match(text) or _ONLY_PASSIVE.match(text)
    if stated:
        return MainClause(stated["subject"].strip(), "permit", "", f"be {stated['rest']}")
    if found:
        force, match = found
        return MainClause(text[: match.start()].strip(" ,"), force, match.group(), text[match.end() :].strip())
    order = _ORDER.match(text)
    rest = text[order.end() :]
    if re.match(r"[A-Z]\w+ [^,;]+ first, (?:and )?(?:only )?then [a-z]", rest):
        return MainClause("", "imperative", "", rest)
    only = re.match(r"only\s+", rest, re.I)
    words = (rest[only.end() :] if only else rest).split()
    if (
        len(words) > 1
        and words[0].lower().rpartition("-")[2] in VERBS
        and (words[0][0].isupper() or order.end() or only or text[0].islower())
        and not re.match(
            r"(?:of|is|are|was|were|will|has|have|includes?|covers|means|consists|comprises)\b", words[1], re.I
        )
    ):
        return MainClause("", "imperative", order.group().strip(), rest)
    if len(words) > 2 and _DETERMINER.fullmatch(words[1]) and words[0].isalpha() and not _NO_VERB.fullmatch(words[0]):
        return MainClause("", "imperative", order.group().strip(), rest)
    return None


def cue(text: str) -> bool:
    """Whether a main clause has the words of a constraint; permissions and exemptions have not."""
    found = split(conditions.leading(text)[0])
    if found is None:
        return bool(_LIMIT.search(text) or _STRONG.search(text))
    if found.force == "exempt" or re.match(
        r"no\s", {"needed": found.subject, "requires": found.rest}.get(found.force, ""), re.I
    ):
        return False  # "no key is needed", "leaving requires no key": no constraint
    if found.force == "permit":
        return bool(
            _ONLY.search(text)
            or _LIMIT.search(text)
            or re.match(
                r"(?:only|no|nobody|none|nothing|neither|not|few|hardly|scarcely|barely|rarely|seldom)\b",
                found.subject,
                re.I,
            )
            or (
                re.search(r"\bwithout \w+ing\b", found.rest)
                and not re.search(rf"\b{conditions.ACTOR}\b", found.subject, re.I)
            )
            or re.search(r"\bbut (?:may |can )?not\b", found.rest, re.I)
            or re.search(r"\bonly\b", f"{found.modal} {found.rest[:12]}")
        )
    if found.force == "forbid" and re.match(r"(?:will|would|won't)", found.modal, re.I):
        return bool(re.search(rf"\b{conditions.ACTOR}\s*\Z", found.subject, re.I))
    return True


_DETERMINER = re.compile(r"the|an?|any|all|every|each|its|their|your|his|her|them|it", re.I)
# What may stand before an article at the start of a sentence and is no verb in the imperative.
_NO_VERB = re.compile(
    r"\w{3,}(?:ing|ed|ly)|\w*[^s]s|note|see|recall|say|in|on|at|by|for|from|to|of|with|under|over|after|"
    r"before|during|until|since|through|between|among|within|"
    r"against|about|above|below|behind|beyond|near|per|via|like|unlike|despite|except|without|if|when|while|"
    r"where|because|though|although|unless|"
    r"whether|that|which|who|what|how|why|and|or|but|nor|so|yet|both|half|such|only|just|even|not|all|any|"
    r"each|every|once|then|there|here|"
    r"given|including|regarding|concerning|upon|into|onto|out|off|up|down|as|than|is|are|was|were|be|has|have|"
    r"had|does|did|will|would",
    re.I,
)
_INDICATIVE = re.compile(
    r"(?P<subject>[^,;]+?)\s+(?:is|are)\s+"
    r"(?P<rest>(?:only\s+)?\w+(?:ed|en|wn|de|nt|ld|id|pt)\b.*\b"
    r"(?:if and only if|only (?:if|when|after|once|for|by|with|in|to|from)\b).*|"
    r"only\s+\w+(?:ed|en|wn|de|nt|ld|id|pt)\b.*)\Z",
    re.I,
)
_ONLY_PASSIVE = re.compile(
    r"(?P<subject>only\s+[^;]+?)\s+(?:is|are)\s+(?P<rest>\w+(?:ed|en|wn|de|nt|ld|id|pt)\b.*)\Z", re.I
)


_AT_MOST = re.compile(
    rf"\A(?:at (?:the )?most|up to|a maximum of)\s+(?=(?:\d+|{lexicon.COUNT})\s+[\w ]+\b(?:may|can)\s+be\b)", re.I
)


def _respelled(text: str) -> str:
    """Forms without a modal in the words of one: "A is for S only", "be sure to A", "S need X to A"."""
    text = re.sub(
        r",\s*(?:under any circumstances|in any case|at any time|however|for example|in particular|"
        r"where applicable|if applicable)\s*,",
        "",
        text,
        flags=re.I,
    )
    text = re.sub(
        r"\b(?:may|can|must|shall|should|will),?\s+"
        r"(?:under no circumstances|in no (?:case|event)|on no account|at no time),?\s+",
        "must never ",
        text,
        flags=re.I,
    )
    text = re.sub(r",?\s+under any circumstances\Z|,?\s+in any case\Z", "", text, flags=re.I)
    text = re.sub(
        r"\b(?:shall be|must be|is|are)\s+subject to\s+"
        r"(?=(?:an?|the|prior|written)?\s*(?:prior\s+|written\s+)?"
        r"(?:approval|authori[sz]ation|consent|permission|review)\b)",
        "requires ",
        text,
        flags=re.I,
    )
    text = _AT_MOST.sub("Only ", text)
    text = re.sub(r"\A(?:please\s+)?(?:be sure|make sure|remember|take care)\s+to\s+", "Always ", text, flags=re.I)
    text = re.sub(r"\A(?:please\s+)?be sure\s+(?=that\b)", "Ensure ", text, flags=re.I)
    text = re.sub(
        r"\b(must|should|shall)\s+(?:be|make) sure\s+(?:that\s+)?(?!to\b)", r"\1 ensure that ", text, flags=re.I
    )
    need = re.match(
        r"(?P<who>[^,]{2,50}?)\s+needs?\s+(?!to\b|not\b)(?P<what>(?:an?|the|their|valid|at least)\b.+?)\s+"
        r"(?:in order\s+)?(?=to\s+[a-z]+\b|before\b)",
        text,
        re.I,
    )
    if need:
        return f"{need['who']} must have {text[need.start('what') :]}"
    approval = re.match(
        r"(?P<what>[^,]+?)\s+needs?\s+(?=(?:an?|the|prior|written|explicit)\b[^,]*\b"
        r"(?:approval|consent|permission|confirmation|authori[sz]ation|signature|review)\b)",
        text,
        re.I,
    )
    if approval and not re.search(rf"\b{conditions.ACTOR}\Z", approval["what"], re.I):
        return f"{approval['what']} requires {text[approval.end() :]}"
    refused = re.match(
        r"(?P<what>.+?)\s+(?:(?:is|are)\s+(?:not|never)|will\s+(?:not|never)\s+be)\s+"
        r"(?P<done>(?:admitted|accepted|considered|processed|tolerated|served|granted|issued|refunded|reimbursed|"
        r"honou?red)\b.*)",
        text,
        re.I,
    )
    if refused:
        return f"{refused['what']} must not be {refused['done']}"
    denied = re.match(r"(?P<what>.+?)\s+(?:is|are)\s+(?:denied|refused)\s+(?:to|for)\s+(?P<who>.+)", text, re.I)
    if denied:
        return f"{denied['what']} is prohibited for {denied['who']}"
    able = re.match(r"(?P<what>.+?)\s+(?:is|are)\s+(?P<stem>\w{4,}?)(?:able|ible)\s+(?P<only>only\s+.+)", text, re.I)
    if able and able["stem"].lower() not in ("avail", "poss", "accept", "elig", "permiss"):
        return f"{able['what']} may be {able['stem']}ed {able['only']}"
    none = re.match(
        r"(?P<what>no\s+.+?)\s+(?:is|are)\s+(?P<done>"
        r"(?:given|granted|issued|made|accepted|offered|sent|shared|processed|refunded|paid)\b.*)",
        text,
        re.I,
    )
    if none:
        return f"{none['what']} may be {none['done']}"
    alone = re.match(
        r"(?P<what>.+?) (?:is|are) (?:(?:available|open|offered|meant|there) )?(?:for|to) (?P<who>[^,;]+?) only\Z",
        text,
        re.I,
    )
    kept = re.match(
        r"(?P<what>.+?) (?:is|are) (?:only )?"
        r"(?:(?:reserved|exclusive|exclusively) (?:for|to)|(?:available|open) only (?:for|to)|restricted to|"
        r"limited to(?! \w*\s?\d)) (?P<who>.+)",
        text,
        re.I,
    )
    found = alone or kept
    return f"{found['what']} is allowed only for {found['who']}" if found and not quantified(found["who"]) else text


def quantified(text: str) -> bool:
    """Whether a phrase opens with a number."""
    return re.match(rf"\d|[$€£]|(?:{lexicon.COUNT}|a single)\b", text.strip(), re.I) is not None


_JOINT = (
    r",\s*(?:and|but|so|or|nor|yet)\s+|\s+but\s+|"
    r"\s+and\s+(?=(?:\w+\s+){1,2}(?:is|are) (?:needed|required|forbidden|prohibited|not allowed))|"
    r",?\s+and\s+(?=(?:must|may|can|cannot|should|shall|do not|never|is|are)\b)"
)
_JOINED_TO = re.compile(r"\A(?:in addition|in particular|as such|moreover|furthermore|therefore),\s+", re.I)
_AND_NOT = re.compile(r"(\b(must|shall|should)\s+([^,;]+?))\s+and\s+not\s+([a-z]+)", re.I)
_BARE_MODAL = re.compile(r"(?:(?:must|may|can|cannot|should|shall|will|need|needs|has|have|is|are)\b|not\b)", re.I)


def _stands_alone(right: str) -> bool:
    """Whether the words after a joint are a main clause: a modal within its first words, or an order not to."""
    if _PROHIBITIVE.match(right):
        return True
    if re.match(r"(?:if|when|unless)\b", right, re.I):
        return _modal(right) is not None
    found = _modal(right)
    if not found or found[0] == "requires":
        return False
    head = right[: found[1].start()]
    return len(head.split()) <= 7 and not re.search(
        r"\A(?:not|never)\b|\b(?:who|that|which|if|when|because|whether)\b", head, re.I
    )


def _cut(text: str, joint: str, keep: object) -> list[str]:
    parts, start = [], 0
    for found in re.finditer(joint, text, re.I):
        head = text[: found.start()]
        if head.count("(") == head.count(")") and head.count('"') % 2 == 0 and keep(text[found.end() :]):
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _lead_subject(text: str) -> str:
    found = split(conditions.leading(text)[0])
    return found.subject if found else ""


def _modal(text: str) -> tuple[Force, re.Match[str]] | None:
    """The modal of the main clause: the first outside relative clauses, else the last one."""
    best: list[tuple[int, int, Force, re.Match[str]]] = []
    for rank, (force, pattern) in enumerate(_MODALS):
        best += [
            (m.start(), rank, force, m)
            for m in pattern.finditer(text)
            if _outside(text, m.start()) and not (m.group() == "May" and m.start())
        ]
    best.sort(key=lambda b: (b[0], b[1]))
    taken: list[tuple[int, int, Force, re.Match[str]]] = []
    for entry in best:
        if not taken or entry[0] >= taken[-1][3].end():
            taken.append(entry)
    if not taken or (
        len(taken) == 1
        and re.search(r"\b(?:who|that|which)\s+\Z", text[: taken[0][0]], re.I)
        and taken[0][2] != "requires"
    ):
        return None  # the only modal belongs to a relative clause: "pick the fields that must be filled"
    first = next(
        (
            t
            for i, t in enumerate(taken)
            if not _relative(text, t[0]) or i == len(taken) - 1 or _relative_ends(text, t, taken[i + 1]) is False
        ),
        taken[0],
    )
    return first[2], first[3]


def _outside(text: str, at: int) -> bool:
    head = text[:at]
    return head.count("(") <= head.count(")") and head.count('"') % 2 == 0


def _relative(text: str, at: int) -> bool:
    """Whether a place lies right behind a relative pronoun, so that its verb is the relative clause's."""
    return bool(re.search(r"\b(?:who|that|which|whose|if|when|because|where)\s+(?:[\w']+\s+){0,4}\Z", text[:at], re.I))


def _relative_ends(text: str, first: tuple, second: tuple) -> bool:
    """Whether the second modal closes the subject that the first one's relative clause belongs to."""
    between = text[first[3].end() : second[0]]
    return not re.search(r"\b(?:who|that|which|whose|if|when|unless|and|or)\b|[,;]", between, re.I) or bool(
        re.search(r",\s*\Z", between)
    )
