"""The process that owns the Java machine: one Nagini kept warm, asked by JSON lines.

Run as a script by `nagini`, never imported by `wb`, and importing nothing of it: a crash, a hang or
a full heap ends this process alone.  Each line in is `{"id", "source"}`; each line out is
`{"id", "success", "translated", "diagnostics"}` or `{"id", "crash"}`, and `{"ready": …}` comes first.  Before an
answer comes `{"done": NAME}` for each function that the prover is through with, whatever it says of it.
Whatever Java or mypy print goes to standard error, so that the answers stay one per line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TextIO


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    service = _service(answers)
    _say(answers, {"ready": os.getpid()})
    for line in sys.stdin:
        request = json.loads(line)
        _say(answers, {"id": request["id"], **_verify(service, request["source"])})
    _end()


def _end_with(parent: int) -> None:
    """End when the process that started this one is gone: nobody would read an answer."""
    while os.getppid() == parent:
        time.sleep(0.5)
    _end()


def _end() -> None:
    """End this process with the solver that it started, and the folder that was made for it, its one argument."""
    for folder in sys.argv[1:2]:
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # whoever names a folder starts it in a group of its own: see `nagini`
    os._exit(1)


def _service(answers: TextIO) -> object:
    from nagini_translation import verifier
    from nagini_translation.service import VerificationService

    verifier.getobject = lambda *_: _heard(answers)  # Nagini has Silicon report to nobody
    return VerificationService(z3_path=str(Path(sys.executable).with_name("z3")), use_viper_server=False)


def _heard(answers: TextIO) -> object:
    """A reporter of Viper's that says which functions Silicon is through with."""
    from jpype import JClass, JProxy

    class Reporter:
        def name(self) -> str:
            return "progress"

        def report(self, message: object) -> None:
            if str(message.getClass().getSimpleName()) in ("EntitySuccessMessage", "EntityFailureMessage"):
                _say(answers, {"done": str(message.concerning().name())})

    return JProxy(JClass("viper.silver.reporter.Reporter"), inst=Reporter())


def _verify(service: object, source: str) -> dict[str, object]:
    """One file's answer. Nagini raises what it did not foresee: that is a crash."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "guard.py"
        path.write_text(source, encoding="utf-8")
        try:
            result = service.verify(str(path), counterexample=True).to_dict()
        except Exception as error:  # the one broad catch: a foreign verifier's bug becomes a value, not an exit
            return {"crash": f"{type(error).__name__}: {error}"[:500]}
    told = {name: result[name] for name in ("success", "diagnostics")}
    return told | {"translated": not result["translationFailed"]}


def _say(answers: TextIO, message: dict[str, object]) -> None:
    answers.write(json.dumps(message, default=str) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
