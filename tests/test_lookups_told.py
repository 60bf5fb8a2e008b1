"""What a conversation shows of the fields with a source, asked of `Lookups` itself: known, or why it is not."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable

import pytest

from wb.domain import lookups, operations, tools
from wb.domain.events import Answer, Lookup
from wb.domain.lookups import KEPT, TEXTS, Lookups
from wb.domain.trace import Call
from wb.domain.validation import Known, Validator


def tool(name: str, mutating: bool = True, **arguments: str) -> dict:
    known = {argument: {"type": kind} if kind else {} for argument, kind in arguments.items()}
    return {"name": name, "mutating": mutating, "parameters": {"type": "object", "properties": known}}


TOOLS = [
    tool("get", False, id="string"),
    tool("any", False, id=""),
    tool("pair", False, id="string", nr="integer"),
    tool("who", False),
    tool("set", id="string", level="string"),
    tool("own", id="string"),
    tool("touch", id="string"),
    tool("mark", id=""),
    tool("pay", id="string"),
    tool("both", id="string", nr="integer"),
]
OF = {"arguments": {"id": "call.id"}}
SOURCES: dict[str, object] = {
    "now": "clock",
    "order": {"lookup": "get", **OF, "changed_by": {"touch": {"id": "call.id"}, "own": {"id": "call.id"}}}
    | {"given_by": ["own"]},
    "loose": {"lookup": "get", **OF},
    "still": {"lookup": "get", **OF, "changed_by": []},
    "item": {"lookup": "any", **OF, "changed_by": {"mark": {"id": "call.id"}}},
    "two": {"lookup": "pair", "arguments": {"id": "call.id", "nr": "call.nr"}, "changed_by": ["touch"]},
    "card": {"result": "who", "changed_by": ["touch"]},
    "seen": {"result": "any", "changed_by": ["touch"]},
    "made": {"result": ["own", "who"], "changed_by": ["touch", "own"]},
    "level": {"done": "set", **OF, "path": "level", "otherwise": "'none'"},
    "tag": {"done": "mark", **OF, "path": "id", "otherwise": "'none'"},
    "bare": {"done": "set", "arguments": {}, "path": "level"},
    "yes": {"said": "user", "used_by": ["pay"]},
    "mine": {"said": "user", **OF, "used_by": {"pay": {"id": "call.id"}}},
}
ASKS = {"question": "So?", "of": ["user"]}
STATE = [
    *({"name": name, "type": "string", "from": source} for name, source in SOURCES.items()),
    {"name": "words", "type": "array", "items": {"type": "string"}, "from": {"said": "user", "used_by": ["pay"]}},
    {"name": "agreed", "type": "boolean", "from": {**ASKS, "permits": True, "used_by": ["pay"]}},
    {"name": "mood", "enum": ["good", "bad"], "from": {**ASKS, **OF, "used_by": {"pay": {"id": "call.id"}}}},
    {
        "name": "guests",
        "type": "integer",
        "enum": [1, 2, 3],
        "from": {**ASKS, "of": ["user", "host"], "permits": [1, 2]},
    },
    {"name": "nights", "type": "number", "from": ASKS},
    {"name": "told", "type": "string"},
]
VALIDATOR = Validator(tools.parse(json.dumps({"tools": TOOLS, "state": STATE})))


def called(text: str) -> Call:
    """`set:a` as a call of that object; numbers are told by `=`: `any:=1`; a level or number stands behind a comma."""
    name, _, of = text.partition(":")
    of, _, more = of.partition(",")
    beside = {"level": more} if name == "set" else {"nr": int(more)} if more else {}
    return Call(name, ({"id": json.loads(of[1:]) if of[:1] == "=" else of} if of else {}) | beside)


class Talk:
    """One conversation: what happens is told in words, a word each.

    `set:a` a call, `set:a#x` with that id, `!` a call that may not run; `=` what the last call gave, `x=v` what call x
    gave, `x-` that it failed; `|` a step is over; `u.Yes` and `b.Yes` what user and bot said; `?get:a=v` a recorded
    lookup, `?get:a` one with a problem; `@agreed=true,Yes` a recorded answer with its quotation, `@mood:a=` one of that
    object with a problem; `turn` a turn that may be anything, `turn/set:a` one that was that call.
    """

    def __init__(self, ask: Callable | None = None) -> None:
        self.lookups, self.number = Lookups(VALIDATOR, ask=ask), 0

    def tell(self, script: str) -> Talk:
        for word in script.split():
            self._tell(word)
        return self

    def _tell(self, word: str) -> None:
        one = self.lookups
        if word == "|":
            one.begin()
        elif word[1:2] == ".":
            one.said({"u": "user", "b": "bot", "h": "host", "x": "nobody"}[word[0]], word[2:])
        elif word.startswith("?"):
            asked, _, value = word[1:].partition("=") if ":=" not in word else word[1:].rpartition("=")
            call = called(asked)
            told = {"value": value} if value else {"problem": "down"}
            one.heard(Lookup(call.tool, dict(call.arguments), **told))
        elif word.startswith("@"):
            name, _, told = word[1:].partition("=")
            (field, _, of), (value, _, quotation) = name.partition(":"), told.partition(",")
            found = {"value": json.loads(value)} if value else {"problem": "away"}
            one.heard(Answer(field, quotation=quotation, by="me", arguments={"id": of} if of else {}, **found))
        elif word.startswith("turn"):
            one.turn([called(word[5:])] if word[5:] else None)
        elif word.endswith("-"):
            one.answered(word[:-1] or self.number, None, True)
        elif "=" in word and ":" not in word:
            name, _, value = word.partition("=")
            one.answered(name or self.number, value, False)
        else:
            call, _, name = word.rstrip("!").partition("#")
            self.number += 1
            (one.refused if word.endswith("!") else one.asked)(name or self.number, called(call))

    def read(self, field: str, of: str = "pay:a", time: str | None = None) -> object:
        """What the field is at that call, or, behind a `~`, why it is unknown."""
        filled = self.lookups.fill(Known({}, {}), called(of), [field], time)
        assert (field in filled.values) is (field not in filled.strange) is (field in filled.origins)
        return filled.values[field] if field in filled.values else f"~{filled.strange[field]}"


UNSAID = '~“So?”: words of user were required that say true; got "yes"'
UNASKED = "~“So?” has no answer, and nobody can be asked"
GONE = '~what get gave may have changed since for id="a", and nothing can be asked'
UNSEEN = '~no result of get was seen for id="a", and nothing can be asked'
BEFORE = '~get(id="a"), which was asked: it was recorded before {}, which may have changed it'
TOGETHER = (
    "~the result of get (call h): a call under way together with it gave another value (the result of get (call g))"
)
ANY_GONE = "~what any gave may have changed since for id=1, and nothing can be asked"
ANY_BEFORE = BEFORE.replace('get(id="a")', "any(id=1)")
TWICE = '~get(id="a"), which was asked: it was recorded twice, with different answers'
CASES = [  # what happened, the field, the call, what it is
    ("", "order", "pay:a", UNSEEN),
    ("get:a =1", "order", "pay:a", "1"),
    ("get:a =1", "order", "pay:b", UNSEEN.replace('"a"', '"b"')),
    ("get:a =1 get:a =2", "order", "pay:a", "2"),
    ("get:a =1", "order", "pay", "~call.id is not known"),
    ("get:a =1", "order", "pay:=7", "~call.id: string was required; got 7"),
    ("get:a =1 touch:a", "order", "pay:a", "~touch, which may change it, has no result yet"),
    ("get:a =1 touch:a =x", "order", "pay:a", GONE),
    ("get:a =1 touch:a -", "order", "pay:a", GONE),
    ("get:a =1 touch:a |", "order", "pay:a", GONE),
    ("get:a =1 touch:a#t |", "order", "pay:a", "~touch, which may change it, has no result yet"),
    ("get:a =1 touch:a#t | t=x", "order", "pay:a", GONE),
    ("get:a =1 touch:a!", "order", "pay:a", "1"),
    ("get:a =1 touch:a#t! t=x", "order", "pay:a", GONE),
    ("get:a =1 touch:b =x", "order", "pay:a", "1"),
    ("get:a =1 touch:b", "order", "pay:a", "1"),
    ("get:a =1 touch:b =x", "loose", "pay:a", GONE),
    ("get:a =1 touch", "order", "pay:a", "~touch, which may change it, has no result yet"),
    ("get:a =1 touch =x", "order", "pay:a", GONE),
    ("get:a =1 touch:b =x touch =x get:a =2 touch:b =x", "order", "pay:a", "2"),
    ("get:a =1 touch:a =x get:a =2", "order", "pay:a", "2"),
    ("touch:a#t get:a#g t=x g=1", "order", "pay:a", GONE),
    ("get:a#g touch:a#t g=1 t=x", "order", "pay:a", GONE),
    ("get:a#g set:a#t g=1 t=x", "order", "pay:a", "1"),
    ("get:a#g set:a#t g=1 t=x", "loose", "pay:a", GONE),
    ("get:a =1 drop:a =x", "order", "pay:a", "1"),
    ("get:a =1 drop:a =x", "loose", "pay:a", GONE),
    ("get:a =1 drop:a", "loose", "pay:a", "~drop, which may change it, has no result yet"),
    ("get:a =1 drop:a!", "loose", "pay:a", "1"),
    ("get:a =1 who =x", "loose", "pay:a", "1"),
    ("get:a =1 touch:a =x turn", "still", "pay:a", "1"),
    ("get:a#g get:a#h g=1 h=2", "still", "pay:a", TOGETHER),
    ("get:a#g get:a#h g=1 h=1", "still", "pay:a", "1"),
    ("get:a#g get:a#h h=1 g=1", "still", "pay:a", "1"),
    ("get:a#g get:a#h h=2 g=1", "still", "pay:a", TOGETHER),
    ("get:a#g get:a#h g=1 h=2 get:a =3", "still", "pay:a", "3"),
    ("get:a#g get:b#h g=1 h=2", "still", "pay:a", "1"),
    ("get:a#g | g=1", "still", "pay:a", "1"),
    ("get:a#g- g-", "still", "pay:a", UNSEEN),
    # what a tool gives for its own change
    ("own:a =1", "order", "pay:a", "1"),
    ("own:a =1", "order", "pay:b", UNSEEN.replace('"a"', '"b"')),
    ("get:a =0 own:a =1", "order", "pay:a", "1"),
    ("get:a =0 own:a -", "order", "pay:a", GONE),
    ("get:a =0 own:a#o touch:a#t o=1 t=x", "order", "pay:a", GONE),
    ("get:a =0 own:a#o touch:b#t o=1 t=x", "order", "pay:a", "1"),
    ("own:a =1 get:a =2", "order", "pay:a", "2"),
    ("own:a =1 touch:a =x", "order", "pay:a", GONE),
    ("own:a#o! o=1", "order", "pay:a", "1"),
    ("own:a#o | o=1", "order", "pay:a", "1"),
    # objects with names of any type
    ("any:=1 =1", "item", "mark:=1", "1"),
    ("any:=1 =1", "item", "mark:1", '~no result of any was seen for id="1", and nothing can be asked'),
    ("any:=1 =1 mark:=2 =x", "item", "mark:=1", "1"),
    ("any:=1 =1 mark:1 =x", "item", "mark:=1", ANY_GONE),
    ("any:=1 =1 mark:=true =x", "item", "mark:=1", ANY_GONE),
    ("any:=true =1 mark:=false =x", "item", "mark:=true", "1"),
    ("any:a =1 mark:b =x", "item", "mark:a", "1"),
    ("any:a =1 mark:b", "item", "mark:a", "1"),
    ("any:=2 =1 mark:=1", "item", "mark:=2", "1"),
    ("any:a =1 mark:=1", "item", "mark:a", "~mark, which may change it, has no result yet"),
    ("mark:=1 =x any:a =1", "item", "mark:a", "1"),
    ("any:a =1", "item", "mark:=[1]", "~call.id: texts, numbers or truths were required"),
    ("pair:a,1 =x", "two", "both:a,1", "x"),
    ("pair:a,1 =x", "two", "both:a,2", '~no result of pair was seen for id="a", nr=2, and nothing can be asked'),
    ("pair:a,1 =x", "two", "both:a", "~call.nr is not known"),
    ("pair:a,1 =x", "two", "both:=2,1", "~call.id: string was required; got 2"),
    ("pair:a =x pair:a,1 =y", "two", "both:a,1", "y"),
    # the newest result
    ("", "card", "pay:a", "~no result of who was seen"),
    ("", "made", "pay:a", "~no result of own or who was seen"),
    ("who =1", "card", "pay:a", "1"),
    ("who =1 who =2", "card", "pay:a", "2"),
    ("who#w who#v w=1 v=1", "card", "pay:a", "1"),
    (
        "who#w who#v w=1 v=2",
        "card",
        "pay:a",
        TOGETHER.replace("of get", "of who").replace("call h", "call v").replace("call g", "call w"),
    ),
    ("who =1 touch:a =x", "card", "pay:a", "~it may have changed since the result of who (call 1)"),
    ("who =1 touch:b", "card", "pay:a", "~touch, which may change it, has no result yet"),
    ("who =1 set:a,b", "card", "pay:a", "1"),
    ("who =1 own:b =2", "card", "pay:a", "1"),
    ("who =1 own:a =2", "made", "pay:a", "2"),
    ("who =1 own:b =2", "made", "pay:a", '~the result of own (call 2) is of id "b" and not "a"'),
    ("own:b =2 who =1", "made", "pay:a", "1"),
    ("own:b#o touch:a#t o=2 t=x", "made", "pay:a", "~it may have changed since the result of own (call o)"),
    ("who =1 turn", "card", "pay:a", "~it may have changed since the result of who (call 1)"),
    ("who =1 turn who =2", "card", "pay:a", "2"),
    # deeds
    ("", "level", "pay:a", "none"),
    ("set:a,x =", "level", "pay:a", "x"),
    ("set:a,x =", "level", "pay:b", "none"),
    ("set:b,y = set:a,x = set:b,z =", "level", "pay:a", "x"),
    ("set:a,x = set:a,y =", "level", "pay:a", "y"),
    ("set:a,x = set:a,y -", "level", "pay:a", "x"),
    ("set:a,x", "level", "pay:a", "~set, which may change it, has no result yet"),
    ("set:a,x", "level", "pay:b", "none"),
    ("set:a,x |", "level", "pay:a", "x"),
    ("set:a,x | -", "level", "pay:a", "~set (call 1) failed after its step was over"),
    ("set:a,x#s | s-", "level", "pay:a", "none"),
    ("set:a,x#s | s=", "level", "pay:a", "x"),
    ("set:a,x#s! s=", "level", "pay:a", "x"),
    ("set:a,x#s set:a,y#t s= t=", "level", "pay:a", "~which of set (call s, call t) was done later is not known"),
    ("set:a,x#s set:a,x#t s= t=", "level", "pay:a", "x"),
    ("set:a,x#s set:a,y#t s= t= set:a,z =", "level", "pay:a", "z"),
    ("turn", "level", "pay:a", "~a turn in free text may have been such a call"),
    ("set:a,x = turn", "level", "pay:a", "~a turn in free text may have been such a call"),
    ("turn set:a,x =", "level", "pay:a", "x"),
    ("turn/set:a,x", "level", "pay:a", "x"),
    ("turn/set:b,x", "level", "pay:a", "none"),
    ("turn/touch:a", "level", "pay:a", "none"),
    ("set:,x =", "level", "pay:a", "~a call of set did not tell id"),
    ("", "bare", "pay:a", "~no call of set was done"),
    ("set:b,x =", "bare", "pay:a", "x"),
    ("", "tag", "mark:a", "none"),
    ("mark:b =", "tag", "mark:a", "none"),
    ("mark:a =", "tag", "mark:a", "a"),
    ("mark:=1 = mark:a =", "tag", "mark:a", "a"),
    ("mark:=1 =", "tag", "mark:a", "~mark was called of what is named by another type, which may be the same"),
    ("mark:a = mark:=1 =", "tag", "mark:a", "~mark was called of what is named by another type, which may be the same"),
    # words
    ("", "yes", "pay:a", "~user has said nothing"),
    ("u.Yes", "yes", "pay:a", "Yes"),
    ("u.No u.Yes b.Hm x.No", "yes", "pay:a", "Yes"),
    ("u.Yes pay:a", "yes", "pay:a", "~user has said nothing since it was used up"),
    ("u.Yes pay:a u.No =x", "yes", "pay:a", "No"),
    ("u.Yes pay:a!", "yes", "pay:a", "Yes"),
    ("u.Yes pay:b", "yes", "pay:a", "~user has said nothing since it was used up"),
    ("u.Yes pay:b", "mine", "pay:a", "Yes"),
    ("u.Yes pay:a", "mine", "pay:a", "~user has said nothing since it was used up"),
    ("u.Yes pay", "mine", "pay:a", "~user has said nothing since it was used up"),
    ("u.Yes touch:a", "yes", "pay:a", "Yes"),
    ("u.Yes drop:a", "yes", "pay:a", "Yes"),
    ("u.Yes turn", "yes", "pay:a", "~user has said nothing since it was used up"),
    ("", "words", "pay:a", ()),
    ("u.a u.b", "words", "pay:a", ("a", "b")),
    ("u.a pay:a u.b u.c", "words", "pay:a", ("b", "c")),
    ("u.a pay:a", "words", "pay:a", "~user has said nothing since it was used up"),
    ("", "agreed", "pay:a", "~user has said nothing"),
    ("b.yes @agreed=true,yes", "agreed", "pay:a", '~“So?”: words of user were required that say true; got "yes"'),
    ("u.yes", "agreed", "pay:a", UNASKED),
    ("u.yes @agreed=true,yes", "agreed", "pay:a", True),
    ("u.yes x.yes @agreed=true,yes", "agreed", "pay:b", True),
    ("u.yes @agreed=true,Yes", "agreed", "pay:a", UNSAID.replace("yes", "Yes")),
    ("u.yes @agreed=true", "agreed", "pay:a", '~“So?”: words of user were required that say true; got ""'),
    ("u.yesterday @agreed=true,yes", "agreed", "pay:a", UNSAID),
    ("u.y u.es @agreed=true,yes", "agreed", "pay:a", UNSAID),
    ("u.no b.yes h.yes x.yes get:a =yes @agreed=true,yes", "agreed", "pay:a", UNSAID),
    ("u.no @agreed=false,never", "agreed", "pay:a", False),
    ("u.1 @agreed=1,1", "agreed", "pay:a", "~“So?”: boolean was required; got 1"),
    ("u.yes @agreed=", "agreed", "pay:a", "~“So?”: away"),
    ("u.yes @agreed= @agreed=true,yes", "agreed", "pay:a", "~“So?”: it was recorded twice, with different answers"),
    ("u.yes @agreed=true,yes @agreed=true,yes", "agreed", "pay:a", True),
    ("u.yes @agreed=true,yes |", "agreed", "pay:a", True),
    ("u.yes @agreed=true,yes set:a", "agreed", "pay:a", True),
    ("u.yes @agreed=true,yes b.wait", "agreed", "pay:a", UNASKED),
    ("u.yes get:a @agreed=true,yes =1", "agreed", "pay:a", UNASKED),
    ("u.yes get:a#x @agreed=true,yes x-", "agreed", "pay:a", UNASKED),
    ("u.yes pay:b", "agreed", "pay:a", "~user has said nothing since it was used up"),
    ("u.yes @agreed=true,yes pay:b", "agreed", "pay:a", UNSAID),
    ("u.yes pay:b u.well @agreed=true,yes", "agreed", "pay:a", UNSAID),
    ("u.yes pay:b u.yes @agreed=true,yes", "agreed", "pay:a", True),
    ('u.good @mood:a="good",good', "mood", "pay:a", "good"),
    ('u.good @mood:a="good",good', "mood", "pay:b", UNASKED),
    ('u.good @mood="good",good', "mood", "pay:a", UNASKED),
    ('u.good @mood:a="good",good', "mood", "pay:=1", UNASKED),
    ('u.good @mood:a="good",good', "mood", "pay", "~call.id is not known"),
    ('u.good @mood:a="fine",good', "mood", "pay:a", '~“So?”: one of "good", "bad" was required; got "fine"'),
    ('u.good @mood:a="bad"', "mood", "pay:a", '~“So?”: words of user were required that say "bad"; got ""'),
    ('u.good pay:b @mood:a="good",good', "mood", "pay:a", "good"),
    ("h.two @guests=2,two", "guests", "pay:a", 2),
    ("h.two @guests=3", "guests", "pay:a", 3),
    ("u.half @nights=0.5,half", "nights", "pay:a", 0.5),
    ("u.half @nights=0", "nights", "pay:a", '~“So?”: words of user were required that say 0; got ""'),
    ('u.x @nights="1",x', "nights", "pay:a", '~“So?”: number was required; got "1"'),
    (
        "h.two @guests=true,two",
        "guests",
        "pay:a",
        "~“So?”: integer was required; got true; one of 1, 2, 3 was required; got true",
    ),
    ("b.2 u.no @guests=2.0,2", "guests", "pay:a", '~“So?”: words of user or host were required that say 2; got "2"'),
    ("u.yes @yes=true,yes @nothing=1,yes", "yes", "pay:a", "yes"),
    # what a recording tells
    ("?get:a=1", "order", "pay:a", "1"),
    ("?get:a", "order", "pay:a", '~get(id="a"), which was asked: down'),
    ("?get:b=1", "order", "pay:a", UNSEEN),
    ("get:a =0 ?get:a=1", "order", "pay:a", "1"),
    ("?get:a=1 ?get:a=1", "order", "pay:a", "1"),
    ("?get:a=1 ?get:a=2", "order", "pay:a", TWICE),
    ("get:b =0 ?get:a=1 ?get:a=2", "order", "pay:b", GONE.replace('"a"', '"b"')),
    ("who =0 ?get:a=1 ?get:a=2", "card", "pay:b", "0"),
    ("touch:a#t ?get:a=1 t=x", "order", "pay:a", BEFORE.format("the result of touch")),
    ("touch:b#t ?get:a=1 t=x", "order", "pay:a", BEFORE.format("the result of touch")),  # another field reads it
    ("touch:a#t ?any:=1=v", "item", "mark:=1", "v"),
    ("touch:a#t ?any:=1=v t=x", "item", "mark:=1", ANY_BEFORE.format("the result of touch")),
    ("any:=1 =v", "seen", "pay:a", "v"),
    ("?any:=1=v", "seen", "pay:a", "v"),
    ("mark:=2#t ?any:=1=v t=x", "item", "mark:=1", "v"),
    ("mark:=1#t ?any:=1=v t=x", "item", "mark:=1", ANY_BEFORE.format("the result of mark")),
    ("set:a,x#t ?get:a=1 t=x", "still", "pay:a", BEFORE.format("the result of set")),
    ("touch:b#t ?get:b=1 ?get:a=2 t=x", "order", "pay:b", BEFORE.format("the result of touch").replace('"a"', '"b"')),
    ("?get:a=1 turn", "still", "pay:a", BEFORE.format("a turn in free text")),
    ("?get:a=1 turn/touch:a", "still", "pay:a", BEFORE.format("a turn in free text")),
    ("?touch:a=1", "order", "pay:a", UNSEEN),
    ("touch:a#t ?get:a=1 t-", "order", "pay:a", BEFORE.format("the result of touch")),
    ("get:a =0 ?get:b=1", "order", "pay:a", "0"),
    ("get:a =0 ?drop:a=1", "order", "pay:a", "0"),
    ("get:a =0 ?drop:a=1", "loose", "pay:a", GONE),
    ("get:a =0 ?drop:a=1", "still", "pay:a", "0"),
    ("get:a =0 ?touch:a=1", "still", "pay:a", "0"),
    ("get:a =0 ?touch:a=1", "order", "pay:a", GONE),
    ("?set:a,x=1", "level", "pay:a", "x"),
    ("?pair:a=1", "two", "pay:a", "~call.nr is not known"),
]


@pytest.mark.parametrize(("script", "field", "of", "found"), CASES, ids=lambda value: str(value)[:30])
def test_what_is_known_of_a_field(script: str, field: str, of: str, found: object) -> None:
    talk = Talk().tell(script)
    assert talk.read(field, of) == found
    assert talk.read(field, of) == found, "to read changes nothing"


# ---- what is asked ----------------------------------------------------------------------------------


def asking(answers: dict | None = None) -> tuple[Talk, list]:
    """A conversation whose lookups answer a number that grows, or what is told, and what was asked."""
    asked: list = []

    def ask(name: str, arguments: dict) -> object:
        asked.append((name, arguments))
        return (answers or {}).get(name, str(len(asked)))

    return Talk(ask), asked


@pytest.mark.parametrize(
    ("script", "field", "then", "found"),
    [
        ("", "order", "", ["1", "1"]),
        ("", "order", "|", ["1", "1"]),
        ("get:a =0", "order", "", ["0", "0"]),
        ("get:a =0 touch:a =x", "order", "", ["1", "1"]),
        ("", "order", "touch:a =x", ["1", '~it may have changed since get(id="a"), which was asked']),
        ("", "order", "touch:a =x |", ["1", "2"]),
        ("", "order", "touch:b =x", ["1", "1"]),
        ("", "loose", "touch:b =x |", ["1", "2"]),
        ("", "order", "own:a =9", ["1", "9"]),
        ("", "order", "get:a =9", ["1", "9"]),
        ("", "order", "?get:a=9", ["1", "9"]),
        ("", "order", "?get:a", ["1", '~get(id="a"), which was asked: down']),
        ("?get:a", "order", "|", ['~get(id="a"), which was asked: down', "1"]),
    ],
)
def test_what_is_asked_counts_until_something_newer_is_known(
    script: str, field: str, then: str, found: list[str]
) -> None:
    talk, asked = asking()
    assert [talk.tell(script).read(field), talk.tell(then).read(field)] == found
    assert asked == [("get", {"id": "a"})] * len(asked) and len(asked) == len({*found} & {"1", "2"})


def test_what_was_asked_is_told_with_the_question() -> None:
    talk, _ = asking()
    call = called("pay:a")
    first = talk.lookups.fill(Known({"told": "x"}, {}), call, ["order", "still", "now"], "2026-01-31T09:00:00Z")
    assert first.asked == (Lookup("get", {"id": "a"}, "1"),)
    assert first.values == {"told": "x", "order": "1", "still": "1", "now": "2026-01-31T09:00:00Z"}
    assert first.strange == {} and first.origins == {
        "now": "the clock",
        "order": 'get(id="a"), which was asked',
        "still": 'get(id="a"), which was asked',
    }
    again = talk.lookups.fill(Known({}, {}), call, ["order"], None)
    assert again.asked == () and again.values == {"order": "1"}


def test_a_tool_that_fails_gives_its_reason_and_changes_no_question() -> None:
    def ask(name: str, arguments: dict) -> object:
        arguments["id"] = "changed"
        raise SystemExit("gone")

    why = "the tool failed: it cannot be checked: SystemExit: gone"
    found = Talk(ask).lookups.fill(Known({}, {}), called("pay:a"), ["order"], None)
    assert found.strange == {"order": f'get(id="a"), which was asked: {why}'}
    assert found.asked == (Lookup("get", {"id": "a"}, problem=why),)


# ---- what is told beside ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "strange", "left", "why"),
    [
        ({"told": "x"}, {}, {"told": "x"}, {}),
        ({"told": "x"}, {"other": "no"}, {"told": "x"}, {"other": "no"}),
        ({"told": "x", "order": "1"}, {}, {"told": "x"}, {"order": lookups.UNTOLD.format("get")}),
        ({"order": None}, {"other": "no"}, {}, {"other": "no"}),
        ({"told": "x"}, {"order": "no"}, {"told": "x"}, {"order": lookups.UNTOLD.format("get")}),
        ({"now": "x"}, {}, {}, {"now": lookups.UNTOLD.format("the clock")}),
        ({"yes": "x"}, {}, {}, {"yes": lookups.UNTOLD.format("what user says")}),
        ({"made": "x"}, {}, {}, {"made": lookups.UNTOLD.format("own or who")}),
    ],
)
def test_what_is_told_of_a_field_with_a_source_is_not_read(values: dict, strange: dict, left: dict, why: dict) -> None:
    one = Lookups(VALIDATOR)
    assert tuple(one.untold(Known(values, strange))) == (left, why)
    filled = one.fill(one.untold(Known(values, strange)), called("pay:a"), [], None)
    assert (filled.values, filled.strange) == (left, why)


def test_a_reason_names_what_was_told_and_a_value_takes_it_away() -> None:
    one = Talk()
    known = one.lookups.untold(Known({"order": "1"}, {}))
    found = one.lookups.fill(known, called("pay:a"), ["order"], None)
    assert found.strange == {"order": f"{UNSEEN[1:]}; {lookups.UNTOLD.format('get')}"}
    one.tell("get:a =1")
    assert one.lookups.fill(known, called("pay:a"), ["order"], None).strange == {}


def test_without_a_time_there_is_no_clock() -> None:
    assert Talk().read("now") == f"~{lookups.TIMELESS}" and Talk().read("now", time="9") == "9"
    assert Talk().lookups.timed and not Lookups(Validator(tools.parse(json.dumps({"tools": TOOLS})))).timed


@pytest.mark.parametrize("name", ["touch", "drop", "who", "get"])
def test_whether_a_call_may_change_anything(name: str) -> None:
    assert Talk().lookups.changes(Call(name, {})) is (name in ("touch", "drop"))


# ---- how much is kept -------------------------------------------------------------------------------


def test_the_limits() -> None:
    """They are said in the documents; whoever moves one moves these as well."""
    assert (lookups.TIMEOUT_S, operations.HANGING, KEPT, TEXTS) == (2.0, 8, 1024, 256)


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_texts_are_known_as_are_kept(more: int) -> None:
    many = TEXTS + more
    talk = Talk().tell(" ".join(["b.before", *(f"u.{i}" for i in range(many))]))
    found = talk.read("words")
    assert found == (
        f"~at most {TEXTS} texts of user were required; got more" if more else tuple(map(str, range(many)))
    )
    talk.tell("u.last")
    assert talk.read("yes") == "last"
    assert len(talk.lookups._said["user"].value) == TEXTS + 1


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_objects_are_known_as_are_kept(more: int) -> None:
    talk = Talk()
    for i in range(KEPT + more):
        talk.tell(f"get:{i} ={i}")
    assert talk.read("still", "pay:1") == "1" and talk.read("still", f"pay:{KEPT - 1}") == str(KEPT - 1)
    assert (talk.read("still", "pay:0") == "0") is not more
    for i in range(KEPT - 1 + more):  # and one for the field that is of no object
        talk.tell(f"set:{i},{i} =")
    assert talk.read("level", "pay:0") == (f"~more than {KEPT} calls were done that it depends on" if more else "0")


@pytest.mark.parametrize("more", [0, 1])
def test_of_as_many_changes_as_are_kept_each_is_of_its_object_alone(more: int) -> None:
    talk = Talk().tell("get:a =1 get:0 =1")
    for i in range(KEPT):
        talk.tell(f"touch:{i} =x")
    assert talk.read("order") == "1" and str(talk.read("order", "pay:0")).startswith("~what get gave may have changed")
    if more:
        talk.tell("touch:b =x")
        assert talk.read("order") == GONE, "which the first one was is not known any more"


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_results_are_waited_for_as_are_kept(more: int) -> None:
    talk = Talk().tell("get:a =1")
    for i in range(KEPT + more):
        talk.tell(f"touch:{i}#t{i}")
    talk.tell("|")
    lost = f"~more than {KEPT} calls have no result yet, touch among them, which may change it"
    assert talk.read("order") == (lost if more else "1") and talk.read("yes") == "~user has said nothing"
    assert len(talk.lookups._running) == KEPT and len(talk.lookups._late) == more


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_denied_calls_are_known_as_are_kept(more: int) -> None:
    talk = Talk().tell("get:a =1 touch:z#t!")
    for i in range(KEPT - 1 + more):
        talk.tell(f"touch:b#t{i}!")
    assert len(talk.lookups._refused) == KEPT
    talk.tell("t=x")
    assert talk.read("loose") == GONE
    assert talk.read("order") == (GONE if more else "1"), "any call may have run"


def test_a_call_without_an_id_that_is_not_the_last_is_not_waited_for() -> None:
    talk = Talk().tell("touch:a | touch:b | touch:c#c | touch:d")
    assert list(talk.lookups._late) == [] and list(talk.lookups._running) == ["c", 4]
    talk.tell("| touch:e")
    assert list(talk.lookups._late) == [] and list(talk.lookups._running) == ["c", 5]


def test_who_speaks_is_no_tool_although_one_has_that_name() -> None:
    said = {"name": "mine", "type": "string", "from": {"said": "user", **OF, "used_by": {"pay": {"id": "call.id"}}}}
    declared = {"tools": [tool("user", id="integer"), tool("pay", id="string")], "state": [said]}
    one = Lookups(Validator(tools.parse(json.dumps(declared))))
    one.said("user", "Yes")
    assert one.fill(Known({}, {}), called("pay:a"), ["mine"], None).values == {"mine": "Yes"}


# ---- what is left of much, and what it reads --------------------------------------------------------


def test_of_calls_without_a_result_the_oldest_are_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are too many: each result that is done with leaves room for one."""
    monkeypatch.setattr(lookups, "KEPT", 4)
    calls = ["set:a", "mark:a", "own:a", "touch:a", "pay:a", "both:a", "both:b"]
    for many in range(4, 8):
        talk = Talk().tell(" ".join(f"{call}#t{i}" for i, call in enumerate(calls[:many])) + " |")
        assert list(talk.lookups._running) == [f"t{i}" for i in range(many - 4, many)]
        gone = [talk.read(field).startswith("~more than 4 calls") for field in ("level", "tag", "made")]
        assert gone == [many > 4, many > 5, many > 6]
    talk = Talk().tell("set:a touch:b set:b#t1 set:c#t2 set:d#t3 set:e#t4 |")
    assert list(talk.lookups._running) == ["t1", "t2", "t3", "t4"] and not talk.lookups._fields["level"].lost


def test_an_object_that_changed_again_is_among_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them changed when is kept of so many objects; what is known of others is from after all that is not."""
    monkeypatch.setattr(lookups, "KEPT", 3)
    script = "touch:1 = touch:2 = touch:3 = get:a =1 touch:1 = touch:4 ="
    assert Talk().tell(script).read("order") == "1", "the oldest is 2, of before"
    assert Talk().tell(script.replace("get:a =1 touch:1", "touch:1 = get:a =1 touch:2")).read("order") == "1"
    assert Talk().tell(f"{script} touch:5 = touch:6 =").read("order") == GONE


def test_of_equal_results_the_one_that_came_later_says_until_when_another_was_under_way() -> None:
    other = "~{}: a call under way together with it gave another value ({})"
    x, y, z = (f"the result of get (call {name})" for name in "xyz")
    for script, known in (
        ("get:a#x get:a#y y=1 get:a#z x=1 z=2", other.format(z, y)),
        ("get:a#x get:a#y x=1 get:a#z y=1 z=2", other.format(z, y)),
        ("get:a#x get:a#y x=1 y=1 get:a#z z=2", "2"),
        ("get:a#x get:a#y y=1 x=1 get:a#z z=2", "2"),
        ("get:a#x get:a#y get:a#z y=1 z=1 x=2", other.format(z, x)),
        ("get:a#x get:a#y get:a#z z=1 x=1 y=1", "1"),
    ):
        assert Talk().tell(script).read("loose") == known, script


@pytest.mark.parametrize("role", ["nobody", "get", "set", "", "clock"])
def test_what_is_said_by_whom_no_field_is_of_is_not_kept(role: str) -> None:
    one = Lookups(VALIDATOR)
    one.said(role, "Yes")
    assert one._said == {}
    one.said("user", "Yes"), one.said("bot", "Yes")
    assert list(one._said) == ["user"]


def test_what_hangs_is_not_asked_beside_so_many_that_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "HANGING", 2)
    open_, asked = threading.Event(), []

    def ask(name: str, given: dict) -> str:
        asked.append(given["id"])
        open_.wait(5)
        return "late"

    one = Lookups(VALIDATOR, ask=ask, timeout_s=0.001)
    why = [one.fill(Known({}, {}), called(f"pay:{name}"), ["order"], None).strange["order"] for name in "abc"]
    late, many = (
        f'get(id="{{}}"), which was asked: {text}'
        for text in ("an answer within 0.001 s was required; got none", "2 questions before it still have no answer")
    )
    assert why == [late.format("a"), late.format("b"), many.format("c")]
    assert all(thread.daemon for thread in one._runner._hanging), "none of them keeps the process from ending"
    open_.set()
    for thread in one._runner._hanging:
        thread.join(5)
    assert sorted(asked) == ["a", "b"]
    one._timeout_s = 5
    assert one.fill(Known({}, {}), called("pay:d"), ["order"], None).values == {"order": "late"}
    assert one._runner._hanging == []


def other(fields: dict[str, dict]) -> Lookups:
    """What a conversation shows of other fields of the same tools."""
    state = [{"name": "told", "type": "string"}]
    state += [{"name": name, "type": "string", "from": source} for name, source in fields.items()]
    return Lookups(Validator(tools.parse(json.dumps({"tools": TOOLS, "state": state}))))


def test_what_a_field_is_without_any_call_may_be_unknown_too() -> None:
    one = other({"kept": {"done": "set", **OF, "path": "level", "otherwise": "state.told"}})
    for told, known in (({"told": "x"}, {"kept": "x"}), ({}, {})):
        found = one.fill(Known(told, {}), called("pay:a"), ["kept"], None)
        assert found.values == told | known
    assert found.strange == {"kept": "no call of set was done, and state.told is not known"}
    bare = other({"kept": {"done": "set", **OF, "path": "level"}})
    assert bare.fill(Known({}, {}), called("pay:a"), ["kept"], None).strange == {"kept": "no call of set was done"}


@pytest.mark.parametrize(
    ("changed_by", "of"),
    [
        ({"set": {"id": "call.level"}}, "level"),  # the object is told by another argument than that which is asked by
        ({"set": {"id": "call.id"}}, "id"),
        (["set"], "id"),
    ],
)
def test_a_change_that_gives_what_came_of_it_gives_it_for_its_object(changed_by: object, of: str) -> None:
    one = other({"order": {"lookup": "get", **OF, "changed_by": changed_by, "given_by": ["set"]}})
    call = Call("set", {"id": "x", "level": "x"} | {of: "a"})
    one.asked(1, call)
    one.answered(1, "new", False)
    known = [one.fill(Known({}, {}), called(f"pay:{name}"), ["order"], None).values.get("order") for name in "axy"]
    assert known == ["new", None, None]


def test_what_was_asked_is_shown_in_at_most_200_characters() -> None:
    asked = Talk().read("order", f"pay:{'x' * 300}")
    (shown,) = re.findall("for (id=.*), and nothing can be asked", asked)
    assert len(shown) <= 200
    assert lookups._shown({"a": 1, "b": "x", "c": True}) == 'a=1, b="x", c=true'
    assert len(lookups._shown({str(number): number for number in range(500)})) == 200


CHAIN = {
    "first": {"lookup": "get", "arguments": {"id": "call.id"}},
    "second": {"lookup": "get", "arguments": {"id": "state.first"}},
    "third": {"lookup": "get", "arguments": {"id": "state.second"}},
    "apart": {"lookup": "get", "arguments": {"id": "call.id"}, "changed_by": []},
}


def test_what_a_field_is_asked_by_is_filled_as_well_and_nothing_else() -> None:
    state = [{"name": name, "type": "string", "from": source} for name, source in CHAIN.items()]
    validator = Validator(tools.parse(json.dumps({"tools": TOOLS, "state": state})))
    for last, filled in (("first", 1), ("second", 2), ("third", 3)):
        asked: list[str] = []
        one = Lookups(validator, ask=lambda tool, given, asked=asked: (asked.append(given["id"]), given["id"] + "+")[1])
        found = one.fill(Known({}, {}), called("pay:a"), [last], None)
        names, texts = tuple(CHAIN)[:filled], ("a", "a+", "a++", "a+++")
        assert found.values == dict(zip(names, texts[1:], strict=False)) and not found.strange
        assert asked == list(texts[:filled]) == [told.arguments["id"] for told in found.asked]
    one = Lookups(validator)
    found = one.fill(Known({}, {"first": "no"}), called("pay:a"), ["third"], None)
    assert list(found.strange) == ["first", "second", "third"] and found.strange["first"].endswith("asked; no")
    assert found.strange["second"] == f"state.first is not known; {found.strange['first']}"
