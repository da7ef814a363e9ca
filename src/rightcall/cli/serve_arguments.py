"""The arguments of ``rightcall serve``."""

from argparse import ArgumentParser

from rightcall.cli.options import count_of, repeated

_LISTEN = "127.0.0.1:9000"
_KEYS = "~/.config/rightcall/gateway-keys.json"


def serve(parser: ArgumentParser) -> None:
    """Serve models to any client: OpenAI's Chat and Responses, Anthropic's Messages, Gemini.

    A client of any of these is pointed at the address, and any model answers: a vendor's, a local one, or an
    agent with tools. Requests in a model's own dialect are passed through byte for byte, others translated.
    """  # noqa: E501 - as wide as help is
    actions = parser.add_subparsers(dest="action", metavar="[keys|spend]")
    _keys(actions.add_parser("keys", help="the gateway's own keys: add, list, revoke"))
    _spend(actions.add_parser("spend", help="spend of each key on each model, by day"))
    repeated(
        parser.add_argument,
        "--model",
        "models",
        metavar="NAME=SPEC",
        words="serve this model under a name, as fast=openai:gpt-5-mini or '*=embedded'",
    )
    parser.add_argument("--config", metavar="FILE.toml", help="everything else, and models too")
    parser.add_argument("--listen", metavar="[HOST:]PORT", help=f"where to listen (default: {_LISTEN})")
    parser.add_argument("--keys", metavar="FILE", help=f"the file of keys (default: {_KEYS})")
    parser.add_argument("--spend", metavar="PLACE", help="a file of SQLite, or postgresql://...")
    parser.add_argument(
        "--journal", metavar="FILE", help="record every exchange in a .jsonl or .sqlite file"
    )
    parser.add_argument(
        "--otel",
        action="store_true",
        help="send traces and metrics by OTLP, as the OTEL_... variables say",
    )
    _add_tools(parser)
    parser.epilog = """\
examples:
  rightcall serve --model fast=openai:gpt-5-mini --model "claude-*=anthropic:*"
  rightcall serve --model "*=embedded"
  rightcall serve --config gateway.toml
  rightcall serve keys add alice --models "fast,claude-*" --dollars-per-day 5
  rightcall serve --model helper=openai:gpt-5 --tools shop.py:box --journal runs.sqlite

Only this machine can reach it unless another address is given, and then keys are needed."""


def _add_tools(parser: ArgumentParser) -> None:
    repeated(
        parser.add_argument,
        "--tools",
        "tools",
        metavar="MODULE:BOX",
        words="run these tools here, for every model: an agent behind the address",
    )
    repeated(
        parser.add_argument,
        "--manifest",
        "manifests",
        metavar="FILE.json",
        words="run an operator's commands here, too",
    )
    parser.add_argument(
        "--mcp", metavar="FILE.json", help="run the tools of these MCP servers here, too"
    )


def _spend(parser: ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE.toml", help="the gateway's configuration")
    parser.add_argument("--since", metavar="YYYY-MM-DD", default="", help="the first day (default: all)")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each")


def _keys(parser: ArgumentParser) -> None:
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
    listing.add_argument("--json", action="store_true", help="a line of JSON for each")
    revoking = actions.add_parser("revoke", help="have a key hold no longer; running gateways notice")
    revoking.add_argument("name", metavar="NAME", help="its name, or its id")
    for each in (adding, listing, revoking):
        each.add_argument("--keys", metavar="FILE", help=f"the file of keys (default: {_KEYS})")
        each.add_argument("--config", metavar="FILE.toml", help="the configuration that names the file")
