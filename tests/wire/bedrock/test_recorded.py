"""What Bedrock really sent: streams in its own framing, replies and requests as JSON."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rightcall.core.jsontext import parse
from rightcall.core.message import Message, Reasoning, Reply, Results, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import ProtocolError
from rightcall.wire import bedrock
from rightcall.wire.bedrock.tables import DOCUMENTS, IMAGES, STOPS
from wire.bedrock.frames import frame
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

API = "bedrock.converse"
NO_REPLY = "5b5b83d20a3f3de2"
"""A ranking of documents, which is another API's."""
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
FORMS = {
    form: kind for table in (DOCUMENTS, IMAGES) for kind, form in table.items() if "json" not in kind
}


@pytest.fixture
def recorded(shared_data: Path) -> Path:
    folder = shared_data / "wire-bedrock"
    if not folder.is_dir():
        pytest.skip(f"the recorded replies of Bedrock are not here: {folder}")
    return folder


def rows(folder: Path, *, stream: bool) -> list[dict[str, Any]]:
    lines = (folder / "manifest.jsonl").read_text().split("\n")
    every = [json.loads(line) for line in lines if line]
    return [
        {**row, "path": folder / row["body"]}
        for row in every
        if row["api"] == API and row["stream"] is stream and row["id"] != NO_REPLY
    ]


def events_in(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The events of a recording, in the simplest way there is."""
    body = path.read_bytes()
    if path.suffix == ".sse":
        lines = [json.loads(line[5:]) for line in body.split(b"\n") if line.startswith(b"data:")]
        return [next(iter(line.items())) for line in lines]
    events, at = [], 0
    while at < len(body):
        length, headers = (int.from_bytes(body[at + n : at + n + 4]) for n in (0, 4))
        name = body[at + 12 :].split(b":event-type\x07", 1)[1]
        payload = body[at + 12 + headers : at + length - 4]
        events.append((name[2 : 2 + int.from_bytes(name[:2])].decode(), json.loads(payload)))
        at += length
    return events


def framed(path: Path) -> bytes:
    """A stream in Bedrock's framing; some were put into another by who recorded them."""
    if path.suffix != ".sse":
        return path.read_bytes()
    return b"".join(frame(name, payload) for name, payload in events_in(path))


def read_plainly(path: Path) -> tuple[str, list[tuple[str, str, Any]], str, dict[str, Any]]:
    text, calls, stop, usage = "", {}, "", {}
    for name, event in events_in(path):
        match name, event:
            case "contentBlockStart", {"start": {"toolUse": use}, "contentBlockIndex": at}:
                calls[at] = [use["toolUseId"], use["name"], ""]
            case "contentBlockDelta", {"delta": {"text": piece}}:
                text += piece
            case "contentBlockDelta", {"delta": {"toolUse": {"input": piece}}, "contentBlockIndex": at}:
                calls[at][2] += piece
            case "messageStop", {"stopReason": reason}:
                stop = reason
            case "metadata", {"usage": counts}:
                usage = counts
    return text, [(i, n, json.loads(given)) for i, n, given in calls.values()], stop, usage


def our_calls(reply: Reply) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, parse(call.arguments)) for call in reply.calls]


def test_every_recorded_stream_is_read_at_every_cut(recorded):
    streams = rows(recorded, stream=True)
    for row in streams:
        told = same_at_every_cut(bedrock, framed(row["path"]))
        assert_events_tell_the_reply(told)
        reply = reply_of(told)
        text, calls, stop, usage = read_plainly(row["path"])
        assert (reply.text, our_calls(reply), reply.stop_word) == (text, calls, stop), row["id"]
        assert reply.usage.tokens == usage.get("totalTokens", 0), row["id"]
    assert len(streams) == 7


def test_every_recorded_reply_is_read(recorded):
    read = 0
    for row in rows(recorded, stream=False):
        body = row["path"].read_bytes()
        value = json.loads(body)
        if row["status"] != 200:
            refusal = bedrock.error(row["status"], {}, body)
            assert (refusal.message, refusal.retryable) == (value["message"], False)
            continue
        reply, content = bedrock.decode(body), value["output"]["message"]["content"]
        assert reply.text == "".join(block.get("text", "") for block in content), row["id"]
        uses = [block["toolUse"] for block in content if "toolUse" in block]
        assert our_calls(reply) == [(use["toolUseId"], use["name"], use["input"]) for use in uses]
        assert reply.stop == STOPS[value["stopReason"]]
        assert reply.usage.tokens == value["usage"]["totalTokens"]
        read += 1
    assert read == 84


def test_what_is_no_reply_is_not_taken_for_one(recorded):
    with pytest.raises(ProtocolError, match="has no content"):
        bedrock.decode((recorded / f"{NO_REPLY}.json").read_bytes())


def test_what_was_recorded_goes_back_as_it_came(recorded):
    """Thoughts that nobody signed stay behind, and so does the type of a call, which is not taken."""
    for row in rows(recorded, stream=False):
        if row["status"] != 200:
            continue
        body = row["path"].read_bytes()
        reply = bedrock.decode(body)
        results = [
            Result(call_id=c.id, name=c.name, outcome="returned", content=()) for c in reply.calls
        ]
        after = Results(tuple(results)) if results else user_text("And?")
        messages = (user_text("Hi"), reply, after)
        request = Request(messages=messages, options={"cache": False})
        sent = json.loads(bedrock.encode(request, model=CLAUDE, stream=False).body)["messages"]
        expected = [
            returnable(block)
            for block in json.loads(body)["output"]["message"]["content"]
            if "reasoningContent" not in block
            or "signature" in block["reasoningContent"]["reasoningText"]
        ]
        assert sent[1]["content"] == [block for block in expected if block.get("text", "x").strip()]


def returnable(block: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in block.items() if key != "type"}
    if "toolUse" in inner:
        return {"toolUse": {k: v for k, v in inner["toolUse"].items() if k != "type"}}
    return inner


def test_every_recorded_request_can_be_said_and_means_the_same(recorded):
    same = 0
    for row in [*rows(recorded, stream=True), *rows(recorded, stream=False)]:
        if row["request"] is None:
            continue
        body = json.loads((recorded / row["request"]).read_text())
        ours = json.loads(bedrock.encode(as_request(body), model=CLAUDE, stream=row["stream"]).body)
        assert normal(ours) == normal(body), row["id"]
        same += 1
    assert same == 78


def as_request(body: dict[str, Any]) -> Request:
    """The request that says the same in our words; what has no word of ours is said in the vendor's."""
    config = body.get("toolConfig", {})
    specs = [tool["toolSpec"] for tool in config.get("tools", ()) if "toolSpec" in tool]
    known = ("messages", "inferenceConfig", "toolConfig")
    extra = {key: value for key, value in body.items() if key not in known}
    if any(spec.get("strict") for spec in specs) or any(
        "cachePoint" in t for t in config.get("tools", ())
    ):
        extra["toolConfig"] = config
    settings = body.get("inferenceConfig", {})
    options = {"temperature": settings.get("temperature"), "top_p": settings.get("topP")}
    choice = config.get("toolChoice", {}).get("tool")
    return Request(
        messages=tuple(map(as_message, body["messages"])),
        specs=tuple(
            Spec(
                name=spec["name"],
                description=spec.get("description", ""),
                parameters=spec["inputSchema"]["json"],
            )
            for spec in specs
        ),
        choice=Named(choice["name"]) if choice else "auto",
        max_tokens=settings.get("maxTokens"),
        options={"cache": False, "strict": False, "extra": extra, **options},
    )


def as_message(turn: dict[str, Any]) -> Message:
    blocks = turn["content"]
    if turn["role"] == "assistant":
        return Reply(tuple(map(as_part, blocks)))
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    if results and len(results) == len(blocks):
        return Results(tuple(map(as_result, results)))
    if all(is_ours(block) for block in blocks):
        return User(tuple(map(as_part, blocks)))
    return User((), vendor={bedrock.name: blocks})


def is_ours(block: dict[str, Any]) -> bool:
    media = block.get("image") or block.get("document") or {}
    return "text" in block or ("bytes" in media.get("source", {}) and media.get("format") in FORMS)


def as_part(block: dict[str, Any]) -> Any:
    match block:
        case {"text": text}:
            return Text(text)
        case {"toolUse": use}:
            given = json.dumps(use["input"])
            return Call(id=use["toolUseId"], name=use["name"], arguments=given)
        case {"reasoningContent": {"reasoningText": thought}}:
            return Reasoning(thought["text"], {bedrock.name: {"signature": thought["signature"]}})
        case {"image": media} | {"document": media}:
            data = base64.b64decode(media["source"]["bytes"])
            return Media(data, FORMS[media["format"]], media.get("name"))
        case _:
            raise AssertionError(block)


def as_result(result: dict[str, Any]) -> Result:
    content = tuple(as_part(block) for block in result["content"] if is_ours(block))
    outcome = "returned" if result.get("status") == "success" else "failed"
    beyond = {} if len(content) == len(result["content"]) else {"content": result["content"]}
    return Result(
        call_id=result["toolUseId"],
        name="",
        outcome=outcome,
        content=content,
        vendor={bedrock.name: beyond},
    )


def normal(body: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing: empty settings, the model's own choice, a result's success, names."""
    kept = {key: value for key, value in body.items() if value not in ({}, [])}
    if "toolConfig" in kept:
        config = dict(kept["toolConfig"])
        if "auto" in config.get("toolChoice", {}):
            del config["toolChoice"]
        kept["toolConfig"] = config
    kept["messages"] = [
        {**turn, "content": [normal_block(block) for block in turn["content"]]}
        for turn in kept["messages"]
    ]
    return kept


def normal_block(block: dict[str, Any]) -> dict[str, Any]:
    if "toolResult" in block:
        result = {k: v for k, v in block["toolResult"].items() if (k, v) != ("status", "success")}
        return {"toolResult": {**result, "content": [normal_block(each) for each in result["content"]]}}
    if "document" in block:
        return {"document": {k: v for k, v in block["document"].items() if k != "name"}}
    return block


def test_a_stream_without_its_end_is_truncated_wherever_it_was_recorded(recorded):
    for row in rows(recorded, stream=True):
        body = framed(row["path"])
        events = events_in(row["path"])
        stopped = [name for name, _ in events].index("messageStop")
        before = b"".join(frame(name, payload) for name, payload in events[:stopped])
        with pytest.raises(ProtocolError, match="ended before messageStop"):
            fed(bedrock.Decoder(), before)
        with pytest.raises(ProtocolError, match="in the middle"):
            fed(bedrock.Decoder(), body[:-1])
