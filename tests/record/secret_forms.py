"""Keys as vendors write them, made up at random, apart from the table that must know them."""

from string import ascii_letters, ascii_lowercase, digits

from hypothesis import strategies as st

ALNUM = ascii_letters + digits
HEX = "0123456789abcdef"
WORD = ALNUM + "_-"


def _random(alphabet: str, length: int, prefix: str = "", suffix: str = "") -> st.SearchStrategy[str]:
    # A digit is never missing from a real key, and never from these.
    body = st.text(alphabet, min_size=length - 1, max_size=length - 1)
    return body.map(lambda text: f"{prefix}7{text[:-1]}{text[-1:].replace('-', 'x')}{suffix}")


_AZURE = st.tuples(_random(ALNUM, 52), _random(ALNUM, 24)).map(lambda two: f"{two[0]}JQQJ99BA{two[1]}")

_JWT = _random(WORD, 40, "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.")

PROVIDER_KEYS = {
    "anthropic": [_random(WORD, 93, "sk-ant-api03-", "AA")],
    "gemini-interactions": [_random(WORD, 35, "AIza")],
    "gemini": [_random(WORD, 35, "AIza"), _random(WORD, 50, "AQ.Ab8")],
    "openai": [
        _random(ALNUM, 48, "sk-"),
        _random(WORD, 120, "sk-proj-"),
        _random(WORD, 120, "sk-svcacct-"),
        _random(WORD, 120, "sk-admin-"),
    ],
    "openai-responses": [_random(WORD, 156, "sk-proj-")],
    "azure": [_AZURE],
    "azure-responses": [_AZURE],
    "alibaba": [_random(HEX, 32, "sk-")],
    "bedrock": [_random(ALNUM, 128, "ABSK", "=="), _random(ALNUM, 300, "bedrock-api-key-")],
    "bedrock-anthropic": [_random(ALNUM, 128, "ABSK")],
    "cerebras": [_random(ascii_lowercase + digits, 48, "csk-")],
    "cohere": [],
    "deepseek": [_random(HEX, 32, "sk-")],
    "fireworks": [_random(ALNUM, 22, "fw_"), _random(ALNUM, 24, "fw_")],
    "groq": [_random(ALNUM, 52, "gsk_")],
    "huggingface": [_random(ALNUM, 34, "hf_")],
    "minimax": [_JWT],
    "mistral": [],
    "moonshot": [_random(ALNUM, 48, "sk-")],
    "nvidia": [_random(WORD, 64, "nvapi-")],
    "perplexity": [_random(ALNUM, 48, "pplx-")],
    "snowflake": [_JWT],
    "openrouter": [_random(HEX, 64, "sk-or-v1-")],
    "together": [_random(WORD, 43, "tgp_v1_")],
    "vertex": [_random(WORD, 50, "AQ.Ab8")],
    "xai": [_random(ALNUM, 80, "xai-")],
    "zai": [],
}
"""By the provider's name; none where keys have no form of their own."""

FORMLESS_KEYS = {
    "azure": [_random(HEX, 32)],
    "cohere": [_random(ALNUM, 40)],
    "mistral": [_random(ALNUM, 32)],
    "together": [_random(HEX, 64)],
    "zai": [_random(HEX, 32)],
}
"""Keys that could be anything; known by the name before them."""

OTHER_KEYS = {
    "aws": _random(ascii_letters.upper() + digits, 16, "AKIA").map(str.upper),
    "brave": _random(WORD, 28, "BSA"),
    "npm": _random(ALNUM, 36, "npm_"),
    "pypi": _random(WORD, 100, "pypi-AgEIcHlwaS5vcmc"),
    "replicate": _random(ALNUM, 37, "r8_"),
    "sendgrid": _random(WORD, 43, "SG.ngeVfQFYQlKU0ufo8x5d1A."),
    "vault": _random(WORD, 90, "hvs.CAESI"),
    "linear": _random(ALNUM, 40, "lin_api_"),
    "databricks": _random(HEX, 32, "dapi"),
    "telegram": _random(WORD, 33, "7123456789:AA"),
    "twilio": _random(HEX, 32, "SK"),
    "discord": _random(WORD, 38, "MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe."),
    "rightcall": _random(WORD, 43, "rc-0a1b2c3d-"),
    "tavily": _random(ALNUM, 32, "tvly-dev-"),
    "google oauth": _random(WORD, 60, "ya29."),
}

known_keys = st.one_of(
    *[form for forms in PROVIDER_KEYS.values() for form in forms], *OTHER_KEYS.values()
)
"""A key that is known wherever it stands."""

NAMES = (
    "password",
    "DB_PASSWORD",
    "aws_secret_access_key",
    "MISTRAL_API_KEY",
    "client_secret",
    "x-api-key",
    "accessToken",
)
named = st.tuples(st.sampled_from(NAMES), _random(ALNUM + "/+_-", 24))
