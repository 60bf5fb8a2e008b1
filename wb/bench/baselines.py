"""Baselines to measure guards against: a model asked directly, rule by rule, through code, and plain keywords.

`Direct` and `RuleTraverse` are ShieldAgent's (Sec. 5.1), `GuardAgent` follows Xiang et al. (2024) without
its memory of demonstrations: a plan, code from the plan, the code run.  `Keywords` needs no model and no
extraction: words of the toolbox in the sentences of the policy.  All see the same policy and the same
turn.  What a model leaves open, gets wrong twice or does not answer is undecided, which permits nothing.
A call that does not fit `tools.json` is denied before anybody is asked, and state fields that do not fit are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


class Judged(pydantic.BaseModel, extra="forbid"):
    """The reply to `direct`: a decision, and the sentences that a denied turn violates."""

    decision: Literal["allow", "deny", "undecided"]
    violated: list[str]
    reason: str


class RuleJudged(pydantic.BaseModel, extra="forbid"):
    """The reply to `rule_traverse`: whether the turn violates one rule."""

    violated: Literal["yes", "no", "unknown"]
    reason: str


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
    """One query a turn: the whole policy and the turn, for a decision and the violated sentences."""

    name = "direct"

    def __init__(self, policy: Policy, llm: LLM) -> None:
        super().__init__(policy.toolbox)
        self.policy, self.llm = policy, llm

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """The model's verdicts."""
        replies = self.llm.ask_all("direct", Judged, [{"policy": self.policy.text, "turn": shown(t)} for t in traces])
        return [_verdict(reply) for reply in replies]


class RuleTraverse(Baseline):
    """One query a rule and turn, in the order of the rules, up to the first that is violated."""

    name = "rule_traverse"

    def __init__(self, ruleset: RuleSet, llm: LLM, toolbox: Toolbox | None = None) -> None:
        super().__init__(toolbox)
        self.ruleset, self.llm = ruleset, llm

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """Deny at the first violated rule; undecided if any before the end was not clear; else allow. Each rule is put
        to all traces that no earlier one denied."""
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
    """Two queries a turn: a plan of what to check, then code for it, which is run on the state."""

    name = "guardagent"

    def __init__(self, policy: Policy, llm: LLM) -> None:
        super().__init__(policy.toolbox)
        self.policy, self.llm = policy, llm

    def judge(self, traces: Sequence[Trace]) -> Sequence[Verdict]:
        """The decisions of the generated code; code that cannot be run is undecided."""
        plans = self.llm.ask_all(
            "guardagent_plan", Plan, [{"policy": self.policy.text, "turn": shown(t)} for t in traces]
        )
        planned = [i for i, plan in enumerate(plans) if isinstance(plan, Plan)]
        batch = [
            {"plan": plans[i].model_dump(), "signature": self._signature(traces[i]), "turn": shown(traces[i])}
            for i in planned
        ]
        codes = dict(zip(planned, self.llm.ask_all("guardagent_code", Code, batch), strict=True))
        return [_executed(codes.get(i, plans[i]), self._known(trace)) for i, trace in enumerate(traces)]

    def _known(self, trace: Trace) -> dict[str, object]:
        """The state fields that the code may read: those whose values are there and of a type it knows."""
        state = trace.steps[-1].state
        return {
            f.name: state[f.name]
            for f in self.policy.toolbox.state
            if f.type in PYTHON and type(state.get(f.name)).__name__ == PYTHON[f.type]
        }

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
    """A trace as a model sees it: for every step the calls, what was known before them, and the words."""
    return [
        {
            "calls": [{"tool": c.tool, "arguments": dict(c.arguments or {})} for c in step.calls],
            "known": dict(step.state),
            "seen": step.text,
        }
        for step in trace.steps
    ]


def _verdict(reply: Judged | Unanswered) -> Verdict:
    if isinstance(reply, Unanswered):
        return Verdict("undecided", reply.reason)
    return Verdict(
        reply.decision, reply.reason or "no reason given", tuple(reply.violated) if reply.decision == "deny" else ()
    )


def _executed(reply: Code | Unanswered, known: dict[str, object]) -> Verdict:
    """What a generated function says of the known values."""
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
    return Verdict("allow" if allowed else "deny", str(reason) or "no reason given")


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
