"""The two tools of the programs that have none of their own, and how they are told what to do.

Read by programs of several environments, so it knows nothing but the standard library.
"""

import json
import subprocess
import sys
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


def told() -> SimpleNamespace:
    """What to do: base, dialect, model, streamed, scenario and prompt."""
    return SimpleNamespace(**json.loads(sys.argv[1]))


def say(**members: object) -> None:
    sys.stdout.write(json.dumps(members) + "\n")
