"""The conventions as data: which attributes a span must have, may have, and has from its start.

A small table of our own, so that tests need nothing from beside the project; ``published`` reads the
same from the conventions' own registry, where that is at hand.
"""

import json
from pathlib import Path

CONTENT = {
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
}
OURS = {
    "rightcall.run",
    "rightcall.stop",
    "rightcall.tool.outcome",
    "rightcall.tool.attempts",
    "rightcall.tool.early",
}
BACKENDS = {"session.id", "gen_ai.usage.cost", "operation.cost"}
KINDS = {
    "chat": "inference",
    "invoke_agent": "invoke_agent.internal",
    "execute_tool": "execute_tool.internal",
}
REQUIRED = {
    "1.41.1": {
        "chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
        "invoke_agent": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name"},
        "execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name"},
    },
    "dev": {
        "chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
        "invoke_agent": {"gen_ai.operation.name", "gen_ai.agent.name"},
        "execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.agent.name"},
    },
}
METRICS = {
    "1.41.1": {
        "gen_ai.client.operation.duration": "s",
        "gen_ai.client.operation.time_to_first_chunk": "s",
        "gen_ai.client.token.usage": "{token}",
    },
    "dev": {
        "gen_ai.client.inference.duration": "s",
        "gen_ai.client.inference.time_to_first_chunk": "s",
        "gen_ai.client.inference.usage.input_tokens": "{token}",
        "gen_ai.client.inference.usage.output_tokens": "{token}",
        "gen_ai.client.inference.usage.cache_read.input_tokens": "{token}",
        "gen_ai.client.inference.usage.cache_write.input_tokens": "{token}",
        "gen_ai.client.inference.usage.reasoning.output_tokens": "{token}",
        "gen_ai.client.inference.operation.input_tokens": "{token}",
        "gen_ai.client.inference.operation.output_tokens": "{token}",
        "gen_ai.invoke_agent.inference_calls": "{inference_call}",
        "gen_ai.invoke_agent.tool_calls": "{tool_call}",
    },
}
FOR_BOTH = {
    "gen_ai.invoke_agent.duration": "s",
    "gen_ai.execute_tool.duration": "s",
    "rightcall.tool.calls": "{call}",
}


def published(place: Path, state: str) -> tuple[dict, dict]:
    """The registry's spans, by our operations, and its metrics: attributes with their levels."""
    data = json.loads((place / "otel" / f"genai-{state}.json").read_text())
    spans = {}
    for operation, kind in KINDS.items():
        (found,) = [
            span
            for name, span in data["spans"].items()
            if name in (f"gen_ai.{kind}", f"gen_ai.{kind}.client", f"gen_ai.client.{kind}")
        ]
        starts = set(found.get("at_start", ()))
        levels = {}
        for name, level in found["attributes"].items():
            levels[name] = level if isinstance(level, str) else level["level"]
            if not isinstance(level, str) and level.get("at_start"):
                starts.add(name)
        spans[operation] = (levels, starts)
    metrics = {
        name: (
            each["unit"],
            {a: v if isinstance(v, str | None) else v["level"] for a, v in each["attributes"].items()},
        )
        for name, each in data["metrics"].items()
    }
    return spans, metrics
