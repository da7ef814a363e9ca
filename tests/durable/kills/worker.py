"""Workers that are killed: ``python worker.py ADDRESS``, and a name on each line of the input.

For each name a process is forked, which works until it is killed; its id is printed. All they need was
imported before, so that one which takes a dead one's place is there at once.
"""

import asyncio
import gc
import os
import signal
import sys
import traceback

import rightcall as rc
from durable.kills import program
from rightcall.durable import segment
from rightcall.durable.engine import engine_at


async def work(address: str) -> None:
    """Work, until somebody ends this process."""
    segment.steps_of = program.steps_of  # type: ignore[assignment]
    async with rc.durable.App(address, agents=[program.AGENT]):
        program.act("works", "-")
        await asyncio.Event().wait()


def child(address: str, name: str) -> None:
    """The process of one worker; it never returns."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(program.FOLDER / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        program.NAME = name
        asyncio.run(work(address))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def main() -> None:
    """Fork, until there is nothing more to do."""
    address = sys.argv[1]
    engine_at(address)
    gc.freeze()
    # Nobody waits for the dead: the kernel takes them away.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(address, line.strip())
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
