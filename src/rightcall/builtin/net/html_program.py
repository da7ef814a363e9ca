"""Converts an HTML file to its title and its text. A separate program: it is run, never imported.

Converting HTML is the one step whose cost the page's author controls: tables that pad themselves to
gigabytes, tags without end. Here a page can exhaust only the limits of this process.

    python -I -S html_program.py <directory of the library> <file> <base address>
"""

import re
import resource
import sys
from html import unescape
from pathlib import Path

assert sys.platform != "win32"

_MEMORY = 1024**3
_SECONDS = 5
_DEEPEST = 200
_MOST_CHARACTERS = 2_000_000
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})</title", re.IGNORECASE)
_TITLE_WITHIN = 200_000
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def main(library: str, file: str, address: str) -> None:
    """Print the title on one line, and the text below it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    html = Path(file).read_text(encoding="utf-8")
    title = _TITLE.search(html, 0, _TITLE_WITHIN)
    sys.path.insert(0, library)
    import html_to_markdown as converter  # noqa: PLC0415 - found only now

    options = converter.ConversionOptions(
        # Instructions to models are often hidden in what a browser does not show.
        hidden_content="drop",
        exclude_selectors=["nav"],
        preprocessing=converter.PreprocessingOptions(preset="minimal"),
        base_url=address,
        max_depth=_DEEPEST,
        skip_images=True,
        inline_data_media="alt_text_only",
        compact_tables=True,
        extract_metadata=False,
    )
    text = converter.convert(html, options).content or ""
    lines = [
        " ".join(unescape(title[1]).split()) if title else "",
        _BLANK_LINES.sub("\n\n", text[:_MOST_CHARACTERS]).strip(),
    ]
    sys.stdout.buffer.write("\n".join(lines).encode("utf-8", "replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
