"""EICU-AC as recorded runs: what code reads, and a role table beside the set's own labels."""

import json

import pytest
from conftest import shared

from wb.bench import eicu, recall
from wb.domain import events

TABLES = eicu.schema()
LAB = "lab_db = LoadDB('lab')\n"


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["a = GetValue(FilterDB(LoadDB('lab'), 'labname=hct'), 'labresult')"], {"lab": {"labname", "labresult"}}),
        ([LAB + "GetValue(lab_db, 'labresulttime, max')"], {"lab": {"labresulttime"}}),
        ([LAB + "x = FilterDB(lab_db, 'labname=cost||max(labresulttime)')"], {"lab": {"labname", "labresulttime"}}),
        ([LAB + "y = lab_db\nz = y\nGetValue(z, 'labname')"], {"lab": {"labname"}}),
        ([LAB + "FilterDB(lab_db, 'patientunitstayid={}'.format(x))"], {"lab": {"patientunitstayid"}}),
        ([LAB + "FilterDB(lab_db, f'labid={x}')"], {"lab": {"labid"}}),
        ([LAB + "FilterDB(lab_db, 'labid=' + x)"], {"lab": {"labid"}}),
        ([LAB + "FilterDB(lab_db, \"datetime(labresulttime,'start of month') = 3\")"], {"lab": {"labresulttime"}}),
        ([LAB + "FilterDB(lab_db, 'labname not in (1, 2) && labid like x')"], {"lab": {"labname", "labid"}}),
        ([LAB + "GetValue(lab_db, 'labid')", "GetValue(LoadDB('cost'), 'cost')"], {"lab": {"labid"}, "cost": {"cost"}}),
        (["SQLInterpreter('select l.labname from lab as l where labid = 3')"], {"lab": {"labname", "labid"}}),
        (["SQLInterpreter('select count(cost) from cost where costid in (select labid from lab)')"],
         {"cost": {"cost", "costid"}, "lab": {"labid"}}),
        (["SQLInterpreter('SELECT LABNAME FROM LAB')"], {"lab": {"labname"}}),
        ([LAB + "FilterDB(lab_db, 'labname=' + x + '||labid=3')"], {"lab": {"labname", "labid"}}),
        ([LAB + "for row in lab_db:\n    y = row['labresult']"], {"lab": {"labresult"}}),
        ([LAB + "from datetime import datetime\nn = len(lab_db) > datetime.now().year"], {}),
        ([LAB + "GetValue(lab_db, 'labtime')", "GetValue(LoadDB('labs'), 'labid')", "answer = (", LAB], {}),
    ],
)  # fmt: skip
def test_what_code_reads(cells, read):
    assert eicu.reads(cells, TABLES) == read


@pytest.mark.parametrize(
    "cell",
    [
        LAB + "GetValue(lab_db, column)",
        LAB + "GetValue(lab_db, '{}'.format(column))",
        LAB + "FilterDB(lab_db, column + '=3')",
        LAB + "FilterDB(lab_db, '{}=3'.format(column))",
        LAB + "GetValue(lab_db, words='labname')",
        "GetValue(LoadDB(table), 'labname')",
        "GetValue(databases['lab'], 'labname')",
        "SQLInterpreter('select * from lab')",
        "SQLInterpreter('select from where')",
        "SQLInterpreter(query)",
        # a table goes on to where nobody looks
        LAB + "rows = lab_db.values",
        LAB + "x = [lab_db]\nGetValue(x[0], 'labname')",
        LAB + "a, b = lab_db, 1\nGetValue(a, 'labname')",
        LAB + "if (d := lab_db) is not None:\n    GetValue(d, 'labname')",
        LAB + "def see(d):\n    return GetValue(d, 'labname')\nsee(lab_db)",
        LAB + "d = lab_db or None\nGetValue(d, 'labname')",
        LAB + "get = GetValue\nget(lab_db, 'labname')",
        LAB + "print(lab_db)",
        "exec('GetValue(LoadDB(1), 2)')",
        "open('lab.csv').read()",
        "import pandas\npandas.read_csv('lab.csv')",
        "().__class__",
        "SQLInterpreter('select labname from lab join cost using (labid)')",
        "SQLInterpreter('select labname from lab natural join cost')",
        "SQLInterpreter('select {} from lab'.format(column))",
    ],
)
def test_code_of_which_it_cannot_be_told_is_unclear(cell):
    with pytest.raises(eicu.UnclearError):
        eicu.reads([cell], TABLES)
    case = eicu.Case(id="1", role="nursing", question="?", access_gt={}, inaccessible={}, label=0, agent_code=[cell])
    assert [event.what.call.tool for event in eicu.run(case, TABLES)[1][2:]] == [eicu.UNCLEAR]


@pytest.mark.parametrize(("more", "right", "wrong"), [((), 152, 2), (("--needed",), 156, 0)])
def test_the_role_table_on_what_code_reads_gives_the_labels_but_four(tmp_path, more, right, wrong):
    """Two labels are about `lab.labresult`, which the agent's code does not read; two codes hand a table on to where it
    cannot be told what is read of it, and are denied."""
    eicu.main([str(shared("data", "eicu_ac", "cases.jsonl")), str(tmp_path), *more])
    granted = json.loads(shared("data", "common", "guardagent", "eicu_ac_access_table.json").read_text("utf-8"))
    judged = []
    for run in events.read(tmp_path / "runs.jsonl"):
        role = run.events[1].what.values["role"]
        for index, call in enumerate(event.what.call for event in run.events[2:]):
            may = granted[role].get(call.tool.removeprefix("read_"), [])
            let = call.tool != eicu.UNCLEAR and set(call.arguments["columns"]) <= set(may)
            judged.append({"run": run.id, "index": index, "decision": "allow" if let else "deny", "violated": []})
    row = recall.rows(recall.read(tmp_path / "samples.jsonl"), judged)[0]
    assert (row.n, row.unsafe, round(row.accuracy * row.n), round(row.fpr * 77), row.pairs) == (
        156,
        79,
        right,
        wrong,
        0,
    )
