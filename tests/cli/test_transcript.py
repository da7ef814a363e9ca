"""A conversation into a file, and back."""

import json
from pathlib import Path

import pytest

from rightcall.cli.load import load_transcript, save_transcript
from rightcall.core.message import Reasoning, Reply, Results, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.errors import UsageError

TALK = (
    User((Text("Look: "), Media(b"\x00\xff", "image/png", "cat.png"))),
    Reply((Reasoning("Hm.", {"anthropic": {"signature": "x"}}), Call(id="1", name="look")), "calls"),
    Results((Result(call_id="1", name="look", outcome="returned", content=(Text("naïve 漢字"),)),)),
    Reply((Text("A cat."),)),
)


def test_what_is_saved_is_what_is_loaded(tmp_path):
    save_transcript(TALK, tmp_path / "talk.json")
    assert load_transcript(tmp_path / "talk.json") == TALK
    assert [path.name for path in tmp_path.iterdir()] == ["talk.json"]


def test_a_conversation_in_a_vendors_shape_is_loaded(tmp_path):
    given = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a cat"}]},
    ]
    (tmp_path / "talk.json").write_text(json.dumps(given))
    first, asked, reply, results = load_transcript(tmp_path / "talk.json")
    assert (first, asked) == (user_text("Be brief.", "developer"), user_text("Look"))
    assert (reply.calls[0].name, results.results[0].text) == ("look", "a cat")


def test_half_a_character_is_replaced_and_the_rest_is_kept(tmp_path):
    save_transcript((user_text("half \ud83d"),), tmp_path / "talk.json")
    assert load_transcript(tmp_path / "talk.json") == (user_text("half ?"),)


def test_a_call_without_a_result_gets_one(tmp_path):
    save_transcript(TALK[:2], tmp_path / "talk.json")
    *_, results = load_transcript(tmp_path / "talk.json")
    assert [result.outcome for result in results.results] == ["interrupted"]


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[1]", b'[{"type": "user"}]', b'[{"type": "nosuch"}]', b"\xff", b"[" * 100_000],
    ids=["empty", "object", "number", "no-content", "unknown", "not-utf-8", "deep"],
)
def test_a_file_that_holds_something_else_is_said_to(tmp_path, text):
    (tmp_path / "talk.json").write_bytes(text)
    with pytest.raises(UsageError, match="does not hold a conversation"):
        load_transcript(tmp_path / "talk.json")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    (tmp_path / "talk.json").mkdir()
    with pytest.raises(UsageError, match=r"talk.json cannot be written: Is a directory"):
        save_transcript(TALK, tmp_path / "talk.json")
    assert [path.name for path in tmp_path.iterdir()] == ["talk.json"]


def test_a_saved_conversation_is_json_that_others_can_read(tmp_path):
    save_transcript((user_text("Hello"),), Path(tmp_path / "talk.json"))
    written = json.loads((tmp_path / "talk.json").read_text())
    assert written == [{"type": "user", "content": [{"type": "text", "text": "Hello"}]}]
