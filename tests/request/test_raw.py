"""The vendor's own bytes, in the journal if they are asked for."""

import pytest

import rightcall as rc
from request.server import serving
from request.test_faults import DONE, GOOD, HELLO, KEY
from rightcall.core.entry import ReplyReceived
from rightcall.record.memory import MemoryJournal
from rightcall.transport.http import HttpTransport


@pytest.mark.parametrize(("keep", "raw"), [(True, b"".join(HELLO) + DONE), (False, None)])
async def test_the_journal_holds_the_bytes_of_a_reply_if_they_are_asked_for(keep, raw):
    transport, journal = HttpTransport(), MemoryJournal()
    async with serving(GOOD) as server:
        model = rc.connect(
            "openai:m", base_url=server.url, api_key=KEY, transport=transport, keep_raw=keep
        )
        result = await rc.Agent(model, journal=journal).run("Hi.")
    await transport.close()
    (entry,) = [entry for entry in journal.entries(result.run) if isinstance(entry, ReplyReceived)]
    assert (entry.reply, entry.raw) == (result.replies[0], raw)
