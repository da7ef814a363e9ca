"""After every test: no process of it is left, and no descriptor."""

import sys
import uuid
from collections.abc import Iterator

import pytest

from process.kit import descriptors, marked
from rightcall.process.runner import keepers

collect_ignore = [] if sys.platform == "linux" else ["test_runner.py", "test_hostile.py"]


@pytest.fixture
def mark() -> str:
    """An argument by which a test finds its own processes."""
    return f"mark-{uuid.uuid4().hex}"


@pytest.fixture
def _nothing_is_left(mark: str) -> Iterator[None]:
    keepers().close()
    before = descriptors()
    yield
    assert marked(mark) == []
    keepers().close()
    after = descriptors()
    assert {number: after[number] for number in after.keys() - before.keys()} == {}
