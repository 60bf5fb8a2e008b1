"""The command line: `wb run`, `wb show`, `wb report`, `wb check`.

Only typer is imported at the start; each command imports what it needs, so that `wb --help` is quick.
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Policy documents into guards for LLM agents, proved where they can be and measured always.")


@app.callback()
def _commands() -> None:
    """Policy documents into guards for LLM agents, proved where they can be and measured always."""


@app.command()
def run(
    policy: Annotated[str | None, typer.Option(help="A name under policies/, a folder, or one document.")] = None,
    model: Annotated[str | None, typer.Option(help="'offline', or a model's name at an OpenAI-compatible endpoint.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A notebook's parameter; may be repeated.")] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="STAGE", help="Start here; earlier stages must be finished.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="STAGE", help="Stop after this one.")] = None,
) -> None:
    """Run the notebooks in order; what is finished and unchanged is kept."""
    from wb import artifact, kernel, pipeline
    here = artifact.project()
    values = _values(parameter or [], policy=policy, model=model)
    steps = pipeline.plan(here, values, first=first, last=last)
    kernel.check()
    done = pipeline.run(here, steps, lambda event: print(event, file=sys.stderr))
    print({stage: version.key for stage, version in done.items()})


def _values(pairs: list[str], **named: str | None) -> dict[str, str]:
    """Parameters as texts; `ValueError` for one that is not NAME=VALUE or is given twice."""
    found = {name: value for name, value in named.items() if value is not None}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"-p takes NAME=VALUE; got {pair!r}")
        if name.strip() in found:
            raise ValueError(f"each parameter may be given once; {name.strip()!r} came twice")
        found[name.strip()] = value
    return found


def main() -> None:
    """The command `wb`: a mistake of the caller's ends in one message and exit code 2."""
    try:
        app(prog_name="wb")
    except ValueError as error:
        print(f"wb: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
