"""Ask a model once, and show the run."""

import asyncio
import sys
from argparse import Namespace

from rightcall.cli import INTERRUPTED
from rightcall.cli.question import read_question, with_attachments
from rightcall.cli.saved import made_in, save
from rightcall.cli.session import Session
from rightcall.cli.summary import Watch
from rightcall.core.parts import Media
from rightcall.core.sanitize import printable


def run(options: Namespace) -> int:
    """Ask; the exit code shows whether there is an answer."""
    words = read_question(options)
    try:
        return asyncio.run(_ask(options, Session(options), words))
    except KeyboardInterrupt:
        return INTERRUPTED


async def _ask(options: Namespace, session: Session, words: str) -> int:
    watch = None
    try:
        prompt = await with_attachments(words, options.attachments)
        await session.open()
        view = session.view()
        watch = Watch(view, prompt, session.history)
        events = session.agent(view).stream(prompt, **session.said(session.history))
        summary = await watch.watch(events)
        await _keep(options, made_in(summary.transcript[len(session.history) :]))
    except asyncio.CancelledError:
        if watch is not None:
            watch.interrupted()
        raise
    else:
        return summary.code
    finally:
        await session.close()


async def _keep(options: Namespace, made: list[Media]) -> None:
    """Save the media that the model made, or tell the user which option does."""
    if options.save is None:
        told = [f"made [{each.about}]; --save FOLDER keeps it" for each in made]
    else:
        told = await asyncio.to_thread(save, made, options.save)
    for line in () if options.quiet else told:
        print(f"rightcall: {printable(line)}", file=sys.stderr)
