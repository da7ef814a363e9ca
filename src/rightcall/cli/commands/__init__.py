"""What can be typed: every command, its arguments, and the module that carries it out.

These files import nothing heavy, so that help is quick. To add a command, write a function that adds
its arguments, whose docstring heads its help, in the file of its group; its row below; and a
``run(options)`` in ``rightcall.cli.work``, which is imported when the command is run.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rightcall.cli.commands import mcp, models, runs, serve, talk, tools


class CommandRow(NamedTuple):
    """A command of the shell."""

    line: str
    """Its one-line summary."""
    arguments: Callable[[ArgumentParser], None]
    """Adds its arguments to a parser."""
    work: str
    """The module of ``rightcall.cli.work`` whose ``run`` carries it out."""
    shows_errors: bool = False
    """Whether it shows itself what a tool raised, so that the log need not."""


class CommandGroup(NamedTuple):
    """Commands under one word."""

    line: str
    commands: Mapping[str, CommandRow]


FIRST: Mapping[str, Mapping[str, CommandRow]] = {
    "talk to a model": {
        "ask": CommandRow("ask once, watch the run, and get the answer", talk.ask, "ask"),
        "chat": CommandRow("talk, with tools, approvals and a history", talk.chat, "chat"),
        "batch": CommandRow(
            "send a file of prompts at half the price, within a day", talk.batch, "batch"
        ),
        "eval": CommandRow(
            "ask a file of questions, run nothing, and judge the calls", talk.evaluate, "eval"
        ),
    },
    "serve": {
        "serve": CommandRow(
            "serve models to any client: OpenAI's, Anthropic's, Gemini's", serve.serve, "serve"
        ),
        "serve-mcp": CommandRow("serve tools to others over MCP", serve.serve_mcp, "serve_mcp"),
    },
    "look at runs": {
        "journal": CommandRow(
            "list, show, replay, resume and export recorded runs", runs.journal, "journal"
        ),
        "studio": CommandRow(
            "look at recorded runs in the browser, and decide what waits", serve.studio, "studio"
        ),
    },
    "set up": {
        "models": CommandRow(
            "choose the model that is asked, and name local ones", models.models, "models"
        ),
        "keys": CommandRow("keep the keys of vendors", models.keys, "keys"),
    },
}
"""The commands that people need first, by purpose."""

GROUPS: Mapping[str, CommandGroup] = {
    "tools": CommandGroup(
        "what a model is told of tools, what they cost, and what they may do",
        {
            "footprint": CommandRow("count what tools cost a model", tools.footprint, "tools"),
            "lint": CommandRow("find what makes tools hard to choose or to call", tools.lint, "tools"),
            "specs": CommandRow(
                "print what a model is told about the tools in a file", tools.specs, "call"
            ),
            "call": CommandRow(
                "put a call through the gate and print the result", tools.call, "call", shows_errors=True
            ),
            "manifest": CommandRow(
                "check, show and run the tools of an operator's manifest",
                tools.manifest,
                "call",
                shows_errors=True,
            ),
            "audit": CommandRow(
                "say which of an agent's tools are dangerous together", tools.audit, "audit"
            ),
            "policy": CommandRow(
                "check an operator's rules, and explain what they say to a call", tools.policy, "trust"
            ),
            "trust": CommandRow(
                "draft the facts that rules go by, and try rules on recorded runs", tools.trust, "trust"
            ),
        },
    ),
    "mcp": CommandGroup(
        "MCP servers: add, log in, look at what they offer, and approve it",
        {
            "add": CommandRow("add a server to a file of them", mcp.add_server, "mcp_files"),
            "remove": CommandRow("remove a server from a file", mcp.remove_server, "mcp_files"),
            "list": CommandRow(
                "list the servers one has, or the tools of some", mcp.list_servers, "mcp"
            ),
            "login": CommandRow("log in at a server, in a browser", mcp.login, "mcp"),
            "logout": CommandRow("revoke a login, and forget it", mcp.logout, "mcp"),
            "doctor": CommandRow("start servers, and say what is wrong with them", mcp.doctor, "mcp"),
            "pin": CommandRow("approve what servers offer, as it is now", mcp.pin, "mcp"),
            "verify": CommandRow("print what changed since it was approved", mcp.verify, "mcp"),
        },
    ),
    "runs": CommandGroup(
        "durable runs: list, watch, answer, cancel, fork and execute them",
        {
            "list": CommandRow("list every run and how it stands", runs.list_runs, "runs"),
            "show": CommandRow(
                "show a run: its status, pending calls, steps and answer", runs.show, "runs"
            ),
            "watch": CommandRow(
                "watch one run, durable or recorded, as it goes on", runs.watch, "watch"
            ),
            "approve": CommandRow("approve the calls that a run waits for", runs.approve, "runs"),
            "deny": CommandRow("say no to the calls that a run waits for", runs.deny, "runs"),
            "cancel": CommandRow("end a run, wherever it is", runs.cancel, "runs"),
            "retry": CommandRow("try parked runs again", runs.retry, "runs"),
            "fork": CommandRow("begin another run from a step of one", runs.fork, "runs"),
            "gc": CommandRow("forget runs that have long been over", runs.forget, "runs"),
            "worker": CommandRow(
                "execute an app's durable runs, beside any number of others", runs.worker, "runs"
            ),
        },
    ),
    "debug": CommandGroup(
        "what a model sees, and what it sends",
        {
            "render": CommandRow(
                "print the prompt that a local model would see, special tokens and all",
                models.render,
                "render",
            ),
            "sse": CommandRow(
                "say what became of each event in a recorded event stream", models.sse, "sse"
            ),
        },
    ),
}
"""The other commands: ``rightcall GROUP COMMAND``."""

COMMANDS: Mapping[str, CommandRow] = {
    **{name: command for commands in FIRST.values() for name, command in commands.items()},
    **{
        f"{group} {name}": command
        for group, (_, commands) in GROUPS.items()
        for name, command in commands.items()
    },
}
"""Every command, as it is typed."""

FORMER: Mapping[str, str] = {
    **{name: f"tools {name}" for name in ("audit", "call", "manifest", "policy", "specs", "trust")},
    **{name: f"debug {name}" for name in ("render", "sse")},
    **{name: f"runs {name}" for name in ("watch", "worker")},
}
"""How commands were typed in 0.2, which still works in this version and is in no help."""
