"""Offer tools to MCP clients: to the program that starts this one, or over HTTP.

Every call goes through the gate, under its tool's limits. A tool that wants a person's yes has the
client ask for it; where that cannot be done, the answer is no.
"""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rightcall.cli.exits import OK
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.core.decision import Proposal
    from rightcall.declare.toolbox import Toolbox
    from rightcall.gate.gate import Approve
    from rightcall.mcp.server.serve_options import Listen, OAuth

TOKEN = "RIGHTCALL_MCP_TOKEN"  # noqa: S105 - the name of a variable
_LONGEST_TOKEN = 4096

_EPILOG = f"""\
examples:
  rightcall serve-mcp shop.py
  rightcall serve-mcp --manifest ops.json --journal calls.jsonl
  rightcall serve-mcp shop.py:orders --http 8000
  {TOKEN}=... rightcall serve-mcp shop.py --http 0.0.0.0:8000 --allow-host tools.example.org

A client that starts servers itself is told the command; over HTTP it is told the address, which ends in
/mcp. Only this machine can reach it unless another address is given, and then a token is needed."""


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "tools",
        nargs="*",
        metavar="FILE.py[:NAME]",
        help="the tools that a Python file declares, or one",
    )
    parser.add_argument(
        "--manifest", dest="manifests", action="append", default=[], metavar="FILE.json",
        help="the tools of an operator's manifest; may be given again",
    )  # fmt: skip
    parser.add_argument("--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for")
    parser.add_argument("--name", default="rightcall", help="what clients are told it is called")
    parser.add_argument(
        "--instructions", default="", metavar="TEXT", help="how to use the tools together"
    )
    parser.add_argument(
        "--journal", metavar="FILE", help="record every call in a .jsonl or .sqlite (.sqlite3, .db) file"
    )
    who = parser.add_argument_group(
        "approvals", "Some tools want a person's yes. The client is asked for it."
    ).add_mutually_exclusive_group()
    who.add_argument("--yes", action="store_true", help="allow every call that wants approval")
    who.add_argument("--no", action="store_true", help="deny every call that wants approval")
    _add_http(parser)
    parser.epilog = _EPILOG


def _add_http(parser: ArgumentParser) -> None:
    http = parser.add_argument_group("over HTTP")
    http.add_argument(
        "--http", type=_place, metavar="[HOST:]PORT", help="where to listen; 0 for any port"
    )
    http.add_argument(
        "--token-file", metavar="FILE", help=f"holds the token that clients need; or set {TOKEN}"
    )
    http.add_argument(
        "--oauth-issuer", metavar="URL", help="accept the tokens of this authorization server"
    )
    http.add_argument("--oauth-resource", metavar="URL", help="this server's address, as tokens name it")
    http.add_argument(
        "--oauth-scope", dest="scopes", action="append", default=[], metavar="NAME",
        help="what a token must allow; may be given again",
    )  # fmt: skip
    http.add_argument(
        "--allow-host", dest="hosts", action="append", default=[], metavar="NAME",
        help="a name that the server is reached under; may be given again",
    )  # fmt: skip
    http.add_argument(
        "--allow-origin", dest="origins", action="append", default=[], metavar="URL",
        help="web pages that may call it; may be given again",
    )  # fmt: skip


def run(options: Namespace) -> int:
    """Serve until the client goes, or SIGINT or SIGTERM comes."""
    # A client waits for this process, and whoever mistyped waits, too: what is wrong is said first.
    listen = _listen(options)
    tools = _gather(options)
    try:
        from rightcall.mcp.server.tool_server import serve  # noqa: PLC0415 - help needs none of this
    except ModuleNotFoundError as error:
        raise UsageError("MCP needs its SDK, version 2: pip install 'rightcall[mcp]'") from error

    journal = None
    if options.journal:
        from rightcall.cli.session import journal_at  # noqa: PLC0415

        journal = journal_at(options.journal)
    try:
        serve(
            tools,
            listen=listen,
            started=_say,
            name=options.name,
            instructions=options.instructions,
            approve=_approve(options),
            journal=journal,
        )
    finally:
        close = getattr(journal, "close", None)
        if close is not None:
            close()
    return OK


def _say(address: str) -> None:
    print(f"rightcall: serving at {address}", file=sys.stderr, flush=True)


def _gather(options: Namespace) -> "Toolbox":
    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.declare.toolbox import Toolbox  # noqa: PLC0415

    if not options.tools and not options.manifests:
        raise UsageError("which tools? rightcall serve-mcp FILE.py, or --manifest FILE.json")
    box = Toolbox([load_tools(place) for place in options.tools])
    if options.manifests:
        from rightcall.manifest.document import load  # noqa: PLC0415

        for file in options.manifests:
            box += list(load(file, sandbox=options.sandbox, taken=box.names()))
    return box


def _approve(options: Namespace) -> "Approve | None":
    if not options.yes and not options.no:
        return None

    async def always(_: "Proposal") -> bool:
        return bool(options.yes)

    return always


def _listen(options: Namespace) -> "Listen | None":
    if options.http is None:
        for name in ("token_file", "oauth_issuer", "oauth_resource", "scopes", "hosts", "origins"):
            if getattr(options, name):
                raise UsageError("tokens, hosts and origins are for --http; say where to listen")
        return None
    from rightcall.mcp.server.serve_options import Listen  # noqa: PLC0415

    host, port = options.http
    oauth = _oauth(options)
    return Listen(
        host=host,
        port=port,
        token=_token(options.token_file) if oauth is None else None,
        oauth=oauth,
        hosts=tuple(options.hosts),
        origins=tuple(options.origins),
    )


def _oauth(options: Namespace) -> "OAuth | None":
    if options.oauth_issuer is None:
        if options.oauth_resource or options.scopes:
            raise UsageError("--oauth-resource and --oauth-scope need --oauth-issuer")
        return None
    if options.oauth_resource is None:
        raise UsageError("--oauth-issuer needs --oauth-resource, the address that tokens are for")
    if options.token_file:
        raise UsageError("either --token-file or --oauth-issuer, not both")
    from rightcall.mcp.server.serve_options import OAuth  # noqa: PLC0415

    return OAuth(
        issuer=options.oauth_issuer, resource=options.oauth_resource, scopes=tuple(options.scopes)
    )


def _token(file: str | None) -> str | None:
    """The token, from a file or the environment: an argument would be there for everybody to see."""
    if file is None:
        # Tools and the programs they run have no business with it.
        return os.environ.pop(TOKEN, None)
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(_LONGEST_TOKEN + 1)
        token = data.decode("ascii").strip()
    except OSError as error:
        raise UsageError(f"--token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--token-file {file}: a token is ASCII text") from error
    if not token or len(data) > _LONGEST_TOKEN:
        raise UsageError(f"--token-file {file}: holds {'too much' if token else 'nothing'}")
    return token


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the last port there is
        raise ArgumentTypeError(f"{text!r} is not a port, or a host and a port")
    return host.strip("[]") or "127.0.0.1", int(port)
