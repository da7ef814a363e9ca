"""``rightcall debug sse``: what became of each event of a recorded stream."""

import json
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.kit import run
from rightcall.cli.main import main
from rightcall.cli.work.sse import decode_steps, guess_dialect, reply_in
from rightcall.core.events import ReplyEnd, TextDelta
from rightcall.core.message import Reply
from rightcall.errors import RightcallError
from rightcall.wire.dialects import DIALECTS as ALL
from wire.bedrock.frames import frame

CHAT = (
    b': hello\n\ndata: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
    b'id: 7\r\ndata: {"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]}'
    b"\r\n\r\ndata: [DONE]\n\n"
)
ANTHROPIC = (
    b'event: message_start\ndata: {"type": "message_start", "message": {"content": [], '
    b'"usage": {"input_tokens": 3}}}\n\n'
    b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, '
    b'"content_block": {"type": "tool_use", "id": "t1", "name": "add", "input": {}}}\n\n'
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, '
    b'"delta": {"type": "input_json_delta", "partial_json": "{\\"a\\": 1}"}}\n\n'
    b'event: content_block_stop\ndata: {"type": "content_block_stop", "index": 0}\n\n'
    b'event: message_delta\ndata: {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, '
    b'"usage": {"output_tokens": 9}}\n\n'
    b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
)
RESPONSES = b'event: response.created\ndata: {"type": "response.created", "response": {}}\n\n'
GEMINI = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}\r\n\r\n'
)
BEDROCK = (
    frame("contentBlockDelta", {"delta": {"text": "Hi"}, "contentBlockIndex": 0})
    + frame("messageStop", {"stopReason": "end_turn"})
    + frame("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2}})
)


COHERE = b'event: message-start\ndata: {"id": "r", "type": "message-start"}\n\n'


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (CHAT, "openai_chat"),
        (ANTHROPIC, "anthropic"),
        (RESPONSES, "openai_responses"),
        (GEMINI, "gemini"),
        (b"[" + GEMINI[6:].strip() + b"]", "gemini"),
        (BEDROCK, "bedrock"),
        (COHERE, "cohere"),
        (b'{"message": {"content": "Hi"}, "done": false}\n', "ollama"),
        (b'data: {"index": 0, "event_type": "step.stop"}\n\n', "gemini_interactions"),
        (b'event: ping\ndata: {"type": "ping"}\n\n', "anthropic"),
        (b"data: [DONE]\n\n", "openai_chat"),
        (b"data: hello\n\n", None),
        (b"", None),
        (b"\xff\x00garbage", None),
    ],
    ids=[
        "chat",
        "anthropic",
        "responses",
        "gemini",
        "array",
        "bedrock",
        "cohere",
        "ollama",
        "interactions",
        "ping",
        "done",
        "words",
        "none",
        "bytes",
    ],
)
def test_the_dialect_shows_in_the_first_events(data, dialect):
    assert guess_dialect(data) == dialect


def test_binary_messages_are_told_too():
    assert reply_in(decode_steps(BEDROCK, "bedrock")).text == "Hi"


def test_each_event_is_told_with_its_place_and_what_it_became():
    steps = list(decode_steps(CHAT, "openai_chat"))
    first, second, done = steps[:3]
    assert (first.offset, second.offset) == (CHAT.index(b"data"), CHAT.index(b"id: 7"))
    assert [step.event.id for step in (first, second, done)] == [None, "7", "7"]
    assert (first.became, second.became) == ((TextDelta("Hel"),), (TextDelta("lo"),))
    (end,) = [event for step in steps for event in step.became if isinstance(event, ReplyEnd)]
    assert (end.reply.text, end.reply.stop) == ("Hello", "end")


def test_the_offsets_are_where_the_events_are_whatever_the_line_ends():
    for line_end in (b"\n", b"\r\n", b"\r"):
        data = b"event: a\ndata: 1\n\n\n:c\n\nevent: b\ndata: 2\n\ndata: 3".replace(b"\n", line_end)
        steps = list(decode_steps(data, None))
        assert [(data[step.offset :].partition(line_end)[0], step.event.data) for step in steps] == [
            (b"event: a", b"1"),
            (b"event: b", b"2"),
            (b"data: 3", b"3"),
        ]


@pytest.fixture
def dump(home):
    def write(data: bytes) -> str:
        (home / "dump.sse").write_bytes(data)
        return "dump.sse"

    return write


def test_for_people_events_are_lines_and_the_reply_comes_last(dump, capsys):
    assert main(["sse", dump(ANTHROPIC)]) == 0
    events, _, end = capsys.readouterr().out.partition("\n\n")
    lines = events.splitlines()
    assert lines[0].split()[:2] == ["0", "message_start"]
    assert '          -> call_start {"index": 0, "id": "t1", "name": "add"}' in lines
    assert end == (
        'dialect: anthropic\nstop: calls (tool_use)\nusage: 3 tokens in, 9 out\ncall: add {"a": 1}\n'
    )


def test_json_is_one_line_per_event_and_the_reply_last(dump, capsys):
    assert main(["sse", "--json", dump(ANTHROPIC)]) == 0
    *events, end = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["name"] for event in events[:2]] == ["message_start", "content_block_start"]
    assert events[1] == {
        "offset": ANTHROPIC.index(b"event: content_block_start"),
        "name": "content_block_start",
        "id": None,
        "data": ANTHROPIC.split(b"\n\n")[1].partition(b"data: ")[2].decode(),
        "became": [{"event": "call_start", "index": 0, "id": "t1", "name": "add"}],
        "error": None,
    }
    assert (end["dialect"], end["error"]) == ("anthropic", None)
    assert end["reply"]["calls"] == [
        {"id": "t1", "name": "add", "arguments": '{"a": 1}', "truncated": False}
    ]


@pytest.mark.parametrize(
    ("data", "arguments", "words"),
    [
        (ANTHROPIC[:-60], [], "the stream ended in the middle of an event"),
        (ANTHROPIC.partition(b"event: message_stop")[0], [], "the stream ended before message_stop"),
        (b"data: {not json}\n\n", ["--dialect", "anthropic"], "an event that cannot be read"),
        (
            b'event: error\ndata: {"type": "error", "error": {"message": "Overloaded"}}\n\n',
            ["--dialect", "anthropic"],
            "Overloaded",
        ),
        (b"data: hello\n\n", [], "these events are in no known dialect; name it with --dialect"),
        (b"", [], "these events are in no known dialect; name it with --dialect"),
    ],
    ids=["cut", "truncated", "garbage", "refusal", "unknown", "empty"],
)
def test_a_stream_without_a_reply_says_why_and_exits_with_1(dump, data, arguments, words, capsys):
    assert main(["sse", dump(data), *arguments]) == 1
    assert words in capsys.readouterr().out.splitlines()[-1]


def test_events_after_an_error_are_still_shown(dump, capsys):
    data = b"data: {not json}\n\nevent: late\ndata: {}\n\n"
    assert main(["sse", dump(data), "--dialect", "openai_chat", "--json"]) == 1
    first, late, end = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first["error"]
    assert (late["name"], late["became"], late["error"]) == ("late", [], None)
    assert end["error"] == first["error"]


def test_a_dump_may_come_from_a_pipe(home):
    ran = run(home, "sse", stdin=CHAT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("text: Hello\n")


def test_a_dump_that_is_not_there_is_bad_usage(home, capsys):
    assert main(["sse", "absent.sse"]) == 2
    assert capsys.readouterr() == (
        "",
        "rightcall: absent.sse cannot be read: No such file or directory\n",
    )


def test_what_a_dump_says_reaches_no_terminal_as_a_command(dump, capsys):
    main(["sse", dump(CHAT.replace(b"Hel", b"\xc2\x9b2J\x1b[31m"))])
    assert not {"\x1b", "\x9b"} & set(capsys.readouterr().out)


DIALECTS = [*sorted(ALL), None]
pieces = st.sampled_from(
    b"data: |event: error\n|\n\n|\r|{|}|[DONE]|\xff|id: 1\n|"
    b'{"type": "message_start"}|{"choices": [{}]}|{"candidates": 5}|{"type":"response.completed"}'.split(
        b"|"
    )
)


@given(st.lists(pieces | st.binary(max_size=8), max_size=12).map(b"".join), st.sampled_from(DIALECTS))
def test_garbage_never_breaks_it(data, dialect):
    steps = list(decode_steps(data, dialect))
    assert reply_in(steps) is None or dialect is not None
    assert all(0 <= step.offset <= len(data) for step in steps)
    guess_dialect(data)


def whole(data: bytes, dialect: str) -> Reply | None:
    """The reply that the decoder gives for all of the bytes at once."""
    decoder = import_module(f"rightcall.wire.{dialect}").decoder()
    try:
        events = (*decoder.feed(data), *decoder.finish())
    except RightcallError:
        return None
    return events[-1].reply


def test_recorded_streams_are_recognised_and_come_to_the_same_reply_as_in_one_piece(shared_data):
    files = sorted((shared_data / "wire").glob("*.sse"))
    assert len(files) > 50
    for path in files:
        data = path.read_bytes()
        dialect = guess_dialect(data)
        assert dialect is not None, path.name
        assert reply_in(decode_steps(data, dialect)) == whole(data, dialect), path.name
