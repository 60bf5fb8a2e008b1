"""The notebooks up to tested guards on a policy that nobody here shaped and that has no labelled runs.

What the last ones say of a policy without runs is in `test_comparison`.
"""

from conftest import shared, wb
from test_run import newest


def test_a_policy_never_shaped_gets_its_guards(tmp_path):
    source = str(shared("data", "common", "tau_airline"))
    done = wb(tmp_path, "run", "--policy", source, "-p", "max_rounds=1", "--to", "05_tool_guards")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert newest(tmp_path, "04_weight_learning", "manifest.json")["summary"]["real"] == 0
    assert len(newest(tmp_path, "05_tool_guards", "candidates.json")) == 14
