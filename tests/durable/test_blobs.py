"""Long values go by reference: safe before their step is, checked when read, gone with their runs."""

import sqlite3
import threading

import pytest
from sqlalchemy import create_engine, event

from rightcall.durable.database import SqlBlobs
from rightcall.errors import JournalError


def engine_at(address):
    return create_engine(address.replace("postgresql://", "postgresql+psycopg://"))


@pytest.fixture
def blobs(database):
    engine = engine_at(database)
    blobs = SqlBlobs(engine)
    blobs.create()
    yield blobs
    engine.dispose()


def kept(blobs: SqlBlobs) -> tuple[int, int]:
    """How many values are kept, and how many names of owners."""
    with blobs._engine.connect() as connection:
        counts = [
            connection.exec_driver_sql(f"select count(*) from {table}").scalar()
            for table in ("rightcall_blobs", "rightcall_blob_runs")
        ]
    return counts[0], counts[1]


async def test_ten_megabytes_come_back(blobs):
    data = ('{"text":"' + "ä€𝄞\\n" * 1_000_000 + '"}').encode()
    assert len(data) > 10_000_000
    reference = await blobs.put("r", data)
    assert reference.startswith("sha256:")
    assert await blobs.get(reference) == data


async def test_the_same_bytes_are_kept_once_until_the_last_run_lets_go(blobs):
    first = await blobs.put("a", b"x" * 1000)
    assert await blobs.put("a", b"x" * 1000) == first == await blobs.put("b", b"x" * 1000)
    assert kept(blobs) == (1, 2)
    assert await blobs.drop(["a", "never-there"]) == 0
    assert await blobs.get(first) == b"x" * 1000
    assert await blobs.drop(["b"]) == 1
    assert kept(blobs) == (0, 0)
    with pytest.raises(JournalError, match="is gone"):
        await blobs.get(first)


async def test_a_fork_has_what_its_run_had(blobs):
    reference = await blobs.put("a", b"x")
    await blobs.share("a", "b")
    await blobs.share("a", "b")
    assert await blobs.drop(["a"]) == 0
    assert await blobs.get(reference) == b"x"


async def test_what_was_changed_is_not_believed(blobs):
    reference = await blobs.put("r", b"some bytes")
    with blobs._engine.begin() as connection:
        connection.exec_driver_sql("update rightcall_blobs set data = substr(data, 2)")
    with pytest.raises(JournalError, match="does not hold what was put there"):
        await blobs.get(reference)


async def test_many_runs_are_let_go_at_once(blobs):
    for number in range(30):
        await blobs.put(f"r{number}", f"{number}".encode())
    assert await blobs.drop([f"r{number}" for number in range(2000)]) == 30
    assert await blobs.drop([]) == 0


def together(*jobs):
    """Do all at once, each in a thread; what they raised."""
    failures = []

    def work(job):
        try:
            job()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_one_that_is_let_go_while_another_run_keeps_it_is_kept(database):
    engines = [engine_at(database) for _ in range(2)]
    first, second = [SqlBlobs(engine) for engine in engines]
    first.create()

    def lets_go():
        for number in range(40):
            first._put(f"a{number}", b"shared")
            first._drop([f"a{number}"])

    def keeps():
        for number in range(40):
            reference = second._put(f"b{number}", b"shared")
            assert second._get(reference) == b"shared"
            second._drop([f"b{number}"])

    assert together(lets_go, keeps) == []
    assert kept(first) == (0, 0)
    for engine in engines:
        engine.dispose()


def test_many_may_make_the_tables_at_once(database):
    engines = [engine_at(database) for _ in range(4)]
    assert together(*[SqlBlobs(engine).create for engine in engines]) == []
    for engine in engines:
        engine.dispose()


async def test_more_runs_than_a_statement_can_name_are_let_go(tmp_path):
    engine = engine_at(f"sqlite:///{tmp_path / 'runs.db'}")

    @event.listens_for(engine, "connect")
    def bound(connection, _):
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 500)

    blobs = SqlBlobs(engine)
    blobs.create()
    for number in (0, 499, 500, 1200):
        await blobs.put(f"r{number}", b"%d" % number)
    assert await blobs.drop([f"r{number}" for number in range(1201)]) == 4
    assert kept(blobs) == (0, 0)
    engine.dispose()
