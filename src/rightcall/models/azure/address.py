"""The URL of a customer's models on Azure: v1, or the classic one with a dated API version.

https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle. With v1 the deployment's name
is the model in the body; with the classic URL, for Chat, it is in the path.
"""

import os
from urllib.parse import quote

from rightcall.errors import UsageError

_V1 = "/openai/v1"
_UNDATED = frozenset(["", "v1", "latest", "preview"])


def azure_address(base_url: str | None, place: str, dialect: str, model: str) -> str:
    """The base URL, which may end with a query. A given one is used unchanged."""
    given = base_url or os.environ.get("AZURE_OPENAI_BASE_URL")
    if given:
        return given
    endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT", "").rstrip("/")
    if not endpoint:
        raise UsageError(
            f"{place}: every customer has an address of their own; set AZURE_OPENAI_ENDPOINT, or pass "
            "base_url="
        )
    version = os.environ.get("OPENAI_API_VERSION", "").strip()
    if version in _UNDATED:
        query = "?api-version=preview" if version == "preview" else ""
        return f"{endpoint.removesuffix(_V1)}{_V1}{query}"
    deployment = f"/deployments/{quote(model, safe='')}" if dialect == "openai_chat" else ""
    return f"{endpoint.removesuffix(_V1)}/openai{deployment}?api-version={quote(version)}"
