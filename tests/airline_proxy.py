"""The proxy of the tests as a process of its own: an airline's guards before `airline_server.py`.

python airline_proxy.py FILE
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bench import airline  # noqa: E402

from wb.adapters import mcp  # noqa: E402
from wb.bench import tau  # noqa: E402
from wb.domain.session import Session  # noqa: E402


def session(ask: mcp.Ask) -> Session:
    """A conversation at the time that the airline's records are of."""
    return Session(airline.guard(), ask=ask, clock=lambda: tau.TIME, timeout_s=20)


if __name__ == "__main__":
    modules = f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}"  # the SDK hands it on to nothing that it starts
    server = ["env", modules, sys.executable, str(Path(__file__).with_name("airline_server.py")), sys.argv[1]]
    mcp.serve(session, server, seconds=30)
