"""The programs over libraries: each is started once, and does one job after another.

Loading LangChain takes longer than all that is asked of it here.
"""

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from clients.drive import SECONDS, Done, Row, Seat, bare
from clients.places import HERE, NODE, folder, program

PROGRAMS: Mapping[str, tuple[tuple[str, str], str]] = {
    "ai-sdk": (("npm", "aisdk"), "ai_sdk.mjs"),
    "langchain": (("pip", "langchain"), "langchain_agent.py"),
    "python-sdk": (("pip", "sdks"), "python_sdks.py"),
    "node-sdk": (("npm", "sdks"), "node_sdks.mjs"),
}
"""What must be installed for each, and its file."""


class Workers:
    """Those that were started, in homes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def drive(self, row: Row, seat: Seat, prompt: str, scenario: str) -> Done:
        """Have a job done, and the program's line about it."""
        worker = self._running.get(row.client) or self._start(row.client)
        assert worker.stdin is not None
        assert worker.stdout is not None
        job = {"base": seat.base, "key": seat.key, "dialect": row.dialect, "model": row.model}
        job |= {"streamed": row.streamed, "prompt": prompt, "scenario": scenario, "work": str(seat.work)}
        worker.stdin.write(json.dumps(job).encode() + b"\n")
        worker.stdin.flush()
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([worker.stdout], [], [], SECONDS)
            more = os.read(worker.stdout.fileno(), 65536) if ready else b""
            if not more:
                self.stop(row.client)
                return Done(-1, line.decode(), f"{self._errors(row.client)}\nended, or was too slow")
            line += more
        status = int("crash" in json.loads(line))
        return Done(status, line.decode(), self._errors(row.client))

    def _start(self, client: str) -> "subprocess.Popen[bytes]":
        (kind, name), file = PROGRAMS[client]
        home = self._folder / client
        home.mkdir(exist_ok=True)
        runner = program("pip", name, "python") if kind == "pip" else str(NODE / "node")
        more = {"CLIENT_PACKAGES": str(folder(kind, name)), "LANGSMITH_TRACING": "false"}
        with (home / "errors.log").open("wb") as errors:
            self._running[client] = subprocess.Popen(
                [runner, str(HERE / "programs" / file)],
                cwd=home,
                env={**bare(home), **more, "AI_SDK_LOG_WARNINGS": "false"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        return self._running[client]

    def _errors(self, client: str) -> str:
        return (self._folder / client / "errors.log").read_text()

    def stop(self, client: str) -> None:
        worker = self._running.pop(client)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()

    def close(self) -> None:
        for client in tuple(self._running):
            self.stop(client)
