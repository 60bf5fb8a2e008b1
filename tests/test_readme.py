"""The commands of README and book do what is said of them, run as the text has them in a clean copy of the tree."""

import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import nbformat
import prompt_path
import pytest
import readme
import typer

import wb
from wb import cli
from wb.bench import recorded
from wb.domain import events, policy, session, tools
from wb.logic import cel, syntax
from wb.offline import reader
from wb.rules import decisions, sentences
from wb.shield import circuit
from wb.shield.shield import Shield

ROOT = readme.README.parent
FIXTURE = prompt_path.FOLDER.relative_to(ROOT)
# what a reader has to fill in
PLACEHOLDERS = {"their/replies": f"{FIXTURE}/replies", "POLICY": str(FIXTURE), "NAME": prompt_path.MODEL}


def copied(target: Path) -> Path:
    """The tree as git has it, with what is not committed yet; no artifacts but what belongs to it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def run(command: str, tree: Path) -> subprocess.CompletedProcess:
    """One command as a shell runs it in the tree: no key, and every address but this machine's goes nowhere."""
    nowhere = dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"
    )
    environment = {
        name: value for name, value in os.environ.items() if name == "WB_KEY" or not name.startswith(("OPENAI_", "WB_"))
    }
    environment |= nowhere | {
        "WB_ARTIFACTS": str(tree / "artifacts"),
        "PYTHONPATH": str(tree),
        "NO_PROXY": "127.0.0.1,localhost",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    return subprocess.run(command, shell=True, cwd=tree, env=environment, capture_output=True, text=True, timeout=1200)


def test_recordings_are_replayed_by_the_commands_shown(tmp_path) -> None:
    """The example of the section in a clean copy: no call, no key; the general form is its beginning."""
    tree = copied(tmp_path / "tree")
    *general, copy, replay = readme.commands("Record and share replies")
    for command, example in zip(general, (copy, replay), strict=True):
        for name, filled in PLACEHOLDERS.items():
            command = command.replace(name, filled)
        assert example.startswith(command)
    for command in (copy, replay):
        done = run(command, tree)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    ledgers = [json.loads(path.read_text("utf-8")) for path in (tree / "artifacts").glob("0*/*/ledger.json")]
    told = [(row["total"]["calls"], row["total"]["replayed"]) for row in ledgers]
    assert [sum(column) for column in zip(*told, strict=True)] == [0, 31], "every question is answered from a recording"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# A\n\n## S\n\nWords:\n\n    one two          # said\n    X=1 three # four\n\nmore\n\n    five\n\n"
            "## T\n\n    six\n",
            ["one two", "X=1 three", "five"],
        ),
        ("## S\n```sh\none\n# said\n```\n```mermaid\nflowchart\n```\n", ["one"]),
        ("## S\n\n- a list\n    goes on here\n\n## T\n", []),
        ("## S\n\n    echo '#1'\n\n### U\n\n    no\n", ["echo '#1'"]),
    ],
)
def test_the_commands_of_a_section_are_its_code(text: str, expected: list[str]) -> None:
    assert readme.commands("S", text) == expected


def test_a_section_that_is_not_there_is_an_error() -> None:
    with pytest.raises(LookupError, match="needs a section 'S'"):
        readme.commands("S", "# T\n")


def test_the_files_that_readme_shows_are_what_is_read(tmp_path: Path) -> None:
    """Its tools, its run and its decision, as a person would copy them, beside a document with the decided sentence."""
    shown = {kind: readme.fences(kind)[0] for kind in ("json", "jsonl", "yaml")}
    said = "Readers whose card is blocked are to be sent away."
    (tmp_path / "library.md").write_text(f"Do not lend a book for more than 14 days. {said}\n", "utf-8")
    for name, kind in (("tools.json", "json"), ("runs.jsonl", "jsonl"), ("decisions.yaml", "yaml")):
        (tmp_path / name).write_text(shown[kind], "utf-8")
    found = policy.load(str(tmp_path))
    (made,) = decisions.loads(shown["yaml"], found)
    extracted = reader.extracted(found)
    before = sentences.classify(found, extracted).accounts
    after, joined = sentences.classify(found, extracted, (made,))
    assert [(r.text == said, r.cls) for r in before] == [(False, "rule"), (True, "open")]
    assert [r.cls for r in after] == ["rule", "rule"]
    groups = {p.name: [r.id for r in joined.rules if p.name in r.predicates] for p in joined.predicates}
    guard = Shield(joined.predicates, circuit.build(joined, groups), toolbox=found.toolbox)
    judged = tuple(recorded.judge(guard, events.stream(tmp_path / "runs.jsonl")))
    assert [(j.verdict.decision, j.verdict.quotes) for j in judged] == [
        ("deny", ("Do not lend a book for more than 14 days.",))
    ]


def test_each_source_that_readme_shows_is_one_that_is_read() -> None:
    """The forms of its table, as fields of a domain with the tools that they name."""
    given = {"type": "object", "properties": {name: {"type": "string"} for name in ("id", "level", "reader", "body")}}
    listed = [
        {"name": "get_reader", "mutating": False, "parameters": given},
        *[{"name": name, "parameters": given} for name in ("lend_book", "set_level")],
    ]
    text = (ROOT / "book" / "files.md").read_text("utf-8")
    cells = re.findall(
        r'^\| (`(?:(?!"from")"|\{(?!"run")).*?`) \|', text, re.MULTILINE
    )  # one source in each, or several
    shown = [one for cell in cells for one in re.findall(r"`(.*?)`", cell)]
    told = {"name": "old", "type": "string"}
    sources = [json.loads(text) for text in shown]
    typed = {'{"step": "calls"}': "integer"} | {
        text: "boolean" for text in shown if text.startswith(('{"question"', '{"detect"'))
    }
    fields = [
        {"name": f"f{i}", "type": typed.get(text, "string"), "from": source}
        | ({"enum": list(tools.ORIGINS)} if "origin" in source else {})
        for i, (text, source) in enumerate(zip(shown, sources, strict=True))
    ]
    box = tools.parse(json.dumps({"tools": listed, "state": [told, *fields]}))
    kinds = [field.source.kind for field in box.state if field.source is not None]
    assert (
        set(kinds) == set(get_args(get_type_hints(tools.Source)["kind"]))
        and kinds.count("said") == kinds.count("step") == 2
    )
    assert [[*dict(field.source.objects)] for field in box.state[1:]].count(["lend_book"]) == 1
    with pytest.raises(tools.ToolError, match="declared before"):
        tools.parse(json.dumps({"tools": listed, "state": fields}))


def test_the_question_that_is_shown_is_one_that_is_read() -> None:
    (field,) = (json.loads(text) for text in readme.fences("json")[1:])
    box = tools.parse(json.dumps({"tools": [{"name": "cancel", "parameters": GIVEN}], "state": [field]}))
    assert box.state[0].source.kind == "question"


GIVEN = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


# ---- every command ------------------------------------------------------------------------------

SPOKEN = [*readme.commands(None), *(text for text in readme.spans() if readme.COMMAND.fullmatch(text))]
# The first words of each command of a block, and where it is executed.
EXECUTED = {
    "python3 go.py run": "../.ci/run",  # a clean clone is set up, and its suite run
    "python3 go.py test": "../.ci/run",
    "wb run -p max_rounds=1": "test_run.py",
    "wb run --model NAME --dry-run": "test_build.py",
    "wb run --from 05_tool_guards": "test_build.py",
    "wb show": "test_build.py",
    "wb report": "test_build.py",
    "wb export": "test_build.py",
    "wb verify": "test_build.py",
    "wb check": "test_build.py",
    "wb judge": "test_build.py",
    "python -m wb.bench.world": "test_world.py",
    "python -m wb.bench.recall": "test_recall.py",
    "python -m wb.bench.tables": "test_tables.py",
    "python -m wb.bench.st_webagentbench": "test_st_webagentbench.py",
    "python -m wb.bench.assebench": "test_assebench.py",
    "python -m wb.bench.eicu": "test_eicu.py",
    "python -m wb.bench.asb": "test_asb.py",
    "python -m wb.bench.agentdojo": "test_agentdojo.py",
    "wb weigh": "test_weighing.py",
    "python tests/bench/planted_readings.py": "test_planted_readings.py",
    "python tests/bench/paired.py": "test_outside.py",
    "python tests/bench/label_audit.py": "test_label_audit.py",
    "wb run --policy POLICY -p peers=": "test_paired.py",
    "wb run --policy shopping -p runs=": "test_tables.py",
    "wb diff": "test_build.py",
    "wb sweep": "test_sweep.py",
    "wb live": "test_experiment.py",
    "wb run --policy airline -p live=": "test_experiment.py",
    "wb run --policy path/to/handbook.pdf": "test_airline_run.py",
    "wb run --policy path/to/folder": "test_build.py",
    "wb run --policy POLICY -p runs=": "test_build.py",
    "wb run --model NAME": "test_run_with_model.py",
    "cp -r ": "test_readme.py",
    "WB_REPLIES=replay ": "test_readme.py",
    "export OPENAI_": "test_run_with_model.py",
}
USAGE = typer.BadParameter.__base__  # what a wrong option or argument raises


def declared() -> set[str]:
    """The parameters of all notebooks."""
    cells = [c for p in (ROOT / "notebooks").glob("*.ipynb") for c in nbformat.read(p, as_version=4).cells]
    text = "\n".join(cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ()))
    return set(re.findall(r"^(\w+) = ", text, re.M))


def mistake(command: str) -> str | None:
    """What is wrong with a command, read by the parsers that it would meet; None where nothing is."""
    plain = re.sub(r" > [\w./-]+$", "", re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command))  # variables, and where it is kept
    words = shlex.split(plain.replace("…", ""))
    if words[:2] == ["python3", "go.py"]:
        named = re.search(r"command not in \((.*?)\)", (ROOT / "go.py").read_text("utf-8"))[1]
        return None if f'"{words[2]}"' in named else f"go.py has no {words[2]}"
    if words[0].startswith("python"):
        there = importlib.util.find_spec(words[2]) if words[1] == "-m" else (ROOT / words[1]).exists()
        return None if there else f"there is no {words[1:3]}"
    if words[0] != "wb" or len(words) < 3:  # a name alone
        known = typer.main.get_command(cli.app).commands
        return None if words[0] != "wb" or len(words) < 2 or words[1] in known else f"wb has no {words[1]}"
    try:
        context = typer.main.get_command(cli.app).commands[words[1]].make_context(words[1], words[2:])
    except (KeyError, USAGE) as error:
        return str(error)
    stages = [path.stem for path in (ROOT / "notebooks").glob("*.ipynb")]
    for name in filter(None, (context.params.get("first"), context.params.get("last"))):
        if not any(stage.startswith(name) for stage in stages):
            return f"there is no stage {name}"
    return None


@pytest.mark.parametrize("command", dict.fromkeys(SPOKEN))
def test_every_command_is_one(command: str) -> None:
    assert mistake(command) is None


@pytest.mark.parametrize(
    "command", ["wb runs", "wb judge hire", "wb run --form 05", "wb run --to 09", "python3 go.py x", "python -m wb.x"]
)
def test_a_command_that_is_none_is_told(command: str) -> None:
    assert mistake(command) is not None


def test_every_command_of_a_block_is_executed_somewhere() -> None:
    shown = dict.fromkeys(readme.commands(None))
    assert len(shown) > 20
    assert not [line for line in shown if not any(line.startswith(begin) for begin in EXECUTED)], "name its test"
    assert not [begin for begin in EXECUTED if not any(line.startswith(begin) for line in shown)], "no longer shown"
    assert not [name for name in EXECUTED.values() if not (ROOT / "tests" / name).exists()]


def test_every_parameter_that_is_shown_is_declared() -> None:
    texts = "\n".join((*SPOKEN, *readme.spans()))
    shown = set(re.findall(r"-p (\w+)", texts))
    assert len(shown) > 8 and shown <= declared()


# ---- rules, calls of Python, links --------------------------------------------------------------


def test_every_formula_and_test_that_is_shown_is_read() -> None:
    formulas = [text for text in readme.spans() if re.match(r"(?:ALWAYS|ONCE|COUNT)\b", text)]
    assert len(formulas) >= 4 and all(syntax.parse(text) for text in formulas)
    facts = [text for text in readme.spans() if re.match(r"(?!session)[\w.(]*(?:call|state)\..+[)=]", text)]
    assert len(facts) >= 4 and all(cel.parse(text) for text in facts), facts
    with pytest.raises(ValueError):
        cel.parse("size(call.guests <= 8")


def test_every_call_of_python_that_is_shown_has_its_parameters() -> None:
    accepted = {
        "session": inspect.signature(session.Session).parameters,
        "load": inspect.signature(wb.load).parameters,
        "build": inspect.signature(wb.build).parameters,
    }
    calls = [text for text in readme.spans() if re.match(r"(?:guards\.|wb\.)?(?:session|load|build)\(", text)]
    named = [
        (found[1], keyword)
        for text in calls
        for found in re.finditer(r"(session|load|build)\((.*)\)", text)
        for keyword in re.findall(r"(\w+)=", found[2])
    ]
    assert {name for name, _ in named} == {"session", "build"}
    assert len(named) >= 6
    for name, keyword in named:
        assert keyword in accepted[name] or name == "build" and keyword in declared(), (name, keyword)
    methods = {found for text in readme.spans() for found in re.findall(r"\bsession\.(\w+)\(", text)}
    assert methods >= {"lost", "replay"} and all(hasattr(session.Session, name) for name in methods)


def test_every_variable_that_is_shown_is_read() -> None:
    shown = {found for text in (*readme.spans(), *SPOKEN) for found in re.findall(r"\bWB_[A-Z_]+", text)}
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "wb").rglob("*.py"))
    assert len(shown) > 6 and all(f'"{name}"' in source for name in shown)


def anchors(page: Path) -> set[str]:
    """What a link may name on a page: its headings, as GitHub and the book write them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*readme.PAGES, ROOT / "LOG.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for address in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
        target = page.parent / address[0] if address[0] else page
        assert target.is_file(), address
        assert not address[1] or address[1] in anchors(target), address


def test_every_file_that_is_named_is_there() -> None:
    named = {text for text in readme.spans() if re.fullmatch(r"(?:wb|tests|notebooks|policies|prompts)/[\w/.]+", text)}
    assert len(named) > 5 and all((ROOT / name).exists() or name == "tests/test_TOOL.py" for name in named)
