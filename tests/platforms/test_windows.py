"""Without what Windows lacks, all is imported, a plain agent runs, and the rest says what it needs."""

import subprocess
import sys
from pathlib import Path


def test_without_posix(tmp_path):
    program = Path(__file__).with_name("pretend_windows.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
