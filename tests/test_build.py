"""From a policy to guards in one call: the run of `wb run`, loaded; the same versions, the same verdicts."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import readme
import recount
import tiny
import yaml

import wb
from wb import build
from wb.bench import recorded
from wb.domain import policy as documents
from wb.domain import tools
from wb.guards import runtime
from wb.offline import reader
from wb.paths import Project, digest
from wb.rules import sentences
from wb.runs import artifact, key
from wb.runs.artifact import ArtifactError, Version
from wb.runs.key import Inputs

POLICY = """# Boat hire

Never rent a boat to a visitor who cannot swim. Never end a rental before you rent a boat. Do not paint a hull in haste.
Never paint a hull before you rent a boat. The harbour is old.

Bill a boat as the clerk would.
"""
TOOLS = {
    "tools": [
        {"name": "rent_boat", "description": "Rent a boat to a visitor.", "keywords": ["rent a boat"]},
        {"name": "end_rental", "description": "End a rental.", "keywords": ["end a rental"]},
        {"name": "paint_hull", "description": "Paint a hull.", "keywords": ["paint a hull"]},
        *(
            {
                "name": name,
                "description": f"{name.split('_')[0].title()} a boat that is moored.",
                "mutating": name != "log_boat",
                "parameters": {"type": "object", "properties": {"berth": {"type": "string"}}, "required": ["berth"]},
            }
            for name in ("log_boat", "bill_boat")
        ),
    ],
    "state": [
        {"name": "can_swim", "type": "boolean", "description": "the visitor can swim", "keywords": ["swim"]},
        {"name": "now", "type": "string", "from": "clock"},
    ],
}
CLERK = "Bill a boat as the clerk would."
RULES = (  # of a person: of the same berth, counted, within a time
    "ALWAYS (bills(b) IMPLIES ONCE[<= 24h] logs(b))",
    "ALWAYS (bills(b) IMPLIES COUNT[<= 2] bills(b))",
)
SWIM, ORDER, OPEN = POLICY.split("\n\n")[1].replace("\n", " ").split(". ")[:3]
SMALL = {"max_rounds": 0, "max_repairs": 0, "seeds": 1, "epochs": 20, "pairs": 4}
BILLED = [("bill", "A"), ("log", "A"), ("bill", "B"), ("bill", "A"), ("bill", "A"), ("bill", "A")]
# each call of two runs: the tool, its label, what the proved guard says
CALLS = {
    "learning": [
        ("rent_boat", "allow", "allow"),
        ("end_rental", "allow", "allow"),
        ("paint_hull", "allow", "undecided"),
        ("no_such_tool", "deny", "deny"),
    ],
    "held out": [("rent_boat", "deny", "deny"), ("end_rental", "deny", "deny")],
}
RUN = {side: next(name for name in map(str, range(99)) if recorded.part(name) == side) for side in CALLS}
HEAVY = ("torch", "plotly", "papermill", "nbformat", "sentence_transformers", "sklearn", "rich", "stormpy")
# what the stages need and whoever loads guards does not
LIGHT = ("pandas", "numpy", "scipy", "networkx", "openai", "mcp", "lark", "jinja2", "yaml", "filelock", "psutil")


def command(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """A command of `wb` on artifacts of its own."""
    environment = {**os.environ, "WB_ARTIFACTS": str(folder / "artifacts"), "PYTHONPATH": str(tiny.ROOT)}
    return subprocess.run(tiny.command(*words), cwd=folder, capture_output=True, text=True, env=environment)


def decided() -> dict[str, object]:
    """What a person says of the sentence about bills."""
    policy = documents.of_text(POLICY, tools.parse(json.dumps(TOOLS)))
    read, _ = sentences.classify(policy, reader.extracted(policy))
    acts = {
        name: {"kind": "action", "tools": [tool], "objects": ["call.berth"]}
        for name, tool in (("logs", "log_boat"), ("bills", "bill_boat"))
    }
    return {
        "id": next(one.id for one in read if one.text == CLERK),
        "text": CLERK,
        "decision": "rule",
        "why": "the clerk was asked",
        "predicates": acts,
        "rules": [{"formula": formula, "modality": "permit_only_if"} for formula in RULES],
    }


def given(folder: Path) -> dict[str, object]:
    """The parameters of the run."""
    return {**SMALL, "runs": str(folder / "runs.jsonl")}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess]:
    """The seven stages on a small policy with labelled runs: their folder, and what `wb run` said."""
    folder = tmp_path_factory.mktemp("build")
    (folder / "artifacts").mkdir()
    (folder / "hire").mkdir()
    (folder / "hire" / "policy.md").write_text(POLICY, "utf-8")
    (folder / "hire" / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    (folder / "hire" / "decisions.yaml").write_text(yaml.safe_dump({"decisions": [decided()]}), "utf-8")
    rows = []
    for side, calls in CALLS.items():
        run = RUN[side]
        rows.append({"run": run, "state": {"can_swim": side == "learning"}})
        for tool, label, _ in calls:
            rows.append({"run": run, "call": {"tool": tool, "arguments": {}}, "label": label})
            rows += [{"run": run, "result": "done"}] * (label == "allow")
    (folder / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    options = [word for name, value in given(folder).items() for word in ("-p", f"{name}={value}")]
    done = command(folder, "run", "--policy", "hire", *options, "-p", "mutants=2")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder, done


@pytest.fixture
def folder(ran: tuple, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WB_ARTIFACTS", str(ran[0] / "artifacts"))
    return ran[0]


@pytest.fixture
def built(folder: Path) -> wb.build.Built:
    return wb.build(folder / "hire", **given(folder))


def test_a_run_ends_with_what_came_of_the_policy_as_counted_again_from_its_files(ran: tuple) -> None:
    folder, done = ran
    said = [re.sub(r" \([^)]*\)", "", line) for line in done.stdout.splitlines()]
    assert [line for line in recount.recount(folder / "artifacts") if line not in said] == [], done.stdout
    assert "sentences        7: 4 rule, 1 open, 2 not a constraint, 0 duty, 0 waived" in said
    assert Path(re.search(r"^report +(\S+)", done.stdout, re.MULTILINE).group(1)).is_file()


def test_guards_are_finished_before_faults_are_planted(ran: tuple, built: wb.build.Built) -> None:
    """What `wb.build` makes knows no fault; the run goes on to plant them, and each fate is that of a proved guard."""
    folder, done = ran
    assert "mutants.json" not in built.versions[wb.build.PROOFS].digests
    assert not [name for name in built.versions[wb.build.PROOFS].manifest["summary"] if name in ("survived", "refuted")]
    judged = artifact.newest(Project(tiny.ROOT, folder / "artifacts"), "07_evaluation")
    fates = judged.read("mutants.json")
    assert fates and {one["fate"] for one in fates} <= {"refuted", "equivalent"}
    proved = {row["tool"] for row in built.versions[wb.build.PROOFS].read("guards.json") if row["grade"] == "proved"}
    assert {one["tool"] for one in fates} <= proved
    assert judged.manifest["summary"]["planted faults"] == len(fates)
    lines = [line.split()[0] for line in done.stderr.splitlines() if " made " in line]
    assert lines.index(wb.build.PROOFS) < lines.index("07_evaluation")


@pytest.mark.parametrize("last", ["01_policy_extraction", "02_vagueness_scoring", "05_tool_guards"])
def test_a_run_that_ends_early_says_what_came_so_far(ran: tuple, last: str) -> None:
    folder, _ = ran
    options = [word for name, value in given(folder).items() for word in ("-p", f"{name}={value}")]
    of_02 = ["-p", "max_rounds=0", "-p", f"runs={given(folder)['runs']}"]
    own = {"01_policy_extraction": [], "02_vagueness_scoring": of_02}.get(last, options)
    done = command(folder, "run", "--policy", "hire", *own, "--to", last)
    assert done.returncode == 0 and " made " not in done.stderr, done.stdout + done.stderr
    found = recount.stages(folder / "artifacts")
    read, refined = (len(recount.read(found[stage], "rules.json")["rules"]) for stage in ("01", "02"))
    wanted = {
        "policy": "hire",
        "sentences": "7 (1 of them titles): 4 rule, 1 open, 2 not a constraint",
        "rules": f"{read} read" + f", {refined} after refinement" * (last[:2] != "01"),
        "in force by": "parsed: 3, person: 1",
        "to decide": str(found["01"] / "decisions.draft.yaml"),
        "last stage": str(found[last[:2]]),
    }
    if last == "05_tool_guards":
        rows = recount.read(found["05"], "candidates.json")
        waiting = {
            tool for row in recount.read(found["02"], "sentences.json") if row["cls"] == "open" for tool in row["tools"]
        }
        free = sum(not row["rules"] and row["tool"] not in waiting for row in rows)
        part = sum(bool(row["rules"]) and row["tool"] in waiting for row in rows)
        kinds = f"{len(rows) - free - part} tested, {part} tested in part, {free} free"
        wanted["guards"] = f"{len(rows)}: {kinds}; none is proved before 06_nagini_verification"
        assert free and part and {row["grade"] for row in rows} == {"tested"}
    said = {line[:17].strip(): line[17:] for line in done.stdout.splitlines() if line}
    showed = {"showed 03", "showed 04"} if last == "05_tool_guards" else set()  # what this policy showed so far
    assert said.keys() == wanted.keys() | showed, done.stdout
    assert [name for name, text in wanted.items() if not said[name].startswith(text)] == [], done.stdout


def test_a_build_is_the_run_and_takes_what_it_made(built: wb.build.Built, folder: Path, capsys) -> None:
    here = wb.paths.project()
    assert {stage: v.key for stage, v in built.versions.items()} == {
        stage: artifact.newest(here, stage).key for stage in built.versions
    }
    assert len(built.versions) == 6 and not capsys.readouterr().err, "what is kept is not worth a word"
    assert all(len(artifact.versions(here, stage)) == 1 for stage in built.versions)
    newest = wb.build.newest(folder / "hire")
    assert {s: v.key for s, v in newest.versions.items()} == {s: v.key for s, v in built.versions.items()}
    assert wb.build.newest(folder / "hire", "a model that nobody ran") is None


def test_a_session_decides_as_the_sentences_say_and_logs_it(built: wb.build.Built) -> None:
    log = io.StringIO()
    session = built.session(log=log)
    verdicts = [session.call("rent_boat", {}), session.call("end_rental", {})]
    session.state({"can_swim": False})
    verdicts.append(session.call("rent_boat", {}))
    session.state({"can_swim": True})
    verdicts += [session.call(tool, {}) for tool in ("rent_boat", "end_rental", "paint_hull", "no_such_tool")]
    decisions = ["undecided", "deny", "deny", "allow", "allow", "undecided", "deny"]
    assert [v.decision for v in verdicts] == decisions
    assert [json.loads(line)["decision"] for line in log.getvalue().splitlines()] == decisions
    assert verdicts[1].quotes == (f"{ORDER}.",) and verdicts[2].quotes == (f"{SWIM}.",)
    assert [built.texts[name] for name in verdicts[5].open] == [f"{OPEN}."]


def test_a_persons_rules_about_the_same_object_go_the_whole_way(built: wb.build.Built) -> None:
    """Read, refined, weighed, proved, judged: of this berth, twice, within a day.  The shield knows no such windows."""
    assert built.guard().claims()["bill_boat"] == "proved"
    for guard, expected in (
        ("veriguard", "deny allow deny allow allow deny"),
        ("shieldagent", " ".join(["undecided"] * 6)),
    ):
        day = [1]
        session = built.session(guard, clock=lambda day=day: f"2026-03-0{day[0]}T00:00:00Z")
        said = [session.call(f"{verb}_boat", {"berth": berth}).decision for verb, berth in BILLED]
        assert said == expected.split(), guard
        session.call("log_boat", {"berth": "B"})
        day[0] = 3
        assert session.call("bill_boat", {"berth": "B"}).decision == expected.split()[0], "logged too long ago"


def test_a_build_gives_the_verdicts_of_the_run(built: wb.build.Built) -> None:
    """The rows that 06 kept, loaded by hand, decide as the guards that `build` gives."""
    from wb.guards import contract, evidence
    from wb.rules import rulefile, sentences

    read = {stage[:2]: version for stage, version in built.versions.items()}
    rules = rulefile.from_json(read["02"].read("rules.json"))
    required = contract.contracts(built.toolbox, rules)
    waiting = sentences.open_on(sentences.from_json(read["02"].read("sentences.json")))
    rows = evidence.from_rows(read["06"].read("guards.json"), required, rules, waiting)
    by_hand = runtime.accepting("veriguard", rules, rows, built.toolbox, waiting)
    for state in ({}, {"can_swim": False}, {"can_swim": True}):
        one, other = by_hand.session(), built.session()
        one.state(state), other.state(state)
        for tool in built.toolbox.tools:
            assert one.call(tool.name, {}) == other.call(tool.name, {})


def test_rules_sentences_shield_and_guards_are_there(built: wb.build.Built) -> None:
    assert set(built.guards) == {"veriguard", "toolguard", "shieldagent"}
    assert built.shield is built.guards["shieldagent"]
    named = {rule for s in built.sentences for rule in s.rules}
    assert named and named <= {r.id for r in built.rules.rules}
    with pytest.raises(ValueError, match=r"one of \['shieldagent', 'toolguard', 'veriguard'\]; got 'none'"):
        built.session("none")


def test_an_unchanged_policy_is_there_at_once_and_nothing_heavy_is_imported(folder: Path) -> None:
    """Processor time of the call alone, the best of three processes: on an idle machine, the elapsed time."""
    call = f"wb.build({str(folder / 'hire')!r}, **{given(folder)})"
    code = (
        "import sys, time, wb\n"
        f"{call}\n"
        "began = time.process_time()\n"
        f"{call}\n"
        f"print(time.process_time() - began, [n for n in {HEAVY} if n in sys.modules])"
    )
    rows = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], cwd=tiny.ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows.append(done.stdout.split(maxsplit=1))
    assert {row[1].strip() for row in rows} == {"[]"}
    assert min(float(row[0]) for row in rows) < 0.3


def test_finished_guards_are_loaded_without_running_anything(built: wb.build.Built, folder: Path) -> None:
    """By policy, or by the key of their version as well; no package of the stages is imported."""
    key_ = built.versions["06_nagini_verification"].key
    code = (
        "import sys, wb\n"
        f"session = wb.load({str(folder / 'hire')!r}, {key_[:6]!r}).session()\n"
        "session.state({'can_swim': True})\n"
        "print([session.call(tool, {}).decision for tool in ('rent_boat', 'paint_hull', 'no_such_tool')])\n"
        f"print([n for n in {(*HEAVY, *LIGHT)} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tiny.ROOT, capture_output=True, text=True)
    assert done.stdout == "['allow', 'undecided', 'deny']\n[]\n", done.stdout + done.stderr
    with pytest.raises(artifact.ArtifactError, match="version 000 of 06_nagini_verification was required; the newest"):
        wb.load(folder / "hire", "000")


def _shortened(version: Version) -> None:
    path = version.folder / "guards.json"
    path.write_text(path.read_text("utf-8")[:-2], "utf-8")


def _unsealed(version: Version) -> None:
    manifest = {**version.manifest, "seal": "0" * 64}
    text = artifact.dumps({**manifest, "digest": digest(manifest)}, "manifest")
    (version.folder / "manifest.json").write_text(text, "utf-8")


def _unfinished(version: Version) -> None:
    (version.folder / "manifest.json").unlink()


def _unanswered(version: Version) -> None:
    manifest = {**version.manifest, "failed": 1}
    manifest["seal"] = artifact._seal(manifest)
    text = artifact.dumps({**manifest, "digest": digest(manifest)}, "manifest")
    (version.folder / "manifest.json").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("stage", "spoil", "told"),
    [
        ("06_nagini_verification", _shortened, "changed or lost: 06_nagini_verification/"),
        ("06_nagini_verification", _unsealed, "sealed with your key was required"),
        ("02_vagueness_scoring", _unsealed, "sealed with your key was required"),
        ("06_nagini_verification", _unfinished, "a finished run of the policy as it is now was required"),
        ("02_vagueness_scoring", _unfinished, "whose stages are all there"),
        ("06_nagini_verification", _unanswered, "all its answers"),
    ],
)
def test_guards_that_may_not_be_believed_are_not_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, spoil: Callable, told: str
) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    monkeypatch.setenv("WB_ARTIFACTS", str(tmp_path / "copy" / "artifacts"))
    assert wb.load(tmp_path / "copy" / "hire").guard().programs
    spoil(artifact.newest(wb.paths.project(), stage))
    with pytest.raises(artifact.ArtifactError, match=told) as refused:
        wb.load(tmp_path / "copy" / "hire")
    assert "`wb run --policy" in str(refused.value)


def test_guards_of_an_edited_policy_are_not_loaded(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "hire", tmp_path / "hire")
    assert wb.load(tmp_path / "hire").guard().programs
    (tmp_path / "hire" / "policy.md").write_text(POLICY + "\nNever rent two boats.\n", "utf-8")
    with pytest.raises(artifact.ArtifactError, match="of the policy as it is now was required; there is none"):
        wb.load(tmp_path / "hire")
    with pytest.raises(ValueError, match="nothing is there"):
        wb.load("nowhere")


def test_the_example_of_readme_guards_an_agent(folder: Path, tmp_path: Path) -> None:
    """As its text has it, but for the name of the policy: a visitor who cannot swim, and one who can."""
    code = readme.fences("python")[0]
    environment = {**os.environ, "WB_ARTIFACTS": str(folder / "artifacts"), "PYTHONPATH": str(tiny.ROOT)}
    said = []
    for text in (code, code.replace('"can_swim": False', '"can_swim": True')):
        command = [sys.executable, "-c", text.replace('"POLICY"', repr(str(folder / "hire")))]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert f"“{SWIM}.”" in said[0] and "can swim is true" in said[0] and said[1] == ""
    rows = [json.loads(line) for line in (tmp_path / "decisions.jsonl").read_text("utf-8").splitlines()]
    assert [row["decision"] for row in rows] == ["deny", "allow"]


def test_the_example_of_the_book_builds_and_asks(built: wb.build.Built, folder: Path) -> None:
    (code,) = readme.fences("python")[1:]
    given_too = ", ".join(f"{name}={value!r}" for name, value in given(folder).items())
    code = code.replace('wb.build("POLICY")', f"wb.build({str(folder / 'hire')!r}, {given_too})")
    environment = {**os.environ, "PYTHONPATH": str(tiny.ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"deny {SWIM}.\n"), done.stderr


SAYS = {  # what each command of the book says of the boats
    "wb run --from 05_tool_guards": "kept",
    "wb run --model NAME --dry-run": "prompt tokens",
    "wb show 02_vagueness_scoring": "02_vagueness_scoring",
    "wb report RUN RUN": ".html",
    "wb export RUN RUN": "index.html",
    "wb check RULES": "nothing to repair",
    "wb judge POLICY RUNS.jsonl": "6 calls in 2 runs:",
    "wb diff OLD NEW": "nothing differs",
}


@pytest.mark.parametrize("shown", SAYS)
def test_the_commands_of_the_book_do_what_it_says(folder: Path, tmp_path: Path, monkeypatch, shown: str) -> None:
    """As its block has them, but for their names."""
    assert shown in readme.commands("Stages and commands")
    shutil.copytree(folder, tmp_path / "copy")
    kept = Project(tiny.ROOT, tmp_path / "copy" / "artifacts")
    last, rules = (artifact.newest(kept, stage) for stage in ("07_evaluation", "02_vagueness_scoring"))
    filled = {"RUNS.jsonl": "runs.jsonl", "RULES": str(rules.folder / "rules.json"), "NAME": "somebody"}
    filled |= dict.fromkeys(("POLICY", "OLD", "NEW"), "hire") | {"RUN": last.key}
    words = [filled.get(word, word) for word in shown.split()[1:]]
    if words[0] == "run":
        as_made = {**given(folder), "mutants": 2}
        words += ["--policy", "hire", *(w for n, v in as_made.items() for w in ("-p", f"{n}={v}"))]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nobody is there
    done = command(tmp_path / "copy", *words)
    assert done.returncode == 0 and SAYS[shown] in done.stdout + done.stderr, done.stdout + done.stderr


# ---- wb proxy ----------------------------------------------------------------------------------------

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("boats")


@server.tool(structured_output=False)
def rent_boat() -> str:
    return "rented"


@server.tool(structured_output=False)
def sink_boat() -> str:
    return "sunk"


server.run()
"""


def test_the_proxy_holds_an_agent_to_the_guards_of_the_newest_run(folder: Path, tmp_path: Path) -> None:
    """The agent starts `wb proxy` as its server: it may rent, for the visitor can swim, but not end a rental first."""
    import mcp

    (tmp_path / "server.py").write_text(SERVER, "utf-8")
    (tmp_path / "state.json").write_text('{"can_swim": true}', "utf-8")
    line = shlex.join([sys.executable, str(tmp_path / "server.py")])
    options = ["--start", line, "--state", str(tmp_path / "state.json"), "--log", str(tmp_path / "log.jsonl")]
    words = tiny.command("proxy", str(folder / "hire"), *options)
    environment = {**os.environ, "WB_ARTIFACTS": str(folder / "artifacts"), "PYTHONPATH": str(tiny.ROOT)}
    started = mcp.StdioServerParameters(command=words[0], args=words[1:], env=environment)

    async def run() -> list[tuple[bool, str]]:
        with (tmp_path / "stderr.txt").open("w") as errors:
            async with mcp.Client(mcp.stdio_client(started, errlog=errors), cache=None) as agent:
                found = [await agent.call_tool(name, {}) for name in ("end_rental", "rent_boat", "sink_boat")]
        return [(one.is_error, one.content[0].text) for one in found]

    ended, rented, sunk = asyncio.run(asyncio.wait_for(run(), 180))
    assert ended[0] and f"“{ORDER}.”" in ended[1] and rented == (False, "rented") and sunk[0]
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert [row["decision"] for row in rows] == ["deny", "allow", "deny"]
    told = (tmp_path / "stderr.txt").read_text("utf-8")
    assert "sink_boat: there is no such tool in tools.json" in told and "Traceback" not in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--start", "true"], "nothing is there"),
        (["hire", "server.py"], "an http address was required, or --start for a command"),
        (["hire", "--start", "true", "--guard", "nobody"], "a guard must be one of"),
        (["hire", "--start", "true", "--version", "000"], "version 000 of 06_nagini_verification was required"),
        (["hire", "--start", "/nowhere/at/all"], "an MCP server that answers was required"),
        (["hire", "--start", "true", "--state", "runs.jsonl"], "JSON"),
        (["hire", "--start", "true", "--seconds", "0"], "above 0"),
        (["hire", "--start", "''"], "a command that starts an MCP server was required"),
    ],
)
def test_the_proxy_tells_why_it_does_not_start(folder: Path, words: list[str], message: str) -> None:
    done = command(folder, "proxy", *words)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not done.stdout, "that is where the agent listens"


def test_the_name_is_one_thing_however_it_is_reached() -> None:
    code = (
        "import wb; first = wb.build; import wb.build; from wb import build\n"
        "assert first is build is wb.build and callable(build) and build.Built\n"
        "try: wb.absent\nexcept AttributeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tiny.ROOT)
    assert done.stdout == "module 'wb' has no attribute 'absent'\n", done.stderr


def test_a_policy_that_is_not_there_or_a_parameter_that_nobody_declares_is_named() -> None:
    with pytest.raises(ValueError, match="got 'nowhere', and nothing is there"):
        wb.build("nowhere")
    with pytest.raises(ValueError, match="no notebook declares 'mutant'"):
        wb.build("web_tasks", mutant=3)


# ---- wb diff -----------------------------------------------------------------------------------------


def test_two_versions_of_a_policy_differ_in_what_was_edited_and_what_follows(folder: Path, tmp_path: Path) -> None:
    """A ban is lifted: its sentence is gone, the guard of its tool is free, and recorded calls are allowed."""
    here = tmp_path / "two"
    shutil.copytree(folder, here)
    shutil.copytree(here / "hire", here / "lifted")
    same = command(here, "diff", "hire", "lifted", "runs.jsonl")
    assert same.returncode == 0 and same.stdout == "nothing differs\n", same.stdout + same.stderr
    (here / "lifted" / "policy.md").write_text(POLICY.replace(f"{SWIM}. ", ""), "utf-8")
    options = [word for name, value in given(folder).items() for word in ("-p", f"{name}={value}")]
    ran = command(here, "run", "--policy", "lifted", "--to", "06_nagini_verification", *options)
    assert ran.returncode == 0, ran.stderr[-2000:]
    done = command(here, "diff", "hire", "lifted", "runs.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(c["what"], c["old"]["text"]) for c in found["sentences"]] == [("gone", f"{SWIM}.")]
    assert [(g["tool"], g["after"], g["gone"]) for g in found["guards"]] == [("rent_boat", "free", [f"{SWIM}."])]
    assert [(c["tool"], c["label"], c["old"]["decision"], c["new"]["decision"]) for c in found["calls"]] == [
        ("rent_boat", "deny", "deny", "allow"),
        ("end_rental", "deny", "deny", "allow"),  # for a boat was rented before
    ]
    shown = command(here, "diff", "hire", "lifted", "runs.jsonl").stdout
    assert SWIM in shown and "2 calls decided otherwise:" in shown and "1 guard not as before:" in shown


# ---- wb verify --------------------------------------------------------------------------------------


def test_verify_proves_every_guard_again_and_finds_the_one_that_was_forged(folder: Path, tmp_path: Path) -> None:
    """What was kept holds; then a guard's body is emptied, with every digest and hash of the version made anew."""
    shutil.copytree(folder, tmp_path / "copy")
    done = command(tmp_path / "copy", "verify", "hire", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(rows) == len(TOOLS["tools"]), done.stderr
    assert all(row["holds"] and row["kept"] == row["again"] == "proved" for row in rows)
    claims = {row["tool"]: row["claim"] for row in rows}
    assert claims == dict.fromkeys(("rent_boat", "end_rental"), "proved") | {
        "paint_hull": "proved for 1 rule, 1 sentence open",
        "log_boat": "free",
        "bill_boat": "proved",
    }

    version = artifact.newest(Project(tiny.ROOT, tmp_path / "copy" / "artifacts"), "06_nagini_verification")
    path = version.folder / "guards.json"
    kept = json.loads(path.read_text("utf-8"))
    (row,) = [row for row in kept if row["tool"] == "rent_boat"]
    at = row["source"].index("    if ")
    row["source"] = row["source"][:at] + "    return (True, 'fine')\n"
    row["sha256"] = runtime.digest(row["source"])
    path.write_text(artifact.dumps(kept, "guards.json"), "utf-8")
    sized = {"sha256": key.file_digest(path), "bytes": path.stat().st_size}
    manifest = {**version.manifest, "outputs": {**version.manifest["outputs"], "guards.json": sized}}
    text = artifact.dumps({**manifest, "digest": digest(manifest)}, "manifest")
    (version.folder / "manifest.json").write_text(text, "utf-8")

    done = command(tmp_path / "copy", "verify", "hire")
    assert done.returncode == 1 and "4 of 5 guards are what their rows say" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^rent_boat +proved +error +error", done.stdout, re.MULTILINE), done.stdout

    read = artifact.newest(Project(tiny.ROOT, tmp_path / "copy" / "artifacts"), "02_vagueness_scoring")
    manifest = {**read.manifest, "seal": "0" * 64}
    text = artifact.dumps({**manifest, "digest": digest(manifest)}, "manifest")
    (read.folder / "manifest.json").write_text(text, "utf-8")
    done = command(tmp_path / "copy", "verify", "hire")
    assert done.returncode == 1 and "0 of 5 guards are what their rows say" in done.stdout, done.stdout + done.stderr
    assert "02_vagueness_scoring are not sealed with your key as this" in done.stdout.replace("\n", " "), done.stdout


@pytest.mark.parametrize("stage", ["01_policy_extraction", "02_vagueness_scoring"])
def test_rules_are_the_policys_where_their_own_seal_says_so(built: wb.build.Built, stage: str) -> None:
    """What the version of the proofs says of the policy, which anybody may write, is not enough."""
    assert built.foreign == ()
    one, proofs = built.versions[stage], built.versions[wb.build.PROOFS]
    elsewhere = {"name": "hire", "digest": "0" * 64}
    unsealed = replace(one, manifest={**one.manifest, "seal": "0" * 64})
    assert replace(built, versions={**built.versions, stage: unsealed}).foreign == (stage,)
    moved = replace(one, manifest={**one.manifest, "policy": elsewhere})
    assert replace(built, versions={**built.versions, stage: moved}).foreign == (stage,), "its seal is broken by it"
    edited = replace(proofs, manifest={**proofs.manifest, "policy": elsewhere})
    both = {**built.versions, wb.build.PROOFS: edited}
    assert replace(built, versions=both).foreign == ("01_policy_extraction", "02_vagueness_scoring")
    assert replace(built, versions={**both, stage: moved}).foreign == ("01_policy_extraction", "02_vagueness_scoring")


# ---- wb judge ---------------------------------------------------------------------------------------


def judge(folder: Path, *words: str, runs: str = "runs.jsonl") -> subprocess.CompletedProcess:
    return command(folder, "judge", "hire", runs, *words)


@pytest.mark.parametrize("guard", ["veriguard", "toolguard", "shieldagent"])
def test_judge_gives_one_line_a_call_as_the_guard_decides(built: wb.build.Built, folder: Path, guard: str) -> None:
    done = judge(folder, "--guard", guard, "--json")
    assert done.returncode == 0 and "no_such_tool" in done.stderr and "Traceback" not in done.stderr, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    asked = {(RUN[side], at): call for side, calls in CALLS.items() for at, call in enumerate(calls)}
    assert len(rows) == len(asked) and {(row["run"], row["index"]) for row in rows} == asked.keys()
    judged = list(built.judge(folder / "runs.jsonl", guard))
    assert [(row["run"], row["index"], row["decision"]) for row in rows] == [
        (j.run, j.index, j.verdict.decision) for j in judged
    ]
    for row in rows:
        tool, label, wanted = asked[row["run"], row["index"]]
        assert (row["tool"], row["label"]) == (tool, label) and (guard != "veriguard" or row["decision"] == wanted)
        assert {"run", "index", "tool", "decision", "violated", "missing", "open", "grade"} <= row.keys()
        assert all(item["quote"] for item in row["violated"]) and all(item["text"] for item in row["open"])
        assert not (row["open"] and row["decision"] == "allow")


def test_the_notebooks_measure_the_same_file_alike(folder: Path) -> None:
    results = artifact.newest(wb.paths.project(), "07_evaluation").read("results.json")["methods"]
    rows = {(r["method"], r["split"]): r["counts"] for r in results if not r.get("reason")}
    for side, calls in CALLS.items():
        stopped = [(label, wanted != "allow") for _, label, wanted in calls]
        counts = {
            "tp": stopped.count(("deny", True)),
            "fp": stopped.count(("allow", True)),
            "fn": stopped.count(("deny", False)),
            "tn": stopped.count(("allow", False)),
            "undecided": [wanted for *_, wanted in calls].count("undecided"),
        }
        assert rows["veriguard", side] == counts
    assert not any(r["published"] for r in results)


def test_judge_without_json_counts_and_compares_with_the_labels(folder: Path) -> None:
    done = judge(folder)
    assert done.returncode == 0, done.stderr
    assert "6 calls in 2 runs:" in done.stdout and "no_such_tool" in done.stdout
    assert done.stdout.partition("\n")[0].partition(": ")[2].startswith("1 of 6 labelled calls undecided; of ")
    assert re.search(r"violating denied \d of \d: [\d.]+ % \[\d+, \d+\]; compliant allowed", done.stdout)
    assert re.search(r"^to allow +3", done.stdout, re.MULTILINE)
    assert "making one" not in done.stderr
    assert "runs.jsonl: 1 call names no tool of tools.json: no_such_tool (1×, first in line " in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"run": "a", "call": {"tool": "lend", "arguments": {"n": NaN}}}', "line 1: a finite number was required"),
        (None, "a readable file was required"),
    ],
)
def test_judge_refuses_what_it_cannot_use(folder: Path, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "runs.jsonl"
    if text is not None:
        path.write_text(text + "\n", "utf-8")
    done = judge(folder, "--json", runs=str(path))
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr and not done.stdout


def test_a_file_that_is_no_recording_is_told_before_guards_are_built_for_it(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text("[]", "utf-8")
    done = command(tmp_path, "judge", "web_tasks", "tools.json")
    assert done.returncode == 2 and "tools.json, line 1" in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "empty.jsonl").write_text("\n", "utf-8")
    done = command(tmp_path, "judge", "web_tasks", "empty.jsonl", "--json")
    assert (done.returncode, done.stdout) == (
        2,
        "",
    ) and "empty.jsonl: a recording, one event a line, was " in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "tools.json"]


def test_judge_says_that_it_makes_a_run_where_there_is_none(folder: Path, tmp_path: Path) -> None:
    """The policy has mistakes, so that nothing is made here."""
    (tmp_path / "my boats").mkdir()
    (tmp_path / "my boats" / "policy.md").write_text(POLICY, "utf-8")
    (tmp_path / "my boats" / "tools.json").write_text("[", "utf-8")
    done = command(tmp_path, "judge", "my boats", str(folder / "runs.jsonl"))
    assert done.returncode == 2 and "tools.json: JSON was required" in done.stderr, done.stderr
    assert "no finished run of my boats to 06_nagini_verification" in done.stderr and " made " not in done.stderr
    assert "as it is now: making one offline, without a model" in done.stderr


def test_judge_knows_its_guards_and_says_what_it_takes_as_done(folder: Path) -> None:
    done = judge(folder, "--guard", "nobody")
    assert done.returncode == 2 and "a guard must be one of" in done.stderr
    told = " ".join(command(folder, "judge", "--help").stdout.split())
    assert "one that was executed there" in told and "has happened" in told


def test_guards_are_of_one_run_whatever_was_tried_with_a_stage_or_a_copy(tmp_path: Path) -> None:
    here = Project(tmp_path, tmp_path / "artifacts")

    def made(stage: str, policy: str = "desk", **parameters: object) -> Version:
        given = {"policy": policy, "model": "offline", **parameters}
        inputs = Inputs(stage, "batch", given, "digest", ("c",), {}, {})
        return tiny.version(here, inputs, {"a.json": "[1]"}, policy=policy)

    weights, proofs = made(build.WEIGHTS), made(build.PROOFS)
    source = key.Source("desk", "digest", tmp_path)

    def found() -> tuple[Version, ...]:
        versions = build._versions(here, source, None)
        return versions[build.WEIGHTS], versions[build.PROOFS]

    assert found() == (weights, proofs)
    tried = made(build.WEIGHTS, epsilon=-1)
    made(build.WEIGHTS, "copy", epsilon=-1)
    made(build.PROOFS, "copy")
    assert found() == (weights, proofs)
    tried.touch()
    proofs.touch()  # a whole run that uses them
    assert found() == (tried, proofs)
    with pytest.raises(ArtifactError, match="a finished 06_nagini_verification"):
        build._versions(here, key.Source("other", "digest", tmp_path), None)
