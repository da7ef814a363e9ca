"""A tool served over MCP, in a process of its own, that says which trace it is in."""

import warnings

from opentelemetry import trace

import rightcall as rc

warnings.simplefilter("ignore")


@rc.tool(effect="read")
def where() -> str:
    """Where this is run."""
    seen = trace.get_current_span().get_span_context()
    return f"{seen.trace_id:032x}-{seen.span_id:016x}"


rc.mcp.serve([where])
