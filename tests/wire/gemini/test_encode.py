"""Requests as Gemini takes them: every intent and option, and histories from anywhere."""

import json
from importlib import import_module
from itertools import pairwise

import pytest
from msgspec.structs import replace

from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import gemini
from rightcall.wire.gemini.messages import UNPARSED
from rightcall.wire.google import FOREIGN_SIGNATURE
from wire.recorded import rows

API = "gemini.generateContent"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SPEC = Spec(name="weather", description="The weather.", parameters=SCHEMA)
TOOL = {"name": "weather", "description": "The weather.", "parametersJsonSchema": SCHEMA}
TOOLS = [{"functionDeclarations": [TOOL]}]
HELLO = [{"role": "user", "parts": [{"text": "hello"}]}]
PNG = Media(b"hi", "image/png")
INLINE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
WAV = Media(b"hi", "audio/wav")


def outgoing(*messages, model="gemini-3-pro", stream=False, **request):
    messages = messages or (user_text("hello"),)
    return gemini.encode(Request(messages=messages, **request), model=model, stream=stream)


def body(*messages, **request):
    return json.loads(outgoing(*messages, **request).body)


def turns(*messages, **request):
    return body(*messages, **request)["contents"]


def result(call_id, name, *content, outcome="returned"):
    return Result(call_id=call_id, name=name, outcome=outcome, content=content)


def mode(name, **more):
    return {"functionCallingConfig": {"mode": name, **more}}


def options(**options):
    return {"options": options}


REQUESTS = {
    "only a message": ({}, {"contents": HELLO}),
    "a system text": (
        {"system": "Be kind."},
        {"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": HELLO},
    ),
    "tools, and the model decides": ({"specs": (SPEC,)}, {"tools": TOOLS, "contents": HELLO}),
    "strict": (
        {"specs": (SPEC,), **options(strict=True)},
        {"tools": TOOLS, "toolConfig": mode("VALIDATED"), "contents": HELLO},
    ),
    "some tool": (
        {"specs": (SPEC,), "choice": "required", **options(strict=True)},
        {"tools": TOOLS, "toolConfig": mode("ANY"), "contents": HELLO},
    ),
    "this tool": (
        {"specs": (SPEC,), "choice": Named("weather")},
        {"tools": TOOLS, "toolConfig": mode("ANY", allowedFunctionNames=["weather"]), "contents": HELLO},
    ),
    "no tool": (
        {"specs": (SPEC,), "choice": "none"},
        {"tools": TOOLS, "toolConfig": mode("NONE"), "contents": HELLO},
    ),
    "one call at a time, which cannot be asked for": (
        {"specs": (SPEC,), **options(parallel=False)},
        {"tools": TOOLS, "contents": HELLO},
    ),
    "no tool where there are none": ({"choice": "none", **options(strict=True)}, {"contents": HELLO}),
    "examples end the description": (
        {"specs": (replace(SPEC, examples=({"city": "Köln"}, {"city": "Rom"})),)},
        {
            "tools": [
                {
                    "functionDeclarations": [
                        TOOL | {"description": 'The weather.\nExamples: {"city":"Köln"}, {"city":"Rom"}'}
                    ]
                }
            ],
            "contents": HELLO,
        },
    ),
    "the vendor's tools": (
        options(vendor_tools=[{"googleSearch": {}}]),
        {"tools": [{"googleSearch": {}}], "contents": HELLO},
    ),
    "the vendor's tools beside ours": (
        {"specs": (SPEC,), **options(vendor_tools=[{"googleSearch": {}}, {"codeExecution": {}}])},
        {
            "tools": [*TOOLS, {"googleSearch": {}}, {"codeExecution": {}}],
            "toolConfig": {"includeServerSideToolInvocations": True},
            "contents": HELLO,
        },
    ),
    "sampling and limits": (
        {
            "max_tokens": 100,
            **options(
                temperature=0.0, top_p=0.9, seed=7, stop=["END"], parallel=True, cache=True, user="u"
            ),
        },
        {
            "generationConfig": {
                "maxOutputTokens": 100,
                "temperature": 0.0,
                "topP": 0.9,
                "seed": 7,
                "stopSequences": ["END"],
            },
            "contents": HELLO,
        },
    ),
    "an output schema": (
        {"output": SCHEMA},
        {
            "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
            "contents": HELLO,
        },
    ),
    "extra members, also inside of settings": (
        {
            "specs": (SPEC,),
            "choice": "required",
            **options(
                temperature=1.0,
                extra={
                    "safetySettings": [],
                    "generationConfig": {"topK": 3, "temperature": 0.5},
                    "toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": True}},
                },
            ),
        },
        {
            "tools": TOOLS,
            "toolConfig": mode("ANY", streamFunctionCallArguments=True),
            "generationConfig": {"temperature": 0.5, "topK": 3},
            "safetySettings": [],
            "contents": HELLO,
        },
    ),
}


@pytest.mark.parametrize(("request_", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_written_as_the_vendor_wants_it(request_, expected):
    sent = outgoing(**request_)
    assert json.loads(sent.body) == expected
    assert list(json.loads(sent.body))[-1] == "contents"
    assert sent == outgoing(**request_)
    assert dict(sent.headers) == {"content-type": "application/json"}


THINKING = [
    ("gemini-3-pro-preview", "none", {"thinkingLevel": "LOW"}),
    ("gemini-3-flash-preview", "none", {"thinkingLevel": "MINIMAL"}),
    ("gemini-3.1-flash-lite", "none", {"thinkingLevel": "MINIMAL"}),
    ("gemini-3.6-flash", "none", {"thinkingLevel": "MINIMAL"}),
    ("gemini-3.7-flash", "none", {"thinkingLevel": "LOW"}),
    ("gemini-3.8-flash", "minimal", {"thinkingLevel": "LOW", "includeThoughts": True}),
    ("gemini-flash-latest", "none", {"thinkingLevel": "LOW"}),
    ("models/gemini-4-flash", "none", {"thinkingLevel": "LOW"}),
    ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
    ("gemini-3-pro-preview", "low", {"thinkingLevel": "LOW", "includeThoughts": True}),
    ("gemini-3.1-flash", "max", {"thinkingLevel": "HIGH", "includeThoughts": True}),
    ("gemini-flash-latest", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
    ("models/gemini-4-pro", "high", {"thinkingLevel": "HIGH", "includeThoughts": True}),
    ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
    ("gemini-2.5-pro", "high", {"thinkingBudget": 24576, "includeThoughts": True}),
    ("gemini-robotics-er-1.5-preview", "low", {"thinkingBudget": 1024, "includeThoughts": True}),
    ("gemini-2.5-flash", 2048, {"thinkingBudget": 2048, "includeThoughts": True}),
    ("gemini-3-pro", 2048, {"thinkingBudget": 2048, "includeThoughts": True}),
    ("gemini-2.5-flash", 0, {"thinkingBudget": 0}),
]


@pytest.mark.parametrize(("model", "reasoning", "expected"), THINKING)
def test_thinking_is_a_level_or_a_budget(model, reasoning, expected):
    sent = body(model=model, **options(reasoning=reasoning))
    assert sent["generationConfig"] == {"thinkingConfig": expected}


PATHS = [
    ("gemini-3-pro", False, "/v1beta/models/gemini-3-pro:generateContent"),
    ("gemini-3-pro", True, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"),
    ("models/gemini-3-pro", False, "/v1beta/models/gemini-3-pro:generateContent"),
    ("tunedModels/mine-1", False, "/v1beta/tunedModels/mine-1:generateContent"),
    (
        "projects/p/locations/eu/publishers/google/models/gemini-3-pro",
        False,
        "/v1beta1/projects/p/locations/eu/publishers/google/models/gemini-3-pro:generateContent",
    ),
]


@pytest.mark.parametrize(("model", "stream", "path"), PATHS)
def test_the_path_names_model_and_method(model, stream, path):
    assert outgoing(model=model, stream=stream).path == path


def test_vertex_is_not_told_to_show_its_own_calls():
    mixed = {"specs": (SPEC,), **options(vendor_tools=[{"googleSearch": {}}])}
    assert "toolConfig" not in body(model="publishers/google/models/gemini-3-pro", **mixed)


def test_the_key_goes_into_its_header():
    assert gemini.authorize("AIza1") == {"x-goog-api-key": "AIza1"}
    assert gemini.authorize("ya29.token") == {"authorization": "Bearer ya29.token"}


REFUSED = {
    "no message": ({"messages": ()}, "messages"),
    "a tool required of none": ({"choice": "required"}, "choice"),
    "a tool that is not there": ({"choice": Named("x"), "specs": (SPEC,)}, "choice"),
    "thinking in other words": (options(reasoning="lots"), "option 'reasoning'"),
    "thinking as a boolean": (options(reasoning=True), "option 'reasoning'"),
    "half a character": ({"system": "\ud800"}, "text"),
}


@pytest.mark.parametrize(("request_", "where"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_is_refused(request_, where):
    with pytest.raises(EncodeError) as caught:
        gemini.encode(
            Request(**{"messages": (user_text("x"),), **request_}), model="gemini-3-pro", stream=True
        )
    assert (caught.value.dialect, caught.value.where) == ("gemini", where)


@pytest.mark.parametrize("model", ["", "a b", "../x", "a?b", "a//b"])
def test_a_model_must_have_a_name(model):
    with pytest.raises(EncodeError, match="not a model's name"):
        outgoing(model=model)


def test_messages_take_turns_as_user_and_model():
    assert turns(
        user_text("one"),
        user_text("note", "runtime"),
        User((Text(""), PNG, Text("two")), "developer"),
        Reply((Text("yes"), Text(""), PNG)),
        Reply((), stop="error"),
        User(()),
    ) == [
        {"role": "user", "parts": [{"text": "one"}, {"text": "note"}, INLINE, {"text": "two"}]},
        {"role": "model", "parts": [{"text": "yes"}, INLINE]},
        {"role": "user", "parts": [{"text": ""}]},
    ]


def test_files_that_gemini_holds_ride_in_the_users_bag():
    file = {"fileData": {"fileUri": "https://x/files/1", "mimeType": "video/mp4"}}
    assert turns(User((Text("look"),), vendor={"gemini": {"parts": [file]}})) == [
        {"role": "user", "parts": [{"text": "look"}, file]}
    ]


def test_what_gemini_knows_of_a_users_part_goes_on_that_part():
    sharp = {"mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}
    seen = Media(b"hi", "image/png", vendor={"gemini": sharp, "anthropic": {"x": 1}})
    assert turns(User((seen, Text("look", {"anthropic": {"x": 1}})))) == [
        {"role": "user", "parts": [{**INLINE, **sharp}, {"text": "look"}]}
    ]


OWN = Call(id="c1", name="f", arguments='{"a":1.50}', vendor={"gemini": {"thoughtSignature": "c2ln"}})


def test_calls_and_results_match_by_name_and_id():
    reply = Reply((Text("hm"), OWN, Call(id="c2", name="g", vendor={"gemini": {}})), stop="calls")
    results = Results(
        (
            result("c1", "f", Text("fine")),
            result("c2", "g", Text("no such city"), outcome="failed"),
        )
    )
    assert turns(user_text("hello"), reply, results, user_text("and?"))[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "hm"},
                {
                    "functionCall": {"id": "c1", "name": "f", "args": {"a": 1.5}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"id": "c2", "name": "g", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "f", "response": {"result": "fine"}}},
                {"functionResponse": {"id": "c2", "name": "g", "response": {"error": "no such city"}}},
                {"text": "and?"},
            ],
        },
    ]


def test_arguments_go_back_in_the_text_they_came_in():
    assert b'"args":{"a":1.50}' in outgoing(user_text("hello"), Reply((OWN,))).body


def test_a_call_without_an_id_is_sent_without_one():
    messages = (
        user_text("hello"),
        Reply((Call(id="", name="f", vendor={"gemini": {}}),)),
        Results((result("", "f", Text("ok")),)),
    )
    assert turns(*messages)[1:] == [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "ok"}}}]},
    ]


BROKEN = {
    "": {},
    " ": {},
    '{"a":': {UNPARSED: '{"a":'},
    "[1]": {UNPARSED: "[1]"},
    "null": {UNPARSED: "null"},
    '{"a":1,"a":2}': {UNPARSED: '{"a":1,"a":2}'},
    '{"a": "ü"}': {"a": "ü"},
}


@pytest.mark.parametrize(("arguments", "expected"), BROKEN.items())
def test_arguments_are_always_an_object(arguments, expected):
    call = Call(id="c", name="f", arguments=arguments, truncated=True)
    part = turns(user_text("hello"), Reply((call,)))[1]["parts"][0]
    assert part["functionCall"]["args"] == expected


def test_what_another_vendor_signed_stays_there():
    foreign = {"anthropic": {"signature": "x"}}
    reply = Reply(
        (
            Reasoning("secret", foreign),
            Unknown({"anthropic": {"type": "server_tool_use"}}),
            Text("", foreign),
            Text("hm", foreign),
            Media(b"hi", "image/png", vendor=foreign),
            Call(id="toolu_1", name="f", arguments="{}", vendor=foreign),
            Call(id="toolu_2", name="f", arguments="{}", vendor=foreign),
        ),
        vendor={"anthropic": {"id": "msg"}},
    )
    assert turns(user_text("hello"), reply)[1]["parts"] == [
        {"text": "hm"},
        INLINE,
        {
            "functionCall": {"id": "toolu_1", "name": "f", "args": {}},
            "thoughtSignature": FOREIGN_SIGNATURE,
        },
        {"functionCall": {"id": "toolu_2", "name": "f", "args": {}}},
    ]


def test_every_kind_of_part_comes_back_as_it_was():
    parts = [
        {"text": "let me see", "thought": True},
        {"text": "signed", "thought": True, "thoughtSignature": "s0"},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t"}, "thoughtSignature": "s1"},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t"}, "thoughtSignature": "s2"},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "one"},
        {"text": "two", "thoughtSignature": "s3"},
        {**INLINE, "thoughtSignature": "s4", "aNewThing": {"b": 1}},
        INLINE,
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thought": True},
        {"fileData": {"fileUri": "gs://x", "mimeType": "image/png"}},
        {
            "functionCall": {"id": "c", "name": "f", "args": {"a": [1]}, "new": 1},
            "thoughtSignature": "s5",
        },
        {"functionCall": {"name": "f", "args": {}}},
        {"text": "", "thoughtSignature": "s6"},
        {"thoughtSignature": "s7"},
    ]
    whole = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    reply = gemini.decode(json.dumps(whole).encode())
    assert turns(user_text("hello"), reply)[1]["parts"] == parts


def test_a_result_holds_its_media_where_the_model_takes_it():
    results = Results((result("a", "f", Text("see"), PNG, WAV), result("b", "g", Text("ok"))))
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}
    seen = {"id": "a", "name": "f"}
    other = {"functionResponse": {"id": "b", "name": "g", "response": {"result": "ok"}}}
    assert turns(user_text("x"), Reply((OWN,)), results, model="gemini-3-pro")[2]["parts"] == [
        {
            "functionResponse": {
                **seen,
                "response": {"result": "see", "media": ["audio/wav"]},
                "parts": [INLINE],
            }
        },
        other,
        sound,
    ]
    assert turns(user_text("x"), Reply((OWN,)), results, model="gemini-2.5-pro")[2]["parts"] == [
        {
            "functionResponse": {
                **seen,
                "response": {"result": "see", "media": ["image/png", "audio/wav"]},
            }
        },
        other,
        INLINE,
        sound,
    ]


def test_a_paused_reply_is_continued_by_its_token():
    def pause(token):
        return Reply((Text("a"),), stop="pause", vendor={"gemini": {"continuationToken": token}})

    assert body(user_text("hello"), pause("t1"), pause("t2")) == {
        "continuationToken": "t2",
        "contents": HELLO,
    }
    assert turns(user_text("hello"), pause("t1"), Reply((Text("b"),)))[1:] == [
        {"role": "model", "parts": [{"text": "a"}, {"text": "b"}]}
    ]
    foreign = Reply((Text("a"),), stop="pause", vendor={"anthropic": {}})
    assert len(turns(user_text("hello"), foreign)) == 2


HISTORY = (
    user_text("one"),
    user_text("more", "developer"),
    Reply((Reasoning("hm", {"gemini": {"thoughtSignature": "c2ln"}}), Text("a"), OWN), stop="calls"),
    Results((result("c1", "f", Text("x"), PNG),)),
    user_text("note", "runtime"),
    Reply((Call(id="d", name="f", arguments="{"), Call(id="e", name="g")), stop="calls"),
    Results((result("d", "f", Text("cut"), outcome="truncated"), result("e", "g", WAV))),
    Reply((Text("done"),)),
    user_text("two"),
)


@pytest.mark.parametrize("model", ["gemini-3-pro", "gemini-2.5-flash"])
def test_a_longer_history_extends_the_bytes(model):
    request = {"system": "Be kind.", "specs": (SPEC,), "model": model, **options(temperature=0.1)}
    bodies = [outgoing(*HISTORY[:end], **request).body for end in range(1, len(HISTORY) + 1)]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.rstrip(b"]}"))


def sdk_accepts(sent):
    """Every member of a body through the SDK's own models, which forbid what they do not know."""
    types = import_module("google.genai.types")
    models = {
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
        "tools": types.Tool,
        "contents": types.Content,
    }
    for key, value in json.loads(sent).items():
        if key in models:
            for item in value if isinstance(value, list) else [value]:
                models[key].model_validate_json(json.dumps(item))


@pytest.mark.parametrize("request_", [row[0] for row in REQUESTS.values()], ids=REQUESTS)
def test_the_sdk_accepts_what_is_written(request_):
    sdk_accepts(outgoing(**request_).body)


@pytest.mark.parametrize(("model", "reasoning"), [row[:2] for row in THINKING])
def test_the_sdk_accepts_histories_and_thinking(model, reasoning):
    for end in range(1, len(HISTORY) + 1):
        sdk_accepts(outgoing(*HISTORY[:end], model=model, **options(reasoning=reasoning)).body)


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


PLAIN = {"args", "response", "properties", "parametersJsonSchema", "parameters", "responseJsonSchema"}


def normal(value):
    """A recorded request in camelCase throughout; what is the user's own stays as it is."""
    if isinstance(value, dict):
        return {
            camel(key): inner if camel(key) in PLAIN else normal(inner) for key, inner in value.items()
        }
    return [normal(item) for item in value] if isinstance(value, list) else value


def request_from(recorded):
    """Our request for a recorded body; the replies by way of the decoder."""
    messages = []
    for turn in recorded["contents"]:
        if turn["role"] == "model":
            messages.append(gemini.decode(json.dumps({"candidates": [{"content": turn}]}).encode()))
            continue
        answers = [part["functionResponse"] for part in turn["parts"] if "functionResponse" in part]
        if answers:
            results = [
                result(a["id"], a["name"], Text(json.dumps(a["response"])), outcome=_outcome(a))
                for a in answers
            ]
            messages.append(Results(tuple(results)))
        content = [Text(part["text"]) for part in turn["parts"] if "text" in part]
        if content:
            messages.append(User(tuple(content)))
    declared = [d for tool in recorded.get("tools", []) for d in tool.get("functionDeclarations", [])]
    config = recorded.get("generationConfig", {})
    calling = recorded.get("toolConfig", {}).get("functionCallingConfig", {})
    names = calling.get("allowedFunctionNames", [])
    given = {"vendor_tools": [t for t in recorded.get("tools", []) if "functionDeclarations" not in t]}
    given |= {"temperature": config["temperature"]} if "temperature" in config else {}
    given |= {"strict": True} if calling.get("mode") == "VALIDATED" else {}
    chosen = (
        Named(names[0]) if len(names) == 1 else "required" if calling.get("mode") == "ANY" else "auto"
    )
    return Request(
        messages=tuple(messages),
        system="".join(p["text"] for p in recorded.get("systemInstruction", {}).get("parts", [])),
        specs=tuple(
            Spec(
                name=d["name"],
                description=d["description"],
                parameters=d.get("parametersJsonSchema") or d["parameters"],
            )
            for d in declared
        ),
        choice=chosen,
        output=config.get("responseJsonSchema"),
        options=given,
    )


def _outcome(answer):
    return "failed" if "error" in answer["response"] else "returned"


def expected_from(recorded):
    """The recorded body as we would write it: the same but for what is said in other words."""
    wanted = json.loads(json.dumps(recorded))
    wanted.get("generationConfig", {}).pop("responseModalities", None)
    wanted.get("systemInstruction", {}).pop("role", None)
    calling = wanted.get("toolConfig", {}).get("functionCallingConfig", {})
    if len(calling.get("allowedFunctionNames", [])) > 1:
        del calling["allowedFunctionNames"]
    if calling.get("mode") == "AUTO":
        del wanted["toolConfig"]["functionCallingConfig"]
    for tool in wanted.get("tools", []):
        for declared in tool.get("functionDeclarations", []):
            if "parameters" in declared:
                declared["parametersJsonSchema"] = declared.pop("parameters")
    kinds = [next(iter(tool)) for tool in wanted.get("tools", [])]
    wanted["tools"] = sorted(
        wanted.get("tools", []), key=lambda tool: next(iter(tool)) != "functionDeclarations"
    )
    if "functionDeclarations" not in kinds:
        wanted.pop("toolConfig", None)
    for turn in wanted["contents"]:
        for part in turn["parts"]:
            if answer := part.get("functionResponse"):
                key = "error" if "error" in answer["response"] else "result"
                answer["response"] = {key: json.dumps(answer["response"])}
    return {key: value for key, value in wanted.items() if value}


def test_recorded_requests_are_written_the_same(shared_data):
    found = [*rows(shared_data, API, stream=True), *rows(shared_data, API, stream=False)]
    paths = [row["path"].parent / row["request"] for row in found if row.get("request")]
    assert len(paths) >= 70
    for path in paths:
        recorded = normal(json.loads(path.read_text()))
        sent = gemini.encode(request_from(recorded), model="gemini-3-pro", stream=False).body
        assert json.loads(sent) == expected_from(recorded), path.name


def test_the_sdk_accepts_recorded_histories(shared_data):
    for row in rows(shared_data, API, stream=False):
        if row.get("request"):
            recorded = normal(json.loads((row["path"].parent / row["request"]).read_text()))
            messages = request_from(recorded).messages
            if row["status"] == 200:
                messages += (gemini.decode(row["path"].read_bytes()),)
            sdk_accepts(outgoing(*messages).body)
