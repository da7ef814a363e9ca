"""The two configurations on the page about LiteLLM serve the same client, each by its own server."""

import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coming_from.peers import command
from coming_from.shop import environment, vendor
from coming_from.test_pages import ROOT, play, programs

PAGE = ROOT / "docs" / "coming-from" / "litellm.md"
FILE = re.compile(r'^```\w+ title="(?P<name>[\w.]+)"\n(?P<text>.*?)^```\n', re.MULTILINE | re.DOTALL)
SERVERS = {
    "litellm": ("config.yaml", ["--config", "config.yaml", "--port"], "/health/liveliness"),
    "rightcall": ("gateway.toml", ["serve", "--config", "gateway.toml", "--listen"], "/health"),
}
KEY = "sk-" + secrets.token_hex(32)
"""LiteLLM wants a strong one to start; our gateway takes any word while it has no keys."""
SECONDS = 120
"""LiteLLM's proxy takes some twenty to start."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(server: str, folder: Path, env: dict[str, str]) -> Iterator[str]:
    """The server's address, for as long as it runs."""
    name, options, health = SERVERS[server]
    ours = str(Path(sys.executable).parent / "rightcall")
    program = ours if server == "rightcall" else command("litellm", "litellm")
    files = {each["name"]: each["text"] for each in FILE.finditer(PAGE.read_text())}
    (folder / name).write_text(files[name])
    port, log = free_port(), folder / "log.txt"
    with log.open("w") as written:
        process = subprocess.Popen(
            [program, *options, str(port)], cwd=folder, env=env, stdout=written, stderr=written
        )
        try:
            await_health(process, f"http://127.0.0.1:{port}{health}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def await_health(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"it did not start in {SECONDS} s: {log.read_text()[-3000:]}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", SERVERS)
def test_the_client_of_a_proxy_is_served_by_either(server, tmp_path):
    with vendor() as upstream:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment(upstream)}
        env["LITELLM_MASTER_KEY"] = KEY
        blocks = programs(PAGE)["openai"]
        with serving(server, tmp_path, env) as url:
            address = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
            printed = play(PAGE, "openai", blocks, tmp_path, address)
        asked = [(each.dialect, each.body["model"]) for each in upstream.exchanges]
    assert printed == [block.prints for block in blocks]
    assert asked == [("chat", "gpt-5-mini"), ("messages", "claude-opus-4-8")]
