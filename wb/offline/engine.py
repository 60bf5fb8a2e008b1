"""The engine that needs no model service: each prompt is answered by a deterministic technique.

A baseline that says so: its name is on every reply, and what it cannot decide it returns as undecided with a reason.
Sentences are read by `reader`; embeddings rank and compare, and never decide polarity or class.  All vocabulary comes
from the toolbox of the policy's own folder.

`write_source` and `write_guard` go from the sentences, by the same parse, to one early return a requirement; they see
neither rules nor contract.  `repair_guard` is a search: the one-place changes of `faults`, kept when more examples come
out right.  That mends a wrong comparison, an edge off by one, a negation too many or a wrong field; it cannot invent a
missing requirement, and then gives the code back as it was.

`refine_predicates` and `merge_predicates` (ShieldAgent, Alg. 2) are answered from the shape of formulas and from
what predicates are bound to.  Proposals only: each passes the same exact check, whoever made it.

`extract_arguments` tells none: an argument that only words tell stays unknown here.

Of the steps of the mapper, `create_items` gives the items that were read (`rules.items`), `review_items` archives those
that the grammar archives, and `sort_tools` tells by the verb of a tool's name and description what it does.  The other
steps change nothing: what was read is found once, and each sentence is an item already.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from wb.domain.tools import Toolbox
from wb.guards import faults, sandbox
from wb.guards.contract import bracketed
from wb.guards.examples import Example, failures
from wb.logic import cel, decide, facts, syntax
from wb.logic import formula as f
from wb.logic.facts import Comparison, Fact, Negation, OneOf, Path, Scalar, Size
from wb.logic.formula import TRUE, Always, And, Atom, Formula, Iff, Implies, Not, Or, conjunction, subformulas
from wb.logic.syntax import render
from wb.logic.wording import NEGATED, words
from wb.models.embeddings import Encoder
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Usage
from wb.models.prompt import Prompt
from wb.offline import reader, vocabulary
from wb.offline import recogniser as recognise
from wb.offline.binding import Reading
from wb.offline.grammar import Unread
from wb.rules import certify
from wb.rules.items import Item
from wb.rules.rule import Predicate
from wb.rules.truths import source

EDITS = 3  # corrections in one go
_RELATIONS = ("is", "is other than", "is less than", "is at most", "is more than", "is at least")
RELATION = dict(zip(facts.OPERATORS, _RELATIONS, strict=True))
Row = Mapping[str, object]


class Unsaid(LookupError):
    """No parameter of the signature stands for what a sentence speaks of."""


def write(inputs: Mapping[str, object], toolbox: Toolbox) -> dict[str, object]:
    """The reply to `write_guard`: a function from the sentences, and the ids of those it cannot express."""
    requirements: dict[str, str] = {}
    uncovered: list[str] = []
    for sentence in inputs["sentences"]:
        try:
            for broken in _broken(sentence, inputs, toolbox):
                requirements.setdefault(broken, sentence["id"])
        except Unsaid:
            uncovered.append(sentence["id"])
    return {"code": _function(str(inputs["signature"]), requirements), "uncovered": uncovered}


def repair(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `repair_guard`: the code with up to three one-place changes, or as it was."""
    cases = [
        Example("boundary", "", tuple(row["arguments"].items()), row["allowed"])
        for row in (*inputs["complaints"], *inputs["examples"])
        if row["allowed"] is not None and row["arguments"]
    ]
    return {"code": corrected(str(inputs["code"]), cases), "uncovered": []}


def corrected(code: str, cases: Sequence[Example]) -> str:
    """The code after the changes that make most cases right, one at a time, each better than before."""
    best, wrong = code, _wrong(code, cases)
    for _ in range(EDITS):
        if not wrong:
            break
        scored = [(_wrong(m.source, cases), m.source) for m in faults.mutants(best)]
        fewest = min(scored, key=lambda pair: pair[0], default=(wrong, best))
        if fewest[0] >= wrong:
            break
        wrong, best = fewest
    return best


def _broken(sentence: Row, inputs: Mapping[str, object], toolbox: Toolbox) -> Iterator[str]:
    """For each requirement that the sentence puts on the tool, the expression that is true where it is broken."""
    try:
        piece = reader.in_context(sentence["text"], sentence["headings"], sentence["context"])
        _, found = reader.readings(piece, toolbox)
    except Unread as error:
        raise Unsaid(str(error)) from None
    for reading in found:
        if reading.modality != "oblige" and inputs["tool"]["name"] in reading.action.tools:
            yield _Words(reading, inputs["parameters"]).text(reading.condition, negated=True)


def _function(signature: str, requirements: Mapping[str, str]) -> str:
    """Early returns in the order of the sentences; what is forbidden outright comes last."""
    lines = [signature]
    for broken, reason in requirements.items():
        if broken not in ("True", "False"):
            lines += [f"    if {broken}:", f"        return (False, {reason!r})"]
    last = f"(False, {requirements['True']!r})" if "True" in requirements else "(True, 'allowed')"
    return "\n".join([*lines, f"    return {last}", ""])


class _Words:
    """The expressions of one reading in the words of the signature."""

    def __init__(self, reading: Reading, parameters: Sequence[Row]) -> None:
        self.predicates = {p.name: p for p in reading.predicates}
        self.parameters = parameters

    def text(self, formula: Formula, *, negated: bool) -> str:
        """The formula, or its opposite with the negations moved inwards."""
        match formula:
            case f.Constant(value):
                return str(value != negated)
            case f.Not(body):
                return self.text(body, negated=not negated)
            case f.And(left, right) | f.Or(left, right):
                word = " or " if isinstance(formula, f.Or) != negated else " and "
                return word.join(bracketed(self.text(part, negated=negated)) for part in (left, right))
            case f.Atom(name) if name in self.predicates:
                return self._state(self.predicates[name], negated)
            case f.Once():
                return _signed(self._past(formula), negated)
            case _:
                raise Unsaid(
                    f"a sentence's condition is made of and, or, not and earlier; got {type(formula).__name__}"
                )

    def _state(self, predicate: Predicate, negated: bool) -> str:
        if predicate.test is not None:
            measured = source(predicate), "count" if isinstance(predicate.term, Size) else "value"
            for row in self.parameters:
                if measured == (row.get("field"), row.get("measure")) or _term(row, predicate.test):
                    return _compared(str(row["name"]), predicate.test, negated)
        return self._fact(predicate, negated)

    def _fact(self, predicate: Predicate, negated: bool) -> str:
        """The fact of that name, of that test or its opposite, else the one that took over all its keywords."""
        facts = [row for row in self.parameters if "fact" in row]
        for row in facts:
            if row["fact"] == predicate.name and not (predicate.test and "test" in row):
                return _signed(str(row["name"]), negated)
        for row in facts:
            if predicate.test is None or "test" not in row:
                continue
            told = cel.parse(str(row["test"]))
            if told in (predicate.test, *_opposites(predicate.test)):
                return _signed(str(row["name"]), negated == (told == predicate.test))
        return _signed(_by_words(facts, predicate.keywords), negated)

    def _past(self, formula: Formula) -> str:
        told = [row for row in self.parameters if "past" in row]
        for row in told:
            if row["past"] == render(formula):
                return str(row["name"])
        return _by_words(told, tuple(w for name in f.predicates(formula) for w in self.predicates[name].keywords))


def _term(row: Row, test: Fact) -> bool:
    """Whether a parameter holds what a test measures, where that lies within an object."""
    match test:
        case Comparison(limit=(term, _, Scalar())):
            return row.get("term") == cel.render(term)
        case OneOf(item, _):
            return row.get("term") == cel.render(item)
    return row.get("term") == cel.render(test)


def _by_words(rows: Sequence[Row], words: Sequence[str]) -> str:
    """The parameter that has all the words, the one with fewest others; refinement renames but keeps keywords."""
    holding = [row for row in rows if words and set(words) <= set(row["words"])]
    if not holding:
        raise Unsaid(f"no parameter has the words {list(words)}")
    return str(min(holding, key=lambda row: len(row["words"]))["name"])


def _compared(name: str, test: Fact, negated: bool) -> str:
    """A test of one measure, as the reader writes them, over the parameter that holds it."""
    match test:
        case Path():
            return _signed(name, negated)
        case OneOf(_, options):
            word, op = (" and ", "!=") if negated else (" or ", "==")
            return word.join(f"{name} {op} {option.value!r}" for option in options)
        case Comparison(limit=(_, op, Scalar(value, type=kind))) if kind != "bool":
            return f"{name} {NEGATED[op] if negated else op} {value!r}"
    raise Unsaid(f"a limit, a flag or one of several values was required; got {cel.render(test)}")


def _signed(name: str, negated: bool) -> str:
    return f"not {name}" if negated else name


def _opposites(test: Fact) -> tuple[Fact, ...]:
    """The facts that are true exactly where the test is false."""
    inverse = (Comparison(NEGATED[test.op], test.left, test.right),) if isinstance(test, Comparison) else ()
    return (Negation(test), *inverse)


def _wrong(code: str, cases: Sequence[Example]) -> int:
    try:
        return len(failures(sandbox.load(code), cases))
    except sandbox.UnsafeSource:
        return len(cases) + 1


def refine(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `refine_predicates`: the rule's single requirements, and its predicates in other words."""
    rule = inputs["rule"]
    if "open" in rule:
        return {"label": "cannot be verified", "reason": "no reader is there who could read it again"}
    found = parts(syntax.parse(rule["formula"]))
    rules = (
        [
            {"text": f"{rule['text']} ({i} of {len(found)})", "formula": syntax.render(part)}
            for i, part in enumerate(found, 1)
        ]
        if len(found) > 1
        else []
    )
    words = [
        {"name": p["name"], "new_name": p["name"], "description": text}
        for p in inputs["predicates"]
        if (text := wording(p)) and text != p["description"].rstrip(".")
    ]
    idle = [p["name"] for p in inputs["predicates"] if not any((p.get("meaning") or {}).values())]
    label, reason = "good", "one requirement, of predicates that something tells"
    if rules or words:
        label, reason = "needs refinement", "one requirement a rule, and the words of what each predicate is bound to"
    elif idle:
        label, reason = "cannot be verified", f"nothing tells {', '.join(idle)}"
    return {"label": label, "rules": rules, "predicates": words, "reason": reason}


def _of_rule(rule: Row, inputs: Row) -> dict[str, object]:
    """One rule of several with its own predicates, in their order."""
    known = {p["name"]: p for p in inputs["predicates"]}
    return {"rule": rule, "predicates": [known[name] for name in rule["predicates"]]}


def parts(formula: Formula) -> tuple[Formula, ...]:
    """The requirements that a rule states together, each a rule of its own; the rule itself if it is one.

    Conjunctions on the right of an implication and disjunctions of conditions in a denial come apart.
    Alternatives on the left stay together: one requirement may bind several actions.
    """
    match formula:
        case And(left, right):
            return parts(left) + parts(right)
        case Always(And() | Implies() | Not() as body):
            return tuple(Always(part) for part in _requirements(body))
    return (formula,)


def _requirements(body: Formula) -> tuple[Formula, ...]:
    match body:
        case And(left, right):
            return _requirements(left) + _requirements(right)
        case Not(Or(left, right)):
            return _requirements(Not(left)) + _requirements(Not(right))
        case Not(And(left, Or(one, other))):
            return _requirements(Not(And(left, one))) + _requirements(Not(And(left, other)))
        case Not(Not(inner)):
            return _requirements(inner)
        case Not(Implies(left, right)):
            return _requirements(left) + _requirements(Not(right))
        case Implies(left, right):
            return tuple(Implies(left, part) for part in _requirements(right))
    return (body,)


def wording(predicate: Mapping[str, object]) -> str:
    """A description that sets the predicate apart: in the words of what it is bound to, and with its place.

    An action is placed by what it is given, a state by the actions that it is asked about: near-twins
    are told apart by what they are for.  Empty where nothing is known of the predicate.
    """
    meaning, said = predicate.get("meaning") or {}, predicate["description"].rstrip(".")
    if predicate["kind"] == "action":
        tools = "; ".join(
            dict.fromkeys(t["description"].rstrip(".") for t in meaning.get("tools", []) if t["description"])
        )
        given = dict.fromkeys(a.replace("_", " ") for t in meaning.get("tools", []) for a in t["arguments"])
        return (tools or said) + (f", given {', '.join(given)}" if given else "")
    head, _, tail = said.partition(": ")
    if tail and set(head.split(" or ")) & set(predicate["used_by"]):
        said = tail  # placed before, perhaps among other actions
    field = meaning.get("field") or {}
    if meaning.get("test") and field.get("description", "\0").rstrip(".") not in said:
        said = _state_wording(cel.parse(meaning["test"]), field)
    return ": ".join(part for part in (" or ".join(predicate["used_by"][:3]), said) if part)


def _state_wording(test: Fact, field: Mapping[str, object]) -> str:
    """A test of one measure in words, about what the toolbox says of its field."""
    *_, last = facts.paths(test)[0].names
    subject = field.get("description", "").rstrip(".") or last.replace("_", " ")
    match test:
        case Path():
            return subject
        case OneOf(_, options):
            return f"{subject} is one of {', '.join(str(option.value) for option in options)}"
        case Comparison(limit=(term, op, Scalar(value, type=kind))) if kind != "bool":
            count = "the number of " if isinstance(term, Size) else ""
            return f"{count}{subject} {RELATION[op]} {value}"
    return words(test)


def merge(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `merge_predicates`: pairs bound to the same, pairs that sound alike, rules that others imply."""
    known = {p["name"]: p for p in inputs["predicates"]}
    given = conjunction(tuple(syntax.parse(text) for text in inputs["background"]))
    same = [
        _pair(*_positive(a, b, negated, inputs["rules"]), negated, f"bound to {'the opposite of ' * negated}the same")
        for a, b in _pairs(known)
        for negated in (False, True)
        if decide.implies(TRUE, Always(Iff(Atom(a), Not(Atom(b)) if negated else Atom(b))), given)
    ]
    settled = {frozenset((m["keep"], m["drop"])) for m in same}
    alike = [
        _pair(*_clearer(known[a], known[b]), False, f"cosine {cosine}")
        for a, b, cosine in inputs["similar"]
        if frozenset((a, b)) not in settled
    ]
    return {"merges": same + alike, "redundant": list(_redundant(inputs["rules"], given))}


def _pairs(known: Mapping[str, Mapping[str, object]]) -> Iterable[tuple[str, str]]:
    """Every pair of bound predicates once, the clearer first."""
    names = [n for n, p in known.items() if p.get("meaning")]
    return [_clearer(known[a], known[b]) for i, a in enumerate(names) for b in names[i + 1 :]]


def _clearer(left: Mapping[str, object], right: Mapping[str, object]) -> tuple[str, str]:
    """The two names, the one to keep first: less vague, then shorter, then first in the alphabet."""
    first, second = sorted((left, right), key=lambda p: (p["vagueness"], len(p["name"]), p["name"]))
    return first["name"], second["name"]


def _positive(first: str, second: str, negated: bool, rules: list[Mapping[str, str]]) -> tuple[str, str]:
    """Of two opposites, first the one whose negation the rules say less often, so that rules read positively."""
    if not negated:
        return first, second
    denied = {
        name: sum(Not(Atom(name)) in subformulas(syntax.parse(r["formula"])) for r in rules) for name in (first, second)
    }
    used = {name: sum(Atom(name) in subformulas(syntax.parse(r["formula"])) for r in rules) for name in (first, second)}
    return min((first, second), (second, first), key=lambda pair: denied[pair[0]] + used[pair[1]] - denied[pair[1]])


def _pair(keep: str, drop: str, negated: bool, reason: str) -> dict[str, object]:
    return {"keep": keep, "drop": drop, "negated": negated, "reason": reason}


def _redundant(rules: list[Mapping[str, str]], given: Formula) -> Iterable[dict[str, object]]:
    """Rules implied by one other rule of the group, as a reply names them."""
    formulas = {r["id"]: syntax.parse(r["formula"]) for r in rules}
    for weak, strong in certify.redundant(formulas, given).items():
        yield {"rule": weak, "because": [strong], "reason": f"already required by {strong}"}


# ---- the steps of the mapper ---------------------------------------------------------------------


def sort_tools(inputs: Row, toolbox: Toolbox) -> dict[str, object]:
    """The reply to `sort_tools`: a tool changes something unless all of its acts are those of looking something up."""
    changing = vocabulary.changing(toolbox)
    return {"tools": [{"tool": row["name"], "changes": row["name"] in changing} for row in inputs["tools"]]}


def create_items(inputs: Row, read: Sequence[Item]) -> dict[str, object]:
    """The reply to `create_items`: the items that were read for the tool."""
    rows = [
        {"name": item.name, "description": item.description, "references": [r.text for r in item.references]}
        for item in read
        if item.tool == _tool(inputs)
    ]
    return {"tool": _tool(inputs), "items": rows}


def review_items(inputs: Row, read: Sequence[Item]) -> dict[str, object]:
    """The reply to `review_items`: what the grammar archives."""
    own = [item for item in read if item.tool == _tool(inputs) and item.archived]
    reasons = {(item.name, item.description): item.archived for item in own}
    rows = [(row["id"], reasons.get((row["name"], row["description"]))) for row in inputs["items"]]
    return {"tool": _tool(inputs), "archive": [{"item": id, "why": reason} for id, reason in rows if reason]}


def _tool(inputs: Row) -> str:
    return str(inputs["tool"]["name"])


# ---- whether an answer is a yes ------------------------------------------------------------------

YES = (
    "yes|yes i do|yes it is|yeah|yep|yup|sure|ok|okay|of course|certainly|absolutely|definitely|correct|confirmed|"
    "agreed|i do|i agree|i confirm|i confirm it|i am sure|im sure|that is right|that is correct|thats right|"
    "thats correct|that is fine|thats fine|sounds good|go ahead|go for it|do it|do so|proceed|you may|you may proceed"
)
NO = (
    "no|nope|nah|no way|never|not now|not yet|i do not|i dont|do not|dont|do not do it|dont do it|wait|forget it|"
    "never mind|nevermind|i disagree|i decline|declined"
)
FILLER = "please|thanks|thank you|thank you very much|many thanks|with it|then"
OPENING = (
    "(?:shall|should|may) i|do you want me to|would you like me to|do you confirm that i (?:may|should|shall)|"
    "is it (?:ok|okay|all right) (?:if i|to)"
)
SMALL = frozenset("the a an your this now please".split())
QUESTIONS = "?？؟⁇⁈⁉‽"  # in any script: one question asks one thing
WORD = re.compile(r"[\w@#/:+.-]*\w")


ACT = re.compile(r"has the \w+ (?:agreed|consented|said yes) (?:to|that the \w+ may) (.+?) ?\?", re.IGNORECASE)


def answer_question(inputs: Row) -> dict[str, object]:
    """The reply to the prompt `answer_question`: only whether somebody agreed to an act, as in `ACT`, is read."""
    asked = ACT.fullmatch(" ".join(str(inputs["question"]).split()))
    if asked is None or inputs["type"] != "boolean":
        reason = "only questions such as 'Has the user agreed to cancel?' are answered without a model"
        return {"value": None, "quotation": "", "speaker": "", "reason": reason}
    return _agreed(asked[1], inputs["about"], inputs["conversation"], inputs["of"])


def _agreed(act: str, about: object, conversation: Sequence[Mapping], of: Sequence[str]) -> dict[str, object]:
    """Whether the newest words that count are a yes to what was said right before them."""
    texts = [row for row in conversation if "says" in row]
    turns = [(mine, list(rows)) for mine, rows in groupby(texts, lambda row: row["who"] in of)]
    later = turns.pop()[1] if turns and not turns[-1][0] else []
    given = turns.pop()[1] if turns else []
    put = turns.pop()[1] if turns else []
    parts = {"question": put, "answer": given, "later": later}
    joined = {name: "\n".join(row["says"] for row in rows) for name, rows in parts.items()}
    found = agrees({**joined, "act": act, "about": about})
    last = given[-1] if given and found["agrees"] != "unclear" else {"says": "", "who": ""}
    value = {"yes": True, "no": False}.get(found["agrees"])
    return {"value": value, "quotation": last["says"], "speaker": last["who"], "reason": found["reason"]}


def agrees(inputs: Row) -> dict[str, object]:
    """Whether an answer is a yes to an act with these details, said right after it was put as a question.

    By a closed list of phrases, and nothing that is not on it: a yes to a question of one form, of which each word is
    accounted for, and before which nothing is said: an opening such as "Shall I", the act, and the details, joined by
    small words, or by the one that a detail is called by ("to Ann" for an argument `to`).  Which part a detail plays is
    not read otherwise: of two texts, or two numbers, either may be meant, and nothing is said.
    """
    answer, later = str(inputs["answer"]), str(inputs["later"])
    said = "no" if _only(NO, answer) else "yes" if _only(YES, answer) else ""
    why = "" if said else "it is not in the list of phrases that say nothing but yes or no"
    why = why or _misput(str(inputs["question"]), str(inputs["act"]), inputs["about"])
    if not why and later.strip():
        why = "something was said since, which may change what was asked"
    return {"agrees": "unclear" if why else said, "reason": why or f"it says {said} and nothing else"}


def _only(phrases: str, said: str) -> bool:
    """Whether what was said is one or more of the phrases, fillers aside."""
    plain = re.sub(r"[’']", "", said.casefold())
    parts = [" ".join(part.split()) for part in re.split(r"[.,;!\n]+|\s-+\s", plain)]
    known = re.compile(f"(?:(?:{phrases}|{FILLER})(?: |$))*")
    spare = re.compile(f"(?:(?:{FILLER})(?: |$))*")
    return all(known.fullmatch(part) for part in parts) and not all(spare.fullmatch(part) for part in parts)


def _misput(question: str, act: str, about: object) -> str:
    """Why a yes to the question is none to the act with these details; empty where it is."""
    details = [str(value) for value in about.values() if type(value) in (str, int)] if isinstance(about, dict) else []
    if not details or len(details) != len(about) or len({type(value) for value in about.values()}) != len(details):
        return "details, at most one text and one whole number, were required, so that none passes for another"
    does, words = act.casefold().split(), [word for detail in details for word in detail.split()]
    if not does or not all(map(WORD.fullmatch, (*does, *words))):
        return "an act and details in words were required"
    plain = {word.casefold() for word in words}
    if len(plain) < len(words) or plain & (SMALL | {*about} | {*does} | {*re.findall(r"[a-z]+", OPENING)}):
        return "details of other words than those around them were required"
    if sum(question.count(mark) for mark in QUESTIONS) != 1:
        return "one question was required"
    called = [f"(?:{re.escape(name)} )?(?-i:{re.escape(' '.join(str(one).split()))})" for name, one in about.items()]
    joined = f"(?: (?:{'|'.join((*sorted(SMALL), *called))}))*"
    act = " (?:(?:the|your|this|a|an) )?".join(map(re.escape, does))
    asked = rf"^(?:{OPENING})(?: now| go ahead and)* {act}({joined}) ?\?"
    found = re.search(rf"{asked}(?: ?\((?:yes/no|yes or no)\))?$", " ".join(question.split()), re.IGNORECASE)
    if found is None:
        return "a question of the act, as in 'Shall I cancel r1?', was required, and no other words"
    named = [re.findall(rf"(?<= ){re.escape(' '.join(one.split()))}(?= )", f"{found[1]} ") for one in details]
    if any(len(each) != 1 for each in named):
        return "a question that names each detail once was required"
    return ""


# ---- the engine ----------------------------------------------------------------------------------

Technique = Callable[[Mapping[str, object]], dict[str, object]]


@dataclass(frozen=True)
class Offline:
    """An engine over one toolbox; `encoder` computes embeddings where a technique compares meanings, `items` are the
    policy items that were read of the document, for the steps of the mapper."""

    toolbox: Toolbox = Toolbox()
    encoder: Encoder | None = None
    name: str = "offline"
    items: tuple[Item, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        """The reply of the prompt's technique; no tokens, no money, no network.

        Raises:
            ModelError: no technique answers this prompt.
        """
        techniques = self.techniques()
        if prompt.name not in techniques:
            raise ModelError(
                f"the offline engine answers {sorted(techniques)}; got {prompt.name!r}; this role needs a model"
            )
        began = time.perf_counter()
        value = techniques[prompt.name](inputs)
        return Reply(value, Usage(seconds=time.perf_counter() - began), None, self.name)

    def techniques(self) -> dict[str, Technique]:
        """What answers each prompt, by the prompt's name."""
        return {
            "extract_action": self._extract_action,
            "extract_arguments": lambda inputs: {"arguments": []},
            "answer_question": answer_question,
            "refine_predicates": lambda inputs: {
                "answers": [{"id": rule["id"], **refine(_of_rule(rule, inputs))} for rule in inputs["rules"]]
            },
            "merge_predicates": merge,
            "write_source": lambda inputs: write(inputs, self.toolbox),
            "write_guard": lambda inputs: write(inputs, self.toolbox),
            "repair_guard": repair,
            "sort_tools": lambda inputs: sort_tools(inputs, self.toolbox),
            "create_items": lambda inputs: create_items(inputs, self.items),
            "add_items": lambda inputs: {"tool": _tool(inputs), "items": []},
            "correct_references": lambda inputs: {"tool": _tool(inputs), "references": []},
            "split_items": lambda inputs: {"tool": _tool(inputs), "splits": []},
            "merge_items": lambda inputs: {"tool": _tool(inputs), "merges": []},
            "review_items": lambda inputs: review_items(inputs, self.items),
            **dict.fromkeys(("write_examples", "add_examples"), lambda inputs: {"examples": []}),
        }

    def _extract_action(self, inputs: Mapping[str, object]) -> dict[str, object]:
        with self._lock:  # requests come side by side; one fit serves them all
            recogniser = self._recogniser
        return recogniser.answer(inputs)

    @cached_property
    def _recogniser(self) -> recognise.Recogniser:
        return recognise.Recogniser(self.toolbox, self.encoder or Encoder())
