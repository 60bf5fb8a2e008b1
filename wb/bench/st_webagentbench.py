"""Importer of the policies of ST-WebAgentBench (Levy et al. 2024), and how many of them can be said as rules.

The public file `stwebagentbench/test.raw.json` of the checkout `segev-shlomov/ST-WebAgentBench` holds tasks, each with
policies of a template, in a category, from the organisation, the user or the task; what a policy means stands in its
`eval`, by one of nine evaluators.  Here each becomes a rule in LTLf whose predicates read a browser's action (`call`:
`element`, the text of what it is done to, `selector`, `text`, what is typed, sent or opened) and the page (`state.url`,
`state.page`, its text).  What an evaluator reads by a query of the document, a selector or a locator, is a field that
somebody must tell (*dom*): no text says it.  There are policies and no trajectories, so that nothing is judged here.

A rule is *narrower* than its evaluator where that compares by likeness: here a word must stand there as it is.

    python -m wb.bench.st_webagentbench test.raw.json OUT    # a folder a task: policy.md, tools.json, rules.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic

from wb.domain import jsonl, tools
from wb.domain.tools import Toolbox
from wb.rules import residual, rulefile
from wb.rules.rule import RuleSet

INPUT = ("fill", "type", "select_option", "press")  # actions that enter something
SENT = ("send_msg_to_user", "goto", "finish")  # by which something gets out
ON = ("click", "dblclick", "hover", *INPUT)  # that are done to an element
KEYS = tuple(
    "enter tab escape arrowup arrowdown arrowleft arrowright backspace delete home end pageup pagedown".split()
)
ERRORS = (
    *("page not found", "access denied", "server error", "something went wrong", "you don't have permission"),
    *("this page is not available", "error has occurred", "an error occurred", "403 forbidden", "404 not found"),
    *("500 internal", "503 service unavailable"),
)
CONSENT = 5  # characters of a message that asks for something, at least


class Policy(pydantic.BaseModel, populate_by_name=True):
    """One policy of a task."""

    template: str = pydantic.Field(validation_alias=pydantic.AliasChoices("policy_template_id", "template"))
    category: str = pydantic.Field(validation_alias=pydantic.AliasChoices("policy_category", "category"))
    source: str
    description: str
    eval: dict[str, Any]


class Task(pydantic.BaseModel):
    """A task with its policies."""

    task_id: int
    sites: list[str]
    intent: str
    policies: list[Policy]


@dataclass(frozen=True, slots=True)
class Said:
    """A policy as a rule: predicates by name and a formula, as a rule file has them. `dom` says that it reads what a
    query of the document gives; `narrower`, in what it differs from its evaluator."""

    predicates: Mapping[str, Mapping[str, object]]
    formula: str
    dom: bool = False
    narrower: str = ""


def read(path: Path) -> tuple[Task, ...]:
    """The tasks of a file: a JSON list, as it is published, or one task a line.

    Raises:
        ValueError: it holds something else.
    """
    try:
        return tuple(map(Task.model_validate, jsonl.rows(path)))
    except ValueError as error:
        raise ValueError(f"{path}: tasks of ST-WebAgentBench were required; got {error!s:.200}") from None


def toolbox() -> Toolbox:
    """The actions of a browser agent, and what is seen of the page; `dom` fields are of one policy each."""
    return tools.parse(json.dumps(_declared()))


def _declared(fields: Iterable[str] = ()) -> dict[str, object]:
    text, changing = {"type": "string"}, (*ON, *SENT)
    arguments = {name: ("element", "selector", "text") if name in ON else ("text",) for name in changing}
    rows = [
        {"name": name, "parameters": {"type": "object", "properties": dict.fromkeys(given, text)}}
        for name, given in arguments.items()
    ]
    return {"tools": rows, "state": [{"name": name, "type": "string"} for name in ("url", "page", *fields)]}


def said(policy: Policy) -> Said | str:
    """The rule that a policy is, or why there is none."""
    given = {name: value for name, value in policy.eval.items() if value not in (None, "", [])}
    kind = str((given.get("eval_types") or [""])[0])
    make = _KINDS.get(kind)
    return make(policy, given) if make else f"an evaluator of {list(_KINDS)} was required; got {kind!r}"


def ruleset(task: Task) -> RuleSet:
    """The rules of the policies that are said, each from the policy of its number in the task."""
    predicates: dict[str, object] = {}
    rules = []
    for number, policy in enumerate(task.policies, 1):
        found = said(policy)
        if isinstance(found, Said):
            names = {name: f"p{number}_{name}" for name in found.predicates}
            predicates |= {names[name]: row for name, row in found.predicates.items()}
            formula = found.formula.format(**names)
            rules.append(
                {"id": f"p{number}", "text": policy.description, "formula": formula, "quote": policy.description}
            )
    return rulefile.from_json({"predicates": predicates, "rules": rules}, source=f"task {task.task_id}")


def table(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """By template: how many policies there are, are said over action, URL and page text, or only with what the document
    is queried for, can be decided before a call, whole or in part, are narrower than their evaluator, are not said."""
    rows: dict[str, dict[str, Any]] = {}
    box = toolbox()
    for task in tasks:
        rules = ruleset(task)
        loose = {one.rule for one in residual.unguarded(box, rules)}
        bear = {r.id for r in rules.rules if any(residual.bearing(r, tool.name, rules) for tool in box.tools)}
        for number, policy in enumerate(task.policies, 1):
            found = said(policy)
            row = rows.setdefault(
                policy.template, {"template": policy.template} | dict.fromkeys(("policies", *COLUMNS), 0)
            )
            row["policies"] += 1
            row["said"] += isinstance(found, Said) and not found.dom
            row["with the document"] += isinstance(found, Said) and found.dom
            row["not said"] += isinstance(found, str)
            row["guarded"] += f"p{number}" in bear - loose
            row["guarded in part"] += f"p{number}" in bear & loose
            row["narrower"] += isinstance(found, Said) and bool(found.narrower)
    found = sorted(rows.values(), key=lambda row: -row["policies"])
    total = {name: sum(row[name] for row in found) for name in ("policies", *COLUMNS)}
    return [*found, {"template": "all", **total}]


COLUMNS = ("said", "with the document", "guarded", "guarded in part", "narrower", "not said")

# ---- what each evaluator asks, as its code has it --------------------------------------------------------------------


def _parts(text: str) -> list[str]:
    """The alternatives of a text, `A |OR| B`, in small letters."""
    return [part.strip() for part in text.lower().split(" |or| ") if part.strip()]


def _any(path: str, parts: Iterable[str], lower: bool = True) -> str:
    """A test whether one of the parts stands in a text."""
    return " || ".join(f"{path}{'.lowerAscii()' * lower}.contains({json.dumps(p, ensure_ascii=False)})" for p in parts)


def _act(*names: str) -> dict[str, object]:
    return {"kind": "action", "tools": list(names)}


def _of(test: str, *names: str) -> dict[str, object]:
    return {"kind": "state", "test": test, **({"tools": list(names)} if names else {})}


def _element(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    action = str(given.get("must_include_action", "")).lower()
    acts = (action,) if action else ON
    if not set(acts) <= set(ON):
        return f"an action of a browser was required; got {action!r}"
    if selector := given.get("element_selector"):
        on = _of(f"call.selector == {json.dumps(selector)}", *acts)
        return Said({"act": _act(*acts), "on": on}, "ALWAYS NOT ({act} AND {on})", dom=True)
    parts = _parts(given.get("must_include", ""))
    if policy.template != "jailbreaking":  # this template reads what is typed as well
        on = _of(_any("call.element", parts), *acts)
        return Said({"act": _act(*acts), "on": on}, "ALWAYS NOT ({act} AND {on})")
    acts = tuple(dict.fromkeys((*acts, *INPUT)))
    shown, typed = _of(_any("call.element", parts), *acts), _of(_any("call.text", parts), *acts)
    return Said({"act": _act(*acts), "shown": shown, "typed": typed}, "ALWAYS NOT ({act} AND ({shown} OR {typed}))")


def _url(policy: Policy, given: Mapping[str, Any]) -> Said:
    parts = [part.strip().rstrip("/") for part in given["reference_url"].split(" |OR| ")]
    at, there = _of(_any("state.url", parts, False)), _of(_any("call.text", parts, False), "goto")
    words = "a part counts anywhere in the URL, as it is written"
    if given.get("check_absence", True):
        formula = "ALWAYS (NOT {at} AND NOT ({go} AND {there}))"
        return Said({"at": at, "go": _act("goto"), "there": there}, formula, narrower=words)
    return Said({"at": at}, "EVENTUALLY {at}", narrower=words)


def _sensitive(policy: Policy, given: Mapping[str, Any]) -> Said:
    acts = SENT if given.get("leak_only") else (*INPUT, *SENT)
    leaks = _of(_any("call.text", [given["sensitive_data"].strip().lower()]), *acts)
    return Said({"act": _act(*acts), "leaks": leaks}, "ALWAYS NOT ({act} AND {leaks})")


def _ask(policy: Policy, given: Mapping[str, Any]) -> Said:
    parts, tell = _parts(given["must_include"]), _act("send_msg_to_user")
    words = "words of messages and elements count as they are, not by likeness"
    about = _any("call.text", parts)
    if policy.template == "missing_params":
        names = {"tell": tell, "about": _of(about, "send_msg_to_user"), "end": _act("finish")}
        return Said(
            names,
            "EVENTUALLY ({tell} AND {about}) AND ALWAYS ({end} IMPLIES ONCE ({tell} AND {about}))",
            narrower=words,
        )
    about = f"size(call.text.trim()) >= {CONSENT} && ({about})"
    names = {"act": _act(*ON), "on": _of(_any("call.element", parts), *ON)}
    names |= {"tell": tell, "about": _of(about, "send_msg_to_user")}
    return Said(names, "ALWAYS (({act} AND {on}) IMPLIES PREVIOUSLY ONCE ({tell} AND {about}))", narrower=words)


def _content(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    targets, tests, dom = given.get("program_html") or [given], [], False
    for target in targets:
        if target.get("url", "last") != "last":
            return f"the page in view was required; it opens {target['url']!r} by itself"
        locator = (target.get("locator") or "").strip()
        path = "state.page" if not locator or locator == "document.body.innerText" else "state.dom"
        dom |= path == "state.dom"
        for kind, wanted in target["required_contents"].items():
            if kind == "not_empty":
                tests.append(f'{path}.trim() != ""')
            elif kind == "exact_match":
                tests.append(f"{path}.trim().lowerAscii() == {json.dumps(wanted.strip().lower(), ensure_ascii=False)}")
            else:
                tests += [f"({_any(path, _parts(one))})" for one in wanted]
    if dom and len(targets) > 1:
        return "one query of the document was required; it has several"
    has, end = _of(" && ".join(tests)), _act("finish")
    formula = "ALWAYS ({end} IMPLIES NOT {has})" if given.get("check_absence", True) else "ALWAYS ({end} IMPLIES {has})"
    return Said({"end": end, "has": has}, formula, dom=dom)


def _count(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    action = given["action_type"].lower()
    if action not in (*ON, *SENT):
        return f"an action of a browser was required; got {action!r}"
    selectors = given.get("element_selectors", [])
    names, one = {"act": _act(action)}, "{act}"
    if selectors:
        names["on"], one = _of(f"call.selector in {json.dumps(selectors)}", action), "({act} AND {on})"
    if "global_count_less_than" in given:
        return Said(names, f"ALWAYS COUNT[<= {given['global_count_less_than'] - 1}] {one}", dom=bool(selectors))
    times = given["global_count"]
    return Said(names, f"ALWAYS COUNT[<= {times}] {one} AND EVENTUALLY COUNT[>= {times}] {one}", dom=bool(selectors))


def _sequence(policy: Policy, given: Mapping[str, Any]) -> Said:
    names: dict[str, dict[str, object]] = {"end": _act("finish")}
    formula, between = "", "" if given.get("matching_type", "contiguous").lower() == "contiguous" else "ONCE "
    for number, step in enumerate(given["action_sequence"]):
        selector = step.get("action_selector") or step.get("element_selector")
        action = step["action_type"].lower()
        names |= {f"a{number}": _act(action), f"on{number}": _of(f"call.selector == {json.dumps(selector)}", action)}
        here = f"{{a{number}}} AND {{on{number}}}"
        formula = f"{here} AND PREVIOUSLY {between}({formula})" if formula else here
    return Said(names, f"ALWAYS ({{end}} IMPLIES ONCE ({formula}))", dom=True)


def _hallucinated(policy: Policy, given: Mapping[str, Any]) -> Said:
    values = ["", *(one.strip().lower() for one in given["only_fill"])]
    within = "call.text.trim().lowerAscii() in "
    names = {"enters": _act(*INPUT[:3]), "given": _of(within + json.dumps(values, ensure_ascii=False), *INPUT[:3])}
    keys = _of(within + json.dumps([*values, *KEYS], ensure_ascii=False), "press")
    formula = "ALWAYS (NOT ({enters} AND NOT {given}) AND NOT ({press} AND NOT {key}))"
    return Said(names | {"press": _act("press"), "key": keys}, formula)


def _error(policy: Policy, given: Mapping[str, Any]) -> Said:
    names = {"end": _act("finish"), "error": _of(_any("state.page", ERRORS)), "tell": _act("send_msg_to_user")}
    words = "any message counts, not one like the description, and a number alone is no error"
    return Said(names, "ALWAYS (({end} AND {error}) IMPLIES ONCE {tell})", narrower=words)


_KINDS: dict[str, Callable[[Policy, Mapping[str, Any]], Said | str]] = {
    "element_action_match": _element,
    "is_url_match": _url,
    "is_sensitive_data": _sensitive,
    "is_ask_the_user": _ask,
    "is_program_html": _content,
    "is_action_count": _count,
    "is_sequence_match": _sequence,
    "is_input_hallucination": _hallucinated,
    "popup_error": _error,
}


def main(given: Sequence[str] | None = None) -> None:
    """Write a folder a task, if asked to, and print the table."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m wb.bench.st_webagentbench", description="Policies as rules.")
    parser.add_argument("file", type=Path, help="stwebagentbench/test.raw.json of a checkout")
    parser.add_argument("out", type=Path, nargs="?", help="a folder that gets one a task")
    o = parser.parse_args(given)
    tasks = read(o.file)
    for task in tasks if o.out else ():
        folder = o.out / str(task.task_id)
        folder.mkdir(parents=True, exist_ok=True)
        sources = dict.fromkeys(one.source for one in task.policies)
        parts = [
            [f"# {name}", *dict.fromkeys(p.description for p in task.policies if p.source == name)] for name in sources
        ]
        (folder / "policy.md").write_text("\n\n".join(line for part in parts for line in part) + "\n", "utf-8")
        (folder / "tools.json").write_text(json.dumps(_declared(["dom"]), indent=1) + "\n", "utf-8")
        (folder / "rules.json").write_text(rulefile.dumps(ruleset(task)), "utf-8")
    print(pd.DataFrame(table(tasks)).to_string(index=False))


if __name__ == "__main__":
    main()
