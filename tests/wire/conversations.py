"""Conversations and settings of any kind, with what each dialect leaves in its bags."""

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named
from rightcall.core.tool import Spec

MARK = {"cache_control": {"type": "ephemeral"}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TURNED = {"required": ["city"], "properties": {"city": {"type": "string"}}, "type": "object"}
LOOK = Spec(name="look", description="Look.", parameters=CITY, examples=({"city": "Rome"},))
FIND = Spec(name="find", description="", parameters={"type": "object", "properties": {}})
SHELL = Spec(
    name="shell",
    description="Run.",
    parameters={"type": "object", "properties": {}},
    native={
        "openai_responses": {"type": "shell"},
        "anthropic": {"type": "shell_1", "name": "shell", **MARK},
    },
)
MEMORY = Spec(
    name="memory",
    description="Keep.",
    parameters={"type": "object", "properties": {}},
    native={"anthropic": {"type": "memory_20250818", "name": "memory"}},
)


def bags(**own: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A vendor's bag: none, or one of what a dialect may have put there."""
    one = [{name: bag} for name, some in own.items() for bag in some]
    return st.sampled_from([{}, *one])


texts = st.sampled_from(["", " ", "a", "Dear \n", 'é"\\', "on"])
words = st.builds(
    Text,
    texts,
    bags(
        anthropic=[MARK, {"citations": [{"cited_text": "c"}]}],
        bedrock=[{"citations": [{}]}],
        cohere=[{"citations": [{"start": 0}]}],
        gemini=[{"thoughtSignature": "c2ln"}],
        gemini_interactions=[{"annotations": [{"type": "url_citation", "url": "u"}]}],
    ),
)
media = st.builds(
    Media,
    st.sampled_from([b"", b" ", b"xyz"]),
    st.sampled_from(["image/png", "application/pdf", "text/plain", "audio/wav"]),
    st.sampled_from([None, "n"]),
)
thoughts = st.builds(
    Reasoning,
    texts,
    bags(
        anthropic=[{"type": "thinking", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}],
        bedrock=[{"signature": "s"}, {"redactedContent": "cmVk"}],
        cohere=[{"field": "thinking"}, {"field": "tool_plan"}],
        gemini=[{"thoughtSignature": "c2ln"}],
        gemini_interactions=[{"signature": "c2ln"}],
        ollama=[{"field": "thinking"}],
        openai_chat=[
            {"field": "reasoning_content"},
            {"field": "inline", "opening": "<think>", "closing": "</think>"},
            {"field": "part"},
            {"details": [{"type": "reasoning.text", "text": "t"}]},
        ],
        openai_responses=[
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "g"},
            {"type": "reasoning", "id": "rs_2"},
        ],
    ),
)
unknown = st.builds(
    Unknown,
    bags(
        anthropic=[{"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, MARK],
        bedrock=[{"toolUse": {"toolUseId": "s", "name": "web", "input": {}}}, {"mystery": {}}],
        cohere=[{"part": {"type": "x"}}],
        gemini=[{"executableCode": {"code": "1"}}],
        gemini_interactions=[
            {"step": {"type": "google_search_call", "id": "g"}},
            {"content": {"type": "x"}},
        ],
        openai_chat=[{"part": {"type": "x"}}, {"refusal": "no"}, {"audio": {"id": "a"}}],
        openai_responses=[{"type": "web_search_call", "id": "ws"}, {"part": {"type": "refusal"}}],
    ),
)
ids = st.sampled_from(["a", "a", "b", "a.b", "", "x" * 70])
calls = st.builds(
    Call,
    id=ids,
    name=st.sampled_from(["look", "shell", "a.b"]),
    arguments=st.sampled_from(['{"city": "Rome"}', "", '{"ci', "[1]", '{"max_output_length":9}']),
    vendor=bags(
        anthropic=[{"toolset_name": "t"}, {"caller": {"type": "code_execution"}}, MARK],
        gemini=[{"thoughtSignature": "c2ln"}, {"functionCall": {"willContinue": False}}],
        gemini_interactions=[{}, {"signature": "c2ln"}],
        ollama=[{}, {"function": {"index": 1}}],
        openai_chat=[{"type": "custom"}, {"index": 0}],
        openai_responses=[{"type": "shell_call", "id": "sh"}, {"type": "custom_tool_call"}, {"id": "f"}],
    ),
)
results = st.builds(
    Result,
    call_id=ids,
    name=st.just("look"),
    outcome=st.sampled_from(["returned", "failed", "timed_out"]),
    content=st.lists(words | media, max_size=2).map(tuple),
    vendor=bags(
        anthropic=[MARK, {"content": [{"type": "text", **MARK}]}], openai_responses=[{"id": "o"}]
    ),
)
users = st.builds(
    User,
    st.lists(words | words | media, max_size=2).map(tuple),
    vendor=bags(
        anthropic=[[{"type": "container_upload", "file_id": "f"}], [{"type": "x", **MARK}]],
        bedrock=[
            [{"cachePoint": {"type": "default"}}],
            [{"document": {"name": "d", "source": {"text": "x"}}}],
        ],
        gemini=[{"parts": [{"fileData": {"fileUri": "u"}}]}],
        gemini_interactions=[{"content": [{"type": "document", "uri": "u"}]}],
        openai_responses=[{"items": [{"type": "compaction", "id": "c"}]}],
    ),
)
spoken = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text"}]}
replies = st.builds(
    Reply,
    st.lists(words | thoughts | calls | media | unknown, max_size=4).map(tuple),
    st.sampled_from(["end", "calls", "length", "pause"]),
    vendor=bags(
        anthropic=[{"container": {"id": "c"}}],
        gemini=[{"continuationToken": "t"}],
        gemini_interactions=[{"continuation_token": "t", "id": "v1"}],
        openai_responses=[{"messages": [{"at": 0, "item": spoken}]}],
    ),
)
answers = st.lists(results, max_size=3).map(tuple).map(Results)
messages = users | replies | answers
conversations = st.lists(messages, max_size=14).map(tuple) | st.lists(
    st.tuples(replies, answers, users | answers), min_size=2, max_size=6
).map(lambda turns: (user_text("Hello"), *[message for turn in turns for message in turn]))

broken = st.sampled_from([user_text("\ud800"), User((Media(b"x", "audio/wav"),))])
"""What some dialect or other refuses; some of it only as long as nobody has replied."""

settings = st.fixed_dictionaries(
    {},
    optional={
        "system": st.sampled_from(["", "Be brief."]),
        "specs": st.sampled_from(
            [
                (),
                (LOOK,),
                (LOOK, FIND),
                (LOOK, replace(FIND, parameters=TURNED)),
                (FIND, replace(LOOK, parameters=TURNED)),
                (LOOK, SHELL),
                (SHELL, MEMORY, FIND),
            ]
        ),
        "choice": st.sampled_from(["auto", "required", "none", Named("look"), Named("shell")]),
        "output": st.sampled_from([None, CITY]),
        "options": st.fixed_dictionaries(
            {},
            optional={
                "strict": st.booleans(),
                "cache": st.booleans(),
                "parallel": st.booleans(),
                "reasoning": st.sampled_from(["low", 2000]),
                "vendor_tools": st.sampled_from([[], [{"type": "shell", **MARK}], [{"type": "web"}]]),
                "extra": st.sampled_from(
                    [
                        {"betas": ["b-1"]},
                        {"tools": [{"type": "shell", "name": "shell"}]},
                        {"messages": [], "contents": [], "input": [{"type": "x"}]},
                    ]
                ),
            },
        ),
    },
)
