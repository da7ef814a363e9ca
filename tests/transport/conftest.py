import pytest

from rightcall.transport.http import HttpTransport


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()
