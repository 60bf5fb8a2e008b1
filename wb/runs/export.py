"""The figures of a run in a folder to share: each as SVG, PNG and CSV, all of one value, and an index of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wb.paths import write_whole
from wb.runs import cards, report
from wb.runs.report import Versions

INDEX, FIGURES = "index.html", "figures/"


def write(runs: Mapping[str, Versions], folder: Path) -> Path:
    """Write the figures of runs by name, laid over one another; returns the place of the index, which says of which
    policy, parameters and versions they are. What a notebook drew of no file of a stage is there as the CSV it kept.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts, names = [], set()
    for drawing in report.DRAWINGS:
        figure, source, lacking = report.drawn(drawing, runs)
        names.add(name := drawing.draw.__name__)
        if not figure.empty:
            for end, content in (("svg", figure.picture("svg")), ("png", figure.picture()), ("csv", figure.csv())):
                write_whole(folder / f"{name}.{end}", content)
            links = f'<img src="{name}.svg" style="max-width:100%" alt=""><br><a href="{name}.csv">{name}.csv</a>'
            parts.append(f"{links}{cards.Note(source).inner()}")
        parts += [str(cards.Note(lacking).inner())] * bool(lacking)
    made_of = [(run, version) for run, versions in runs.items() for version in versions.values()]
    for _, version in made_of:
        for file in version.digests:
            if file.startswith(FIGURES) and Path(file).stem not in names:
                write_whole(folder / f"{Path(file).stem}-{version.key}.csv", version.read(file))
    rows = ((run, version.stage, version.key, *_made_with(version.manifest)) for run, version in made_of)
    table = cards.listed("run, stage, key, policy, its digest, model, parameters", rows)
    write_whole(folder / INDEX, f'<!doctype html><meta charset="utf-8">{table.html()}{"".join(parts)}')
    return folder / INDEX


def _made_with(manifest: Mapping) -> tuple[str, str, str, str]:
    values = (f"{name} = {value}" for name, value in manifest["parameters"].items() if name not in report.TRAITS)
    return manifest["policy"]["name"], manifest["policy"]["digest"][:12], str(manifest["model"]), ", ".join(values)
