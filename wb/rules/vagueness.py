"""How vague a model finds rules (ShieldAgent, Fig. 6), beside the vagueness of Eq. 3, which measures nearness.

Each distinct rule of all rounds is judged once, by itself, without its round or its nearness, so that a curve moves
only where rules change.  The paper's judge is another model with another prompt: its values do not compare with these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import pydantic

from wb.logic.syntax import render
from wb.models.client import LLM, Unanswered
from wb.rules.refine import Round, of_rules
from wb.rules.rule import Rule, RuleSet

BATCH = 12  # rules a question


class Grade(pydantic.BaseModel):
    """What a judge says of one rule: 1 concrete to 5 that nobody could check it."""

    id: str
    score: Literal[1, 2, 3, 4, 5]
    reason: str = ""


class Grades(pydantic.BaseModel):
    """The reply to `judge_vagueness`."""

    rules: list[Grade]


def judged(rounds: Sequence[Round], judge: LLM | None) -> dict[str, float]:
    """The score of each distinct rule by its wording, 0 (concrete) to 1; empty without a judge.

    A rule of which the replies say nothing, or two things, has none.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    sets = [one.ruleset for each in rounds for one in (each, each.refined) if one and judge]
    texts = list(dict.fromkeys(_wording(rule, ruleset) for ruleset in sets for rule in ruleset.rules))
    rows = [{"id": f"r{number}", **json.loads(text)} for number, text in enumerate(texts, 1)]
    batch = [{"rules": rows[at : at + BATCH]} for at in range(0, len(rows), BATCH)]
    replies = judge.ask_all("judge_vagueness", Grades, batch) if judge else []
    grades = [one for reply in replies if not isinstance(reply, Unanswered) for one in reply.rules]
    scores = [[one.score for one in grades if one.id == row["id"]] for row in rows]
    return {text: (given[0] - 1) / 4 for text, given in zip(texts, scores, strict=True) if len(set(given)) == 1}


def rows(rounds: Iterable[Round], scores: Mapping[str, float], *, judge: str, measure: str) -> list[dict[str, object]]:
    """The rounds as JSON, with the mean score of the rules that have one where a judge gave any.

    `measure` says what V_r was measured with: cosines of another encoder, or of more neighbours, do not compare.
    """
    made = []
    for each in rounds:
        row = each.row() | {"measure": measure}
        for one, point in ((each, row), (each.refined, row["refined"])):
            if one and scores:
                given = [scores[text] for rule in one.ruleset.rules if (text := _wording(rule, one.ruleset)) in scores]
                point |= {"judge": judge, "judged": sum(given) / len(given) if given else None}
        made.append(row)
    return made


def beside(state: Round, scores: Mapping[str, float]) -> list[dict[str, object]]:
    """The rules of a round by nearness (V_r of Eq. 3), beside the judge's score of those that have one."""
    near = of_rules(state.ruleset, state.vagueness)
    found = [{"rule": rule.id, "sentence": rule.text, "nearness": near[rule.id]} for rule in state.ruleset.rules]
    for row, rule in zip(found, state.ruleset.rules, strict=True):
        row |= {"judged": scores.get(_wording(rule, state.ruleset))} if scores else {}
    return sorted(found, key=lambda row: -row["nearness"])


def agreement(rows: Iterable[Mapping[str, object]]) -> str:
    """How alike nearness and judgement rank rules: Spearman's rank correlation, -1..1, or why there is none."""
    pairs = [(row["nearness"], row["judged"]) for row in rows if row.get("judged") is not None]
    if not pairs:
        return "no model asked"
    if min(len(set(values)) for values in zip(*pairs, strict=True)) == 1:
        return f"no rank correlation: {len(pairs)} rules are judged, all alike or equally near"
    from scipy.stats import spearmanr

    found = spearmanr(*zip(*pairs, strict=True))
    return f"Spearman's rank correlation {found.statistic:+.2f} (p = {found.pvalue:.2g}, {len(pairs)} rules)"


def _wording(rule: Rule, ruleset: RuleSet) -> str:
    """A rule as a judge is shown it, as JSON: its words, its formula, and what its names mean."""
    names = {name: ruleset.predicate(name).description for name in rule.predicates}
    return json.dumps({"rule": rule.text, "formula": render(rule.formula), "names": names}, ensure_ascii=False)
