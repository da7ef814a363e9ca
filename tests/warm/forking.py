"""Import what takes long, and be forked for every program that somebody asks for at the door."""

import gc
import marshal
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """What a fork is to run: the words of a command after ``python``, and what it is given."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


def received(caller: socket.socket) -> Program | None:
    """What a caller asks for; nothing of one that was killed while it did."""
    head, streams, _, _ = socket.recv_fds(caller, 8, 3)
    size, data = int.from_bytes(head, "little"), b""
    while len(data) < size and (piece := caller.recv(size - len(data))):
        data += piece
    return Program(*marshal.loads(data), streams) if head and len(data) == size else None


class Forks:
    """The programs that run, each with the connection of whoever asked for it."""

    def __init__(self, door: socket.socket) -> None:
        self.door = door
        self.running: dict[int, socket.socket] = {}
        self.ended, self.ends = socket.socketpair()

    def wait_for_programs(self) -> Program:
        """Returns in a fork, with what it has to run; here it never does."""
        for each in (self.ended, self.ends):
            each.setblocking(False)
        signal.set_wakeup_fd(self.ends.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([0, self.door, self.ended, *self.running.values()], [], [])
            if 0 in ready:
                # Whoever started this is gone.
                for pid in self.running:
                    kill(pid)
                os._exit(0)
            for pid, caller in list(self.running.items()):
                if caller in ready:
                    self.hear(pid, caller)
            if self.ended in ready:
                self.ended.recv(1024)
                self.tell_ends()
            if self.door in ready and (program := self.let_in()):
                return program

    def let_in(self) -> Program | None:
        """Fork for whoever is at the door; what the fork has to run, in the fork."""
        caller, _ = self.door.accept()
        program = received(caller)
        if program is None:
            caller.close()
            return None
        pid = os.fork()
        if not pid:
            for each in (self.door, self.ended, self.ends, caller, *self.running.values()):
                each.close()
            return program
        for stream in program.streams:
            os.close(stream)
        self.running[pid] = caller
        return None

    def hear(self, pid: int, caller: socket.socket) -> None:
        """Hand a signal on; nothing comes of a caller that was killed, and its program ends with it."""
        if told := caller.recv(1):
            os.kill(pid, told[0])
        else:
            kill(pid)
            del self.running[pid]
            caller.close()

    def tell_ends(self) -> None:
        """Let every caller whose program has ended know its exit code."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self.running:
                code = os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True)
                with self.running.pop(pid) as caller, suppress(BrokenPipeError):
                    caller.sendall(code)


def kill(pid: int) -> None:
    """End a program and what it started, as the end of its group would."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def become(program: Program) -> None:
    """Be a process that was just started, as far as a program can tell."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for number, stream in enumerate(program.streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        # A session has no terminal until it opens one; then Ctrl-C reaches it.
        os.close(os.open(os.ttyname(0), os.O_RDWR))
    encoding, _, errors = program.environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    options = {"encoding": encoding, "closefd": False}
    sys.stdin = open(0, errors=errors or None, **options)  # noqa: SIM115 - to the end of the program
    sys.stdout = open(1, "w", errors=errors or None, **options)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, **options)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(program.environment)
    os.chdir(program.folder)
    sys.path[1:1] = filter(None, program.environment.get("PYTHONPATH", "").split(os.pathsep))


def run(words: list[str]) -> None:
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path[0] = ""
        exec(compile(words[1], "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = str(Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen(16)
        os.write(1, b"ready\n")
        asked = Forks(listening).wait_for_programs()
    become(asked)
    run(asked.words)
