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

import pytest
from conftest import ROOT

from wb.domain import policy as documents
from wb.guards import contract, decided
from wb.guards.runtime import CallGuard, Guarded
from wb.models import client
from wb.offline import engine as offline
from wb.offline import norms
from wb.rules import decisions, extract, sentences

NOTEBOOK = "02_vagueness_scoring"
UPSTREAM = "01_policy_extraction"
SCREENSHOTS = ROOT / "artifacts" / "screenshots"
SCREENSHOT = SCREENSHOTS / f"{NOTEBOOK}.png"
LOOKED = ("01_policy_extraction", "02_vagueness_scoring", "06_nagini_verification", "07_evaluation")
WIDE = {"width": 1400, "height": 1000}
TOKEN = "loopback-only"
CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-first-run",
    "--no-pings",
    "--disable-gpu",
)
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


@contextmanager
def jupyterlab(folder, environment):
    """JupyterLab's address, serving `folder`, for as long as the block runs."""
    port = free_port()
    options = [
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
    ]
    line = [sys.executable, *map(str, go().work("lab", options, root=folder)[1:])]
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


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with a copy of the notebook (JupyterLab saves into it), its own home and its own artifacts."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / f"{NOTEBOOK}.ipynb", folder / "notebooks")
    return folder


@pytest.fixture(scope="module")
def environment(desk):
    """The home and the artifacts of the desk, with the earlier stage that the notebook reads."""
    here = {
        **os.environ,
        "HOME": str(desk),
        "WB_ARTIFACTS": str(desk / "artifacts"),
        "JUPYTER_CONFIG_DIR": str(desk / "config"),
        "JUPYTER_DATA_DIR": str(desk / "data"),
        "JUPYTER_RUNTIME_DIR": str(desk / "runtime"),
        "IPYTHONDIR": str(desk / "ipython"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", "from wb.cli import main; main()", "run", "--to", UPSTREAM],
        env=here,
        cwd=desk,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-1000:] + ran.stderr[-3000:]
    return here


def run_all_cells(page, patience_s=180):
    """Press Run > Run All Cells once the right kernel is connected; wait until each cell is numbered, or one failed."""
    page.get_by_text(KERNEL_IS_IDLE).wait_for(timeout=90_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(FINISHED, timeout=patience_s * 1000)


def test_notebook_02_runs_in_jupyterlab_and_shows_its_curve(desk, environment):
    from playwright.sync_api import sync_playwright

    outside = []
    with jupyterlab(desk, environment) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("request", lambda request: outside.append(request.url) if not is_here(request.url, address) else None)
        page.goto(f"{address}/lab/tree/notebooks/{NOTEBOOK}.ipynb?token={TOKEN}")
        run_all_cells(page)
        errors = page.locator(ERROR).all_text_contents()
        still = page.locator(".jp-RenderedPlotly img").last
        curve = page.locator(".js-plotly-plot", has=page.locator(".gtitle", has_text="agueness")).first
        if not errors:
            still.scroll_into_view_if_needed()
            fits = still.evaluate(
                "image => image.naturalWidth > 0 && image.clientWidth <= image.parentElement.clientWidth"
            )
            still.dispatch_event("mouseenter")  # pointed at, the still picture becomes the figure that plotly draws
            curve.wait_for(state="attached", timeout=30_000)
            curve.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # let plotly finish drawing
        SCREENSHOT.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOT)
        browser.close()
    assert not errors and fits
    assert not outside, "the page must ask nothing of the outside"
    assert SCREENSHOT.stat().st_size > 20_000
    (manifest,) = (desk / "artifacts" / NOTEBOOK).glob("[!.]*/manifest.json")  # stepping writes where a run writes
    written = json.loads(manifest.read_text("utf-8"))
    assert written["mode"] == "interactive" and {"rounds.json", "rules.json"} <= set(written["outputs"])


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
    (tmp_path / "notebooks").mkdir()
    text = (ROOT / "notebooks" / f"{UPSTREAM}.ipynb").read_text("utf-8")
    given = text.replace('policy = \\"web_tasks\\"', f'policy = \\"{tmp_path / "hire"}\\"')
    assert given != text
    (tmp_path / "notebooks" / f"{UPSTREAM}.ipynb").write_text(given, "utf-8")
    return tmp_path


def said_of(folder, call: str, **state: bool) -> str:
    """What a guard made of the policy, as it and its decisions now are, says of a call."""
    source = documents.load(folder)
    engine = client.connect("offline", offline=offline.Offline(source.toolbox), replies_dir=folder)
    clauses = extract.clauses(source, engine, norms.constrains)
    made, _ = sentences.settled(source, decisions.load(decisions.place(folder), source))
    rules = decisions.join(extract.rules(clauses, source, engine, norms.constrains), made, source.toolbox)
    readings = sentences.classify(source, clauses, rules, made)
    rules = sentences.enforced(rules, readings)
    required = contract.contracts(source.toolbox, rules)
    guards = tuple(Guarded(one, contract.assemble(decided.alone(one), one), "tested") for one in required)
    guard = CallGuard("g", rules, guards, frozenset({"tested"}), source.toolbox, sentences.open_on(readings))
    session = guard.session()
    session.state(state)
    return session.call(call, {}).decision


def test_a_click_a_decision_and_another_verdict_on_a_call(hire):
    """The review in JupyterLab: be refused, waive a sentence, write a rule; the file says it, guards decide by it."""
    from playwright.sync_api import sync_playwright

    assert [said_of(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)] == ["undecided"] * 2
    here = {
        **os.environ,
        "HOME": str(hire),
        "WB_ARTIFACTS": str(hire / "artifacts"),
        "JUPYTER_CONFIG_DIR": str(hire / "config"),
        "JUPYTER_DATA_DIR": str(hire / "data"),
        "JUPYTER_RUNTIME_DIR": str(hire / "runtime"),
        "IPYTHONDIR": str(hire / "ipython"),
    }
    file, outside, verdicts = hire / "hire" / "decisions.yaml", [], []
    with jupyterlab(hire, here) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport=WIDE)
        page.on("request", lambda request: outside.append(request.url) if not is_here(request.url, address) else None)
        page.goto(f"{address}/lab/tree/notebooks/{UPSTREAM}.ipynb?token={TOKEN}")
        run_all_cells(page)
        errors = page.locator(ERROR).all_text_contents()
        assert not errors, errors
        view = page.locator(".wb-review")
        view.wait_for(timeout=30_000)
        view.scroll_into_view_if_needed()
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
        verdicts += [said_of(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)]

        view.locator("textarea.rules").fill(OWN_RULE.replace("paint_boat", "sail_boat"))
        view.get_by_role("button", name="Save the rule").click()
        told.filter(has_text="line 2: predicates.paints: tools of").wait_for()
        view.locator("input.why").fill("rested painters paint well")
        view.locator("textarea.rules").fill(OWN_RULE)
        view.get_by_role("button", name="Say what it means").click()
        view.locator(".preview", has_text="Whenever paint_boat is called, rested is true.").wait_for()
        view.get_by_role("button", name="Save the rule").click()
        told.filter(has_text="this sentence is now rule").wait_for()
        verdicts += [said_of(hire / "hire", "paint_boat", rested=rested) for rested in (True, False)]
        classes = view.locator(".document [data-id]").evaluate_all("all => all.map(one => one.dataset.cls)")
        view.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "review.png")
        hit, cells = page.evaluate("window.hit ?? null"), page.locator(".jp-Notebook .jp-Cell").count()
        markup = view.locator("img, script, iframe, a").count()
        text = view.locator(".document").inner_text()
        browser.close()
    assert verdicts == ["allow", "allow", "allow", "deny"]
    assert "Whenever paint_boat is called, “in haste” does not hold" in shown and "no field decides" in shown
    assert used[:2] == used[3:5] and used[0] == "the painter is slow" and "ALWAYS (slow IMPLIES rested)" in used[1]
    assert "slow" not in used[2] + used[6] and used[5] == "", "what is offered is used once"
    assert "last year" not in stale and "Never paint a boat in a great haste." in stale and "in haste" in stale
    assert classes.count("rule") == 2 and "waived" not in classes and not markup and hit is None
    assert "old" in text and "&" in text and not outside and cells == whole, outside
    assert file.read_text("utf-8").startswith(PERSONS) and "rested painters" in file.read_text("utf-8")


def is_here(url: str, address: str) -> bool:
    return url.startswith((address, address.replace("http", "ws", 1), "data:", "blob:"))


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
    from playwright.sync_api import sync_playwright

    text, _ = HTMLExporter().from_filename(str(folder / f"{name}.ipynb"))
    path = folder / f"{name}.html"
    path.write_text(text, "utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport=WIDE)
        page.route("**/*", lambda route: route.abort() if route.request.url.startswith("http") else route.continue_())
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        wrong, drawn = page.evaluate(WRONG), page.evaluate(DRAWN)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}-html.png", full_page=True)
        browser.close()
    assert not wrong and drawn == figures(folder, name)


def look_in_jupyterlab(folder, names):
    """Each notebook as JupyterLab shows it to somebody who did not run it, so that its HTML is not trusted."""
    from playwright.sync_api import sync_playwright

    home = {name: str(folder / name) for name in ("config", "data", "runtime", "ipython", "settings")}
    tracker = folder / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True, exist_ok=True)
    tracker.write_text(json.dumps({"windowingMode": "none"}))  # cells out of sight are drawn as well
    environment = {
        **os.environ,
        "HOME": str(folder),
        "JUPYTER_CONFIG_DIR": home["config"],
        "JUPYTER_DATA_DIR": home["data"],
        "JUPYTER_RUNTIME_DIR": home["runtime"],
        "IPYTHONDIR": home["ipython"],
        "JUPYTERLAB_SETTINGS_DIR": home["settings"],
    }
    seen = {}
    with jupyterlab(folder, environment) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for name in names:
            page = browser.new_page(viewport=WIDE)
            page.goto(f"{address}/lab/tree/{name}.ipynb?token={TOKEN}&reset")
            page.locator(".jp-NotebookPanel .jp-OutputArea-output").first.wait_for(timeout=90_000)
            expected = figures(folder, name)
            try:
                page.wait_for_function(f"({DRAWN})() >= {expected}", timeout=20_000)
            finally:
                SCREENSHOTS.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=SCREENSHOTS / f"{name}-lab.png")
            seen[name] = page.evaluate(WRONG)
            for number, at in enumerate(range(0, 20_000, 900)):
                page.locator(".jp-WindowedPanel-outer").first.evaluate(f"panel => panel.scrollTop = {at}")
                if at and page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => panel.scrollTop") < at:
                    break
                page.screenshot(path=SCREENSHOTS / f"{name}-lab-{number}.png")
            page.close()
        browser.close()
    assert not any(seen.values()), seen


def figures(folder, name):
    """How many figures a notebook holds."""
    cells = json.loads((folder / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
