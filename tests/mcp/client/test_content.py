"""A server's answer into what a tool returns, or the failure that it is."""

import base64

import pytest
from mcp_types import (
    CallToolResult,
    ImageContent,
    TextContent,
)

from rightcall.core.schema import Schema
from rightcall.errors import ToolFailure
from rightcall.mcp.client.remote_tool import value_of

PRICE = Schema({"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]})


def said(*words: str, **fields: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=each) for each in words], **fields)


ANSWERS = {
    "text": (said("a", "b"), None, "a\nb"),
    "nothing": (said(), None, ""),
    "structured alone": (said(structured_content={"cents": 1}), PRICE, {"cents": 1}),
    "structured and said": (said('{"cents": 1}', structured_content={"cents": 1}), PRICE, {"cents": 1}),
    "wrapped": (said("1", structured_content={"result": 1}), None, 1),
    "wrapped list": (said("1", "2", structured_content={"result": [1, 2]}), None, [1, 2]),
    "structured and more": (said("cheap", structured_content={"cents": 1}), PRICE, 'cheap\n{"cents":1}'),
    "bad base64": (
        CallToolResult(content=[ImageContent(data="§", mime_type="image/png")]),
        None,
        "[image/png left out: it is not valid base64]",
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_becomes_a_value(case):
    answer, output, expected = ANSWERS[case]
    assert value_of(answer, output) == expected


FAILURES = {
    "an error": (said("no", "way", is_error=True), None, "^no\nway$"),
    "an error without words": (said(is_error=True), None, "and not why"),
    "an error with a picture": (
        CallToolResult(
            content=[ImageContent(data=base64.b64encode(b"12").decode(), mime_type="image/png")],
            is_error=True,
        ),
        None,
        r"\[image/png, 2 bytes\]",
    ),
    "a broken promise": (
        said("x", structured_content={"cents": "1"}),
        PRICE,
        r"\$.cents: must be an integer",
    ),
    "a promise forgotten": (said("x"), PRICE, "lacks the structured content"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_answer_that_is_none_is_a_failure(case):
    answer, output, words = FAILURES[case]
    with pytest.raises(ToolFailure, match=words):
        value_of(answer, output)
