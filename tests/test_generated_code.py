"""Generated code is bounded: no hostile source escapes, hangs, grows or ends in another error than the named ones."""

import itertools
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import hostile_code
import pytest
from conftest import ROOT
from hostile_code import BOOK, ESCAPES, GROWTH, LOOPS, PARSER, SOURCES, denying, of, returning
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.guards import contract, runtime, sandbox, synthesis, trial
from wb.guards.synthesis import Attempt, Draft
from wb.logic import semantics
from wb.rules.rule import Predicate, Rule, RuleSet

HANG_S, WAIT_S, KILOBYTES = 10, 60, 400_000  # of processor time; by the clock, on a machine that is busy
RIGHT = of("if age < 18:", "    return (False, 'r1')", "if not gold and level != 'gold':", "    return (False, 'r2')")
HARMLESS = frozenset(  # what a contract, a decorator or a comment says is taken off before the rest runs
    {"import in a contract", "open in a contract", "open in an Assert", "decorator", "decorator that trusts"}
    | {
        "system in a decorator",
        "a contract of many values",
        "other name",
        "direction turned",
        "builtins as a parameter",
    }
    | {"parameters in another order", "a parameter more", "surrogate escaped", "surrogate as reason", "ifs, 90 deep"}
    | {"brackets, 190 deep", "unknown encoding", "carriage returns", "form feed", "falls off the end"}
    | {"answers a number", "answers its argument", "answers a text", "answers a tuple as answer", "order of texts"}
    | {"many ways to fill in", "a long way to each answer"}
)


def met_by_a_process(folder, names) -> Iterator[dict]:
    """What became of each source; one that says nothing for `WAIT_S` seconds, or ends the process, is a row too."""
    command = [sys.executable, hostile_code.__file__]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        for name in ("empty", *names):  # the first one is for starting
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], WAIT_S)
            line = process.stdout.readline() if ready else ""
            if not line:
                process.kill()
                yield {"name": name, "raised": "it ended the process" if ready else f"no answer within {WAIT_S} s"}
                return
            yield json.loads(line)


@pytest.fixture(scope="module")
def met(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("hostile")
    return {row["name"]: row for row in met_by_a_process(folder, SOURCES)}


@pytest.mark.parametrize("name", SOURCES)
def test_no_source_escapes_hangs_grows_or_raises(met, name: str) -> None:
    row = met[name]
    assert "raised" not in row and not row["escaped"]
    assert row["seconds"] < HANG_S and row["kilobytes"] < KILOBYTES
    assert "allow" != row["own"][0], "a forbidden call, judged by what came of the tests"
    assert row["loaded"] == "loaded" or " required; got " in row["loaded"]
    assert (row["loaded"] == "loaded") is (name in HARMLESS), row["loaded"]
    assert row["loaded"] == "loaded" or set(row["trusted"]) == {"error"}, "taken as tested, it still cannot be loaded"


def test_there_are_more_than_a_hundred_of_five_kinds() -> None:
    assert len(SOURCES) >= 100 and min(map(len, (GROWTH, LOOPS, ESCAPES, PARSER, hostile_code.JUDGED))) >= 20


def test_a_harmless_source_passes_every_door() -> None:
    row = hostile_code.meet(RIGHT)
    assert row["loaded"] == "loaded" and row["grade"] == "tested"
    assert row["own"] == row["trusted"] == ["deny", "allow", "undecided", "undecided", "deny"]


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (denying("not " * 90 + "gold"), denying("not " * 110 + "gold")),
        (
            denying(" or ".join(f"age == {i}" for i in range(900))),
            denying(" or ".join(f"age == {i}" for i in range(1500))),
        ),
        (denying(f"age == {2**63}"), denying(f"age == {2**63 + 1}")),
        (of("# " + "x" * 299_000), of("# " + "x" * 300_000)),
        (of(f"Requires(age in ({', '.join(['1'] * 9_000)}))"), of(f"Requires(age in ({', '.join(['1'] * 90_000)}))")),
    ],
    ids=["depth", "size", "number", "length", "contract"],
)
def test_a_source_at_its_bound_goes_through_every_door_and_one_above_through_none(inside: str, outside: str) -> None:
    assert hostile_code.meet(inside)["loaded"] == "loaded"
    row = hostile_code.meet(outside)
    assert "required; got" in row["loaded"] and set(row["trusted"]) == set(row["own"]) == {"error"}


LEAVES = st.sampled_from(("n", "m", "s", "t", "p", "q", "0", "1", "2", "-1", "'a'", "'b'", "'~'", "True"))
CONSTANTS = st.sampled_from(("0", "1", "-1", "'a'", "'~'", "False"))
INFIX = st.sampled_from(("==", "!=", "<", "<=", ">", ">=", "and", "or", "+", "-"))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda x: st.one_of(
        st.builds("({} {} {})".format, x, INFIX, x),
        st.builds("({} {} {})".format, LEAVES, INFIX, LEAVES),
        st.builds("(not {})".format, x),
        st.builds("(-{})".format, x),
        st.builds("({} in ({}, {}))".format, x, CONSTANTS, CONSTANTS),
        st.builds("({} not in ({},))".format, x, CONSTANTS),
        st.builds("({} if {} else {})".format, x, x, x),
    ),
    max_leaves=6,
)
VALUES = {"n": range(-3, 5), "m": (0, 7), "s": ("", "a", "ab", "~", "~~", "z"), "t": ("a", "b"), "p": (True, False)}
VALUES |= {"q": (True, False)}
TYPES = {"n": "int", "m": "int", "s": "str", "t": "str", "p": "bool", "q": "bool"}
HEADER = f"def policy({', '.join(f'{n}: {t}' for n, t in TYPES.items())}) -> Tuple[bool, str]:"
ROWS = [dict(zip(VALUES, row, strict=True)) for row in itertools.product(*VALUES.values())]


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_what_loads_never_breaks_and_says_what_python_says(first: str, second: str) -> None:
    source = f"{HEADER}\n    if {first}:\n        return (False, 'a')\n    return (({second}) == True, 'b')\n"
    try:
        program = sandbox.load(source)
    except sandbox.UnsafeSource as error:
        assert "required; got" in str(error)
        return
    scope: dict = {"Tuple": tuple}
    exec(source, scope)
    for row in ROWS[::7]:
        assert program.run(**row) == scope["policy"](**row)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, st.sampled_from(("n", "s")))
def test_where_a_program_is_exact_its_points_stand_for_all_values(expression: str, hidden: str) -> None:
    try:
        program = sandbox.load(f"{HEADER}\n    return (not ({expression}), '')\n")
    except sandbox.UnsafeSource:
        return
    if hidden not in program.exact:
        return
    for known in ({k: v for k, v in row.items() if k != hidden} for row in ROWS if row[hidden] == VALUES[hidden][0]):
        unknown = {hidden: program.points[hidden]}
        tried = {outcome[0] for _, outcome in sandbox.completions(program.run, known, unknown)}
        assert tried == {program.run(**known, **{hidden: value})[0] for value in (*VALUES[hidden], *unknown[hidden])}


@pytest.mark.parametrize(
    ("condition", "exact"),
    [
        ("level == 'gold' or age in (1, 2) or gold", True),
        ("(age < 18) == (level != 'x')", True),
        ("0 <= age < 18", True),
        ("level < 'm'", False),
        ("age", False),
        ("not level", False),
        ("age == gold", False),
        ("age == True", False),
        ("(age if gold else 3) == 4", False),
        ("-age < 4", False),
        ("age + 1 == 4", False),
    ],
)
def test_only_what_meets_constants_of_its_type_is_exact(condition: str, exact: bool) -> None:
    program = sandbox.load(denying(condition))
    assert (program.exact == {name for name, _ in program.types}) is exact


def test_an_unknown_value_that_is_itself_the_answer_is_chosen() -> None:
    program = sandbox.load(returning("(level == 'gold' or gold, 'r1')"))
    found = sandbox.completions(program.run, {"age": 20, "level": "tin"}, {"gold": (False, True)})
    assert [(chosen["gold"], answer) for chosen, answer in found] == [(False, (False, "r1")), (True, (True, "r1"))]


def test_a_text_that_no_rule_names_is_none_of_those_that_are_named() -> None:
    assert sandbox.load(denying("level == '~' or level == '~~'")).points["level"] == ("~", "~~", "~~~")


def test_reading_too_much_is_an_error_and_not_a_long_wait() -> None:
    program = sandbox.load(denying(" or ".join(f"level == '{i}'" for i in range(600))))
    with pytest.raises(sandbox.TooMany, match="values were to be read"):
        list(sandbox.completions(program.run, {"age": 1, "gold": True}, {"level": program.points["level"]}, limit=700))


# what is too large on the side of the rules


def balanced(first: int, width: int) -> str:
    if width == 1:
        return f"p{first}"
    half = width // 2
    return f"({balanced(first, half)} {'AND' if width % 2 else 'OR'} {balanced(first + half, width - half)})"


@pytest.mark.parametrize(
    "condition", [" AND ".join(f"p{i}" for i in range(150)), balanced(0, 1500)], ids=["deep", "wide"]
)
def test_a_rule_too_large_to_be_code_ends_in_a_guard_that_denies(condition: str) -> None:
    text = f"ALWAYS (book IMPLIES ({condition}))"
    facts = tuple(Predicate(f"p{i}", "state", "") for i in range(1500))
    ruleset = RuleSet((hostile_code.PREDICATES[0], *facts), (Rule("r1", text, semantics.parse(text), "forbid"),))
    (made,) = contract.contracts(hostile_code.TOOLS, ruleset)
    (draft,) = synthesis.checked([Draft(made, (Attempt(synthesis.alone(made)),))], synthesis.TESTED)
    entry = synthesis.guarded(draft)
    assert entry.grade == "error" and "required; got" in entry.reason
    for source in (entry.source, synthesis.alone(made)):
        trusted = runtime.Guarded(made, source, "tested")
        guard = runtime.CallGuard("t", ruleset, (trusted,), frozenset({"tested"}), hostile_code.TOOLS)
        assert set(hostile_code.judged(guard)) == {"error"}


# the process that runs what is not accepted yet


ATTACKS = {
    "reads a file": "open('/etc/passwd')",
    "writes a file": "open('found', 'w')",
    "connects": "import socket; socket.socket()",
    "makes a pipe": "import os; os.pipe()",
    "takes memory": "x = bytearray(1 << 30)",
    "runs on": "while True: pass",
    "leaves a memory dump": "import os; os.abort()",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_confined_process_can_not_do_it_and_a_free_one_can(attack: str, tmp_path) -> None:
    before = "import resource, socket; from wb.guards import trial; "
    second = "((resource.RLIMIT_CPU, 1),)" if attack == "runs on" else "()"
    limits = {"confined": f"trial.confine(trial.LIMITS + {second}); ", "free": f"trial.confine({second}); "}
    ended = {}
    for name, held in limits.items():
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"{before}{held}\n{ATTACKS[attack]}"],
            capture_output=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT)},
        )
        ended[name] = done.returncode
        assert not list(tmp_path.iterdir()) or name == "free"
    killed = {"runs on": -signal.SIGXCPU, "leaves a memory dump": -signal.SIGABRT}
    assert ended["confined"] in (killed.get(attack, 1), -signal.SIGKILL)
    assert attack in killed or ended["free"] == 0


def test_a_source_that_ends_the_process_fails_alone() -> None:
    row = {"age": 20, "level": "gold", "gold": True}
    first, broken, empty, last = trial.answers([(RIGHT, [row] * 2), ("x =", [row]), (RIGHT, []), (RIGHT, [row])])
    assert first == ((True, "allowed"),) * 2 and empty == () and last == ((True, "allowed"),)
    assert isinstance(broken, trial.TrialFailed) and "ended with code 1" in str(broken)
    assert trial.answers([]) == ()


def test_the_first_differences_are_found_in_the_process_as_they_are_by_trying_all() -> None:
    wanted = RIGHT.replace("18", "17")
    points = sandbox.points(RIGHT, wanted)
    asked = [trial.Compared(one, other, points) for one, other in ((RIGHT, wanted), ("x =", RIGHT), (RIGHT, RIGHT))]
    found, broken, none = trial.differences(asked)
    assert found.arguments["age"] == 17 and found.wanted is True and found.got == "denied: r1"
    assert none is None and isinstance(broken, trial.TrialFailed)


def test_where_not_all_can_be_tried_what_is_near_the_examples_is() -> None:
    names = [f"p{i}" for i in range(9)]
    shell = f"def policy({', '.join(f'{n}: int' for n in names)}) -> Tuple[bool, str]:\n    return ({{}}, '')\n"
    sums = shell.format(f"{' + '.join(names)} >= 0")
    broken = shell.format(f"{' + '.join(names)} >= 0 and not (p3 == 7 and p8 == 5)")
    points = {name: tuple(range(10)) for name in names}
    asked = trial.Compared(broken, sums, points, [dict.fromkeys(names, 0)])
    found, unknown = trial.differences([asked, asked._replace(around=())])
    assert found.arguments == {**dict.fromkeys(names, 0), "p3": 7, "p8": 5} and unknown is None


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(60)", "did not end within 1 s"),
        ("print('[[true, \"a', end='')", "ended with code 0"),
        ("import os; os.kill(os.getpid(), 9)", "ended with code -9"),
    ],
)
def test_a_process_without_a_whole_answer_is_no_test_passed(monkeypatch, program: str, said: str) -> None:
    monkeypatch.setattr(trial, "COMMAND", (sys.executable, "-S", "-c", program))
    monkeypatch.setattr(trial, "WAIT_S", 1)
    (draft,) = synthesis.checked([Draft(BOOK, (Attempt(RIGHT),))], synthesis.TESTED)
    assert synthesis.guarded(draft).grade == "error" and said in synthesis.guarded(draft).reason


def test_the_process_knows_nothing_of_its_caller_s_environment(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-somebody")
    told = "import json, os; print(json.dumps([json.dumps(sorted(os.environ))]))"
    monkeypatch.setattr(trial, "COMMAND", (sys.executable, "-S", "-c", told))
    ((names,),) = trial.answers([(RIGHT, [{}])])
    assert "PYTHONPATH" in names and "OPENAI" not in names
