"""Pages that say "paste it into ``python -m asyncio``" have blocks that can be pasted there.

A console reads line by line: an empty line ends a statement with a body, and without one the next
statement at the margin is a syntax error.
"""

import ast
import re
from codeop import CommandCompiler
from collections.abc import Iterator

import pytest

from docs.test_examples import PAGES, ROOT, blocks_of

PASTED = [page for page in PAGES if re.search(r"`python\s+-m\s+asyncio`", page.read_text())]


def statements(code: str) -> Iterator[str]:
    """What a console takes from a block, one input after the other; SyntaxError where it stops."""
    compiler = CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    lines: list[str] = []
    for line in [*code.splitlines(), ""]:
        lines.append(line)
        text = "\n".join(lines)
        if compiler(text, "<console>", "single") is not None:
            yield text
            lines = []


@pytest.mark.parametrize("page", PASTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_can_be_pasted_into_a_console(page):
    broken = []
    for line, code, _ in blocks_of(page):
        try:
            list(statements(code))
        except SyntaxError as error:
            broken.append(f"{page.name}:{line}: {error.msg}: {error.text}")
    assert broken == []


@pytest.mark.parametrize(
    "code",
    [
        "if True:\n    a = 1\nb = 2\n",
        "class A:\n    a = 1\n\n    b = 2\n",
        "async with a:\n    pass\nprint(1)\n",
    ],
)
def test_blocks_that_a_console_refuses_are_found(code):
    with pytest.raises(SyntaxError):
        list(statements(code))


def test_pages_say_that_they_can_be_pasted():
    assert len(PASTED) > 10
