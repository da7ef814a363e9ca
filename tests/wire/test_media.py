"""Media in a prompt and in results: each dialect's own part for each kind and way, or a clear no."""

import json
from importlib import import_module
from typing import Any

import pytest
from pydantic import TypeAdapter

from rightcall.core.message import Reply, Results, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.dialects import DIALECTS, load
from rightcall.wire.media import MediaTable
from rightcall.wire.openai_chat.messages import BRIDGE, FOLLOWING

PNG = Media(b"\x89PNG", "image/png", "a.png")
PDF = Media(b"%PDF-", "application/pdf", "a.pdf")
TEXT = Media(b"hi", "text/plain", "a.txt")
SOUND = Media(b"RIFF", "audio/wav")
VIDEO = Media(b"\0\0\0", "video/mp4")
B64 = {"png": "iVBORw==", "pdf": "JVBERi0=", "wav": "UklGRg==", "txt": "aGk=", "mp4": "AAAA"}


def at(kind: str, name: str = "x") -> Media:
    return Media(b"", kind, url=f"https://example.com/{name}")


def named(kind: str) -> Media:
    return Media(b"", kind, id="file_1")


MEDIA = {
    "png": PNG,
    "png at": at("image/png"),
    "image at": at("image/*"),
    "image id": named("image/*"),
    "pdf": PDF,
    "pdf at": at("application/pdf"),
    "pdf id": named("application/pdf"),
    "text": TEXT,
    "text id": named("text/plain"),
    "file at": at("application/octet-stream"),
    "file id": named("application/octet-stream"),
    "sound": SOUND,
    "sound at": at("audio/wav"),
    "video": VIDEO,
    "video at": at("video/mp4"),
    "bytes": Media(b"\0\1"),
    "docx": Media(b"PK", "application/msword", "a.doc"),
    "tiff": Media(b"II", "image/tiff"),
}


def url(kind: str, data: str) -> str:
    return f"data:{kind};base64,{data}"


def chat_file(**members: str) -> dict[str, Any]:
    return {"type": "file", "file": members}


def document(source: dict[str, str], **more: str) -> dict[str, Any]:
    return {"type": "document", "source": source, **more}


def input_file(**members: str) -> dict[str, Any]:
    return {"type": "input_file", **members}


def file_data(place: str, kind: str = "") -> dict[str, Any]:
    return {"fileData": {**({"mimeType": kind} if kind else {}), "fileUri": place}}


def converse(member: str, form: str, data: str, **more: str) -> dict[str, Any]:
    return {member: {"format": form, **more, "source": {"bytes": data}}}


def content(type_: str, mime_type: str = "", **more: str) -> dict[str, Any]:
    return {"type": type_, **({"mime_type": mime_type} if mime_type else {}), **more}


X = "https://example.com/x"
FILE = {"type": "file", "file_id": "file_1"}
EXPECTED: dict[str, dict[str, Any]] = {
    "openai_chat": {
        "png": {"type": "image_url", "image_url": {"url": url("image/png", B64["png"])}},
        "png at": {"type": "image_url", "image_url": {"url": X}},
        "image at": {"type": "image_url", "image_url": {"url": X}},
        "pdf": chat_file(filename="a.pdf", file_data=url("application/pdf", B64["pdf"])),
        "pdf id": chat_file(file_id="file_1"),
        "text": {"type": "text", "text": "a.txt:\nhi"},
        "text id": chat_file(file_id="file_1"),
        "file id": chat_file(file_id="file_1"),
        "sound": {"type": "input_audio", "input_audio": {"data": B64["wav"], "format": "wav"}},
        "docx": chat_file(filename="a.doc", file_data=url("application/msword", "UEs=")),
        "tiff": {"type": "image_url", "image_url": {"url": url("image/tiff", "SUk=")}},
    },
    "openai_responses": {
        "png": {"type": "input_image", "detail": "auto", "image_url": url("image/png", B64["png"])},
        "png at": {"type": "input_image", "detail": "auto", "image_url": X},
        "image at": {"type": "input_image", "detail": "auto", "image_url": X},
        "image id": {"type": "input_image", "detail": "auto", "file_id": "file_1"},
        "pdf": input_file(filename="a.pdf", file_data=url("application/pdf", B64["pdf"])),
        "pdf at": input_file(file_url=X),
        "pdf id": input_file(file_id="file_1"),
        "text": input_file(filename="a.txt", file_data=url("text/plain", B64["txt"])),
        "text id": input_file(file_id="file_1"),
        "file at": input_file(file_url=X),
        "file id": input_file(file_id="file_1"),
        "docx": input_file(filename="a.doc", file_data=url("application/msword", "UEs=")),
        "tiff": {"type": "input_image", "detail": "auto", "image_url": url("image/tiff", "SUk=")},
    },
    "anthropic": {
        "png": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": B64["png"]},
        },
        "png at": {"type": "image", "source": {"type": "url", "url": X}},
        "image at": {"type": "image", "source": {"type": "url", "url": X}},
        "image id": {"type": "image", "source": FILE},
        "pdf": document(
            {"type": "base64", "media_type": "application/pdf", "data": B64["pdf"]}, title="a.pdf"
        ),
        "pdf at": document({"type": "url", "url": X}),
        "pdf id": document(FILE),
        "text": document({"type": "text", "media_type": "text/plain", "data": "hi"}, title="a.txt"),
        "text id": document(FILE),
        "file at": document({"type": "url", "url": X}),
        "file id": document(FILE),
    },
    "gemini": {
        "png": {"inlineData": {"mimeType": "image/png", "data": B64["png"]}},
        "png at": file_data(X, "image/png"),
        "image at": file_data(X),
        "image id": file_data("file_1"),
        "pdf": {"inlineData": {"mimeType": "application/pdf", "data": B64["pdf"]}},
        "pdf at": file_data(X, "application/pdf"),
        "pdf id": file_data("file_1", "application/pdf"),
        "text": {"inlineData": {"mimeType": "text/plain", "data": B64["txt"]}},
        "text id": file_data("file_1", "text/plain"),
        "file at": file_data(X),
        "file id": file_data("file_1"),
        "sound": {"inlineData": {"mimeType": "audio/wav", "data": B64["wav"]}},
        "sound at": file_data(X, "audio/wav"),
        "video": {"inlineData": {"mimeType": "video/mp4", "data": B64["mp4"]}},
        "video at": file_data(X, "video/mp4"),
        "tiff": {"inlineData": {"mimeType": "image/tiff", "data": "SUk="}},
    },
    "gemini_interactions": {
        "png": content("image", "image/png", data=B64["png"]),
        "png at": content("image", "image/png", uri=X),
        "image at": content("image", uri=X),
        "image id": content("image", uri="file_1"),
        "pdf": content("document", "application/pdf", data=B64["pdf"]),
        "pdf at": content("document", "application/pdf", uri=X),
        "pdf id": content("document", "application/pdf", uri="file_1"),
        "text": {"type": "text", "text": "a.txt:\nhi"},
        "file at": content("document", uri=X),
        "file id": content("document", uri="file_1"),
        "sound": content("audio", "audio/wav", data=B64["wav"]),
        "sound at": content("audio", "audio/wav", uri=X),
        "video": content("video", "video/mp4", data=B64["mp4"]),
        "video at": content("video", "video/mp4", uri=X),
        "docx": content("document", "application/msword", data="UEs="),
        "tiff": content("image", "image/tiff", data="SUk="),
    },
    "cohere": {
        "png": {"type": "image_url", "image_url": {"url": url("image/png", B64["png"])}},
        "png at": {"type": "image_url", "image_url": {"url": X}},
        "image at": {"type": "image_url", "image_url": {"url": X}},
        "text": {"type": "text", "text": "a.txt:\nhi"},
    },
    "ollama": {"png": B64["png"], "tiff": "SUk=", "text": "a.txt:\nhi"},
    "bedrock": {
        "png": converse("image", "png", B64["png"]),
        "pdf": converse("document", "pdf", B64["pdf"], name="a pdf"),
        "text": converse("document", "txt", B64["txt"], name="a txt"),
        "sound": converse("audio", "wav", B64["wav"]),
        "video": converse("video", "mp4", B64["mp4"]),
        "docx": converse("document", "doc", "UEs=", name="a doc"),
    },
}
"""What each is sent as. What is not here must be refused."""

every_dialect = pytest.mark.parametrize("name", DIALECTS)


def body(name: str, *messages: Any, host: str = "") -> dict[str, Any]:
    request = Request(messages=messages, options={"cache": False})
    sent = load(name, host).encode(request, model="gemini-3-pro", stream=False)
    found: dict[str, Any] = json.loads(sent.body)
    return found


def turns(name: str, sent: dict[str, Any]) -> list[Any]:
    members = {"openai_responses": "input", "gemini_interactions": "input", "gemini": "contents"}
    member = members.get(name, "messages")
    found: list[Any] = sent[member]
    return found


def parts_of(turn: dict[str, Any]) -> list[Any]:
    if isinstance(turn.get("content"), str):
        # Ollama's words are one text, and pictures stand beside them.
        return [*turn["content"].split("\n", 1), *turn.get("images", ())]
    found: list[Any] = turn.get("parts") or turn["content"]
    return found


@every_dialect
@pytest.mark.parametrize("kind", MEDIA)
def test_a_prompt_with_media_has_the_part_of_its_dialect_or_is_refused(name, kind):
    message = User((Text("See"), MEDIA[kind]))
    if kind in EXPECTED[name]:
        (turn,) = turns(name, body(name, message))
        assert parts_of(turn)[1] == EXPECTED[name][kind]
        return
    with pytest.raises(EncodeError) as caught:
        body(name, user_text("Hi"), Reply((Text("Ho"),)), message)
    assert caught.value.where == "messages[2]"
    assert MEDIA[kind].media_type in str(caught.value)
    # What was answered before, perhaps by another vendor, is named and does not stand in the way.
    answered = turns(name, body(name, message, Reply((Text("Ho"),)), user_text("Go on")))
    assert MEDIA[kind].about in json.dumps(parts_of(answered[0]))


@every_dialect
def test_the_table_is_what_the_encoder_does(name):
    table: MediaTable = import_module(f"rightcall.wire.{name}.tables").MEDIA
    allowed = {
        kind
        for kind, media in MEDIA.items()
        if media.kind in table
        and media.way in table[media.kind].ways
        and (media.url or "").startswith(table[media.kind].scheme if media.url else "")
        and (not table[media.kind].types or media.media_type in table[media.kind].types | {"image/*"})
    }
    # Video is in the table of Chat for hosts that imitate OpenAI, and not for OpenAI.
    assert allowed - {"video", "video at"} == set(EXPECTED[name]) - {"video", "video at"}


@pytest.mark.parametrize(
    ("name", "adapter"),
    [
        ("openai_chat", "openai.types.chat:ChatCompletionContentPartParam"),
        ("openai_responses", "openai.types.responses:ResponseInputContentParam"),
        ("anthropic", "anthropic.types:ContentBlockParam"),
        ("gemini", "google.genai.types:Part"),
        ("gemini_interactions", "google.genai._gaos.types.interactions:Content"),
    ],
)
def test_the_official_types_know_every_part(name, adapter):
    module, kind = adapter.split(":")
    check = TypeAdapter(getattr(import_module(module), kind))
    for part in EXPECTED[name].values():
        read = check.dump_python(
            check.validate_python(part), mode="json", by_alias=True, exclude_none=True
        )
        assert {"inline_data", "file_data", *part} & set(read)


def test_a_file_id_asks_anthropic_for_the_beta_and_nothing_else_does():
    encode = load("anthropic").encode
    for media, beta in ((named("image/*"), "files-api-2025-04-14"), (PNG, None)):
        call = Call(id="a", name="see", arguments="{}")
        result = Result(call_id="a", name="see", outcome="returned", content=(media,))
        for messages in ((User((media,)),), (user_text("Hi"), Reply((call,)), Results((result,)))):
            sent = encode(Request(messages=messages), model="m", stream=False)
            assert sent.headers.get("anthropic-beta") == beta


def test_a_file_of_gemini_is_named_in_full():
    media = Media(b"", "video/mp4", id="files/abc")
    (turn,) = turns("gemini", body("gemini", User((media,))))
    assert turn["parts"][0]["fileData"]["fileUri"].endswith("googleapis.com/v1beta/files/abc")


@every_dialect
def test_what_a_vendor_wants_said_besides_goes_with_it(name):
    own = {"gemini": {"mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}}, "ollama": {}}
    bag = own.get(name, {"detail": "low"})
    media = Media(PNG.data, "image/png", vendor={name: bag, "elsewhere": {"no": 1}})
    (turn,) = turns(name, body(name, User((media,))))
    text = json.dumps(turn)
    assert all(f'"{key}"' in text for key in bag)
    assert '"no"' not in text


def asked(*content: tuple[Any, ...], outcome: str = "returned", source: str | None = None) -> list[Any]:
    """A user's question, a reply with a call for each content, and their results."""
    ids = "abcdefghi"[: len(content)]
    calls = tuple(Call(id=each, name=f"see_{each}", arguments="{}") for each in ids)
    results = tuple(
        Result(call_id=each, name=f"see_{each}", outcome=outcome, content=parts, source=source)  # type: ignore[arg-type]
        for each, parts in zip(ids, content, strict=True)
    )
    return [user_text("Look"), Reply(calls), Results(results)]


def test_on_chat_media_follow_all_results_in_one_message_that_says_whose_they_are():
    messages = asked((Text("One"), PNG), (Text("Two"),), (at("image/png"), PDF))
    sent = turns("openai_chat", body("openai_chat", *messages, user_text("And?")))
    assert [turn["role"] for turn in sent] == [
        "user", "assistant", "tool", "tool", "tool", "user", "user",
    ]  # fmt: skip
    assert sent[2]["content"] == ("One\n[image/png 'a.png', 4 bytes: in the message after the results]")
    assert sent[5]["content"] == [
        {"type": "text", "text": FOLLOWING},
        {"type": "text", "text": "From see_a (a):"},
        EXPECTED["openai_chat"]["png"],
        {"type": "text", "text": "From see_c (c):"},
        EXPECTED["openai_chat"]["png at"],
        EXPECTED["openai_chat"]["pdf"],
    ]
    assert sent[6]["content"] == "And?"


def test_on_chat_an_outsiders_picture_is_called_so():
    sent = turns("openai_chat", body("openai_chat", *asked((PNG,), source="see_a")))
    assert sent[-1]["content"][1]["text"] == "From see_a (a); outsiders could have made it:"


def test_on_chat_a_file_of_text_is_words_and_what_cannot_be_shown_is_named():
    sent = turns("openai_chat", body("openai_chat", *asked((TEXT, VIDEO))))
    assert sent[-1] == {
        "role": "tool",
        "tool_call_id": "a",
        "content": "a.txt:\nhi\n[video/mp4, 3 bytes: not shown]",
    }


def test_mistral_has_a_word_of_the_models_between_results_and_pictures():
    # It refuses a user's message right after a tool's, be it with pictures or without.
    host = "https://api.mistral.ai/v1"
    for messages in (asked((PNG,)), [*asked((Text("x"),)), user_text("And?")]):
        sent = turns("openai_chat", body("openai_chat", *messages, host=host))
        assert [turn["role"] for turn in sent] == ["user", "assistant", "tool", "assistant", "user"]
        assert sent[-2]["content"] == BRIDGE


def test_deepseek_has_words_in_their_place():
    host = "https://api.deepseek.com"
    sent = turns("openai_chat", body("openai_chat", *asked((PNG,)), host=host))
    assert sent[-1]["content"] == "[image/png 'a.png', 4 bytes: not shown]"
    with pytest.raises(EncodeError, match=r"image/png cannot be sent; text can"):
        body("openai_chat", User((PNG,)), host=host)


def test_a_server_that_imitates_openai_gets_video():
    (turn,) = turns("openai_chat", body("openai_chat", User((VIDEO,)), host="http://localhost:8000/v1"))
    assert turn["content"] == [{"type": "video_url", "video_url": {"url": url("video/mp4", "AAAA")}}]


def test_anthropic_and_responses_have_them_in_the_result():
    for media in (PNG, at("image/png"), PDF, named("application/pdf")):
        kind = next(kind for kind, each in MEDIA.items() if each == media)
        messages = asked((Text("x"), media))
        (block,) = turns("anthropic", body("anthropic", *messages))[-1]["content"]
        assert block["content"][1] == EXPECTED["anthropic"][kind]
        item = turns("openai_responses", body("openai_responses", *messages))[-1]
        assert item["output"][1] == EXPECTED["openai_responses"][kind]


@pytest.mark.parametrize("name", ["anthropic", "openai_responses"])
def test_a_result_that_cannot_be_shown_is_named_and_ends_nothing(name):
    sent = body(name, *asked((VIDEO,)))
    assert "[video/mp4, 3 bytes: not shown]" in json.dumps(turns(name, sent)[-1])


def test_gemini_holds_some_in_the_response_and_the_rest_follows():
    sent = turns("gemini", body("gemini", *asked((PNG,), (at("image/png"),), (VIDEO,))))[-1]["parts"]
    assert sent[0]["functionResponse"]["parts"] == [EXPECTED["gemini"]["png"]]
    assert sent[1]["functionResponse"]["response"]["media"] == ["image/png"]
    assert sent[3:] == [
        {"text": "From see_b (b):"},
        EXPECTED["gemini"]["png at"],
        {"text": "From see_c (c):"},
        EXPECTED["gemini"]["video"],
    ]
