"""A rule in English says all of its formula and nothing else; its runs are broken and kept, as an oracle says."""

from __future__ import annotations

import re
from functools import partial

import formulas
import pytest
from formulas import random_formula
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain.tools import Field, Source, Tool, Toolbox
from wb.logic import cel, semantics, syntax, times
from wb.logic import formula as f
from wb.rules import rulefile, understood
from wb.rules.rule import Predicate, Rule, RuleSet

BOX = Toolbox(
    tools=tuple(Tool(name) for name in ("ta", "tb", "tc", "td", "get", "drop")),
    state=(
        Field("age", "integer"),
        Field("calm", "boolean"),
        Field("role", "string"),
        Field("now", "string", source=Source("clock")),
        Field("order", "object", source=Source("lookup", "get")),
    ),
)
OF_TWO = (cel.parse("call.id"), cel.parse("call.to"))
PREDICATES = (
    Predicate("a", "action", "", tools=("ta",)),
    Predicate("b", "action", "", tools=("tb", "tc")),
    Predicate("c", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("d", "state", "the moon is full"),
    Predicate("e", "state", "", test=cel.parse("state.calm")),
    Predicate("g", "action", "nobody does it"),
    Predicate("h", "action", "", tools=("td",), objects=(cel.parse("call.id"),)),
    Predicate("k", "state", "", tools=("td",), test=cel.parse("call.n > 5"), objects=OF_TWO),
    Predicate("n", "state", "", test=cel.parse('now - timestamp(state.order.at) < duration("24h") || call.n == 1')),
)
PHRASES = {  # by hand: how each is said as it holds, and as it does not
    "a": ("ta is called", "ta is not called"),
    "b": ("one of tb, tc is called", "none of tb, tc is called"),
    "c": ("age is at least 18", "age is below 18"),
    "d": ("“d” holds (no field tells it)", "“d” does not hold (no field tells it)"),
    "e": ("calm is true", "calm is false"),
    "g": ("“g” is done (no tool does it)", "“g” is not done (no tool does it)"),
    "h": ("td is called", "td is not called"),
    "h(x)": ("td is called for x", "td is not called for x"),
    "h(y)": ("td is called for y", "td is not called for y"),
    "k(x, y)": ("n is above 5 in the call of td for x and y", "n is at most 5 in the call of td for x and y"),
    "n": ("(now minus at of order is below 24h or n is 1) in the call",
          "(now minus at of order is at least 24h and n is not 1) in the call"),
}  # fmt: skip
FORMS = {  # by hand: what each form of words means
    "it is not so that *": f.Not,
    "* and *": f.And,
    "* or *": f.Or,
    "either * or *, not both": f.Xor,
    "if *, then *": f.Implies,
    "* exactly where *": f.Iff,
    "there is a next step, and at it *": f.Next,
    "at the next step, if there is one, *": f.WeakNext,
    "now or later *": f.Eventually,
    "now and always later *": f.Always,
    "* until *, which comes": f.Until,
    "up to and including where *, or for ever, *": f.Release,
    "* until *, or for ever": f.WeakUntil,
    "there is a step before, and at it *": f.Previously,
    "now or earlier *": f.Once,
    "now and always earlier *": f.Historically,
    "* ever since *": f.Since,
}


HOUR = 3600 * 10**9
WINDOWS = tuple(
    partial(f.Recently, times=often, within=within) for often in (1, 2, 7) for within in (0, HOUR // 2 + 1, 24 * HOUR)
)
COUNTS = tuple(partial(f.at_least, times) for times in (2, 3))
ALL_ALONG = (lambda body: f.Not(f.Recently(f.Not(body), 1, HOUR)),)
UNARY = (*formulas.UNARY, *WINDOWS, *COUNTS, *ALL_ALONG)


def ruleset(formula: f.Formula) -> tuple[Rule, RuleSet]:
    rule = Rule("r", "what somebody wrote", formula, "forbid")
    return rule, RuleSet(PREDICATES, (rule,))


def told(formula: f.Formula | str) -> str:
    formula = syntax.parse(formula) if isinstance(formula, str) else formula
    return understood.words(Rule("r", "what somebody wrote", formula, "forbid"), RuleSet(PREDICATES))


def meant(said: str) -> f.Formula:
    """What a sentence of that English means, read by a hand-made reader; it refuses what can be read in no way."""
    found: list[f.Formula] = []

    def leaf(formula: f.Formula) -> str:
        found.append(formula)
        return f"#{len(found) - 1}#"

    every, _, said = said.partition(": ") if said.startswith("For every ") else ("", "", said)
    said = said[0].upper() + said[1:]
    phrases = {phrase: f.Atom(name) for name, (phrase, _) in PHRASES.items()}
    phrases |= {phrase: f.Not(f.Atom(name)) for name, (_, phrase) in PHRASES.items()}
    for phrase in sorted(phrases, key=len, reverse=True):
        said = re.sub(rf"(?<!\w){re.escape(phrase)}", lambda _, phrase=phrase: leaf(phrases[phrase]), said)
    said = re.sub(r"(?<!\w)(anything|nothing)(?!\w)", lambda m: leaf(f.Constant(m[1] == "anything")), said)

    def part(text: str) -> f.Formula:
        while (inner := re.search(r"\(([^()]*)\)", text)) is not None:
            text = f"{text[: inner.start()]}{leaf(part(inner[1]))}{text[inner.end() :]}"
        if re.fullmatch(r"#\d+#", text):
            return found[int(text[1:-1])]
        operands = tuple(found[int(n)] for n in re.findall(r"#(\d+)#", text))
        text = text.replace("at most once", "at most 1 times")
        counted = re.fullmatch(r"at (least|most) (\d+) times, now included, #\d+#", text)
        if counted:
            least = counted[1] == "least"
            return (
                f.at_least(int(counted[2]), *operands) if least else f.Not(f.at_least(int(counted[2]) + 1, *operands))
            )
        lately = re.fullmatch(r"(.*) the last (\w+), now included, (always )?#\d+#", text)
        if lately:
            within, (body,) = times.duration(lately[2]).nanoseconds, operands
            if lately[1] == "for":
                return f.Not(f.Recently(f.Not(body), 1, within))
            often = re.fullmatch(r"(?:at (least|most) (\d+) times |(at no time )?)within", lately[1])
            if often[1] == "most" or often[3]:
                return f.Not(f.Recently(body, int(often[2] or 0) + 1, within))
            return f.Recently(body, int(often[2] or 1), within)
        return FORMS[re.sub(r"#\d+#", "*", text)](*operands)

    said = said.removesuffix(".")
    while (inner := re.search(r"\(([^()]*)\)", said)) is not None:
        said = f"{said[: inner.start()]}{leaf(part(inner[1]))}{said[inner.end() :]}"
    if whole := re.fullmatch(r"Whenever (#\d+#), (.*)", said):
        formula = f.Always(f.Implies(part(whole[1]), part(whole[2])))
    elif said.startswith("Over the whole run: "):
        formula = part(said.removeprefix("Over the whole run: "))
    else:
        head, _, rest = said.partition(" ")
        formula = f.Always(f.Not(part(rest)) if head == "Never" else {"Always": part}[head](rest))
    assert every == f"For every {' and every '.join(f.variables(formula))}" * bool(every)
    assert bool(every) == bool(f.variables(formula))
    return formula


@settings(max_examples=400)
@given(st.randoms(use_true_random=False), st.sampled_from(("all", "always", "whenever", "never")))
def test_the_words_say_the_formula_and_nothing_else(rng, shape) -> None:
    formula = random_formula(rng, 4, tuple(PHRASES), UNARY)
    if shape != "all":
        other = random_formula(rng, 2, tuple(PHRASES), UNARY)
        formula = f.Always({"always": formula, "whenever": f.Implies(other, formula), "never": f.Not(formula)}[shape])
    assert meant(told(formula)) == formula


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("ALWAYS (a IMPLIES c)", "Whenever ta is called, age is at least 18."),
        ("ALWAYS (a IMPLIES NOT c)", "Whenever ta is called, age is below 18."),
        ("ALWAYS (c IMPLIES a)", "Whenever age is at least 18, ta is called."),
        ("ALWAYS NOT b", "Never one of tb, tc is called."),
        ("ALWAYS (a IMPLIES ONCE b)", "Whenever ta is called, now or earlier one of tb, tc is called."),
        ("ALWAYS (a AND d IMPLIES e OR c)", "Whenever (ta is called and “d” holds (no field tells it)), calm is true "
         "or age is at least 18."),
        ("ALWAYS (a IMPLIES COUNT[<= 3] b)", "Whenever ta is called, at most 3 times, now included, one of tb, tc is "
         "called."),
        ("EVENTUALLY g", "Over the whole run: now or later “g” is done (no tool does it)."),
    ],
)  # fmt: skip
def test_a_rule_in_plain_words(formula: str, said: str) -> None:
    assert told(formula) == said and meant(said) == syntax.parse(formula)
    assert "somebody" not in told(formula) and "moon" not in told(formula), "nothing of what was written about it"


def test_two_readings_of_a_sentence_are_told_apart() -> None:
    """A rule turned round, its ban lifted, a limit moved by one: each says something else."""
    texts = "a IMPLIES c|c IMPLIES a|a IMPLIES NOT c|NOT a IMPLIES c|a IMPLIES ONCE c|a AND c|a OR c|a IFF c".split("|")
    assert len({told(f"ALWAYS ({text})") for text in texts}) == len(texts)
    limits = [
        Predicate("c", "state", "x", test=cel.parse(f"state.age {op} {n}")) for op in (">", ">=") for n in (17, 18)
    ]
    said = {understood.fact(one) for one in limits} | {understood.fact(one, positive=False) for one in limits}
    assert len(said) == 8


OBJECTS = rulefile.loads("""
predicates:
  get: {kind: action, tools: [get], objects: [call.id]}
  drop: {kind: action, tools: [drop], objects: [call.id]}
  dear: {kind: state, tools: [drop], test: 'call.price > 100 && state.role != "chief"'}
rules:
  - {id: r, formula: ALWAYS (drop(x) IMPLIES ONCE get(x)), modality: permit_only_if}
  - {id: s, formula: ALWAYS (drop AND dear IMPLIES ONCE get), modality: permit_only_if}
""")


def test_a_rule_about_objects_is_shown_on_a_few_of_them() -> None:
    same, dear = OBJECTS.rules
    assert understood.words(same, OBJECTS) == (
        "For every x: whenever drop is called for x, now or earlier get is called for x."
    )
    assert understood.denied(same, OBJECTS, BOX).steps == ("drop is called for object 1",)
    assert understood.allowed(same, OBJECTS, BOX).steps == ("get is called for object 1", "drop is called for object 1")
    assert understood.words(dear, OBJECTS) == (
        "Whenever (drop is called and (price is above 100 and role is not chief) in the call of drop), "
        "now or earlier get is called."
    )
    assert understood.bound(dear, OBJECTS, BOX)[1] == ("dear", "call.price, state.role of drop")


def test_a_count_and_a_window_of_the_same_object_are_shown_on_it() -> None:
    found = rulefile.loads("""
predicates:
  drop: {kind: action, tools: [drop], objects: [call.id]}
rules:
  - {id: r, formula: "ALWAYS (drop(x) IMPLIES COUNT[<= 2] drop(x))", modality: forbid}
  - {id: s, formula: "ALWAYS (drop(x) IMPLIES COUNT[<= 1, 24h] drop(x))", modality: forbid}
""")
    count, window = found.rules
    said = "For every x: whenever drop is called for x, at most {}, now included, drop is called for x."
    assert understood.words(count, found) == said.format("2 times")
    assert understood.words(window, found) == said.format("once within the last 24h")
    assert understood.denied(count, found, BOX).steps == ("drop is called for object 1",) * 3
    first, second = (re.fullmatch(r"after (\w+): (.*)", step) for step in understood.denied(window, found, BOX).steps)
    assert first[2] == second[2] and first[2] == "drop is called for object 1"
    assert times.duration(second[1]).nanoseconds - times.duration(first[1]).nanoseconds <= 24 * HOUR


def test_what_a_value_is_told_by_says_where_it_comes_from() -> None:
    field = dict(now=Source("clock"), yes=Source("said", "user"), card=Source("result", "get", or_of=("ta",)))
    field |= {"order": Source("lookup", "get"), "level": Source("done", "drop"), "age": None}
    box = Toolbox(BOX.tools, tuple(Field(name, "string", source=source) for name, source in field.items()))
    for name, told in {
        "now": "state.now (the time of the call)",
        "yes": "state.yes (said by the user)",
        "card": "state.card (the newest result of get or ta)",
        "order.n": "state.order.n (looked up by get)",
        "level": "state.level (told by the newest drop that was done)",
        "age": "state.age",
    }.items():
        p = Predicate("p", "state", "", test=cel.parse(f'state.{name} == "x" || call.{name} == "y"'))
        rule = Rule("r", "", f.Always(f.Atom("p")), "forbid")
        assert understood.bound(rule, RuleSet((p,)), box) == (("p", f"{told}, call.{name}"),)


def test_an_argument_and_a_field_of_one_name_are_told_apart() -> None:
    for test, said in {
        "call.card == state.card": "card of the call is card in the call",
        "call.pay.card in state.cards.filter(c, c == state.pay.card)": "card of pay of the call is in those c of cards "
        "for which c is card of pay in the call",
        "call.card == state.cards.id": "card is id of cards in the call",
    }.items():
        assert understood.fact(Predicate("p", "state", "", test=cel.parse(test))) == said


@pytest.mark.parametrize(
    ("formula", "said", "denied"),
    [
        ("ALWAYS (a IMPLIES ONCE[<= 24h] b)", "Whenever ta is called, within the last 24h, now included, one of tb, tc "
         "is called.", 1),
        ("ALWAYS (a IMPLIES COUNT[<= 2, 1h30m] a)", "Whenever ta is called, at most 2 times within the last 1h30m, now "
         "included, ta is called.", 3),
        ("ALWAYS COUNT[>= 2, 5m] a", "Always at least 2 times within the last 5m, now included, ta is called.", 0),
        ("ALWAYS (a IMPLIES HISTORICALLY[<= 1h] NOT b)", "Whenever ta is called, for the last 1h, now included, always "
         "none of tb, tc is called.", 2),
    ],
)  # fmt: skip
def test_a_window_in_time_is_said_and_its_runs_have_times(formula: str, said: str, denied: int) -> None:
    assert told(formula) == said
    shown = understood.denied(*ruleset(syntax.parse(formula)), BOX)
    assert len(shown.steps) == denied and all(re.match(r"after [0-9a-z]+: ", step) for step in shown.steps)


def steps(shown: understood.Shown) -> tuple[frozenset[str], ...]:
    """The steps of a run, read back from their words."""
    names = {phrases[0]: name for name, phrases in PHRASES.items()}
    found = []
    for step in shown.steps:
        after = re.match(r"after (\w+): ", step)
        at = {semantics.at(times.duration(after[1]).nanoseconds)} if after else set()
        parts = step.removeprefix(after[0] if after else "").split("; ")
        found.append(frozenset(names[part] for part in parts if part in names) | at)
    return tuple(found)


@settings(max_examples=120)
@given(st.randoms(use_true_random=False))
def test_a_denied_run_breaks_the_rule_at_its_last_step_and_an_allowed_one_keeps_it(rng) -> None:
    past = (f.Not, f.Previously, f.Once, f.Historically, *WINDOWS[:6])
    body = random_formula(rng, 3, ("a", "b", "c", "e"), past, (f.And, f.Or, f.Implies, f.Since))
    formula = f.Always(f.Implies(f.Atom("a"), body)) if rng.random() < 0.7 else f.Always(body)
    denied, allowed = (ask(*ruleset(formula), BOX) for ask in (understood.denied, understood.allowed))
    if denied.steps:
        run = steps(denied)
        assert not semantics.holds(formula, run) and all(semantics.holds(formula, run[:n]) for n in range(1, len(run)))
    else:
        assert denied.reason
    if allowed.steps:
        assert semantics.holds(formula, steps(allowed))
    else:
        assert re.match("nothing that can happen keeps it$|none can be shown: undecided: no times", allowed.reason)


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("ALWAYS (c IMPLIES EVENTUALLY a)", "it asks for a later step, which is not known before the call"),
        ("ALWAYS NOT g", "no tool carries out g"),
        ("ALWAYS c", "it names no action"),
        ("ALWAYS (a IMPLIES a)", "no call of a tool can break it"),
    ],
)
def test_where_no_call_is_denied_the_reason_is_told(formula: str, why: str) -> None:
    shown = understood.denied(*ruleset(syntax.parse(formula)), BOX)
    assert shown.steps == () and shown.reason == f"no call is denied: {why}"


def test_a_run_respects_what_the_tests_of_one_field_exclude() -> None:
    minor = Predicate("m", "state", "", test=cel.parse("state.age < 12"))
    rule = Rule("r", "", syntax.parse("ALWAYS (a IMPLIES NOT (c AND m))"), "forbid")
    shown = understood.denied(rule, RuleSet((*PREDICATES, minor), (rule,)), BOX)
    assert shown == understood.Shown((), "nothing that can happen breaks it")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ALWAYS (a IMPLIES c)", [("a", "calls of ta"), ("c", "state.age")]),
        ("ALWAYS (b IMPLIES d)", [("b", "calls of tb, tc"), ("d", "no field")]),
        ("ALWAYS (g IMPLIES e)", [("g", "no tool"), ("e", "state.calm")]),
        ("ALWAYS (h(x) IMPLIES e)", [("h", "calls of td, for each call.id"), ("e", "state.calm")]),
        ("ALWAYS (k(x, y) IMPLIES e)", [("k", "call.n of td, for each call.id, call.to"), ("e", "state.calm")]),
        (
            "ALWAYS (a IMPLIES n)",
            [
                ("a", "calls of ta"),
                ("n", "state.now (the time of the call), state.order.at (looked up by get), call.n"),
            ],
        ),
    ],
)
def test_each_predicate_is_told_by_something(text: str, told: list) -> None:
    rule = Rule("r", "", syntax.parse(text), "forbid")
    assert list(understood.bound(rule, RuleSet(PREDICATES, (rule,)), BOX)) == told
