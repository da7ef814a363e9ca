"""Offer tools to MCP clients: to the parent process, or over HTTP."""

import asyncio
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rightcall import mcp
from rightcall.cli import OK
from rightcall.cli.commands.serve import TOKEN
from rightcall.cli.load import add_manifests, load_journal, load_tools
from rightcall.core.proposal import Proposal
from rightcall.errors import UsageError
from rightcall.mcp import server as mcp_server
from rightcall.serve import studio
from rightcall.user_files import cache_folder

if TYPE_CHECKING:
    from rightcall.gate.gate import Approve
    from rightcall.serve.studio.runs_as_tools import RunTools

_LONGEST_TOKEN = 4096


def run(options: Namespace) -> int:
    """Serve until the client disconnects, or until SIGINT or SIGTERM."""
    # Checked first: a mistyped option need not wait for the SDK, which takes a second to load.
    _check(options)
    # The token is removed from the environment before tools are loaded.
    listen = _listen(options)
    tools = add_manifests(load_tools(*options.tools), options)
    runs = _runs(options)
    if runs is not None:
        tools += list(runs.tools())
    journal = None
    if options.journal:
        journal = load_journal(options.journal)
    try:
        mcp.serve(
            tools,
            listen=listen,
            started=_say,
            name=options.name,
            instructions=options.instructions,
            approve=_approve(options),
            journal=journal,
            resources=None if runs is None else [runs],
        )
    finally:
        if runs is not None:
            asyncio.run(runs.close())
        close = getattr(journal, "close", None)
        if close is not None:
            close()
    return OK


def _check(options: Namespace) -> None:
    """Refuse options that do not fit together."""
    if not options.tools and not options.manifests and not options.runs:
        raise UsageError("which tools? rightcall serve-mcp FILE.py, --manifest FILE.json or --runs FILE")
    if options.http is None:
        names = ("token_file", "oauth_issuer", "oauth_resource", "scopes", "hosts", "origins")
        if any(getattr(options, name) for name in names):
            raise UsageError("tokens, hosts and origins are for --http; say where to listen")
    elif options.oauth_issuer is None:
        if options.oauth_resource or options.scopes:
            raise UsageError("--oauth-resource and --oauth-scope need --oauth-issuer")
    elif options.oauth_resource is None:
        raise UsageError("--oauth-issuer needs --oauth-resource, the address that tokens are for")
    elif options.token_file:
        raise UsageError("either --token-file or --oauth-issuer, not both")


def _runs(options: Namespace) -> "RunTools | None":
    if not options.runs:
        return None
    return studio.RunTools(options.runs, cache=cache_folder() / "studio")


def _say(address: str) -> None:
    print(f"rightcall: serving at {address}", file=sys.stderr, flush=True)


def _approve(options: Namespace) -> "Approve | None":
    if not options.yes and not options.no:
        return None

    async def always(_: Proposal) -> bool:
        return bool(options.yes)

    return always


def _listen(options: Namespace) -> "mcp_server.Listen | None":
    if options.http is None:
        return None
    host, port = options.http
    token = oauth = None
    if options.oauth_issuer is None:
        token = _token(options.token_file)
    else:
        issuer = options.oauth_issuer
        resource = options.oauth_resource
        oauth = mcp_server.OAuth(issuer=issuer, resource=resource, scopes=tuple(options.scopes))
    hosts = tuple(options.hosts)
    origins = tuple(options.origins)
    return mcp_server.Listen(
        host=host, port=port, token=token, oauth=oauth, hosts=hosts, origins=origins
    )


def _token(file: str | None) -> str | None:
    """The token, from a file or the environment: an argument would be visible to other users."""
    if file is None:
        # Tools and the programs they run must not see it.
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
