"""Every client does the small task straight against the scripted vendor, in its own dialect.

So a row that fails through the gateway fails because of the gateway.
"""

import pytest

from clients.drive import drive
from clients.rows import ROWS
from clients.task import PROMPT, Task
from clients.upstream.server import dump


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_task_is_done(row, seat, vendor):
    here = seat(row, vendor.url)
    task = Task(here.work)
    vendor.begin(task)
    done = drive(row, here, PROMPT)
    what = f"{done}\n{dump(vendor.exchanges)}"
    assert vendor.refused == [], what
    assert not vendor.looped, what
    assert task.done(), what
    assert task.printed in done.output, what
