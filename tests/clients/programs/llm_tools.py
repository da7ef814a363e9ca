"""Tools for the llm command, which takes every function of a file that it is given."""

import subprocess
from pathlib import Path


def write_file(file_path: str, content: str) -> str:
    """Write text into a file."""
    Path(file_path).write_text(content)
    return "written"


def run_command(command: str) -> str:
    """Run a shell command, and give back what it printed."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout
