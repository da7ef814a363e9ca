"""Wraps a command in the program that isolates it as requested.

Both isolation programs follow the runner's rules: the environment is the command's own, and everything
dies with the process that started it.
"""

import os
import secrets
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rightcall.process.command import Command, Isolation

_BUBBLEWRAP = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")
_SYSTEMD_RUN = ("/usr/bin/systemd-run", "/bin/systemd-run")
_SYSTEMD_IS_RUNNING = Path("/run/systemd/system")
"""Exists if systemd is the init system: sd_booted(3)."""


class NoIsolation(Exception):
    """The requested isolation is not available here; the message says why."""


class Wall(Struct, frozen=True):
    """A command that runs another in isolation."""

    command: Command
    cleanup: Command | None = None
    """The command that cleans up after the command had to be killed."""


def offered(isolation: Isolation) -> str:
    """The program that this system would isolate with. Raises NoIsolation if there is none."""
    reasons = []
    if isolation.by in {"any", "bubblewrap"}:
        if found := _first(_BUBBLEWRAP):
            return found
        reasons.append("bubblewrap is not installed")
    if isolation.by in {"any", "systemd-run"}:
        found = _first(_SYSTEMD_RUN)
        if found and _SYSTEMD_IS_RUNNING.is_dir():
            return found
        reasons.append("systemd is not running" if found else "systemd-run is not installed")
    raise NoIsolation(f"isolation was asked for, but {' and '.join(reasons)}")


def isolate(command: Command) -> Wall:
    """The isolated command, or the command itself if it wants no isolation. Raises NoIsolation."""
    if command.isolation is None:
        return Wall(command)
    program = offered(command.isolation)
    if program.endswith("bwrap"):
        # The isolation has a pid namespace of its own.
        argv = (*_bubblewrap(program, command), "--", *command.argv)
        return Wall(replace(command, argv=argv, pids="host"))
    return _in_service(program, f"rightcall-{secrets.token_hex(8)}.service", command)


def _in_service(program: str, unit: str, command: Command) -> Wall:
    """A transient service. It is systemd's child, not ours, so it must be stopped by name."""
    argv = (*_systemd_run(program, unit, command), "--", *command.argv)
    stop = (*_SYSTEMCTL, *_scope(), "stop", unit)
    return Wall(
        # The service gets the command's environment; the client that starts it only needs to find
        # systemd.
        replace(command, argv=argv, environment=_bus(), pids="host"),
        Command(argv=stop, environment=_bus(), timeout=10.0, pids="host"),
    )


_SYSTEMCTL = ("/usr/bin/systemctl", "--quiet", "--no-ask-password")


def _bubblewrap(program: str, command: Command) -> list[str]:
    wanted = command.isolation or Isolation()
    argv = [program, "--unshare-all", "--die-with-parent", "--new-session"]
    argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108
    if wanted.network:
        argv.append("--share-net")
    for place in wanted.write:
        argv += ["--bind", place, place]
    if command.directory.startswith("/tmp/") and command.directory not in wanted.write:  # noqa: S108
        argv += ["--ro-bind", command.directory, command.directory]
    return [*argv, "--chdir", command.directory]


def _systemd_run(program: str, unit: str, command: Command) -> list[str]:
    wanted = command.isolation or Isolation()
    properties = {
        "NoNewPrivileges": "yes",
        "PrivateDevices": "yes",
        "PrivateNetwork": "no" if wanted.network else "yes",
        "PrivateTmp": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "read-only",
        "ReadWritePaths": " ".join(wanted.write),
        "RuntimeMaxSec": f"{command.timeout + command.grace:g}",
        "TasksMax": str(command.max_processes),
        "WorkingDirectory": command.directory,
    }
    argv = [program, *_scope(), f"--unit={unit}", "--pipe", "--wait", "--collect", "--quiet"]
    argv += [f"--property={name}={value}" for name, value in properties.items() if value]
    return argv + [f"--setenv={name}={value}" for name, value in command.environment.items()]


def _scope() -> list[str]:
    return [] if sys.platform != "win32" and os.geteuid() == 0 else ["--user"]


def _bus() -> dict[str, str]:
    """The variables by which the user's own systemd is found."""
    return {name: os.environ[name] for name in ("XDG_RUNTIME_DIR",) if name in os.environ}


def _first(places: tuple[str, ...]) -> str | None:
    return next((place for place in places if os.access(place, os.X_OK)), None)
