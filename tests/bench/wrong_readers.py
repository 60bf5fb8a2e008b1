"""How many wrong readings get into force: one of two readers wrong, a wrong entry of the vocabulary, both wrong alike.

    python tests/bench/wrong_readers.py FOLDER [FOLDER …]

A folder is one of `bench.readings`.  Of the sentences on which the first two readers agree, a reading is made wrong in
one place (a draw with a fixed seed); what allows the same runs as before is no mistake and is drawn again.
"""

from __future__ import annotations

# ruff: noqa: E402
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench.readings import MODES, extracted, panel, text

from wb.domain.policy import Policy, pieces
from wb.domain.tools import arguments_of, schemas
from wb.logic import facts, worlds
from wb.logic import formula as f
from wb.logic.facts import Comparison, Fact, Negation, Scalar
from wb.logic.formula import Formula
from wb.rules import agreement, extract, judges, readers
from wb.rules.readers import Reading
from wb.rules.vocabulary import Vocabulary

COUNT = 200  # wrong replies; half as many wrong entries, and shared omissions
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def wrong(formula: Formula, words: Vocabulary) -> Iterator[tuple[str, Formula]]:
    """The formula with one mistake, each by its kind."""
    acts = [p.name for p in words.predicates if p.kind == "action" and p.tools]
    states = [p for p in words.predicates if p.kind == "state"]
    known = {p.name: p for p in words.predicates}
    for node in dict.fromkeys(f.subformulas(formula)):
        found: list[tuple[str, Formula]] = []
        match node:
            case f.Implies(left, right):
                found += [("direction", f.Implies(right, left)), ("negation", f.Implies(left, f.Not(right)))]
            case f.Or(left, right):
                found += [("exception", left), ("exception", right), ("operator", f.And(left, right))]
            case f.And(left, right):
                found += [("condition", left), ("condition", right), ("operator", f.Or(left, right))]
            case f.Once(body):
                found += [("order", f.Not(node)), ("order", body)]
            case f.Atom() if known[node.predicate].kind == "action":
                found += [("tool", f.Atom(name)) for name in acts if name != node.predicate]
            case f.Atom():
                same = known[node.predicate].term
                for other in states:
                    if other.name != node.predicate:
                        kind = "number" if same is not None and other.term == same else "field"
                        found.append((kind, f.Atom(other.name)))
                found.append(("negation", f.Not(node)))
        for kind, one in found:
            try:
                readers.declared(bad := f.substitute(formula, {node: one}), words)
            except ValueError:  # a reply that is refused is no reading
                continue
            yield kind, bad


@dataclass(frozen=True)
class Read:
    """A text, its vocabulary and what the first two readers said of each statement."""

    policy: Policy
    words: Vocabulary
    first: Mapping[str, Reading]
    second: Mapping[str, Reading]
    replies: Path


def read(folder: Path) -> Read:
    """What the first two readers made of a text."""
    one = text(folder)
    found = extracted(one, MODES[1])
    first, second = found.readings.values()
    return Read(one.policy, found.vocabulary, first, second, one.replies)


def replies(one: Read, draw: random.Random, count: int) -> Counter[tuple[str, str]]:
    """What comes of readings that one reader has wrong: by kind, in force or not."""
    first, second = one.first, one.second
    agreed = [name for name in first if _rule(agreement.settle([first[name], second[name]], one.words), one.words)]
    found: Counter[tuple[str, str]] = Counter()
    while agreed and sum(found.values()) < count:
        name = draw.choice(agreed)
        made = [m for formula in first[name].formulas for m in wrong(formula, one.words)]
        if not made:
            agreed.remove(name)
            continue
        wanted = draw.choice(sorted({kind for kind, _ in made}))  # each kind as often as any other
        kind, bad = draw.choice([row for row in made if row[0] == wanted])
        before = Reading(agreement.guarding(first[name].formulas, one.words))
        if agreement.compare(before, Reading((bad,)), one.words).outcome == "agreed":
            continue
        settled = agreement.settle([Reading((bad,)), second[name]], one.words)
        found[kind, "in force" if settled.outcome == "agreed" else "open"] += 1
    return found


def _rule(settled: agreement.Agreement, words: Vocabulary) -> bool:
    return settled.outcome == "agreed" and bool(agreement.guarding(settled.formulas, words))


def entries(one: Read, draw: random.Random, count: int) -> Counter[str]:
    """What comes of wrong tests in the writer's bindings: *disputed* by the second, or not seen."""
    box = one.words.toolbox
    tested = [
        e for e in one.words.entries if e.predicate.test is not None and not e.predicate.question and not e.others
    ]
    made = [(entry, bad) for entry in tested for bad in _mistakes(entry.predicate.test)]
    found: Counter[str] = Counter()
    for entry, bad in draw.sample(made, min(count, len(made))):
        call = arguments_of(box.tool(entry.predicate.tools[0])) if entry.predicate.tools else {}
        same = worlds.compare(bad, entry.predicate.test, schemas(box.state), call).same
        found["not seen" if same else "disputed"] += 1
    return found


def _mistakes(test: Fact) -> Iterator[Fact]:
    yield Negation(test)
    for node in [test, *facts.children(test)]:
        if isinstance(node, Comparison) and isinstance(node.right, Scalar):
            others = [Comparison(OPPOSITE[node.op], node.left, node.right)]
            if node.right.type == "int" and node.op not in ("==", "!="):
                others.append(Comparison(node.op, node.left, Scalar(node.right.value + 1)))
            yield from others if node is test else ()


def omitted(one: Read, draw: random.Random) -> tuple[dict[str, agreement.Agreement], set[str], Counter[str]]:
    """What all readers agree on, with a condition or exception left out in each sentence that has one (an agreement by
    statement, and which were changed), and what the numbers of the sentences say of that."""
    by_id = {clause.id: piece for clause, piece in zip(extract.clauses(one.policy), pieces(one.policy), strict=True)}
    made, changed, found = {}, set(), Counter()
    for name, reading in one.first.items():
        settled = agreement.settle([reading, one.second[name]], one.words)
        rows = [
            tuple(bad if formula is other else other for other in settled.formulas)
            for formula in settled.formulas
            for kind, bad in wrong(formula, one.words)
            if kind in ("condition", "exception") and _weaker(formula, bad, one.words)
        ]
        made[name] = settled
        if settled.outcome == "agreed" and rows:
            formulas = draw.choice(rows)
            made[name] = replace(settled, formulas=formulas)
            changed.add(name)
            swapped = extract.numbers_of(by_id[name], formulas, one.words.predicates).swapped
            found["caught by the numbers" if swapped else "not caught by the numbers"] += 1
    return made, changed, found


def _weaker(formula: Formula, bad: Formula, words: Vocabulary) -> bool:
    """Whether the rule with its mistake allows other runs than before."""
    return agreement.compare(Reading((formula,)), Reading((bad,)), words).outcome != "agreed"


def judged(one: Read, made: Mapping[str, agreement.Agreement], changed: set[str]) -> Counter[str]:
    """What the judges say of rules of which some have a part left out."""
    found = judges.doubted(one.policy, one.words, made, panel(one.replies).judges)
    return Counter(
        f"{'wrong' if name in changed else 'right'} {'doubted' if found[name].outcome == 'doubted' else 'passed'}"
        for name, before in made.items()
        if before.outcome == "agreed"
    )


def main() -> None:
    texts = [read(Path(folder)) for folder in sys.argv[1:]]
    draw, share = random.Random(1), -(-COUNT // max(len(texts), 1))
    total, tests, both, heard = Counter(), Counter(), Counter(), Counter()
    for one in texts:
        total += replies(one, draw, share)
        tests += entries(one, draw, share // 2)
        made, changed, numbers = omitted(one, random.Random(1))
        both += numbers
        heard += judged(one, made, changed)
    print(
        f"one reader wrong: {sum(total.values())}, in force {sum(n for (_, c), n in total.items() if c == 'in force')}"
    )
    for kind in sorted({kind for kind, _ in total}):
        print(f"  {kind}: {total[kind, 'open']} open, {total[kind, 'in force']} in force")
    print(f"a test of the vocabulary wrong in one of two bindings: {dict(tests)}")
    print(f"a condition or exception left out by both readers: {dict(both)}; by the judges {dict(heard)}")


if __name__ == "__main__":
    main()
