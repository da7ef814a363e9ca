"""Python processes that start at once: forks of one that has imported what takes long.

``python("mcp")`` is what stands in a command in place of ``sys.executable``. It is a small program that
hands its streams, its environment, its folder and the signals it is sent to a fork, and ends as that
does. What it does not hand on are other descriptors. The fork leads a session of its own, and has the
terminal that it reads from.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
AGENT = ("rightcall.transport.dial", "rightcall.agent", "rightcall.testing")
MCP = ("mcp.server.mcpserver", "rightcall.mcp.server")
"""What several tests import, so that one process forks for them all."""


@cache
def python(*modules: str, flags: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The beginning of a command, as ``sys.executable`` is, with these modules imported already.

    The process that forks ends with this one, whose end of its standard input closes then.
    """
    place = Path(tempfile.mkdtemp(prefix="warm-")) / "door"
    program = [sys.executable, *flags, str(HERE / "forking.py"), str(place), *modules]
    forking = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert forking.stdout is not None
    assert forking.stdout.readline() == b"ready\n"
    atexit.register(_end, forking, place.parent)
    return (sys.executable, "-S", "-E", str(HERE / "hand_over.py"), str(place))


def _end(forking: "subprocess.Popen[bytes]", folder: Path) -> None:
    with forking:
        forking.communicate()
    shutil.rmtree(folder)
