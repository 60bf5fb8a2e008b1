"""What binds a statement from elsewhere, scope, definitions and references, is read with it, or its rules are held."""

import json

import pytest

from wb.domain import policy as documents
from wb.domain import tools
from wb.logic import decide
from wb.logic.syntax import parse
from wb.models import prompt as prompts
from wb.models.client import LLM
from wb.models.endpoint import Endpoint, Replies, Reply
from wb.models.ledger import ModelError
from wb.rules import bounds, extract, readers, readings, sentences

TEXT = """# Files

## Removal

This section applies only to contractors.

A file must not be deleted.

## Copies

A copy may not be made, except as in section 3.

## 3. Exceptions

Backups may be copied.

## 4. Sales

Files are sold under the terms of the tariff.
"""
BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {"name": n, "parameters": {"type": "object", "properties": {}}} for n in ("delete", "copy", "sell")
            ],
            "state": [{"name": "contractor", "type": "boolean"}, {"name": "backup", "type": "boolean"}],
        }
    )
)
SOURCE = documents.of_text(TEXT, BOX)
SCOPE, DELETE, COPY, TITLE, BACKUPS, SELL = "s3", "s4", "s6", "s7", "s8", "s10"
WORDS = {
    "acts": [{"name": n, "description": n, "tools": [n]} for n in ("delete", "copy", "sell")],
    "facts": [{"name": n, "description": n, "test": f"state.{n}"} for n in ("contractor", "backup")],
}
TIES = {
    "bindings": [
        {"kind": "scope", "by": SCOPE, "of": ["s2"]},
        {"kind": "reference", "by": TITLE, "of": [COPY]},
        {"kind": "elsewhere", "by": "the tariff", "of": [SELL]},
    ]
}
SCOPED = "ALWAYS (delete IMPLIES NOT contractor)"


class Honest:
    """A model that takes a statement's scope and references for what they are, where it is shown them; a stand-in."""

    name = "honest"

    def __init__(self, ties: object = TIES) -> None:
        self.ties, self.asked = ties, []

    def answer(self, prompt, inputs, schema, **_):
        self.asked.append((prompt, inputs))
        if prompt.name == "relate_statements":
            if self.ties is None:
                raise ModelError("no reply")
            return Reply(self.ties)
        if prompt.name in ("write_vocabulary", "bind_vocabulary"):
            return Reply(WORDS)
        if prompt.name == "judge_rules":
            return Reply({"statements": [{"id": row["id"], "verdict": "complete"} for row in inputs["statements"]]})
        acts = {DELETE: ("delete", "contractor"), COPY: ("copy", "NOT backup"), SELL: ("sell", "backup")}
        rows = []
        for row in inputs["statements"]:
            act, forbidden = acts.get(row["id"], ("", ""))
            bound = row.get("scope") or row.get("references") or row["id"] == SELL
            if prompt.name == "read_formulas":
                rule = f"ALWAYS ({act} IMPLIES NOT ({forbidden}))" if bound else f"ALWAYS NOT {act}"
                rows.append({"id": row["id"], "about": [act] * bool(act), "rules": [rule] * bool(act)})
            else:
                case = {"act": act, "when": [forbidden] if bound else [], "verdict": "forbidden"}
                rows.append({"id": row["id"], "about": [act] * bool(act), "cases": [case] * bool(act)})
        return Reply({"statements": rows})


def read(ties: object = TIES, **options: object) -> tuple[dict[str, extract.Extract], extract.Extracted, Honest]:
    engine = Honest(ties)
    found = extract.asked(SOURCE, [LLM(engine)], count=2, **options)
    return {c.id: e for c, e in zip(found.clauses, found.extracts, strict=True)}, found, engine


def test_a_scope_is_a_condition_of_what_stands_in_its_section_and_a_reference_is_read_with_its_rule() -> None:
    made, found, _ = read()
    assert (made[DELETE].cls, made[COPY].cls) == ("rule", "rule")
    assert decide.equivalent(made[DELETE].formulas[0], parse(SCOPED))
    assert decide.equivalent(made[COPY].formulas[0], parse("ALWAYS (copy IMPLIES backup)"))
    unscoped, _, _ = read({"bindings": []})
    assert decide.equivalent(unscoped[DELETE].formulas[0], parse("ALWAYS NOT delete")), "what the scope changes"
    clauses = {c.id: c for c in documents.from_json(json.loads(json.dumps(documents.to_json(found.clauses))))}
    assert clauses[DELETE].scope == f"{SCOPE}: This section applies only to contractors."
    assert clauses[COPY].references == ("s7: 3. Exceptions", "s8: Backups may be copied.")
    assert clauses[BACKUPS] == extract.clauses(SOURCE)[7]


@pytest.mark.parametrize("trust", ["agreed", "assumed", "read", "person"])
def test_what_points_to_a_text_that_is_not_there_is_in_force_at_no_level_of_trust(trust: str) -> None:
    made, found, _ = read(trust=trust)
    assert (made[SELL].cls, made[SELL].formulas, made[SELL].tools) == ("open", (), ("sell",))
    assert made[SELL].reason == "refers to what this document does not have: the tariff"
    assert made[SELL].choices, "a person may still choose a reading"
    (account,) = [a for a in sentences.classify(SOURCE, found).accounts if "tariff" in a.text]
    assert (account.cls, account.tools) == ("open", ("sell",))


def test_a_tie_to_no_statement_holds_what_it_ties_and_no_answer_holds_everything() -> None:
    made, _, _ = read({"bindings": [{"kind": "scope", "by": "s99", "of": [DELETE]}]})
    assert (made[DELETE].cls, made[DELETE].reason) == ("open", "no statement binds it: s99")
    assert made[SELL].cls == "rule"
    made, _, _ = read(None)
    assert {made[name].cls for name in (DELETE, COPY, SELL)} == {"open"}
    assert made[DELETE].reason.startswith("what binds it is not known")


def test_replies_recorded_before_anybody_asked_leave_all_as_it_was(tmp_path) -> None:
    llm = LLM(Endpoint("kept", replies=Replies(tmp_path, "replay")))
    assert bounds.read(SOURCE, [llm]) == {}
    assert llm.ledger.failed == 1, "and the ledger says so"


def test_any_of_two_models_may_name_what_binds() -> None:
    one, other = LLM(Honest({"bindings": []})), LLM(Honest())
    other.engine.name = "other"
    assert set(bounds.read(SOURCE, [one, other])) == {"s2", DELETE, COPY, SELL}, "a title, too"


def test_questions_about_statements_that_nothing_binds_are_the_same_bytes_as_ever() -> None:
    """A question about others has the same bytes whether or not some are bound, and ends where it ended before."""
    _, _, free = read({"bindings": []})
    _, _, tied = read()

    def asked(engine: Honest, bound: bool) -> list[str]:
        rendered = [(p, i) for p, i in engine.asked if p.name == "read_formulas" and i["bound"] is bound]
        return [json.dumps(p.render(**i)) for p, i in rendered]

    assert asked(free, False) == asked(tied, False) and not asked(free, True) and len(asked(tied, True)) == 1
    assert "outside its scope it restricts nothing" in asked(tied, True)[0]
    assert "outside its scope" not in asked(free, False)[0]
    for name in ("read_formulas", "read_cases", "read_conditions", "judge_rules", "judge_runs"):
        prompt = prompts.load(name)
        given = {key: False if key == "bound" else [key] for key in prompt.inputs}
        (user,) = [part["content"] for part in prompt.render(**given) if part["role"] == "user"]
        assert user.endswith("</data>"), name


def test_what_binds_a_statement_is_kept_for_the_stages_behind_and_read_with_it_again() -> None:
    _, found, engine = read()
    kept = readings.from_json(json.loads(json.dumps(readings.to_json(found))), SOURCE)
    assert (kept.binding, kept.clauses) == (found.binding, found.clauses)
    models = extract.panel([LLM(engine)])
    again = extract.again(SOURCE, kept.words, models, [DELETE, SELL], kept.binding)
    assert decide.equivalent(again[DELETE].formulas[0], parse(SCOPED))
    assert (again[SELL].cls, again[SELL].formulas) == ("open", ()), "it still points to what is not there"


def test_a_batch_counts_each_statement_once() -> None:
    rows = [{"id": f"s{k}"} for k in range(30)]
    for bound in ({}, {"s3": {}}, {row["id"]: {} for row in rows}):
        groups = readers.batches(rows, bound, 12)
        names = [name for group in groups for name in group.names]
        assert sorted(names) == sorted(row["id"] for row in rows)
        assert all((name in bound) == group.bound for group in groups for name in group.names)
    assert len(groups) == 3, "no question about statements that are all bound is asked twice"
