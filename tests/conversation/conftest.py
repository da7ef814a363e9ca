"""What tests of conversations share: places where they are stored."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import rightcall as rc
from agent.conftest import nothing_is_left
from durable import servers
from durable.conftest import NO_SERVERS, WITH_SERVERS

__all__ = ["nothing_is_left"]

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Postgres | servers.EmbeddedPostgres]:
    """One PostgreSQL for all tests; each has a database of its own."""
    if not WITH_SERVERS:
        pytest.skip(NO_SERVERS)
    try:
        with servers.running_postgres(safe=False) as server:
            yield server
    except servers.Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(params=["memory", "file", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address of each kind."""
    if request.param == "memory":
        return ""
    if request.param == "file":
        return str(tmp_path / "chat.sqlite")
    return request.getfixturevalue("postgres_server").database(f"chat{next(_numbers)}")


@pytest.fixture
async def store(address):
    """A store of conversations."""
    async with rc.Conversations(address) as conversations:
        yield conversations
