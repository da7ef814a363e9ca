"""The hosts of Chat Completions, and how each departs from OpenAI's own. Data, no code.

A host is known by its base URL and never by a model's name. One that is not listed is taken for a server
that imitates OpenAI as of 2024 (``COMPATIBLE``), which all of them do.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

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


COMPATIBLE = Host()
OPENAI = Host(limit="max_completion_tokens")
# As ChatCompletionRequest of mistralai 3.7.0; any other member is a 422, "Extra inputs are not
# permitted" (eca #231). Its streams end with usage unasked.
MISTRAL = Host(seed="random_seed", required="any", ids="nine", stream_usage=False, user=False)
# "The reasoning_content in the thinking mode must be passed back", empty as well (opencode #24722,
# discussion deepseek-harness #739); without calls it is ignored.
DEEPSEEK = Host(owed="reasoning_content")
OPENROUTER = Host(effort="reasoning")

HOSTS: Mapping[str, Host] = {
    "api.openai.com": OPENAI,
    "openai.azure.com": OPENAI,
    "services.ai.azure.com": OPENAI,
    "api.groq.com": OPENAI,
    "api.x.ai": OPENAI,
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
