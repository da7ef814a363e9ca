"""A wall around a command, of what the system offers."""

from pathlib import Path

import pytest

from rightcall.process import command as walls
from rightcall.process.command import (
    Command,
    IsolatedCommand,
    Isolation,
    NoIsolation,
    isolate,
    isolation_program,
)

COMMAND = Command(argv=("/bin/ls", "-l"), directory="/srv", environment={"A": "1"}, timeout=5.0)


def test_without_a_wish_a_command_stays_as_it_is():
    assert isolate(COMMAND) == IsolatedCommand(COMMAND)


@pytest.mark.parametrize(
    ("wall", "directory", "argv"),
    [
        pytest.param(Isolation(), "/srv", "--chdir /srv", id="closed"),
        pytest.param(Isolation(network=True), "/srv", "--share-net --chdir /srv", id="network"),
        pytest.param(
            Isolation(write=("/srv/a", "/srv/b")),
            "/srv",
            "--bind /srv/a /srv/a --bind /srv/b /srv/b --chdir /srv",
            id="places-to-write",
        ),
        pytest.param(
            Isolation(),
            "/tmp/here",
            "--ro-bind /tmp/here /tmp/here --chdir /tmp/here",
            id="a-directory-that-the-wall-would-hide",
        ),
    ],
)
def test_bubblewrap_is_told_what_may_be_done(wall, directory, argv):
    command = Command(argv=("/bin/ls",), directory=directory, isolation=wall)
    assert " ".join(walls._bubblewrap("/usr/bin/bwrap", command)) == (
        "/usr/bin/bwrap --unshare-all --die-with-parent --new-session "
        f"--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp {argv}"
    )


def test_systemd_run_is_told_what_may_be_done():
    command = Command(
        argv=("/bin/ls",),
        directory="/srv",
        environment={"A": "1"},
        timeout=5.0,
        isolation=Isolation(write=("/srv/a",)),
    )
    told = walls._systemd_run("/usr/bin/systemd-run", "x.service", command)
    assert [each for each in told if each != "--user"] == [
        "/usr/bin/systemd-run",
        "--unit=x.service",
        "--pipe",
        "--wait",
        "--collect",
        "--quiet",
        "--property=NoNewPrivileges=yes",
        "--property=PrivateDevices=yes",
        "--property=PrivateNetwork=yes",
        "--property=PrivateTmp=yes",
        "--property=ProtectSystem=strict",
        "--property=ProtectHome=read-only",
        "--property=ReadWritePaths=/srv/a",
        "--property=RuntimeMaxSec=6",
        "--property=TasksMax=128",
        "--property=WorkingDirectory=/srv",
        "--setenv=A=1",
    ]


def test_a_service_is_stopped_by_its_name_and_gets_the_environment_that_its_client_does_not():
    wall = walls._in_service("/usr/bin/systemd-run", "x.service", COMMAND)
    assert wall.command.argv[-3:] == ("--", "/bin/ls", "-l")
    assert "--setenv=A=1" in wall.command.argv
    assert "A" not in wall.command.environment
    assert wall.cleanup.argv[-2:] == ("stop", "x.service")


@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd is running")
def test_what_the_system_does_not_offer_is_said():
    with pytest.raises(NoIsolation, match=r"^isolation was asked for, but systemd"):
        isolation_program(Isolation(by="systemd-run"))
