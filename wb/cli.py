"""The command line: `wb run`, `sweep`, `tour`, `lab`, `judge`, `weigh`, `live`, `proxy`, `diff`, `tools`, `verify`,
`show`, `report`, `export`, `check`.

Only typer is imported at the start; each command imports what it needs, so that `wb --help` is quick.
Results go to standard output, progress and messages to standard error.
`wb tools` makes the `tools.json` that the others read of a policy.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wb import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wb.bench.experiment import Setting
    from wb.build import Built
    from wb.domain.session import Session
    from wb.paths import Project
    from wb.runs.artifact import Version
    from wb.runs.pipeline import Planned

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # told without the name of a file
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
STOPPED = 130  # the exit code after Ctrl-C, and after SIGTERM
PLACE = "A name under policies/, a folder, or one document."
Policy = Annotated[str, typer.Argument(metavar="POLICY", help=PLACE)]
Guard = Annotated[str, typer.Option(metavar="G", help="veriguard, toolguard or shieldagent.")]
JUDGES = "veriguard, toolguard or shieldagent; a baseline: direct, rule_traverse or guardagent."
Judging = Annotated[str, typer.Option(metavar="G", help=JUDGES)]
Model = Annotated[str | None, typer.Option(metavar="M", help="The model of the run; any if not given.")]
Place = Annotated[str | None, typer.Option("--policy", metavar="P", help=PLACE)]
Asked = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="'offline', or a model's name at an OpenAI-compatible endpoint."),
]
Parameter = Annotated[
    list[str] | None,
    typer.Option("-p", metavar="NAME=VALUE", help="A parameter of the notebooks; may be repeated."),
]
Last = Annotated[str | None, typer.Option("--to", metavar="STAGE", help="Stop after this one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON, of several things one object a line.")]


@app.callback()
def _commands() -> None:
    """Policy documents into guards for LLM agents, proved where they can be and measured always."""


@app.command()
def run(
    policy: Place = None,
    model: Asked = None,
    parameter: Parameter = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="STAGE", help="Start here; earlier stages must be finished.")
    ] = None,
    last: Last = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked of the model, and what it may cost; ask nobody.")
    ] = False,
) -> None:
    """Run the notebooks in order; what is finished and unchanged is kept."""
    from wb.runs import notebook, pipeline, progress

    here = paths.project()
    steps = pipeline.plan(here, _values(parameter or [], policy=policy, model=model), first=first, last=last)
    named = dict.fromkeys(f"{step.parameters['policy']}, model {step.parameters['model']}" for step in steps)
    print(f"policy {'; '.join(named)}", file=sys.stderr)
    if dry:
        _forecast(steps)
        return
    notebook.check()
    stages = [step.stage for step in steps]
    with _stoppable():
        with progress.Display(stages, progress.console(error=True)) as tell:
            try:
                done = pipeline.run(here, steps, tell)
            except notebook.Awaiting as waits:  # as a run ends whose questions wait and that could go on
                print(waits)
                return
        try:
            _conclude(here, done)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped after the run was finished; `wb report` writes its report") from None
    for line in pipeline.stale(here, steps):
        print(f"{'stale':17}{line}")


@app.command()
def sweep(
    policy: Annotated[list[str] | None, typer.Option(metavar="P", help=f"{PLACE} May be repeated.")] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="M", help="As in `wb run`; may be repeated.")] = None,
    parameter: Parameter = None,
    last: Last = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Notebooks at once, here; 2.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler's workers instead.")
    ] = None,
) -> None:
    """Run the notebooks for every combination of policies, models and values (-p NAME=V,V), shared stages once.

    Ends with a table, a row a combination, a report and figures of all; with 1 if one failed, the others are kept.
    """
    from wb.runs import notebook, progress
    from wb.runs import report as reports
    from wb.runs import sweep as sweeps
    from wb.runs.progress import Notice

    if workers and scheduler:
        raise ValueError(f"either --workers or --scheduler may be given; got {workers} and {scheduler}")
    here, whole = paths.project(), {name: texts for name, texts in (("policy", policy), ("model", model)) if texts}
    given = _values(parameter or [], **{name: texts[0] for name, texts in whole.items()})
    several = {name: [text] if name in sweeps.WHOLE else text.split(",") for name, text in given.items()}
    points = sweeps.plan(here, several | whole, last=last)
    notebook.check()
    names = [node.name for point in points for node in point.nodes]
    with _stoppable(), progress.Display(names, progress.console(error=True)) as tell:
        ended = sweeps.run(here, points, tell, workers=workers or 2, scheduler=scheduler)
        tell(Notice("sweep", "running", note="table, report and figures"))
        table = sweeps.table(points, ended)
        found = list({one.folder: one for one in ended if type(one) is not str}.values())
        if found:
            place = here.artifacts / "sweeps" / paths.digest([version.key for version in found])[:12]
            made = {"figures": reports.export(reports.named(here, found), place), "report": _report(here, found, None)}
            paths.write_whole(place / "table.csv", table.frame.to_csv(index=False))
    progress.console().print(table, crop=False)
    for head, path in ({"table": place / "table.csv", **made} if found else {}).items():
        print(f"{head:17}{path}")
    if failed := dict.fromkeys(one for one in ended if type(one) is str):
        print("\n".join(f"wb: {why}" for why in failed), file=sys.stderr)
        raise typer.Exit(1)


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def lab(context: typer.Context, policy: Place = None, model: Asked = None, parameter: Parameter = None) -> None:
    """Open copies of the notebooks in JupyterLab, for a policy and with these parameters; tracked ones never change.

    The copies lie in artifacts/lab/POLICY. One that you changed is kept, and that is said. What else stands on the line
    goes to `jupyter lab`, such as --no-browser.
    """
    from wb.runs import pipeline

    here = paths.project()
    made = pipeline.copies(here, _values(parameter or [], policy=policy, model=model))
    line = [sys.executable, "-m", "jupyterlab", *pipeline.command(here, made.folder, context.args)]
    print("\n".join((f"policy {made.policy}: copies of the notebooks in {made.folder}", *made.lines)), file=sys.stderr)
    found = os.pathsep.join(filter(None, (str(here.root), os.environ.get("PYTHONPATH"))))  # kernels work elsewhere
    sys.stderr.flush()
    os.execve(line[0], line, {**os.environ, "PYTHONPATH": found})


@app.command()
def tour() -> None:
    """Run the notebooks on web_tasks, then on office, where clusters, weights and guards are told apart."""
    run()
    run(policy="office", parameter=["mutants=1"])  # the first shows what becomes of planted faults


@app.command()
def judge(
    policy: Policy,
    runs: Annotated[Path, typer.Argument(metavar="RUNS.jsonl", help="Recorded runs, one event a line.")],
    guard: Judging = "veriguard",
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help="Answers questions about conversations; the model of the run, if it made one."),
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of direct and rule_traverse: calls, and rules, a question.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Judge the calls of recorded runs with the guards of the newest run of the policy, or build them.

    Says as well which denials rest on no guard, and what the runs name that tools.json does not declare; with --json
    on standard error.

    The calls of a recording are facts: one that was executed there (its result stands in the recording without an
    error) has happened, also where the guard denies it; one whose result is an error has not. Without a result, a
    call was done if the guard allows it; with a call_id its result may still come, and nobody knows. Each call is
    judged by what stands before it. With --model what rules ask about the conversation, and the recording does not
    answer, is asked of the model or taken from its recorded replies; the recording stays as it is.

    Counts near misses as well: calls that came out right although a fact that their rules read was never looked up.

    The guards direct, rule_traverse and guardagent are baselines: --model is asked about every call that has a label.
    """
    from wb.bench import compare, recorded
    from wb.domain import events
    from wb.domain import policy as documents
    from wb.rules.sentences import open_on
    from wb.runs import verdicts

    if next(events.stream(runs), None) is None:  # a file that is no recording is told before guards are built for it
        raise ValueError(f"{runs}: a recording, one event a line, was required; got none")
    with _stoppable():
        built = _built(policy, model, alike=True)
        strange, quotes, sentences = recorded.Undeclared(built.toolbox, built.rules), built.quotes, built.texts
        kept, asking = [], guard in compare.ASKING
        happened = built.judge(runs, guard, strange, model) if not asking else ()
        if asking:
            llm = built.engine(model or built.model)
            waiting = open_on(built.sentences)
            happened = compare.judged(
                guard, documents.load(policy), built.rules, events.read(runs), llm, batch, waiting
            )
        for call in happened:
            kept.append(call)
            if as_json:
                print(json.dumps(verdicts.row(call, quotes, sentences), ensure_ascii=False), flush=True)
        print(verdicts.headline(kept, policy), file=sys.stderr if as_json else sys.stdout)
        _print(*(() if as_json else verdicts.tables(kept, quotes, sentences, policy)))
        if asking:
            return
        denied = Counter(pair for call in kept for pair in verdicts.denied(call))
        right = sum(call.label == call.verdict.decision == "allow" for call in kept)
        lines = [*verdicts.unguarded(denied, built.guard(guard)), *(f"{runs}: {one}" for one in strange.lines())]
        if right:
            decided = {call.id: call.verdict for call in kept}
            near = len(recorded.near_misses(built.guard(guard), events.stream(runs), decided))
            lines.insert(0, f"near misses: {near} of {right} calls rightly allowed rest on facts not looked up before")
        for line in lines:
            print(line, file=sys.stderr if as_json else sys.stdout)


@app.command()
def weigh(
    policy: Policy,
    oracle: Annotated[Path, typer.Option(metavar="FILE", help="A Python file with violated(tool, call, facts, done).")],
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="The table.")],
    noise: Annotated[str, typer.Option(metavar="P,…", help="How often a fact of a page is missing or wrong.")] = "0,.1",
    learn: Annotated[str, typer.Option(metavar="SEED,…", help="Seeds to learn from, two or more.")] = "100,101,102",
    calibrate: Annotated[str, typer.Option(metavar="SEED,…", help="Seeds that prove a bound.")] = "200",
    measure: Annotated[str, typer.Option(metavar="SEED,…", help="Seeds to measure on.")] = "1,2,3",
    size: Annotated[int, typer.Option(metavar="N", help="Instructions of a seed, three runs each.")] = 160,
    alpha: Annotated[float, typer.Option(metavar="A", help="The part of safe calls that may be denied.")] = 0.05,
) -> None:
    """Measure on a scripted environment what learned weights are worth beside weights of 1, hard rules and guards.

    The policy's folder holds its world.yaml (wb.bench.world). What is learned, calibrated and measured on are other
    seeds; each row is paired with weights of 1 by McNemar's test.
    """
    import runpy

    import pandas

    from wb.bench import weighing
    from wb.domain import policy as documents

    numbers = [[int(seed) for seed in some.split(",")] for some in (learn, calibrate, measure)]
    built, place = _built(policy, None), documents.place(policy)
    code = {name: built.guards[name] for name in ("toolguard", "veriguard")}
    known = runpy.run_path(str(oracle))["violated"]
    setting = weighing.Setting(place, known, built.shield, code, built.quotes, *numbers, size=size, alpha=alpha)
    with _stoppable():
        rows = weighing.measure(setting, [float(one) for one in noise.split(",")], lambda m: print(m, file=sys.stderr))
    pandas.DataFrame(rows).to_csv(out, index=False)
    print(weighing.table(rows).to_string(index=False, na_rep="-", float_format=lambda number: f"{number:.3g}"))


@app.command()
def proxy(
    policy: Policy,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="The http address of an MCP server, or a command.")],
    starts: Annotated[bool, typer.Option("--start", help="SERVER is the command of a server; it is started.")] = False,
    guard: Guard = "veriguard",
    model: Model = None,
    version: Annotated[
        str, typer.Option(metavar="KEY", help="The version of 06_nagini_verification that it must be.")
    ] = "",
    state: Annotated[
        Path | None, typer.Option(metavar="F.json", help="What is known of the user and the session: fields by name.")
    ] = None,
    log: Annotated[Path | None, typer.Option(metavar="F", help="A file that gets a line of JSON a decision.")] = None,
    record: Annotated[Path | None, typer.Option(metavar="F", help="A file that gets what happened.")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="For one answer of the server.")] = 60.0,
    observe: Annotated[bool, typer.Option("--observe", help="Decide and log, and let every call pass.")] = False,
    offer: Annotated[bool, typer.Option("--offer", help="Offer the agent verdicts and operations as tools.")] = False,
) -> None:
    """Stand between an agent and an MCP server: its tools are passed on, calls only where the guards allow them.

    The agent starts this command as its server and speaks with it over standard input and output. The guards are those
    of the newest finished run of the policy; nothing is built. Resources and prompts are not passed on.
    """
    from wb import build as building
    from wb.adapters import mcp
    from wb.domain import jsonl, session, toolfile

    if not starts and not server.startswith(("http://", "https://")):
        raise ValueError(f"an http address was required, or --start for a command; got {server!r}")
    if not seconds > 0:
        raise ValueError(f"--seconds above 0 were required; got {seconds}")
    judge = building.finished(policy, version, model).guard(guard)
    known = {} if state is None else jsonl.value(state.read_text("utf-8"))
    if type(known) is not dict:
        raise ValueError(f"{state}: a JSON object, fields by name, was required; got {jsonl.shown(known)}")

    def made(ask: mcp.Ask) -> Session:
        one = session.Session(judge, ask=ask, log=log, record=record, observe=observe)
        one.state(known)
        return one

    with _stoppable():
        mcp.serve(made, toolfile.command(server) if starts else server, seconds=seconds, offer=offer)


@app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help=PLACE)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another version of it.")],
    runs: Annotated[
        Path | None, typer.Argument(metavar="[RUNS.jsonl]", help="Recorded runs, one event a line.")
    ] = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of a policy: sentences, the rules and guards that follow, and, of recorded runs, the calls
    that are decided otherwise.

    Takes the newest run of each, or makes one.
    """
    from wb.runs import verdicts

    with _stoppable():
        both = [_built(policy, model) for policy in (old, new)]
        before, after = (verdicts.Side(built.sentences, built.rules) for built in both)
        judged = [built.judge(runs) for built in both] if runs is not None else [(), ()]
        found = (
            verdicts.sentences(before, after),
            verdicts.guards(*(built.guard() for built in both)),
            verdicts.calls(*judged),
        )
    if as_json:
        print(json.dumps(verdicts.to_json(*found), indent=1, ensure_ascii=False))
        return
    _print(*verdicts.changed(*found, f"{old} to {new}"))
    if not any(found):
        print("nothing differs")


@app.command()
def live(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="A name under policies/, or a folder, with tasks.")],
    model: Annotated[
        str, typer.Option(metavar="M", help="The agent's model at an OpenAI-compatible endpoint; 'offline': scripts.")
    ] = "offline",
    user: Annotated[str | None, typer.Option(metavar="M", help="The simulated user's model; the agent's.")] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="original, policy_reminder, mapping_reminder or toolguards; all of them."),
    ] = None,
    trials: Annotated[int, typer.Option(metavar="N", help="Trials of each task.")] = 1,
    task: Annotated[list[str] | None, typer.Option(metavar="T", help="A task by name; all of them.")] = None,
    turns: Annotated[int, typer.Option(metavar="N", help="At most this many turns of the agent.")] = 30,
    on_refusal: Annotated[
        str, typer.Option(metavar="R", help="halt and replan, replan, halt, block or terminate: of toolguards.")
    ] = "halt and replan",
    guard: Guard = "veriguard",
) -> None:
    """Let an agent and a simulated user talk about the tasks beside a policy, and count which the agent does.

    The guards are those of the newest finished run of the policy; nothing is built. What is finished is kept: the same
    command goes on where the last one ended, and more trials are added to those that are there.
    """
    from wb.bench import experiment
    from wb.runs import cards

    if trials < 1:
        raise ValueError(f"--trials of 1 or more were required; got {trials}")
    if unknown := [one for one in strategy or () if one not in experiment.STRATEGIES]:
        raise ValueError(f"--strategy must be one of {list(experiment.STRATEGIES)}; got {unknown[0]!r}")
    if on_refusal not in experiment.REFUSALS:
        raise ValueError(f"--on-refusal must be one of {list(experiment.REFUSALS)}; got {on_refusal!r}")
    made = _setting(policy, guard, model, user or model, turns, on_refusal)
    place = experiment.folder(paths.project().artifacts, made)
    planned = experiment.plan(made, tuple(dict.fromkeys(strategy or experiment.STRATEGIES)), trials, task or ())
    with _stoppable(), _telling("live") as tell:
        told = partial(tell, "trials")
        found = experiment.run(made, place, planned, workers=experiment.workers(), tell=told)
    if rows := experiment.table(found.trials):
        shown = ({k: f"{v:.3f}" if isinstance(v, float) else str(v) for k, v in row.items()} for row in rows)
        _print(cards.table(shown, title=policy))
    for name, why in found.open.items():
        print(f"open: {name}: {why}", file=sys.stderr)
    print(f"{'trials':17}{len(found.trials)} of {len(planned)} are finished")
    print(f"{'results':17}{place / experiment.RESULTS}")
    print(f"{'conversations':17}{place / 'runs.jsonl'}")
    if found.stopped:
        raise ValueError(f"{found.stopped}; the same command goes on from here")
    if found.open:
        raise typer.Exit(1)


@app.command()
def verify(
    policy: Annotated[str | None, typer.Argument(metavar="[POLICY]", help=PLACE)] = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Prove every kept guard again, of the newest run unless a policy is named, believing no earlier proof; compare.

    Ends with 1 if a guard is not what its row says.
    """
    from wb import build as building
    from wb.runs import cards

    with _stoppable(), _telling("verify") as tell:
        tell("loading")
        rows = building.kept(policy, model).verify(partial(tell, "proofs"))
    if as_json:
        for row in rows:
            print(json.dumps({**row._asdict(), "holds": row.holds}, ensure_ascii=False))
    else:
        _print(cards.table(rows, *building.Verified._fields[:7], title=policy or "the newest run"))
        print(f"{sum(row.holds for row in rows)} of {len(rows)} guards are what their rows say")
    if not all(row.holds for row in rows):
        raise typer.Exit(1)


@app.command()
def show(
    stage: Annotated[str | None, typer.Argument(metavar="[STAGE]", help="A stage by name or number.")] = None,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OLD NEW]", help="Two versions to compare, by the start of their keys."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the versions of a stage and what sets two apart: the newest from the one before it of the same policy,
    unless named."""
    from wb.runs import artifact, pipeline

    here = paths.project()
    stages = sorted(path.stem for path in here.notebooks.glob("[0-9][0-9]_*.ipynb"))
    names = [pipeline.stage_named(stage, stages)] if stage else stages
    found = {name: artifact.versions(here, name) for name in names}
    if as_json:
        rows = [artifact.with_results(artifact.newest(here, name)) for name in names if stage or found[name]]
        print(json.dumps(rows[0] if stage else rows, indent=1, ensure_ascii=False))
        return
    for name in names:
        _show(name, found[name], artifact.pair(found[name], keys or ()))


@app.command()
def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Keys or folders of 07_evaluation; the newest if none."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="F", help="Where to write it.")] = None,
) -> None:
    """Write one self-contained HTML file with the figures of a run, or of several laid over one another."""
    from wb.runs import report as reports

    here = paths.project()
    versions = [reports.find(here, name) for name in runs or [None]]
    print(f"policy {reports.policies(versions)}", file=sys.stderr)
    print(_report(here, versions, out))


@app.command()
def export(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Keys or folders of versions; the newest if none.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write them.")] = None,
) -> None:
    """Write every figure of a run, or of several laid over one another, as SVG, PNG and CSV, with an index."""
    from wb.runs import report as reports

    here = paths.project()
    versions = [reports.find(here, name) for name in runs or [None]]
    place = out or here.artifacts / "exports" / paths.digest([version.key for version in versions])[:12]
    print(reports.export(reports.named(here, versions), place))


@app.command()
def check(
    rules: Annotated[Path, typer.Argument(metavar="RULES", help="A rule file, as JSON or as text.")],
    as_json: AsJson = False,
) -> None:
    """Check a rule file: contradictions, rules that say nothing, rules that others imply.

    What is not settled within a minute is listed as undecided.
    """
    from wb.rules import check as checks
    from wb.rules import rulefile

    with _stoppable(), _telling("check") as tell:
        found = checks.check(rulefile.load(rules), lambda what, done, of: tell(what, *((done, of) if of > 1 else ())))
    print(json.dumps(checks.to_json(found), indent=1, ensure_ascii=False) if as_json else checks.render(found))


@app.command()
def tools(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="An OpenAPI document or a list of tool schemas (JSON, YAML); the http address of an MCP server; "
            "or what --import or --start names.",
        ),
    ],
    imports: Annotated[
        bool,
        typer.Option(
            "--import", help="SOURCE is Python, FILE.py or MODULE, with or without :NAME; importing it runs it."
        ),
    ] = False,
    starts: Annotated[
        bool, typer.Option("--start", help="SOURCE is the command of an MCP server; it is started, asked and ended.")
    ] = False,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A tool to leave out; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="F", help="A new file to write it to.")] = None,
) -> None:
    """Write a tools.json from what there is already, to be read and edited; names that had to change are told."""
    from wb.domain import toolfile

    if imports and starts:
        raise ValueError("either --import or --start may be given; got both")
    if out is not None and out.exists():
        raise ValueError(f"{out}: a file that is not there yet was required: a person may have edited this one")
    with _stoppable():
        made = toolfile.made(source, "import" if imports else "start" if starts else "read", without or ())
    for note in made.notes:
        print(note, file=sys.stderr)
    if out is None:
        print(made.text, end="")
    else:
        paths.write_whole(out, made.text)


def main() -> None:
    """The command `wb`: a mistake of the caller's ends in one message and exit code 2."""
    try:
        app(prog_name="wb")
    except ValueError as error:
        print(f"wb: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.filename is None and error.errno not in FULL:
            raise
        place = f"{error.filename or paths.project().artifacts}: "
        print(
            f"wb: {place}a place that can be read and written was required; got {error.strerror} "
            "(WB_ARTIFACTS names another folder for what runs leave; finished stages are kept)",
            file=sys.stderr,
        )
        sys.exit(2)


def _values(pairs: list[str], **named: str | None) -> dict[str, str]:
    """Parameters as texts; `ValueError` for one that is not NAME=VALUE or is given twice."""
    found = {name: value for name, value in named.items() if value is not None}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"-p takes NAME=VALUE; got {pair!r}")
        if name in found:
            raise ValueError(f"each parameter may be given once; {name!r} came twice")
        found[name] = value
    return found


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C, or a request to end (SIGTERM), ends the command with what was kept, where a run says so."""
    asked = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        print(f"wb: {error or 'stopped'}", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
    finally:
        signal.signal(signal.SIGTERM, asked)


@contextmanager
def _telling(command: str) -> Iterator[Callable[..., None]]:
    """What tells on standard error what a command does: a text, and how many of it are done, and of how many."""
    from wb.runs import progress

    with progress.Display([command], progress.console(error=True)) as tell:
        yield lambda what, *of: tell(
            progress.Notice(command, "running", note=f"{what}: {of[0]} of {of[1]}" if of else what)
        )


def _print(*tables: object) -> None:
    """Tables on standard output, none of them cut."""
    from wb.runs import progress

    for table in tables:
        progress.console().print(table, crop=False)


def _built(policy: str, model: str | None, alike: bool = False) -> Built:
    """The guards of the newest run of a policy; where there is none, one is made, which takes minutes, and that is
    said: by the model of the run that was begun, where none is named.  With `alike`, another model's run will do."""
    from wb import build as building
    from wb.models import client

    found = building.newest(policy, model)
    if found is None and model is None:
        model = building.begun(policy)
    elif found is None and alike and not building.begun(policy, model):
        found = building.newest(policy)
    if found is not None:
        at = "".join(f", {one.stage}/{one.key}" for one in found.versions.values() if one.stage == building.PROOFS)
        trust = f", at trust {found.trust}" * bool(found.trust)
        print(f"wb: the guards are of the run by {found.model}{trust}{at}", file=sys.stderr)
        return found
    by = f"by {model}" if model else "offline, without a model (--model names that of your own run)"
    if wait := client.awaited(paths.project().replies, model or ""):
        on = f"here `wb run --policy {policy} --model {model} --to {building.LAST}`"
        raise ValueError(
            "\n".join((f"{policy}: a run by {model} whose questions wait no more was required, {on}", *wait))
        )
    told = f"wb: no finished run of {policy} to 06_nagini_verification as it is now: making one {by}"
    print(told, file=sys.stderr)
    return building.build(policy, model or "offline")


def _setting(policy: str, guard: str, model: str, user: str, turns: int, on_refusal: str) -> Setting:
    """What live runs of a policy depend on, with the guards of its newest finished run."""
    from wb import build as building
    from wb.bench import experiment, mapping
    from wb.domain import policy as documents
    from wb.rules import items

    built = building.finished(policy)
    source, place = documents.load(policy), documents.place(policy)
    mapped = mapping.by_hand(place, source.text)
    if not mapped:
        mapped = items.from_json(built.versions["05_tool_guards"].read("items.json"))
    version = f"{guard} of {built.versions[building.PROOFS].key}"
    asked = {"model": model, "user_model": user, "turns": turns, "on_refusal": on_refusal}
    return experiment.setting(source, place, built.guard(guard), version, mapped=mapped, **asked)


def _conclude(here: Project, done: Mapping[str, Version]) -> None:
    """What came of this policy, what was measured, and where to look."""
    from wb.runs import report as reports

    found = list(done.values())
    _print(*reports.tables(found))
    print(*reports.lines(found), sep="\n")
    if reports.reportable(found):
        with _telling("report") as tell:
            tell("")
            path = _report(here, [found[-1]], None)
        print(f"{'report':17}{path}")


def _forecast(steps: tuple[Planned, ...]) -> None:
    """What these stages would ask of a model, estimated."""
    from wb import build as building
    from wb.runs import cards

    with _stoppable():
        found = building.forecast(steps)
    total, money = found.ledger.total, bool(found.price.prompt or found.price.completion)
    rows = []
    for name, usage in (*found.ledger.rows.items(), ("all", total)):
        cost = f"{usage.cost:.2f}" if money else "pasted" if found.name.startswith("paste:") else "no WB_PRICE"
        rows.append((name, usage.calls, usage.replayed, usage.prompt_tokens, usage.completion_tokens, cost))
    heads = "prompt, questions, recorded, prompt tokens, reply tokens, money"
    _print(cards.listed(heads, rows))
    print(
        "an estimate, nobody was asked: with the answers of the offline engine, four bytes a token; corrections, "
        "at most two a statement, repairs of guards and what 04 and 07 ask of recorded turns come on top"
    )


def _report(here: Project, versions: list[Version], out: Path | None) -> Path:
    """Write the report of these runs, unless the same one is there already, undamaged; returns its path."""
    from wb.runs import artifact, key
    from wb.runs import report as reports

    made_by = key.modules(["from wb.runs import report"], here.package)
    made_by |= {page.name: key.file_digest(page) for page in sorted((here.package / "runs").glob("*.html"))}
    made_of = [[version.key, version.digests] for version in versions]
    path = out or here.artifacts / "reports" / f"{paths.digest([made_of, made_by])[: artifact.KEY_LENGTH]}.html"
    if out or not reports.whole(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.write_whole(path, reports.sealed(reports.page(reports.named(here, versions))))
    return path


def _show(name: str, versions: tuple[Version, ...], pair: tuple[Version, ...]) -> None:
    from wb.runs import artifact, cards
    from wb.runs import report as reports

    of = f" of {reports.policies(versions)}" * bool(versions)
    print(f"{name}: {len(versions)} version{'' if len(versions) == 1 else 's'}{of}")
    if versions:
        _print(cards.table(artifact.described(version) for version in versions))
    if pair:
        old, new = pair
        names = dict.fromkeys(str(version.manifest["policy"]["name"] or "no policy") for version in pair)
        print(f"from {old.key} to {new.key} ({', '.join(names)}):")
        for line in artifact.differences(old.manifest, new.manifest) or ("nothing but the time",):
            print(f"  {line}")
    elif len(versions) > 1:
        print(
            f"the newest is the only one of its policy, {versions[0].manifest['policy']['name'] or 'no policy'}: "
            f"`wb show {name} OLD NEW` compares any two"
        )


if __name__ == "__main__":
    main()
