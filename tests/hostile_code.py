"""Sources that generated code must never be: more than a hundred, each an attack on what reads, loads or runs a guard.

Run as a script, it puts each source through every door (`meet`) and prints a line of JSON for each.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from wb.bench import baselines
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace, Verdict
from wb.guards import contract, evidence, faults, sandbox, synthesis, toolguard, veriguard
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.synthesis import Attempt, Draft
from wb.logic import cel, semantics
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("special", "state", "", test=cel.parse('state.level == "gold"')),
    Predicate("paid", "state", "", test=cel.parse("state.gold")),
)
TEXTS = ("ALWAYS (book IMPLIES adult)", "ALWAYS (book IMPLIES (special OR paid))")
RULES = RuleSet(PREDICATES, tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(TEXTS, 1)))
TOOLS = Toolbox((Tool("book"),), (Field("age", "integer"), Field("level", "string"), Field("gold", "boolean")))
(BOOK,) = contract.contracts(TOOLS, RULES)
SIGNATURE = "def policy_book(age: int, level: str, gold: bool) -> Tuple[bool, str]:"
CANARY = "CANARY"  # the name of the file that an escape would write
FORBIDDEN = {"age": 17, "level": "tin", "gold": False}
STATES = (FORBIDDEN, {"age": 40, "level": "gold", "gold": True}, {"age": 40}, {}, {"age": 17, "level": "x" * 100_000})
REACH = f"open({CANARY!r}, 'w').write('x')"


def of(*lines: str) -> str:
    """A function of the right signature with these lines as its body, and a last line that allows."""
    return "\n    ".join((SIGNATURE, *lines, "return (True, 'allowed')")) + "\n"


def returning(expression: str) -> str:
    """A function of the right signature that answers one expression."""
    return f"{SIGNATURE}\n    return {expression}\n"


def denying(expression: str) -> str:
    """A function that denies where an expression is true."""
    return of(f"if {expression}:", "    return (False, 'c1')")


def doubling(first: str, step: str, times: int, last: str, guard: str = "age < 18") -> str:
    """A value that grows at each line, under a condition that a test seldom meets."""
    return of(
        f"if {guard}:", f"    x = {first}", *[f"    {step}"] * times, f"    if {last}:", "        return (False, 'c1')"
    )


GROWTH = {
    "nested tuples compared": of(
        "x = (1, 1)", "y = (1, 1)", *["x = (x, x)", "y = (y, y)"] * 60, "if x == y:", "    return (False, 'c1')"
    ),
    "nested tuples ordered": of(
        "x = (1, 1)", "y = (1, 1)", *["x = (x, x)", "y = (y, y)"] * 60, "if x < y:", "    return (False, 'c1')"
    ),
    "nested tuples searched": of(
        "x = 1", "y = 1", *["x = (x, x)", "y = (y, y)"] * 60, "if x in (y,):", "    return (False, '')"
    ),
    "nested tuples answered": of("x = 1", *["x = (x, x)"] * 60, "return (x, 'c1')"),
    "nested tuples as reason": of("x = 1", *["x = (x, x)"] * 60, "return (True, x)"),
    "text doubled": doubling("'x'", "x = x + x", 40, "x == level"),
    "text of the call doubled": doubling("level", "x = x + x", 40, "x == 'gold'", "age < 18 and level == 'rare'"),
    "text doubled, where 15": doubling("'x'", "x = x + x", 40, "x == level", "age == 15"),
    "tuple doubled": doubling("(age, age)", "x = x + x", 36, "x == (1, 2)"),
    "number doubled": doubling("age", "x = x + x", 20_000, "x == 3"),
    "number answered": of("x = 7", *["x = x + x"] * 20_000, "return (x, 'c1')"),
    "two texts by turns": doubling("level", "x, y = x + x, x", 40, "x == y"),
    "text grown in place": doubling("'x'", "x += x", 40, "x == level"),
    "text times a number": denying("'x' * 10 ** 10 == level"),
    "tuple times a number": denying("(1,) * 10 ** 10 == (1, 2)"),
    "tower of powers": denying("9 ** 9 ** 9 ** 9 == age"),
    "power of the call's number": denying("age ** age ** age ** age == 3"),
    "number shifted": denying("1 << 10 ** 12 == age"),
    "numbers multiplied": of("x = age", *["x = x * x"] * 60, "if x == 3:", "    return (False, '')"),
    "text formatted to a width": denying("'%9999999999d' % age == level"),
    "f-string of a width": denying("f'{age:9999999999}' == level"),
    "list grown": of("x = [1]", *["x = x + x"] * 40, "if x == [age]:", "    return (False, '')"),
    "thousand texts joined": denying(" + ".join(["level"] * 900) + " == 'x'"),
    "text searched in a text": denying("'" + "a" * 20_000 + "b' in level + level + level"),
    "two thousand parameters": of().replace("gold: bool", ", ".join(f"a{i}: bool" for i in range(2000))),
    "ten thousand comparisons": denying(" or ".join(f"age == {i}" for i in range(10_000))),
    "many ways to fill in": denying(" and ".join(f"(age != {2 * i} or level != 't{i}')" for i in range(250))),
    "a long way to each answer": denying(" or ".join(f"age == {i}" for i in range(450))),
    "a contract of many values": of(
        f"Requires(age in ({', '.join(str(3 * i) for i in range(9000))}))", "if age < 18:", "    pass"
    ),
    "chain of comparisons": denying(" < ".join(["age"] * 3000)),
    "forty inputs told apart": denying(" and ".join(f"(age == {i} or level == '{i}')" for i in range(2000))),
    "dictionary": denying("{age: level} == {1: 'x'}"),
    "set of numbers": denying("age in {1, 2, 3}"),
    "bytes": denying("level == b'x'"),
}
LOOPS = {
    "endless while": of("while True:", "    pass"),
    "long for": of("for i in (1, 2, 3):", "    pass"),
    "for over a range": of("for i in range(10 ** 12):", "    pass"),
    "recursion": of("return policy_book(age, level, gold)"),
    "recursion of two": of("return policy_book(age, level, policy_book(age, level, gold))"),
    "list built": denying("[i for i in (1, 2)] == age"),
    "lists built in lists": denying("[[j for j in (1, 2)] for i in (1, 2)] == age"),
    "generator": denying("any(i for i in (1, 2))"),
    "yield": of("yield 1"),
    "lambda": denying("(lambda f: f(f))(lambda f: f(f))"),
    "try": of("try:", "    pass", "except Exception:", "    pass"),
    "with": of(f"with open({CANARY!r}, 'w') as f:", "    pass"),
    "match": of("match age:", "    case 1:", "        return (False, '')"),
    "walrus": denying("(x := age) == 1"),
    "async": "async " + of("await age"),
    "a second function": SIGNATURE.replace("policy_book", "other") + "\n    return (True, '')\n" + of(),
    "a function inside": of("def inner(a: int) -> bool:", "    return inner(a)"),
    "class": of("class A:", "    pass"),
    "deletion": of("del age"),
    "global": of("global age", "age = 1"),
    "nonlocal": of("nonlocal age"),
    "assert": of("assert age"),
    "raise": of("raise age"),
}
ESCAPES = {
    "open": of(REACH),
    "open in a test": denying(REACH),
    "open above the function": f"{REACH}\n" + of(),
    "open under the function": of() + f"{REACH}\n",
    "import": of("import os"),
    "import above": "import os\n" + of("os.system('true')"),
    "import by a call": denying("__import__('os').system('true') == 0"),
    "import in a contract": of(f"Requires(__import__('pathlib').Path({CANARY!r}).write_text('x'))"),
    "open in a contract": of(f"Ensures({REACH} == 1)"),
    "open in an Assert": of(f"Assert({REACH})"),
    "evaluated text": denying(f'eval("{REACH}")'),
    "subclasses": denying("().__class__.__base__.__subclasses__() == age"),
    "class of a parameter": denying("level.__class__.__mro__ == age"),
    "format of a text": denying("'{0.__class__}'.format(age) == level"),
    "f-string": denying("f'{age.__class__}' == level"),
    "getattr": denying("getattr(age, 'real')"),
    "builtins by name": denying("__builtins__ == age"),
    "builtins as a parameter": SIGNATURE.replace("age", "__builtins__") + "\n    return (True, '')\n",
    "globals": denying("globals() == age"),
    "decorator": f"@{REACH}\n" + of(),
    "decorator that trusts": "@ContractOnly\n" + of(),
    "default": of().replace("age: int", f"age: int = {REACH}"),
    "annotation": of().replace("age: int", f"age: {REACH}"),
    "annotation that fails": of().replace("age: int", "age: -'x'"),
    "annotation that compares": of().replace("age: int", "age: 1 < 'x'"),
    "system in a decorator": "@__import__('os').system\n" + of(),
    "answer's annotation": of().replace("Tuple[bool, str]", REACH),
    "answer's annotation unbound": of("late = 1").replace("Tuple[bool, str]", "late"),
    "answer's annotation subscripted": of().replace("Tuple[bool, str]", "Tuple[Tuple[bool, str] < 1]"),
    "type parameter": of().replace("policy_book(", f"policy_book[T: {REACH}]("),
    "type alias": "type X = int\n" + of(),
    "many arguments": of().replace("gold: bool", "*gold: bool"),
    "named arguments": of().replace("gold: bool", "**gold: bool"),
    "keyword argument": of().replace("gold: bool", "*, gold: bool"),
    "annotated variable": of(f"x: {REACH} = 1"),
    "subscript of a parameter": denying("level[0] == 'x'"),
    "starred": denying("(*level,) == age"),
    "the tuple type called": denying("Tuple(level) == age"),
    "the tuple type bound anew": of("Tuple = age"),
    "debug bound": of("__debug__ = 1"),
    "debug as a parameter": of().replace("gold", "__debug__"),
    "other name": of().replace("policy_book", "policy_all"),
    "parameters in another order": of().replace("age: int, level: str", "level: str, age: int"),
    "a parameter twice": of().replace("level: str", "age: str"),
    "a parameter more": of().replace("gold: bool", "gold: bool, more: int"),
    "fullwidth letters": of("ｏｐｅｎ(level)"),
    "look-alike letter": denying("\u0430ge < 18"),
    "direction turned": of("# \u202e }", "if age < 18: return (False, '')"),
}
PARSER = {
    "empty": "",
    "no code": "# nothing\n",
    "half a line": "def (",
    "null byte": of("x = '\0'"),
    "null byte first": "\0" + of(),
    "surrogate": denying("level == '\ud800'"),
    "surrogate in a comment": of("# \udfff"),
    "surrogate escaped": denying("level == '\\ud800'"),
    "surrogate as reason": of("return (age >= 18 and (level == 'gold' or gold), '\\udfff')"),
    "long decimal": denying(f"age == {'9' * 5000}"),
    "long hexadecimal": denying(f"age == 0x{'f' * 80_000}"),
    "long decimal, bounded": denying(f"age == {'9' * 4000}"),
    "brackets, 190 deep": denying("(" * 190 + "age" + ")" * 190),
    "brackets, 5000 deep": denying("(" * 5000 + "age" + ")" * 5000),
    "tuples, 180 deep": denying("(" * 180 + "age" + ",)" * 180 + " == age"),
    "not, 900 deep": denying("not " * 900 + "gold"),
    "not, 50,000 deep": denying("not " * 50_000 + "gold"),
    "minus, 900 deep": denying("-" * 900 + "age == 1"),
    "minus, 50,000 deep": denying("-" * 50_000 + "age == 1"),
    "conditions, 700 deep": denying("gold if gold else " * 700 + "gold"),
    "conditions, 20,000 deep": denying("gold if gold else " * 20_000 + "gold"),
    "sums, 900 long": denying("age" + " + age" * 900 + " == 1"),
    "sums, 50,000 long": denying("age" + " + age" * 50_000 + " == 1"),
    "ifs, 90 deep": "\n".join(
        (SIGNATURE, *["    " + " " * i + "if age:" for i in range(90)], " " * 99 + "return (True, '')")
    )
    + "\n",
    "ifs, 110 deep": "\n".join(
        (SIGNATURE, *["    " + " " * i + "if age:" for i in range(110)], " " * 120 + "return (True, '')")
    )
    + "\n",
    "elifs, 900 long": of("if age == 1:", "    pass", *["elif age == 1:", "    pass"] * 900),
    "elifs, 20,000 long": of("if age == 1:", "    pass", *["elif age == 1:", "    pass"] * 20_000),
    "types, 150 deep": of().replace("Tuple[bool, str]", "Tuple[" * 150 + "bool" + "]" * 150),
    "types, 5000 deep": of().replace("Tuple[bool, str]", "Tuple[" * 5000 + "bool" + "]" * 5000),
    "five million spaces": of("if age < 18:" + " " * 5_000_000 + "return (False, '')"),
    "a million lines": of() + "\n" * 1_000_000,
    "a long name": of("x" * 1_000_000 + " = 1"),
    "a long text": denying(f"level == '{'x' * 5_000_000}'"),
    "many parameters": of().replace("gold: bool", ", ".join(f"a{i}: bool" for i in range(30_000))),
    "unknown encoding": "# -*- coding: klingon -*-\n" + of(),
    "encoding of another alphabet": "# -*- coding: utf-7 -*-\n" + of("+AG8-"),
    "byte order mark": "\ufeff" + of(),
    "carriage returns": of().replace("\n", "\r"),
    "tabs and spaces": of("if age:", "\treturn (True, '')", "        return (True, '')"),
    "form feed": "\f" + of(),
    "unended text": of("x = '"),
    "unended f-string": of("x = f'{"),
    "continued at the end": of() + "\\",
    "unknown escape": denying("level == '\\d\\N{NO SUCH NAME}'"),
    "infinite float": denying("age < 1e999"),
    "not a number": denying("age < 1e999 - 1e999"),
    "imaginary": denying("age < 1j"),
    "ellipsis": denying("age == ..."),
    "nothing compared": denying("age < None"),
    "return outside": "return (True, '')\n",
    "await outside": of("await age"),
    "starred outside": of("*age"),
    "no function but a docstring": '"""policy_book"""\n',
    "a name as source": "policy_book",
}
JUDGED = {
    "falls off the end": f"{SIGNATURE}\n    if age >= 18:\n        return (True, 'allowed')\n",
    "answers true alone": returning("True"),
    "answers three": returning("(True, '', '')"),
    "answers a number": returning("(1, '')"),
    "answers its argument": returning("(age, level)"),
    "answers a text": returning("('True', '')"),
    "answers a type": returning("(bool, '')"),
    "answers the tuple type": returning("(Tuple, '')"),
    "answers nothing as reason": returning("(True, None)"),
    "answers a number as reason": returning("(True, age)"),
    "answers a tuple as answer": returning("((True, True), '')"),
    "compares number and text": denying("age < level"),
    "compares truth and text": denying("gold < level"),
    "compares tuple and number": denying("(age, age) < 3"),
    "adds number and text": denying("age + level == 'x'"),
    "subtracts texts": denying("level - level == 'x'"),
    "negates a text": denying("-level == 'x'"),
    "negates a constant text": denying("age == -'x'"),
    "negates a constant tuple": denying("age == -(1, 2)"),
    "searches in a number": denying("level in 5"),
    "searches a number in a text": denying("age in 'x'"),
    "searches in an argument": denying("'x' in level"),
    "reads before binding": of("if age < 18:", "    late = 1", "if late == 1:", "    return (False, '')"),
    "binds an argument anew": of("age = 40"),
    "two letters searched": denying("'a' in level and 'b' in level"),
    "order of texts": denying("level < 'm'"),
}
SOURCES = {**GROWTH, **LOOPS, **ESCAPES, **PARSER, **JUDGED}


def judged(guard: CallGuard) -> list[str]:
    """What a guard says of the states, the first of which is forbidden."""
    return [_said(guard.decide(Trace("t", (Step((Call("book"),), state),)))) for state in STATES]


def _said(verdict: Verdict) -> str:
    return "error" if verdict.grade == "error" else verdict.decision


def meet(source: str) -> dict[str, object]:
    """A source at every door: `loaded`, its `grade` after the tests, and the decisions where it is taken as tested.

    Nothing is caught here but the loader's one error.
    """
    try:
        program, loaded = sandbox.load(source), "loaded"
    except sandbox.UnsafeSource as error:
        program, loaded = None, f"refused: {error}"
    (draft,) = synthesis.checked([Draft(BOOK, (Attempt(source),))], synthesis.TESTED)
    entry = synthesis.guarded(draft)
    rows = json.loads(json.dumps(evidence.to_rows([entry], RULES, {})))
    (kept,) = evidence.from_rows(rows, (BOOK,), RULES, {})
    synthesis.without(synthesis.joined(source, BOOK), BOOK)
    baselines._executed(baselines.Code(code=source), {**FORBIDDEN, "more": 1})
    trusted = CallGuard("trusting", RULES, (Guarded(BOOK, source, "tested"),), frozenset({"tested"}), TOOLS)
    own = CallGuard("careful", RULES, (kept,), frozenset({"tested"}), TOOLS)
    faults.verdict(source)
    if program is not None:
        toolguard.to_rows([draft], RULES, {})
        synthesis.counterexamples([(BOOK, draft.source)], veriguard.PROOF) if kept.grade == "tested" else None
    return {"loaded": loaded[:200], "grade": kept.grade, "trusted": judged(trusted), "own": judged(own)}


def largest() -> int:
    """The largest this program has been, in kilobytes. `ru_maxrss` would be at least what the process that started
    it was, since a program takes that figure over from the one it replaces."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0])


def main() -> int:
    """Read names from standard input, a line each; write what became of each source."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    for line in sys.stdin:
        name, start = line.rstrip("\n"), time.process_time()
        try:
            found = meet(SOURCES[name])
        except Exception as error:
            found = {"raised": f"{type(error).__name__}: {error}"[:200]}
        seconds = round(time.process_time() - start, 2)
        row = {"name": name, **found, "seconds": seconds, "kilobytes": largest(), "escaped": Path(CANARY).exists()}
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
