"""What a call fails with, in words for the model."""

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
)

from rightcall.mcp.client.remote_servers import failure_of

CLOSED = MCPError(CONNECTION_CLOSED, "Connection closed")
LATE = MCPError(REQUEST_TIMEOUT, "timed out")
IN_DOUBT = "It may have done its work. Find out before calling it again."
WORDED = {
    "a write that was lost": (
        CLOSED,
        "write",
        f"The server shop was lost before it answered. {IN_DOUBT}",
        False,
    ),
    "a read that was lost": (
        CLOSED,
        "read",
        "The server shop was lost before it answered. It can be called again.",
        True,
    ),
    "a write that is late": (
        LATE,
        "write",
        f"The server shop did not answer in time. {IN_DOUBT}",
        False,
    ),
    "a refusal with the code of a loss": (
        MCPError(CONNECTION_CLOSED, "no session"),
        "write",
        "The server refused: no session",
        False,
    ),
    "an answer of no use": (
        RuntimeError("odd"),
        "write",
        "The server's answer cannot be used: odd",
        False,
    ),
}


@pytest.mark.parametrize("case", WORDED)
def test_a_failure_says_whether_the_work_may_have_been_done(case):
    error, effect, words, retryable = WORDED[case]
    failure = failure_of(error, "shop", effect)
    assert (failure.message, failure.retryable) == (words, retryable)
