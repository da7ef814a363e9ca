"""Print the prompt that a local model would see for a conversation, special tokens and all."""

import sys
from argparse import Namespace
from pathlib import Path

from rightcall.cli import OK
from rightcall.cli.formatting import is_lively, write
from rightcall.cli.load import load_conversation, load_tools
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.sanitize import printable
from rightcall.errors import UsageError
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.family_list import detect
from rightcall.local.guided.lessons import first_lessons
from rightcall.local.prompt import Prompt, render_prompt, visible
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.quirks import probe
from rightcall.local.template.template_file import read_template
from rightcall.models.catalogue import EMBEDDED, file_of
from rightcall.models.local import NOT_ASKED
from rightcall.wire.history import ChatHistory


def run(options: Namespace) -> int:
    """Render, and print."""
    template = read_template(options.template or file_of(options.model))
    if options.problems:
        for problem in probe(template).problems or ("the template has none of the known problems",):
            print(printable(problem), file=sys.stderr)
    family = detect(template.choose(tools=bool(options.tools)))
    requests = _requests(options)
    if not requests:
        print(NOT_ASKED, file=sys.stderr)
    for request in requests:
        is_opened = not options.no_generation_prompt
        prompt = render_prompt(request, template, fallback=PromptedTools(family), opened=is_opened)
        if options.raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(prompt.text.encode(errors="replace"))
            sys.stdout.buffer.flush()
        else:
            _print(prompt, template)
    return OK


def _requests(options: Namespace) -> tuple[Request, ...]:
    """The first prompt of the embedded model, one for each of its lessons."""
    if options.messages:
        said_before = load_conversation(Path(options.messages))
    else:
        said_before = ChatHistory(())
    messages = said_before.messages
    if options.text is not None:
        messages = (*messages, user_text(options.text))
    if not messages:
        raise UsageError("what was said? give TEXT, or --messages FILE.json")
    tools = load_tools(*options.tools)
    system = options.instructions or said_before.system
    request = Request(messages=messages, system=system, specs=tuple(tool.spec for tool in tools))
    led = options.model.removeprefix("local:") == EMBEDDED and not options.template
    if led:
        return first_lessons(request)
    return (request,)


def _print(prompt: Prompt, template: ChatTemplate) -> None:
    if not is_lively():
        write(prompt.text, sys.stdout)
        return
    from rich.console import Console  # noqa: PLC0415 - an extra

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    for kind, text in visible(prompt, template):
        console.out(printable(text), style="bold magenta" if kind == "marker" else None, end="")
    console.out("")
