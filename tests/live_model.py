"""A model for live runs that plays the airline's scripts at an OpenAI-compatible endpoint, and a process that asks it.

    python live_model.py FOLDER TRIALS

has the trials of a few tasks in the folder; OPENAI_BASE_URL names the endpoint. What the model says is told by the
request alone, so that an interrupted conversation goes on as it would have.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench import airline  # noqa: E402
from loopback import Say as Reply  # noqa: E402

from wb.bench import experiment, live, mapping  # noqa: E402
from wb.bench.experiment import Setting  # noqa: E402
from wb.domain import policy  # noqa: E402
from wb.domain.events import Say  # noqa: E402
from wb.guards.runtime import CallGuard  # noqa: E402
from wb.rules import decisions  # noqa: E402

FOLDER = ROOT / "policies" / "airline"
TASKS = live.load(FOLDER / "tasks.yaml")
FEW = ("take_a_bag_off", "two_free_bags_or_one", "cancel_a_business_trip")
MODEL = "scripted"
BLOCK = re.compile(r'<data name="(\w+)">\n?(.*?)\n?</data>', re.DOTALL)


@cache
def guard() -> CallGuard:
    """The airline's guards of a person's decisions: code that says their rules, tested and not proved."""
    read = policy.load(FOLDER)
    decided = decisions.load(decisions.place(FOLDER), read)
    return airline.guarded("airline", read.toolbox, decisions.own(decided, read.toolbox))


@cache
def setting(model: str = MODEL, turns: int = 30) -> Setting:
    """Live runs of the airline."""
    read = policy.load(FOLDER)
    mapped = mapping.by_hand(FOLDER, read.text)
    return experiment.setting(
        read, FOLDER, guard(), "decisions", mapped=mapped, model=model, user_model=model, turns=turns
    )


def blocks(request: dict) -> dict[str, str]:
    """What the question holds, by name."""
    return dict(BLOCK.findall(next(m["content"] for m in request["messages"] if m["role"] == "user")))


def kind(request: dict) -> str:
    """The prompt that is asked."""
    return request["response_format"]["json_schema"]["name"]


def playing(request: dict) -> Reply:
    """What the script of the task has next."""
    told = blocks(request)
    talk = json.loads(told["conversation"])
    if kind(request) == "simulate_user":
        script = next(one.script for one in TASKS.tasks if one.instruction == told["instruction"])
        mine = [one.text for one in script if isinstance(one, Say) and one.role == "user"]
        said = sum("you" in row for row in talk)
        return Reply(json.dumps({"say": mine[said]} if said < len(mine) else {"over": True}))
    first = talk[0]["user"]
    script = next(one.script for one in TASKS.tasks if one.script[0].text == first)
    mine = [one for one in script if not (isinstance(one, Say) and one.role == "user")]
    done = sum("you" in row or "call" in row for row in talk)
    if done >= len(mine):
        return Reply(json.dumps({"say": "That is all that I can do."}))
    one = mine[done]
    return Reply(
        json.dumps({"say": one.text} if isinstance(one, Say) else {"tool": one.tool, "arguments": one.arguments})
    )


if __name__ == "__main__":
    made = setting()
    planned = experiment.plan(made, ("original", "toolguards"), int(sys.argv[2]), FEW)
    found = experiment.run(made, Path(sys.argv[1]), planned, workers=2)
    print(json.dumps([len(found.trials), dict(found.open), found.stopped]))
