"""Every recipe runs as a file, as it stands; with a scripted model, as its page says, where it cannot.

The gateway is the vendor: it answers on loopback in the vendor's own form, with the
words of the page's scripted model. The commands that a page shows print what the page says.
"""

import ast
import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from docs.recipe_pages import (
    MAIN,
    RECIPES,
    blocks,
    commands,
    file_name,
    program_of,
    run,
    run_here,
    write_files,
)
from rightcall.serve.gateway import Gateway, Place, Served, Settings

INDEX = RECIPES / "index.md"
PAGES = sorted(set(RECIPES.glob("*.md")) - {INDEX})
PROGRAMS = [page for page in PAGES if MAIN in "".join(blocks(page, "python"))]
APART = {"fallback", "fastapi", "limit-cost-per-user", "migrate-a-journal", "web-streaming"}
"""What needs two vendors, prices, a client or nobody: test_recipes_apart.py."""
LONGEST = 90


@asynccontextmanager
async def vendor(model: object) -> AsyncIterator[dict[str, str]]:
    """The variables of a program whose vendor says what a model says."""
    settings = Settings(models={"*": Served(places=(Place(use="scripted"),))})
    gateway = Gateway(settings, open_=lambda use, place, trying: model)
    server = uvicorn.Server(uvicorn.Config(gateway, port=0, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    at = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield {"ANTHROPIC_BASE_URL": at, "ANTHROPIC_API_KEY": "key"}
    finally:
        server.should_exit = True
        await serving
        await gateway.close()


def scripted(page: Path) -> object:
    """The page's scripted model, with the files that the page makes before it."""
    *programs, later = blocks(page, "python")
    lines = ast.parse(later).body
    last = next(at for at, line in enumerate(lines) if ast.unparse(line).startswith("MODEL = "))
    namespace: dict[str, object] = {"__name__": "recipe"}
    exec(compile("\n".join(programs), str(page), "exec"), namespace)
    exec(compile(ast.Module(lines[: last + 1], []), str(page), "exec"), namespace)
    return namespace["MODEL"]


# With its scripted model every page runs in test_examples.py too; the others run as files below.
@pytest.mark.parametrize(
    "page", [page for page in PROGRAMS if page.stem in APART], ids=lambda page: page.stem
)
async def test_a_program_runs_as_a_file_without_a_key(page, tmp_path):
    write_files(page, tmp_path)
    *before, last = [block.partition(MAIN)[0] for block in blocks(page, "python")]
    name = next(filter(None, map(file_name, reversed(before))))
    (tmp_path / name).write_text("\n".join([*before, last]))
    printed = await run_here("python", name, cwd=tmp_path)
    assert printed == "".join(blocks(page, "text"))


@pytest.mark.parametrize(
    "page", [page for page in PROGRAMS if page.stem not in APART], ids=lambda page: page.stem
)
async def test_the_commands_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    async with vendor(scripted(page)) as variables:
        for (name, *arguments), expected in commands(page):
            if page.stem == "structured-logging":
                # How a process logs is set up once, and here others have done so.
                printed = await run(*program_of(name), *arguments, cwd=tmp_path, **variables)
            else:
                printed = await run_here(name, *arguments, cwd=tmp_path, **variables)
            assert printed == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_in_the_index(page):
    assert len(page.read_text().splitlines()) <= LONGEST
    assert f"({page.name})" in INDEX.read_text()


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page):
    for target, anchor in re.findall(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)", page.read_text()):
        there = (page.parent / target).resolve()
        assert there.exists(), target
        headings = re.findall(r"^#+ (.+)$", there.read_text(), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", each).strip().lower().replace(" ", "-") for each in headings}
        assert not anchor or anchor in slugs, f"{target}#{anchor}"
