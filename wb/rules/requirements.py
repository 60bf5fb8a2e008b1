"""The final requirements of a policy, a row for each sentence that was decided: decision, justification, requirement.

VeriGuard's disambiguation (Sec. 3.2.1, App. A.5) answers in two parts: its decisions with their justifications, and
the complete list of requirements, the clear ones among them.  Both are here one list, derived from the classes of the
sentences, which hold what readers and `decisions.yaml` said of each, and from the rules in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from wb.rules import understood
from wb.rules.extract import MODEL, PERSON
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is required because of one sentence: its `decision` (rule, duty, waived, not a constraint), `by` what (the
    grade of its reading, *person*, *assumed by a model*), why, and the `requirements`, its rules in English."""

    sentence: str
    text: str
    decision: str
    by: str
    why: str
    requirements: tuple[str, ...]


def requirements(accounts: Iterable[Account], ruleset: RuleSet) -> tuple[Requirement, ...]:
    """The requirements in the order of the document: of each sentence with rules in force, or that somebody decided.

    What is open is none, also where a part of it is in force: it is among the `questions`.
    """
    rules = {one.id: one for one in ruleset.rules}
    found = []
    for one in accounts:
        said = tuple(understood.words(rules[name], ruleset) for name in one.rules if name in rules)
        if one.cls != "open" and (said or one.grade in (PERSON, MODEL)):
            found.append(Requirement(one.id, one.text, one.cls, one.grade, one.reason, said))
    return tuple(found)


def to_json(found: Iterable[Requirement]) -> list[dict[str, object]]:
    """Requirements as JSON values, for `requirements.json`."""
    return [{**asdict(one), "requirements": list(one.requirements)} for one in found]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Requirement, ...]:
    """Requirements from what `to_json` gave."""
    return tuple(Requirement(**{**row, "requirements": tuple(row["requirements"])}) for row in rows)
