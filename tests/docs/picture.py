"""The picture in the README: its first program, tried in a terminal. Run by ``make picture``.

The commands run for real, in a pseudo-terminal, with the embedded model. How long things took is left
out, so that the picture is the same every time; nothing else is changed.
"""

# ruff: noqa: T201 - a program

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from docs.readme import first_program

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "run.svg"
COMMANDS = (
    """rightcall ask -T shop.py "What was ordered in order 4711?" """.strip(),
    """rightcall ask -T shop.py "Refund 40 euros for order 4711." """.strip(),
    """rightcall tools call shop.py refund '{"order": "4711", "amount": 40}'""",
)
QUESTION, ANSWER = "[y/N/why not] ", "y"
COLUMNS = 84

Span = tuple[str, str]
"""A class of the picture's style sheet, and text that is written so."""

COLOURS = {"0": "plain", "1": "bold", "2": "dim", "31": "bad", "32": "good", "36": "call"}
STYLE = """\
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6e6e6 }
text { white-space: pre }
.bold { font-weight: bold } .dim { fill: #9aa0a6 }
.bad { fill: #ff8a80 } .good { fill: #8bd5a0 } .call { fill: #7fd4e8 }"""
TITLE = "A terminal: a model looks up an order, a person allows a refund, a wrong call is refused"
LEFT, TOP, LINE, CHARACTER = 18, 46, 19, 7.85


def typed(command: str, folder: Path) -> str:
    """What a terminal is sent while a command runs in it and a person says yes."""
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    for name in ("NO_COLOR", "FORCE_COLOR", "RIGHTCALL_MODEL"):
        environment.pop(name, None)
    program = [sys.executable, "-m", "rightcall.cli.main", *shlex.split(command)[1:]]
    ours, its = pty.openpty()
    process = subprocess.Popen(program, cwd=folder, env=environment, stdin=its, stdout=its, stderr=its)
    os.close(its)
    said = b""
    while piece := _read(ours):
        said += piece
        if said.endswith(QUESTION.encode()):
            os.write(ours, f"{ANSWER}\n".encode())
    os.close(ours)
    process.wait()
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # Linux says so when the last program has let go of the other end.
        return b""


def screen(said: str) -> list[str]:
    """The lines that are left on the screen: what was wiped or written over is gone."""
    lines: list[str] = []
    for line in said.replace("\r\n", "\n").split("\n"):
        if "\x1b[1A" in line and lines:
            lines.pop()
        left = re.sub(r"\x1b\[\?25[hl]|\x1b\[1A", "", line.rpartition("\x1b[2K")[2]).rpartition("\r")[2]
        if not re.match(r"rightcall: load(ing|ed) ", left):
            lines.append(re.sub(r"(?:(?<=m)|^)\d+\.\d s, | \d+\.\d s(?= )", "", left))
    return lines[:-1] if lines and not lines[-1] else lines


def spans(line: str) -> list[Span]:
    """A line with escape sequences, as text with classes."""
    found: list[Span] = []
    style = COLOURS["0"]
    for at, part in enumerate(re.split(r"\x1b\[([\d;]*)m", line)):
        if at % 2:
            style = COLOURS[part or "0"]
        elif part:
            found.append((style, part))
    return found


def session() -> list[list[Span]]:
    """Every line of the picture, from commands that are run now."""
    lines: list[list[Span]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop.py").write_text(first_program())
        for command in COMMANDS:
            lines += [[("dim", "$ "), ("bold", command)]]
            lines += [spans(line) for line in screen(typed(command, folder))]
            lines += [[]]
    return lines[:-1]


def drawn(lines: list[list[Span]]) -> str:
    """The lines as an SVG that needs nothing from elsewhere."""
    width, height = round(2 * LEFT + COLUMNS * CHARACTER), TOP + LINE * len(lines) + 4
    rows = []
    for at, line in enumerate(lines):
        if line:
            texts = "".join(
                f'<tspan class="{style}">{escape(text, quote=False)}</tspan>' for style, text in line
            )
            rows.append(f'<text x="{LEFT}" y="{TOP + LINE * at}" xml:space="preserve">{texts}</text>')
    dots = "".join(
        f'<circle cx="{LEFT + 4 + 18 * at}" cy="18" r="5" fill="{fill}"/>'
        for at, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{TITLE}</title>",
            f"<style>\n{STYLE}\n</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#1c1f24"/>{dots}',
            *rows,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(session()))
    print(PICTURE.relative_to(ROOT))
