"""What a model read, as decisions beside the policy: each rule and each sentence without one, unchanged.

    python tests/bench/taken_over.py RULES_JSON POLICY_FOLDER [--agreed]

RULES_JSON is that of a finished 01_policy_extraction.  The guards are then made and proved without a model, by anyone
who has the folder; what was read stays on record beside it (`replies`), and nobody looked at a rule before.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

import yaml

from wb.domain import policy
from wb.logic import formula as f
from wb.logic import syntax

READ = "as {}, taken over unchanged by tests/bench/taken_over.py"
WHY = {False: READ.format("one blind reader read it"), True: READ.format("blind readers agreed on it")}


class Written(yaml.SafeDumper):
    """YAML without anchors, which decisions may not have."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def decisions(read: dict[str, object], sentences: list[tuple[str, str]], why: str) -> list[dict[str, object]]:
    """An entry a sentence, in their order: its rules with the predicates that they name, else no constraint."""
    found = []
    for text, kind in sentences:
        rules = [rule for rule in read["rules"] if rule["quote"] == text]
        if rules:
            names = sorted({name for rule in rules for name in f.predicates(syntax.parse(rule["formula"]))})
            known = {name: read["predicates"][name] for name in names}
            kept = ("kind", "description", "tools", "test", "objects")
            predicates = {name: {key: one[key] for key in kept if one[key]} for name, one in known.items()}
            shown = [{"formula": rule["formula"], "modality": rule["modality"]} for rule in rules]
            found.append({"text": text, "decision": "rule", "why": why, "predicates": predicates, "rules": shown})
        elif kind != "heading":
            found.append({"text": text, "decision": "not a constraint", "why": why})
    return found


if __name__ == "__main__":
    rules, folder = Path(sys.argv[1]), Path(sys.argv[2])
    (folder / "decisions.yaml").unlink(missing_ok=True)
    every = [(one.text, getattr(one, "kind", "")) for one in policy.load(str(folder)).sentences]
    made = decisions(json.loads(rules.read_text("utf-8")), every, WHY[sys.argv[3:] == ["--agreed"]])
    text = yaml.dump({"decisions": made}, Dumper=Written, sort_keys=False, width=118, allow_unicode=True)
    (folder / "decisions.yaml").write_text(text, "utf-8")
    print(f"{folder}: {sum(one['decision'] == 'rule' for one in made)} of {len(made)} sentences are rules")
