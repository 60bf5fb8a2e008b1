"""The sentences on what a policy showed: each says what its numbers say, and the opposite of the opposite."""

from __future__ import annotations

from wb.bench import evaluate
from wb.bench.evaluate import Scored
from wb.domain.trace import Verdict
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import cluster
from wb.shield.cluster import Clusters

ALLOW, STOP = Verdict("allow", "fine"), Verdict("deny", "broken", ("a",), quotes=("Ask first.",))
UNSURE, REFUSED = Verdict("undecided", "not told (age)"), Verdict("deny", "its guard is tested (at length)")
RULES = RuleSet(
    (
        Predicate("pay", "action", "pays", tools=("pay",)),
        Predicate("post", "action", "posts", tools=("post",)),
        *(Predicate(name, "state", name) for name in ("p", "q", "r")),
    ),
    (
        Rule("a", "Ask first.", parse("ALWAYS (pay IMPLIES (p OR q))"), "permit_only_if"),
        Rule("b", "No post.", parse("ALWAYS (post IMPLIES r)"), "permit_only_if"),
    ),
)


def scored(*verdicts: Verdict, denied: str) -> list[Scored]:
    """Calls c0, c1 …, with the verdicts given; those whose place in `denied` is d are to be denied."""
    return [Scored(f"c{i}", denied[i] == "d", verdict) for i, verdict in enumerate(verdicts)]


def test_guards_that_differ_are_told_apart_by_what_each_stops():
    said = evaluate.findings_of_methods(
        {
            "x": scored(ALLOW, STOP, STOP, ALLOW, denied="adaa"),
            "y": scored(ALLOW, ALLOW, ALLOW, REFUSED, denied="adaa"),
        },
        (),
    )
    assert said[2:] == (
        "x rightly stops 1 that y lets run, most often by “Ask first.” (1)",
        "x wrongly stops 1 that y lets run, most often by “Ask first.” (1)",
        "y wrongly stops 1 that x lets run, most often by its guard is tested (1)",
    )
    assert said[0].startswith("x: 75.0 % of 4 right [30, 95], 0 of 1 to deny let run, 1 of 3 to allow stopped; 0 undec")
    assert said[1].startswith("y: 50.0 % of 4 right [15, 85], 1 of 1 to deny let run, 1 of 3 to allow stopped; 0 undec")


def test_guards_that_do_not_differ_are_said_to_be_alike_and_undecided_calls_do_not_run():
    said = evaluate.findings_of_methods(
        {"x": scored(ALLOW, STOP, denied="ad"), "y": scored(ALLOW, UNSURE, denied="ad")}, ()
    )
    assert said[2:] == ("x and y decide all 2 calls alike: this policy does not tell them apart",)
    assert said[1].endswith("1 undecided")


def test_what_was_learned_from_is_left_out_where_anything_else_is_there():
    outcomes = {"x": scored(ALLOW, STOP, denied="ad"), "y": scored(STOP, STOP, denied="ad")}
    assert evaluate.findings_of_methods(outcomes, {"c0"})[2:] == (
        "x and y decide all 1 calls alike: this policy does not tell them apart",
    )
    assert (
        len(evaluate.findings_of_methods(outcomes, {"c0", "c1"})) == 3
        and "2" in evaluate.findings_of_methods(outcomes, {"c0", "c1"})[0]
    )
    (none,) = evaluate.findings_of_methods({"x": [], "y": []}, ())
    assert none == "no labelled call was judged, so nothing tells the guards apart"


def row(source: str = "real", undecided: int = 2, *, light: float = 0.5) -> dict[str, object]:
    return {"action": "pay", "source": source, "undecided": undecided, "rules": ["a", "b"], "weights": [light, 0.1]}


def test_learning_says_what_it_tolerates_and_what_it_changed():
    before, after = scored(STOP, STOP, ALLOW, denied="aad"), scored(ALLOW, STOP, ALLOW, denied="aad")
    said = evaluate.findings_of_learning(before, after, [row(), row("simulated", 9)], RULES, 0.8)
    assert said[:3] == (
        "1 of 1 weights with labels let their rule be broken alone: “Ask first.” (0.50)",
        "2 labelled calls taught nothing, as a fact of their rules was not told",
        "learning made 1 of 3 held-out calls right and 0 wrong (McNemar p = 1)",
    )
    assert "all weights 1: 0.0 % of 3" in said[3] and "learned weights: 33.3 % of 3" in said[4]
    worse = evaluate.findings_of_learning(after, before, [row(light=1)], RULES, 0.8)
    assert (
        worse[0].startswith("0 of 1") and worse[0].endswith("none") and "0 of 3 held-out calls right and 1" in worse[2]
    )
    nothing = evaluate.findings_of_learning((), (), [], RULES, 0.8)
    assert nothing[3] == "held out, all weights 1: no labelled call was judged"


def test_clusters_are_counted_and_so_are_the_rules_that_an_action_does_not_need():
    survey = [{"clusters": 2, "largest_circuit": 1}, {"clusters": 1, "largest_circuit": 2}]
    apart = cluster.findings(RULES, Clusters((("p", "q"), ("r",)), (), 1), {"pay": ("a",), "post": ("b",)}, survey)
    assert apart[0].startswith("2 of 3 state predicates share a cluster with another one, in 1 clusters of up to 2")
    assert (
        apart[1]
        == "a circuit holds 1.0 of 2 rules on average; 0 of all 2 places go to rules that do not mention the action"
    )
    assert apart[2].startswith("over all 2 actions, circuits look at 0 more rules, 0 more predicates, 0 more queries")
    assert apart[3] == "other theta and k make 1 to 2 clusters, and 1 to 2 rules in the largest circuit"
    joined = cluster.findings(RULES, Clusters((("p", "q", "r"),), (), 1), {"pay": ("a", "b")}, survey)
    assert "3 of 3" in joined[0] and "1 of all 2 places" in joined[1]
    assert "1 more rules, 1 more predicates, 1 more queries" in joined[2] and "buy nothing" in joined[2]
    law = Rule("law", "", parse("ALWAYS (q IMPLIES r)"), "oblige", "physical")
    lawful = RuleSet(RULES.predicates, (*RULES.rules, law))
    settled = cluster.findings(lawful, Clusters((("p", "q", "r"),), (), 1), {"pay": ("a", "law")}, survey)
    assert "1 more rules" in settled[2] and "1 of these rules are physical" in settled[2]
    assert "0 of 0 state" in cluster.findings(RuleSet((), ()), Clusters((), (), 1), {}, survey)[0]
