"""How a command ended, in words."""

import pytest

from rightcall.process.command import Crowded, Exited, Lost, NotStarted, Signalled, TimedOut, describe


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (Exited(2), "ended with exit code 2"),
        (Signalled(11), "was ended by SIGSEGV"),
        (Signalled(48), "was ended by signal 48"),
        (TimedOut(1.5), "did not finish within 1.5 s and was stopped"),
        (Crowded(128), "started more than 128 processes and was stopped"),
        (NotStarted("/x cannot be started: no"), "was not run: /x cannot be started: no"),
        (Lost(), "was lost with the process that watched over it; it may have done part of its work"),
    ],
)
def test_every_end_has_its_words(end, words):
    assert describe(end) == words
