"""Each kind of place where runs are kept, as the tests are given it."""

from collections.abc import Iterator
from itertools import count

import pytest

from durable import servers

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Postgres | servers.EmbeddedPostgres]:
    """One PostgreSQL for all tests; each has a database of its own."""
    try:
        with servers.running_postgres(safe=False) as server:
            yield server
    except servers.Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.db'}"
    server = request.getfixturevalue("postgres_server")
    return server.database(f"test{next(_numbers)}")
