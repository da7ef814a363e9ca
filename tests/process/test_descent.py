"""All that descends from a process is found, and hears a signal."""

import os
import signal
import subprocess
import sys

import pytest

from process.kit import HOSTILE, PYTHON, marked, wait_until
from rightcall.process.descendants import children_of, descendants, scan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists processes")


def test_what_the_kernel_lists_is_what_a_look_at_all_processes_finds(mark):
    arguments = [PYTHON, "-I", "-S", HOSTILE, "family", mark]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == b"ready\n"
        generations, pid = [], process.pid
        while found := children_of(pid):
            assert scan()[pid] == found
            (pid,) = found
            generations.append(pid)
        assert len(generations) == 3
        assert {process.pid, *generations} <= set(descendants(1000))
        assert process.pid in descendants(0)
        # A group of its own: what else this process has started is left alone.
        os.killpg(process.pid, signal.SIGKILL)
    assert wait_until(lambda: not marked(mark))


def test_a_signal_reaches_every_group_below_and_not_this_one(mark):
    # In a process of its own, so that nothing else is below it.
    code = (
        "import os, signal, subprocess\n"
        "from rightcall.process.descendants import SUBREAPER, prctl, signal_all\n"
        "prctl(SUBREAPER, 1)\n"
        f"arguments = [{PYTHON!r}, '-I', '-S', {HOSTILE!r}, 'daemon_and_stay', {mark!r}]\n"
        "child = subprocess.Popen(arguments, stdout=subprocess.PIPE, start_new_session=True)\n"
        "child.stdout.readline()\n"
        "signal_all((signal.SIGKILL,), child.pid)\n"
        "print(sorted(os.WTERMSIG(os.wait()[1]) for _ in range(2)))\n"
    )
    arguments = [sys.executable, "-c", code]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[9, 9]\n", done.stderr
    assert marked(mark) == []
