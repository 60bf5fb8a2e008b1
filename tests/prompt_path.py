"""The whole prompt path on one short policy: every prompt that the notebooks use with a model, in their order.

Run as a script, it records the replies of the scripted model (`answers.yaml`) anew, through the real
endpoint and a server on loopback:

    python tests/prompt_path.py [--notebooks]

With `--notebooks` the seven notebooks are run as well (some minutes) and what they ask beyond is added.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wb.bench import baselines, live
from wb.domain import answers, policy
from wb.domain.answers import Question
from wb.domain.events import Observation, Recognition, recognise  # noqa: E402
from wb.domain.policy import Clause  # noqa: E402
from wb.domain.trace import Verdict  # noqa: E402
from wb.guards import (
    contract,
    reading,
    scenes,
    synthesis,  # noqa: E402
)
from wb.guards.scenes import Refusal, Scene  # noqa: E402
from wb.guards.synthesis import Draft  # noqa: E402
from wb.models import embeddings
from wb.models.client import LLM  # noqa: E402
from wb.models.endpoint import (
    Endpoint,  # noqa: E402
    Replies,  # noqa: E402
)
from wb.models.ledger import Ledger  # noqa: E402
from wb.rules import assumptions, extract, items, mapper, refine, sentences, vagueness
from wb.rules.agreement import Agreement
from wb.rules.decisions import Ruling
from wb.rules.mapper import Map
from wb.rules.refine import Round  # noqa: E402
from wb.rules.rereading import State
from wb.rules.rule import RuleSet  # noqa: E402

FOLDER = Path(__file__).resolve().parent / "fixtures" / "short_policy"
MODEL = "scripted"
OBSERVATIONS = (
    Observation(
        "Check out this atlas for me.", "desk", (), "press Lend", "I lend the atlas.", {"age": 30, "card_valid": False}
    ),
    Observation(
        "May I keep this novel for another week?",
        "desk",
        ("look up the loan",),
        "press Renew",
        "",
        {"age": 12, "card_valid": True},
    ),
    Observation("I need something for Monday.", "desk", state={"age": 40, "card_valid": True}),
)
BLOCK = re.compile(r'<data name="(\w+)">\n?(.*?)\n?</data>', re.DOTALL)


@dataclass(frozen=True)
class Walk:
    """What each stage of the path gave."""

    clauses: tuple[Clause, ...]
    rules: RuleSet
    rounds: tuple[Round, ...]
    drafts: tuple[Draft, ...]
    sources: tuple[tuple[reading.Reading, ...], ...]
    examples: tuple[tuple[Scene, ...], tuple[Refusal, ...]]
    recognised: tuple[Recognition, ...]
    verdicts: dict[str, tuple[Verdict, ...]]
    agreements: tuple[Agreement, ...]
    talk: tuple[str, str]
    agreed: bool
    mapped: Map
    judgements: dict[str, float]
    assumed: tuple[Ruling, ...]


def walk(llm: LLM, vectors: Path) -> Walk:
    """Extraction, refinement, items, guards, recognition and the baselines with a model, as the notebooks chain
    them."""
    source = policy.load(FOLDER)
    encoder = embeddings.Encoder(cache=vectors)
    found = extract.asked(source, [llm])
    accounts, rules = sentences.classify(source, found)
    clauses = found.clauses
    state, panel = State(rules, found, accounts), extract.panel([llm])
    rounds = refine.refine(state, llm, encoder, toolbox=source.toolbox, max_rounds=2, policy=source, panel=panel)
    refined = rounds[-1].ruleset
    required = contract.contracts(source.toolbox, refined)
    mapped = items.items(source, accounts)
    examples = scenes.written(mapped, source.toolbox, llm, rounds=2)
    told = {c.tool: synthesis.concerning(c, refined, clauses, rules) for c in required}
    begun, sources = reading.first(
        required,
        told,
        [llm],
        source,
        refined,
        mapped=mapped,
        accounts=sentences.refined(accounts, refined),
        clauses=clauses,
    )
    drafts = synthesis.synthesise(begun, synthesis.reviser(told, llm))
    traces = [baselines.observed(o) for o in OBSERVATIONS]
    guards = (baselines.Direct(source, llm), baselines.RuleTraverse(refined, llm), baselines.GuardAgent(source, llm))
    return Walk(
        clauses,
        rules,
        rounds,
        drafts,
        sources,
        examples,
        recognise(OBSERVATIONS, source.toolbox, llm),
        {g.name: g.decide_all(traces) for g in guards}
        | {"together": baselines.Direct(source, llm, len(traces)).decide_all(traces)},
        tuple(found.agreements.values()),
        talk(source, llm),
        answers.about(llm)(AGREED).value is True,
        mapper.mapped(source, accounts, llm, rounds=2),
        vagueness.judged(rounds, llm),
        assumptions.assumed(source, found, [*accounts[:-1], replace(accounts[-1], cls="open")], (), llm),
    )


ASKED = "Has the reader agreed to lend?"
SAID = (("assistant", "Shall I lend you the atlas?"), ("user", "Oh yes, please do."))
AGREED = Question("agreed", ASKED, "boolean", (), ("user",), {"item": "atlas"}, SAID, ())


def talk(source: policy.Policy, llm: LLM) -> tuple[str, str]:
    """What a simulated user says first, and the tool that an agent then calls."""
    word = live.user(llm, "You want to borrow an atlas.")([])
    agent = live.agent(llm, source.text, source.toolbox, "2026-05-04T09:00:00Z")
    turn = agent([{"role": "user", "content": word.text}])
    return word.text, turn.call.tool if turn.call else ""


@cache
def replies() -> dict:
    """What the scripted model says, by prompt."""
    return yaml.safe_load((FOLDER / "answers.yaml").read_text("utf-8"))


def scripted(request: dict):
    """The answer of the scripted model to one request."""
    from loopback import Say

    blocks = dict(BLOCK.findall("\n".join(m["content"] for m in request["messages"] if m["role"] == "user")))
    name = request["response_format"]["json_schema"]["name"]
    again = request["messages"][-2]["role"] == "assistant"
    if name in ("read_formulas", "read_cases", "read_conditions"):
        known = " ".join(row["name"] for row in json.loads(blocks["facts"]))
        key, rows = "statements", [{**row, "known": known} for row in json.loads(blocks["statements"])]
    elif name in ("assume", "judge_rules", "judge_runs"):
        key = "runs" if name == "judge_runs" else "statements"
        rows = json.loads(blocks[key])
    elif name == "judge_vagueness":
        key, rows = "rules", json.loads(blocks["rules"])
    elif name == "refine_predicates":
        key, known = "answers", {p["name"]: p for p in json.loads(blocks["predicates"])}
        rows = [
            {"id": r["id"], "rule": r, "predicates": [known[n] for n in r["predicates"]]}
            for r in json.loads(blocks["rules"])
        ]
    else:
        return said(name, blocks, again)
    told = [(row["id"], said(name, row, again)) for row in rows]
    bad = next((say for _, say in told if say.status != 200), None)
    return bad or Say(json.dumps({key: [{"id": id, **json.loads(say.text)} for id, say in told]}))


def said(name: str, blocks: dict, again: bool):
    """The answer to one question, or of one statement of several."""
    from loopback import Say

    for entry in replies()[name]:
        if all(words in str(blocks.get(block, "")) for block, words in entry["when"].items()):
            return Say(entry["first"] if "first" in entry and not again else json.dumps(entry["reply"]))
    return Say(f"the scripted model has no answer to {name} about {blocks}", 400)


def replaying(folder: Path = FOLDER / "replies") -> LLM:
    """The recorded model: no network, no key."""
    return LLM(Endpoint(MODEL, replies=Replies(folder, "replay")), Ledger("replay"))


def record() -> None:
    """Record the path anew."""
    from loopback import Scripted

    for part in ("replies", "vectors"):
        shutil.rmtree(FOLDER / part, ignore_errors=True)
    with Scripted(scripted, models=(MODEL,)) as server:
        llm = LLM(Endpoint(MODEL, base_url=server.url, replies=Replies(FOLDER / "replies")), Ledger("record"))
        walk(llm, FOLDER / "vectors")
    print(json.dumps(llm.ledger.to_json()["total"]), *llm.ledger.events, sep="\n")


def record_notebooks() -> None:
    """Record what the seven notebooks ask beyond the path: repairs after a proof failed."""
    from loopback import Scripted

    with Scripted(scripted, models=(MODEL,)) as server, tempfile.TemporaryDirectory() as artifacts:
        shutil.copytree(FOLDER / "replies", Path(artifacts) / "replies")
        shutil.copytree(FOLDER / "vectors", Path(artifacts) / "cache" / "embeddings")
        subprocess.run(
            [sys.executable, "-m", "wb.cli", "run", "--policy", str(FOLDER), "--model", MODEL],
            check=True,
            cwd=FOLDER.parents[2],
            env=os.environ | {"OPENAI_BASE_URL": server.url, "WB_ARTIFACTS": artifacts},
        )
        shutil.copytree(Path(artifacts) / "replies", FOLDER / "replies", dirs_exist_ok=True)
    print(len(list((FOLDER / "replies").iterdir())), "recordings")


if __name__ == "__main__":
    record()
    if "--notebooks" in sys.argv:
        record_notebooks()
