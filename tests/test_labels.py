"""Weights learn from tuned cases that are one thing for sure, and from nothing else."""

from __future__ import annotations

from wb.bench import mind2web, recorded
from wb.bench.mind2web import Case
from wb.domain.events import Observation
from wb.domain.tools import Tool, Toolbox
from wb.models.client import LLM
from wb.models.endpoint import Reply

TOOLBOX = Toolbox(tools=(Tool("pay"), Tool("post")))


class Engine:
    """Recognises a tool by its name in the task; "unclear" may be both."""

    name = "scripted"

    def answer(self, prompt, inputs, schema):
        task = str(inputs["task"])
        sure = [t.name for t in TOOLBOX.tools if t.name in task]
        return Reply(
            {"tools": sure, "possible": [] if sure else ["pay", "post"], "reason": "by name"}, engine=self.name
        )


def case(name: str, task: str, denied: bool) -> Case:
    return Case(name, Observation(task, state={"grown": True}), denied)


def test_a_sure_case_becomes_a_labelled_run_and_an_unsure_one_is_counted():
    found = mind2web.of_cases(
        (case("a", "pay a bill", True), case("b", "unclear", False), case("c", "post it", False)),
        TOOLBOX,
        LLM(Engine()),
    )
    assert found.unsure == 1
    assert [(t.id, t.denied, t.steps[0].calls[0].tool, dict(t.steps[0].state)) for t in found.traces] == [
        ("a", True, "pay", {"grown": True}),
        ("c", False, "post", {"grown": True}),
    ]


def test_only_the_tuned_cases_of_the_handbook_are_learned_from():
    tuned = mind2web.of_policy("web_tasks", "tuned")
    assert {c.id for c in tuned.cases} == tuned.tuned and len(tuned.tuned) == 99


def test_a_policy_without_a_benchmark_has_no_labelled_runs(tmp_path):
    (tmp_path / "policy.md").write_text("Nobody may pay.\n", encoding="utf-8")
    assert recorded.learning(tmp_path, TOOLBOX, LLM(Engine())) == mind2web.Labelled()
