"""Subordinate clauses sorted by what they do to a norm: conditions, exceptions, preconditions."""
from __future__ import annotations

import re
from dataclasses import dataclass

from wb import conditions, restriction, verbs
from wb.conditions import Condition, Earlier, Either, Negated, Phrase

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
        return tuple(action for words in (*self.before, *self.gerund) for action in verbs.event(words))

    def excepted(self) -> Condition | None:
        """Any of the exceptions; None where there is none."""
        return any_of(self.unless)


def sort(pairs: tuple[tuple[str, str], ...], antecedent: str) -> Adjuncts:
    """The adjuncts of a sentence, with "it" and "them" standing for `antecedent`."""
    kept: dict[str, list] = {name: [] for name in ("when", "requires", "unless", "without", "before", "gerund", "until")}
    both, lost = False, ""
    for marker, words in pairs:
        name = {"if": "gerund" if _GERUND.match(words) else "when", "provided": "requires", "only_if": "requires", "iff": "requires",
                "except": "unless", "regardless": ""}.get(marker, marker)
        both = both or marker == "iff"
        if name in ("without", "before", "until", "gerund"):
            noun = antecedent if antecedent and not restriction.of_actor(antecedent)[0] else ""
            kept[name].append(re.sub(r"\A(?:it|they)\b(?=\s+(?:is|are|was|were|has|have)\b)", f"the {restriction.bare(noun)}", words, flags=re.I) if noun else words)
        elif name in ("only_after", "after"):
            done = Phrase(verbs.as_verb(words)) if _GERUND.match(words) else _read(words, antecedent)
            holds = name == "only_after" and re.search(r"\b(?:is|are)\b", words) is not None  # "only once X is empty": it still is
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
        is_actor, narrowed = restriction.of_actor(purpose["who"])
        if is_actor and narrowed is not None:
            return narrowed
    condition = conditions.parse(words)
    resolved = restriction.resolve(condition, antecedent)
    return resolved if not isinstance(resolved, Negated) or resolved.body != resolved else condition
