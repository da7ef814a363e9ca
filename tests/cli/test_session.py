"""Options into an agent, and what it holds let go of."""

import asyncio
from argparse import ArgumentParser

import pytest

from rightcall.cli.options import add_run_options
from rightcall.cli.session import Session, waiting_words
from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import RunEnded
from rightcall.errors import RightcallError

CLOSING = """
from rightcall.testing import ScriptedModel


class Closing(ScriptedModel):
    closed = 0

    async def close(self):
        self.closed += 1


first, second = Closing([]), Closing([])
"""


def session(*arguments: str) -> Session:
    parser = ArgumentParser()
    add_run_options(parser)
    return Session(parser.parse_args(arguments))


def test_closing_lets_go_of_the_model_and_the_journal(home):
    (home / "closing.py").write_text(CLOSING)
    opened = session("--model", "closing.py:first", "--journal", "runs.jsonl")
    model, journal = opened._model, opened._journal
    asyncio.run(opened.close())
    assert model.closed == 1
    with pytest.raises(RightcallError):
        journal.append("run", RunEnded(stop=Stop("end")))


def test_switching_lets_go_of_the_model_before(home):
    (home / "closing.py").write_text(CLOSING)
    opened = session("--model", "closing.py:first")
    first = opened._model
    asyncio.run(opened.switch("closing.py:second"))
    assert (first.closed, opened._model.closed, opened.model_name) == (1, 0, "closing.py:second")


def test_a_switch_that_fails_leaves_the_model_as_it_was(home):
    (home / "closing.py").write_text(CLOSING)
    opened = session("--model", "closing.py:first")
    with pytest.raises(RightcallError, match=r"closing.py has no 'third'"):
        asyncio.run(opened.switch("closing.py:third"))
    assert (opened._model.closed, opened.model_name) == (0, "closing.py:first")


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ([], Budget()),
        (["--max-turns", "3"], Budget(turns=3)),
        (["--timeout", "1.5"], Budget(seconds=1.5)),
    ],
)
def test_limits_become_the_budget(home, options, budget):
    assert session("--model", "world.py:echo", *options)._budget() == budget


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("world.py:echo", "waiting for world.py:echo …"),
        ("embedded", "loading embedded …"),
        ("tiny", "loading tiny …"),
        ("http://localhost:1/v1|m", "waiting for http://localhost:1/v1|m …"),
    ],
)
def test_a_model_is_waited_for_by_its_name(name, words):
    assert waiting_words(name) == words
