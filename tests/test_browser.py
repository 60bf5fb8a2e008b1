"""A person opens notebook 02 in JupyterLab, runs every cell and sees the curve: Debian's chromium, driven by playwright."""

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

NOTEBOOK = "02_vagueness_scoring"
UPSTREAM = "01_policy_extraction"
SCREENSHOT = ROOT / "artifacts" / "screenshots" / f"{NOTEBOOK}.png"
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
    """Press Run > Run All Cells once the right kernel is connected, and wait until each cell has its number, or one failed."""
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
        curve = page.locator(".js-plotly-plot", has=page.locator(".gtitle", has_text="agueness")).first
        if not errors:
            curve.wait_for(state="attached", timeout=30_000)
            curve.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # let plotly finish drawing
        SCREENSHOT.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOT)
        browser.close()
    assert not errors
    assert not outside, "the page must ask nothing of the outside"
    assert SCREENSHOT.stat().st_size > 20_000
    (manifest,) = (desk / "artifacts" / NOTEBOOK).glob("[!.]*/manifest.json")  # stepping writes where a run writes
    written = json.loads(manifest.read_text("utf-8"))
    assert written["mode"] == "interactive" and {"rounds.json", "rules.json"} <= set(written["outputs"])


def is_here(url: str, address: str) -> bool:
    return url.startswith((address, address.replace("http", "ws", 1), "data:", "blob:"))
