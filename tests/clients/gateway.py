"""The gateway as clients meet it: a process of its own, in front of the scripted vendor."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

UPSTREAMS = {
    "chat": ("openai", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "messages": ("anthropic", ""),
    "gemini": ("gemini", ""),
}
"""The provider of each dialect, and where its address ends."""
SETTINGS = """
[models."*"]
use = "{provider}:*"
base_url = "{base}"
key_env = "RC_UPSTREAM_KEY"
exact = {exact}

[bounds]
quiet_seconds = 2

[trying]
longest_wait = 1.2
"""
UPSTREAM_KEY = "the-vendors-own-key"
STARTED = re.compile(r"serving at (http://\S+)")
LONGEST_START = 120.0


@dataclass(frozen=True)
class Gateway:
    """One that runs."""

    url: str
    written: Path

    def log(self) -> str:
        return self.written.read_text()


@contextmanager
def gateway(folder: Path, vendor: str, dialect: str, *, exact: bool = True) -> Iterator[Gateway]:
    """A gateway in front of a vendor, for as long as this lasts."""
    provider, path = UPSTREAMS[dialect]
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "gateway.toml"
    settings.write_text(SETTINGS.format(provider=provider, base=vendor + path, exact=str(exact).lower()))
    log = folder / "gateway.log"
    command = [sys.executable, "-m", "rightcall.cli.main", "serve", "--config", str(settings)]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", "-v"],
            env={**os.environ, "RC_UPSTREAM_KEY": UPSTREAM_KEY},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
        )
    try:
        yield Gateway(_address(process, log), log)
    finally:
        process.terminate()
        process.wait(10)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + LONGEST_START
    while time.monotonic() < until:
        if found := STARTED.search(log.read_text()):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the gateway did not start:\n{log.read_text()}")
