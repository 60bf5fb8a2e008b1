"""The book as HTML: its pages, and the notebooks as the newest run left them.

    python book/build.py [FOLDER]    # artifacts/book unless told otherwise

A notebook that no finished run has executed comes as it is, without outputs.  Warnings are errors.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from wb import paths  # noqa: E402
from wb.runs import artifact  # noqa: E402


def executed(here: paths.Project) -> dict[str, Path]:
    """For the policy and model that were used last, the newest executed notebook of each stage that has one."""
    found = [version for path in here.notebooks.glob("*.ipynb") for version in artifact.versions(here, path.stem)]
    found = [one for one in found if (one.folder / artifact.NOTEBOOK).is_file() and not one.damaged()]
    found.sort(key=lambda version: (version.folder / artifact.MANIFEST).stat().st_mtime_ns)
    alike = [one for one in found if _made_of(one) == _made_of(found[-1])]
    return {version.stage: version.folder / artifact.NOTEBOOK for version in alike}  # the newest stands last


def _made_of(version: artifact.Version) -> tuple[object, object]:
    """What a version was made for: its policy's digest, and its model."""
    return version.manifest["policy"]["digest"], version.manifest["model"]


def gather(here: paths.Project, source: Path) -> None:
    """Put pages and notebooks where Sphinx reads them."""
    shutil.copytree(ROOT / "book", source, ignore=shutil.ignore_patterns("__pycache__", "build.py"))
    (source / "notebooks").mkdir()
    made = executed(here)
    for path in sorted(here.notebooks.glob("*.ipynb")):
        shutil.copy(made.get(path.stem, path), source / "notebooks" / path.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    here = paths.project()
    parser.add_argument("folder", nargs="?", type=Path, default=here.artifacts / "book", metavar="FOLDER")
    folder = parser.parse_args().folder
    source, pages = folder / "source", folder / "html"
    for old in (source, pages):
        shutil.rmtree(old, ignore_errors=True)
    gather(here, source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-d", folder / "doctrees", "-q", "-W", "--keep-going"]
    made = subprocess.run([*map(str, command), str(source), str(pages)])
    print(pages / "index.html" if made.returncode == 0 else "the book was not made (see above)")
    sys.exit(made.returncode)


if __name__ == "__main__":
    main()
