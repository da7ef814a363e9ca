"""The hosts of Chat Completions, and how each departs from OpenAI's own. Data, no code.

A host is known by its base URL and never by a model's name. One that is not listed is taken for a server
that imitates OpenAI as of 2024 (``COMPATIBLE``), which all of them do.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.media_type import MediaKind
from rightcall.wire.media import MediaTable
from rightcall.wire.openai_chat.tables import EFFORTS, MEDIA

Ids: TypeAlias = Literal["forty", "carrying", "nine"]
"""Up to forty characters; the same, or what a server of ours carries in one; or exactly nine letters and
digits."""


Effort: TypeAlias = Literal[
    "", "reasoning_effort", "reasoning", "thinking", "adaptive", "enable_thinking"
]
"""The member that says how much to think; none where a model is not asked. ``thinking`` is switched on
or off, with a word beside it, or is ``adaptive`` or off; ``enable_thinking`` is on or off, with a number
of tokens beside it."""


class Thinking(Struct, frozen=True):
    """How models are told how much to think."""

    effort: Effort = "reasoning_effort"
    words: tuple[str, ...] = EFFORTS
    """The words for it that are known, from the least. Without ``none`` they think whatever they are
    told, and some refuse to be told not to."""

    def nearest(self, word: str) -> str:
        """The word, or the next greater one that is known."""
        greater = EFFORTS[EFFORTS.index(word) :]
        return next((each for each in greater if each in self.words), self.words[-1])


_UNASKED = Thinking("")
_SPARSE = Thinking(words=("low", "high", "max"))


class Host(Struct, frozen=True, kw_only=True):
    """What one host wants said differently."""

    limit: str = "max_tokens"
    """The member for the most tokens to write. OpenAI's reasoning models refuse ``max_tokens``; Ollama,
    Mistral, DeepSeek and LM Studio know nothing else."""
    seed: str = "seed"
    """The member for it; none where there is none."""
    required: str = "required"
    """The word that makes the model call some tool."""
    thinking: Thinking = Thinking()
    thinkers: tuple[tuple[str, Thinking], ...] = ()
    """Models that are told differently, by how their names begin in small letters."""
    ids: Ids = "forty"
    stream_usage: bool = True
    """Whether ``stream_options`` is taken."""
    strict: bool = False
    """Whether tools are sent strict unasked, as it is known to hold models to them. Others refuse the
    member, or take it and refuse the call of a model that leaves an optional parameter out."""
    parallel: bool = True
    """Whether ``parallel_tool_calls`` is taken."""
    only_auto: bool = False
    """Whether every ``tool_choice`` but ``auto`` is refused. None is then said by sending no tool."""
    user: bool = True
    """Whether ``user`` is taken."""
    developer: str = "user"
    """The role of what the developer says amid a conversation: that of the system text, where it may
    stand anywhere. Many chat templates take a system's message at the beginning only."""
    owed: str = ""
    """A member that every turn with calls must have, even if it is empty."""
    media: tuple[MediaKind, ...] = tuple(MEDIA)
    """What it takes besides words. Which of it a model understands is another matter."""
    custom: bool = False
    """Whether it has tools whose input is text."""
    thoughts: tuple[str, ...] | None = None
    """The members and forms in which it takes its own reasoning back; None where any will do. What is
    known to be another host's never gets here."""
    bridged: bool = False
    """Whether a user's message right after a tool's is refused, so that a word of the model's must stand
    between the two."""
    adds: Mapping[str, JsonValue] = {}
    """Members that every request has, unless ``extra`` says otherwise."""

    pictures: bool = False
    """Whether a message of the model's may hold the ``images`` that it made."""
    caches: bool = False
    """Whether ``prompt_cache_key`` and ``prompt_cache_retention`` are taken."""
    marks: bool = False
    """Whether parts may have Anthropic's ``cache_control``, for the models that need it."""

    @property
    def media_table(self) -> MediaTable:
        """What it takes, in which ways."""
        return {kind: takes for kind, takes in MEDIA.items() if kind in self.media}

    def thinking_of(self, model: str) -> Thinking:
        """How that model is told how much to think."""
        name = model.lower()
        found = (thinking for start, thinking in self.thinkers if name.startswith(start))
        return next(found, self.thinking)


COMPATIBLE = Host(ids="carrying")
_OPENAI_LIKE = Host(
    limit="max_completion_tokens", media=tuple(kind for kind in MEDIA if kind != "video")
)
OPENAI = replace(_OPENAI_LIKE, custom=True, strict=True, caches=True)
# OpenAI shows no reasoning in Chat, and takes none.
OPENAI_ITSELF = replace(OPENAI, thoughts=("inline",), developer="system")
# Azure's Foundry serves everybody's models.
FOUNDRY = replace(_OPENAI_LIKE, custom=True, caches=True)
# "property 'reasoning_content' is unsupported" (jan #8136); their own member is `reasoning`, which
# Cerebras takes back (qwen-code #11045). Groq refuses any member that it does not know, such as what is
# to be cached. It checks calls against the schema after they are written (400, "tool call validation
# failed"), and a model that is not held leaves out what strict schemas require; so it is sent no strict
# tools, nor is xAI, which says nothing of them, and wants a header for its cache:
# https://docs.x.ai/docs/guides/prompt-caching
GROQ = replace(_OPENAI_LIKE, thoughts=("inline", "reasoning"))
# "max_tokens" is deprecated (cerebras-cloud-sdk 1.91.0).
CEREBRAS = Host(limit="max_completion_tokens", thoughts=("inline", "reasoning"))
# As ChatCompletionRequest of mistralai 3.7.0; any other member is a 422, "Extra inputs are not
# permitted" (eca #231). Its streams end with usage unasked. "Unexpected role 'user' after role
# 'tool'" (pydantic-ai #1210), and a tool's message takes no picture, either (LibreChat agents #344).
MISTRAL = Host(
    seed="random_seed",
    required="any",
    ids="nine",
    stream_usage=False,
    user=False,
    bridged=True,
    thoughts=("inline", "part"),
)
# "The reasoning_content in the thinking mode must be passed back", empty as well (opencode #24722,
# discussion deepseek-harness #739); without calls it is ignored.
# Strict tools only at its beta address, and only if all are (https://github.com/vercel/ai/pull/19428).
# "unknown variant `image_url`, expected `text`" (rikkahub #1433): any part but text is a 400.
# Thinking is on unless `thinking` says otherwise, and the words for its effort are low, high and max,
# to which it rounds others: https://api-docs.deepseek.com/guides/thinking_mode
DEEPSEEK = Host(
    owed="reasoning_content",
    media=("text",),
    thoughts=("inline", "reasoning_content"),
    thinking=Thinking("thinking"),
)
# Passes strict on to whoever serves the model: DeepSeek refuses an object without members (gajae-code
# #2760).
# https://openrouter.ai/docs/features/prompt-caching and .../multimodal/image-generation
OPENROUTER = Host(thinking=Thinking("reasoning"), pictures=True, marks=True)
# "thinking is enabled but reasoning_content is missing in assistant tool call message", empty as well
# (LibreChat's page on Moonshot); tools have no ``strict``, and ``max_tokens`` is the old
# name. K3 knows three words, and thinks at the most where it does not know one; K2.5 and K2.6 know the
# switch; K2.7 and K2 Thinking know neither, and to be switched off is an error
# (https://docs.rs/synaps-engine/0.11.0, kimi.rs, as seen at api.moonshot.ai).
# https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
MOONSHOT = Host(
    limit="max_completion_tokens",
    strict=False,
    owed="reasoning_content",
    thinking=Thinking("thinking"),
    thinkers=(("kimi-k3", _SPARSE), ("kimi-k2.7", _UNASKED), ("kimi-k2-thinking", _UNASKED)),
)
# Only the automatic choice of a tool is supported; neither seed nor strict tools are. The words for
# effort are known from GLM-5.2 on (zai-sdk 0.2.3). GLM-5.3 always thinks, knows three words, and takes
# no "disabled" (https://docs.together.ai/docs/glm-5.3-quickstart); any other word is the most
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
# https://platform.minimax.io/docs/api-reference/text-openai-api. M3 thinks as it sees fit, or not at
# all, and knows no effort (CherryHQ/cherry-studio #15787); M3.1 always thinks, and has words for how
# much ("requires adaptive thinking" where it is switched off, and the most where nothing is said:
# https://platform.minimax.io/docs/guides/text-generation); M2 always thinks, and has none.
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
"""By the end of the host's name."""


def host_of(base_url: str) -> Host:
    """The host behind a base URL."""
    place = base_url.rpartition("://")[2].partition("/")[0]
    name = place.rpartition("@")[2].partition(":")[0].lower()
    found = (host for end, host in HOSTS.items() if name == end or name.endswith("." + end))
    return next(found, COMPATIBLE)
