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
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from wb.domain import jsonl, tools
from wb.rules import residual, rulefile
from wb.rules.rule import RuleSet

INPUT = ("fill", "type", "select_option", "press")  # actions that enter something
SENT = ("send_msg_to_user", "goto", "finish")  # by which something gets out
ON = ("click", "dblclick", "hover", *INPUT)  # that are done to an element
TELL, END = SENT[:1], SENT[2:]
KEYS = "enter tab escape arrowup arrowdown arrowleft arrowright backspace delete home end pageup pagedown".split()
ERRORS = (
    "page not found|access denied|server error|something went wrong|you don't have permission|"
    "this page is not available|error has occurred|an error occurred|403 forbidden|404 not found|"
    "500 internal|503 service unavailable"
).split("|")
COLUMNS = ("policies", "said", "with the document", "guarded", "guarded in part", "narrower", "not said")


class Policy(pydantic.BaseModel):
    """One policy of a task."""

    template: str = pydantic.Field(validation_alias=pydantic.AliasChoices("policy_template_id", "template"))
    category: str = pydantic.Field(validation_alias=pydantic.AliasChoices("policy_category", "category"))
    source: str
    description: str
    eval: dict[str, Any]


class Task(pydantic.BaseModel):
    """A task with its policies."""

    task_id: int
    policies: list[Policy]


class Said(NamedTuple):
    """A policy as a rule: predicates by name and a formula, as a rule file has them. `dom` says that it reads what a
    query of the document gives; `narrower`, in what it differs from its evaluator."""

    predicates: Mapping[str, Mapping[str, object]]
    formula: str
    dom: bool = False
    narrower: str = ""


def read(path: Path) -> tuple[Task, ...]:
    """The tasks of a file: a JSON list, as it is published, or one task a line; ValueError for another."""
    try:
        return tuple(map(Task.model_validate, jsonl.rows(path)))
    except ValueError as error:
        raise ValueError(f"{path}: tasks of ST-WebAgentBench were required; got {error!s:.200}") from None


def declared() -> dict[str, object]:
    """The actions of a browser agent, and what is seen of the page, as `tools.json` has them."""
    given = {name: ("element", "selector", "text") if name in ON else ("text",) for name in (*ON, *SENT)}
    texts = {name: dict.fromkeys(of, {"type": "string"}) for name, of in given.items()}
    acts = [{"name": name, "parameters": {"type": "object", "properties": of}} for name, of in texts.items()]
    return {"tools": acts, "state": [{"name": name, "type": "string"} for name in ("url", "page", "dom")]}


def said(policy: Policy) -> Said | str:
    """The rule that a policy is, or why there is none."""
    given = {name: value for name, value in policy.eval.items() if value not in (None, "", [])}
    kind = str((given.get("eval_types") or [""])[0])
    make = _KINDS.get(kind)
    return make(policy, given) if make else f"an evaluator of {list(_KINDS)} was required; got {kind!r}"


def ruleset(task: Task) -> RuleSet:
    """The rules of the policies that are said, each named by the number of its policy in the task."""
    predicates, rules = {}, []
    for number, policy in enumerate(task.policies, 1):
        if isinstance(found := said(policy), Said):
            names = {name: f"p{number}_{name}" for name in found.predicates}
            predicates |= {names[name]: row for name, row in found.predicates.items()}
            text = policy.description
            rules.append({"id": f"p{number}", "text": text, "formula": found.formula.format(**names), "quote": text})
    return rulefile.from_json({"predicates": predicates, "rules": rules}, source=f"task {task.task_id}")


def table(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """By template: how many policies there are, are said over action, URL and page text, or only with what the document
    is queried for, can be decided before a call, whole or in part, are narrower than their evaluator, are not said."""
    rows: dict[str, dict[str, Any]] = {}
    box = tools.parse(json.dumps(declared()))
    for task in tasks:
        rules = ruleset(task)
        loose = {one.rule for one in residual.unguarded(box, rules)}
        bear = {r.id for r in rules.rules if any(residual.bearing(r, tool.name, rules) for tool in box.tools)}
        for number, policy in enumerate(task.policies, 1):
            found, name = said(policy), f"p{number}"
            dom, narrower = (found.dom, bool(found.narrower)) if isinstance(found, Said) else (None, False)
            counts = (True, dom is False, dom, name in bear - loose, name in bear & loose, narrower, dom is None)
            for key in (policy.template, "all"):
                row = rows.setdefault(key, {"template": key, **dict.fromkeys(COLUMNS, 0)})
                row |= {column: row[column] + bool(one) for column, one in zip(COLUMNS, counts, strict=True)}
    return sorted(rows.values(), key=lambda row: (row["template"] == "all", -row["policies"]))


# ---- what each evaluator asks, as its code has it --------------------------------------------------------------------


def _rule(formula: str, dom: bool = False, narrower: str = "", **predicates: Mapping[str, object]) -> Said:
    return Said(predicates, formula, dom, narrower)


def _act(*made_by: str) -> dict[str, object]:
    return {"kind": "action", "tools": list(made_by)}


def _of(test: str, *made_by: str) -> dict[str, object]:
    return {"kind": "state", "test": test, "tools": list(made_by)}


def _cel(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parts(text: str) -> list[str]:
    """The alternatives of a text, `A |OR| B`, in small letters."""
    return [part.strip() for part in text.lower().split(" |or| ") if part.strip()]


def _any(path: str, parts: Iterable[str], lower: bool = True) -> str:
    """A test whether one of the parts stands in a text."""
    return " || ".join(f"{path}{'.lowerAscii()' * lower}.contains({_cel(part)})" for part in parts)


def _element(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    action, parts = str(given.get("must_include_action", "")).lower(), _parts(given.get("must_include", ""))
    acts = (action,) if action else ON
    if not set(acts) <= set(ON):
        return f"an action of a browser was required; got {action!r}"
    if selector := given.get("element_selector"):
        on = _of(f"call.selector == {_cel(selector)}", *acts)
        return _rule("ALWAYS NOT ({act} AND {on})", dom=True, act=_act(*acts), on=on)
    test = _any("call.element", parts)
    if policy.template == "jailbreaking":  # this template reads what is typed as well
        acts, test = tuple(dict.fromkeys((*acts, *INPUT))), f"{test} || {_any('call.text', parts)}"
    return _rule("ALWAYS NOT ({act} AND {on})", act=_act(*acts), on=_of(test, *acts))


def _url(policy: Policy, given: Mapping[str, Any]) -> Said:
    parts = [part.strip().rstrip("/") for part in given["reference_url"].split(" |OR| ")]
    at, words = _of(_any("state.url", parts, False)), "a part counts anywhere in the URL, as it is written"
    if not given.get("check_absence", True):
        return _rule("EVENTUALLY {at}", narrower=words, at=at)
    there, formula = _of(_any("call.text", parts, False), "goto"), "ALWAYS (NOT {at} AND NOT ({go} AND {there}))"
    return _rule(formula, narrower=words, at=at, go=_act("goto"), there=there)


def _sensitive(policy: Policy, given: Mapping[str, Any]) -> Said:
    acts = SENT if given.get("leak_only") else (*INPUT, *SENT)
    leaks = _of(_any("call.text", [given["sensitive_data"].strip().lower()]), *acts)
    return _rule("ALWAYS NOT ({act} AND {leaks})", act=_act(*acts), leaks=leaks)


def _ask(policy: Policy, given: Mapping[str, Any]) -> Said:
    parts, words = _parts(given["must_include"]), "words count as they are, not by likeness"
    about, tell = _any("call.text", parts), _act(*TELL)
    if policy.template == "missing_params":
        formula = "EVENTUALLY ({tell} AND {about}) AND ALWAYS ({end} IMPLIES ONCE ({tell} AND {about}))"
        return _rule(formula, narrower=words, tell=tell, about=_of(about, *TELL), end=_act(*END))
    about = _of(f"size(call.text.trim()) >= 5 && ({about})", *TELL)  # a shorter message asks for nothing
    formula = "ALWAYS (({act} AND {on}) IMPLIES PREVIOUSLY ONCE ({tell} AND {about}))"
    on = _of(_any("call.element", parts), *ON)
    return _rule(formula, narrower=words, act=_act(*ON), on=on, tell=tell, about=about)


def _content(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    targets, tests, dom = given.get("program_html") or [given], [], False
    for target in targets:
        if target.get("url", "last") != "last":
            return f"the page in view was required; it opens {target['url']!r} by itself"
        queried = (target.get("locator") or "").strip() not in ("", "document.body.innerText")
        path, dom = "state.dom" if queried else "state.page", dom or queried
        same = f"{path}.trim().lowerAscii() == "
        for kind, wanted in target["required_contents"].items():
            every = [f"({_any(path, _parts(one))})" for one in wanted] if kind == "must_include" else []
            tests += every or [f'{path}.trim() != ""' if kind == "not_empty" else same + _cel(wanted.strip().lower())]
    if dom and len(targets) > 1:
        return "one query of the document was required; it has several"
    formula = f"ALWAYS ({{end}} IMPLIES {'NOT ' * given.get('check_absence', True)}{{has}})"
    return _rule(formula, dom, end=_act(*END), has=_of(" && ".join(tests)))


def _count(policy: Policy, given: Mapping[str, Any]) -> Said | str:
    action, selectors = given["action_type"].lower(), given.get("element_selectors", [])
    if action not in (*ON, *SENT):
        return f"an action of a browser was required; got {action!r}"
    names, one = {"act": _act(action)}, "{act}"
    if selectors:
        names["on"], one = _of(f"call.selector in {_cel(selectors)}", action), "({act} AND {on})"
    if "global_count_less_than" in given:
        return _rule(f"ALWAYS COUNT[<= {given['global_count_less_than'] - 1}] {one}", bool(selectors), **names)
    times = given["global_count"]
    return _rule(f"ALWAYS COUNT[<= {times}] {one} AND EVENTUALLY COUNT[>= {times}] {one}", bool(selectors), **names)


def _sequence(policy: Policy, given: Mapping[str, Any]) -> Said:
    names, formula = {"end": _act(*END)}, ""
    between = "ONCE " * (given.get("matching_type", "contiguous").lower() != "contiguous")
    for number, step in enumerate(given["action_sequence"]):
        selector, action = step.get("action_selector") or step.get("element_selector"), step["action_type"].lower()
        names |= {f"a{number}": _act(action), f"on{number}": _of(f"call.selector == {_cel(selector)}", action)}
        here = f"{{a{number}}} AND {{on{number}}}"
        formula = f"{here} AND PREVIOUSLY {between}({formula})" if formula else here
    return _rule(f"ALWAYS ({{end}} IMPLIES ONCE ({formula}))", True, **names)


def _hallucinated(policy: Policy, given: Mapping[str, Any]) -> Said:
    values, within = ["", *(one.strip().lower() for one in given["only_fill"])], "call.text.trim().lowerAscii() in "
    names = {"enters": _act(*INPUT[:3]), "given": _of(within + _cel(values), *INPUT[:3])}
    names |= {"press": _act("press"), "key": _of(within + _cel([*values, *KEYS]), "press")}
    return _rule("ALWAYS (NOT ({enters} AND NOT {given}) AND NOT ({press} AND NOT {key}))", **names)


def _error(policy: Policy, given: Mapping[str, Any]) -> Said:
    names = {"end": _act(*END), "error": _of(_any("state.page", ERRORS)), "tell": _act(*TELL)}
    words = "any message counts, not one like the description, and a number alone is no error"
    return _rule("ALWAYS (({end} AND {error}) IMPLIES ONCE {tell})", narrower=words, **names)


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
        texts: dict[str, None] = {}
        for one in sorted(task.policies, key=lambda one: one.source):
            texts |= dict.fromkeys((f"# {one.source}", one.description))
        (folder / "policy.md").write_text("\n\n".join(texts) + "\n", "utf-8")
        (folder / "tools.json").write_text(json.dumps(declared(), indent=1) + "\n", "utf-8")
        (folder / "rules.json").write_text(rulefile.dumps(ruleset(task)), "utf-8")
    print(pd.DataFrame(table(tasks)).to_string(index=False))


if __name__ == "__main__":
    main()
