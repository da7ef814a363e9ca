"""Each client as a command: what it is told, in a home of its own, and how its answer is read.

Updates, telemetry and everything else that a client would reach for are switched off.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.places import HERE, NODE, program

KEY = "rightcall-test-key"
SECONDS = 240.0
"""What any client may take for the task; a quiet machine needs three."""


@dataclass(frozen=True)
class Row:
    """A client as it is driven: in which dialect, under which model's name, streamed or whole."""

    client: str
    dialect: str
    model: str = "rc-model"
    streamed: bool = True

    def __str__(self) -> str:
        named = "" if self.model == "rc-model" else f"-{self.model}"
        return f"{self.client}{named}-{self.dialect}{'' if self.streamed else '-whole'}"


@dataclass(frozen=True)
class Seat:
    """Where a client is driven: the address it talks to, its home, and the folder it works in."""

    base: str
    home: Path
    work: Path
    key: str = KEY


@dataclass(frozen=True)
class Command:
    arguments: list[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Done:
    """What a client came to."""

    status: int
    output: str
    errors: str

    @property
    def said(self) -> dict[str, Any]:
        """What one of our own programs printed."""
        return json.loads(self.output.strip().splitlines()[-1])

    def __str__(self) -> str:
        return f"status {self.status}\n{self.output[-3000:]}\n{self.errors[-3000:]}"


def claude(row: Row, seat: Seat, prompt: str) -> Command:
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    told = ["--allowedTools", "Write,Bash,Read", "--output-format", "json", "--model", row.model]
    where = {"ANTHROPIC_BASE_URL": seat.base, "ANTHROPIC_API_KEY": seat.key}
    return Command([program("npm", "claude", "claude"), "-p", prompt, *told], {**where, **quiet})


CODEX = """
model = {model}
{provider}
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
"""
CODEX_CUSTOM = """
[model_providers.rc]
name = "rc"
base_url = {base}
wire_api = "responses"
env_key = "RC_KEY"
"""


def codex(row: Row, seat: Seat, prompt: str) -> Command:
    """By a provider of its own, or by the built-in one, which tries a websocket first."""
    base = json.dumps(f"{seat.base}/v1")
    builtin = row.client == "codex-builtin"
    provider = f"openai_base_url = {base}" if builtin else 'model_provider = "rc"'
    settings = CODEX.format(model=json.dumps(row.model), provider=provider)
    settings += "" if builtin else CODEX_CUSTOM.format(base=base)
    (seat.home / ".codex").mkdir()
    (seat.home / ".codex" / "config.toml").write_text(settings)
    told = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]
    keys = {"CODEX_API_KEY" if builtin else "RC_KEY": seat.key}
    return Command([program("npm", "codex", "codex"), "exec", *told], keys)


def gemini(row: Row, seat: Seat, prompt: str) -> Command:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "telemetry": {"enabled": False},
    }
    (seat.home / ".gemini").mkdir()
    (seat.home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    told = ["--skip-trust", "-y", "-m", row.model, "-p", prompt]
    where = {"GEMINI_API_KEY": seat.key, "GOOGLE_GEMINI_BASE_URL": seat.base}
    return Command([program("npm", "gemini", "gemini"), *told], where)


OPENCODE = {
    "chat": ("@ai-sdk/openai-compatible", "/v1"),
    "responses": ("@ai-sdk/openai", "/v1"),
    "messages": ("@ai-sdk/anthropic", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}


def opencode(row: Row, seat: Seat, prompt: str) -> Command:
    package, path = OPENCODE[row.dialect]
    model = {"tool_call": True, "limit": {"context": 128000, "output": 8192}}
    provider = {
        "npm": package,
        "options": {"baseURL": seat.base + path, "apiKey": seat.key},
        "models": {row.model: model},
    }
    named = f"rc/{row.model}"
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "model": named,
        "small_model": named,
        "provider": {"rc": provider},
    }
    (seat.home / "opencode.json").write_text(json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    environment = {f"OPENCODE_DISABLE_{each}": "1" for each in off}
    environment["OPENCODE_CONFIG"] = str(seat.home / "opencode.json")
    told = ["run", "--pure", "-m", named, prompt]
    return Command([program("npm", "opencode", "opencode"), *told], environment)


AIDER = {
    "chat": ("openai", {"OPENAI_API_BASE": "/v1"}, "OPENAI_API_KEY"),
    "messages": ("anthropic", {"ANTHROPIC_API_BASE": ""}, "ANTHROPIC_API_KEY"),
    "gemini": ("gemini", {"GEMINI_API_BASE": "/v1beta"}, "GEMINI_API_KEY"),
}
AIDER_QUIET = "--no-git --yes-always --analytics-disable --no-check-update --no-show-model-warnings "
AIDER_QUIET += "--no-detect-urls --no-pretty --no-show-release-notes --map-tokens 0 --edit-format diff"


def aider(row: Row, seat: Seat, prompt: str) -> Command:
    """Its commands' output is fed back where they fail, so the command fails after it has printed."""
    vendor, where, key = AIDER[row.dialect]
    environment = {name: seat.base + path for name, path in where.items()}
    environment |= {key: seat.key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    streamed = "--stream" if row.streamed else "--no-stream"
    told = ["--model", f"{vendor}/{row.model}", *AIDER_QUIET.split(), streamed]
    told += ["--auto-test", "--test-cmd", "sh number.sh; exit 1", "--message", prompt]
    return Command([program("pip", "aider", "aider"), *told], environment)


def llm(row: Row, seat: Seat, prompt: str) -> Command:
    place = seat.home / "llm"
    place.mkdir()
    model = row.model
    if row.dialect != "messages":
        kind = "responses: true" if row.dialect == "responses" else "can_stream: true"
        entry = f"- model_id: {model}\n  model_name: {model}\n  api_base: {seat.base}/v1\n"
        entry += f"  api_key_name: rc\n  supports_tools: true\n  {kind}\n"
        (place / "extra-openai-models.yaml").write_text(entry)
    told = ["-m", model, "--key", seat.key, "--functions", str(HERE / "programs" / "llm_tools.py")]
    told += [] if row.streamed else ["--no-stream"]
    environment = {"LLM_USER_PATH": str(place), "ANTHROPIC_BASE_URL": seat.base}
    return Command([program("pip", "llm", "llm"), "prompt", *told, prompt], environment)


DRIVERS: Mapping[str, tuple[tuple[str, str], Callable[[Row, Seat, str], Command]]] = {
    "claude": (("npm", "claude"), claude),
    "codex": (("npm", "codex"), codex),
    "codex-builtin": (("npm", "codex"), codex),
    "gemini-cli": (("npm", "gemini"), gemini),
    "opencode": (("npm", "opencode"), opencode),
    "aider": (("pip", "aider"), aider),
    "llm": (("pip", "llm"), llm),
}
"""The clients that are commands: what must be installed for each, and how it is started."""
PATH = os.pathsep.join([str(NODE), "/usr/local/bin", "/usr/bin", "/bin"])


def bare(home: Path) -> dict[str, str]:
    """An environment with nothing of this process's own."""
    quiet = {"TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC", "CI": "1", "NO_COLOR": "1"}
    return {"PATH": PATH, "HOME": str(home), "TMPDIR": str(home), **quiet}


def drive(row: Row, seat: Seat, prompt: str) -> Done:
    """Run a command to its end."""
    command = DRIVERS[row.client][1](row, seat, prompt)
    process = subprocess.Popen(
        command.arguments,
        cwd=seat.work,
        env={**bare(seat.home), **command.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        errors += f"\nwas not done after {SECONDS:g} s"
    return Done(process.returncode, output, errors)
