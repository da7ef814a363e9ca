"""Every command with its arguments. Imports nothing heavy, so that help is quick.

To add a command, write ``commands/NAME.py`` with a ``run(options)``, a function here that adds its
arguments, whose docstring heads its help, and its row in ``COMMANDS``.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rightcall.cli.durable_arguments import runs, worker
from rightcall.cli.eval_arguments import evaluate
from rightcall.cli.journal_arguments import journal
from rightcall.cli.mcp_arguments import mcp, serve_mcp
from rightcall.cli.options import (
    DEFAULT_MODEL,
    add_approval_options,
    add_dry_run,
    add_run_options,
    count_of,
    repeated,
)
from rightcall.cli.serve_arguments import serve
from rightcall.cli.studio_arguments import studio, watch
from rightcall.cli.tool_arguments import tools
from rightcall.cli.trust_arguments import audit, trust
from rightcall.wire.dialects import DIALECTS

_TOOLS = "FILE.py[:NAME]"


def ask(parser: ArgumentParser) -> None:
    """Ask a model once, let it use tools, and get the answer.

    On a terminal the run is shown as it happens. Elsewhere the answer, and nothing else, goes to standard
    output, and what happened on the way to standard error.
    """  # noqa: E501 - as wide as help is
    parser.usage = "rightcall ask [OPTIONS] [PROMPT]"
    parser.add_argument(
        "prompt", nargs="?", help="the question; piped input comes before it, or is the question"
    )
    repeated(
        parser.add_argument,
        *("-a", "--attachment", "attachments"),
        metavar="FILE",
        words="an image or another file: a path, an address, or - for standard input",
    )
    parser.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="the form of the answer: a JSON Schema, a file of one, or 'name, age int'",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FOLDER",
        help="put the pictures and sounds that the model makes into this folder, and say where",
    )
    add_run_options(parser)
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON")
    parser.epilog = """\
examples:
  rightcall ask "What is 17 * 23?"
  rightcall ask -m anthropic:claude-opus-4-8 -T weather.py "Weather in Paris?"
  cat f.py | rightcall ask "Review this." > review.txt
  rightcall ask -c "And in one sentence?"
  rightcall ask -a photo.png --schema "animals str[], count int" "What is there to see?"
  rightcall ask --json --yes --tool shop.py "Order tea." | jq -r 'select(.event == "run_end").text'

exit codes:
  0 answered; 1 ended without an answer: a limit, a refusal, an error; 2 bad usage; 130 interrupted"""


def chat(parser: ArgumentParser) -> None:
    """Talk to a model, with tools, approvals and a history.

    Ctrl-C stops the reply; once more, or Ctrl-D, leaves. A line that begins with / is a command: /help
    lists them. Where standard input is no terminal, each of its lines is a turn.
    """
    parser.usage = "rightcall chat [OPTIONS]"
    add_run_options(parser)


def batch(parser: ArgumentParser) -> None:
    """Send a file of prompts through a vendor's batch API: at half the price, within a day.

    Each line of FILE is a prompt in quotes, or {"prompt": "...", "id": ...}. What came of each goes to
    standard output, a line of JSON in the same order; how far it is, to standard error.
    """
    parser.add_argument("file", metavar="FILE.jsonl", help="the prompts; - for standard input")
    parser.add_argument("-m", "--model", metavar="NAME", help="as ask --model takes it")
    parser.add_argument(
        *("-s", "--system", "--instructions"),
        dest="instructions",
        default="",
        metavar="TEXT",
        help="the system prompt",
    )
    parser.add_argument("--schema", metavar="SCHEMA", help="the form of the answers, as ask takes it")
    parser.add_argument(
        "--journal", metavar="FILE", help="record it here, so that the same command continues it"
    )
    parser.add_argument("--run", metavar="NAME", help="its name there (default: from model and file)")
    parser.add_argument("--poll", type=float, default=30.0, metavar="SECONDS", help="between two looks")
    parser.add_argument("--max-tokens", type=count_of, metavar="N", help="tokens that a reply may have")
    parser.add_argument(
        "--temperature", type=float, metavar="NUMBER", help="how freely the next token is chosen"
    )
    parser.add_argument(
        "--adopt", metavar="ID", help="the vendor's batch that it is, or 'new', where nobody can tell"
    )
    parser.add_argument("--cancel", action="store_true", help="have the vendor end it")
    parser.epilog = "exit codes: 0 every prompt has an answer, 1 some have none, 2 bad usage"


def specs(parser: ArgumentParser) -> None:
    """Print what a model is told about the tools in a file."""
    parser.add_argument("tools", metavar=_TOOLS, help="the file with the tools, or one of them")


def call(parser: ArgumentParser) -> None:
    """Put a call through the gate, as if a model had asked for it, and print the result."""
    parser.add_argument("tools", metavar=_TOOLS, help="the file with the tools, or one of them")
    _add_call(parser)
    add_dry_run(parser)
    asked = "A tool that wants a person's yes is asked about on a terminal; elsewhere it is no."
    add_approval_options(parser, asked)


def manifest(parser: ArgumentParser) -> None:
    """Tools from an operator's manifest: check the file, show what it allows, run one of its tools.

    A manifest is a JSON file that says which programs of this machine a model may run, and how.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|show|run")
    checking = actions.add_parser("check", help="say everything that is wrong with manifests")
    checking.add_argument("files", nargs="+", metavar="FILE.json", help="the manifests")
    showing = actions.add_parser("show", help="what a manifest lets a model run, and how")
    running = actions.add_parser("run", help="call one of its tools, as a model would")
    for each in (showing, running):
        each.add_argument("file", metavar="FILE.json", help="the manifest")
    _add_call(running)
    add_dry_run(running)
    for each in (checking, showing, running):
        each.add_argument("--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for")


def policy(parser: ArgumentParser) -> None:
    """Rules of trust from a TOML file: check the file, or explain what would become of a call under it."""  # noqa: E501
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    checking = actions.add_parser("check", help="say everything that is wrong with files of rules")
    checking.add_argument("files", nargs="+", metavar="FILE.toml", help="the files of rules")
    explaining = actions.add_parser("explain", help="print what would happen to a call, and why")
    explaining.add_argument("file", metavar="FILE.toml", help="the file of rules")
    explaining.add_argument("tools", metavar=_TOOLS, help="the file with the tools")
    _add_call(explaining, words="as a model would write them")
    explaining.add_argument("--said", default="", metavar="TEXT", help="what the user has said")
    explaining.add_argument(
        "--read",
        action="append",
        default=[],
        nargs=2,
        metavar=("TOOL", "TEXT"),
        help="a tool's result that the model has read; repeatable",
    )


def render(parser: ArgumentParser) -> None:
    """Print the prompt that a local model would see for a conversation, special tokens and all.

    Nothing is loaded but the chat template. Special tokens in what is said are made harmless, as they
    are in a run: on a terminal, what stands out is the template's own.
    """
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the last user message")
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
    repeated(parser.add_argument, "--tool", "tools", metavar=_TOOLS, words="tools to tell the model of")
    parser.add_argument("--system", default="", metavar="TEXT", help="the system prompt")
    parser.add_argument(
        "--messages",
        metavar="FILE.json",
        help="a conversation, as /save writes it, or in a vendor's shape",
    )
    parser.add_argument("--raw", action="store_true", help="the bytes themselves, and nothing else")
    unopened = "leave out the text that opens the model's turn"
    parser.add_argument("--no-generation-prompt", action="store_true", help=unopened)
    parser.add_argument(
        "--problems",
        action="store_true",
        help="print on standard error what the template does not support",
    )


def sse(parser: ArgumentParser) -> None:
    """Say what became of each event in a recorded event stream: the raw bytes of a model's reply.

    For every event its place in the bytes, its name, its id and its data, then what a dialect's decoder made
    of it; at the end the reply, or why there is none.
    """  # noqa: E501 - as wide as help is
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the dump; - for stdin")
    parser.add_argument(
        "--dialect",
        choices=sorted(DIALECTS),
        help="the dialect (default: guessed from the first events)",
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON for each event")
    parser.epilog = "exit codes: 0 the stream has a complete reply, 1 it has not, 2 bad usage"


def models(parser: ArgumentParser) -> None:
    """The model that is asked, and the local models that have a name.

    Only names are kept, in config.json and models.json under the XDG configuration directory; files stay
    where they are. RIGHTCALL_MODEL names another default for one shell.
    """
    parser.set_defaults(json=False)
    actions = parser.add_subparsers(dest="action", metavar="list|default|add|remove")
    choosing = actions.add_parser("default", help="the model that is asked; with a name, from now on")
    choosing.add_argument("name", nargs="?", metavar="NAME", help="as ask --model takes it")
    listing = actions.add_parser("list", help="every name, its file, and the model in it")
    listing.add_argument("--json", action="store_true", help="one line of JSON for each")
    adding = actions.add_parser("add", help="give a file a name")
    adding.add_argument("name", metavar="NAME", help="what to call it")
    adding.add_argument("path", metavar="PATH.gguf", help="where the file is")
    removing = actions.add_parser("remove", help="take a name away; the file stays")
    removing.add_argument("name", metavar="NAME", help="the name to take away")


def keys(parser: ArgumentParser) -> None:
    """The keys of vendors, for the command line: kept in a file that only you may read.

    A variable of the environment, such as ANTHROPIC_API_KEY, comes first. Programs that use the library never
    read the file.
    """  # noqa: E501 - as wide as help is
    actions = parser.add_subparsers(dest="action", required=True, metavar="set|list|remove|path")
    setting = actions.add_parser("set", help="keep a key; it is typed unseen, or read from a pipe")
    removing = actions.add_parser("remove", help="keep it no longer")
    for each in (setting, removing):
        each.add_argument(
            "name", metavar="NAME", help="a provider, as 'anthropic', or a server's address"
        )
    actions.add_parser("list", help="list what there are keys for; never the keys")
    actions.add_parser("path", help="where they are kept")


def _add_call(parser: ArgumentParser, words: str = "the arguments, as a model would write them") -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    parser.add_argument("arguments", nargs="?", default="", help=words)


class Command(NamedTuple):
    """A command of the shell."""

    line: str
    """Its one-line summary."""
    add_arguments: Callable[[ArgumentParser], None]


COMMANDS: Mapping[str, Mapping[str, Command]] = {
    "talk to a model": {
        "ask": Command("ask once, watch the run, and get the answer", ask),
        "chat": Command("talk, with tools, approvals and a history", chat),
        "batch": Command("send a file of prompts at half the price, within a day", batch),
    },
    "serve": {
        "serve": Command("serve models to any client: OpenAI's, Anthropic's, Gemini's", serve),
    },
    "work on tools": {
        "specs": Command("print what a model is told about the tools in a file", specs),
        "call": Command("put a call through the gate and print the result", call),
        "tools": Command("count what tools cost a model, and lint their words", tools),
        "manifest": Command("check, show and run the tools of an operator's manifest", manifest),
        "mcp": Command("list, pin and verify the tools of MCP servers", mcp),
        "serve-mcp": Command("serve tools to others over MCP", serve_mcp),
        "eval": Command("ask a file of questions, run nothing, and judge the calls", evaluate),
    },
    "let it last": {
        "worker": Command("execute an app's durable runs, beside any number of others", worker),
        "runs": Command("list, watch, answer, cancel and fork durable runs", runs),
    },
    "keep it safe": {
        "audit": Command("say which of an agent's tools are dangerous together", audit),
        "policy": Command("check an operator's rules, and explain what they say to a call", policy),
        "trust": Command("draft the facts that rules go by, and try rules on recorded runs", trust),
    },
    "look inside": {
        "render": Command(
            "print the prompt that a local model would see, special tokens and all", render
        ),
        "sse": Command("say what became of each event in a recorded event stream", sse),
        "journal": Command("list, show, replay, resume and export recorded runs", journal),
        "studio": Command("look at recorded runs in the browser, and decide what waits", studio),
        "watch": Command("watch one run as it goes on", watch),
    },
    "set up": {
        "models": Command("choose the model that is asked, and name local ones", models),
        "keys": Command("keep the keys of vendors", keys),
    },
}
"""Every command, grouped by purpose."""
