"""The providers of models: data, no code.

A provider is a dialect at a URL. The URL follows the vendor's own SDK: with the API version for
OpenAI and compatible servers, the bare host for Anthropic and Gemini.

URLs and keys were last checked against these in November 2026: anthropic 2.8.0, openai 3.49.0,
google-genai 3.1.0, cohere 7.3.1, cerebras-cloud-sdk 1.91.0, groq 1.7.0, mistralai 3.7.0, together 3.0.0,
fireworks-ai 1.2.30, perplexityai 0.46.1, zai-sdk 0.2.3, huggingface_hub 2.4.0; the names in ``prices``
against genai-prices 0.2.1. Not verified: NVIDIA's and Snowflake's rows, the keys of xAI and OpenRouter,
Alibaba's row beyond what its comment cites, and whether MiniMax obeys a forced choice, of which its
reference says nothing.
"""

from typing import Any, Literal

from msgspec import Struct

from rightcall.core.jsontext import JsonValue
from rightcall.core.request import OutputMode


class Provider(Struct, frozen=True, kw_only=True):
    """One place that serves models."""

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


def _compatible(url: str, *keys: str, **more: Any) -> Provider:
    return Provider(dialect="openai_chat", url=url, keys=keys, **more)


_AZURE: dict[str, Any] = {
    "prices": "azure",
    "url_variable": "AZURE_OPENAI_BASE_URL",
    "key_header": "api-key",
    "signed_with": "entra",
    "ways_of": "https://openai.azure.com",
}

PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        dialect="anthropic",
        url="https://api.anthropic.com",
        keys=("ANTHROPIC_API_KEY",),
        url_variable="ANTHROPIC_BASE_URL",
        prices="anthropic",
    ),
    # google-genai prefers GOOGLE_API_KEY; a key that is named after Gemini is for nothing else.
    "gemini": Provider(
        dialect="gemini",
        url="https://generativelanguage.googleapis.com",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url_variable="GOOGLE_GEMINI_BASE_URL",
        prices="google",
    ),
    "gemini-interactions": Provider(
        dialect="gemini_interactions",
        url="https://generativelanguage.googleapis.com",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url_variable="GOOGLE_GEMINI_BASE_URL",
        prices="google",
    ),
    "openai": _compatible(
        "https://api.openai.com/v1", "OPENAI_API_KEY", prices="openai", url_variable="OPENAI_BASE_URL"
    ),
    "openai-responses": Provider(
        dialect="openai_responses",
        url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        url_variable="OPENAI_BASE_URL",
        prices="openai",
    ),
    "azure": _compatible("", "AZURE_OPENAI_API_KEY", **_AZURE),
    "azure-responses": Provider(dialect="openai_responses", keys=("AZURE_OPENAI_API_KEY",), **_AZURE),
    "bedrock": Provider(
        dialect="bedrock",
        url="https://bedrock-runtime.{region}.amazonaws.com",
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        prices="aws",
        signed_with="aws",
    ),
    "bedrock-anthropic": Provider(
        dialect="anthropic",
        url="https://bedrock-runtime.{region}.amazonaws.com",
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        prices="aws",
        signed_with="aws",
    ),
    # Models that think, as most do by default, refuse a forced choice: "does not support being set to
    # required or object in thinking mode" (eino #994). Only some support JSON Schema.
    "alibaba": _compatible(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        forced_choice=False,
        structured="tool",
    ),
    "cerebras": _compatible("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", prices="cerebras"),
    "cohere": Provider(
        dialect="cohere",
        url="https://api.cohere.com",
        keys=("CO_API_KEY", "COHERE_API_KEY"),
        url_variable="CO_API_URL",
        prices="cohere",
    ),
    # V4 thinks by default, and then refuses a forced choice: "Thinking mode does not support this
    # tool_choice" (deepseek-ai/DeepSeek-V3 #1376). Chat has no JSON Schema: "This response_format type
    # is unavailable now" (https://github.com/llm-exe/llm-exe/issues/662).
    "deepseek": _compatible(
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        prices="deepseek",
        forced_choice=False,
        structured="tool",
    ),
    "fireworks": _compatible(
        "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", prices="fireworks"
    ),
    "groq": _compatible("https://api.groq.com/openai/v1", "GROQ_API_KEY", prices="groq"),
    "huggingface": _compatible("https://router.huggingface.co/v1", "HF_TOKEN"),
    "minimax": _compatible(
        "https://api.minimax.io/v1", "MINIMAX_API_KEY", prices="minimax", structured="tool"
    ),
    "mistral": _compatible("https://api.mistral.ai/v1", "MISTRAL_API_KEY", prices="mistral"),
    # Kimi thinks, and then accepts only auto and none: "tool_choice '...' is incompatible with thinking
    # enabled" (https://docs.rs/crate/harn-vm/latest, 35-moonshot.toml).
    "moonshot": _compatible(
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        prices="moonshotai",
        forced_choice=False,
        structured="tool",
    ),
    "nvidia": _compatible("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "openrouter": _compatible(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", prices="openrouter", tells_cost=True
    ),
    # Chat ended on 27 September 2026 (https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview).
    # Its Agent API is Responses, without a choice of tools, and with another form for a schema
    # (perplexityai 0.46.1, ResponseCreateParams).
    "perplexity": Provider(
        dialect="openai_responses",
        url="https://api.perplexity.ai/v1",
        keys=("PERPLEXITY_API_KEY",),
        prices="perplexity",
        tells_cost=True,
        forced_choice=False,
        structured="tool",
    ),
    "snowflake": _compatible(
        "https://{SNOWFLAKE_ACCOUNT}.snowflakecomputing.com/api/v2/cortex/v1", "SNOWFLAKE_PAT"
    ),
    "together": _compatible("https://api.together.ai/v1", "TOGETHER_API_KEY", prices="together"),
    "xai": _compatible("https://api.x.ai/v1", "XAI_API_KEY", prices="x-ai"),
    "vertex": Provider(
        dialect="gemini",
        keys=("GOOGLE_API_KEY",),
        url_variable="GOOGLE_VERTEX_BASE_URL",
        prices="google",
        signed_with="google",
    ),
    "vertex-anthropic": Provider(
        dialect="anthropic",
        url_variable="ANTHROPIC_VERTEX_BASE_URL",
        prices="google",
        signed_with="google",
    ),
    # Only "auto" is accepted: https://docs.z.ai/api-reference/llm/chat-completion
    "zai": _compatible(
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        prices="zai",
        forced_choice=False,
        structured="tool",
    ),
    "llamacpp": _compatible("http://localhost:8080/v1"),
    "lmstudio": _compatible("http://localhost:1234/v1"),
    "mlx": _compatible("http://localhost:8080/v1"),
    "ollama": _compatible("http://localhost:11434/v1"),
    "ollama-native": Provider(
        dialect="ollama",
        url="http://localhost:11434",
        forced_choice=False,
    ),
    "sglang": _compatible("http://localhost:30000/v1"),
    "vllm": _compatible("http://localhost:8000/v1"),
}

QUIRKS: tuple[tuple[str, str, dict[str, JsonValue]], ...] = (
    # Models that do not reason refuse the request for encrypted reasoning (pydantic-ai #2865).
    ("openai-responses", "gpt-4", {"extra": {"include": []}}),
    ("openai-responses", "gpt-3", {"extra": {"include": []}}),
    ("openai-responses", "chatgpt", {"extra": {"include": []}}),
    # perplexityai 0.46.1 has no parameters for a cache key or for what to include.
    ("perplexity", "", {"cache": False, "extra": {"include": []}}),
    # From Opus 4.8 on, and only at Anthropic's own API:
    # https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages. For Sonnet
    # 5 sources differ (langchainjs 1.5.13 has it, gproxy 2.6 saw it refused), so it is not listed.
    ("anthropic", "claude-opus-4-8", {"system_turns": True}),
    ("anthropic", "claude-opus-5", {"system_turns": True}),
    ("anthropic", "claude-sonnet-5-5", {"system_turns": True}),
    ("anthropic", "claude-haiku-5-5", {"system_turns": True}),
    ("anthropic", "claude-fable-5", {"system_turns": True}),
    ("anthropic", "claude-mythos-5", {"system_turns": True}),
)
"""Options that some models need: the provider, the prefix of the model's name, the options."""


def quirks_of(provider: str, model: str) -> dict[str, JsonValue]:
    """The default options that a model needs; a request may override them."""
    return next(
        (options for place, start, options in QUIRKS if place == provider and model.startswith(start)),
        {},
    )
