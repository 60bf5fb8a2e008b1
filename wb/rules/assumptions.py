"""A model answers, in the place of a person, what is open of a policy: VeriGuard's autonomous mode.

Its disambiguation (Sec. 3.2.1, App. A.5) turns questions into requirements and assumptions, V_d(Q, U) -> (A, R);
where no user is there to answer, defaults stand in, U = Omega(Q).  Here Q are the sentences that are open.  A model is
shown each with what keeps it open, and its answer is an entry as of `decisions.yaml`, `by: model`: the assumption, why,
and the rules that follow.  Such entries are in force at trust `read` alone, and what rests on one is never proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pydantic

from wb.domain.policy import Policy
from wb.rules import decisions, entries, extract, readers, sentences, understood
from wb.rules.decisions import Offer, Ruling
from wb.rules.extract import Extracted
from wb.rules.rule import Rule, RuleSet
from wb.rules.sentences import Account

if TYPE_CHECKING:
    from wb.models.client import LLM

HEAD = "# What a model assumed in the place of a person, in the form of decisions.yaml.\n"


class Assumption(readers.FormulasAnswer):
    """What a sentence is taken to mean, why, and the rules that follow; none where it then demands nothing."""

    assumption: str = ""
    why: str = ""


class Assumptions(pydantic.BaseModel):
    """The reply to `assume`."""

    statements: list[Assumption]


def required(assume: bool, trust: str, model: str) -> None:
    """Refuse, before anybody is asked, to assume where assumptions would not count or nobody can make them."""
    if assume and (trust != "read" or model == "offline"):
        raise ValueError(f"assume: trust 'read' and a model were required; got trust {trust!r} and model {model!r}")


def assumed(
    policy: Policy, found: Extracted, accounts: Iterable[Account], decided: Iterable[Ruling], llm: LLM
) -> tuple[Ruling, ...]:
    """An entry `by: model` for each open sentence that nobody decided and about which the model makes an assumption
    that can be used.

    What it leaves open, or answers with rules that fit neither vocabulary nor tools, stays open.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    accounts, known = tuple(accounts), {one.id for one in decided}
    offered = sentences.offered(policy, found, accounts)
    waiting = {f"s{k}": k - 1 for k, one in enumerate(accounts, 1) if one.cls == "open" and one.id not in known}
    every = readers.statements(policy)
    rows = [row | _open(accounts[waiting[row["id"]]], offered) for row in every if row["id"] in waiting]
    document = [f"{row['id']}: {row['text']}" for row in every]
    groups = [rows[k : k + readers.BATCH] for k in range(0, len(rows), readers.BATCH)]
    words = found.words.rows()
    asked = [{**words, "document": readers.around(document, group), "statements": group} for group in groups]
    replies = llm.ask_all("assume", Assumptions, asked)
    answered = [(str(row["id"]), reply) for group, reply in zip(groups, replies, strict=True) for row in group]
    made = []
    for name, reply in answered:
        at, read = waiting[name], readers.reading(name, reply, "formulas", found.words)
        if read.problem:
            continue
        answer = next(one for one in reply.statements if one.id == name)
        rules = extract.rules_of(map(found.words.meant, read.formulas), found.clauses[at])
        made += _ruling(accounts[at], answer, rules, found, policy)
    return tuple(made)


def to_text(made: Iterable[Ruling], policy: Policy) -> str:
    """The entries as a file of decisions, to be copied from."""
    return HEAD + reduce(lambda text, one: entries.put(text, one, policy), made, "decisions: []\n")


def _open(account: Account, offered: Mapping[str, Sequence[Offer]]) -> dict[str, object]:
    """What keeps a sentence open, as the model is shown it."""
    read = [[understood.words(rule, one.ruleset) for rule in one.ruleset.rules] for one in offered.get(account.id, ())]
    return {"open because": account.reason, "readings part at": list(account.apart), "readings": read}


def _ruling(
    account: Account, answer: Assumption, rules: Sequence[Rule], found: Extracted, policy: Policy
) -> list[Ruling]:
    """The entry for a sentence; none where it could not stand in a file of decisions."""
    decision = "rule" if rules else "not a constraint"
    try:
        ruleset = RuleSet(found.predicates, tuple(rules)).without_unused()
        text = decisions.to_text(ruleset) if rules else ""
        return [decisions.decide(account, decision, answer.why, text, policy, assumption=answer.assumption)]
    except ValueError:  # names that nothing binds; what no tool, declared field or call can be held to; no reason
        return []
