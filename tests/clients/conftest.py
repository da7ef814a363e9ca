"""The clients are driven on request: they are large, and other people's."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clients.drive import DRIVERS, Row, Seat
from clients.gateway import gateway
from clients.places import absence
from clients.upstream.server import Upstream, serving


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "RIGHTCALL_CLIENTS" in os.environ:
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip("other people's clients are driven by: make test-clients"))


@pytest.fixture(scope="session")
def vendor() -> Iterator[Upstream]:
    with serving() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def reach(vendor: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """The address for a way to the vendor: directly, or by a gateway that asks it in a dialect."""
    started: dict[tuple[str, bool], str] = {}
    with ExitStack() as running:

        def reached(way: str, *, exact: bool = True) -> str:
            if way == "direct":
                return vendor.url
            if (way, exact) not in started:
                folder = tmp_path_factory.mktemp(f"gateway-{way}")
                started[way, exact] = running.enter_context(
                    gateway(folder, vendor.url, way, exact=exact)
                )
            return started[way, exact]

        yield reached


@pytest.fixture
def seat(tmp_path: Path) -> Callable[[Row, str], Seat]:
    """A home and a folder to work in, for a client that is installed."""

    def made(row: Row, base: str) -> Seat:
        if missing := absence(*DRIVERS[row.client][0]):
            pytest.skip(missing)
        places = tmp_path / "home", tmp_path / "work"
        for each in places:
            each.mkdir()
        return Seat(base, *places)

    return made
