from base64 import b64encode

import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

import rightcall as rc
from rightcall.mcp.server.request_handlers import to_mcp


def result(*parts, outcome="returned"):
    return rc.gate.Result(call_id="c", name="t", outcome=outcome, content=parts)


def text_file(uri, media_type, text):
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=media_type, text=text))


def binary_file(uri, media_type, data):
    blob = b64encode(data).decode()
    return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=media_type, blob=blob))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (rc.models.Text("hello"), TextContent(text="hello")),
        (rc.models.Media(b"p", "image/png"), ImageContent(data="cA==", mime_type="image/png")),
        (rc.models.Media(b"w", "audio/wav"), AudioContent(data="dw==", mime_type="audio/wav")),
        (
            rc.models.Media(b"{}", "application/json"),
            text_file("result://c/1", "application/json", "{}"),
        ),
        (
            rc.models.Media(b"a", "text/csv", "a b.csv"),
            text_file("result://c/1/a%20b.csv", "text/csv", "a"),
        ),
        (rc.models.Media(b"a", "text/plain", "file:///a"), text_file("file:///a", "text/plain", "a")),
        (rc.models.Media(b"\xff", "text/plain"), binary_file("result://c/1", "text/plain", b"\xff")),
        (
            rc.models.Media(b"%PDF-", "application/pdf"),
            binary_file("result://c/1", "application/pdf", b"%PDF-"),
        ),
        (
            rc.image("https://example.com/a.png"),
            ResourceLink(uri="https://example.com/a.png", name="a.png", mime_type="image/png"),
        ),
        (rc.file(id="file_1"), TextContent(text="[application/octet-stream, file file_1]")),
    ],
    ids=[
        "text",
        "image",
        "sound",
        "json",
        "named",
        "addressed",
        "not the text it says",
        "binary",
        "elsewhere",
        "a vendor's",
    ],
)
def test_each_part_becomes_content(part, expected):
    assert to_mcp(result(part)) == CallToolResult(content=[expected])


@pytest.mark.parametrize("outcome", ["failed", "invalid", "denied", "timed_out", "cancelled"])
def test_whatever_is_not_returned_is_an_error(outcome):
    assert to_mcp(result(rc.models.Text("no"), outcome=outcome)) == CallToolResult(
        content=[TextContent(text="no")], is_error=True
    )


def test_structure_goes_beside_the_content():
    assert to_mcp(result(rc.models.Text("1")), {"result": 1}) == CallToolResult(
        content=[TextContent(text="1")], structured_content={"result": 1}
    )
