"""Where the parts of the project lie: the one place that knows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Project:
    """Where the parts of the project lie. `artifacts` may be elsewhere (environment: WB_ARTIFACTS)."""

    root: Path
    artifacts: Path

    @property
    def notebooks(self) -> Path:
        """The folder of the stages' notebooks."""
        return self.root / "notebooks"

    @property
    def package(self) -> Path:
        """The folder of the `wb` modules."""
        return self.root / "wb"

    @property
    def prompts(self) -> Path:
        """The folder of the prompts."""
        return self.root / "prompts"

    @property
    def policies(self) -> Path:
        """The folder of the policies that have a name."""
        return self.root / "policies"

    @property
    def replies(self) -> Path:
        """The folder of recorded replies, shared by all stages."""
        return self.artifacts / "replies"


def project() -> Project:
    """The project that this module belongs to."""
    return Project(ROOT, Path(os.environ.get("WB_ARTIFACTS") or ROOT / "artifacts").expanduser().resolve())
