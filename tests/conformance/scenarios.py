"""What is said, and what must come of it, in no vendor's words; ``VENDORS`` has each vendor's own."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Citation, Reasoning, Reply, Results, Unknown, user_text
from rightcall.core.parts import Call, Media, Result, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.wire.dialects import DIALECTS
from wire.made import PNG


class Forms(Protocol):
    """One vendor's words for the scenarios. A module is one."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def MODEL(self) -> str: ...  # noqa: N802 (a module's constant)
    @property
    def MARKS(self) -> tuple[bytes, ...]:  # noqa: N802
        """Cache marks, which move as the history grows."""
        ...

    @property
    def WIRES(self) -> Mapping[str, tuple[bytes, bytes]]:  # noqa: N802
        """Replies by scenario, streamed and whole."""
        ...

    @property
    def OPEN(self) -> bytes:  # noqa: N802
        """A stream up to its ending, which is not there."""
        ...

    @property
    def SAID(self) -> Mapping[str, dict[str, Any] | str]:  # noqa: N802
        """The members that a wish changes, or where its EncodeError points."""
        ...

    @property
    def INSTEAD(self) -> Mapping[tuple[str, str], Any]:  # noqa: N802
        """What comes where there is a gap, by scenario and form."""
        ...

    @property
    def RETURNED(self) -> Mapping[str, list[Any]]:  # noqa: N802
        """How a decoded reply stands in the next request."""
        ...

    @property
    def SECRETS(self) -> tuple[bytes, ...]:  # noqa: N802
        """What no other vendor may see."""
        ...

    def model_turn(self, body: dict[str, Any], /) -> list[Any]: ...
    def outline(self, body: dict[str, Any], /) -> list[tuple[Any, ...]]: ...


VENDORS: Mapping[str, Forms] = {
    name: cast(Forms, import_module(f"conformance.scenarios_{name}")) for name in DIALECTS
}


class Refused(Struct, frozen=True):
    """A VendorError."""

    message: str
    retryable: bool


class Replied(Struct, frozen=True):
    """A reply, streamed and whole, and the neutral form of what it says."""

    id: str
    requirement: str
    expected: Reply | Refused


class Wished(Struct, frozen=True):
    """Something asked of the vendor that a request without it does not ask."""

    id: str
    requirement: str
    before: Request
    request: Request
    refused: str = ""
    """Where the EncodeError must point."""


class Proven(Struct, frozen=True):
    """A scenario that is a test of its own in ``test_dialects``."""

    id: str
    requirement: str


def neutral(reply: Reply) -> Reply:
    """A reply without what only its vendor understands; arguments without blanks and escapes."""
    content = tuple(map(_neutral, reply.content))
    # Reasoning without text is a vendor's sealed envelope.
    shown = tuple(part for part in content if part != Reasoning(""))
    return Reply(shown, reply.stop, usage=reply.usage, citations=reply.citations)


def _neutral(
    part: Text | Reasoning | Call | Media | Unknown,
) -> Text | Reasoning | Call | Media | Unknown:
    if isinstance(part, Call):
        return replace(part, arguments=_plain(part.arguments), vendor={})
    return replace(part, vendor={})


def _plain(arguments: str) -> str:
    try:
        return dump(parse(arguments))
    except JsonError:
        return arguments


def call(id_: str = "call_1", arguments: str = '{"q":"x"}', name: str = "look") -> Call:
    return Call(id=id_, name=name, arguments=arguments)


def replied(*content: Any, stop: Any = "calls", usage: Usage | None = None) -> Reply:
    return Reply(content, stop, usage=usage or Usage(input_tokens=20, output_tokens=10))


FACE = "\N{GRINNING FACE}"
CITED = (Citation(start=0, end=9, url="https://a", title="A"),)
REPLIED = (
    Replied("single-call", "decode.call", replied(call())),
    Replied("parallel-calls", "decode.parallel", replied(call(), call("call_2", '{"q":"y"}'))),
    Replied("no-arguments", "decode.no-arguments", replied(call(arguments="{}", name="now"))),
    Replied("empty-arguments", "decode.empty-arguments", replied(call(arguments="", name="now"))),
    Replied(
        "unicode",
        "decode.unicode",
        replied(Text(f"a\u2028b{FACE}"), call(arguments=f'{{"q":"\u2028é{FACE}"}}')),
    ),
    Replied(
        "truncated-call",
        "decode.truncated",
        replied(
            Text("Let me look."), replace(call(arguments='{"q":"par'), truncated=True), stop="length"
        ),
    ),
    Replied("refusal", "decode.refusal", replied(Unknown({}), stop="refusal")),
    Replied("unknown", "decode.unknown", replied(Text("Hi"), Unknown({}), stop="end")),
    Replied("stop-sequence", "decode.stop-sequence", replied(Text("One, two"), stop="stop_sequence")),
    Replied(
        "usage",
        "decode.usage",
        replied(
            Text("Hi"),
            stop="end",
            usage=Usage(
                input_tokens=100,
                output_tokens=50,
                cached_tokens=60,
                cache_written_tokens=10,
                reasoning_tokens=20,
            ),
        ),
    ),
    Replied(
        "reasoning",
        "decode.reasoning",
        replied(Reasoning("I must look."), Text("Let me look."), call()),
    ),
    Replied(
        "cited", "decode.citations", replace(replied(Text("It rains."), stop="end"), citations=CITED)
    ),
    Replied("made", "decode.media", replied(Media(PNG, "image/png"), stop="end")),
    Replied("error-mid-stream", "decode.error", Refused("Overloaded", retryable=True)),
)

LOOK = Spec(
    name="look",
    description="Look it up.",
    parameters={
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["q"],
    },
)


def _nested(depth: int) -> dict[str, Any]:
    inner = {"inner": _nested(depth - 1)} if depth > 1 else {"end": {"type": "string"}}
    return {"type": "object", "properties": inner, "required": list(inner)}


WIDE = Spec(
    name="wide",
    description="More optional members than Anthropic takes, and deeper than OpenAI takes.",
    parameters={
        "type": "object",
        "properties": {f"p{at}": {"type": "string"} for at in range(25)} | {"deep": _nested(10)},
        "required": ["deep"],
    },
)
FREE = Spec(
    name="free",
    description="An object with members of any name.",
    parameters={"type": "object", "additionalProperties": {"type": "string"}},
)
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
BASE = Request(
    messages=(user_text("Hi"),),
    system="Be brief.",
    specs=(LOOK,),
    max_tokens=100,
    options={"cache": False, "strict": False},
)
UNSAID = replace(BASE, options={"cache": False})
STRICT = {"cache": False, "strict": True}


def wished(id_: str, requirement: str, **changes: Any) -> Wished:
    return Wished(id_, requirement, BASE, replace(BASE, **changes))


def too_strict(id_: str, spec: Spec) -> Wished:
    before = replace(BASE, specs=(LOOK, spec))
    after = replace(before, options=STRICT)
    return Wished(id_, "encode.strict-ceiling", before, after, f"tool {spec.name!r}")


WISHED = (
    wished("choice-auto", "encode.choice", choice="auto"),
    wished("choice-required", "encode.choice", choice="required"),
    wished("choice-none", "encode.choice", choice="none"),
    wished("choice-named", "encode.choice", choice=Named("look")),
    wished("parallel-off", "encode.parallel", options={**BASE.options, "parallel": False}),
    wished("strict-on", "encode.strict", options=STRICT),
    too_strict("strict-too-much", WIDE),
    too_strict("strict-open", FREE),
    Wished("structured-output", "encode.output", UNSAID, replace(UNSAID, output=ANSWER)),
    wished("logprobs", "encode.logprobs", options={**BASE.options, "logprobs": 2}),
    wished("stop-sequences", "encode.stop", options={**BASE.options, "stop": ["END", "\n\n"]}),
)

PROVEN = (
    Proven("cut", "decode.cut"),
    Proven("tool-error", "encode.tool-error"),
    Proven("returned", "encode.returned"),
    Proven("foreign", "encode.foreign"),
    Proven("same", "encode.same"),
    Proven("extends", "encode.extends"),
)

FAILED = Results(
    (Result(call_id="call_1", name="look", outcome="failed", content=(Text("no such place"),)),)
)
FOUND = Results((Result(call_id="call_1", name="look", outcome="returned", content=(Text("found"),)),))
TOLD_ERROR: list[tuple[Any, ...]] = [
    ("user", "Hi"),
    ("call", "call_1", "look", {"q": "x"}),
    ("result", "call_1", "no such place", True),
    ("user", "Go on."),
]
TOLD_FOREIGN: list[tuple[Any, ...]] = [
    ("user", "Hi"),
    ("model", "Let me look."),
    ("call", "call_1", "look", {"q": "x"}),
    ("result", "call_1", "found", False),
]
