"""Pages to state fields by declared paths: nothing, or two, is unknown; old is unknown; a page's text is data."""

import io
import json

import pytest
from bench import airline
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import events, tools, views
from wb.domain.session import Session
from wb.domain.tools import ToolError
from wb.domain.views import View, ViewError
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet

HTML = """<main id="order"><h1>Order&nbsp;7</h1><td class="total">  12
 </td><span class=status data-paid="true">in <b>transit</b></span></main><script>status = "paid"</script>"""
TREE = """
- banner: Shop
- main "order":
  - heading "Order 7" [level=1]
  - table:
      - row "total":
          - cell "sum": "12"
  - status "paid": "true"
  - 'link "no: not here"': paid is false
"""


@pytest.mark.parametrize(
    ("page", "view", "kind", "value"),
    [
        (HTML, View("#order .status"), "string", "in transit"),
        (HTML, View("#order h1"), "string", "Order 7"),
        (HTML, View(".total"), "integer", 12),
        (HTML, View("span.status", "data-paid"), "boolean", True),
        (HTML, View("span", "class"), "string", "status"),
        (TREE, View('main "order" / status "paid"', roles=True), "boolean", True),
        (TREE, View('main "order" / cell "sum"', roles=True), "integer", 12),
        (TREE, View('cell "sum"', roles=True), "string", "12"),
        (TREE, View("banner", roles=True), "string", "Shop"),
    ],
)
def test_one_node_gives_its_text_as_the_type_that_is_declared(page: str, view: View, kind: str, value: object) -> None:
    found = views.read(page, view, kind)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("page", "view", "kind", "why"),
    [
        (HTML, View("#order .paid"), "string", "no nodes"),
        (HTML + HTML, View("#order .status"), "string", "2 nodes"),
        (HTML, View("#order .status", "title"), "string", "a node without it"),
        (HTML, View(".status"), "integer", "a integer was required; got 'in transit'"),
        (TREE, View('main "order"', roles=True), "string", "a node without it"),
        (TREE, View('heading "Order 7" [level=1]', roles=True), "string", "a node without it"),
        (TREE, View('main "cart" / status "paid"', roles=True), "boolean", "no nodes"),
        (TREE + TREE, View('main "order" / status "paid"', roles=True), "boolean", "2 nodes"),
        ("- &a [*a]", View("a", roles=True), "string", "page that can be read"),
        ("[" * 5000, View("a", roles=True), "string", "page that can be read"),
        ("a: [", View("a", roles=True), "string", "page that can be read"),
        ("", View("a", roles=True), "string", "no nodes"),
        ("x" * (views.LONGEST + 1), View("a"), "string", "at most"),
        (None, View("a"), "string", "at most"),
    ],
)
def test_nothing_else_gives_a_value(page: object, view: View, kind: str, why: str) -> None:
    with pytest.raises(ViewError, match=why.replace("(", r"\(")):
        views.read(page, view, kind)


@given(st.text(max_size=40))
def test_no_text_in_a_page_can_be_read_as_another_field(text: str) -> None:
    import html

    import yaml

    page = f'<p class="note">{html.escape(text)}</p><p class="status">open</p>'
    assert views.read(page, View(".status"), "string") == "open"
    tree = yaml.safe_dump([{"note": text}, {'status "x"': "open"}], allow_unicode=False)
    assert views.read(tree, View('status "x"', roles=True), "string") == "open"


def box(**source: object) -> tools.Toolbox:
    acts = [{"name": n, "parameters": {"type": "object", "properties": {}}} for n in ("ship", "edit")]
    look = {"name": "look", "mutating": False, "parameters": {"type": "object", "properties": {}}}
    field = {"name": "paid", "type": "boolean", "from": {"seen": "page", **source}}
    return tools.parse(json.dumps({"tools": [*acts, look], "state": [field]}))


PAID = {"role": 'main "order" / status "paid"'}


def guard(**source: object):
    predicates = (
        Predicate("ship", "action", "", tools=("ship",)),
        Predicate("paid", "state", "", test=cel.parse("state.paid")),
    )
    rule = Rule("r", "", parse("ALWAYS (ship IMPLIES paid)"), "oblige", quote="Ship what is paid.")
    return airline.guarded("views", box(**source), RuleSet(predicates, (rule,)))


@pytest.mark.parametrize(
    ("source", "page"),
    [(PAID, TREE), ({"css": ".status", "attribute": "data-paid"}, HTML)],
)
def test_a_session_reads_the_newest_page_until_a_tool_may_change_it_and_a_record_replays_it(source, page) -> None:
    judge, record = guard(**source), io.StringIO()
    session = Session(judge, record=record)
    assert session.call("ship").decision == "undecided", "no page was seen"
    session.say("user", page)
    assert session.call("ship").decision == "undecided", "who shows pages is declared"
    session.say("page", page.replace("true", "false"))
    assert session.call("ship").decision == "deny"
    session.say("page", page)
    assert session.call("look").decision == "allow"
    session.result("looked")
    assert session.call("ship").decision == "allow"
    session.result("shipped")
    verdict = session.call("ship")
    assert verdict.decision == "undecided" and "may have changed since what page showed" in verdict.reason
    session.say("page", page + page)
    verdict = session.call("ship")
    assert verdict.decision == "undecided" and "2 nodes" in verdict.reason
    happened = [event for run in events.loads(record.getvalue()) for event in run.events]
    again = [one.decision for one in Session(judge).replay(happened)]
    assert again == ["undecided", "undecided", "deny", "allow", "allow", "undecided", "undecided"]


def test_what_the_state_tells_of_a_field_of_a_page_is_not_read() -> None:
    session = Session(guard(**PAID))
    session.state({"paid": True})
    assert session.call("ship").decision == "undecided"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({}, "'css'"),
        ({"css": "p[", "attribute": "id"}, "a CSS selector was required"),
        ({"css": 3}, "'css'"),
        ({"css": "p", "role": "main"}, "'css'"),
        ({"role": "main", "attribute": "id"}, "'css'"),
        ({"role": "main /  / status"}, "roles with names"),
        ({"css": "p", "path": "x"}, "only"),
        ({"css": "p", "changed_by": ["fly"]}, "tools that are declared"),
    ],
)
def test_a_path_that_is_none_is_refused_where_it_is_declared(source: dict, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        box(**source)
