"""Lists inside the proof: what sums, counts, all, exists, min, max and `in` of lists come to, by proved loops.

A guard's own code is over numbers, truths and texts.  Where one of these is what a list comes to, its proved source
goes on: for each such part of a test a definition, a pure function of a list from a place on; a loop, whose invariant
is that what it found so far and what the definition says of the rest make what it says of the whole; and a last
function that takes the lists, calls the loops and then the guard, and states the contract in the definitions.  So
nothing of a list is trusted but its *projection*: what the evaluator reads of each item, a number, truth or text.

The loops are over known values.  Where an item, or anything else that they read, is not known, or a list is longer than
the evaluator goes, the evaluator alone says what the test comes to, by Kleene's logic, as for a test without loops.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from wb.guards.sandbox import GENERATED, Argument
from wb.logic import cel, evaluation, facts, times, types
from wb.logic.facts import (
    Arithmetic,
    Choice,
    Comparison,
    Conjunction,
    Disjunction,
    Function,
    List,
    Macro,
    Negation,
    Node,
    OneOf,
    Part,
    Path,
    Scalar,
    Size,
    Variable,
    Within,
)

Type = Literal["int", "bool", "str"]
COMPARED: dict[str, Type] = {  # types of facts, and of the parameters that their values are compared by
    "int": "int",
    "bool": "bool",
    "string": "str",
    "timestamp": "int",
    "duration": "int",
}
_CLASS = {"int": int, "bool": bool, "string": str, "timestamp": times.Timestamp, "duration": times.Duration}
LARGE = 2**40  # the largest number that loops add up: so no sum of the evaluator's leaves its 64 bits
IDENTIFIER = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_LOCALS = frozenset({*keyword.kwlist, "at", "found", "len"})  # what no input may be called
_LOCAL = re.compile(r"part_\d+|\w+_here")  # nor so


class NotLooped(ValueError):
    """What loops do not compute; the message says why."""


@dataclass(frozen=True, slots=True)
class Input:
    """What the evaluator gives loops: a value, or of each item of a list one (`many`), or a record's names (`keys`).

    `kind` is what every value is, one of `COMPARED`: a time is given by its nanoseconds.  `trusted` are truths that the
    evaluator computes, of texts or times for instance.
    """

    name: str
    kind: str
    node: Node
    many: bool
    keys: bool
    trusted: bool

    @property
    def type(self) -> Type:
        """Its type, or that of its items, as a parameter."""
        return COMPARED[self.kind]

    @property
    def declared(self) -> str:
        """The input as a parameter."""
        return _declared(self.name, self.type, self.many)

    @property
    def said(self) -> str:
        """What a person calls it."""
        return f"the names of {cel.render(self.node)}" if self.keys else cel.render(self.node)


@dataclass(frozen=True, slots=True)
class Computed:
    """What fills a parameter: the proved `function` of the inputs, or the evaluator where one of them is not known.

    `meant` is the same as an expression over the definitions, and `sources` the functions that both need, in order.
    `alike` are the inputs that have as many items as another, `filled` those that have an item at least; numbers are
    `added`, and a list has at most `most` items.
    """

    function: str
    inputs: tuple[Input, ...]
    meant: str
    sources: tuple[str, ...]
    alike: tuple[tuple[str, str], ...]
    filled: tuple[str, ...]
    added: bool
    most: int

    @property
    def arguments(self) -> str:
        """The inputs as they are passed on."""
        return ", ".join(one.name for one in self.inputs)

    @property
    def requires(self) -> tuple[str, ...]:
        """What the loops need of their inputs."""
        return _requires(self.alike, self.filled)


def computed(
    name: str, node: Node, kind: Type, schemas: tuple[types.Schemas, types.Schemas], taken: Mapping[str, Input | None]
) -> Computed | None:
    """What fills the parameter of that name with what the node comes to; None where no list has a loop in it.

    `schemas` are those of the state and of the call.  `taken` are the names that have a meaning, and the inputs among
    them: the same input has the same name.
    """
    writer = _Writer(schemas, taken)
    outer = _Frame()
    try:
        found = writer.fact(node, [outer]) if kind == "bool" else writer.number(node, [outer]).text
    except NotLooped:
        return None
    if not writer.sources:
        return None
    (function, listed), sources = writer.last, dict(writer.sources)
    if outer.before != [f"{found.code} = {function}({', '.join(listed)})"]:  # it is more than what one loop gives
        listed = outer.names
        function = f"{GENERATED}value_{name}"
        lines = [
            f"def {function}({', '.join(outer.declared)}) -> {kind}:",
            *(f"    Requires({one})" for one in _requires(outer.alike, outer.filled)),
            f"    Ensures(Result() == ({found.meant}))",
            *(f"    {line}" for line in outer.before),
            f"    return {found.code}",
        ]
        sources[function] = "\n".join(lines) + "\n"
    known = {one.name: one for one in writer.inputs.values()}
    inputs, written = tuple(known[one] for one in listed), tuple(sources.values())
    needed = tuple(outer.alike), tuple(outer.filled)
    return Computed(function, inputs, found.meant, written, *needed, writer.added, facts.items(node))


def program(sources: Sequence[str], function: str) -> Callable[..., Argument]:
    """The loops as they run: their statements without what is said of them to the prover."""
    kept = []
    for node in (one for source in sources for one in ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            bare = [ast.arg(one.arg) for one in node.args.args]
            node.args, node.returns = ast.arguments([], bare, None, [], [], None, []), None
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.While):
                    inner.body = [one for one in inner.body if not isinstance(one, ast.Expr)]
            kept.append(node)
    space: dict[str, object] = {"__builtins__": {"len": len}}
    exec(compile(ast.fix_missing_locations(ast.Module(kept, [])), "<loops>", "exec"), space)  # text of this module
    return space[function]


Read = Callable[[object, object], Argument | None]


def reading(of: Computed, otherwise: Read, declared: evaluation.Enumerations) -> Read:
    """The function of `state` and `call` that gives what the loops find; `otherwise` where they are not asked."""
    run = program(of.sources, of.function)
    reads = tuple([given(one, of, declared) for one in of.inputs])
    at = {one.name: i for i, one in enumerate(of.inputs)}
    alike = tuple([(at[one], at[other]) for one, other in of.alike])
    filled = tuple([at[one] for one in of.filled])

    def read(state: object, call: object) -> Argument | None:
        values = []
        for each in reads:
            value = each(state, call)
            if value is None:
                return otherwise(state, call)
            values.append(value)
        for one, other in alike:
            if len(values[one]) != len(values[other]):
                return otherwise(state, call)
        for one in filled:
            if not values[one]:
                return otherwise(state, call)
        return run(*values)

    return read


def given(of: Input, within: Computed, declared: evaluation.Enumerations) -> Callable[[object, object], object]:
    """The function of `state` and `call` that gives an input; None where loops are not to be asked."""
    read, wanted, keys, most = evaluation.reading(of.node, declared), _CLASS[of.kind], of.keys, within.most
    largest = LARGE if of.kind == "int" and within.added else None  # the largest number that it may be, if any
    timed = of.kind in ("timestamp", "duration")

    def one(state: object, call: object) -> Argument | None:
        value = read(state, call)
        if type(value) is not wanted or (largest is not None and not -largest <= value <= largest):
            return None
        return value.nanoseconds if timed else value

    def items(state: object, call: object) -> Sequence | None:
        value = read(state, call)
        if keys:
            value = tuple(value) if type(value) is dict and len(value) <= most else None
        if (type(value) is not list and type(value) is not tuple) or len(value) > most:
            return None
        for one in value:
            if type(one) is not wanted or (largest is not None and not -largest <= one <= largest):
                return None
        return [one.nanoseconds for one in value] if timed else value

    return items if of.many else one


# ---- writing loops ------------------------------------------------------------------------------


class _Text(NamedTuple):
    """An expression as the loop's code has it, and as the definition does."""

    code: str
    meant: str


class _Number(NamedTuple):
    """A number's or text's expression, and the largest that a number can be."""

    text: _Text
    largest: int


@dataclass
class _Frame:
    """A function in the making: the list that it goes through, what that is called, what it reads, what it does before
    its expression."""

    base: Node | None = None
    variable: str = ""
    own: dict[str, Type] = field(default_factory=dict)  # what it goes through item by item
    others: dict[str, tuple[Type, bool]] = field(default_factory=dict)  # and what it reads beside: whole, if many
    here: dict[str, str] = field(default_factory=dict)  # what its inner functions call an item of its own
    before: list[str] = field(default_factory=list)
    alike: dict[tuple[str, str], None] = field(default_factory=dict)
    filled: dict[str, None] = field(default_factory=dict)

    def use(self, name: str, kind: Type, many: bool) -> None:
        """Read something beside its own."""
        self.others[name] = kind, many

    @property
    def names(self) -> tuple[str, ...]:
        """Its parameters."""
        return (*self.own, *[name for name in self.others if name not in self.own])

    @property
    def declared(self) -> tuple[str, ...]:
        """Its parameters with their types."""
        known = self.others | {name: (kind, True) for name, kind in self.own.items()}
        return tuple(_declared(name, *known[name]) for name in self.names)


class _Writer:
    """The functions of one test."""

    def __init__(self, schemas: tuple[types.Schemas, types.Schemas], taken: Mapping[str, Input | None]) -> None:
        self.schemas, self.taken = schemas, taken
        self.inputs: dict[object, Input] = {}
        self.sources: dict[str, str] = {}
        self.last: tuple[str, tuple[str, ...]] = "", ()
        self.added = False

    # -- facts

    def fact(self, node: Node, frames: list[_Frame]) -> _Text:
        """A truth as an expression."""
        if self._opaque(node, frames):
            return self._truth(node, frames)
        match node:
            case Scalar(bool() as value):
                return _Text(str(value), str(value))
            case Negation(body):
                return _joined("not {}", self.fact(body, frames))
            case Conjunction(parts) | Disjunction(parts):
                word = " and " if isinstance(node, Conjunction) else " or "
                return _joined(word.join("{}" for _ in parts), *(self.fact(part, frames) for part in parts))
            case Choice(test, then, otherwise):
                sides = [self.fact(part, frames) for part in (test, then, test, otherwise)]
                return _joined("({} and {}) or (not {} and {})", *sides)
            case Comparison(op, left, right):
                return self._comparison(op, left, right, frames)
            case OneOf(item, options) | Within(item, List(options)):
                equal = [self._comparison("==", item, option, frames) for option in options]
                return _joined(" or ".join("{}" for _ in equal), *equal)
            case Within() | Macro("all" | "exists" | "exists_one"):
                return self._tried(lambda: self._gone_through(node, frames), lambda: self._truth(node, frames), frames)
            case _:
                return self._truth(node, frames)

    def _gone_through(self, node: Within | Macro, frames: list[_Frame]) -> _Text:
        match node:
            case Within(item, of):
                return self._within(item, of, frames)
            case Macro("exists_one", over, variable, body):
                return _joined("{} == 1", self._count(Macro("filter", over, variable, body), frames))
            case Macro(name, over, variable, body):
                return self._decided(name, over, variable, body, frames)

    def _tried[Found](self, looped: Callable[[], Found], otherwise: Callable[[], Found], frames: list[_Frame]) -> Found:
        """What a loop gives; where there can be none, what the evaluator gives, and nothing of the loop is left."""
        before = [{name: copy.copy(value) for name, value in vars(one).items()} for one in (self, *frames)]
        try:
            return looped()
        except NotLooped:
            for one, kept in zip((self, *frames), before, strict=True):
                vars(one).update(kept)
            return otherwise()

    def _opaque(self, node: Node, frames: list[_Frame]) -> bool:
        """Whether loops compute nothing of a fact, so that it is one truth to them."""
        match node:
            case Scalar(bool()) | Path() | Part() | Variable() | Macro("all" | "exists" | "exists_one"):
                return False
            case Negation() | Conjunction() | Disjunction() | Choice():
                return all(self._opaque(part, frames) for part in facts.children(node))
            case Comparison(op, left, right):
                kind = self._compared(left, right, frames)
                return kind is None or (COMPARED[kind] != "int" and op not in ("==", "!="))
            case OneOf(item, options) | Within(item, List(options)):
                return not options or not all(self._compared(item, one, frames) for one in options)
            case Within():
                return False
        return True

    def _truth(self, node: Node, frames: list[_Frame]) -> _Text:
        kind = self._type(node, frames).name
        if kind not in ("bool", "any"):
            raise NotLooped(f"a truth was required; got a {kind}")
        return self._leaf(node, "bool", frames, trusted=not isinstance(node, Path | Part | Variable))

    def _comparison(self, op: str, left: Node, right: Node, frames: list[_Frame]) -> _Text:
        kind = self._compared(left, right, frames)  # no other comparison is asked for: `_opaque`
        if kind == "bool":
            return _joined(f"{{}} {op} {{}}", self.fact(left, frames), self.fact(right, frames))
        one, other = (self._value(side, kind, frames).text for side in (left, right))
        return _joined(f"{{}} {op} {{}}", one, other)

    def _compared(self, left: Node, right: Node, frames: list[_Frame]) -> str | None:
        """What two values are that loops compare, of `COMPARED`; None where loops cannot."""
        return alike(left, right, lambda side: self._type(side, frames).name)

    # -- numbers

    def number(self, node: Node, frames: list[_Frame]) -> _Number:
        """A whole number as an expression."""
        return self._tried(
            lambda: self._counted(node, frames), lambda: _Number(self._leaf(node, "int", frames), LARGE), frames
        )

    def _counted(self, node: Node, frames: list[_Frame]) -> _Number:
        match node:
            case Size(Macro("filter") as of):
                return _Number(self._count(of, frames), facts.MAX_ITEMS)
            case Function("sum", (of,)):
                return self._total(of, frames)
            case Function("min" | "max" as name, (of,)):
                return self._extreme(name, of, frames)
            case _:
                return self._value(node, "int", frames)

    def _value(self, node: Node, kind: str, frames: list[_Frame]) -> _Number:
        """A value to compare: numbers are added, and what lists come to is a number too."""
        match node:
            case Scalar(value):
                size = abs(value) if kind == "int" else 0
                return _Number(_Text(repr(value), repr(value)), size)
            case Function("timestamp" | "duration", (Scalar(str()),)):
                value = nanoseconds(node)
                return _Number(_Text(str(value), str(value)), abs(value))
            case Arithmetic("+" | "-" as op, left, right) if kind == "int" and self._whole(left, right, frames):
                self.added = True
                one, other = self._value(left, kind, frames), self._value(right, kind, frames)
                return _bounded(_joined(f"{{}} {op} {{}}", one.text, other.text), one.largest + other.largest)
            case Size(Macro("filter")) | Function("sum" | "min" | "max") if kind == "int":
                return self.number(node, frames)
            case _:
                return _Number(self._leaf(node, kind, frames), LARGE)

    def _whole(self, left: Node, right: Node, frames: list[_Frame]) -> bool:
        """Whether both sides are whole numbers for certain."""
        return {self._type(side, frames).name for side in (left, right)} == {"int"}

    # -- lists

    def _decided(self, name: str, over: Node, variable: Variable, body: Node, frames: list[_Frame]) -> _Text:
        frame, kept = self._through(over, frames)
        frame.variable = variable.name
        said = self.fact(body, [*frames, frame])
        if name == "all":
            said = _joined("not {} or {}", kept, said) if kept else said
            lines = (f"if not {_bracketed(said.code)}:", "    found = False")
            step = f"{_bracketed(said.meant)} and REST"
            return self._loop("every", "bool", "True", lines, step, "found and REST", frames, frame)
        return self._some(_joined("{} and {}", kept, said) if kept else said, frames, frame)

    def _some(self, said: _Text, frames: list[_Frame], frame: _Frame) -> _Text:
        lines, step = (f"if {said.code}:", "    found = True"), f"{_bracketed(said.meant)} or REST"
        return self._loop("some", "bool", "False", lines, step, "found or REST", frames, frame)

    def _within(self, item: Node, of: Node, frames: list[_Frame]) -> _Text:
        """Whether a list has an item equal to this one, or a record such a name."""
        if facts.free(of):
            raise NotLooped("a list that is the same for all items was required")
        frame, found = _Frame(of), self._type(of, frames)
        if found.name == "record":
            listed = "string"
        elif found.name == "list":
            listed = types.of(Macro("map", of, Variable("item"), Variable("item")), *self.schemas).item.name
        else:
            raise NotLooped("a list or a record was required")
        known = {self._type(item, frames).name, listed} - {"any"}
        wanted = known.pop() if len(known) == 1 else ""
        if wanted not in COMPARED:
            raise NotLooped("an item of the type of the list's was required")
        one = self._input(of, wanted, many=True, keys=found.name == "record")
        frame.own[one.name] = one.type
        inside = [*frames, frame]
        value = self._truth(item, inside) if wanted == "bool" else self._value(item, wanted, inside).text
        return self._some(_joined("{} == {}", _Text(f"{one.name}[at]", f"{one.name}[at]"), value), frames, frame)

    def _count(self, of: Macro, frames: list[_Frame]) -> _Text:
        frame, kept = self._through(of, frames)
        lines = (f"if {kept.code}:", "    found = found + 1")
        step = f"(1 if {kept.meant} else 0) + REST"
        return self._loop("count", "int", "0", lines, step, "found + REST", frames, frame)

    def _total(self, of: Node, frames: list[_Frame]) -> _Number:
        frame, kept, value = self._items(of, frames)
        self.added = True
        found = _bounded(value.text, facts.MAX_ITEMS * value.largest)
        line, step = f"found = found + {value.text.code}", f"{value.text.meant} + REST"
        lines = (line,)
        if kept:
            lines = (f"if {kept.code}:", f"    {line}")
            step = f"({value.text.meant} if {kept.meant} else 0) + REST"
        return found._replace(text=self._loop("total", "int", "0", lines, step, "found + REST", frames, frame))

    def _extreme(self, name: str, of: Node, frames: list[_Frame]) -> _Number:
        frame, kept, value = self._items(of, frames)
        if kept or frame.before or not frame.own:
            raise NotLooped(f"{name} of all items of a list was required")
        sign, kind = ("<", "least") if name == "min" else (">", "most")
        said = value.text.code
        frame.filled[next(iter(frame.own))] = None
        lines = (f"if {said} {sign} found:", f"    found = {said}")
        step = f"{said} if {said} {sign} REST else REST"
        return value._replace(text=self._loop(kind, "int", said, lines, step, sign, frames, frame))

    def _items(self, of: Node, frames: list[_Frame]) -> tuple[_Frame, _Text | None, _Number]:
        """A list's numbers: what is gone through, which items count, the number of an item."""
        variable = body = Variable("item")
        if isinstance(of, Macro) and of.name == "map":
            of, variable, body = of.over, of.variable, of.body
        frame, kept = self._through(of, frames)
        frame.variable = variable.name
        inside = [*frames, frame]
        if self._type(body, inside).name not in ("int", "any"):
            raise NotLooped("whole numbers were required")
        value = self._value(body, "int", inside)
        return frame, kept, value

    def _through(self, over: Node, frames: list[_Frame]) -> tuple[_Frame, _Text | None]:
        """What goes through a list, and which of its items are kept; None where all are."""
        kept = []
        while isinstance(over, Macro) and over.name == "filter":
            kept.append((over.variable.name, over.body))
            over = over.over
        if facts.free(over):
            raise NotLooped("a list that is the same for all items was required")
        if isinstance(over, Macro | List) or self._type(over, frames).name not in ("list", "any"):
            raise NotLooped("a list that is stored was required")
        frame, said = _Frame(over), []
        for name, body in reversed(kept):
            frame.variable = name
            said.append(self.fact(body, [*frames, frame]))
        if len(said) < 2:
            return frame, said[0] if said else None
        return frame, _joined(" and ".join("{}" for _ in said), *said)

    def _loop(
        self,
        kind: str,
        gives: Type,
        start: str,
        lines: Sequence[str],
        step: str,
        whole: str,
        frames: list[_Frame],
        frame: _Frame,
    ) -> _Text:
        """The definition and the loop, as functions of what they read; what gives their value to the frame around."""
        if not frame.own:
            raise NotLooped("something of each item was required")
        first, *rest = frame.own
        frame.alike |= {(one, first): None for one in rest}
        extreme = kind in ("least", "most")
        needed = _requires(frame.alike, frame.filled)
        listed, header = ", ".join(frame.names), ", ".join(frame.declared)

        def text(name: str) -> str:
            meant = f"{name}_of({listed}, "
            after = f"{meant}at)"
            if extreme:
                end, until = f"at + 1 == len({first})", "<"
                left = f"found if at == len({first}) or found {whole} {after} else {after}"
            else:
                end, until, left = f"at == len({first})", "<=", whole.replace("REST", after)
            return "\n".join(
                [
                    "@Pure",
                    f"def {name}_of({header}, at: int) -> {gives}:",
                    *(f"    Requires({one})" for one in needed),
                    f"    Requires(0 <= at and at {until} len({first}))",
                    f"    Decreases(len({first}) - at)",
                    f"    if {end}:",
                    f"        return {start}",
                    f"    return {step.replace('REST', f'{meant}at + 1)')}",
                    "",
                    "",
                    f"def {name}({header}) -> {gives}:",
                    *(f"    Requires({one})" for one in needed),
                    f"    Ensures(Result() == {meant}0))",
                    *(["    Ensures(Result() >= 0)"] if kind == "count" else []),
                    "    at = 0",
                    f"    found = {start}",
                    *(["    at = 1"] if extreme else []),
                    f"    while at < len({first}):",
                    f"        Invariant({int(extreme)} <= at and at <= len({first}))",
                    f"        Invariant(({left}) == {meant}0))",
                    *(["        Invariant(found >= 0)"] if kind == "count" else []),
                    *(f"        {line}" for line in (*frame.before, *lines)),
                    "        at = at + 1",
                    "    return found",
                    "",
                ]
            )

        name = f"{GENERATED}{kind}_{hashlib.sha256(text('').encode()).hexdigest()[:6]}"
        self.sources[name] = text(name)
        self.last = name, frame.names
        around = frames[-1]
        for one, kind_ in frame.own.items():
            for outer in frames:
                outer.use(one, kind_, True)
        for outer in frames:
            outer.alike |= frame.alike
            outer.filled |= frame.filled
        passed = ", ".join(around.here.get(one, one) for one in frame.names)
        local = f"part_{len(around.before) + 1}"
        around.before.append(f"{local} = {name}({passed})")
        return _Text(local, f"{name}_of({passed}, 0)")

    # -- what is read

    def _leaf(self, node: Node, kind: str, frames: list[_Frame], *, trusted: bool = False) -> _Text:
        """A value that the evaluator reads: one, or one of each item of the one list that it is of."""
        at = self._of(node, frames)
        if at is None:
            one = self._input(node, kind, trusted=trusted)
            for frame in frames:
                frame.use(one.name, one.type, False)
            return _Text(one.name, one.name)
        frame = frames[at]
        whole = node == Variable(frame.variable)
        one = self._input(frame.base if whole else self._map(node, frame), kind, many=True, trusted=trusted)
        frame.own[one.name] = one.type
        item = f"{one.name}[at]"
        if at == len(frames) - 1:
            return _Text(item, item)
        called = f"{one.name}_here"
        frame.here[called] = item
        for inner in frames[at + 1 :]:
            inner.use(called, one.type, False)
        return _Text(called, called)

    def _map(self, node: Node, frame: _Frame) -> Macro:
        return Macro("map", frame.base, Variable(frame.variable), node)

    def _owner(self, name: str, frames: list[_Frame]) -> int:
        for at in reversed(range(len(frames))):
            if frames[at].variable == name:
                return at
        raise NotLooped(f"a variable of a list was required; got {name}")

    def _of(self, node: Node, frames: list[_Frame]) -> int | None:
        """The frame of the one list that a node is of; None where it is of none."""
        owners = {self._owner(name, frames) for name in facts.free(node)}
        if len(owners) > 1:
            raise NotLooped(f"what is of one list was required; got {cel.render(node)}")
        return owners.pop() if owners else None

    def _type(self, node: Node, frames: list[_Frame]) -> types.Type:
        """What the declared types say of a node's value."""
        at = self._of(node, frames)
        if at is None:
            return types.of(node, *self.schemas)
        return types.of(self._map(node, frames[at]), *self.schemas).item or types.ANY

    def _input(self, node: Node, kind: str, *, many: bool = False, keys: bool = False, trusted: bool = False) -> Input:
        key = node, kind, many, keys
        if key not in self.inputs:
            known = {(i.node, i.kind, i.many, i.keys): i for i in self.taken.values() if i is not None}
            self.inputs[key] = known.get(key) or Input(self._free(node, keys), kind, node, many, keys, trusted)
        return self.inputs[key]

    def _free(self, node: Node, keys: bool) -> str:
        taken = {*self.taken, *(one.name for one in self.inputs.values()), *_LOCALS}
        name = f"names_of_{named(node)}" if keys else named(node)
        names = (name, *(f"{name}_{i}" for i in range(2, 1000)))
        return next(n for n in names if n not in taken and not _LOCAL.fullmatch(n))


def alike(left: Node, right: Node, kind: Callable[[Node], str]) -> str | None:
    """What two values are that proved code compares, of `COMPARED`, by the types of them; None where it cannot."""
    known = {kind(left), kind(right)} - {"any"}
    compared = known.pop() if len(known) == 1 and Scalar(None) not in (left, right) else ""
    return compared if compared in COMPARED else None


def nanoseconds(node: Function) -> int:
    """A time or a duration that is written in a test."""
    (text,) = node.arguments
    return (times.timestamp if node.name == "timestamp" else times.duration)(text.value).nanoseconds


def named(node: Node) -> str:
    """A name for what a node comes to, such as `sum_payments_amount`."""
    words = re.findall(r"[a-zA-Z0-9_]+", cel.render(node))
    bound = {n.variable.name for n in _nodes(node) if isinstance(n, Macro)}
    kept = [word for word in words if word not in {*facts.ROOTS, *bound, "map", "timestamp", "string"}]
    name = "_".join(dict.fromkeys(kept))[:48].strip("_")
    return name if IDENTIFIER.fullmatch(name) else f"value_{name}".strip("_")


def _nodes(node: Node) -> tuple[Node, ...]:
    return (node, *(inner for child in facts.children(node) for inner in _nodes(child)))


def _declared(name: str, kind: Type, many: bool) -> str:
    return f"{name}: Tuple[{kind}, ...]" if many else f"{name}: {kind}"


def _requires(alike: Sequence[tuple[str, str]] | Mapping, filled: Sequence[str] | Mapping) -> tuple[str, ...]:
    return (*(f"len({one}) == len({other})" for one, other in alike), *(f"len({one}) > 0" for one in filled))


def _joined(text: str, *parts: _Text) -> _Text:
    """Expressions joined by a text, each in brackets where it is no name or item."""
    return _Text(*(text.format(*(_bracketed(part[side]) for part in parts)) for side in (0, 1)))


def _bracketed(expression: str) -> str:
    return expression if re.fullmatch(r"\w+(\[at\])?|'[^'\\]*'", expression) else f"({expression})"


def _bounded(text: _Text, largest: int) -> _Number:
    if largest >= 2**63:
        raise NotLooped("numbers whose sums have 64 bits were required")
    return _Number(text, largest)
