"""``rightcall serve``, ``serve-mcp`` and ``studio``: what others reach."""

from argparse import ArgumentParser, ArgumentTypeError

from rightcall.cli.options import TOOLS, add, add_approval_options, add_repeatable, count_of

TOKEN = "RIGHTCALL_MCP_TOKEN"  # noqa: S105 - the name of a variable
_LISTEN = "127.0.0.1:9000"
_KEYS = "~/.config/rightcall/gateway-keys.json"


def serve(parser: ArgumentParser) -> None:
    """Serve models to any client: OpenAI's Chat and Responses, Anthropic's Messages, Gemini.

    A client of any of these is pointed at the address, and any model answers: a vendor's, a local one, or an
    agent with tools. Requests in a model's own dialect are passed through byte for byte, others translated.
    """  # noqa: E501 - as wide as help is
    actions = parser.add_subparsers(dest="action", metavar="[keys|spend]")
    _add_keys(actions.add_parser("keys", help="the gateway's own keys: add, list, revoke"))
    spending = actions.add_parser("spend", help="spend of each key on each model, by day")
    add(spending, "config", help="the gateway's configuration")
    spending.add_argument(
        "--since", metavar="YYYY-MM-DD", default="", help="the first day (default: all)"
    )
    add(spending, "json")
    add_repeatable(
        parser.add_argument,
        "--model",
        "models",
        metavar="NAME=SPEC",
        words="serve this model under a name, as fast=openai:gpt-5-mini or '*=embedded'",
    )
    add(parser, "config", help="everything else, and models too")
    parser.add_argument("--listen", metavar="[HOST:]PORT", help=f"where to listen (default: {_LISTEN})")
    parser.add_argument("--keys", metavar="FILE", help=f"the file of keys (default: {_KEYS})")
    parser.add_argument("--spend", metavar="PLACE", help="a file of SQLite, or postgresql://...")
    add(parser, "journal", help="record every exchange in a .jsonl or .sqlite file")
    parser.add_argument(
        "--otel",
        action="store_true",
        help="send traces and metrics by OTLP, as the OTEL_... variables say",
    )
    add_repeatable(
        parser.add_argument,
        "--tools",
        "tools",
        metavar="MODULE:BOX",
        words="run these tools here, for every model: an agent behind the address",
    )
    add(parser, "manifest", help="run an operator's commands here, too; may be given again")
    parser.add_argument(
        "--mcp", metavar="FILE.json", help="run the tools of these MCP servers here, too"
    )
    parser.epilog = """\
examples:
  rightcall serve --model fast=openai:gpt-5-mini --model "claude-*=anthropic:*"
  rightcall serve --model "*=embedded"
  rightcall serve --config gateway.toml
  rightcall serve keys add alice --models "fast,claude-*" --dollars-per-day 5
  rightcall serve --model helper=openai:gpt-5 --tools shop.py:box --journal runs.sqlite

Only this machine can reach it unless another address is given, and then keys are needed."""


def _add_keys(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="doing", required=True, metavar="add|list|revoke")
    adding = actions.add_parser("add", help="make a key, and show it once")
    adding.add_argument("name", metavar="NAME", help="whose it is")
    adding.add_argument(
        "--models", metavar="NAMES", help="names or patterns, with commas (default: all)"
    )
    adding.add_argument("--per-minute", type=float, metavar="N", help="requests")
    adding.add_argument(
        "--tokens-per-day", type=count_of, metavar="N", help="tokens that it may use in a day"
    )
    adding.add_argument("--dollars-per-day", type=float, metavar="N", help="what it may cost in a day")
    adding.add_argument("--concurrency", type=count_of, metavar="N", help="requests at once")
    listing = actions.add_parser(
        "list", help="list the keys and their limits; never the keys themselves"
    )
    add(listing, "json")
    revoking = actions.add_parser("revoke", help="have a key hold no longer; running gateways notice")
    revoking.add_argument("name", metavar="NAME", help="its name, or its id")
    for each in (adding, listing, revoking):
        each.add_argument("--keys", metavar="FILE", help=f"the file of keys (default: {_KEYS})")
        add(each, "config", help="the configuration that names the file")


def serve_mcp(parser: ArgumentParser) -> None:
    """Offer tools to MCP clients: to the program that starts this one, or over HTTP.

    Every call goes through the gate, under its tool's limits. A tool that wants a person's yes has the
    client ask for it; where that cannot be done, the answer is no.
    """
    parser.add_argument(
        "tools", nargs="*", metavar=TOOLS, help="the tools that a Python file declares, or one"
    )
    add(parser, "manifest", "sandbox")
    parser.add_argument("--name", default="rightcall", help="the server's name for clients")
    parser.add_argument(
        "--instructions", default="", metavar="TEXT", help="how to use the tools together"
    )
    add(parser, "journal", help="record every call in a .jsonl or .sqlite (.sqlite3, .db) file")
    parser.add_argument(
        "--runs",
        metavar="FILE",
        help="offer the runs of a journal or a durable store: to list, search and show",
    )
    add_approval_options(parser, "Some tools want a person's yes. The client is asked for it.")
    http = parser.add_argument_group("over HTTP")
    http.add_argument(
        "--http", type=_address, metavar="[HOST:]PORT", help="where to listen; 0 for any port"
    )
    http.add_argument(
        "--token-file", metavar="FILE", help=f"holds the token that clients need; or set {TOKEN}"
    )
    http.add_argument(
        "--oauth-issuer", metavar="URL", help="accept the tokens of this authorization server"
    )
    http.add_argument("--oauth-resource", metavar="URL", help="this server's address, as tokens name it")
    words = "the scope that a token must have"
    add_repeatable(http.add_argument, "--oauth-scope", "scopes", metavar="NAME", words=words)
    words = "a name that the server is reached under"
    add_repeatable(http.add_argument, "--allow-host", "hosts", metavar="NAME", words=words)
    words = "web pages that may call it"
    add_repeatable(http.add_argument, "--allow-origin", "origins", metavar="URL", words=words)
    parser.epilog = f"""\
examples:
  rightcall serve-mcp shop.py
  rightcall serve-mcp --manifest ops.json --journal calls.jsonl
  rightcall serve-mcp shop.py:orders --http 8000
  rightcall serve-mcp --runs runs.sqlite
  {TOKEN}=... rightcall serve-mcp shop.py --http 0.0.0.0:8000 --allow-host tools.example.org

A client that starts servers itself is told the command; over HTTP it is told the address, which ends in
/mcp. Only this machine can reach it unless another address is given, and then a token is needed."""


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the last port there is
        raise ArgumentTypeError(f"{text!r} is not a port, or a host and a port")
    return host.strip("[]") or "127.0.0.1", int(port)


def studio(parser: ArgumentParser) -> None:
    """Look at recorded runs in the browser: while they go on, and when they wait for somebody.

    Without --journal it is what ask and chat have kept. Nothing is changed and nobody is asked anything
    unless --write is said. Only this machine can reach it; on another --host, only who has the address
    that is printed, with its token.
    """
    add(
        parser,
        "journal",
        metavar="FILE|URL|MODULE:APP",
        help="a journal (.jsonl, .sqlite, .db), or durable runs by their address or app",
    )
    which = "an agent that continues runs and can be tried, as module:NAME or FILE.py:NAME"
    add_repeatable(parser.add_argument, "--agent", "agents", metavar="MODULE:NAME", words=which)
    parser.add_argument(
        "--write", action="store_true", help="allow to decide, fork, try tools and talk to agents"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free port")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    which = "a name that it is reached under, with another --host"
    add_repeatable(parser.add_argument, "--name", "names", metavar="NAME", words=which)
    parser.add_argument("--no-open", action="store_true", help="only print the address")
    parser.epilog = """\
examples:
  rightcall studio
  rightcall studio --journal runs.sqlite
  rightcall studio --journal runs.sqlite --agent shop.py:agent --write
  rightcall studio --journal sqlite:///runs.db --write
  rightcall studio --journal shop:app --write

exit codes: 0 ended by Ctrl-C, 2 bad usage"""
