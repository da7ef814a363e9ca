"""Every client does the small task: straight against the scripted vendor, and through the gateway.

Straight, in the client's own dialect, so that a row that fails through the gateway fails because of it.
Through the gateway, in front of a vendor of every dialect: the client's own, passed through, and the
three others, translated.
"""

import os

import pytest

from clients.drive import KEY
from clients.gateway import UPSTREAM_KEY
from clients.rows import ROWS, WAYS
from clients.upstream.gemini import FILLERS

if "RIGHTCALL_CLIENTS" not in os.environ:
    # A thousand rows that would be skipped one by one are not collected.
    pytest.skip("other people's clients are driven by: make test WHAT=clients", allow_module_level=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_task_is_done(row, way, attempt):
    tried = attempt(row, way)
    tried.assert_done()
    exchanges = tried.vendor.exchanges
    assert {each.dialect for each in exchanges} == {row.dialect if way == "direct" else way}
    if way != "direct":
        # The vendor is shown the gateway's key for it, and never the client's for the gateway.
        assert all(UPSTREAM_KEY in str(each.headers) for each in exchanges), str(tried)
        assert not [each for each in exchanges if KEY in f"{each.headers} {each.path}"], str(tried)
    if way not in ("direct", row.dialect):
        # What the vendor signed came back to it through a client that knows nothing of it.
        assert set(tried.vendor.signatures) <= set(exchanges[-1].asked.returned), str(tried)
    if way not in ("direct", "gemini"):
        sent = [str(each.body) for each in exchanges]
        assert not [filler for filler in FILLERS for body in sent if filler in body]
