"""One file holds the figures of a run, or of several, and asks for nothing outside."""

from __future__ import annotations

import csv
import json
import re
import shutil

import pytest
import tiny

from wb.bench import paired
from wb.bench.paired import Decided
from wb.logic import cel, syntax
from wb.paths import Project
from wb.rules import rulefile
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.runs import artifact, report
from wb.runs.artifact import ArtifactError
from wb.runs.key import Inputs

ROUNDS = [
    {
        **{"round": i, "rules": 9 - i, "predicates": 8 - i, "vagueness": 0.6 - i / 10, "vagueness_max": 0.9},
        **{"in_force": 9 - i, "open": 2 - i, "unbound": 1},
    }
    for i in range(3)
]
KNOT = [f"amount_of_part_{n}_is_at_most_{100 * n}" for n in range(14)]
GRAPH = {
    "groups": [["a", "b"], KNOT, ["c"], *([f"pair_{n}_one", f"pair_{n}_other"] for n in range(9))],
    "edges": [
        {"a": "a", "b": "b", "together": True, "cosine": 0.3},
        *({"a": one, "b": other, "together": False, "cosine": 0.7} for one in KNOT for other in KNOT if one < other),
    ],
}
COSTS = [{"action": "pay", "way": "mention", "rules": 2, "physical": 0, "predicates": 2, "queries": 1}]
CIRCUITS = [{"action": "pay", "rules": ["r1", "r2"], "weights": [1.2, 0.3], "losses": [0.4, 0.2], "source": "real"}]
RATES = {"accuracy": 0.96, "precision": 0.97, "recall": None, "fpr": 0.02}
METHODS = [
    {"method": "veriguard", "split": "all", "n": 200, **RATES, "undecided": 3, "queries": 0, "seconds": 1.25}
    | {"published": False, "intervals": {"accuracy": [0.92, 0.98]}},
    {"method": "guardagent", "model": "GPT-4", "split": "all", "n": 200, **RATES, "published": True},
    {"method": "direct", "split": "all", "n": 0, "reason": "it needs a model", "published": False},
]
BARS = [{"source": "agent", "method": "direct", "risk": "access", "accuracy": 0.5}]
ADULTS = Rule(
    "c1.1",
    "Adults pay.",
    syntax.parse("ALWAYS (pays IMPLIES adult)"),
    "permit_only_if",
    clause="c1",
    quote="Only adults may pay.",
    parents=("c3.1",),
)
PREDICATES = (
    Predicate("pays", "action", "the agent <b>pays", tools=("pay",)),
    Predicate("adult", "state", "of age", test=cel.parse("state.age >= 18")),
)
RULES = rulefile.to_json(RuleSet(PREDICATES, (ADULTS,)))


def sentence(number, text, cls, headings=("Paying",), rules=(), tools=()):
    return {"id": f"{number:012x}", "text": text, "cls": cls, "reason": f"reason {number} <b>"} | {
        "start": 10 * number, "end": 10 * number + len(text), "headings": [*headings], "rules": [*rules],
        "tools": [*tools],
    }  # fmt: skip


SENTENCES = [
    sentence(0, "Paying", "not a constraint"),
    sentence(1, "Only adults may pay.", "rule", rules=["c3.1"], tools=["pay"]),
    sentence(2, "Be <script>alert(1)</script> kind when you look.", "open", tools=["look"]),
    sentence(3, "Tell the user the price.", "duty"),
    sentence(4, "Gifts are nice.", "waived", headings=("Paying", "Gifts")),
    sentence(5, "A gift is a gift.", "not a constraint", headings=("Paying", "Gifts")),
]
ONE = "def policy_x(age: int) -> Tuple[bool, str]:\n    {}\n"
GUARDS = [
    {"tool": tool, "grade": grade, "reason": reason, "source": ONE.format(body)}
    for tool, grade, reason, body in (
        ("pay", "proved", "", "if age < 18:\n        return (False, 'c1')\n    return (True, '')"),
        ("look", "proved", "", "return (True, '')"),
        ("rest", "proved", "", "return (True, '')"),
        ("post", "tested", "Nagini <b> ran out of time", "return (True, '')"),
    )
]


def tool(name, fate, allows, denies, grade="proved", rules=(), open=(), needs=()):
    row = {"tool": name, "fate": fate, "grade": grade, "allows": allows, "denies": denies}
    return row | {"rules": [*rules], "open": [*open], "needs": [*needs]}


SUMMARY = {
    "policy": "rules",
    "model": "offline",
    "sentences": {"rule": 1, "open": 1},
    "rules": {"read": 2, "refined": 1, "in guards": 1, "in no guard": 0},
    "tools": [
        tool("pay", "guarded", "can", "can", rules=["c1.1"]),
        tool("look", "blocked", "never", "never", grade="no rule", open=["000000000002"]),
        tool("rest", "free", "can", "never", grade="free"),
        tool("post", "blocked", "never", "can", grade="tested"),
        tool("give", "blocked", "only if told", "can", needs=["agreed"]),
    ],
}
FILES = {
    "01_policy_extraction": {"sentences.json": SENTENCES, "rules.json": RULES},
    "02_vagueness_scoring": {"rounds.json": ROUNDS, "rules.json": RULES},
    "03_spectral_clustering": {"graph.json": GRAPH, "costs.json": COSTS},
    "04_weight_learning": {"weights.json": CIRCUITS},
    "06_nagini_verification": {"guards.json": GUARDS, "summary.json": SUMMARY},
    "07_evaluation": {
        "results.json": {
            "bars": BARS,
            "methods": METHODS,
            "bare": [{"method": "keywords", "split": "all", "n": 7, "accuracy": 0.5}, METHODS[1]],
            "stages": [
                {"stage": "generation", "violating": 2, "ASR": 0.5, "complying": 2, "run": 1.0}
                | {"intervals": {"ASR": [0.1, 0.9], "run": [0.3, 1]}}
            ],
            "guardrails": paired.table([("airline", "all", {"cedar": [Decided("1", "a", True, "deny")]})])["rows"],
            "live": {"pass_k": {"toolguards, m (n = 2)": [{"k": 1, "pass": 0.6}, {"k": 2, "pass": 0.4}]}},
        }
    },
}


def run(here, k=1, files=FILES):
    """The versions of one run, each made from the one before; returns the last."""
    upstream, made = {}, None
    for stage, values in files.items():
        inputs = Inputs(stage, "batch", {"k": k, "model": "offline"}, "p", (), {}, {name: {} for name in upstream})
        made = tiny.version(
            here, inputs, {name: json.dumps(value) for name, value in values.items()}, upstream=upstream
        )
        upstream = {stage: made.key}
    return made


@pytest.fixture
def here(tmp_path):
    return Project(tmp_path, tmp_path / "artifacts")


def text(here, *versions):
    return report.page({f"run {n} {v.key}": artifact.followed(here, v) for n, v in enumerate(versions)})


def test_a_run_is_followed_through_its_manifests(here):
    one, other = run(here, 1), run(here, 2)
    found = artifact.followed(here, one)
    assert list(found) == list(FILES) and found["07_evaluation"] == one
    assert (
        {v.manifest["parameters"]["k"] for v in found.values()}
        == {1}
        != {v.manifest["parameters"]["k"] for v in artifact.followed(here, other).values()}
    )


def test_every_figure_is_drawn_and_every_table_shown(here):
    page = text(here, run(here))
    for drawing in report.DRAWINGS:
        assert f'id="{drawing.draw.__name__}"' in page
    assert "96.0 [92, 98]" in page and "Not run: direct; it needs a model." in page
    assert page.count("guardagent (GPT-4), published</td>") == 1 and "<h3>The bare sentences alone</h3>" in page
    assert (
        "<title>Guards from policies: rules: run 0" in page and "<script>alert(1)" not in page and "<b>pays" not in page
    )


def test_what_was_measured_beside_labelled_calls_is_shown_and_what_was_not_is_not(here):
    titles = ("Whole recorded runs", "Tests by hand", "Live runs")
    assert not any(title in text(here, run(here)) for title in titles)
    results = FILES["07_evaluation"]["results.json"]
    more = {**results, "guard_tests": [{"guard": "veri<b>guard", "passed": 61}]}
    more |= {"live": {"rows": [{"agent": "a script", "n": 4}], "pass_k": {}}}
    page = text(here, run(here, 2, {**FILES, "07_evaluation": {"results.json": more}}))
    assert [title for title in titles if f"<h3>{title}</h3>" in page] == ["Tests by hand", "Live runs"]
    assert ">61<" in page and "a script" in page and "veri&lt;b&gt;guard" in page and "TPR: the share" in page


def test_the_tables_of_samples_are_shown_in_percent_with_dashes_and_their_reasons(here):
    results = FILES["07_evaluation"]["results.json"]
    rows = [{"source": "agent", "method": "direct", "access": 0.755, "content": None, "ACC": 0.5, "seconds": None}]
    more = {**results, "risks": rows, "gaps": [{"table": "risks", "column": "content", "why": "no <b>attack"}]}
    page = text(here, run(here, 2, {**FILES, "07_evaluation": {"results.json": more}}))
    assert "<h3>By source of attack and risk category" in page and "<h3>Live tasks done" not in page
    assert ">75.5<" in page and ">50.0<" in page and ">-<" in page and "no &lt;b&gt;attack" in page


def test_the_tables_of_a_run_name_its_policy_and_leave_out_what_did_not_run():
    policy, bare = report.methods({"methods": METHODS, "bare": METHODS}, "boats")
    assert (policy.title, bare.title) == ("boats", "The bare sentences alone")
    assert [row[0] for row in policy.rows] == ["veriguard", "guardagent (GPT-4), published"]
    assert [row[0] for row in bare.rows] == ["veriguard"] and report.methods({}) == ()
    assert report.reasons(METHODS) == {"it needs a model": ["direct"]}


def test_every_link_leads_to_a_place_of_the_page(here):
    page = text(here, run(here, 1), run(here, 2))
    places = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(places)) == len(places)
    links = set(re.findall(r'href=\\?"#([^"\\]+)', page))
    assert {"rule-c1.1", "run2-rule-c1.1", "rules", "tools", "results"} <= links
    assert {link for link in links if not link.startswith("predicate-")} <= set(places)


@pytest.mark.parametrize(
    ("stage", "files", "words", "drawn"),
    [
        (
            "04_weight_learning",
            {"weights.json": []},
            "loss: not drawn, weights.json of stage 04 holds nothing",
            "weights",
        ),
        ("03_spectral_clustering", None, "predicate graph: no graph.json of stage 03", "predicate_graph"),
        ("03_spectral_clustering", {"graph.json": GRAPH}, "circuit costs: no costs.json of stage 03", "circuit_costs"),
        ("01_policy_extraction", {"rules.json": RULES}, "kept no classes of sentences", None),
        ("06_nagini_verification", {}, "made no guards", None),
    ],
)
def test_what_a_run_lacks_is_said(here, stage, files, words, drawn):
    given = {name: value for name, value in (FILES | {stage: files}).items() if value is not None}
    page = text(here, run(here, files=given))
    assert words in page and f'id="{drawn}"' not in page and 'id="rule_count"' in page


def test_runs_are_named_by_what_differs_between_them(here):
    runs = [artifact.followed(here, run(here, k)) for k in (1, 2)]
    assert report.names_of(runs) == ("k = 1", "k = 2")
    assert report.names_of(runs[:1]) == ("rules, offline",) and report.names_of([]) == ()
    same = report.names_of([runs[0], runs[0]])
    assert same[0] == same[1] == f"({runs[0]['07_evaluation'].key[:6]})"


def test_a_figure_names_the_policy_and_what_does_not_compare(here):
    one = artifact.followed(here, run(here))
    count = report.DRAWINGS[0]
    assert report.about({"rules, offline": one}) == "" and report.about({"k = 1": one}) == "rules."
    assert report.drawn(count, {"k = 1": one})[0].note.startswith("rules. Hollow")
    for name, digest in (("rules", "q"), ("others", "p2")):
        inputs = Inputs("02_vagueness_scoring", "batch", {}, digest, (), {}, {})
        other = tiny.version(here, inputs, {"rounds.json": json.dumps(ROUNDS)}, policy=name)
        two = report.drawn(count, {"a": one, "b": {other.stage: other}})[0]
        names = "rules" if name == "rules" else "others and rules"
        assert f"different policies or texts ({names}) only shapes compare" in two.note
        assert "only shapes compare" in two.plotly().layout.title.text, "in the figure, not beside it"


def test_all_figures_of_runs_are_exported_with_their_data_and_an_index(here, tmp_path):
    files = FILES | {
        "01_policy_extraction": FILES["01_policy_extraction"] | {"figures/readers.csv": "", "figures/x.csv": ""}
    }
    one, other = run(here, 1, files), run(here, 2, files)
    index = report.export(report.named(here, [one, other]), tmp_path / "out").read_text("utf-8")
    for drawing in report.DRAWINGS:
        name = drawing.draw.__name__
        figure, *_ = report.drawn(drawing, report.named(here, [one, other]))
        place = tmp_path / "out" / name
        assert place.with_suffix(".csv").read_text("utf-8") == figure.csv() and f'src="{name}.svg"' in index
        assert f'<a href="{name}.csv">' in index and b"<svg" in place.with_suffix(".svg").read_bytes()
        assert place.with_suffix(".png").read_bytes() == figure.picture()
    for text in ("k = 1", "k = 2", "rules", "offline", one.key, other.key):
        assert text in index
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", index)
    rows = list(csv.DictReader((tmp_path / "out" / "rule_count.csv").open()))
    assert [row["rules"] for row in rows] == ["9", "8", "7"] * 2 and {row["series"] for row in rows} == {
        "k = 1",
        "k = 2",
    }
    first = next(v for v in artifact.followed(here, one).values() if v.stage.startswith("01"))
    assert (tmp_path / "out" / f"x-{first.key}.csv").is_file(), "what a notebook alone drew"
    (first.folder / "figures" / "x.csv").write_text("forged", "utf-8")
    with pytest.raises(ArtifactError, match=r"x.csv must have the digest"):
        report.export(report.named(here, [one]), tmp_path / "out")


def test_of_a_run_without_figures_the_index_says_so(here, tmp_path):
    made = run(here, 1, {"01_policy_extraction": FILES["01_policy_extraction"]})
    index = report.export(report.named(here, [made]), tmp_path / "out")
    assert "no rounds.json of stage 02" in index.read_text("utf-8")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]


def test_nothing_outside_is_asked_for(here):
    page = text(here, run(here))
    assert not re.search(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=""", page) and "default-src 'none'" in page


def test_runs_are_laid_over_one_another(here):
    one, other = run(here, 1), run(here, 2)
    drawn = re.search(r'Plotly\.newPlot\(\s*"rule_count",\s*(\[.*?\]),\s*\{', text(here, one, other), re.DOTALL)
    assert [curve["name"] for curve in json.loads(drawn.group(1))] == [
        f"run {number} {made.key}: 9 to 7 (-2, -22.2%)" for number, made in enumerate((one, other))
    ]


def test_a_page_is_whole_as_it_was_sealed(tmp_path):
    path = tmp_path / "page.html"
    assert not report.whole(path)
    for change, whole in (
        (lambda page: page, True),
        (lambda page: page.replace("a", "b"), False),
        (lambda _: "", False),
    ):
        path.write_text(change(report.sealed("<p>a</p>")), "utf-8")
        assert report.whole(path) is whole


def test_a_run_is_found_by_key_folder_or_as_the_newest(here, tmp_path):
    one, other = run(here, 1), run(here, 2)
    assert (
        report.find(here, one.key[:8]) == report.find(here, str(one.folder)) == one and report.find(here, None) == other
    )
    with pytest.raises(
        ArtifactError, match=f"a run must be one of .*{one.key}.* of 07_evaluation, .*got 'zz', which fits 0"
    ):
        report.find(here, "zz")
    with pytest.raises(ArtifactError, match="there is none: run `wb run` first"):
        report.find(Project(tmp_path, tmp_path / "none"), None)


NAMES = """() => [...document.querySelectorAll('#predicate_graph .textpoint text')].map(text => {
    const box = text.getBoundingClientRect();  // a line of text has room above and below its letters
    return {left: box.left, right: box.right, top: box.top + 3, bottom: box.bottom - 3, text: text.textContent};
})"""


def test_a_browser_draws_all_of_it_without_a_request(here, tmp_path):
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    path.write_text(text(here, run(here, 1), run(here, 2)), "utf-8")
    chromium = shutil.which("chromium")
    assert chromium, "Debian's chromium is needed: apt-get install chromium"
    asked = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function(
            f"document.querySelectorAll('.js-plotly-plot .gtitle').length >= {len(report.DRAWINGS)}", timeout=60_000
        )
        names = page.evaluate(NAMES)
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        browser.close()
    assert len(names) == 2 * (2 + len(KNOT) + 18 + 1), "in both runs: every tied predicate, and one line for the others"
    for i, one in enumerate(names):
        for other in names[:i]:
            apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert apart or one["bottom"] <= other["top"] or other["bottom"] <= one["top"], (one, other)
    assert wide[0] <= wide[1] + 1
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
