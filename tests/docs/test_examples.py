"""Every example in the README and the docs runs, and prints what the page says it prints.

The Python blocks of a page run in order in one namespace. A text block right after one is its output.
"""

import ast
import asyncio
import contextlib
import gc
import inspect
import io
import os
import re
import sys
import types
import warnings
from pathlib import Path

import pytest

from coming_from.shop import environment, vendor
from docs.recipe_pages import same_logging, write_files

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def blocks_of(page: Path) -> list[tuple[int, str, str | None]]:
    text = page.read_text()
    return [
        (text[: found.start()].count("\n") + 1, found["code"], found["output"])
        for found in BLOCK.finditer(text)
    ]


def run_block(
    runner: asyncio.Runner, code: str, name: str, line: int, namespace: dict[str, object]
) -> str:
    """What a block prints. One that awaits nothing runs as in a file, and may call asyncio.run."""
    tree = ast.parse(code, name)
    ast.increment_lineno(tree, line)
    compiled = compile(tree, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = eval(compiled, namespace)
        if inspect.iscoroutine(value):
            runner.run(value)
    return printed.getvalue()


@pytest.fixture
def scripted(page, monkeypatch):
    """The pages in coming-from ask a real vendor by its name; a scripted one answers, on loopback."""
    if page.parent.name != "coming-from":
        yield
        return
    with vendor() as upstream:
        for name, value in environment(upstream).items():
            monkeypatch.setenv(name, value)
        yield
        assert upstream.refused == []


@pytest.fixture
def own_logging():
    """A page may set up logging, as a program does; the tests after it see it as it was."""
    with same_logging():
        yield


@pytest.mark.usefixtures("own_logging", "scripted")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What a page shows as a file is one, and can be imported; commands are those of this environment.
    write_files(page, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        # What the command line keeps is not the developer's.
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("RIGHTCALL_MODEL", raising=False)
    module = types.ModuleType(f"page_{page.stem.lower()}")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    with asyncio.Runner() as runner:
        for line, code, output in blocks_of(page):
            printed = run_block(runner, code, str(page), line, module.__dict__)
            if output is not None:
                assert printed == output, f"{page.name}:{line} prints something else"
    # A page leaves journals open, as a program does at its end; no later test is to be blamed for that.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        module.__dict__.clear()
        gc.collect()


def test_the_pages_have_examples():
    assert sum(len(blocks_of(page)) for page in PAGES) > 15


ASKING = {"run", "run_sync", "stream", "ask"}
OWN_RECORDS = {"which-kind.md": ["find_order(17)"]}
"""What pages put into a prompt as text: the application's own, and nothing that strangers wrote."""
ANY_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""Also those with a title, which are run elsewhere."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_strangers_wrote_is_attached_and_not_pasted_into_a_prompt(page):
    pasted = []
    for code in ANY_BLOCK.findall(page.read_text()):
        for call in ast.walk(ast.parse(code)):
            name = getattr(getattr(call, "func", None), "attr", "")
            if isinstance(call, ast.Call) and name in ASKING and call.args:
                for each in ast.walk(call.args[0]):
                    if isinstance(each, ast.FormattedValue):
                        pasted.append(ast.unparse(each.value))
                    is_field = isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant)
                    if is_field and isinstance(each.slice.value, str):
                        # Of a record, such as a mail's body.
                        pasted.append(ast.unparse(each))
    assert pasted == OWN_RECORDS.get(page.name, [])
