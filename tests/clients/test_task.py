"""Every client does the small task: straight against the scripted vendor, and through the gateway.

Straight, in the client's own dialect, so that a row that fails through the gateway fails because of it.
Through the gateway, in front of a vendor of every dialect: the client's own, passed through, and the
three others, translated.
"""

import pytest

from clients.drive import drive
from clients.rows import DIALECTS, ROWS
from clients.task import PROMPT, Task
from clients.upstream.gemini import FILLERS
from clients.upstream.server import dump

WAYS = ("direct", *DIALECTS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_task_is_done(row, way, seat, reach, vendor):
    here = seat(row, reach(way))
    task = Task(here.work)
    vendor.begin(task)
    done = drive(row, here, PROMPT)
    what = f"{done}\n{dump(vendor.exchanges)}"
    assert vendor.refused == [], what
    assert not vendor.looped, what
    assert task.done(), what
    assert task.printed in done.output, what
    assert {each.dialect for each in vendor.exchanges} == {row.dialect if way == "direct" else way}
    if way not in ("direct", "gemini"):
        sent = [str(each.body) for each in vendor.exchanges]
        assert not [filler for filler in FILLERS for body in sent if filler in body]
