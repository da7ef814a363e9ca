"""The names of OpenTelemetry's conventions for generative AI: one table, two versions of it.

1.41.1 is the last release of the main conventions that has them; they then moved to a repository of
their own, which has released nothing yet. A name that is the same in both appears once.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from os import environ

from msgspec import Struct

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
STREAM = "gen_ai.request.stream"
MAX_TOKENS = "gen_ai.request.max_tokens"
OUTPUT_TYPE = "gen_ai.output.type"
USAGE = "gen_ai.usage."
"""The prefix of the token attributes."""
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - no secret
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
CALL_ID = "gen_ai.tool.call.id"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

# Content, which is sent only on request.
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
DETAILS_EVENT = "gen_ai.client.inference.operation.details"

OPTIONS: Mapping[str, str] = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "seed": "gen_ai.request.seed",
    "stop": "gen_ai.request.stop_sequences",
}
"""A model's options: our name, and the attribute's name."""

# Attributes that no convention names.
RUN = "rightcall.run"
STOP = "rightcall.stop"
OUTCOME = "rightcall.tool.outcome"
ATTEMPTS = "rightcall.tool.attempts"
EARLY = "rightcall.tool.early"
TOOL_CALLS = "rightcall.tool.calls"
"""The counter of calls, by tool and outcome."""

# Attributes that some backends read under names of their own.
LANGFUSE_COST = "gen_ai.usage.cost"
LOGFIRE_COST = "operation.cost"
SESSION = "session.id"
"""The attribute by which Langfuse groups traces."""

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-anthropic": "aws.bedrock",
    "gemini": "gcp.gemini",
    "gemini-interactions": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "openai-responses": "openai",
    "vertex": "gcp.vertex_ai",
    "vertex-anthropic": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Our provider names, and the conventions'; a provider that is not listed keeps its name."""

FINISHES: Mapping[str, str] = {
    "end": "stop",
    "stop_sequence": "stop",
    "calls": "tool_call",
    "filtered": "content_filter",
    "refusal": "content_filter",
}
"""Our stop reasons, and those of the conventions; length, pause and error are the same in both."""


class Convention(Struct, frozen=True, kw_only=True):
    """One version of the conventions: the parts in which they differ."""

    version: str
    schema_url: str | None
    cache_write: str
    exchange_seconds: str
    """The metric of a model request's duration."""
    first_chunk_seconds: str
    agent_has_provider: bool
    """Whether an agent's span has the provider and the tokens that came from a cache."""
    tool_has_agent: bool
    """Whether a tool's span has the agent and the conversation."""
    counts_tokens: bool
    """Whether there is a counter for each kind of token, and for an agent's model requests and calls."""
    reasoning_level: str = ""


RELEASED = Convention(
    version="1.41.1",
    schema_url="https://opentelemetry.io/schemas/1.41.1",
    cache_write="gen_ai.usage.cache_creation.input_tokens",
    exchange_seconds="gen_ai.client.operation.duration",
    first_chunk_seconds="gen_ai.client.operation.time_to_first_chunk",
    agent_has_provider=True,
    tool_has_agent=False,
    counts_tokens=False,
)
DEVELOPMENT = Convention(
    version="development, 024a4f94",
    schema_url=None,
    cache_write="gen_ai.usage.cache_write.input_tokens",
    exchange_seconds="gen_ai.client.inference.duration",
    first_chunk_seconds="gen_ai.client.inference.time_to_first_chunk",
    agent_has_provider=False,
    tool_has_agent=True,
    counts_tokens=True,
    reasoning_level="gen_ai.request.reasoning.level",
)

TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105 - no secret
"""The release's only histogram of tokens."""
INFERENCE = "gen_ai.client.inference."
"""The prefix of the later token metrics."""
AGENT_SECONDS = "gen_ai.invoke_agent.duration"
AGENT_EXCHANGES = "gen_ai.invoke_agent.inference_calls"
AGENT_TOOL_CALLS = "gen_ai.invoke_agent.tool_calls"
TOOL_SECONDS = "gen_ai.execute_tool.duration"
"""The release has no metric for agents and tools, so the later names are used with either version."""

SECONDS_BUCKETS = tuple([0.01 * 2**step for step in range(14)])
TOKEN_BUCKETS = tuple([float(4**step) for step in range(14)])
"""The histogram boundaries that the conventions ask for."""


def chosen_convention() -> Convention:
    """The version that the environment asks for: the release, unless it asks for the latest."""
    wanted = environ.get(OPT_IN, "").split(",")
    if LATEST in list(map(str.strip, wanted)):
        return DEVELOPMENT
    return RELEASED


CONVERSATION: ContextVar[str] = ContextVar("rightcall_conversation", default="")
"""The conversation that runs belong to, as the application knows it; no id is ever made up."""


@contextmanager
def conversation(identity: str) -> Iterator[None]:
    """Set the conversation id that observers see for runs that begin in this context."""
    token = CONVERSATION.set(identity)
    try:
        yield
    finally:
        CONVERSATION.reset(token)
