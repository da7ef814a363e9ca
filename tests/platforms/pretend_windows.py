"""What is left of rightcall on a system without POSIX. Run by path, in a process of its own.

Everything is loaded once as it is, so that other people's libraries are there. Then what Windows lacks
is hidden, and all of rightcall is loaded again. Prints what is wrong. Unix sockets are not hidden: here
Python's own event loop needs them.
"""

# ruff: noqa: T201 - a program

import asyncio
import importlib
import os
import pkgutil
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

MODULES = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty", "uvloop"}
OF_OS = """
    chown fchmod fchown fork forkpty getegid geteuid getgid getpgid getpgrp getuid killpg mkfifo
    pidfd_open posix_fallocate posix_spawn register_at_fork sched_getaffinity setsid uname wait waitid
    P_PID WNOHANG WNOWAIT WUNTRACED O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH
"""
OF_SIGNAL = """
    SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGSTOP SIGXFSZ ITIMER_REAL setitimer pthread_sigmask
"""
OF_SOCKET = "SO_REUSEPORT send_fds recv_fds"
RUN_NOT_IMPORTED = {
    "rightcall.__main__",
    "rightcall.builtin.net.html_program",
    "rightcall.process.keeper",
    "rightcall.process.namespace",
    "rightcall.process.warden",
}
"""What child processes run, which nobody starts on Windows, and a script."""


class Hidden(MetaPathFinder):
    """Finds nothing where Windows has nothing."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse what is hidden; let others find the rest."""
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def names() -> list[str]:
    """Every module of rightcall."""
    home = importlib.import_module("rightcall").__path__
    return sorted(
        found.name for found in pkgutil.walk_packages(home, "rightcall.", onerror=lambda _: None)
    )


def load_all() -> Iterator[str]:
    """Load everything; gives what cannot be."""
    for name in names():
        if name in RUN_NOT_IMPORTED:
            continue
        try:
            importlib.import_module(name)
        except Exception as error:
            if type(error).__name__ != "MissingExtra":
                yield f"{name}: {type(error).__name__}: {error}"


def pretend() -> None:
    """Hide what Windows lacks, and forget rightcall."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"rightcall", *MODULES}]:
        del sys.modules[name]
    sys.meta_path.insert(0, Hidden())
    sys.platform = "win32"
    for module, gone in ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET)):
        for name in gone.split():
            if hasattr(module, name):
                delattr(module, name)
    os.supports_dir_fd = set()
    # What Windows has instead, and Python asks for there: the system's store of certificates.
    ssl.enum_certificates = lambda _: ()  # type: ignore[attr-defined]


def an_agent(folder: Path) -> Iterator[str]:
    """A plain agent: tools of both kinds, blocking and not, and journals. Gives what is wrong."""
    rc = importlib.import_module("rightcall")
    testing = importlib.import_module("rightcall.testing")

    @rc.tool(effect="read")
    def blocking(x: int) -> int:
        return x + 1

    @rc.tool
    async def awaited(x: int) -> int:
        return x + 2

    journals = (
        rc.record.MemoryJournal(),
        rc.record.JsonLinesJournal(folder / "runs.jsonl"),
        rc.record.SqliteJournal(folder / "runs.sqlite"),
    )
    for journal in journals:
        calls = testing.reply(testing.call("blocking", x=1), testing.call("awaited", x=1))
        agent = rc.Agent(testing.ScriptedModel([calls, "Done."]), [blocking, awaited], journal=journal)
        result = agent.run_sync("Go.")
        said = [each.result.text for each in result.calls]
        if (said, result.text) != (["2", "3"], "Done."):
            yield f"an agent with {type(journal).__name__}: {said}, {result.text!r}"


def refusals(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What needs POSIX, each used as one would use it."""
    rc = importlib.import_module("rightcall")
    process = importlib.import_module("rightcall.process")
    command = process.Command(
        argv=(sys.executable,), directory=str(folder), environment={}, timeout=1.0, max_output_bytes=10
    )
    manifest = folder / "tools.toml"
    manifest.write_text("")
    yield "a command", lambda: asyncio.run(process.run(command))
    yield "files", lambda: rc.builtin.fs(folder)
    yield "web pages", rc.builtin.web
    yield "a manifest", lambda: importlib.import_module("rightcall.manifest").load(manifest)
    yield "durable SQLite", lambda: asyncio.run(_submit(rc, folder))


async def _submit(rc: Any, folder: Path) -> None:
    async with rc.durable.App(f"sqlite:///{folder}/durable.db") as app:
        await app.list()


def unsaid(folder: Path) -> Iterator[str]:
    """What fails otherwise than in words."""
    for name, use in refusals(folder):
        try:
            use()
        except Exception as error:
            if "needs Linux or macOS" not in str(error) or type(error).__name__ != "UsageError":
                yield f"{name}: {type(error).__name__}: {error}"
        else:
            yield f"{name}: works, and was not expected to"


def main(folder: Path) -> int:
    """The exit code: 0 when nothing is wrong. The folder is whoever's to clear up who has all of os."""
    wrong = [f"before anything was hidden: {each}" for each in load_all()]
    pretend()
    # First, so that nothing else has loaded what a plain agent must do without.
    wrong += [*an_agent(folder), *load_all(), *unsaid(folder)]
    print("\n".join(wrong) or f"{len(names())} modules, nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
