"""The processes that watch over commands are let go without a trace."""

import os
import time

from rightcall.process.runner import Keepers


def is_there(process: int) -> bool:
    """Whether the system knows of it: a zombie still takes signals, what is gone does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_warden_that_is_let_go_leaves_no_zombie():
    keepers = Keepers()
    keepers.give(keepers.take())
    warden = keepers._process
    assert os.waitpid(warden, os.WNOHANG) == (0, 0)
    keepers.close()
    until = time.monotonic() + 10
    while is_there(warden) and time.monotonic() < until:
        time.sleep(0.005)
    assert not is_there(warden)


def test_at_exit_what_no_command_uses_is_closed_and_what_runs_one_is_not():
    keepers = Keepers()
    idle, busy = keepers.take(), keepers.take()
    keepers.give(idle)
    warden = keepers._process
    keepers.leave()
    assert idle.fileno() == -1
    assert os.waitpid(warden, os.WNOHANG) == (0, 0), "a command's keeper is the warden's child"
    keepers.give(busy)
    keepers.leave()
    assert busy.fileno() == -1
    assert os.waitpid(warden, 0)[0] == warden, "with its line closed the warden ends by itself"
