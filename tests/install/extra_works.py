"""What an extra is for, done once: run by path, in an environment with that extra and no other.

``python extra_works.py EXTRA`` ends with 0 when it works.
"""

# ruff: noqa: T201 - a program

import asyncio
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import rightcall as rc
from rightcall.cli.main import main
from rightcall.langchain import from_langchain, to_langchain
from rightcall.testing import ScriptedModel, call, reply

TOOL = "import rightcall as rc\n@rc.tool\ndef price(item: str) -> int:\n    return 3\n"


@rc.tool(effect="read")
def price(item: str) -> int:
    """What an item costs."""
    return len(item)


def aws() -> bool:
    """Credentials are looked for where AWS's own tools do."""
    aws = import_module("rightcall.models.aws")
    return bool(aws.BotocoreCredentials() and import_module("botocore.session").Session())


def azure() -> bool:
    """Tokens of Entra can be asked for."""
    os.environ["AZURE_TOKEN_CREDENTIALS"] = "prod"
    source = import_module("rightcall.models.azure").entra_source()
    return bool(source and import_module("azure.identity").DefaultAzureCredential())


def cli() -> bool:
    """The terminal's view loads."""
    return bool(import_module("rightcall.cli.richview").RichView)


def code() -> bool:
    """A program calls a tool."""
    model = ScriptedModel([reply(call("run_program", program="await price(item='tea')")), "Three."])
    result = rc.Agent(model, tools=[rc.programs.code(price)]).run_sync("What does tea cost?")
    return result.calls[0].result.text == "3"


def computer() -> bool:
    """The driver loads. No browser is opened: whether there is one is not the extra's to say."""
    return bool(import_module("rightcall.builtin.screen.chromium"))


def durable() -> bool:
    """A run is submitted to SQLite and answered."""

    async def go() -> str:
        agent = rc.Agent(ScriptedModel(["Hello!"]), name="greeter")
        async with rc.durable.App("sqlite:///runs.db", agents=[agent]) as app:
            return (await (await app.submit("greeter", "Hi", run="one")).result()).text

    return asyncio.run(go()) == "Hello!"


def google() -> bool:
    """Google's own credentials can be looked for, and asked for a token."""
    return all(map(import_module, ("google.auth", "google.auth.transport.requests")))


def langchain() -> bool:
    """A tool there and back."""
    return from_langchain(to_langchain(price)).name == "price"


def local() -> bool:
    """A template renders. The README's program asks the model."""
    return bool(rc.local.ChatTemplate("{{ messages }}"))


def mcp() -> bool:
    """A server of ours, in a process of its own, is asked what it has."""
    Path("shop.py").write_text(TOOL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ended = main(["mcp", "list", "--", sys.executable, "-m", "rightcall", "serve-mcp", "shop.py"])
    return ended == 0 and "price" in said.getvalue()


def otel() -> bool:
    """A run is watched."""
    agent = rc.Agent(ScriptedModel(["Hello!"]), observers=[rc.observe.OpenTelemetry()])
    return agent.run_sync("Hi").text == "Hello!"


def prices() -> bool:
    """A model's tokens have a price."""
    os.environ["OPENAI_API_KEY"] = "none"
    return (rc.connect("openai:gpt-5").cost_of(rc.models.Usage(input_tokens=1000)) or 0) > 0


def restate() -> bool:
    """Both halves of the engine load."""
    names = ("rightcall.durable.restate_engine", "rightcall.durable.restate_worker", "hypercorn")
    return all(map(import_module, names))


def serve() -> bool:
    """The studio is an application, and the gateway's server loads."""
    made = import_module("rightcall.serve.studio").studio_app(rc.record.MemoryJournal())
    return bool(made and import_module("rightcall.serve.gateway.server") and import_module("uvicorn"))


def transformers() -> bool:
    """Torch and what steers it load."""
    return all(map(import_module, ("torch", "transformers", "llguidance")))


def web() -> bool:
    """The tool is there, with what reads pages."""
    return bool(rc.builtin.web() and import_module("html_to_markdown"))


PROOFS: dict[str, Callable[[], bool]] = {
    proof.__name__: proof
    for proof in (
        aws,
        azure,
        cli,
        code,
        computer,
        durable,
        google,
        langchain,
        local,
        mcp,
        otel,
        prices,
        restate,
        serve,
        transformers,
        web,
    )
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        works = PROOFS[sys.argv[1]]()
    print(f"{sys.argv[1]}: {'works' if works else 'DOES NOT WORK'}")
    sys.exit(0 if works else 1)
