"""What a person has to decide of a policy, one list: questions about its sentences, each of a kind.

VeriGuard's validation (Sec. 3.2.1, App. A.4) has a model find what is ambiguous, presupposed, contradictory, open to a
counterexample or illogical in a request and a first policy: V_a(p_0, C_0) -> Q.  Here nobody is asked for questions.
They follow from what was decided already: why a sentence is open, a run on which two readings of it part, what
`check` finds of its rules; and, from the guards (`wb.guards.toolguard.questions`), an example that the rules contradict
and what an author disputes.  They are answered in `decisions.yaml` (`decisions`), by a person or, as an assumption, by
a model: V_d(Q, U) -> (A, R), whose second part is `requirements`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from wb.rules.check import Suspected
from wb.rules.extract import MODEL
from wb.rules.sentences import Account

Kind = Literal["ambiguity", "presupposition", "contradiction", "counter-example", "logic error"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be decided (`asks`) of one sentence, by its id ("" where no sentence is known to be meant) and `text`.

    `tools` are those that wait for the answer.  `run` tells the answers apart: the steps of a run, a text each, that
    one answer allows and another denies, or the situation of an example; empty where there is none.  `assumed` is the
    answer that a model gave in the place of a person; empty where nobody did.
    """

    sentence: str
    text: str
    kind: Kind
    asks: str
    tools: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    assumed: str = ""


def of_sentences(accounts: Iterable[Account], suspected: Iterable[Suspected] = ()) -> tuple[Question, ...]:
    """The questions about the sentences that are open, at least one each, or that a model answered.

    What no reader could tie to any declared tool presupposes one; every other sentence that no rule is suspected of is
    ambiguous.
    """
    of_rule: dict[str, list[Suspected]] = {}
    for one in suspected:
        of_rule.setdefault(one.rule, []).append(one)
    found = []
    for one in accounts:
        if one.grade == MODEL and one.cls != "open":
            found.append(
                Question(one.id, one.text, "presupposition", "what was assumed of it", one.tools, (), one.reason)
            )
        elif one.cls == "open":
            own = [what for rule in one.rules for what in of_rule.get(rule, ())]
            found += [Question(one.id, one.text, what.kind, what.reason, one.tools, what.run) for what in own]
            kind: Kind = "presupposition" if one.unknown and not one.apart else "ambiguity"
            found += [] if own else [Question(one.id, one.text, kind, one.reason, one.tools, one.apart)]
    return tuple(dict.fromkeys(found))


def standing(found: Iterable[Question], accounts: Iterable[Account]) -> tuple[Question, ...]:
    """The questions that are still to be asked of the sentences as they are now, after a refinement: with those that
    came up."""
    now = tuple(accounts)
    waiting = {one.id for one in now if one.cls == "open"} | {one.id for one in now if one.grade == MODEL}
    kept = [one for one in found if one.sentence in waiting]
    asked = {one.sentence for one in kept}
    return (*kept, *of_sentences(one for one in now if one.id not in asked))


def sentence(words: str, accounts: Iterable[Account]) -> str:
    """The id of the one sentence that some words are of, blanks folded; "" where none or several have them."""
    folded = " ".join(words.split())
    found = [one.id for one in accounts if folded and folded in " ".join(one.text.split())]
    return found[0] if len(found) == 1 else ""


def to_json(found: Iterable[Question]) -> list[dict[str, object]]:
    """Questions as JSON values, for `questions.json`."""
    return [{**asdict(one), "tools": list(one.tools), "run": list(one.run)} for one in found]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Question, ...]:
    """Questions from what `to_json` gave."""
    return tuple(Question(**{**row, "tools": tuple(row["tools"]), "run": tuple(row["run"])}) for row in rows)
