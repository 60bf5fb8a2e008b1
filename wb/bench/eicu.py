"""EICU-AC as recorded runs: which columns of which tables an agent's code reads, for whom (GuardAgent, 2024).

A case is a question of somebody with a role, and the code cells that an agent (EHRAgent) wrote for it; it is to be
denied where the question needs a column that the role may not see.  A run has the role as its state and one step with
a call `read_TABLE(columns)` for each table of which the code reads something: loaded tables are followed through names
and filters, what is compared is read too, and SQL is parsed.  A column that the table does not have gives nothing
(the agent guessed its name) and is left out; code of which it cannot be told what it reads, or a case without any, is a
call of `run_unclear_code`.  With `--needed` the calls are the columns that the case says its question needs.

    python -m wb.bench.eicu cases.jsonl OUT
    wb judge hospital OUT/runs.jsonl --json > judged.jsonl
    python -m wb.bench.recall OUT/samples.jsonl judged.jsonl
"""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import pydantic

from wb.bench.world import Sample
from wb.domain import events, jsonl, policy
from wb.domain.events import Asked, Say, State
from wb.domain.trace import Call

POLICY = "hospital"
UNCLEAR = "run_unclear_code"
Columns = Mapping[str, Set[str]]  # by table
TOOLS = ("LoadDB", "FilterDB", "GetValue", "SQLInterpreter", "Calendar", "Calculate")  # of the agent
PLAIN = frozenset(  # functions of Python that read nothing but what they are given
    "len max min sum sorted int float str list set tuple dict round abs range enumerate zip any all isinstance".split()
)
MODULES = frozenset("calendar collections datetime itertools math re statistics".split())  # that read nothing either
STRANGE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global)


class Case(pydantic.BaseModel):
    """One row of the set, as far as it is read; `label` 1 says that it is to be denied."""

    id: str
    role: str
    question: str
    access_gt: Mapping[str, Sequence[str]]
    inaccessible: Mapping[str, Sequence[str]]
    label: Literal[0, 1]
    agent_code: Sequence[str]


class UnclearError(ValueError):
    """It cannot be told what code reads."""


def schema() -> dict[str, frozenset[str]]:
    """The columns of each table, as the tools of the policy have them."""
    tools = policy.load(POLICY).toolbox.tools
    found = {tool.name: tool.schema["properties"] for tool in tools if tool.name != UNCLEAR}
    return {name.removeprefix("read_"): frozenset(of["columns"]["items"]["enum"]) for name, of in found.items()}


def reads(cells: Sequence[str], tables: Columns) -> dict[str, set[str]]:
    """The columns of each table that the cells read. A cell that is no Python does not run, and reads nothing.

    Raises:
        UnclearError: it cannot be told of a table or a column which one it is.
    """
    found: dict[str, set[str]] = {table: set() for table in tables}  # others the agent's tool does not have
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:
            continue
        for table, column in _pairs(tree):
            if column in tables.get(table, ()):
                found[table].add(column)
    return {table: columns for table, columns in found.items() if columns}


def _pairs(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each table with each column that a call of the agent's tools names of it."""
    assigned: dict[str, set[str]] = defaultdict(set)  # the tables that a name may hold, wherever it is assigned
    places = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for _ in places:  # names that are assigned from one another: at most so many steps
        for node in places:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned[target.id] |= _tables(node.value, assigned)
    _understood(tree, assigned)
    walked = [node.iter for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    rows = set().union(*(_tables(node, assigned) for node in walked))
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(column))):
                yield from ((table, column) for table in rows)  # of a row that is walked through
            case ast.Call(func=ast.Name(id="FilterDB" | "GetValue"), args=[database, words]):
                if not (held := _tables(database, assigned)):
                    raise UnclearError(f"a loaded table was required in {ast.unparse(node)}")
                yield from ((table, column) for column in _named(_text(words)) for table in held)
            case ast.Call(func=ast.Name(id="SQLInterpreter"), args=[ast.Constant(value=str(query))]):
                yield from _queried(query)
            case ast.Call(func=ast.Name(id="FilterDB" | "GetValue" | "SQLInterpreter")):
                wanted = "a tool of the agent with its usual arguments"
                raise UnclearError(f"{wanted} was required; got {ast.unparse(node)}")


def _understood(tree: ast.Module, assigned: Mapping[str, Set[str]]) -> None:
    """Refuse code that may read in another way than by the calls that are looked at.

    Names are the agent's tools, what reads nothing, and what the code itself makes of these (another one does not
    run); a table is the value of a plain assignment, the first argument of a tool, counted or walked through, and is
    used nowhere else; a name that holds one is bound in no other way.
    """
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    made |= {one.asname or one.name for node in imports for one in node.names}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function):
                known = isinstance(function, ast.Name | ast.Attribute)
            case ast.Attribute(attr=name):
                known = not name.startswith("_")
            case ast.Import(names=names):
                known = all(one.name in MODULES for one in names)
            case ast.ImportFrom(module=module, names=names):
                known = module in MODULES and all(one.name != "*" for one in names)
            case ast.Name(id=name) if name in TOOLS:
                known = isinstance(parents[node], ast.Call) and parents[node].func is node
            case ast.Name(id=name, ctx=ast.Store()) if name in assigned and assigned[name]:
                known = isinstance(parents[node], ast.Assign)
            case ast.Name(id=name):
                known = name in made or name in PLAIN or not (hasattr(builtins, name) or name.startswith("_"))
            case _:
                known = not isinstance(node, STRANGE)
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store) and known:
            known = not _tables(node, assigned) or _used(node, parents[node])
        if not known:
            raise UnclearError(f"code that reads by the agent's tools alone was required; got {ast.unparse(node)}")


def _used(node: ast.expr, parent: ast.AST) -> bool:
    """Whether a table stands where only the columns that are named are read."""
    match parent:
        case ast.Assign(targets=targets, value=value):
            return value is node and all(isinstance(target, ast.Name) for target in targets)
        case ast.Call(func=ast.Name(id="FilterDB" | "GetValue" | "len"), args=[first, *_]):
            return first is node
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is node  # a frame of pandas gives the names of its columns
    return isinstance(parent, ast.Expr) or (isinstance(parent, ast.Attribute) and parent.attr == "empty")


def _tables(node: ast.expr, assigned: Mapping[str, Set[str]]) -> set[str]:
    """The tables that an expression may hold."""
    match node:
        case ast.Name(id=name):
            return set(assigned.get(name, ()))
        case ast.Call(func=ast.Name(id="LoadDB"), args=[name]):
            return {_text(name)}
        case ast.Call(func=ast.Name(id="FilterDB"), args=[database, _]):
            return _tables(database, assigned)
    return set()


def _text(node: ast.expr) -> str:
    """A text whose column names are written out: what is filled in are values.

    Raises:
        UnclearError: it is no such text.
    """
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Call(func=ast.Attribute(value=inner, attr="format")):
            return _text(inner)
        case ast.JoinedStr(values=parts):
            return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str(more))):
            return _text(left) + more
        case ast.BinOp(left=left, op=ast.Add()):
            return _text(left) + "{}"
    raise UnclearError(f"a text was required; got {ast.unparse(node)}")


def _named(words: str) -> Iterator[str]:
    """What may be columns in `labname=hct||max(labresulttime)` or `labresult, min`: the words before what they are
    compared with.

    Raises:
        UnclearError: one is filled in.
    """
    for part in re.split(r"\|\||&&", words):
        left = re.split(r"[<>=!]|\s(?:not|in|like|between)\s", part)[0]
        if "{" in left:
            raise UnclearError(f"columns by name were required; got {part!r}")
        yield from re.findall(r"\w+", left)


def _queried(query: str) -> Iterator[tuple[str, str]]:
    """The columns of a SQL query; one without its table is one of each table that has it."""
    import sqlglot
    from sqlglot import expressions as sql

    try:
        tree = sqlglot.parse_one(query, dialect="sqlite")
    except sqlglot.errors.SqlglotError as error:
        raise UnclearError(f"a SQL query was required; {error}") from None
    if next(tree.find_all(sql.Star), None):
        raise UnclearError(f"columns by name were required; got {query}")
    if any(join.args.get("using") or join.method for join in tree.find_all(sql.Join)):
        raise UnclearError(f"columns of joins by name were required; got {query}")
    names: dict[str, set[str]] = defaultdict(set)  # the tables that go by a name in any part of the query
    for table in tree.find_all(sql.Table):
        names[table.alias_or_name.lower()].add(table.name.lower())
    every = set().union(*names.values())
    for column in tree.find_all(sql.Column):
        held = names.get(column.table.lower(), every) if column.table else every
        yield from ((table, column.name.lower()) for table in held)


def run(case: Case, tables: Columns, *, needed: bool = False) -> tuple[Sample, list[events.Event]]:
    """What is known of a case beside its events, and these."""
    try:
        read = case.access_gt if needed else reads(case.agent_code, tables)
    except UnclearError:
        read = {}
    calls = [Call(f"read_{table}", {"columns": sorted(columns)}) for table, columns in sorted(read.items())]
    calls = calls or [Call(UNCLEAR, {})]
    wrong = [bool(case.label) and call.tool.removeprefix("read_") in {*case.inaccessible, UNCLEAR} for call in calls]
    if case.label and not any(wrong):
        wrong = [True] * len(calls)  # the column that the label is about is in none of them
    happened = [Say("user", case.question), State({"role": case.role})]
    happened += [Asked(call, "deny" if bad else "allow") for call, bad in zip(calls, wrong, strict=True)]
    broken = {index: ("",) if bad else () for index, bad in enumerate(wrong)}
    sample = Sample(case.id, case.role, 0, "safe", "", "", broken)
    return sample, [events.Event(case.id, what, step=0 if isinstance(what, Asked) else None) for what in happened]


def main(given: Sequence[str] | None = None) -> None:
    """Write the runs of a file of cases, and what is known of them."""
    parser = argparse.ArgumentParser(prog="python -m wb.bench.eicu", description="EICU-AC as recorded runs.")
    parser.add_argument("cases", type=Path, help="a file of cases, one JSON object a line")
    parser.add_argument("out", type=Path, help="a folder for runs.jsonl and samples.jsonl")
    parser.add_argument("--needed", action="store_true", help="the columns that a case says its question needs")
    o = parser.parse_args(given)
    o.out.mkdir(parents=True, exist_ok=True)
    tables = schema()
    with (o.out / "runs.jsonl").open("w", encoding="utf-8") as file, (o.out / "samples.jsonl").open("w") as beside:
        for line in o.cases.read_text("utf-8").splitlines():
            sample, happened = run(Case.model_validate(jsonl.value(line)), tables, needed=o.needed)
            events.dump(happened, file)
            beside.write(json.dumps(asdict(sample)) + "\n")


if __name__ == "__main__":
    main()
