"""Maps a vendor's refusal to its kind, the same word for every vendor.

Three tables are read in this order: the vendors' error codes, the messages of vendors that use one code
for every bad request, and the HTTP status.
"""

import re
from collections.abc import Iterable, Mapping

from rightcall.errors import ErrorKind, kind_of_status

_TOO_LARGE = 413

# Searched in this order: an error may have a code, a type and a status, and the first row that has any
# of them is the most specific. In lower case.
_CODES: Mapping[ErrorKind, frozenset[str]] = {
    "filtered": frozenset([
        # OpenAI and Azure; Alibaba and other hosts of Qwen
        "content_filter", "content_policy_violation", "moderation_blocked", "cyber_policy",
        "responsibleaipolicyviolation", "image_content_policy_violation", "data_inspection_failed",
    ]),
    "context_overflow": frozenset([
        # OpenAI and its imitators; llama.cpp; Anthropic's, which is about bytes
        "context_length_exceeded", "string_above_max_length", "exceed_context_size_error",
        "request_too_large", "model_context_window_exceeded",
    ]),
    "quota": frozenset([
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error",
        "account_deactivated", "usage_limit_reached", "enforced_spend_limit_reached",
        "insufficient_balance", "credit_exhausted", "servicequotaexceededexception",
    ]),
    "auth": frozenset([
        "authentication_error", "invalid_api_key", "permission_error", "permission_denied",
        "unauthenticated", "unauthorized", "api_key_invalid", "api_key_expired", "forbidden",
        "invalid_authentication", "unsupported_country_region_territory",
        # Amazon, which uses several names for the same error, depending on the service
        "accessdeniedexception", "accessdenied", "unrecognizedclientexception", "expiredtokenexception",
        "expiredtoken", "invalidsignatureexception", "signaturedoesnotmatch", "invalidclienttokenid",
        "missingauthenticationtokenexception", "missingauthenticationtoken",
        "incompletesignatureexception", "incompletesignature", "notauthorizedexception",
    ]),
    "not_found": frozenset([
        "not_found_error", "model_not_found", "not_found", "deploymentnotfound", "model_decommissioned",
        "resourcenotfoundexception",
    ]),
    "overloaded": frozenset([
        "overloaded_error", "overloaded", "engine_overloaded", "server_overloaded", "slow_down",
        "service_unavailable", "service_unavailable_error", "unavailable", "unavailable_error",
        "capacity_exceeded", "server_is_overloaded", "serviceunavailableexception",
        "modelnotreadyexception",
    ]),
    "rate_limit": frozenset([
        "rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted",
        "throttlingexception", "throttledexception", "toomanyrequestsexception",
    ]),
    "timeout": frozenset([
        "timeout", "timeout_error", "deadline_exceeded", "vector_store_timeout", "request_timeout",
        "modeltimeoutexception",
    ]),
    # Amazon's code for a failure of the model behind it, HTTP status 424
    "server": frozenset(["modelerrorexception", "modelstreamerrorexception"]),
}  # fmt: skip

_WORDS: Mapping[ErrorKind, str] = {
    "context_overflow": (
        # Anthropic, Gemini, Bedrock
        r"prompt is too long|exceed context limit|input is too long"
        r"|input token count .{0,40}exceeds|too many (?:input tokens|total text bytes)"
        r"|input tokens exceed"
        # OpenAI, vLLM, OpenRouter, xAI; llama.cpp, Ollama, LM Studio; Mistral, Groq, Cerebras
        r"|maximum (?:context|prompt|input) length|context (?:length|size|window)\b.{0,40}exceed"
        r"|exceeds? the (?:available |model'?s? |maximum )*context"
        r"|greater than the context length|too large for model with|reduce the length of the"
        r"|too many tokens|tokens .{0,40}must be (?:<=|less than)"
    ),
    # Bedrock calls it a validation error
    "not_found": r"model identifier is invalid|could not resolve the foundation model",
    "quota": r"credit balance is too low|insufficient (?:balance|credits?|funds)",
    "auth": (
        r"(?:api[ _-]?key|credentials?)\b.{0,40}"
        r"\b(?:not valid|invalid|expired|missing|not found|incorrect|required)"
        r"|(?:invalid|incorrect|missing|no|expired) (?:or missing )?api[ _-]?key"
    ),
    "filtered": (
        r"content[ _-](?:filter|management policy|policy)|content exists risk"
        r"|requires moderation|input was flagged|blocked by .{0,40}(?:filter|policy|safety)"
    ),
}
"""Anthropic calls a prompt that is too long an ``invalid_request_error``, Google a wrong key an
``INVALID_ARGUMENT``: there, and at most hosts of local models, only the message tells errors apart. One
that no pattern matches keeps the kind of its status, so a changed message does no further harm."""
_VAGUE = frozenset((None, 400, 403, 404, 422, 500))
"""Statuses so vague that the message is searched too."""
_LOOKED_AT = 2000


def refusal_kind(status: int | None, codes: Iterable[str], words: str) -> ErrorKind:
    """Returns the kind of a refusal, given all of its codes and its message."""
    if status == _TOO_LARGE:
        # Groq says rate_limit_exceeded for a request that will never fit.
        return "context_overflow"
    named = {code.lower() for code in codes}
    for kind, known in _CODES.items():
        if named & known:
            return kind
    if status in _VAGUE:
        for kind, pattern in _WORDS.items():
            # Compiled on first use, which most programs never reach.
            if re.search(pattern, words[:_LOOKED_AT], re.IGNORECASE):
                return kind
    return kind_of_status(status)
