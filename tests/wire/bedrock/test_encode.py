"""Requests as Converse wants them, where our words and its models' do not fit one another."""

import json
from typing import Any

import pytest

from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import bedrock
from rightcall.wire.bedrock.tables import MAKERS, UNKNOWN, UNTOLD, maker_of

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEW_CLAUDE = "global.anthropic.claude-opus-4-6-v1"
NOVA = "amazon.nova-2-lite-v1:0"
LLAMA = "meta.llama3-1-70b-instruct-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2"
LOOK = Spec(name="look", description="Look.", parameters={"type": "object", "properties": {}})
CALLED = Reply((Call(id="c1", name="look", arguments='{"q": 1}'),), "calls")
FOUND = Results((Result(call_id="c1", name="look", outcome="returned", content=(Text("found"),)),))
HISTORY = (user_text("Hi"), CALLED, FOUND)
POINT = {"cachePoint": {"type": "default"}}


def sent(*messages: Any, model: str = CLAUDE, cache: bool = False, **how: Any) -> dict[str, Any]:
    options = {"cache": cache, **how.pop("options", {})}
    request = Request(messages=messages or (user_text("Hi"),), options=options, **how)
    body: dict[str, Any] = json.loads(bedrock.encode(request, model=model, stream=True).body)
    return body


def content(*parts: Any, **how: Any) -> list[dict[str, Any]]:
    return sent(User(parts), **how)["messages"][0]["content"]


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        (CLAUDE, MAKERS["anthropic"]),
        ("anthropic.claude-3-haiku-20240307-v1:0", MAKERS["anthropic"]),
        ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", MAKERS["anthropic"]),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2", MAKERS["anthropic"]),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-pro-v1:0", MAKERS["amazon"]),
        ("global.openai.gpt-5.6-sol", MAKERS["openai"]),
        (LLAMA, UNKNOWN),
        (PROFILE, UNTOLD),
    ],
)
def test_the_maker_stands_in_the_id(model, maker):
    assert maker_of(model) is maker


@pytest.mark.parametrize(("stream", "method"), [(True, "converse-stream"), (False, "converse")])
def test_the_model_is_in_the_path(stream, method):
    path = bedrock.encode(Request(messages=(user_text("Hi"),)), model="a.b:0/c", stream=stream).path
    assert path == f"/model/a.b%3A0%2Fc/{method}"


def test_settings_have_converses_words():
    body = sent(
        system="Be brief.",
        max_tokens=9,
        options={"temperature": 0.5, "top_p": 0.9, "stop": ["x"], "user": "u1", "seed": 4},
    )
    assert body == {
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"]},
        "requestMetadata": {"user": "u1"},
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    }


def test_extra_adds_to_what_is_there():
    extra = {
        "additionalModelRequestFields": {"top_k": 5},
        "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
        "inferenceConfig": {"topP": 0.1},
    }
    body = sent(max_tokens=5000, options={"extra": extra, "reasoning": 2000})
    assert body["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "top_k": 5,
    }
    assert body["inferenceConfig"] == {"maxTokens": 5000, "topP": 0.1}
    assert body["guardrailConfig"] == extra["guardrailConfig"]


REASONING = {
    "Claude, a word": (NEW_CLAUDE, "high", {"thinking": {"type": "adaptive"}}, {"effort": "high"}),
    "Claude, little": (NEW_CLAUDE, "minimal", {"thinking": {"type": "adaptive"}}, {"effort": "low"}),
    "an older Claude": (CLAUDE, "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}, None),
    "Claude, tokens": (CLAUDE, 9, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, None),
    "Claude, none": (CLAUDE, "none", {"thinking": {"type": "disabled"}}, None),
    "Nova": (NOVA, "max", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}, None),
    "Nova, none": (NOVA, "none", {"reasoningConfig": {"type": "disabled"}}, None),
    "gpt-oss": ("openai.gpt-oss-120b-1:0", "low", {"reasoning_effort": "low"}, None),
    "Qwen": ("qwen.qwen3-32b-v1:0", "high", {"reasoning_config": "high"}, None),
    "Llama, none": (LLAMA, "none", None, None),
}


@pytest.mark.parametrize(("model", "wish", "fields", "output"), REASONING.values(), ids=REASONING)
def test_how_much_to_think_is_said_in_the_makers_words(model, wish, fields, output):
    body = sent(model=model, options={"reasoning": wish})
    assert body.get("additionalModelRequestFields") == fields
    assert body.get("outputConfig") == output


@pytest.mark.parametrize(
    ("model", "wish"), [(CLAUDE, "lots"), (LLAMA, "high"), (NOVA, 2000), (CLAUDE, True), (CLAUDE, -1)]
)
def test_what_a_model_has_no_word_for_is_refused_with_a_way_out(model, wish):
    with pytest.raises(EncodeError, match="additionalModelRequestFields") as caught:
        sent(model=model, options={"reasoning": wish})
    assert caught.value.where == "options.reasoning"


def test_a_budget_must_leave_room_to_answer():
    with pytest.raises(EncodeError, match="must be more than the thinking budget"):
        sent(max_tokens=1024, options={"reasoning": 1024})


def test_a_budget_is_left_out_where_no_thought_came_before_the_calls():
    how = {"options": {"reasoning": 2000}, "specs": (LOOK,)}
    assert "additionalModelRequestFields" not in sent(*HISTORY, **how)
    thought = Reasoning("Hm", {"bedrock": {"signature": "s"}})
    thoughtful = (user_text("Hi"), Reply((thought, *CALLED.content), "calls"), FOUND)
    assert "thinking" in sent(*thoughtful, **how)["additionalModelRequestFields"]


def test_a_forced_choice_gives_way_to_a_budget():
    body = sent(specs=(LOOK,), choice="required", options={"reasoning": 2000})
    assert "toolChoice" not in body["toolConfig"]


CHOICES: dict[str, tuple[Any, dict[str, Any]]] = {
    "auto": ("auto", {"type": "auto"}),
    "required": ("required", {"type": "any"}),
    "named": (Named("look"), {"type": "tool", "name": "look"}),
}


@pytest.mark.parametrize(("choice", "own"), CHOICES.values(), ids=CHOICES)
def test_one_call_at_a_time_is_asked_of_claude_in_its_own_words_alone(choice, own):
    body = sent(specs=(LOOK,), choice=choice, options={"parallel": False})
    assert body["additionalModelRequestFields"] == {
        "tool_choice": {**own, "disable_parallel_tool_use": True}
    }
    assert "toolChoice" not in body["toolConfig"]


def test_others_are_forced_in_converses_words():
    body = sent(specs=(LOOK,), choice="required", options={"parallel": False}, model=NOVA)
    assert body["toolConfig"]["toolChoice"] == {"any": {}}
    assert "additionalModelRequestFields" not in body


def test_no_call_is_asked_for_by_no_tools_unless_history_needs_them():
    assert "toolConfig" not in sent(specs=(LOOK,), choice="none")
    for model, own in ((CLAUDE, {"tool_choice": {"type": "none"}}), (NOVA, None)):
        body = sent(*HISTORY, specs=(LOOK,), choice="none", model=model)
        assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["look"]
        assert body.get("additionalModelRequestFields") == own


def test_tools_that_were_called_are_named_where_none_is_offered():
    (tool,) = sent(*HISTORY)["toolConfig"]["tools"]
    assert (tool["toolSpec"]["name"], tool["toolSpec"]["inputSchema"]["json"]["type"]) == (
        "look",
        "object",
    )


@pytest.mark.parametrize("choice", ["required", Named("look"), Named("other")])
def test_a_choice_without_its_tool_is_refused(choice):
    specs = (LOOK,) if choice == Named("other") else ()
    with pytest.raises(EncodeError) as caught:
        sent(specs=specs, choice=choice)
    assert caught.value.where == "choice"


def test_the_vendors_own_tools_stand_before_ours():
    grounding = {"systemTool": {"name": "nova_grounding"}}
    tools = sent(specs=(LOOK,), options={"vendor_tools": [grounding]}, model=NOVA)["toolConfig"]["tools"]
    assert (tools[0], tools[1]["toolSpec"]["name"]) == (grounding, "look")


def test_a_tool_of_claudes_own_goes_into_its_fields():
    bash = {"type": "bash_20250124", "name": "bash"}
    spec = Spec(name="bash", description="", parameters={"type": "object"}, native={"bedrock": bash})
    body = sent(specs=(spec, LOOK))
    assert body["additionalModelRequestFields"] == {"tools": [bash]}
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["look"]
    forced = sent(specs=(spec, LOOK), choice=Named("bash"))
    assert forced["additionalModelRequestFields"]["tool_choice"] == {"type": "tool", "name": "bash"}
    assert "toolChoice" not in forced["toolConfig"]
    alone = sent(specs=(spec,), choice="required")
    assert alone["additionalModelRequestFields"]["tool_choice"] == {"type": "any"}
    assert "toolConfig" not in alone
    (plain,) = sent(specs=(spec,), model=NOVA)["toolConfig"]["tools"]
    assert plain["toolSpec"]["name"] == "bash"


def test_examples_end_the_description():
    spec = Spec(name="look", description="Look.", parameters=LOOK.parameters, examples=({"q": 1},))
    (tool,) = sent(specs=(spec,))["toolConfig"]["tools"]
    assert tool["toolSpec"]["description"].startswith("Look.\n\nExamples of arguments:\n{")


MEDIA = {
    "image/png": {"image": {"format": "png"}},
    "IMAGE/JPEG; q=1": {"image": {"format": "jpeg"}},
    "application/pdf": {"document": {"format": "pdf", "name": "my file (1) pdf"}},
    "text/csv": {"document": {"format": "csv", "name": "my file (1) pdf"}},
    "text/x-python": {"document": {"format": "txt", "name": "my file (1) pdf"}},
    "application/json": {"document": {"format": "txt", "name": "my file (1) pdf"}},
    "video/mp4": {"video": {"format": "mp4"}},
    "video/3gpp": {"video": {"format": "three_gp"}},
    "audio/wav": {"audio": {"format": "wav"}},
}


@pytest.mark.parametrize(("kind", "block"), MEDIA.items())
def test_files_are_sent_in_the_vendors_form(kind, block):
    media = Media(b"abc", kind, "my  file_(1).pdf")
    ((name, fields),) = block.items()
    assert content(media, Text("See."))[0] == {name: {**fields, "source": {"bytes": "YWJj"}}}


def test_a_document_comes_with_words_and_a_name_of_its_own():
    """Converse refuses a document without a text beside it, and two of one name."""
    blocks = content(Media(b"a", "text/plain", "n"), Media(b"b", "text/plain", "n"))
    assert [block["document"]["name"] for block in blocks[:-1]] == ["n", "n 2"]
    assert blocks[-1] == {"text": "n:"}
    assert content(Media(b"a", "application/pdf"), Text("See."))[0]["document"]["name"] == "Document"


def test_what_is_in_s3_is_sent_by_its_address():
    picture = Media(media_type="image/png", url="s3://bucket/a.png")
    assert content(picture) == [
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}}
    ]
    assert result(picture)["content"] == content(picture)
    location = {"uri": "s3://bucket/a.pdf", "bucketOwner": "123456789012"}
    bag = {"source": {"s3Location": location}, "citations": {"enabled": True}}
    report = Media(media_type="application/pdf", url=location["uri"], vendor={"bedrock": bag})
    assert content(report, Text("See."))[0] == {"document": {"format": "pdf", "name": "Document", **bag}}
    with pytest.raises(
        EncodeError,
        match="image/png cannot be sent by this address; give it as bytes or by an address that begins "
        r"with s3://\. .*anthropic.* would take it",
    ):
        content(Media(media_type="image/png", url="https://example.com/a.png"))
    vague = User((Text("See"), Media(media_type="image/*", url="s3://bucket/a")))
    with pytest.raises(EncodeError, match=r"image/\* says too little; give its media_type in full"):
        sent(vague)
    assert "not shown" in str(sent(vague, Reply((Text("Yes"),)), user_text("So?"))["messages"][0])


def test_a_cache_point_of_ones_own_stands_after_its_part():
    mark = {"cachePoint": {"type": "default"}}
    text = Text("Long", {"bedrock": mark})
    assert content(text, Text("Short")) == [{"text": "Long"}, mark, {"text": "Short"}]
    # Four are as many as may be, and those given count.
    marked = sent(*[User((text,))] * 4, system="Be brief.", cache=True)
    assert str(marked).count("cachePoint") == 4
    assert result(Text("a", {"bedrock": mark}))["content"] == [{"text": "a"}]


def test_json_mode_has_no_word_and_one_tool_may_be_strict():
    assert "outputConfig" not in sent(output={"type": "object"})
    strict = Spec(name="held", description="", parameters=LOOK.parameters, strict=True)
    tools = sent(specs=(LOOK, strict), options={"strict": False})["toolConfig"]["tools"]
    assert [tool["toolSpec"].get("strict", False) for tool in tools if "toolSpec" in tool] == [
        False,
        True,
    ]
    loose = Spec(name="loose", description="", parameters={"type": "object"}, strict=False)
    (tool,) = sent(specs=(loose,), options={"strict": True}, model=NOVA)["toolConfig"]["tools"]
    assert "strict" not in tool["toolSpec"]


def test_what_cannot_be_sent_is_refused_when_new_and_noted_when_old():
    odd = User((Text("See"), Media(b"abc", "application/zip", "a.zip")))
    with pytest.raises(EncodeError, match="application/zip cannot be sent") as caught:
        sent(user_text("Hi"), Reply((Text("Yes"),)), odd)
    assert caught.value.where == "messages[2]"
    (_, note) = sent(odd, Reply((Text("Yes"),)), user_text("So?"))["messages"][0]["content"]
    assert "application/zip 'a.zip', 3 bytes" in note["text"]


def result(*parts: Any, outcome: Any = "returned", **how: Any) -> dict[str, Any]:
    answer = Results((Result(call_id="c1", name="look", outcome=outcome, content=parts),))
    block = sent(user_text("Hi"), CALLED, answer, specs=(LOOK,), **how)["messages"][2]["content"][0]
    found: dict[str, Any] = block["toolResult"]
    return found


PICTURE = Media(b"abc", "image/png")


def test_results_say_what_came_of_a_call():
    image = {"image": {"format": "png", "source": {"bytes": "YWJj"}}}
    assert result(Text("a"), PICTURE) == {"toolUseId": "c1", "content": [{"text": "a"}, image]}
    failed = result(Text("no"), PICTURE, outcome="failed")
    assert (failed["status"], [list(block) for block in failed["content"]]) == (
        "error",
        [["text"], ["text"]],
    )
    assert result() == {"toolUseId": "c1", "content": [{"text": "(no output)"}]}
    assert "not shown" in result(Media(b"abc", "audio/wav"))["content"][0]["text"]


def test_mistral_gets_objects_for_results():
    mistral = "mistral.mistral-large-2402-v1:0"
    assert result(Text("a"), model=mistral)["content"] == [{"json": {"result": "a"}}]
    assert result(Text('{"a": 1}'), model=mistral)["content"] == [{"json": {"a": 1}}]


SIGNED = Reasoning("Hm", {"bedrock": {"signature": "s"}})
HIDDEN = Reasoning("", {"bedrock": {"redactedContent": "cmVk"}})


@pytest.mark.parametrize(("model", "given_back"), [(CLAUDE, 2), (PROFILE, 2), (NOVA, 0), (LLAMA, 0)])
def test_signed_thoughts_go_back_to_who_signs_and_to_nobody_else(model, given_back):
    foreign = Reasoning("Theirs", {"anthropic": {"type": "thinking", "signature": "t"}})
    reply = Reply((SIGNED, HIDDEN, foreign, Reasoning("Unsigned"), Text("So.")))
    blocks = sent(user_text("Hi"), reply, user_text("On."), model=model)["messages"][1]["content"]
    assert len(blocks) == given_back + 1
    assert blocks[-1] == {"text": "So."}


def test_a_reply_of_nothing_but_thoughts_is_left_out_and_roles_still_alternate():
    messages = sent(user_text("Hi"), Reply((SIGNED,)), user_text("On."))["messages"]
    assert messages == [{"role": "user", "content": [{"text": "Hi"}, {"text": "On."}]}]


def test_ids_and_names_are_made_legal_and_stay_matched():
    calls = tuple(
        Call(id=id_, name="look it.up", arguments="[1]") for id_ in ("a b", "a b", "x" * 90, "")
    )
    results = Results(
        tuple(Result(call_id=c.id, name="", outcome="returned", content=()) for c in calls)
    )
    _, asked, answered = sent(user_text("Hi"), Reply(calls, "calls"), results)["messages"]
    ids = [block["toolUse"]["toolUseId"] for block in asked["content"]]
    assert ids == ["a_b", "a_b_2", "x" * 64, "call"]
    assert [block["toolResult"]["toolUseId"] for block in answered["content"]] == ids
    assert asked["content"][0]["toolUse"]["name"] == "look_it_up"
    assert asked["content"][0]["toolUse"]["input"] == {"unparsed_arguments": "[1]"}


def test_citations_and_unknown_blocks_go_back_and_what_was_cut_off_does_not():
    cited = Text("So.", {"bedrock": {"citations": [{"title": "T"}]}})
    server = Unknown(
        {"bedrock": {"toolUse": {"toolUseId": "s", "name": "n", "type": "server_tool_use"}}}
    )
    whole = Reply((server, cited))
    assert sent(user_text("Hi"), whole, user_text("On."))["messages"][1]["content"] == [
        server.vendor["bedrock"],
        {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "T"}]}},
    ]
    cut = Reply((Text("So."), server), "length")
    assert sent(user_text("Hi"), cut, user_text("On."))["messages"][1]["content"] == [{"text": "So."}]


def test_a_users_bag_goes_before_what_is_said():
    guarded = {"guardContent": {"text": {"text": "secret plan"}}}
    user = User((Text("So?"),), vendor={"bedrock": [guarded]})
    assert sent(user)["messages"][0]["content"] == [guarded, {"text": "So?"}]


def test_cache_points_follow_what_is_likely_to_stay():
    body = sent(*HISTORY, user_text("On."), system="Be brief.", specs=(LOOK,), cache=True)
    assert body["system"][-1] == POINT
    assert body["toolConfig"]["tools"][-1] == POINT
    assert [turn["content"][-1] == POINT for turn in body["messages"]] == [True, False, True]


def test_nova_takes_no_cache_point_among_tools_and_others_take_none():
    body = sent(system="Be brief.", specs=(LOOK,), cache=True, model=NOVA)
    assert (body["system"][-1], len(body["toolConfig"]["tools"])) == (POINT, 1)
    for model in (LLAMA, PROFILE):
        assert "cachePoint" not in json.dumps(sent(system="Be brief.", cache=True, model=model))


def test_no_more_cache_points_than_four_and_none_after_a_document():
    marked = User((Text("a"),), vendor={"bedrock": [{"text": "b"}, POINT] * 3})
    body = sent(
        marked, Reply((Text("Yes"),)), user_text("On."), system="Be brief.", specs=(LOOK,), cache=True
    )
    assert json.dumps(body).count("cachePoint") == 4
    file = Media(b"a", "text/plain", "n")
    blocks = content(Text("See."), file, cache=True)
    assert [next(iter(block)) for block in blocks] == ["text", "cachePoint", "document"]
    assert [next(iter(block)) for block in content(file, cache=True)] == [
        "document",
        "text",
        "cachePoint",
    ]
