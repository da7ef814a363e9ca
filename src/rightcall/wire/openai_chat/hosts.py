"""The hosts of Chat Completions, and how each differs from OpenAI's own. Data, no code.

A host is identified by its base URL, never by a model's name. An unknown host is treated as a server
that imitates OpenAI as of 2024 (``COMPATIBLE``), which all of them do.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.parts import MediaKind
from rightcall.wire.media import MediaTable
from rightcall.wire.openai_chat.tables import EFFORTS, MEDIA

Ids: TypeAlias = Literal["forty", "carrying", "nine"]
"""The ids that a host accepts: up to forty characters; the same, or an id of our own server with a
token; or exactly nine letters and digits."""


Effort: TypeAlias = Literal[
    "", "reasoning_effort", "reasoning", "thinking", "adaptive", "enable_thinking"
]
"""The member that sets the amount of thinking; empty if none is sent. ``thinking`` is on or off, with
a level beside it, or ``adaptive`` or off; ``enable_thinking`` is on or off, with a token budget
beside it."""


class Thinking(Struct, frozen=True):
    """How the amount of thinking is set for a model."""

    effort: Effort = "reasoning_effort"
    words: tuple[str, ...] = EFFORTS
    """The supported effort levels, lowest first. Without ``none`` the models always think, and some
    refuse to be switched off."""

    def nearest(self, word: str) -> str:
        """The level, or the next higher one that is supported."""
        greater = EFFORTS[EFFORTS.index(word) :]
        return next((each for each in greater if each in self.words), self.words[-1])


_UNASKED = Thinking("")
_SPARSE = Thinking(words=("low", "high", "max"))


class Host(Struct, frozen=True, kw_only=True):
    """How requests to one host differ."""

    limit: str = "max_tokens"
    """The member for the output token limit. OpenAI's reasoning models refuse ``max_tokens``; Ollama,
    Mistral, DeepSeek and LM Studio know only that."""
    seed: str = "seed"
    """The member for the seed; empty if there is none."""
    required: str = "required"
    """The value of ``tool_choice`` that requires a call."""
    thinking: Thinking = Thinking()
    thinkers: tuple[tuple[str, Thinking], ...] = ()
    """Models that differ in this, by lower-case prefixes of their names."""
    ids: Ids = "forty"
    stream_usage: bool = True
    """Whether ``stream_options`` is accepted."""
    strict: bool = False
    """Whether tools are strict by default, as the host is known to enforce it. Other hosts refuse the
    member, or accept it and then refuse a call that leaves out an optional parameter."""
    parallel: bool = True
    """Whether ``parallel_tool_calls`` is accepted."""
    only_auto: bool = False
    """Whether every ``tool_choice`` but ``auto`` is refused. ``none`` then means sending no tools."""
    user: bool = True
    """Whether ``user`` is accepted."""
    developer: str = "user"
    """The role of developer messages within a conversation: the system's, if it may occur anywhere. Many
    chat templates accept a system message only at the beginning."""
    owed: str = ""
    """A member that every assistant message with calls must have, even if it is empty."""
    media: tuple[MediaKind, ...] = tuple(MEDIA)
    """The kinds of media that the host accepts; its models may understand fewer."""
    custom: bool = False
    """Whether it supports tools with text input."""
    thoughts: tuple[str, ...] | None = None
    """The members and forms in which it accepts its own reasoning back; None for any. Reasoning that is
    known to be another host's is filtered out before."""
    bridged: bool = False
    """Whether a user message right after a tool message is refused, so that an assistant message must be
    put between them."""
    adds: Mapping[str, JsonValue] = {}
    """Members of every request, unless ``extra`` overrides them."""

    renders: bool = True
    """Whether it may render messages with the chat template of an open model, whose special tokens are
    then broken up in results. Unknown hosts do."""
    pictures: bool = False
    """Whether an assistant message may hold the ``images`` that the model made."""
    caches: bool = False
    """Whether ``prompt_cache_key`` and ``prompt_cache_retention`` are accepted."""
    marks: bool = False
    """Whether parts may have Anthropic's ``cache_control``, for the models that need it."""

    @property
    def media_table(self) -> MediaTable:
        """The media that the host accepts, and how they are sent."""
        return _media_table(self.media)

    def thinking_of(self, model: str) -> Thinking:
        """How the amount of thinking is set for that model."""
        name = model.lower()
        found = (thinking for start, thinking in self.thinkers if name.startswith(start))
        return next(found, self.thinking)


@cache
def _media_table(kinds: tuple[MediaKind, ...]) -> MediaTable:
    return {kind: takes for kind, takes in MEDIA.items() if kind in kinds}


COMPATIBLE = Host(ids="carrying")
_OPENAI_LIKE = Host(
    limit="max_completion_tokens", media=tuple(kind for kind in MEDIA if kind != "video"), renders=False
)
OPENAI = replace(_OPENAI_LIKE, custom=True, strict=True, caches=True)
# OpenAI shows no reasoning in Chat, and accepts none.
OPENAI_ITSELF = replace(OPENAI, thoughts=("inline",), developer="system")
# Azure's Foundry serves models of all vendors.
FOUNDRY = replace(_OPENAI_LIKE, custom=True, caches=True, renders=True)
# "property 'reasoning_content' is unsupported" (jan #8136); their own member is `reasoning`, which
# Cerebras accepts back (qwen-code #11045). Groq refuses unknown members, such as those for caching. It
# validates calls against the schema after they are written (400, "tool call validation failed"), and
# without enforcement a model leaves out what strict schemas require; so it is sent no strict tools.
# Neither is xAI, which documents nothing about them, and needs a header for its cache:
# https://docs.x.ai/docs/guides/prompt-caching
GROQ = replace(_OPENAI_LIKE, thoughts=("inline", "reasoning"), renders=True)
# "max_tokens" is deprecated (cerebras-cloud-sdk 1.91.0).
CEREBRAS = Host(limit="max_completion_tokens", thoughts=("inline", "reasoning"))
# As ChatCompletionRequest of mistralai 3.7.0; any other member is a 422, "Extra inputs are not
# permitted" (eca #231). Its streams end with usage by default. "Unexpected role 'user' after role
# 'tool'" (pydantic-ai #1210), and a tool message accepts no images, either (LibreChat agents #344).
MISTRAL = Host(
    seed="random_seed",
    required="any",
    ids="nine",
    stream_usage=False,
    user=False,
    bridged=True,
    thoughts=("inline", "part"),
)
# "The reasoning_content in the thinking mode must be passed back", even if empty (opencode #24722,
# discussion deepseek-harness #739); without calls it is ignored.
# Strict tools only at its beta address, and only if all are (https://github.com/vercel/ai/pull/19428).
# "unknown variant `image_url`, expected `text`" (rikkahub #1433): any part but text is a 400.
# Thinking is on unless `thinking` says otherwise; the effort levels are low, high and max, to which it
# rounds others: https://api-docs.deepseek.com/guides/thinking_mode
DEEPSEEK = Host(
    owed="reasoning_content",
    media=("text",),
    thoughts=("inline", "reasoning_content"),
    thinking=Thinking("thinking"),
)
# Passes strict on to the model's provider: DeepSeek refuses an object without members (gajae-code
# #2760).
# https://openrouter.ai/docs/features/prompt-caching and .../multimodal/image-generation
OPENROUTER = Host(thinking=Thinking("reasoning"), pictures=True, marks=True)
# "thinking is enabled but reasoning_content is missing in assistant tool call message", even if empty
# (LibreChat's page on Moonshot); tools have no ``strict``, and ``max_tokens`` is the old name. K3 has
# three levels, and takes an unknown one for the highest; K2.5 and K2.6 have the switch; K2.7 and K2
# Thinking have neither, and switching off is an error (https://docs.rs/synaps-engine/0.11.0, kimi.rs, as
# seen at api.moonshot.ai).
# https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
MOONSHOT = Host(
    limit="max_completion_tokens",
    strict=False,
    owed="reasoning_content",
    thinking=Thinking("thinking"),
    thinkers=(("kimi-k3", _SPARSE), ("kimi-k2.7", _UNASKED), ("kimi-k2-thinking", _UNASKED)),
)
# Only the automatic tool choice is supported; neither seed nor strict tools are. Effort levels exist
# from GLM-5.2 on (zai-sdk 0.2.3). GLM-5.3 always thinks, has three levels, and refuses "disabled"
# (https://docs.together.ai/docs/glm-5.3-quickstart); any other level means the highest
# (https://github.com/ceulen-dev/ceulen/releases/tag/v0.23.0).
# https://docs.z.ai/api-reference/llm/chat-completion
ZAI = Host(
    only_auto=True,
    strict=False,
    seed="",
    user=False,
    parallel=False,
    thinking=Thinking("thinking"),
    thinkers=(("glm-5.3", _SPARSE),),
)
# Without ``reasoning_split`` thoughts come as <think> within the text.
# https://platform.minimax.io/docs/api-reference/text-openai-api. M3 thinks adaptively or not at all, and
# has no effort levels (CherryHQ/cherry-studio #15787); M3.1 always thinks, and has effort levels
# ("requires adaptive thinking" if it is switched off, and the highest by default:
# https://platform.minimax.io/docs/guides/text-generation); M2 always thinks, and has no levels.
MINIMAX = Host(
    limit="max_completion_tokens",
    adds={"reasoning_split": True},
    thinking=Thinking("adaptive"),
    thinkers=(("minimax-m3.1", Thinking(words=EFFORTS[2:])), ("minimax-m2", _UNASKED)),
)
# https://www.alibabacloud.com/help/en/model-studio/deep-thinking
ALIBABA = Host(thinking=Thinking("enable_thinking"))
# https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api
SNOWFLAKE = Host(limit="max_completion_tokens")

HOSTS: Mapping[str, Host] = {
    "api.openai.com": OPENAI_ITSELF,
    "openai.azure.com": OPENAI_ITSELF,
    "services.ai.azure.com": FOUNDRY,
    "api.cerebras.ai": CEREBRAS,
    "api.groq.com": GROQ,
    "api.x.ai": _OPENAI_LIKE,
    "api.mistral.ai": MISTRAL,
    "api.deepseek.com": DEEPSEEK,
    "openrouter.ai": OPENROUTER,
    "api.moonshot.ai": MOONSHOT,
    "api.moonshot.cn": MOONSHOT,
    "api.z.ai": ZAI,
    "open.bigmodel.cn": ZAI,
    "api.minimax.io": MINIMAX,
    "api.minimaxi.com": MINIMAX,
    "aliyuncs.com": ALIBABA,
    "snowflakecomputing.com": SNOWFLAKE,
}
"""By the suffix of the host's name."""


def host_of(base_url: str) -> Host:
    """The entry for the host in a base URL."""
    place = base_url.rpartition("://")[2].partition("/")[0]
    name = place.rpartition("@")[2].partition(":")[0].lower()
    found = (host for end, host in HOSTS.items() if name == end or name.endswith("." + end))
    return next(found, COMPATIBLE)
