"""Messages that are added to a run which is killed at every entry: each is delivered once."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

import rightcall as rc
from chaos.worker import RUN, SAYS, TOOLS, agent_for
from chaos.workers import KILLED, RunFiles, workers
from loop.sound import assert_sound
from rightcall.core.entry import MessageQueued

ALL_SAID = [text for texts in SAYS.values() for text in texts]


class Delivered(Struct):
    """What became of the messages to runs that were killed."""

    kills: int = 0
    said: int = 0
    """Messages that were taken: ``say`` had returned."""
    twice: int = 0
    lost: int = 0
    disordered: int = 0

    def count(self, said, result):
        """Add one run: what it was told, and what its model was given in the end."""
        given = [each.text for each in result.transcript if isinstance(each, rc.User)][1:]
        self.said += len(said)
        self.twice += len(given) - len(set(given))
        self.lost += len(set(said) - set(given))
        self.disordered += [text for text in given if text in said] != said
        assert_sound(result.transcript)

    @property
    def wrong(self):
        return (self.twice, self.lost, self.disordered)


@pytest.fixture(scope="module")
def server():
    with workers() as started:
        yield started


def said_in(run: RunFiles) -> list[str]:
    path = Path(f"{run.path}.said")
    lines = path.read_text().splitlines() if path.exists() else []
    return list(dict.fromkeys(lines))


def count_entries(server, path) -> int:
    run = RunFiles(server, path)
    assert run.start("run", says=True).code == 0
    delivered = Delivered()
    delivered.count(said_in(run), run.result())
    assert (delivered.said, delivered.wrong) == (len(ALL_SAID), (0, 0, 0))
    return len(run.entries())


def kill_everywhere(
    server, folder: Path, suffix: str, when: str, first: int = 1, step: int = 1
) -> Delivered:
    """Kill a run at every entry, recover it, and count what became of what was said."""
    delivered = Delivered()
    entries = count_entries(server, folder / f"whole{suffix}")
    for kill_at in range(first, entries + 1, step):
        run = RunFiles(server, folder / f"{when}-{kill_at}{suffix}")
        assert run.start("run", says=True, kill_at=kill_at, when=when).code == KILLED
        delivered.kills += 1
        assert run.start("recover" if run.entries() else "run", says=True).code == 0
        delivered.count(said_in(run), run.result())
    return delivered


# The table of tests/durable/kills/said.py has every entry, before and after it; here it is one in four.
@pytest.mark.parametrize(("suffix", "first", "when"), [(".jsonl", 1, "before"), (".db", 3, "after")])
def test_what_was_said_to_a_run_killed_at_any_entry_is_delivered_once(
    server, tmp_path, suffix, first, when
):
    delivered = kill_everywhere(server, tmp_path, suffix, when, first, step=4)
    assert delivered.said >= 5 * delivered.kills > 50
    assert delivered.wrong == (0, 0, 0)


async def cut_everywhere(folder: Path) -> Delivered:
    """The same for a journal in memory: another goes on from each beginning of its entries."""
    job = {"journal": str(folder / "memory"), "says": True, "what": "run"}
    whole = rc.record.MemoryJournal()
    await agent_for(job, whole).run("Go.", run=RUN, inbox=TOOLS.inbox)
    entries = whole.entries(RUN)
    delivered = Delivered()
    for cut in range(1, len(entries)):
        journal = rc.record.MemoryJournal()
        for entry in entries[:cut]:
            journal.append(RUN, entry)
        agent = agent_for(job, journal)
        result = await agent.recover(RUN, inbox=TOOLS.inbox)
        said = [e.message.text for e in journal.entries(RUN) if isinstance(e, MessageQueued)]
        delivered.kills += 1
        delivered.count(said, result)
        assert (await rc.replay(journal, RUN)).transcript == result.transcript
    return delivered


def test_what_was_said_is_delivered_once_wherever_a_journal_in_memory_is_cut(tmp_path):
    delivered = asyncio.run(cut_everywhere(tmp_path))
    assert delivered.said > 5 * delivered.kills > 200
    assert delivered.wrong == (0, 0, 0)
