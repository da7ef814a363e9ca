"""On the pages in docs/coming-from the peers' programs run, too, and print what the page says.

A peer's block is fenced as ```py title="with NAME". It prints what the text block right after it says
or, where there is none, what our block that follows prints: then both programs print the same. One of
our blocks below the comment `both` belongs to everybody's program.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from coming_from.peers import command
from coming_from.shop import environment, vendor

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PAGES = sorted((ROOT / "docs" / "coming-from").glob("*.md"))
BLOCK = re.compile(
    r'^(?P<both><!-- both -->\n)?```(?P<fence>python|py title="with (?P<peer>[^"]+)")\n'
    r"(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
LONGEST = 150
SIDE_BY_SIDE = ROOT / "docs" / "coming-from" / "pydantic-ai-four.md"


@dataclass(frozen=True)
class Block:
    """A block of a peer's program, and what it has to print."""

    line: int
    code: str
    prints: str


def programs(page: Path) -> dict[str, list[Block]]:
    """The program of each peer on a page."""
    text = page.read_text()
    found = list(BLOCK.finditer(text))
    peers: dict[str, list[Block]] = {each["peer"]: [] for each in found if each["peer"]}
    for each, following in pairwise([*found, None]):
        line = text[: each.start("code")].count("\n")
        if each["both"]:
            for blocks in peers.values():
                blocks.append(Block(line, each["code"], each["output"] or ""))
        if each["peer"]:
            output = each["output"]
            if output is None and following is not None and following["fence"] == "python":
                output = following["output"]
            assert output, f"{page.name}:{line} prints nothing that can be checked"
            peers[each["peer"]].append(Block(line, each["code"], output))
    return peers


ROWS = [(page, peer) for page in PAGES for peer in programs(page)]


def play(page: Path, peer: str, blocks: list[Block], folder: Path, address: dict[str, str]) -> list[str]:
    asked = {"page": str(page), "blocks": [[each.line, each.code] for each in blocks]}
    done = subprocess.run(
        [command(peer), str(HERE / "play.py")],
        input=json.dumps(asked),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **address},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, f"{page.name}: {peer}'s program failed\n{done.stderr[-4000:]}"
    printed: list[str] = json.loads(done.stdout)
    return printed


@pytest.mark.parametrize(("page", "peer"), ROWS, ids=lambda each: getattr(each, "stem", each))
def test_the_program_that_one_comes_from_runs(page, peer, tmp_path):
    blocks = programs(page)[peer]
    with vendor() as upstream:
        printed = play(page, peer, blocks, tmp_path, environment(upstream))
        assert upstream.refused == []
        assert upstream.exchanges, f"{peer} asked nobody"
    for block, said in zip(blocks, printed, strict=True):
        assert said == block.prints, f"{page.name}:{block.line} prints something else"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short(page):
    most = LONGEST if page != SIDE_BY_SIDE else 190
    assert len(page.read_text().splitlines()) <= most


def test_none_of_our_four_programs_is_longer():
    found = [each for each in BLOCK.finditer(SIDE_BY_SIDE.read_text()) if not each["both"]]
    lines = [len([line for line in each["code"].splitlines() if line.strip()]) for each in found]
    theirs, ours = lines[::2], lines[1::2]
    assert [each["peer"] for each in found] == ["pydantic-ai", None] * 4
    assert all(mine <= other for mine, other in zip(ours, theirs, strict=True)), (ours, theirs)
