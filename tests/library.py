"""A small policy with guards, for the tests of what meets agents: a library's desk, its tools as Python functions."""

from __future__ import annotations

import json

from bench import airline

from wb.domain import tools
from wb.domain.session import Session
from wb.guards.runtime import CallGuard
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet


def _tool(name: str, mutating: bool, **properties: dict) -> dict:
    parameters = {"type": "object", "properties": properties, "required": [n for n in properties if n != "note"]}
    return {"name": name, "description": name, "mutating": mutating, "parameters": parameters}


TEXT = {"type": "string"}
TOOLS = {
    "tools": [
        _tool("lend_book", True, days={"type": "integer", "description": "for how many days"}, note=TEXT),
        _tool("get_reader", False, reader=TEXT),
        _tool("pay_fine", True, reader=TEXT),
        _tool("close_card", True, reader=TEXT),
    ],
    "state": [
        {"name": "card_blocked", "type": "boolean"},
        {"name": "age", "type": "integer"},
        {"name": "words", "type": "string", "from": {"said": "user", "used_by": ["close_card"]}},
    ],
}
BOX = tools.parse(json.dumps(TOOLS))
PREDICATES = (
    *(Predicate(tool.name, "action", "", tools=(tool.name,)) for tool in BOX.tools),
    Predicate("short", "state", "", tools=("lend_book",), test=cel.parse("call.days <= 14")),
    Predicate("blocked", "state", "", test=cel.parse("state.card_blocked")),
    Predicate("agreed", "state", "", test=cel.parse('state.words == "yes"')),
)
SHORT = "Books are lent for at most 14 days."
BLOCKED = "Nothing is lent on a blocked card."
LOOK = "A fine is taken only after the reader was looked up."
AGREED = "A card is closed only where the reader says yes."
TEXTS = {
    SHORT: "ALWAYS (lend_book IMPLIES short)",
    BLOCKED: "ALWAYS (lend_book IMPLIES NOT blocked)",
    LOOK: "ALWAYS (pay_fine IMPLIES ONCE get_reader)",
    AGREED: "ALWAYS (close_card IMPLIES agreed)",
}
RULES = RuleSet(
    PREDICATES,
    tuple(Rule(f"r{i}", said, parse(text), "forbid", quote=said) for i, (said, text) in enumerate(TEXTS.items(), 1)),
)
GUARD: CallGuard = airline.guarded("library", BOX, RULES)


class Desk:
    """The functions of the tools, which write down what they did."""

    def __init__(self) -> None:
        self.done: list[tuple] = []

    def lend_book(self, days: int, note: str = "") -> str:
        """Lend a book."""
        self.done.append(("lend_book", days))
        return f"lent for {days} days"

    def get_reader(self, reader: str) -> dict[str, object]:
        """Look a reader up."""
        if reader == "nobody":
            raise KeyError(reader)
        self.done.append(("get_reader", reader))
        return {"reader": reader, "level": 2}

    def pay_fine(self, reader: str) -> str:
        """Take a fine."""
        self.done.append(("pay_fine", reader))
        return "paid"

    def close_card(self, reader: str) -> str:
        """Close a card."""
        self.done.append(("close_card", reader))
        return "closed"

    def burn_book(self) -> str:
        """A tool that no policy knows."""
        self.done.append(("burn_book",))
        return "burnt"

    @property
    def tools(self) -> dict[str, object]:
        """All of them, by name."""
        return {name: getattr(self, name) for name in (*(tool.name for tool in BOX.tools), "burn_book")}


def session(**options: object) -> Session:
    """A conversation with a reader whose card is not blocked."""
    one = Session(GUARD, **options)
    one.state({"card_blocked": False})
    return one


def paid_once(atomic: bool) -> Session:
    """A desk that takes one fine, whose tool may be atomic."""
    box = tools.parse(json.dumps([{"name": "pay_fine", "atomic": atomic}]))
    pays = Predicate("pay_fine", "action", "", tools=("pay_fine",))
    once = Rule("r", "", parse("ALWAYS (pay_fine IMPLIES NOT PREVIOUSLY ONCE pay_fine)"), "forbid", quote="One fine.")
    return Session(airline.guarded("desk", box, RuleSet((pays,), (once,))))
