"""What every dialect must do, as data: one sentence each, where it comes from, and who cannot."""

from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["differs", "ignored", "refused"]
"""The dialect gives something else; takes the wish and says nothing of it; raises an EncodeError."""


class Gap(Struct, frozen=True):
    """Where one dialect does not do what the others do, and why."""

    dialect: str
    kind: Kind
    reason: str


class Requirement(Struct, frozen=True):
    """A behaviour of all dialects."""

    id: str
    behaviour: str
    source: str
    """``vendor doc``, ``ours``, or an issue, as a project's name and ``#number``."""
    gaps: tuple[Gap, ...] = ()


REQUIREMENTS = (
    Requirement(
        "decode.call", "A call's id, name and arguments arrive as the model wrote them.", "vendor doc"
    ),
    Requirement("decode.parallel", "Several calls in one reply stay apart and in order.", "vendor doc"),
    Requirement("decode.no-arguments", "A call without arguments has an empty object.", "vendor doc"),
    Requirement(
        "decode.empty-arguments",
        "Arguments that are an empty string stay one.",
        "ours",
        (
            Gap("anthropic", "differs", "no piece of input and an empty one are the same: an object {}"),
            Gap("bedrock", "differs", "no piece of input and an empty one are the same: an object {}"),
            Gap("ollama", "differs", "arguments are an object, not text; none are {}"),
            Gap("gemini", "differs", "arguments are an object, not text; none are {}"),
            Gap(
                "gemini_interactions",
                "differs",
                "a step begins with an empty object, which stands for none",
            ),
        ),
    ),
    Requirement(
        "decode.unicode",
        "U+2028 ends no line, and a character whose escapes are cut apart is put together.",
        "ours",
    ),
    Requirement(
        "decode.truncated",
        "A call that the token limit cut off is marked, holds what came, and never ends.",
        "vllm #53269",
        (
            Gap(
                "anthropic", "differs", "a whole body has an object for the input, so what came is gone"
            ),
            Gap("bedrock", "differs", "a whole body has an object for the input, so what came is gone"),
            Gap("ollama", "differs", "a call that was cut off is no call, and is not sent"),
            Gap(
                "gemini", "differs", "a whole body has an object for the arguments, so what came is gone"
            ),
            Gap(
                "gemini_interactions",
                "differs",
                "a whole body has an object for the arguments, so what came is gone",
            ),
        ),
    ),
    Requirement(
        "decode.refusal",
        "A refusal is its own reason to stop, and its words are kept apart from the text.",
        "vendor doc",
        (
            Gap(
                "anthropic",
                "differs",
                "a refusal is a stop reason, without words in a part of their own",
            ),
            Gap(
                "bedrock", "differs", "a refusal is a stop reason, without words in a part of their own"
            ),
            Gap("cohere", "differs", "there is no form for a refusal, which is text like any other"),
            Gap("ollama", "differs", "there is no form for a refusal, which is text like any other"),
            Gap("gemini", "differs", "the vendor filters, and does not let the model refuse in form"),
            Gap("gemini_interactions", "differs", "there is no form for a refusal among its steps"),
        ),
    ),
    Requirement(
        "decode.unknown",
        "An unknown event is passed over; an unknown part is kept.",
        "ours",
        (Gap("ollama", "differs", "a message has no parts, and members that are not known are left"),),
    ),
    Requirement(
        "decode.stop-sequence",
        "A reply that met a stop sequence says so.",
        "vendor doc",
        (
            Gap("openai_chat", "differs", "finish_reason is 'stop', as at any end"),
            Gap("openai_responses", "differs", "there are no stop sequences; the status is 'completed'"),
            Gap("ollama", "differs", "done_reason is 'stop', as at any end"),
            Gap("gemini", "differs", "finishReason is STOP, as at any end"),
            Gap("gemini_interactions", "differs", "the status is 'completed', as at any end"),
        ),
    ),
    Requirement(
        "decode.usage",
        "Cached, cache-written and reasoning tokens are counted as parts of input and output.",
        "vendor doc",
        (
            Gap("bedrock", "differs", "Converse counts no tokens of reasoning apart from the output's"),
            Gap("cohere", "differs", "neither what a cache was written nor thoughts are counted apart"),
            Gap("ollama", "differs", "neither caches nor thoughts are counted apart"),
            Gap("gemini", "differs", "caches are implicit, and what is written to them is not counted"),
            Gap("gemini_interactions", "differs", "what is written to caches is not counted"),
        ),
    ),
    Requirement("decode.reasoning", "Reasoning comes as parts before the answer.", "vendor doc"),
    Requirement(
        "decode.citations",
        "What a text is from comes in one form, with the text's own span.",
        "vendor doc",
        (Gap("ollama", "differs", "local models cite nothing"),),
    ),
    Requirement(
        "decode.media",
        "A picture that the model made is media, streamed or whole.",
        "vendor doc",
        (
            Gap("anthropic", "differs", "its code makes files, which come by their ids"),
            Gap("cohere", "differs", "its models make no media"),
            Gap("ollama", "differs", "its models write words alone"),
        ),
    ),
    Requirement(
        "decode.error",
        "An error in the middle of a stream, or in a 200, is a VendorError.",
        "vendor doc",
    ),
    Requirement("decode.cut", "A stream cut anywhere before its end is a TruncatedStream.", "ours"),
    Requirement(
        "encode.tool-error",
        "A failed result is told as an error, to its call, and the next request is legal.",
        "vendor doc",
    ),
    Requirement(
        "encode.returned",
        "What only the vendor understands goes back to it exactly as it came.",
        "vendor doc",
    ),
    Requirement(
        "encode.foreign",
        "To another vendor go text, calls and results, and none of the reasoning.",
        "ours",
    ),
    Requirement(
        "encode.choice",
        "The four intents of tool choice have the vendor's own words.",
        "vendor doc",
        (Gap("ollama", "refused", "no model can be made to call a tool"),),
    ),
    Requirement(
        "encode.parallel",
        "One call at a time can be asked for.",
        "vendor doc",
        (
            Gap("cohere", "ignored", "the API has no such switch"),
            Gap("ollama", "ignored", "the API has no such switch"),
            Gap("gemini", "ignored", "the API has no such switch"),
            Gap("gemini_interactions", "ignored", "the API has no such switch"),
        ),
    ),
    Requirement(
        "encode.strict",
        "Strict asks the vendor to hold the model to the tools' schemas.",
        "vendor doc",
        (Gap("ollama", "refused", "models are not held to the schemas of tools"),),
    ),
    Requirement(
        "encode.strict-ceiling",
        "A tool beyond the vendor's strict ceilings is refused by name before anything is sent.",
        "vendor doc",
        (
            Gap("cohere", "differs", "two hundred fields are taken, optional and nested as may be"),
            Gap("gemini", "differs", "VALIDATED mode takes full JSON Schema, and documents no ceilings"),
            Gap("gemini_interactions", "differs", "validated mode documents no ceilings"),
        ),
    ),
    Requirement(
        "encode.output",
        "An output schema is sent in the vendor's own form.",
        "vendor doc",
        (Gap("cohere", "refused", "response_format is not taken beside tools, which the scenario has"),),
    ),
    Requirement(
        "encode.logprobs",
        "How likely each token was can be asked for.",
        "vendor doc",
        (
            Gap("anthropic", "refused", "the API tells no such thing"),
            Gap("bedrock", "refused", "Converse tells no such thing"),
            Gap("cohere", "refused", "it tells those of the words chosen alone, in a form of its own"),
            Gap("gemini_interactions", "refused", "the API tells no such thing"),
        ),
    ),
    Requirement(
        "encode.stop",
        "Stop sequences are sent.",
        "vendor doc",
        (Gap("openai_responses", "refused", "the Responses API has no stop sequences"),),
    ),
    Requirement("encode.same", "The same request gives the same bytes.", "ours"),
    Requirement(
        "encode.extends",
        "A longer history extends the bytes of a shorter one, so that caches hold.",
        "ours",
    ),
)
