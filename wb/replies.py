"""Recorded replies: one JSON file a request, named by the digest of what was asked.

The files can be shared, compared by line and replayed.  In `replay` the network is never touched
and a missing reply is an error that names the prompt; `auto` reads what is there and records the
rest; `record` asks anew and replaces.  Keys and addresses of endpoints are no part of a record.
"""
from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wb.ledger import ModelError

Mode = Literal["auto", "replay", "record"]
MODES = ("auto", "replay", "record")


class MissingReply(ModelError):
    """Replay was asked for, and this request was never recorded."""

    fatal = True


class CorruptReply(ModelError):
    """A recorded file does not hold the request that its name stands for."""

    fatal = True


def digest(request: Mapping[str, object]) -> str:
    """SHA-256 of a request's canonical JSON, in hex: the name of its reply."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Replies:
    """A folder of recorded replies and how it is used."""

    folder: Path
    mode: Mode = "auto"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {list(MODES)}; got {self.mode!r}")

    def find(self, request: Mapping[str, object]) -> dict | None:
        """The recorded reply to a request, or None where it has to be asked.

        Raises:
            MissingReply: in `replay`, when there is none.
            CorruptReply: in `replay`, when the file is damaged; elsewhere it is asked for again.
        """
        if self.mode == "record":
            return None
        path = self.path(request)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self._missing(request)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._corrupt(path, str(error))
        reply = record.get("reply") if isinstance(record, dict) and record.get("request") == request else None
        if not isinstance(reply, dict) or not isinstance(reply.get("text"), str):
            return self._corrupt(path, "it holds another request, or no reply")
        return reply

    def keep(self, request: Mapping[str, object], reply: Mapping[str, object]) -> None:
        """Record a reply: whole or not at all, also when the process is killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"request": request, "reply": reply}, indent=1, ensure_ascii=False, sort_keys=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, self.path(request))

    def path(self, request: Mapping[str, object]) -> Path:
        """Where the reply to a request is kept: `PROMPT.DIGEST.json`, so that a folder can be read by eye."""
        return self.folder / f"{request['prompt']}.{digest(request)[:32]}.json"

    def _missing(self, request: Mapping[str, object]) -> None:
        if self.mode == "replay":
            raise MissingReply(
                f"replay needs a recorded reply to prompt {request['prompt']!r} from model {request['model']!r}; "
                f"{self.path(request).name} is not in {self.folder}; record it with mode 'auto' and a model")

    def _corrupt(self, path: Path, problem: str) -> None:
        if self.mode == "replay":
            raise CorruptReply(f"{path.name} must hold the reply that its name stands for; {problem}; "
                               "delete it and record it again with mode 'auto'")
