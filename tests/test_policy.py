"""Policies: where they are found, and what is said of one that cannot be used."""

import json

import pytest

from wb.domain import policy
from wb.runs import key

TEXT = "# House\n\nDo not run.\n"


def folder(tmp_path, **files):
    for name, data in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path


def test_a_folder_or_a_single_document_comes_with_the_tools_beside_it(tmp_path):
    bare = policy.load(folder(tmp_path, policy__md=TEXT))
    assert (bare.toolbox.tools, policy.load("web_tasks").name) == ((), "web_tasks")
    found = policy.load(folder(tmp_path, tools__json='[{"name": "run"}]'))
    assert (found.name, found.text, found.toolbox.tools[0].name) == (tmp_path.name, TEXT, "run")
    assert [s.text for s in found.sentences] == ["House", "Do not run."]
    folder(tmp_path, house__txt=TEXT, tools__json='{"tools": [], "state": [{"name": "age", "type": "integer"}]}')
    found = policy.load(tmp_path / "house.txt")
    assert found.name == "house" and found.toolbox.state[0].name == "age"


def test_the_digest_covers_the_text_and_the_tools(tmp_path):
    first = policy.load(folder(tmp_path, policy__md=TEXT)).digest
    assert policy.load(tmp_path).digest == first
    assert policy.load(folder(tmp_path, tools__json="[]")).digest != first
    (tmp_path / "tools.json").unlink()
    assert policy.load(folder(tmp_path, policy__md=TEXT + "No.")).digest != first


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    assert policy.load(folder(tmp_path, policy__md=b"\xef\xbb\xbf" + TEXT.encode())).text == TEXT


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "a policy document, one of policy.md, policy.txt"),
        ({"readme__md": "x"}, r"was required; got files \['readme.md'\]"),
        (
            {"policy__md": TEXT, "policy__txt": TEXT},
            r"exactly one of .*got \['policy.md', 'policy.txt'\]; name one with document=",
        ),
        ({"policy__md": ""}, r"policy.md: a document with text was required; got an empty one \(0 bytes\)"),
        ({"policy__md": b"caf\xe9"}, "policy.md: UTF-8 text was required; got byte 0xe9 at offset 3"),
        ({"policy__md": TEXT, "tools__json": "{"}, "tools.json: JSON was required; got"),
        ({"policy__md": TEXT, "tools__json": '[{"name": "a b"}]'}, r"tools\[0\]: an object with a 'name'"),
        ({"policy__md": TEXT, "tools__json": b"\xff"}, "tools.json: UTF-8 text was required; got byte 0xff"),
        ({"policy__md": TEXT, "tools__json": "3"}, "a list of tools, or an object .* was required; got int 3"),
    ],
)
def test_a_policy_that_cannot_be_used_says_what_was_required_and_got(tmp_path, files, message):
    with pytest.raises(policy.PolicyError, match=message):
        policy.load(folder(tmp_path, **files))


def test_a_policy_that_does_not_exist_names_those_that_do():
    with pytest.raises(
        policy.PolicyError,
        match=r"a name under policies/, one of \[.*'web_tasks'.*\], a folder or a document; got 'nowhere'",
    ):
        policy.load("nowhere")


def test_one_of_several_documents_can_be_named(tmp_path):
    folder(tmp_path, policy__md=TEXT, policy__txt="Do not sing.\n", other__md="Do not hum.\n")
    assert policy.load(tmp_path, document="other.md").text == "Do not hum.\n"
    with pytest.raises(policy.PolicyError, match="the document 'no.md' was asked for; got files"):
        policy.load(tmp_path, document="no.md")


def test_the_name_of_a_policy_means_the_same_to_whatever_reads_and_whatever_hashes_it(tmp_path, monkeypatch):
    """A local folder with the name of a policy under `policies/`: a bare name is the policy, a path the path."""
    policies = tmp_path / "policies"
    for place, text in (
        ("policies/rules", TEXT),
        ("rules", "Do not sing.\n"),
        ("mine", "Do not hum.\n"),
        ("policies/deep/inner", "Do not shout.\n"),
    ):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "policy.md").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    for value, meant in {
        "rules": "policies/rules",
        "./rules": "rules",
        "rules/": "rules",
        str(tmp_path / "rules"): "rules",
        "mine": "mine",
        "deep/inner": "policies/deep/inner",
        "rules/policy.md": "rules/policy.md",
        "deep/inner/policy.md": "policies/deep/inner/policy.md",
    }.items():
        assert policy.place(value, policies).resolve() == key.policy(value, policies).path == tmp_path / meant, value


def test_a_local_folder_does_not_hide_a_policy_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "web_tasks").mkdir()
    folder(tmp_path / "web_tasks", policy__md=TEXT)
    monkeypatch.chdir(tmp_path)
    assert (
        policy.load("web_tasks").text
        == policy.load(policy.ROOT / "policies" / "web_tasks").text
        != TEXT
        == policy.load("./web_tasks").text
    )
    assert key.policy("web_tasks", policy.ROOT / "policies").path == policy.place("web_tasks").resolve()


@pytest.mark.parametrize("value", ["", "../nowhere", "web_tasks/nowhere.md"])
def test_a_policy_that_neither_finds_is_the_same_error(value):
    with pytest.raises(policy.PolicyError, match="a bare name means the policy under policies/ first") as read:
        policy.load(value)
    with pytest.raises(key.SourceError) as hashed:
        key.policy(value, policy.ROOT / "policies")
    assert str(read.value) == str(hashed.value)


def test_clauses_survive_json_each_field_by_itself() -> None:
    whole = policy.Clause("c1", "Never pay.", 3, 13, ("Top", "Money"), ("Also:",), ("Pay means pay.",), "at night")
    again = policy.from_json(json.loads(json.dumps(policy.to_json((whole, policy.Clause("c2", "x", 0, 1))))))
    assert again == (whole, policy.Clause("c2", "x", 0, 1))
    assert all(type(getattr(again[0], name)) is tuple for name in ("headings", "context", "definitions"))
