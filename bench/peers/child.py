"""A client in a process of its own, that does one job after the other."""

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from peers import HERE

PATIENCE = 600.0
"""Seconds that a job may take."""
ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
    "PYTHONHASHSEED": "0",
}
"""All that a client sees of ours: no proxies, keys or telemetry settings."""


class Failed(Exception):
    """A client that ended before it had done its job, or that took too long."""


class Child:
    """One client, ready for jobs.

    ``cold`` is what it had taken, in seconds of CPU, when it had ``imported`` all that it needs, when an
    agent stood ``ready``, and when that had ``answered`` for the first time.
    """

    def __init__(self, python: Path, module: str) -> None:
        if not python.exists():
            raise Failed(f"no {python}, which make bench WHAT=peers-setup makes")
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [python, f"{module}.py"],
            cwd=HERE,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        self.cold: dict[str, float] = self._next()

    def do(self, job: dict[str, object]) -> dict[str, Any]:
        """The cost of a job."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._why()) from None
        cost = self._next()
        self.cold.setdefault("answered", cost["begun"])
        return cost

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout
        late = threading.Timer(PATIENCE, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline()
            if not late.is_alive():
                raise Failed(f"took longer than {PATIENCE:.0f} s")
        finally:
            late.cancel()
        if not line:
            raise Failed(self._why())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _why(self) -> str:
        """The last words of a client that has ended."""
        status = self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return f"exit {status}: {lines[-1][:200] if lines else 'said nothing'}"

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()


def launched(command: list[str]) -> float:
    """The CPU seconds of a command, from start to end."""
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime
