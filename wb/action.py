"""What an agent is doing: which of the policy's tools a turn in free text amounts to.

A recorded web agent names no tools: it clicks and types.  Shielding starts by extracting the action
from the agent's output (ShieldAgent, Alg. 1 line "EXTRACT"); here one prompt role answers that, and
an answer that is not sure is undecided, which no guard allows.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wb.trace import Value


@dataclass(frozen=True, slots=True)
class Observation:
    """What may be seen of a turn: the texts, and the state fields known before it."""

    task: str
    website: str = ""
    previous_actions: tuple[str, ...] = ()
    target_action: str = ""
    agent_output: str = ""
    state: Mapping[str, Value] = field(default_factory=dict)
