"""Print the prompt that a local model would see for a conversation, special tokens and all.

Nothing is loaded but the chat template. Special tokens in what is said are made harmless, as they
are in a run: on a terminal, what stands out is the template's own.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import OK
from rightcall.cli.options import DEFAULT_MODEL

if TYPE_CHECKING:
    from rightcall.core.request import Request
    from rightcall.local.prompt import Prompt
    from rightcall.local.template.chat_template import ChatTemplate


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="what the user says last")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        metavar="NAME",
        help="a name from 'rightcall models list', or a .gguf file (default: %(default)s)",
    )
    which.add_argument(
        "--template",
        metavar="PATH",
        help="a chat template's own file, a tokenizer_config.json, or a model's folder",
    )
    parser.add_argument(
        "--tool",
        dest="tools",
        action="append",
        default=[],
        metavar="FILE.py[:NAME]",
        help="tools to tell the model of; may be given again",
    )
    parser.add_argument("--system", default="", metavar="TEXT", help="what the model is to be")
    parser.add_argument(
        "--messages", metavar="FILE.json", help="a conversation, as /save in a chat writes it"
    )
    parser.add_argument("--raw", action="store_true", help="the bytes themselves, and nothing else")
    parser.add_argument(
        "--problems", action="store_true", help="say on standard error what the template cannot do"
    )


def run(options: Namespace) -> int:
    """Render, and print."""
    from rightcall.local.families.call_text import PromptedTools  # noqa: PLC0415
    from rightcall.local.families.known import detect  # noqa: PLC0415
    from rightcall.local.prompt import render_prompt  # noqa: PLC0415
    from rightcall.local.template.template_file import read_template  # noqa: PLC0415
    from rightcall.local_models import file_of  # noqa: PLC0415 - help and errors need none of this

    template = read_template(options.template or file_of(options.model))
    if options.problems:
        _tell_problems(template)
    family = detect(template.choose(tools=bool(options.tools)))
    for request in _requests(options):
        prompt = render_prompt(request, template, fallback=PromptedTools(family))
        if options.raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(prompt.text.encode(errors="replace"))
            sys.stdout.buffer.flush()
        else:
            _print(prompt, template)
    return OK


def _requests(options: Namespace) -> "tuple[Request, ...]":
    """What the model is asked first: the embedded one, each of its lessons by itself."""
    from rightcall.catalogue import EMBEDDED  # noqa: PLC0415
    from rightcall.local.guided.lessons import first_lessons  # noqa: PLC0415

    request = _request(options)
    led = options.model.removeprefix("local:") == EMBEDDED and not options.template
    return first_lessons(request) if led else (request,)


def _request(options: Namespace) -> "Request":
    from pathlib import Path  # noqa: PLC0415

    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.cli.transcript import load  # noqa: PLC0415
    from rightcall.core.message import said  # noqa: PLC0415
    from rightcall.core.request import Request  # noqa: PLC0415
    from rightcall.declare.toolbox import Toolbox  # noqa: PLC0415
    from rightcall.errors import UsageError  # noqa: PLC0415

    messages = load(Path(options.messages)) if options.messages else ()
    if options.text is not None:
        messages = (*messages, said(options.text))
    if not messages:
        raise UsageError("what was said? give TEXT, or --messages FILE.json")
    tools = Toolbox([load_tools(place) for place in options.tools])
    return Request(messages=messages, system=options.system, specs=tuple(tool.spec for tool in tools))


def _print(prompt: "Prompt", template: "ChatTemplate") -> None:
    from rightcall.cli.safe import ended, harmless, write  # noqa: PLC0415
    from rightcall.cli.screen import is_lively  # noqa: PLC0415

    if not is_lively():
        write(ended(prompt.text), sys.stdout)
        return
    from rich.console import Console  # noqa: PLC0415

    from rightcall.local.prompt import visible  # noqa: PLC0415

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    for kind, text in visible(prompt, template):
        console.out(harmless(text), style="bold magenta" if kind == "marker" else None, end="")
    console.out("")


def _tell_problems(template: "ChatTemplate") -> None:
    from rightcall.cli.safe import harmless  # noqa: PLC0415
    from rightcall.local.template.probing import probe  # noqa: PLC0415

    for problem in probe(template).problems or ("the template has none of the known problems",):
        print(harmless(problem), file=sys.stderr)
