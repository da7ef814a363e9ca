"""Azure OpenAI: the URL of a customer's models, and Microsoft Entra tokens.

A token in the environment is read here. All others (service principals, workloads, managed identities,
the command line's login) come from Microsoft's own library (azure-identity, the extra ``azure``).
"""

import os
from functools import partial
from urllib.parse import quote

from rightcall.core.optional_libraries import load, require
from rightcall.core.secret_formats import redact_key
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.models.tokens import AccessToken, Source

_V1 = "/openai/v1"
_UNDATED = frozenset(["", "v1", "latest", "preview"])


def azure_address(base_url: str | None, place: str, dialect: str, model: str) -> str:
    """The base URL, which may end with a query. A given one is used unchanged.

    It is v1, or the classic one with a dated API version,
    https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle. With v1 the deployment's
    name is the model in the body; with the classic URL, for Chat, it is in the path.
    """
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
    deployment = ""
    if dialect == "openai_chat":
        deployment = f"/deployments/{quote(model, safe='')}"
    return f"{endpoint.removesuffix(_V1)}/openai{deployment}?api-version={quote(version)}"


SCOPE = "https://cognitiveservices.azure.com/.default"
WAYS = (
    "AZURE_OPENAI_API_KEY; or for Entra AZURE_OPENAI_AD_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET, or, where the machine has an identity, AZURE_TOKEN_CREDENTIALS=prod; or pass "
    "api_key="
)


def entra_source() -> Source | None:
    """The source of tokens; None if nothing is configured."""
    token = _variable("AZURE_OPENAI_AD_TOKEN")
    if token:
        return partial(AccessToken, token)
    is_principal = _variable("AZURE_TENANT_ID") and _variable("AZURE_CLIENT_ID")
    is_app = _variable("IDENTITY_ENDPOINT") and _variable("IDENTITY_HEADER")
    if is_principal or is_app or _variable("AZURE_TOKEN_CREDENTIALS"):
        require("azure.identity")
        return _fetch
    return None


def _fetch() -> AccessToken:
    identity = load("azure.identity")
    core = load("azure.core.exceptions")
    try:
        # Made anew each time: it caches tokens, and would give one again that was refused.
        with identity.DefaultAzureCredential() as credential:
            token = credential.get_token(SCOPE)
    except core.ClientAuthenticationError as error:
        words = redact_key(error.message, _variable("AZURE_CLIENT_SECRET"), "[secret]")
        raise VendorError(f"Microsoft Entra gave no token; {words}", kind="auth") from None
    except core.AzureError as error:
        raise TransportError(f"Microsoft Entra gave no token ({type(error).__name__})") from None
    except ValueError as error:
        # For example an AZURE_AUTHORITY_HOST without https://
        raise UsageError(f"azure: {error}") from None
    return AccessToken(token.token, token.expires_on)


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()
