"""What keeps a reading that lacks a tool or a field from being all that its sentence says.

Such a reading names acts and facts that nothing decides, so `accounting` cannot hold its words against tools and
fields.  It stays in force only if nothing in or around its sentence says that there is more to it: each content word
stands in a rule, each number in a test, and the sentence neither points elsewhere, advises, gives an example or keeps
a right, nor goes on in the next one.  What has to be done at some time is asked of those whom the document speaks to;
of anybody else, and of a thing that has to be so, it is no act that a call could be.  The reason says what is missing;
the reading is shown to a person, who may accept it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from wb.domain.document import Sentence
from wb.domain.tools import Toolbox
from wb.logic import formula as F
from wb.rules import called, operators, shapes, words
from wb.rules.rule import Predicate, Rule
from wb.rules.words import stem

_TEXTS = (
    r"(?:sub)?(?:sections?|articles?|paragraphs?|clauses?|annex(?:es)?|chapters?|policy|policies|guides?|guidelines?|"
    r"rules?|requirements?|conditions?|procedures?|standards?|instructions?|terms|laws?|regulations?|acts?|codes?)"
)
_POINTS = re.compile(
    r"\b(?:in|on) (?:that|this|such(?: an?)?|these|those|which) (?:cases?|events?|situations?|instances?|occasions?)\b|"
    r"\bthe (?:above|below|following|foregoing|former|latter|aforementioned)\b|"
    r"\b(?:above|below)(?=\s*(?:[.,;:)]|\Z))|"
    r"\bas (?:\w+ )?(?:set out|described|defined|specified|provided|outlined|stated|listed|contemplated|mentioned|"
    r"referred|required|noted|explained|shown|laid down)\b|"
    r"\b(?:anyway|thereof|therein|thereto|herein|otherwise|instead|likewise|respectively|accordingly)\b|"
    rf"\b(?:additional|further|other|special|certain|specific) {_TEXTS}\b|"
    r"\b(?:see|refer to|according to|pursuant to|in (?:accordance|line|terms) (?:with|of)|under|"
    r"(?:set out|referred to|defined|described|contemplated) in|compl(?:y|ies) with|adheres? to|compliance with)\b"
    rf"[^.;]*?\b{_TEXTS}\b",
    re.I,
)
_THESE = re.compile(r"\b(?:this|these|those|such(?: an?)?)\s+([a-z][\w-]*(?:\s+[a-z][\w-]*)?)", re.I)
_HERE = re.compile(  # the call that is judged, and the document itself
    r"(?:(?:tool|action|function|api|call)s?|policy|guidelines|guide|handbook|document|by-?laws?|regulations?|rules|"
    r"code|terms)\b",
    re.I,
)
_EXAMPLE = re.compile(r"\bfor (?:example|instance)\b|\be\.g\.|\bsay,", re.I)
_SCENE = re.compile(r"\A\W*(?:(?:the|an?)\s+)?(?i:[a-z]{2,})\s+[A-Z]\s+(?=[a-z])")  # "User A owns a project"
_OF_MANNER = re.compile(
    r"\b(?:styles?|tones?|formatting|voice|manners?|etiquette|wording|phrasing|personality)\b", re.I
)
_OF_EXAMPLES = re.compile(r"\b(?:examples?|scenarios?|illustrations?|case stud(?:y|ies))\b", re.I)
_ADVICE = re.compile(
    r"\b(?:ideally|preferabl[ey]|recommended|encouraged|advisable|suggested|(?:may|might) (?:want|wish|like) to|"
    r"consider|feel free|best practice|good (?:idea|practice)|helpful|useful|"
    r"(?:where|when|if|as|whe[nr]e?ver)\b(?: (?:far|much|soon|often|\w+ly))?(?: as)?(?: it)?(?: is| are)? "
    r"(?:possible|feasible|practicable|practical|appropriate|applicable|available|necessary|needed|convenient))\b|"
    r"(?:\A|[,:;])\W*(?:please )?(?:try|consider|note|see|remember that)\b",
    re.I,
)
_ROLE = re.compile(r"\A\W*(?:you (?:must |should |shall |will )?)?(?:act|serve|behave) as an?\b", re.I)
_OF_SOMEBODY = re.compile(r"\brequires? (?:[\w'-]+ ){1,5}?to (?=[a-z])", re.I)  # "requires customers to log in"
_MAY_NOT_BE = re.compile(r"\b(?:may|might|can|could) not be \w+(?:ed|wn|ven|ken|ld|nt|pt)\b", re.I)
_RIGHT = re.compile(
    r"\breserves? the (?:\w+ )?right|\bha(?:s|ve) (?:the|a) (?:\w+ )?right\b|\b(?:is|are) entitled\b|"
    r"\bat (?:its|their|his|her|our|the)(?: \w+){0,4} discretion\b|"
    r"\bin (?:its|their|his|her|our) (?:\w+ )?discretion\b",
    re.I,
)
_OFTEN = re.compile(
    r"\b(?:daily|weekly|monthly|quarterly|annually|yearly|hourly|nightly|regularly|periodically|frequently|"
    r"repeatedly|occasionally|often|at all times|at any time|(?:\w+ly|annual|regular) (?:basis|intervals)|"
    r"(?:every|each|per|once an?) (?:\w+ )?(?:minute|hour|day|night|evening|morning|week|month|quarter|season|year|"
    r"time|visit|shift)s?)\b",
    re.I,
)
_CLOCK = re.compile(
    r"\b(?:after|before|until|by|at) (?:hours|dark|noon|midnight|sunset|sunrise|dawn|dusk|curfew|closing time)\b", re.I
)
_SOME_TIME = re.compile(  # what a duty at some time does not say
    r"\b(?:at|during|in) (?:the (?:very )?)?(?:beginning|start|outset|end|close)\b|"
    r"\bwithin (?:[\w-]+ ){0,3}(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b|"
    r"\b(?:always|continuous(?:ly)?|constant(?:ly)?|permanent(?:ly)?|throughout|forever|immediate(?:ly)?|"
    r"prompt(?:ly)?|as soon as|without (?:\w+ )?delay|in advance|first|until|no later than|"
    r"by (?:the end|noon|midnight|\w+day))\b",
    re.I,
)
_EACH = re.compile(r"\b(?:each|every)\b", re.I)
_WHICH = re.compile(r"\b(?:that|which|who) [a-z]+\b", re.I)
_STATE = re.compile(r"\b(?:make sure|ensure|be sure|see to it)\b", re.I)
_GOES_ON = re.compile(
    r"\A\W*(?:however|but|(?:except\w*|unless)(?! [^,]*, \w)|otherwise|nevertheless|nonetheless|notwithstanding|"
    r"that said|(?:an|the|one|only|some) (?:only )?exceptions?|"
    r"(?:this|these|that|the)(?: \w+)? (?:does|do|shall|will|is|are)(?: not|n't) (?:appl|hold|includ|cover|extend)\w*|"
    r"in (?:such|these|those|exceptional|some) cases)\b",
    re.I,
)
_TURNS = re.compile(r"\b(?:however|but|although|though|nevertheless|nonetheless)\b", re.I)
_EXCEPTS = re.compile(r"\b(?:unless|except\w*|without|only|until|provid(?:ed|ing) that)\b|[:;](?= )", re.I)
_COPULA = re.compile(r"\b(?:is|are|was|were|has|have)\b", re.I)
_FORCE = re.compile(
    r"\b(?:must|shall|should|ought to|ha(?:s|ve) to|(?:will )?needs? to|will have to|"
    r"(?:is|are) (?:\w+ly )?(?:required|expected|obliged|supposed|asked|responsible|to)\b(?: to\b)?|"
    r"(?:is|are) (?:\w+ )?(?:required|needed|necessary|mandatory|compulsory)|requires?|"
    r"may|can|could|might)\b",
    re.I,
)
_PASSIVE = re.compile(
    r"\s+(?:(?:also|always|then|first|only|\w+ly)\s+)*be\s+(?:(?:also|\w+ly)\s+)?"
    r"(?:\w+(?:ed|en|wn|de|ld|id|pt|ght|ung)|sent|lent|spent|bent|built|kept|held|put|set|cut|shut|left|lost|met|"
    r"read|done|gone|found|bound|fed|led|run|sold|told|worn|torn|born)\b",
    re.I,
)
# Whom a document speaks to: those whose acts the calls are.
_ADDRESSED = re.compile(
    r"(?:.*[,;:]\s+|.*\b(?:and|then|also)\s+)?(?:as such\s+)?(?:(?:all|each|every|any|the|our|an?|both)\s+)*"
    r"(?:you|we|(?:[\w'-]+\s+){0,3}?(?:agents?|assistants?|employees?|staff|personnel|workers|users|contractors|"
    r"volunteers|everyone|everybody))\s*(?:,?\s*(?:also|always|therefore))?\Z",
    re.I | re.S,
)
_LEADING = re.compile(
    r"\A\W*(?:if|when|whenever|where|once|after|before|unless|in case|in|on|at|for|during|with|to|as|because|by|should)"
    r"\b[^,]*,\s+(?:then\s+)?",
    re.I,
)
_INNER = re.compile(
    r"\b(?:who|that|which|whose|what|how|whether|if|when|because|where|as)\s+(?:[\w']+\s+){0,4}\Z", re.I
)
_AIM = re.compile(r"\A\W*(?:in order )?to\b[^:,]*[:,]", re.I)
_AIMED = re.compile(r"\A\W*(?:in order )?to\b[^,]*:\Z", re.I)
_OPENS = re.compile(
    r"\A\W*(?:(?:please|also|always|then|next|finally|first|and|additionally|furthermore|moreover|in addition|"
    r"in particular),?\s+)*",
    re.I,
)
_LISTING = re.compile(r"\b(?:(?:any|all|one|each) of )?(?:the )?following\b", re.I)
_LISTED = re.compile(r"([^,;:()]*)\(([^()]*,[^()]*)\)")
_NO_NUMBER = re.compile(  # names: "2FA", "#4", "1-800-TAXI"
    r"#[\w-]+|\S+@\S+|\b\w*\d\w*-\d[\w-]*|\b\d+[a-z]+\b|\b[a-z]+\d\w*\b|"
    r"\b(?:no|any|every|some|each)[- ]?one\b|\bone another\b",
    re.I,
)
# What a sentence says beside its acts and facts that changes nothing of them.
_BESIDE = frozenset(
    stem(word)
    for word in """also addition additionally particular such furthermore moreover therefore hence thus please sure make
 ensure be expected supposed order way own well because whether how why about between among against during upon via per
 across through throughout toward towards along off out back any other responsible unable duly have has had is are was
 were be been since like both either however but until while although though whenever wherever instead first
 already obtain""".split()
)

_A_CALL = called.stems("the api tool function calling")  # what a tool that is meant may be called


def withheld(
    sentence: Sentence, after: str, rules: Sequence[Rule], predicates: Sequence[Predicate], toolbox: Toolbox
) -> tuple[str, ...]:
    """Why rules that lack a tool or a field may not be all that a sentence says; empty if they may be.

    `after` is the sentence behind it, or empty where none belongs to it.
    """
    used = [p for p in predicates if any(p.name in rule.predicates for rule in rules)]
    said, context = words.plain(sentence.said), words.plain(" ".join(sentence.stems))
    whole = f"{_LISTING.sub(' ', context)} {said}".strip()
    beside = " ".join((sentence.label, *(words_of for pair in sentence.row for words_of in pair)))
    above = " / ".join((*sentence.headings[-1:], context))
    why = (
        _shown("it points to what stands elsewhere", _POINTS, said) or _pointing(said),
        _shown("it is an example", _EXAMPLE, said) or _shown("it is a scene", _SCENE, said),
        _shown("it stands among examples", _OF_EXAMPLES, above),
        _shown("it advises, or leaves a choice", _ADVICE, said),
        _shown("it says who somebody is to be, not what is done", _ROLE, said),
        _shown("it asks somebody else for an act, and has it as a fact", _OF_SOMEBODY, said),
        _shown("it may forbid, or say what may be lacking", _MAY_NOT_BE, said),
        _shown("it keeps a right, which binds nobody", _RIGHT, whole),
        "" if words.forced(said) else _shown("it says how to come to an end, not that it must be", _AIMED, context),
        "it opens a list, and its items say the rest" if said.endswith(":") else "",
        _shown("another part of it may take something back", _TURNS, said),
        _shown("no rule here says how often", _OFTEN, said),
        _shown("it says when, and its rule does not", _CLOCK, said),
        *goes_on(after),
        *in_order(sentence, rules),
        *_asked(whole, said, above, rules, used),
        *_numbered(said, used),
        *_divided(rules, used),
        *_inside(rules, used),
        *_left(whole, used, toolbox),
        *_titled(f"{whole} {beside}", sentence.headings, used),
    )
    return tuple(filter(None, why))


def in_order(sentence: Sentence, rules: Iterable[Rule]) -> tuple[str, ...]:
    """Whether a step of a numbered list became something to do at some time: its place among the steps is lost."""
    if sentence.kind != "step":
        return ()
    for rule in rules:
        match rule.formula:
            case F.Eventually(F.Atom(step)) | F.Always(F.Eventually(F.Atom(step))):
                return (f"a step of a numbered list: before which it has to be done, its rule does not say ({step!r})",)
    return ()


def goes_on(after: str) -> tuple[str, ...]:
    """Whether the sentence behind one may take something of it back; empty if not."""
    found = _shown("the next sentence may take something back", _GOES_ON, words.plain(after))
    return (found,) if found else ()


def _shown(why: str, pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return f"{why}: {' '.join(found.group().split()).strip(' ,;:')!r}" if found else ""


def _pointing(said: str) -> str:
    """The noun that "this" or "these" goes with, where the sentence has not named it before."""
    for found in _THESE.finditer(said):
        named = called.stems(said[: found.start()]) - _BESIDE
        if not _HERE.match(found[1]) and not called.stems(found[1]) & named:
            return f"it points to what stands elsewhere: {' '.join(found.group().split())!r}"
    return ""


def _asked(whole: str, said: str, above: str, rules: Iterable[Rule], used: Iterable[Predicate]) -> Iterator[str]:
    """Why what a sentence asks for at some time is no act of those whom the document speaks to, or is asked for at
    another time, or of more things, than its rule says."""
    acts = {p.name for p in used if p.kind == "action"}
    asked = [name for rule in rules for name in _later(rule) if name in acts]
    if not any(any(_later(rule)) for rule in rules):
        return
    yield _shown("it stands among what says how to speak", _OF_MANNER, above)
    yield _shown("it says when, and its rule does not", _SOME_TIME, said)
    if not _STATE.search(said):
        force = _FORCE.search(said)
        yield _shown("it is asked for each, and its rule asks for one", _EACH, said)
        yield _shown("it is asked for those things alone", _WHICH, said[force.end() :] if force else said)
    main = re.sub(r"(?<=\w):(?= )", ",", whole) if _AIM.match(whole) else whole
    for _ in range(2):
        main = _LEADING.sub("", _OPENS.sub("", main))
    first = re.match(r"[a-z]+", main, re.I)
    order = first is not None and any(stem(first.group().lower()) == stem(name.split("_")[0]) for name in asked)
    forces = list(_FORCE.finditer(main))
    outer = [m for m in forces if not _INNER.search(main[: m.start()])]
    force = next(iter(outer or (() if order else forces[-1:])), None)
    who = main[: force.start()].strip(" ,") if force is not None else ""
    if force is None and not order:
        yield f"it states, and what must be done is not tied to a call: {main[:40]!r}"
    elif force is not None and _PASSIVE.match(main[force.end() :]):
        yield f"who must do it is not said, and what must be done is not tied to a call: {force.group()!r}"
    elif who and not _ADDRESSED.match(who):
        yield f"somebody else must do it, and what must be done is not tied to a call: {who[-40:]!r}"


def _later(rule: Rule) -> Iterator[str]:
    """What a rule asks for at some time."""
    for node in F.subformulas(rule.formula):
        if isinstance(node, F.Eventually):
            yield from F.atoms(node)


def _numbered(said: str, used: Sequence[Predicate]) -> Iterator[str]:
    """The numbers of a sentence that no test has."""
    told = {float(one.value) for p in used for one in shapes.literals(p) if type(one.value) in (int, float)}
    for number in sorted(operators.spoken(_NO_NUMBER.sub(" ", said)) - told):
        yield f"a number that no test has: {number:g}"


def _divided(rules: Iterable[Rule], used: Sequence[Predicate]) -> Iterator[str]:
    """Whether one "or" divides the facts of a rule and another one stands inside of a fact: which does what is not
    known."""
    for rule in rules:
        loose = [p for p in used if p.name in rule.predicates and p.kind == "state" and p.test is None]
        if len(loose) > 1 and any(re.search(r"\bor\b", p.description, re.I) for p in loose):
            yield "one 'or' of it divides facts, and another one stands inside of a fact"


def _inside(rules: Iterable[Rule], used: Iterable[Predicate]) -> Iterator[str]:
    """What has no place inside of an act or a fact that nothing decides: an exception, another clause, or in an act
    that is forbidden or bound to something a verb that makes it something that is so."""
    asked = {name for rule in rules for name in _later(rule)}
    for p in used:
        if p.tools or p.test is not None:
            continue  # its words are the toolbox's
        if inner := _EXCEPTS.search(p.description):
            yield f"{inner.group().lower()!r} stands inside of {p.name!r}"
        head = re.split(r"\b(?:that|which|who|what|whether|how|where)\b", p.description, maxsplit=1)[0]
        if p.kind == "action" and p.name not in asked and (verb := _COPULA.search(head)):
            yield f"its act is something that is so: {p.name!r} ({verb.group().lower()})"


def _left(whole: str, used: Sequence[Predicate], toolbox: Toolbox) -> tuple[str, ...]:
    """The content words that no name and no description of the rules' acts and facts has; not those of an aim, nor
    those before a list in brackets of acts that the rules have."""
    named = called.stems(" ".join(f"{p.name} {p.description} {' '.join(p.keywords)}" for p in used))
    known = frozenset(called.carried(used, toolbox) | named | _BESIDE)
    known |= _A_CALL if any(p.tools for p in used) else frozenset()
    said = _AIM.sub(" ", whole)
    for found in _LISTED.finditer(said):
        if not called.unspent(found[2], known):
            said = said.replace(found[1], " ")
    return called.unspent(said, known)


def _titled(whole: str, headings: Sequence[str], used: Iterable[Predicate]) -> Iterator[str]:
    """The acts of no tool that the sentence does not name, and a title above it does."""
    spoken, titled = called.stems(whole), called.stems(" ".join(headings))
    for p in used:
        missing = called.stems(p.name) - _BESIDE - spoken
        if p.kind == "action" and not p.tools and missing and missing <= titled:
            yield f"its act stands in a title, and no tool does it: {p.name!r}"
