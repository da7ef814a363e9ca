"""rightcall: a tool-calling runtime for language models. The model proposes, your code disposes.

The public names, and nothing else. Each loads on first use, so that importing this stays light.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

__version__ = "0.2.0"

if TYPE_CHECKING:
    from rightcall import (
        builtin,
        durable,
        errors,
        local,
        manifest,
        mcp,
        observe,
        plan,
        process,
        record,
        testing,
        trust,
        wire,
    )
    from rightcall.agent import Agent
    from rightcall.batching.batch import batch
    from rightcall.core import outcome
    from rightcall.core.budget import Budget, Stop
    from rightcall.core.call import Call, CheckedCall
    from rightcall.core.decision import (
        Allow,
        Answer,
        Ask,
        Decision,
        Deny,
        FinalDecision,
        Grant,
        Proposal,
        Rewrite,
    )
    from rightcall.core.facts import Facts
    from rightcall.core.handler import Context
    from rightcall.core.limits import Limits
    from rightcall.core.message import Reply, User
    from rightcall.core.parts import Media, Result, Text, Usage
    from rightcall.core.ports import AsyncJournal, Journal, Model, Observer, Steps
    from rightcall.core.problem import Problem
    from rightcall.core.request import ModelOptions, Named, Profile, Request
    from rightcall.core.tool import Spec, Tool
    from rightcall.core.transport import Timeouts
    from rightcall.declare.attachment import file, image
    from rightcall.declare.defer import Defer
    from rightcall.declare.function import tool
    from rightcall.declare.output import Output
    from rightcall.declare.toolbox import Toolbox
    from rightcall.errors import ToolFailure
    from rightcall.gate.execution import Execution
    from rightcall.gate.executor import Executor, check, run_calls
    from rightcall.gate.hooks import Hooks, Veto
    from rightcall.langchain import from_langchain, langgraph_node, to_langchain
    from rightcall.loop import events
    from rightcall.loop.events import Event
    from rightcall.loop.replay import replay
    from rightcall.loop.result import CallRecord, RunResult
    from rightcall.loop.window import Window
    from rightcall.models.connect import connect
    from rightcall.models.fallback import fallback
    from rightcall.plan.planning import Plan
    from rightcall.programs.code_tool import code
    from rightcall.question import ask
    from rightcall.request.retry import Retry
    from rightcall.tools.footprint import footprint
    from rightcall.tools.linting import lint
    from rightcall.wire.history import from_messages, to_messages

_HOMES = {
    "Agent": "agent",
    "Allow": "core.decision",
    "Answer": "core.decision",
    "Ask": "core.decision",
    "AsyncJournal": "core.ports",
    "Budget": "core.budget",
    "Call": "core.call",
    "CallRecord": "loop.result",
    "CheckedCall": "core.call",
    "Context": "core.handler",
    "Decision": "core.decision",
    "Defer": "declare.defer",
    "Deny": "core.decision",
    "Event": "loop.events",
    "Execution": "gate.execution",
    "Executor": "gate.executor",
    "Facts": "core.facts",
    "FinalDecision": "core.decision",
    "Grant": "core.decision",
    "Hooks": "gate.hooks",
    "Journal": "core.ports",
    "Limits": "core.limits",
    "Media": "core.parts",
    "Model": "core.ports",
    "ModelOptions": "core.request",
    "Named": "core.request",
    "Observer": "core.ports",
    "Output": "declare.output",
    "Plan": "plan.planning",
    "Problem": "core.problem",
    "Profile": "core.request",
    "Proposal": "core.decision",
    "Reply": "core.message",
    "Request": "core.request",
    "Result": "core.parts",
    "Retry": "request.retry",
    "Rewrite": "core.decision",
    "RunResult": "loop.result",
    "Spec": "core.tool",
    "Steps": "core.ports",
    "Stop": "core.budget",
    "Text": "core.parts",
    "Timeouts": "core.transport",
    "Tool": "core.tool",
    "ToolFailure": "errors",
    "Toolbox": "declare.toolbox",
    "Usage": "core.parts",
    "User": "core.message",
    "Veto": "gate.hooks",
    "Window": "loop.window",
    "ask": "question",
    "batch": "batching.batch",
    "builtin": "builtin",
    "check": "gate.executor",
    "code": "programs.code_tool",
    "connect": "models.connect",
    "durable": "durable",
    "errors": "errors",
    "events": "loop.events",
    "fallback": "models.fallback",
    "file": "declare.attachment",
    "footprint": "tools.footprint",
    "from_langchain": "langchain",
    "from_messages": "wire.history",
    "image": "declare.attachment",
    "langgraph_node": "langchain",
    "lint": "tools.linting",
    "local": "local",
    "manifest": "manifest",
    "mcp": "mcp",
    "observe": "observe",
    "outcome": "core.outcome",
    "plan": "plan",
    "process": "process",
    "record": "record",
    "replay": "loop.replay",
    "run_calls": "gate.executor",
    "testing": "testing",
    "to_langchain": "langchain",
    "to_messages": "wire.history",
    "tool": "declare.function",
    "trust": "trust",
    "wire": "wire",
}
__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Ask",
    "AsyncJournal",
    "Budget",
    "Call",
    "CallRecord",
    "CheckedCall",
    "Context",
    "Decision",
    "Defer",
    "Deny",
    "Event",
    "Execution",
    "Executor",
    "Facts",
    "FinalDecision",
    "Grant",
    "Hooks",
    "Journal",
    "Limits",
    "Media",
    "Model",
    "ModelOptions",
    "Named",
    "Observer",
    "Output",
    "Plan",
    "Problem",
    "Profile",
    "Proposal",
    "Reply",
    "Request",
    "Result",
    "Retry",
    "Rewrite",
    "RunResult",
    "Spec",
    "Steps",
    "Stop",
    "Text",
    "Timeouts",
    "Tool",
    "ToolFailure",
    "Toolbox",
    "Usage",
    "User",
    "Veto",
    "Window",
    "ask",
    "batch",
    "builtin",
    "check",
    "code",
    "connect",
    "durable",
    "errors",
    "events",
    "fallback",
    "file",
    "footprint",
    "from_langchain",
    "from_messages",
    "image",
    "langgraph_node",
    "lint",
    "local",
    "manifest",
    "mcp",
    "observe",
    "outcome",
    "plan",
    "process",
    "record",
    "replay",
    "run_calls",
    "testing",
    "to_langchain",
    "to_messages",
    "tool",
    "trust",
    "wire",
]


lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
