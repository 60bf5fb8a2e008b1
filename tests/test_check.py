"""A rule set with planted defects: all found, none falsely, every witness checked again."""

import json
import random
import time

import pytest
from conftest import ROOT

from wb.logic import cel
from wb.logic import formula as F
from wb.logic.semantics import holds, parse
from wb.rules import check, lint, rulefile
from wb.rules.rule import Predicate, Rule, RuleSet


def planted():
    """200 rules of an invented office: 125 sound ones and 20 obligations, among them 20 redundancies,
    10 contradictory pairs, 5 vacuous rules and 20 converses; and which are which."""
    rng = random.Random(20)
    acts, facts = [f"act{i}" for i in range(60)], [f"fact{i}" for i in range(60)]
    predicates = [Predicate(name, "action", "", tools=(name,)) for name in acts] + [
        Predicate(name, "state", "") for name in facts
    ]
    predicates += [
        Predicate("of_age", "state", "", test=cel.parse("state.age >= 18")),
        Predicate("minor", "state", "", test=cel.parse("state.age < 18")),
    ]
    texts, kinds = [], {}

    def add(kind, modality, text):
        name = f"r{len(texts)}"
        texts.append((name, modality, text))
        kinds.setdefault(kind, []).append(name)
        return name

    base = []
    for i in range(50):  # conditions of acts, of several shapes, on facts of their own
        a, b, c = acts[i], facts[i], facts[(i + 7) % 60]
        base.append((a, b, c))
        shape = (
            "ALWAYS ({a} IMPLIES {b})",
            "ALWAYS ({a} AND NOT {c} IMPLIES {b})",
            "ALWAYS ({a} IMPLIES ONCE {b})",
            "ALWAYS ({a} IMPLIES {b} OR {c})",
            "ALWAYS ({a} IMPLIES PREVIOUSLY {b})",
        )[i % 5]
        add("sound", "permit_only_if", shape.format(a=a, b=b, c=c))
    for i in range(45):  # prohibitions on other facts
        a, b = acts[i], facts[(i + 23) % 60]
        add(
            "sound",
            "forbid",
            (
                "ALWAYS ({b} IMPLIES NOT {a})",
                "ALWAYS ({a} IMPLIES NOT PREVIOUSLY ONCE {a})",
                "ALWAYS NOT ({a} AND {b})",
            )[i % 3].format(a=a, b=b),
        )
    for i in range(20):  # obligations: of the shape of a converse, but meant so
        a, b = acts[50 + i % 10], facts[(i + 41) % 60]
        add(
            "obligation",
            "oblige",
            ("ALWAYS ({b} AND {c} IMPLIES {a})", "ALWAYS ({b} AND {c} IMPLIES EVENTUALLY {a})")[i % 2].format(
                a=a, b=b, c=facts[(i + 44) % 60]
            ),
        )
    for i in range(20):  # weaker than the sound rule with the same acts, each in its own way
        a, b, c = base[i]
        d = facts[(i + 11) % 60]
        weaker = (
            "ALWAYS ({a} AND {d} IMPLIES {b})",
            "ALWAYS ({a} AND {d} AND NOT {c} IMPLIES {b})",
            "ALWAYS ({a} AND {d} IMPLIES ONCE {b})",
            "ALWAYS ({a} IMPLIES {b} OR {c} OR {d})",
            "ALWAYS ({a} IMPLIES ONCE {b})",
        )[i % 5]
        add("redundant", "permit_only_if", weaker.format(a=a, b=b, c=c, d=d))
    for i in range(10):  # pairs that no trace keeps together
        a, b = f"only{i}", f"other{i}"
        predicates.extend((Predicate(a, "action", "", tools=(a,)), Predicate(b, "state", "")))
        first, second = (
            (f"EVENTUALLY {a}", f"ALWAYS NOT {a}"),
            (f"{b} AND NEXT {a}", f"ALWAYS ({a} IMPLIES NOT PREVIOUSLY {b})"),
        )[i % 2]
        kinds.setdefault("contradictory", []).append((add("half", "oblige", first), add("half", "forbid", second)))
    for _, text in enumerate(
        (
            "ALWAYS (fact1 AND NOT fact1 IMPLIES NOT act1)",
            "ALWAYS (of_age AND minor IMPLIES NOT act2)",
            "ALWAYS (minor AND PREVIOUSLY NEXT NOT minor IMPLIES NOT act3)",
            "ALWAYS (act4 IMPLIES fact4 OR NOT fact4)",
            "ALWAYS (fact5 AND PREVIOUSLY WEAK_NEXT NOT fact5 IMPLIES NOT act5)",
        )
    ):
        add("vacuous", "forbid", text)
    for i in range(20):
        a, b, c = acts[(3 * i) % 50], facts[(5 * i + 2) % 60], facts[(5 * i + 3) % 60]
        add("converse", ("permit_only_if", "forbid")[i % 2], f"ALWAYS ({b} AND {c} IMPLIES {a})")
    while len(texts) < 200:
        i = len(texts)
        add(
            "sound",
            "forbid",
            f"ALWAYS ({facts[i % 60]} AND {facts[(i * 7 + 3) % 60]} IMPLIES NOT {acts[(i * 11) % 60]})",
        )
    order = list(texts)
    rng.shuffle(order)
    rules = tuple(Rule(name, "", parse(text), modality) for name, modality, text in order)
    return RuleSet(tuple(predicates), rules), kinds


@pytest.fixture(scope="module")
def checked():
    ruleset, kinds = planted()
    return ruleset, kinds, check.check(ruleset)


def of_kind(report, kind):
    return {finding.rules[0] for finding in report.findings if finding.kind == kind}


def test_the_planted_set_has_its_numbers(checked):
    ruleset, kinds, report = checked
    assert len(ruleset.rules) == report.rules == 200 and report.undecided == ()
    assert [len(kinds[k]) for k in ("redundant", "contradictory", "vacuous", "converse", "obligation")] == [
        20,
        10,
        5,
        20,
        20,
    ]


def test_all_converses_and_no_obligation_are_found(checked):
    _, kinds, report = checked
    assert of_kind(report, "polarity") == set(kinds["converse"])


def test_all_vacuous_rules_and_no_other_are_found(checked):
    _, kinds, report = checked
    assert set(report.vacuous) == set(kinds["vacuous"]) == of_kind(report, "never_fires")


def test_all_contradictions_and_no_other_pair_are_found(checked):
    _, kinds, report = checked
    assert {frozenset(pair) for pair in report.contradictory} == {frozenset(pair) for pair in kinds["contradictory"]}
    assert report.satisfiable is False and frozenset(report.core) in {
        frozenset(pair) for pair in kinds["contradictory"]
    }
    assert report.conflicts == ()


def test_all_redundancies_and_no_other_are_found_with_what_implies_them(checked):
    ruleset, kinds, report = checked
    assert {blame.rule for blame in report.redundant} == set(kinds["redundant"])
    formulas = {rule.id: rule.formula for rule in ruleset.rules}
    rng = random.Random(1)
    for blame in report.redundant:  # by the definition alone, on random traces that keep what implies the rule
        for _ in range(50):
            names = F.atoms(F.conjunction((formulas[blame.rule], *(formulas[name] for name in blame.by))))
            trace = [{n for n in names if rng.random() < 0.5} for _ in range(rng.randint(1, 4))]
            assert holds(formulas[blame.rule], trace) or not all(holds(formulas[name], trace) for name in blame.by)


def test_every_trace_of_a_finding_parts_rule_and_sentence(checked):
    ruleset, _, report = checked
    formulas = {rule.id: rule.formula for rule in ruleset.rules}
    for finding in report.findings:
        assert finding.trace is not None, finding
        assert holds(formulas[finding.rules[0]], finding.trace) == (finding.expected == "denied"), finding


def test_the_report_is_json_and_text(checked):
    _, kinds, report = checked
    data = json.loads(json.dumps(check.to_json(report)))
    assert data["satisfiable"] is False and data["clean"] is False and len(data["findings"]) == len(report.findings)
    text = check.render(report)
    assert all(any(name in line for line in text.splitlines()) for name in kinds["converse"] + kinds["redundant"])
    assert "no trace keeps all rules" in text and "perhaps: ALWAYS (act" in text


def small(*rules, tests=()):
    predicates = [Predicate(n, "action", f"the agent {n}", tools=(n,)) for n in ("pays", "reads")]
    predicates += [Predicate(n, "state", f"the caller is {n}") for n in ("known", "trusted", "not_confirmed")]
    predicates += [
        Predicate(f"over{v}", "state", f"aged {v} or more", test=cel.parse(f"state.age >= {v}")) for v in (18, 21)
    ]
    return RuleSet(
        tuple(predicates),
        tuple(Rule(f"r{i}", text, parse(formula), modality) for i, (modality, formula, text) in enumerate(rules)),
    )


def test_a_sound_set_has_nothing_to_repair():
    report = check.check(
        small(
            ("permit_only_if", "ALWAYS (pays IMPLIES known)", "known callers only"),
            ("forbid", "ALWAYS NOT reads", "never read"),
        ).without_unused()
    )
    assert report.clean and report.satisfiable and "nothing to repair" in check.render(report)


def test_rules_that_exclude_a_trigger_together_are_a_conflict():
    report = check.check(
        small(
            ("permit_only_if", "ALWAYS (pays IMPLIES known)", ""),
            ("permit_only_if", "ALWAYS (pays IMPLIES trusted)", ""),
            ("forbid", "ALWAYS NOT (known AND trusted)", ""),
        )
    )
    assert report.satisfiable and {blame.rule for blame in report.conflicts} == {"r0", "r1"}
    assert set(report.conflicts[0].by) == {"r0", "r1", "r2"}


def test_physical_rules_bear_on_every_decision():
    report = check.check(
        small(
            ("permit_only_if", "ALWAYS (pays IMPLIES over18)", "18"),
            ("permit_only_if", "ALWAYS (pays IMPLIES over21)", "21"),
            ("forbid", "ALWAYS (over21 AND NOT over18 IMPLIES NOT reads)", ""),
        )
    )
    assert report.physical == 1 and report.implied == (("r1", "r0"),)
    assert [blame.rule for blame in report.redundant] == ["r0"] and report.vacuous == ("r2",)


def test_the_papers_own_example_never_forbids_anything():
    """ShieldAgent, Sec. 3.1: the rule tuple's example is a converse."""
    rules = RuleSet(
        tuple(
            Predicate(n, k, "", tools=(n,) if k == "action" else ())
            for n, k in (
                ("is_authorized", "state"),
                ("has_legitimate_need", "state"),
                ("access_personal_data", "action"),
            )
        ),
        (
            Rule(
                "r", "", parse("(is_authorized AND has_legitimate_need) IMPLIES access_personal_data"), "permit_only_if"
            ),
        ),
    )
    (finding,) = check.check(rules).findings
    assert (
        finding.kind == "polarity"
        and finding.trace == (frozenset({"access_personal_data"}),)
        and finding.expected == "denied"
    )


@pytest.mark.parametrize(
    "modality, formula, kind",
    [
        ("permit_only_if", "ALWAYS (pays IMPLIES known)", None),
        ("permit_only_if", "ALWAYS (known IMPLIES pays)", "polarity"),
        ("forbid", "ALWAYS (known IMPLIES NOT pays)", None),
        ("forbid", "ALWAYS (known IMPLIES pays)", "polarity"),
        ("oblige", "ALWAYS (known IMPLIES EVENTUALLY pays)", None),
        ("oblige", "ALWAYS (pays IMPLIES ONCE reads)", None),
        ("oblige", "ALWAYS (known IMPLIES trusted OR pays OR NOT pays)", "never_fires"),
        ("forbid", "ALWAYS NOT pays", None),
        ("permit_only_if", "ALWAYS (pays IMPLIES known AND NOT known)", "forbids_always"),
        ("forbid", "ALWAYS (pays AND NOT pays IMPLIES known)", "never_fires"),
        ("permit_only_if", "ALWAYS (pays IMPLIES NOT not_confirmed)", "negative_name"),
        ("forbid", "ALWAYS (pays IMPLIES NOT PREVIOUSLY ONCE pays)", None),
    ],
)
def test_each_lint_finds_its_mistake_and_leaves_its_twin(modality, formula, kind):
    ruleset = small((modality, formula, "")).without_unused()
    found = check.check(ruleset).findings
    assert [finding.kind for finding in found] == ([kind] if kind else []), found


def test_a_predicate_that_two_sentences_take_differently_is_found():
    ruleset = small(
        ("permit_only_if", "ALWAYS (pays IMPLIES over18)", "Only callers of eighteen may pay."),
        ("permit_only_if", "ALWAYS (reads IMPLIES over18)", "Only callers over 21 may read."),
        ("permit_only_if", "ALWAYS (reads IMPLIES known)", "Only known callers may read."),
        ("permit_only_if", "ALWAYS (pays IMPLIES known)", "Only blue envelopes may be paid."),
    )
    found = [finding for finding in check.check(ruleset).findings if finding.kind == "two_meanings"]
    assert {(finding.predicate, finding.rules) for finding in found} == {
        ("over18", ("r1", "r0")),
        ("known", ("r3", "r2")),
    }
    assert found[0].trace and found[0].expected == "denied"


@pytest.mark.parametrize(
    "name, expected",
    [
        ("not_paid", True),
        ("unpaid", True),
        ("is_paid", False),
        ("under_age", False),
        ("discount_given", False),
        ("no_consent", True),
        ("notice_given", False),
        ("without_consent", True),
        ("union_worker", False),
        ("dispensed", False),
        ("discharged_today", False),
        ("goods_unloaded", False),
        ("disabled", True),
        ("account_disconnected", True),
    ],
)
def test_negative_names_are_told_from_words_that_begin_alike(name, expected):
    assert lint.negative(name) == expected


@pytest.mark.parametrize(
    ("name", "tools", "found"),
    [
        ("report_missing", ("report_missing_bird",), False),  # so the tool is called
        ("no_report", ("report_missing_bird",), True),
        ("no_report", ("no_report", "report_now"), True),  # one of them is not called so
        ("not_confirmed", (), True),
    ],
)
def test_a_word_that_the_tools_of_an_act_bear_denies_nothing(name, tools, found):
    act = Predicate(name, "action", "", tools=tools)
    ruleset = RuleSet((act,), (Rule("r", "", parse(f"ALWAYS NOT {name}"), "forbid"),))
    assert bool(lint.negative_names(ruleset)) is found


@pytest.mark.parametrize("name, expected", [("disconnect", False), ("unsubscribe", False), ("not_paying", True)])
def test_what_is_done_is_no_denial_of_what_is_undone(name, expected):
    assert lint.negative(name, acts=True) == expected


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        ((("forbid", "ALWAYS NOT pays", "Never pay."), ("permit_only_if", "ALWAYS (pays IMPLIES known)", "Ask.")), 2),
        ((("forbid", "ALWAYS (known IMPLIES NOT pays)", "No."), ("oblige", "ALWAYS (known IMPLIES pays)", "Pay.")), 2),
        ((("forbid", "ALWAYS (known IMPLIES pays)", "Never pay the known."),), 1),
        ((("permit_only_if", "ALWAYS (pays IMPLIES known)", "a"), ("forbid", "ALWAYS (pays IMPLIES known)", "b")), 0),
        ((("forbid", "ALWAYS NOT pays", "Never."), ("forbid", "ALWAYS (known IMPLIES NOT pays)", "Not to you.")), 0),
        ((("permit_only_if", "ALWAYS (pays IMPLIES known)", "a"), ("forbid", "ALWAYS (reads IMPLIES known)", "b")), 0),
    ],
)
def test_what_has_to_be_decided_of_rules_is_asked_and_nothing_else(rows, asked):
    ruleset = small(*rows).without_unused()
    found = check.questions(check.suspected(check.check(ruleset), ruleset))
    assert len(found) == asked and found.keys() <= {rule.id for rule in ruleset.rules}


def test_the_command_prints_the_report_of_a_file():
    import subprocess
    import sys

    path = ROOT / "tests" / "rules" / "converse.yaml"
    shown = subprocess.run(
        [sys.executable, "-m", "wb.cli", "check", str(path), "--json"], capture_output=True, text=True, cwd=ROOT
    )
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["findings"][0]["kind"] == "polarity"


def test_a_conflict_is_told_with_both_sentences_and_rules_that_exclude_each_other_are_one():
    ruleset = rulefile.from_json(
        {
            "predicates": {"pay": {"kind": "action", "tools": ["pay"]}, "ok": {"kind": "state"}},
            "rules": [
                {"id": "a", "formula": "ALWAYS NOT pay", "modality": "forbid", "quote": "Never pay."},
                {"id": "b", "formula": "ALWAYS (pay IMPLIES ok)", "modality": "permit_only_if", "quote": "Pay if ok."},
            ],
        }
    )
    told = check.render(check.check(ruleset))
    assert "b can never fire while a is kept\n    b: Pay if ok.\n    a: Never pay." in told
    assert check.conflicts(ruleset) == (check.Blame("b", ("a",), ("Pay if ok.", "Never pay.")),)
    both = rulefile.from_json(
        {
            "predicates": {"pay": {"kind": "action", "tools": ["pay"]}},
            "rules": [
                {"id": "a", "formula": "ALWAYS NOT pay", "modality": "forbid", "quote": "Never pay."},
                {"id": "b", "formula": "EVENTUALLY pay", "modality": "oblige", "quote": "Pay."},
            ],
        }
    )
    (blame,) = check.conflicts(both)
    assert {blame.rule, *blame.by} == {"a", "b"} and set(blame.sentences) == {"Never pay.", "Pay."}


def many(count):
    """Rules of many shapes over 60 predicates, most of which cannot be kept together."""
    rng = random.Random(3)
    shapes = ("G({} & {} -> {})", "G({} -> F {})", "G({} & {} -> O {})", "F ({} & {} & {})", "G({} -> X {})")
    names = [f"p{i}" for i in range(60)]
    predicates = tuple(Predicate(name, "action" if i % 2 else "state", "") for i, name in enumerate(names))
    texts = [rng.choice(shapes) for _ in range(count)]
    signed = [
        text.format(*("!" * (rng.random() < 0.4) + n for n in rng.sample(names, text.count("{}")))) for text in texts
    ]
    return RuleSet(predicates, tuple(Rule(f"r{i}", "", parse(text), "oblige") for i, text in enumerate(signed)))


def test_many_rules_are_checked_in_the_time_given_and_what_is_not_settled_is_named():
    seen, began = [], time.process_time()
    report = check.check(many(400), lambda *told: seen.append(told), seconds=6)
    assert time.process_time() - began < 15
    late = [
        name for name, reason in report.undecided if reason == "not settled in the time for it, 6 s for all questions"
    ]
    assert late and not report.clean and report.implied
    assert len(set(late)) == len(late) and any(name.startswith("whether ") for name in late)
    text = check.render(report)
    assert " more: undecided: not settled in the time" in text and len(text) < 200_000
    assert {what for what, _, _ in seen} >= {"what each rule says", "how every two rules relate"}
    assert all(0 <= done <= of for _, done, of in seen)


def test_rules_in_the_same_knot_are_one_conflict_and_not_one_each():
    report = check.check(
        small(
            ("oblige", "EVENTUALLY pays", ""),
            ("permit_only_if", "ALWAYS (pays IMPLIES known)", ""),
            ("forbid", "ALWAYS (known IMPLIES NOT pays)", ""),
            ("permit_only_if", "ALWAYS (reads IMPLIES trusted)", ""),
            ("forbid", "ALWAYS (trusted IMPLIES NOT over21)", ""),
        )
    )
    (blame,) = report.conflicts
    assert report.satisfiable is False and {blame.rule, *blame.by} == {"r0", "r1", "r2"} and report.undecided == ()


def test_after_so_many_questions_that_were_too_large_the_others_are_not_asked(monkeypatch):
    monkeypatch.setattr(check, "MAX_UNDECIDED", 2)
    names = [f"p{i}" for i in range(40)]
    chains = [rng.sample(names, 20) for rng in map(random.Random, range(3))]
    knots = [text for chain in chains for text in (" UNTIL ".join(chain), f"EVENTUALLY {chain[-1]}")]
    rules = tuple(Rule(f"r{i}", "", parse(knot), "oblige") for i, knot in enumerate(knots))
    report = check.check(RuleSet(tuple(Predicate(name, "state", "") for name in names), rules))
    assert [name for name, _ in report.undecided] == ["r0, r1", "r2, r3", ""], "one pair is left"
    assert report.undecided[-1][1] == "2 questions were too large to decide: the others were not asked"
