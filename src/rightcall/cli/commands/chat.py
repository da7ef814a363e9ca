"""Talk to a model, with tools, approvals and a history.

Ctrl-C stops the reply; once more, or Ctrl-D, leaves. A line that begins with / is a command: /help
lists them. Where standard input is no terminal, each of its lines is a turn.
"""

from argparse import ArgumentParser, Namespace

from rightcall.cli.exits import INTERRUPTED, NO_ANSWER, OK
from rightcall.cli.options import add_run_options


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    add_run_options(parser)


def run(options: Namespace) -> int:
    """Take turns until there is nothing more to say."""
    import asyncio  # noqa: PLC0415 - help and errors need none of this
    from contextlib import nullcontext  # noqa: PLC0415

    from rightcall.cli.conversation import Conversation  # noqa: PLC0415
    from rightcall.cli.lines import is_typed, remembered  # noqa: PLC0415
    from rightcall.cli.session import Session  # noqa: PLC0415
    from rightcall.cli.slash import obey  # noqa: PLC0415

    session = Session(options)
    typed = is_typed()
    with asyncio.Runner() as runner, remembered() if typed else nullcontext():
        conversation = Conversation(session, options, runner)
        if typed and not options.quiet:
            conversation.say(f"{session.model_name}, {len(session.tools)} tools; /help lists commands")
        try:
            stayed = conversation.hold(obey)
        finally:
            runner.run(session.close())
    if not stayed:
        return INTERRUPTED
    # Somebody who was there has seen for themselves.
    return NO_ANSWER if conversation.failed and not typed else OK
