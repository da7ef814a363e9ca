"""Reads the providers of models, and what is known of their models, from ``providers.json``.

A provider is a dialect at a URL. The URL follows the vendor's own SDK: with the API version for
OpenAI and compatible servers, the bare host for Anthropic and Gemini.

URLs and keys were last checked against these in November 2026: anthropic 2.8.0, openai 3.49.0,
google-genai 3.1.0, cohere 7.3.1, cerebras-cloud-sdk 1.91.0, groq 1.7.0, mistralai 3.7.0, together 3.0.0,
fireworks-ai 1.2.30, perplexityai 0.46.1, zai-sdk 0.2.3, huggingface_hub 2.4.0; the names in ``prices``
against genai-prices 0.2.1. Not verified: NVIDIA's and Snowflake's rows, the keys of xAI and OpenRouter,
Alibaba's row beyond what its note cites, and whether MiniMax obeys a forced choice, of which its
reference says nothing.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonValue
from rightcall.core.request import OutputMode


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One place that serves models."""

    name: str = ""
    note: str = ""
    """Why something is as it is, for who reads the table. Others have it, too."""
    dialect: str
    """The name in ``wire.dialects``."""
    url: str = ""
    """Empty if every customer has their own URL; ``{NAME}`` stands for an environment variable."""
    keys: tuple[str, ...] = ()
    """Environment variables that may hold the key; () if none is needed."""
    url_variable: str = ""
    """An environment variable that may hold another URL."""
    key_header: str = ""
    """The header for the key, if it is not the dialect's default."""
    prices: str = ""
    """The provider's name in the price tables."""
    signed_with: Literal["", "aws", "google", "entra"] = ""
    """The kind of credentials used if there is no key; ``models.opening`` handles each. The region may
    be part of the URL."""
    ways_of: str = ""
    """A URL whose host's differences apply, whatever its own URL is."""
    tells_cost: bool = False
    """Whether every reply reports its cost."""
    forced_choice: bool = True
    """Whether its models accept a forced tool choice."""
    structured: OutputMode | None = None
    """How an output schema is enforced, if not by the dialect's default."""

    @property
    def is_free(self) -> bool:
        """Whether it runs on this machine and costs nothing."""
        return self.url.startswith("http://localhost:")


class _Quirk(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that some models of a provider need."""

    note: str
    provider: str
    models: tuple[str, ...]
    """How their names begin."""
    options: dict[str, JsonValue]


class _Windows(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The context of models, in tokens, by the beginning of the name behind its last slash."""

    note: str
    """The vendor's page that says so."""
    provider: str
    """Empty for models that only their vendors have, whoever passes requests on."""
    tokens: dict[str, int]


class _Tables(Struct, frozen=True, forbid_unknown_fields=True):
    providers: tuple[Provider, ...]
    quirks: tuple[_Quirk, ...]
    context_windows: tuple[_Windows, ...]


_LOADER: Any = __spec__.loader
"""Reads also what is in a zip file."""
_TABLES = msgspec.json.decode(
    _LOADER.get_data(str(Path(__file__).with_name("providers.json"))), type=_Tables
)
PROVIDERS = {provider.name: provider for provider in _TABLES.providers}


def quirks_of(provider: str, model: str) -> dict[str, JsonValue]:
    """The default options that a model needs; a request may override them."""
    for quirk in _TABLES.quirks:
        if quirk.provider == provider and model.startswith(quirk.models):
            return quirk.options
    return {}


CONTEXT_WINDOWS = _TABLES.context_windows
"""The context of models that the price tables do not have, or where they are not installed. The first
that fits counts. Compared with models.dev as of July 2026."""

_IN_FRONT = re.compile(r"(ft:)?([a-z-]+\.)*")
"""What may stand in front of a model's name: of a tuned one, a region and a vendor as at Bedrock."""


@lru_cache(maxsize=256)
def context_window(provider: str, model: str) -> int | None:
    """The context of a model, as its vendor states it; None if it is not known."""
    name = _IN_FRONT.sub("", model.rpartition("/")[2].lower())
    if name.startswith("claude-"):
        name = name.replace(".", "-")  # OpenRouter's way of writing versions
    for windows in CONTEXT_WINDOWS:
        if windows.provider in ("", provider):
            for start, tokens in windows.tokens.items():
                if name.startswith(start):
                    return tokens
    return None
