"""How a child process ended is told apart: it lacked memory, was late, or broke."""

import signal

import pytest

from process import breaking_child
from rightcall.bounded_child import Children


@pytest.fixture
def children():
    started = Children(breaking_child.__name__, work="breaks")
    yield started
    started.close()


@pytest.mark.parametrize("request_body", [b"memory", b"memory, as compile() says it"])
def test_memory_that_is_refused_is_told_apart(children, request_body):
    answer = children.ask(request_body, 5.0)
    assert answer.lacked_memory
    assert not answer.is_late
    assert answer.frames == []


def test_a_child_that_breaks_did_not_lack_memory(children):
    answer = children.ask(b"break", 5.0)
    assert answer.exit_code == -signal.SIGABRT
    assert not answer.lacked_memory
    assert not answer.is_late
