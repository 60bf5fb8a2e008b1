"""What a person sees in a browser: Debian's chromium, driven by playwright.

Notebook 02 is opened in JupyterLab and every cell is run; a document is reviewed in notebook 01, from a click to
another verdict on a call; and the notebooks that a whole run executed are looked at, in JupyterLab and as nbconvert's
HTML: no row is broken, no figure blank, no line wider than the screen.
"""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT

from wb.domain import policy as documents
from wb.guards import contract, synthesis
from wb.guards.runtime import CallGuard, Guarded
from wb.offline import reader
from wb.rules import decisions, sentences

NOTEBOOK = "02_vagueness_scoring"
UPSTREAM = "01_policy_extraction"
SCREENSHOTS = ROOT / "artifacts" / "screenshots"
LOOKED = ("01_policy_extraction", "02_vagueness_scoring", "06_nagini_verification", "07_evaluation")
WIDE = {"width": 1400, "height": 1000}
TOKEN = "loopback-only"
CHROMIUM = "/usr/bin/chromium"
FLAGS = "no-sandbox disable-dev-shm-usage disable-background-networking disable-component-update disable-sync"
QUIET = tuple(f"--{flag}" for flag in f"{FLAGS} disable-domain-reliability no-first-run no-pings disable-gpu".split())
KERNEL_IS_IDLE = "Python 3 (ipykernel) | Idle"  # in the status bar
ERROR = "[data-mime-type='application/vnd.jupyter.error']"
FINISHED = f"""() => {{
    if (document.querySelector("{ERROR}")) return true;
    const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(p => p.textContent.trim());
    return prompts.length > 0 && prompts.every(p => /^\\[\\d+\\]:?$/.test(p));
}}"""


# What is wrong with a page: what is wider than the screen or than its cell, and rows that are broken.
WRONG = """() => {
    const found = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth + 1) found.push(`the page is ${wide} wide`);
    for (const cell of document.querySelectorAll('.wb:not(.card) td:not(.prose), .wb:not(.card) th')) {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const middles = [...range.getClientRects()].map(r => (r.top + r.bottom) / 2);
        if (Math.max(...middles) - Math.min(...middles) > 9) found.push(`broken: ${cell.textContent.slice(0, 60)}`);
    }
    for (const shown of document.querySelectorAll('.jp-OutputArea-output, .output_area')) {
        if (['auto', 'scroll'].includes(getComputedStyle(shown).overflowX)) continue;
        const text = shown.textContent.slice(0, 60);
        if (shown.scrollWidth > shown.clientWidth + 1) found.push(`wider than its cell: ${text}`);
    }
    return found;
}"""
# How many figures of a page have something drawn in colour: pictures by their points, plotly by its curves and marks.
DRAWN = """() => {
    const coloured = image => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
        const pen = canvas.getContext('2d');
        pen.drawImage(image, 0, 0);
        const points = pen.getImageData(0, 0, canvas.width, canvas.height).data;
        let found = 0;
        for (let i = 0; i < points.length; i += 4) {
            const rgb = [points[i], points[i + 1], points[i + 2]];
            if (Math.max(...rgb) - Math.min(...rgb) > 60) found++;
        }
        return found;
    };
    const pictures = [...document.querySelectorAll('img')].filter(image => image.naturalWidth && coloured(image) > 100);
    const plots = [...document.querySelectorAll('.js-plotly-plot')].filter(
        plot => plot.querySelector('.scatterlayer path') && plot.getBoundingClientRect().height > 100);
    return pictures.length + plots.length;
}"""


def go():
    """The project's `go.py` as a module: its own command line for JupyterLab is what is tested."""
    spec = importlib.util.spec_from_file_location("go", ROOT / "go.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def home(folder: Path, **more: str) -> dict[str, str]:
    """An environment whose home, settings and artifacts lie in a folder."""
    kinds = {f"JUPYTER_{name.upper()}_DIR": str(folder / name) for name in ("config", "data", "runtime")}
    own = {"HOME": str(folder), "WB_ARTIFACTS": str(folder / "artifacts"), "IPYTHONDIR": str(folder / "ipython")}
    return {**os.environ, **kinds, **own, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def browser():
    """Opens pages of Debian's chromium, one after the other, each with the addresses that it asked for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))

        def opened() -> tuple[object, list[str]]:
            page, asked = chromium.new_page(viewport=WIDE), []
            page.on("request", lambda request: asked.append(request.url))
            return page, asked

        yield opened
        chromium.close()


@contextmanager
def jupyterlab(folder, environment, *more, root=None):
    """The address of the JupyterLab that `go.py lab` starts, with more options, for as long as the block runs; of a
    plain one in the folder `root`, where one is given."""
    port = free_port()
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    options += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", *more]
    line = [sys.executable, "-m", "wb.cli", *map(str, go().work("lab", options)[1:])]
    if root is not None:
        line = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", *options]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(line, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/api/status?token={TOKEN}", server, folder / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def wait_until_it_answers(address, server, log, patience_s=90):
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not answer within {patience_s} s:\n{log.read_text()[-2000:]}")


def run_all_cells(page, patience_s=180):
    """Press Run > Run All Cells once the right kernel is connected; wait until each cell is numbered, or one failed."""
    page.get_by_text(KERNEL_IS_IDLE).wait_for(timeout=90_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(FINISHED, timeout=patience_s * 1000)


def test_notebook_02_runs_in_jupyterlab_sorts_its_tables_and_shows_its_curve(tmp_path):
    """A copy of the notebook (JupyterLab saves into it), beside the earlier stage that it reads."""
    line = [sys.executable, "-c", "from wb.cli import main; main()", "run", "--to", UPSTREAM]
    ran = subprocess.run(line, env=home(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-1000:] + ran.stderr[-3000:]
    with jupyterlab(tmp_path, home(tmp_path)) as address, browser() as opened:
        page, asked = opened()
        page.goto(f"{address}/lab/tree/lab/web_tasks/{NOTEBOOK}.ipynb?token={TOKEN}")
        run_all_cells(page)
        assert not page.locator(ERROR).all_text_contents()
        first = page.locator(".jp-OutputArea-output").first.text_content().strip()
        table = page.locator(".wb table", has=page.get_by_text("The predicates that are nearest")).first
        table.scroll_into_view_if_needed()
        columns = []
        for _ in range(2):
            table.locator("th", has_text="nearness").click()
            columns.append([float(text) for text in table.locator("td:nth-child(2)").all_inner_texts()])
        still = page.locator(".jp-RenderedPlotly img:visible").last
        still.scroll_into_view_if_needed()
        fits = still.evaluate("image => image.naturalWidth > 0 && image.clientWidth <= image.parentElement.clientWidth")
        still.dispatch_event("mouseenter")  # pointed at, the still picture becomes the figure that plotly draws
        curve = page.locator(".js-plotly-plot", has=page.locator(".gtitle", has_text="How near")).first
        curve.wait_for(state="attached", timeout=30_000)
        curve.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # let plotly finish drawing
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{NOTEBOOK}.png")
    assert columns[0] == sorted(columns[1]) and columns[1] == columns[0][::-1] and len(set(columns[0])) > 1
    assert fits and not outside(asked, address), "the page must ask nothing of the outside"
    (manifest,) = (tmp_path / "artifacts" / NOTEBOOK).glob("[!.]*/manifest.json")  # stepping writes where a run writes
    written = json.loads(manifest.read_text("utf-8"))
    assert (
        first == "policy web_tasks, model offline"
        and written["mode"] == "batch"
        and {"rounds.json", "rules.json"} <= set(written["outputs"])
    )


BOATS = """# Boat hire

Never rent a boat to a visitor who cannot swim. Do not paint a boat in haste.
The sign says <script>window.hit = 1</script> "old <img src=x onerror='window.hit = 2'> harbour".
Boats are blue & white.
"""
BOAT_TOOLS = {
    "tools": [
        {"name": "rent_boat", "description": "Rent a boat to a visitor.", "keywords": ["rent a boat"]},
        {"name": "paint_boat", "description": "Paint a boat.", "keywords": ["paint a boat"]},
    ],
    "state": [
        {"name": "can_swim", "type": "boolean", "description": "the visitor can swim", "keywords": ["swim"]},
        {"name": "rested", "type": "boolean", "description": "whoever paints has rested"},
    ],
}
PERSONS = """# Ann decides here
decisions:
  - id: "0123456789ab"   # of last year's document
    text: Never paint a boat in a great haste.
    decision: rule
    why: the painter is slow
    predicates: {slow: {kind: action, tools: [paint_boat]}, rested: {kind: state}}
    rules: [{formula: ALWAYS (slow IMPLIES rested), modality: permit_only_if}]
"""
OWN_RULE = """predicates:
  paints: {kind: action, tools: [paint_boat]}
  rested: {kind: state}
rules:
  - {formula: ALWAYS (paints IMPLIES rested), modality: permit_only_if}
"""
HOSTILE = "<img src=x onerror='window.hit = 3'> the harbour master sees to it"


@pytest.fixture
def hire(tmp_path):
    """A desk with notebook 01 about a policy of boats, beside which a person has decided something long ago."""
    (tmp_path / "hire").mkdir()
    (tmp_path / "hire" / "policy.md").write_text(BOATS, "utf-8")
    (tmp_path / "hire" / "tools.json").write_text(json.dumps(BOAT_TOOLS), "utf-8")
    (tmp_path / "hire" / "decisions.yaml").write_text(PERSONS, "utf-8")
    return tmp_path


def decided_now(folder, call: str, **state: bool) -> str:
    """What a guard made of the policy, as it and its decisions now are, says of a call."""
    source = documents.load(folder)
    made, _ = sentences.settled(source, decisions.load(decisions.place(folder), source))
    readings, rules = sentences.classify(source, reader.extracted(source), made)
    required = contract.contracts(source.toolbox, rules)
    guards = tuple(Guarded(one, contract.assemble(synthesis.alone(one), one), "tested") for one in required)
    guard = CallGuard("g", rules, guards, frozenset({"tested"}), source.toolbox, sentences.open_on(readings))
    session = guard.session()
    session.state(state)
    return session.call(call, {}).decision


def reviewed(page, hire, address):
    """The review of the copy that was opened there, once all its cells have run."""
    (copy,) = (hire / "artifacts" / "lab").glob(f"hire-*/{UPSTREAM}.ipynb")
    page.goto(f"{address}/lab/tree/{copy.relative_to(hire / 'artifacts')}?token={TOKEN}")
    run_all_cells(page)
    errors = page.locator(ERROR).all_text_contents()
    assert not errors, errors
    view = page.locator(".wb-review")
    view.wait_for(timeout=30_000)
    view.scroll_into_view_if_needed()
    return view


def test_a_click_a_decision_and_another_verdict_on_a_call(hire):
    """The review in JupyterLab: be refused, waive a sentence, write a rule; the file says it, guards decide by it."""
    assert [decided_now(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)] == ["undecided"] * 2
    file, verdicts = hire / "hire" / "decisions.yaml", []
    with jupyterlab(hire, home(hire), "--policy", str(hire / "hire")) as address, browser() as opened:
        page, asked = opened()
        view = reviewed(page, hire, address)
        told = view.locator(".told")
        stale, whole = view.locator(".stale").inner_text(), page.locator(".jp-Notebook .jp-Cell").count()
        view.locator("[data-id]", has_text="blue").focus()
        page.keyboard.press("Enter")
        view.locator(".beside", has_text="Boats are blue & white.").wait_for()
        view.locator("[data-id]", has_text="in haste").click()
        view.locator(".beside", has_text="open").wait_for()
        shown = view.locator(".beside").inner_text()
        working = view.locator(".working")
        working.wait_for(state="hidden")
        working.evaluate(
            "one => new MutationObserver(() => { window.worked ||= !one.hidden }).observe(one, {attributes: true})"
        )
        view.get_by_role("button", name="Use its rule there").click()
        used = [view.locator(name).input_value() for name in ("input.why", "textarea.rules")]
        view.locator("[data-id]", has_text="blue").click()
        view.locator(".beside", has_text="Boats are blue & white.").wait_for()
        used.append(view.locator("textarea.rules").input_value())
        view.get_by_role("button", name="Use its rule there").click()
        view.locator(".beside", has_text="in haste").wait_for()
        used += [view.locator(name).input_value() for name in ("input.why", "textarea.rules")]
        view.locator("[data-id]", has_text="blue").click()
        view.locator(".beside", has_text="Boats are blue & white.").wait_for()
        view.locator("[data-id]", has_text="in haste").click()
        view.locator(".beside", has_text="Do not paint a boat in haste.").wait_for()
        used += [view.locator(name).input_value() for name in ("input.why", "textarea.rules")]
        working.wait_for(state="hidden")
        assert page.evaluate("window.worked"), "while an act is done, that is said"

        view.get_by_role("button", name="Waive").click()
        told.filter(has_text="a reason 'why' was required").wait_for()
        assert file.read_text("utf-8") == PERSONS, "a refused decision writes nothing"

        view.locator("input.why").press_sequentially("dd m a x")  # commands of the notebook, but for the page
        view.locator("input.why").fill(HOSTILE)
        view.get_by_role("button", name="Waive").click()
        told.filter(has_text="this sentence is now waived").wait_for()
        assert (
            file.read_text("utf-8").startswith(PERSONS) and "decision: waive" in file.read_text("utf-8")[len(PERSONS) :]
        )
        assert HOSTILE in file.read_text("utf-8") and HOSTILE in view.locator(".beside").inner_text()
        verdicts += [decided_now(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)]

        view.locator("textarea.rules").fill(OWN_RULE.replace("paint_boat", "sail_boat"))
        view.get_by_role("button", name="Save the rule").click()
        told.filter(has_text="line 2: predicates.paints: tools of").wait_for()
        view.locator("input.why").fill("rested painters paint well")
        view.locator("textarea.rules").fill(OWN_RULE)
        view.get_by_role("button", name="Say what it means").click()
        view.locator(".preview", has_text="Whenever paint_boat is called, rested is true.").wait_for()
        view.get_by_role("button", name="Save the rule").click()
        told.filter(has_text="this sentence is now rule").wait_for()
        verdicts += [decided_now(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)]
        classes = view.locator(".document [data-id]").evaluate_all("all => all.map(one => one.dataset.cls)")
        view.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "review.png")
        hit, cells = page.evaluate("window.hit ?? null"), page.locator(".jp-Notebook .jp-Cell").count()
        markup = view.locator("img, script, iframe, a").count()
        text = view.locator(".document").inner_text()
    assert verdicts == ["allow", "allow", "allow", "deny"]
    assert "no field decides 'haste'" in shown and "rent_boat, paint_boat" in shown
    assert used[:2] == used[3:5] and used[0] == "the painter is slow" and "ALWAYS (slow IMPLIES rested)" in used[1]
    assert "slow" not in used[2] + used[6] and used[5] == "", "what is offered is used once"
    assert "last year" not in stale and "Never paint a boat in a great haste." in stale and "in haste" in stale
    assert classes.count("rule") == 2 and "waived" not in classes and not markup and hit is None
    assert "old" in text and "&" in text and not outside(asked, address) and cells == whole
    assert file.read_text("utf-8").startswith(PERSONS) and "rested painters" in file.read_text("utf-8")


LIABLE = """
# Liability

We are not liable for wet feet. We are not liable for lost hats. We are not liable for seasickness.
"""
BOAT_RUNS = "\n".join(
    json.dumps({"run": run, **row})
    for run, swims, label in (("a", True, "allow"), ("b", False, "deny"))
    for row in (
        {"state": {"can_swim": swims, "rested": swims}},
        {"call": {"tool": "rent_boat", "arguments": {}}, "label": label},
        {"call": {"tool": "paint_boat", "arguments": {}}, "label": label},
    )
)


def test_one_click_decides_what_is_alike_and_the_labelled_calls_are_counted(hire):
    """What is open in groups, what was set aside beside it, one reason for three sentences, and a prefilled rule."""
    folder = hire / "hire"
    (folder / "policy.md").write_text(BOATS.replace("in haste.", "in haste unless it has rested.") + LIABLE, "utf-8")
    (folder / "labelled.jsonl").write_text(BOAT_RUNS + "\n", "utf-8")
    with jupyterlab(hire, home(hire), "--policy", str(folder)) as address, browser() as opened:
        page, asked = opened()
        view = reviewed(page, hire, address)
        counted, told, queue = (view.locator(name) for name in (".counted", ".told", ".queue:not(.aside)"))
        before, groups = counted.inner_text(), queue.locator("button").all_inner_texts()
        page.screenshot(path=SCREENSHOTS / "review-queue.png")
        queue.locator("button", has_text="wet feet").click()
        view.locator(".alike").nth(2).wait_for()
        page.screenshot(path=SCREENSHOTS / "review-group.png")
        view.get_by_role("button", name="None is a constraint").click()
        told.filter(has_text="a reason 'why' was required").wait_for()
        assert (folder / "decisions.yaml").read_text("utf-8") == PERSONS, "a refused decision writes nothing"
        view.locator(".beside input.why").fill("who pays for damage is no matter of a call")
        view.locator(".alike input").nth(2).uncheck()
        view.get_by_role("button", name="None is a constraint").dblclick()  # the second falls on nothing
        told.filter(has_text="2 sentences are now not a constraint").wait_for()
        view.locator(".queue.aside button", has_text="2 sentences").filter(has_text="wet feet").click()
        view.locator(".alike").nth(1).wait_for()
        view.get_by_role("button", name="Look").first.click()  # at what stood there before the group
        view.locator("textarea.rules").wait_for()
        aside = view.locator(".queue.aside").inner_text()
        view.locator(".document [data-id]", has_text="seasickness").click()
        view.locator(".beside", has_text="seasickness").wait_for()
        view.locator(".beside input.why").fill("nor is this")
        view.get_by_role("button", name="Not a constraint", exact=True).click()
        told.filter(has_text="this sentence is now not a constraint").wait_for()
        view.locator(".document [data-id]", has_text="in haste").click()
        view.locator(".beside q", has_text="in haste").wait_for()
        begun = view.locator("textarea.rules").input_value()
        view.locator(".beside input.why").fill("rested painters paint well")
        view.locator("textarea.rules").fill(
            begun.replace("- rent_boat", "").replace("rent_boat, ", "").replace("does_it OP", "does_it IMPLIES")
        )
        view.get_by_role("button", name="Save the rule").click()
        told.filter(has_text="this sentence is now rule").wait_for()
        for words in ("The sign says", "blue"):
            if "open" in view.locator(".document [data-id]", has_text=words).get_attribute("data-cls"):
                view.locator(".document [data-id]", has_text=words).click()
                view.locator(".beside q", has_text=words).wait_for()
                view.locator(".beside input.why").fill("it says how things are")
                view.get_by_role("button", name="Not a constraint", exact=True).click()
                told.filter(has_text="now not a constraint").wait_for()
        counted.filter(has_text="0 of 4 labelled calls undecided").wait_for()
        after, wrong = counted.inner_text(), page.evaluate(WRONG)
        view.scroll_into_view_if_needed()
        page.screenshot(path=SCREENSHOTS / "review-counted.png")
    assert not before.startswith("0 of 4") and "labelled calls undecided; of 2 violating" in before
    assert any(text.startswith("3 sentences") and "We are not liable for wet feet." in text for text in groups)
    assert "2 sentences" in aside and "not a constraint" in aside
    assert "state.rested" in begun and "can_swim" not in begun and "modality" not in begun
    assert after.startswith("0 of 4") and "of 2 violating 2 denied, 0 allowed" in after and "2 allowed" in after
    made = [one for one in decisions.load(folder / "decisions.yaml", documents.load(folder)) if "liable" in one.text]
    assert [one.why for one in made] == ["who pays for damage is no matter of a call"] * 2 + ["nor is this"]
    assert not wrong and not outside(asked, address)


def outside(asked: list[str], address: str) -> list[str]:
    """The addresses that lie elsewhere."""
    return [url for url in asked if not url.startswith((address, address.replace("http", "ws", 1), "data:", "blob:"))]


@pytest.fixture(scope="module")
def executed(handbook, tmp_path_factory):
    """The notebooks that a whole run executed, in a folder of their own; JupyterLab draws all cells at once there."""
    folder = tmp_path_factory.mktemp("executed")
    for name in LOOKED:
        found = min(handbook[0].glob(f"{name}/[!.]*/notebook.ipynb"), key=lambda path: path.stat().st_mtime)
        shutil.copy(found, folder / f"{name}.ipynb")
    return folder


@pytest.mark.parametrize("name", LOOKED)
def test_an_executed_notebook_is_readable_as_html(executed, name):
    look_at_html(executed, name)


def test_executed_notebooks_are_readable_in_jupyterlab(executed):
    look_in_jupyterlab(executed, LOOKED)


def look_at_html(folder, name):
    """nbconvert's page, in a browser that reaches nothing outside."""
    from nbconvert import HTMLExporter

    text, _ = HTMLExporter().from_filename(str(folder / f"{name}.ipynb"))
    path = folder / f"{name}.html"
    path.write_text(text, "utf-8")
    with browser() as opened:
        page, _ = opened()
        page.route("**/*", lambda route: route.abort() if route.request.url.startswith("http") else route.continue_())
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        wrong, drawn = page.evaluate(WRONG), page.evaluate(DRAWN)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}-html.png", full_page=True)
    assert not wrong and drawn == figures(folder, name)


def look_in_jupyterlab(folder, names):
    """Each notebook as JupyterLab shows it to somebody who did not run it, so that its HTML is not trusted."""
    tracker = folder / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True, exist_ok=True)
    tracker.write_text(json.dumps({"windowingMode": "none"}))  # cells out of sight are drawn as well
    settings, seen = {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}, {}
    with jupyterlab(folder, home(folder, **settings), root=folder) as address, browser() as opened:
        for name in names:
            page, _ = opened()
            page.goto(f"{address}/lab/tree/{name}.ipynb?token={TOKEN}&reset")
            page.locator(".jp-NotebookPanel .jp-OutputArea-output").first.wait_for(timeout=90_000)
            expected = figures(folder, name)
            try:
                page.wait_for_function(f"({DRAWN})() >= {expected}", timeout=20_000)
            finally:
                SCREENSHOTS.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=SCREENSHOTS / f"{name}-lab.png")
            seen[name] = page.evaluate(WRONG)
            page.close()
    assert not any(seen.values()), seen


def figures(folder, name):
    """How many figures a notebook holds."""
    cells = json.loads((folder / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
