"""Where models are to be found: data, no code.

A provider is a dialect at an address. The address follows the vendor's own SDK: with its version for
OpenAI and everything like it, the bare host for Anthropic and Gemini.
"""

from msgspec import Struct

from rightcall.core.jsontext import JsonValue


class Provider(Struct, frozen=True, kw_only=True):
    """One place that serves models."""

    dialect: str
    """By its name in ``wire.dialects``."""
    url: str = ""
    """Empty where every customer has an address of their own."""
    keys: tuple[str, ...] = ()
    """Environment variables that may hold the key; () where none is needed."""
    url_variable: str = ""
    """An environment variable that may hold another address."""
    key_header: str = ""
    """The header for the key, where it is not the dialect's own."""
    prices: str = ""
    """The provider's name in the price tables."""
    signed_with: str = ""
    """Whose credentials requests are signed with where there is no key, which is ``aws``. The region may
    be part of the address."""
    tells_cost: bool = False
    """It says in every reply what that cost."""

    @property
    def is_free(self) -> bool:
        """It runs on this machine, and takes no money."""
        return self.url.startswith("http://localhost:")


def _compatible(
    url: str, *keys: str, prices: str = "", tells_cost: bool = False, **more: str
) -> Provider:
    return Provider(
        dialect="openai_chat", url=url, keys=keys, prices=prices, tells_cost=tells_cost, **more
    )


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        dialect="anthropic",
        url="https://api.anthropic.com",
        keys=("ANTHROPIC_API_KEY",),
        url_variable="ANTHROPIC_BASE_URL",
        prices="anthropic",
    ),
    "gemini": Provider(
        dialect="gemini",
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
    "azure": _compatible(
        "",
        "AZURE_OPENAI_API_KEY",
        prices="azure",
        url_variable="AZURE_OPENAI_BASE_URL",
        key_header="api-key",
    ),
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
    "cerebras": _compatible("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", prices="cerebras"),
    "deepseek": _compatible("https://api.deepseek.com", "DEEPSEEK_API_KEY", prices="deepseek"),
    "fireworks": _compatible(
        "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", prices="fireworks"
    ),
    "groq": _compatible("https://api.groq.com/openai/v1", "GROQ_API_KEY", prices="groq"),
    "mistral": _compatible("https://api.mistral.ai/v1", "MISTRAL_API_KEY", prices="mistral"),
    "openrouter": _compatible(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", prices="openrouter", tells_cost=True
    ),
    "together": _compatible("https://api.together.xyz/v1", "TOGETHER_API_KEY", prices="together"),
    "xai": _compatible("https://api.x.ai/v1", "XAI_API_KEY", prices="x-ai"),
    "llamacpp": _compatible("http://localhost:8080/v1"),
    "lmstudio": _compatible("http://localhost:1234/v1"),
    "ollama": _compatible("http://localhost:11434/v1"),
    "sglang": _compatible("http://localhost:30000/v1"),
    "vllm": _compatible("http://localhost:8000/v1"),
}

QUIRKS: tuple[tuple[str, str, dict[str, JsonValue]], ...] = (
    # Models that do not reason refuse to be asked for encrypted reasoning (pydantic-ai #2865).
    ("openai-responses", "gpt-4", {"extra": {"include": []}}),
    ("openai-responses", "gpt-3", {"extra": {"include": []}}),
    ("openai-responses", "chatgpt", {"extra": {"include": []}}),
)
"""Options that some models need: the provider, how the model's name begins, the options."""


def quirks_of(provider: str, model: str) -> dict[str, JsonValue]:
    """The options that a model needs unless a request says otherwise."""
    return next(
        (options for place, start, options in QUIRKS if place == provider and model.startswith(start)),
        {},
    )
