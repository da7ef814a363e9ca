"""Tables in Markdown, and the marked places of a page that they are written to."""

import re
import sys
from pathlib import Path


def table(head: list[str], lines: list[list[str]], aligned: str = "--:") -> str:
    """A table whose first column is words."""
    under = ["---"] + [aligned] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, under, *lines])


def write(page: Path, sections: dict[str, str]) -> None:
    """Each section between its own markers, ``<!-- name -->`` and ``<!-- /name -->``; nothing else."""
    text = page.read_text()
    for name, section in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        places = re.findall(f"{begin}.*?{end}", text, re.DOTALL)
        if len(places) != 1:
            sys.exit(f"{page} has {len(places)} places between {begin.strip()} and {end}, not one")
        text = text.replace(places[0], f"{begin}\n{section}\n\n{end}")
    page.write_text(text)
