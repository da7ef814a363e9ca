"""What models make besides words comes back as media, and goes back to who made it in its own form."""

import json
from base64 import b64encode

import pytest
from pydantic import TypeAdapter

import rightcall as rc
from later import Later
from rightcall.core.message import Reply, Unknown, user_text
from rightcall.core.parts import Media, Text
from rightcall.core.request import Request
from rightcall.testing import ScriptedModel
from rightcall.wire.dialects import DIALECTS, load
from wire.bedrock.frames import frame
from wire.recorded import assert_events_tell_the_reply, reply_of, same_at_every_cut

OPENAI = Later("openai.types")

PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
SOUND = bytes(range(1, 200))


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def sse(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)


def both(dialect: str, whole: object, streamed: bytes) -> Reply:
    """The reply in a body, which must be the one of the stream, wherever that is cut."""
    module = load(dialect)
    reply = module.decode(json.dumps(whole).encode())
    events = same_at_every_cut(module, streamed)
    assert_events_tell_the_reply(events)
    assert reply_of(events).content == reply.content
    return reply


def sent(dialect: str, reply: Reply, url: str = "") -> dict[str, object]:
    request = Request(messages=(user_text("Draw."), reply, user_text("Again.")))
    body = load(dialect, url).encode(request, model="m", stream=True).body
    found: dict[str, object] = json.loads(body)
    return found


def test_responses_gives_a_picture_and_takes_it_back_as_its_item():
    item = {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "completed",
        "output_format": "webp",
        "revised_prompt": "A cat.",
        "result": base64(PNG),
    }
    response = {"id": "r", "status": "completed", "model": "m", "output": [item]}
    partial = {
        "type": "response.image_generation_call.partial_image",
        "item_id": "ig_1",
        "output_index": 0,
        "partial_image_b64": "AAAA",
    }
    begun = {**item, "status": "in_progress", "result": None}
    reply = both(
        "openai_responses",
        response,
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            partial,
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ),
    )
    (picture,) = reply.media
    assert (picture.data, picture.media_type) == (PNG, "image/webp")
    back = sent("openai_responses", reply)["input"][1]
    assert back == item
    TypeAdapter(OPENAI.responses.response_input_param.ImageGenerationCall).validate_python(back)
    # One that failed, or that we could not give back as it came, stays what it was.
    for odd in ({**item, "result": None}, {**item, "result": "%"}, {**item, "result": "AB=="}):
        content = load("openai_responses").decode(json.dumps({**response, "output": [odd]}).encode())
        assert content.content == (Unknown({"openai_responses": odd}),)


def test_chat_speaks_and_its_sound_goes_back_by_its_id():
    audio = {"id": "audio_1", "expires_at": 1800000000}
    spoken = {**audio, "data": base64(SOUND), "transcript": "Hello there"}
    message = {"role": "assistant", "content": None, "audio": spoken}
    base = {"id": "c", "model": "m"}
    deltas = [
        {"role": "assistant", "content": None},
        {"audio": {"id": "audio_1", "transcript": "Hello"}},
        {"audio": {"data": base64(SOUND[:100])}},  # with padding of its own
        {"audio": {"transcript": " there", "data": base64(SOUND[100:])}},
        {"audio": {"expires_at": 1800000000}},
    ]
    chunks = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    whole = {**base, "choices": [{"message": message, "finish_reason": "stop"}]}
    reply = both("openai_chat", whole, sse(*chunks, end) + b"data: [DONE]\n\n")
    (sound,) = reply.media
    assert (sound.data, sound.media_type) == (SOUND, "audio/pcm")
    assert reply.text == "Hello there"
    back = sent("openai_chat", reply)["messages"][1]
    assert back == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    TypeAdapter(OPENAI.chat.ChatCompletionAssistantMessageParam).validate_python(back)
    # To others goes what was said, and that there was a sound.
    assert "Hello there" in json.dumps(sent("anthropic", reply))
    assert "audio_1" not in json.dumps(sent("anthropic", reply))


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"RIFF\0\0\0\0WAVE", "audio/wav"), (b"\xff\xfb\x90", "audio/mpeg"), (b"OggS", "audio/ogg")],
)
def test_a_sound_tells_its_form(data, kind):
    message = {"audio": {"id": "a", "data": base64(data), "transcript": ""}}
    reply = load("openai_chat").decode(json.dumps({"choices": [{"message": message}]}).encode())
    assert reply.media[0].media_type == kind


def test_openrouters_pictures_go_back_to_it_and_to_no_other_host():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64(PNG)}"}}
    base = {"id": "c", "model": "m"}
    message = {"role": "assistant", "content": "Here.", "images": [image]}
    reply = both(
        "openai_chat",
        {**base, "choices": [{"message": message, "finish_reason": "stop"}]},
        sse(
            {**base, "choices": [{"index": 0, "delta": {"content": "Here."}}]},
            {**base, "choices": [{"index": 0, "delta": {"images": [image]}, "finish_reason": "stop"}]},
        ),
    )
    assert reply.media[0].data == PNG
    assert sent("openai_chat", reply, "https://openrouter.ai/api/v1")["messages"][1] == message
    told = {"role": "assistant", "content": "Here.[image/png, 29 bytes: not shown]"}
    assert sent("openai_chat", reply, "https://api.openai.com/v1")["messages"][1] == told


def test_a_picture_among_the_parts_of_a_message():
    url = "https://example.com/a.png"
    parts = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"choices": [{"message": {"content": parts}}]}
    reply = load("openai_chat").decode(json.dumps(body).encode())
    assert [media.url for media in reply.media] == [url]
    assert sent("openai_chat", reply)["messages"][1]["content"] == parts


def test_gemini_gives_pictures_with_their_signatures_and_joins_a_sound():
    signed = {"inlineData": {"mimeType": "image/png", "data": base64(PNG)}, "thoughtSignature": "c2ln"}
    sketch = {"inlineData": {"mimeType": "image/png", "data": base64(b"x")}, "thought": True}
    pcm = "audio/L16;codec=pcm;rate=24000"
    pieces = [{"inlineData": {"mimeType": pcm, "data": base64(p)}} for p in (SOUND[:50], SOUND[50:])]
    film = {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.com/v"}}
    parts = [sketch, signed, *pieces, film]
    end = {"finishReason": "STOP", "index": 0}
    reply = both(
        "gemini",
        {"candidates": [{"content": {"parts": parts}, **end}]},
        sse(
            *[{"candidates": [{"content": {"parts": [part]}}]} for part in parts],
            {"candidates": [end]},
        ),
    )
    assert reply.content == (
        Unknown({"gemini": sketch}),
        Media(PNG, "image/png", vendor={"gemini": {"thoughtSignature": "c2ln"}}),
        Media(SOUND, pcm),
        Media(media_type="video/mp4", url="https://example.com/v"),
    )
    joined = {"inlineData": {"mimeType": pcm, "data": base64(SOUND)}}
    assert sent("gemini", reply)["contents"][1]["parts"] == [sketch, signed, joined, film]


def test_anthropics_code_leaves_files_that_its_own_block_goes_back_for():
    block = {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "bash_code_execution_result",
            "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
        },
    }
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "usage": {}}
    reply = both(
        "anthropic",
        {**message, "content": [block], "stop_reason": "end_turn"},
        sse(
            {"type": "message_start", "message": {**message, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
    )
    assert [media.id for media in reply.media] == ["file_1"]
    assert sent("anthropic", reply)["messages"][1]["content"] == [block]
    assert "file_1" in json.dumps(sent("gemini", reply))


def test_bedrock_gives_what_its_blocks_hold():
    image = {"image": {"format": "jpeg", "source": {"bytes": base64(PNG)}}}
    audio = {"audio": {"format": "mp3", "source": {"bytes": base64(SOUND)}}}
    message = {"role": "assistant", "content": [image, audio]}
    streamed = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", {"contentBlockIndex": 0, "start": {"image": {"format": "jpeg"}}}),
        (
            "contentBlockDelta",
            {"contentBlockIndex": 0, "delta": {"image": {"source": {"bytes": base64(PNG)}}}},
        ),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": audio}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "end_turn"}),
    ]
    reply = both(
        "bedrock",
        {"output": {"message": message}, "stopReason": "end_turn"},
        b"".join(frame(kind, event) for kind, event in streamed),
    )
    assert [(m.data, m.media_type) for m in reply.media] == [(PNG, "image/jpeg"), (SOUND, "audio/mpeg")]


@pytest.mark.parametrize("name", DIALECTS)
def test_what_one_vendor_made_is_words_to_another(name):
    foreign = Reply((Text("Look."), Media(PNG, "image/png", vendor={"nobody": {"type": "x"}})))
    text = json.dumps(sent(name, foreign))
    assert "not shown" in text or base64(PNG) in text


async def test_a_run_gives_what_was_made_in_it():
    drawn = Reply((Media(PNG, "image/png"), Text("A cat.")))
    result = await rc.Agent(ScriptedModel([drawn])).run("Draw a cat.")
    assert [media.about for media in result.media] == ["image/png, 29 bytes"]
    assert rc.RunResult.from_json(result.to_json()).media[0].data == PNG
