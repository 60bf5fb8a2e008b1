"""Policies: where they are found, and what is said of one that cannot be used."""

import pytest

from wb.domain import policy

TEXT = "# House\n\nDo not run.\n"


def folder(tmp_path, **files):
    for name, data in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path


def test_a_folder_gives_its_document_and_its_tools(tmp_path):
    found = policy.load(folder(tmp_path, policy__md=TEXT, tools__json='[{"name": "run"}]'))
    assert (found.name, found.text, found.toolbox.tools[0].name) == (tmp_path.name, TEXT, "run")
    assert [s.text for s in found.sentences] == ["House", "Do not run."]


def test_a_single_document_takes_the_tools_beside_it(tmp_path):
    folder(tmp_path, house__txt=TEXT, tools__json='{"tools": [], "state": [{"name": "age", "type": "integer"}]}')
    found = policy.load(tmp_path / "house.txt")
    assert found.name == "house" and found.toolbox.state[0].name == "age"


def test_a_document_without_tools_has_an_empty_toolbox(tmp_path):
    assert policy.load(folder(tmp_path, policy__md=TEXT)).toolbox.tools == ()


def test_a_name_is_looked_up_under_policies():
    assert policy.load("web_tasks").name == "web_tasks"


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
        policy.PolicyError, match=r"a name under policies/ \[.*'web_tasks'.*\], a folder or a document; got 'nowhere'"
    ):
        policy.load("nowhere")


def test_one_of_several_documents_can_be_named(tmp_path):
    folder(tmp_path, policy__md=TEXT, policy__txt="Do not sing.\n", other__md="Do not hum.\n")
    assert policy.load(tmp_path, document="other.md").text == "Do not hum.\n"
    with pytest.raises(policy.PolicyError, match="the document 'no.md' was asked for; got files"):
        policy.load(tmp_path, document="no.md")


def test_clauses_survive_json():
    clause = policy.Clause("c1", "Do not run.", 9, 20, ("House",), ("Label",), ("Run means haste.",), "Everywhere.")
    assert policy.from_json(policy.to_json((clause,))) == (clause,)
