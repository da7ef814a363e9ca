"""Commands about a model: which one, its key, the prompt that it sees, and the bytes that it answers."""

from argparse import ArgumentParser

from rightcall.cli.options import DEFAULT_MODEL, TOOLS, add, add_repeatable
from rightcall.wire.dialects import DIALECTS


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
    add(listing, "json", help="one line of JSON for each")
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


def render(parser: ArgumentParser) -> None:
    """Print the prompt that a local model would see for a conversation, special tokens and all.

    Nothing is loaded but the chat template. Special tokens in what is said are made harmless, as they
    are in a run: on a terminal, what stands out is the template's own.
    """
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the last user message")
    which = parser.add_mutually_exclusive_group()
    add(
        which,
        "model",
        default=DEFAULT_MODEL,
        help="a name from 'rightcall models list', or a .gguf file (default: %(default)s)",
    )
    which.add_argument(
        "--template",
        metavar="PATH",
        help="a chat template's own file, a tokenizer_config.json, or a model's folder",
    )
    add_repeatable(
        parser.add_argument, "--tool", "tools", metavar=TOOLS, words="tools to tell the model of"
    )
    add(parser, "instructions")
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
    add(parser, "json", help="a line of JSON for each event")
    parser.epilog = "exit codes: 0 the stream has a complete reply, 1 it has not, 2 bad usage"
