"""What the offline engine proposes when rules are refined: splits, clearer words, merges, repetitions.

The offline answers to the prompts `refine_predicates` and `merge_predicates` (ShieldAgent, Alg. 2),
from the shape of formulas and from what predicates are bound to.  Proposals only: `refine` puts each
through the same exact gate, whoever made it.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations

from wb import decide, syntax
from wb.automaton import AutomatonError
from wb.formula import TRUE, Always, And, Atom, Formula, Iff, Implies, Not, Or, conjunction, subformulas


def refine(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `refine_predicates`: the rule's single requirements, and its predicates in other words."""
    rule = inputs["rule"]
    found = parts(syntax.parse(rule["formula"]))
    rules = [{"text": f"{rule['text']} ({i} of {len(found)})", "formula": syntax.render(part)}
             for i, part in enumerate(found, 1)] if len(found) > 1 else []
    words = [{"name": p["name"], "new_name": p["name"], "description": text}
             for p in inputs["predicates"] if (text := wording(p)) and text != p["description"].rstrip(".")]
    return {"verifiable": not rules and not words, "rules": rules, "predicates": words,
            "reason": "one requirement a rule, and the words of what each predicate is bound to"}


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
        tools = "; ".join(dict.fromkeys(t["description"].rstrip(".") for t in meaning.get("tools", []) if t["description"]))
        given = dict.fromkeys(a.replace("_", " ") for t in meaning.get("tools", []) for a in t["arguments"])
        return (tools or said) + (f", given {', '.join(given)}" if given else "")
    head, _, tail = said.partition(": ")
    if tail and set(head.split(" or ")) & set(predicate["used_by"]):
        said = tail  # placed before, perhaps among other actions
    field = meaning.get("field") or {}
    if meaning.get("test") and field.get("description", "\0").rstrip(".") not in said:
        said = _state_wording(meaning["test"], field)
    return ": ".join(part for part in (" or ".join(predicate["used_by"][:3]), said) if part)


def _state_wording(test: Mapping[str, object], field: Mapping[str, object]) -> str:
    subject = field.get("description", "").rstrip(".") or test["field"].rpartition(".")[2].replace("_", " ")
    value, op = test["value"], test["op"]
    if isinstance(value, bool):
        return subject if value == (op == "==") else f"it is not the case that {subject}"
    words = {"==": "is", "!=": "is other than", "<": "is less than", "<=": "is at most", ">": "is more than",
             ">=": "is at least", "in": "is one of"}[op]
    shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    count = "the number of " if test.get("measure") == "count" else ""
    return f"{count}{subject} {words} {shown}"


def merge(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `merge_predicates`: pairs bound to the same, pairs that sound alike, rules that others imply."""
    known = {p["name"]: p for p in inputs["predicates"]}
    given = conjunction(tuple(syntax.parse(text) for text in inputs["background"]))
    same = [_pair(*_positive(a, b, negated, inputs["rules"]), negated, f"bound to {'the opposite of ' * negated}the same")
            for a, b in _pairs(known) for negated in (False, True)
            if decide.implies(TRUE, Always(Iff(Atom(a), Not(Atom(b)) if negated else Atom(b))), given)]
    settled = {frozenset((m["keep"], m["drop"])) for m in same}
    alike = [_pair(*_clearer(known[a], known[b]), False, f"cosine {cosine}") for a, b, cosine in inputs["similar"]
             if frozenset((a, b)) not in settled]
    return {"merges": same + alike, "redundant": list(_redundant(inputs["rules"], given))}


def _pairs(known: Mapping[str, Mapping[str, object]]) -> Iterable[tuple[str, str]]:
    """Every pair of bound predicates once, the clearer first."""
    names = [n for n, p in known.items() if p.get("meaning")]
    return [_clearer(known[a], known[b]) for i, a in enumerate(names) for b in names[i + 1:]]


def _clearer(left: Mapping[str, object], right: Mapping[str, object]) -> tuple[str, str]:
    """The two names, the one to keep first: less vague, then shorter, then first in the alphabet."""
    first, second = sorted((left, right), key=lambda p: (p["vagueness"], len(p["name"]), p["name"]))
    return first["name"], second["name"]


def _positive(first: str, second: str, negated: bool, rules: list[Mapping[str, str]]) -> tuple[str, str]:
    """Of two opposites, first the one whose negation the rules say less often, so that rules read positively."""
    if not negated:
        return first, second
    denied = {name: sum(Not(Atom(name)) in subformulas(syntax.parse(r["formula"])) for r in rules) for name in (first, second)}
    used = {name: sum(Atom(name) in subformulas(syntax.parse(r["formula"])) for r in rules) for name in (first, second)}
    return min((first, second), (second, first), key=lambda pair: denied[pair[0]] + used[pair[1]] - denied[pair[1]])


def _pair(keep: str, drop: str, negated: bool, reason: str) -> dict[str, object]:
    return {"keep": keep, "drop": drop, "negated": negated, "reason": reason}


def _redundant(rules: list[Mapping[str, str]], given: Formula) -> Iterable[dict[str, object]]:
    """Rules implied by one other rule of the group; of equals the later one. Each removed rule supports none."""
    formulas = {r["id"]: syntax.parse(r["formula"]) for r in rules}
    gone: set[str] = set()
    for weak, strong in permutations(reversed(formulas), 2):
        if not {weak, strong} & gone and _implied(formulas[strong], formulas[weak], given):
            gone.add(weak)
            yield {"rule": weak, "because": [strong], "reason": f"already required by {strong}"}


def _implied(strong: Formula, weak: Formula, given: Formula) -> bool:
    """Whether one rule surely requires the other; False also where that is too large to decide."""
    try:
        return bool(decide.implies(strong, weak, given))
    except AutomatonError:
        return False
