"""A policy to guards in one call: `wb.build("path/to/policy")`.

It is the run of `wb run` up to the proofs: the same notebooks, the same versions, kept as long as nothing that they
depend on changes.  What a run left is then loaded from its files; nothing is computed twice, and nothing heavy is
imported where everything is there.

    import wb

    guards = wb.build("web_tasks")
    session = guards.session()
    session.state({"age": 17})
    verdict = session.call("post_message", {"text": "hello"})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from wb import paths
from wb.domain import policy as documents
from wb.domain.session import Session
from wb.guards import contract, evidence, runtime
from wb.rules import rulefile, sentences
from wb.rules.rule import toolbox
from wb.runs import artifact, key
from wb.runs.artifact import ArtifactError, Version
from wb.shield import shield

if TYPE_CHECKING:
    from wb.bench.recorded import Judged, Undeclared
    from wb.domain.events import Observation, Recognition
    from wb.domain.judging import Judge
    from wb.domain.tools import Toolbox
    from wb.models.client import LLM, Engine, Forecast
    from wb.models.endpoint import Reply
    from wb.models.prompt import Prompt
    from wb.paths import Project
    from wb.rules.extract import Extracted
    from wb.rules.rule import RuleSet
    from wb.rules.sentences import Account
    from wb.runs.pipeline import Planned
    from wb.runs.progress import Notice, Tell

PROOFS = "06_nagini_verification"
WEIGHTS = "04_weight_learning"
LAST = "6"  # the stage whose results a guard needs last
FINAL = "veriguard"
RULES = ("01", "02")  # the stages that say what a guard's rules are


class Guards(Mapping[str, "Judge"]):
    """Guards by name, each compiled when it is first asked for."""

    def __init__(self, made: Mapping[str, Callable[[], Judge]]) -> None:
        self._made, self._ready = dict(made), {}

    def __getitem__(self, name: str) -> Judge:
        if name not in self._ready:
            self._ready[name] = self._made[name]()
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Verified(NamedTuple):
    """One tool's guard: the grade that its row says, what the row is worth as it was loaded, what the prover says
    today, what may be claimed of it (`guards.runtime.claim`), how many of its inputs are truths that it takes on trust,
    and why where these differ or the rules are not known to be the policy's."""

    tool: str
    kept: str
    loaded: str
    again: str
    claim: str
    trusted: int
    reason: str
    foreign: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the guard is what its row says, of rules that were read here."""
        return self.kept == self.loaded == self.again and not self.foreign


@dataclass(frozen=True)
class Built:
    """What a run made of a policy. `guards` holds "veriguard" (proved code alone), "toolguard" (tested code) and
    "shieldagent" (the shield); `versions` the version of each stage that it was loaded from."""

    toolbox: Toolbox
    rules: RuleSet
    sentences: tuple[Account, ...]
    guards: Mapping[str, Judge]
    versions: Mapping[str, Version] = field(repr=False)
    model: str = "offline"

    @property
    def trust(self) -> str:
        """At which level of trust the rules are in force, and whether a model assumed some; empty where unknown."""
        read = self.versions.get("01_policy_extraction")
        given = read.manifest["parameters"] if read is not None else {}
        return str(given.get("trust", "")) + ", a model's assumptions in force" * bool(given.get("assume"))

    def guard(self, name: str = FINAL) -> Judge:
        """The guard of that name; `ValueError` names those there are."""
        if name not in self.guards:
            raise ValueError(f"a guard must be one of {sorted(self.guards)}; got {name!r}")
        return self.guards[name]

    def session(self, guard: str = FINAL, **options: Any) -> Session:
        """A conversation whose calls the guard judges as they come: `.say`, `.state`, `.call`, `.result`.

        Options as of `Session`: `log` is a path, or an open text file, that gets one JSON line a decision.
        """
        return Session(self.guard(guard), **options)

    def judge(
        self, runs: str | Path, guard: str = FINAL, strange: Undeclared | None = None, model: str | None = None
    ) -> Iterator[Judged]:
        """A guard's verdict on every call of a file of recorded runs (JSON lines), as they come; see `recorded`.

        `strange` counts what the runs name and nobody declared; `model` answers what is asked about a conversation.

        Raises:
            ValueError: there is no such guard, or a line of the file is not what it must be.
        """
        from wb.bench import recorded
        from wb.domain import answers, events

        happened = events.stream(runs)
        seen = happened if strange is None else strange.passing(happened)
        answer = answers.about(self.engine(model)) if model else None
        return recorded.judge(self.guard(guard), seen, self._recognised, answer)

    def verify(self, tell: Callable[[int, int], object] = lambda done, of: None) -> tuple[Verified, ...]:
        """Every kept guard proved again, believing no earlier proof, beside what was kept of it; `tell` is told how
        many sources have an answer, and of how many."""
        from wb.guards import nagini, veriguard

        proofs = self.versions[PROOFS]
        said = {row["tool"]: str(row["grade"]) for row in proofs.read("guards.json")}
        entries, waiting = self.guards[FINAL].guarded, sentences.open_on(self.sentences)
        with nagini.Verifier(cache=paths.project().artifacts / "cache" / "nagini", tell=tell, again=True) as verifier:
            found = veriguard.again(entries, verifier)
        foreign = self.foreign
        wanted = "are not sealed with your key as this policy's: `wb run` reads them again"
        why = f"the rules of {', '.join(foreign)} {wanted}" if foreign else ""
        return tuple(
            Verified(
                e.contract.tool,
                said[e.contract.tool],
                e.grade,
                new.grade,
                runtime.claimed(replace(new, parts=()), len(waiting.get(e.contract.tool, ()))),
                len(e.contract.trusted),
                "; ".join(filter(None, (why, new.reason or e.reason))),
                foreign,
            )
            for e, new in zip(entries, found, strict=True)
        )

    @property
    def foreign(self) -> tuple[str, ...]:
        """The stages whose rules are not known to be this policy's: their own seal does not say so.  The version of the
        proofs says of which policy it is, and is believed of itself alone."""
        policy = self.versions[PROOFS].manifest["policy"]["digest"]
        read = {stage: version for stage, version in self.versions.items() if stage[:2] in RULES}
        return tuple(s for s, v in read.items() if not v.ours or v.manifest["policy"]["digest"] != policy)

    @property
    def shield(self) -> Judge:
        """ShieldAgent's guard, `guards["shieldagent"]`."""
        return self.guards["shieldagent"]

    @property
    def quotes(self) -> dict[str, str]:
        """The sentence of each rule, by rule."""
        return {rule.id: rule.quote or rule.text for rule in self.rules.rules}

    @property
    def texts(self) -> dict[str, str]:
        """The text of each sentence, by its id."""
        return {reading.id: reading.text for reading in self.sentences}

    def _recognised(self, turns: Sequence[Observation]) -> Sequence[Recognition]:
        """What free-text turns are, told by the engine that the run was made with."""
        from wb.domain.events import recognise

        return recognise(turns, self.toolbox, self.engine(self.model))

    def engine(self, model: str) -> LLM:
        """The model of that name, with the recorded replies of the project."""
        from wb.models import client, embeddings
        from wb.offline import engine

        here = paths.project()
        encoder = embeddings.Encoder(cache=here.artifacts / "cache" / "embeddings")
        return client.connect(model, offline=engine.Offline(self.toolbox, encoder), replies_dir=here.replies)


def build(policy: str | Path, model: str = "offline", **parameters: object) -> Built:
    """Rules, sentences, shield and guards of a policy: a name under `policies/`, a folder, or one document.

    Stages that are finished and unchanged are kept; what is made says so on standard error.  `parameters` are those
    of the notebooks, such as `max_rounds=1`.

    Raises:
        ValueError: there is no such policy or parameter, or a stage failed; what was required and got is said.
        pipeline.Stopped: Ctrl-C; finished stages are kept.
    """
    from wb.runs import pipeline  # here, not above: whoever loads guards runs nothing

    here = paths.project()
    steps = plan(here, policy, model, **parameters)
    with _shown(steps) as tell:
        return load(str(policy), pipeline.run(here, steps, tell))


def plan(here: Project, policy: str | Path, model: str = "offline", **parameters: object) -> tuple[Planned, ...]:
    """The stages that `build` runs or keeps."""
    from wb.runs import pipeline

    values = {"policy": str(policy), "model": model, **{name: str(value) for name, value in parameters.items()}}
    return pipeline.plan(here, values, last=LAST)


def forecast(steps: Sequence[Planned]) -> Forecast:
    """What the stages of a plan would ask of their model, from the document to the guards: nobody is asked.

    The answers are the offline engine's.  Not counted are repairs of guards, corrections of answers, and what is asked
    of recorded turns (04, 07).

    Raises:
        ValueError: the model is "offline", which is asked nothing, or a setting cannot be read.
    """
    from wb.guards import reading, scenes, synthesis
    from wb.models import client, embeddings
    from wb.models.client import Forecast
    from wb.offline import engine, reader
    from wb.rules import edits, extract, items, mapper, refine, rereading, rule, vagueness

    here, given = paths.project(), {step.stage[:2]: step.parameters for step in steps}
    model = str(given["01"]["model"])
    if model == "offline":
        raise ValueError(
            "--dry-run needs --model NAME, a model of an endpoint or paste:ME: the offline engine asks nobody"
        )
    place = key.policy(str(given["01"]["policy"]), here.policies).path
    source = documents.load(place)
    encoder = embeddings.Encoder(cache=here.artifacts / "cache" / "embeddings")
    parsed = reader.extracted(source)
    answers = _Estimates(engine.Offline(source.toolbox, encoder), parsed)
    first_model = model.split(",")[0]
    asked = Forecast(client.connect(first_model, offline=answers, replies_dir=here.replies).engine, answers)
    llm = client.LLM(asked, workers=1)
    extract.asked(source, [llm], count=int(given["01"]["readers"]))
    classed = sentences.classify(source, parsed)
    ruleset = first = classed.ruleset
    box, clauses = toolbox(parsed.toolbox, first), parsed.clauses
    if "02" in given:
        wanted = given["02"]
        options = {name: wanted[name] for name in ("max_rounds", "budget", "similarity")}
        options |= {"k": wanted["neighbours"], "policy": source, "panel": extract.panel([llm])}
        state = rereading.State(first, parsed, classed.accounts)
        rounds = refine.refine(state, llm, encoder, toolbox=box, **options)
        ruleset = rounds[-1].ruleset
        vagueness.judged(rounds, llm if wanted["judge_vagueness"] else None)
    if "05" in given:
        if rounds := int(given["05"]["map_rounds"]):
            asked.answers = engine.Offline(box, encoder, items=items.items(source, classed.accounts))
            mapper.mapped(source, classed.accounts, llm, rounds=rounds, edits=edits.load(edits.place(place), source))
        required = contract.contracts(box, ruleset)
        told = {c.tool: synthesis.concerning(c, ruleset, clauses, first) for c in required}
        kept, asking = sentences.refined(classed.accounts, ruleset), rule.asking(source, ruleset)
        mapped = items.items(source, kept)
        reading.first(required, told, [llm], asking, ruleset, mapped=mapped, accounts=kept, clauses=clauses)
        if rounds := int(given["05"]["example_rounds"]):
            scenes.written(items.items(source, classed.accounts), box, llm, rounds=rounds)
    return asked


class _Estimates:
    """Answers for an estimate: a vocabulary as large as the offline engine's, readers that find nothing to say, and
    the offline engine's answers to all else."""

    name = "offline"

    def __init__(self, offline: Engine, parsed: Extracted) -> None:
        self.offline, self.parsed = offline, parsed

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        from wb.models.endpoint import Reply

        if prompt.name in ("write_vocabulary", "add_vocabulary", "bind_vocabulary"):
            rows = self.parsed.words.rows()
            return Reply({**rows, "facts": [{**row, "question": "?"} for row in rows["facts"]]})
        if prompt.name.startswith("read_") and "statements" in inputs:
            return Reply({"statements": [{"id": row["id"]} for row in inputs["statements"]]})
        if prompt.name == "relate_statements":
            return Reply({"bindings": []})
        if prompt.name == "judge_vagueness":
            return Reply({"rules": [{"id": row["id"], "score": 1, "reason": "?"} for row in inputs["rules"]]})
        return self.offline.answer(prompt, inputs, schema)


def newest(policy: str | Path, model: str | None = None) -> Built | None:
    """The guards of the newest finished run of the policy; None where there is none, or where its files, `wb` or its
    prompts have changed since, so that another run would make others."""
    versions, problem = _newest(paths.project(), policy, model)
    return None if problem else load(str(policy), versions)


def begun(policy: str | Path, model: str | None = None) -> str | None:
    """The model of the newest run of the policy, finished or not, by that model where one is named; None where there is
    none, or it was made offline."""
    here = paths.project()
    with suppress(ArtifactError, key.SourceError):
        source = key.policy(str(policy), here.policies)
        made = artifact.newest(here, "01_policy_extraction", policy=source.digest, name=source.name, model=model)
        return None if made.manifest["model"] == "offline" else str(made.manifest["model"])
    return None


def finished(policy: str | Path, version: str = "", model: str | None = None) -> Built:
    """The guards of the newest finished run of the policy, as `wb.load` gives them: no stage runs, nothing is made.

    Every file is held against its digest and every version against its seal, and all must be what a run would make
    today.  `version` is the start of the key that the version of `06_nagini_verification` must have: whoever names it
    gets these guards or none.

    Raises:
        ValueError: there is no such policy.
        ArtifactError: there is no such run, or it is not one that may be believed; the message says what to do.
    """
    versions, problem = _newest(paths.project(), policy, model)
    if not problem and not (found := versions[PROOFS].key).startswith(version):
        problem = f"version {version} of {PROOFS} was required; the newest is {found}"
    if not problem:
        damaged = [f"{one.stage}/{one.key}/{name}" for one in versions.values() for name in one.damaged()]
        problem = f"files as they were written were required; changed or lost: {', '.join(damaged)}" if damaged else ""
    if problem:
        raise ArtifactError(f"{policy}: {problem}: `wb run --policy {policy}` makes it again")
    return load(str(policy), versions)


def _newest(here: Project, policy: str | Path, model: str | None) -> tuple[dict[str, Version], str]:
    """The versions of the newest finished run of the policy, and why they are not what a run would make today."""
    source = key.policy(str(policy), here.policies)
    try:
        versions = _versions(here, source, model)
    except ArtifactError:
        return {}, "a finished run of the policy as it is now was required; there is none"
    last = [versions[stage].manifest["upstream"] for stage in (WEIGHTS, PROOFS)]
    read = [upstream.get("02_vagueness_scoring", {"files": {}}) for upstream in last]
    rules = [one["files"].get("rules.json") for one in read]
    if len({stage[:2] for stage in versions}) != int(LAST) or None in rules or rules[0] != rules[1]:
        return versions, "a run whose stages are all there and of the same rules was required"
    for version in versions.values():
        if why := _stale(here, version):
            return versions, f"{version.stage}/{version.key}: {why}"
    learned, own = str(versions[WEIGHTS].manifest["parameters"].get("runs", "")), paths.labelled(source.path)
    today = f"{Path(own).name}:{key.file_digest(Path(own))[:16]}" if own else ""
    if own and learned != today and learned.partition(":")[0] in ("", Path(own).name):
        return versions, f"weights that were learned from {Path(own).name} as it is now were required; it changed since"
    return versions, ""


def kept(policy: str | Path | None = None, model: str | None = None) -> Built:
    """The guards of the newest run as they lie there, whether or not another run would make others.

    Raises:
        ArtifactError: there is no finished run of that policy as its files are now, or a file was changed or lost.
    """
    here = paths.project()
    versions = _versions(here, None if policy is None else key.policy(str(policy), here.policies), model)
    return load(str(policy or versions[PROOFS].manifest["policy"]["name"]), versions)


def _versions(here: Project, policy: key.Source | None, model: str | None) -> dict[str, Version]:
    """The newest version of the proofs, and of the weights by the same model that which was used last before them, so
    that an experiment with 04 alone changes no guards, with all that they read.

    Raises:
        ArtifactError: there is none of the one or of the other.
    """
    named = {} if policy is None else {"policy": policy.digest, "name": policy.name}
    proofs = artifact.newest(here, PROOFS, **named, model=model)
    of = proofs.manifest["policy"]
    made_of = {"policy": of["digest"], "name": of["name"], "model": proofs.manifest["model"]}
    weights = artifact.newest(here, WEIGHTS, **made_of, before=proofs)
    return {**artifact.followed(here, weights), **artifact.followed(here, proofs)}


def load(policy: str, versions: Mapping[str, Version]) -> Built:
    """What a run of the policy left, by stage, as rules, shield and guards.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
        ToolError: `tools.json` is malformed.
    """
    read = {stage.partition("_")[0]: version for stage, version in versions.items()}
    rules = rulefile.from_json(read["02"].read("rules.json"))
    box = toolbox(documents.toolbox(policy), rules)
    readings = sentences.from_json(read["02"].read("sentences.json"))
    waiting = sentences.open_on(readings)
    proved, tested, weighed = (
        read[stage].read(name)
        for stage, name in (("06", "guards.json"), ("05", "candidates.json"), ("04", "shield.json"))
    )

    def guard(name: str, rows: Sequence[dict[str, str]]) -> Judge:
        kept = evidence.from_rows(rows, contract.contracts(box, rules), rules, waiting)
        return runtime.accepting(name, rules, kept, box, waiting)

    guards = Guards(
        {
            "veriguard": lambda: guard("veriguard", proved),
            "toolguard": lambda: guard("toolguard", tested),
            "shieldagent": lambda: shield.from_json(weighed, box, waiting),
        }
    )
    return Built(box, rules, readings, guards, dict(versions), str(read["01"].manifest["model"]))


def _stale(here: Project, version: Version) -> str:
    """Why a version is none that was made here with the modules and prompts of today; empty where it is one."""
    modules: Mapping[str, str] = version.manifest["modules"]
    if version.manifest["mode"] == "changed":
        return "a version of one policy was required; what it is made of changed while it was made: run it again"
    if version.manifest["mode"] != "batch":
        return "a version of `wb run` was required; somebody stepped through this one"
    if not version.ours:
        return "a version sealed with your key was required; this one is not"
    if key.digests(modules, here.package) != modules:
        return "a version made by `wb` as it is now was required; its modules changed since"
    if not artifact.current(here, version):
        return "a version with all its answers and the prompts of today was required"
    return ""


@contextmanager
def _shown(steps: tuple[Planned, ...]) -> Iterator[Tell]:
    """What shows a run on standard error, from the first stage that has to be made."""
    from wb.runs import progress

    shown: list[Tell] = []
    with ExitStack() as stack:

        def tell(event: Notice) -> None:
            if not shown and event.what != "kept":
                display = progress.Display([step.stage for step in steps], progress.console(error=True))
                shown.append(stack.enter_context(display))
            for display in shown:
                display(event)

        yield tell


class _Callable(ModuleType):
    """This module can be called, so that `wb.build` means one thing: `wb.build(…)` is `wb.build.build(…)`."""

    def __call__(self, policy: str | Path, model: str = "offline", **parameters: object) -> Built:
        """See `build`."""
        return build(policy, model, **parameters)


sys.modules[__name__].__class__ = _Callable
