"""No test reaches beyond this machine."""

import gc
import ipaddress
import os
import signal
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run, so that a change is judged by what it changes, and half as many as
# Hypothesis takes by itself; HYPOTHESIS_PROFILE=explore looks for others, and more of them.
_plain = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", _plain)
settings.register_profile("default", _plain, derandomize=True, max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# A shell starts what it puts in the background with Ctrl-C ignored, and so would be all that the tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collecting makes hardly any garbage, and looking for it takes a quarter of the time.
gc.disable()


_LONG = ("docs", "local", "durable", "studio", "cli", "mcp", "process", "chaos", "platforms")
"""Folders whose tests wait for processes, servers and models."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that take long: those at the end are short, and no worker waits for another."""
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(here).parts[0] not in _LONG)


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later look for garbage.

    Many thousand tests and what they import are millions of objects: to go through them takes some
    tenths of a second each time, in which no thread and no event loop of the test at hand does anything.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex


def _refuse_outside(address: object) -> None:
    if isinstance(address, tuple):
        host = str(address[0])
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise AssertionError(f"a test tried to connect to {host}")


def _connect_here(self: socket.socket, address: object) -> None:
    _refuse_outside(address)
    _connect(self, address)


def _connect_ex_here(self: socket.socket, address: object) -> int:
    _refuse_outside(address)
    return _connect_ex(self, address)


# Once for all tests: a fixture of each would take two seconds of them together.
socket.socket.connect = _connect_here  # type: ignore[method-assign, assignment]
socket.socket.connect_ex = _connect_ex_here  # type: ignore[method-assign, assignment]


@pytest.fixture
def shared_data() -> Path:
    """Recorded data that lives beside the project and is not part of it."""
    root = Path(__file__).resolve().parents[2] / "shared" / "data"
    place = Path(os.environ.get("RIGHTCALL_SHARED_DATA", root))
    if not place.is_dir():
        pytest.skip(f"the recorded data is not here: {place}")
    return place
