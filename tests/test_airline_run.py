"""The seven notebooks on a policy that nobody here shaped and that has no labelled runs."""

import json

from conftest import shared, wb
from test_run import newest


def test_a_policy_never_shaped_goes_the_whole_way(tmp_path):
    done = wb(tmp_path, "run", "--policy", str(shared("data", "common", "tau_airline")), "-p", "mutants=0")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    results = newest(tmp_path, "07_evaluation", "results.json")
    assert all(row["accuracy"] is None for row in results["methods"] if not row["published"])
    assert "no labelled runs" in json.dumps(results) and "-p runs=FILE" in done.stdout
    assert newest(tmp_path, "04_weight_learning", "manifest.json")["summary"]["real"] == 0
