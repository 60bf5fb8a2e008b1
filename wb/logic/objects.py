"""Formulas about the same object: `ALWAYS (cancel(r) IMPLIES ONCE get(r))`, and monitors of them.

A variable stands for every value that could be named.  A predicate is true of the values that an event of the step
names, so that all values that were never named have the same truths: one of them, `FRESH`, stands for all.  `Slices`
follows a running trace with one memory for each value that differs from `FRESH` (parametric trace slicing, Chen & Rosu
2009).

Two objects are the same if type and value are: 1 and "1" differ, 1.0 is 1, `true` is not 1.  Where an event does not
tell which object it is about, its predicate is unknown of every object that no other event makes true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from itertools import combinations, product
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from wb.logic import formula as F
from wb.logic import semantics
from wb.logic.formula import Formula
from wb.logic.semantics import BEGUN, Past, clock

FRESH = None  # the object that no event has named
Key = tuple[Hashable, ...]  # objects, in the order of their variables


def identity(value: object) -> Hashable | None:
    """What makes an object the same as another; None where the value cannot tell: absent, no scalar, not finite."""
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind is bool:
        return ("bool", value)
    return value if kind is float and math.isfinite(value) else None


class Among(NamedTuple):
    """Of which objects a predicate is true at a step.

    `named` holds the truths of the objects that events name (None for unknown), in the order of the predicate's
    objects; `others` that of all others: None where an event does not tell which objects it names.  `some` is whether
    it is true of some object, which is known of an event whose object is not.  `one` are the only objects of which it
    is true, where it is false of all others; None says nothing.
    """

    named: Mapping[Key, bool | None] = MappingProxyType({})
    others: bool | None = False
    some: bool | None = False
    one: Key | None = None


NOBODY = Among()


def only(key: Key) -> Among:
    """What is true of those objects alone."""
    return Among({key: True}, False, True, key)


Told = Mapping[str, bool | Among | int | None]  # by predicate, and the time; what is left out is unknown


def all_of(truths: Iterable[bool | None]) -> bool | None:
    """Whether all are true: false if one is false, else unknown if one is."""
    found = set(truths)
    return False if False in found else None if None in found else True


def unsafe(formula: Formula) -> tuple[str, ...]:
    """The variables that a rule may not have: those of which it would demand something of objects never named.

    A rule `ALWAYS (close IMPLIES ONCE seen(r))` can never be kept, for some object is never seen.  It is found as in
    safe-range queries: with every atom of the variable false, the formula must be true by the constants alone.
    """
    return tuple([name for name in F.variables(formula) if _reduced(formula, name) != F.TRUE])


def _reduced(formula: Formula, variable: str) -> Formula:
    """The formula where the atoms of a variable are false, as far as constants settle it."""

    def reduce(node: Formula, below: tuple) -> Formula:
        if isinstance(node, F.Atom):
            return F.FALSE if variable in node.objects else node
        match node, below:
            case F.Not(), (F.Constant(value),):
                return F.Constant(not value)
            case (F.And(), (F.Constant(value), other)) | (F.And(), (other, F.Constant(value))):
                return other if value else F.FALSE
            case (F.Or(), (F.Constant(value), other)) | (F.Or(), (other, F.Constant(value))):
                return F.TRUE if value else other
            case F.Implies(), (F.Constant(value), other):
                return other if value else F.TRUE
            case F.Implies(), (_, F.Constant(True)):
                return F.TRUE
            case F.Iff() | F.Xor(), (F.Constant(one), F.Constant(other)):
                return F.Constant((one == other) is isinstance(node, F.Iff))
            case F.Recently(), (F.Constant(value),) if node.times == 1 or not value:
                return below[0]
            case F.Once() | F.Historically() | F.Always() | F.Eventually(), (F.Constant(),):
                return below[0]
            case F.Since() | F.Until() | F.WeakUntil() | F.Release(), (_, F.Constant(True)):
                return F.TRUE
            case F.Since() | F.Until() | F.Release(), (_, F.Constant(False)):
                return F.FALSE
            case F.Previously() | F.Next(), (F.Constant(False),):
                return F.FALSE
            case F.WeakNext() | F.WeakUntil(), (F.Constant(True), *_):
                return F.TRUE
        return F.rebuild(node, below)

    return F.fold(formula, reduce)


def instances(formula: Formula, objects: int) -> tuple[Formula, ...]:
    """The copies of the formula for each choice among that many objects, 1, 2, ..., without variables."""
    names = F.variables(formula)
    chosen = product([str(i + 1) for i in range(objects)], repeat=len(names))
    return tuple([F.instance(formula, dict(zip(names, one, strict=True))) for one in chosen])


def grounded(formula: Formula, objects: int) -> Formula:
    """What the formula says of that many objects, if there are no others."""
    return F.conjunction(instances(formula, objects))


class Machine(Protocol):
    """What follows one choice of objects: `Past`, or anything else that a step takes from one memory to the next."""

    names: tuple[str, ...]
    start: Hashable
    timed: bool  # whether the times of steps matter

    def after(self, memory: Any, letter: tuple, last: float, known: bool) -> tuple[tuple, Any]:
        """What is true at a step with those truths of the names, and what is remembered after it.

        The last two are what is known of its time (`semantics.clock`).
        """

    def still(self, memory: Any, letter: tuple) -> bool:
        """Whether the one thing that is asked is true, and nothing else is remembered, after any such steps."""

    def pruned(self, memory: Any, last: float) -> Any:
        """What is remembered without what is too old to matter after that time."""

    def undated(self, memory: Any) -> bool:
        """Whether the next time that is told says something of what is remembered."""

    def dated(self, memory: Any, now: int) -> Any:
        """What is remembered once that time was told."""


FEW = 16


class _Group:
    """The choices of objects that remember the same."""

    __slots__ = ("keys", "memory")

    def __init__(self, memory: tuple) -> None:
        self.memory, self.keys = memory, set()


class Slices:
    """A formula of past operators with objects, followed along a running trace.

    Its objects are `terms`: variables and arguments of the judged call, in order.  What is remembered is one memory
    for each choice of objects that differs from the others, and choices that remember the same are stepped together.
    Where every atom that names objects names all terms, a step costs by the objects that it names and by the
    different memories, not by steps or objects so far; else by the objects that are remembered.  A `machine` other
    than the formula's own takes the truths of the formula's atoms.

    Raises:
        ValueError: the formula speaks of later steps.
    """

    __slots__ = (
        "_at",
        "_atoms",
        "_calm",
        "_groups",
        "_known",
        "_last",
        "_letters",
        "_most",
        "_others",
        "_machine",
        "_moves",
        "_rest",
        "_same",
        "_silence",
        "_still",
        "_timed",
        "_undated",
        "_usual",
        "formula",
        "predicates",
        "terms",
    )

    def __init__(self, formula: Formula, machine: Machine | None = None) -> None:
        self._machine, self.formula = machine or Past(formula), formula
        atoms = [F.Atom(name) for name in self._machine.names]
        self.predicates = F.predicates(formula)
        self.terms = tuple(dict.fromkeys(term for atom in atoms for term in atom.objects))
        self._atoms = tuple(
            [(atom.predicate, tuple([self.terms.index(t) for t in atom.objects]) or None) for atom in atoms]
        )
        self._same = all(where in (None, tuple(range(len(self.terms)))) for _, where in self._atoms)
        self._others: Key = (FRESH,) * len(self.terms)
        self._usual = tuple([(1 << i, name) for i, name in enumerate(self.predicates)]) if self._same else ()
        self._timed = self._machine.timed
        self._silence = (False,) * len(atoms) if self._usual else None
        self._letters: dict[int, tuple[tuple, tuple]] = {}  # of usual steps, by which predicates are true
        self._begin()

    def _begin(self) -> None:
        self._rest = self._machine.start  # what is remembered of objects that no event has named
        self._at: dict[Key, _Group] = {}
        self._groups: dict[Hashable, _Group] = {}  # by what is remembered
        self._moves: dict[tuple[_Group | None, int], tuple] = {}  # what usual steps do while it is calm
        self._still = False
        self._calm: tuple | None = None  # a letter that changes nothing that is remembered, the formula being true
        self._last, self._known = BEGUN, False  # the last time that is known, and whether it is that of the last step
        self._undated: set[Key] = set()  # choices of which the next time that is told says something
        self._most = FEW  # choices that are remembered before those that need not be are looked for

    def fresh(self) -> Slices:
        """The same formula before the first step; what was compiled and worked out is shared."""
        other = object.__new__(Slices)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._begin()
        return other

    def fork(self) -> Slices:
        """The same formula after the same steps, to be followed further apart from this one."""
        other = self.fresh()
        for name in ("_rest", "_calm", "_last", "_most"):
            setattr(other, name, getattr(self, name))
        copies = {id(group): _Group(group.memory) for group in (*self._at.values(), *self._groups.values())}
        for key, group in self._at.items():
            other._at[key] = copies[id(group)]
            copies[id(group)].keys.add(key)
        other._groups = {memory: copies[id(group)] for memory, group in self._groups.items()}
        other._undated = set(self._undated)
        return other

    def alike(self, other: Slices) -> bool:
        """Whether the other, of the same formula, remembers the same of each choice, so that no step tells the two."""
        if (self._rest, self._last, len(self._at)) != (other._rest, other._last, len(other._at)):
            return False
        theirs = other._at
        same = all(key in theirs and theirs[key].memory == group.memory for key, group in self._at.items())
        return same and self._undated == other._undated

    @property
    def timed(self) -> bool:
        """Whether the times of steps matter."""
        return self._timed

    @property
    def last(self) -> float:
        """The last time that is known, as `clock` has it."""
        return self._last

    def __len__(self) -> int:
        """How many choices of objects are remembered."""
        return len(self._at)

    def peek(self, step: Told, objects: Mapping[str, Hashable | None] | None = None) -> bool | None:
        """The formula's truth if this were the next step, for those objects by their terms and all objects elsewhere.

        Unknown where an object that is given is None, for nobody can tell which is meant.
        """
        bound = objects or {}
        if None in bound.values():
            return None
        base = tuple([bound.get(term, FRESH) for term in self.terms])
        after, now = self._machine.after, clock(step.get(F.TIME), self._last)
        if FRESH not in base:
            return _truth(after(self._memory(base), self._letter(step, base), *now))
        return all_of([_truth(after(memory, letter, *now)) for memory, letter in self._ways(step, base)])

    def ways(self, step: Told) -> list[tuple[Hashable, tuple]]:
        """What is remembered, and the letter of the step, of every choice of objects that differs in these."""
        return self._ways(step, self._others)

    def _ways(self, step: Told, base: Key) -> list[tuple[Hashable, tuple]]:
        quiet, named = self._read(step)
        if self._same and base == self._others:
            known = [self._at.get(key) for key in named]
            groups = [group for group in self._groups.values() if len(group.keys) > known.count(group)]
            found = [(memory, quiet) for memory in (self._rest, *(group.memory for group in groups))]
        else:
            found, named = [], _closed({*named, base}, {*self._at, self._others}, base)
        return found + [(self._memory(key), self._letter(step, key)) for key in named]

    def step(self, step: Told) -> bool | None:
        """Read the next step, and give the formula's truth there, for all objects."""
        key, which = None, 0
        for bit, predicate in self._usual:
            truth = step.get(predicate)
            if truth is NOBODY:
                continue
            one = truth.one if type(truth) is Among else None
            if one is None or (key is not None and key != one):
                return self._step(step)
            key, which = one, which | bit
        if key is None:
            return True if self._still and not self._timed else self._step(step)
        group = self._at.get(key)
        move = self._moves.get((group, which))
        if move is None:
            return self._moved(step, key, which, group)
        truth, then = move
        if then is not group:
            if group is not None:
                group.keys.discard(key)
            if then is None:
                del self._at[key]
            else:
                then.keys.add(key)
                self._at[key] = then
        return truth

    def _moved(self, step: Told, key: Key, which: int, group: _Group | None) -> bool | None:
        """The same for a usual step, whose predicates `which` name the choice `key` of that group, and no other."""
        if which not in self._letters:
            self._letters[which] = self._read(step)[0], self._letter(step, key)
        quiet, letter = self._letters[which]
        if quiet != self._calm:
            return self._step(step)
        if self._timed:
            self._last, self._known = clock(step.get(F.TIME), self._last)
            if self._known and self._undated:
                self._date(quiet)
        before = self._memory(key)
        (truth,), memory = self._machine.after(before, letter, self._last, self._known)
        if memory != before:
            self._put(key, memory, quiet)
        if self._timed:
            if len(self._at) > self._most:
                self._forget()
        elif self._calm is not None:
            if len(self._moves) >= semantics.KEPT:
                self._moves.clear()
            self._moves[group, which] = truth, self._at.get(key)
        return truth

    def _step(self, step: Told) -> bool | None:
        """The same for any step; the usual one names one object, and changes nothing of others."""
        self._last, self._known = clock(step.get(F.TIME), self._last)
        after = partial(self._machine.after, last=self._last, known=self._known)
        quiet, named = self._read(step)
        if self._known and self._timed:
            self._date(quiet)
        if named and not self._same:
            named = _closed(named, {*self._at, self._others}, self._others)
        moved = [(key, after(self._memory(key), self._letter(step, key))) for key in named]
        if quiet == self._calm:
            truth = all_of([_truth(found) for _, found in moved])
        else:
            truth = all_of([_truth(after(memory, letter)) for memory, letter in self._ways(step, self._others)])
            self._settle(quiet, after)
        for key, (_, memory) in moved:
            self._put(key, memory, quiet)
        if len(self._at) > self._most and (self._timed or not self._same):
            self._forget()
        return truth

    def _date(self, quiet: tuple) -> None:
        """Take what was remembered of steps without a time to what it is by the time that is told now."""
        self._rest = self._machine.dated(self._rest, self._last)
        if self._same:
            self._drop(self._rest)
        for key in self._undated:
            if key in self._at:
                self._put(key, self._machine.dated(self._at[key].memory, self._last), quiet)
        self._undated = set()

    def _settle(self, quiet: tuple, after: Callable[[Any, tuple], tuple]) -> None:
        """Take every choice to what it remembers after a step with that letter."""
        still, groups = self._machine.still, self._groups.values()
        _, self._rest = after(self._rest, quiet)
        calm, self._groups = still(self._rest, quiet), {}
        for group in groups:
            if group.keys:
                _, group.memory = after(group.memory, quiet)
                calm = calm and still(group.memory, quiet)
                if self._machine.undated(group.memory):
                    self._undated |= group.keys
                other = self._groups.setdefault(group.memory, group)
                if other is not group:
                    self._groups[group.memory] = self._merged(group, other)
        if self._same:
            self._drop(self._rest)
        self._calm = quiet if calm else None
        self._still = calm and quiet == self._silence  # whether a step in which nothing happens changes nothing
        self._moves.clear()

    def _drop(self, memory: Hashable) -> None:
        """Forget the choices that remember that."""
        group = self._groups.pop(memory, None)
        for key in group.keys if group is not None else ():
            del self._at[key]

    def _put(self, key: Key, memory: Hashable, quiet: tuple) -> None:
        """Remember that of a choice."""
        group = self._at.get(key)
        alone = None
        if group is not None:
            group.keys.discard(key)
            if not group.keys and self._timed:  # of times there are many: most choices are alone in their group
                alone = self._groups.pop(group.memory, None)
        if self._same and memory == self._rest:
            self._at.pop(key, None)
            return
        group = self._groups.get(memory)
        if group is None:
            group = self._groups[memory] = alone or _Group(memory)
            group.memory = memory
            if quiet == self._calm and not self._machine.still(memory, quiet):
                self._calm = None
                self._still = False
                self._moves.clear()
        group.keys.add(key)
        self._at[key] = group
        if self._machine.undated(memory):
            self._undated.add(key)

    def _read(self, step: Told) -> tuple[tuple, Collection[Key]]:
        """The letter of objects that the step does not name, and the choices that it names."""
        quiet, named = [], set()
        for predicate, where in self._atoms:
            truth = step.get(predicate)
            if truth is NOBODY:
                quiet.append(False)
            elif type(truth) is not Among:
                quiet.append(truth if where is None else None)
            elif where is None:
                quiet.append(truth.some)
            else:
                quiet.append(truth.others)
                if truth.named:
                    mine = truth.named if self._same else {self._chosen(key, where) for key in truth.named}
                    named = {*named, *mine}
        return tuple(quiet), named

    def _chosen(self, objects: Key, where: tuple[int, ...]) -> Key:
        """The choice in which an atom is of these objects, and nothing else is chosen."""
        key = list(self._others)
        for i, one in zip(where, objects, strict=True):
            key[i] = one
        return tuple(key)

    def _letter(self, step: Told, key: Key) -> tuple:
        """The truths of the atoms for a choice of objects."""
        letter = []
        for predicate, where in self._atoms:
            truth = step.get(predicate)
            if truth is NOBODY:
                truth = False
            elif type(truth) is not Among:
                truth = truth if where is None else None
            elif where is None:
                truth = truth.some
            else:
                objects = key if self._same else tuple([key[i] for i in where])
                truth = truth.others if FRESH in objects else truth.named.get(objects, truth.others)
            letter.append(truth)
        return tuple(letter)

    def _memory(self, key: Key) -> tuple:
        """What is remembered of a choice: where it was not set apart, that of the largest part of it that was."""
        group = self._at.get(key)
        if group is not None:
            return group.memory
        return self._rest if self._same else self._parts(key)[0]

    def _parts(self, key: Key) -> list[tuple]:
        """What is remembered of the largest parts of a choice that are set apart, it itself left out."""
        chosen = [i for i, one in enumerate(key) if one is not FRESH]
        found: list[tuple[frozenset[int], tuple]] = []
        for size in range(len(chosen) - 1, 0, -1):
            for part in map(frozenset, combinations(chosen, size)):
                group = self._at.get(tuple([one if i in part else FRESH for i, one in enumerate(key)]))
                if group is not None and not any(part < other for other, _ in found):
                    found.append((part, group.memory))
        return [memory for _, memory in found] or [self._rest]

    def _merged(self, one: _Group, other: _Group) -> _Group:
        """One group of two that remember the same."""
        small, large = (one, other) if len(one.keys) < len(other.keys) else (other, one)
        large.keys |= small.keys
        for key in small.keys:
            self._at[key] = large
        return large

    def _forget(self) -> None:
        """Drop what is too old to matter, and the choices that remember what they would without being set apart, those
        of fewest objects last."""
        self._moves.clear()
        pruned, groups, self._groups = self._machine.pruned, self._groups.values(), {}
        self._rest = pruned(self._rest, self._last)
        for group in groups:
            if group.keys:
                group.memory = pruned(group.memory, self._last)
                other = self._groups.setdefault(group.memory, group)
                if other is not group:
                    self._groups[group.memory] = self._merged(group, other)
        if self._same:
            self._drop(self._rest)
            self._most = 2 * len(self._at) + FEW
            return
        for key in sorted(self._at, key=lambda key: key.count(FRESH)):
            group = self._at[key]
            if set(self._parts(key)) == {group.memory}:
                del self._at[key]
                group.keys.discard(key)
        self._most = 2 * len(self._at) + FEW


def _truth(of: tuple[tuple, Any]) -> bool | None:
    """What a machine says of the one thing that is asked."""
    (truth,), _ = of
    return truth


def _joined(one: Key, other: Key) -> Key | None:
    """The choice of both; None where they choose differently."""
    both = []
    for a, b in zip(one, other, strict=True):
        if a is not FRESH and b is not FRESH and a != b:
            return None
        both.append(b if a is FRESH else a)
    return tuple(both)


def _closed(named: Collection[Key], known: Iterable[Key], base: Key) -> set[Key]:
    """All choices that join what is named with one another and with what is known, within a base."""
    found = {key for one in known if (key := _joined(one, base)) is not None}
    fresh: set[Key] = set()
    for name in named:
        joins = {key for one in (*found, *fresh) if (key := _joined(one, name)) is not None}
        fresh |= joins
    return fresh
