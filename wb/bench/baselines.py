"""Baselines to measure guards against: a model asked directly, rule by rule, through code, and plain keywords.

`Direct` and `RuleTraverse` are ShieldAgent's (Sec. 5.1), `GuardAgent` follows Xiang et al. (2024): a plan, code from
the plan, the code run; its memory holds the turns whose code could be run, and the nearest of them are shown as
examples.  Both of the former can put several turns, and so many rules, into one question (`batch`): fewer queries, and
another method than the paper's, which is to be said.  `Keywords` needs no model and no extraction: words of the
toolbox in the sentences of the policy.  All see the same policy and the same turn.  What a model leaves open, gets
wrong twice or does not answer is undecided, which permits nothing.
A call that does not fit `tools.json` is denied before anybody is asked, and state fields that do not fit are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import batched, product
from typing import Literal

import pydantic

from wb.domain.events import Observation
from wb.domain.policy import Policy
from wb.domain.tools import Field, Tool, Toolbox, candidates
from wb.domain.trace import Step, Trace, Verdict
from wb.domain.validation import Validator
from wb.guards import sandbox
from wb.models.client import LLM, Unanswered
from wb.rules.rule import RuleSet

PYTHON = {"boolean": "bool", "integer": "int", "string": "str"}  # what the sandbox's language knows
CUE = re.compile(r"\b(?:must|cannot|can't|never|not|no|only|unless|without|requires?|needs?)\b", re.IGNORECASE)
ABOVE = re.compile(r"\b(?:at most|more than|above|over|exceed\w*|up to)\b", re.IGNORECASE)
NUMBER = re.compile(r"\b\d+\b")
AT_ONCE = 8  # turns that GuardAgent judges before its memory takes them in
EXAMPLES = 2  # of its memory that it shows


class Judged(pydantic.BaseModel, extra="forbid"):
    """The reply to `direct`: a decision, and the sentences that a denied turn violates."""

    decision: Literal["allow", "deny", "undecided"]
    violated: list[str]
    reason: str


class RuleJudged(pydantic.BaseModel, extra="forbid"):
    """The reply to `rule_traverse`: whether the turn violates one rule."""

    violated: Literal["yes", "no", "unknown"]
    reason: str


class Turn(pydantic.BaseModel, extra="forbid"):
    """What the reply to `judge_turns` says of one turn: the statements it violates, and those that cannot be told."""

    id: str
    violated: list[str]
    unknown: list[str]
    reason: str = ""


class Turns(pydantic.BaseModel, extra="forbid"):
    """The reply to `judge_turns`."""

    turns: list[Turn]


class Plan(pydantic.BaseModel, extra="forbid"):
    """The reply to `guardagent_plan`: the sentences that bear on the turn, and what to check for each."""

    sentences: list[str]
    steps: list[str]


class Code(pydantic.BaseModel, extra="forbid"):
    """The reply to `guardagent_code`: one function in the language of `sandbox`."""

    code: str


def observed(observation: Observation, *, name: str = "turn") -> Trace:
    """A turn as a baseline sees it: everything that was seen, in words, and the state; no tool is told."""
    rows = {
        "task": observation.task,
        "website": observation.website,
        "previous actions": "; ".join(observation.previous_actions),
        "next action": observation.target_action,
        "agent": observation.agent_output,
    }
    text = "\n".join(f"{label}: {value}" for label, value in rows.items() if value)
    return Trace(name, (Step((), dict(observation.state), text),))


class Baseline:
    """A baseline: traces whose last calls fit the tools are judged together by `judge`, of the fields that fit."""

    name: str

    def __init__(self, toolbox: Toolbox | None) -> None:
        self._validator = Validator(toolbox)

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """The verdicts on the last steps of traces that fit."""
        raise NotImplementedError

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the last step; a call that does not fit is denied, and nobody is asked."""
        return self.decide_all((trace,))[0]

    def decide_all(self, traces: Sequence[Trace]) -> tuple[Verdict, ...]:
        """The verdicts on many traces, asked side by side."""
        checked = [self._validator.trace(trace) for trace in traces]
        verdicts = iter(self.judge([trace for trace, refusal in checked if not refusal]))
        return tuple(Verdict("deny", why, grade="error") if why else next(verdicts) for _, why in checked)


class Direct(Baseline):
    """One query for `batch` turns: the whole policy and the turns, for decisions and the violated sentences."""

    name = "direct"

    def __init__(self, policy: Policy, llm: LLM, batch: int = 1) -> None:
        super().__init__(policy.toolbox)
        self.policy, self.llm, self.batch = policy, llm, batch

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """The model's verdicts."""
        if self.batch > 1:
            texts = [one.text for one in self.policy.sentences if one.kind != "heading"]
            return _together(self.llm, {text: text for text in texts}, traces, self.batch, len(texts), most=len(texts))
        replies = self.llm.ask_all("direct", Judged, [{"policy": self.policy.text, "turn": shown(t)} for t in traces])
        return [_verdict(reply) for reply in replies]


class RuleTraverse(Baseline):
    """One query a rule and turn, in the order of the rules, up to the first that is violated; with a `batch` one query
    for so many rules and turns, and all rules are asked."""

    name = "rule_traverse"

    def __init__(self, ruleset: RuleSet, llm: LLM, toolbox: Toolbox | None = None, batch: int = 1) -> None:
        super().__init__(toolbox)
        self.ruleset, self.llm, self.batch = ruleset, llm, batch

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """Deny at the first violated rule; undecided if any before the end was not clear; else allow. Each rule is put
        to all traces that no earlier one denied."""
        if self.batch > 1:
            texts: dict[str, str] = {}
            for rule in self.ruleset.rules:
                texts.setdefault(rule.quote or rule.text, rule.id)
            return _together(self.llm, texts, traces, self.batch, self.batch, most=1)
        allowed = Verdict("allow", f"none of {len(self.ruleset.rules)} rules is violated")
        verdicts = dict.fromkeys(range(len(traces)), allowed)
        for rule in self.ruleset.rules:
            left = [i for i, verdict in verdicts.items() if verdict.decision != "deny"]
            text = rule.quote or rule.text
            batch = [{"rule": text, "turn": shown(traces[i])} for i in left]
            for i, reply in zip(left, self.llm.ask_all("rule_traverse", RuleJudged, batch), strict=True):
                if isinstance(reply, Unanswered) or reply.violated == "unknown":
                    if verdicts[i] is allowed:
                        verdicts[i] = Verdict("undecided", f"{rule.id}: {reply.reason}")
                elif reply.violated == "yes":
                    verdicts[i] = Verdict("deny", reply.reason or rule.text, (rule.id,))
        return list(verdicts.values())


class GuardAgent(Baseline):
    """Two queries a turn: a plan of what to check, then code for it, which is run on the state.

    Where the code could be run, turn, plan and code are kept; of these each later turn is shown the nearest as
    examples, nearest by the share of words that two turns have in common (Xiang et al. take Levenshtein's distance).
    """

    name = "guardagent"

    def __init__(self, policy: Policy, llm: LLM) -> None:
        super().__init__(policy.toolbox)
        self.policy, self.llm = policy, llm
        self.memory: list[tuple[frozenset[str], dict[str, object]]] = []

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """The decisions of the generated code; code that cannot be run is undecided."""
        return [verdict for some in batched(traces, AT_ONCE) for verdict in self._judge(some)]

    def _judge(self, traces: Sequence[Trace]) -> list[Verdict]:
        turns = [shown(trace) for trace in traces]
        near = [self._nearest(turn) for turn in turns]
        told = zip(turns, ([_without(one, "code") for one in some] for some in near), strict=True)
        batch = [{"policy": self.policy.text, "turn": turn, "examples": some} for turn, some in told]
        plans = self.llm.ask_all("guardagent_plan", Plan, batch)
        planned = {i: plan.model_dump() for i, plan in enumerate(plans) if isinstance(plan, Plan)}
        kept = [[_without(one, "turn") for one in some] for some in near]
        batch = [
            {"plan": plan, "signature": self._signature(traces[i]), "turn": turns[i], "examples": kept[i]}
            for i, plan in planned.items()
        ]
        codes = dict(zip(planned, self.llm.ask_all("guardagent_code", Code, batch), strict=True))
        verdicts = []
        for i, trace in enumerate(traces):
            verdict = _executed(codes.get(i, plans[i]), self._known(trace), planned.get(i, {}).get("sentences", ()))
            verdicts.append(verdict)
            if verdict.decision != "undecided":
                self.memory.append((_words(turns[i]), {"turn": turns[i], "plan": planned[i], "code": codes[i].code}))
        return verdicts

    def _nearest(self, turn: object) -> list[dict[str, object]]:
        """The examples that share most words with a turn, the earlier ones first among equals."""
        words = _words(turn)
        ranked = sorted(self.memory, key=lambda one: -len(words & one[0]) / max(len(words | one[0]), 1))
        return [example for _, example in ranked[:EXAMPLES]]

    def _known(self, trace: Trace) -> dict[str, object]:
        """The state fields that the code may read: those whose values are there and of a type it knows."""
        state = trace.steps[-1].state
        typed = [f for f in self.policy.toolbox.state if f.type in PYTHON]
        return {f.name: state[f.name] for f in typed if type(state.get(f.name)).__name__ == PYTHON[f.type]}

    def _signature(self, trace: Trace) -> str:
        types = {f.name: PYTHON.get(f.type) for f in self.policy.toolbox.state}
        parameters = ", ".join(f"{name}: {types[name]}" for name in self._known(trace))
        return f"def check({parameters}) -> Tuple[bool, str]:"


@dataclass(frozen=True, slots=True)
class Link:
    """A sentence that names tools and a state field: the field must hold, or keep to a bound."""

    sentence: str
    tools: frozenset[str]
    field: str
    least: int | None = None
    most: int | None = None

    def keeps(self, value: object) -> bool | None:
        """Whether a value satisfies the sentence; None where it is unknown or of another type."""
        if self.least is None and self.most is None:
            return value if isinstance(value, bool) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


class Keywords(Baseline):
    """Plain words, no model: a sentence with a cue binds the tools and the state fields whose keywords it holds.

    A true/false field must then be true, whatever the sentence really says; a number field must reach the
    sentence's first number, or stay below it after words such as "more than".  A tool is in use when it
    is called, or when a keyword of it stands in the text of the turn.
    """

    name = "keywords"

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy.toolbox)
        self._tools = {tool.name: _pattern(tool) for tool in candidates(policy.toolbox)}
        self.links = links(policy)

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """Deny where a linked field fails, undecided where one is unknown, else allow."""
        return [self._judged(trace.steps[-1]) for trace in traces]

    def _judged(self, step: Step) -> Verdict:
        used = {call.tool for call in step.calls} or {
            tool for tool, words in self._tools.items() if words.search(step.text)
        }
        kept = [(link, link.keeps(step.state.get(link.field))) for link in self.links if link.tools & used]
        failed = tuple(dict.fromkeys(link.sentence for link, keeps in kept if keeps is False))
        if failed:
            return Verdict("deny", " / ".join(failed), failed)
        unknown = [link.field for link, keeps in kept if keeps is None]
        if unknown:
            return Verdict("undecided", f"not known: {', '.join(dict.fromkeys(unknown))}")
        return Verdict("allow", f"no linked field fails for {sorted(used) or 'any tool'}")


def links(policy: Policy) -> tuple[Link, ...]:
    """What plain words tie together, sentence by sentence."""
    tools = {tool.name: _pattern(tool) for tool in policy.toolbox.tools}
    found = []
    for sentence in policy.sentences:
        named = frozenset(name for name, words in tools.items() if words.search(sentence.text))
        if named and sentence.kind != "heading" and CUE.search(sentence.text):
            found += [link for field in policy.toolbox.state if (link := _link(sentence.text, named, field))]
    return tuple(found)


def shown(trace: Trace) -> list[dict[str, object]]:
    """A trace as a model sees it: for every step the calls, what was known before them and what was not (None), and
    the words."""
    return [
        {
            "calls": [{"tool": c.tool, "arguments": dict(c.arguments or {})} for c in step.calls],
            "known": {name: value for name, value in step.state.items() if value is not None},
            **({"not known": unknown} if (unknown := [name for name, v in step.state.items() if v is None]) else {}),
            "seen": step.text,
        }
        for step in trace.steps
    ]


def _verdict(reply: Judged | Unanswered) -> Verdict:
    if isinstance(reply, Unanswered):
        return Verdict("undecided", reply.reason)
    violated = tuple(reply.violated) if reply.decision == "deny" else ()
    return Verdict(reply.decision, reply.reason or "no reason given", violated, quotes=violated)


def _together(
    llm: LLM, texts: Mapping[str, str], traces: Sequence[Trace], batch: int, group: int, most: int
) -> list[Verdict]:
    """Verdicts of questions about `batch` turns and `group` statements each (`texts`, with the id of each): the first
    `most` that are violated deny; a turn that a reply leaves out, or answers with other ids, is not clear."""
    rows = [{"id": f"s{number}", "text": text} for number, text in enumerate(texts, 1)]
    turns = [{"id": f"t{number}", "run": shown(trace)} for number, trace in enumerate(traces, 1)]
    asked = list(product(batched(rows, group), batched(turns, batch)))
    replies = llm.ask_all("judge_turns", Turns, [{"statements": list(one), "turns": list(two)} for one, two in asked])
    broken: dict[str, set[str]] = {turn["id"]: set() for turn in turns}
    unclear: dict[str, list[str]] = {turn["id"]: [] for turn in turns}
    reasons: dict[str, list[str]] = {turn["id"]: [] for turn in turns}
    for (statements, some), reply in zip(asked, replies, strict=True):
        known = {row["id"] for row in statements}
        for turn in some:
            found = [] if isinstance(reply, Unanswered) else [one for one in reply.turns if one.id == turn["id"]]
            if len(found) != 1 or not known.issuperset([*found[0].violated, *found[0].unknown]):
                unclear[turn["id"]].append(getattr(reply, "reason", "no usable answer about this turn"))
                continue
            broken[turn["id"]] |= set(found[0].violated)
            unclear[turn["id"]] += found[0].unknown
            reasons[turn["id"]] += [found[0].reason] * bool(found[0].reason and (found[0].violated or found[0].unknown))
    verdicts = []
    for name in broken:
        violated = [row["text"] for row in rows if row["id"] in broken[name]][:most]
        why = "; ".join(reasons[name]) or "; ".join(unclear[name]) or "no statement is violated"
        decision = "deny" if violated else "undecided" if unclear[name] else "allow"
        verdicts.append(Verdict(decision, why, tuple(texts[text] for text in violated), quotes=tuple(violated)))
    return verdicts


def _words(turn: object) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", json.dumps(turn, ensure_ascii=False, default=str)))


def _without(example: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in example.items() if name != key}


def _executed(reply: Code | Unanswered, known: dict[str, object], sentences: Sequence[str] = ()) -> Verdict:
    """What a generated function says of the known values; one of the plan's `sentences` as a reason is violated."""
    if isinstance(reply, Unanswered):
        return Verdict("undecided", reply.reason)
    try:
        program = sandbox.load(reply.code)
        allowed, reason = program.run(**{name: known[name] for name, _ in program.types})
    except Exception as error:  # whatever breaks in code that nobody has proved
        return Verdict("undecided", f"the generated code cannot be run: {error}", grade="error")
    if not isinstance(allowed, bool):
        return Verdict(
            "undecided", f"the generated code must return True or False first; got {allowed!r}", grade="error"
        )
    violated = (str(reason),) if not allowed and reason in sentences else ()
    return Verdict("allow" if allowed else "deny", str(reason) or "no reason given", violated, quotes=violated)


def _link(sentence: str, tools: frozenset[str], field: Field) -> Link | None:
    """The link between a sentence and one state field, if a keyword of the field stands in it."""
    if not _pattern(field).search(sentence):
        return None
    if field.type == "boolean":
        return Link(sentence, tools, field.name)
    number = NUMBER.search(sentence)
    if field.type not in ("integer", "number") or number is None:
        return None
    bound = int(number.group())
    least, most = (None, bound) if ABOVE.search(sentence) else (bound, None)
    return Link(sentence, tools, field.name, least, most)


def _pattern(one: Tool | Field) -> re.Pattern[str]:
    """The name of a tool or field or any of its keywords, as whole words, a plural s allowed."""
    phrases = sorted((one.name.replace("_", " "), *one.keywords), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, phrases))})s?(?!\w)", re.IGNORECASE)
