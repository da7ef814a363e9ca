"""A run of a conversation that is killed at every entry: the next one finds all that was said."""

import asyncio
from pathlib import Path

import pytest

import rightcall as rc
from chaos.workers import KILLED, RunFiles, workers
from loop.sound import assert_sound


@pytest.fixture(scope="module")
def server():
    with workers() as started:
        yield started


def messages_of(run: RunFiles):
    async def read():
        async with rc.Conversations(f"{run.path}.chat") as store:
            return await store.messages("user-7"), await store.runs("user-7")

    return asyncio.run(read())


def talk(run: RunFiles, text: str, **options):
    return run.start("talk", talks=text, **options)


# One entry in three; the last ones are all there, since what follows the run's end is the append.
@pytest.mark.parametrize("kill_at", [*range(1, 37, 3), 38, 39])
def test_what_was_said_in_a_run_that_was_killed_is_there_for_the_next(server, tmp_path: Path, kill_at):
    run = RunFiles(server, tmp_path / f"journal{('.jsonl', '.db')[kill_at % 2]}")
    assert talk(run, "Go.", kill_at=kill_at, when="after").code == KILLED
    assert talk(run, "And?").code == 0
    messages, runs = messages_of(run)
    users = [each.text for each in messages if isinstance(each, rc.User)]
    answers = [each.text for each in messages if isinstance(each, rc.Reply) and not each.calls]
    assert (users, answers) == (["Go.", "And?"], ["All done.", "All done."])
    assert [(each.run, each.status) for each in runs] == [("Go.", "done"), ("And?", "done")]
    assert_sound(messages)


def test_what_was_said_to_a_run_that_recorded_nothing_is_there_for_the_next(server, tmp_path):
    run = RunFiles(server, tmp_path / "journal.db")
    assert talk(run, "Go.", kill_at=1, when="before").code == KILLED
    assert talk(run, "And?").code == 0
    messages, runs = messages_of(run)
    assert [each.text for each in messages if isinstance(each, rc.User)] == ["Go.", "And?"]
    assert [each.status for each in runs] == ["lost", "done"]
