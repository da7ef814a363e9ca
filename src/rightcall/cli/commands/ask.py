"""Ask a model once, and show what happens on the way to its answer."""

import asyncio
from argparse import Namespace

from rightcall.cli import INTERRUPTED
from rightcall.cli.question import read_question, with_attachments
from rightcall.cli.session import Session
from rightcall.cli.summary import Watch


def run(options: Namespace) -> int:
    """Ask; the exit code says whether there is an answer."""
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
        return (await watch.watch(events)).code
    except asyncio.CancelledError:
        if watch is not None:
            watch.interrupted()
        raise
    finally:
        await session.close()
