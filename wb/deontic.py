"""A grammar of deontic English: what one clause forbids, permits only under conditions, or obliges.

Subordinate clauses are peeled first, then one of a few modality forms is read off the main clause
(`templates`).  `norms(clause)` is the whole interface, pure and deterministic, beside `constrains`, the
cheaper question whether a sentence states a constraint at all.  Facts, definitions and permissions
give no norm; a constraint that no form fits gives a norm with a `reason`.
"""
from __future__ import annotations

import re
from dataclasses import replace

from wb import modality, reference, templates
from wb.norm import Norm
from wb.policy import Clause

_ONE_OF = re.compile(r"\b(?:unless|if|when|only|where|except|provided)\b.*\b(?:any|one|either|at least one)\b(?: of)? (?:the |these )?following\b", re.I | re.S)
__all__ = ["Norm", "constrains", "norms", "units"]


def norms(clause: Clause) -> tuple[Norm, ...]:
    """What a clause demands, in the order it says so; empty for facts, definitions and permissions."""
    scope = (*clause.headings, *(c for c in clause.context if not c.endswith(":")))
    if any(_ONE_OF.search(stem) for stem in clause.context if stem.endswith(":")):
        return (Norm(clause.id, clause.text, "oblige", scope=scope, reason="one of several conditions that are listed apart: they have to be read together"),)
    terms = tuple(found for found in map(reference.defined, clause.definitions) if found)
    read: list[Norm] = []
    for unit in filter(modality.cue, units(clause)):
        for draft in templates.read(unit):
            read.append(replace(draft, clause=clause.id, quote=clause.text, scope=scope, terms=terms))
    if not read and constrains(clause):
        return (Norm(clause.id, clause.text, "oblige", scope=scope, reason="no form of the grammar fits this sentence"),)
    return tuple(dict.fromkeys(read))


def constrains(clause: Clause) -> bool:
    """Whether the clause, read with its list's stem, has the words of a constraint."""
    return any(modality.cue(unit) for unit in units(clause))


def units(clause: Clause) -> tuple[str, ...]:
    """The main sentences in a clause as plain text, each read with the stem of its list."""
    text = modality.plain(clause.text)
    for stem in reversed([c for c in clause.context if c.endswith(":")]):
        text = modality.under_stem(modality.plain(stem), text)
    return modality.main_clauses(text)
