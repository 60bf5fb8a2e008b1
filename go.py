#!/usr/bin/env python3
"""Set everything up, then run it. Needs a Python 3.9 or later and nothing else: no root, conda, Java, key or GPU.

    python3 go.py run  [options of `wb run`]     the seven notebooks, the result table, the report; without options
                                                 of two policies (`wb tour`)
    python3 go.py test [options of pytest]       the whole test suite
    python3 go.py lab  [options of `wb lab`]     JupyterLab on copies of the notebooks, which you may change
    python3 go.py book [a folder]                the book as HTML, in artifacts/book unless told otherwise
    python3 go.py wb   ...                       any other command of `wb`, such as `wb show`

Everything lands in `.venv` beside this file, from the names and versions in `requirements.lock`.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
MARK = VENV / "wb-setup.json"  # says "installing" until the last step is done
LOCK = ROOT / "requirements.lock"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")
WANTED = (3, 12)
TRIAL = "import sys, venv, ensurepip, ssl; print('%d %d' % sys.version_info[:2])"
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
SPARE = re.compile(r"(triton|cuda-bindings|cuda-pathfinder|cuda-toolkit|nvidia-cusolver|nvidia-nvtx)==")  # for a GPU alone
FETCH = re.compile(r"(?:Downloading|Using cached) (\S+) \(([0-9.]+) ?([kMG])i?B\)")
FETCHED = re.compile(r"Downloaded (\S+)")
BEAT_S = 3  # so often a line says how far a long step is
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def say(text):
    print("go.py: " + text, file=sys.stderr, flush=True)


def run(what, *command, of=0, quiet=False, **variables):
    """Whether the command ended well. A line says every few seconds how far it is (`of`: how many packages it installs);
    what it wrote is shown where it failed, unless that is expected."""
    began, lines, moving = time.monotonic(), [], sys.stderr.isatty()
    process = subprocess.Popen([str(part) for part in command], env={**environment(), **variables}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()
    while True:
        text = "go.py: %s, %d s%s" % (what, time.monotonic() - began, progress(list(lines), of))
        print("\r" + text[:shutil.get_terminal_size().columns - 1] + "\x1b[K" if moving else text,
              end="" if moving else "\n", file=sys.stderr, flush=True)
        try:
            process.wait(0.5 if moving else BEAT_S)
            break
        except subprocess.TimeoutExpired:
            pass
    reader.join(BEAT_S)
    if moving:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if process.returncode and not quiet:
        print("".join(lines[-30:]), file=sys.stderr)
    return process.returncode == 0


def progress(lines, of):
    """What uv or pip has said so far: which packages are fetched, and how large they are. uv names those above 1 MB, all
    at once, and says when it has each; pip names one after the other, so that nobody knows how much is to come."""
    if not of or not lines:
        return ""
    sizes, done, asked = {}, [], sum(line.startswith("Collecting ") for line in lines)
    for line in lines:
        if FETCH.search(line):
            name, number, unit = FETCH.search(line).groups()
            sizes[re.sub(r"-[0-9].*", "", name)] = float(number) / {"k": 1e3, "M": 1, "G": 1e-3}[unit]
        elif FETCHED.search(line):
            done.append(FETCHED.search(line)[1])
    if any(line.startswith(("Prepared ", "Installing collected")) for line in lines):
        return ": %d of %d packages are in place" % (min(of, len(records())), of)
    if not sizes:
        return ": %d packages" % of
    name, total = (done if done and not asked else list(sizes))[-1], sum(sizes.values()) / 1e3
    if asked:
        return ": package %d of %d: %s (%.0f MB), %.1f GB so far" % (asked, of, name, sizes[name], total)
    return ": package %d of the %d above 1 MB: %s (%.0f MB), %.1f of %.1f GB" % (
        len(done), len(sizes), name, sizes.get(name, 0), sum(sizes.get(one, 0) for one in done) / 1e3, total)


def environment():
    """The caller's variables, with `.venv` first and nothing of another Python.

    Compiled modules are kept: without them each start of a notebook compiles torch and its kin anew, 30 s of a core.
    """
    foreign = ("PYTHONHOME", "PYTHONPATH", "CONDA_PREFIX", "PIP_USER", "PIP_TARGET", "PIP_REQUIRE_VIRTUALENV", "UV_PYTHON",
               "UV_PROJECT_ENVIRONMENT", "PYENV_VERSION", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    kept["PATH"] = str(BIN) + os.pathsep + kept.get("PATH", os.defpath)
    return {**kept, "VIRTUAL_ENV": str(VENV), "PYTHONNOUSERSITE": "1", "JUPYTER_PREFER_ENV_PATH": "1",
            "UV_PYTHON_INSTALL_BIN": "0"}  # a Python that uv fetches stays out of the user's own bin


# ---- a Python 3.12 ------------------------------------------------------------------------------


def works(candidate):
    """Whether it runs, is a 3.12 and can make an environment: a pyenv shim may exist and do none of it."""
    try:
        answer = subprocess.run([str(candidate), "-c", TRIAL], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.split() == [str(part) for part in WANTED]


def candidates():
    """Where a Python 3.12 may be, likeliest first."""
    yield sys.executable
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    for folder in folders:
        yield folder / ("python3.12.exe" if WINDOWS else "python3.12")
    shims = [folder.parent for folder in folders if folder.name == "shims"]
    for home in [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")), *shims]:
        for version in sorted(home.glob("versions/3.12*"), reverse=True):
            yield version / "bin" / "python"


def fetched_python():
    """A Python 3.12 that uv has, or downloads. uv itself comes by pip into a folder that is thrown away."""
    say("no Python 3.12 here; fetching one with uv")
    with tempfile.TemporaryDirectory() as folder:
        uv = shutil.which("uv") or borrowed_uv(Path(folder) / "uv")
        run("fetching a Python 3.12", uv, "python", "install", "3.12")
        found = subprocess.run([str(uv), "python", "find", "--no-project", "--system", "3.12"],
                               capture_output=True, text=True).stdout.strip()
    if not found or not works(found):
        sys.exit("go.py: needs a Python 3.12 and found none; uv could not fetch one either (is there a network?).\n"
                 "Install Python 3.12 so that `python3.12` starts it, then run this again.")
    return found


def borrowed_uv(folder):
    """uv, installed by pip into a throw-away environment of this Python."""
    if not run("making room for uv", sys.executable, "-m", "venv", folder):
        sys.exit("go.py: this Python cannot make an environment. On Debian or Ubuntu run\n"
                 "    sudo apt install python3-venv\nthen run this again.")
    scripts = folder / BIN.name
    if not run("fetching uv", scripts / PYTHON.name, "-m", "pip", "install", "--disable-pip-version-check", "uv"):
        sys.exit("go.py: could not install uv by pip, which is needed to fetch a Python 3.12 (is there a network?)")
    return scripts / "uv"


# ---- the environment ----------------------------------------------------------------------------


def wanted():
    """What a finished `.venv` says of itself: these files, in this place."""
    digest = hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes())
    return {"state": "done", "root": str(ROOT), "digest": digest.hexdigest()}


def said():
    """What `.venv` says of itself; {} where it says nothing."""
    try:
        return json.loads(MARK.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def records():
    """The packages that `.venv` has a record of. Reads one folder."""
    found = [*VENV.glob("lib/python3.12/site-packages/*.dist-info"), *VENV.glob("Lib/site-packages/*.dist-info")]
    return {re.sub(r"[-_.]+", "-", record.name[:-10].split("-")[0]).lower() for record in found
            if (record / "RECORD").is_file()}


def lacking():
    """What `.venv` has no record of: `wb`, and pins of the lock (CUDA's may be left out)."""
    present = records()
    pins = [line for line in LOCK.read_text("utf-8").split("\n") if line and not CUDA.match(line)]
    return [name for name in ("wb", *(pin.split("==")[0] for pin in pins)) if name not in present]


def is_ready():
    return said() == wanted() and PYTHON.exists() and not lacking()


def set_up():
    """A complete `.venv`, whatever an earlier start left behind."""
    if VENV.exists() and not sound():
        say("removing a half-finished or moved .venv")
        shutil.rmtree(VENV)
    python = None if PYTHON.exists() else next(filter(works, candidates()), None) or fetched_python()
    VENV.mkdir(exist_ok=True)
    MARK.write_text(json.dumps({**wanted(), "state": "installing"}), "utf-8")
    if python:
        if not run("making .venv with %s" % python, python, "-m", "venv", VENV):
            sys.exit("go.py: `%s -m venv .venv` failed (see above)" % python)
    install()
    if lacking():
        sys.exit("go.py: these packages did not arrive in .venv: " + ", ".join(lacking()))
    settings = VENV / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(NO_NEWS), "utf-8")
    MARK.write_text(json.dumps(wanted()), "utf-8")


def sound():
    """Whether `.venv` can be brought up to date in place: finished once, here, and its Python still runs.

    One that somebody made by hand, without a mark, is kept too if its Python is a 3.12. One that calls itself
    finished and lacks packages is not: what else it has lost is not known.
    """
    mark = {"state": "done", "root": str(ROOT), "digest": "", **said()}
    robbed = mark["digest"] == wanted()["digest"] and lacking()
    return mark["state"] == "done" and mark["root"] == str(ROOT) and works(PYTHON) and not robbed


def install():
    """The lock and `wb` itself: by uv with the CPU build of torch, else by uv, else by pip with the usual build.

    The usual build of torch for Linux is linked with CUDA's libraries and loads them at its import, GPU or not; what it
    imports without is left out (on a GPU: `pip install -r requirements.lock`).
    """
    began, pip = time.monotonic(), [PYTHON, "-m", "pip", "--disable-pip-version-check", "install"]
    uv = [PYTHON, "-m", "uv", "pip", "install", "--python", PYTHON]
    has_uv = run("fetching uv, which installs faster", *pip, "uv")
    pins = [line for line in LOCK.read_text("utf-8").split("\n") if line]
    lean = [pin for pin in pins if not CUDA.match(pin)]
    linked = [pin for pin in pins if not SPARE.match(pin)]
    alone = ["--no-deps"] if sys.platform == "linux" else []  # the lock is whole there
    small = has_uv and installed("packages, without CUDA", [*uv, "--torch-backend", "cpu"], lean, quiet=True, UV_HTTP_RETRIES="1")
    if not small and sys.platform == "linux":
        say("torch without CUDA could not be had (its own index has it, by uv); the usual build loads CUDA's libraries at "
            "its import, with a GPU and without: 1.7 GB more to fetch")
    if not (small or has_uv and installed("packages", [*uv, *alone], linked) or installed("packages", [*pip, *alone], linked)):
        sys.exit("go.py: the packages of requirements.lock could not be installed (see above)")
    itself = ["--no-deps", "--no-build-isolation", "-e", str(ROOT)]
    if not (has_uv and run("wb itself", *uv, *itself) or run("wb itself", *pip, *itself)):
        sys.exit("go.py: wb itself could not be installed (see above)")
    size = sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(VENV) for name in names)
    say("%d packages, %.1f GB, in %d s" % (len(records()), size / 1e9, time.monotonic() - began))


def installed(what, command, pins, **options):
    """Whether the pins could be installed by that command."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = Path(folder) / "pins.txt"
        chosen.write_text("\n".join(pins) + "\n", "utf-8")
        return run(what, *command, "-r", chosen, of=len(pins), **options)


def ready():
    """Set up unless it is; a second start at the same time waits for the first."""
    if is_ready():
        return
    with open(__file__, "rb") as held:
        if not WINDOWS:
            import fcntl
            fcntl.flock(held, fcntl.LOCK_EX)
        if not is_ready():
            set_up()


# ---- the work -----------------------------------------------------------------------------------


def work(command, rest):
    """The command line of the work, inside `.venv`."""
    if command == "test":
        os.chdir(ROOT)
        return [PYTHON, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *rest]
    if command == "book":
        return [PYTHON, ROOT / "book" / "build.py", *rest]
    bare = command == "run" and not rest
    return [BIN / "wb", *([] if command == "wb" else ["tour"] if bare else [command]), *rest]


def main(arguments):
    command, rest = (arguments or ["help"])[0], arguments[1:]
    if command not in ("run", "test", "lab", "book", "wb"):
        print(__doc__)
        sys.exit(0 if command in ("help", "-h", "--help") else "go.py: commands are run, test, lab, book, wb; got %r" % command)
    ready()
    line = [str(part) for part in work(command, rest)]
    sys.stdout.flush()
    if WINDOWS:
        sys.exit(subprocess.call(line, env=environment()))
    os.execve(line[0], line, environment())


if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit("go.py: needs Python 3.9 or later to start; got %s" % sys.version.split()[0])
    main(sys.argv[1:])
