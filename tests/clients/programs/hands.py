"""The two tools of the programs that have none of their own, and how they are told what to do.

A program is started once and told one job after another, each a line of JSON, as libraries take seconds
to load; what came of a job is a line, too. Read by programs of several environments, so it knows nothing
but the standard library.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

WRITE = "Write text into a file."
RUN = "Run a shell command, and give back what it printed."
SCHEMAS = {
    "write_file": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
        "additionalProperties": False,
    },
    "run_command": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
        "additionalProperties": False,
    },
}
WORDS = {"write_file": WRITE, "run_command": RUN}
MOST_TURNS = 6
STATUSES = (400, 429, 500)
REFUSE = "Refuse this with {}."


def write_file(file_path: str, content: str) -> str:
    """Write text into a file."""
    Path(file_path).write_text(content)
    return "written"


def run_command(command: str) -> str:
    """Run a shell command, and give back what it printed."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


TOOLS = {"write_file": write_file, "run_command": run_command}


def use(name: str, arguments: dict) -> str:
    return TOOLS[name](**arguments)


def serve(tried: Callable[[SimpleNamespace], dict]) -> None:
    """Do each job: base, key, dialect, model, streamed, scenario, prompt and the folder to work in."""
    for line in sys.stdin:
        job = SimpleNamespace(**json.loads(line))
        os.chdir(job.work)
        try:
            said = _each(job, tried)
        except Exception:
            said = {"crash": traceback.format_exc()}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _each(job: SimpleNamespace, tried: Callable[[SimpleNamespace], dict]) -> dict:
    if job.scenario != "errors":
        return tried(job)
    prompts = [REFUSE.format(status) for status in STATUSES]
    return {"errors": [tried(SimpleNamespace(**{**vars(job), "prompt": each})) for each in prompts]}
