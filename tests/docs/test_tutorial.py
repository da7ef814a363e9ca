"""Whoever follows the tutorial ends with examples/support, and sees what the pages say.

A block titled with a file's name is that file, from that page on. The ``sh`` blocks of a page run in one
shell, and a ``text`` block right after one is what is seen. ``bash`` blocks need a key, a network or a
browser, and are not run.
"""

import asyncio
import atexit
import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

import warm
from examples.vendor import vendor

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "examples/support"
PAGES = sorted((ROOT / "docs/tutorial").glob("[0-9]*.md"), key=lambda page: int(page.name.split("-")[0]))
BLOCK = re.compile(
    r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$(\n\n(?=```text))?', re.MULTILINE | re.DOTALL
)
BETWEEN = "--- the next block ---"
LONGEST = 120
"""Lines of a page, which are ten minutes."""


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    return [(found[1], found[2] or "", found[3]) for found in BLOCK.finditer(page.read_text())]


def files_of(*pages: Path) -> dict[str, str]:
    return {title: text for page in pages for _, title, text in blocks_of(page) if title}


def seen_of(page: Path) -> list[tuple[str, str | None]]:
    """Each ``sh`` block of a page, and the ``text`` after it."""
    found = list(BLOCK.finditer(page.read_text()))
    following = [*found[1:], None]
    return [
        (block[3], after[3] if block[4] and after is not None else None)
        for block, after in zip(found, following, strict=True)
        if block[1] == "sh"
    ]


@cache
def started_at_once() -> Path:
    """A folder with a ``python`` and a ``rightcall`` that have imported already what takes long."""
    folder = Path(tempfile.mkdtemp(prefix="commands-"))
    atexit.register(shutil.rmtree, folder)
    program = shlex.join(warm.python(*warm.AGENT))
    for name, more in {"python": "", "rightcall": "-m rightcall.cli.main"}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {program} {more} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("SUPPORT_", "RUNS"))
    }
    binaries = os.pathsep.join([str(started_at_once()), str(Path(sys.executable).parent)])
    # The reader has none of our plugins, and no width of a terminal to be asked.
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, "PATH": f"{binaries}{os.pathsep}{kept['PATH']}", **own, **more}


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def run_in(folder: Path, scripts: list[str]) -> list[str]:
    """What each script shows, all of them in one shell; what it leaves running is ended with it."""
    ports = {"8000": str(free_port()), "8001": str(free_port())}
    whole = f"\necho '{BETWEEN}'\n".join(["", *scripts])
    whole = re.sub(r"\b800[01]\b", lambda found: ports[found[0]], whole)
    shown = folder / "shown.txt"
    with shown.open("wb") as out:
        shell = subprocess.Popen(
            ["bash", "-c", whole],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            shell.wait(100)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    back = {port: name for name, port in ports.items()}
    text = re.sub("|".join(back), lambda found: back[found[0]], shown.read_text())
    return [each.strip("\n") for each in text.split(BETWEEN)[1:]]


def shown_by(page: Path, folder: Path, pages: list[Path]) -> list[str]:
    """What the ``sh`` blocks of a page show, with each file as the page has it at that point."""
    for title, text in files_of(*pages[: pages.index(page)]).items():
        (folder / title).write_text(text)
    scripts = [""]
    for at, (kind, title, text) in enumerate(blocks_of(page)):
        if title:
            (folder / f"{at}.staged").write_text(text)
            scripts[-1] += f"cp {at}.staged {title}\n"
        elif kind == "sh":
            scripts[-1] += text
            scripts.append("")
    return run_in(folder, scripts[:-1])


def without_chance(text: str) -> str:
    """What differs from one time to the next, and from shell to shell, is the same or is not there."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", text)
    text = re.sub(r"in \d+\.\d+ ?s", "in SOME TIME", text)
    text = re.sub(r"^(.*line \d+: +\d+ )?Killed.*\n?", "", text, flags=re.MULTILINE)
    return re.sub(r" +$", "", text, flags=re.MULTILINE).strip("\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_show_what_it_says(page, tmp_path):
    wanted = seen_of(page)
    if any("curl" in script for script, _ in wanted) and not shutil.which("curl"):
        pytest.skip("there is no curl")
    assert wanted, f"{page.name} has nothing to run"
    for (script, expected), shown in zip(wanted, shown_by(page, tmp_path, PAGES), strict=True):
        if expected is not None:
            assert without_chance(shown) == without_chance(expected), script


def test_the_pages_end_with_the_project():
    project = {file.name: file.read_text() for file in PROJECT.glob("*.py")}
    assert files_of(*PAGES) == project


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_ten_minutes(page):
    assert len(page.read_text().splitlines()) <= LONGEST


def test_the_index_has_every_page():
    index = (ROOT / "docs/tutorial/index.md").read_text()
    assert re.findall(r"^\| \[.*?\]\((\d+-[\w-]+\.md)\)", index, re.MULTILINE) == [
        page.name for page in PAGES
    ]


async def test_the_same_program_asks_a_vendor(tmp_path):
    for title, text in files_of(*PAGES).items():
        (tmp_path / title).write_text(text)
    await asyncio.to_thread(run_in, tmp_path, ["python store.py"])
    script = [[("find_order", {"number": 17})], "It was delivered."]
    async with vendor(script) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "ask.py", "a", "Where is order 17?"),
            cwd=tmp_path,
            env=environment(SUPPORT_MODEL="anthropic:claude-opus-4-8", **keys),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert out.decode().endswith("It was delivered.\n")
    assert "teapot" in str(at.requests[1]["messages"])
