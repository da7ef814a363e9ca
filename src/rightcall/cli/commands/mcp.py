"""``rightcall mcp``: the MCP servers that one has, logins at them, and what they offer."""

from argparse import ArgumentParser

from rightcall.cli.options import add, add_repeatable

_PINS = "mcp-pins.json"
_FILE = "the file: a path, or claude, cursor or vscode for theirs (default: ./.mcp.json)"


def add_server(parser: ArgumentParser) -> None:
    """Add a server to a file that other programs read, too: an address, or, after --, a program.

    A secret belongs into the environment: --env KEY='${KEY}' and --header 'Authorization: Bearer ${KEY}' refer to it.
    """  # noqa: E501 - as wide as help is
    parser.add_argument("name", metavar="NAME", help="what it is called there")
    parser.add_argument(
        "target", nargs="+", metavar="TARGET", help="an address, or a program and its arguments"
    )
    parser.add_argument("--file", default="", metavar="FILE", help=_FILE)
    words = "a header of every request, as 'Name: value'"
    add_repeatable(parser.add_argument, "--header", "headers", metavar="HEADER", words=words)
    words = "a variable of the program's environment, as NAME=value"
    add_repeatable(parser.add_argument, "--env", "environment", metavar="VARIABLE", words=words)
    parser.add_argument("--sse", action="store_true", help="the address speaks the older transport")
    parser.add_argument("--oauth", action="store_true", help="one logs in there: rightcall mcp login")
    parser.add_argument("--replace", action="store_true", help="in place of one of that name")
    parser.set_defaults(action="add")


def remove_server(parser: ArgumentParser) -> None:
    """Remove a server from a file."""
    parser.add_argument("name", metavar="NAME", help="what it is called there")
    parser.add_argument("--file", default="", metavar="FILE", help=_FILE)
    parser.set_defaults(action="remove")


def list_servers(parser: ArgumentParser) -> None:
    """List the servers of this folder and user; of servers that are named, the tools.

    Without arguments no server is started. SERVER is a name in a file, an address, or, after --, a program.
    """  # noqa: E501 - as wide as help is
    _add_servers(parser)
    add(parser, "json", help="one line of JSON for each server, or for each tool")
    parser.set_defaults(action="list")


def login(parser: ArgumentParser) -> None:
    """Log in at a server with OAuth, in a browser. The login is kept, and refreshed, until logout."""
    parser.add_argument("server", metavar="SERVER", help="an address, or a name in a file")
    add(parser, "config", metavar="FILE", help="the file of servers that has the name")
    parser.add_argument(
        "--paste",
        action="store_true",
        help="open no browser: print the address, and take the one that it leads to from the terminal",
    )
    parser.add_argument("--client-id", default="", metavar="ID", help="of a client you registered")
    parser.add_argument("--port", type=int, default=0, help="that the browser returns to")
    parser.set_defaults(action="login")


def logout(parser: ArgumentParser) -> None:
    """Revoke the login at a server, and forget it."""
    parser.add_argument("server", metavar="SERVER", help="an address, or a name in a file")
    add(parser, "config", metavar="FILE", help="the file of servers that has the name")
    parser.set_defaults(action="logout")


def doctor(parser: ArgumentParser) -> None:
    """Start servers, and say what they offer, whether that is as approved, and what it would cost.

    Without a name, every server of this folder and user is started. Ends with 1 if one does not work.
    """
    _add_servers(parser)
    _add_pins(parser)
    parser.set_defaults(action="doctor", json=False)


def pin(parser: ArgumentParser) -> None:
    """Approve the tools of servers as they are now, after a look at what changed.

    Approved definitions are kept as hashes in a file, which connect(pins=...) holds servers to.
    """
    _add_servers(parser)
    _add_pins(parser)
    parser.add_argument("--yes", action="store_true", help="approve without asking")
    parser.set_defaults(action="pin")


def verify(parser: ArgumentParser) -> None:
    """Print what changed at servers since it was approved."""
    _add_servers(parser)
    _add_pins(parser)
    parser.set_defaults(action="verify")


def _add_servers(parser: ArgumentParser) -> None:
    parser.add_argument(
        "servers", nargs="*", metavar="SERVER", help="an address, or a name in a file of servers"
    )
    add(parser, "config", metavar="FILE", help="the file of servers, as other programs keep them")
    parser.add_argument("--name", help="the name, here and among the pins, of one given by its address")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds a server has to start")


def _add_pins(parser: ArgumentParser) -> None:
    parser.add_argument("--pins", metavar="FILE", default=_PINS, help=f"{_PINS} unless given")
