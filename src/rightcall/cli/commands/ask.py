"""Ask a model once, let it use tools, and get the answer.

On a terminal the run is shown as it happens. Elsewhere the answer, and nothing else, goes to standard
output, and what happened on the way to standard error.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.options import add_run_options
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.cli.session import Session
    from rightcall.cli.view import View, Watch

MAX_PROMPT = 16 * 1024 * 1024
"""More bytes than this on standard input are a mistake."""

_EPILOG = """\
examples:
  rightcall ask "What is 17 * 23?"
  rightcall ask --model anthropic:claude-opus-4-8 --tool weather.py "Weather in Paris?"
  git diff | rightcall ask --instructions "Review this." > review.txt
  rightcall ask --json --yes --tool shop.py "Order tea." | jq -r 'select(.event == "run_end").text'

exit codes:
  0 answered; 1 ended without an answer: a limit, a refusal, an error; 2 bad usage; 130 interrupted"""


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "prompt", nargs="?", help="the question; from standard input when it is - or not given"
    )
    add_run_options(parser)
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON")
    parser.epilog = _EPILOG


def run(options: Namespace) -> int:
    """Ask, and show what happens; the exit code says whether there is an answer."""
    import asyncio  # noqa: PLC0415 - help and errors need none of this

    from rightcall.cli.screen import view_for  # noqa: PLC0415
    from rightcall.cli.session import Session  # noqa: PLC0415
    from rightcall.cli.view import Watch  # noqa: PLC0415

    prompt = _prompt(options.prompt)
    session = Session(options)
    view = view_for(options, session.loading)
    watch = Watch(view, prompt)
    try:
        return asyncio.run(_ask(session, prompt, view, watch))
    except KeyboardInterrupt:
        return watch.interrupted().code


async def _ask(session: "Session", prompt: str, view: "View", watch: "Watch") -> int:
    try:
        events = session.agent(view).stream(prompt, choice=session.choice)
        return (await watch.watch(events)).code
    finally:
        await session.close()


def _prompt(given: str | None) -> str:
    if given is not None and given != "-":
        # Bytes of the command line that are not text come as halves of surrogate pairs.
        return given.encode(errors="surrogateescape").decode(errors="replace")
    if given is None and sys.stdin.isatty():
        raise UsageError('what is the question? rightcall ask "…"')
    text = sys.stdin.buffer.read(MAX_PROMPT + 1)
    if len(text) > MAX_PROMPT:
        raise UsageError(f"standard input holds more than {MAX_PROMPT:,} bytes")
    if not text.strip():
        raise UsageError("standard input holds no question")
    return text.decode(errors="replace")
