"""Contracts: what a tool's guard must do, compiled from the FORMULAS of the rules alone.

VeriGuard's constraint set C (Sec. 3.2.1).  A rule `ALWAYS body` bears on a tool when calling the tool
can make `body` false at the last step.  There `body` is propositional over *parameters*: typed fields
of grounded predicates, facts, other actions of the same step, and past subformulas whose value is
computed over the trace.  Each rule gives `Ensures(Implies(Result()[0], condition))`, and all together
the allow side `Ensures(Implies(all conditions, Result()[0]))`, so denying everything does not pass.
The guard's text comes by another path (`synthesis`), from the sentences.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from wb.domain.tools import Field, Tool, Toolbox, schemas
from wb.guards import loops, sandbox
from wb.guards.loops import COMPARED, IDENTIFIER, Computed, Input, Type, named
from wb.guards.nagini import HEADER
from wb.guards.sandbox import UnsafeSource
from wb.logic import cel, facts, times, types
from wb.logic import formula as f
from wb.logic.facts import (
    Arithmetic,
    Choice,
    Comparison,
    Conjunction,
    Disjunction,
    Fact,
    Function,
    List,
    Negation,
    Node,
    OneOf,
    Part,
    Path,
    Scalar,
    Size,
    Within,
)
from wb.logic.formula import Formula
from wb.rules.residual import bearing, own_objects
from wb.rules.rule import Predicate, RuleSet

RESERVED = frozenset(
    {*keyword.kwlist, "Result", "Implies", "Requires", "Ensures", "Refute", "Tuple", "bool", "str", "int", "len"}
)
REFUSED = frozenset({"Assume", "ContractOnly", "Exsures", "Assert", "Fold", "Unfold", "Inhale", "Exhale", "Opaque"})


class VacuousContract(UnsafeSource):
    """A source whose contract would prove anything, or nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One typed input of a guard, and what fills it at run time.

    Exactly one of `field` (the value of that path, or how many items it holds), `term` (what a part of a test comes
    to, of the state and a call of `tool`: a count, a sum, a nested value; of a time or duration its nanoseconds),
    `fact` (a predicate's truth, told from outside), `past` (a formula over the trace, of the objects that the call
    names and of all where it has variables) is set.  A fact that is the result of a test which Nagini cannot compute
    has that `test`; `words` are the predicates' keywords.  A `loose` one is compared as a whole number, and nothing
    declared says that it is one: where it is unknown it may also be what no whole number is like.  What a list comes to
    is found by a `loop`, which is proved with the guard, where all that it reads is known.  The declared `values` of an
    enumeration and the least and most `within` which a number lies are for examples alone.
    """

    name: str
    type: Type
    about: str
    field: str | None = None
    measure: Literal["value", "count"] = "value"
    fact: str | None = None
    past: Formula | None = None
    test: Fact | None = None
    words: tuple[str, ...] = ()
    term: Node | None = None
    tool: str = ""
    loose: bool = False
    loop: Computed | None = None
    values: tuple[sandbox.Argument, ...] = ()
    within: tuple[int | None, int | None] = (None, None)

    def __post_init__(self) -> None:
        if sum(x is not None for x in (self.field, self.fact, self.past, self.term)) != 1:
            raise ValueError(f"a parameter is filled from one of field, term, fact and past; got {self!r}")

    @property
    def trusted(self) -> bool:
        """Whether it is a truth that the guard takes on trust: told from outside, or computed before the guard runs, or
        what it was computed of, the times of steps, is told from outside; of one that a loop finds, whether the loop
        reads such a truth."""
        if self.loop is not None:
            return any(one.trusted for one in self.loop.inputs)
        computed = self.type == "bool" and self.term is not None and not _stored(self.term)
        return self.fact is not None or computed or self.timed

    @property
    def trusts(self) -> tuple[str, ...]:
        """The truths that it takes on trust, as a person calls them: its own, or those that its loop reads."""
        if not self.trusted:
            return ()
        if self.loop is not None:
            return tuple(one.said for one in self.loop.inputs if one.trusted)
        return (self.about or (cel.render(self.test) if self.test is not None else self.name),)

    @property
    def timed(self) -> bool:
        """Whether it rests on the times of steps, which the state's field `now` tells."""
        return self.past is not None and bool(f.windows(self.past))

    @property
    def measured(self) -> bool:
        """Whether it is a value that the proved code itself compares: a field, or what a part of a test comes to."""
        return self.past is None and not self.trusted


@dataclass(frozen=True, slots=True)
class Item:
    """One rule as it bears on the tool: it allows the call exactly where `condition` holds."""

    rule: str
    clause: str
    text: str
    condition: str
    residual: Formula


@dataclass(frozen=True, slots=True)
class Contract:
    """All that a guard for the tool must satisfy."""

    tool: str
    parameters: tuple[Parameter, ...]
    items: tuple[Item, ...]

    @property
    def function(self) -> str:
        """The name of the guard's function."""
        return "policy_" + re.sub(r"\W", "_", self.tool)

    @property
    def signature(self) -> str:
        """The guard's first line."""
        listed = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"def {self.function}({listed}) -> Tuple[bool, str]:"

    @property
    def requires(self) -> tuple[str, ...]:
        """What callers must respect: a count is never negative."""
        return tuple(f"{p.name} >= 0" for p in self.parameters if p.measure == "count")

    @property
    def measured(self) -> tuple[Parameter, ...]:
        """The parameters that the proved code compares, so that the comparison is inside the proof."""
        return tuple(p for p in self.parameters if p.measured)

    @property
    def trusted(self) -> tuple[Parameter, ...]:
        """The truths that stand as they are told: nothing is proved of how they come about."""
        return tuple(p for p in self.parameters if p.trusted)

    @property
    def looped(self) -> tuple[Parameter, ...]:
        """The parameters that proved loops fill from lists."""
        return tuple(p for p in self.parameters if p.loop is not None)

    @property
    def allows(self) -> str:
        """The allow side: where this expression is true, the guard must allow."""
        return " and ".join(bracketed(c) for c in self.conditions) or "True"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Each item's condition, once."""
        return tuple(dict.fromkeys(item.condition for item in self.items))

    def lines(self) -> tuple[str, ...]:
        """The contract's statements, in order."""
        per_rule = [f"Ensures(Implies(Result()[0], {c}))" for c in self.conditions]
        return (*(f"Requires({r})" for r in self.requires), *per_rule, f"Ensures({self._allow_side()})")

    def _allow_side(self) -> str:
        if "False" in self.conditions:
            return "not Result()[0]"  # forbidden outright: an implication from False would say nothing
        return f"Implies({self.allows}, Result()[0])" if self.items else "Result()[0]"


def contract(tool: Tool, ruleset: RuleSet, state: tuple[Field, ...] = ()) -> Contract:
    """The tool's contract. `state` gives the types of the state fields; without it, tests tell them."""
    names = _Names(tool, ruleset, state)
    items = []
    for rule in ruleset.rules:
        residual = bearing(rule, tool.name, ruleset)
        if residual is not None:
            items.append(Item(rule.id, rule.clause, rule.text, names.expression(residual), residual))
    return Contract(tool.name, names.looped(), tuple(items))


def contracts(toolbox: Toolbox, ruleset: RuleSet) -> tuple[Contract, ...]:
    """One contract a tool; a tool that no rule concerns has one without items, which allows."""
    return tuple(contract(tool, ruleset, toolbox.state) for tool in toolbox.tools)


class _Names:
    """The parameters met so far, by what fills them; the same thing has the same name throughout."""

    def __init__(self, tool: Tool, ruleset: RuleSet, state: tuple[Field, ...]) -> None:
        self.tool, self.ruleset = tool, ruleset
        self.schemas = {"state": schemas(state), tool.name: schemas(tool.arguments)}
        owned = [("state", one) for one in state] + [(tool.name, one) for one in tool.arguments]
        self.said = {(owner, one.name): one.description for owner, one in owned if one.description}
        self.parameters: dict[object, Parameter] = {}

    def expression(self, formula: Formula) -> str:
        """Python (and Nagini) text of the same truth value."""
        match formula:
            case f.Constant(value):
                return str(value)
            case f.Atom() if formula.objects and not self._own(formula):
                return self._looked_up(formula)
            case f.Atom():
                return self._predicate(self.ruleset.predicate(formula.predicate))
            case f.Not() | f.Or() | f.Iff() if f.variables(formula):
                return self._of_all(formula)
            case f.Not(body):
                return f"not {bracketed(self.expression(body))}"
            case f.And(left, right) | f.Or(left, right) | f.Iff(left, right):
                word = {f.And: "and", f.Or: "or", f.Iff: "=="}[type(formula)]
                return f"{bracketed(self.expression(left))} {word} {bracketed(self.expression(right))}"
            case f.Previously() | f.Once() | f.Historically() | f.Since() | f.Recently():
                return self._looked_up(formula)
            case _:
                raise ValueError(f"a guard's condition is propositional with past; got {formula!r}")

    def looped(self) -> tuple[Parameter, ...]:
        """The parameters, with loops where lists fill them that the state and the judged call hold."""
        taken: dict[str, Input | None] = dict.fromkeys((*RESERVED, *(p.name for p in self.parameters.values())))
        read, found = (self.schemas["state"], self.schemas[self.tool.name]), []
        for one in self.parameters.values():
            node = one.test if one.fact is not None else one.term
            tools = self.ruleset.predicate(one.fact).tools if one.fact is not None else (one.tool,) * bool(one.tool)
            if node is None or (tools and self.tool.name not in tools):
                found.append(one)
                continue
            loop = loops.computed(one.name, node, one.type, read, taken)
            taken |= {given.name: given for given in loop.inputs} if loop is not None else {}
            found.append(replace(one, loop=loop))
        return tuple(found)

    def _own(self, atom: f.Atom) -> bool:
        """Whether an atom is of the judged call itself: a test of its arguments, of the objects that it names."""
        of = self.ruleset.predicate(atom.predicate)
        return of.kind == "state" and self.tool.name in of.tools and atom.objects == own_objects(of)

    def _looked_up(self, formula: Formula) -> str:
        """The parameter that the steps so far fill, of the objects that the call names and of all others."""
        met = [self.ruleset.predicate(name) for name in f.predicates(formula)]
        named = [term for name in f.atoms(formula) for term in f.Atom(name).objects if "." in term]
        same = ", ".join(dict.fromkeys(term.partition(".")[2] for term in named))
        every = ", ".join(f.variables(formula))
        about = over(formula) + (f", for the same {same}" if same else "") + (f", for every {every}" if every else "")
        about += f": {'; '.join(p.description for p in met if p.description)}"
        words = tuple(dict.fromkeys(w for p in met for w in p.keywords))
        return self._parameter(formula, slug(formula), "bool", about, past=formula, words=words)

    def _of_all(self, formula: Formula) -> str:
        """What must hold of all objects: the parts that share a variable are one parameter, the others stand apart."""
        groups: list[tuple[set[str], list[Formula]]] = []
        for part in _alternatives(formula):
            names = set(f.variables(part))
            alike = [group for group in groups if names & group[0]]
            groups = [group for group in groups if group not in alike]
            names = names.union(*(group[0] for group in alike))
            groups.append((names, [one for group in alike for one in group[1]] + [part]))
        found = [(names, f.disjunction(tuple(group))) for names, group in groups]
        texts = [
            self._looked_up(one) if names and not isinstance(one, f.And) else self.expression(one)
            for names, one in found
        ]
        return " or ".join(map(bracketed, texts))

    def _predicate(self, predicate: Predicate) -> str:
        test = predicate.test
        if test is not None and not self._told(test, predicate):
            return self._fact(test, predicate)
        name, words = predicate.name, predicate.keywords
        return self._parameter(name, name, "bool", predicate.description, fact=name, test=test, words=words)

    def _told(self, test: Fact, predicate: Predicate) -> bool:
        """Whether a test is one truth to the guard: nothing in it is compared by the proved code."""
        match test:
            case Comparison() if not facts.paths(test):
                return True  # what nothing tells
            case Choice(_, _, Comparison() as never) if not facts.paths(never):
                return True  # where two bindings differ it is not known (`binding.both`)
            case Negation() | Conjunction() | Disjunction():
                told = all(self._told(part, predicate) for part in facts.children(test))
                return told or self._strange(test, predicate)
            case Comparison() | OneOf() | Within() | Choice():
                return not self._computed(test, predicate) or self._strange(test, predicate)
            case _:
                return not self._stored(test, predicate)

    def _strange(self, test: Fact, predicate: Predicate) -> bool:
        """Whether a test reads calls of a tool that is not known here."""
        return any(self._owner(path, predicate) is None for path in facts.paths(test))

    def _stored(self, test: Node, predicate: Predicate) -> bool:
        """Whether a node is a value as it is stored, such as can be true."""
        return _stored(test) and self._kind(test, predicate) in ("bool", "any") and not self._strange(test, predicate)

    def _computed(self, test: Fact, predicate: Predicate) -> bool:
        """Whether Nagini computes the fact exactly: it compares whole numbers, truths, times, or texts for equality."""
        match test:
            case Comparison(op, left, right):
                found = self._compared(left, right, predicate)
                return found is not None and (found == "int" or op in ("==", "!="))
            case OneOf(item, options):
                return bool(options) and all(self._compared(item, one, predicate) in ("int", "str") for one in options)
            case Within(item, List(options)):
                return bool(options) and all(self._compared(item, one, predicate) for one in options)
            case Choice():
                return True
            case _:
                return False

    def _compared(self, left: Node, right: Node, predicate: Predicate) -> Type | None:
        """The type of parameters by which two values are compared; None where the proved code cannot."""
        return COMPARED.get(loops.alike(left, right, lambda side: self._kind(side, predicate)))

    def _kind(self, node: Node, predicate: Predicate) -> str:
        """The name of its type."""
        return self._type(node, predicate).name

    def _type(self, node: Node, predicate: Predicate) -> types.Type:
        """What the declared types say of a node's value."""
        owners = {self._owner(path, predicate) for path in facts.paths(node)} - {"state", None}
        tool = next(iter(owners), self.tool.name)
        return types.of(node, self.schemas.get("state"), self.schemas.get(tool))

    def _fact(self, test: Fact, predicate: Predicate) -> str:
        """A fact as an expression over its parameters; what the proved code does not compute is one truth."""
        match test:
            case Scalar(value):
                return str(value)
            case Negation(body):
                return f"not {bracketed(self._fact(body, predicate))}"
            case Conjunction(parts) | Disjunction(parts):
                word = " and " if isinstance(test, Conjunction) else " or "
                return word.join(bracketed(self._fact(part, predicate)) for part in parts)
            case Choice(choice, then, otherwise):
                sides = [bracketed(self._fact(part, predicate)) for part in (choice, then, otherwise)]
                return f"({sides[0]} and {sides[1]}) or (not {sides[0]} and {sides[2]})"
        if not self._computed(test, predicate):
            return self._measured(test, "bool", predicate)
        match test:
            case Comparison(op, left, right):
                return self._comparison(op, left, right, predicate)
            case OneOf(item, options) | Within(item, List(options)):
                return " or ".join(self._comparison("==", item, option, predicate) for option in options)
            case _:
                raise ValueError(f"a test that Nagini computes was required; got {cel.render(test)}")

    def _comparison(self, op: str, left: Node, right: Node, predicate: Predicate) -> str:
        if isinstance(left, Scalar) and not isinstance(right, Scalar):
            op, left, right = facts.MIRRORED[op], right, left
        kind = self._compared(left, right, predicate)
        if kind == "bool":
            one = self._fact(left, predicate)
            if isinstance(right, Scalar):
                return one if right.value == (op == "==") else f"not {bracketed(one)}"
            return f"{bracketed(one)} {op} {bracketed(self._fact(right, predicate))}"
        one, other = (self._value(side, kind, predicate) for side in (left, right))
        return f"{one} {op} {other}"

    def _value(self, node: Node, kind: Type, predicate: Predicate) -> str:
        """A value as an expression over parameters: sums and differences of whole numbers are computed."""
        match node:
            case Scalar(value):
                return repr(value)
            case Function("timestamp" | "duration", (Scalar(str()),)):
                return str(loops.nanoseconds(node))
            case Arithmetic("+" | "-" as op, left, right) if kind == "int" and self._whole(node, predicate):
                one, other = (self._value(side, kind, predicate) for side in (left, right))
                inner = isinstance(right, Arithmetic) or other.startswith("-")
                return f"{one} {op} {f'({other})' if inner else other}"
            case _:
                return self._measured(node, kind, predicate)

    def _whole(self, node: Arithmetic, predicate: Predicate) -> bool:
        """Whether both sides are whole numbers for certain."""
        return {self._kind(side, predicate) for side in (node.left, node.right)} == {"int"}

    def _measured(self, node: Node, kind: Type, predicate: Predicate) -> str:
        """The parameter of a field's value, of how many items it holds, or of what any other node comes to."""
        path = node.of if isinstance(node, Size) else node
        measure: Literal["value", "count"] = "count" if isinstance(node, Size) else "value"
        loose = kind == "int" and self._kind(node, predicate) == "any"
        if isinstance(path, Path) and len(path.names) == 2 and IDENTIFIER.fullmatch(path.names[1]):
            owner, field = self._owner(path, predicate), path.names[1]
            name = field if owner in ("state", self.tool.name) else f"{owner}_{field}"
            name = f"count_{name}" if measure == "count" else name
            about = ": ".join((f"{measure} of {owner}.{field}", *filter(None, [self.said.get((owner, field))])))
            filled = {"field": f"{owner}.{field}", "measure": measure, "loose": loose}
            filled |= self._declared(node, predicate, self.schemas.get(owner, {}).get(field, {}))
            return self._parameter((owner, field, measure, kind), name, kind, about, **filled)
        owners = [self._owner(path, predicate) for path in facts.paths(node)]
        tool = next((owner for owner in owners if owner != "state"), "")
        unit = " in nanoseconds" if self._kind(node, predicate) in ("timestamp", "duration") else ""
        filled = {"term": node, "tool": tool, "measure": measure, "loose": loose} | self._declared(node, predicate)
        return self._parameter((tool, node, kind), named(node), kind, f"{cel.render(node)}{unit}", **filled)

    def _declared(self, node: Node, predicate: Predicate, schema: Mapping[str, object] = MappingProxyType({})) -> dict:
        """The values that are declared of a node, and the bounds of whole numbers."""
        bounds = [schema.get(key) for key in ("minimum", "maximum")]
        values = self._type(node, predicate).values if not isinstance(node, Size) else ()
        return {
            "values": tuple(v for v in values if isinstance(v, str)),
            "within": tuple(v if type(v) is int and not isinstance(node, Size) else None for v in bounds),
        }

    def _owner(self, path: Path, predicate: Predicate) -> str | None:
        """The state, or the one tool whose argument a path is at a call of this tool; None where that is not known."""
        if path.names[0] == "state":
            return "state"
        if not predicate.tools or self.tool.name in predicate.tools:
            return self.tool.name
        return predicate.tools[0] if len(predicate.tools) == 1 else None

    def _parameter(self, key: object, name: str, kind: Type, about: str, **filled: object) -> str:
        if key not in self.parameters:
            taken = {p.name for p in self.parameters.values()} | RESERVED
            free = next(n for n in (name, *(f"{name}_{i}" for i in range(2, 1000))) if n not in taken)
            self.parameters[key] = Parameter(free, kind, about, **filled)
        return self.parameters[key].name


def _stored(node: Node) -> bool:
    """Whether a node is a value as it is stored somewhere."""
    return isinstance(node, Path | Part)


def function(contract: Contract, expression: str) -> str:
    """The source of a function that says whether the expression holds."""
    return f"{contract.signature}\n    return ({expression}, '')\n"


def assemble(guard: str, required: Contract) -> str:
    """The guard's function with the contract put in, and the loops that fill its parameters: what Nagini is asked to
    prove.

    Raises:
        UnsafeSource: the guard is not the one function that was asked for, or brings a contract of its own.
    """
    return stated(guard, required) + "".join(f"\n\n{one}" for one in _lists(required))


def stated(guard: str, required: Contract) -> str:
    """The guard's function alone with the contract put in, over the values that loops find; raises as `assemble`.

    What is searched `in` a tuple is compared with each of its constants: of texts Nagini compares the identities.
    """
    function = _Equalities().visit(_function(guard))
    if function.name != required.function or own_contract(function):
        got = f"{function.name} with {own_contract(function) or 'none'}"
        raise VacuousContract(f"{required.function} without contract statements was required; got {got}")
    said = sandbox.parse("\n".join(required.lines())).body
    function.body = [*said, *(function.body[1:] if ast.get_docstring(function) is not None else function.body)]
    return f"{HEADER}\n\n{sandbox.text(function)}"


class _Equalities(ast.NodeTransformer):
    """What is searched in a tuple, as equalities."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`a in (b, c)` as `a == b or a == c`."""
        match node:
            case ast.Compare(left, [ast.In() | ast.NotIn() as op], [ast.Tuple([_, *_] as options)]):
                found: list[ast.expr] = [ast.Compare(left, [ast.Eq()], [one]) for one in options]
                either = ast.BoolOp(ast.Or(), found) if len(found) > 1 else found[0]
                return either if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), either)
        return node


def _lists(required: Contract) -> tuple[str, ...]:
    """The functions that take lists: definitions and loops, and last the one that calls the guard with what they find.

    That one states the contract in the definitions, so that what is proved of the guard is proved of the lists.
    """
    by_name = {p.name: p.loop for p in required.looped}
    if not by_name:
        return ()
    found = tuple(by_name.values())
    meant = {name: ast.parse(loop.meant, mode="eval").body for name, loop in by_name.items()}
    inputs = dict.fromkeys(one.declared for loop in found for one in loop.inputs)
    plain = [p for p in required.parameters if p.loop is None]
    header = ", ".join((*(f"{p.name}: {p.type}" for p in plain), *inputs))
    needed = [f"Requires({p.name} >= 0)" for p in plain if p.measure == "count"]
    needed += dict.fromkeys(f"Requires({one})" for loop in found for one in loop.requires)
    said = [line for line in required.lines() if not line.startswith("Requires(")]
    filled = [f"{p.loop.function}({p.loop.arguments})" if p.loop else p.name for p in required.parameters]
    lines = [
        f"def {sandbox.GENERATED}guard({header}) -> Tuple[bool, str]:",
        *(f"    {line}" for line in needed),
        *(f"    {ast.unparse(sandbox.put(ast.parse(line), meant))}" for line in said),
        f"    return {required.function}({', '.join(filled)})",
        "",
    ]
    return (*dict.fromkeys(source for loop in found for source in loop.sources), "\n".join(lines))


def probe(assembled: str) -> str:
    """The guard's function with `Refute(False)` after its contract: it must pass, else nothing is reachable.

    The functions for lists are left out: what they require, lists of equal lengths or with an item, some lists have.
    """
    function = _function(sandbox.text(sandbox.guard(sandbox.parse(assembled))))
    after = max(i for i, n in enumerate(function.body) if sandbox.called(n) in ("Requires", "Ensures")) + 1
    function.name += "__probe"
    function.body[after:after] = ast.parse("Refute(False)").body
    return f"{HEADER}\n\n{ast.unparse(ast.fix_missing_locations(function))}\n"


def own_contract(function: ast.FunctionDef) -> list[str]:
    """The contract words that a function's source uses."""
    words = REFUSED | {"Requires", "Ensures", "Refute", "Invariant", "Decreases", "Pure"}
    return sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name)} & words)


def _function(source: str) -> ast.FunctionDef:
    functions = [n for n in sandbox.parse(source).body if isinstance(n, ast.FunctionDef)]
    if len(functions) != 1:
        raise VacuousContract(f"exactly one function was required; got {[n.name for n in functions]}")
    return functions[0]


def bracketed(expression: str) -> str:
    """The expression in brackets, unless it is a name."""
    return expression if re.fullmatch(r"\w+", expression) else f"({expression})"


def _alternatives(formula: Formula, sign: bool = True) -> list[Formula]:
    """The formula, or its opposite, as parts of which one must hold."""
    match formula, sign:
        case f.Not(body), _:
            return _alternatives(body, not sign)
        case (f.Or(left, right), True) | (f.And(left, right), False):
            return _alternatives(left, sign) + _alternatives(right, sign)
        case f.Or(left, right), False:
            return [f.And(f.Not(left), f.Not(right))]
    return [formula if sign else f.Not(formula)]


def over(formula: Formula) -> str:
    """Which steps a formula that looks back speaks of, in words."""
    if isinstance(formula, f.Recently) and not f.windows(formula.body):
        return f"over the steps of the last {times.written(formula.within)}"
    found = dict.fromkeys(times.written(window.within) for window in f.windows(formula))
    return "over the steps so far" + (f", and those of the last {' and of the last '.join(found)}" if found else "")


def slug(formula: Formula) -> str:
    """A name for a formula, such as `once_confirmed`."""
    if (count := f.counted(formula)) is not None:
        return f"at_least_{count[0]}_{slug(count[1])}"[:60]
    match formula:
        case f.Recently(body, often, within):
            least = "once" if often == 1 else f"at_least_{often}"
            return f"{least}_within_{times.written(within)}_{slug(body)}"[:60]
        case f.Atom():
            return formula.predicate
        case f.Constant(value):
            return str(value).lower()
        case _:
            words = [type(formula).__name__.lower(), *(slug(child) for child in f.children(formula))]
            return "_".join(words)[:60]
