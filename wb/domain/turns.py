"""What an agent is doing: which of the policy's tools a turn in free text amounts to.

A recorded web agent names no tools: it clicks and types.  Shielding starts by extracting the action
predicates from the agent's output (ShieldAgent, Alg. 1, line 2); one prompt role, `extract_action`,
answers that.  The state of the turn is never shown to it.  An answer that is not sure keeps every
tool that it may be: a guard must allow them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pydantic

from wb.domain.tools import Toolbox, candidates
from wb.domain.trace import Call, Step, Value, Verdict
from wb.models.ledger import Unanswered

if TYPE_CHECKING:
    from wb.models.client import LLM


@dataclass(frozen=True, slots=True)
class Observation:
    """What may be seen of a turn: the texts, and the state fields known before it."""

    task: str
    website: str = ""
    previous_actions: tuple[str, ...] = ()
    target_action: str = ""
    agent_output: str = ""
    state: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recognition:
    """What a turn may be: one step where that is sure, several where it is not, none where nothing can be said."""

    steps: tuple[Step, ...]
    reason: str

    @property
    def sure(self) -> bool:
        """Whether exactly one step is possible."""
        return len(self.steps) == 1


class Extracted(pydantic.BaseModel):
    """The reply: `tools` the agent is surely using; where that is unclear none, and `possible` alternatives."""

    model_config = pydantic.ConfigDict(extra="forbid")

    tools: list[str]
    possible: list[str]
    reason: str


def recognise(observations: Sequence[Observation], toolbox: Toolbox, llm: LLM) -> tuple[Recognition, ...]:
    """What each turn may be, in order (prompt `extract_action`); one query a turn where the engine is a model.

    A reply that names a tool that does not exist, or none, leaves the turn without a step.
    """
    listed = [{"name": t.name, "description": t.description} for t in candidates(toolbox)]
    asked = [
        {
            "tools": listed,
            "task": o.task,
            "website": o.website,
            "previous_actions": list(o.previous_actions),
            "target_action": o.target_action,
            "agent_output": o.agent_output,
        }
        for o in observations
    ]
    replies = llm.ask_all("extract_action", Extracted, asked)
    return tuple(_recognition(o, reply, toolbox) for o, reply in zip(observations, replies, strict=True))


def agreed(recognition: Recognition, judged: Callable[[Step], Verdict]) -> Verdict:
    """The verdict on a turn that may be several things: that of all its readings if they agree.

    Readings that disagree, or no reading at all, are undecided, which is not permitted.
    """
    verdicts = [judged(step) for step in recognition.steps]
    if not verdicts:
        return Verdict("undecided", f"no tool recognised: {recognition.reason}")
    if len({verdict.decision for verdict in verdicts}) == 1:
        return verdicts[0]
    return Verdict("undecided", f"the turn may be several things, judged differently: {recognition.reason}")


def _recognition(observation: Observation, reply: Extracted | Unanswered, toolbox: Toolbox) -> Recognition:
    if isinstance(reply, Unanswered):
        return Recognition((), reply.reason)
    named = (*reply.tools, *reply.possible)
    unknown = sorted(set(named) - {tool.name for tool in toolbox.tools})
    if unknown or not named:
        return Recognition((), f"tools {unknown} do not exist" if unknown else reply.reason)
    readings = [reply.tools] if reply.tools else [[tool] for tool in reply.possible]
    return Recognition(tuple(_step(names, observation) for names in readings), reply.reason)


def _step(names: Iterable[str], observation: Observation) -> Step:
    return Step(tuple(Call(name, None) for name in names), dict(observation.state), observation.target_action)
