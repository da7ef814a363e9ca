"""Ask a model once, and show what happens on the way to its answer."""

import asyncio
import sys
from argparse import Namespace

from rightcall.cli.session import Session
from rightcall.cli.summary import View, Watch
from rightcall.errors import UsageError

MAX_PROMPT = 16 * 1024 * 1024
"""More bytes than this on standard input are a mistake."""


def run(options: Namespace) -> int:
    """Ask; the exit code says whether there is an answer."""
    prompt = _prompt(options.prompt)
    session = Session(options)
    view = session.view()
    watch = Watch(view, prompt)
    try:
        return asyncio.run(_ask(session, prompt, view, watch))
    except KeyboardInterrupt:
        return watch.interrupted().code


async def _ask(session: Session, prompt: str, view: View, watch: Watch) -> int:
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
