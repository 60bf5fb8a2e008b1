"""README's commands do what README says, run as its text has them in a clean copy of the tree."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import prompt_path
import pytest
import readme

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
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "WB_"))}
    environment |= nowhere | {
        "WB_ARTIFACTS": str(tree / "artifacts"),
        "PYTHONPATH": str(tree),
        "NO_PROXY": "127.0.0.1,localhost",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    return subprocess.run(command, shell=True, cwd=tree, env=environment, capture_output=True, text=True, timeout=1200)


def test_recordings_can_be_replayed_and_made_again_by_readme_s_commands(tmp_path) -> None:
    """All of the section, in its order: the shared recordings, the example, and the same recordings made anew.

    Recording proves the guards again in a folder of its own, so what a prover happens to answer shows as other names.
    """
    tree = copied(tmp_path / "tree")
    recorded = {path.name for path in (ROOT / FIXTURE / "replies").iterdir()}
    found = readme.commands("Record and share replies")
    assert [c.split()[0] for c in found] == ["cp", "WB_REPLIES=replay", "cp", "WB_REPLIES=replay", "python"]
    for command in found:
        if FIXTURE.as_posix() not in command:
            for name, filled in PLACEHOLDERS.items():
                command = command.replace(name, filled)
        done = run(command, tree)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if command.startswith("WB_REPLIES=replay"):
            ledgers = [json.loads(path.read_text("utf-8")) for path in (tree / "artifacts").glob("0*/*/ledger.json")]
            assert (
                sum(row["total"]["calls"] for row in ledgers) == 0
                and sum(row["total"]["replayed"] for row in ledgers) > 30
            )
            # the next replay proves everything again
            assert list((tree / "artifacts" / "cache" / "nagini").iterdir())
            shutil.rmtree(tree / "artifacts" / "cache" / "nagini")
            shutil.rmtree(tree / "artifacts" / "06_nagini_verification")
    assert {path.name for path in (tree / FIXTURE / "replies").iterdir()} == recorded


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
