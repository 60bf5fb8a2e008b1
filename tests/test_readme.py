"""README's commands do what README says, run as its text has them in a clean copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import prompt_path
import pytest
import readme
from markdown_it import MarkdownIt

from wb.bench import recorded
from wb.domain import events, policy, tools
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


def test_recordings_are_replayed_by_readme_s_commands(tmp_path) -> None:
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
    assert [sum(column) for column in zip(*told, strict=True)] == [0, 22], "every question is answered from a recording"


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
    shown = {t.info: t.content for t in MarkdownIt().parse(readme.README.read_text("utf-8")) if t.type == "fence"}
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
    given = {"type": "object", "properties": {name: {"type": "string"} for name in ("id", "level", "reader")}}
    listed = [
        {"name": "get_reader", "mutating": False, "parameters": given},
        *[{"name": name, "parameters": given} for name in ("lend_book", "set_level")],
    ]
    text = readme.README.read_text("utf-8")
    cells = re.findall(r'^\| (`(?:(?!"from")"|\{).*?`) \|', text, re.MULTILINE)  # one source in each, or several
    shown = [one for cell in cells for one in re.findall(r"`(.*?)`", cell)]
    told = {"name": "old", "type": "string"}
    sources = [json.loads(text) for text in shown]
    typed = {'{"step": "calls"}': "integer"} | {text: "boolean" for text in shown if text.startswith('{"question"')}
    fields = [
        {"name": f"f{i}", "type": typed.get(text, "string"), "from": source}
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
