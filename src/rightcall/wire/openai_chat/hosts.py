"""The hosts of Chat Completions, and how each departs from OpenAI's own. Data, no code.

A host is known by its base URL and never by a model's name. One that is not listed is taken for a server
that imitates OpenAI as of 2024 (``COMPATIBLE``), which all of them do.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.media_type import MediaKind
from rightcall.wire.media import MediaTable
from rightcall.wire.openai_chat.tables import MEDIA

Ids: TypeAlias = Literal["forty", "nine"]
"""Up to forty characters; or exactly nine letters and digits."""


class Host(Struct, frozen=True, kw_only=True):
    """What one host wants said differently."""

    limit: str = "max_tokens"
    """The member for the most tokens to write. OpenAI's reasoning models refuse ``max_tokens``; Ollama,
    Mistral, DeepSeek and LM Studio know nothing else."""
    seed: str = "seed"
    required: str = "required"
    """The word that makes the model call some tool."""
    effort: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"
    ids: Ids = "forty"
    stream_usage: bool = True
    """Whether ``stream_options`` is taken."""
    strict: bool = True
    """Whether tools may be marked ``strict``."""
    parallel: bool = True
    """Whether ``parallel_tool_calls`` is taken."""
    user: bool = True
    """Whether ``user`` is taken."""
    owed: str = ""
    """A member that every turn with calls must have, even if it is empty."""
    media: tuple[MediaKind, ...] = tuple(MEDIA)
    """What it takes besides words. Which of it a model understands is another matter."""
    bridged: bool = False
    """Whether a user's message right after a tool's is refused, so that a word of the model's must stand
    between the two."""

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


COMPATIBLE = Host()
_UNSEEN = tuple(kind for kind in MEDIA if kind != "video")
OPENAI = Host(limit="max_completion_tokens", media=_UNSEEN, caches=True)
# Groq refuses what it does not know ("property 'x' is unsupported"), and xAI wants a header instead:
# https://docs.x.ai/docs/guides/prompt-caching
UNCACHED = Host(limit="max_completion_tokens", media=_UNSEEN)
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
)
# "The reasoning_content in the thinking mode must be passed back", empty as well (opencode #24722,
# discussion deepseek-harness #739); without calls it is ignored.
# "unknown variant `image_url`, expected `text`" (rikkahub #1433): any part but text is a 400.
DEEPSEEK = Host(owed="reasoning_content", media=("text",))
# https://openrouter.ai/docs/features/prompt-caching and .../multimodal/image-generation
OPENROUTER = Host(effort="reasoning", pictures=True, marks=True)

HOSTS: Mapping[str, Host] = {
    "api.openai.com": OPENAI,
    "openai.azure.com": OPENAI,
    "services.ai.azure.com": OPENAI,
    "api.groq.com": UNCACHED,
    "api.x.ai": UNCACHED,
    "api.mistral.ai": MISTRAL,
    "api.deepseek.com": DEEPSEEK,
    "openrouter.ai": OPENROUTER,
}
"""By the end of the host's name."""


def host_of(base_url: str) -> Host:
    """The host behind a base URL."""
    place = base_url.rpartition("://")[2].partition("/")[0]
    name = place.rpartition("@")[2].partition(":")[0].lower()
    found = (host for end, host in HOSTS.items() if name == end or name.endswith("." + end))
    return next(found, COMPATIBLE)
