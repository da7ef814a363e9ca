"""Who lives, by the locks of sessions: which is told here of sessions that no server has."""

from collections.abc import Sequence
from typing import Self

import psycopg
import pytest

from rightcall.durable import liveness
from rightcall.durable.liveness import GRACE, SessionLocks


class Locks:
    """What a server knows of its sessions and their advisory locks."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.owners: dict[str, Session] = {}
        self.refuses = False

    def connect(self, address: str, *, autocommit: bool, **options: object) -> "Session":
        assert (address, autocommit) == ("postgresql://here", True)
        # Its name is for those who look at the server, the rest for a machine or server that is gone.
        assert options == {
            "application_name": "rightcall alive",
            "connect_timeout": 5,
            "options": "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3",
        }
        self.sessions.append(Session(self))
        return self.sessions[-1]

    def end(self) -> None:
        """End every session, as a server does that is restarted."""
        for session in self.sessions:
            session.is_lost = True
        self.owners.clear()


class Session:
    """One session, and the answer to its last query."""

    def __init__(self, server: Locks) -> None:
        self.is_lost = False
        self.closed = False
        self._server = server
        self._answer = True

    def execute(self, query: str, names: Sequence[str] = ("",)) -> Self:
        if self.is_lost or self.closed:
            raise psycopg.OperationalError("the connection is lost")
        owners = self._server.owners
        (name,) = names
        owner = owners.get(name)
        if "try_advisory_lock" in query:
            self._answer = owner in (None, self)
        elif "advisory_lock" in query and self._server.refuses:
            raise psycopg.OperationalError("not now")
        if "unlock" in query:
            assert owners.pop(name) is self
        elif "advisory_lock" in query and self._answer:
            owners[name] = self
        return self

    def fetchone(self) -> tuple[bool]:
        return (self._answer,)

    def close(self) -> None:
        self.closed = True
        for name, owner in list(self._server.owners.items()):
            if owner is self:
                del self._server.owners[name]


@pytest.fixture
def server(monkeypatch) -> Locks:
    found = Locks()
    monkeypatch.setattr(psycopg, "connect", found.connect)
    return found


def locks_of(name: str) -> SessionLocks:
    return SessionLocks(name, "postgresql://here")


def test_a_process_holds_its_lock_in_one_session(server):
    mine = locks_of("mine")
    mine.hold()
    mine.hold()
    (session,) = server.sessions
    assert server.owners == {"rightcall worker mine": session}
    mine.release()
    assert (session.closed, server.owners) == (True, {})
    mine.hold()
    assert len(server.sessions) == 1, "it was released for good"
    assert list(mine.dead(["other"])) == [], "another thread may look still"


def test_a_process_is_dead_once_its_session_is_over(server):
    mine = locks_of("mine")
    other = locks_of("other")
    assert list(mine.dead(["other"])) == [], "who has no lock of its own judges nobody"
    mine.hold()
    other.hold()
    assert list(mine.dead(["other", "nobody"])) == ["nobody"]
    assert list(server.owners) == ["rightcall worker mine", "rightcall worker other"]
    other.release()
    third = locks_of("third")
    third.hold()
    for name in mine.dead(["other"]):
        assert (name, list(third.dead(["other"]))) == ("other", []), "one buries it"
    assert list(third.dead(["other"])) == ["other"]
    assert list(server.owners) == ["rightcall worker mine", "rightcall worker third"]


def test_after_a_lost_session_nobody_is_declared_dead_for_a_while(server, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(liveness, "monotonic", lambda: now[0])
    mine = locks_of("mine")
    mine.hold()
    assert list(mine.dead(["other"])) == ["other"], "nothing was lost yet"
    server.end()
    mine.hold()
    lost, session = server.sessions
    assert (lost.closed, server.owners) == (True, {"rightcall worker mine": session})
    now[0] += GRACE - 0.1
    assert list(mine.dead(["other"])) == []
    mine.hold()
    now[0] += 0.2
    assert list(mine.dead(["other"])) == ["other"], "the time is not begun again"


def test_a_session_that_cannot_take_the_lock_is_closed_and_another_tried(server):
    mine = locks_of("mine")
    server.refuses = True
    with pytest.raises(psycopg.OperationalError, match="not now"):
        mine.hold()
    assert server.sessions[0].closed
    server.refuses = False
    mine.hold()
    assert server.owners == {"rightcall worker mine": server.sessions[1]}
