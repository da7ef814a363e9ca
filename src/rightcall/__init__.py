"""rightcall: a tool-calling runtime for language models. The model proposes, your code disposes.

The public names, and nothing else. Each loads on first use, so that importing this stays light.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

__version__ = "0.2.0"

if TYPE_CHECKING:
    from rightcall import batching as batching
    from rightcall import builtin as builtin
    from rightcall import conversation as conversation
    from rightcall import durable as durable
    from rightcall import errors as errors
    from rightcall import evals as evals
    from rightcall import gate as gate
    from rightcall import local as local
    from rightcall import manifest as manifest
    from rightcall import mcp as mcp
    from rightcall import models as models
    from rightcall import observe as observe
    from rightcall import programs as programs
    from rightcall import record as record
    from rightcall import serve as serve
    from rightcall import testing as testing
    from rightcall import tools as tools
    from rightcall import trust as trust
    from rightcall import wire as wire
    from rightcall.agent import Agent as Agent
    from rightcall.conversation.compaction import Compaction as Compaction
    from rightcall.conversation.conversations import Conversations as Conversations
    from rightcall.core.budget import Budget as Budget
    from rightcall.core.decision import Allow as Allow
    from rightcall.core.decision import Answer as Answer
    from rightcall.core.decision import Ask as Ask
    from rightcall.core.decision import Deny as Deny
    from rightcall.core.decision import Rewrite as Rewrite
    from rightcall.core.facts import Facts as Facts
    from rightcall.core.handler import Context as Context
    from rightcall.core.handler import Later as Later
    from rightcall.core.limits import Limits as Limits
    from rightcall.core.message import Reply as Reply
    from rightcall.core.message import Results as Results
    from rightcall.core.message import User as User
    from rightcall.core.parts import Call as Call
    from rightcall.core.tool import Tool as Tool
    from rightcall.declare.attachment import file as file
    from rightcall.declare.attachment import image as image
    from rightcall.declare.function import tool as tool
    from rightcall.declare.output import Output as Output
    from rightcall.declare.toolbox import Toolbox as Toolbox
    from rightcall.errors import ToolFailure as ToolFailure
    from rightcall.gate.executor import run_calls as run_calls
    from rightcall.gate.hooks import Hooks as Hooks
    from rightcall.loop import events as events
    from rightcall.loop.handoffs import handoff as handoff
    from rightcall.loop.replay import replay as replay
    from rightcall.loop.result import RunResult as RunResult
    from rightcall.models.connect import connect as connect
    from rightcall.plan.plan_mode import Plan as Plan
    from rightcall.question import ask as ask
    from rightcall.trust.intents import Intent as Intent
    from rightcall.trust.intents import at_most as at_most
    from rightcall.trust.intents import found as found

_MODULES = (
    "batching", "builtin", "conversation", "durable", "evals", "gate", "local", "manifest", "mcp",
    "models", "observe", "programs", "record", "serve", "testing", "tools", "trust", "wire",
)  # fmt: skip
_HOMES = index_homes(
    {
        "agent": ("Agent",),
        "conversation.compaction": ("Compaction",),
        "conversation.conversations": ("Conversations",),
        "core.budget": ("Budget",),
        "core.decision": ("Allow", "Answer", "Ask", "Deny", "Rewrite"),
        "core.facts": ("Facts",),
        "core.handler": ("Context", "Later"),
        "core.limits": ("Limits",),
        "core.message": ("Reply", "Results", "User"),
        "core.parts": ("Call",),
        "core.tool": ("Tool",),
        "declare.attachment": ("file", "image"),
        "declare.function": ("tool",),
        "declare.output": ("Output",),
        "declare.toolbox": ("Toolbox",),
        "errors": ("ToolFailure", "errors"),
        "gate.executor": ("run_calls",),
        "gate.hooks": ("Hooks",),
        "loop.events": ("events",),
        "loop.handoffs": ("handoff",),
        "loop.replay": ("replay",),
        "loop.result": ("RunResult",),
        "models.connect": ("connect",),
        "plan.plan_mode": ("Plan",),
        "question": ("ask",),
        "trust.intents": ("Intent", "at_most", "found"),
        **{module: (module,) for module in _MODULES},
    }
)

__all__ = [*_HOMES]  # noqa: PLE0604 - the table is the one list

lazily(__name__, _HOMES, moved="core.moved_names")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
