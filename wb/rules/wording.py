"""Words that a person lets a sentence say of a tool or a field: the same accounting then passes it, and no other.

    words:
      - {say: check, mean: [get_order], of: [3f2a90c1b7de]}
      - {say: shipped, mean: ['state.status == "sent"'], of: [0b51c2aa93f4, 5d1e08b7c6a2]}

A sentence may be open for no other reason than that a document calls a thing otherwise than `tools.json` does.  A line
of `words` in the file of decisions says what such words mean: tools, fields (`state.FIELD`, `TOOL.ARGUMENT`) or a value
of one, in the sentences that it lists and in no other.  There they count as words of that thing, which must be one that
the sentence's rules speak of; every other check stays as it is.  Of a truth, they say that it is so.  What negates,
excepts, compares, counts, joins or tells one thing from another is no such word, nor is an opposite of the thing's own.
A line may be about words of the sentence, of what it is read with and of the titles above it.  Where that sentence was
changed, the line is stale there.

`lines` drafts them from what was read and refused.  A draft decides nothing: a line counts once a person has put it
into the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from wb.domain.clauses import identities, pieces
from wb.domain.policy import Policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.rules import called, operators, shapes
from wb.rules.decisions import DecisionError
from wb.rules.rule import Predicate
from wb.rules.rulefile import Form, decoded, read
from wb.rules.words import plain, stem

_VALUE = re.compile(r'\A\s*([\w.]+)\s*==\s*"(.+)"\s*\Z')
_PREFIX = re.compile(r"(?:un|in|im|ir|il|non-?|dis|mis)(?=[a-z]{4})")
# Pairs that never say the same of one thing.
_OPPOSITES = tuple(
    tuple(pair.split(":"))
    for pair in """open:closed open:close allow:deny accept:reject accept:refuse accept:decline approve:reject
 approve:deny approve:decline grant:revoke add:remove create:delete enable:disable lock:unlock before:after first:last
 start:end begin:end buy:sell lend:return borrow:return lend:borrow send:receive import:export deposit:withdraw
 credit:debit increase:decrease raise:lower old:new public:private present:absent present:missing available:missing
 full:empty valid:expired valid:void valid:lapsed active:expired active:closed active:suspended paid:owed paid:due
 paid:outstanding pay:owe internal:external minor:adult young:old known:unknown on:off high:low success:failure
 succeed:fail pass:fail complete:pending sent:pending sent:received free:paid safe:dangerous
 true:false yes:no cheap:expensive inside:outside indoors:outdoors domestic:foreign domestic:international
 temporary:permanent optional:mandatory blocked:free blocked:valid arrive:depart arrival:departure""".split()
)


class Word(Form):
    """Words that some sentences say, and what a person lets them mean there."""

    say: str = pydantic.Field(min_length=1)
    mean: list[str] = pydantic.Field(min_length=1)
    of: list[str] = pydantic.Field(min_length=1)
    why: str = ""


class Unread(NamedTuple):
    """A sentence of which something was read and refused: its id, its words and all it is read with, the titles above
    it, and the predicates of its rules."""

    id: str
    said: str
    context: tuple[str, ...]
    headings: tuple[str, ...]
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A drafted line: words, what they would mean, the sentences, and what a person should know before taking it.

    Without anything that they mean, `among` are the things that a person may choose from.
    """

    say: str
    mean: tuple[str, ...]
    of: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    among: tuple[str, ...] = ()


class Draft(NamedTuple):
    """Drafted lines, and the sentences that all of them together bring into force (`sentences.drafted`)."""

    lines: tuple[Line, ...]
    brought: tuple[str, ...]


def load(path: Path, policy: Policy) -> tuple[Word, ...]:
    """The lines of words of a file of decisions about a policy; none where there is no file.

    Raises:
        DecisionError: it cannot be read, or a line is not of the form, or says what no line may.
    """
    return loads(decoded(path, DecisionError), policy, source=path.name) if path.exists() else ()


def loads(text: str, policy: Policy, *, source: str = "decisions.yaml") -> tuple[Word, ...]:
    """The lines of words of a text; of a sentence that is gone or says otherwise now nothing counts.

    Raises:
        DecisionError: with all mistakes, a line each.
    """
    data = read(text, source, DecisionError)
    rows: Any = data.data.get("words", []) if isinstance(data.data, Mapping) else []
    if not isinstance(rows, list):
        raise DecisionError(f"{source}: words: a list was required; got {type(rows).__name__}")
    places = _places(policy)
    found: list[Word] = []
    wrong: list[str] = []
    for i, row in enumerate(rows):
        one, mistakes = data.form(Word, row, ("words", i))
        if one is not None:
            mistakes += [f"{data.where(('words', i))}: {odd}" for odd in _odd(one, policy.toolbox, places)]
            found.append(one)
        wrong += mistakes
    if wrong:
        raise DecisionError("\n".join(wrong))
    return tuple(found)


def settled(policy: Policy, lines: Iterable[Word]) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """The lines, each with those of its sentences that are there and say its words, and what is stale of them."""
    places, kept, gone = _places(policy), [], []
    for one in lines:
        here = [name for name in one.of if name in places and _stands(one.say, places[name])]
        gone += [f"the words {one.say!r} of sentence {name}" for name in one.of if name not in here]
        kept += [one.model_copy(update={"of": here})] if here else []
    return tuple(kept), tuple(gone)


def worded(
    text: str, context: Sequence[str], headings: Sequence[str], toolbox: Toolbox, lines: Iterable[Word]
) -> tuple[str, tuple[str, ...], tuple[str, ...], Toolbox]:
    """A sentence, what it is read with, the titles above it and the toolbox, as the lines about it let them be read:
    things with more words, and values in the place of the words that mean them."""
    for line in lines:
        for thing in line.mean:
            path, value = _valued(thing)
            if value is None:
                toolbox = _called(toolbox, path, line.say)
                continue
            text = _instead(text, line.say, value)
            context, headings = tuple(_instead(one, line.say, value) for one in context), tuple(headings)
    return text, tuple(context), tuple(headings), toolbox


def lines(unread: Iterable[Unread], toolbox: Toolbox) -> Draft:
    """The lines for what sentences leave over and their rules mean unnamed, and the sentences that they are about.

    Words are tied to what the one predicate is about whose name, description or keywords have them; those that none or
    several have are left for a person to tie.  Grouped: a line for each pair of words and things.
    """
    drafted: dict[tuple[frozenset[str], tuple[str, ...], tuple[str, ...]], tuple[str, list[str]]] = {}
    brought = []
    for one in unread:
        tied = _tied(one, toolbox)
        brought += [one.id] if tied else []
        for say, mean, among in tied:
            _, of = drafted.setdefault((_stems(say), mean, () if mean else among), (say, []))
            of.append(one.id)
    rows = [(say, mean, among, of) for (_, mean, among), (say, of) in drafted.items()]
    rows.sort(key=lambda row: (not row[1], -len(row[3])))
    meant: dict[str, set[tuple[str, ...]]] = {}
    for say, mean, _, _ in rows:
        for word in _stems(say) if mean else ():
            meant.setdefault(word, set()).add(mean)
    found = [
        Line(say, mean, tuple(of), _warnings(say, mean, toolbox, meant), among if not mean else ())
        for say, mean, among, of in rows
    ]
    return Draft(tuple(found), tuple(brought))


def taken(draft: Draft) -> tuple[Word, ...]:
    """The lines of a draft as if a person had taken them all, each with all that it may mean."""
    return tuple(
        Word(say=line.say, mean=list(line.mean or line.among), of=list(line.of))
        for line in draft.lines
        if line.mean or line.among
    )


def shown(draft: Draft, texts: Mapping[str, str]) -> tuple[str, ...]:
    """A draft as the lines of a file that a person accepts from by uncommenting, with what each is about."""
    if not draft.lines:
        return ()
    count = sum(bool(line.mean) for line in draft.lines)
    head = [
        f"{len(draft.lines)} lines of words would bring {len(draft.brought)} open sentences into force, by the same "
        f"checks; {count} say what they mean.",
        "Uncomment a line to accept it; where it says `?`, put what is meant.",
    ]
    for line in draft.lines:
        head += [f'in: "{_short(texts.get(name, name))}"' for name in line.of]
        head += [f"beware: {warning}" for warning in line.warnings]
        head += [f"one or more of: {', '.join(line.among)}"] if line.among else []
        head.append(_flow(line))
    return tuple("".join(c if c.isprintable() else " " for c in row) for row in head)


def _flow(line: Line) -> str:
    mean = ", ".join(_quoted(thing) for thing in line.mean) or "?"
    return f"- {{say: {_quoted(line.say)}, mean: [{mean}], of: [{', '.join(_quoted(name) for name in line.of)}]}}"


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w. ]*", text) else "'" + text.replace("'", "''") + "'"


def _short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= 100 else f"{said[:99]}…"


# ---- drafting ----------------------------------------------------------------------------------

_Tied = tuple[str, tuple[str, ...], tuple[str, ...]]  # words, what they mean, else what they may mean


def _tied(one: Unread, toolbox: Toolbox) -> list[_Tied]:
    """What a sentence leaves over and what its rules mean unnamed, tied to things; none where that cannot be mended."""
    said = " ".join((*one.context, one.said))
    every = tuple(dict.fromkeys(thing for p in one.predicates for thing in _things(p)))
    found: dict[tuple[str, ...], list[str]] = {}
    loose: list[str] = []
    for word in called.left_over(said, one.predicates, toolbox):
        own = {_things(p): None for p in one.predicates if stem(word) in _stems(_told(p))}
        if len(own) == 1:
            found.setdefault(next(iter(own)), []).append(word)
        else:
            loose.append(word)
    tied: list[_Tied] = [(word, mean, every) for mean, words in found.items() for word in words]
    tied += [(word, (), every) for word in loose]
    tools, fields = called.unnamed(said, one.predicates, toolbox, one.headings)
    around = list(dict.fromkeys(_tokens(" / ".join((*one.headings[-1:], said)))))
    named: dict[str, list[str]] = {}
    for name in tools:
        if not any(name in mean for _, mean, _ in tied):
            named.setdefault(_once(w for w in around if _telling(w) and stem(w) in _stems(name)), []).append(name)
    for p in one.predicates:
        for thing in _things(p) if p.kind == "state" else ():
            owner = _thing(toolbox, _valued(thing)[0])
            if owner in fields and _valued(thing)[1] is None and not any(thing in mean for _, mean, _ in tied):
                text = " ".join((owner.name, owner.description, *owner.keywords))
                say = _once(w for w in _tokens(said) if _telling(w) and stem(w) in _stems(text))
                named.setdefault(say, []).append(thing)
    tied += [(say, tuple(mean), ()) for say, mean in named.items() if say]
    return [] if any(operators.strict(say) for say, _, _ in tied) else tied


def _once(said: Iterable[str]) -> str:
    """The words, each of one stem once."""
    return " ".join({stem(word): word for word in said}.values())


def _telling(word: str) -> bool:
    return not operators.strict(word) and bool(called.left_over(word, (), Toolbox()))


def _told(p: Predicate) -> str:
    return " ".join((p.name.replace("_", " "), p.description, *p.keywords))


def _things(p: Predicate) -> tuple[str, ...]:
    """What a predicate is about, as a line names it: its tools, or the fields or the values of fields of its test, but
    for what lies within a field, which no line names."""
    if p.kind == "action" or p.test is None:
        return p.tools
    owners = p.tools or ("call",)
    found = []
    for path, value in shapes.measured(p.test):
        root, name, *inner = path.names
        if inner:
            continue
        told = f' == "{value}"' if value else ""
        found += [f"state.{name}{told}"] if root == "state" else [f"{tool}.{name}{told}" for tool in owners]
    return tuple(dict.fromkeys(found))


def _warnings(
    say: str, mean: tuple[str, ...], toolbox: Toolbox, meant: Mapping[str, set[tuple[str, ...]]]
) -> tuple[str, ...]:
    """What a person should know before a line is accepted."""
    found = []
    own = {_valued(thing)[0] for thing in mean}
    new = _stems(say) - {word for name in own for word in _stems(name)}
    for word in sorted(new):
        if len(meant.get(word, ())) > 1:
            found.append(f"{word!r} is tied to something else in another line")
    names = [*(t.name for t in toolbox.tools), *(f"state.{f.name}" for f in toolbox.state)]
    others = [name for name in names if name not in own and new & _stems(name.removeprefix("state."))]
    if others and mean:
        found.append(f"also words of {', '.join(others)}")
    acts = [t for t in (_thing(toolbox, path) for path in own) if isinstance(t, Tool)]
    for tool in acts if not new else ():
        if _tokens(tool.name) and stem(_tokens(tool.name)[0]) not in _stems(say):
            found.append(f"it says what {tool.name} is done to, and not that it is done")
    for thing in mean:
        path, value = _valued(thing)
        owner = _thing(toolbox, path)
        if isinstance(owner, Field) and owner.type == "boolean":
            found.append(f"it would say that this is so: {owner.description or owner.name}")
        if owner is not None and (against := _against(say, owner, value)):
            found.append(f"{against[0]!r} may say the opposite of {against[1]!r}: such a line is refused")
    return tuple(found)


# ---- what a line may say -----------------------------------------------------------------------


def _odd(one: Word, toolbox: Toolbox, places: Mapping[str, str]) -> list[str]:
    """What is wrong with a line, whichever sentences are still there."""
    wrong = []
    if held := operators.strict(one.say):
        wrong.append(f"words that name a thing were required; got {', '.join(map(repr, held))}, counted strictly")
    if not _stems(one.say):
        wrong.append(f"a word of the sentence was required; got {one.say!r}")
    for thing in one.mean:
        path, value = _valued(thing)
        owner = _thing(toolbox, path)
        if owner is None:
            wrong.append(
                f'a tool, state.FIELD, TOOL.ARGUMENT, or a field == "VALUE" of tools.json was required; got {thing!r}'
            )
        elif value is not None and (isinstance(owner, Tool) or value not in owner.values):
            had = [] if isinstance(owner, Tool) else list(owner.values)
            wrong.append(f"a value of {path}, one of {had}, was required; got {value!r}")
        elif value is not None and operators.strict(value):
            wrong.append(f"a value without words that are counted was required; got {value!r}: write the rule")
        elif value is None and isinstance(owner, Field) and owner.values:
            wrong.append(f'a value of {path} was required, as in {path} == "{owner.values[0]}"; got the field alone')
        if owner is not None and (against := _against(one.say, owner, value)):
            wrong.append(f"{against[0]!r} says the opposite of {against[1]!r} of {path}; write the rule")
    for name in one.of:
        if name in places and (both := _turned(one.say, places[name])):
            wrong.append(f"a word that sentence {name} does not turn round was required; it says {both!r} too")
    return wrong


def _against(say: str, owner: Tool | Field, value: str | None) -> tuple[str, str] | None:
    """A word, and the one of a thing's own that it is the opposite of."""
    own = (value,) if value is not None else (owner.name.replace("_", " "), owner.description, *owner.keywords)
    theirs = {stem(word): word for text in own for word in _tokens(text)}
    for word in _tokens(say):
        bare = _PREFIX.sub("", word, count=1)
        opposite = [bare] if bare != word else []
        for a, b in _OPPOSITES:
            opposite += [b] if stem(word) == stem(a) else [a] if stem(word) == stem(b) else []
        found = next((theirs[stem(o)] for o in opposite if stem(o) in theirs), None)
        found = found or next(
            (
                w
                for s, w in theirs.items()
                if _PREFIX.sub("", w, count=1) != w and stem(_PREFIX.sub("", w, count=1)) == stem(word)
            ),
            None,
        )
        if found:
            return word, found
    return None


def _turned(say: str, text: str) -> str:
    """A word of the text that is one of these with a prefix which negates."""
    own = _stems(say)
    return next((w for w in _tokens(text) if (b := _PREFIX.sub("", w, count=1)) != w and stem(b) in own), "")


def _valued(thing: str) -> tuple[str, str | None]:
    """What a line means: a tool or a field, and the value of it."""
    found = _VALUE.match(thing)
    return (found[1], found[2]) if found else (thing.strip(), None)


def _thing(toolbox: Toolbox, path: str) -> Tool | Field | None:
    root, _, name = path.partition(".")
    tool = next((one for one in toolbox.tools if one.name == root), None)
    if not name:
        return tool
    owners = toolbox.state if root == "state" else tool.arguments if tool else ()
    return next((one for one in owners if one.name == name), None)


def _called(toolbox: Toolbox, path: str, say: str) -> Toolbox:
    """The toolbox where that thing has one keyword more."""
    root, _, name = path.partition(".")

    def more[One: (Tool, Field)](those: Sequence[One], called: str) -> tuple[One, ...]:
        return tuple(replace(o, keywords=(*o.keywords, say)) if o.name == called else o for o in those)

    if not name:
        return replace(toolbox, tools=more(toolbox.tools, root))
    if root == "state":
        return replace(toolbox, state=more(toolbox.state, name))
    own = [replace(t, arguments=more(t.arguments, name)) if t.name == root else t for t in toolbox.tools]
    return replace(toolbox, tools=tuple(own))


def _instead(text: str, say: str, value: str) -> str:
    """The text with a value in the place of the words that mean it."""
    return re.sub(rf"(?<![\w-]){re.escape(say)}(?![\w-])", lambda _: value, plain(text), flags=re.I)


def _places(policy: Policy) -> dict[str, str]:
    """By its id, all that a sentence says and is read with, and the titles above it."""
    every = pieces(policy)
    return {
        name: " / ".join((one.said, *one.stems, *(cell for _, cell in one.row), *one.headings))
        for name, one in zip(identities(every), every, strict=True)
    }


def _stands(say: str, text: str) -> bool:
    """Whether each of the words stands in a text."""
    return set(_tokens(say)) <= set(_tokens(text))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:-[a-z]+)*", plain(text.replace("_", " ")).lower())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _tokens(text)))
