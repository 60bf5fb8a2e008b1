"""Where a value of a call comes from: the request, a directory, a record that the user named, or a tool's text.

A state field asks it of an argument, `"from": {"origin": "call.payee", "of": ["user"], "directory": {"get_contacts":
"[].email"}}` (`wb.domain.tools`), and is the strongest of `tools.ORIGINS` that holds when the call is asked for:

    user       it stands in what a speaker of `of` said, as whole words between blanks and letter for letter (signs
               around them apart); a number in digits, as `wb.domain.arguments` reads it
    directory  it is what stands at that path in a result of that tool, at a place that only trusted people write, or
               stands there as words in a text, where `written` names the place
    record     it is a whole text or number inside an object or list which a call gave that was allowed and all of whose
               arguments (at least one) were themselves from the user, a directory or such a record
    text       its words stand, one after the other, in anything else a tool or a page gave, or in its names and errors
    none       nobody told it: the agent made it up
    absent     the call gives no value: none, null, an empty text or an empty list

Of a list it is the weakest of its elements.  A claim is made only where all is held that could make a stronger one:
what is lost, too much to keep (`KEPT` words, `LONGEST` characters of one value), not told yet or not told at all makes
the field unknown.  Once full, nothing more is taken in, so a flood of results cannot drive out what the user said.

What the agent gave to a tool that may change something, or to the very call, and nobody had named, is no directory's
and no record's when its letters and digits come back: an attack cannot have it written down first in this conversation.
For a directory only the tools count that `changed_by` lists, where it does: those that can write into it.
A directory that another conversation, or an agent's text inside a longer one of `written`, can fill is none.

It says who told a value, not that they meant it: "never pay X" names X.  Whoever writes a whole field of a record that
the user named gets it called `record`: the sender of a message found by the user's own word, what such a field names in
turn, a document that is read as JSON.  What an agent puts together out of parts of a text, or a tool out of parts of
what it is given, is not followed, so a rule should permit neither `text` nor `none`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wb.domain import schema
from wb.domain.arguments import bare, number
from wb.domain.tools import AGENT, ORIGINS, Source
from wb.domain.trace import Call, Value

KEPT = 200_000  # words of speakers, words of tools, values of directories and of records, each
CALLS = 1024  # calls without a result; beyond it, what may have come of the first that ran is lost
LONGEST = 20_000  # characters of a value that is searched for
NUMERAL = 100  # characters of a word that may be a number
STRONG = ("user", "directory", "record")
RUN = re.compile(r"[^\W_]+")
DIGITS = re.compile(r"(?<![\w:/-])(?<!\d[.,])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")  # a number, no part of a date or name


@dataclass(slots=True)
class _Words:
    """Words in their order, and where each stands."""

    words: list[str] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    numbers: set[int | float] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)  # those that were read
    keys: set[str] = field(default_factory=set)  # of those that were kept, without anything between letters and digits

    def add(self, words: Sequence[str], named: Iterable[str], numbers: Iterable[int | float]) -> bool:
        """Take in a text, each word under its name; whether there was room."""
        if len(self.words) + len(words) >= KEPT:
            return False
        start = len(self.words)
        self.words += [*words, ""]  # nothing stands across texts
        for place, name in enumerate(named, start):
            self.places.setdefault(name, []).append(place)
        self.numbers.update(numbers)
        return True

    def read(self, text: str) -> bool:
        """Take in a text by its words between blanks; whether there was room."""
        words = text.split()
        self.texts.append(text)
        short = [at for at, word in enumerate(words) if len(word) <= NUMERAL]
        numbers = [found for at in short if (found := number(words, at)) is not None]
        return self.add(words, map(bare, words), numbers)

    def hold(self, value: Value) -> bool:
        """Whether a number, or a text in whole words, stands there."""
        if type(value) is not str:
            return value in self.numbers
        named, plain = value.split(), " ".join(value.split())
        if value != plain and (value != value.strip() or not any(value in text for text in self.texts)):
            return False  # only the speaker's blanks are any blanks
        value = plain
        for start in self.spans([bare(word) for word in named]):
            end = start + len(named)
            before, found, after = " ".join(self.words[start:end]).partition(value)
            if not found or bare(f"{before}x{after}") != "x":
                continue
            left = not before and value[:1].isdigit() and bare(named[0]).isdigit()
            right = not after and value[-1:].isdigit() and bare(named[-1]).isdigit()
            if not (left and _digits(self.words[start - 1], -1)) and not (right and _digits(self.words[end], 0)):
                return True  # no group of digits of a longer number
        return False

    def note(self, leaf: Value) -> bool:
        """Take in a text or number by its runs of letters and digits; whether there was room."""
        runs = RUN.findall(str(leaf).casefold())
        return self.add(runs, runs, [abs(leaf)] if type(leaf) is not str else map(float, DIGITS.findall(leaf)))

    def stand(self, value: Value) -> bool:
        """Whether a number, or the runs of a text one after the other, were noted."""
        if type(value) is not str:
            return abs(value) in self.numbers
        runs = RUN.findall(value.casefold())
        return any(self.words[at : at + len(runs)] == runs for at in self.spans(runs))

    def keep(self, leaf: Value) -> bool:
        """Take in what may come back in another form; whether there was room."""
        key = _key(leaf)
        self.keys.add(key)
        if key.isdecimal():
            self.numbers.add(float(key))
        return self.note(leaf)

    def kept(self, value: Value) -> bool:
        """Whether a value is what was kept, or stands in it, in whatever form: letters and digits alone count, and of a
        text without letters its numbers."""
        key = _key(value)
        if self.stand(value) or key in self.keys:
            return True
        numbers = [key, *DIGITS.findall(str(value))] if key.isdecimal() else []
        return any(float(one) in self.numbers for one in numbers)

    def spans(self, named: Sequence[str]) -> Iterator[int]:
        """Where as many words begin of which the rarest is in its place."""
        known = [(self.places.get(name, ()), at) for at, name in enumerate(named) if name]
        places, offset = min(known, key=lambda one: len(one[0]), default=((), 0))
        return (place - offset for place in places if place >= offset)


@dataclass(slots=True)
class _Asked:
    """A call without a result: whether that is a record, None where it is unknown, what it may write that nobody had
    named, and whether its step is over and it is waited for."""

    tool: str
    record: bool | None
    runs: bool
    made: Sequence[Value]
    waits: bool = False


class Provenance:
    """What one conversation has told, for fields of the same speakers and directories."""

    def __init__(self, source: Source, reading: Collection[str]) -> None:
        self._speakers = (source.of, *source.or_of)
        self._directory, self._written = ({tool: _steps(path) for tool, path in places} for places in source.places)
        self._user, self._entries, self._texts = _Words(), _Words(), _Words()
        self._reading = reading  # tools that change nothing
        self._made = _Words()  # what the agent gave to other tools and nobody had named
        self._entered = self._made if source.writers is None else _Words()  # of that, to those that write directories
        self._writers = source.writers
        self._full = False  # whether that is not all held: then nothing more is a directory's or a record's
        self._trusted: set[Value] = set()
        self._records: dict[Value, bool] = {}  # values of records, and of what may be one (False)
        self._asked: dict[int | str, _Asked] = {}
        self._step: list[int | str] = []  # calls of the present step
        self._open: Counter[str] = Counter()  # by origin, results that may tell more and are not held
        self._lost: dict[str, str] = {}  # by origin, why what tells it is not all held

    # ---- what happens ---------------------------------------------------------------------------

    def said(self, role: str, text: str) -> None:
        """Somebody said something, or a page shows it; the agent's own words tell nothing."""
        if role in self._speakers:
            if "user" not in self._lost and not self._user.read(text):
                self._lose(("user",), f"more than {KEPT} words were said")
        elif role.casefold() not in AGENT:
            self._text(text)

    def begin(self) -> None:
        """A step is over: from here on the agent may have seen what its calls gave."""
        for name in self._step:
            one = self._asked.get(name)
            if one is not None and one.runs:
                one.waits = True
                self._open.update(self._tells(one))
        self._step = []

    def asked(self, name: int | str, call: Call, runs: bool) -> None:
        """A call is asked for, and runs or may not; of one that may not, nobody knows all that it was asked."""
        record = self._named(call.arguments or {})
        leaves, names = _leaves(tuple((call.arguments or {}).values()))
        made = [leaf for leaf in (*leaves, *names) if not _usable(leaf) or self._of(leaf)[0] not in STRONG]
        self._asked[name] = _Asked(call.tool, record if runs or record is False else None, runs, made)
        self._step.append(name)
        if runs:
            self._wrote(call.tool, made)
        if len(self._asked) > CALLS and self._asked.pop(next(iter(self._asked))).runs:
            self.lost(f"more than {CALLS} calls have no result yet")

    def answered(self, name: int | str, value: object, failed: bool) -> None:
        """What a call gave."""
        one = self._asked.pop(name, None)
        if one is None:
            return self.lost("a result came of a call that is not known")
        if one.waits:
            self._open.subtract(self._tells(one))
        self._wrote(one.tool, one.made)
        try:
            plain = schema.plain(value)
        except schema.Unfit as error:
            return self.lost(f"the result of {one.tool} cannot be read: {error}")
        leaves, names = _leaves(plain)
        for leaf in (*leaves, *names):
            self._text(leaf)
        if not failed:
            self._take_in(one, plain, leaves)
        return None

    def _take_in(self, one: _Asked, plain: Value, leaves: Sequence[Value]) -> None:
        """What a result that is no error tells of directories and records."""
        own = _Words()
        if self._full or not all(map(own.keep, one.made)):
            why = f"more than {KEPT} words that nobody had named were given to tools"
            return self._lose(("directory", "record"), why)
        trusted, written = (
            [leaf for leaf in _at(plain, places.get(one.tool)) if not (self._entered.kept(leaf) or own.kept(leaf))]
            for places in (self._directory, self._written)
        )
        written = [text for text in written if type(text) is str and not _repeats(text, one.made)]
        if len(self._trusted) + len(trusted) <= KEPT and all(map(self._entries.read, written)):
            self._trusted.update(trusted)
        else:
            self._lose(("directory",), f"more than {KEPT} values stand in directories")
        tells = one.record is not False and type(plain) is not str
        found = [leaf for leaf in leaves if tells and not (self._made.kept(leaf) or own.kept(leaf))]
        if len(self._records) + len(found) > KEPT:
            return self._lose(("record",), f"more than {KEPT} values stand in records")
        for leaf in found:
            self._records[leaf] = self._records.get(leaf, False) or one.record is True
        return None

    def _wrote(self, tool: str, made: Iterable[Value]) -> None:
        """A tool was given these; one that only reads keeps nothing of it."""
        if tool in self._reading:
            return
        stores = [self._made, self._entered] if tool in (self._writers or ()) else [self._made]
        self._full = self._full or not all([store.keep(one) for store in stores for one in made])

    def lost(self, why: str) -> None:
        """Something came of a tool that is not held."""
        self._lose(("directory", "record", "text"), why)

    def _lose(self, origins: Iterable[str], why: str) -> None:
        self._lost = {**dict.fromkeys(origins, why), **self._lost}

    def _text(self, leaf: Value) -> None:
        if "text" not in self._lost and not self._texts.note(leaf):
            self._lose(("text",), f"more than {KEPT} words came of tools")

    def _tells(self, one: _Asked) -> list[str]:
        """What the result of a call may tell."""
        trusted = one.tool in self._directory or one.tool in self._written
        told = {"directory": trusted, "record": one.record is not False, "text": True}
        return [origin for origin, may in told.items() if may]

    def _named(self, arguments: Mapping[str, Value]) -> bool | None:
        """Whether all that a call was asked for was named, None where that is not known."""
        given = [value for value in arguments.values() if value is not None and value != ()]
        if not given or not all(map(_usable, given)):
            return False
        found = [self.origin(value)[0] for value in given]
        if any(one is not None and one not in STRONG for one in found):
            return False
        return None if None in found else True

    # ---- what is known --------------------------------------------------------------------------

    def origin(self, value: Value) -> tuple[str | None, str]:
        """The origin of a value, or why it is not known."""
        if value is None or value == () or value == "":
            return "absent", ""
        if not _usable(value):
            longest = f"of at most {LONGEST} characters with a letter or a digit"
            return None, f"a text {longest}, a number or a list of these was required; got {schema.got(value)}"
        found = [self._of(one) for one in _elements(value)]
        unknown = [one for one in found if one[0] is None]
        return unknown[0] if unknown else max(found, key=lambda one: list(ORIGINS).index(one[0]))

    def _of(self, value: Value) -> tuple[str | None, str]:
        holds = (("user", self._user.hold), ("directory", self._of_directory), ("record", self._records.get))
        for origin, test in (*holds, ("text", self._texts.stand)):
            if test(value):
                return origin, ""
            if origin == "record" and value in self._records:
                return None, "whether the record that it stands in was named is not known"
            if origin in self._lost:
                return None, self._lost[origin]
            if self._open[origin] > 0:
                return None, f"a call has no result yet, which may tell that it is of a {origin}"
        return "none", ""

    def _of_directory(self, value: Value) -> bool:
        return value in self._trusted or self._entries.hold(value)


def _digits(word: str, end: int) -> bool:
    """Whether a word is digits but for signs, which are not at that end."""
    return word[end : end + 1 or None].isdigit() and bare(word).isdigit()


def _key(value: Value) -> str:
    """The letters and digits of a value, whatever stands between them."""
    return "".join(RUN.findall(unicodedata.normalize("NFKC", str(value)).casefold()))


def _elements(value: Value) -> Iterator[Value]:
    """The value, or what stands in a list of values."""
    for one in value if type(value) is tuple else ():
        yield from _elements(one)
    if type(value) is not tuple:
        yield value


def _usable(value: Value) -> bool:
    """Whether that is a text or number that can be found, or a list of these alone."""
    found = list(_elements(value))
    kinds = all(type(one) in (int, float) or (type(one) is str and len(one) <= LONGEST) for one in found)
    return kinds and bool(found) and all(type(one) is not str or RUN.search(one) for one in found)


def _leaves(value: Value) -> tuple[list[Value], list[str]]:
    """The texts and numbers in a value, and the names of its fields."""
    leaves, names, waiting = [], [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            names += one
            waiting += one.values()
        elif type(one) is tuple:
            waiting += one
        elif type(one) in (str, int, float):
            leaves.append(one)
    return leaves, names


def _steps(path: str) -> list[str]:
    return path.replace("[]", ".[]").replace("{}", ".{}").strip(".").split(".")


def _repeats(text: str, made: Sequence[Value]) -> bool:
    """Whether a text holds what the agent gave to the call that it came of."""
    words = _Words()
    return not words.note(text) or any(map(words.stand, made))


def _at(value: Value, path: Sequence[str] | None) -> Iterator[Value]:
    """The texts and numbers that stand at a path, none where there is no path; `[]` are all elements of a list, or all
    values of an object, whose names are `{}`."""
    if path is None:
        return
    if not path or path == [""]:
        if type(value) in (str, int, float):
            yield value
    elif path[0] == "[]":
        for one in value.values() if isinstance(value, Mapping) else value if type(value) is tuple else ():
            yield from _at(one, path[1:])
    elif path[0] == "{}":
        yield from value if isinstance(value, Mapping) else ()
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _at(value[path[0]], path[1:])
