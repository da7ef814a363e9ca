"""Bedrock's replies: what is rare in them, what breaks off, and what breaks the form."""

import json
from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core.events import CallEnd, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply, Unknown, user_text
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, RightcallError, TruncatedStream, VendorError
from rightcall.wire import bedrock
from wire.bedrock.frames import error, exception, frame, of_kind
from wire.recorded import fed, reply_of, same_at_every_cut

START = frame("messageStart", {"role": "assistant"})
COUNTS = frame("metadata", {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}})


def stop(reason: str = "end_turn", **more: object) -> bytes:
    return frame("messageStop", {"stopReason": reason, **more})


def start(at: int, **what: object) -> bytes:
    return frame("contentBlockStart", {"start": what, "contentBlockIndex": at})


def delta(at: int, **what: object) -> bytes:
    return frame("contentBlockDelta", {"delta": what, "contentBlockIndex": at})


def end(at: int) -> bytes:
    return frame("contentBlockStop", {"contentBlockIndex": at})


def decoded(*frames: bytes, reason: str = "end_turn"):
    return reply_of(same_at_every_cut(bedrock, b"".join([START, *frames, stop(reason), COUNTS])))


def whole(*content: object, reason: str = "end_turn", **more: object):
    value = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason}
    return bedrock.decode(json.dumps({**value, **more}).encode())


STOPS = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "some_new_word": "end",
}


@pytest.mark.parametrize(("word", "stop_reason"), STOPS.items())
def test_why_it_stopped(word, stop_reason):
    for reply in (decoded(delta(0, text="Hi"), reason=word), whole({"text": "Hi"}, reason=word)):
        assert (reply.stop, reply.stop_word, reply.text) == (stop_reason, word, "Hi")


def test_the_counts_may_come_before_the_end_or_not_at_all():
    early = reply_of(fed(bedrock.Decoder(), START, delta(0, text="a"), COUNTS, stop()))
    assert early.usage == Usage(input_tokens=3, output_tokens=4)
    assert reply_of(fed(bedrock.Decoder(), delta(0, text="a"), stop())).usage == Usage()


def test_the_reply_is_told_with_its_counts_and_what_follows_is_no_part_of_it():
    decoder = bedrock.Decoder()
    assert decoder.feed(START + delta(0, text="a") + stop()) == (TextDelta("a"),)
    (told,) = decoder.feed(COUNTS + delta(0, text="late") + exception("throttlingException", {}))
    assert isinstance(told, ReplyEnd)
    assert decoder.finish() == ()


def test_a_call_is_over_as_soon_as_the_model_stops_for_it():
    decoder = bedrock.Decoder()
    decoder.feed(START + start(0, toolUse={"toolUseId": "c", "name": "look"}) + end(0))
    (over,) = decoder.feed(stop("tool_use"))
    assert over == CallEnd(0, Call(id="c", name="look", arguments="{}"))


def test_a_call_that_may_be_cut_off_does_not_end():
    frames = (start(0, toolUse={"toolUseId": "c", "name": "look"}), delta(0, toolUse={"input": "{}"}))
    reply = decoded(*frames, end(0), reason="max_tokens")
    assert reply.calls == (Call(id="c", name="look", arguments="{}", truncated=True),)
    reply = decoded(*frames, end(0), delta(1, text="And"), reason="max_tokens")
    assert [call.truncated for call in reply.calls] == [False]


def test_arguments_stay_as_they_were_written():
    given = '{ "b":1.50,  "a":[] }'
    body = (
        '{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"toolUseId":"c","name":"n","input":'
    )
    (call,) = bedrock.decode(f'{body}{given}}}}}]}}}},"stopReason":"tool_use"}}'.encode()).calls
    assert call.arguments == given


def test_thoughts_keep_their_signature_and_hidden_ones_what_hides_them():
    halves = [b64encode(b"ab").decode(), b64encode(b"cde").decode()]
    reply = decoded(
        delta(0, reasoningContent={"text": "Hm"}),
        delta(0, reasoningContent={"signature": "s1"}),
        end(0),
        delta(1, reasoningContent={"redactedContent": halves[0]}),
        delta(1, reasoningContent={"redactedContent": halves[1]}),
        end(1),
        delta(2, reasoningContent={"text": "unsigned"}),
    )
    assert reply.content == (
        Reasoning("Hm", {"bedrock": {"signature": "s1"}}),
        Reasoning("", {"bedrock": {"redactedContent": b64encode(b"abcde").decode()}}),
        Reasoning("unsigned"),
    )


CITED = {"title": "T", "location": {"documentChar": {"documentIndex": 0, "start": 1, "end": 2}}}


def test_citations_stay_with_their_text():
    text = Text("So.", {"bedrock": {"citations": [CITED]}})
    assert decoded(delta(0, text="So."), delta(0, citation=CITED)).content == (text,)
    block = {"citationsContent": {"content": [{"text": "So."}], "citations": [CITED]}}
    assert whole(block).content == (text,)


def test_a_picture_comes_back_as_media():
    first, second = (b64encode(part).decode() for part in (b"abcd", b"ef"))
    reply = decoded(
        start(0, image={"format": "jpeg"}),
        delta(0, image={"source": {"bytes": first}}),
        delta(0, image={"source": {"bytes": second}}),
        end(0),
    )
    assert reply.content == (Media(b"abcdef", "image/jpeg"),)
    assert whole({"image": {"format": "png", "source": {"bytes": first}}}).content == (
        Media(b"abcd", "image/png"),
    )
    broken = {"format": "png", "source": {"bytes": "%%%"}}
    assert whole({"image": broken}).content == (Unknown({"bedrock": {"image": broken}}),)


SERVERS = {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}
FOUND = {"toolUseId": "s", "type": "nova_grounding_result", "status": "success"}


def test_what_bedrock_runs_itself_is_kept_and_never_called():
    reply = decoded(
        start(0, toolUse=SERVERS),
        delta(0, toolUse={"input": '{"q":'}),
        delta(0, toolUse={"input": '"x"}'}),
        end(0),
        start(1, toolResult=FOUND),
        delta(1, toolResult=[{"text": "a"}]),
        delta(1, toolResult=[{"json": {"b": 1}}]),
        end(1),
        delta(2, text="Done."),
    )
    use = {"toolUse": {**SERVERS, "input": {"q": "x"}}}
    result = {"toolResult": {**FOUND, "content": [{"text": "a"}, {"json": {"b": 1}}]}}
    assert reply.content == (Unknown({"bedrock": use}), Unknown({"bedrock": result}), Text("Done."))
    assert whole(use, result, {"text": "Done."}).content == reply.content
    assert (reply.calls, reply.stop) == ((), "end")


def test_what_is_said_besides_is_kept():
    trace = {"guardrail": {"actionReason": "blocked"}, "promptRouter": {"invokedModelId": "arn:m"}}
    usage = {"inputTokens": 1, "outputTokens": 1, "cacheDetails": [{"ttl": "1h", "inputTokens": 5}]}
    reply = whole({"text": "x"}, trace=trace, usage=usage, metrics={"latencyMs": 9})
    assert reply.model == "arn:m"
    bag = {"trace": trace, "metrics": {"latencyMs": 9}, "usage": {"cacheDetails": usage["cacheDetails"]}}
    assert reply.vendor == {"bedrock": bag}
    fields = {"delta": {"stop_sequence": "END"}}
    streamed = reply_of(fed(bedrock.Decoder(), stop(additionalModelResponseFields=fields), COUNTS))
    assert streamed.vendor == {"bedrock": {"additionalModelResponseFields": fields}}


EXCEPTIONS = {
    "throttlingException": (429, True, "rate_limit"),
    "modelNotReadyException": (429, True, "overloaded"),
    "serviceUnavailableException": (503, True, "overloaded"),
    "internalServerException": (500, True, "server"),
    "modelStreamErrorException": (None, True, "server"),
    "modelTimeoutException": (408, True, "timeout"),
    "modelErrorException": (424, False, "server"),
    "validationException": (400, False, "bad_request"),
    "resourceNotFoundException": (404, False, "not_found"),
    "accessDeniedException": (403, False, "auth"),
    "expiredTokenException": (None, False, "auth"),
    "someNewException": (None, False, "server"),
}


@pytest.mark.parametrize(("kind", "meaning"), EXCEPTIONS.items())
def test_an_exception_in_the_stream_is_a_refusal(kind, meaning):
    with pytest.raises(VendorError, match="So it is") as caught:
        fed(bedrock.Decoder(), START, exception(kind, {"message": "So it is"}))
    refusal = caught.value
    assert (refusal.status, refusal.retryable, refusal.kind) == meaning
    assert refusal.body == '{"message":"So it is"}'
    assert refusal.vendor_code == kind[0].upper() + kind[1:]


def test_an_exception_without_a_body_or_of_words_is_one_too():
    with pytest.raises(VendorError, match="ThrottlingException, and the vendor did not say why"):
        fed(bedrock.Decoder(), of_kind("exception", "throttlingException", b""))
    assert bedrock.error(403, {}, b'{"Message": "Not you"}').message == "Not you"
    with pytest.raises(VendorError, match="Busy"):
        fed(bedrock.Decoder(), of_kind("exception", "throttlingException", b"Busy"))


def test_an_error_of_the_framing_is_a_refusal():
    with pytest.raises(VendorError, match="Something broke") as caught:
        fed(bedrock.Decoder(), START, error("InternalServerException", "Something broke"))
    assert (caught.value.status, caught.value.retryable) == (500, True)


@pytest.mark.parametrize(
    ("named", "code"),
    [
        ("ThrottlingException", "ThrottlingException"),
        ("ThrottlingException:http://internal.amazon.com/coral/", "ThrottlingException"),
        ("com.amazon.coral.service#ThrottlingException", "ThrottlingException"),
    ],
)
def test_over_http_a_header_names_the_kind_and_the_request(named, code):
    headers = {"x-amzn-ErrorType": named, "x-amzn-RequestId": "r-1", "retry-after": "2"}
    refusal = bedrock.error(429, headers, b'{"message": "Too many requests"}')
    assert str(refusal) == f"HTTP 429 {code}: Too many requests (retry after 2 s; request r-1)"
    assert (refusal.message, refusal.vendor_code) == ("Too many requests", code)
    assert (refusal.retryable, refusal.retry_after, refusal.request_id) == (True, 2.0, "r-1")
    assert (refusal.kind, refusal.body) == ("rate_limit", '{"message":"Too many requests"}')


WORDS = {
    "Input is too long for requested model.": ("ValidationException", 400, "context_overflow"),
    "The model returned the following errors: prompt is too long: 9 tokens > 8 maximum": (
        "ValidationException",
        400,
        "context_overflow",
    ),
    "Too many input tokens. Max input tokens: 8192, request input token count: 9000": (
        "ValidationException",
        400,
        "context_overflow",
    ),
    "too many total text bytes: 30000000 > 25000000": ("ValidationException", 400, "context_overflow"),
    "The provided model identifier is invalid.": ("ValidationException", 400, "not_found"),
    "temperature must be at most 1": ("ValidationException", 400, "bad_request"),
    "Too many tokens, please wait before trying again.": ("ThrottlingException", 429, "rate_limit"),
    "Too many tokens per day, please wait before trying again.": ("ThrottlingException", 429, "quota"),
    "The security token included in the request is expired": ("ExpiredTokenException", 403, "auth"),
    "The security token included in the request is invalid.": (
        "UnrecognizedClientException",
        403,
        "auth",
    ),
    "Bedrock is unable to process your request.": ("ServiceUnavailableException", 503, "overloaded"),
}


@pytest.mark.parametrize(("words", "refused"), WORDS.items())
def test_a_refusal_has_the_kind_that_it_would_have_elsewhere(words, refused):
    code, status, kind = refused
    body = json.dumps({"message": words}).encode()
    refusal = bedrock.error(status, {"x-amzn-errortype": code}, body)
    assert (refusal.kind, refusal.vendor_code, refusal.status) == (kind, code, status)
    # What is used up for the day does not come back by waiting a little.
    assert refusal.retryable == (status in (429, 503) and kind != "quota")
    with pytest.raises(VendorError) as caught:
        fed(bedrock.Decoder(), of_kind("exception", code[0].lower() + code[1:], body))
    assert (caught.value.kind, caught.value.retryable) == (kind, refusal.retryable)


def test_over_http_the_status_goes_before_the_kind():
    headers = {"x-amzn-errortype": "ModelErrorException"}
    refusal = bedrock.error(424, headers, b'{"message": "no", "originalStatusCode": 503}')
    assert (refusal.status, refusal.retryable) == (424, False)


BROKEN = {
    "no JSON": of_kind("event", "contentBlockDelta", b"{"),
    "another form": of_kind("event", "contentBlockDelta", b'{"delta": {"text": 5}}'),
    "no delta": of_kind("event", "contentBlockDelta", b"{}"),
    "a list": of_kind("event", "messageStop", b"[]"),
    "no text": of_kind("event", "contentBlockDelta", b'{"delta": {"text": "\xff"}}'),
    "arguments for nobody": delta(4, toolUse={"input": "{"}),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_breaks_the_form_is_the_vendors_fault(broken):
    with pytest.raises(ProtocolError):
        fed(bedrock.Decoder(), START, broken, stop())


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"output": {}}', b'{"output": {"message": {"content": [1]}}}']
)
def test_a_body_that_is_no_reply_is_not_taken_for_one(body):
    with pytest.raises(ProtocolError):
        bedrock.decode(body)


def test_half_a_body_is_truncated():
    with pytest.raises(TruncatedStream):
        bedrock.decode(b'{"output": {"mess')


def test_a_whole_reply_in_place_of_a_stream_is_read():
    value = {"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}
    body = json.dumps(value).encode()
    assert reply_of(fed(bedrock.Decoder(), body[:9], body[9:])).text == "Hi"
    with pytest.raises(VendorError, match="no such model"):
        fed(bedrock.Decoder(), b'{"message": "no such model"}')


def test_many_deltas_cost_as_much_each_as_a_few():
    """No delta looks at those before it: the blocks keep pieces, and join them once."""
    decoder = bedrock.Decoder()
    decoder.feed(START + start(0, toolUse={"toolUseId": "c", "name": "n"}))
    piece = delta(0, toolUse={"input": "abc "})
    for _ in range(2000):
        assert len(decoder.feed(piece)) == 1
    decoder.feed(stop("tool_use"))
    (told,) = decoder.finish()
    assert told.reply.calls[0].arguments == "abc " * 2000


SCRAPS = st.sampled_from([
    None, 0, True, 1.5, "x", [], {}, [{}], {"text": "t"}, {"toolUse": None}, {"toolUse": []},
    {"toolUse": {"toolUseId": 1, "name": []}}, {"toolUse": {"input": "{"}}, {"image": {"format": 1}},
    {"toolUse": {"type": "server_tool_use"}}, {"reasoningContent": {"text": "x"}}, {"citation": 3},
    {"image": {"source": {"bytes": 5}}}, {"toolResult": 5}, {"citationsContent": None}, {"x": 1},
])  # fmt: skip
EVENTS = st.tuples(
    st.sampled_from(["contentBlockStart", "contentBlockDelta", "contentBlockStop", "metadata", "other"]),
    st.dictionaries(
        st.sampled_from(["start", "delta", "contentBlockIndex", "stopReason", "usage", "trace"]), SCRAPS
    ),
)


@given(st.lists(EVENTS, max_size=6), st.lists(SCRAPS, max_size=4), SCRAPS)
def test_any_scraps_are_a_reply_that_can_go_back_or_the_vendors_fault(events, blocks, scrap):
    frames = [of_kind("event", name, json.dumps(payload).encode()) for name, payload in events]
    value = {"output": {"message": {"content": blocks}}, "stopReason": scrap, "usage": scrap}
    with suppress(RightcallError):
        given_back(reply_of(fed(bedrock.Decoder(), *frames, stop())))
    with suppress(RightcallError):
        given_back(bedrock.decode(json.dumps(value).encode()))


def given_back(reply: Reply) -> bytes:
    request = Request(messages=(user_text("Hi"), reply, user_text("On.")))
    return bedrock.encode(request, model="anthropic.claude", stream=True).body
