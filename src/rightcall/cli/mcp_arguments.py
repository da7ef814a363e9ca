"""The arguments of the commands for MCP: as a client, and as a server."""

from argparse import ArgumentParser, ArgumentTypeError

from rightcall.cli.options import add_approval_options, repeated

TOKEN = "RIGHTCALL_MCP_TOKEN"  # noqa: S105 - the name of a variable
_PINS = "mcp-pins.json"
_TOOLS = "FILE.py[:NAME]"


def mcp(parser: ArgumentParser) -> None:
    """MCP servers: list what they offer, approve it, and say whether it is still what was approved.

    SERVER is an address, the name of an entry of --config FILE, or, after --, a program and its arguments.
    Approved definitions are kept as hashes in a file (--pins), which connect(pins=...) holds servers to.
    """  # noqa: E501 - as wide as help is
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|pin|verify")
    listing = actions.add_parser("list", help="the tools of servers, and problems with them")
    pinning = actions.add_parser("pin", help="approve the tools of servers as they are now")
    verifying = actions.add_parser("verify", help="print what changed since it was approved")
    listing.add_argument("--json", action="store_true", help="one line of JSON for each tool")
    pinning.add_argument("--yes", action="store_true", help="approve without asking")
    for each in (listing, pinning, verifying):
        each.add_argument(
            "servers", nargs="*", metavar="SERVER", help="an address, or a name in the file"
        )
        each.add_argument(
            "--config", metavar="FILE", help="a file of servers, as other programs keep them"
        )
        each.add_argument("--name", help="the server's name in the file of pins")
        each.add_argument("--timeout", type=float, default=30.0, help="seconds a server has to start")
    for each in (pinning, verifying):
        each.add_argument("--pins", metavar="FILE", default=_PINS, help=f"{_PINS} unless given")


def serve_mcp(parser: ArgumentParser) -> None:
    """Offer tools to MCP clients: to the program that starts this one, or over HTTP.

    Every call goes through the gate, under its tool's limits. A tool that wants a person's yes has the
    client ask for it; where that cannot be done, the answer is no.
    """
    parser.add_argument(
        "tools", nargs="*", metavar=_TOOLS, help="the tools that a Python file declares, or one"
    )
    repeated(
        parser.add_argument,
        "--manifest",
        "manifests",
        metavar="FILE.json",
        words="the tools of an operator's manifest",
    )
    parser.add_argument("--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for")
    parser.add_argument("--name", default="rightcall", help="the server's name for clients")
    parser.add_argument(
        "--instructions", default="", metavar="TEXT", help="how to use the tools together"
    )
    parser.add_argument(
        "--journal", metavar="FILE", help="record every call in a .jsonl or .sqlite (.sqlite3, .db) file"
    )
    parser.add_argument(
        "--runs",
        metavar="FILE",
        help="offer the runs of a journal or a durable store: to list, search and show",
    )
    add_approval_options(parser, "Some tools want a person's yes. The client is asked for it.")
    _add_http(parser)
    parser.epilog = f"""\
examples:
  rightcall serve-mcp shop.py
  rightcall serve-mcp --manifest ops.json --journal calls.jsonl
  rightcall serve-mcp shop.py:orders --http 8000
  rightcall serve-mcp --runs runs.sqlite
  {TOKEN}=... rightcall serve-mcp shop.py --http 0.0.0.0:8000 --allow-host tools.example.org

A client that starts servers itself is told the command; over HTTP it is told the address, which ends in
/mcp. Only this machine can reach it unless another address is given, and then a token is needed."""


def _add_http(parser: ArgumentParser) -> None:
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
    repeated(
        http.add_argument,
        "--oauth-scope",
        "scopes",
        metavar="NAME",
        words="the scope that a token must have",
    )
    repeated(
        http.add_argument,
        "--allow-host",
        "hosts",
        metavar="NAME",
        words="a name that the server is reached under",
    )
    repeated(
        http.add_argument, "--allow-origin", "origins", metavar="URL", words="web pages that may call it"
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the last port there is
        raise ArgumentTypeError(f"{text!r} is not a port, or a host and a port")
    return host.strip("[]") or "127.0.0.1", int(port)
